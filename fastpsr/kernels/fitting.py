"""Gradients and curvatures of log losses that a Newton step needs, and its linear equations.

The equations are solved on one thread: BLAS would start threads for a matrix of 100 x 100, and they
would spin on cores that we want.
"""

import math

import numpy as np

from fastpsr.kernels.blocks import BLOCK, over_blocks, writable
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.elementary import exp_of_nonpositive
from fastpsr.kernels.reductions import dot, largest, total
from fastpsr.kernels.types import Codes, Floats


def margin_ranges(
    scores: Floats, y: Codes, weights: Floats, parts_of: Codes, n_parts: int, by_class: bool
) -> tuple[Floats, Floats]:
    """Return (least, most), each (P, K, K): of score[y] - score[k] over a part's samples of y.

    Unless `by_class` they are (P, 1, 1), over all samples and all classes but their own.
    """
    n_cells = scores.shape[1] if by_class else 1
    least = np.full((n_parts, n_cells, n_cells), math.inf)
    most = np.full((n_parts, n_cells, n_cells), -math.inf)
    arguments = (scores, y, weights, parts_of)
    _margin_ranges(*(writable(argument) for argument in arguments), by_class, least, most)
    return least, most


def residual_rows(scores: Floats, y: Codes, weights: Floats, posteriors: Floats) -> None:
    """Write the softmax of rows to `posteriors`, and to `scores` the slopes of the loss by them."""
    n, n_classes = scores.shape
    n_rows = max(1, BLOCK // n_classes)
    over_blocks(_residual_rows, -(-n // n_rows), n_rows, scores, y, weights, posteriors)


def curve_rows(moves: Floats, posteriors: Floats, weights: Floats) -> None:
    """Replace moves of the scores of rows by those of the slopes of the loss."""
    n, n_classes = moves.shape
    n_rows = max(1, BLOCK // n_classes)
    over_blocks(_curve_rows, -(-n // n_rows), n_rows, moves, posteriors, weights)


def solve_positive_definite(matrix: Floats, vector: Floats) -> Floats | None:
    """Return the solution of ``matrix x = vector``; None where the matrix is not so to rounding."""
    factor = np.array(matrix, order="C")  # a copy, which Cholesky's factor replaces
    solution = vector.copy()
    return solution if _solve(factor, writable(solution)) else None


@kernel
def _margin_ranges(scores, y, weights, parts_of, by_class, least, most):
    for i in range(y.size):
        if weights.size and weights[i] == 0.0:
            continue
        true_score = scores[i, y[i]]
        low = least[parts_of[i], y[i] if by_class else 0]
        high = most[parts_of[i], y[i] if by_class else 0]
        for k in range(scores.shape[1]):
            margin = true_score - scores[i, k]
            place = k if by_class else 0
            if by_class or k != y[i]:
                low[place] = margin if margin < low[place] else low[place]
                high[place] = margin if margin > high[place] else high[place]


@kernel
def _residual_rows(first, last, n_rows, scores, y, weights, posteriors):
    for i in range(first * n_rows, min(last * n_rows, y.size)):
        row, posterior, weight = scores[i], posteriors[i], weights[i]
        top = largest(row)
        for k in range(row.size):
            posterior[k] = exp_of_nonpositive(row[k] - top)
        share = 1.0 / total(posterior)
        for k in range(row.size):
            posterior[k] *= share
        for k in range(row.size):
            row[k] = weight * posterior[k]
        row[y[i]] -= weight


@kernel
def _curve_rows(first, last, n_rows, moves, posteriors, weights):
    for i in range(first * n_rows, min(last * n_rows, weights.size)):
        move, posterior, weight = moves[i], posteriors[i], weights[i]
        for k in range(move.size):
            move[k] *= posterior[k]
        mean = total(move)
        for k in range(move.size):
            move[k] = weight * (move[k] - mean * posterior[k])


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
