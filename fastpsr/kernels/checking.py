"""Passes that find the first entry that breaks a rule, and checksums that tell arrays apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.random import STEP, mixed
from fastpsr.kernels.reductions import total
from fastpsr.kernels.types import Codes, Counts, Floats

_FACTOR = np.uint64(0x9FB21C651E98DF25)
_S29 = np.uint64(29)


def find_outside(values: Floats, low: float, high: float) -> int:
    """Return the first index where not ``low <= value <= high``, or -1; nan is outside."""
    n_outside = np.empty(count_blocks(values.size), np.int64)
    over_blocks(_count_outside, n_outside.size, values, float(low), float(high), n_outside)
    return _find_first(n_outside, values, low, high)


def are_posteriors(rows: Floats, tolerance: float) -> bool:
    """Whether all entries of (N, K) rows lie in [0, 1], and each row's sum within a tolerance of 1.

    In one pass, which does not say which entry breaks the rule.
    """
    n_rows = max(1, BLOCK // rows.shape[1])  # whose entries stay in the first-level cache
    n_blocks = -(-rows.shape[0] // n_rows)
    n_right = np.zeros(n_blocks, np.int64)
    flat = rows.reshape(-1)
    over_blocks(_count_posteriors, n_blocks, n_rows, rows, flat, float(tolerance), n_right)
    return int(n_right.sum()) == rows.size + rows.shape[0]


def compact_labels(labels: Counts, n_classes: int, codes: Codes) -> int:
    """Copy int64 labels into narrower `codes`; return the first index not in 0..K-1, or -1."""
    signs = np.empty(count_blocks(labels.size), np.int64)
    over_blocks(_compact_labels, signs.size, labels, n_classes, codes, signs)
    return _find_first(signs < 0, labels, 0, n_classes - 1)


def checksum(*arrays: NDArray[Any]) -> int:
    """Return 64 bits that change with any value of the arrays, and with their order."""
    total = 0
    for array in arrays:
        bytes_ = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        n_words = bytes_.size // 8
        of_blocks = np.empty(count_blocks(n_words), np.uint64)
        words = bytes_[: 8 * n_words].view(np.uint64)
        over_blocks(_hash_blocks, of_blocks.size, words, of_blocks)
        rest = int.from_bytes(bytes_[8 * n_words :].tobytes(), "little")
        for value in (bytes_.size, rest, int(of_blocks.sum())):
            total = (total * 0x9E3779B97F4A7C15 + value + 1) % (1 << 64)
            total ^= total >> 31
    return total


def _find_first(is_outside, values, low, high):
    """Return the first index outside of the bounds, or -1, given which blocks have one."""
    blocks = np.flatnonzero(is_outside)
    if blocks.size == 0:
        return -1
    begin = int(blocks[0]) * BLOCK
    of_block = values[begin : begin + BLOCK]
    return begin + int(np.argmin((of_block >= low) & (of_block <= high)))


@kernel
def _count_outside(first, last, values, low, high, n_outside):
    for block in range(first, last):
        of_block = values[block * BLOCK : (block + 1) * BLOCK]
        n_inside = 0
        for i in range(of_block.size):
            n_inside += (of_block[i] >= low) & (of_block[i] <= high)
        n_outside[block] = of_block.size - n_inside


@kernel
def _count_posteriors(first, last, n_rows, rows, flat, tolerance, n_right):
    size = n_rows * rows.shape[1]
    for block in range(first, last):
        of_block = flat[block * size : (block + 1) * size]
        n = 0
        for i in range(of_block.size):
            n += (of_block[i] >= 0.0) & (of_block[i] <= 1.0)
        if rows.shape[1] == 2:  # flat, so that steps of two are known when it is compiled
            for i in range(of_block.size // 2):
                added = np.float64(of_block[2 * i]) + np.float64(of_block[2 * i + 1])
                n += abs(added - 1.0) <= tolerance
        else:
            for i in range(block * n_rows, min((block + 1) * n_rows, rows.shape[0])):
                n += abs(total(rows[i]) - 1.0) <= tolerance
        n_right[block] = n


@kernel
def _compact_labels(first, last, labels, n_classes, codes, signs):
    for block in range(first, last):
        given = labels[block * BLOCK : (block + 1) * BLOCK]
        narrow = codes[block * BLOCK : (block + 1) * BLOCK]
        of_block = 0
        for i in range(given.size):
            of_block |= given[i] | (n_classes - 1 - given[i])  # negative if either is
        for i in range(given.size):
            narrow[i] = given[i]
        signs[block] = of_block


@kernel
def _hash_blocks(first, last, words, out):
    for block in range(first, last):
        start = block * BLOCK
        stop = min(start + BLOCK, words.size)
        a = mixed(np.uint64(block) + STEP)
        b, c, d = mixed(a), mixed(a + STEP), mixed(a ^ STEP)
        whole = start + (stop - start) // 4 * 4
        for i in range(start, whole, 4):  # four independent chains at a time
            a = (a ^ words[i]) * _FACTOR
            b = (b ^ words[i + 1]) * _FACTOR
            c = (c ^ words[i + 2]) * _FACTOR
            d = (d ^ words[i + 3]) * _FACTOR
            a ^= a >> _S29
            b ^= b >> _S29
            c ^= c >> _S29
            d ^= d >> _S29
        for i in range(whole, stop):
            a = (a ^ words[i]) * _FACTOR
            a ^= a >> _S29
        out[block] = mixed(a + mixed(b + mixed(c + mixed(d))))
