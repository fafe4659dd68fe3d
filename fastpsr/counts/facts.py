"""The first read of data in parts, which collects their facts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr import kernels
from fastpsr.counts.steps import Step
from fastpsr.data.facts import Facts, label_checksum
from fastpsr.data.part import LABELS, Part


@dataclass(frozen=True, eq=False)
class CountRows(Step):
    """Collect the facts of each part, by its number."""

    n_classes: int
    reads = LABELS
    is_exact = True
    takes_all = True

    def start(self) -> dict[int, Any]:
        return {}

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
        total = kernels.reductions.add_exactly(np.stack(exact))
        weights_of_parts = {
            weight for weight, of_part in zip(common, sizes, strict=True) if of_part.any()
        }
        return Facts(
            np.array(n_rows, np.int64), np.stack(sizes), total, np.array(checksums, np.uint64),
            any(weighted), weights_of_parts.pop() if len(weights_of_parts) == 1 else None,
        )  # fmt: skip
