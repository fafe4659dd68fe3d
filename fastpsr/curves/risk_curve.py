"""Bayes risks along the operating points of a binary task, or at points of the simplex."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks, kernels
from fastpsr.predictions import Floats, Predictions, check_predictions, class_factors
from fastpsr.summaries.counts import PassedPoints

__all__ = ["RiskCurve", "risk_curve"]


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """Bayes risks at operating points.

    Attributes
    ----------
    points : ndarray of float64, shape (P,) or (P, K)
        Operating points, in the order asked for.
    risk : ndarray of float64, shape (P,)
        Bayes risk at each for the costs ``[i != j] / ((K - 1) a_i)``, not normalized.
    """

    points: Floats
    risk: Floats


def risk_curve(predictions: Predictions, points: ArrayLike) -> RiskCurve:
    """Return the Bayes risk as a function of the operating point.

    The costs at a point a are ``[i != j] / ((K - 1) a_i)`` (the paper's Equation 11, with K for its
    N). In a binary task class 0 is decided where its posterior is at least a_1. Weighted by a
    density over the points the area under the curve is an expected score: cross-entropy for weight
    1, three Brier scores for weight 6 a_1 (1 - a_1).

    Parameters
    ----------
    predictions : Predictions
        Labeled posteriors or likelihoods.
    points : array-like of float, shape (P,) or (P, K)
        Values of a_1 strictly between 0 and 1 in binary tasks, or points of the simplex with no
        zero entry.

    Returns
    -------
    RiskCurve

    Raises
    ------
    ValueError
        For points outside the open simplex, (P,) points with more than 2 classes, or raw scores.

    Notes
    -----
    One pass over the samples for all points in binary tasks; else a pass per point.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9])
    >>> fp.risk_curve(data, [0.35, 0.5]).risk.tolist()
    [0.0, 0.5]
    """
    check_predictions(predictions)
    predictions.require_posteriors("Bayes risks")
    array = checks.as_inner_points(points, (1, 2))
    n_classes = predictions.n_classes
    if array.ndim == 2:
        checks.as_posterior_rows("points", array)
        if array.shape[1] != n_classes:
            raise ValueError(f"points must have {n_classes} columns, not {array.shape[1]}")
        if n_classes > 2:
            return RiskCurve(array, _risks_on_simplex(predictions, array))
    elif n_classes > 2:
        raise ValueError(f"points must be of shape (P, {n_classes}) for {n_classes} classes")
    along = array if array.ndim == 1 else np.ascontiguousarray(array[:, 0])
    ascending, places = np.unique(along, return_inverse=True)
    return RiskCurve(array, PassedPoints.of(ascending, predictions).risks()[places])


def _risks_on_simplex(predictions: Predictions, points: Floats) -> Floats:
    y, weights, n_classes = predictions.labels, predictions.weights, predictions.n_classes
    totals = predictions.class_weights
    factors = class_factors(totals, predictions.given_priors) / totals.sum()
    risks = np.empty(points.shape[0])
    for place, point in enumerate(points):
        _, decided = kernels.top_classes(predictions.log_posteriors - np.log(point))
        missed = kernels.sum_by_class((decided != y).astype(np.float64), y, weights, n_classes)
        risks[place] = (missed * factors / point).sum() / (n_classes - 1)
    return risks
