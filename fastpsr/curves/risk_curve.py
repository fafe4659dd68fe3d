"""Bayes risk as a function of the operating point, in binary tasks or on the simplex."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.counts import takes_predictions
from fastpsr.counts.decisions import ThresholdSums
from fastpsr.counts.sums import ClassSums
from fastpsr.curves.at_points import AtPoints
from fastpsr.data import Data, Floats, Part, Predictions, class_factors
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Statistic
from fastpsr.results import Result


@dataclass(frozen=True, eq=False)
class RiskCurve(Result):
    """Bayes risks at operating points.

    Attributes
    ----------
    points : ndarray of float64, shape (P,) or (P, K)
        Operating points, in the order of the input.
    risk : ndarray of float64, shape (P,)
        Bayes risk at each point a for the costs ``[i != j] / ((K - 1) a_i)``, not normalized.
    """

    points: Floats
    risk: Floats


@takes_predictions
def risk_curve(predictions: Data, points: ArrayLike) -> RiskCurve:
    """Return the Bayes risk as a function of the operating point.

    The costs at a point a are ``[i != j] / ((K - 1) a_i)`` (Ferrer and Ramos, 2024, Equation 11,
    with K in place of N). In a binary task class 0 is chosen if its posterior is at least a_1. If
    the curve is weighted by a density over the points, the area under it is an expected score:
    cross-entropy for weight 1, three times the Brier score for weight 6 a_1 (1 - a_1).

    Parameters
    ----------
    predictions : Predictions
        Labeled posteriors or likelihoods.
    points : array-like of float, shape (P,) or (P, K)
        Values of a_1, the first coordinate, strictly between 0 and 1 in binary tasks; or points of
        the simplex without zero entries.

    Returns
    -------
    RiskCurve

    Raises
    ------
    ValueError
        For points outside the open simplex, (P,) points with more than 2 classes, or raw scores.

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
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9])
    >>> fp.risk_curve(data, [0.35, 0.5]).risk.tolist()
    [0.0, 0.5]
    """
    at = _at(predictions, points)
    curve: RiskCurve = at.value_on(predictions)
    return curve


def risk_curve_at(data: Data, points: ArrayLike | None) -> AtPoints:
    """Return the risks at operating points, in binary tasks by default at 201 points.

    The log-odds of the default points go from -10 to 10.
    """
    if points is None:
        if data.n_classes > 2:
            raise ArgumentError("points", "must be given for more than 2 classes")
        points = 1.0 / (1.0 + np.exp(np.linspace(10.0, -10.0, 201)))
    return _at(data, points)


def _at(data: Data, points: ArrayLike) -> AtPoints:
    data.require_posteriors("Bayes risks")
    array = checks.as_inner_points(points, (1, 2))
    n_classes = data.n_classes
    if array.ndim == 2:
        checks.as_posterior_rows("points", array)
        if array.shape[1] != n_classes:
            raise ArgumentError("points", f"must have {n_classes} columns, not {array.shape[1]}")
    elif n_classes > 2:
        raise ArgumentError("points", f"must be of shape (P, {n_classes}) for {n_classes} classes")
    risks: Statistic[Any, Floats]
    if n_classes > 2:
        risks = _RisksOnSimplex(array, data.given_priors)
    else:
        risks = _Risks(array if array.ndim == 1 else array[:, 0].copy(), data.given_priors)
    return AtPoints(partial(RiskCurve, array), {"risk": risks})


@dataclass(frozen=True, eq=False)
class _Risks(Statistic[Floats, Floats]):
    """Bayes risks in a binary task, for costs 1/a_1 (class 0) and 1/(1 - a_1)."""

    points: Floats
    given_priors: Floats | None

    label = "Bayes risk"

    def sums(self, data: Data) -> ThresholdSums:
        ascending = np.unique(self.points)
        return ThresholdSums(_log_odds_of_0, np.log(ascending) - np.log1p(-ascending))

    def finish(self, summary: Floats) -> Floats:
        totals = summary.sum(axis=1)
        shares = summary * (class_factors(totals, self.given_priors) / totals.sum())[:, None]
        missed_0 = np.cumsum(shares[0])[:-1]  # posterior below the point: decided for class 1
        missed_1 = np.cumsum(shares[1][::-1])[::-1][1:]
        ascending, places = np.unique(self.points, return_inverse=True)
        risks = missed_0 / ascending + missed_1 / (1.0 - ascending)
        return np.asarray(risks[places])


def _log_odds_of_0(predictions: Predictions) -> Floats:
    return -predictions.log_odds


@dataclass(frozen=True, eq=False)
class _RisksOnSimplex(Statistic[tuple[Floats, Floats], Floats]):
    """Bayes risks at points of the simplex, of total and misclassified weight of each class."""

    points: Floats
    given_priors: Floats | None

    label = "Bayes risk"

    def sums(self, data: Data) -> "_MissedSums":
        return _MissedSums(data.n_classes, self.points)

    def finish(self, summary: tuple[Floats, Floats]) -> Floats:
        totals, missed = summary
        factors = class_factors(totals, self.given_priors) / totals.sum()
        risks = (missed * factors / self.points).sum(axis=1) / (totals.size - 1)
        return np.asarray(risks)


@dataclass(frozen=True, eq=False)
class _MissedSums(ClassSums):
    """Samples grouped by class; summed is whether they are misclassified at each point."""

    points: Floats

    @property
    def n_columns(self) -> int:
        """Number of points."""
        return len(self.points)

    def columns(self, part: Part, *companions: Part) -> Iterator[Floats]:
        predictions = part.predictions
        for point in self.points:
            decided = (predictions.log_posteriors - np.log(point)).argmax(axis=1)
            yield (decided != predictions.labels).astype(np.float64)

    def assemble(self, weight: Floats, sums: Floats) -> tuple[Floats, Floats]:
        return weight, sums.T
