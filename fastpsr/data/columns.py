"""Named columns of samples, and ids that are given by the name of a column."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.frames import RowOrder, require_same_order
from fastpsr.ids import CodedIds

#: Columns as arguments of constructors: an array-like of shape (N,) by name.
GivenColumns = Mapping[str, Any]


class Columns(Mapping[str, NDArray[Any]]):
    """Columns of samples by name: read-only, and converted or selected when they are accessed."""

    def __init__(self, source: GivenColumns, index: Any = None) -> None:
        self._source, self._index = source, index
        self._arrays: dict[str, NDArray[Any]] = {}

    @classmethod
    def of(cls, columns: GivenColumns | None, n_samples: int, order: RowOrder) -> "Columns":
        """Return columns that a caller gives, after checking that they have an entry per sample."""
        if columns is None:
            return NO_COLUMNS
        if not isinstance(columns, Mapping):
            rule = f'must be a dict such as {{"speaker": ids}}, not {type(columns).__name__}'
            raise ArgumentError("columns", rule)
        for name, values in columns.items():
            if not isinstance(name, str):
                raise ArgumentError("columns", f"must have names that are strings, not {name!r}")
            place = f"columns[{name!r}]"
            is_array = hasattr(values, "__len__") and not isinstance(values, (str, Set, Mapping))
            if not is_array or getattr(values, "ndim", 1) != 1:
                description = f"of type {type(values).__name__}"
                description = (
                    f"of shape {values.shape}" if hasattr(values, "shape") else description
                )
                rule = f"must be an array of one dimension, not {description}"
                raise ArgumentError("columns", rule, name=place)
            checks.check_length(place, len(values), n_samples)
            require_same_order(place, values, order)
        return cls(dict(columns))

    @classmethod
    def joined(cls, parts: Sequence["Columns"]) -> "Columns":
        """Return the columns that all parts have, one after another."""
        names = [name for name in parts[0] if all(name in columns for columns in parts)]
        return cls({name: _Joined(name, parts) for name in names}) if names else NO_COLUMNS

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            values = self._source[name]
            if self._index is None:
                self._arrays[name] = _as_array(name, values)
            else:
                self._arrays[name] = values[self._index]
        return self._arrays[name]

    def coded(self, name: str) -> CodedIds | None:
        """Return the ids of a column, if its source has strings as codes."""
        if not isinstance(self._source, Columns):
            values = self._source[name]
            return values.coded_ids() if hasattr(values, "coded_ids") else None
        ids = self._source.coded(name)
        return None if ids is None else ids[self._index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)

    def __repr__(self) -> str:
        return f"<columns: {', '.join(self) or 'none'}>"

    def __getstate__(self) -> dict[str, Any]:
        """Send the columns of these samples alone to other processes."""
        return {"_source": dict(self), "_index": None, "_arrays": {}}

    def rows(self, index: Any) -> "Columns":
        """Return the columns of the samples selected by a slice, a mask or row numbers."""
        return Columns(self, index) if self else self


NO_COLUMNS = Columns({})
#: Kinds of arrays to join, by the type of their entries: text, integers.
_KINDS = {"U": "text", "O": "text", "i": "integers", "u": "integers"}


def _as_array(name: str, values: Any) -> NDArray[Any]:
    """Return a column as an array: of strings where all entries are, else of objects."""
    if isinstance(values, _Joined):
        return values.array()
    if hasattr(values, "coded_ids"):
        return np.asarray(values.coded_ids())
    array = checks.as_array(f"columns[{name!r}]", values, "ids")
    if isinstance(values, (list, tuple)) and all(isinstance(value, str) for value in values):
        return array
    return checks.as_words(values, array)


class _Joined:
    """A column of several parts, joined on first access."""

    def __init__(self, name: str, parts: Sequence[Columns]) -> None:
        self._name, self._parts = name, parts

    def array(self) -> NDArray[Any]:
        """Return the column."""
        pieces = [columns[self._name] for columns in self._parts]
        filled = [piece for piece in pieces if piece.size] or pieces
        if len({_KINDS.get(piece.dtype.kind, piece.dtype.kind) for piece in filled}) > 1:
            types = " and ".join(sorted({str(piece.dtype) for piece in filled}))
            rule = f"must be of one type in all parts, not {types}"
            raise ArgumentError("columns", rule, name=f"columns[{self._name!r}]")
        return np.concatenate(filled)


def check_column(argument: str, name: str, names: Collection[str]) -> None:
    """Raise unless the column that an argument names exists."""
    if name not in names:
        rule = f"must name a column of the data, not {name!r}"
        if argument == "data":
            rule = f"must have the column {name!r}"
        remedy = f"pass columns={{{name!r}: ids}} where the predictions are made"
        if names:
            rule, remedy = f"{rule}; there are: {', '.join(names)}", ""
        raise ArgumentError(argument, rule, remedy=remedy)
