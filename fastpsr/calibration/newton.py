"""Searches for the minimum of a convex mean loss: Newton steps with a line search.

The loss is of weighted samples; searches by products add a quadratic penalty. Searches know nothing
of the map: they call a function that sums gradient and curvature.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from fastpsr import kernels
from fastpsr.data import Floats
from fastpsr.errors import ArgumentError

_MOST_STEPS = 200
# before the last step: gradient, and what a step wins
NEAR, _ALL_WON = 1e-8, 1e-14
_LITTLE = 1e-6  # gain of a step per unit of weight below which the curvature hardly changes
_SLOW = 0.1  # ratio of gradients above which the curvature is computed anew nevertheless
_STEADY = 1e-3  # ratio of gradients below which a step with the old curvature may be the last
_MOST_LINE_STEPS = 40
_ALL_BUT_FLAT = 1e-10  # gradient per unit of weight before the last step of a search by products
_ALMOST_THERE = 1e-2  # gradient below which products are divided by the curvature as it was
_MOST_PRODUCTS = 1_000  # of a step
_LEAST_SPREAD = 1e-3  # least variance of a feature by its second moment, beside which less is noise


#: Returns gradient and Hessian at a point; without the second argument, the Hessian may be None.
Sums = Callable[[Floats, bool], tuple[Floats, Any]]


@np.errstate(all="ignore")  # steps that overflow are rejected
def newton(
    sums: Sums,
    point: Floats,
    total: float,
    *,
    gauge: Any = None,
    near: float = NEAR,
) -> Floats | None:
    """Take Newton steps until the gradient is small, and one more; None without convergence.

    The problem is convex: a step is accepted if the slope along it does not end up steeper uphill
    than half of the initial downhill slope. Otherwise it is damped (Levenberg and Marquardt). If
    the gain of steps is small, the previous curvature is used again.

    Parameters
    ----------
    sums : callable
    point : ndarray, shape (p,)
        Starting point.
    total : float
        Total weight of the samples.
    gauge : ndarray of bool, shape (p,), optional
        Parameters that are determined only up to a common additive constant.
    near : float
        Gradient before the last step, which squares what is left: per unit of weight, and of a
        feature's spread, if above 1.
    """
    all_won = _ALL_WON * (near / NEAR) ** 2
    n = point.size
    constant = np.zeros(n, bool) if gauge is None else gauge
    gradient, hessian = sums(point, True)
    if not np.isfinite(hessian).all():
        raise ArgumentError(
            "scores", "must be of a magnitude whose squares are finite to fit a scale"
        )
    steepest = np.diagonal(hessian).copy()  # the largest curvature, since it may vanish locally
    damping, is_fresh, before = 0.0, True, math.inf
    for _ in range(_MOST_STEPS):
        plain = -_solve(gradient, hessian, constant)
        spread = np.sqrt(np.maximum(np.diagonal(hessian), 0.0) / total)  # unit of the gradient
        largest = (np.abs(gradient) / total / np.maximum(1.0, spread)).max()
        wins = abs(float(gradient @ plain)) / total
        is_near = largest < near and wins < all_won
        if is_near and (is_fresh or largest < _STEADY * before):
            return np.asarray(point + plain)
        step = plain
        if damping:
            step = -_solve(gradient, hessian + np.diag(damping * steepest), constant)
        trial = point + step
        renew = bool(is_near or wins > _LITTLE or largest > _SLOW * before)
        there, curvature = sums(trial, renew)
        if float(there @ step) <= -0.5 * float(gradient @ step):
            point, gradient, before = trial, there, largest
            is_fresh = curvature is not None
            if curvature is not None:
                hessian = curvature
                steepest = np.maximum(steepest, np.diagonal(hessian))
            damping = damping / 10.0 if damping > 1e-6 else 0.0
        else:
            damping = max(10.0 * damping, 1e-3)
    return None


def _solve(gradient: Floats, hessian: Floats, gauge: Any) -> Floats:
    """Solve for a Newton step."""
    if gradient.size == 1:
        return np.asarray(gradient / max(hessian[0, 0], 1e-300))
    alike = gauge.astype(np.float64)
    trace = max(float((np.diagonal(hessian) * alike).sum()), 1e-300)
    full = hessian + (trace / gradient.size**2) * (alike[:, None] * alike)
    # scaled to a unit diagonal, so that scores of any magnitude are well conditioned
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(full), 1e-300))
    scaled = full * unit[:, None] * unit
    if not np.isfinite(scaled).all():  # LAPACK may not terminate for these
        return np.zeros(gradient.size)
    solution = kernels.fitting.solve_positive_definite(scaled, gradient * unit)
    if solution is None:  # no curvature in some direction: move only in the others
        solution = np.linalg.lstsq(scaled, gradient * unit, rcond=1e-15)[0]
    return np.asarray(solution * unit)


class ByProducts(Protocol):
    """Sums of a loss with more parameters than a Hessian may have, per unit of weight."""

    def slopes(self, point: Floats, *, curved: bool) -> tuple[Floats, Floats | None]:
        """Return the gradient (K, M) at a point and, if `curved`, curvatures (2, K, M).

        They are those of each parameter alone, and of each with the constant of its row.
        """

    def product(self, direction: Floats) -> Floats:
        """Return the product of the curvature at the last point with a direction (K, M)."""


@np.errstate(over="ignore", invalid="ignore")  # such a point is no optimum: None is returned
def newton_by_products(sums: ByProducts, point: Floats, pull: Floats) -> Floats | None:
    """Take Newton steps found by conjugate gradients; None without convergence.

    The problem is convex, as that of :func:`newton`. Steps are as precise as the gradient is small,
    so that convergence is quadratic (Dembo, Eisenstat and Steihaug, 1982, doi:10.1137/0719025). The
    last step is taken where the gradient is below a limit.

    Parameters
    ----------
    sums : ByProducts
    point : ndarray, shape (K, M)
        Starting point: a row of factors for each class, of which the last is that of a constant.
    pull : ndarray, shape (K, M)
        ``(pull x parameters ** 2).sum() / 2`` is added to the loss.
    """
    gradient, curvature = sums.slopes(point, curved=True)
    gradient = gradient + pull * point
    for _ in range(_MOST_STEPS):
        steepest = float(np.abs(gradient).max())
        if curvature is not None:
            divided = _divided_by(curvature, pull)
        step = _step_by_products(sums, gradient, divided, pull, steepest)
        if steepest < _ALL_BUT_FLAT:
            there, _ = sums.slopes(point + step, curved=False)
            is_flatter = float(np.abs(there + pull * (point + step)).max()) <= steepest
            return point + step if is_flatter else point  # where rounding is all that is left
        downhill = float((gradient * step).sum())
        for _ in range(_MOST_LINE_STEPS):
            there, curvature = sums.slopes(point + step, curved=steepest > _ALMOST_THERE)
            there = there + pull * (point + step)
            if float((there * step).sum()) <= -0.5 * downhill:
                break
            step, downhill = 0.5 * step, 0.5 * downhill
        else:
            return None
        point, gradient = point + step, there
    return None


def _step_by_products(
    sums: ByProducts,
    gradient: Floats,
    divided: Callable[[Floats], Floats],
    pull: Floats,
    steepest: float,
) -> Floats:
    """Solve for a Newton step by conjugate gradients, preconditioned."""
    step, left = np.zeros_like(gradient), -gradient
    scaled = divided(left)
    direction, size = scaled, float((left * scaled).sum())
    enough = min(0.3, steepest**0.5) ** 2 * size
    for _ in range(_MOST_PRODUCTS):
        if not size > enough:
            break
        product = sums.product(direction) + pull * direction
        bend = float((direction * product).sum())
        if not bend > 0.0:  # rounding
            break
        length = size / bend
        step, left = step + length * direction, left - length * product
        scaled = divided(left)
        before, size = size, float((left * scaled).sum())
        direction = scaled + (size / before) * direction
    return step if step.any() else scaled


def _divided_by(curvature: Floats, pull: Floats) -> Callable[[Floats], Floats]:
    """Return the division by the curvature of each row alone, without covariances of its features.

    What remains of a matrix of second moments is a diagonal and the product of means. Features
    with means far from 0, such as log-posteriors of many classes, hang together by their means.
    """
    squares, crossed = curvature
    total = np.maximum(crossed[:, -1:], 1e-300)
    spread = np.maximum(squares - crossed**2 / total + pull, _LEAST_SPREAD * squares)
    spread = np.maximum(spread, 1e-300)
    along = crossed / spread
    share = along / (total + (crossed * along).sum(axis=1, keepdims=True))
    return lambda values: values / spread - share * (along * values).sum(axis=1, keepdims=True)
