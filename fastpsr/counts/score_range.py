"""The range of the scores, and the highest of them between thresholds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr import kernels
from fastpsr.counts import Step
from fastpsr.data import Floats, Part


@dataclass(frozen=True, eq=False)
class Span:
    """Lowest and highest score.

    Attributes
    ----------
    low, high : float
        May be infinite.
    finite_low, finite_high : float
        Range of the finite scores of positive weight; (0, 0) if there are none.
    """

    low: float
    high: float
    finite_low: float
    finite_high: float

    @property
    def is_finite(self) -> bool:
        """Whether all scores are finite."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


@dataclass(frozen=True, eq=False)
class ScoreRange(Step):
    """Find the range of the scores."""

    is_exact = True
    is_kept = True

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        predictions = part.predictions
        low, high = predictions.score_range
        finite_low, finite_high = low, high
        weights, is_finite = predictions.weights, np.isfinite(low) and np.isfinite(high)
        if weights.size or not is_finite:
            finite = predictions.scores
            if weights.size:
                finite = finite[weights > 0.0]
            if not is_finite:
                finite = finite[np.isfinite(finite)]
            finite_low = float(finite.min(initial=np.inf))
            finite_high = float(finite.max(initial=-np.inf))
        score_range = (low, high, finite_low, finite_high)
        return score_range if accumulator is None else self.merge(accumulator, score_range)

    def merge(self, one: Any, other: Any) -> Any:
        return (
            min(one[0], other[0]), max(one[1], other[1]),
            min(one[2], other[2]), max(one[3], other[3]),
        )  # fmt: skip

    def finish(self, accumulator: Any) -> Span:
        low, high, finite_low, finite_high = accumulator
        if finite_low > finite_high:
            finite_low = finite_high = 0.0
        return Span(low, high, finite_low, finite_high)


@dataclass(frozen=True, eq=False)
class HighestInSteps(Step):
    """Find the highest score in each step: before the first edge, and from each edge on."""

    edges: Floats

    is_exact = True

    def prepare(self) -> Any:
        return kernels.cells.bucket_grid(self.edges)

    def start(self) -> Floats:
        return np.full(self.edges.size + 1, -np.inf)

    def add(self, accumulator: Floats, prepared: Any, part: Part) -> Floats:
        predictions = part.predictions
        kernels.cells.highest_in_steps(
            predictions.scores, predictions.weights, prepared, accumulator
        )
        return accumulator

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.maximum(one, other, out=one)
