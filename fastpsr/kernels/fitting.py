"""Gradients and curvatures of log losses that a Newton step needs, and its linear equations.

The equations are solved on one thread: BLAS would start threads for a matrix of 100 x 100, and they
would spin on cores that we want.
"""

import math

import numpy as np

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks, writable
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.elementary import exp_of_nonpositive, sigmoid
from fastpsr.kernels.reductions import dot, dot_of_three, largest, total
from fastpsr.kernels.types import Codes, Floats


def sum_fit(
    features: Floats,
    y: Codes,
    weights: Floats,
    rows: tuple[int, int],
    parameters: Floats,
    with_bias: bool,
    offset: float,
    factors: Floats,
) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the log loss of log-odds ``offset + parameters @ features``.

    Parameters
    ----------
    features : ndarray, shape (p, N)
    y, weights : ndarray, shape (N,)
    rows : pair of int
        First row, and the end of the rows that are summed.
    parameters : ndarray, shape (p,), or (p + 1,) with a bias
    with_bias : bool
        Whether the last parameter is added to the log-odds.
    offset : float
    factors : ndarray, shape (2,)
        Additional weights of classes.

    Returns
    -------
    pair of ndarray
        Shapes (p,) and (p, p), or one more with a bias.
    """
    begin, end = rows
    n = parameters.size
    out = np.zeros((count_blocks(end - begin), n + n * n))
    over_blocks(_sum_fit, out.shape[0], begin, end, features, y, weights, parameters,
                bool(with_bias), float(offset), factors, out)  # fmt: skip
    sums = np.ascontiguousarray(out.T).sum(axis=1)
    return sums[:n], sums[n:].reshape(n, n)


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
    """Replace moves of the scores of rows by moves of the slopes of the loss."""
    n, n_classes = moves.shape
    n_rows = max(1, BLOCK // n_classes)
    over_blocks(_curve_rows, -(-n // n_rows), n_rows, moves, posteriors, weights)


def solve_positive_definite(matrix: Floats, vector: Floats) -> Floats | None:
    """Return the solution of ``matrix x = vector``; None where the matrix is not so to rounding."""
    factor = np.array(matrix, order="C")  # a copy, which Cholesky's factor replaces
    solution = vector.copy()
    return solution if _solve(factor, writable(solution)) else None


@kernel
def _sum_fit(
    first, last, begin, end, features, y, weights, parameters, with_bias, offset, factors, out
):
    n = parameters.size
    n_features = features.shape[0]
    masses, errors, variances = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    all_ones = np.ones(BLOCK)
    for block in range(first, last):
        start = begin + block * BLOCK
        size = min(BLOCK, end - start)
        mass, error, variance = masses[:size], errors[:size], variances[:size]
        classes = y[start : start + size]
        for i in range(size):  # negative for targets
            mass[i] = -factors[1] if classes[i] != 0 else factors[0]
        if weights.size:
            of_block = weights[start : start + size]
            for i in range(size):
                mass[i] *= of_block[i]
        base = offset + (parameters[n_features] if with_bias else 0.0)
        slope, feature = parameters[0], features[0][start : start + size]
        for i in range(size):
            error[i] = base + slope * feature[i]
        for j in range(1, n_features):
            slope, feature = parameters[j], features[j][start : start + size]
            for i in range(size):
                error[i] += slope * feature[i]
        for i in range(size):
            wrong = sigmoid(-error[i] if mass[i] < 0.0 else error[i])
            error[i] = mass[i] * wrong
            variance[i] = abs(error[i]) * (1.0 - wrong)
        gradient, hessian = out[block, :n], out[block, n:]
        if with_bias:
            gradient[n_features] = dot(error, all_ones[:size])
            hessian[n * n - 1] = dot(variance, all_ones[:size])
        for j in range(n_features):
            feature = features[j][start : start + size]
            gradient[j] = dot(error, feature)
            if with_bias:
                hessian[j * n + n_features] = dot(variance, feature)
                hessian[n_features * n + j] = hessian[j * n + n_features]
            for k in range(j + 1):
                other = features[k][start : start + size]
                hessian[j * n + k] = dot_of_three(variance, feature, other)
                hessian[k * n + j] = hessian[j * n + k]


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
