"""Sums of products of arrays, for kernels; without BLAS, whose bits depend on where arrays lie."""

from fastpsr.kernels.compiler import summing


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
