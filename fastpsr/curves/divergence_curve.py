"""Expected divergence of posteriors from a constant posterior, as a function of the constant."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.caching import ByIdentity
from fastpsr.counts import begin, takes_predictions
from fastpsr.counts.sums import MeanSums
from fastpsr.data import Data, Floats, Part
from fastpsr.errors import ArgumentError
from fastpsr.results import Result
from fastpsr.rules import ScoringRule

Distance = Callable[[Floats, Floats], ArrayLike]


@dataclass(frozen=True, eq=False)
class DivergenceCurve(Result):
    """Mean divergence d(r; q_0) of posteriors r from a constant q_0.

    Attributes
    ----------
    points : ndarray of float64, shape (P,)
        Posterior of class 0 in q_0 (q_01 in Ferrer and Ramos, 2024), in the order of the input.
    divergence : ndarray of float64, shape (P,)
        Mean over the samples.
    mean_posterior : float
        Mean posterior of class 0, at which every score divergence has its minimum.
    """

    points: Floats
    divergence: Floats
    mean_posterior: float


@takes_predictions
def divergence_curve(
    predictions: Data,
    divergence: ScoringRule | Distance,
    points: ArrayLike | None = None,
) -> DivergenceCurve:
    """Return the expected divergence of posteriors from a constant, as a function of the constant.

    The divergence of every proper scoring rule has its minimum at the mean of the posteriors.
    Distances with their minimum elsewhere, such as the L1 distance used in calibration errors, are
    not score divergences (Ferrer and Ramos, 2024, appendix B).

    Parameters
    ----------
    predictions : Predictions
        Binary posteriors or likelihoods; labels are only needed if priors are given.
    divergence : ScoringRule or callable
        For a rule its score divergence is used; a callable ``f(r, q)`` takes (N, 2) and (1, 2)
        arrays and returns (N,) distances.
    points : array-like of float, shape (P,), optional
        Posteriors of class 0 strictly between 0 and 1; by default 0.01 to 0.99 in steps of 0.01.

    Returns
    -------
    DivergenceCurve

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, or points out of range.

    Notes
    -----
    All points are computed in one pass over the samples.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors(None, [0.1, 0.2, 0.9])
    >>> curve = fp.divergence_curve(data, fp.rules.Brier(), [0.2, 0.6, 0.8])
    >>> curve.divergence.round(4).tolist(), round(curve.mean_posterior, 4)
    ([0.2867, 0.1267, 0.1667], 0.6)
    >>> l1 = fp.divergence_curve(data, fp.rules.l1_distance, [0.2, 0.6, 0.8])
    >>> l1.divergence.round(4).tolist()
    [0.9333, 0.6667, 0.5333]
    """
    predictions.require_posteriors("score divergences")
    checks.check_binary("divergence curves", predictions.n_classes)
    if not isinstance(divergence, ScoringRule) and not callable(divergence):
        raise ArgumentError("divergence", f"must be a rule or a callable, not {divergence!r}")
    array = np.arange(1, 100) / 100 if points is None else points
    array = checks.as_inner_points(array, 1)
    begin(predictions)
    distance = divergence if isinstance(divergence, ScoringRule) else ByIdentity(divergence)
    means = _Divergences(predictions.n_classes, predictions.given_priors, distance, array).total(
        predictions
    )
    return DivergenceCurve(array, means[1:], float(means[0]))


@dataclass(frozen=True, eq=False)
class _Divergences(MeanSums):
    """The posterior of class 0, and the divergence from each point."""

    divergence: Any  # a rule, or a distance by identity
    points: Floats

    @property
    def n_columns(self) -> int:
        """The posterior, and the divergence from each point."""
        return 1 + self.points.size

    def columns(self, part: Part, *companions: Part) -> Iterator[Floats]:
        samples, r = part.predictions, part.predictions.posteriors
        yield np.ascontiguousarray(r[:, 0])
        for point in self.points:
            q = np.array([[point, 1.0 - point]])
            if isinstance(self.divergence, ScoringRule):
                yield self.divergence.divergence_of_logs(samples.log_posteriors, np.log(q))
            else:
                values = checks.as_floats("divergence", self.divergence.named(r, q), 1)
                checks.check_length("divergence", values.size, len(samples))
                yield values
