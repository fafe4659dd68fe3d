"""String columns encoded as integers, since a list of millions of trials has few distinct ids."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.ids import CodedIds
from fastpsr.optional import polars

if TYPE_CHECKING:
    from polars import Series


class Coded:
    """A column of N strings: each row's place in a table of the distinct ones.

    Attributes
    ----------
    codes : ndarray of int32, shape (N,)
        Places in `names`.
    names : polars.Series of str
        Distinct strings in ascending order; rows need not use all of them.
    """

    _held: "Series | tuple[NDArray[np.int32], Series]"

    def __init__(self, codes: NDArray[np.int32], names: "Series") -> None:
        self._held = codes, names

    @classmethod
    def of(cls, series: "Series") -> "Coded":
        """Return a column of strings, without nulls, that are coded when codes are first used."""
        made = cls.__new__(cls)
        made._held = series
        return made

    @property
    def codes(self) -> NDArray[np.int32]:
        return self._coded()[0]

    @property
    def names(self) -> "Series":
        return self._coded()[1]

    def _coded(self) -> "tuple[NDArray[np.int32], Series]":
        held = self._held
        if not isinstance(held, tuple):
            coded = encode(held)
            held = self._held = coded.codes, coded.names
        return held

    def __len__(self) -> int:
        held = self._held
        return len(held[0] if isinstance(held, tuple) else held)

    def __getitem__(self, row: int) -> str:
        held = self._held
        return str(held[1][int(held[0][row])] if isinstance(held, tuple) else held[int(row)])

    def pick(self, index: Any) -> "Coded":
        """Return the rows that a mask, a slice or row numbers pick; the names stay."""
        if isinstance(index, slice) and index == slice(None):
            return self
        return Coded(np.ascontiguousarray(self.codes[index]), self.names)

    def series(self, rows: "slice | NDArray[np.int64]" = slice(None)) -> "Series":
        """Return the strings of rows as a polars Series; they are not coded for it."""
        held = self._held
        if isinstance(held, tuple):
            return held[1].gather(held[0][rows])
        strings: Series = held[rows] if isinstance(rows, slice) else held.gather(rows)
        return strings

    def coded_ids(self) -> CodedIds:
        """Return the strings as ids of samples, by which these are grouped."""
        return CodedIds(self.codes, np.array(self.names.to_list(), dtype=np.str_))

    def strings(self) -> NDArray[np.object_]:
        """Return the strings themselves: an object array, 8 bytes per row."""
        names: NDArray[np.object_] = np.array(self.names.to_list(), dtype=object)
        return names[self.codes]


Column = Coded | NDArray[Any]


def encode(series: "Series") -> Coded:
    """Code a Series of strings or categories without nulls.

    Examples
    --------
    >>> import polars
    >>> coded = encode(polars.Series(["b", "a", "b"]))
    >>> coded.codes.tolist(), coded.names.to_list()
    ([1, 0, 1], ['a', 'b'])
    """
    pl = polars()
    if series.dtype == pl.String:
        series = series.cast(pl.Categorical(pl.Categories.random()))
    # most of an enumeration are in use: to find which would take longer
    dtype: Any = series.dtype
    is_enum = isinstance(dtype, pl.Enum)
    distinct = pl.Series(dtype.categories, dtype=dtype) if is_enum else series.unique()
    table = pl.DataFrame(
        {"name": distinct.cast(pl.String), "code": distinct.to_physical().cast(pl.UInt32)}
    ).sort("name")
    places = table["code"].to_numpy()
    look_up = np.zeros(int(places.max()) + 1 if places.size else 0, np.int32)
    look_up[places] = np.arange(places.size, dtype=np.int32)
    return Coded(look_up[series.to_physical().to_numpy()], table["name"])


def as_column(series: "Series") -> Column:
    """Turn a Series into codes if it holds text, else into an array of numbers; nulls are ""."""
    pl = polars()
    if isinstance(series.dtype, pl.Categorical | pl.Enum) and series.null_count() == 0:
        return encode(series)
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return np.asarray(series.to_numpy())
    return Coded.of(series.cast(pl.String).fill_null(""))


def pick(column: Any, index: Any) -> Any:
    """Return the rows of a column that a mask, a slice or row numbers pick; None of None."""
    if column is None:
        return None
    return column.pick(index) if isinstance(column, Coded) else np.array(column[index])


def is_used(column: Coded) -> "Series":
    """Return which of the names some row has."""
    used: Series = polars().Series(np.bincount(column.codes, minlength=len(column.names)) > 0)
    return used
