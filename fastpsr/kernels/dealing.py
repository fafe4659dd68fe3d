"""Dealing samples to folds: a keyed permutation of each class, evaluated rank by rank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks, writable
from fastpsr.kernels.compiler import inlined, kernel
from fastpsr.kernels.types import Codes, Counts, Flags, Floats

__all__ = [
    "count_pairs",
    "deal_counts",
    "deal_groups",
    "deal_ranks",
    "leave_out",
    "pair_folds",
    "shuffle_ranks",
    "sum_by_share",
    "sum_shares",
]

ROUNDS = 6
_IN_TABLE = 1 << 14  # up to so many ranks of a class are shuffled in a table; else by keys
_PIECE = 1 << 20  # rows whose shares are held at once
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
    deal = _deal_permute if (places < 0).any() else _deal_permute_nothing  # compiles sooner
    over_blocks(deal, n_blocks, y, weights, counts, before, sizes, widths, first_folds, tables,
                places, keys, n_folds, folds)  # fmt: skip
    return folds


def deal_counts(
    counts: Counts,
    sections: Counts,
    sizes: Counts,
    tables: Counts,
    places: Counts,
    keys: NDArray[np.uint64],
    n_shares: int,
) -> NDArray[Any]:
    """Return (n_shares, G): how many rows of each group are dealt to each share.

    Rows lie sorted by group. `sections` are (S, 3) rows: stratum, rank of the first row in it, and
    number of rows, one section after another. The ranks of rows in their stratum are dealt as by
    `deal_ranks`, with first folds of 0.
    """
    out = np.zeros((n_shares, counts.size), np.uint32 if counts.sum() < 1 << 32 else np.float64)
    ends = np.cumsum(counts)
    for row, shares in _dealt_pieces(sections, sizes, tables, places, keys, n_shares):
        _count_groups(row, shares, ends, out)
    return out


def deal_groups(
    counts: Counts,
    sections: Counts,
    sizes: Counts,
    tables: Counts,
    places: Counts,
    keys: NDArray[np.uint64],
    n_shares: int,
    wanted: range,
) -> tuple[NDArray[np.int32], Counts]:
    """Return (group of each row of the shares in the range `wanted`, (W + 1,) bounds of shares).

    Rows are dealt as by `deal_counts`.
    """
    dealing = sections, sizes, tables, places, keys, n_shares
    share = np.arange(wanted.start, wanted.stop)[:, None]
    if np.array_equal(sections[:, 2], sizes[sections[:, 0]]):  # whole strata
        in_share = (sizes // n_shares + (share < sizes % n_shares)).sum(axis=1)
    else:
        in_share = np.zeros(n_shares, np.int64)
        for _, shares in _dealt_pieces(*dealing):
            in_share += np.bincount(shares, minlength=n_shares)
        in_share = in_share[wanted.start : wanted.stop]
    bounds = np.concatenate([[0], np.cumsum(in_share)])
    groups = np.empty(bounds[-1], np.int32)
    ends, next_place = np.cumsum(counts), bounds[:-1].copy()
    for row, shares in _dealt_pieces(*dealing):
        _collect_groups(row, shares, ends, wanted.start, next_place, groups)
    return groups, bounds


def sum_shares(dealt: NDArray[Any], keeps: Flags) -> Floats:
    """Return (R, G): sums of the shares (S, G) that each replicate (R, S) keeps."""
    out = np.zeros((keeps.shape[0], dealt.shape[1]))
    over_blocks(_sum_shares, out.shape[0], dealt, keeps, out)
    return out


def sum_by_share(
    shares: NDArray[np.uint16],
    bounds: Counts,
    weights: Floats,
    columns: Floats,
    degree: int,
    out: Floats,
) -> Floats:
    """Add weight and sums of the rows of each group and share to `out` (G, shares, 1 + sums).

    Rows lie sorted by group, with `bounds` (G + 1,). `columns` (C, N) are summed; of the last one,
    if `degree` > 0, the Chebyshev polynomials T_1 to T_degree.
    """
    over_blocks(_sum_by_share, bounds.size - 1, shares, bounds, weights, columns, degree, out)
    return out


def leave_out(counts: Counts, groups: NDArray[np.int32], bounds: Counts) -> Floats:
    """Return (R, G): counts (G,) without the rows of these groups, replicate by replicate."""
    out = np.empty((bounds.size - 1, counts.size))
    over_blocks(_leave_out, out.shape[0], counts, groups, bounds, out)
    return out


def _dealt_pieces(sections, sizes, tables, places, keys, n_shares):
    """Yield (number of the first row, shares) of pieces of rows, which lie section by section."""
    row = 0
    for k, first_rank, n_rows in sections.tolist():
        size = int(sizes[k])
        table = tables[places[k] : places[k] + size] if places[k] >= 0 else tables[:0]
        for done in range(0, n_rows, _PIECE):
            shares = np.empty(min(_PIECE, n_rows - done), np.uint16)
            over_blocks(_deal_in_turn, count_blocks(shares.size), first_rank + done, size,
                        _width(size), table, keys[k], n_shares, shares)  # fmt: skip
            yield row + done, shares
        row += n_rows


def _width(size):
    """Return the number of bits of the numbers that ranks below `size` are permuted among."""
    return max(2, int(size - 1).bit_length())


def count_pairs(codes: Codes, y: Codes, n_codes: int, n_classes: int) -> Counts:
    """Count the samples of each code and class, (n_codes, n_classes)."""
    counts = np.zeros((n_codes, n_classes), np.int64)
    _count_pairs(writable(codes), writable(y), counts)
    return counts


def pair_folds(
    one: Codes, other: Codes, folds: Codes, n_folds: int
) -> tuple[NDArray[np.uint16], Counts]:
    """Return (N,) numbers of the unordered pairs of folds of two sides, and how often each occurs.

    The pair of folds f <= g has the number f x F + g, for F folds; `folds` are those of the codes.
    """
    pairs = np.empty(one.size, np.uint16)
    counts = np.zeros(n_folds**2, np.int64)
    _pair_folds(writable(one), writable(other), folds.astype(np.int64), n_folds, pairs, counts)
    return pairs, counts


@kernel
def _count_pairs(codes, y, counts):
    for i in range(codes.size):
        counts[codes[i], y[i]] += 1


@kernel
def _pair_folds(one, other, folds, n_folds, pairs, counts):
    for i in range(one.size):
        f = folds[one[i]]
        g = folds[other[i]]
        pair = min(f, g) * n_folds + max(f, g)
        pairs[i] = pair
        counts[pair] += 1


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
def _deal_in_turn(first, last, first_rank, size, width, table, keys, n_shares, shares):
    places, inverse = np.empty(BLOCK, np.int64), 1.0 / n_shares
    for begin in range(first * BLOCK, min(last * BLOCK, shares.size), BLOCK):
        n = min(BLOCK, shares.size - begin)
        if table.size:
            for i in range(n):
                places[i] = table[first_rank + begin + i]
        else:
            _permute(first_rank + begin, n, size, width, keys, places)
        for i in range(n):
            shares[begin + i] = _remainder(places[i], n_shares, inverse)


@kernel
def _count_groups(first_row, shares, ends, out):
    g = np.searchsorted(ends, first_row, side="right")
    i = 0
    while i < shares.size:
        end = min(ends[g] - first_row, shares.size)
        for k in range(i, end):
            out[shares[k], g] += 1
        i = end
        g += 1


@kernel
def _collect_groups(first_row, shares, ends, first_share, next_place, groups):
    g = np.searchsorted(ends, first_row, side="right")
    i = 0
    while i < shares.size:
        end = min(ends[g] - first_row, shares.size)
        for k in range(i, end):
            share = np.int64(shares[k]) - first_share
            if 0 <= share < next_place.size:
                groups[next_place[share]] = g
                next_place[share] += 1
        i = end
        g += 1


@kernel
def _sum_shares(first, last, dealt, keeps, out):
    for place in range(first, last):
        for share in range(dealt.shape[0]):
            if keeps[place, share]:
                for g in range(dealt.shape[1]):
                    out[place, g] += dealt[share, g]


@kernel
def _sum_by_share(first, last, shares, bounds, weights, columns, degree, out):
    n_plain = columns.shape[0] - (1 if degree else 0)
    for group in range(first, last):
        for i in range(bounds[group], bounds[group + 1]):
            total = out[group, np.uint64(shares[i])]
            weight = weights[i] if weights.size else 1.0
            total[0] += weight
            for c in range(n_plain):
                total[1 + c] += weight * columns[c, i]
            if degree:
                t = columns[n_plain, i]
                before = 1.0
                now = t
                for k in range(1 + n_plain, 1 + n_plain + degree):
                    total[k] += weight * now
                    before, now = now, 2.0 * t * now - before


@kernel
def _leave_out(first, last, counts, groups, bounds, out):
    for place in range(first, last):
        of_replicate = out[place]
        for g in range(counts.size):
            of_replicate[g] = counts[g]
        for i in range(bounds[place], bounds[place + 1]):
            of_replicate[groups[i]] -= 1.0


@inlined
def _permute_nothing(first_rank, n, size, width, keys, out):
    pass


def _dealing(permute):
    """Return the kernel that deals the ranks of classes without tables as `permute` orders them."""

    def deal(
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
                    permute(before[block, k], n, sizes[k], widths[k], keys[k], of_class)
                for i in range(n):
                    of_class[i] = _remainder(of_class[i] + first_folds[k], n_folds, per_fold)
                place += counts[block, k]
            for i in range(begin, end):
                if weights.size == 0 or weights[i] > 0.0:
                    folds[i] = dealt[next_place[y[i]]]
                    next_place[y[i]] += 1
                else:
                    folds[i] = 0

    deal.__name__ = deal.__qualname__ = f"_deal{permute.__name__}"  # its file in the cache
    return kernel(deal)


_deal_permute_nothing = _dealing(_permute_nothing)
_deal_permute = _dealing(_permute)
