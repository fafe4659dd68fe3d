"""First requests of fits: a sample of the rows, and the offset of their log-odds."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration.smooth_map import SmoothMap
from fastpsr.calibration.training_priors import TrainingPriors
from fastpsr.plans import LABELS, Data, Part, PartitionedPredictions, Plan, Step
from fastpsr.predictions import Floats

__all__ = ["LogOddsOffset", "rough_fit"]

_THIN = 1 << 12  # samples per class that are enough for a rough fit of one score


@dataclass(frozen=True, eq=False)
class _SampledRows:
    """Some rows of positive weight: scores, labels, and weights, (n,) each."""

    scores: Floats
    y: NDArray[Any]
    weights: Floats


@dataclass(frozen=True, eq=False)
class _Sample(Step):
    """Take every n-th row of each class, about `_THIN` rows of each.

    Attributes
    ----------
    sizes : tuple of int
        Number of rows of each class in the sampled parts.
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    only_parts : tuple of int, or None
    """

    sizes: tuple[int, ...]
    floor: float
    only_parts: tuple[int, ...] | None
    is_exact = True

    @property
    def key(self) -> Hashable:
        return ("sample", self.sizes, self.floor, self.only_parts)

    def start(self) -> dict[int, _SampledRows]:
        return {}

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        predictions = part.predictions
        y, weights = predictions.labels, predictions.weights
        taken = []
        for k, n_of_class in enumerate(self.sizes):
            stride = max(1, n_of_class // _THIN)
            # every n-th of all rows, since listing the rows of a class is slow for 10 million
            rows = stride * np.flatnonzero(y[::stride] == k)
            if rows.size < y.size * (_THIN // 4) // max(sum(self.sizes), 1):
                rows = np.flatnonzero(y == k)[::stride]  # the stride missed all rows of the class
            taken.append(rows)
        rows = np.concatenate(taken)
        if weights.size:
            rows = rows[weights[rows] > 0.0]
        scores = predictions.scores[rows]
        if self.floor:
            scores = np.clip(scores, self.floor, -self.floor)
        of_rows = weights[rows] if weights.size else np.ones(rows.size)
        accumulator[part.number] = _SampledRows(scores, y[rows], of_rows)
        return accumulator

    def merge(self, one: Any, other: Any) -> Any:
        return {**one, **other}

    def finish(self, accumulator: dict[int, _SampledRows]) -> _SampledRows | None:
        parts = [accumulator[number] for number in sorted(accumulator)]
        if not parts:
            return None
        return _SampledRows(
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


def rough_fit(map_: SmoothMap, data: Data, floor: float = 0.0) -> Plan[Floats | None]:
    """Plan: return parameters of a map that was fitted to a sample of the rows.

    None if there is no such fit; the sample may have no optimum where the data have one.
    """
    if isinstance(data, PartitionedPredictions):
        chosen: Any = data.facts.sampled_parts
        sizes = data.facts.sizes[list(chosen)].sum(axis=0)
    else:
        chosen, sizes = None, data.class_sizes if data.has_weights else data.class_weights
    (sample,) = yield [_Sample(tuple(int(n) for n in sizes), floor, chosen).over(data)]
    if sample is None or not np.isfinite(sample.scores).all():
        return None
    of_sample = np.bincount(sample.y, sample.weights, 2)
    if not of_sample.all():
        return None
    priors, scores = TrainingPriors.of(data, map_.prior), sample.scores
    factors = priors.factors(data.class_weights) * data.class_weights / of_sample
    shares = sample.weights * factors[sample.y]
    shares /= shares.sum()
    weights = np.stack([np.where(sample.y == k, shares, 0.0) for k in (0, 1)])[:, None]
    if not weights.any(axis=(1, 2)).all():  # so small beside the other class's that they underflow
        return None
    offset = float(priors.log_odds(data.class_weights))
    start = np.zeros(map_.n_parameters)
    if map_.with_bias:
        start[-1] = np.log(weights[1].sum() / weights[0].sum()) - offset
    origin = map_.origin(float(scores.min()), float(scores.max()))
    with np.errstate(all="ignore"):  # scores near the largest float
        fits = map_.fit_to_nodes(scores - origin, weights, np.array([offset]), start)
    return None if np.isnan(fits).any() else map_.moved(fits[0], -origin)
