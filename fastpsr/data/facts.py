"""Facts of the whole data: sizes, class weights, checksums."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.data.labeled import Floats
from fastpsr.data.part import Part

#: Parts that samples look at, for each class.
SAMPLED_PARTS = 8


@dataclass(frozen=True, eq=False)
class Facts:
    """The table of facts of data in P parts.

    Attributes
    ----------
    n_rows : ndarray of int64, shape (P,)
    sizes : ndarray of int64, shape (P, K)
        Number of rows of positive weight, by class.
    class_weights : ndarray of float64, shape (K,)
        Total weight of each class in the whole, whatever the order of the parts.
    checksums : ndarray of uint64, shape (P,)
        Of labels and weights, and their order.
    has_weights : bool
    common_weight : float or None
        Weight of all rows of positive weight; None if these have different weights.
    """

    n_rows: NDArray[np.int64]
    sizes: NDArray[np.int64]
    class_weights: Floats
    checksums: NDArray[np.uint64]
    has_weights: bool
    common_weight: float | None

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """Number of rows before each part, and of all, (P + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_rows)])

    @property
    def sampled_parts(self) -> tuple[int, ...]:
        """Numbers of the few parts that samples look at: spread over the rows of each class."""
        parts: set[int] = set()
        for of_class in self.sizes.T:
            before = np.cumsum(of_class)
            if before[-1]:
                wanted = (np.arange(SAMPLED_PARTS) + 0.5) / SAMPLED_PARTS * before[-1]
                parts.update(np.searchsorted(before, wanted, side="right").tolist())
        return tuple(sorted(parts))

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Number of rows of positive weight of each class before each part, and of all."""
        nothing = np.zeros((1, self.sizes.shape[1]), np.int64)
        return np.concatenate([nothing, np.cumsum(self.sizes, axis=0)])


def label_checksum(part: Part) -> int:
    """Return a number that changes with the labels, the weights, and their order."""

    def compute() -> int:
        predictions = part.predictions
        return kernels.checking.checksum(predictions.labels, predictions.weights)

    return int(part.remember("label checksum", compute))
