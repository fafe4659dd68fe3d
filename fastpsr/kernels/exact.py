"""Sums whose order does not matter: a float64 and what it leaves over, in a second one."""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, cut, over_parts
from fastpsr.kernels.compiler import inlined, kernel
from fastpsr.kernels.types import Codes, Floats

__all__ = ["add_exactly", "sum_exactly_by_class"]

_MOST_PARTS = 8


def sum_exactly_by_class(values: Floats, y: Codes, n_classes: int) -> Floats:
    """Return (K, 2): the sum of each class's values, and what rounding left over of it."""
    n_parts = int(max(1, min(_MOST_PARTS, values.size // (4 * BLOCK + 4 * n_classes))))
    out = np.zeros((n_parts, n_classes, 2))
    over_parts(_sum_exactly_by_class, cut(values.size, n_parts), values, y, out)
    return _joined(out)


def add_exactly(sums: Floats) -> Floats:
    """Return (K,): the sums (P, K, 2) of several parts, rounded once."""
    return _joined(sums).sum(axis=1)


@inlined
def two_sum(one, other):
    """Return the rounded sum, and what rounding left over of it."""
    total = one + other
    added = total - one
    return total, (one - (total - added)) + (other - added)


@kernel
def _sum_exactly_by_class(first, last, bounds, values, y, out):
    for part in range(first, last):
        total = out[part]
        for i in range(bounds[part] * BLOCK, min(bounds[part + 1] * BLOCK, values.size)):
            k = y[i]
            value = values[i]
            total[k, 0], left = two_sum(total[k, 0], value)
            total[k, 1] += left


def _joined(sums):
    """Return the sums (K, 2) of several parts (P, K, 2)."""
    total, rest = np.zeros((2, sums.shape[1]))
    for of_part, left_over in np.moveaxis(sums, 2, 1):
        before, total = total, total + of_part
        added = total - before
        rest += (before - (total - added)) + (of_part - added) + left_over
    return np.column_stack([total, rest])
