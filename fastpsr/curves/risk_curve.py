"""Bayes risk as a function of the operating point, in binary tasks or on the simplex."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks, kernels
from fastpsr.errors import ArgumentError
from fastpsr.plans import Data, Part, Plan, Step, begin, check_data, run
from fastpsr.predictions import Floats, class_factors
from fastpsr.results import Result
from fastpsr.summaries.counts import PassedPoints

__all__ = ["RiskCurve", "risk_curve", "risk_curve_plan"]


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
    check_data(predictions)
    predictions.require_posteriors("Bayes risks")
    array = checks.as_inner_points(points, (1, 2))
    n_classes = predictions.n_classes
    if array.ndim == 2:
        checks.as_posterior_rows("points", array)
        if array.shape[1] != n_classes:
            raise ArgumentError("points", f"must have {n_classes} columns, not {array.shape[1]}")
    elif n_classes > 2:
        raise ArgumentError("points", f"must be of shape (P, {n_classes}) for {n_classes} classes")
    return run(lambda: risk_curve_plan(predictions, array))


def risk_curve_plan(data: Data, points: Floats) -> Plan[RiskCurve]:
    """Plan: request the weights of the misclassified samples, and return the curve."""
    yield from begin(data)
    if data.n_classes > 2:
        (missed,) = yield [WeighMissed(points).over(data)]
        totals = data.class_weights
        factors = class_factors(totals, data.given_priors) / totals.sum()
        risks = [(row * factors / point).sum() for row, point in zip(missed, points, strict=True)]
        return RiskCurve(points, np.array(risks) / (data.n_classes - 1))
    along = points if points.ndim == 1 else np.ascontiguousarray(points[:, 0])
    ascending, places = np.unique(along, return_inverse=True)
    (passed,) = yield [CountPassed(ascending).over(data)]
    return RiskCurve(points, passed.risks()[places])


@dataclass(frozen=True, eq=False)
class CountPassed(Step):
    """Count how many ascending operating points each posterior of class 0 reaches."""

    points: Floats

    @property
    def key(self) -> Hashable:
        return ("points passed", self.points.tobytes())

    def add(self, accumulator: PassedPoints | None, prepared: None, part: Part) -> PassedPoints:
        counts = PassedPoints.of(self.points, part.predictions)
        return counts if accumulator is None else accumulator.merge(counts)

    def merge(self, one: PassedPoints, other: PassedPoints) -> PassedPoints:
        return one.merge(other)


@dataclass(frozen=True, eq=False)
class WeighMissed(Step):
    """Sum the weights of misclassified samples of each class at points of the simplex, (P, K)."""

    points: Floats

    @property
    def key(self) -> Hashable:
        return ("weight missed", self.points.tobytes())

    def start(self) -> Floats:
        return np.zeros(self.points.shape)

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        predictions = part.predictions
        y, weights, n_classes = predictions.labels, predictions.weights, predictions.n_classes
        for place, point in enumerate(self.points):
            _, decided = kernels.top_classes(predictions.log_posteriors - np.log(point))
            missed = (decided != y).astype(np.float64)
            accumulator[place] += kernels.sum_by_class(missed, y, weights, n_classes)
        return accumulator
