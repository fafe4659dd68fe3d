"""Runs of scores of one class: all of them, or range by range where they would be too many.

Of data in parts only the scores in buckets of both classes are sorted. Where these exceed the
budget, they are sorted a range of buckets at a time, in a read each, and of the runs in a range is
kept what a metric needs: the blocks of an isotonic fit are those of its ranges, pooled, and an area
is a sum over ranges.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
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
    "FindRuns",
    "KeptOfRuns",
    "RankArea",
    "RunsInRanges",
    "rank_runs",
    "run_sums",
    "runs_fit",
]


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
class FindRuns(PickValues):
    """Find the runs in the buckets that were counted, some of which are picked to be sorted."""

    counted: Counted = field(kw_only=True)
    given_priors: Floats | None = field(kw_only=True)

    @property
    def key(self) -> Hashable:
        return ("runs", super().key)

    def finish(self, accumulator: dict[int, tuple[Floats, Floats]]) -> Any:
        by_class = joined_by_number(accumulator) if accumulator else (np.empty(0), np.empty(0))
        accumulator.clear()  # before memory is taken for the runs
        return runs_of(self.counted, self.picked[self.counted.places], by_class, self.given_priors)


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Buckets from `bounds[k]` to `bounds[k + 1]` are a range, of few rows to sort."""

    counted: Counted
    bounds: NDArray[np.int64]

    def step(self, number: int, given_priors: Floats | None) -> FindRuns:
        """Return the step that finds the runs in a range."""
        counted = self.counted.between(*self.bounds[number : number + 2])
        picked = np.zeros(counted.grid.n_places, bool)
        picked[counted.places[_are_mixed(counted)]] = True
        return FindRuns(
            ScoresByClass(), counted.grid, picked, counted=counted, given_priors=given_priors
        )


@dataclass(frozen=True, eq=False)
class RunsInRanges(PieceSums):
    """Samples grouped by class and range of scores; the runs in a range are found in its turn."""

    ranges: _Ranges
    given_priors: Floats | None
    kept: KeptOfRuns

    stream = ("rank ranges",)
    n_classes = 2

    @property
    def n_pieces(self) -> int:
        return self.ranges.bounds.size - 1

    @property
    def key(self) -> Hashable:
        return self.stream

    @property
    def known_weight(self) -> Floats:  # type: ignore[override]
        """Number of rows of each class in each range."""
        begins = self.ranges.bounds[:-1]
        return np.add.reduceat(self.ranges.counted.counts, begins).T.ravel().astype(np.float64)

    def find(self, data: Data, number: int) -> Plan[RunSums]:
        (runs,) = yield [self.ranges.step(number, self.given_priors).over(data)]
        return _sums_of(runs)

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
    return RunsInRanges(found, data.given_priors, kept)


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
    """Return the runs in buckets, of those that are flagged from the scores of both classes."""
    kernels.sort_in_place(*by_class)
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
    return runs_of(counted, flags, picked, data.given_priors)


def _find_in_parts(data: Data) -> Plan[RankRuns | _Ranges]:
    """Cut buckets that hold both classes into ranges, unless all scores may be sorted at once."""
    at_once = max(1, memory_budget() // PICKED_SHARE // 8)
    is_balanced = are_alike_in_size(data)
    if data.has_weights or (not is_balanced and data.class_sizes.min() <= at_once):
        return (yield from rank_cells(data)).runs
    if is_balanced and len(data) <= at_once:  # this is one read
        return (yield from filled_cells(data)).runs

    def are_too_large(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        are_many: NDArray[np.bool_] = counted.counts.sum(axis=1) > at_once
        return _are_mixed(counted) & are_many

    counted, _, _ = yield from count_until_few(ScoresByClass(), data, are_too_large)
    ends = np.cumsum(np.where(_are_mixed(counted), counted.counts.sum(axis=1), 0))
    bounds = [0]
    while bounds[-1] < ends.size:
        before = ends[bounds[-1] - 1] if bounds[-1] else 0
        bounds.append(int(np.searchsorted(ends, before + at_once, side="right")))
    ranges = _Ranges(counted, np.array(bounds))
    if len(bounds) > 2:
        return ranges
    (runs,) = yield [ranges.step(0, data.given_priors).over(data)]
    return runs  # type: ignore[no-any-return]


def _are_mixed(counted: Counted) -> NDArray[np.bool_]:
    """Whether a bucket holds different scores of both classes, (B,)."""
    return counted.counts.all(axis=1) & ~counted.are_alike
