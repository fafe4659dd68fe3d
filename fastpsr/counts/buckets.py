"""Counts of values in buckets of a grid, which is refined where too many values remain."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.counts import count, shared
from fastpsr.data import Floats
from fastpsr.data.budget import memory_budget
from fastpsr.data.partitioned import Data, PartitionedPredictions
from fastpsr.data.steps import CollectParts, Part, Step

#: Share of the budget for picked values, which are collected, joined and sorted.
PICKED_SHARE = 4

_FEWEST_BUCKETS, _MOST_BUCKETS = 1 << 8, 1 << 16  # the counts of which stay in the cache
_MANY = 1 << 27  # rows; from here more buckets pay, although they leave the cache
_BUCKETS_OF_MANY = 1 << 22
_FEW = 1 << 11  # rows; up to here sorting beats counting
_PER_BUCKET = 16  # values, of which few are then sorted
_SAMPLED = 1 << 14  # values that tell the range of all
_OUTSIDE = 1000  # one sampled value in so many lies in the first or the last bucket
_BYTES_PER_PLACE = 64  # of counts, lowest and highest value, and lookups
#: Places for n rows are this times n^(2/3): the path of overlapping scores lies about n^(1/3) steps
#: from its minorant, so that places of fewer rows are decided, most of them.
_PLACES = 8.0
_FEWEST_BITS, _MOST_BITS = 2, 22  # per division of a bucket

_NO_WEIGHTS = np.empty(0)


class Column(ABC):
    """Values to count, with labels and weights: plain data that other processes can take."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Identity of this column."""

    @abstractmethod
    def sizes(self, data: Data) -> NDArray[np.int64]:
        """Return the number of values of both classes, (2,)."""

    @abstractmethod
    def __call__(self, part: Part) -> tuple[Floats, NDArray[Any], Floats]:
        """Return values, labels 0 or 1, and weights; these empty where all count alike."""

    def sample(self, part: Part, stride: int) -> Floats:
        """Return every n-th value."""
        return self(part)[0][::stride]


@dataclass(frozen=True)
class ScoresByClass(Column):
    """The scores of binary predictions that count alike, and their labels."""

    key = "scores"

    def sizes(self, data: Data) -> NDArray[np.int64]:
        return data.class_sizes

    def __call__(self, part: Part) -> tuple[Floats, NDArray[Any], Floats]:
        return part.predictions.scores, part.predictions.labels, _NO_WEIGHTS


@dataclass(frozen=True, eq=False)
class Grid:
    """Buckets of equal width; some may be divided further by the bits of the values.

    Attributes
    ----------
    low, per_unit : float
    n_buckets : int
    node_of_place : ndarray of int32, shape (P,)
        By place, the node that divides it, or -1; empty for a grid that is not refined.
    nodes : ndarray of int64, shape (M, 3)
        First place, lowest key, and how far keys are shifted.
    """

    low: float
    per_unit: float
    n_buckets: int
    node_of_place: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    nodes: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))

    @property
    def is_refined(self) -> bool:
        """Whether any bucket is divided."""
        return self.node_of_place.size > 0

    @property
    def n_places(self) -> int:
        """Number of buckets and parts of buckets."""
        return self.node_of_place.size if self.is_refined else self.n_buckets

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The grid as kernels take it."""
        return self.low, self.per_unit, self.n_buckets, self.node_of_place, self.nodes

    @cached_property
    def key(self) -> Hashable:
        """Identity of this grid."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.node_of_place, self.nodes):
            digest.update(array.tobytes())
        return (self.low, self.per_unit, self.n_buckets, digest.digest())


_ONE_BUCKET = Grid(0.0, 0.0, 1)


@dataclass(frozen=True, eq=False)
class Counted:
    """Values counted in the places of a grid, in ascending order; refined ones leave out the empty.

    Attributes
    ----------
    grid : Grid
    places : ndarray of int64, shape (B,)
    counts : ndarray of int64, shape (B, 2)
        By class.
    lowest, highest : ndarray of float64, shape (B,)
        Extreme values, nan where they are not known; empty where none is.
    """

    grid: Grid
    places: NDArray[np.int64]
    counts: NDArray[np.int64]
    lowest: Floats
    highest: Floats

    @property
    def are_alike(self) -> NDArray[np.bool_]:
        """Whether all values in a bucket are known to be equal, (B,)."""
        if not self.lowest.size:
            return np.zeros(self.places.size, bool)
        return np.asarray(self.lowest == self.highest)


@dataclass(frozen=True, eq=False)
class _SampleValues(Step[Floats]):
    """Collect every n-th value, of some parts."""

    column: Column
    stride: int
    only_parts: tuple[int, ...] | None = None

    is_exact = True

    def start(self) -> list[Floats]:
        return []

    def add(self, accumulator: list[Floats], prepared: None, part: Part) -> list[Floats]:
        values = self.column.sample(part, self.stride)
        accumulator.append(values[np.isfinite(values)])
        return accumulator

    def finish(self, accumulator: list[Floats]) -> Floats:
        return np.concatenate([np.empty(0), *accumulator])


@dataclass(frozen=True, eq=False)
class CountBuckets(Step[NDArray[np.int64]]):
    """Count the values of both classes in buckets of equal width."""

    column: Column
    grid: Grid

    is_exact = True

    @property
    def histograms_key(self) -> Hashable:
        """Key of the histograms per thread in the cache of a part, for a later pick."""
        return ("histograms", self.column.key, self.grid.key)

    def start(self) -> NDArray[np.int64]:
        return np.zeros((self.grid.n_buckets, 2), np.int64)

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        values, y, _ = self.column(part)
        grid = (self.grid.low, self.grid.per_unit)
        if values.size < 4 * self.grid.n_buckets:  # histograms would cost more than counting
            kernels.buckets.add_to_buckets(values, y, *grid, accumulator)
            return accumulator

        def by_threads() -> NDArray[Any]:
            return kernels.buckets.count_into_buckets(values, y, *grid, self.grid.n_buckets)

        tables = by_threads
        if part.is_in_memory:
            tables = partial(part.remember, self.histograms_key, by_threads)
        for counts in tables():
            accumulator += counts
        return accumulator


@dataclass(frozen=True, eq=False)
class WeighBuckets(Step[Floats]):
    """Sum the weights of the values in each bucket, with rounding errors."""

    column: Column
    grid: Grid

    def start(self) -> Floats:
        return np.zeros((self.grid.n_buckets, 2))

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        values, _, weights = self.column(part)
        kernels.buckets.weigh_buckets(
            values, weights, self.grid.low, self.grid.per_unit, accumulator
        )
        return accumulator

    def merge(self, total: Floats, more: Floats) -> Floats:
        kernels.cells.add_cells(total, more[None])
        return total


@dataclass(frozen=True, eq=False)
class _CountPlaces(Step[tuple[Any, ...]]):
    """Count the values in the places of the nodes added last, with their extremes and weights."""

    column: Column
    grid: Grid
    first_place: int
    has_weights: bool

    @property
    def key(self) -> Hashable:
        return ("refined counts", self.column.key, self.grid.key)

    @property
    def is_exact(self) -> bool:
        """Counts and extremes are, sums of weights are not."""
        return not self.has_weights

    def start(self) -> tuple[Floats, Floats]:
        n = self.grid.n_places - self.first_place
        table = np.zeros((n, 4))  # side by side, for the cache: counts, lowest and highest
        table[:, 2:] = np.inf, -np.inf
        return table, np.zeros((n if self.has_weights else 0, 2))

    def add(
        self, accumulator: tuple[Floats, Floats], prepared: None, part: Part
    ) -> tuple[Floats, Floats]:
        values, y, weights = self.column(part)
        table, sums = accumulator
        counts, extremes = _counts_of(table), table[:, 2:]
        place = self.first_place
        kernels.buckets.count_into_places(
            values, y, weights, self.grid.arrays, place, counts, extremes, sums
        )
        return accumulator

    def merge(
        self, total: tuple[Floats, Floats], other: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        (table, sums), (more, more_sums) = total, other
        counts = _counts_of(table)
        counts += _counts_of(more)
        np.minimum(table[:, 2], more[:, 2], out=table[:, 2])
        np.maximum(table[:, 3], more[:, 3], out=table[:, 3])
        if self.has_weights:
            kernels.cells.add_cells(sums, more_sums[None])
        return total

    def finish(self, accumulator: tuple[Floats, Floats]) -> tuple[Any, ...]:
        table, sums = accumulator
        return _counts_of(table), table[:, 2], table[:, 3], sums


def _counts_of(table: Floats) -> NDArray[np.int64]:
    return table.view(np.int64)[:, :2]


@dataclass(frozen=True, eq=False)
class PickValues(CollectParts[tuple[Floats, Floats]]):
    """Collect the values in picked places: per class, or with their weights."""

    column: Column
    grid: Grid
    picked: NDArray[np.bool_]

    @property
    def key(self) -> Hashable:
        picked = hashlib.blake2b(self.picked.tobytes(), digest_size=16).digest()
        return ("picked", self.column.key, self.grid.key, picked)

    def prepare(self) -> NDArray[np.int32]:
        return kernels.buckets.marks_of_places(self.grid.node_of_place, self.picked)

    def add(self, accumulator: Any, prepared: NDArray[np.int32], part: Part) -> Any:
        values, y, weights = self.column(part)
        name = CountBuckets(self.column, self.grid).histograms_key
        by_thread = part.predictions.results.get(name)
        if by_thread is not None and not weights.size:
            accumulator[part.number] = kernels.buckets.pick_from_buckets(
                values, y, self.grid.low, self.grid.per_unit, by_thread, self.picked
            )
            return accumulator
        if self.grid.n_places == 1 and not weights.size:  # all
            accumulator[part.number] = kernels.cells.split_by_class(values, y)
            return accumulator
        if weights.size:
            marked = kernels.buckets.mark_in_places(values, self.grid.arrays, prepared)
            accumulator[part.number] = values[marked], weights[marked]
        else:
            accumulator[part.number] = kernels.buckets.pick_from_places(
                values, y, self.grid.arrays, prepared
            )
        return accumulator

    def finish(self, accumulator: dict[int, tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        return joined_by_number(accumulator)


def joined_by_number(by_number: dict[int, tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return pairs of arrays joined in the order of the parts that they are of."""
    if len(by_number) == 1:
        (pair,) = by_number.values()
        return pair
    pairs = [by_number[number] for number in sorted(by_number)]
    nothing = np.empty(0)
    first, second = (np.concatenate([nothing, *(pair[i] for pair in pairs)]) for i in range(2))
    return first, second


# Plans


def find_grid(column: Column, data: Data) -> Grid:
    """Return buckets that divide nearly all values, from a sample."""
    n_rows = len(data)
    room = max(_FEWEST_BUCKETS, memory_budget() // _BYTES_PER_PLACE)
    most = min(_BUCKETS_OF_MANY if n_rows > _MANY else _MOST_BUCKETS, room)
    wanted = n_rows // _PER_BUCKET
    n_buckets = 1 << min(max(wanted, _FEWEST_BUCKETS), most).bit_length() - 1
    sampled = count(_sample_of(column, data).over(data))
    outside = sampled.size // _OUTSIDE
    if sampled.size:
        places = outside, sampled.size - 1 - outside
        low, high = (float(value) for value in np.partition(sampled, places)[list(places)])
        if 0.0 < high - low < np.inf and n_buckets / (high - low) < np.inf:
            return Grid(low, n_buckets / (high - low), n_buckets)
    return Grid(0.0, 0.0, n_buckets)  # all in the first


def _sample_of(column: Column, data: Data) -> _SampleValues:
    if not isinstance(data, PartitionedPredictions):
        return _SampleValues(column, max(1, len(data) // _SAMPLED))
    part_numbers = data.facts.sampled_parts
    n_rows = int(data.facts.n_rows[list(part_numbers)].sum())
    return _SampleValues(column, max(1, n_rows // _SAMPLED), part_numbers)


def _count_in_grid(column: Column, data: Data) -> Counted:
    """Return a grid, and the counts in it."""
    if len(data) <= _FEW and 16 * len(data) <= memory_budget():  # all of them are looked at
        sizes = column.sizes(data)[None]
        return Counted(_ONE_BUCKET, np.zeros(1, np.int64), sizes, np.empty(0), np.empty(0))
    grid = find_grid(column, data)
    counts = count(CountBuckets(column, grid).over(data))
    return Counted(grid, np.arange(grid.n_buckets), counts, np.empty(0), np.empty(0))


#: Which buckets must be looked into, of counts and of sums of weights.
Needed = Callable[[Counted, Floats], NDArray[np.bool_]]


def count_until_few(
    column: Column, data: Data, needed: Needed, has_weights: bool = False
) -> tuple[Counted, Floats, NDArray[np.bool_]]:
    """Count, and divide the buckets needed until the values in them fit the budget.

    Returns the counts, sums of weights (B, 2) if there are weights, and flags of needed buckets.
    """
    counted = shared(("counted", column.key), data, lambda: _count_in_grid(column, data))
    sums = np.empty((0, 2))
    if has_weights:
        sums = count(WeighBuckets(column, counted.grid).over(data))
    budget = memory_budget() // PICKED_SHARE
    while True:
        flags = needed(counted, sums)
        sizes = counted.counts[flags].sum(axis=1)
        if sizes.sum() * (16 if has_weights else 8) <= budget:
            return counted, sums, flags
        counted, sums = _refine(column, data, counted, sums, flags, budget)


def _refine(
    column: Column,
    data: Data,
    counted: Counted,
    sums: Floats,
    flags: NDArray[np.bool_],
    budget: int,
) -> tuple[Counted, Floats]:
    """Divide the flagged buckets, and count them."""
    grid, has_weights = counted.grid, sums.size > 0
    before = np.flatnonzero(flags)
    first_key, behind = _ranges(counted, before)
    widths = behind.astype(np.uint64) - first_key.astype(np.uint64) - 1
    width_bits = np.frexp(widths.astype(np.float64))[1].astype(np.int64)
    sizes = counted.counts[before].sum(axis=1).astype(np.float64)
    enough = int(_PLACES * sizes.sum() ** (2.0 / 3.0))
    room = max(4 * before.size, min(_BUCKETS_OF_MANY, budget // _BYTES_PER_PLACE, enough))
    bits = np.log2(np.maximum(sizes * (room / sizes.sum()), 1.0)).astype(np.int64)
    bits = np.clip(bits, _FEWEST_BITS, _MOST_BITS)
    shift = np.maximum(width_bits - bits, 0)
    last = widths >> shift.astype(np.uint64)
    n_parts = last.astype(np.int64) + 1
    first_place = grid.n_places
    base = first_place + np.cumsum(n_parts) - n_parts
    divided = grid.node_of_place if grid.is_refined else np.full(grid.n_buckets, -1, np.int32)
    divided = np.concatenate([divided, np.full(int(n_parts.sum()), -1, np.int32)])
    divided[counted.places[before]] = grid.nodes.shape[0] + np.arange(before.size)
    nodes = np.concatenate([grid.nodes, np.column_stack([base, first_key, shift])])
    refined = Grid(grid.low, grid.per_unit, grid.n_buckets, divided, nodes)
    step = _CountPlaces(column, refined, first_place, has_weights)
    totals = count(step.over(data))
    # each divided bucket gives way to its parts
    spread = np.ones(flags.size, np.int64)
    spread[before] = n_parts
    starts = np.cumsum(spread) - spread
    is_new = np.repeat(flags, spread)
    kept = starts[~flags]

    def spliced(old: Any, new: Any) -> Any:
        joined = np.empty((is_new.size, *new.shape[1:]), new.dtype)
        joined[kept], joined[is_new] = old[~flags], new
        return joined

    counts, lowest, highest, weights = totals
    unknown = np.full(flags.size, np.nan)
    places = spliced(counted.places, first_place + np.arange(int(n_parts.sum())))
    counts = spliced(counted.counts, counts)
    lowest = spliced(counted.lowest if counted.lowest.size else unknown, lowest)
    highest = spliced(counted.highest if counted.highest.size else unknown, highest)
    filled = counts.any(axis=1)
    if has_weights:
        sums = spliced(sums, weights)[filled]
    return Counted(refined, places[filled], counts[filled], lowest[filled], highest[filled]), sums


def _ranges(
    counted: Counted, buckets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys of the first value that may be in each bucket, and behind the last."""
    grid = counted.grid
    first, behind = np.empty((2, buckets.size), np.int64)
    is_known = np.zeros(buckets.size, bool)
    if counted.lowest.size:
        is_known = ~np.isnan(counted.lowest[buckets])
        first[is_known] = kernels.buckets.key_of(counted.lowest[buckets[is_known]])
        behind[is_known] = kernels.buckets.key_of(counted.highest[buckets[is_known]]) + 1
    places = counted.places[buckets[~is_known]]  # of the grid itself
    first[~is_known] = kernels.buckets.first_keys(places, *grid.arrays[:3])
    behind[~is_known] = kernels.buckets.first_keys(places + 1, *grid.arrays[:3])
    return first, behind


def pick(
    column: Column, data: Data, counted: Counted, flags: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the values in flagged buckets: by class, or with their weights."""
    if not counted.counts[flags].any():
        return np.empty(0), np.empty(0)
    picked = np.zeros(counted.grid.n_places, bool)
    picked[counted.places[flags]] = True
    negatives, positives = count(PickValues(column, counted.grid, picked).over(data))
    return negatives, positives
