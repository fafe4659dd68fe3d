"""Rank tables: weights of both classes in cells of scores, in ascending order.

A table has one of four resolutions. A *run* is all scores of one class with none of the other
between them, or a score of both classes; a *cell* is a distinct score of the smaller class, or all
scores of the larger class between two of these; a *score* is a distinct score. Runs suffice for
what depends on the hull, an area or error rates alone: no block of an isotonic fit, and no vertex
of a ROC hull, splits a run, also if only some of its samples are drawn. Isotonic fits at given
scores need cells, and thresholds need scores. Precision needs *positives*: a cell from each
distinct score of class 1 to the next, also where this is the larger class.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.counts import count, count_all, shared
from fastpsr.counts.buckets import (
    PICKED_SHARE,
    Counted,
    Grid,
    PickValues,
    ScoresByClass,
    count_until_few,
    pick,
)
from fastpsr.counts.roc import (
    ClassTotals,
    Criterion,
    PavBlocks,
    RocStep,
    as_posteriors,
    error_rates,
    require_both_classes,
)
from fastpsr.counts.scores import BEYOND_BUDGET, CollectClass
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Part, PartitionedPredictions, class_factors
from fastpsr.data.budget import memory_budget
from fastpsr.data.steps import Step
from fastpsr.errors import ArgumentError
from fastpsr.kernels.types import index_type

Resolution = Literal["runs", "cells", "scores", "positives"]

_BALANCED = 1 / 16  # share of the minority; above it, sorting both classes beats look-ups
_BYTES_PER_EDGE = 48  # of the two cells that a distinct score of the minority makes
_EVERYTHING = Grid(0.0, 0.0, 1)  # one bucket


@dataclass(frozen=True, eq=False)
class RankTable(ClassTotals):
    """Weights of both classes in cells of scores.

    Attributes
    ----------
    lowest : ndarray of float64, shape (G,)
        Lowest score in each cell, ascending.
    negatives, positives : ndarray of float64, shape (G,)
        Total weight of each class.
    given_priors : ndarray of float64, shape (2,), or None
    posteriors : ndarray of float64, shape (G,), or None
        The lowest posterior as passed that each cell accepts, if the samples were passed so.
    """

    lowest: Floats
    negatives: Floats
    positives: Floats
    given_priors: Floats | None
    posteriors: Floats | None = None

    @cached_property
    def blocks(self) -> PavBlocks:
        """The blocks of the isotonic fit."""
        return PavBlocks.of_cells(self.lowest, self.negatives, self.positives, self.given_priors)

    @property
    def runs(self) -> "RankTable":
        """The table of runs: neighboring cells of one class."""
        kinds = (self.negatives > 0.0) + 2 * (self.positives > 0.0)
        filled = np.flatnonzero(kinds)
        if not filled.size:
            return self
        kinds = kinds[filled]
        is_first = np.ones(filled.size, bool)
        is_first[1:] = (kinds[1:] == 3) | (kinds[1:] != kinds[:-1])
        starts = filled[is_first]
        negatives, positives = (
            np.add.reduceat(of_class, starts) for of_class in (self.negatives, self.positives)
        )
        return RankTable(self.lowest[starts], negatives, positives, self.given_priors)

    @property
    def steps(self) -> "RankTable":
        """The table whose cells reach from each score of class 1 to the next."""
        starts = np.flatnonzero(self.positives > 0.0)
        starts = np.union1d(starts, [0]) if self.lowest.size else starts
        negatives, positives = (
            np.add.reduceat(of_class, starts) if starts.size else of_class
            for of_class in (self.negatives, self.positives)
        )
        return RankTable(self.lowest[starts], negatives, positives, self.given_priors)

    @property
    def average_precision(self) -> float:
        """The mean of the precision at the score of each sample of class 1."""
        factors = class_factors(self.class_totals("average precision"), self.given_priors)
        positives = self.positives[::-1]
        right = np.cumsum(positives)
        accepted = np.cumsum(self.negatives[::-1]) * factors[0] + right * factors[1]
        with np.errstate(invalid="ignore"):  # the highest cells may weigh nothing in a replicate
            precision = right * factors[1] / accepted
        return float(np.nansum(positives * precision) / right[-1])

    @property
    def area(self) -> float:
        """The area under the ROC: pairs whose target has the higher score; ties count half."""
        totals = self.class_totals("AUC")
        non, tar = self.negatives, self.positives
        if not 1e-140 < totals.min() <= totals.max() < 1e140:  # products would over- or underflow
            non, tar, totals = non / totals[0], tar / totals[1], np.ones(2)
        below = np.cumsum(non) - non
        wins = (tar * (below + 0.5 * non)).sum()
        return min(float(wins / totals[1] / totals[0]), 1.0)  # rounded, it may exceed 1

    def partial_area(self, limit: float, *, of_misses: bool) -> float:
        """Return the area at false-alarm (or miss) rates up to a limit, standardized to 0.5 and 1.

        Scores and classes are reversed for miss rates, which makes them false-alarm rates.
        """
        self.class_totals("AUC")
        classes = self.negatives, self.positives
        p_miss, p_fa = error_rates(*([w[::-1] for w in classes[::-1]] if of_misses else classes))
        fpr, tpr = p_fa[::-1], 1.0 - p_miss[::-1]
        end = int(np.searchsorted(fpr, limit, "right"))
        at_limit = float(np.interp(limit, fpr[end - 1 : end + 1], tpr[end - 1 : end + 1]))
        fpr, tpr = np.append(fpr[:end], limit), np.append(tpr[:end], at_limit)
        area = float((np.diff(fpr) * (tpr[1:] + tpr[:-1])).sum()) / 2.0
        least = 0.5 * limit**2
        return 0.5 * (1.0 + (area - least) / (limit - least))

    def precision_and_recall(self, what: str) -> tuple[Floats, Floats]:
        """Return precision and recall at the lowest score of each cell, and above all (1 and 0)."""
        factors = class_factors(self.class_totals(what), self.given_priors)
        accepted = [np.cumsum(w[::-1])[::-1] for w in (self.negatives, self.positives)]
        wrong, right = accepted[0] * factors[0], accepted[1] * factors[1]
        with np.errstate(invalid="ignore"):  # the highest cells may weigh nothing in a replicate
            precision = np.where(right > 0.0, right / (wrong + right), 0.0)
        return np.append(precision, 1.0), np.append(accepted[1] / accepted[1][0], 0.0)

    @property
    def above_all(self) -> float:
        """The threshold that accepts no score: inf, or nan if there is a score of inf."""
        has_inf = self.lowest[-1] == np.inf and self.negatives[-1] + self.positives[-1] > 0.0
        return float("nan") if has_inf else float("inf")

    def as_passed(self, threshold: float) -> float:
        """Return a threshold of a table of scores on the scale that was passed."""
        if self.posteriors is None:
            return threshold
        if np.isnan(threshold) or threshold == self.above_all:
            return float("inf")
        return float(self.posteriors[np.searchsorted(self.lowest, threshold)])


@dataclass(frozen=True, eq=False)
class RankSums(Sums):
    """Samples grouped by class and cell of a rank table, class 0 first."""

    resolution: Resolution
    table: RankTable

    n_classes = 2

    @property
    def stream(self) -> tuple[str | int, ...]:
        return (f"rank {self.resolution}",)

    @property
    def n_groups(self) -> int:
        """Twice the number of cells."""
        return 2 * self.table.lowest.size

    @property
    def known_weight(self) -> Floats:
        return np.concatenate([self.table.negatives, self.table.positives])

    @property
    def key(self) -> Hashable:
        return self.stream

    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
        scores, lowest = part.predictions.scores, self.table.lowest
        cells = kernels.cells.step_numbers(scores, lowest[1:], index_type(self.n_groups))
        cells[part.predictions.labels != 0] += lowest.size
        return cells

    def assemble(self, weight: Floats, sums: Floats) -> RankTable:
        negatives, positives = weight[: weight.size // 2], weight[weight.size // 2 :]
        return replace(self.table, negatives=negatives, positives=positives)


def rank_sums(data: Data, resolution: Resolution) -> RankSums:
    """Return the sums of the table of a resolution."""
    return RankSums(resolution, rank_table(data, resolution))


def rank_table(data: Data, resolution: Resolution) -> RankTable:
    """Return the table of a resolution."""
    if resolution == "scores":
        table = distinct_scores(data, "replicates of thresholds")
        return replace(table, posteriors=as_posteriors(data, table.lowest))
    if resolution == "positives":
        return rank_cells(data, 1).steps
    cells = rank_cells(data)
    return cells.runs if resolution == "runs" else cells


def rank_cells(data: Data, edges_of: int | None = None) -> RankTable:
    """Return the rank cells of labeled binary data; computed once.

    Their edges are the distinct scores of a class, by default of the smaller one.
    """
    checks.check_binary("ranks", data.n_classes)
    edges_of = minority_of(data) if edges_of is None else edges_of
    return shared(("rank cells", edges_of), data, lambda: _count_cells(data, edges_of))


def distinct_scores(data: Data, what: str) -> RankTable:
    """Return the distinct scores, computed once; raise if they exceed the memory budget.

    `what` names in the error what needs them.
    """
    checks.check_binary("ranks", data.n_classes)
    return shared("distinct scores", data, lambda: _count_scores(data, what))


def minority_of(data: Data) -> int:
    """Return the class whose distinct scores are the edges of the rank cells."""
    n_negative, n_positive = data.class_sizes
    return int(n_positive <= n_negative)


def are_balanced(data: Data) -> bool:
    """Whether the classes are of like size, and their samples of equal weight."""
    sizes = data.class_sizes
    return not data.has_weights and int(sizes.min()) > _BALANCED * int(sizes.sum())


def cells_fit(data: Data) -> bool:
    """Whether the cells fit the budget, however many scores are distinct."""
    if not isinstance(data, PartitionedPredictions) or _sorting_wins(data):
        return True
    return _BYTES_PER_EDGE * int(data.class_sizes.min()) <= memory_budget()


def _sorting_wins(data: Data) -> bool:
    """Whether sorting both classes beats placing one among the other, and fits the budget."""
    n_bytes = 8 * int(data.class_sizes.sum())
    if isinstance(data, PartitionedPredictions):  # whose scores are collected first
        n_bytes *= PICKED_SHARE
    return are_balanced(data) and n_bytes <= memory_budget()


def _count_scores(data: Data, what: str) -> RankTable:
    steps = [CollectClass(k, data.has_weights, what=what).over(data) for k in (0, 1)]
    (negatives, weights_0), (positives, weights_1) = count_all(steps)
    columns = kernels.cells.merge_classes(negatives, weights_0, positives, weights_1)
    return RankTable(*columns, data.given_priors)


def _count_cells(data: Data, edges_of: int) -> RankTable:
    """Sort both classes, or place one among the sorted scores of the other."""
    if _sorting_wins(data):
        everything = PickValues(ScoresByClass(), _EVERYTHING, np.ones(1, bool))
        by_class = count(everything.over(data))
        kernels.sorting.sort_in_place(*by_class)
        lowest, members, other_weights = kernels.cells.merge_by_score(
            by_class[edges_of], by_class[1 - edges_of]
        )
    else:
        edges, weight_of_edges = count(CollectClass(edges_of, data.has_weights).over(data))
        n_bytes, budget = _BYTES_PER_EDGE * edges.size, memory_budget()
        if isinstance(data, PartitionedPredictions) and n_bytes > budget:
            raise ArgumentError(
                "data",
                f"must have fewer scores of class {edges_of} for ranks: cells at {edges.size:,} "
                f"distinct ones take {n_bytes:,} bytes, more than the budget of {budget:,}; "
                f"{BEYOND_BUDGET}",
            )
        cells = CountIntoCells(1 - edges_of, edges, data.has_weights)
        other_weights, lowest = count(cells.over(data))
        members = np.zeros(other_weights.size)
        members[1::2], lowest[1::2] = weight_of_edges, edges
        filled = (members > 0.0) | (other_weights > 0.0)
        lowest, members, other_weights = lowest[filled], members[filled], other_weights[filled]
    negatives, positives = (other_weights, members) if edges_of else (members, other_weights)
    return RankTable(lowest, negatives, positives, data.given_priors)


@dataclass(frozen=True, eq=False)
class CountIntoCells(Step[tuple[Floats, Floats]]):
    """Sum the weight of a class in cells between edges, and find the lowest score in each.

    Sums are compensated.
    """

    take: int
    edges: Floats
    has_weights: bool

    @property
    def is_exact(self) -> bool:
        """Counts are; compensated sums are not where weights differ by 2^53."""
        return not self.has_weights

    @property
    def key(self) -> Hashable:
        return ("cells", self.take, self.edges.size, kernels.checking.checksum(self.edges))

    def prepare(self) -> Any:
        return kernels.cells.bucket_grid(self.edges)

    def start(self) -> tuple[Floats, Floats]:
        n_cells = 2 * self.edges.size + 2  # the last takes what is passed over
        return np.zeros((n_cells, 2 if self.has_weights else 1)), np.full(n_cells, np.inf)

    def add(self, accumulator: tuple[Floats, Floats], prepared: Any, part: Part) -> Any:
        predictions = part.predictions
        weights = predictions.weights
        if self.has_weights and not weights.size:
            weights = np.ones(len(predictions))
        kernels.cells.count_into_cells(
            predictions.scores,
            weights,
            prepared,
            self.take,
            predictions.labels,
            *accumulator,
        )
        return accumulator

    def merge(self, total: tuple[Floats, Floats], more: tuple[Floats, Floats]) -> Any:
        kernels.cells.add_cells(total[0], more[0][None])
        np.minimum(total[1], more[1], out=total[1])
        return total

    def finish(self, accumulator: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        cells, lowest = accumulator
        if not self.has_weights:
            return cells[:-1, 0], lowest[:-1]
        total, left_over = cells[:-1].T
        # of sums beyond the largest float nothing is left over
        return np.where(np.isfinite(left_over), total + left_over, total), lowest[:-1]


def pav_blocks(data: Data) -> PavBlocks:
    """Return the isotonic fit of labeled binary data; computed once."""
    checks.check_binary("ranks", data.n_classes)
    return shared("PAV blocks", data, lambda: _fit(data))


def rank_area(data: Data) -> float:
    """Return the area under the ROC."""
    checks.check_binary("ranks", data.n_classes)
    if are_balanced(data) or not (data.has_weights or cells_fit(data)):
        return _area_of_ranges(data)
    return rank_cells(data).area


def roc_step(data: Data, criterion: Criterion) -> RocStep:
    """Return the operating points around a criterion, and the score between them."""
    checks.check_binary("ranks", data.n_classes)
    if data.has_weights:
        return _find_in_cells(data, criterion)
    return _find_in_buckets(data, criterion)


def _find_in_buckets(data: Data, criterion: Criterion) -> RocStep:
    """Count the scores in buckets, and look into the one that holds the step."""
    require_both_classes("error rates", data.class_sizes.astype(np.float64))
    column = ScoresByClass()

    def holding(counted: Counted) -> int:
        return int(criterion.find(*error_rates(*counted.counts.T)))

    def needed(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        flags = np.zeros(counted.places.size, bool)
        flags[holding(counted)] = True
        return flags & ~counted.are_alike

    counted, _, flags = count_until_few(column, data, needed)
    by_class = pick(column, data, counted, flags)
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


def _find_in_cells(data: Data, criterion: Criterion) -> RocStep:
    """Find the rank cell of the step, and look into it if it is of one class."""
    cells = rank_cells(data)
    cells.class_totals("error rates")
    at = int(criterion.find(*error_rates(cells.negatives, cells.positives)))
    if cells.negatives[at] > 0.0 and cells.positives[at] > 0.0:  # one score
        return cells.step(criterion)
    class_of_cell = int(cells.positives[at] > 0.0)
    after = cells.lowest[at + 1 : at + 2]
    highest = float(np.nextafter(after[0], -np.inf)) if after.size else np.inf
    bounds = float(cells.lowest[at]), highest
    scores, weights = count(CollectClass(class_of_cell, True, bounds=bounds).over(data))
    nothing = np.zeros(scores.size)

    def spliced(values: Floats, of_scores: Floats) -> Floats:
        return np.concatenate([values[:at], of_scores, values[at + 1 :]])

    return RocStep.of(
        spliced(cells.lowest, scores),
        spliced(cells.negatives, nothing if class_of_cell else weights),
        spliced(cells.positives, weights if class_of_cell else nothing),
        criterion,
    )


def _fit(data: Data) -> PavBlocks:
    if data.has_weights:
        return rank_cells(data).blocks
    column = ScoresByClass()

    def needed(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        undecided = kernels.buckets.find_undecided(counted.counts)
        return undecided & np.isnan(_known_starts(counted))

    counted, _, flags = count_until_few(column, data, needed)
    picked = pick(column, data, counted, flags)
    kernels.sorting.sort_in_place(*picked)
    undecided = kernels.buckets.find_undecided(counted.counts) if counted.lowest.size else flags
    known_starts = _known_starts(counted) if counted.lowest.size else np.empty(0)
    lowest, negatives, positives = kernels.buckets.pool_buckets(
        counted.counts, undecided, known_starts, *picked
    )
    return PavBlocks(lowest, negatives, positives, data.given_priors)


def _known_starts(counted: Counted) -> Floats:
    """Return the lowest score of the buckets that no block divides, as is known; nan for others."""
    if not counted.lowest.size:
        return np.full(counted.places.size, np.nan)
    is_of_one_class = (counted.counts == 0).any(axis=1)
    return np.where(counted.are_alike | is_of_one_class, counted.lowest, np.nan)


def _area_of_ranges(data: Data) -> float:
    """Count the scores in buckets, and sort buckets of both classes, some at a time."""
    totals = data.class_sizes
    require_both_classes("AUC", totals.astype(np.float64))
    column, at_once = ScoresByClass(), max(1, memory_budget() // PICKED_SHARE // 8)

    def are_too_large(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        are_many: NDArray[np.bool_] = counted.counts.sum(axis=1) > at_once
        return _are_mixed(counted) & are_many

    counted, _, _ = count_until_few(column, data, are_too_large)
    are_mixed = _are_mixed(counted)
    negatives, positives = counted.counts.T
    below = np.cumsum(negatives) - negatives
    # twice the number of pairs, as ties count half
    wins = int((positives * (2 * below + negatives))[~are_mixed].sum())
    sizes = counted.counts.sum(axis=1) * are_mixed
    range_of_bucket = (np.cumsum(sizes) - sizes) // at_once
    for number in np.unique(range_of_bucket[are_mixed]).tolist():
        flags = are_mixed & (range_of_bucket == number)
        by_class = pick(column, data, counted, flags)
        kernels.sorting.sort_in_place(*by_class)
        wins += kernels.cells.count_ordered_pairs(*by_class)
        outside = below[flags] - (np.cumsum(negatives[flags]) - negatives[flags])
        wins += 2 * int((positives[flags] * outside).sum())
    return 0.5 * wins / float(totals[1]) / float(totals[0])


def _are_mixed(counted: Counted) -> NDArray[np.bool_]:
    """Whether a bucket holds different scores of both classes, (B,)."""
    return counted.counts.all(axis=1) & ~counted.are_alike
