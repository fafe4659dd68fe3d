"""Rows that fusions are fitted to, and sums over them."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.objective import Asked
from fastpsr.calibration.stacks import Stack
from fastpsr.errors import ArgumentError
from fastpsr.plans import Part
from fastpsr.predictions import Floats

__all__ = ["Basis", "Problem", "Rows", "rows_of"]

_CHUNK = 1 << 14  # rows whose scores stay in the cache
_COLLINEAR = 1e-12  # share of the largest variance below which a direction is rounding


@dataclass(frozen=True, eq=False)
class Basis:
    """Uncorrelated directions of the systems: ``(x - middle) @ to``, of unit variance.

    Attributes
    ----------
    middle : ndarray of float64, shape (S,), or (S, K) of several classes
    to : ndarray of float64, shape (S, R)
    """

    middle: Floats
    to: Floats

    @property
    def rank(self) -> int:
        """Number R of directions."""
        return int(self.to.shape[1])

    @classmethod
    def of(cls, middle: Floats, covariance: Floats, largest: Floats) -> Self:
        """Return the directions of systems; those of rounding alone are left out."""
        spread = np.sqrt(np.diagonal(covariance))
        used = spread > 1e-14 * largest
        if not used.any():
            raise ArgumentError("systems", "must differ between samples: all scores are alike")
        unit = np.divide(1.0, spread, out=np.zeros_like(spread), where=used)
        variances, directions = np.linalg.eigh(covariance * unit[:, None] * unit)
        kept = variances > _COLLINEAR * variances[-1]
        return cls(middle, unit[:, None] * (directions[:, kept] / np.sqrt(variances[kept])))

    @classmethod
    def around(cls, middle: Floats) -> Self:
        """Return the systems themselves as directions."""
        return cls(middle, np.eye(len(middle)))


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fusion minimizes: the log loss of some folds at the training prior.

    Attributes
    ----------
    training_mask : ndarray of bool, shape (F,)
    factors : ndarray of float64, shape (K,)
        On the weights of classes; those of the training rows then sum to 1.
    offset : float
        Of the log-odds of two classes: those of the prior.
    """

    training_mask: NDArray[np.bool_]
    factors: Floats
    offset: float

    @classmethod
    def of(cls, training_mask: NDArray[np.bool_], totals: Floats, prior: float) -> Self:
        """Return the problem of weights of folds by class, (F, K), at a prior of class 1."""
        of_class = kernels.add_masked(training_mask[None], totals)[0]
        if not of_class.all():
            rule = f"must leave samples of every class to train on, but class {of_class.argmin()}"
            raise ArgumentError("folds", f"{rule} has none", remedy="use other folds or groups")
        if of_class.size > 2:
            return cls(training_mask, 1.0 / (of_class.size * of_class), 0.0)
        factors = np.array([1.0 - prior, prior]) / of_class
        return cls(training_mask, factors, float(np.log(prior) - np.log1p(-prior)))


@dataclass(frozen=True, eq=False)
class Rows(ABC):
    """Rows of positive weight.

    Attributes
    ----------
    scores : ndarray of float64, shape (S, n) or (S, n, K)
    y : ndarray of int, shape (n,)
    weights : ndarray of float64, shape (n,)
        Those of each class sum to 1 in all of the data.
    folds : ndarray of uint16, shape (n,)
    n_folds, n_classes : int
    places : ndarray of int, shape (n,), or slice
        Of these rows in a part, as it was given.
    """

    scores: Floats
    y: NDArray[Any]
    weights: Floats
    folds: NDArray[Any]
    n_folds: int
    n_classes: int
    places: Any = None

    def reweighted(self, weights: Floats) -> Self:
        """Return the rows with weights of the rows of a part, (N,), as they are."""
        return replace(self, weights=weights[self.places])

    def picked(self, rows: Any) -> Self:
        """Return some of the rows."""
        return replace(
            self, scores=np.ascontiguousarray(self.scores[:, rows]), y=self.y[rows],
            weights=self.weights[rows], folds=self.folds[rows], places=None,
        )  # fmt: skip

    def joined(self, parts: Sequence["Rows"]) -> Self:
        """Return the rows of all parts, as these are sorted."""
        folds, y = (np.concatenate([getattr(each, of) for each in parts]) for of in ("folds", "y"))
        order = self._order(folds, y)
        scores = np.concatenate([each.scores for each in parts], axis=1)[:, order]
        weights = np.concatenate([each.weights for each in parts])[order]
        return replace(
            self, scores=scores, y=y[order], weights=weights, folds=folds[order], places=None
        )

    def moved(self, basis: Basis) -> Self:
        """Return the rows with their scores in the directions of a basis."""
        n = self.y.size
        out = np.zeros((basis.rank, *self.scores.shape[1:]))
        for first in range(0, n, _CHUNK):
            here = slice(first, first + _CHUNK)
            for scores, middle, weights in zip(self.scores, basis.middle, basis.to, strict=True):
                centered = scores[here] - middle
                for direction, weight in enumerate(weights):  # by BLAS bits would vary
                    if weight:
                        out[direction, here] += weight * centered
        return replace(self, scores=out)

    def in_one_fold(self) -> Self:
        """Return the rows of all folds as those of one."""
        order = self._order(np.zeros_like(self.folds), self.y)
        return replace(self.picked(order), folds=np.zeros_like(self.folds), n_folds=1)

    def thinned(self, strides: Sequence[int]) -> Self:
        """Return every n-th row of each class."""
        some = [np.flatnonzero(self.y == k)[::stride] for k, stride in enumerate(strides)]
        return self.picked(np.sort(np.concatenate(some)))

    @staticmethod
    @abstractmethod
    def _order(folds: NDArray[Any], y: NDArray[Any]) -> Any:
        """Return an index that sorts rows."""

    @property
    def totals(self) -> Floats:
        """Weights of folds by class, (F, K)."""
        cells = self.folds.astype(np.int64) * self.n_classes + self.y
        sums = np.bincount(cells, self.weights, self.n_folds * self.n_classes)
        return np.asarray(sums.reshape(self.n_folds, self.n_classes), np.float64)

    @property
    def largest(self) -> Floats:
        """Largest score of each system, by magnitude, (S,)."""
        flat = self.scores.reshape(len(self.scores), -1)
        ends = flat.max(axis=1, initial=0.0), -flat.min(axis=1, initial=0.0)
        return np.asarray(np.maximum(*ends))

    @abstractmethod
    def moments(self) -> tuple[Floats, Floats]:
        """Return sums of scores (S,), or (S, K), and of their products (S, S).

        Classes count alike. With several classes both are without what is common to all classes.
        """

    @abstractmethod
    def sums(
        self, problems: Sequence[Problem], asked: Sequence[Asked]
    ) -> list[tuple[Floats, Floats | None]]:
        """Return gradient and Hessian of each problem at its point."""

    @abstractmethod
    def margins(self, end: Floats, training_mask: NDArray[np.bool_]) -> Floats:
        """Return least fused scores of some folds, by which :meth:`separate` tells.

        (least, -largest) of each class, or of the margins of several classes.
        """

    @staticmethod
    def separate(margins: Floats) -> bool:
        """Whether these margins are of samples that all lie on the right side."""
        if margins.size == 2:
            least, most = margins * (1.0, -1.0)
            return bool(least >= 0.0 and most > 0.0)
        low0, high0, low1, high1 = margins * (1.0, -1.0, 1.0, -1.0)
        return bool(low1 >= high0 and min(low0, low1) < max(high0, high1))


class _BinaryRows(Rows):
    """Rows of two classes, sorted by fold and class."""

    @staticmethod
    def _order(folds: NDArray[Any], y: NDArray[Any]) -> Any:
        return np.argsort(folds.astype(np.uint32) * 2 + y, kind="stable")

    @cached_property
    def _cells(self) -> NDArray[np.int64]:
        """First rows of folds by class, (F, 3)."""
        cells = self.folds.astype(np.int64) * 2 + self.y
        bounds = np.searchsorted(cells, np.arange(2 * self.n_folds + 1))
        return np.column_stack([bounds[:-1:2], bounds[1::2], bounds[2::2]])

    @property
    def totals(self) -> Floats:
        bounds = self._cells
        return np.array(
            [[self.weights[a:b].sum() for a, b in itertools.pairwise(of)] for of in bounds]
        )

    def moments(self) -> tuple[Floats, Floats]:
        at_zero = Asked(np.zeros(len(self.scores) + 1))
        every = Problem(np.ones(self.n_folds, bool), np.full(2, 2.0), 0.0)  # p (1 - p) is a quarter
        _, hessian = self.sums([every], [at_zero])[0]
        assert hessian is not None
        return hessian[:-1, -1], hessian[:-1, :-1]

    def sums(
        self, problems: Sequence[Problem], asked: Sequence[Asked]
    ) -> list[tuple[Floats, Floats | None]]:
        known: dict[tuple[bytes, int, int], tuple[Floats, Floats]] = {}
        found: list[tuple[Floats, Floats | None]] = []
        for problem, each in zip(problems, asked, strict=True):
            n, key = each.point.size, each.point.tobytes()
            gradient, hessian = np.zeros(n), np.zeros((n, n))
            for fold in np.flatnonzero(problem.training_mask).tolist():
                for k, factor in enumerate(problem.factors):
                    cell = (key, fold, k)  # which folds that begin at one point share
                    if cell not in known:
                        known[cell] = self._sum_cell(each.point, fold, k, problem.offset)
                    gradient += factor * known[cell][0]
                    hessian += factor * known[cell][1]
            found.append((gradient, hessian))
        return found

    def _sum_cell(self, point: Floats, fold: int, k: int, offset: float) -> tuple[Floats, Floats]:
        rows = int(self._cells[fold, k]), int(self._cells[fold, k + 1])
        return kernels.sum_fit(
            self.scores, self.y, self.weights, rows, point, True, offset, np.ones(2)
        )

    def margins(self, end: Floats, training_mask: NDArray[np.bool_]) -> Floats:
        few = self._margins(end, training_mask, _CHUNK)
        return self._margins(end, training_mask, len(self.y)) if self.separate(few) else few

    def _margins(self, end: Floats, training_mask: NDArray[np.bool_], most_rows: int) -> Floats:
        """Return the margins of so many rows of each class in each fold."""
        ends = []
        for k in (0, 1):
            least, most = np.inf, -np.inf
            for fold in np.flatnonzero(training_mask):
                begin, stop = self._cells[fold, k : k + 2]
                stop = min(stop, begin + most_rows)
                fused = np.zeros(stop - begin)
                for scores, weight in zip(self.scores, end[:-1], strict=True):
                    fused += weight * scores[begin:stop]
                fused = fused[self.weights[begin:stop] > 0.0]  # some are not drawn in a replicate
                least = min(least, float(fused.min(initial=np.inf)))
                most = max(most, float(fused.max(initial=-np.inf)))
            ends += [least, -most]
        return np.array(ends)


class _ClassRows(Rows):
    """Rows of a score for each of several classes."""

    @staticmethod
    def _order(folds: NDArray[Any], y: NDArray[Any]) -> Any:
        return slice(None)

    @cached_property
    def _side_by_side(self) -> Any:
        return kernels.SideBySide(self.scores, self.y, self.weights, self.folds, self.n_folds)

    def moments(self) -> tuple[Floats, Floats]:
        n_systems, n_classes = len(self.scores), self.n_classes
        at_zero = Asked(np.zeros(n_systems + n_classes))
        every = Problem(np.ones(self.n_folds, bool), np.ones(n_classes), 0.0)
        _, hessian = self.sums([every], [at_zero])[0]
        assert hessian is not None
        return hessian[:n_systems, n_systems:], hessian[:n_systems, :n_systems]

    def sums(
        self, problems: Sequence[Problem], asked: Sequence[Asked]
    ) -> list[tuple[Floats, Floats | None]]:
        rows = self._side_by_side
        return [
            rows.sum_fit(each.point, each.curved, problem.training_mask, problem.factors)
            for problem, each in zip(problems, asked, strict=True)
        ]

    def margins(self, end: Floats, training_mask: NDArray[np.bool_]) -> Floats:
        rows = np.flatnonzero(training_mask[self.folds] & (self.weights > 0.0))
        least, most = np.inf, -np.inf
        for first in range(0, rows.size, _CHUNK):
            some = rows[first : first + _CHUNK]
            fused = np.zeros((some.size, self.n_classes)) + end[len(self.scores) :]
            for scores, weight in zip(self.scores, end, strict=False):
                fused += weight * scores[some]
            places = np.arange(some.size), self.y[some]
            own = fused[places]
            fused[places] = -np.inf
            margin = own - fused.max(axis=1)
            least, most = min(least, float(margin.min())), max(most, float(margin.max()))
        return np.array([least, -most])


def rows_of(stack: Stack, parts: Sequence[Part], folds: Folds) -> Rows:
    """Return the rows of positive weight of a part of each system."""
    first = parts[0].predictions
    columns = stack.columns(parts) if stack.held is None else stack.held
    y, weights, n_classes = first.labels, first.weights, stack.n_classes
    made: type[Rows] = _BinaryRows if n_classes == 2 else _ClassRows
    folds_of_rows = folds.fold_of_rows(parts[0])
    order = made._order(folds_of_rows, y)
    if weights.size:
        order = np.arange(y.size)[order]
        order = order[weights[order] > 0.0]
    y = y[order]
    scores = np.empty((len(columns), y.size, *columns[0].shape[1:]))
    for place, column in enumerate(columns):
        scores[place] = column[order]
    if n_classes > 2:
        scores -= scores.mean(axis=2, keepdims=True)  # common to all classes
    totals = stack.first.class_weights[y]
    shares = weights[order] / totals if weights.size else 1.0 / totals
    return made(scores, y, shares, folds_of_rows[order], folds.n_folds, n_classes, order)
