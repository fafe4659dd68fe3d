"""Log-odds in fits: the priors that they are at, the floors that clip them, and infinite ones."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from fastpsr import checks, kernels
from fastpsr.counts.scores import Span
from fastpsr.data import Data, Floats, Kind, Part, Predictions, Transform, class_factors, mapped
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


@dataclass(frozen=True, eq=False)
class TrainingPriors:
    """Class priors of a fit, and what moves scores there.

    A fit minimizes the expected loss of calibrated posteriors at these priors. LLRs are moved there
    by their log-odds, and posteriors, which are at the priors of the data, by the difference.

    Attributes
    ----------
    kind : {"posteriors", "likelihoods", "raw scores"}
        What the scores are.
    given : ndarray of float64, shape (K,), or None
        Priors of the data; None for the class frequencies.
    own : ndarray of float64, shape (2,), or None
        Priors of a binary fit; None for those of the data.
    """

    kind: Kind
    given: Floats | None
    own: Floats | None

    @classmethod
    def of(cls, data: Data, prior: float | None) -> Self:
        """Return the priors of a fit to data, at this prior of class 1 or that of the data."""
        own = None if prior is None else np.array([1.0 - prior, prior])
        return cls(data.kind, data.given_priors, own)

    @property
    def weighing(self) -> Floats | None:
        """The priors at which the classes are weighed; None for the class frequencies."""
        return self.given if self.own is None else self.own

    def factors(self, class_weights: Floats) -> Floats:
        """Return the factors on the weights of samples of each class, (K,)."""
        return class_factors(class_weights, self.weighing)

    def offsets(self, class_weights: Floats) -> Floats:
        """Return log-posteriors at the training priors minus scores, but for a constant, (K,)."""
        if self.own is None:
            return log_prior_of(self.kind, class_weights, self.given)
        return np.array([0.0, self.log_odds(class_weights)])

    def log_odds(self, class_weights: Floats) -> Floats:
        """Return log-odds at the training priors minus binary scores, for weights (2, ...)."""
        shape = class_weights.shape[1:]
        if self.kind == "posteriors" and self.own is None:
            return np.zeros(shape)
        of_data = _log_ratio(class_weights if self.given is None else self.given)
        at = of_data if self.own is None else _log_ratio(self.own)
        return np.broadcast_to(at - of_data if self.kind == "posteriors" else at, shape)


def _log_ratio(weights: Floats) -> Floats:
    return np.asarray(np.log(weights[1]) - np.log(weights[0]))


def log_prior_of(kind: Kind, class_weights: Floats, given: Floats | None) -> Floats:
    """Return the log-prior of the training data, or zeros for posteriors, shape (K,)."""
    if kind == "posteriors":
        return np.zeros(class_weights.size)
    priors = class_weights / class_weights.sum() if given is None else given
    if priors.all():
        return checks.log_of_rows(priors)
    # weights do not underflow
    return np.asarray(np.log(class_weights) - np.log(class_weights.sum()))


def prior_log_odds(data: Data) -> float:
    """Return the prior log-odds of the training data, or 0 for posteriors."""
    log_priors = log_prior_of(data.kind, data.class_weights, data.given_priors)
    return float(log_priors[1] - log_priors[0])


def log_odds_of(shares: Floats, others: Floats) -> Floats:
    """Return log(shares / others), infinite if one of them is 0."""
    return checks.log_of_rows(shares) - checks.log_of_rows(others)


@dataclass(frozen=True, eq=False)
class AsPosteriors(Transform):
    """Posteriors at the log-prior of the training data; those that are posteriors stay."""

    log_priors: Floats
    kind: Kind = "posteriors"

    def __call__(self, part: Part) -> Predictions:
        return as_posteriors(part.predictions, self.log_priors)


def as_posteriors(predictions: Predictions, log_priors: Floats) -> Predictions:
    """Return posteriors at log-priors (K,); those that are posteriors stay."""
    if predictions.kind == "posteriors":
        return predictions
    scores = predictions.scores
    if scores.ndim == 1:
        values = scores + (log_priors[1] - log_priors[0])
    else:
        values = np.empty(scores.shape)
        kernels.log_space.normalize_log_rows(scores, log_priors, values)
    return predictions.replace_scores("posteriors", values)
