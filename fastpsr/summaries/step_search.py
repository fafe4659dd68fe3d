"""Plans that find thresholds: scores of the ROC which rank cells may not have kept."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.plans import Data, Part, Plan, Step
from fastpsr.plans.budget import memory_budget
from fastpsr.predictions import Floats
from fastpsr.summaries.buckets import Counted, ScoresByClass, count_until_few, pick
from fastpsr.summaries.pav_blocks import require_both_classes
from fastpsr.summaries.rank_cells import (
    CellSums,
    CollectClass,
    HighestInSteps,
    RankCells,
    rank_cells,
)
from fastpsr.summaries.roc_steps import EQUAL_RATES, Criterion, RocStep, error_rates
from fastpsr.summaries.sums import NeedsSamplesError

__all__ = [
    "CellsNearStep",
    "NearStepSums",
    "TargetCellSums",
    "TargetCells",
    "as_posteriors",
    "near_step_sums",
    "roc_step",
    "score_above",
    "target_cell_sums",
]

_REACH = 5.0  # standard deviations: few replicates step farther off, which takes their samples


def roc_step(data: Data, criterion: Criterion) -> Plan[RocStep]:
    """Plan: return the operating points around a criterion, and the score between them."""
    checks.check_binary("ranks", data.n_classes)
    if data.has_weights:
        return (yield from _find_in_cells(data, criterion))
    return (yield from _find_in_buckets(data, criterion))


def _find_in_buckets(data: Data, criterion: Criterion) -> Plan[RocStep]:
    """Count the scores in buckets, and look into the one that holds the step."""
    require_both_classes("error rates", data.class_sizes.astype(np.float64))
    column = ScoresByClass()

    def holding(counted: Counted) -> int:
        return int(criterion.find(*error_rates(*counted.counts.T)))

    def needed(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        flags = np.zeros(counted.places.size, bool)
        flags[holding(counted)] = True
        return flags & ~counted.are_alike

    counted, _, flags = yield from count_until_few(column, data, needed)
    by_class = yield from pick(column, data, counted, flags)
    at = holding(counted)
    lowest, counts = counted.lowest[at : at + 1], counted.counts[at : at + 1]
    if flags[at]:
        lowest, places = np.unique(np.concatenate(by_class), return_inverse=True)
        places[by_class[0].size :] += lowest.size
        counts = np.bincount(places, minlength=2 * lowest.size).reshape(2, -1).T
    outside = counted.counts[:at].sum(axis=0), counted.counts[at + 1 :].sum(axis=0)
    negatives, positives = np.vstack([outside[0], counts, outside[1]]).T.astype(np.float64)
    scores = np.concatenate([[np.nan], lowest, [np.nan]])
    return RocStep.of(scores, negatives, positives, criterion)


def _find_in_cells(data: Data, criterion: Criterion) -> Plan[RocStep]:
    """Find the rank cell of the step, and look into it if it is a run of the larger class."""
    cells = yield from rank_cells(data)
    cells.class_totals("error rates")
    at = criterion.find(*error_rates(cells.negatives, cells.positives))
    if at % 2 == 1:  # one score
        return cells.step(criterion)
    of_run = int(cells.positives[at] > 0.0)
    after = cells.edges[at // 2 : at // 2 + 1]
    highest = float(np.nextafter(after[0], -np.inf)) if after.size else np.inf
    bounds = float(cells.lowest[at]), highest
    (run,) = yield [CollectClass(of_run, True, bounds=bounds).over(data)]
    scores, weights = run
    other = np.zeros(scores.size)

    def spliced(values: Floats, of_scores: Floats) -> Floats:
        return np.concatenate([values[:at], of_scores, values[at + 1 :]])

    return RocStep.of(
        spliced(cells.lowest, scores),
        spliced(cells.negatives, other if of_run else weights),
        spliced(cells.positives, weights if of_run else other),
        criterion,
    )


@dataclass(frozen=True, eq=False)
class NearStepSums(CellSums):
    """Samples grouped by class and score near a criterion; all below, and all above, are a cell."""

    criterion: Criterion = EQUAL_RATES
    posteriors: Floats | None = None

    stream = ("roc steps",)
    needs_rows = True

    @property
    def key(self) -> Hashable:
        return ("roc steps", self.criterion)

    def assemble(self, weight: Floats, sums: Floats) -> "CellsNearStep":
        n_cells = self.lowest.size
        negatives, positives = weight[:n_cells], weight[n_cells:]
        return CellsNearStep(self.lowest, negatives, positives, None, self.edges, self.posteriors)


@dataclass(frozen=True, eq=False)
class _ThresholdCells(RankCells):
    """Rank cells, with the posteriors at the edges if posteriors were passed."""

    posteriors: Floats | None = None

    @property
    def has_inf(self) -> bool:
        """Whether there are scores of inf; an edge is there where any sample has one."""
        return bool(self.edges[-1] == np.inf and self.negatives[-2] + self.positives[-2] > 0.0)

    def as_passed(self, threshold: float) -> float:
        """Return a threshold, which is an edge or above all scores, on the scale of the scores."""
        if self.posteriors is None:
            return threshold
        if np.isnan(threshold) or (threshold == np.inf and not self.has_inf):
            return np.inf
        return float(self.posteriors[np.searchsorted(self.edges, threshold)])


@dataclass(frozen=True, eq=False)
class CellsNearStep(_ThresholdCells):
    """Rank cells whose first and last hold scores of both classes in an unknown order."""

    def step(self, criterion: Criterion) -> RocStep:
        step = super().step(criterion)
        if np.isnan(step.score):
            raise NeedsSamplesError
        return step


def near_step_sums(data: Data, criterion: Criterion) -> Plan[NearStepSums]:
    """Plan: return sums with all scores that replicates are likely to step at.

    Replicates that step elsewhere are computed from their samples. A limit of P_miss is passed at
    the score of a target: non-targets are counted between these.
    """
    step = yield from roc_step(data, criterion)
    n_negative, n_positive = data.class_sizes
    reach = criterion.of_miss * _reach(step.p_miss[1], n_positive)
    reach += criterion.of_fa * _reach(step.p_fa[0], n_negative)
    low, high = -np.inf, np.inf
    if criterion.shifted(-reach).has_points():
        low = (yield from roc_step(data, criterion.shifted(-reach))).score
    if criterion.shifted(reach).has_points():
        high = (yield from roc_step(data, criterion.shifted(reach))).score
    classes = (0, 1) if criterion.of_fa else (1,)
    steps = [CollectClass(k, data.has_weights, bounds=(low, high)) for k in classes]
    by_class = yield [each.over(data) for each in steps]
    edges = np.unique(np.concatenate([scores for scores, _ in by_class]))
    passed = yield from as_posteriors(data, edges)
    return NearStepSums(_known_at(edges), None, None, criterion, passed, edges=edges)


def _known_at(edges: Floats) -> Floats:
    """Return the lowest score of each cell: it is known of those of one score, else nan."""
    lowest = np.full(2 * edges.size + 1, np.nan)
    lowest[1::2] = edges
    return lowest


def _reach(rate: float, n: int) -> float:
    """Return how far a rate of n samples is likely to move in a replicate."""
    return float(_REACH * (np.sqrt(rate * (1.0 - rate) / n) + 1.0 / n))


@dataclass(frozen=True, eq=False)
class TargetCellSums(CellSums):
    """Samples grouped by class and rank cell; the edges are targets' scores, few or many."""

    posteriors: Floats | None = None

    stream = ("target cells",)

    def assemble(self, weight: Floats, sums: Floats) -> "TargetCells":
        n_cells = self.lowest.size
        negatives, positives = weight[:n_cells], weight[n_cells:]
        return TargetCells(self.lowest, negatives, positives, None, self.edges, self.posteriors)


@dataclass(frozen=True, eq=False)
class TargetCells(_ThresholdCells):
    """Rank cells at the scores of targets, where all blocks of the fit but the first begin.

    A score of inf is an edge, too, so that it is known whether it was drawn.
    """

    def threshold(self, vertex: int) -> float:
        """Return the lowest accepted score at a vertex of the hull."""
        begins = self.blocks.lowest
        if vertex == begins.size:
            return self.as_passed(np.nan if self.has_inf else np.inf)
        if np.isnan(begins[vertex]):  # a first block of so little weight that it costs nothing
            raise NeedsSamplesError
        return self.as_passed(float(begins[vertex]))


def target_cell_sums(data: Data) -> Plan[TargetCellSums | None]:
    """Plan: return the sums of thresholds on the hull; None if targets exceed the budget."""
    checks.check_binary("ranks", data.n_classes)
    if 16 * int(data.class_sizes[1]) > memory_budget():
        return None
    targets = CollectClass(1, data.has_weights).over(data)
    (edges, _), highest = yield [targets, HighestInSteps(np.empty(0)).over(data)]
    if highest[0] == np.inf:
        edges = np.union1d(edges, highest)
    passed = yield from as_posteriors(data, edges)
    return TargetCellSums(_known_at(edges), None, None, passed, edges=edges)


def score_above(data: Data, step: RocStep) -> Plan[float]:
    """Plan: return the lowest score that is accepted after a step."""
    if step.above is not None:
        return step.above
    (score,) = yield [_LowestAbove(step.score).over(data)]
    return float(score)


@dataclass(frozen=True, eq=False)
class _LowestAbove(Step):
    """Find the lowest score of positive weight above a score; there is one."""

    score: float

    is_exact = True

    @property
    def key(self) -> Hashable:
        return ("lowest above", self.score)

    def start(self) -> float:
        return float("inf")

    def add(self, accumulator: float, prepared: None, part: Part) -> float:
        scores, weights = part.predictions._kernel_scores, part.predictions.weights
        above = scores > self.score
        if weights.size:
            above &= weights > 0.0
        return min(accumulator, float(scores[above].min(initial=np.inf)))

    def merge(self, one: float, other: float) -> float:
        return min(one, other)


def as_posteriors(data: Data, log_odds: Floats) -> Plan[Floats | None]:
    """Plan: return the lowest posterior that each threshold accepts; inf where it accepts none.

    Thresholds are ascending log-odds. None unless the samples were passed as posteriors.
    """
    if data.kind != "posteriors":
        return None
    (lowest,) = yield [_LowestPosteriors(log_odds).over(data)]
    if lowest[0] == -np.inf:
        return None
    return np.minimum.accumulate(lowest[::-1])[::-1][1:]


@dataclass(frozen=True, eq=False)
class _LowestPosteriors(Step):
    """Find the lowest posterior below the first threshold, and from each to the next.

    They are -inf if samples were passed as logarithms. It is not the posterior of the log-odds,
    which is rounded, nor do two columns, which rank more finely, tell that of one.
    """

    log_odds: Floats

    is_exact = True

    @property
    def key(self) -> Hashable:
        return ("lowest posteriors", self.log_odds.tobytes())

    def start(self) -> Floats:
        return np.full(self.log_odds.size + 1, np.inf)

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        samples = part.predictions.present()
        if not len(samples):
            return accumulator
        posteriors = samples._passed_posteriors
        if posteriors is None:
            accumulator[:] = -np.inf
        else:
            numbers = kernels.step_numbers(samples._kernel_scores, self.log_odds)
            np.minimum.at(accumulator, numbers, posteriors)
        return accumulator

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.minimum(one, other, out=one)
