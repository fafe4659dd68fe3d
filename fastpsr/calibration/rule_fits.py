"""Affine fits under rules other than the log rule, by scipy's BFGS from several points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.data import Floats
from fastpsr.rules.base import ScoringRule

_FLAT = 1e-9  # gradient per sample at which a search ends
_NEARBY = 0.1  # how far a root of the gradient may lie from there, by coordinate
_ROUNDING = 1e-14  # share of a loss


@dataclass(frozen=True, eq=False)
class MeanLoss:
    """The mean loss of samples whose log-posteriors are affine in their scores.

    It is a function of points ``(scale, shift)`` for the log-odds of two classes, and of
    ``(scale, shifts)``, with a shift of each class but the first, for several.

    Attributes
    ----------
    rule : ScoringRule
    scores : ndarray of float64, shape (N,), or (N, K) for several classes
        May be infinite.
    finite : ndarray of float64, of the same shape
        What fits take in place of the scores.
    y : ndarray of int, shape (N,)
    shares : ndarray of float64, shape (N,)
        Weights; their sum is 1.
    """

    rule: ScoringRule
    scores: Floats
    finite: Floats
    y: NDArray[Any]
    shares: Floats

    def at(self, point: Floats) -> float:
        """Return the mean loss of the finite scores."""
        return self._mean(self._log_posteriors(self.finite, point))

    def true_at(self, point: Floats) -> float:
        """Return the mean loss of the scores as they are."""
        # a scale of 0 or below would convert -inf to nan or inf
        scores = self.scores if point[0] > 0.0 else self.finite
        return self._mean(self._log_posteriors(scores, point))

    def with_slopes(self, point: Floats) -> tuple[float, Floats | None]:
        """Return the mean loss of the finite scores, and its gradient if the rule has one."""
        log_q = self._log_posteriors(self.finite, point)
        if log_q.ndim == 1:
            slopes = self.rule.binary_slopes(log_q, self.y)
        else:
            slopes = self.rule.slopes(log_q, self.y)
        if slopes is None:
            return self._mean(log_q), None
        weighted = (self.shares * slopes.T).T
        by_shift = weighted.sum(axis=0)
        by_shift = by_shift[None] if log_q.ndim == 1 else by_shift[1:]
        return self._mean(log_q), np.concatenate([[(weighted * self.finite).sum()], by_shift])

    def _mean(self, log_q: Floats) -> float:
        if log_q.ndim == 1:
            losses = self.rule.binary_losses(log_q, self.y)
        else:
            losses = self.rule.losses_at(log_q, self.y)
        value = float(np.where(self.shares, losses * self.shares, 0.0).sum())
        return np.inf if np.isnan(value) else value

    def _log_posteriors(self, scores: Floats, point: Floats) -> Floats:
        """Return log-odds (N,) of two classes, log-posteriors (N, K) of several."""
        log_q: Floats = point[0] * scores
        if scores.ndim == 1:
            return np.asarray(log_q + point[1])
        kernels.log_space.normalize_log_rows(log_q, np.concatenate([[0.0], point[1:]]), log_q)
        return log_q


def fit_under_rule(loss: MeanLoss, optimum: Floats, offsets: Floats) -> Floats:
    """Return the scale and biases of least mean loss at the training priors.

    Searches begin at the optimum for the log rule, and at the identity and the best constant where
    these are better than the end of the first. The result is never worse than any of these.

    Parameters
    ----------
    loss : MeanLoss
    optimum : ndarray of float64, shape (2,), or (1 + K,) for several classes
        Scale, and bias of the log-odds or biases of the classes, for the log rule.
    offsets : ndarray of float64, shape (K,)
        What is added to the scores for log-posteriors at the training priors.
    """
    scale, bias = optimum[0], optimum[1:]
    to_prior = offsets[1:] - offsets[0]
    log_shares = np.log(np.bincount(loss.y, loss.shares, offsets.size))
    starts = [
        np.concatenate([[scale], (bias if bias.size == 1 else bias[1:] - bias[0]) + to_prior]),
        np.concatenate([[1.0], to_prior]),
        np.concatenate([[0.0], log_shares[1:] - log_shares[0]]),
    ]
    with np.errstate(all="ignore"):  # steps may overflow
        ends = [_end_of_search(loss, starts[0])]
        least = loss.at(ends[0])
        ends += [_end_of_search(loss, start) for start in starts[1:] if loss.at(start) < least]
        best = min([*ends, *starts], key=loss.true_at)
    shifts = best[1:] - to_prior
    if bias.size > 1:
        shifts = np.concatenate([[0.0], shifts])
        shifts -= shifts.mean()
    return np.concatenate([best[:1], shifts])


def _end_of_search(loss: MeanLoss, start: Floats) -> Floats:
    from scipy.optimize import minimize, root

    with_slopes: Any = loss.with_slopes
    if with_slopes(start)[1] is None:
        return np.asarray(minimize(loss.at, start, method="BFGS", jac="3-point").x)

    def slopes(point: Any) -> Any:
        return with_slopes(point)[1]

    end = minimize(with_slopes, start, method="BFGS", jac=True, options={"gtol": _FLAT})
    flat = root(slopes, end.x).x  # the value has only half of the digits of where it is least
    # where the optimum is at infinity, a root lies anywhere on the flat
    is_nearby = np.abs(flat - end.x).max() <= _NEARBY
    is_better = is_nearby and loss.at(flat) <= (1.0 + _ROUNDING) * end.fun
    return np.asarray(flat if is_better else end.x)
