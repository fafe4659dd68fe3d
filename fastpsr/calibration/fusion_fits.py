"""Fits of linear fusions to samples in memory, for all folds at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.base import require_weights
from fastpsr.calibration.folds import Folds, training_runs
from fastpsr.calibration.objective import Asked, in_lockstep, newton
from fastpsr.calibration.quality import Quality, columns_of
from fastpsr.calibration.separability import no_optimum
from fastpsr.errors import ArgumentError
from fastpsr.plans import Part, Plan, run
from fastpsr.plans.sources import same_priors
from fastpsr.predictions import Floats, Predictions, class_factors

__all__ = ["Fusions", "Stack", "fit_fusions"]

_THIN = 1 << 15  # samples per class that find a starting point
_CHUNK = 1 << 12  # rows whose arrays stay in the cache
_LARGEST = 1e140  # number whose squares are finite in sums
_COLLINEAR = 1e-12  # share of the largest variance below which a direction is rounding


@dataclass(frozen=True, eq=False)
class Stack:
    """Scores of several systems of the same samples, and quality measures, as columns.

    Attributes
    ----------
    first : Predictions
        The first system, which has the labels and weights.
    names : tuple of str
        Names of the columns.
    columns : list of ndarray, each of shape (N,) or (N, K)
    """

    first: Predictions
    names: tuple[str, ...]
    columns: list[NDArray[Any]]

    @classmethod
    def of(
        cls, given: Mapping[Any, Predictions | Quality], terms: str, *, labeled: bool = True
    ) -> Self:
        """Return the columns; raise unless systems are of the same samples and finite."""
        systems = {name: each for name, each in given.items() if not isinstance(each, Quality)}
        if not systems:
            raise ArgumentError("systems", "must have predictions of a system or more")
        first = next(iter(systems.values()))
        columns: dict[str, NDArray[Any]] = {}
        for name, each in systems.items():
            _check(f"systems[{name!r}]", each, first, labeled=labeled)
            columns[str(name)] = each.scores
        scores = dict(columns)
        measures = {name: each for name, each in given.items() if isinstance(each, Quality)}
        for name, measure in measures.items():
            if first.n_classes > 2:
                rule = f"must be predictions: quality is of two classes, not {first.n_classes}"
                raise ArgumentError("systems", rule, name=f"systems[{name!r}]")
            for of, values in columns_of(
                str(name), f"systems[{name!r}]", measure, len(first), terms
            ):
                columns[of] = values
                if terms == "scale":
                    with np.errstate(over="ignore"):
                        columns |= {f"{s} x {of}": values * x for s, x in scores.items()}
        for of, column in columns.items():
            largest = np.abs(column).max(initial=0.0)
            if largest > _LARGEST:
                rule = f"must have numbers of at most {_LARGEST:g}, but {of} has {largest:g}"
                raise ArgumentError("systems", rule)
        return cls(first, tuple(columns), [*columns.values()])

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return self.first.n_classes


def _check(name: str, each: Any, first: Any, *, labeled: bool) -> None:
    """Raise unless a system can be fused with the first."""
    if not isinstance(each, Predictions):
        raise ArgumentError("systems", f"must be predictions in memory, not {each!r}", name=name)
    if each.kind == "posteriors":
        remedy = "pass predictions.as_llrs()" if each.n_classes == 2 else ""
        rule = "must be LLRs, log-likelihoods or raw scores, not posteriors"
        raise ArgumentError("systems", rule, name=name, remedy=remedy)
    if each.n_classes != first.n_classes or len(each) != len(first):
        rule = (
            f"must have the samples of the first, {len(first):,} of {first.n_classes} classes, "
            f"not {len(each):,} of {each.n_classes}"
        )
        raise ArgumentError("systems", rule, name=name)
    if not each.has_finite_scores:
        rows = np.isfinite(each.scores)
        at = int(np.argmin(rows if rows.ndim == 1 else rows.all(axis=1)))
        value = str(each.scores[at])
        raise ArgumentError("systems", "must have finite scores", at, name=name, value=value)
    if not same_priors(each.given_priors, first.given_priors):
        raise ArgumentError("systems", "must have the priors of the first", name=name)
    if not labeled and (each.y_true is None or first.y_true is None):
        return
    if not np.array_equal(each.labels, first.labels):
        at = int(np.argmax(each.labels != first.labels))
        rule = f"must have the labels of the first, but row {at} differs"
        raise ArgumentError("systems", rule, name=name)
    if not np.array_equal(each.weights, first.weights):
        raise ArgumentError("systems", "must have the weights of the first", name=name)


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

    def fuse(self, stack: Stack, fusion_of_row: NDArray[Any] | None) -> Floats:
        """Return the scores of all samples, each by a fusion; by default by the first."""
        by_row: Any = 0 if fusion_of_row is None else fusion_of_row
        if stack.n_classes == 2:
            fused = np.zeros(len(stack.first))
            fused += (self.bias[:, 1] - self.bias[:, 0])[by_row]
            for s, column in enumerate(stack.columns):
                fused += self.weights[by_row, s] * column
            return fused
        fused = np.zeros(stack.first.scores.shape)
        fused += self.bias[by_row]
        for s, column in enumerate(stack.columns):
            fused += np.reshape(self.weights[by_row, s], (-1, 1)) * column
        return fused


def fit_fusions(stack: Stack, folds: Folds, prior: float) -> Fusions:
    """Return a fusion for each of the training sets of folds, at this prior of class 1.

    Raises
    ------
    ArgumentError
        Without samples of every class to train on, or where there is no optimum.
    """
    rows = _Rows.of(stack, folds.fold_of_rows(Part.whole(stack.first)))
    problems = [rows.problem(mask, prior) for mask in folds.training_mask]
    point = rows.rough_point(prior)

    def ask(places: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
        return [problems[c].sums_at(each) for c, each in zip(places, asked, strict=True)]
        yield

    ends = run(lambda: in_lockstep([each.search(point) for each in problems], ask))
    fitted = [each.finished(end) for each, end in zip(problems, ends, strict=True)]
    weights, bias = (np.stack(each) for each in zip(*fitted, strict=True))
    return Fusions(weights, bias, rows.basis.rank)


@dataclass(frozen=True, eq=False)
class _Basis:
    """Uncorrelated directions of the systems: ``(x - middle) @ to``, of unit variance.

    Attributes
    ----------
    middle : ndarray of float64, shape (S,)
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


class _Rows:
    """Rows of positive weight by fold, with their scores in the directions of a basis.

    Attributes
    ----------
    scores : ndarray of float64, shape (R, N), or (R, N, K) with rows that sum to 0
    """

    def __init__(
        self, basis: _Basis, scores: Floats, y: NDArray[Any], weights: Floats, folds: NDArray[Any]
    ) -> None:
        self.basis, self.scores, self.y, self.weights, self.folds = basis, scores, y, weights, folds

    @classmethod
    def of(cls, stack: Stack, fold_of_row: NDArray[Any]) -> "_Rows":
        """Return the rows of a stack, sorted by fold."""
        first = stack.first
        weights = first.weights if first.weights.size else np.ones(len(first))
        order = np.argsort(fold_of_row, kind="stable")
        order = order[weights[order] > 0.0]
        require_weights(first.class_weights, first.kind)
        y, weights = first.labels[order], weights[order]
        for k in range(first.n_classes):  # of any magnitude; what classes weigh is set by priors
            weights[y == k] /= weights[y == k].max()
        totals = np.bincount(y, weights, first.n_classes).astype(np.float64)
        shares = weights / (first.n_classes * totals[y])  # classes count alike
        scores = np.stack([each[order].astype(np.float64) for each in stack.columns])
        largest = np.abs(scores).reshape(len(scores), -1).max(axis=1)
        if scores.ndim == 2:
            middle = scores @ shares
            centered = scores - middle[:, None]
            basis = _Basis.of(middle, (centered * shares) @ centered.T, largest)
            scores = basis.to.T @ centered
        else:
            scores -= scores.mean(axis=2, keepdims=True)
            middles = np.einsum("snk,n->sk", scores, shares)  # which biases are free to move
            centered = scores - middles[:, None]
            covariance = np.einsum("snk,tnk,n->st", centered, centered, shares, optimize=True)
            basis = _Basis.of(np.zeros(len(scores)), covariance, largest)
            scores = np.tensordot(basis.to.T, scores, 1)
        return cls(basis, np.ascontiguousarray(scores), y, weights, fold_of_row[order])

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return 2 if self.scores.ndim == 2 else int(self.scores.shape[2])

    def problem(self, training_mask: NDArray[np.bool_], prior: float) -> "_Problem":
        """Return what the fusion of some folds minimizes."""
        bounds = np.searchsorted(self.folds, np.arange(training_mask.size + 1))
        runs = [(int(bounds[a]), int(bounds[b])) for a, b in training_runs(training_mask)]
        return _Problem(self, runs, prior)

    def rough_point(self, prior: float) -> Floats:
        """Return the optimum for some of the rows, from which searches begin."""
        n_classes = self.n_classes
        point = np.zeros(self.basis.rank + (1 if n_classes == 2 else n_classes))
        if self.y.size < 4 * _THIN:
            return point
        rng = np.random.default_rng(0)
        some = []
        for k in range(n_classes):
            of_class = np.flatnonzero(self.y == k)
            some.append(rng.choice(of_class, min(_THIN, of_class.size), replace=False))
        picked = np.sort(np.concatenate(some))
        rows = _Rows(
            self.basis, np.ascontiguousarray(self.scores[:, picked]), self.y[picked],
            self.weights[picked], np.zeros(picked.size, int),
        )  # fmt: skip
        problem = rows.problem(np.ones(1, bool), prior)
        search = problem.search(point)
        asked = next(search)
        while True:
            try:
                with np.errstate(all="ignore"):
                    asked = search.send(problem.sums_at(asked))
            except StopIteration as stop:
                return point if stop.value is None or problem.separates(stop.value) else stop.value


class _Problem:
    """What a fusion minimizes: the log loss of some rows at the training prior."""

    def __init__(self, rows: _Rows, runs: Sequence[tuple[int, int]], prior: float) -> None:
        self._rows, self._runs = rows, runs
        totals = np.zeros(rows.n_classes)
        for first, end in runs:
            totals += np.bincount(rows.y[first:end], rows.weights[first:end], rows.n_classes)
        if not totals.all():
            rule = f"must leave samples of every class to train on, but class {totals.argmin()}"
            raise ArgumentError("folds", f"{rule} has none", remedy="use other folds or groups")
        is_binary = rows.n_classes == 2
        priors = np.array([1.0 - prior, prior]) if is_binary else np.full(totals.size, 1.0)
        self._factors = class_factors(totals, priors / priors.sum())
        self._offset = float(np.log(prior) - np.log1p(-prior)) if is_binary else 0.0
        self._total = float((totals * self._factors).sum())

    def search(self, point: Floats) -> Any:
        """Return the search for the optimum, which begins at a point."""
        is_bias = np.arange(point.size) >= self._rows.basis.rank
        return newton(point, self._total, gauge=None if self._rows.n_classes == 2 else is_bias)

    def sums_at(self, asked: Asked) -> tuple[Floats, Floats | None]:
        """Return gradient and Hessian at a point."""
        n = asked.point.size
        gradient, hessian = np.zeros(n), np.zeros((n, n))
        rows = self._rows
        for run_ in self._runs:
            if rows.n_classes == 2:
                sums = kernels.sum_fit(
                    rows.scores, rows.y, rows.weights, run_, asked.point, True,
                    self._offset, self._factors,
                )  # fmt: skip
                gradient += sums[0]
                hessian += sums[1]
            else:
                self._add_of_classes(asked.point, run_, gradient, hessian)
        return gradient, hessian

    def _add_of_classes(
        self, point: Floats, run_: tuple[int, int], gradient: Floats, hessian: Floats
    ) -> None:
        """Add the sums over a run of rows of several classes."""
        rows, rank = self._rows, self._rows.basis.rank
        for first in range(*run_, _CHUNK):
            here = slice(first, min(first + _CHUNK, run_[1]))
            scores, y = rows.scores[:, here], rows.y[here]
            weights = rows.weights[here] * self._factors[y]
            logits = np.tensordot(point[:rank], scores, 1) + point[rank:]
            logits -= logits.max(axis=1, keepdims=True)
            posteriors = np.exp(logits)
            posteriors /= posteriors.sum(axis=1, keepdims=True)
            weighted = posteriors * weights[:, None]
            means = (scores * posteriors).sum(axis=2)
            apart = (scores - means[:, :, None]) * weighted
            of_class = weighted.sum(axis=0)
            gradient[:rank] += means @ weights - (scores[:, np.arange(y.size), y] @ weights)
            gradient[rank:] += of_class - np.bincount(y, weights, of_class.size)
            hessian[:rank, :rank] += np.tensordot(apart, scores, ((1, 2), (1, 2)))
            crossed = apart.sum(axis=1)
            hessian[:rank, rank:] += crossed
            hessian[rank:, :rank] += crossed.T
            hessian[rank:, rank:] += np.diag(of_class) - posteriors.T @ weighted

    def separates(self, end: Floats) -> bool:
        """Whether all training samples lie on the right side, so that no fusion is best."""
        rows, rank = self._rows, self._rows.basis.rank
        margins = []
        for first, last in self._runs:
            scores, y = rows.scores[:, first:last], rows.y[first:last]
            fused = np.tensordot(end[:rank], scores, 1)
            if rows.n_classes == 2:
                margins.append((fused, y))
                continue
            fused = fused + end[rank:]
            own = fused[np.arange(y.size), y]
            fused[np.arange(y.size), y] = -np.inf
            margins.append((own - fused.max(axis=1), y))
        values, y = (np.concatenate(each) for each in zip(*margins, strict=True))
        if rows.n_classes == 2:
            least, most = values[y == 1].min(), values[y == 0].max()
            return bool(least >= most and values.min() < values.max())
        return bool(values.min() >= 0.0 and values.max() > 0.0)

    def finished(self, end: Floats | None) -> tuple[Floats, Floats]:
        """Return weights of systems, and a bias of each class."""
        if end is None or not np.isfinite(end).all():
            error = no_optimum("all but separate the classes: the search did not converge", 3)
            raise error.renamed("systems")
        if self.separates(end):
            error = no_optimum("together separate the classes, and no fusion is best", 3)
            raise error.renamed("systems")
        basis = self._rows.basis
        weights = basis.to @ end[: basis.rank]
        if self._rows.n_classes == 2:
            bias = end[-1] - weights @ basis.middle
            return weights, bias * np.array([-0.5, 0.5])
        bias = end[basis.rank :]
        return weights, bias - bias.mean()
