"""Searches for the minimum of the objective of smooth calibrators.

The objective is a mean loss over weighted samples plus a quadratic penalty, over parameters that
may have lower bounds. Searches are generators. They yield the point at which they need sums, and
are sent these sums, so that the searches of all folds advance together, with one read of the data
for all. They know nothing of the map: that of one score is a
:class:`fastpsr.calibration.smooth_map.SmoothMap`; maps of a row of scores bring sums of gradient
and curvature of their own.
"""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr import kernels
from fastpsr.errors import ArgumentError
from fastpsr.plans import Plan
from fastpsr.predictions import Floats

__all__ = ["NEAR", "Asked", "Search", "bfgs", "in_lockstep", "newton", "newton_by_products"]

_MOST_STEPS = 200
# before the last step: gradient, and what a step wins
NEAR, _ALL_WON = 1e-8, 1e-14
_LITTLE = 1e-6  # gain of a step per unit of weight below which the curvature hardly changes
_SLOW = 0.1  # ratio of gradients above which the curvature is computed anew nevertheless
_STEADY = 1e-3  # ratio of gradients below which a step with the old curvature may be the last
_FLAT = 1e-10  # gradient at which a search under another rule ends
_MOST_LINE_STEPS = 40
_ROUNDED = 1e-14  # share of a value within which gradients decide whether a step is good
_ALL_BUT_FLAT = 1e-10  # gradient per unit of weight before the last step of a search by products
_ALMOST_THERE = 1e-2  # gradient below which products are divided by the curvature as it was
_MOST_PRODUCTS = 1_000  # of a step
_LEAST_SPREAD = 1e-3  # least variance of a feature by its second moment, beside which less is noise


@dataclass(frozen=True, eq=False)
class Asked:
    """A point at which a search needs sums, and whether these include the curvature.

    With a `direction`, it is the product of the curvature with it that is needed.
    """

    point: Floats
    curved: bool = True
    direction: Floats | None = None


#: Yields points, is sent (gradient, Hessian or None) or (value, gradient), returns a point.
#: By products, it is sent (gradient, curvature of each parameter alone and with the constant of
#: its row), or (product, None).
Search = Generator[Asked, tuple[Any, Any], Floats | None]


def in_lockstep(
    searches: Sequence[Search],
    ask: Callable[[list[int], list[Asked]], Plan[list[tuple[Any, Any]]]],
) -> Plan[list[Floats | None]]:
    """Advance searches together; `ask` is a plan that computes the sums of unfinished searches."""
    results: list[Floats | None] = [None] * len(searches)
    wanted = {}
    for place, search in enumerate(searches):
        wanted[place] = next(search)
    while wanted:
        places = list(wanted)
        answers = yield from ask(places, [wanted[place] for place in places])
        for place, answer in zip(places, answers, strict=True):
            try:
                with np.errstate(all="ignore"):  # overflowing steps are rejected
                    wanted[place] = searches[place].send(answer)
            except StopIteration as stop:
                results[place] = stop.value
                del wanted[place]
    return results


def newton(
    point: Floats,
    total: float,
    *,
    gauge: Any = None,
    penalty: Floats | None = None,
    lower: Floats | None = None,
    near: float = NEAR,
) -> Search:
    """Take Newton steps until the gradient is small, and one more; None without convergence.

    The problem is convex: a step is accepted if the slope along it does not end up steeper uphill
    than half of the initial downhill slope. Otherwise it is damped (Levenberg and Marquardt). If
    the gain of steps is small, the previous curvature is used again.

    Parameters
    ----------
    point : ndarray, shape (p,)
        Starting point.
    total : float
        Total weight of the samples.
    gauge : ndarray of bool, shape (p,), optional
        Parameters that are determined only up to a common additive constant.
    penalty : ndarray, shape (p, p), optional
        ``total x parameters @ penalty @ parameters / 2`` is added to the summed loss.
    lower : ndarray, shape (p,), optional
        Lower bounds; parameters that would go below their bound stay at it.
    near : float
        Gradient before the last step, which squares what is left: per unit of weight, and of a
        feature's spread, if above 1.
    """
    all_won = _ALL_WON * (near / NEAR) ** 2
    n = point.size
    bound = np.full(n, -np.inf) if lower is None else lower
    pull: Any = 0.0 if penalty is None else total * penalty
    moves = np.ones(n, bool)
    constant = np.zeros(n, bool) if gauge is None else gauge
    point = np.maximum(point, bound)

    gradient, hessian = yield Asked(point)
    gradient, hessian = gradient + np.dot(pull, point), hessian + pull
    if not np.isfinite(hessian).all():
        raise ArgumentError(
            "scores", "must be of a magnitude whose squares are finite to fit a scale"
        )
    curvature = np.diagonal(hessian).copy()  # the largest so far, since it may vanish locally
    damping, is_fresh, before = 0.0, True, math.inf
    for _ in range(_MOST_STEPS):
        if lower is not None:
            moves = (point > bound) | (gradient < 0.0)
        plain = -_solve(gradient, hessian, moves, constant)
        spread = np.sqrt(np.maximum(np.diagonal(hessian), 0.0) / total)  # unit of the gradient
        size = np.where(moves, np.abs(gradient) / total / np.maximum(1.0, spread), 0.0)
        largest = size.max()
        wins = abs(float(gradient @ plain)) / total
        is_near = largest < near and wins < all_won
        if is_near and (is_fresh or largest < _STEADY * before):
            return np.maximum(point + plain, bound)
        step = plain
        if damping:
            step = -_solve(gradient, hessian + np.diag(damping * curvature), moves, constant)
        trial = np.maximum(point + step, bound)
        step = trial - point
        renew = bool(is_near or wins > _LITTLE or largest > _SLOW * before)
        there, renewed = yield Asked(trial, renew)
        there = there + np.dot(pull, trial)
        if float(there @ step) <= -0.5 * float(gradient @ step):
            point, gradient, before = trial, there, largest
            is_fresh = renewed is not None
            if renewed is not None:
                hessian = renewed + pull
                curvature = np.maximum(curvature, np.diagonal(hessian))
            damping = damping / 10.0 if damping > 1e-6 else 0.0
        else:
            damping = max(10.0 * damping, 1e-3)
    return None


def _solve(gradient: Floats, hessian: Floats, moves: Any, gauge: Any) -> Floats:
    """Solve for a Newton step of the free parameters."""
    step = np.zeros(gradient.size)
    n_used = int(np.count_nonzero(moves))
    if n_used == 0:
        return step
    if n_used == 1:
        k = int(moves.argmax())
        step[k] = gradient[k] / max(hessian[k, k], 1e-300)
        return step
    if n_used < gradient.size:
        step[moves] = _solve(
            gradient[moves], hessian[moves][:, moves], np.ones(n_used, bool), gauge[moves]
        )
        return step
    alike = gauge.astype(np.float64)
    trace = max(float((np.diagonal(hessian) * alike).sum()), 1e-300)
    full = hessian + (trace / gradient.size**2) * (alike[:, None] * alike)
    # scaled to a unit diagonal, so that scores of any magnitude are well conditioned
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(full), 1e-300))
    scaled = full * unit[:, None] * unit
    if not np.isfinite(scaled).all():  # LAPACK may not terminate for these
        return step
    solution = kernels.solve_positive_definite(scaled, gradient * unit)
    if solution is None:  # no curvature in some direction: move only in the others
        solution = np.linalg.lstsq(scaled, gradient * unit, rcond=1e-15)[0]
    return np.asarray(solution * unit)


def bfgs(point: Floats) -> Search:
    """Search for a local minimum by the method of Broyden, Fletcher, Goldfarb and Shanno.

    It is sent (value, gradient). Step lengths satisfy the weak Wolfe conditions and are found by
    bisection. The search ends if the gradient is nearly 0, or values differ only by rounding.
    """
    value, gradient = yield Asked(point)
    inverse = np.eye(point.size)
    is_first = True
    for _ in range(_MOST_STEPS):
        if np.abs(gradient).max() < _FLAT:
            break
        direction = -inverse @ gradient
        slope = float(gradient @ direction)
        if not slope < 0.0:
            inverse, direction = np.eye(point.size), -gradient
            slope = float(gradient @ direction)
        low, high, length = 0.0, math.inf, 1.0
        if is_first:
            length = min(1.0, 1.0 / float(np.abs(gradient).sum()))
        accepted = None
        for _ in range(_MOST_LINE_STEPS):
            trial = point + length * direction
            there, renewed = yield Asked(trial)
            most = value + 1e-4 * length * slope + _ROUNDED * abs(value)
            if not (np.isfinite(there) and there <= most):
                high = length
            elif float(renewed @ direction) < 0.9 * slope:
                low, accepted = length, (trial, there, renewed)
            else:
                accepted = (trial, there, renewed)
                break
            length = 0.5 * (low + high) if high < math.inf else 2.0 * length
            if high - low < 1e-12 * high:
                break
        if accepted is None:
            break
        trial, there, renewed = accepted
        moved, bent = trial - point, renewed - gradient
        product = float(moved @ bent)
        if product > 0.0:
            if is_first:
                inverse *= product / float(bent @ bent)
                is_first = False
            keep = np.eye(point.size) - np.outer(moved, bent) / product
            inverse = keep @ inverse @ keep.T + np.outer(moved, moved) / product
        point, value, gradient = trial, there, renewed
    return point


def newton_by_products(point: Floats, pull: Floats) -> Search:
    """Take Newton steps found by conjugate gradients; for more parameters than a Hessian may have.

    The problem is convex, as that of :func:`newton`, and the sums are per unit of weight. What is
    asked for in between are products of the curvature with directions. Steps are as precise as the
    gradient is small, so that convergence is quadratic (Dembo, Eisenstat and Steihaug, 1982,
    doi:10.1137/0719025). The last step is taken where the gradient is below a limit. The result is
    None without convergence.

    Parameters
    ----------
    point : ndarray, shape (K, M)
        Starting point: a row of factors for each class, of which the last is that of a constant.
    pull : ndarray, shape (K, M)
        ``(pull x parameters ** 2).sum() / 2`` is added to the loss.
    """
    gradient, curvature = yield Asked(point)
    gradient = gradient + pull * point
    for _ in range(_MOST_STEPS):
        steepest = float(np.abs(gradient).max())
        if curvature is not None:
            divided = _divided_by(curvature, pull)
        step = yield from _by_products(point, gradient, divided, pull, steepest)
        if steepest < _ALL_BUT_FLAT:
            there, _ = yield Asked(point + step, curved=False)
            flatter = float(np.abs(there + pull * (point + step)).max()) <= steepest
            return point + step if flatter else point  # where rounding is all that is left
        downhill = float((gradient * step).sum())
        for _ in range(_MOST_LINE_STEPS):
            there, renewed = yield Asked(point + step, curved=steepest > _ALMOST_THERE)
            there = there + pull * (point + step)
            if float((there * step).sum()) <= -0.5 * downhill:
                break
            step, downhill = 0.5 * step, 0.5 * downhill
        else:
            return None
        point, gradient, curvature = point + step, there, renewed
    return None


def _by_products(
    point: Floats,
    gradient: Floats,
    divided: Callable[[Floats], Floats],
    pull: Floats,
    steepest: float,
) -> Generator[Asked, tuple[Any, Any], Floats]:
    """Solve for a Newton step by conjugate gradients, preconditioned."""
    step, left = np.zeros_like(point), -gradient
    scaled = divided(left)
    direction, size = scaled, float((left * scaled).sum())
    enough = min(0.3, steepest**0.5) ** 2 * size
    for _ in range(_MOST_PRODUCTS):
        if not size > enough:
            break
        product, _ = yield Asked(point, direction=direction)
        product = product + pull * direction
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
