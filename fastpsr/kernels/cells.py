"""Cells: places among sorted edges, and their contents.

With m edges e_0 < e_1 < ... there are 2 m + 1 cells: cell 2 j + 1 holds the values equal to e_j,
cell 2 j those between e_j-1 and e_j. Steps and bins are cells put together.

The range of the edges is cut into many buckets of equal width. Nearly all hold one edge or none, so
that a bucket number, which is a product and a rounding, and one comparison tell the place without a
branch; in the others a search does.

The edges of rank cells are the distinct scores of the minority. The majority is counted in one pass
and never sorted.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, count_blocks, cut, over_blocks, over_parts
from fastpsr.kernels.compiler import inlined, kernel
from fastpsr.kernels.reductions import add_to_exact, two_sum_inlined
from fastpsr.kernels.types import Codes, Flags, Floats, Grid, index_type

_FEWEST_BUCKETS, _MOST_BUCKETS = 1 << 12, 1 << 22
_BUCKETS_PER_EDGE = 16
_IN_CACHE = 1 << 18  # buckets; of more than this there is but one per edge
_SHORT = 8  # edges in a bucket that are scanned; where more fall in one, they are bisected
_MOST_PARTS = 8  # histograms side by side; their number depends on the sizes alone
_LANES = 4  # sums side by side: samples of one bin need not wait for one another
_FEW_SUMS = 512  # up to here it pays


def bucket_grid(edges: Floats) -> Grid:
    """Return ``(low, per_unit, first_edge, quick, padded)``.

    ``first_edge[b]`` edges lie before bucket b; ``quick[b]`` is that number where at most one edge
    lies in b, else -1. `padded` are the edges and a nan, which no score equals or exceeds. Where
    buckets of equal width separate nothing (an edge far out), some hold many edges.
    """
    finite = edges[np.isfinite(edges)]
    most = min(max(_IN_CACHE, edges.size), _MOST_BUCKETS)
    n_buckets = int(np.clip(_BUCKETS_PER_EDGE * edges.size, _FEWEST_BUCKETS, most))
    low, per_unit = 0.0, 0.0  # all in the first bucket
    span = float(finite[-1]) - float(finite[0]) if finite.size else 0.0
    if 0.0 < span < np.inf and n_buckets / span < np.inf:
        low, per_unit = float(finite[0]), n_buckets / span
    first_edge = np.empty(n_buckets + 1, index_type(edges.size))
    _fill_grid(edges, low, per_unit, first_edge)
    quick = np.where(np.diff(first_edge) > 1, -1, first_edge[:-1])
    return low, per_unit, first_edge, quick, np.append(edges, np.nan)


def bucket_numbers(
    values: Floats, low: float, per_unit: float, n_buckets: int
) -> NDArray[np.int32]:
    """Return the bucket of each value as `bucket_of` does."""
    with np.errstate(invalid="ignore", over="ignore"):
        position = (np.asarray(values, np.float64) - low) * per_unit
    position = np.fmax(position, 0.0)  # also of nan, which is inf x 0
    return np.minimum(position, n_buckets - 1.0).astype(np.int32)


def count_into_cells(
    scores: Floats, weights: Floats, grid: Grid, take: int, y: Codes, cells: Floats, lowest: Floats
) -> None:
    """Add the weight of the samples with y == take to cells, and note the lowest score of each.

    `grid` is the :func:`bucket_grid` of m edges; `cells` are (2 m + 2, 2): weight, and what
    rounding left over of it, or (2 m + 2, 1) without weights; `lowest` (2 m + 2,). The last cell
    takes the samples that are passed over: those of the other class, and of weight 0.
    """
    # every part costs a histogram: few where cells are many
    n_parts = int(min(_MOST_PARTS, scores.size // (4 * lowest.size)))
    if n_parts <= 1:
        bounds = cut(scores.size, 1)
        counted, least = cells[None], lowest[None]
    else:
        bounds = cut(scores.size, n_parts)
        counted = np.zeros((n_parts, *cells.shape))
        least = np.full((n_parts, lowest.size), np.inf)
    over_parts(_count_into_cells, bounds, scores, weights, y, take, *grid, counted, least)
    if n_parts > 1:
        add_cells(cells, counted)
        np.minimum(lowest, least.min(axis=0), out=lowest)


def add_cells(cells: Floats, others: Floats) -> None:
    """Add cells (P, n, 2) or (P, n, 1) of several parts to `cells`, in place."""
    if cells.shape[1] == 1:  # counts
        cells += others.sum(axis=0)
    else:
        for of_part in others:
            add_to_exact(cells, of_part)


def split_by_class(scores: Floats, y: Codes) -> tuple[Floats, Floats]:
    """Return the scores of class 0 and of class 1, in their order."""
    if scores.size <= BLOCK:  # few: a mask costs less than threads
        is_positive = y != 0
        return scores[~is_positive], scores[is_positive]
    n_parts = int(max(1, min(_MOST_PARTS, count_blocks(scores.size) // 8)))
    bounds = cut(scores.size, n_parts)
    ends = np.minimum(bounds * BLOCK, scores.size)
    n_positive = [int(np.count_nonzero(y[a:b])) for a, b in itertools.pairwise(ends)]
    begins = np.empty((n_parts, 2), np.int64)
    begins[:, 1] = np.cumsum(n_positive) - n_positive
    begins[:, 0] = ends[:-1] - begins[:, 1]
    negatives, positives = np.empty(scores.size - sum(n_positive)), np.empty(sum(n_positive))
    over_parts(_split_by_class, bounds, scores, y, begins, negatives, positives)
    return negatives, positives


def merge_classes(
    negatives: Floats, weights_0: Floats, positives: Floats, weights_1: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores of two classes, ascending, with the weight of each class.

    Parameters
    ----------
    negatives, positives : ndarray
        Scores of each class, ascending.
    weights_0, weights_1 : ndarray
        Their weights, or empty for ones.

    Returns
    -------
    triple of ndarray, shape (m,)
    """
    out = np.zeros((3, negatives.size + positives.size))
    size = _merge_classes(negatives, weights_0, positives, weights_1, out)
    return out[0, :size].copy(), out[1, :size].copy(), out[2, :size].copy()


def merge_by_score(members: Floats, others: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (lowest, members, others) of each cell that is not empty, in their order.

    Both are sorted; the distinct scores of `members` are the edges.
    """
    ones = np.empty(0)
    scores, of_members, of_others = merge_classes(members, ones, others, ones)
    is_edge = of_members > 0.0
    begins_cell = is_edge.copy()
    begins_cell[:1] = True
    begins_cell[1:] |= is_edge[:-1]  # scores between two edges are one cell
    first = np.flatnonzero(begins_cell)
    return scores[first], of_members[first], np.add.reduceat(of_others, first)


def count_ordered_pairs(negatives: Floats, positives: Floats) -> int:
    """Return twice the number of pairs with a higher positive; ties count half. Both are sorted."""
    return int(_count_ordered_pairs(negatives, positives))


def cell_numbers(values: Floats, edges: Floats, dtype: Any = np.int32) -> NDArray[Any]:
    """Return the cell of each value among the edges, as integers of a type that holds them."""
    out = np.empty(values.size, dtype)
    over_blocks(_cell_numbers, count_blocks(values.size), values, *bucket_grid(edges), out)
    return out


def step_numbers(values: Floats, steps: Floats, dtype: Any = np.int32) -> NDArray[Any]:
    """Return the number of steps at or below each value, as integers that hold twice as many."""
    numbers = cell_numbers(values, steps, dtype)
    numbers += 1
    numbers >>= 1
    return numbers


def step_function(values: Floats, steps: Floats, levels: Floats) -> Floats:
    """Return ``levels[number of steps at or below value]`` for each value."""
    out = np.empty(values.size)
    over_blocks(_step, count_blocks(values.size), values, *bucket_grid(steps), levels, out)
    return out


def highest_in_steps(values: Floats, weights: Floats, grid: Grid, highest: Floats) -> None:
    """Raise `highest` to the highest value of positive weight in each step between edges.

    `grid` is the :func:`bucket_grid` of the edges, which are one fewer than steps.
    """
    n_parts = int(max(1, min(_MOST_PARTS, values.size // (4 * highest.size))))
    highest_of_parts = highest[None] if n_parts == 1 else np.full((n_parts, highest.size), -np.inf)
    over_parts(
        _highest_in_steps, cut(values.size, n_parts), values, weights, *grid, highest_of_parts
    )
    if n_parts > 1:
        np.maximum(highest, highest_of_parts.max(axis=0), out=highest)


def bin_numbers(values: Floats, edges: Floats) -> NDArray[np.int32]:
    """Return the bin of each value, for `edges` from 0 to 1 in ascending order.

    Bins are (low, high]; 0 lies in the first.
    """
    return cell_numbers(values, edges[1:-1]) >> 1  # inner edges below


def sum_into_bins(
    values: Floats, hits: Flags, y: Codes, weights: Floats, edges: Floats, n_classes: int
) -> Floats:
    """Return (K, 2, M, 2): weight and weighted sum of values, by class, miss or hit, and bin."""
    n_bins = edges.size - 1
    size = n_classes * 2 * n_bins * 2
    n_parts = min(count_blocks(values.size), max(2, values.size // (16 * size)))  # in little room
    out = np.zeros((size, n_parts))
    grid = bucket_grid(edges[1:-1])
    over_parts(
        _sum_into_bins, cut(values.size, n_parts), values, hits, y, weights, n_bins, *grid, out
    )
    return out.sum(axis=1).reshape(n_classes, 2, n_bins, 2)  # contiguous rows: pairwise sums


@inlined
def bucket_of(value, low, per_unit, limit):
    """Return the bucket of a value; `limit` is the last one."""
    position = (value - low) * per_unit
    position = position if position > 0.0 else 0.0  # also -inf, and inf x 0
    return np.int32(position if position < limit else limit)


@kernel
def _fill_grid(edges, low, per_unit, first_edge):
    n_buckets = first_edge.size - 1
    edge = 0
    for bucket in range(n_buckets):
        first_edge[bucket] = edge
        while edge < edges.size and (
            bucket_of(edges[edge], low, per_unit, n_buckets - 1.0) == bucket
        ):
            edge += 1
    first_edge[n_buckets] = edges.size


@inlined
def cell_at(value, edge, edge_value):
    """Return the cell of a value that lies above all edges before `edge`, and not behind it."""
    return 2 * edge + (2 if value > edge_value else 0) + (1 if value == edge_value else 0)


@kernel
def find_edge(value, padded, first_edge, bucket):
    """Return the first edge of a bucket that is not below the value, or the edge behind it.

    A function of its own: its arrays make a call dear, and only crowded buckets need one.
    """
    first = np.int64(first_edge[bucket])
    stop = np.int64(first_edge[bucket + np.uint32(1)])
    if stop - first <= _SHORT:
        while first < stop and padded[first] < value:
            first += 1
    else:
        while first < stop:
            middle = (first + stop) >> 1
            if padded[middle] < value:
                first = middle + 1
            else:
                stop = middle
    return first


@kernel
def _count_into_cells(
    first, last, bounds, scores, weights, y, take, low, per_unit, first_edge, quick, padded,
    counted, lowest,
):  # fmt: skip
    weighted = weights.size > 0
    limit = first_edge.size - 2.0
    passed_over = 2 * padded.size - 1
    buckets = np.empty(BLOCK, np.int32)
    for part in range(first, last):
        total = counted[part]
        least = lowest[part]
        for block in range(bounds[part], bounds[part + 1]):
            start = block * BLOCK
            size = min(BLOCK, scores.size - start)
            for i in range(size):  # a loop of its own, so that it vectorizes
                buckets[i] = bucket_of(scores[start + i], low, per_unit, limit)
            for i in range(size):
                score = scores[start + i]
                w = weights[start + i] if weighted else 1.0
                bucket = np.uint32(buckets[i])  # unsigned: no check for indices from the end
                edge = np.int64(quick[bucket])
                if edge < 0:
                    edge = find_edge(score, padded, first_edge, bucket)
                cell = cell_at(score, edge, padded[np.uint64(edge)])
                cell = cell if (y[start + i] == take) & (w > 0.0) else passed_over
                place = np.uint64(cell)
                if weighted:  # also what rounding left over, so that the order does not matter
                    total[place, 0], left = two_sum_inlined(total[place, 0], w)
                    total[place, 1] += left
                else:
                    total[place, 0] += w
                if score < least[place]:
                    least[place] = score


@kernel
def _split_by_class(first, last, bounds, scores, y, begins, negatives, positives):
    both = np.empty((2, BLOCK))
    for part in range(first, last):
        n_negative = begins[part, 0]
        n_positive = begins[part, 1]
        for block in range(bounds[part], bounds[part + 1]):
            of_block = scores[block * BLOCK : (block + 1) * BLOCK]
            classes = y[block * BLOCK : (block + 1) * BLOCK]
            ones = 0
            for i in range(of_block.size):  # no branch: labels in no order cannot be foretold
                is_one = np.int64(classes[i])
                both[0, i - ones] = of_block[i]
                both[1, ones] = of_block[i]
                ones += is_one
            zeros = of_block.size - ones
            of_zero, of_one = negatives[n_negative:], positives[n_positive:]
            for i in range(zeros):
                of_zero[i] = both[0, i]
            for i in range(ones):
                of_one[i] = both[1, i]
            n_negative += zeros
            n_positive += ones


@kernel
def _merge_classes(negatives, weights_0, positives, weights_1, out):
    i = j = 0
    size = -1
    while i < negatives.size or j < positives.size:
        takes_0 = j == positives.size or (i < negatives.size and negatives[i] <= positives[j])
        score = negatives[i] if takes_0 else positives[j]
        if size < 0 or score != out[0, size]:
            size += 1
            out[0, size] = score
        if takes_0:
            out[1, size] += weights_0[i] if weights_0.size else 1.0
            i += 1
        else:
            out[2, size] += weights_1[j] if weights_1.size else 1.0
            j += 1
    return size + 1


@kernel
def _count_ordered_pairs(negatives, positives):
    pairs = 0
    n_below = 0
    n_up_to = 0
    for score in positives:
        while n_below < negatives.size and negatives[n_below] < score:
            n_below += 1
        while n_up_to < negatives.size and negatives[n_up_to] <= score:
            n_up_to += 1
        pairs += n_below + n_up_to
    return pairs


@kernel
def _cell_numbers(first, last, values, low, per_unit, first_edge, quick, padded, out):
    limit = first_edge.size - 2.0
    for i in range(first * BLOCK, min(last * BLOCK, values.size)):
        bucket = np.uint32(bucket_of(values[i], low, per_unit, limit))
        edge = np.int64(quick[bucket])
        if edge < 0:
            edge = find_edge(values[i], padded, first_edge, bucket)
        out[i] = cell_at(values[i], edge, padded[np.uint64(edge)])


@kernel
def _step(first, last, values, low, per_unit, first_edge, quick, padded, levels, out):
    limit = first_edge.size - 2.0
    for i in range(first * BLOCK, min(last * BLOCK, values.size)):
        bucket = np.uint32(bucket_of(values[i], low, per_unit, limit))
        edge = np.int64(quick[bucket])
        if edge < 0:
            edge = find_edge(values[i], padded, first_edge, bucket)
        cell = cell_at(values[i], edge, padded[np.uint64(edge)])
        out[i] = levels[np.uint64((cell + 1) >> 1)]


@kernel
def _highest_in_steps(
    first, last, bounds, values, weights, low, per_unit, first_edge, quick, padded, highest
):
    limit = first_edge.size - 2.0
    for part in range(first, last):
        most = highest[part]
        for i in range(bounds[part] * BLOCK, min(bounds[part + 1] * BLOCK, values.size)):
            if weights.size and weights[i] == 0.0:
                continue
            value = values[i]
            bucket = np.uint32(bucket_of(value, low, per_unit, limit))
            edge = np.int64(quick[bucket])
            if edge < 0:
                edge = find_edge(value, padded, first_edge, bucket)
            step = np.uint64((cell_at(value, edge, padded[np.uint64(edge)]) + 1) >> 1)
            if value > most[step]:
                most[step] = value


@kernel
def _sum_into_bins(
    first, last, bounds, values, hits, y, weights, n_bins, low, per_unit, first_edge, quick, padded,
    out,
):  # fmt: skip
    weighted = weights.size > 0
    limit = first_edge.size - 2.0
    buckets, numbers = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    wide = np.empty(BLOCK)
    crowded = False
    for bucket in range(quick.size):
        crowded |= quick[bucket] < 0
    lanes = 1 if out.shape[0] > _FEW_SUMS else _LANES
    sums = np.empty((lanes, out.shape[0]))
    for part in range(first, last):
        for lane in range(lanes):
            for place in range(out.shape[0]):
                sums[lane, place] = 0.0
        for block in range(bounds[part], bounds[part + 1]):
            of_block = values[block * BLOCK : (block + 1) * BLOCK]
            classes = y[block * BLOCK : (block + 1) * BLOCK]
            came_true = hits[block * BLOCK : (block + 1) * BLOCK]
            of_weights = weights[block * BLOCK : (block + 1) * BLOCK]
            for i in range(of_block.size):  # loops of their own, so that they vectorize
                wide[i] = of_block[i]
            for i in range(of_block.size):
                buckets[i] = bucket_of(wide[i], low, per_unit, limit)
            for i in range(of_block.size):
                bucket = np.uint32(buckets[i])
                edge = np.int64(quick[bucket])
                if crowded and edge < 0:
                    edge = find_edge(wide[i], padded, first_edge, bucket)
                line = 2 * np.int32(classes[i]) + np.int32(came_true[i])
                numbers[i] = line * np.int32(n_bins) + edge + (wide[i] > padded[np.uint64(edge)])
            for i in range(of_block.size):
                value = wide[i]
                w = of_weights[i] if weighted else 1.0
                place = np.uint64(2 * np.int64(numbers[i]))
                total = sums[i & (lanes - 1)]
                total[place] += w
                total[place + np.uint64(1)] += w * value
        for lane in range(lanes):
            for place in range(out.shape[0]):  # adding arrays would triple the time to compile
                out[place, part] += sums[lane, place]
