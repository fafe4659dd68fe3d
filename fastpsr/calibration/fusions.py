"""Fitted fusions, and the scores that they give to rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.data import Floats


@dataclass(frozen=True, eq=False)
class Fusions:
    """C fitted fusions.

    Attributes
    ----------
    weights : ndarray of float64, shape (C, S)
    bias : ndarray of float64, shape (C, K)
    rank : int
    """

    weights: Floats
    bias: Floats
    rank: int

    def fuse(self, columns: Any, fusion_of_row: NDArray[Any] | None) -> Floats:
        """Return the scores of all rows, each by a fusion; by default by the first.

        Columns are S arrays of shape (n,) or (n, K), or one array (S, n).
        """
        n = len(columns[0])
        by_row: Any = np.zeros(n, np.uint8) if fusion_of_row is None else fusion_of_row
        if columns[0].ndim == 1:
            between = np.ascontiguousarray(self.bias[:, 1] - self.bias[:, 0])
            features = np.asarray(columns, np.float64)
            fused: Floats = kernels.axis.combine_by_part(features, by_row, self.weights, between)
            return fused
        fused = self.bias[by_row]
        for s, column in enumerate(columns):
            fused += self.weights[by_row, s, None] * column
        return fused
