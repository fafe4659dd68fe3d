"""Inductive Venn-Abers fits: isotonic fits with one sample added, at all places at once."""

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.grid import bucket_of
from fastpsr.kernels.types import Codes, Floats

__all__ = ["InductiveFits", "isotonic_with_one_more", "merge_classes", "order_by_score"]

_PER_BUCKET = 4
_SHORT = 48  # scores of a bucket that are ordered by insertion
_MOST_LONG = 256  # longer buckets, each ordered by NumPy; of more NumPy orders all scores


def merge_classes(
    negatives: Floats, weights_0: Floats, positives: Floats, weights_1: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores of two classes, ascending, and what each class weighs there.

    Parameters
    ----------
    negatives, positives : ndarray
        Scores of each class, ascending.
    weights_0, weights_1 : ndarray
        Their weights, or empty for ones.

    Returns
    -------
    triple of ndarray, shape (m,)
    """
    out = np.zeros((3, negatives.size + positives.size))
    size = _merge_classes(negatives, weights_0, positives, weights_1, out)
    return out[0, :size].copy(), out[1, :size].copy(), out[2, :size].copy()


def isotonic_with_one_more(negatives: Floats, positives: Floats) -> Floats:
    """Return (m,): the isotonic posterior in each cell if a sample of class 1 were added to it.

    It is the largest, over cells that start at or below it, of the least mean over cells that end
    at or above it (Vovk, Petej and Fedorova, 2015, Algorithms 1 and 2). Cells may be empty. The
    cost is O(m).
    """
    out = np.empty(negatives.size)
    corners = np.empty((2, negatives.size + 2))
    _isotonic_with_one_more(negatives, positives, corners, out)
    return out


def order_by_score(
    scores: Floats, codes: NDArray[np.uint16]
) -> tuple[Floats, NDArray[np.uint16], NDArray[np.int64]]:
    """Return scores and their codes in ascending order, and where each distinct score begins.

    The last (m + 1,) ends with the number of scores. Codes of equal scores are in any order.
    """
    ordered, of_ordered = _in_buckets(scores, codes)
    begins = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return ordered, of_ordered, np.concatenate([[0], begins, [ordered.size]])


def _in_buckets(scores: Floats, codes: NDArray[np.uint16]) -> tuple[Floats, NDArray[np.uint16]]:
    """Return scores in ascending order with their codes; faster than NumPy where they spread."""
    finite = scores[np.isfinite(scores)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    n_buckets = max(1, scores.size // _PER_BUCKET)
    span = high - low
    long = np.empty(_MOST_LONG, np.int64)
    if 0.0 < span < np.inf and n_buckets / span < np.inf:
        begins = np.zeros(n_buckets + 1, np.int64)
        ordered, of_ordered = np.empty(scores.size), np.empty_like(codes)
        n_long = _order_by_buckets(
            scores, codes, low, n_buckets / span, begins, ordered, of_ordered, long
        )
        if n_long <= _MOST_LONG:
            for bucket in long[:n_long]:
                rows = slice(begins[bucket], begins[bucket + 1])
                order = np.argsort(ordered[rows])
                ordered[rows], of_ordered[rows] = ordered[rows][order], of_ordered[rows][order]
            return ordered, of_ordered
    order = np.argsort(scores)
    return scores[order], codes[order]


class InductiveFits:
    """Isotonic fits with one sample added, to some of the samples in one order."""

    def __init__(self, codes: NDArray[np.uint16], begins: NDArray[np.int64]) -> None:
        self._codes, self._begins = codes, begins
        n_cells = begins.size - 1
        self._weights = np.empty((4, n_cells))
        self._corners = np.empty((2, n_cells + 2))
        self._levels = np.empty((2, n_cells))

    def levels(self, classes: Codes) -> tuple[Floats, Floats]:
        """Return p1 and 1 - p0 at each distinct score, views that the next call overwrites.

        `classes` (codes,) are 0 or 1 for samples of these codes, and 2 for those that do not train.
        """
        weights, (upper, lower) = self._weights, self._levels
        _weigh_cells(self._codes, self._begins, classes, weights)
        _isotonic_with_one_more(weights[0], weights[1], self._corners, upper)
        # with classes and order reversed, p0 is 1 - p1
        _isotonic_with_one_more(weights[3], weights[2], self._corners, lower)
        return upper, lower[::-1]


@kernel
def _order_by_buckets(scores, codes, low, per_unit, begins, ordered, of_ordered, long):
    """Write scores and codes by bucket, short buckets in order; return how many others there are.

    Buckets of one score alone are in order. `begins` becomes where each bucket begins, and the end.
    """
    limit = begins.size - 2.0
    for i in range(scores.size):
        begins[np.uint32(bucket_of(scores[i], low, per_unit, limit))] += 1
    before = 0
    for bucket in range(begins.size):
        n_here = begins[bucket]
        begins[bucket] = before
        before += n_here
    for i in range(scores.size):
        bucket = np.uint32(bucket_of(scores[i], low, per_unit, limit))
        place = begins[bucket]
        ordered[place] = scores[i]
        of_ordered[place] = codes[i]
        begins[bucket] = place + 1
    for bucket in range(begins.size - 1, 0, -1):
        begins[bucket] = begins[bucket - 1]
    begins[0] = 0
    n_long = 0
    for bucket in range(begins.size - 1):
        first, last = begins[bucket], begins[bucket + 1]
        if last - first > _SHORT:
            are_alike = True
            for i in range(first + 1, last):
                are_alike &= ordered[i] == ordered[first]
            if not are_alike:
                if n_long < long.size:
                    long[n_long] = bucket
                n_long += 1
            continue
        for i in range(first + 1, last):
            score, code = ordered[i], of_ordered[i]
            j = i
            while j > first and ordered[j - 1] > score:
                ordered[j] = ordered[j - 1]
                of_ordered[j] = of_ordered[j - 1]
                j -= 1
            ordered[j] = score
            of_ordered[j] = code
    return n_long


@kernel
def _weigh_cells(codes, begins, classes, weights):
    """Write the training samples of each class in each cell, and the same from right to left."""
    n = begins.size - 1
    for cell in range(n):
        n_negative = n_positive = 0.0
        for i in range(begins[cell], begins[cell + 1]):
            of_code = classes[codes[i]]
            n_negative += of_code == 0
            n_positive += of_code == 1
        weights[0, cell] = weights[2, n - 1 - cell] = n_negative
        weights[1, cell] = weights[3, n - 1 - cell] = n_positive


@kernel
def _merge_classes(negatives, weights_0, positives, weights_1, out):
    i = j = 0
    size = -1
    while i < negatives.size or j < positives.size:
        takes_0 = j == positives.size or (i < negatives.size and negatives[i] <= positives[j])
        score = negatives[i] if takes_0 else positives[j]
        if size < 0 or score != out[0, size]:
            size += 1
            out[0, size] = score
        if takes_0:
            out[1, size] += weights_0[i] if weights_0.size else 1.0
            i += 1
        else:
            out[2, size] += weights_1[j] if weights_1.size else 1.0
            j += 1
    return size + 1


@kernel
def _isotonic_with_one_more(negatives, positives, corners, out):
    # points of the cumulative sums (weight, weight of class 1); those before the cell to which the
    # sample is added lie 1 lower and 1 to the left, and the slope of the convex minorant at the gap
    # is the answer; corners of the minorant are a stack from right to left, its leftmost beside it
    n = negatives.size
    x = y = 0.0
    for i in range(n):
        x += negatives[i] + positives[i]
        y += positives[i]
    xs, ys = corners
    size = 0
    left, low = x, y
    for i in range(n - 1, -2, -1):
        if i >= 0:
            x -= negatives[i] + positives[i]
            y -= positives[i]
        else:
            x, y = -1.0, -1.0
        if size > 0 and y == low and ys[size - 1] == low:  # on in a run of class 0
            left = x
            continue
        while size > 0 and (low - y) * (xs[size - 1] - x) >= (ys[size - 1] - y) * (left - x):
            size -= 1
            left, low = xs[size], ys[size]
        xs[size], ys[size] = left, low
        size += 1
        left, low = x, y
    # the point before cell i, moved: what was left of a corner moves along with it
    size -= 1
    right, high = xs[size], ys[size]
    slope = (high - low) / (right - left)
    x, y = -1.0, -1.0
    for i in range(n):
        out[i] = slope
        x += negatives[i] + positives[i]
        y += positives[i]
        if (y - low) * (right - left) >= (high - low) * (x - left):
            continue
        while size > 0 and (high - y) * (xs[size - 1] - x) >= (ys[size - 1] - y) * (right - x):
            size -= 1
            right, high = xs[size], ys[size]
        left, low = x, y
        slope = (high - low) / (right - left)
