"""Affine fits under rules other than the log rule, by descent from several starting points."""

import numpy as np

from fastpsr.calibration.objective import Asked, bfgs, in_lockstep
from fastpsr.calibration.row_fits import RowFits
from fastpsr.plans import Plan
from fastpsr.predictions import Floats
from fastpsr.rules.base import ScoringRule

__all__ = ["fit_under_rule"]


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
    candidates = np.stack([(yield from _descend(rule, fits, starts)), *starts])
    biases = candidates[:, 1:] - offset
    candidates[:, 1:] = biases - biases.mean(axis=1, keepdims=True)
    return candidates


def _descend(rule: ScoringRule, fits: RowFits, starts: list[Floats]) -> Plan[Floats]:
    """Plan: return the best of the points that descents reach, and of the starts."""

    def ask(places: list[int], asked: list[Asked]) -> Plan[list[tuple[float, Floats]]]:
        return (yield from fits.sums([0] * len(places), asked, rule))

    def best_of(points: list[Floats]) -> Plan[tuple[Floats, Floats]]:
        sums = yield from ask([0] * len(points), [Asked(point) for point in points])
        values = np.array([value if np.isfinite(value) else np.inf for value, _ in sums])
        return points[int(values.argmin())], values

    ends = yield from in_lockstep([bfgs(starts[0])], ask)
    points = [*(end for end in ends if end is not None), *starts]
    best, values = yield from best_of(points)
    better = [point for point, value in zip(points, values, strict=True) if value < values[0]]
    if better:
        ends = yield from in_lockstep([bfgs(point) for point in better], ask)
        best, _ = yield from best_of([best, *(end for end in ends if end is not None)])
    return best
