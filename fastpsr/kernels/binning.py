"""Sums per bin of posteriors; bins are (low, high], 0 lies in the first."""

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, count_blocks, cut, over_parts
from fastpsr.kernels.cells import cell_numbers
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.grid import bucket_grid, bucket_of, find_edge
from fastpsr.kernels.types import Codes, Flags, Floats

_LANES = 4  # sums side by side: samples of one bin need not wait for one another
_FEW_SUMS = 512  # up to which it pays


def bin_numbers(values: Floats, edges: Floats) -> NDArray[np.int32]:
    """Return the bin of each value, for `edges` from 0 to 1 in ascending order."""
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


@kernel
def _sum_into_bins(
    first,
    last,
    bounds,
    values,
    hits,
    y,
    weights,
    n_bins,
    low,
    per_unit,
    first_edge,
    quick,
    padded,
    out,
):
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
