"""Groups of samples, one for each value of a column."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.counts import Step, count, side_by_side
from fastpsr.data import LABELS, Data, Floats, Part, PartitionedPredictions, Predictions, Selection
from fastpsr.errors import ArgumentError
from fastpsr.frames import RowOrder
from fastpsr.groups.binning import (
    Binner,
    Binning,
    Bins,
    NegatedColumn,
    as_numbers,
    negated,
    number_of,
    quantile_edges,
    ranks_of,
)
from fastpsr.ids import as_ids, numbered, type_of

_MOST_COLLECTED = 100_000  # values of data in parts, from which on they may be too many


@dataclass(frozen=True, eq=False)
class SharedTargets:
    """Groups of negatives that share all targets, for the argument `by` of ``fp.evaluate``.

    Each group has the negatives (class 0) of one value and all samples of class 1: so the EER of
    each spoofing attack is computed, attacks having no targets of their own.

    Parameters
    ----------
    ids : array-like of shape (N,), or str
        Group of each sample: integers, other numbers or strings; for data in parts, the name of the
        column; a tuple of these for combinations. Those of targets are not used.

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


#: Name of a grouping: of a column, or of several, whose combinations make the groups.
Name = str | tuple[str, ...]

#: For data in memory, ids by name of the grouping, or a Series that has one; for data in parts,
#: names of columns. A grouping of several columns has a tuple of names, and a tuple of ids.
By = Mapping[str, Any] | Mapping[Name, Any] | Sequence[Name] | str

#: Rows of a group: their numbers in memory, or what selects them in parts.
Rows = NDArray[np.int64] | Selection


@dataclass(frozen=True, eq=False)
class Subgroup:
    """The samples with one value of a grouping, or one combination of values.

    Attributes
    ----------
    grouping : str
        Name of the column, or of the columns, such as "gender, channel".
    name : str
        Of columns and values, such as "gender=f" or "gender=f, channel=tel".
    data : Predictions or PartitionedPredictions
    rows : ndarray of int64, or Selection
    """

    grouping: str
    name: str
    data: Data
    rows: Rows


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
    def of(
        cls, name: str, ids: Any, n_samples: int, order: RowOrder = None, *, is_binned: bool = False
    ) -> "Grouping":
        """Return the grouping by an id per sample; of numbers to be binned each is a value."""
        if isinstance(ids, cls):
            return ids
        if isinstance(ids, str):
            raise ArgumentError(
                "by", f"must have one id per sample for {name!r}: columns are for data in parts"
            )
        array = as_ids(f"by[{name!r}]", ids, n_samples, order)
        if not array.size:
            return cls((), np.empty(0, np.int64))
        if is_binned and array.dtype.kind in "iuf":
            return cls(array, np.arange(array.size))
        values, (places,) = numbered(array)
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


@dataclass(frozen=True, eq=False)
class _Request:
    """Names and ids of the columns of a grouping; in parts the ids are names, too."""

    names: tuple[str, ...]
    ids: tuple[Any, ...]
    shares_targets: bool

    @classmethod
    def of(cls, name: Any, ids: Any, in_parts: bool) -> "_Request":
        """Return the request of an item of the argument `by`."""
        shares_targets = isinstance(ids, SharedTargets)
        ids = ids.ids if isinstance(ids, SharedTargets) else ids
        names, columns = (name,), (ids,)
        if isinstance(name, (tuple, list)):
            n = len(ids) if isinstance(ids, (tuple, list)) else None
            if n != len(name) or not name:
                what = "name" if in_parts else "give ids of"
                raise ArgumentError("by", f"must {what} {len(name)} columns for {name!r}")
            names, columns = tuple(name), tuple(ids)
            if len(set(names)) < len(names):
                raise ArgumentError("by", f"must name different columns, not {name!r}")
        for each, column in zip(names, columns, strict=True):
            if in_parts and not isinstance(column, str):
                rule = f"must name columns of data in parts, not give ids for {each!r}"
                raise ArgumentError("by", rule)
        return cls(names, columns, shares_targets)

    @property
    def grouping(self) -> str:
        """Name of the grouping."""
        return ", ".join(map(str, self.names))

    def check(self, n_classes: int) -> None:
        """Raise where targets are shared of data that have none."""
        if self.shares_targets and n_classes != 2:
            rule = f"must not share targets: these are data of {n_classes} classes, not 2"
            raise ArgumentError("by", rule, name=f"by[{self.grouping!r}]")


def groups_of(data: Data, by: By | None, bins: Bins | None = None) -> list[Subgroup]:
    """Return the groups of each grouping, in natural order of their values."""
    requests = _requests(by, isinstance(data, PartitionedPredictions))
    for request in requests:
        request.check(data.n_classes)
    binner = Binner(bins, [name for request in requests for name in request.names])
    if isinstance(data, PartitionedPredictions):
        of_requests = [partial(_groups_in_parts, data, each, binner) for each in requests]
        found = [group for some in side_by_side(*of_requests, over=data) for group in some]
    else:
        found = [group for each in requests for group in _groups_in_memory(data, each, binner)]
    binner.check_used()
    ((name, n),) = Counter(group.name for group in found).most_common(1) or [("", 0)]
    if n > 1:
        raise ArgumentError("by", f"must give groups of different names, but {n} are {name!r}")
    return found


def _requests(by: Any, in_parts: bool) -> list[_Request]:
    if by is None:
        return []
    if not in_parts and not isinstance(by, Mapping):
        name = getattr(by, "name", None)  # of a Series of pandas or polars
        if not isinstance(name, str) or not name:
            rule = f"must be a dict of name to ids, or a Series with a name, not {_shown(by)}"
            raise ArgumentError("by", rule, remedy="pass by={'group': ids}")
        by = {name: by}
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, (Mapping, list, tuple)):
        raise ArgumentError("by", f"must name columns of data in parts, not be {_shown(by)}")
    given = names.items() if isinstance(names, Mapping) else zip(names, names, strict=True)
    return [_Request.of(name, ids, in_parts) for name, ids in given]


def _shown(by: object) -> str:
    return repr(by) if isinstance(by, str) else type(by).__name__


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
    first, *others = columns
    combinations, places = [(value,) for value in first.values], first.places
    for other in others:
        n = len(other.values)
        distinct, (places,) = numbered(places.astype(np.int64) * n + other.places)
        combinations = [(*combinations[c // n], other.values[c % n]) for c in distinct.tolist()]
    return combinations, places


def rows_of_each(places: NDArray[Any], n_groups: int) -> list[NDArray[np.int64]]:
    """Return the rows of each group, ascending."""
    bounds = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=n_groups))])
    order = kernels.sorting.order_by_group(places, bounds).astype(np.int64)
    return np.split(order, bounds[1:-1]) if n_groups else []


def _counted(samples: Predictions, shares_targets: bool) -> Any:
    """Return an index of those that make groups: with weight; negatives if targets are shared."""
    if shares_targets:
        is_negative = samples.labels == 0
        return is_negative & (samples.weights > 0.0) if samples.weights.size else is_negative
    return samples.weights > 0.0 if samples.weights.size else slice(None)


# In memory


def _groups_in_memory(data: Predictions, request: _Request, binner: Binner) -> list[Subgroup]:
    counted = _counted(data, request.shares_targets)
    columns, binnings = [], []
    for name, ids in zip(request.names, request.ids, strict=True):
        is_binned = binner.asks_for(name)
        column = Grouping.of(name, ids, len(data), data.row_order, is_binned=is_binned)
        if is_binned:
            binnings.append(binning_in_memory(data, name, column, counted, binner))
        else:
            binnings.append(Binning())
        columns.append(column.binned(binnings[-1]))
    all_values, places = combined(columns)
    n_here = np.bincount(places[counted], minlength=len(all_values))
    place_of = {value: place for place, value in enumerate(all_values) if n_here[place]}
    binner.check_number(request.names, list(place_of))
    rows_of = rows_of_each(places, len(all_values))
    found = []
    for name, values in named(request.names, binnings, list(place_of)):
        rows = rows_of[place_of[values]]
        if request.shares_targets:
            rows = np.union1d(rows[data.labels[rows] == 0], np.flatnonzero(data.labels == 1))
        found.append(Subgroup(request.grouping, name, data[rows].alone(), rows))
    return found


def binning_in_memory(
    data: Predictions, name: str, column: Grouping, counted: Any, binner: Binner
) -> Binning:
    """Return the bins of a column, of the samples that are `counted`."""
    n_here = np.bincount(column.places[counted], minlength=len(column.values))
    numbers = column.numbers()
    is_word = np.isnan(numbers) & (n_here > 0)
    word = column.values[int(np.argmax(is_word))] if is_word.any() else None

    def quantiles(bins: int) -> Floats:
        weights = np.zeros(len(data))
        weights[counted] = data.weights[counted] if data.weights.size else 1.0
        values = negated(numbers[column.places], weights)
        return quantile_edges(values, bins)

    return binner.binning(name, word, quantiles)


# In parts


def _groups_in_parts(
    data: PartitionedPredictions, request: _Request, binner: Binner
) -> list[Subgroup]:
    binnings = []
    for name, column in zip(request.names, request.ids, strict=True):
        if not binner.asks_for(name):
            binnings.append(Binning())
            continue
        word = count(_FirstWord(column, request.shares_targets).over(data))
        values = data.mapped(NegatedColumn(column, request.shares_targets))
        quantiles = partial(quantile_edges, values)
        binnings.append(binner.binning(name, word, quantiles))
    columns = _Columns(request.ids, tuple(binnings), request.shares_targets)
    values = count(_DistinctValues(columns, request.names, binner).over(data))
    binner.check_number(request.names, list(values))
    found = []
    for name, each in named(request.names, binnings, list(values)):
        group = _InGroup(columns, each)
        found.append(Subgroup(request.grouping, name, data.mapped(group), group))
    return found


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns of a grouping of data in parts, with their bins."""

    names: tuple[str, ...]
    binnings: tuple[Binning, ...]
    shares_targets: bool

    @property
    def key(self) -> Hashable:
        """Identity of these columns."""
        return (self.names, tuple(each.key for each in self.binnings), self.shares_targets)

    def of(self, part: Part) -> list[NDArray[Any]]:
        """Return the values or bins of the rows of a part, (n,) of each column."""

        def codes(name: str, binning: Binning) -> Any:
            ids = part.ids("by", name)
            return part.remember(("bins", name, binning.key), lambda: binning.codes(ids))

        return [codes(*each) for each in zip(self.names, self.binnings, strict=True)]


class _InGroup(Selection):
    """The rows that have values in columns, and all targets if they are shared."""

    def __init__(self, columns: _Columns, values: tuple[Any, ...]) -> None:
        self.reads = frozenset(columns.names)
        self._columns, self._values = columns, values

    def rows(self, part: Part) -> NDArray[np.bool_]:
        own = np.ones(len(part.predictions), bool)
        for ids, value in zip(self._columns.of(part), self._values, strict=True):
            own &= np.asarray(ids == value)
        return own | (part.predictions.labels == 1) if self._columns.shares_targets else own


@dataclass(frozen=True, eq=False)
class _FirstWord(Step):
    """Find a value of a column that is no number, the first in order; None if there is none."""

    column: str
    shares_targets: bool
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | {self.column}

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        ids = part.ids("by", self.column)
        if ids.dtype.kind in "iuf":
            return accumulator
        here = np.unique(ids[_counted(part.predictions, self.shares_targets)])
        words = [value for value in here if number_of(value) is None]
        return self.merge(accumulator, words[0]) if words else accumulator

    def merge(self, one: Any, other: Any) -> Any:
        words = [word for word in (one, other) if word is not None]
        return min(words, key=str) if words else None


@dataclass(frozen=True, eq=False)
class _DistinctValues(Step):
    """Collect the combinations of values of columns, with the types of the columns."""

    columns: _Columns
    names: tuple[str, ...]  # in `by`
    binner: Binner
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | set(self.columns.names)

    def start(self) -> tuple[dict[str, NDArray[Any]], set[tuple[Any, ...]]]:
        return {}, set()

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        counted = _counted(part.predictions, self.columns.shares_targets)
        first, *others = ids = [each[counted] for each in self.columns.of(part)]
        if not first.size:
            return accumulator
        values = [(value,) for value in np.unique(first)]
        if others:
            columns = [Grouping(list(own), places) for own, (places,) in map(numbered, ids)]
            values, _ = combined(columns)
        types = {name: each[:0] for name, each in zip(self.columns.names, ids, strict=True)}
        return self.merge(accumulator, (types, set(values)))

    def merge(self, one: Any, other: Any) -> Any:
        types, values = one
        for name, ids in other[0].items():
            before = types.setdefault(name, ids)
            if _comparable(before) != _comparable(ids):
                raise ArgumentError(
                    "by",
                    f"must name columns of one type in all parts, but {name!r} is {before.dtype} "
                    f"and {ids.dtype}",
                )
        values |= other[1]
        if len(values) > _MOST_COLLECTED:
            self.binner.check_number(self.names, values, " or more")
        return types, values

    def finish(self, accumulator: Any) -> set[tuple[Any, ...]]:
        values: set[tuple[Any, ...]] = accumulator[1]
        return values


def _comparable(ids: NDArray[Any]) -> str:
    """Return what the types of columns of parts must have in common, so that values are equal."""
    return ids.dtype.str if ids.dtype.kind in "fmM" else type_of(ids)
