"""Passes that look for the first entry that breaks a rule."""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.rows import total
from fastpsr.kernels.types import Codes, Counts, Floats, Reals

__all__ = ["compact_labels", "find_outside", "sum_rows"]


def find_outside(values: Reals, low: float, high: float) -> int:
    """Return the first index where not ``low <= value <= high``, or -1; nan is outside."""
    first_of_blocks = np.empty(count_blocks(values.size), np.int64)
    over_blocks(
        _find_outside, first_of_blocks.size, values, float(low), float(high), first_of_blocks
    )
    return _first(first_of_blocks)


def compact_labels(labels: Counts, n_classes: int, codes: Codes) -> int:
    """Copy int64 labels into narrower `codes`; return the first index not in 0..K-1, or -1."""
    first_of_blocks = np.empty(count_blocks(labels.size), np.int64)
    over_blocks(_compact_labels, first_of_blocks.size, labels, n_classes, codes, first_of_blocks)
    return _first(first_of_blocks)


def sum_rows(values: Reals) -> Floats:
    """Return the sum of each row of (N, K) values."""
    out = np.empty(values.shape[0])
    over_blocks(_sum_rows, count_blocks(out.size), values, out)
    return out


def _first(first_of_blocks):
    hits = first_of_blocks[first_of_blocks >= 0]
    return int(hits[0]) if hits.size else -1


@kernel
def _find_outside(first, last, values, low, high, first_of_blocks):
    for block in range(first, last):
        start = block * BLOCK
        stop = min(start + BLOCK, values.size)
        n_inside = 0
        for i in range(start, stop):  # counting vectorizes, leaving the loop early does not
            n_inside += (values[i] >= low) & (values[i] <= high)
        first_of_blocks[block] = -1
        if n_inside < stop - start:
            for i in range(start, stop):
                if not (low <= values[i] <= high):
                    first_of_blocks[block] = i
                    break


@kernel
def _sum_rows(first, last, values, out):
    for i in range(first * BLOCK, min(last * BLOCK, out.size)):
        out[i] = total(values[i])


@kernel
def _compact_labels(first, last, labels, n_classes, codes, first_of_blocks):
    for block in range(first, last):
        start = block * BLOCK
        stop = min(start + BLOCK, labels.size)
        n_inside = 0
        for i in range(start, stop):
            n_inside += (labels[i] >= 0) & (labels[i] < n_classes)
            codes[i] = labels[i]
        first_of_blocks[block] = -1
        if n_inside < stop - start:
            for i in range(start, stop):
                if labels[i] < 0 or labels[i] >= n_classes:
                    first_of_blocks[block] = i
                    break
