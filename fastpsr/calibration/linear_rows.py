"""Linear maps of rows in memory: the Newton search, and the check for an optimum."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.data import Floats
from fastpsr.errors import ArgumentError

_ROUNDING = 1e-13  # of the largest margin: possible effect of rounding in normalizing rows
_LARGE = 1e280  # sums of lengths above may overflow
_MOST_STEPS = 200
# before the last step: gradient, and gain of a step
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


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Folds that train a fit, and its priors.

    Attributes
    ----------
    mask : ndarray of bool, shape (F,)
        Which folds it consists of.
    weights : ndarray of float64, shape (K,)
        Total weight of each class.
    factors : ndarray of float64, shape (K,)
        By which the weights of classes are multiplied in the fit.
    offsets : ndarray of float64, shape (K,)
        Added by the fit to the log-posteriors of the classes.
    """

    mask: NDArray[np.bool_]
    weights: Floats
    factors: Floats
    offsets: Floats

    @property
    def size(self) -> float:
        """Total weight in the fit."""
        return float(self.weights @ self.factors)

    @property
    def log_shares(self) -> Floats:
        """Logarithms of the shares of the classes in the fit, (K,)."""
        with np.errstate(divide="ignore"):  # without biases a class may be missing
            return np.asarray(np.log(self.weights * self.factors / self.size))


@dataclass(frozen=True, eq=False)
class LinearRows(ABC):
    """Rows of positive weight, whose log-posteriors are linear in features.

    Attributes
    ----------
    features : ndarray of float64, shape (S, n), or (S, n, K) for several classes
    y : ndarray of int, shape (n,)
    weights : ndarray of float64, shape (n,), or (0,) if all are 1
    fold_of_row : ndarray of int, shape (n,)
    n_folds : int
    n_classes : int
    places : ndarray of int, shape (n,), or slice
        Which rows these were before they were selected.
    """

    features: Floats
    y: NDArray[Any]
    weights: Floats
    fold_of_row: NDArray[Any]
    n_folds: int
    n_classes: int
    places: Any

    @staticmethod
    def of(
        features: Floats,
        y: NDArray[Any],
        weights: Floats,
        fold_of_row: NDArray[Any],
        n_folds: int,
        n_classes: int,
        divisors: Floats,
    ) -> "LinearRows":
        """Return the rows of positive weight; weights of classes are divided by (K,) divisors."""
        places: Any = slice(None)
        if n_classes == 2 and n_folds > 1:  # the rows of a fold are a slice
            places = np.argsort(fold_of_row, kind="stable")
        if weights.size:
            places = np.arange(y.size)[places]
            places = places[weights[places] > 0.0]
            weights = weights[places] / divisors[y[places]]
        kind = _BinaryRows if n_classes == 2 else _ClassRows
        return kind(
            np.ascontiguousarray(features[:, places]), y[places], weights, fold_of_row[places],
            n_folds, n_classes, places,
        )  # fmt: skip

    def reweighted(self, weights: Floats) -> Self:
        """Return the rows with other weights, (N,) of the rows that these were selected from."""
        return replace(self, weights=weights[self.places])

    def thinned(self, n_rows: int) -> Self:
        """Return about so many rows of each class, in one fold."""
        members = [np.flatnonzero(self.y == k) for k in range(self.n_classes)]
        rows = np.sort(np.concatenate([of[:: max(1, of.size // n_rows)] for of in members]))
        weights = self.weights[rows] if self.weights.size else self.weights
        return replace(
            self, features=np.ascontiguousarray(self.features[:, rows]), y=self.y[rows],
            weights=weights, fold_of_row=np.zeros_like(rows), n_folds=1,
        )  # fmt: skip

    @cached_property
    def class_weights(self) -> Floats:
        """Weight of each class in each fold, (F, K)."""
        cells = self.fold_of_row.astype(np.int64) * self.n_classes + self.y
        weights = self.weights if self.weights.size else None
        sums = np.bincount(cells, weights, self.n_folds * self.n_classes)
        return sums.reshape(self.n_folds, self.n_classes).astype(np.float64)

    def fit(
        self,
        training: TrainingSet,
        begin: Floats | None = None,
        *,
        with_bias: bool = True,
        near: float = NEAR,
    ) -> Floats | None:
        """Return the parameters of least mean log loss; None where the search does not converge.

        They are weights of the features and then, if `with_bias`, a bias of the log-odds of two
        classes, or one of each of several classes. The search begins at the best constant by
        default; for other arguments see :func:`fastpsr.calibration.linear_rows.newton`.
        """
        n_biases = 0 if not with_bias else 1 if self.n_classes == 2 else self.n_classes
        n_features = len(self.features)
        if begin is None:
            begin = np.zeros(n_features + n_biases)
            shares = training.log_shares - training.offsets
            if n_biases:
                begin[n_features:] = shares[1] - shares[0] if n_biases == 1 else shares
        gauge = np.arange(begin.size) >= n_features if n_biases > 1 else None
        return newton(
            lambda point, curved: self.sums(training, point, curved, with_bias),
            begin, training.size, gauge=gauge, near=near,
        )  # fmt: skip

    @abstractmethod
    def sums(
        self, training: TrainingSet, point: Floats, curved: bool, with_bias: bool
    ) -> tuple[Floats, Floats | None]:
        """Return gradient and Hessian of the summed log loss at parameters.

        The Hessian may be None unless `curved`.
        """

    @abstractmethod
    def scores(self, parameters: Floats) -> Floats:
        """Return log-odds (n,), or scores of several classes (n, K), at parameters with biases."""

    @abstractmethod
    def margins(self, scores: Floats, *, by_class: bool) -> tuple[Floats, Floats]:
        """Return the extremes of margins of scores in each fold, (F, K, K) each.

        They are those of :func:`fastpsr.calibration.linear_rows.check_margins`. Of several classes
        they are (F, 1, 1), unless `by_class`.
        """


class _BinaryRows(LinearRows):
    """Rows of two classes, sorted by fold."""

    @cached_property
    def _bounds(self) -> NDArray[np.int64]:
        return np.searchsorted(self.fold_of_row, np.arange(self.n_folds + 1)).astype(np.int64)

    def sums(
        self, training: TrainingSet, point: Floats, curved: bool, with_bias: bool
    ) -> tuple[Floats, Floats]:
        n, offset = point.size, float(training.offsets[1] - training.offsets[0])
        gradient, hessian = np.zeros(n), np.zeros((n, n))
        for first, last in training_runs(training.mask):
            rows = (int(self._bounds[first]), int(self._bounds[last]))
            slopes, curvature = kernels.fitting.sum_fit(
                self.features, self.y, self.weights, rows, point, with_bias, offset,
                training.factors,
            )  # fmt: skip
            gradient += slopes
            hessian += curvature
        return gradient, hessian

    def scores(self, parameters: Floats) -> Floats:
        return np.asarray(np.einsum("s,sn->n", parameters[:-1], self.features) + parameters[-1])

    def margins(self, scores: Floats, *, by_class: bool) -> tuple[Floats, Floats]:
        least = np.full((self.n_folds, 2, 2), np.inf)
        most = np.full((self.n_folds, 2, 2), -np.inf)
        for fold in np.flatnonzero(np.diff(self._bounds)):
            rows = slice(self._bounds[fold], self._bounds[fold + 1])
            weights = self.weights[rows] if self.weights.size else self.weights
            ranges = _class_ranges(scores[rows], self.y[rows], weights)
            least[fold], most[fold] = binary_margins(ranges)
        return least, most


class _ClassRows(LinearRows):
    """Rows of several classes, whose features are laid out side by side for sums."""

    @cached_property
    def _side_by_side(self) -> Any:
        return kernels.side_by_side.SideBySide(
            self.features, self.y, self.weights, self.fold_of_row, self.n_folds
        )

    def sums(
        self, training: TrainingSet, point: Floats, curved: bool, with_bias: bool
    ) -> tuple[Floats, Floats | None]:
        n_features = len(self.features)
        biases = point[n_features:] if with_bias else 0.0
        full = np.concatenate([point[:n_features], training.offsets + biases])
        sums: tuple[Floats, Floats | None] = self._side_by_side.sum_fit(
            full, curved, training.mask, training.factors, with_bias
        )
        return sums

    def scores(self, parameters: Floats) -> Floats:
        n_features = len(self.features)
        weighted = np.einsum("s,snk->nk", parameters[:n_features], self.features)
        return np.asarray(weighted + parameters[n_features:])

    def margins(self, scores: Floats, *, by_class: bool) -> tuple[Floats, Floats]:
        return kernels.fitting.margin_ranges(
            scores, self.y, self.weights, self.fold_of_row, self.n_folds, by_class
        )


def _class_ranges(scores: Floats, y: NDArray[Any], weights: Floats) -> Floats:
    """Return (2, 2): the lowest and highest score of each class; (inf, -inf) where it is absent."""
    ranges = np.array([[np.inf, -np.inf], [np.inf, -np.inf]])
    for label in (0, 1):
        is_member = y == label
        if weights.size:
            is_member &= weights != 0.0
        of_class = scores[is_member]
        if of_class.size:
            ranges[label] = of_class.min(), of_class.max()
    return ranges


def training_runs(training_mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (first, last + 1) of the runs of consecutive training folds."""
    edges = np.flatnonzero(
        np.diff(np.concatenate([[False], training_mask, [False]]).astype(np.int8))
    )
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


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
        raise too_large()
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


def check_margins(least: Floats, most: Floats, n_classes: int = 2, *, with_bias: bool) -> None:
    """Raise if scores are constant, or if the classes can be separated perfectly.

    Parameters
    ----------
    least, most : ndarray, shape (K, K)
        Extremes of ``score[c] - score[k]`` over the samples of class c, in row c. Without biases
        shape (1, 1): over all samples, with c their class, and all other classes k.
    n_classes : int
    with_bias : bool
        Whether each class has a bias, as in direction-preserving calibration, or not, as in
        temperature scaling.

    Notes
    -----
    A scale a and biases b separate if a (l_c - l_k) >= b_k - b_c for all samples of each class c.
    These are difference constraints: b exists unless they form a cycle of negative length.
    """
    constant = _is_constant(least, most) if with_bias else not (least.any() or most.any())
    if constant:
        raise ArgumentError(
            "scores", "must differ between samples: all are alike, so that no scale can be fitted"
        )
    for margins in (least, -most):
        separable = not _has_negative_cycle(margins) if with_bias else bool((margins >= 0.0).all())
        if separable:
            raise no_optimum("separate the classes perfectly, and no affine map is best", n_classes)


def are_separated(least: Floats, most: Floats) -> bool:
    """Return whether rising scores separate the classes, given margins as in check_margins.

    Biases may be added to the scores of two classes, but not to those of several, (1, 1).
    """
    if least.size == 1:
        return bool(least >= 0.0 and most > 0.0)
    return not _is_constant(least, most) and not _has_negative_cycle(least)


class NoOptimumError(ArgumentError):
    """No affine map of the scores is optimal."""


def no_optimum(reason: str, n_classes: int = 2) -> NoOptimumError:
    """Return the error for scores without an optimal affine map."""
    rule = f"{reason}; more data would help, or samples near the boundary"
    if n_classes > 2:
        return NoOptimumError("scores", rule)
    return NoOptimumError(
        "scores", rule, remedy="use PAV(floor=0.001)", pass_={"calibrator": "pav", "floor": 0.001}
    )


def not_converged(n_classes: int) -> NoOptimumError:
    """Return the error for a search that found no optimum."""
    return no_optimum("all but separate the classes: calibration did not converge", n_classes)


def too_large() -> ArgumentError:
    """Return the error for scores whose squares overflow."""
    return ArgumentError("scores", "must be of a magnitude whose squares are finite to fit a scale")


def binary_margins(ranges: Floats) -> tuple[Floats, Floats]:
    """Return (least, most), (2, 2) each, of the lowest and highest score of both classes."""
    (low0, high0), (low1, high1) = ranges
    # with scores for class 1 and 0 for class 0, the margin is the score or its negative
    least, most = np.zeros((2, 2)), np.zeros((2, 2))
    least[0, 1], most[0, 1] = -high0, -low0
    least[1, 0], most[1, 0] = low1, high1
    return least, most


def _is_constant(least: Floats, most: Floats) -> bool:
    """Whether all differences between the scores of two classes are constant over samples."""
    low = np.minimum(least, -most.T)
    high = np.maximum(most, -least.T)
    return bool((low == high).all())


def _has_negative_cycle(lengths: Floats) -> bool:
    """Whether the complete graph with these edge lengths has a cycle of negative length."""
    shortest = lengths.copy()
    np.fill_diagonal(shortest, 0.0)
    if np.abs(lengths).max() > _LARGE:
        shortest *= 2.0**-64
    rounding = -_ROUNDING * float(np.abs(shortest).max())
    for middle in range(shortest.shape[0]):
        through = shortest[:, middle, None] + shortest[None, middle, :]
        np.minimum(shortest, through, out=shortest)
        if (np.diagonal(shortest) < rounding).any():
            return True
    return False


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
        Starting point: a row of factors for each class; the last factor is the constant's.
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
    step, residual = np.zeros_like(gradient), -gradient
    scaled = divided(residual)
    direction, size = scaled, float((residual * scaled).sum())
    enough = min(0.3, steepest**0.5) ** 2 * size
    for _ in range(_MOST_PRODUCTS):
        if not size > enough:
            break
        product = sums.product(direction) + pull * direction
        bend = float((direction * product).sum())
        if not bend > 0.0:  # rounding
            break
        length = size / bend
        step, residual = step + length * direction, residual - length * product
        scaled = divided(residual)
        before, size = size, float((residual * scaled).sum())
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
