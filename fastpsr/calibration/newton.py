"""Minimise an expected score over a scale and biases."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.predictions import Floats
from fastpsr.rules.base import ScoringRule

__all__ = ["descend", "fit_log_loss"]

_MOST_STEPS = 200
_ENOUGH = 1e-10  # gradient per unit of weight, and per unit of the scores' spread for the scale


def fit_log_loss(
    scores: Floats,
    y: NDArray[Any],
    weights: Floats,
    offset: Floats,
    with_bias: bool,
    start: tuple[float, Floats] | None,
) -> tuple[float, Floats]:
    """Return (scale, bias): least log loss of ``softmax(scale x scores + bias + offset)``.

    Newton's method. The problem is convex along every line, so a step is good if the slope at its
    end has not turned steeper uphill than it went down before; else it is halved.
    """
    total = float(weights.sum()) if weights.size else float(y.size)
    step_sums = _binary_sums if scores.ndim == 1 else _multiclass_sums
    if start is None:
        point = np.zeros(1 + offset.size)
        if with_bias:  # at scale 0 the best biases are those of the class frequencies
            frequencies = np.array(
                [(weights[y == k].sum() if weights.size else (y == k).sum())
                 for k in range(offset.size)]
            )  # fmt: skip
            point[1:] = np.log(frequencies / total) - offset
    else:
        point = np.concatenate([[start[0]], start[1]])
    gradient, hessian = step_sums(scores, y, weights, point, offset)
    for _ in range(_MOST_STEPS):
        step = -_solve(gradient, hessian, with_bias)
        before = float(gradient @ step)
        spread = np.sqrt(max(hessian[0, 0] / total, 1e-300))
        size = np.abs(gradient) / total
        small = max(size[0] / max(1.0, spread), size[1:].max() if with_bias else 0.0) < _ENOUGH
        if small and -before < 1e-20 * total:
            return float(point[0]), point[1:] - point[1:].mean()
        length = 1.0
        for _ in range(60):
            trial = point + length * step
            gradient, hessian = step_sums(scores, y, weights, trial, offset)
            if float(gradient @ step) <= -0.5 * before:
                break
            length *= 0.5
        if small or not np.any(trial != point):  # the last step was for good measure
            return float(trial[0]), trial[1:] - trial[1:].mean()
        point = trial
    raise ValueError(
        f"calibration did not converge in {_MOST_STEPS} steps: the scores all but separate the "
        "classes; use PAV(floor=...), or calibrate on more data"
    )


def _binary_sums(
    scores: Floats, y: NDArray[Any], weights: Floats, point: Floats, offset: Floats
) -> tuple[Floats, Floats]:
    shift = point[2] - point[1] + offset[1] - offset[0]
    e, ex, v, vx, vxx = kernels.sum_fit_binary(scores, y, weights, point[0], shift)
    gradient = np.array([ex, -e, e])
    hessian = np.array([[vxx, -vx, vx], [-vx, v, -v], [vx, -v, v]])
    return gradient, hessian


def _multiclass_sums(
    scores: Floats, y: NDArray[Any], weights: Floats, point: Floats, offset: Floats
) -> tuple[Floats, Floats]:
    found = kernels.sum_fit_multiclass(scores, y, weights, point[0], point[1:] + offset)
    return found[0], found[1]


def _solve(gradient: Floats, hessian: Floats, with_bias: bool) -> Floats:
    """Solve for a Newton step; biases are determined only up to a constant."""
    step = np.zeros(gradient.size)
    if not with_bias:
        step[0] = gradient[0] / max(hessian[0, 0], 1e-300)
        return step
    full = hessian.copy()
    full[1:, 1:] += max(np.trace(hessian[1:, 1:]), 1e-300) / full.shape[0] ** 2
    # scaled to a unit diagonal, so that scores of any magnitude are well conditioned
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(full), 1e-300))
    scaled = full * unit[:, None] * unit
    try:
        solution = np.linalg.solve(scaled, gradient * unit)
    except np.linalg.LinAlgError:  # no curvature in some direction: stay in the others
        solution = np.linalg.lstsq(scaled, gradient * unit, rcond=1e-15)[0]
    return np.asarray(solution * unit)


def descend(
    rule: ScoringRule,
    scores: Floats,
    y: NDArray[Any],
    weights: Floats,
    offset: Floats,
    start: tuple[float, Floats],
) -> tuple[float, Floats]:
    """Return (scale, bias) at a local minimum of the expected score of `rule` near `start`."""
    from scipy.optimize import minimize  # costs 0.2 s to import

    rows = np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores
    rows = np.ascontiguousarray(rows)
    shares = weights / weights.sum() if weights.size else np.full(y.size, 1.0 / y.size)
    used = np.arange(y.size)

    def log_q_at(point: Floats) -> Floats:
        out = np.empty_like(rows)
        kernels.normalise_log_rows(point[0] * rows, point[1:] + offset, out)
        return out

    def score(point: Floats) -> float:
        return float(shares @ rule.class_losses(log_q_at(point))[used, y])

    def gradient(point: Floats) -> Floats:
        slopes = rule.slopes(log_q_at(point), y)
        assert slopes is not None
        slopes = slopes * shares[:, None]
        return np.concatenate([[(slopes * rows).sum()], slopes.sum(axis=0)])

    first = np.concatenate([[start[0]], start[1]])
    has_slopes = rule.slopes(log_q_at(first)[:1], y[:1]) is not None
    found = minimize(score, first, jac=gradient if has_slopes else None, method="BFGS",
                     options={"gtol": 1e-10, "maxiter": 1000})  # fmt: skip
    best = found.x if found.fun <= score(first) else first
    return float(best[0]), best[1:] - best[1:].mean()
