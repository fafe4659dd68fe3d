"""The isotonic fit of unweighted scores without sorting most of them.

Scores are counted in buckets of equal width. The fit is the greatest convex minorant of the path
that steps right for a sample of class 0 and up for one of class 1, from low scores to high. Within
a bucket no path falls below the corner that takes all of class 0 first; where that corner lies
above the minorant of the buckets, no block begins inside. Only the other buckets are sorted.

Where too many scores lie in these, they are divided further: by the bits of the scores, which sort
in the order of the floats. So a grid is a tree. A *place* is a bucket of the grid or of
a divided bucket (a *node*); ``node_of_place`` is -1 for places that are not divided. Of each node
``nodes`` hold the first place, the key of the lowest float, and how far keys are shifted.
"""

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import (
    BLOCK,
    count_blocks,
    cut,
    over_blocks,
    over_parts,
    thread_count,
    writable,
)
from fastpsr.kernels.cells import bucket_numbers, bucket_of, split_by_class
from fastpsr.kernels.compiler import float_to_bits, inlined, kernel
from fastpsr.kernels.reductions import (
    add_to_exact,
    sum_exactly_by_group,
    two_sum,
    two_sum_inlined,
)
from fastpsr.kernels.types import BucketTree, Codes, Counts, Flags, Floats

_AT_ONCE = 1 << 20  # rows whose places are held
_MARGIN = 1.0 + 1e-12  # of a corner above the minorant: products of large counts are rounded


def count_into_buckets(
    scores: Floats, y: Codes, low: float, per_unit: float, n_buckets: int
) -> Codes:
    """Return (parts, n_buckets, 2) counts of both classes, for parts of the rows in turn."""
    n_parts = int(max(1, min(thread_count(), scores.size // (4 * n_buckets))))
    narrow = np.uint32 if scores.size < 1 << 32 else np.int64  # so that more stays in the cache
    counts = np.zeros((n_parts, n_buckets, 2), narrow)
    over_parts(_count, cut(scores.size, n_parts), scores, y, low, per_unit, counts)
    return counts


def add_to_buckets(scores: Floats, y: Codes, low: float, per_unit: float, counts: Counts) -> None:
    """Add the counts of both classes to `counts`, (n_buckets, 2) of int64."""
    over_parts(_count, cut(scores.size, 1), scores, y, low, per_unit, counts[None])


def first_keys(buckets: Codes, low: float, per_unit: float, n_buckets: int) -> Counts:
    """Return the key of the lowest float in each bucket of a grid, and behind the last of all."""
    first = np.full(buckets.size, key_of(-np.inf))
    behind = np.full(buckets.size, key_of(np.inf) + 1)
    while (is_open := first < behind).any():  # bisects all at once
        middle = (first >> 1) + (behind >> 1) + (first & behind & 1)
        values = _in_order_of_bits(middle).view(np.float64)
        reaches = bucket_numbers(values, low, per_unit, n_buckets) >= buckets
        behind = np.where(is_open & reaches, middle, behind)
        first = np.where(is_open & ~reaches, middle + 1, first)
    return first


def key_of(values: Floats | float) -> Counts:
    """Return integers in the order of floats."""
    return _in_order_of_bits((np.asarray(values, np.float64) + 0.0).view(np.int64))  # zeros are one


def _in_order_of_bits(integers):
    """Return the keys of the bits of floats, or the bits of keys: either undoes the other."""
    return np.where(integers < 0, integers ^ np.int64(np.iinfo(np.int64).max), integers)


def count_into_places(
    values: Floats,
    y: Codes,
    weights: Floats,
    grid: BucketTree,
    first_place: int,
    counts: Codes,
    extremes: Floats,
    sums: Floats,
) -> None:
    """Add values to the places of the last nodes, from `first_place` on.

    `grid` is (low, per_unit, n_buckets, node_of_place, nodes). `counts` and `extremes` are (n, 2);
    `sums` (n, 2) hold weights and what rounding left over of them, if there are weights. Each
    thread finds the places of some rows, and adds to some of the places.
    """
    y, weights = writable(y), writable(weights)
    rows, places = np.empty((2, min(values.size, _AT_ONCE)), np.int32)
    n_found = np.empty(count_blocks(rows.size), np.int64)
    for start in range(0, values.size, _AT_ONCE):
        chunk = slice(start, start + _AT_ONCE)
        some = writable(values[chunk])
        n_blocks = count_blocks(some.size)
        over_blocks(_find_places, n_blocks, some, *grid, first_place, rows, places, n_found)
        marked = rows, places, n_found[:n_blocks]
        targets = some, y[chunk], weights[chunk], counts, extremes, sums
        n_shares = min(thread_count(), some.size // BLOCK + 1)
        over_blocks(_add_to_places, n_shares, n_shares, *marked, *targets, worth_a_thread=1)


def marks_of_places(node_of_place: Codes, picked: Flags) -> NDArray[np.int32]:
    """Return (P,) `node_of_place` with -2 where a place is picked."""
    return np.where(picked, -2, node_of_place if node_of_place.size else -1).astype(np.int32)


def mark_in_places(values: Floats, grid: BucketTree, marked: Codes) -> Flags:
    """Return whether each value lies in a place that is `marked`."""
    low, per_unit, n_buckets, _, nodes = grid
    out = np.empty(values.size, np.bool_)
    n_blocks = count_blocks(values.size)
    over_blocks(_mark_in_places, n_blocks, values, low, per_unit, n_buckets, nodes, marked, out)
    return out


def pick_from_places(
    values: Floats, y: Codes, grid: BucketTree, marked: Codes
) -> tuple[Floats, Floats]:
    """Return the values of class 0 and of class 1 in places that are `marked`, in no order."""
    rows = np.flatnonzero(mark_in_places(values, grid, marked))
    return split_by_class(np.asarray(values[rows], np.float64), y[rows])


def weigh_buckets(
    values: Floats, weights: Floats, low: float, per_unit: float, sums: Floats
) -> None:
    """Add weights to `sums` (n_buckets, 2), and rounding errors to their sums."""
    buckets = bucket_numbers(values, low, per_unit, sums.shape[0])
    add_to_exact(sums, sum_exactly_by_group(weights, buckets, sums.shape[0]))


def cumulate_exactly(sums: Floats) -> Floats:
    """Return the cumulated (n, 2) sums with their rounding errors, rounded once."""
    total = np.cumsum(sums[:, 0])
    before = np.zeros(total.size)
    before[1:] = total[:-1]
    _, left = two_sum(before, sums[:, 0])
    return total + np.cumsum(left + sums[:, 1])


def find_undecided(counts: Codes) -> Flags:
    """Return (n_buckets,) flags: where a block of the fit may begin inside a bucket, or with it."""
    undecided = np.zeros(counts.shape[0], np.bool_)
    _find_undecided(counts, undecided)
    return undecided


def pick_from_buckets(
    scores: Floats, y: Codes, low: float, per_unit: float, counts: Codes, picked: Flags
) -> tuple[Floats, Floats]:
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


def pool_buckets(
    counts: Codes, undecided: Flags, known: Floats, negatives: Floats, positives: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return (lowest, negatives, positives) of each block of the isotonic fit.

    `counts` (n_buckets, 2) are those of all rows; `negatives` and `positives` the scores in
    undecided buckets, sorted. `known` is the lowest score of undecided buckets that no block
    divides and whose scores are not needed; nan for others. It may be empty.
    """
    most = min(counts.shape[0] + negatives.size + positives.size, int(counts.sum()))
    blocks = np.empty((3, most))
    n_blocks = _pool_buckets(counts, undecided, known, negatives, positives, *blocks)
    return tuple(values[:n_blocks].copy() for values in blocks)


@kernel
def _count(first, last, bounds, scores, y, low, per_unit, counts):
    limit = counts.shape[1] - 1.0
    buckets = np.empty(BLOCK, np.int32)
    for part in range(first, last):
        count = counts[part]
        for block in range(bounds[part], bounds[part + 1]):
            of_block = scores[block * BLOCK : (block + 1) * BLOCK]
            classes = y[block * BLOCK : (block + 1) * BLOCK]
            for i in range(of_block.size):  # a loop of its own, so that it vectorizes
                buckets[i] = bucket_of(of_block[i], low, per_unit, limit)
            for i in range(of_block.size):
                count[np.uint32(buckets[i]), classes[i]] += 1


@kernel
def _pick(first, last, bounds, scores, y, low, per_unit, picked, begins, negatives, positives):
    limit = picked.size - 1.0
    rows = np.empty(BLOCK, np.int32)
    for part in range(first, last):
        n_negative = begins[part, 0]
        n_positive = begins[part, 1]
        for block in range(bounds[part], bounds[part + 1]):
            of_block = scores[block * BLOCK : (block + 1) * BLOCK]
            classes = y[block * BLOCK : (block + 1) * BLOCK]
            for i in range(of_block.size):
                rows[i] = bucket_of(of_block[i], low, per_unit, limit)
            n_picked = 0
            for i in range(of_block.size):  # no branch: which are picked cannot be foretold
                is_picked = picked[np.uint32(rows[i])]
                rows[n_picked] = i
                n_picked += is_picked
            for place in range(n_picked):
                i = rows[place]
                if classes[i]:
                    positives[n_positive] = of_block[i]
                    n_positive += 1
                else:
                    negatives[n_negative] = of_block[i]
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
def _pool_buckets(counts, undecided, known, negatives, positives, lowest, below, above):
    n_blocks = 0
    next_negative = 0
    next_positive = 0
    for bucket in range(counts.shape[0]):
        n_left = np.int64(counts[bucket, 0])
        p_left = np.int64(counts[bucket, 1])
        is_known = known.size > 0 and known[bucket] == known[bucket]
        while n_left + p_left > 0:
            if undecided[bucket] and is_known:  # all of it, as one value
                n_taken = n_left
                p_taken = p_left
                start = known[bucket]
            elif undecided[bucket]:  # the next score, with all its ties
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


@inlined
def _key(value):
    bits = float_to_bits(value + 0.0)  # zeros are one
    return bits ^ np.int64(0x7FFFFFFFFFFFFFFF) if bits < 0 else bits


@inlined
def _child(value, nodes, node):
    offset = np.uint64(_key(value)) - np.uint64(nodes[node, 1])  # may exceed int64
    return nodes[node, 0] + np.int64(offset >> np.uint64(nodes[node, 2]))


@kernel
def _find_places(
    first, last, values, low, per_unit, n_buckets, node_of_place, nodes, first_place, rows, places,
    n_found,
):  # fmt: skip
    limit = n_buckets - 1.0
    node_of_row = np.empty(BLOCK, np.int32)
    for block in range(first, last):
        start = block * BLOCK
        size = min(BLOCK, values.size - start)
        for i in range(size):  # a loop of its own, so that reads need not wait for one another
            place = np.int64(bucket_of(values[start + i], low, per_unit, limit))
            node_of_row[i] = node_of_place[place]
        n = 0
        for i in range(size):
            node = node_of_row[i]
            place = np.int64(-1)
            while node >= 0:
                place = _child(values[start + i], nodes, node)
                node = node_of_place[place] if place < first_place else np.int32(-1)
            rows[start + n] = start + i
            places[start + n] = place - first_place
            n += place >= first_place
        n_found[block] = n


@kernel
def _add_to_places(
    first, last, n_shares, rows, places, n_found, values, y, weights, counts, extremes, sums
):
    for share in range(first, last):
        begin = share * counts.shape[0] // n_shares
        end = (share + 1) * counts.shape[0] // n_shares
        own_rows, own_places = np.empty((2, BLOCK), np.int32)
        for block in range(n_found.size):
            n = 0
            for k in range(block * BLOCK, block * BLOCK + n_found[block]):  # without a branch
                own_rows[n], own_places[n] = rows[k], places[k]
                n += (places[k] >= begin) & (places[k] < end)
            for k in range(n):
                i, place = own_rows[k], own_places[k]
                value = values[i]
                counts[place, y[i]] += 1
                if value < extremes[place, 0]:
                    extremes[place, 0] = value
                if value > extremes[place, 1]:
                    extremes[place, 1] = value
                if weights.size:
                    sums[place, 0], left = two_sum_inlined(sums[place, 0], weights[i])
                    sums[place, 1] += left


@kernel
def _mark_in_places(first, last, values, low, per_unit, n_buckets, nodes, marked, out):
    marks = np.empty(BLOCK, np.int32)
    for block in range(first, last):
        of_block = values[block * BLOCK : (block + 1) * BLOCK]
        for i in range(of_block.size):  # a loop of its own: reads need not wait for one another
            marks[i] = marked[np.int64(bucket_of(of_block[i], low, per_unit, n_buckets - 1.0))]
        for i in range(of_block.size):
            mark = marks[i]
            while mark >= 0:
                mark = marked[_child(of_block[i], nodes, mark)]
            out[block * BLOCK + i] = mark == -2
