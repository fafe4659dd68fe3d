"""Dealing samples to folds: a keyed permutation of each class, evaluated rank by rank."""

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import inlined, kernel
from fastpsr.kernels.types import Codes, Counts, Floats

ROUNDS = 6
_IN_TABLE = 1 << 14  # up to so many ranks of a class are shuffled in a table; else by keys
_ONE = np.uint64(1)


def shuffle_ranks(
    sizes: Counts, rng: np.random.Generator
) -> tuple[Counts, Counts, NDArray[np.uint64]]:
    """Return the (tables, places, keys) that `deal_ranks` permutes the ranks of classes by."""
    small = sizes <= _IN_TABLE
    places = np.where(small, np.cumsum(sizes * small) - sizes * small, -1)
    keys = rng.integers(0, 1 << 64, (sizes.size, 2 * ROUNDS), np.uint64)
    keys[:, ::2] |= _ONE
    shuffled = [rng.permutation(int(size)) for size in sizes[small]]
    return np.concatenate([np.empty(0, np.int64), *shuffled]), places, keys


def deal_ranks(
    y: Codes,
    weights: Floats,
    ranks: Counts,
    sizes: Counts,
    first_folds: Counts,
    tables: Counts,
    places: Counts,
    keys: NDArray[np.uint64],
    n_folds: int,
) -> NDArray[np.uint16]:
    """Return the fold (N,) of each row of a part; rows of weight 0 have fold 0.

    A row's rank is the number of rows of positive weight of its class before it, in the whole. It
    is permuted among the class's ranks, and the permuted ranks are dealt to folds in turn.

    Parameters
    ----------
    y : ndarray, shape (N,)
    weights : ndarray, shape (N,) or empty
    ranks : ndarray of int64, shape (K,)
        Number of rows of positive weight of each class before the part.
    sizes : ndarray of int64, shape (K,)
        Of the whole.
    first_folds : ndarray of int64, shape (K,)
        Fold of each class's first permuted rank.
    tables : ndarray of int64
        Permuted ranks of the classes that have tables, one after another.
    places : ndarray of int64, shape (K,)
        Where a class's table begins; -1 where it has none and is permuted by its keys.
    keys : ndarray of uint64, shape (K, 2 x ROUNDS)
    """
    n_blocks = count_blocks(y.size)
    counts = np.zeros((n_blocks, sizes.size), np.int64)
    over_blocks(_count_classes, n_blocks, y, weights, counts)
    before = np.cumsum(counts, axis=0) - counts + ranks
    folds = np.empty(y.size, np.uint16)
    widths = np.array([_width(size) for size in sizes], np.int64)
    over_blocks(_deal, n_blocks, y, weights, counts, before, sizes, widths, first_folds, tables,
                places, keys, n_folds, folds)  # fmt: skip
    return folds


def _width(size):
    """Return the number of bits of the numbers that ranks below `size` are permuted among."""
    return max(2, int(size - 1).bit_length())


@kernel
def _count_classes(first, last, y, weights, counts):
    for block in range(first, last):
        of_block = counts[block]
        for i in range(block * BLOCK, min((block + 1) * BLOCK, y.size)):
            if weights.size == 0 or weights[i] > 0.0:
                of_block[y[i]] += 1


@kernel
def _permute(first_rank, n, size, width, keys, out):
    """Write where a keyed permutation of the numbers below `size` takes n ranks from the first on.

    Rounds of multiplication, addition and a folding of the high bits onto the low ones permute the
    numbers of `width` bits; one that lands at `size` or beyond walks on until it does not.
    """
    mask = (_ONE << np.uint64(width)) - _ONE
    third = np.uint64(max(1, width // 3))
    if width <= 32:  # narrow numbers, of which a register holds more
        walking, place = np.empty(n, np.uint32), np.empty(n, np.int32)
        narrow, few = np.uint32(mask), np.uint32(third)
        for i in range(n):
            walking[i] = np.uint32(first_rank + i)
            place[i] = i
        left = n
        while left:
            for turn in range(ROUNDS):
                factor, added = np.uint32(keys[2 * turn]), np.uint32(keys[2 * turn + 1])
                for i in range(left):
                    x = np.uint32(np.uint32(walking[i] * factor + added) & narrow)
                    walking[i] = x ^ np.uint32(x >> few)
            still = 0
            for i in range(left):  # without a branch, which could not be predicted
                x, at = walking[i], place[i]
                out[at] = x
                walking[still], place[still] = x, at
                still += np.int64(x) >= size  # which may be 2^32
            left = still
    else:
        for i in range(n):
            x = np.uint64(first_rank + i)
            while True:
                for turn in range(ROUNDS):
                    x = (x * keys[2 * turn] + keys[2 * turn + 1]) & mask
                    x ^= x >> third
                if x < np.uint64(size):
                    break
            out[i] = np.int64(x)


@inlined
def _remainder(number, divisor, inverse):
    """Return number % divisor, without a division of integers, which is slow."""
    rest = number - np.int64(number * inverse) * divisor
    rest = rest + divisor if rest < 0 else rest
    return rest - divisor if rest >= divisor else rest


@kernel
def _deal(
    first, last, y, weights, counts, before, sizes, widths, first_folds, tables, places, keys,
    n_folds, folds,
):  # fmt: skip
    n_classes = sizes.size
    per_fold = 1.0 / n_folds
    next_place = np.empty(n_classes, np.int64)
    dealt = np.empty(BLOCK, np.int64)
    for block in range(first, last):
        begin, end = block * BLOCK, min((block + 1) * BLOCK, y.size)
        place = 0
        for k in range(n_classes):
            next_place[k] = place
            # none are left of other data than the folds were dealt for
            n = max(np.int64(0), min(counts[block, k], sizes[k] - before[block, k]))
            of_class = dealt[place : place + counts[block, k]]
            for i in range(of_class.size):
                of_class[i] = 0
            if places[k] >= 0:
                for i in range(n):
                    of_class[i] = tables[places[k] + before[block, k] + i]
            elif n:
                _permute(before[block, k], n, sizes[k], widths[k], keys[k], of_class)
            for i in range(n):
                of_class[i] = _remainder(of_class[i] + first_folds[k], n_folds, per_fold)
            place += counts[block, k]
        for i in range(begin, end):
            if weights.size == 0 or weights[i] > 0.0:
                folds[i] = dealt[next_place[y[i]]]
                next_place[y[i]] += 1
            else:
                folds[i] = 0
