"""Draws with replacement, and the sums over what was drawn.

Rows lie sorted by group, cut into blocks of at most 4,096 that stay in the first-level cache. How
many of a replicate's draws fall in each block is multinomial; within its block each draw is
uniform. That is the ordinary bootstrap, drawn in another order.
"""

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, over_blocks
from fastpsr.kernels.compiler import kernel, summing
from fastpsr.kernels.lanes import add_column, add_polynomials, multiply_lanes
from fastpsr.kernels.random import STEP, draw_binomial, mixed, stream_of
from fastpsr.kernels.sizes import LANES
from fastpsr.kernels.types import Blocks, Codes, Counts, Floats

__all__ = [
    "divide_over_blocks",
    "divide_over_parts",
    "draw_in_blocks",
    "draw_units",
    "draws_in_part",
    "sum_draws",
    "sum_nested",
    "sum_units",
]

_LOW_32 = np.uint64(0xFFFFFFFF)
_S12, _S32 = np.uint64(12), np.uint64(32)
_LOW_12 = np.uint64(0xFFF)
_PER_NUMBER = 5  # places in a full block, of 12 bits, in a random number of 64
_ROWS = 512  # whose weights in all lanes stay in the first-level cache
_ONES = np.ones(_ROWS)
_MULTINOMIAL = np.int64(-1)  # the stream of a replicate's numbers of draws


def divide_over_parts(seed: int, first: int, n_replicates: int, sizes: Counts) -> Counts:
    """Return (R, P, S): how many of each stratum's draws fall in each part, from its (P, S) rows.

    All strata are drawn from as often as they have rows.
    """
    out = np.zeros((n_replicates, *sizes.shape), np.int64)
    sizes = np.ascontiguousarray(sizes, np.int64)
    over_blocks(_divide_over_parts, n_replicates, np.uint64(seed), first, sizes, out)
    return out


def draws_in_part(
    seed: int,
    first: int,
    n_replicates: int,
    strata: Codes,
    bounds: Counts,
    places: Counts,
    ends: Counts,
) -> Counts:
    """Return (R, S): how many of each stratum's draws fall in one part.

    The part has rows of the S strata `strata`. The parts that have rows of stratum s are the
    entries from `bounds[s]` to `bounds[s + 1]` of `ends`: the rows of s up to the end of a part.
    This part is entry `places[k]` of stratum `strata[k]`. The draws of a stratum are divided in a
    binary tree over its parts, so that only the way to this part is drawn.
    """
    out = np.zeros((n_replicates, strata.size), np.int64)
    over_blocks(_draws_in_part, n_replicates, np.uint64(seed), first, strata, bounds, places, ends,
                out)  # fmt: skip
    return out


def sum_draws(
    seed: int,
    first: int,
    n_draws: Counts,
    blocks: Blocks,
    bounds: Counts,
    weights: Floats,
    columns: Floats,
    degree: int,
    out: Floats,
) -> Floats:
    """Add weight and sums of each group in replicates from `first` on to `out` (R, G, 1 + sums).

    `n_draws` (R, S) are those from each stratum; `blocks` (start, group, stratum) of rows that lie
    sorted by group, with `bounds` (G + 1,). `columns` (C, N) are summed; of the last one, if
    `degree` is 7 and not 0, the Chebyshev polynomials T_1 to T_7.
    """
    over_blocks(
        _sum_draws, out.shape[0], np.uint64(seed), first, n_draws, *blocks, bounds, weights,
        columns, degree, out, worth_a_thread=1,
    )  # fmt: skip
    return out


def divide_over_blocks(seed: int, first: int, n_draws: Counts, blocks: Blocks) -> Counts:
    """Return (R, B): how many of the draws of each stratum, (R, S), fall in each block."""
    start, _, stratum = blocks
    out = np.empty((n_draws.shape[0], stratum.size), np.int64)
    over_blocks(_divide_over_blocks, out.shape[0], np.uint64(seed), first, n_draws, start, stratum,
                out)  # fmt: skip
    return out


def draw_in_blocks(
    seed: int, first: int, in_blocks: Counts, start: Counts, order: Codes, n_units: int, block: int
) -> NDArray[np.float32]:
    """Return (L, n_units + 1, 8): how often each unit was drawn, in sets of 8 replicates.

    Draws units of some blocks, from number `block` on. From each are drawn `in_blocks` (R, B), in
    replicates from `first` on; those beyond R hold nothing. A block has the places from start[b] to
    start[b + 1] of `order`. The last unit is always drawn once.
    """
    n_replicates = in_blocks.shape[0]
    out = np.zeros((-(-n_replicates // LANES), n_units + 1, LANES), np.float32)
    out[:, n_units] = 1.0
    over_blocks(_draw_in_blocks, n_replicates, np.uint64(seed), first, in_blocks, block, start,
                order, out, worth_a_thread=1)  # fmt: skip
    return out


def draw_units(
    seed: int, first: int, n_draws: Counts, blocks: Blocks, order: Codes, n_units: int
) -> NDArray[np.float32]:
    """Return (L, n_units + 1, 8): how often each unit was drawn, from all blocks."""
    in_blocks = divide_over_blocks(seed, first, n_draws, blocks)
    return draw_in_blocks(seed, first, in_blocks, blocks[0], order, n_units, 0)


def sum_units(
    units: NDArray[np.float32],
    first_unit: Codes,
    second_unit: Codes,
    bounds: Counts,
    groups: Counts,
    weights: Floats,
    columns: Floats,
    degree: int,
    out: Floats,
) -> Floats:
    """Add sums of rows that weigh what their two units were drawn to `out` (L, G, 1 + sums, 8).

    Rows from bounds[k] to bounds[k + 1] are those of group groups[k].
    """
    over_blocks(
        _sum_units, units.shape[0], units, first_unit, second_unit, bounds, groups, weights,
        columns, degree, out, worth_a_thread=1,
    )  # fmt: skip
    return out


def sum_nested(
    seed: int,
    first: int,
    n_draws: Counts,
    times: NDArray[np.float32],
    blocks: Blocks,
    groups: Codes,
    weights: Floats,
    columns: Floats,
    degree: int,
    out: Floats,
) -> Floats:
    """Add sums of rows drawn within clusters to `out` (L, G, 1 + sums, 8).

    Rows lie sorted by cluster: `n_draws` (R, C) of them are drawn from each, in the blocks that
    `draw_units` draws in, and count `times` (R, C).
    """
    start, _, cluster = blocks
    over_blocks(
        _sum_nested, out.shape[0], np.uint64(seed), first, n_draws, times, start, cluster, groups,
        weights, columns, degree, out, worth_a_thread=1,
    )  # fmt: skip
    return out


@kernel
def _divide_over_parts(first_place, last_place, seed, first, sizes, out):
    for stratum in range(sizes.shape[1]):
        n_rows = 0
        for part in range(sizes.shape[0]):
            n_rows += sizes[part, stratum]
        for place in range(first_place, last_place):
            state = stream_of(seed, first + place, stratum)
            rows_left = n_rows
            draws_left = n_rows
            for part in range(sizes.shape[0]):
                size = sizes[part, stratum]
                if size:
                    count, state = draw_binomial(draws_left, size / rows_left, state)
                    out[place, part, stratum] = count
                    draws_left -= count
                    rows_left -= size


@kernel
def _draws_in_part(first_place, last_place, seed, first, strata, bounds, places, ends, out):
    for place in range(first_place, last_place):
        for k in range(strata.size):
            key = stream_of(seed, first + place, strata[k])
            begin, low, high = bounds[strata[k]], bounds[strata[k]], bounds[strata[k] + 1]
            rows_before = 0
            n_draws = ends[high - 1]
            while high - low > 1:
                middle = (low + high) // 2
                share = (ends[middle - 1] - rows_before) / (ends[high - 1] - rows_before)
                state = stream_of(key, low - begin, high - begin)
                count, state = draw_binomial(n_draws, share, state)
                if places[k] < middle:
                    high = middle
                    n_draws = count
                else:
                    low = middle
                    rows_before = ends[middle - 1]
                    n_draws -= count
            out[place, k] = n_draws


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
def _sum_pure(start, places, n_draws, weights, columns, degree, of_draws, total):
    """Add the draws of a block of one group to its sums; `of_draws` are ones without weights."""
    weighted = weights.size > 0
    if weighted:
        total_weight = 0.0
        for j in range(n_draws):
            of_draws[j] = weights[start + places[j]]
            total_weight += of_draws[j]
        total[0] += total_weight
    else:
        total[0] += n_draws
    n_plain = columns.shape[0] - (1 if degree else 0)
    for c in range(n_plain):
        column = columns[c, start:]
        value = 0.0
        if weighted:
            for j in range(n_draws):
                value += of_draws[j] * column[np.uint64(places[j])]
        else:
            for j in range(n_draws):
                value += column[np.uint64(places[j])]
        total[1 + c] += value
    if degree:
        column = columns[n_plain, start:]
        a, b, c, d, e, f, g = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0  # registers, not memory
        for j in range(n_draws):
            w = of_draws[j]
            t = column[np.uint64(places[j])]
            t2 = 2.0 * t * t - 1.0
            t3 = 2.0 * t * t2 - t
            t4 = 2.0 * t2 * t2 - 1.0
            a += w * t
            b += w * t2
            c += w * t3
            d += w * t4
            e += w * (2.0 * t * t4 - t3)
            f += w * (2.0 * t3 * t3 - 1.0)
            g += w * (2.0 * t3 * t4 - t)
        for k, value in enumerate((a, b, c, d, e, f, g)):
            total[1 + n_plain + k] += value


@kernel
def _sum_mixed(start, places, n_draws, group_of_place, weights, columns, degree, out):
    """Add the draws of a block of several groups to their sums."""
    n_plain = columns.shape[0] - (1 if degree else 0)
    for j in range(n_draws):
        row = np.uint64(start + places[j])
        group = np.uint64(group_of_place[places[j]])
        w = weights[row] if weights.size else 1.0
        out[group, 0] += w
        for c in range(n_plain):
            out[group, 1 + c] += w * columns[c, row]
        if degree:
            t = columns[n_plain, row]
            before = 1.0
            now = t
            for k in range(1 + n_plain, 1 + n_plain + degree):
                out[group, k] += w * now
                before, now = now, 2.0 * t * now - before


@kernel
def _sum_draws(
    first_place, last_place, seed, first, n_draws, start, group, stratum, bounds, weights, columns,
    degree, out,
):  # fmt: skip
    n_blocks = group.size
    only_counts = columns.shape[0] == 0 and weights.size == 0
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
    of_draws = np.ones(most)
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
                _sum_pure(begin, places, n_here, weights, columns, degree, of_draws, out[place, g])
            else:
                _sum_mixed(begin, places, n_here, group_of_place, weights, columns, degree,
                           out[place])  # fmt: skip


@kernel
def _divide_over_blocks(first_place, last_place, seed, first, n_draws, start, stratum, out):
    for place in range(first_place, last_place):
        state = stream_of(seed, first + place, _MULTINOMIAL)
        _divide_draws(state, start, stratum, n_draws[place], out[place])


@kernel
def _draw_in_blocks(
    first_place, last_place, seed, first, in_blocks, first_block, start, order, out
):
    most = 0
    for place in range(first_place, last_place):
        for block in range(in_blocks.shape[1]):
            most = max(most, in_blocks[place, block])
    places = np.empty(most + _PER_NUMBER, np.int32)
    for block in range(in_blocks.shape[1]):  # outside, so that its counts stay in the cache
        begin = start[block]
        size = start[block + 1] - begin
        for place in range(first_place, last_place):
            drawn = out[place // LANES]
            lane = place % LANES
            n_here = in_blocks[place, block]
            _pick(stream_of(seed, first + place, first_block + block), size, n_here, places)
            for j in range(n_here):
                drawn[order[begin + places[j]], lane] += np.float32(1.0)


@kernel
def _sum_units(
    first_set, last_set, units, first_unit, second_unit, bounds, groups, weights, columns, degree,
    out,
):  # fmt: skip
    n_plain = columns.shape[0] - (1 if degree else 0)
    w = np.empty((_ROWS, LANES))
    for place in range(first_set, last_set):
        drawn = units[place]
        for k in range(groups.size):
            total = out[place, groups[k]]
            for begin in range(bounds[k], bounds[k + 1], _ROWS):
                size = min(_ROWS, bounds[k + 1] - begin)
                for i in range(size):
                    row = begin + i
                    multiply_lanes(drawn, np.int64(first_unit[row]), np.int64(second_unit[row]), w,
                                   np.int64(i))  # fmt: skip
                if weights.size:
                    for i in range(size):
                        for lane in range(LANES):
                            w[i, lane] *= weights[begin + i]
                add_column(w, _ONES, np.int64(size), total)
                for c in range(n_plain):
                    add_column(w, columns[c, begin:], np.int64(size), total[1 + c :])
                if degree:
                    add_polynomials(w, columns[n_plain, begin:], np.int64(size),
                                    total[1 + n_plain :])  # fmt: skip


@kernel
def _sum_nested(
    first_set, last_set, seed, first, n_draws, times, start, cluster, groups, weights, columns,
    degree, out,
):  # fmt: skip
    counts = np.empty((LANES, cluster.size), np.int64)
    drawn = np.empty((BLOCK, LANES), np.float32)
    for place in range(first_set, last_set):
        total = out[place]
        begin = place * LANES
        n_lanes = min(LANES, n_draws.shape[0] - begin)
        for lane in range(n_lanes):
            state = stream_of(seed, first + begin + lane, _MULTINOMIAL)
            _divide_draws(state, start, cluster, n_draws[begin + lane], counts[lane])
        most = 0
        for lane in range(n_lanes):
            for block in range(cluster.size):
                most = max(most, counts[lane, block])
        places = np.empty(most + _PER_NUMBER, np.int32)
        for block in range(cluster.size):
            row = start[block]
            size = start[block + 1] - row
            for i in range(size):
                for lane in range(LANES):
                    drawn[i, lane] = np.float32(0.0)
            for lane in range(n_lanes):
                n_here = counts[lane, block]
                if n_here == 0:
                    continue
                _pick(stream_of(seed, first + begin + lane, block), size, n_here, places)
                count = times[begin + lane, cluster[block]]
                for j in range(n_here):
                    drawn[np.uint64(places[j]), lane] += count
            _sum_lanes(drawn, groups[row:], size, weights[row:], columns[:, row:], degree, total)


@kernel
def _sum_lanes(drawn, groups, size, weights, columns, degree, total):
    """Add a block's rows, drawn so often in each lane, to their groups; weight 0 wins over inf."""
    n_plain = columns.shape[0] - (1 if degree else 0)
    weighted = weights.size > 0
    for i in range(size):
        group = np.uint64(groups[i])
        weight = weights[i] if weighted else 1.0
        for lane in range(LANES):
            total[group, 0, lane] += np.float64(drawn[i, lane]) * weight
        for c in range(n_plain):
            v = columns[c, i]
            for lane in range(LANES):
                w = np.float64(drawn[i, lane]) * weight
                total[group, 1 + c, lane] += w * v if w > 0.0 else 0.0
        if degree:
            t = columns[n_plain, i]
            before = 1.0
            now = t
            for k in range(1 + n_plain, 1 + n_plain + degree):
                for lane in range(LANES):
                    total[group, k, lane] += np.float64(drawn[i, lane]) * weight * now
                before, now = now, 2.0 * t * now - before
