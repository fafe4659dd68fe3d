"""Facts of the whole data: sizes, class weights, checksums; and the read that collects them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.data.labeled import Floats
from fastpsr.data.steps import LABELS, CollectParts, Part

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


@dataclass(frozen=True, eq=False)
class CountRows(CollectParts[Facts]):
    """Collect the facts of each part, by its number."""

    n_classes: int
    reads = LABELS
    takes_all = True

    def add(self, accumulator: dict[int, Any], prepared: None, part: Part) -> dict[int, Any]:
        predictions = part.predictions
        y, weights = predictions.labels, predictions.weights
        present = y if not weights.size else y[weights > 0.0]
        sizes = np.bincount(present, minlength=self.n_classes).astype(np.int64)
        exact = np.column_stack([sizes.astype(np.float64), np.zeros(self.n_classes)])
        if weights.size:
            exact = kernels.reductions.sum_exactly_by_group(weights, y, self.n_classes)
        accumulator[part.number] = (
            y.size, sizes, exact, label_checksum(part), weights.size > 0, predictions.common_weight
        )  # fmt: skip
        return accumulator

    def finish(self, rows: dict[int, Any]) -> Facts:
        n_rows, sizes, exact, checksums, weighted, common = zip(
            *(rows[i] for i in sorted(rows)), strict=True
        )
        total = kernels.reductions.sum_of_parts(np.stack(exact)).sum(axis=1)  # rounded once
        weights_of_parts = {
            weight for weight, of_part in zip(common, sizes, strict=True) if of_part.any()
        }
        return Facts(
            np.array(n_rows, np.int64), np.stack(sizes), total, np.array(checksums, np.uint64),
            any(weighted), weights_of_parts.pop() if len(weights_of_parts) == 1 else None,
        )  # fmt: skip
