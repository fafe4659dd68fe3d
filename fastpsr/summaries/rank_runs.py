"""Runs of scores of one class, and the area under the ROC."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.plans import Data, PartitionedPredictions, Plan, Shared
from fastpsr.plans.budget import memory_budget
from fastpsr.predictions import Floats
from fastpsr.summaries.buckets import (
    PICKED_SHARE,
    Counted,
    ScoresByClass,
    count_until_few,
    pick,
)
from fastpsr.summaries.pav_blocks import require_both_classes
from fastpsr.summaries.rank_cells import RankRuns, RunSums, cells_fit, rank_cells, sorting_wins

__all__ = ["RankArea", "rank_area", "rank_runs", "run_sums"]


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

    @property
    def value(self) -> float:
        """The area under the ROC."""
        require_both_classes("AUC", np.array([self.negatives, self.positives]))
        return min(self.wins / self.positives / self.negatives, 1.0)  # rounded, it may exceed 1


def rank_runs(data: Data) -> Plan[RankRuns]:
    """Plan: return the runs of labeled binary data; computed once."""
    checks.check_binary("ranks", data.n_classes)
    (found,) = yield [Shared("rank runs", data, lambda: _find_runs(data))]
    runs: RankRuns = found
    return runs


def run_sums(data: Data) -> Plan[RunSums]:
    """Plan: request the runs, and return their sums."""
    runs = yield from rank_runs(data)
    weight = np.concatenate([runs.negatives, runs.positives])
    return RunSums(runs.lowest, runs.given_priors, weight)


def rank_area(data: Data) -> Plan[RankArea]:
    """Plan: return the area under the ROC, range by range where the cells exceed the budget."""
    if data.has_weights or cells_fit(data):
        return RankArea.of((yield from rank_runs(data)))
    return (yield from _area_of_ranges(data))


def _find_runs(data: Data) -> Plan[RankRuns]:
    """Sort the scores in buckets that hold both classes, where those of both are many."""
    if isinstance(data, PartitionedPredictions) or not sorting_wins(data):
        return (yield from rank_cells(data)).runs
    column = ScoresByClass()
    counted, _, flags = yield from count_until_few(column, data, lambda found, _: _are_mixed(found))
    picked = yield from pick(column, data, counted, flags)
    kernels.sort_in_place(*picked)
    lowest, negatives, positives, bucket = kernels.merge_into_runs(counted.counts, flags, *picked)
    unknown = np.isnan(lowest)
    lowest[unknown] = counted.starts_of(bucket[unknown])
    return RankRuns(lowest, negatives, positives, data.given_priors)


def _area_of_ranges(data: Data) -> Plan[RankArea]:
    """Count the scores in buckets, and sort those in buckets of both classes, some at a time."""
    column, at_once = ScoresByClass(), max(1, memory_budget() // PICKED_SHARE // 8)

    def are_too_large(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        are_many: NDArray[np.bool_] = counted.counts.sum(axis=1) > at_once
        return _are_mixed(counted) & are_many

    counted, _, _ = yield from count_until_few(column, data, are_too_large)
    are_mixed = _are_mixed(counted)
    negatives, positives = counted.counts.T
    below = np.cumsum(negatives) - negatives
    # twice the number of pairs, as ties count half
    wins = int((positives * (2 * below + negatives))[~are_mixed].sum())
    sizes = counted.counts.sum(axis=1) * are_mixed
    range_of_bucket = (np.cumsum(sizes) - sizes) // at_once
    for number in np.unique(range_of_bucket[are_mixed]).tolist():
        flags = are_mixed & (range_of_bucket == number)
        by_class = yield from pick(column, data, counted, flags)
        kernels.sort_in_place(*by_class)
        for side in ("left", "right"):
            wins += int(np.searchsorted(*by_class, side).sum())
        outside = below[flags] - (np.cumsum(negatives[flags]) - negatives[flags])
        wins += 2 * int((positives[flags] * outside).sum())
    return RankArea(float(negatives.sum()), float(positives.sum()), 0.5 * wins)


def _are_mixed(counted: Counted) -> NDArray[np.bool_]:
    """Whether a bucket holds different scores of both classes, (B,)."""
    return counted.counts.all(axis=1) & ~counted.are_alike
