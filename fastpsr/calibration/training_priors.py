"""The priors at which fits of smooth maps weigh the classes."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from fastpsr.calibration.base import log_prior_of
from fastpsr.data import Data, Floats, Kind, class_factors


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
