"""Groups of samples: by values of columns, their combinations, and bins of numbers."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr.counts import count, find_facts, side_by_side
from fastpsr.counts.order_statistics import weighted_quantiles
from fastpsr.data import (
    LABELS,
    Data,
    Floats,
    Part,
    PartitionedPredictions,
    Predictions,
    Selection,
    Transform,
    check_ids,
    mapped,
)
from fastpsr.data.groupings import (
    Binner,
    Binning,
    Bins,
    By,
    Grouping,
    SharedTargets,
    columns_by_name,
    combined,
    named,
    rows_of_each,
)
from fastpsr.data.steps import Step, identity_of
from fastpsr.errors import ArgumentError
from fastpsr.ids import type_of

_DIGIT = Decimal("0.001")  # to which edges are rounded, relative to the narrowest bin
_MOST_COLLECTED = 100_000  # values of data in parts, from which on they may be too many
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
class _Request:
    """Names of the columns of a grouping; and of each its ids, or its name in the data."""

    names: tuple[str, ...]
    ids: tuple[Any, ...]
    shares_targets: bool = False

    @classmethod
    def of(cls, name: Any, ids: Any) -> "_Request":
        """Return the request of an item of the argument `by`."""
        shares_targets = isinstance(ids, SharedTargets)
        ids = ids.ids if isinstance(ids, SharedTargets) else ids
        if not isinstance(name, (tuple, list)):
            return cls((name,), (ids,), shares_targets)
        n = len(ids) if isinstance(ids, (tuple, list)) else None
        if n != len(name) or not name:
            raise ArgumentError("by", f"must give {len(name)} columns for {name!r}")
        if len(set(name)) < len(name):
            raise ArgumentError("by", f"must name different columns, not {name!r}")
        return cls(tuple(name), tuple(ids), shares_targets)

    @property
    def grouping(self) -> str:
        """Name of the grouping."""
        return ", ".join(map(str, self.names))


def groups_of(data: Data, by: By | None, bins: Bins | None = None) -> list[Subgroup]:
    """Return the groups of each grouping, in natural order of their values."""
    requests = [_Request.of(*item) for item in columns_by_name({} if by is None else by).items()]
    for request in requests:
        if request.shares_targets and data.n_classes != 2:
            rule = f"must not share targets: these are data of {data.n_classes} classes, not 2"
            raise ArgumentError("by", rule, name=f"by[{request.grouping!r}]")
    binner = Binner(bins, [name for request in requests for name in request.names])
    of_requests = [partial(_groups, data, request, binner) for request in requests]
    groups = [group for group_list in side_by_side(*of_requests, over=data) for group in group_list]
    binner.check_used()
    ((name, n),) = Counter(group.name for group in groups).most_common(1) or [("", 0)]
    if n > 1:
        raise ArgumentError("by", f"must give groups of different names, but {n} are {name!r}")
    return groups


def _groups(data: Data, request: _Request, binner: Binner) -> list[Subgroup]:
    columns, values = _Columns.of(data, request, binner)
    ordered = named(request.names, columns.binnings, values)
    if isinstance(data, PartitionedPredictions):
        selections = [(name, _InGroup(columns, value)) for name, value in ordered]
        return [Subgroup(request.grouping, name, data.mapped(s), s) for name, s in selections]
    all_values, places = columns.grouped(Part.whole(data))
    rows_of = dict(zip(all_values, rows_of_each(places, len(all_values)), strict=True))
    groups = []
    for name, value in ordered:
        rows = rows_of[value]
        if request.shares_targets:
            rows = np.union1d(rows[data.labels[rows] == 0], np.flatnonzero(data.labels == 1))
        groups.append(Subgroup(request.grouping, name, data[rows].alone(), rows))
    return groups


def _counted(samples: Predictions, shares_targets: bool) -> Any:
    """Return an index of rows that form groups: with weight; non-targets if targets are shared."""
    if shares_targets:
        is_negative = samples.labels == 0
        return is_negative & (samples.weights > 0.0) if samples.weights.size else is_negative
    return samples.weights > 0.0 if samples.weights.size else slice(None)


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of a grouping: its name in `by`, and its ids, or its name in data in parts."""

    name: str
    ids: str | NDArray[Any] | Grouping
    is_binned: bool

    @classmethod
    def of(cls, data: Data, name: str, ids: Any, *, is_binned: bool) -> Self:
        """Return a column of data; in memory its ids are grouped once."""
        ids = check_ids(f"by[{name!r}]", ids, data)
        if isinstance(data, Predictions) and not isinstance(ids, Grouping):
            ids = Grouping.of(data.ids(f"by[{name!r}]", ids), is_binned=is_binned)
        return cls(name, ids if isinstance(ids, str | Grouping) else np.asarray(ids), is_binned)

    @property
    def key(self) -> Hashable:
        """Identity of this column."""
        return (identity_of(self.ids), self.is_binned)

    @property
    def reads(self) -> frozenset[str]:
        """Names of the columns to read of a part besides the labels."""
        return frozenset([self.ids] if isinstance(self.ids, str) else [])

    def of_rows(self, part: Part) -> Any:
        """Return the ids of the rows of a part of data in parts, (n,)."""
        return part.ids(f"by[{self.name!r}]", self.ids)

    def grouping(self, part: Part) -> Grouping:
        """Return the grouping of the rows of a part."""
        if isinstance(self.ids, Grouping):
            return self.ids
        return Grouping.of(self.of_rows(part), is_binned=self.is_binned)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns that are combined, with their bins."""

    columns: tuple[_Column, ...]
    binnings: tuple[Binning, ...]
    shares_targets: bool

    @classmethod
    def of(
        cls, data: Data, request: _Request, binner: Binner
    ) -> tuple[Self, list[tuple[Any, ...]]]:
        """Return the columns, with bins, and the values of the samples that make groups."""
        columns, binnings = [], []
        for name, ids in zip(request.names, request.ids, strict=True):
            column = _Column.of(data, name, ids, is_binned=binner.asks_for(name))
            binning = Binning()
            if column.is_binned:
                word = count(_FirstWord(column, request.shares_targets).over(data))
                numbers = _NegatedNumbers(column, request.shares_targets)
                binning = binner.binning(name, word, partial(_quantile_edges, data, numbers))
            columns.append(column)
            binnings.append(binning)
        combined_columns = cls(tuple(columns), tuple(binnings), request.shares_targets)
        values = count(_DistinctValues(combined_columns, binner).over(data))
        binner.check_number(request.names, values)
        return combined_columns, list(values)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in `by`."""
        return tuple(column.name for column in self.columns)

    @property
    def reads(self) -> frozenset[str]:
        """Names of the columns to read of a part."""
        return LABELS.union(*(column.reads for column in self.columns))

    @property
    def key(self) -> Hashable:
        """Identity of these columns."""
        return (*(c.key for c in self.columns), *(b.key for b in self.binnings))

    def grouped(self, part: Part) -> tuple[list[tuple[Any, ...]], NDArray[Any]]:
        """Return the combinations of values in a part, and the place of each row among them."""
        pairs = zip(self.columns, self.binnings, strict=True)
        return combined([column.grouping(part).binned(binning) for column, binning in pairs])

    def codes(self, part: Part) -> list[NDArray[Any]]:
        """Return the values or bins of the rows of a part of data in parts, (n,) of each column."""
        pairs = zip(self.columns, self.binnings, strict=True)
        codes: list[NDArray[Any]] = part.remember(
            ("groups", self.key), lambda: [b.codes(c.of_rows(part)) for c, b in pairs]
        )
        return codes


class _InGroup(Selection):
    """The rows that have values in columns, and all targets if they are shared."""

    def __init__(self, columns: _Columns, values: tuple[Any, ...]) -> None:
        self.reads = columns.reads - LABELS
        self._columns, self._values = columns, values

    def rows(self, part: Part) -> NDArray[np.bool_]:
        rows = np.ones(len(part.predictions), bool)
        for codes, value in zip(self._columns.codes(part), self._values, strict=True):
            rows &= np.asarray(codes == value)
        return rows | (part.predictions.labels == 1) if self._columns.shares_targets else rows


@dataclass(frozen=True, eq=False)
class _FirstWord(Step[Any]):
    """Find the first value of a column that is not a number; None if all are numbers."""

    column: _Column
    shares_targets: bool
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | self.column.reads

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        grouping = self.column.grouping(part)
        counted = grouping.places[_counted(part.predictions, self.shares_targets)]
        is_word = np.isnan(grouping.numbers())
        is_word &= np.bincount(counted, minlength=len(grouping.values)) > 0
        if not is_word.any():
            return accumulator
        return self.merge(accumulator, grouping.values[int(np.argmax(is_word))])

    def merge(self, total: Any, more: Any) -> Any:
        words = [word for word in (total, more) if word is not None]
        return min(words, key=str) if words else None


@dataclass(frozen=True, eq=False)
class _DistinctValues(Step[Any]):
    """Collect the combinations of values of columns, with an example of the types."""

    columns: _Columns
    binner: Binner
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return self.columns.reads

    def start(self) -> tuple[tuple[Any, ...], set[tuple[Any, ...]]]:
        return (), set()

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        values, places = self.columns.grouped(part)
        counted = places[_counted(part.predictions, self.columns.shares_targets)]
        present = [values[place] for place in np.flatnonzero(np.bincount(counted))]
        return self.merge(accumulator, (present[0], set(present))) if present else accumulator

    def merge(self, total: Any, more: Any) -> Any:
        for name, *values in zip(self.columns.names, total[0], more[0], strict=False):
            before, ids = map(np.asarray, values)
            if _comparable(before) != _comparable(ids):
                raise ArgumentError(
                    "by",
                    f"must name columns of one type in all parts, but {name!r} is {before.dtype} "
                    f"and {ids.dtype}",
                )
        values = total[1] | more[1]
        if len(values) > _MOST_COLLECTED:
            self.binner.check_number(self.columns.names, values, " or more")
        return total[0] or more[0], values

    def finish(self, accumulator: Any) -> set[tuple[Any, ...]]:
        values: set[tuple[Any, ...]] = accumulator[1]
        return values


def _comparable(ids: NDArray[Any]) -> str:
    """Return a key of the type of ids; values of parts are comparable if their keys are equal."""
    return ids.dtype.str if ids.dtype.kind in "fmM" else type_of(ids)


class _NegatedNumbers(Transform):
    """The numbers of a column, negated, as raw scores; of negatives only if targets are shared."""

    keeps_rows, keeps_priors = False, False
    kind, n_classes = "raw scores", 2

    def __init__(self, column: _Column, shares_targets: bool) -> None:
        self.reads = column.reads
        self._column, self._shares_targets = column, shares_targets

    def __call__(self, part: Part) -> Predictions:
        weights = part.predictions.weights
        if not weights.size:
            weights = np.ones(len(part.predictions))
        if self._shares_targets:
            weights = np.where(part.predictions.labels == 0, weights, 0.0)
        grouping = self._column.grouping(part)
        scores = np.where(weights > 0.0, -grouping.numbers()[grouping.places], 0.0)
        y = np.zeros(scores.size, np.int8)
        return Predictions.from_raw_scores(y, scores, sample_weight=weights)


def _quantile_edges(data: Data, negated: _NegatedNumbers, bins: int) -> Floats:
    """Return the edges of quantile bins, each rounded down to few digits.

    The i-th edge is the largest value with at most i / `bins` of the weight below it, so that
    values are negated.
    """
    numbers = mapped(data, negated)
    if isinstance(numbers, PartitionedPredictions):
        find_facts(numbers)
    if not numbers.class_sizes.any():
        return np.empty(0)
    shares = np.arange(bins + 1) / bins
    high, *inner, low = (-weighted_quantiles(numbers, _scores, shares)).tolist()
    return _short(low, sorted({edge for edge in inner if low < edge < np.inf}), high)


def _scores(samples: Predictions) -> Floats:
    return samples.scores.astype(np.float64, copy=False)


def _short(low: float, edges: Sequence[float], high: float) -> Floats:
    """Return edges rounded down to digits that are fine for the narrowest bin."""
    finite = [each for each in (low, *edges, high) if np.isfinite(each)]
    gaps = [gap for gap in np.diff(finite).tolist() if 0.0 < gap < np.inf]
    if not gaps:
        return np.array(edges, np.float64)
    with localcontext(Context(prec=50)):  # of doubles, 17 digits of which are exact
        digit = Decimal(10) ** (Decimal(min(gaps)) * _DIGIT).adjusted()
        exact = [Decimal(repr(edge)) / digit for edge in edges]
        return np.array([float(x.to_integral_value(ROUND_FLOOR) * digit) for x in exact])


@dataclass(frozen=True, eq=False)
class GroupOfRows:
    """The group of each sample.

    Attributes
    ----------
    names : list of str
        Of all G groups, in natural order, such as "gender=f, channel=tel".
    places : ndarray of int64, shape (N,)
        Number of the group of each sample.
    """

    names: list[str]
    places: NDArray[np.int64]

    @property
    def rows(self) -> list[NDArray[np.int64]]:
        """Rows of each group, ascending."""
        return rows_of_each(self.places, len(self.names))


@dataclass(frozen=True, eq=False)
class Crossed:
    """Columns to combine, with bins for numbers.

    Attributes
    ----------
    columns : tuple of str
    binnings : tuple of Binning
    """

    columns: tuple[str, ...]
    binnings: tuple[Binning, ...]

    @classmethod
    def of(cls, samples: Predictions, by: Any, bins: Bins | None) -> tuple[Self, GroupOfRows]:
        """Return the columns of `by`, with bins of the samples of positive weight, and groups."""
        by = _columns(by)
        binner = Binner(bins, by)
        columns, _ = _Columns.of(samples, _Request(tuple(by), tuple(by.values())), binner)
        binner.check_used()
        crossed = cls(columns.names, columns.binnings)
        return crossed, crossed._named(*columns.grouped(Part.whole(samples)))

    def groups(self, by: Any, samples: Predictions) -> GroupOfRows:
        """Return the groups of samples.

        Raises
        ------
        ArgumentError
            Unless `by` has these columns, with an id per sample, and numbers where there are bins.
        """
        by = _columns(by)
        if by.keys() != {*self.columns}:
            rule = f"must give {', '.join(self.columns)}, as in the fit, not {', '.join(by)}"
            raise ArgumentError("by", rule)
        columns = []
        for name, binning in zip(self.columns, self.binnings, strict=True):
            column = _Column.of(samples, name, by[name], is_binned=binning.edges is not None)
            word = count(_FirstWord(column, False).over(samples)) if column.is_binned else None
            if word is not None:
                rule = f"must be numbers, as in the fit, not {str(word)!r}"
                raise ArgumentError("by", rule, name=f"by[{name!r}]")
            columns.append(column)
        crossed = _Columns(tuple(columns), self.binnings, False)
        return self._named(*crossed.grouped(Part.whole(samples)))

    def _named(self, values: list[tuple[Any, ...]], places: NDArray[Any]) -> GroupOfRows:
        ordered = named(self.columns, self.binnings, values)
        names = [name for name, _ in ordered]
        ((name, n),) = Counter(names).most_common(1) or [("", 0)]
        if n > 1:
            raise ArgumentError("by", f"must give groups of different names, but {n} are {name!r}")
        place_of = {each: place for place, (_, each) in enumerate(ordered)}
        order = np.array([place_of[each] for each in values], np.int64)
        return GroupOfRows(names, order[places])


def _columns(by: Any) -> dict[str, Any]:
    """Return columns by name; raise unless each has a name of its own."""
    columns = {} if by is None else columns_by_name(by)
    if not columns:
        raise ArgumentError("by", f'must name a column, or be a dict {{"gender": ids}}, not {by!r}')
    for name, ids in columns.items():
        if not isinstance(name, str):
            rule = f"must give each column under its own name, not {name!r}"
            raise ArgumentError("by", rule, remedy="columns of a dict are combined")
        if isinstance(ids, SharedTargets):
            rule = "must not share targets: each sample is of one condition"
            raise ArgumentError("by", rule, name=f"by[{name!r}]")
    return columns
