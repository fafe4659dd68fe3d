"""Rows sorted by group, and cut into blocks."""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, writable
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.sizes import index_type
from fastpsr.kernels.types import Blocks, Codes, Counts

_SMALL = 64  # rows; smaller groups share blocks, since a block costs a binomial draw


def order_by_group(groups: Codes, bounds: Counts) -> Codes:
    """Return the rows, sorted by group and in their order within; `bounds` are (G + 1,)."""
    order = np.empty(groups.size, index_type(groups.size))
    _order_by_group(writable(groups), bounds[:-1].copy(), order)
    return order


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


@kernel
def _order_by_group(groups, next_place, order):
    for row in range(groups.size):
        group = groups[row]
        order[next_place[group]] = row
        next_place[group] += 1


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
