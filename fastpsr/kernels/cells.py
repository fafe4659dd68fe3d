"""Rank cells: where the majority's scores lie between the distinct scores of the minority.

With m edges e_0 < e_1 < ... there are 2 m + 1 cells: cell 2 j + 1 holds the scores equal to e_j,
cell 2 j those between e_j-1 and e_j. The majority is counted in one pass and never sorted.
"""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import elementary, kernel

_BUCKETS_PER_EDGE = 4
_SHORT = 8  # edges in a bucket that are scanned; where more fall in one, they are bisected
_MOST_PARTS = 8  # histograms side by side; their number depends on the sizes alone


def bucket_edges(edges):
    """Return ``(low, per_unit, table)``: edges before bucket b are those below ``table[b]``.

    Buckets divide the range of the finite edges evenly. Where that separates nothing (one edge far
    out), buckets hold many edges, which are then bisected.
    """
    finite = edges[np.isfinite(edges)]
    n_buckets = min(_BUCKETS_PER_EDGE * edges.size, 1 << 22)
    if finite.size < 2 or not np.isfinite(finite[-1] - finite[0]):
        return 0.0, 0.0, np.array([0, edges.size], np.int64)
    low = float(finite[0])
    per_unit = n_buckets / (float(finite[-1]) - low)
    if not np.isfinite(per_unit):
        return 0.0, 0.0, np.array([0, edges.size], np.int64)
    table = np.empty(n_buckets + 1, np.int64)
    _fill_table(edges, low, per_unit, table)
    return low, per_unit, table


def count_into_cells(scores, weights, edges, take, y):
    """Return (totals, lowest): each cell's weight and lowest score, of the samples with y == take.

    Samples of the other class, and those of weight 0, are passed over.
    """
    low, per_unit, table = bucket_edges(edges)
    n_cells = 2 * edges.size + 1
    # every part costs a histogram: few where cells are many
    n_parts = int(max(1, min(_MOST_PARTS, scores.size // (4 * n_cells))))
    bounds = np.linspace(0, count_blocks(scores.size), n_parts + 1).astype(np.int64)
    totals = np.zeros((n_parts, n_cells))
    lowest = np.full((n_parts, n_cells), np.inf)
    over_parts(
        _count_into_cells, n_parts, bounds, scores, weights, y, take, edges, low, per_unit, table,
        totals, lowest,
    )  # fmt: skip
    return totals.sum(axis=0), lowest.min(axis=0)


def over_parts(step, n_parts, *arguments):
    """Run `step` for each part; parts are few and coarse, so each may go to a thread."""
    over_blocks(step, n_parts, *arguments, worth_a_thread=1)


def merge_into_cells(sorted_scores, edges):
    """Return (totals, lowest) as `count_into_cells` does, for scores that are sorted already."""
    totals = np.zeros(2 * edges.size + 1)
    lowest = np.full(totals.size, np.inf)
    _merge_into_cells(sorted_scores, edges, totals, lowest)
    return totals, lowest


def step_function(values, steps, levels):
    """Return ``levels[number of steps at or below value]`` for each value."""
    low, per_unit, table = bucket_edges(steps)
    out = np.empty(values.size)
    over_blocks(_step, count_blocks(values.size), values, steps, low, per_unit, table, levels, out)
    return out


@elementary
def _bucket_of(value, low, per_unit, n_buckets):
    position = (value - low) * per_unit
    position = position if position > 0.0 else 0.0  # also -inf
    limit = n_buckets - 1.0
    return int(position if position < limit else limit)


@kernel
def _fill_table(edges, low, per_unit, table):
    n_buckets = table.size - 1
    edge = 0
    for bucket in range(n_buckets):
        while edge < edges.size and _bucket_of(edges[edge], low, per_unit, n_buckets) < bucket:
            edge += 1
        table[bucket] = edge
    table[n_buckets] = edges.size


@elementary
def _count_below(value, edges, low, per_unit, table):
    """Return the number of edges below `value`."""
    bucket = 0
    if per_unit > 0.0:
        bucket = _bucket_of(value, low, per_unit, table.size - 1)
    first = table[bucket]
    stop = table[bucket + 1]
    if stop - first <= _SHORT:
        while first < stop and edges[first] < value:
            first += 1
    else:
        while first < stop:
            middle = (first + stop) >> 1
            if edges[middle] < value:
                first = middle + 1
            else:
                stop = middle
    return first


@kernel
def _count_into_cells(
    first, last, bounds, scores, weights, y, take, edges, low, per_unit, table, totals, lowest
):
    weighted = weights.size > 0
    n_edges = edges.size
    for part in range(first, last):
        total = totals[part]
        least = lowest[part]
        for i in range(bounds[part] * BLOCK, min(bounds[part + 1] * BLOCK, scores.size)):
            if y[i] != take:
                continue
            w = weights[i] if weighted else 1.0
            if w == 0.0:
                continue
            score = scores[i]
            below = _count_below(score, edges, low, per_unit, table)
            equal = below < n_edges and edges[below] == score
            cell = 2 * below + (1 if equal else 0)
            total[cell] += w
            if score < least[cell]:
                least[cell] = score


@kernel
def _merge_into_cells(sorted_scores, edges, totals, lowest):
    below = 0
    for i in range(sorted_scores.size):
        score = sorted_scores[i]
        while below < edges.size and edges[below] < score:
            below += 1
        cell = 2 * below
        if below < edges.size and edges[below] == score:
            cell += 1
        if totals[cell] == 0.0:
            lowest[cell] = score
        totals[cell] += 1.0


@kernel
def _step(first, last, values, steps, low, per_unit, table, levels, out):
    n_steps = steps.size
    for i in range(first * BLOCK, min(last * BLOCK, values.size)):
        below = _count_below(values[i], steps, low, per_unit, table)
        at_most = below + (1 if below < n_steps and steps[below] == values[i] else 0)
        out[i] = levels[at_most]
