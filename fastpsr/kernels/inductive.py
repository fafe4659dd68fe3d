"""Inductive Venn-Abers fits: isotonic fits with one sample added, at all places at once."""

import numpy as np

from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.types import Floats

__all__ = ["isotonic_with_one_more", "merge_classes"]


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
    # is the answer; corners of the minorant are a stack, of which the last is the leftmost
    n = negatives.size
    x = y = 0.0
    for i in range(n):
        x += negatives[i] + positives[i]
        y += positives[i]
    xs, ys = corners
    top = 0
    xs[0], ys[0] = x, y
    for i in range(n - 1, -2, -1):
        if i >= 0:
            x -= negatives[i] + positives[i]
            y -= positives[i]
        else:
            x, y = -1.0, -1.0
        while top > 0 and ((ys[top] - y) * (xs[top - 1] - x) >= (ys[top - 1] - y) * (xs[top] - x)):
            top -= 1
        top += 1
        xs[top], ys[top] = x, y
    # the point before cell i, moved: what was left of a corner moves along with it
    x, y = -1.0, -1.0
    for i in range(n):
        rise, run = ys[top - 1] - ys[top], xs[top - 1] - xs[top]
        out[i] = rise / run
        x += negatives[i] + positives[i]
        y += positives[i]
        if (y - ys[top]) * run >= rise * (x - xs[top]):
            continue
        top -= 1
        while top > 0 and ((ys[top] - y) * (xs[top - 1] - x) >= (ys[top - 1] - y) * (xs[top] - x)):
            top -= 1
        top += 1
        xs[top], ys[top] = x, y
