"""Reductions of arrays, shared by several kernels, and sums whose order does not matter.

Products are summed without BLAS, whose bits depend on where arrays lie. A sum whose order does not
matter is a float64 and what it leaves over, in a second one.
"""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, cut, over_parts
from fastpsr.kernels.compiler import inlined, kernel, larger, summing
from fastpsr.kernels.types import Codes, Floats

_MOST_PARTS = 8


def sum_exactly_by_group(values: Floats, groups: Codes, n_groups: int) -> Floats:
    """Return (G, 2): the sum of each group's values, and its rounding error."""
    n_parts = int(max(1, min(_MOST_PARTS, values.size // (4 * BLOCK + 4 * n_groups))))
    out = np.zeros((n_parts, n_groups, 2))
    over_parts(_sum_exactly_by_group, cut(values.size, n_parts), values, groups, out)
    return sum_of_parts(out)


def sum_of_parts(sums: Floats) -> Floats:
    """Return the sums (G, 2) of several parts (P, G, 2)."""
    whole = np.zeros(sums.shape[1:])
    for of_part in sums:
        add_to_exact(whole, of_part)
    return whole


def add_to_exact(sums: Floats, more: Floats) -> None:
    """Add `more`, (..., 2), to `sums` of the same shape, in place."""
    sums[..., 0], left = two_sum(sums[..., 0], more[..., 0])
    sums[..., 1] += left + more[..., 1]


def two_sum(one, other):
    """Return the rounded sum of numbers or arrays, and its rounding error."""
    total = one + other
    added = total - one
    return total, (one - (total - added)) + (other - added)


@kernel
def largest(values):
    """Return the largest value; none may be nan."""
    top = values[0]
    for k in range(values.size):
        top = larger(values[k], top)
    return top


@summing
def total(values):
    """Return the sum."""
    added = 0.0
    for k in range(values.size):
        added += values[k]
    return added


@summing
def sum_and_squares(values):
    """Return the sum, and the sum of the squares."""
    added = 0.0
    squares = 0.0
    for k in range(values.size):
        value = values[k]
        added += value
        squares += value * value
    return added, squares


@summing
def dot(one, other):
    """Sum of one[i] x other[i]."""
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i]
    return total


@summing
def dot_of_three(one, other, third):
    """Sum of one[i] x other[i] x third[i]."""
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i] * third[i]
    return total


two_sum_inlined = inlined(two_sum)


@kernel
def _sum_exactly_by_group(first, last, bounds, values, groups, out):
    for part in range(first, last):
        total = out[part]
        for i in range(bounds[part] * BLOCK, min(bounds[part + 1] * BLOCK, values.size)):
            group = groups[i]
            total[group, 0], left = two_sum_inlined(total[group, 0], values[i])
            total[group, 1] += left
