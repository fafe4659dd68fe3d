"""Draws with replacement, and sums over the draws.

Rows lie sorted by group, cut into blocks of at most 4,096 that stay in the first-level cache. How
many of a replicate's draws fall in each block is multinomial; within its block each draw is
uniform. That is the ordinary bootstrap, drawn in another order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, over_blocks, writable
from fastpsr.kernels.compiler import kernel, summing
from fastpsr.kernels.random import STEP, draw_binomial, mixed, stream_of
from fastpsr.kernels.types import Blocks, Codes, Counts, Floats

_LOW_32 = np.uint64(0xFFFFFFFF)
_S12, _S32 = np.uint64(12), np.uint64(32)
_LOW_12 = np.uint64(0xFFF)
_PER_NUMBER = 5  # places in a full block, of 12 bits, in a random number of 64
_SIDE_BY_SIDE = 16  # replicates, whose counts of a unit fill a line of the cache
_SMALL = 64  # rows; smaller groups share blocks, since a block costs a binomial draw
_MULTINOMIAL = np.int64(-1)  # the stream of a replicate's numbers of draws


def cut_into_blocks(bounds: Counts, strata: Counts, longest: int = BLOCK) -> Blocks:
    """Return (start (B + 1,), group (B,), stratum (B,)) of blocks of at most 4,096 sorted rows.

    Blocks of one group have up to `longest` rows, which may be more where only counts matter.

    `group` is a block's first: small groups share blocks. `strata` (G,) do not decrease; no block
    holds rows of two.
    """
    sizes = np.diff(bounds)
    most = int((sizes // longest + 1).sum()) + 1
    start = np.zeros(most + 1, np.int64)
    group = np.empty(most, np.int64)
    stratum = np.empty(most, np.int64)
    n_blocks = _cut_into_blocks(bounds, strata, longest, start, group, stratum)
    return start[: n_blocks + 1], group[:n_blocks], stratum[:n_blocks]


def draws_in_part(
    seed: int,
    first: int,
    n_draws: Counts,
    strata: Codes,
    bounds: Counts,
    places: Counts,
    ends: Counts,
) -> Counts:
    """Return (R, S): how many of each stratum's draws, `n_draws` (R, S), fall in one part.

    The part has rows of the S strata `strata`. The parts that have rows of stratum s are the
    entries from `bounds[s]` to `bounds[s + 1]` of `ends`: the rows of s up to the end of a part.
    This part is entry `places[k]` of stratum `strata[k]`. The draws of a stratum are divided in a
    binary tree over its parts, so that only the way to this part is drawn.
    """
    out = np.empty((n_draws.shape[0], strata.size), np.int64)
    over_blocks(_draws_in_part, out.shape[0], np.uint64(seed), first, n_draws, strata, bounds,
                places, ends, out)  # fmt: skip
    return out


def sum_draws(
    seed: int,
    first: int,
    n_draws: Counts,
    blocks: Blocks,
    bounds: Counts,
    columns: Floats,
    degree: int,
    out: Floats,
) -> Floats:
    """Add number and sums of the rows drawn of each group to `out` (R, G, 1 + sums).

    `n_draws` (R, S) are those from each stratum, in replicates from `first` on; `blocks` (start,
    group, stratum) of rows that lie sorted by group, with `bounds` (G + 1,). `columns` (C, N) are
    summed; of the last one, if `degree` is 7 and not 0, the Chebyshev polynomials T_1 to T_7.
    """
    over_blocks(
        _sum_draws, out.shape[0], np.uint64(seed), first, n_draws, *blocks, bounds, columns, degree,
        out, worth_a_thread=1,
    )  # fmt: skip
    return out


def draw_counts(
    seed: int, first: int, n_draws: Counts, blocks: Blocks, order: Codes, n_units: int
) -> NDArray[np.float32]:
    """Return (n_units + 1, R): how often each unit is drawn in replicates from `first` on.

    `n_draws` (R, S) are those from each stratum. `blocks` are of the units in the order `order`,
    sorted by stratum. The last unit is always drawn once.
    """
    start, _, stratum = blocks
    out = np.zeros((n_units + 1, n_draws.shape[0]), np.float32)
    out[n_units] = 1.0
    n_sets = -(-n_draws.shape[0] // _SIDE_BY_SIDE)
    over_blocks(_draw_counts, n_sets, np.uint64(seed), first, n_draws, start, stratum, order, out,
                worth_a_thread=1)  # fmt: skip
    return out


def sum_counted_rows(
    counts: NDArray[np.float32], rows: tuple[Any, ...], degree: int, out: Floats
) -> None:
    """Add sums of rows, weighted by the counts of their two units, to `out` (G, 1 + sums, R).

    `counts` are (U, R). Of `rows` are given the first and second unit, group and weight, (N,) each,
    and the columns (C, N) that are summed, with `degree` as for `sum_draws`.
    """
    _sum_counted_rows(counts, *map(writable, rows), degree, out)


def sum_by_share(
    share_of_unit: NDArray[np.uint16],
    table_of_share: Counts,
    rows: tuple[Any, ...],
    degree: int,
    out: Floats,
) -> None:
    """Add sums of rows to the table of the share of their unit in `out` (T, 1 + sums, G).

    Of `rows` are given the unit, group and weight, (N,) each, and the columns (C, N) that are
    summed, with `degree` as for `sum_draws`.
    """
    _sum_by_share(share_of_unit, table_of_share, *map(writable, rows), degree, out)


@kernel
def _cut_into_blocks(bounds, strata, longest, start, group, stratum):
    n_blocks = 0
    open_rows = 0  # in a block of small groups that is not closed yet
    for g in range(strata.size):
        size = bounds[g + 1] - bounds[g]
        if size == 0:
            continue
        alone = size >= _SMALL
        if open_rows and (alone or strata[g] != stratum[n_blocks] or open_rows + size > BLOCK):
            n_blocks += 1
            start[n_blocks] = bounds[g]
            open_rows = 0
        if alone:
            for end in range(bounds[g] + longest, bounds[g + 1] + longest, longest):
                group[n_blocks] = g
                stratum[n_blocks] = strata[g]
                n_blocks += 1
                start[n_blocks] = min(end, bounds[g + 1])
        else:
            if open_rows == 0:
                group[n_blocks] = g
                stratum[n_blocks] = strata[g]
            open_rows += size
    if open_rows:
        n_blocks += 1
        start[n_blocks] = bounds[-1]
    return n_blocks


@kernel
def _draws_in_part(
    first_place, last_place, seed, first, n_draws, strata, bounds, places, ends, out
):
    for place in range(first_place, last_place):
        for k in range(strata.size):
            key = stream_of(seed, first + place, strata[k])
            begin, low, high = bounds[strata[k]], bounds[strata[k]], bounds[strata[k] + 1]
            rows_before = 0
            draws_left = n_draws[place, k]
            while high - low > 1:
                middle = (low + high) // 2
                share = (ends[middle - 1] - rows_before) / (ends[high - 1] - rows_before)
                state = stream_of(key, low - begin, high - begin)
                count, state = draw_binomial(draws_left, share, state)
                if places[k] < middle:
                    high = middle
                    draws_left = count
                else:
                    low = middle
                    rows_before = ends[middle - 1]
                    draws_left -= count
            out[place, k] = draws_left


@kernel
def _divide_draws(state, start, stratum, n_draws, counts):
    """Draw how many of each stratum's draws fall in each of its blocks."""
    n_blocks = stratum.size
    block = 0
    while block < n_blocks:
        last = block
        while last < n_blocks and stratum[last] == stratum[block]:
            last += 1
        rows_left = start[last] - start[block]
        draws_left = n_draws[stratum[block]]
        for b in range(block, last):
            size = start[b + 1] - start[b]
            counts[b], state = draw_binomial(draws_left, size / rows_left, state)
            draws_left -= counts[b]
            rows_left -= size
        block = last


@kernel
def _pick(state, size, n_draws, places):
    """Write `n_draws` uniform places below `size` to `places`."""
    if size == BLOCK:
        for j in range(n_draws // _PER_NUMBER + 1):
            number = mixed(state + np.uint64(j + 1) * STEP)
            for part in range(_PER_NUMBER):
                places[_PER_NUMBER * j + part] = np.int32(number & _LOW_12)
                number >>= _S12
        return
    # Lemire, 2019, doi:10.1145/3230636: a product of 32 bits, redrawn where it would be biased
    n = np.uint64(size)
    biased = ((_LOW_32 + np.uint64(1)) - n) % n
    n_biased = 0
    for j in range(n_draws):  # on vectors, as if none were biased, which is likely
        product = (mixed(state + np.uint64(j + 1) * STEP) >> _S32) * n
        places[j] = np.int32(product >> _S32)
        n_biased += (product & _LOW_32) < biased
    if n_biased == 0:
        return
    for j in range(n_draws):
        while True:
            state += STEP
            product = (mixed(state) >> _S32) * n
            if (product & _LOW_32) >= biased:
                break
        places[j] = np.int32(product >> _S32)


@summing
def _sum_pure(start, places, n_draws, columns, degree, total):
    """Add the draws of a block of one group to its sums."""
    total[0] += n_draws
    n_plain = columns.shape[0] - (1 if degree else 0)
    for c in range(n_plain):
        column = columns[c, start:]
        value = 0.0
        for j in range(n_draws):
            value += column[np.uint64(places[j])]
        total[1 + c] += value
    if degree:
        column = columns[n_plain, start:]
        a, b, c, d, e, f, g = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0  # registers, not memory
        for j in range(n_draws):
            t = column[np.uint64(places[j])]
            t2 = 2.0 * t * t - 1.0
            t3 = 2.0 * t * t2 - t
            t4 = 2.0 * t2 * t2 - 1.0
            a += t
            b += t2
            c += t3
            d += t4
            e += 2.0 * t * t4 - t3
            f += 2.0 * t3 * t3 - 1.0
            g += 2.0 * t3 * t4 - t
        for k, value in enumerate((a, b, c, d, e, f, g)):
            total[1 + n_plain + k] += value


@kernel
def _sum_mixed(start, places, n_draws, group_of_place, columns, degree, out):
    """Add the draws of a block of several groups to their sums."""
    n_plain = columns.shape[0] - (1 if degree else 0)
    for j in range(n_draws):
        row = np.uint64(start + places[j])
        group = np.uint64(group_of_place[places[j]])
        out[group, 0] += 1.0
        for c in range(n_plain):
            out[group, 1 + c] += columns[c, row]
        if degree:
            t = columns[n_plain, row]
            before = 1.0
            now = t
            for k in range(1 + n_plain, 1 + n_plain + degree):
                out[group, k] += now
                before, now = now, 2.0 * t * now - before


@kernel
def _sum_draws(
    first_place, last_place, seed, first, n_draws, start, group, stratum, bounds, columns, degree,
    out,
):  # fmt: skip
    n_blocks = group.size
    only_counts = columns.shape[0] == 0
    counts = np.empty((last_place - first_place, n_blocks), np.int64)
    most = 0
    for place in range(first_place, last_place):
        row = counts[place - first_place]
        state = stream_of(seed, first + place, _MULTINOMIAL)
        _divide_draws(state, start, stratum, n_draws[place], row)
        for block in range(n_blocks):
            if not only_counts or start[block + 1] > bounds[group[block] + 1]:
                most = max(most, row[block])
    places = np.empty(most + _PER_NUMBER, np.int32)
    group_of_place = np.empty(BLOCK, np.int64)
    for block in range(n_blocks):  # outside, so that its rows stay in the cache
        begin = start[block]
        size = start[block + 1] - begin
        g = group[block]
        is_pure = start[block + 1] <= bounds[g + 1]
        if not is_pure:
            for i in range(size):
                while begin + i >= bounds[g + 1]:
                    g += 1
                group_of_place[i] = g
        for place in range(first_place, last_place):
            n_here = counts[place - first_place, block]
            if n_here == 0:
                continue
            if is_pure and only_counts:
                out[place, g, 0] += n_here
                continue
            _pick(stream_of(seed, first + place, block), size, n_here, places)
            if is_pure:
                _sum_pure(begin, places, n_here, columns, degree, out[place, g])
            else:
                _sum_mixed(begin, places, n_here, group_of_place, columns, degree, out[place])


@kernel
def _draw_counts(first_set, last_set, seed, first, n_draws, start, stratum, order, out):
    n_blocks = stratum.size
    in_blocks = np.empty((_SIDE_BY_SIDE, n_blocks), np.int64)
    longest = 0
    for block in range(n_blocks):
        longest = max(longest, start[block + 1] - start[block])
    times = np.empty((_SIDE_BY_SIDE, longest), np.float32)  # of a block, which stay in the cache
    for begin in range(first_set * _SIDE_BY_SIDE, last_set * _SIDE_BY_SIDE, _SIDE_BY_SIDE):
        n_places = min(_SIDE_BY_SIDE, n_draws.shape[0] - begin)
        most = 0
        for place in range(n_places):
            state = stream_of(seed, first + begin + place, _MULTINOMIAL)
            _divide_draws(state, start, stratum, n_draws[begin + place], in_blocks[place])
            for block in range(n_blocks):
                most = max(most, in_blocks[place, block])
        places = np.empty(most + _PER_NUMBER, np.int32)
        for block in range(n_blocks):
            row = start[block]
            size = start[block + 1] - row
            for place in range(n_places):
                times_in_block = times[place]
                for i in range(size):
                    times_in_block[i] = 0.0
                n_here = in_blocks[place, block]
                if n_here:
                    key = stream_of(seed, first + begin + place, block)
                    _pick(key, size, n_here, places)
                for j in range(n_here):
                    times_in_block[np.uint64(places[j])] += np.float32(1.0)
            for i in range(size):
                of_unit = out[order[row + i], begin : begin + n_places]
                for place in range(n_places):
                    of_unit[place] = times[place, i]


@kernel
def _sum_by_share(share_of_unit, table_of_share, first_unit, groups, weights, columns, degree, out):
    n_plain = columns.shape[0] - (1 if degree else 0)
    for i in range(groups.size):
        table = table_of_share[share_of_unit[np.uint64(first_unit[i])]]
        group = np.uint64(groups[i])
        sums = out[table]
        weight = weights[i] if weights.size else 1.0
        sums[0, group] += weight
        for c in range(n_plain):
            sums[1 + c, group] += weight * columns[c, i]
        if degree:
            t = columns[n_plain, i]
            before = 1.0
            now = t
            for k in range(1 + n_plain, 1 + n_plain + degree):
                sums[k, group] += weight * now
                before, now = now, 2.0 * t * now - before


@kernel
def _sum_counted_rows(counts, first_unit, second_unit, groups, weights, columns, degree, out):
    n_replicates = np.uint64(counts.shape[1])
    n_plain = columns.shape[0] - (1 if degree else 0)
    w = np.empty(counts.shape[1])
    for i in range(groups.size):
        one, other = counts[np.uint64(first_unit[i])], counts[np.uint64(second_unit[i])]
        weight = weights[i] if weights.size else 1.0
        sums = out[np.uint64(groups[i])]
        for r in range(n_replicates):
            w[r] = np.float64(one[r] * other[r]) * weight
            sums[0, r] += w[r]
        for c in range(n_plain):
            value = columns[c, i]
            if np.isfinite(value):
                for r in range(n_replicates):
                    sums[1 + c, r] += w[r] * value
            else:  # weight 0 wins over inf
                for r in range(n_replicates):
                    sums[1 + c, r] += w[r] * value if w[r] > 0.0 else 0.0
        if degree:
            t = columns[n_plain, i]
            before = 1.0
            now = t
            for k in range(1 + n_plain, 1 + n_plain + degree):
                for r in range(n_replicates):
                    sums[k, r] += w[r] * now
                before, now = now, 2.0 * t * now - before
