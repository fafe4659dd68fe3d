"""Sums per bin of posteriors; bins are (low, high], 0 lies in the first."""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import elementary, kernel


def bin_numbers(values, edges):
    """Return the bin of each value, for `edges` from 0 to 1 in ascending order."""
    out = np.empty(values.size, np.int32)
    over_blocks(_bin_numbers, count_blocks(values.size), values, edges, out)
    return out


def sum_into_bins(values, hits, y, weights, edges, n_classes):
    """Return (K, M, 3): weight, weight of hits and weighted sum of values, by class and bin."""
    n_bins = edges.size - 1
    out = np.zeros((count_blocks(values.size), n_classes, n_bins, 3))
    over_blocks(_sum_into_bins, out.shape[0], values, hits, y, weights, edges, out)
    return np.moveaxis(out, 0, -1).copy().sum(axis=-1)


def top_classes(scores):
    """Return (best, index): the largest entry of each row and its first place."""
    best = np.empty(scores.shape[0])
    index = np.empty(scores.shape[0], np.int32)
    over_blocks(_top_classes, count_blocks(best.size), scores, best, index)
    return best, index


@elementary
def _bin_of(value, edges):
    n_bins = edges.size - 1
    guess = int(value * n_bins)  # right or next to it where bins are of equal width
    guess = guess if guess < n_bins else n_bins - 1
    if value <= edges[guess] and guess > 0:
        guess -= 1
    if edges[guess] < value <= edges[guess + 1] or value == 0.0:
        return guess if value > 0.0 else 0
    low = 0
    high = n_bins - 1
    while low < high:
        middle = (low + high) >> 1
        if edges[middle + 1] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _bin_numbers(first, last, values, edges, out):
    for i in range(first * BLOCK, min(last * BLOCK, values.size)):
        out[i] = _bin_of(values[i], edges)


@kernel
def _sum_into_bins(first, last, values, hits, y, weights, edges, out):
    weighted = weights.size > 0
    for block in range(first, last):
        for i in range(block * BLOCK, min((block + 1) * BLOCK, values.size)):
            cell = out[block, y[i], _bin_of(values[i], edges)]
            w = weights[i] if weighted else 1.0
            cell[0] += w
            cell[1] += w if hits[i] != 0 else 0.0
            cell[2] += w * values[i]


@kernel
def _top_classes(first, last, scores, best, index):
    for i in range(first * BLOCK, min(last * BLOCK, best.size)):
        top = scores[i, 0]
        place = 0
        for k in range(1, scores.shape[1]):
            if scores[i, k] > top:
                top = scores[i, k]
                place = k
        best[i] = top
        index[i] = place
