"""What every calibrator offers."""

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from fastpsr import checks
from fastpsr.calibration.folds import Plan
from fastpsr.predictions import Floats, Kind, Predictions, check_predictions
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.summands import Summands
from fastpsr.summaries.sums import ScoreSums

__all__ = [
    "Calibrator",
    "check_floor",
    "clip_log_odds",
    "log_odds_of",
    "log_prior",
    "prior_log_odds",
    "require_fitted",
    "training_samples",
]


class Calibrator(ABC):
    """A map from a classifier's output to calibrated output, trained on labeled predictions.

    ``fit`` returns a fitted copy; the original stays as it was. Fitted on posteriors it maps
    log-posteriors to log-posteriors; fitted on likelihoods or raw scores it returns LLRs (or
    log-likelihoods), from which the receiver's prior makes posteriors.
    """

    #: Attributes that fitting sets, for saving.
    fitted_names: ClassVar[tuple[str, ...]] = ()
    #: Whether it looks at posteriors as they were given, not only at their logarithms.
    bins_posteriors: ClassVar[bool] = False
    #: Whether it takes two classes and no more.
    binary_only: ClassVar[bool] = False
    domain_: Kind

    def check_classes(self, n_classes: int) -> None:
        """Raise for more than two classes where the calibrator takes no more."""
        if self.binary_only and n_classes > 2:
            raise ValueError(f"{type(self).__name__} needs a binary task, not {n_classes} classes")

    def fit(self, predictions: Predictions) -> Self:
        """Return a copy fitted to labeled predictions.

        Sample weights count, and given priors do through the weights they imply. Samples of
        weight 0 are as if absent.

        Raises
        ------
        ValueError
            For unlabeled data, a class without samples, or what the calibrator cannot fit.
        """
        return self.fit_from(predictions, None)

    def fit_from(self, predictions: Predictions, start: Self | None) -> Self:
        """Return a fitted copy whose search begins at another fit, `start`."""
        check_predictions(predictions)
        self.check_classes(predictions.n_classes)
        samples = training_samples(predictions)
        fitted = copy.copy(self)
        with np.errstate(
            all="ignore"
        ):  # of scores near the largest float: what is found is checked
            found = self._fit(samples, start)
        for name, value in {**found, "domain_": samples.kind}.items():
            object.__setattr__(fitted, name, value)
        return fitted

    def transform(self, predictions: Predictions) -> Predictions:
        """Return calibrated predictions of the same samples; labels are not needed.

        Raises
        ------
        ValueError
            Before ``fit``, or for predictions of another kind than those it was fitted on.
        """
        check_predictions(predictions)
        if not hasattr(self, "domain_"):
            raise ValueError(f"{type(self).__name__} must be fitted before it transforms")
        if predictions.kind != self.domain_:
            raise ValueError(
                f"predictions must be {self.domain_}, as those {type(self).__name__} was fitted "
                f"on, not {predictions.kind}"
            )
        self.check_classes(predictions.n_classes)
        with np.errstate(over="ignore"):  # beyond the largest float: certain
            return self._transform(predictions)

    # What a calibrator can do faster than fit by fit; None where it cannot, for these data

    def cross_fit_at_once(self, predictions: Predictions, plan: Plan) -> Predictions | None:
        """Return the predictions, each calibrated by a fit to those that may train it."""
        return None

    def refitted_sums(
        self, rule: ScoringRule, plan: Plan, predictions: Predictions
    ) -> ScoreSums | None:
        """Return the summed losses after cross-fitting."""
        return None

    def refit_summands(
        self, rule: ScoringRule, plan: Plan, predictions: Predictions
    ) -> Summands | None:
        """Return summands of raw losses and of those after a fit to the very replicate."""
        return None

    @property
    def output_kind(self) -> Kind:
        """What ``transform`` returns: posteriors for posteriors, else likelihoods."""
        return "posteriors" if self.domain_ == "posteriors" else "likelihoods"

    @abstractmethod
    def check_fitted(self) -> None:
        """Raise unless the fitted attributes, read from a file, can be those of a fit."""

    @abstractmethod
    def _fit(self, samples: Predictions, start: Self | None) -> dict[str, Any]:
        """Return the fitted attributes by name."""

    @abstractmethod
    def _transform(self, predictions: Predictions) -> Predictions:
        """Return calibrated predictions of the right kind."""


def training_samples(predictions: Predictions) -> Predictions:
    """Return the samples of positive weight, after checking that every class has some."""
    given = predictions.given_priors
    if given is not None and not given.all():
        raise ValueError(f"priors must be positive to fit a calibrator, not {given.tolist()}")
    absent = np.flatnonzero(predictions.class_weights == 0.0)
    if absent.size:
        raise ValueError(
            f"a calibrator needs samples of every class, but class {absent[0]} has none "
            "of positive weight"
        )
    return predictions.present()


def log_prior(samples: Predictions) -> Floats:
    """Return the training log-prior where the data are not posteriors, else zeros, shape (K,)."""
    if samples.kind == "posteriors":
        return np.zeros(samples.n_classes)
    priors = samples.priors
    if priors.all():
        return checks.log_of_rows(priors)
    weights = samples.class_weights  # do not underflow
    return np.asarray(np.log(weights) - np.log(weights.sum()))


def prior_log_odds(samples: Predictions) -> float:
    """Return what turns LLRs into training log-odds; 0 for posteriors."""
    log_priors = log_prior(samples)
    return float(log_priors[1] - log_priors[0])


def require_fitted(name: str, holds: object) -> None:
    """Raise unless a fitted attribute is as it should be."""
    if not holds:
        raise ValueError(f"{name} is not what a fit leaves")


def clip_log_odds(log_odds: Floats, floor: float) -> Floats:
    """Clip log-odds so that both posteriors are at least `floor`."""
    if floor == 0.0:
        return log_odds
    most = float(np.log1p(-floor) - np.log(floor))
    return np.clip(log_odds, -most, most)


def check_floor(floor: object) -> None:
    """Raise unless the floor is a posterior that leaves a choice."""
    if not 0.0 <= checks.as_number("floor", floor) < 0.5:
        raise ValueError(f"floor must lie in 0 to 0.5 (excluded), not {floor}")


def log_odds_of(shares: Floats, others: Floats) -> Floats:
    """Return log(shares / others), infinite where one of them is 0."""
    return checks.log_of_rows(shares) - checks.log_of_rows(others)


def check_calibrator(calibrator: object) -> None:
    """Raise unless this is a calibrator."""
    checks.check_instance("calibrator", calibrator, Calibrator, "a calibrator, such as PAV()")
