"""Pool adjacent violators on weighted cells."""

import numpy as np

from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.types import Counts, Floats


def pool_adjacent_violators(negatives: Floats, positives: Floats) -> Counts:
    """Return the first cell of each block of the isotonic fit, from low scores to high.

    Cells come in the order of their scores, with their weights of class 0 and class 1; empty cells
    join no block and start none.
    """
    starts = np.empty(negatives.size, np.int64)
    n_blocks = _pool(negatives, positives, starts)
    return starts[:n_blocks].copy()


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
