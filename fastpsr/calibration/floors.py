"""Floors: where posteriors are clipped, and what replaces infinite scores in fits."""

from dataclasses import dataclass

import numpy as np

from fastpsr import checks
from fastpsr.counts.scores import Span
from fastpsr.data import Data, Floats, Part, Predictions, Transform, mapped
from fastpsr.errors import ArgumentError

LOG_FLOOR = float(np.log(1e-30))


def clip_log_odds(log_odds: Floats, floor: float) -> Floats:
    """Clip log-odds so that both posteriors are at least `floor`."""
    if floor == 0.0:
        return log_odds
    most = float(np.log1p(-floor) - np.log(floor))
    return np.clip(log_odds, -most, most)


def floored(predictions: Predictions, floor: float) -> Predictions:
    """Return predictions clipped as by ``from_posteriors(..., floor=floor)``.

    Likelihoods are clipped as posteriors at equal priors, so that the result does not depend on the
    priors.

    Raises
    ------
    ArgumentError
        For raw scores, which have no posteriors.
    """
    if floor == 0.0:
        return predictions
    if predictions.kind == "raw scores":
        raise ArgumentError(
            "floor",
            f"must be 0 for raw scores, which have no posteriors to clip, not {floor}",
            remedy="use PAV(floor=...), which clips what it returns",
        )

    def clip() -> Predictions:
        scores = predictions.scores
        if scores.ndim == 1:
            values = clip_log_odds(scores, floor)
        else:
            is_log_q = predictions.kind == "posteriors"
            rows = scores if is_log_q else checks.log_softmax("scores", scores)[0]
            values = checks.clip_log_rows(rows, floor, np.empty(rows.shape))
        return predictions.replace_scores(predictions.kind, values)

    clipped: Predictions = predictions.remember(("floored", floor), clip)
    return clipped


def with_floor(data: Data, floor: float) -> Data:
    """Return the clipped data; data in parts are clipped when they are read."""
    clipped: Data = mapped(data, _Floored(floor)) if floor else data
    return clipped


def floor_of(span: Span, n_classes: int) -> float:
    """Return the value that replaces -inf: log(1e-30), or the least finite score if lower."""
    low = span.finite_low
    if n_classes == 2:  # -log-odds are the log-odds of the other class
        low = min(low, -span.finite_high)
    return min(LOG_FLOOR, low)


def has_common_floor(span: Span, n_classes: int) -> bool:
    """Whether any of the samples have the floor of all."""
    return span.is_finite or floor_of(span, n_classes) == LOG_FLOOR


@dataclass(frozen=True, eq=False)
class _Floored(Transform):
    floor: float

    def __call__(self, part: Part) -> Predictions:
        return floored(part.predictions, self.floor)
