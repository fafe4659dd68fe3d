"""Sums over binary samples that a Newton step of calibration needs, and ranges of scores."""

import math

import numpy as np

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks, writable
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.dots import dot, dot_of_three
from fastpsr.kernels.types import Codes, Floats

_sigmoid = elementary.sigmoid


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
        What classes weigh besides.

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
            wrong = _sigmoid(-error[i] if mass[i] < 0.0 else error[i])
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
        if not by_class:
            low = least[parts_of[i], 0]
            high = most[parts_of[i], 0]
            for k in range(scores.shape[1]):
                margin = true_score - scores[i, k]
                if k != y[i]:
                    low[0] = min(low[0], margin)
                    high[0] = max(high[0], margin)
            continue
        low = least[parts_of[i], y[i]]
        high = most[parts_of[i], y[i]]
        for k in range(scores.shape[1]):
            margin = true_score - scores[i, k]
            low[k] = margin if margin < low[k] else low[k]
            high[k] = margin if margin > high[k] else high[k]
