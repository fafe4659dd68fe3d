"""Fits of smooth maps to the samples themselves, if sums on an axis of scores cannot be used.

These are fits to few samples, or to more than two classes.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import ByIdentity, cached_property
from fastpsr.calibration.base import require_weights
from fastpsr.calibration.folds import Folds, OneFold, training_runs
from fastpsr.calibration.objective import Asked, Search, in_lockstep, newton
from fastpsr.calibration.sampling import rough_fit, sampled
from fastpsr.calibration.separability import binary_margins, check_margins, no_optimum
from fastpsr.calibration.smooth_map import Fits, SmoothMap
from fastpsr.calibration.training_priors import TrainingPriors
from fastpsr.errors import ArgumentError
from fastpsr.plans import Data, Part, Plan, Step
from fastpsr.plans.budget import steady_budget
from fastpsr.plans.steps import ROWS
from fastpsr.predictions import Floats, Predictions
from fastpsr.rules import Brier
from fastpsr.rules.base import ScoringRule

__all__ = ["RowFits", "fit_rows", "held_rows", "needs_every_class"]

_THIN = 1 << 15  # samples per class for a starting point


@dataclass(frozen=True, eq=False)
class Problem:
    """Settings of the fits of all folds.

    Attributes
    ----------
    map : SmoothMap
        With more than two classes, its bias stands for one of each class.
    folds : Folds
    n_classes : int
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    origin : float
        Score that is subtracted from binary scores.
    divisor : float
        Weights are divided by it, since they may be of any magnitude.
    """

    map: SmoothMap
    folds: Folds
    n_classes: int
    floor: float
    origin: float
    divisor: float


@dataclass(frozen=True, eq=False)
class _Totals:
    """Weight of each class in each fold, (C, K), and the extremes of margins.

    Extremes are (C, K, K), or (C, 1, 1) for all classes together without biases.
    """

    weights: Floats
    least: Floats
    most: Floats


class Rows(ABC):
    """Rows of positive weight, for sums at given parameters."""

    def __init__(
        self,
        problem: Problem,
        scores: Floats,
        y: NDArray[Any],
        weights: Floats,
        fold_of_row: Any,
    ) -> None:
        self.problem, self.n_folds = problem, problem.folds.n_folds
        self.scores, self.y, self.weights, self.fold_of_row = (
            scores,
            y,
            weights,
            fold_of_row,
        )

    @staticmethod
    def of(problem: Problem, part: Part) -> "Rows":
        """Return the rows of a part."""
        fold_of_row = problem.folds.fold_of_rows(part)
        predictions = part.predictions
        scores, y, weights = predictions.scores, predictions.labels, predictions.weights
        if weights.size:
            if not weights.all():
                used = np.flatnonzero(weights > 0.0)
                scores, y, fold_of_row, weights = (
                    scores[used],
                    y[used],
                    fold_of_row[used],
                    weights[used],
                )
            weights = weights / problem.divisor
        if problem.floor:
            highest = -problem.floor if scores.ndim == 1 else None
            scores = np.clip(scores, problem.floor, highest)
        rows = BinaryRows if scores.ndim == 1 else ClassRows
        return rows(problem, scores, y, weights, fold_of_row)

    def totals(self) -> _Totals:
        """Return the totals that determine whether optima exist."""
        n_classes = self.problem.n_classes
        cells = self.fold_of_row.astype(np.int64) * n_classes + self.y
        counts = np.bincount(
            cells, self.weights if self.weights.size else None, self.n_folds * n_classes
        )
        weights = counts.reshape(self.n_folds, n_classes).astype(np.float64)
        return _Totals(weights, *self.margins())

    @abstractmethod
    def margins(self) -> tuple[Floats, Floats]:
        """Return the extremes of margins of the rows that each calibrator serves."""

    @abstractmethod
    def sums_at(
        self, asked: Asked, training_mask: NDArray[np.bool_], factors: Floats, offset: Floats
    ) -> tuple[Floats, Floats | None]:
        """Return gradient and Hessian of the log loss over the training rows.

        Weights of classes are multiplied by `factors` (K,); log-priors `offset` (K,) are added to
        the scores.
        """

    def score_at(
        self, asked: Asked, rule: ScoringRule, factors: Floats, total: float
    ) -> tuple[float, Floats]:
        """Return the expected loss over all rows, and its gradient by scale and biases."""
        rows, y = self.scores, self.y
        if rows.ndim == 1:
            rows = np.column_stack([np.zeros_like(rows), rows])
        shares = factors[y] / total
        shares = shares * self.weights if self.weights.size else shares

        def log_q_at(point: Floats) -> Floats:
            out = np.empty(rows.shape)
            kernels.normalize_log_rows(point[0] * rows, point[1:], out)
            return out

        def score(point: Floats) -> float:
            return float((shares * rule.losses_at(log_q_at(point), y)).sum())

        log_q = log_q_at(asked.point)
        value = float((shares * rule.losses_at(log_q, y)).sum())
        slopes = rule.slopes(log_q, y)
        if slopes is not None:
            slopes = slopes * shares[:, None]
            return value, np.concatenate([[(slopes * rows).sum()], slopes.sum(axis=0)])
        gradient = np.empty(asked.point.size)
        for k in range(gradient.size):  # finite differences
            shift = np.zeros(gradient.size)
            shift[k] = 1e-6 * max(1.0, abs(asked.point[k]))
            gradient[k] = score(asked.point + shift) - score(asked.point - shift)
            gradient[k] /= 2.0 * shift[k]
        return value, gradient


class BinaryRows(Rows):
    """Rows of one score, sorted by the calibrator that serves them."""

    def __init__(
        self,
        problem: Problem,
        scores: Floats,
        y: NDArray[Any],
        weights: Floats,
        fold_of_row: Any,
    ) -> None:
        n_folds = problem.folds.n_folds
        if n_folds > 1:
            order = np.argsort(fold_of_row, kind="stable")
            scores, y, fold_of_row = scores[order], y[order], fold_of_row[order]
            weights = weights[order] if weights.size else weights
        super().__init__(problem, scores, y, weights, fold_of_row)
        self._bounds = np.searchsorted(fold_of_row, np.arange(n_folds + 1))
        self._runs: dict[bytes, list[tuple[int, int]]] = {}

    def margins(self) -> tuple[Floats, Floats]:
        least = np.full((self.n_folds, 2, 2), np.inf)
        most = np.full((self.n_folds, 2, 2), -np.inf)
        for c in range(self.n_folds):
            rows = slice(self._bounds[c], self._bounds[c + 1])
            if rows.start == rows.stop:
                continue
            weights = self.weights[rows] if self.weights.size else self.weights
            ranges = kernels.class_ranges(self.scores[rows], self.y[rows], weights)
            least[c], most[c] = binary_margins(ranges)
        return least, most

    def sums_at(
        self, asked: Asked, training_mask: NDArray[np.bool_], factors: Floats, offset: Floats
    ) -> tuple[Floats, Floats]:
        prior = float(offset[1] - offset[0])
        with_bias, features = self.problem.map.with_bias, self._features
        if self.problem.map.adds_prior_first:
            features, prior = self.problem.map.features(self.scores + prior), 0.0
        n = asked.point.size
        gradient, hessian = np.zeros(n), np.zeros((n, n))
        key = training_mask.tobytes()
        if key not in self._runs:
            self._runs[key] = training_runs(training_mask)
        for first, last in self._runs[key]:
            rows = (int(self._bounds[first]), int(self._bounds[last]))
            slopes, curvature = kernels.sum_fit(
                features, self.y, self.weights, rows, asked.point, with_bias, prior, factors
            )
            gradient += slopes
            hessian += curvature
        return gradient, hessian

    @cached_property
    def _features(self) -> Floats:
        return self.problem.map.features(self.scores - self.problem.origin)


class ClassRows(Rows):
    """Rows of a score per class, side by side in blocks of the calibrators that serve them."""

    def margins(self) -> tuple[Floats, Floats]:
        return kernels.margin_ranges(
            self.scores, self.y, self.weights, self.fold_of_row, self.n_folds,
            self.problem.map.with_bias,
        )  # fmt: skip

    def sums_at(
        self, asked: Asked, training_mask: NDArray[np.bool_], factors: Floats, offset: Floats
    ) -> tuple[Floats, Floats | None]:
        with_bias = self.problem.map.with_bias
        point = asked.point if with_bias else np.concatenate([asked.point, offset])
        sums: tuple[Floats, Floats | None] = self._side_by_side.sum_fit(
            point, asked.curved, training_mask, factors, with_bias
        )
        return sums

    def score_at(
        self, asked: Asked, rule: ScoringRule, factors: Floats, total: float
    ) -> tuple[float, Floats]:
        if not isinstance(rule, Brier):
            return super().score_at(asked, rule, factors, total)
        value, gradient = self._side_by_side.brier_fit(asked.point, factors)
        return value / total, gradient / total

    @cached_property
    def _side_by_side(self) -> Any:
        return kernels.SideBySide(
            self.scores[None], self.y, self.weights, self.fold_of_row, self.n_folds
        )


@dataclass(frozen=True, eq=False)
class _HoldRows(Step):
    """Copy the rows into memory, as one part."""

    folds: Folds
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.folds.reads

    @property
    def key(self) -> Hashable:
        return ("rows in memory", self.folds.key)

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        if part.is_in_memory:
            return part
        accumulator = {} if accumulator is None else accumulator
        # a copy, since the part may be a view of a larger buffer
        predictions = Predictions.joined([part.predictions])
        accumulator[part.number] = (predictions, self.folds.fold_of_rows(part))
        return accumulator

    def merge(self, one: Any, other: Any) -> Any:
        return {**one, **other}

    def finish(self, accumulator: Any) -> Part:
        if isinstance(accumulator, Part):
            return accumulator
        parts = [accumulator[number] for number in sorted(accumulator)]
        joined = Part.whole(Predictions.joined([predictions for predictions, _ in parts]))
        fold_of_row = np.concatenate([of_part for _, of_part in parts])
        joined.remember(("fold of rows", self.folds.key), lambda: fold_of_row)
        return joined


@dataclass(frozen=True, eq=False)
class _SumTotals(Step):
    """Sum the totals that determine whether optima exist."""

    problem: Problem

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.problem.folds.reads

    @property
    def key(self) -> Hashable:
        return ("totals", ByIdentity(self.problem))

    def add(self, accumulator: _Totals | None, prepared: None, part: Part) -> _Totals:
        totals = Rows.of(self.problem, part).totals()
        return totals if accumulator is None else self.merge(accumulator, totals)

    def merge(self, one: _Totals, other: _Totals) -> _Totals:
        return _Totals(
            one.weights + other.weights,
            np.minimum(one.least, other.least),
            np.maximum(one.most, other.most),
        )


@dataclass(frozen=True, eq=False)
class Targets:
    """What the fits of C calibrators minimize.

    Attributes
    ----------
    problem : Problem
    weights : ndarray of float64, shape (C, K)
        What trains each calibrator, by class.
    factors : ndarray of float64, shape (C, K)
        What classes weigh besides, at the training priors.
    sizes : ndarray of float64, shape (C,)
        Total weight.
    offsets : ndarray of float64, shape (C, K)
        What is added to the scores for log-posteriors at the training priors.
    """

    problem: Problem
    weights: Floats
    factors: Floats
    sizes: Floats
    offsets: Floats

    @classmethod
    def of(cls, problem: Problem, data: Data, totals: _Totals) -> "Targets":
        """Return the targets; raise where a fit has no optimum."""
        training_mask, with_bias = problem.folds.training_mask, problem.map.with_bias
        weights = kernels.add_masked(training_mask, totals.weights)
        for c, of_class in enumerate(weights):
            if not of_class.any():
                raise ArgumentError(
                    "folds",
                    "must leave training samples for every trial: some pair of folds covers all; "
                    "use more folds",
                )
            if needs_every_class(data, with_bias=with_bias):
                require_weights(of_class, data.kind)
            least, most = totals.least[training_mask[c]], totals.most[training_mask[c]]
            margins = least.min(axis=0), most.max(axis=0)
            check_margins(*margins, data.n_classes, with_bias=with_bias)
        priors = TrainingPriors.of(data, problem.map.prior)
        factors = np.stack([priors.factors(of_class) for of_class in weights])
        offsets = [priors.offsets(of_class) for of_class in weights]
        return cls(problem, weights, factors, (weights * factors).sum(axis=1), np.stack(offsets))


@dataclass(frozen=True, eq=False)
class _SumAtPoints(Step):
    """Sum what searches ask for, each at its own point, under the log rule or another."""

    targets: Targets
    numbers: list[int]
    asked: list[Asked]
    rule: ScoringRule | None

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.targets.problem.folds.reads

    @property
    def key(self) -> Hashable:
        return ("sums at points", ByIdentity(self))

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        sums = self.sums_of(Rows.of(self.targets.problem, part))
        return sums if accumulator is None else self.merge(accumulator, sums)

    def sums_of(self, rows: Rows) -> list[tuple[Any, Any]]:
        """Return the sums over some rows, fit by fit."""
        sums: list[tuple[Any, Any]] = []
        for c, asked in zip(self.numbers, self.asked, strict=True):
            factors = self.targets.factors[c]
            if self.rule is not None:
                sums.append(rows.score_at(asked, self.rule, factors, self.targets.sizes[c]))
            else:
                training_mask = self.targets.problem.folds.training_mask[c]
                sums.append(rows.sums_at(asked, training_mask, factors, self.targets.offsets[c]))
        return sums

    def merge(self, one: Any, other: Any) -> Any:
        return [
            (a + c, None if b is None else b + d) for (a, b), (c, d) in zip(one, other, strict=True)
        ]


class RowFits:
    """Fits to rows in memory, or to rows that are read for each step of the search."""

    def __init__(self, targets: Targets, data: Data, rows: Rows | None) -> None:
        self.targets, self._data, self._rows = targets, data, rows

    def fit(self, numbers: Sequence[int], begin: Floats | None) -> Plan[list[Floats]]:
        """Plan: return the parameters of some fits, whose searches begin at parameters."""

        def ask(places: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
            return (yield from self.sums([numbers[place] for place in places], asked))

        ends = yield from in_lockstep([self._search(c, begin) for c in numbers], ask)
        return [self._parameters(c, end) for c, end in zip(numbers, ends, strict=True)]

    def sums(
        self, numbers: list[int], asked: list[Asked], rule: ScoringRule | None = None
    ) -> Plan[list[tuple[Any, Any]]]:
        """Plan: return what searches ask for."""
        step = _SumAtPoints(self.targets, numbers, asked, rule)
        if self._rows is not None:
            with np.errstate(all="ignore"):
                return step.sums_of(self._rows)
        (sums,) = yield [step.over(self._data)]
        return sums  # type: ignore[no-any-return]

    def _search(self, c: int, begin: Floats | None) -> Search:
        targets, problem = self.targets, self.targets.problem
        map_, offset, size = problem.map, targets.offsets[c], float(targets.sizes[c])
        with np.errstate(divide="ignore"):  # where a class is missing, there are no biases
            logs = np.log(targets.weights[c] * targets.factors[c] / size)
        if problem.n_classes > 2:
            point = np.concatenate([[0.0], logs])
            if begin is not None:
                point = np.concatenate([begin[:1], begin[1:] + offset])
            point = point if map_.with_bias else point[:1]
            return newton(point, size, gauge=np.arange(point.size) > 0)
        if begin is None:
            point = np.zeros(map_.n_parameters)
            if map_.with_bias:
                point[-1] = logs[1] - logs[0] - (offset[1] - offset[0])
        else:
            point = map_.moved(begin, problem.origin)
        return newton(point, size, penalty=map_.penalty, lower=map_.lower)

    def _parameters(self, c: int, end: Floats | None) -> Floats:
        if end is None:
            raise no_optimum(
                "all but separate the classes: calibration did not converge in 200 steps",
                self.targets.problem.n_classes,
            )
        if not np.isfinite(end).all():
            raise ArgumentError(
                "scores", "must be of a magnitude whose squares are finite to fit a scale"
            )
        problem = self.targets.problem
        if problem.n_classes == 2:
            return problem.map.moved(end, -problem.origin)
        if not problem.map.with_bias:
            return np.concatenate([end, np.zeros(problem.n_classes)])
        bias = end[1:] - self.targets.offsets[c]
        return np.concatenate([end[:1], bias - bias.mean()])


def fit_rows(
    map_: SmoothMap,
    data: Data,
    folds: Folds,
    *,
    floor: float,
    score_range: tuple[float, float],
    start: Floats | None = None,
    rows: Part | None = None,
) -> Plan[tuple[Fits, RowFits]]:
    """Plan: request sums over the rows until the fits of all folds have converged; return the fits.

    Parameters
    ----------
    map_ : SmoothMap
    data : Data
    folds : Folds
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    score_range : pair of float
        Lowest and highest score, after the replacement.
    start : ndarray of float64, shape (p,), optional
        Parameters at which searches begin, from another fit.
    rows : Part, optional
        Result of :func:`held_rows`, if it was called.

    Raises
    ------
    ValueError
        If a fit has no optimum.
    """
    is_binary = data.n_classes == 2
    origin = map_.origin(*score_range) if is_binary else 0.0
    divisor = float(data.class_weights.max()) if data.has_weights else 1.0
    problem = Problem(map_, folds, data.n_classes, floor, origin, divisor)
    if rows is None:
        rows = yield from held_rows(data, folds)
    rows_in_memory = None if rows is None else Rows.of(problem, rows)
    del rows
    if rows_in_memory is not None:
        totals = rows_in_memory.totals()
    else:
        (totals,) = yield [_SumTotals(problem).over(data)]
    fits = RowFits(Targets.of(problem, data, totals), data, rows_in_memory)
    if start is None and is_binary and (rows_in_memory is None or len(data) >= 4 * _THIN):
        start = yield from rough_fit(map_, data, floor)
    elif start is None and rows_in_memory is None:
        start = yield from _rough_class_fit(map_, data, floor)
    numbers = list(range(folds.n_calibrators))
    parameters: list[Floats] = []
    if start is None and len(numbers) > 1:  # the others begin at the first
        parameters = yield from fits.fit(numbers[:1], None)
        start = parameters[0]
    parameters += yield from fits.fit(numbers[len(parameters) :], start)
    offsets = fits.targets.offsets
    prior_log_odds = offsets[:, 1] - offsets[:, 0]
    return Fits(np.stack(parameters), prior_log_odds), fits


def _rough_class_fit(map_: SmoothMap, data: Data, floor: float) -> Plan[Floats | None]:
    """Plan: return the fit to a sample of rows of several classes; None if there is none."""
    sample = yield from sampled(data, TrainingPriors.of(data, map_.prior), _THIN, floor)
    if sample is None:
        return None
    problem = Problem(map_, OneFold(), data.n_classes, 0.0, 0.0, 1.0)
    fold_of_row = np.zeros(sample.y.size, np.uint16)
    rows = ClassRows(problem, sample.scores, sample.y, sample.weights, fold_of_row)
    try:
        targets = Targets.of(problem, data, rows.totals())
        (parameters,) = yield from RowFits(targets, data, rows).fit([0], None)
    except ValueError:  # no optimum for the sample
        return None
    return parameters


def held_rows(data: Data, folds: Folds) -> Plan[Part | None]:
    """Plan: return all rows as one part; None if they exceed the memory budget.

    Each step of a search is then a read. Joining parts takes twice the bytes of the rows.
    """
    n_bytes = 8 * len(data) * (data.n_classes + 2)
    if not isinstance(data, Predictions) and 2 * n_bytes > steady_budget():
        return None
    (rows,) = yield [_HoldRows(folds).over(data)]
    return rows  # type: ignore[no-any-return]


def needs_every_class(data: Data, *, with_bias: bool) -> bool:
    """Whether a fit is undefined if a class has no samples; the scale of posteriors is defined."""
    return with_bias or data.n_classes == 2 or data.kind != "posteriors"
