"""Runs of scores of one class: all of them, or range by range where they would be too many.

Of data in parts only the scores in buckets of both classes are sorted. Where these exceed the
budget, each read picks those of some ranges of buckets, and of the runs in a range is kept what a
metric needs: the blocks of an isotonic fit are those of its ranges, pooled, and an area is a sum
over ranges.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.plans import Data, PartitionedPredictions, Plan, Shared
from fastpsr.plans.budget import memory_budget
from fastpsr.predictions import Floats
from fastpsr.summaries.buckets import (
    PICKED_SHARE,
    Counted,
    PickValues,
    ScoresByClass,
    count_until_few,
    joined_by_number,
    pick,
)
from fastpsr.summaries.pav_blocks import PavBlocks, require_both_classes
from fastpsr.summaries.rank_cells import (
    RankRuns,
    RunSums,
    are_alike_in_size,
    filled_cells,
    rank_cells,
    sorting_wins,
)
from fastpsr.summaries.sums import PieceSums

__all__ = [
    "KeptOfRuns",
    "PickRanges",
    "RankArea",
    "RunsInRanges",
    "rank_runs",
    "run_sums",
    "runs_fit",
]

#: Ranges whose scores are picked in the same read: draws of the runs in one take more memory.
_RANGES_PER_READ = 4
#: Cells around a score of the smaller class take as much memory as so many scores to sort.
_CELLS_OF_ROW = 4


@dataclass(frozen=True)
class RankArea:
    """Weights of both classes, and the pairs whose target has the higher score; ties count half."""

    negatives: float
    positives: float
    wins: float

    @classmethod
    def of(cls, runs: RankRuns) -> Self:
        """Return what is needed for the area under the ROC."""
        non, tar = runs.negatives, runs.positives
        totals = np.array([non.sum(), tar.sum()])
        filled = totals[totals > 0.0]
        if filled.size and not 1e-140 < filled.min() <= filled.max() < 1e140:
            # products would over- or underflow
            non, tar = non / (totals[0] or 1.0), tar / (totals[1] or 1.0)
            totals = (totals > 0.0).astype(np.float64)
        below = np.cumsum(non) - non
        wins = (tar * (below + 0.5 * non)).sum()
        return cls(float(totals[0]), float(totals[1]), float(wins))

    @classmethod
    def joined(cls, ranges: Sequence[Self]) -> Self:
        """Return the area of ranges of scores, the lowest first."""
        non, tar, wins = np.array([(one.negatives, one.positives, one.wins) for one in ranges]).T
        below = np.cumsum(non) - non
        return cls(float(non.sum()), float(tar.sum()), float((wins + tar * below).sum()))

    @property
    def value(self) -> float:
        """The area under the ROC."""
        require_both_classes("AUC", np.array([self.negatives, self.positives]))
        return min(self.wins / self.positives / self.negatives, 1.0)  # rounded, it may exceed 1


#: What is kept of the runs in a range: made `of` them, and `joined` in the order of the ranges.
KeptOfRuns = type[RankArea] | type[PavBlocks]


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Buckets in the order of the scores, which are cut into ranges of few rows to sort.

    Attributes
    ----------
    counted : Counted
    bounds : ndarray of int64, shape (R + 1,)
        Buckets from ``bounds[k]`` to ``bounds[k + 1]`` are a range.
    given_priors : ndarray of float64, shape (2,), or None
    """

    counted: Counted
    bounds: NDArray[np.int64]
    given_priors: Floats | None

    @classmethod
    def of(cls, counted: Counted, most: int, given_priors: Floats | None) -> Self:
        """Cut where a range would have more than so many rows to sort."""
        ends, bounds = np.cumsum(counted.counts.sum(axis=1) * _are_mixed(counted)), [0]
        while bounds[-1] < ends.size:
            before = ends[bounds[-1] - 1] if bounds[-1] else 0
            end = int(np.searchsorted(ends, before + most, side="right"))
            bounds.append(max(end, bounds[-1] + 1))
        return cls(counted, np.array(bounds), given_priors)

    def between(self, first: int, last: int) -> "_Ranges":
        """Return some of the ranges."""
        bounds = self.bounds[first : last + 1]
        counted = self.counted.between(int(bounds[0]), int(bounds[-1]))
        return _Ranges(counted, bounds - bounds[0], self.given_priors)

    def runs(self, negatives: Floats, positives: Floats) -> Iterator[RankRuns]:
        """Yield the runs in each range, of the sorted scores in buckets of both classes."""
        flags = _are_mixed(self.counted)
        for first, last in pairwise(self.bounds.tolist()):
            counted, picked = self.counted.between(first, last), flags[first:last]
            n, p = counted.counts[picked].sum(axis=0)
            yield runs_of(counted, picked, (negatives[:n], positives[:p]), self.given_priors)
            negatives, positives = negatives[n:], positives[p:]


@dataclass(frozen=True, eq=False)
class PickRanges(PickValues):
    """Collect and sort the scores of ranges, of which then the runs are found range by range."""

    ranges: _Ranges

    @classmethod
    def of(cls, ranges: _Ranges) -> Self:
        """Return the step that looks into all buckets of both classes."""
        counted = ranges.counted
        picked = np.zeros(counted.grid.n_places, bool)
        picked[counted.places[_are_mixed(counted)]] = True
        return cls(ScoresByClass(), counted.grid, picked, ranges)

    @property
    def key(self) -> Hashable:
        return ("ranges", super().key)

    def finish(self, accumulator: dict[int, tuple[Floats, Floats]]) -> Any:
        """Return a function that yields the runs in each range."""
        by_class = joined_by_number(accumulator) if accumulator else (np.empty(0), np.empty(0))
        accumulator.clear()
        kernels.sort_in_place(*by_class)
        return partial(self.ranges.runs, *by_class)


@dataclass(frozen=True, eq=False)
class RunsInRanges(PieceSums):
    """Samples grouped by class and range of scores; the runs in a range are found in its turn."""

    ranges: _Ranges
    kept: KeptOfRuns

    stream = ("rank ranges",)
    n_classes = 2

    @property
    def n_pieces(self) -> int:
        return self.ranges.bounds.size - 1

    @property
    def n_reads(self) -> int:
        return -(-self.n_pieces // _RANGES_PER_READ)

    @property
    def key(self) -> Hashable:
        return self.stream

    @property
    def known_weight(self) -> Floats:  # type: ignore[override]
        """Number of rows of each class in each range."""
        begins = self.ranges.bounds[:-1]
        return np.add.reduceat(self.ranges.counted.counts, begins).T.ravel().astype(np.float64)

    def find(self, data: Data, number: int) -> Plan[Iterator[RunSums]]:
        first = number * _RANGES_PER_READ
        ranges = self.ranges.between(first, min(first + _RANGES_PER_READ, self.n_pieces))
        (runs,) = yield [PickRanges.of(ranges).over(data)]
        return map(_sums_of, runs())

    def keep(self, summary: RankRuns) -> Any:
        return self.kept.of(summary)

    def joined(self, kept: Sequence[Any]) -> Any:
        return self.kept.joined(kept)

    def of_rows(self, data: Data) -> Plan[RunSums]:
        return _sums_of((yield from rank_cells(data)).runs)


def rank_runs(data: Data) -> Plan[RankRuns]:
    """Plan: return the runs of labeled binary data; computed once."""
    found = yield from _runs_or_ranges(data)
    return found if isinstance(found, RankRuns) else (yield from rank_cells(data)).runs


def run_sums(data: Data, kept: KeptOfRuns | None) -> Plan[RunSums | RunsInRanges]:
    """Plan: request the runs, and return their sums; in ranges if there is something to keep."""
    found = yield from _runs_or_ranges(data)
    if isinstance(found, RankRuns):
        return _sums_of(found)
    if kept is None:
        return _sums_of((yield from rank_cells(data)).runs)
    return RunsInRanges(found, kept)


def runs_fit(data: Data) -> Plan[bool]:
    """Plan: return whether all runs fit the budget at once."""
    return isinstance((yield from _runs_or_ranges(data)), RankRuns)


def _sums_of(runs: RankRuns) -> RunSums:
    weight = np.concatenate([runs.negatives, runs.positives])
    return RunSums(runs.lowest, runs.given_priors, weight)


def runs_of(
    counted: Counted,
    flags: NDArray[np.bool_],
    by_class: tuple[Floats, Floats],
    given_priors: Floats | None,
) -> RankRuns:
    """Return the runs in buckets, of those that are flagged from their sorted scores."""
    lowest, negatives, positives, bucket = kernels.merge_into_runs(counted.counts, flags, *by_class)
    unknown = np.isnan(lowest)
    lowest[unknown] = counted.starts_of(bucket[unknown])
    return RankRuns(lowest, negatives, positives, given_priors)


def _runs_or_ranges(data: Data) -> Plan[RankRuns | _Ranges]:
    checks.check_binary("ranks", data.n_classes)
    find: Callable[[Data], Any] = _find_runs
    if isinstance(data, PartitionedPredictions):
        find = _find_in_parts
    (found,) = yield [Shared("rank runs", data, lambda: find(data))]
    runs: RankRuns | _Ranges = found
    return runs


def _find_runs(data: Data) -> Plan[RankRuns]:
    """Sort the scores in buckets that hold both classes, where those of both are many."""
    if not sorting_wins(data):
        return (yield from rank_cells(data)).runs
    column = ScoresByClass()
    counted, _, flags = yield from count_until_few(column, data, lambda found, _: _are_mixed(found))
    picked = yield from pick(column, data, counted, flags)
    kernels.sort_in_place(*picked)
    return runs_of(counted, flags, picked, data.given_priors)


def _find_in_parts(data: Data) -> Plan[RankRuns | _Ranges]:
    """Cut buckets that hold both classes into ranges, unless all scores may be sorted at once."""
    at_once = max(1, memory_budget() // PICKED_SHARE // 8)
    is_balanced = are_alike_in_size(data)
    is_placed = not is_balanced and _CELLS_OF_ROW * int(data.class_sizes.min()) <= at_once
    if data.has_weights or is_placed:
        return (yield from rank_cells(data)).runs
    if is_balanced and len(data) <= at_once:  # this is one read
        return (yield from filled_cells(data)).runs

    def are_too_large(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        are_many: NDArray[np.bool_] = counted.counts.sum(axis=1) > at_once // 2
        return _are_mixed(counted) & are_many

    counted, _, _ = yield from count_until_few(ScoresByClass(), data, are_too_large)
    n_mixed = int(counted.counts[_are_mixed(counted)].sum())
    most = n_mixed if n_mixed <= at_once else at_once // 2
    ranges = _Ranges.of(counted, most, data.given_priors)
    if n_mixed > at_once:
        return ranges
    (runs,) = yield [PickRanges.of(ranges).over(data)]
    (of_all,) = runs()
    return of_all  # type: ignore[no-any-return]


def _are_mixed(counted: Counted) -> NDArray[np.bool_]:
    """Whether a bucket holds different scores of both classes, (B,)."""
    return counted.counts.all(axis=1) & ~counted.are_alike
