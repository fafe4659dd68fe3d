"""Log-odds in fits: the priors that they are at, and the floors that clip them."""

from dataclasses import dataclass

import numpy as np

from fastpsr import checks, kernels
from fastpsr.data import Data, Floats, Kind, Part, Predictions, Transform, mapped
from fastpsr.errors import ArgumentError


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
    """Return the clipped data, the data themselves without a floor.

    Data in parts are clipped when they are read.
    """
    clipped: Data = mapped(data, _Floored(floor)) if floor else data
    return clipped


@dataclass(frozen=True, eq=False)
class _Floored(Transform):
    floor: float

    def __call__(self, part: Part) -> Predictions:
        return floored(part.predictions, self.floor)


def log_prior_of(kind: Kind, class_weights: Floats, given_priors: Floats | None) -> Floats:
    """Return the log-prior of the training data, or zeros for posteriors, shape (K,)."""
    if kind == "posteriors":
        return np.zeros(class_weights.size)
    priors = class_weights / class_weights.sum() if given_priors is None else given_priors
    if priors.all():
        return checks.log_of_rows(priors)
    # weights do not underflow
    return np.asarray(np.log(class_weights) - np.log(class_weights.sum()))


def prior_log_odds(data: Data) -> float:
    """Return the prior log-odds of the training data, or 0 for posteriors."""
    log_priors = log_prior_of(data.kind, data.class_weights, data.given_priors)
    return float(log_priors[1] - log_priors[0])


def log_odds_of(shares: Floats, other_shares: Floats) -> Floats:
    """Return log(shares / others), infinite if either is 0."""
    return checks.log_of_rows(shares) - checks.log_of_rows(other_shares)


@dataclass(frozen=True, eq=False)
class AsPosteriors(Transform):
    """Posteriors at the log-prior of the training data; input posteriors stay unchanged."""

    log_priors: Floats
    kind: Kind = "posteriors"

    def __call__(self, part: Part) -> Predictions:
        return as_posteriors(part.predictions, self.log_priors)


def as_posteriors(predictions: Predictions, log_priors: Floats) -> Predictions:
    """Return posteriors at log-priors (K,); input posteriors stay unchanged."""
    if predictions.kind == "posteriors":
        return predictions
    scores = predictions.scores
    if scores.ndim == 1:
        values = scores + (log_priors[1] - log_priors[0])
    else:
        values = np.empty(scores.shape)
        kernels.log_space.normalize_log_rows(scores, log_priors, values)
    return predictions.replace_scores("posteriors", values)
