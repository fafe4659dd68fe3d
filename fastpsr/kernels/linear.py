"""Linear equations with a positive definite matrix, on one thread.

BLAS would start threads for a matrix of 100 x 100, and they would spin on cores that we want.
"""

import math

import numpy as np

from fastpsr.kernels.blocks import writable
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.dots import dot
from fastpsr.kernels.types import Floats


def solve_positive_definite(matrix: Floats, vector: Floats) -> Floats | None:
    """Return the solution of ``matrix x = vector``; None where the matrix is not so to rounding."""
    factor = np.array(matrix, order="C")  # a copy, which Cholesky's factor replaces
    solution = vector.copy()
    return solution if _solve(factor, writable(solution)) else None


@kernel
def _solve(factor, x):
    n = x.size
    for i in range(n):
        row = factor[i]
        for j in range(i):
            row[j] = (row[j] - dot(row[:j], factor[j, :j])) / factor[j, j]
        pivot = row[i] - dot(row[:i], row[:i])
        if not pivot > 1e-14 * row[i]:
            return False
        row[i] = math.sqrt(pivot)
        x[i] = (x[i] - dot(row[:i], x[:i])) / row[i]
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        for j in range(i):
            x[j] -= factor[i, j] * x[i]
    return True
