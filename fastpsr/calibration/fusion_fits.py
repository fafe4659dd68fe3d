"""Linear fusions, and their fits for all folds at once."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.base import require_weights
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.linear_rows import NEAR, LinearRows, TrainingSet, are_separated, no_optimum
from fastpsr.calibration.stacks import Stack, held_columns
from fastpsr.data import Floats
from fastpsr.errors import ArgumentError

_THIN = 1 << 15  # samples of a class that find a starting point
_COLLINEAR = 1e-12  # share of the largest variance below which a direction is rounding
_NEAR_IN_REPLICATES = 1e-3  # gradient before the last step of a search in a replicate


@dataclass(frozen=True, eq=False)
class Fusions:
    """C fitted fusions.

    Attributes
    ----------
    weights : ndarray of float64, shape (C, S)
    bias : ndarray of float64, shape (C, K)
    rank : int
    """

    weights: Floats
    bias: Floats
    rank: int

    def fuse(self, columns: Any, fusion_of_row: NDArray[Any] | None) -> Floats:
        """Return the scores of all rows, each by a fusion; by default by the first.

        Columns are S arrays of shape (n,) or (n, K), or one array (S, n).
        """
        n = len(columns[0])
        by_row: Any = np.zeros(n, np.uint8) if fusion_of_row is None else fusion_of_row
        if columns[0].ndim == 1:
            between = np.ascontiguousarray(self.bias[:, 1] - self.bias[:, 0])
            features = np.asarray(columns, np.float64)
            fused: Floats = kernels.axis.combine_by_part(features, by_row, self.weights, between)
            return fused
        fused = self.bias[by_row]
        for s, column in enumerate(columns):
            fused += self.weights[by_row, s, None] * column
        return fused


@dataclass(frozen=True, eq=False)
class _Basis:
    """Uncorrelated directions of the systems: ``(x - middle) @ to``, of unit variance.

    Attributes
    ----------
    middle : ndarray of float64, shape (S,), or (S, K) of several classes
    to : ndarray of float64, shape (S, R)
    """

    middle: Floats
    to: Floats

    @classmethod
    def of(cls, rows: LinearRows) -> tuple[Self, LinearRows]:
        """Return the directions of systems, except of rounding noise, and the rows in them.

        Classes count alike. Of several classes, what is common to all classes is left out.
        """
        scores = rows.features
        if rows.n_classes > 2:
            scores = scores - scores.mean(axis=2, keepdims=True)
        largest = np.abs(scores).reshape(len(scores), -1).max(axis=1, initial=0.0)
        middle, _ = _moments(replace(rows, features=scores))
        scores = scores - middle[:, None]
        _, covariance = _moments(replace(rows, features=scores))
        spread = np.sqrt(np.diagonal(covariance))
        used = spread > 1e-14 * largest
        if not used.any():
            raise ArgumentError("systems", "must differ between samples: all scores are alike")
        unit = np.divide(1.0, spread, out=np.zeros_like(spread), where=used)
        variances, directions = np.linalg.eigh(covariance * unit[:, None] * unit)
        kept = variances > _COLLINEAR * variances[-1]
        to = unit[:, None] * (directions[:, kept] / np.sqrt(variances[kept]))
        moved = np.einsum("sr,s...->r...", to, scores)  # the bits of BLAS vary with threads
        return cls(middle, to), replace(rows, features=moved)

    def fusions(self, ends: list[Floats]) -> Fusions:
        """Return the fusions of parameters in the directions."""
        rank = self.to.shape[1]
        weights = np.stack([(self.to * end[:rank]).sum(axis=1) for end in ends])
        middle = self.middle.reshape(len(self.to), -1)
        bias = np.stack([end[rank:] for end in ends]) - weights @ middle
        if bias.shape[1] == 1:
            bias = bias * np.array([-0.5, 0.5])
        return Fusions(weights, bias - bias.mean(axis=1, keepdims=True), rank)


def _moments(rows: LinearRows) -> tuple[Floats, Floats]:
    """Return the means (S,) or (S, K) and second moments (S, S) of the features of rows.

    They are the curvature of the loss where all posteriors are alike, on which classes count alike.
    """
    n_features, n_classes = len(rows.features), rows.n_classes
    of_classes = rows.class_weights.sum(axis=0)
    factors = (2.0 if n_classes == 2 else 1.0) / of_classes
    every = TrainingSet(np.ones(rows.n_folds, bool), of_classes, factors, np.zeros(n_classes))
    point = np.zeros(n_features + (1 if n_classes == 2 else n_classes))
    with np.errstate(all="ignore"):  # squares may overflow
        hessian = np.asarray(rows.sums(every, point, True, True)[1])
    means = hessian[:n_features, n_features:]
    return means[:, 0] if n_classes == 2 else means, hessian[:n_features, :n_features]


@dataclass(frozen=True, eq=False)
class FusionFits:
    """Fits to the training sets of folds.

    Attributes
    ----------
    rows : LinearRows
        With scores in the directions of the basis.
    basis : _Basis
    folds : Folds
    prior : float
        Of class 1, at which classes are weighed.
    ends : list of ndarray
        Optimum of each training set, in the directions of the basis.
    """

    rows: LinearRows
    basis: _Basis
    folds: Folds
    prior: float
    ends: list[Floats]

    @property
    def fusions(self) -> Fusions:
        """Weights of systems, and biases."""
        return self.basis.fusions(self.ends)

    def at_weights(self, weights: Floats) -> Fusions:
        """Return the fusions where the samples in memory have other weights (N,).

        Searches end where what is left is below a hundredth of what replicates differ by.
        """
        rows, near = self.rows.reweighted(weights), _NEAR_IN_REPLICATES
        begin = np.mean(self.ends, axis=0)
        if len(self.ends) > 1:
            begin = _optimum(rows, np.ones(rows.n_folds, bool), self.prior, begin, near)
        masks = self.folds.training_mask
        ends = [_optimum(rows, mask, self.prior, begin, near) for mask in masks]
        return self.basis.fusions(ends)


def fit_fusions(stack: Stack, folds: Folds, prior: float) -> FusionFits:
    """Return a fusion for each of the training sets of folds, at this prior of class 1.

    Raises
    ------
    ArgumentError
        Without samples of every class to train on, or where there is no optimum; for parts that
        exceed the memory budget.
    """
    require_weights(stack.first)
    table = held_columns(stack, folds)
    rows = LinearRows.of(
        table.columns, table.y, table.weights, table.fold_of_row, folds.n_folds, stack.n_classes,
        stack.first.class_weights,
    )  # fmt: skip
    del table
    basis, rows = _Basis.of(rows)
    begin = _rough_optimum(rows, prior) if len(rows.y) >= 4 * _THIN else None
    ends = [_optimum(rows, mask, prior, begin) for mask in folds.training_mask]
    return FusionFits(rows, basis, folds, prior, ends)


def _rough_optimum(rows: LinearRows, prior: float) -> Floats | None:
    """Return the optimum for some of the rows, where other searches begin; None without one."""
    thin = rows.thinned(_THIN)
    training = _training_set(thin, np.ones(1, bool), prior)
    end = thin.fit(training)
    return None if end is None or not np.isfinite(end).all() else end


def _optimum(
    rows: LinearRows,
    mask: NDArray[np.bool_],
    prior: float,
    begin: Floats | None,
    near: float = NEAR,
) -> Floats:
    """Return the optimum on the training set of some folds; raise if there is none."""
    training = _training_set(rows, mask, prior)
    end = rows.fit(training, begin, near=near)
    if end is None or not np.isfinite(end).all():
        error = no_optimum("all but separate the classes: the search did not converge", 3)
        raise error.renamed("systems")
    least, most = rows.margins(rows.scores(end), by_class=False)
    if are_separated(least[mask].min(axis=0), most[mask].max(axis=0)):
        error = no_optimum("together separate the classes, and no fusion is best", 3)
        raise error.renamed("systems")
    return end


def _training_set(rows: LinearRows, mask: NDArray[np.bool_], prior: float) -> TrainingSet:
    """Return the training set of some folds at a prior of class 1, or with classes alike."""
    of_classes = kernels.axis.add_masked(mask[None], rows.class_weights)[0]
    if not of_classes.all():
        rule = f"must leave samples of every class to train on, but class {of_classes.argmin()}"
        raise ArgumentError("folds", f"{rule} has none", remedy="use other folds or groups")
    n_classes = of_classes.size
    if n_classes > 2:
        return TrainingSet(mask, of_classes, 1.0 / (n_classes * of_classes), np.zeros(n_classes))
    log_odds = float(np.log(prior) - np.log1p(-prior))
    factors = np.array([1.0 - prior, prior]) / of_classes
    return TrainingSet(mask, of_classes, factors, np.array([0.0, log_odds]))
