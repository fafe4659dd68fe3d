"""Rows in memory, and the search for maps of them that are linear in their parameters."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.calibration.folds import training_runs
from fastpsr.calibration.newton import NEAR, newton
from fastpsr.calibration.separability import binary_margins
from fastpsr.data import Floats


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Folds that train a fit, and the priors at which it is fitted.

    Attributes
    ----------
    mask : ndarray of bool, shape (F,)
        Which folds it consists of.
    weights : ndarray of float64, shape (K,)
        Total weight of each class.
    factors : ndarray of float64, shape (K,)
        By which the weights of classes are multiplied in the fit.
    offsets : ndarray of float64, shape (K,)
        What the fit adds to the log-posteriors of the classes.
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

    def with_features(self, features: Floats) -> Self:
        """Return the rows with other features."""
        return replace(self, features=features)

    def reweighted(self, weights: Floats) -> Self:
        """Return the rows with other weights, (N,) of the rows that these were selected from."""
        return replace(self, weights=weights[self.places])

    def thinned(self, n_rows: int) -> Self:
        """Return about so many rows of each class, in one fold."""
        some = [np.flatnonzero(self.y == k) for k in range(self.n_classes)]
        rows = np.sort(np.concatenate([of[:: max(1, of.size // n_rows)] for of in some]))
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
        default; for other arguments see :func:`fastpsr.calibration.newton.newton`.
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

        They are those of :func:`fastpsr.calibration.separability.check_margins`. Of several classes
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
