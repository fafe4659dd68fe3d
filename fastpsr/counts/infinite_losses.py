"""Number of samples with an infinite log loss."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastpsr.counts import Step, begin, count
from fastpsr.data import Data, Part


def count_infinite_losses(data: Data) -> int:
    """Return the number of samples with posterior 0 for their class, if its prior is > 0."""
    begin(data)
    counts = count(CountInfinite(data.n_classes).over(data))
    return int(counts[data.priors > 0.0].sum())


@dataclass(frozen=True, eq=False)
class CountInfinite(Step):
    """Count the samples of each class with posterior 0 for this class."""

    n_classes: int
    is_exact = True

    def start(self) -> NDArray[np.int64]:
        return np.zeros(self.n_classes, np.int64)

    def add(self, accumulator: NDArray[np.int64], prepared: None, part: Part) -> NDArray[np.int64]:
        predictions = part.predictions
        if predictions.has_finite_scores:
            return accumulator
        scores, y, weights = predictions.scores, predictions.labels, predictions.weights
        if scores.ndim == 1:
            hopeless = np.where(y == 0, scores == np.inf, scores == -np.inf)
        else:
            hopeless = scores[np.arange(y.size), y] == -np.inf
        if weights.size:
            hopeless &= weights > 0.0
        accumulator += np.bincount(y[hopeless], minlength=self.n_classes)
        return accumulator
