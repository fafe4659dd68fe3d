"""Operations on one row of values, shared by several kernels."""

from fastpsr.kernels.compiler import kernel, larger, summing


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
