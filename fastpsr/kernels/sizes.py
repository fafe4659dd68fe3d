"""Sizes that kernels and their callers share; this module does not import Numba."""

from typing import Any

import numpy as np

DEGREE = 7  # of the highest Chebyshev polynomial on a cell of the axis of scores
LANES = 8  # replicates whose weights lie side by side, so that a row is read once for all


def index_type(n: int) -> type[np.signedinteger[Any]]:
    """Return the integers that hold the numbers 0 to n - 1."""
    return np.int32 if n < 1 << 31 else np.int64
