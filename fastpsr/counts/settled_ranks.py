"""Ranks in their settled form: of buckets that are refined where the value is decided.

They are of one weighting: no replicate can be computed from them.
"""

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.counts import count, shared
from fastpsr.counts.buckets import (
    PICKED_SHARE,
    Counted,
    ScoresByClass,
    count_until_few,
    pick,
)
from fastpsr.counts.class_scores import CollectClass
from fastpsr.counts.pav_blocks import PavBlocks, require_both_classes
from fastpsr.counts.rank_table import are_balanced, cells_fit, rank_cells
from fastpsr.counts.roc_steps import Criterion, RocStep, error_rates
from fastpsr.data import Data, Floats
from fastpsr.data.budget import memory_budget


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
    known = _known_starts(counted) if counted.lowest.size else np.empty(0)
    lowest, negatives, positives = kernels.buckets.pool_buckets(
        counted.counts, undecided, known, *picked
    )
    return PavBlocks(lowest, negatives, positives, data.given_priors)


def _known_starts(counted: Counted) -> Floats:
    """Return the lowest score of the buckets that no block divides, as is known; nan for others."""
    if not counted.lowest.size:
        return np.full(counted.places.size, np.nan)
    is_of_one_class = (counted.counts == 0).any(axis=1)
    return np.where(counted.are_alike | is_of_one_class, counted.lowest, np.nan)


def _area_of_ranges(data: Data) -> float:
    """Count the scores in buckets, and sort those in buckets of both classes, some at a time."""
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
