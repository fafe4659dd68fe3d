"""Expected divergence of posteriors from one fixed posterior, as that one moves."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.predictions import Floats, Predictions, check_predictions, class_factors
from fastpsr.rules import ScoringRule

__all__ = ["DivergenceCurve", "divergence_curve"]

Distance = Callable[[Floats, Floats], ArrayLike]


@dataclass(frozen=True, eq=False)
class DivergenceCurve:
    """Mean divergence d(r; q_0) of posteriors r from a constant q_0.

    Attributes
    ----------
    points : ndarray of float64, shape (P,)
        Posterior of class 0 in q_0 (the paper's q_01), in the order asked for.
    divergence : ndarray of float64, shape (P,)
        Mean over the samples.
    mean_posterior : float
        Mean posterior of class 0: where every score divergence has its minimum.
    """

    points: Floats
    divergence: Floats
    mean_posterior: float


def divergence_curve(
    predictions: Predictions,
    divergence: ScoringRule | Distance,
    points: ArrayLike | None = None,
) -> DivergenceCurve:
    """Return the expected divergence of posteriors from a constant, as a function of the constant.

    The mean of the posteriors is the best constant under the divergence of any proper scoring rule,
    and under nothing else: distances that have their minimum elsewhere, such as the L1 distance
    that calibration errors rest on, are not score divergences (the paper's appendix B).

    Parameters
    ----------
    predictions : Predictions
        Binary posteriors or likelihoods; labels are needed only where priors are given.
    divergence : ScoringRule or callable
        A rule stands for its divergence; a callable ``f(r, q)`` takes (N, 2) and (1, 2) arrays and
        returns (N,) distances.
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
    A pass over the samples per point.

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
    check_predictions(predictions)
    predictions.require_posteriors("score divergences")
    if predictions.n_classes > 2:
        raise ValueError(
            f"divergence curves need a binary task, not {predictions.n_classes} classes"
        )
    if not isinstance(divergence, ScoringRule) and not callable(divergence):
        raise ValueError(f"divergence must be a rule or a callable, not {divergence!r}")
    array = np.arange(1, 100) / 100 if points is None else points
    array = checks.as_inner_points(array, 1)
    samples = predictions.present()
    shares = _shares(samples)
    r = samples.posteriors
    means = np.empty(array.size)
    for place, point in enumerate(array):
        q = np.array([[point, 1.0 - point]])
        if isinstance(divergence, ScoringRule):
            values = divergence.divergence_of_logs(samples.log_posteriors, np.log(q))
        else:
            values = checks.as_floats("divergence", divergence(r, q), 1)
            checks.check_length("divergence", values.size, len(samples))
        means[place] = (shares * values).sum()
    return DivergenceCurve(array, means, float((shares * r[:, 0]).sum()))


def _shares(samples: Predictions) -> Floats:
    """Return what each sample weighs in a mean at the priors."""
    weights = samples.weights if samples.weights.size else np.ones(len(samples))
    if samples.given_priors is not None:
        weights = (
            weights * class_factors(samples.class_weights, samples.given_priors)[samples.labels]
        )
    return np.asarray(weights / weights.sum())
