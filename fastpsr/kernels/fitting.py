"""Sums over binary samples that a Newton step of affine calibration needs, and ranges of scores."""

import math

import numpy as np

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks, writable
from fastpsr.kernels.compiler import kernel, summing

_sigmoid = elementary.sigmoid


def sum_fit_binary(scores, y, weights, scale, shift, factors, middle):
    """Gradient and curvature of the log loss of log-odds ``scale x score + shift``.

    `middle` is subtracted from the scores x; classes weigh `factors` (2,) besides.

    Returns (5,): sums of w e, w e x, w v, w v x and w v x^2, with e the error of the posterior of
    class 1 and v its variance.
    """
    out = np.zeros((count_blocks(scores.size), 5))
    over_blocks(_sum_fit_binary, out.shape[0], scores, y, weights, float(scale), float(shift),
                factors, float(middle), out)  # fmt: skip
    return np.ascontiguousarray(out.T).sum(axis=1)


def class_ranges(scores, y, weights):
    """Return (2, 2): the lowest and highest score of each class; (inf, -inf) where it is absent."""
    parts = np.empty((count_blocks(scores.size), 2, 2))
    over_blocks(_class_ranges, parts.shape[0], scores, y, weights, parts)
    return np.stack([parts[:, :, 0].min(axis=0), parts[:, :, 1].max(axis=0)], axis=1)


def margin_ranges(scores, y, weights, parts_of, n_parts, by_class):
    """Return (least, most), each (P, K, K): of score[y] - score[k] over a part's samples of y.

    Unless `by_class` they are (P, 1, 1), over all samples and all classes but their own.
    """
    n_cells = scores.shape[1] if by_class else 1
    least = np.full((n_parts, n_cells, n_cells), math.inf)
    most = np.full((n_parts, n_cells, n_cells), -math.inf)
    arguments = (scores, y, weights, parts_of)
    _margin_ranges(*(writable(argument) for argument in arguments), by_class, least, most)
    return least, most


@summing
def _five_sums(error, variance, scores, middle, start, size, out):
    e = ex = v = vx = vxx = 0.0
    for i in range(size):
        x = scores[start + i] - middle
        e += error[i]
        ex += error[i] * x
        v += variance[i]
        vx += variance[i] * x
        vxx += variance[i] * x * x
    out[0], out[1], out[2], out[3], out[4] = e, ex, v, vx, vxx


@kernel
def _sum_fit_binary(first, last, scores, y, weights, scale, shift, factors, middle, out):
    error = np.empty(BLOCK)
    variance = np.empty(BLOCK)
    for block in range(first, last):
        start = block * BLOCK
        size = min(BLOCK, scores.size - start)
        for i in range(size):
            log_odds = scale * (scores[start + i] - middle) + shift
            target = y[start + i] != 0
            wrong = _sigmoid(-log_odds if target else log_odds)
            mass = factors[1] if target else factors[0]
            error[i] = -mass * wrong if target else mass * wrong
            variance[i] = mass * wrong * (1.0 - wrong)
        if weights.size:
            for i in range(size):
                error[i] *= weights[start + i]
                variance[i] *= weights[start + i]
        _five_sums(error, variance, scores, middle, start, size, out[block])


@kernel
def _class_ranges(first, last, scores, y, weights, parts):
    for block in range(first, last):
        low0 = low1 = math.inf
        high0 = high1 = -math.inf
        for i in range(block * BLOCK, min((block + 1) * BLOCK, scores.size)):
            if weights.size and weights[i] == 0.0:
                continue
            x = scores[i]
            if y[i] != 0:
                low1 = x if x < low1 else low1
                high1 = x if x > high1 else high1
            else:
                low0 = x if x < low0 else low0
                high0 = x if x > high0 else high0
        parts[block, 0, 0], parts[block, 0, 1] = low0, high0
        parts[block, 1, 0], parts[block, 1, 1] = low1, high1


@kernel
def _margin_ranges(scores, y, weights, parts_of, by_class, least, most):
    for i in range(y.size):
        if weights.size and weights[i] == 0.0:
            continue
        own = scores[i, y[i]]
        if not by_class:
            low = least[parts_of[i], 0]
            high = most[parts_of[i], 0]
            for k in range(scores.shape[1]):
                margin = own - scores[i, k]
                if k != y[i]:
                    low[0] = min(low[0], margin)
                    high[0] = max(high[0], margin)
            continue
        low = least[parts_of[i], y[i]]
        high = most[parts_of[i], y[i]]
        for k in range(scores.shape[1]):
            margin = own - scores[i, k]
            low[k] = margin if margin < low[k] else low[k]
            high[k] = margin if margin > high[k] else high[k]
