"""The isotonic fit of unweighted scores without sorting most of them.

Scores are counted in buckets of equal width. The fit is the greatest convex minorant of the path
that steps right for a sample of class 0 and up for one of class 1, from low scores to high. Within
a bucket no path falls below the corner that takes all of class 0 first; where that corner lies
above the minorant of the buckets, no block begins inside. Only the other buckets are sorted.
"""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, cut, over_parts, thread_count
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.grid import bucket_of

_MARGIN = 1.0 + 1e-12  # of a corner above the minorant: products of large counts are rounded


def count_into_buckets(scores, y, low, per_unit, n_buckets):
    """Return (parts, n_buckets, 2) counts of both classes, for parts of the rows in turn."""
    n_parts = int(max(1, min(thread_count(), scores.size // (4 * n_buckets))))
    counts = np.zeros((n_parts, n_buckets, 2), np.uint32)
    over_parts(_count, cut(scores.size, n_parts), scores, y, low, per_unit, counts)
    return counts


def find_undecided(counts):
    """Return (n_buckets,) flags: where a block of the fit may begin inside a bucket, or with it."""
    undecided = np.zeros(counts.shape[0], np.bool_)
    _find_undecided(counts, undecided)
    return undecided


def pick_from_buckets(scores, y, low, per_unit, counts, picked):
    """Return the scores of class 0 and of class 1 in the `picked` buckets, in no order.

    `counts` are those of :func:`count_into_buckets`.
    """
    n_parts = counts.shape[0]
    sizes = np.stack([part[picked].sum(axis=0, dtype=np.int64) for part in counts])
    ends = sizes.cumsum(axis=0)
    negatives, positives = (np.empty(size) for size in ends[-1])
    bounds = cut(scores.size, n_parts)
    begins = ends - sizes
    over_parts(_pick, bounds, scores, y, low, per_unit, picked, begins, negatives, positives)
    return negatives, positives


def pool_buckets(counts, undecided, negatives, positives):
    """Return (lowest, negatives, positives) of each block of the isotonic fit.

    `counts` (n_buckets, 2) are those of all rows; `negatives` and `positives` the scores in
    undecided buckets, sorted.
    """
    most = min(counts.shape[0] + negatives.size + positives.size, int(counts.sum()))
    blocks = np.empty((3, most))
    n_blocks = _pool_buckets(counts, undecided, negatives, positives, *blocks)
    return tuple(values[:n_blocks].copy() for values in blocks)


@kernel
def _count(first, last, bounds, scores, y, low, per_unit, counts):
    limit = counts.shape[1] - 1.0
    buckets = np.empty(BLOCK, np.int32)
    for part in range(first, last):
        count = counts[part]
        for block in range(bounds[part], bounds[part + 1]):
            own = scores[block * BLOCK : (block + 1) * BLOCK]
            classes = y[block * BLOCK : (block + 1) * BLOCK]
            for i in range(own.size):  # a loop of its own, so that it vectorizes
                buckets[i] = bucket_of(own[i], low, per_unit, limit)
            for i in range(own.size):
                count[np.uint32(buckets[i]), classes[i]] += np.uint32(1)


@kernel
def _pick(first, last, bounds, scores, y, low, per_unit, picked, begins, negatives, positives):
    limit = picked.size - 1.0
    rows = np.empty(BLOCK, np.int32)
    for part in range(first, last):
        n_negative = begins[part, 0]
        n_positive = begins[part, 1]
        for block in range(bounds[part], bounds[part + 1]):
            own = scores[block * BLOCK : (block + 1) * BLOCK]
            classes = y[block * BLOCK : (block + 1) * BLOCK]
            for i in range(own.size):
                rows[i] = bucket_of(own[i], low, per_unit, limit)
            n_picked = 0
            for i in range(own.size):  # no branch: which are picked cannot be foretold
                is_picked = picked[np.uint32(rows[i])]
                rows[n_picked] = i
                n_picked += is_picked
            for place in range(n_picked):
                i = rows[place]
                if classes[i]:
                    positives[n_positive] = own[i]
                    n_positive += 1
                else:
                    negatives[n_negative] = own[i]
                    n_negative += 1


@kernel
def _find_undecided(counts, undecided):
    n_buckets = counts.shape[0]
    starts = np.empty(n_buckets + 1, np.int64)
    below = np.empty(n_buckets)
    above = np.empty(n_buckets)
    n_blocks = 0
    for bucket in range(n_buckets):
        n = np.float64(counts[bucket, 0])
        p = np.float64(counts[bucket, 1])
        if n == 0.0 and p == 0.0:
            continue
        start = bucket
        while n_blocks > 0 and above[n_blocks - 1] / below[n_blocks - 1] >= p / n:
            n_blocks -= 1
            n += below[n_blocks]
            p += above[n_blocks]
            start = starts[n_blocks]
        starts[n_blocks], below[n_blocks], above[n_blocks] = start, n, p
        n_blocks += 1
    starts[n_blocks] = n_buckets
    for block in range(n_blocks):
        n = 0.0
        p = 0.0
        for bucket in range(starts[block], starts[block + 1]):
            right = np.float64(counts[bucket, 0])
            up = np.float64(counts[bucket, 1])
            corner = p * below[block] <= (n + right) * above[block] * _MARGIN
            undecided[bucket] = bucket == starts[block] or (right > 0.0 and up > 0.0 and corner)
            n += right
            p += up


@kernel
def _pool_buckets(counts, undecided, negatives, positives, lowest, below, above):
    n_blocks = 0
    next_negative = 0
    next_positive = 0
    for bucket in range(counts.shape[0]):
        n_left = np.int64(counts[bucket, 0])
        p_left = np.int64(counts[bucket, 1])
        while n_left + p_left > 0:
            if undecided[bucket]:  # the next score, with all its ties
                score = np.inf
                if n_left > 0:
                    score = negatives[next_negative]
                if p_left > 0 and positives[next_positive] < score:
                    score = positives[next_positive]
                n_taken = 0
                while n_taken < n_left and negatives[next_negative + n_taken] == score:
                    n_taken += 1
                p_taken = 0
                while p_taken < p_left and positives[next_positive + p_taken] == score:
                    p_taken += 1
                next_negative += n_taken
                next_positive += p_taken
                start = score
            else:  # no block begins here: it belongs to the one before
                n_taken = n_left
                p_taken = p_left
                n_blocks -= 1
                start = lowest[n_blocks]
            n_left -= n_taken
            p_left -= p_taken
            n = np.float64(n_taken)
            p = np.float64(p_taken)
            if not undecided[bucket]:
                n += below[n_blocks]
                p += above[n_blocks]
            while n_blocks > 0 and above[n_blocks - 1] / below[n_blocks - 1] >= p / n:
                n_blocks -= 1
                n += below[n_blocks]
                p += above[n_blocks]
                start = lowest[n_blocks]
            lowest[n_blocks], below[n_blocks], above[n_blocks] = start, n, p
            n_blocks += 1
    return n_blocks
