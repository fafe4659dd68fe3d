"""The number of samples of each class."""

from dataclasses import dataclass

import numpy as np

from fastpsr.counts import Step
from fastpsr.data import LABELS, Floats, Part


@dataclass(frozen=True, eq=False)
class ClassCounts(Step):
    """Count the samples of positive weight of each class, (K,); drawn twice, one counts as two."""

    n_classes: int
    reads = LABELS
    is_exact = True

    def start(self) -> Floats:
        return np.zeros(self.n_classes)

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        samples = part.predictions
        if not samples.weights.size:
            return accumulator + np.bincount(samples.labels, minlength=self.n_classes)
        n_draws = 1.0 if samples.n_draws is None else samples.n_draws
        counts = (samples.weights > 0.0) * n_draws
        return accumulator + np.bincount(samples.labels, counts, self.n_classes)
