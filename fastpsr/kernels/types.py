"""Types and sizes of arguments and results of kernels; this module does not import Numba.

Labels, codes and folds are integers of any width. Logits of several classes are float64 or float32;
other numbers are float64, and so are sums. Empty `weights` are weights of 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Reals = NDArray[np.floating[Any]]
Codes = NDArray[np.integer[Any]]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Result of ``bucket_grid``.
Grid = tuple[float, float, Codes, Codes, Floats]
#: low, per_unit, n_buckets, node_of_place, nodes
BucketTree = tuple[float, float, int, Codes, Counts]
#: Result of ``cut_into_blocks``.
Blocks = tuple[Counts, Counts, Counts]


DEGREE = 7  # of the highest Chebyshev polynomial on a cell of the axis of scores
LANES = 8  # replicates whose weights lie side by side, so that a row is read once for all


def index_type(n: int) -> type[np.signedinteger[Any]]:
    """Return the integers that hold the numbers 0 to n - 1."""
    return np.int32 if n < 1 << 31 else np.int64
