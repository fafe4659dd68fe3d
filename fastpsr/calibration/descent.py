"""Affine fits under rules other than the log rule, by descent from several starting points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr.calibration.objective import Asked, bfgs, in_lockstep
from fastpsr.calibration.row_fits import RowFits
from fastpsr.calibration.smooth_map import WeightedScores
from fastpsr.plans import Plan, run
from fastpsr.predictions import Floats
from fastpsr.rules.base import ScoringRule

__all__ = ["fit_under_rule", "fits_to_sums_under_rule"]

#: Plan: given numbers of fits, and a point of each, (value, gradient) of each.
_Ask = Callable[[list[int], list[Asked]], Plan[list[tuple[Any, Any]]]]


def fit_under_rule(rule: ScoringRule, fits: RowFits, scale: float, bias: Floats) -> Plan[Floats]:
    """Plan: return scales and biases, (4, 1 + K): the best, and where descents began.

    These are the optimum for the log rule (`scale` and `bias`), the identity, and the best
    constant. The descent begins at the first; at another only if that is better than its end.

    Parameters
    ----------
    rule : ScoringRule
    fits : RowFits
        Of a single calibrator under the log rule.
    scale : float
    bias : ndarray of float64, shape (K,)
    """
    targets = fits.targets
    offset = targets.offsets[0]
    shares = targets.weights[0] * targets.factors[0] / targets.sizes[0]
    starts = [
        np.concatenate([[scale], bias + offset]),
        np.concatenate([[1.0], offset]),
        np.concatenate([[0.0], np.log(shares)]),
    ]

    def ask(numbers: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
        return (yield from fits.sums(numbers, asked, rule))

    (best,) = yield from _descend([starts], ask)
    candidates = np.stack([best, *starts])
    biases = candidates[:, 1:] - offset
    candidates[:, 1:] = biases - biases.mean(axis=1, keepdims=True)
    return candidates


def fits_to_sums_under_rule(
    rule: ScoringRule, sums: WeightedScores, weights: Floats, prior_log_odds: Floats, at: Floats
) -> Floats:
    """Return the parameters (C, 2) of binary fits, as :func:`fit_under_rule` finds them.

    Parameters
    ----------
    rule : ScoringRule
        With slopes.
    sums : WeightedScores
    weights : ndarray of float64, shape (2, C, Q)
        Of each class, in each fit.
    prior_log_odds : ndarray of float64, shape (C,)
    at : ndarray of float64, shape (C, 2)
        Parameters of the optimum for the log rule.
    """
    weights = weights / weights.sum(axis=(0, 2))[:, None]
    scores, origin = sums.scores + sums.origin, sums.origin
    nodes = _Nodes(rule, scores, scores + sums.infinite, weights)
    starts = [
        [
            _centered(scale, bias - scale * origin + prior),
            _centered(1.0, prior),
            np.concatenate([[0.0], np.log(shares)]),
        ]
        for (scale, bias), prior, shares in zip(
            at, prior_log_odds, weights.sum(axis=2).T, strict=True
        )
    ]

    def ask(numbers: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
        return nodes.sums(numbers, asked)
        yield

    best = run(lambda: _descend(starts, ask))
    if sums.infinite.any():  # which fits replace: the true losses decide
        candidates = [[each, *of_fit] for each, of_fit in zip(best, starts, strict=True)]
        best = [nodes.best_of(number, points) for number, points in enumerate(candidates)]
    points = np.stack(best)
    biases = points[:, 2] - points[:, 1] + points[:, 0] * origin - prior_log_odds
    return np.column_stack([points[:, 0], biases])


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Scores that stand for samples, for mean losses at scales and biases.

    Attributes
    ----------
    rule : ScoringRule
    scores, own : ndarray of float64, shape (Q,)
        What fits take, and the samples' own, which may be infinite.
    weights : ndarray of float64, shape (2, C, Q)
        Of each class, in each fit; the sum of a fit is 1.
    """

    rule: ScoringRule
    scores: Floats
    own: Floats
    weights: Floats

    def sums(self, numbers: list[int], asked: list[Asked]) -> list[tuple[float, Floats]]:
        """Return the mean loss of fits, each at a point, and its gradient."""
        points = np.stack([each.point for each in asked])
        log_odds = points[:, :1] * self.scores + (points[:, 2] - points[:, 1])[:, None]
        values, gradients = np.zeros(len(points)), np.zeros(points.shape)
        for k, weights in enumerate(self.weights[:, numbers]):
            y = np.full(log_odds.size, k, np.uint8)
            losses = self.rule.binary_losses(log_odds.ravel(), y).reshape(log_odds.shape)
            values += np.einsum("cq,cq->c", losses, weights)
            slopes = self.rule.binary_slopes(log_odds.ravel(), y)
            assert slopes is not None
            slopes = slopes.reshape(log_odds.shape) * weights
            gradients[:, 0] += np.einsum("cq,q->c", slopes, self.scores)
            gradients[:, 2] += slopes.sum(axis=1)
        gradients[:, 1] = -gradients[:, 2]
        return list(zip(values.tolist(), gradients, strict=True))

    def best_of(self, number: int, points: list[Floats]) -> Floats:
        """Return the point where the samples' own scores have the least mean loss in a fit."""
        means = []
        for scale, *bias in points:
            log_odds = scale * (self.own if scale > 0.0 else self.scores) + (bias[1] - bias[0])
            losses = (
                self.rule.binary_losses(log_odds, np.full(log_odds.size, k, np.uint8))
                for k in (0, 1)
            )
            weights = self.weights[:, number]
            means.append(np.where(weights, np.stack(list(losses)), 0.0).ravel() @ weights.ravel())
        return points[int(np.where(np.isnan(means), np.inf, means).argmin())]


def _centered(scale: float, log_odds: float) -> Floats:
    """Return a scale, and biases of both classes whose difference is given."""
    return np.array([scale, -0.5 * log_odds, 0.5 * log_odds])


def _descend(starts: list[list[Floats]], ask: _Ask) -> Plan[list[Floats]]:
    """Plan: return for each fit the best of the points that descents reach, and of its starts."""

    def best_of(points: list[list[Floats]]) -> Plan[tuple[list[Floats], list[Floats]]]:
        numbers = [number for number, of_fit in enumerate(points) for _ in of_fit]
        sums = yield from ask(numbers, [Asked(point) for of_fit in points for point in of_fit])
        values = np.array([value if np.isfinite(value) else np.inf for value, _ in sums])
        ends = np.cumsum([len(of_fit) for of_fit in points])
        of_fits = np.split(values, ends[:-1])
        best = [of_fit[int(at.argmin())] for of_fit, at in zip(points, of_fits, strict=True)]
        return best, of_fits

    def descents(numbers: list[int], begin: list[Floats]) -> Plan[list[list[Floats]]]:
        def ask_of(places: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
            return (yield from ask([numbers[place] for place in places], asked))

        ends = yield from in_lockstep([bfgs(point) for point in begin], ask_of)
        found: list[list[Floats]] = [[] for _ in starts]
        for number, end in zip(numbers, ends, strict=True):
            if end is not None:
                found[number].append(end)
        return found

    everything = list(range(len(starts)))
    ends = yield from descents(everything, [of_fit[0] for of_fit in starts])
    points = [[*end, *of_fit] for end, of_fit in zip(ends, starts, strict=True)]
    best, values = yield from best_of(points)
    better = [
        (number, point)
        for number in everything
        for point, value in zip(points[number], values[number], strict=True)
        if value < values[number][0]
    ]
    if better:
        numbers, begin = zip(*better, strict=True)
        ends = yield from descents(list(numbers), list(begin))
        best, _ = yield from best_of([[one, *end] for one, end in zip(best, ends, strict=True)])
    return best
