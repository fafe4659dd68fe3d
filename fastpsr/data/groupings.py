"""Groupings of samples by columns of ids, bins of numbers, and names and order of groups."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.data.labeled import Floats
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered

OwnBins = int | Sequence[float] | Literal["each"]
#: For all columns of numbers, or by name of the column: the number of quantile bins, edges, or
#: "each" for a group of each value.
Bins = OwnBins | Mapping[str, OwnBins]
_MOST_NUMBERS = 20  # that are groups each: more are measurements rather than codes
_MOST_GROUPS = 1_000  # of a grouping, unless all are asked for


@dataclass(frozen=True, eq=False)
class Binning:
    """Grouping of the values of a column: into bins by edges, or by value if edges are None.

    Bins hold their lower edge, the first begins at -inf, and the last ends at inf.
    """

    edges: Floats | None = None

    @property
    def key(self) -> Hashable:
        """Identity of these bins."""
        return None if self.edges is None else tuple(self.edges.tolist())

    def codes(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the bins of values, -1 where they are no numbers; without bins the values."""
        if self.edges is None:
            return values
        numbers = as_numbers(values)
        bins = np.searchsorted(self.edges, numbers, side="right")
        return np.where(np.isnan(numbers), -1, bins)

    def name(self, code: Any) -> str:
        """Return the name of a bin, or of a value."""
        if self.edges is None:
            return code.decode("utf-8", "replace") if isinstance(code, bytes) else str(code)
        if code < 0:
            return "no number"
        low, high = ([-np.inf, *self.edges, np.inf][code + i] for i in range(2))
        return f"[{_shown(low)}, {_shown(high)}{']' if high == np.inf else ')'}"


def _shown(edge: float) -> str:
    return repr(float(edge)).removesuffix(".0")


class Binner:
    """The argument `bins`: bins by column, and the largest number of groups.

    Parameters
    ----------
    bins : int, sequence of float, "each", or dict of name to one of these, optional
    columns : iterable of str
        Names of all columns.
    """

    def __init__(self, bins: Bins | None, columns: Iterable[str]) -> None:
        names = list(dict.fromkeys(columns))
        if bins is not None and not names:
            raise ArgumentError("bins", "are for groups of samples", remedy="pass by=...")
        self._is_by_name = isinstance(bins, Mapping)
        if isinstance(bins, Mapping):
            for name in bins:
                if name not in names:
                    rule = f"must be for columns of by: {', '.join(map(repr, names))}, not {name!r}"
                    raise ArgumentError("bins", rule)
            self._own = {name: _valid(f"bins[{name!r}]", binning) for name, binning in bins.items()}
        else:
            self._own = {} if bins is None else dict.fromkeys(names, _valid("bins", bins))
        self._words: dict[str, str | None] = {}

    def asks_for(self, name: str) -> bool:
        """Return whether numbers of a column are binned."""
        return name in self._own and not isinstance(self._own[name], str)

    def binning(self, name: str, word: str | None, quantiles: Callable[[int], Floats]) -> Binning:
        """Return the bins of a column; `word` is a value that is not a number, if any."""
        self._words[name] = word
        if word is not None:
            if self._is_by_name:
                rule = f"must be of a column of numbers, but {name!r} has {str(word)!r}"
                raise ArgumentError("bins", rule)
            return Binning()
        own_binning = self._own[name]
        return Binning(quantiles(own_binning) if isinstance(own_binning, int) else own_binning)

    def check_used(self) -> None:
        """Raise if numbers are to be binned, and no column has numbers alone."""
        if self._words and None not in self._words.values():
            unusable = [f"{name!r} has {str(word)!r}" for name, word in self._words.items()]
            raise ArgumentError("bins", f"are for columns of numbers, but {' and '.join(unusable)}")

    def check_number(
        self, names: Sequence[str], values: Collection[tuple[Any, ...]], more: str = ""
    ) -> None:
        """Raise if a grouping has too many groups, by the values of its columns.

        `more` is put after their number.
        """
        for name, column in zip(names, zip(*values, strict=True), strict=bool(values)):
            distinct = set(column)
            if name in self._own or len(distinct) <= _MOST_NUMBERS:
                continue
            if all(number_of(value) is not None for value in distinct):
                rule = f"{_MOST_NUMBERS} different numbers, not {len(distinct):,}{more}"
                remedy = f"pass bins={{{name!r}: 4}} for quartiles, or {_each(name)}"
                raise _too_many(name, rule, remedy, 4)
        is_wanted = any(isinstance(self._own.get(name), str) for name in names)
        if len(values) > _MOST_GROUPS and not is_wanted:
            rule = f"{_MOST_GROUPS:,} groups, not {len(values):,}{more}"
            grouping = ", ".join(map(str, names))
            raise _too_many(grouping, rule, f"pass {_each(names[0])}", "each")


def _each(name: str) -> str:
    return f"bins={{{name!r}: 'each'}} for a group of each value"


def _too_many(name: str, rule: str, remedy: str, bins: OwnBins) -> ArgumentError:
    rule = f"must have at most {rule}"
    return ArgumentError("by", rule, name=f"by[{name!r}]", remedy=remedy, pass_={"bins": bins})


def _valid(name: str, bins: Any) -> Any:
    if isinstance(bins, str):
        if bins != "each":
            raise ArgumentError(name, f'must be a number, edges or "each", not {bins!r}')
        return bins
    if np.ndim(bins) == 0:
        checks.check_integer(name, bins, 2)
        return int(bins)
    edges = checks.as_floats(name, bins, 1)
    ascends = np.append(True, edges[1:] > edges[:-1])
    wrong = np.flatnonzero(~(np.isfinite(edges) & ascends))
    if wrong.size:
        at = int(wrong[0])
        rule = "must have finite edges that ascend"
        raise ArgumentError(name, rule, at, value=_shown(edges[at]))
    return edges


def number_of(value: Any) -> float | None:
    """Return a value of a column as a number, None if it is none: a date, or other text."""
    if isinstance(value, (bytes, str)):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        try:
            number = float(text) if "_" not in text else np.nan  # 1_000 is a name
        except ValueError:
            return None
        return None if np.isnan(number) else number
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    return float(value) if is_number and not isinstance(value, bool) else None


def as_numbers(values: NDArray[Any]) -> Floats:
    """Return the values of a column as numbers, nan where they are none."""
    if values.dtype.kind in "iuf":
        return values.astype(np.float64, copy=False)
    distinct, places = np.unique(values, return_inverse=True)
    numbers = [number_of(value) for value in distinct]
    return np.array([np.nan if x is None else x for x in numbers], np.float64)[places]


def ranks_of(values: Iterable[Any]) -> dict[Any, int]:
    """Return the place of each value of a column in natural order: numbers in text count."""
    distinct = list(dict.fromkeys(values))
    if not any(isinstance(value, (bytes, str)) for value in distinct):
        order = np.argsort(np.asarray(distinct), kind="stable").tolist()
    else:
        texts = [each.decode("latin-1") if isinstance(each, bytes) else each for each in distinct]
        numbers = [number_of(value) for value in distinct]
        first: Any = [_natural(text) for text in texts] if None in numbers else numbers
        order = sorted(range(len(distinct)), key=list(zip(first, texts, strict=True)).__getitem__)
    return {distinct[place]: rank for rank, place in enumerate(order)}


def _natural(text: str) -> tuple[Any, ...]:
    """Return text, number, text, number, ..., as a key of natural order."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return tuple(float(part) if place % 2 else part for place, part in enumerate(parts))


#: Name of a grouping: of a column, or of several, whose combinations make the groups.
Name = str | tuple[str, ...]
#: Names of columns; or ids, or names of columns, by name of the grouping; or a Series that has a
#: name. A grouping of several columns has a tuple of names, and a tuple of ids.
By = Mapping[str, Any] | Mapping[Name, Any] | Sequence[Name] | str


@dataclass(frozen=True, eq=False)
class SharedTargets:
    """Groups of negatives that share all targets, for the argument `by` of ``fp.evaluate``.

    Each group has the negatives (class 0) of one value and all samples of class 1: so the EER of
    each spoofing attack is computed, attacks having no targets of their own.

    Parameters
    ----------
    ids : array-like of shape (N,), or str
        Group of each sample: integers, other numbers or strings, or the name of the column that has
        them; a tuple of these for combinations. Those of targets are not used.

    Raises
    ------
    ArgumentError
        When used, for ids of the wrong length, or data of more than two classes.

    Notes
    -----
    Groups overlap, so that their intervals are not independent: each has the same targets.

    References
    ----------
    J. Jung et al., "SASV 2022: the first spoofing-aware speaker verification challenge",
    Interspeech 2022, doi:10.21437/Interspeech.2022-11270, section 3.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([1, 1, 0, 0, 0], [2.0, 0.5, -1.0, 1.0, 3.0])
    >>> attacks = fp.SharedTargets(["", "", "none", "A01", "A02"])
    >>> print(fp.evaluate(data, [fp.AUC()], by={"attack": attacks}))
                 pooled  attack=A01  attack=A02  attack=none
    targets           2           2           2            2
    non-targets       3           1           1            1
    AUC          0.5000      0.5000      0.0000       1.0000
    """

    ids: Any


@dataclass(frozen=True, eq=False)
class Grouping:
    """A column of ids, encoded as indices of its distinct values.

    Attributes
    ----------
    values : sequence or ndarray
    places : ndarray of int, shape (N,)
    """

    values: Sequence[Any] | NDArray[Any]
    places: NDArray[Any]

    @classmethod
    def of(cls, ids: Any, *, is_binned: bool = False) -> "Grouping":
        """Return the grouping by an id per sample; of numbers to be binned each is a value."""
        if not ids.size:
            return cls((), np.empty(0, np.int64))
        if is_binned and ids.dtype.kind in "iuf":
            return cls(ids, np.arange(ids.size))
        values, (places,) = numbered(ids)
        return cls(list(values), places)

    def binned(self, binning: Binning) -> "Grouping":
        """Return the grouping by the bins of the values."""
        if binning.edges is None:
            return self
        distinct, (places,) = numbered(binning.codes(self.numbers()))
        return Grouping(list(distinct), places[self.places])

    def numbers(self) -> Floats:
        """Return the values as numbers, nan where they are none."""
        return as_numbers(np.asarray(self.values))


def columns_by_name(by: Any) -> dict[Any, Any]:
    """Return the ids of each grouping, or the name of its column, by the name of the grouping."""
    if isinstance(by, str):
        return {by: by}
    if isinstance(by, Mapping):
        return dict(by)
    if isinstance(by, (list, tuple)) and all(isinstance(name, (str, tuple, list)) for name in by):
        return {name if isinstance(name, str) else tuple(name): name for name in by}
    name = getattr(by, "name", None)  # of a Series of pandas or polars
    if not isinstance(name, str) or not name:
        text = repr(by) if isinstance(by, (str, int, float)) else type(by).__name__
        rule = (
            f"must be names of columns, a dict of name to ids, or a Series with a name, not {text}"
        )
        raise ArgumentError("by", rule, remedy="pass by={'group': ids}")
    return {name: by}


def named(
    names: Sequence[str], binnings: Sequence[Binning], values: Sequence[tuple[Any, ...]]
) -> list[tuple[str, tuple[Any, ...]]]:
    """Return names of groups with their values of each column, in natural order."""
    ranks = [ranks_of(own) for own in zip(*values, strict=True)]
    ordered = sorted(values, key=lambda each: [r[v] for r, v in zip(ranks, each, strict=True)])

    def name(each: tuple[Any, ...]) -> str:
        columns = zip(names, binnings, each, strict=True)
        return ", ".join(f"{column}={binning.name(value)}" for column, binning, value in columns)

    return [(name(each), each) for each in ordered]


def combined(columns: Sequence[Grouping]) -> tuple[list[tuple[Any, ...]], NDArray[Any]]:
    """Return the combinations of values that occur, and the place of each sample among them."""
    first, *later_columns = columns
    combinations, places = [(value,) for value in first.values], first.places
    for column in later_columns:
        n = len(column.values)
        distinct, (places,) = numbered(places.astype(np.int64) * n + column.places)
        combinations = [(*combinations[c // n], column.values[c % n]) for c in distinct.tolist()]
    return combinations, places


def rows_of_each(places: NDArray[Any], n_groups: int) -> list[NDArray[np.int64]]:
    """Return the rows of each group, ascending."""
    bounds = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=n_groups))])
    order = kernels.sorting.order_by_group(places, bounds).astype(np.int64)
    return np.split(order, bounds[1:-1]) if n_groups else []
