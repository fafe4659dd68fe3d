"""Scores in ascending order."""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks, together
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.grid import bucket_of
from fastpsr.kernels.sizes import index_type
from fastpsr.kernels.types import Codes, Counts, Floats

__all__ = ["order_by_score", "sort_in_place"]

_SHORT = 48  # scores of a bucket that are ordered by insertion
_FEW = 1 << 14  # scores, which NumPy sorts as fast; more are sorted at the same time
_MOST_LONG = 256  # longer buckets, each ordered by NumPy; of more NumPy orders all scores


def order_by_score(scores: Floats) -> tuple[Floats, Codes, Counts]:
    """Return scores in ascending order, their rows, and where each distinct score begins.

    The last (m + 1,) ends with the number of scores. Rows of equal scores are in any order.
    """
    ordered, rows = _in_buckets(scores)
    begins = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return ordered, rows, np.concatenate([[0], begins, [ordered.size]])


def sort_in_place(*arrays: Floats) -> None:
    """Sort contiguous arrays of float64 without nan."""
    few = min(array.size for array in arrays) < _FEW
    if few or len(arrays) == 1:
        for array in arrays:
            _sort(array)
    else:
        together(*(lambda array=array: _sort(array) for array in arrays))


def _sort(array: Floats) -> None:
    if array.size < _FEW:
        array.sort()
    else:
        _sort_by_digits(array.view(np.uint64), np.empty(array.size, np.uint64))


def _in_buckets(scores: Floats) -> tuple[Floats, Codes]:
    """Return scores in ascending order and their rows; faster than NumPy where they spread."""
    low, high = float(scores.min()), float(scores.max())
    if not np.isfinite(high - low):
        finite = scores[np.isfinite(scores)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    n_buckets = scores.size
    span = high - low
    if 0.0 < span < np.inf and n_buckets / span < np.inf:
        index = index_type(scores.size)
        begins, rows = np.zeros(n_buckets + 1, index), np.empty(scores.size, index)
        ordered = np.empty(scores.size)
        _put_into_buckets(scores, low, n_buckets / span, begins, ordered, rows)
        over_blocks(_order_in_short, count_blocks(n_buckets), begins, ordered, rows)
        long = np.flatnonzero(np.diff(begins) > _SHORT)
        long = long[_hold_several(ordered, begins[long], begins[long + 1])]
        if long.size <= _MOST_LONG:
            for bucket in long:
                here = slice(begins[bucket], begins[bucket + 1])
                order = np.argsort(ordered[here])
                ordered[here], rows[here] = ordered[here][order], rows[here][order]
            return ordered, rows
    order = np.argsort(scores)
    return scores[order], order


@kernel
def _sort_by_digits(bits, spare):
    """Sort the bits of floats digit by digit, of which there are 8 of 8 bits, from the last on."""
    sign = np.uint64(1) << np.uint64(63)
    digit = np.uint64(0xFF)
    counts = np.zeros((8, 256), np.int64)
    for i in range(bits.size):
        key = bits[i] ^ (sign if bits[i] < sign else ~np.uint64(0))  # in the order of the floats
        bits[i] = key
        for k in range(8):
            counts[k, (key >> np.uint64(8 * k)) & digit] += 1
    here, there = bits, spare
    for k in range(8):
        shift = np.uint64(8 * k)
        next_place = counts[k]
        if next_place[(here[0] >> shift) & digit] == bits.size:  # all alike
            continue
        before = 0
        for value in range(256):
            n_here = next_place[value]
            next_place[value] = before
            before += n_here
        for i in range(bits.size):
            key = here[i]
            value = (key >> shift) & digit
            there[next_place[value]] = key
            next_place[value] += 1
        here, there = there, here
    for i in range(bits.size):
        key = here[i]
        bits[i] = key ^ (sign if key >= sign else ~np.uint64(0))


@kernel
def _put_into_buckets(scores, low, per_unit, begins, ordered, rows):
    """Write scores and rows by bucket; `begins` becomes where each bucket begins, and the end."""
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
        rows[place] = i
        begins[bucket] = place + 1
    for bucket in range(begins.size - 1, 0, -1):
        begins[bucket] = begins[bucket - 1]
    begins[0] = 0


@kernel
def _order_in_short(first_block, last_block, begins, ordered, rows):
    for bucket in range(first_block * BLOCK, min(last_block * BLOCK, begins.size - 1)):
        first, last = begins[bucket], begins[bucket + 1]
        if last - first > _SHORT:
            continue
        for i in range(first + 1, last):
            score, row = ordered[i], rows[i]
            j = i
            while j > first and ordered[j - 1] > score:
                ordered[j] = ordered[j - 1]
                rows[j] = rows[j - 1]
                j -= 1
            ordered[j] = score
            rows[j] = row


@kernel
def _hold_several(ordered, first, last):
    several = np.zeros(first.size, np.bool_)
    for k in range(first.size):
        for i in range(first[k] + 1, last[k]):
            several[k] |= ordered[i] != ordered[first[k]]
    return several
