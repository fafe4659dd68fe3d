"""Minimize an expected score over a scale and biases."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.predictions import Floats
from fastpsr.rules.base import ScoringRule

__all__ = ["descend", "find_optimum", "fit_log_loss", "fit_roughly", "start_at_frequencies"]

#: Gradient and Hessian at a scale and what is added to each class's score, (1 + K,); without the
#: Hessian if False is said and that is faster.
StepSums = Callable[[Floats, bool], tuple[Floats, Any]]

_MOST_STEPS = 200
# before the last step, which squares what is left: gradient per unit of weight (and per unit of the
# scores' spread for the scale), and what a step wins
_NEAR, _ALL_WON = 1e-8, 1e-14
_LITTLE = 1e-6  # what a step wins per unit of weight; below, the curvature stays about what it was
_SLOW = 0.1  # of the gradient before, if it is time for a new curvature all the same
_STEADY = 1e-3  # of the gradient before, if a step with that curvature may be the last
_THIN = 1 << 15  # samples per class that are enough for a start,
_VERY_THIN = 1 << 12  # and for a rough scale


def fit_log_loss(
    scores: Floats,
    y: NDArray[Any],
    weights: Floats,
    offset: Floats,
    with_bias: bool,
    start: tuple[float, Floats] | None,
) -> tuple[float, Floats]:
    """Return (scale, bias): least log loss of ``softmax(scale x scores + bias + offset)``.

    Newton's method, from `start`, else from the fit to a small part of the samples where there are
    many, else from scale 0 with the biases that give the class frequencies.
    """
    middle = _far_middle(scores) if scores.ndim == 1 and with_bias else 0.0
    if middle:
        tilt = middle * np.array([-0.5, 0.5])  # what a scale adds to the biases there
        near = None if start is None else (start[0], start[1] + start[0] * tilt)
        scale, bias = fit_log_loss(scores - middle, y, weights, offset, with_bias, near)
        return scale, bias - scale * tilt
    step_sums = _binary_sums(scores, y, weights) if scores.ndim == 1 else _sums(scores, y, weights)
    if start is not None:
        point = np.concatenate([[start[0]], start[1] + offset])
    else:
        point = start_at_frequencies(_class_weights(y, weights, offset.size), offset, with_bias)
        part = _thin(scores, y, weights, _THIN)
        if part is not None:
            _, _, thinned = part
            rough = _iterate(_binary_sums(*part), float(thinned.sum()), with_bias, point)
            point = point if rough is None else rough  # a part may be separable
    total = float(weights.sum()) if weights.size else float(y.size)
    return find_optimum(step_sums, total, offset, with_bias, point)


def start_at_frequencies(class_weights: Floats, offset: Floats, with_bias: bool) -> Floats:
    """Return scale 0, and the biases that are best there besides `offset`, in sum, (1 + K,)."""
    shift = np.log(class_weights / class_weights.sum()) if with_bias else offset
    return np.concatenate([[0.0], shift])


def find_optimum(
    step_sums: StepSums, total: float, offset: Floats, with_bias: bool, point: Floats
) -> tuple[float, Floats]:
    """Return the (scale, bias) to which Newton's method comes from `point`, or raise."""
    found = _iterate(step_sums, total, with_bias, point)
    if found is None:
        raise ValueError(
            f"calibration did not converge in {_MOST_STEPS} steps: the scores all but separate "
            "the classes; use PAV(floor=...), or calibrate on more data"
        )
    bias = found[1:] - offset
    return float(found[0]), bias - bias.mean()


def fit_roughly(
    scores: Floats, y: NDArray[Any], weights: Floats, offset: Floats, with_bias: bool
) -> float | None:
    """Return about the scale that `fit_log_loss` would, for many binary samples; else None."""
    part = _thin(scores, y, weights, _VERY_THIN)
    if part is None:
        return None
    thin, labels, factors = part
    negatives, positives = (np.where(labels == k, factors, 0.0) for k in (0, 1))
    scale, shift = 0.0, offset[1] - offset[0]
    if with_bias:
        thin -= _far_middle(thin)
        scale, shift = _start_at_moments(thin, negatives, positives)
    scale, _, found = kernels.fit_to_nodes(
        thin, negatives[None], positives[None], np.array([shift]), scale, with_bias
    )[0]
    return float(scale) if found else None


def _far_middle(scores: Floats) -> float:
    """Return the middle, if it is so far from 0 that sums of squares lose digits, else 0."""
    low, high = float(scores.min()), float(scores.max())
    middle = low / 2.0 + high / 2.0
    return middle if abs(middle) > high - low > 0.0 else 0.0


@np.errstate(all="ignore")  # of scores that are all alike: then no fit is found
def _start_at_moments(scores: Floats, negatives: Floats, positives: Floats) -> tuple[float, float]:
    """Return the (scale, shift) of Gaussian classes of one variance."""
    means, totals, squares = [], [], 0.0
    for weights in (negatives, positives):
        totals.append(weights.sum())
        means.append((weights * scores).sum() / totals[-1])
        squares += (weights * (scores - means[-1]) ** 2).sum()
    scale = (means[1] - means[0]) * (totals[0] + totals[1]) / squares
    shift = np.log(totals[1] / totals[0]) - scale * (means[0] + means[1]) / 2.0
    return float(scale), float(shift)


@np.errstate(all="ignore")  # steps into the extreme are not taken
def _iterate(step_sums: StepSums, total: float, with_bias: bool, point: Floats) -> Floats | None:
    """Take Newton steps until the gradient is small, and one more; None if it does not get so.

    A step is good if the slope along it has not turned steeper uphill than half of what it went
    down before: the problem is convex. Else it is damped, after Levenberg and Marquardt. Where
    steps win little the curvature stays what it was, and is not summed again.
    """
    gradient, hessian = step_sums(point, True)
    if not np.isfinite(hessian).all():
        raise ValueError("scores must be of a magnitude whose squares are finite to fit a scale")
    curvature = np.diagonal(hessian).copy()  # the largest met: flat places have little of their own
    damping, is_fresh, before = 0.0, True, math.inf
    for _ in range(_MOST_STEPS):
        newton = -_solve(gradient, hessian, with_bias)
        spread = np.sqrt(max(hessian[0, 0], 0.0) / total)  # the unit of the scale's gradient
        size = np.abs(gradient) / total
        largest = max(size[0] / max(1.0, spread), size[1:].max() if with_bias else 0.0)
        wins = abs(float(gradient @ newton)) / total
        is_near = largest < _NEAR and wins < _ALL_WON
        if is_near and (is_fresh or largest < _STEADY * before):
            return point + newton
        step = newton
        if damping:
            step = -_solve(gradient, hessian + np.diag(damping * curvature), with_bias)
        trial = point + step
        renew = is_near or wins > _LITTLE or largest > _SLOW * before
        there, renewed = step_sums(trial, renew)
        if float(there @ step) <= -0.5 * float(gradient @ step):
            point, gradient, before = trial, there, largest
            is_fresh = renewed is not None
            if renewed is not None:
                hessian = renewed
                curvature = np.maximum(curvature, np.diagonal(hessian))
            damping = damping / 10.0 if damping > 1e-6 else 0.0
        else:
            damping = max(10.0 * damping, 1e-3)
    return None


def _class_weights(y: NDArray[Any], weights: Floats, n_classes: int) -> Floats:
    if weights.size or n_classes > 2:
        return np.bincount(y, weights if weights.size else None, n_classes).astype(np.float64)
    n_positive = np.count_nonzero(y)  # much faster
    return np.array([y.size - n_positive, n_positive], np.float64)


def _thin(
    scores: Floats, y: NDArray[Any], weights: Floats, size: int
) -> tuple[Floats, NDArray[Any], Floats] | None:
    """Return every so-manieth sample of each class of a large binary set, weighted accordingly."""
    if scores.ndim > 1 or y.size < 4 * size:
        return None
    n_positive = int(np.count_nonzero(y))
    n_of_class = (y.size - n_positive, n_positive)
    rows, factors = [], []
    for k in (0, 1):
        stride = max(1, n_of_class[k] // size)
        # of all rows, not of the members: to list those of 10 million is slow
        members = stride * np.flatnonzero(y[::stride] == k)
        if members.size < size // 4:  # they lie where the stride does not
            members = np.flatnonzero(y == k)[::stride]
        rows.append(members)
        factors.append(np.full(members.size, n_of_class[k] / max(members.size, 1)))
    index, factor = np.concatenate(rows), np.concatenate(factors)
    return scores[index], y[index], weights[index] * factor if weights.size else factor


def _binary_sums(scores: Floats, y: NDArray[Any], weights: Floats) -> StepSums:
    def sums_at(point: Floats, _: bool) -> tuple[Floats, Floats]:
        found = kernels.sum_fit_binary(scores, y, weights, point[0], point[2] - point[1])
        e, ex, v, vx, vxx = found
        gradient = np.array([ex, -e, e])
        hessian = np.array([[vxx, -vx, vx], [-vx, v, -v], [vx, -v, v]])
        return gradient, hessian

    return sums_at


def _sums(scores: Floats, y: NDArray[Any], weights: Floats) -> StepSums:
    in_one = np.zeros(y.size, np.uint16)
    samples = kernels.SideBySide(scores, y, weights, in_one, 1)
    everything, alike = np.ones(1, bool), np.ones(scores.shape[1])
    return partial(samples.sum_fit, parts=everything, factors=alike)


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
    if not np.isfinite(scaled).all():  # LAPACK may never come back from these
        return step
    solution = kernels.solve_positive_definite(scaled, gradient * unit)
    if solution is None:  # no curvature in some direction: stay in the others
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

    def log_q_at(point: Floats) -> Floats:
        out = np.empty_like(rows)
        kernels.normalize_log_rows(point[0] * rows, point[1:] + offset, out)
        return out

    def score(point: Floats) -> float:
        return float((shares * rule.losses_at(log_q_at(point), y)).sum())

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
