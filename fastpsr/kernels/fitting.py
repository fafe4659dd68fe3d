"""Sums over samples that a Newton step of affine calibration needs, and checks that one exists."""

import math

import numpy as np

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks, writable
from fastpsr.kernels.compiler import kernel, summing

_ROWS = 528  # rows per part at least, and
_PARTS = 256  # parts at most: each holds a matrix of K x K
_SIDE_BY_SIDE = 1 << 15  # scores that are worked on at a time; they stay in the second-level cache
_MOST_SIDE = 16  # times 16 samples

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
    # no multiple of 16: classes would share few lines of the cache
    side = 16 * min(_MOST_SIDE, max(1, _SIDE_BY_SIDE // (16 * n_classes))) + 8
    whole = -(-n_classes // 4) * 4
    gradient = np.zeros((n_parts, 1 + n_classes))
    scale_row = np.zeros((n_parts, 1 + n_classes))
    spread = np.zeros((n_parts, whole, whole))
    over_blocks(
        _sum_fit_multiclass, n_parts, bounds, scores, y, weights, float(scale), shift, side,
        gradient, scale_row, spread, worth_a_thread=1,
    )  # fmt: skip
    hessian = np.empty((1 + n_classes, 1 + n_classes))
    hessian[0] = hessian[:, 0] = scale_row.sum(axis=0)
    upper = np.triu(spread.sum(axis=0)[:n_classes, :n_classes])
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
def _turn(scores, first, size, columns):
    """Write rows from `first` on to the columns of `columns` (K, S); 0 fills up."""
    for begin in range(0, scores.shape[1], 8):  # few lines of the cache at a time
        end = min(begin + 8, scores.shape[1])
        for s in range(size):
            for k in range(begin, end):
                columns[k, s] = scores[first + s, k]
    columns[:, size:] = 0.0


@kernel
def _exponentials(x, scale, shift, top, q):
    """Write exp(scale x + shift) over the largest of each sample."""
    top[:] = -math.inf
    for k in range(x.shape[0]):
        own, values, offset = x[k], q[k], shift[k]
        for s in range(top.size):
            values[s] = scale * own[s] + offset
        for s in range(top.size):
            top[s] = values[s] if values[s] > top[s] else top[s]
    for k in range(x.shape[0]):
        values = q[k]
        for s in range(top.size):
            values[s] = _exp(values[s] - top[s])


@kernel
def _normalise(x, q, norm, mean):
    norm[:] = 0.0
    mean[:] = 0.0
    for k in range(x.shape[0]):
        own, values = x[k], q[k]
        for s in range(norm.size):
            norm[s] += values[s]
        for s in range(norm.size):
            mean[s] += values[s] * own[s]
    for s in range(norm.size):
        norm[s] = 1.0 / norm[s]
        mean[s] *= norm[s]
    for k in range(x.shape[0]):
        values = q[k]
        for s in range(norm.size):
            values[s] *= norm[s]


@summing
def _moments(x, mean, weighted):
    """Return the sums of the weights, and of their products with x less its mean, twice."""
    mass = cross = variance = 0.0
    for s in range(mean.size):
        centred = x[s] - mean[s]
        share = weighted[s] * centred
        mass += weighted[s]
        cross += share
        variance += share * centred
    return mass, cross, variance


@summing
def _subtract_products(q, weighted, first, second, spread):
    """Subtract the sums of q x weighted for 4 x 4 pairs of classes: 8 loads for 16 products."""
    a, b, c, d = q[first], q[first + 1], q[first + 2], q[first + 3]
    e, f = weighted[second], weighted[second + 1]
    g, h = weighted[second + 2], weighted[second + 3]
    ae = af = ag = ah = be = bf = bg = bh = 0.0
    ce = cf = cg = ch = de = df = dg = dh = 0.0
    for s in range(a.size):
        ae += a[s] * e[s]
        af += a[s] * f[s]
        ag += a[s] * g[s]
        ah += a[s] * h[s]
        be += b[s] * e[s]
        bf += b[s] * f[s]
        bg += b[s] * g[s]
        bh += b[s] * h[s]
        ce += c[s] * e[s]
        cf += c[s] * f[s]
        cg += c[s] * g[s]
        ch += c[s] * h[s]
        de += d[s] * e[s]
        df += d[s] * f[s]
        dg += d[s] * g[s]
        dh += d[s] * h[s]
    row = spread[first]
    row[second] -= ae
    row[second + 1] -= af
    row[second + 2] -= ag
    row[second + 3] -= ah
    row = spread[first + 1]
    row[second] -= be
    row[second + 1] -= bf
    row[second + 2] -= bg
    row[second + 3] -= bh
    row = spread[first + 2]
    row[second] -= ce
    row[second + 1] -= cf
    row[second + 2] -= cg
    row[second + 3] -= ch
    row = spread[first + 3]
    row[second] -= de
    row[second + 1] -= df
    row[second + 2] -= dg
    row[second + 3] -= dh


@kernel
def _sum_fit_multiclass(
    first, last, bounds, scores, y, weights, scale, shift, side, gradient, scale_row, spread
):
    # samples lie side by side, `side` of them, so that loops over them vectorise
    n_classes = scores.shape[1]
    x = np.empty((n_classes, side))
    q = np.zeros((spread.shape[1], side))  # classes filled up to a multiple of 4
    weighted = np.zeros(q.shape)
    w, top, norm, mean = np.empty(side), np.empty(side), np.empty(side), np.empty(side)
    for part in range(first, last):
        slope = gradient[part]
        for start in range(bounds[part], bounds[part + 1], side):
            size = min(side, bounds[part + 1] - start)
            _turn(scores, start, size, x)
            _exponentials(x, scale, shift, top, q)
            _normalise(x, q, norm, mean)
            w[:] = 0.0
            for s in range(size):
                w[s] = weights[start + s] if weights.size else 1.0
            for k in range(n_classes):
                own, shares = q[k], weighted[k]
                for s in range(side):
                    shares[s] = w[s] * own[s]
                mass, cross, variance = _moments(x[k], mean, shares)
                slope[1 + k] += mass
                spread[part, k, k] += mass
                scale_row[part, 1 + k] += cross
                scale_row[part, 0] += variance
            for s in range(size):
                true = np.int64(y[start + s])
                slope[0] += w[s] * (mean[s] - x[true, s])
                slope[1 + true] -= w[s]
            for k in range(0, n_classes, 4):
                for j in range(k, n_classes, 4):
                    _subtract_products(q, weighted, k, j, spread[part])


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
