"""First requests of fits: the range of the scores, and a sample of them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.plans import LABELS, Data, Part, PartitionedPredictions, Step
from fastpsr.predictions import Floats

__all__ = ["LogOddsOffset", "Sample", "SampledRows", "ScoreRange", "Span", "sample_step"]


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

    @property
    def key(self) -> Hashable:
        return "score range"

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        predictions = part.predictions
        low, high = predictions.score_range
        finite_low, finite_high = low, high
        if predictions.weights.size or not (np.isfinite(low) and np.isfinite(high)):
            present = predictions.present()
            finite = present.scores[np.isfinite(present.scores)]
            finite_low = float(finite.min(initial=np.inf))
            finite_high = float(finite.max(initial=-np.inf))
        found = (low, high, finite_low, finite_high)
        return found if accumulator is None else self.merge(accumulator, found)

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
class SampledRows:
    """Some rows of positive weight: scores (n,) or (n, K), labels (n,), and weights (n,)."""

    scores: Floats
    y: NDArray[Any]
    weights: Floats


@dataclass(frozen=True, eq=False)
class Sample(Step):
    """Take every n-th row of each class.

    Attributes
    ----------
    sizes : tuple of int
        Number of rows of each class in the sampled parts.
    size : int
        Approximate number of rows of each class to take.
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    only_parts : tuple of int, or None
    """

    sizes: tuple[int, ...]
    size: int
    floor: float
    only_parts: tuple[int, ...] | None
    is_exact = True

    @property
    def key(self) -> Hashable:
        return ("sample", self.sizes, self.size, self.floor, self.only_parts)

    def start(self) -> dict[int, SampledRows]:
        return {}

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        predictions = part.predictions
        y, weights = predictions.labels, predictions.weights
        taken = []
        for k, n_of_class in enumerate(self.sizes):
            stride = max(1, n_of_class // self.size)
            # every n-th of all rows, since listing the rows of a class is slow for 10 million
            rows = stride * np.flatnonzero(y[::stride] == k)
            if rows.size < y.size * (self.size // 4) // max(sum(self.sizes), 1):
                rows = np.flatnonzero(y == k)[::stride]  # the stride missed all rows of the class
            taken.append(rows)
        rows = np.concatenate(taken)
        if weights.size:
            rows = rows[weights[rows] > 0.0]
        scores = predictions.scores[rows]
        if self.floor:
            scores = np.clip(scores, self.floor, -self.floor if scores.ndim == 1 else None)
        of_rows = weights[rows] if weights.size else np.ones(rows.size)
        accumulator[part.number] = SampledRows(scores, y[rows], of_rows)
        return accumulator

    def merge(self, one: Any, other: Any) -> Any:
        return {**one, **other}

    def finish(self, accumulator: dict[int, SampledRows]) -> SampledRows | None:
        parts = [accumulator[number] for number in sorted(accumulator)]
        if not parts:
            return None
        return SampledRows(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.y for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class LogOddsOffset(Step):
    """Find log-odds minus score of a binary task, a constant that is the same in all parts."""

    reads = LABELS
    is_exact = True

    @property
    def key(self) -> Hashable:
        return "log-odds offset"

    def add(self, accumulator: float | None, prepared: None, part: Part) -> float:
        return part.predictions.log_odds_offset if accumulator is None else accumulator

    def merge(self, one: float, other: float) -> float:
        return one


def sample_step(data: Data, size: int, floor: float) -> Sample:
    """Return a step that takes about `size` rows of each class, from a few parts."""
    if not isinstance(data, PartitionedPredictions):
        weights = data.class_weights
        sizes = tuple(int(n) for n in (data.class_sizes if data.has_weights else weights))
        return Sample(sizes, size, floor, None)
    chosen = data.facts.sampled_parts
    held = tuple(int(n) for n in data.facts.sizes[list(chosen)].sum(axis=0))
    return Sample(held, size, floor, chosen)
