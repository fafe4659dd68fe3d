"""Groups of samples: by values of columns, their combinations, and bins of numbers."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
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
)
from fastpsr.data.binning import Binner, Binning, Bins, as_numbers, number_of
from fastpsr.data.groupings import (
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
from fastpsr.ids import numbered, type_of

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

    def check(self, n_classes: int) -> None:
        """Raise where targets are shared of data that have none."""
        if self.shares_targets and n_classes != 2:
            rule = f"must not share targets: these are data of {n_classes} classes, not 2"
            raise ArgumentError("by", rule, name=f"by[{self.grouping!r}]")


def groups_of(data: Data, by: By | None, bins: Bins | None = None) -> list[Subgroup]:
    """Return the groups of each grouping, in natural order of their values."""
    requests = [_Request.of(*item) for item in columns_by_name({} if by is None else by).items()]
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


def _counted(samples: Predictions, shares_targets: bool = False) -> Any:
    """Return an index of those that make groups: with weight; negatives if targets are shared."""
    if shares_targets:
        is_negative = samples.labels == 0
        return is_negative & (samples.weights > 0.0) if samples.weights.size else is_negative
    return samples.weights > 0.0 if samples.weights.size else slice(None)


def _groups_in_memory(data: Predictions, request: _Request, binner: Binner) -> list[Subgroup]:
    counted = _counted(data, request.shares_targets)
    binnings, all_values, places = _combined_in_memory(data, request, binner, counted)
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


def _combined_in_memory(
    data: Predictions, request: _Request, binner: Binner, counted: Any
) -> tuple[list[Binning], list[tuple[Any, ...]], NDArray[Any]]:
    """Return the bins of columns, their combinations of values, and the place of each sample."""
    columns, binnings = [], []
    for name, ids in zip(request.names, request.ids, strict=True):
        is_binned = binner.asks_for(name)
        column = _grouping(data, name, ids, is_binned=is_binned)
        binning = (
            _binning_in_memory(data, name, column, counted, binner) if is_binned else Binning()
        )
        columns.append(column.binned(binning))
        binnings.append(binning)
    return binnings, *combined(columns)


def _grouping(data: Predictions, name: str, ids: Any, *, is_binned: bool) -> Grouping:
    if isinstance(ids, Grouping):
        return ids
    return Grouping.of(data.ids(f"by[{name!r}]", ids), is_binned=is_binned)


def _binning_in_memory(
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


def _groups_in_parts(
    data: PartitionedPredictions, request: _Request, binner: Binner
) -> list[Subgroup]:
    binnings = []
    specs = [ids if isinstance(ids, str) else np.asarray(ids) for ids in request.ids]
    for name, column in zip(request.names, specs, strict=True):
        check_ids(f"by[{name!r}]", column, data)
        if not binner.asks_for(name):
            binnings.append(Binning())
            continue
        word = count(_FirstWord(column, request.shares_targets).over(data))
        values = data.mapped(NegatedColumn(column, request.shares_targets))
        quantiles = partial(quantile_edges, values)
        binnings.append(binner.binning(name, word, quantiles))
    columns = _Columns(tuple(specs), tuple(binnings), request.shares_targets)
    values = count(_DistinctValues(columns, request.names, binner).over(data))
    binner.check_number(request.names, list(values))
    found = []
    for name, each in named(request.names, binnings, list(values)):
        group = _InGroup(columns, each)
        found.append(Subgroup(request.grouping, name, data.mapped(group), group))
    return found


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns of a grouping of data in parts, by name or as ids of the whole, with their bins."""

    specs: tuple[str | NDArray[Any], ...]
    binnings: tuple[Binning, ...]
    shares_targets: bool

    @property
    def reads(self) -> frozenset[str]:
        """What is read of a part."""
        return LABELS | _names(self.specs)

    @property
    def key(self) -> Hashable:
        """Identity of these columns."""
        return (identity_of(self.specs), tuple(b.key for b in self.binnings), self.shares_targets)

    def of(self, part: Part) -> list[NDArray[Any]]:
        """Return the values or bins of the rows of a part, (n,) of each column."""

        def codes(spec: Any, binning: Binning) -> Any:
            key = ("bins", identity_of(spec), binning.key)
            return part.remember(key, lambda: binning.codes(part.ids("by", spec)))

        return [codes(*each) for each in zip(self.specs, self.binnings, strict=True)]


def _names(specs: Iterable[Any]) -> frozenset[str]:
    return frozenset(spec for spec in specs if isinstance(spec, str))


class _InGroup(Selection):
    """The rows that have values in columns, and all targets if they are shared."""

    def __init__(self, columns: _Columns, values: tuple[Any, ...]) -> None:
        self.reads = columns.reads - LABELS
        self._columns, self._values = columns, values

    def rows(self, part: Part) -> NDArray[np.bool_]:
        own = np.ones(len(part.predictions), bool)
        for ids, value in zip(self._columns.of(part), self._values, strict=True):
            own &= np.asarray(ids == value)
        return own | (part.predictions.labels == 1) if self._columns.shares_targets else own


@dataclass(frozen=True, eq=False)
class _FirstWord(Step):
    """Find a value of a column that is no number, the first in order; None if there is none."""

    column: str | NDArray[Any]
    shares_targets: bool
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | _names([self.column])

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
        return self.columns.reads

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
        types = {name: each[:0] for name, each in zip(self.names, ids, strict=True)}
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


class NegatedColumn(Transform):
    """The numbers of a column, negated, as raw scores; of negatives only if targets are shared."""

    keeps_rows, keeps_priors = False, False
    kind, n_classes = "raw scores", 2

    def __init__(self, column: str | NDArray[Any], shares_targets: bool) -> None:
        self.reads = _names([column])
        self._column, self._shares_targets = column, shares_targets

    def __call__(self, part: Part) -> Predictions:
        weights = part.predictions.weights
        if self._shares_targets:
            weights = np.where(part.predictions.labels == 0, weights if weights.size else 1.0, 0.0)
        numbers = as_numbers(part.ids("by", self._column))
        return negated(numbers, weights if weights.size else np.ones(numbers.size))


def negated(numbers: Floats, weights: Floats) -> Predictions:
    """Return numbers, negated, as raw scores of one class; those without weight may be nan."""
    scores = np.where(weights > 0.0, -numbers, 0.0)
    return Predictions.from_raw_scores(
        np.zeros(numbers.size, np.int8), scores, sample_weight=weights
    )


def quantile_edges(negated_values: Data, bins: int) -> Floats:
    """Return the edges of quantile bins, each rounded down to few digits.

    The i-th edge is the largest value with at most i / `bins` of the weight below it, so that
    values are negated.
    """
    if isinstance(negated_values, PartitionedPredictions):
        find_facts(negated_values)
    if not negated_values.class_sizes.any():
        return np.empty(0)
    shares = np.arange(bins + 1) / bins
    found = weighted_quantiles(negated_values, _scores, shares)
    high, *inner, low = (-found).tolist()
    return _short(low, sorted({each for each in inner if low < each < np.inf}), high)


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
    """Columns that are combined, and the bins of those of numbers.

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
        request = _Request(tuple(by), tuple(by.values()))
        binner = Binner(bins, request.names)
        counted = _counted(samples)
        binnings, values, places = _combined_in_memory(samples, request, binner, counted)
        binner.check_used()
        n_here = np.bincount(places[counted], minlength=len(values))
        present = [each for each, n in zip(values, n_here, strict=True) if n]
        binner.check_number(request.names, present)
        crossed = cls(request.names, tuple(binnings))
        return crossed, crossed._named(values, places)

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
            is_binned = binning.edges is not None
            column = _grouping(samples, name, by[name], is_binned=is_binned)
            if is_binned:
                _check_numbers(name, column, samples)
            columns.append(column.binned(binning))
        return self._named(*combined(columns))

    def _named(self, values: list[tuple[Any, ...]], places: NDArray[Any]) -> GroupOfRows:
        ordered = named(self.columns, self.binnings, values)
        names = [name for name, _ in ordered]
        ((name, n),) = Counter(names).most_common(1) or [("", 0)]
        if n > 1:
            raise ArgumentError("by", f"must give groups of different names, but {n} are {name!r}")
        place_of = {each: place for place, (_, each) in enumerate(ordered)}
        order = np.array([place_of[each] for each in values], np.int64)
        return GroupOfRows(names, order[places])


def _check_numbers(name: str, column: Grouping, samples: Predictions) -> None:
    n_here = np.bincount(column.places[_counted(samples)], minlength=len(column.values))
    wrong = np.isnan(column.numbers()) & (n_here > 0)
    if wrong.any():
        word = str(column.values[int(np.argmax(wrong))])
        rule = f"must be numbers, as in the fit, not {word!r}"
        raise ArgumentError("by", rule, name=f"by[{name!r}]")


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
