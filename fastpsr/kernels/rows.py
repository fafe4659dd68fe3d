"""Operations on one row of values, shared by several kernels."""

import math

from fastpsr.kernels.compiler import comparing, summing


@comparing
def largest(values):
    """Return the largest value; none may be nan."""
    top = -math.inf
    for k in range(values.size):
        top = max(top, values[k])
    return top


@summing
def total(values):
    """Return the sum."""
    added = 0.0
    for k in range(values.size):
        added += values[k]
    return added
