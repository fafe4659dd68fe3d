"""Sums over samples that a Newton step of affine calibration needs, and checks that one exists."""

import math

import numpy as np

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks, writable
from fastpsr.kernels.compiler import kernel, summing

_ROWS = 256  # rows per part at least, and
_PARTS = 256  # parts at most: each holds a matrix of K x K

_exp = elementary.exp_of_nonpositive
_sigmoid = elementary.sigmoid


def sum_fit_binary(scores, y, weights, scale, shift):
    """Gradient and curvature of the log loss of log-odds ``scale x score + shift``.

    Returns (5,): sums of w e, w e x, w v, w v x and w v x^2, with e the error of the posterior of
    class 1 and v its variance.
    """
    out = np.zeros((count_blocks(scores.size), 5))
    over_blocks(_sum_fit_binary, out.shape[0], scores, y, weights, float(scale), float(shift), out)
    return np.ascontiguousarray(out.T).sum(axis=1)


def sum_fit_multiclass(scores, y, weights, scale, shift):
    """Gradient and curvature of the log loss of softmax(scale x scores + shift).

    Returns (gradient (1 + K,), Hessian (1 + K, 1 + K)); the scale comes first.
    """
    n_rows, n_classes = scores.shape
    bounds = np.linspace(0, n_rows, min(_PARTS, -(-n_rows // _ROWS)) + 1).astype(np.int64)
    n_parts = bounds.size - 1
    gradient = np.zeros((n_parts, 1 + n_classes))
    scale_row = np.zeros((n_parts, 1 + n_classes))
    spread = np.zeros((n_parts, n_classes, n_classes))
    over_blocks(
        _sum_fit_multiclass, n_parts, bounds, scores, y, weights, float(scale), shift,
        gradient, scale_row, spread, worth_a_thread=1,
    )  # fmt: skip
    hessian = np.empty((1 + n_classes, 1 + n_classes))
    hessian[0] = hessian[:, 0] = scale_row.sum(axis=0)
    upper = np.triu(spread.sum(axis=0))
    hessian[1:, 1:] = upper + np.triu(upper, 1).T
    return gradient.sum(axis=0), hessian


def class_ranges(scores, y, weights):
    """Return (2, 2): the lowest and highest score of each class; (inf, -inf) where it is absent."""
    parts = np.empty((count_blocks(scores.size), 2, 2))
    over_blocks(_class_ranges, parts.shape[0], scores, y, weights, parts)
    return np.stack([parts[:, :, 0].min(axis=0), parts[:, :, 1].max(axis=0)], axis=1)


def margin_ranges(scores, y, weights):
    """Return (least, most), each (K, K): of score[y] - score[k] over the samples of class y."""
    n_classes = scores.shape[1]
    least = np.full((n_classes, n_classes), math.inf)
    most = np.full((n_classes, n_classes), -math.inf)
    _margin_ranges(writable(scores), writable(y), writable(weights), least, most)
    return least, most


@summing
def _five_sums(error, variance, scores, start, size, out):
    e = ex = v = vx = vxx = 0.0
    for i in range(size):
        x = scores[start + i]
        e += error[i]
        ex += error[i] * x
        v += variance[i]
        vx += variance[i] * x
        vxx += variance[i] * x * x
    out[0], out[1], out[2], out[3], out[4] = e, ex, v, vx, vxx


@kernel
def _sum_fit_binary(first, last, scores, y, weights, scale, shift, out):
    error = np.empty(BLOCK)
    variance = np.empty(BLOCK)
    for block in range(first, last):
        start = block * BLOCK
        size = min(BLOCK, scores.size - start)
        for i in range(size):
            log_odds = scale * scores[start + i] + shift
            target = y[start + i] != 0
            wrong = _sigmoid(-log_odds if target else log_odds)
            error[i] = -wrong if target else wrong
            variance[i] = wrong * (1.0 - wrong)
        if weights.size:
            for i in range(size):
                error[i] *= weights[start + i]
                variance[i] *= weights[start + i]
        _five_sums(error, variance, scores, start, size, out[block])


@kernel
def _exponentials(row, scale, shift, q):
    top = -math.inf
    for k in range(q.size):
        q[k] = scale * row[k] + shift[k]
        top = q[k] if q[k] > top else top
    for k in range(q.size):
        q[k] = _exp(q[k] - top)


@summing
def _add_sample(row, w, q, weighted, mass, cross):
    """Normalise q, add its first two moments, and return the posterior mean of the row."""
    norm = 0.0
    mean = 0.0
    for k in range(q.size):
        norm += q[k]
        mean += q[k] * row[k]
    mean /= norm
    factor = 1.0 / norm
    variance = 0.0
    for k in range(q.size):
        q[k] *= factor
        share = w * q[k]
        centred = row[k] - mean
        weighted[k] = share
        mass[k] += share
        cross[1 + k] += share * centred
        variance += share * centred * centred
    cross[0] += variance
    return mean


@summing
def _subtract_products(spread, q, weighted):
    """Subtract w q q' of four samples at once from the upper triangle: a quarter of the stores."""
    for k in range(q.shape[1]):
        w0, w1, w2, w3 = weighted[0, k], weighted[1, k], weighted[2, k], weighted[3, k]
        row = spread[k, k:]  # slices from k on: indices that start at 0 let the loop vectorise
        q0, q1, q2, q3 = q[0, k:], q[1, k:], q[2, k:], q[3, k:]
        for j in range(row.size):
            row[j] -= w0 * q0[j] + w1 * q1[j] + w2 * q2[j] + w3 * q3[j]


@kernel
def _sum_fit_multiclass(
    first, last, bounds, scores, y, weights, scale, shift, gradient, scale_row, spread
):
    n_classes = scores.shape[1]
    q = np.zeros((4, n_classes))
    weighted = np.zeros((4, n_classes))
    for part in range(first, last):
        slope = gradient[part]
        mass = np.zeros(n_classes)
        for start in range(bounds[part], bounds[part + 1], 4):
            weighted[:] = 0.0
            for place in range(min(4, bounds[part + 1] - start)):
                i = start + place
                w = weights[i] if weights.size else 1.0
                _exponentials(scores[i], scale, shift, q[place])
                mean = _add_sample(scores[i], w, q[place], weighted[place], mass, scale_row[part])
                slope[0] += w * (mean - scores[i, y[i]])
                slope[1 + np.int64(y[i])] -= w
            _subtract_products(spread[part], q, weighted)
        for k in range(n_classes):
            slope[1 + k] += mass[k]
            spread[part, k, k] += mass[k]


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
def _margin_ranges(scores, y, weights, least, most):
    for i in range(y.size):
        if weights.size and weights[i] == 0.0:
            continue
        own = scores[i, y[i]]
        low = least[y[i]]
        high = most[y[i]]
        for k in range(scores.shape[1]):
            margin = own - scores[i, k]
            low[k] = margin if margin < low[k] else low[k]
            high[k] = margin if margin > high[k] else high[k]
