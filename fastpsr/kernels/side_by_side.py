"""Sums over samples of several classes that a Newton step of a linear fusion needs.

That of one system is affine calibration. A block holds samples side by side, a class to a row, so
that loops over them vectorize. The samples of a part, which is a fold, say, have blocks of their
own: a fit to some parts reads theirs.
"""

import math

import numpy as np

from fastpsr.kernels.blocks import over_blocks
from fastpsr.kernels.compiler import kernel, summing
from fastpsr.kernels.elementary import exp_of_nonpositive
from fastpsr.kernels.types import Codes, Flags, Floats

_SCORES = 1 << 15  # of a block; it stays in the second-level cache with what is made of it
_MOST_WIDE = 16  # blocks, times 16 samples
_ROWS = 1000  # samples of a piece at least, and
_PIECES = 256  # pieces at most, about: each has a matrix of K x K
_WORTH = 1 << 15  # scores; below, handing them over to a thread costs more than it saves


class SideBySide:
    """Scores (S, N, K) of S systems in blocks, sorted by the part (N,) of samples."""

    def __init__(
        self, scores: Floats, y: Codes, weights: Floats, parts_of: Codes, n_parts: int
    ) -> None:
        self.n_systems, n_rows, self.n_classes = scores.shape
        sizes = np.bincount(parts_of, minlength=n_parts)
        filled = max(1, np.count_nonzero(sizes))
        width = _width(self.n_systems * self.n_classes, max(1, -(-n_rows // filled)))
        n_blocks = -(-sizes // width)
        ends = np.cumsum(n_blocks)
        first_rows = np.repeat((ends - n_blocks) * width - np.cumsum(sizes) + sizes, sizes)
        rows = np.full(int(ends[-1]) * width, -1)
        rows[first_rows + np.arange(n_rows)] = np.argsort(parts_of, kind="stable")
        rows = rows.reshape(-1, width)
        self._x = np.empty((rows.shape[0], self.n_systems, self.n_classes, width))
        self._y = np.empty(rows.shape, y.dtype)
        self._weights = np.empty(rows.shape)
        over_blocks(_place, rows.shape[0], rows, scores, y, weights, self._x, self._y,
                    self._weights, worth_a_thread=4)  # fmt: skip
        # pieces are what threads share out
        least = max(_ROWS, 8 * self.n_classes, n_rows // _PIECES)
        n_pieces = np.maximum(sizes // least, np.minimum(n_blocks, 1))
        self._part_of_piece = np.repeat(np.arange(n_parts), n_pieces)
        self._bounds = np.concatenate(
            [np.linspace(end - n, end, m, endpoint=False)
             for end, n, m in zip(ends, n_blocks, n_pieces, strict=True)] + [ends[-1:]]
        ).astype(np.int64)  # fmt: skip
        of_piece = max(1, self._x.size // max(1, self._part_of_piece.size))
        self._worth_a_thread = 1 + _WORTH // of_piece
        n_parameters = self.n_systems + self.n_classes
        self._slopes = np.empty((self._part_of_piece.size, 1 + self.n_systems, n_parameters))
        self._spreads = np.empty((0, 0, 0))  # room for matrices of K x K, made where asked for

    def sum_fit(
        self, point: Floats, curved: bool, parts: Flags, factors: Floats, by_bias: bool = True
    ) -> tuple[Floats, Floats | None]:
        """Gradient and curvature of the log loss of softmax(point[:S] @ scores + point[S:]).

        Returns (gradient (S + K,), Hessian (S + K, S + K)) over the samples of `parts`, an array of
        bool, with weights times `factors` (K,); the Hessian is None unless `curved`. Without
        `by_bias` both are by the scales alone, (S,) and (S, S), in a time that grows with K only.
        """
        with_spreads = curved and by_bias
        if with_spreads and not self._spreads.size:
            n_filled = -(-self.n_classes // 4) * 4
            self._spreads = np.empty((self._part_of_piece.size, n_filled, n_filled))
        pieces = np.flatnonzero(parts[self._part_of_piece])
        over_blocks(
            _sum_fit, pieces.size, pieces, self._bounds, self._x, self._y, self._weights,
            factors, point, with_spreads, self._slopes, self._spreads,
            worth_a_thread=self._worth_a_thread,
        )  # fmt: skip
        n_parameters = self.n_systems + (self.n_classes if by_bias else 0)
        gradient, *curvatures = self._slopes[pieces, :, :n_parameters].sum(axis=0)
        if not curved:
            return gradient, None
        systems, classes = slice(self.n_systems), slice(self.n_systems, n_parameters)
        upper = np.zeros((n_parameters, n_parameters))
        upper[systems] = curvatures  # of pairs of systems it has the lower half
        upper[systems, systems] = upper[systems, systems].T
        for piece in pieces if by_bias else ():
            upper[classes, classes] += self._spreads[piece, : self.n_classes, : self.n_classes]
        upper = np.triu(upper)
        return gradient, upper + np.triu(upper, 1).T


def _width(n_scores, part_size):
    """Return the samples of a block: 16 m + 8, so that classes share no cache lines."""
    most = 16 * min(_MOST_WIDE, max(1, _SCORES // (16 * n_scores))) + 8
    even = -(-part_size // -(-part_size // most))  # as few as will do
    return min(most, 16 * -(-max(0, even - 8) // 16) + 8)


@kernel
def _place(first, last, rows, scores, y, weights, x, labels, filled):
    for block in range(first, last):
        rows_of_block = rows[block]
        for system in range(scores.shape[0]):
            given, placed = scores[system], x[block, system]
            for begin in range(0, given.shape[1], 8):  # few lines of the cache at a time
                end = min(begin + 8, given.shape[1])
                for s in range(rows_of_block.size):
                    for k in range(begin, end):
                        placed[k, s] = given[rows_of_block[s], k] if rows_of_block[s] >= 0 else 0.0
        for s in range(rows_of_block.size):
            labels[block, s] = y[rows_of_block[s]] if rows_of_block[s] >= 0 else 0
            filled[block, s] = 0.0
            if rows_of_block[s] >= 0:
                filled[block, s] = weights[rows_of_block[s]] if weights.size else 1.0


@kernel
def _exponentials(x, scales, shift, top, q):
    """Write exp(scales @ x + shift) over the largest of each sample."""
    for s in range(top.size):
        top[s] = -math.inf
    for k in range(x.shape[1]):
        scores, values, offset, scale = x[0, k], q[k], shift[k], scales[0]
        for s in range(top.size):
            values[s] = scale * scores[s] + offset
        for system in range(1, x.shape[0]):
            others, scale = x[system, k], scales[system]
            for s in range(top.size):
                values[s] += scale * others[s]
        for s in range(top.size):
            top[s] = values[s] if values[s] > top[s] else top[s]
    for k in range(x.shape[1]):
        values = q[k]
        for s in range(top.size):
            values[s] = exp_of_nonpositive(values[s] - top[s])


@kernel
def _normalize(x, q, norm, means):
    """Let q of each sample sum to 1, and write its mean scores (S, width)."""
    for s in range(norm.size):
        norm[s] = 0.0
        for system in range(x.shape[0]):
            means[system, s] = 0.0
    for k in range(x.shape[1]):
        values = q[k]
        for s in range(norm.size):
            norm[s] += values[s]
        for system in range(x.shape[0]):
            scores, mean = x[system, k], means[system]
            for s in range(norm.size):
                mean[s] += values[s] * scores[s]
    for s in range(norm.size):
        norm[s] = 1.0 / norm[s]
    for system in range(x.shape[0]):
        mean = means[system]
        for s in range(norm.size):
            mean[s] *= norm[s]
    for k in range(x.shape[1]):
        values = q[k]
        for s in range(norm.size):
            values[s] *= norm[s]


@summing
def _moments(x, mean, weighted):
    """Return the sums of the weights, and of their products with x less its mean, twice."""
    mass = cross = variance = 0.0
    for s in range(mean.size):
        centered = x[s] - mean[s]
        share = weighted[s] * centered
        mass += weighted[s]
        cross += share
        variance += share * centered
    return mass, cross, variance


@summing
def _covariance(x, mean, other, other_mean, weighted):
    """Return the sum of the products of weights, and x and others less their means."""
    covariance = 0.0
    for s in range(mean.size):
        covariance += weighted[s] * (x[s] - mean[s]) * (other[s] - other_mean[s])
    return covariance


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
def _sum_fit(first, last, pieces, bounds, x, y, weights, factors, point, curved, slopes, spreads):
    n_systems, n_classes, width = x.shape[1], x.shape[2], x.shape[3]
    q = np.zeros((-(-n_classes // 4) * 4, width))  # classes filled up to a multiple of 4
    weighted = np.zeros(q.shape)
    w, top, norm = np.empty(width), np.empty(width), np.empty(width)
    means = np.empty((n_systems, width))
    for place in range(first, last):
        piece = pieces[place]
        slope, curvatures = slopes[piece, 0], slopes[piece, 1:]
        spread = spreads[piece] if curved else q
        slopes[piece] = 0.0
        if curved:
            spread[:] = 0.0
        for block in range(bounds[piece], bounds[piece + 1]):
            scores = x[block]
            _exponentials(scores, point[:n_systems], point[n_systems:], top, q)
            _normalize(scores, q, norm, means)
            for s in range(width):
                true = np.int64(y[block, s])
                w[s] = weights[block, s] * factors[true]
                for system in range(n_systems):
                    slope[system] += w[s] * (means[system, s] - scores[system, true, s])
                slope[n_systems + true] -= w[s]
            for k in range(n_classes):
                values, shares = q[k], weighted[k]
                for s in range(width):
                    shares[s] = w[s] * values[s]
                for system in range(n_systems):
                    row, mean = scores[system, k], means[system]
                    mass, cross, variance = _moments(row, mean, shares)
                    curvatures[system, n_systems + k] += cross
                    curvatures[system, system] += variance
                    for other in range(system):
                        curvatures[system, other] += _covariance(
                            row, mean, scores[other, k], means[other], shares
                        )
                slope[n_systems + k] += mass
                if curved:
                    spread[k, k] += mass
            if curved:
                for k in range(0, n_classes, 4):
                    for j in range(k, n_classes, 4):
                        _subtract_products(q, weighted, k, j, spread)
