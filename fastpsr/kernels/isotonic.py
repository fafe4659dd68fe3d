"""Isotonic fits of weighted cells: pool adjacent violators, and fits with one sample added."""

import numpy as np

from fastpsr.kernels.compiler import inlined, kernel
from fastpsr.kernels.types import Counts, Floats


def pool_adjacent_violators(negatives: Floats, positives: Floats) -> Counts:
    """Return the first cell of each block of the isotonic fit, from low scores to high.

    Cells come in the order of their scores, with their weights of class 0 and class 1; empty cells
    join no block and start none.
    """
    starts = np.empty(negatives.size, np.int64)
    n_blocks = _pool(negatives, positives, starts)
    return starts[:n_blocks].copy()


def isotonic_with_one_more(negatives: Floats, positives: Floats) -> tuple[Floats, Floats]:
    """Return the isotonic posteriors in each cell if a sample of class 1, or 0, were added to it.

    The second is of class 0. That of class 1 is the largest, over cells that start at or below it,
    of the least mean over cells that end at or above it (Vovk, Petej and Fedorova, 2015,
    Algorithms 1 and 2). Cells may be empty. The cost is O(m).
    """
    before = np.zeros((2, negatives.size + 1))
    np.cumsum([negatives, positives], axis=1, out=before[:, 1:])
    first = np.empty(negatives.size + 1, np.int64)
    first = first[: _cut_where_both(before, first) + 1]
    corners, (upper, lower) = np.empty((2, first.size)), np.empty((2, negatives.size))
    _with_one_more(before[0], before[1], first, False, corners, upper)
    # with classes and order reversed, p0 is 1 - p1
    _with_one_more(before[1], before[0], first, True, corners, lower)
    return upper, lower


@kernel
def _pool(negatives, positives, starts):
    block_negatives = np.empty(negatives.size)
    block_positives = np.empty(negatives.size)
    n_blocks = 0
    for cell in range(negatives.size):
        below = negatives[cell]
        above = positives[cell]
        if below == 0.0 and above == 0.0:
            continue
        start = cell
        # pool while the block before has at least this one's odds, which may be infinite; equal
        # odds are equal after rounding too
        while n_blocks > 0 and (
            block_positives[n_blocks - 1] / block_negatives[n_blocks - 1] >= above / below
        ):
            n_blocks -= 1
            below += block_negatives[n_blocks]
            above += block_positives[n_blocks]
            start = starts[n_blocks]
        starts[n_blocks] = start
        block_negatives[n_blocks] = below
        block_positives[n_blocks] = above
        n_blocks += 1
    return n_blocks


@kernel
def _cut_where_both(before, first):
    """Write the first cell of blocks, and the end; return the number of blocks.

    A block has samples of one class alone, or is one cell.
    """
    n_cells = before.shape[1] - 1
    n_blocks = 0
    has_0 = has_1 = True
    for cell in range(n_cells):
        of_0 = before[0, cell + 1] > before[0, cell]
        of_1 = before[1, cell + 1] > before[1, cell]
        if (has_0 or of_0) and (has_1 or of_1):
            first[n_blocks] = cell
            n_blocks += 1
            has_0 = has_1 = False
        has_0 |= of_0
        has_1 |= of_1
    first[n_blocks] = n_cells
    return n_blocks


@kernel
def _with_one_more(misses, hits, first, backwards, corners, out):
    """Write the isotonic share of hits in each cell if a hit were added there.

    It ascends along the cells, or along these `backwards`. Misses and hits are those before cells.
    """
    # points of the cumulative sums (weight, weight of hits); those before the cell to which the
    # hit is added lie 1 lower and 1 to the left, and the slope of the convex minorant at the gap
    # is the answer; corners of the minorant are a stack from right to left, its leftmost beside it
    n_blocks = first.size - 1
    xs, ys = corners
    size = 0
    right, high = _point(first[0 if backwards else n_blocks], misses, hits, backwards)
    for number in range(n_blocks - 1, -1, -1):
        begin = first[n_blocks - number if backwards else number]
        x, y = _point(begin, misses, hits, backwards)
        right, high, size = _touch(x, y, right, high, xs, ys, size)
        xs[size], ys[size] = right, high
        size += 1
        right, high = x, y
    left = low = -1.0
    right, high, size = _touch(left, low, right, high, xs, ys, size)
    share = 0.0
    for number in range(n_blocks):
        block = n_blocks - 1 - number if backwards else number
        begin, end = first[block], first[block + 1]
        # with misses alone each cell tells, else the same holds in all cells of the block
        is_same = hits[begin] < hits[end]
        for step in range(1 if is_same else end - begin):
            cell = end - 1 - step if backwards else begin + step
            # the point before a cell, moved: what was left of a corner moves along with it
            x, y = _point(cell + 1 if backwards else cell, misses, hits, backwards)
            x, y = x - 1.0, y - 1.0
            if (y - low) * (right - left) < (high - low) * (x - left):
                right, high, size = _touch(x, y, right, high, xs, ys, size)
                left, low = x, y
            share = _share(low, high, left, right, share)
            out[cell] = share
        if is_same:
            out[begin:end] = share


@inlined
def _point(edge, misses, hits, backwards):
    """Return the weight, and the weight of hits, on this side of an edge between cells."""
    last = misses.size - 1
    of_misses = misses[last] - misses[edge] if backwards else misses[edge]
    of_hits = hits[last] - hits[edge] if backwards else hits[edge]
    return np.float64(of_misses + of_hits), np.float64(of_hits)


@inlined
def _share(low, high, left, right, last):
    """Return the slope of a line, or the last where rounding has lost all of its length."""
    return min((high - low) / (right - left), 1.0) if right > left else last


@inlined
def _touch(x, y, right, high, xs, ys, size):
    """Return the corner that a line from the left touches, and the number right of it."""
    while size > 0 and (high - y) * (xs[size - 1] - x) >= (ys[size - 1] - y) * (right - x):
        size -= 1
        right, high = xs[size], ys[size]
    return right, high, size
