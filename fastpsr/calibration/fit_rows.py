"""Affine fits to the samples themselves, if sums on an axis of scores cannot be used.

These are fits to few samples, infinite scores, or more than two classes, and for rules other than
the log rule.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.base import log_prior_of, require_weights
from fastpsr.calibration.folds import Folds, OneFold
from fastpsr.calibration.objective import Asked, Search, bfgs, in_lockstep, newton
from fastpsr.calibration.sampling import sample_step
from fastpsr.calibration.separability import binary_margins, check_margins, no_optimum
from fastpsr.errors import ArgumentError
from fastpsr.plans import Data, Part, Plan, Step
from fastpsr.plans.budget import memory_budget
from fastpsr.plans.steps import ROWS
from fastpsr.predictions import Floats, Predictions, class_factors
from fastpsr.rules.base import ScoringRule

__all__ = ["Fits", "fit_rows", "held_rows", "needs_every_class"]

_THIN = 1 << 15  # samples per class for a starting point


@dataclass(frozen=True, eq=False)
class Fits:
    """Parameters of C affine calibrators: scale (C,) and bias (C, K), which sums to 0."""

    scale: Floats
    bias: Floats


@dataclass(frozen=True, eq=False)
class Problem:
    """Settings of the fits of all folds.

    Attributes
    ----------
    folds : Folds
    with_bias : bool
    n_classes : int
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    divisor : float
        Weights are divided by it, since they may be of any magnitude.
    """

    folds: Folds
    with_bias: bool
    n_classes: int
    floor: float
    divisor: float

    @property
    def n_free(self) -> int:
        """Number of free parameters: the scale, and the biases unless these are fixed."""
        return 1 + self.n_classes if self.with_bias else 1

    def completed(self, point: Floats, fixed_bias: Floats) -> Floats:
        """Return scale and biases at a point of the search, (1 + K,)."""
        return point if self.with_bias else np.concatenate([point, fixed_bias])


@dataclass(frozen=True, eq=False)
class _Totals:
    """Weight of each class in each fold, (C, K), and the extremes of margins.

    Extremes are (C, K, K), or (C, 1, 1) for all classes together if biases are fixed.
    """

    weights: Floats
    least: Floats
    most: Floats


class Rows:
    """Rows of positive weight, sorted by fold, for sums at given parameters."""

    def __init__(self, problem: Problem, part: Part) -> None:
        served = problem.folds.served_by(part)
        predictions = part.predictions
        scores, y, weights = predictions.scores, predictions.labels, predictions.weights
        if weights.size:
            if not weights.all():
                used = np.flatnonzero(weights > 0.0)
                scores, y, served, weights = scores[used], y[used], served[used], weights[used]
            weights = weights / problem.divisor
        if problem.floor:
            highest = -problem.floor if scores.ndim == 1 else None
            scores = np.clip(scores, problem.floor, highest)
        self._lay_out(problem, scores, y, weights, served)

    @classmethod
    def of_arrays(cls, problem: Problem, scores: Floats, y: Any, weights: Floats) -> "Rows":
        """Return the rows for a fit of a single calibrator."""
        made = cls.__new__(cls)
        made._lay_out(problem, scores, y, weights, np.zeros(y.size, np.uint16))
        return made

    def _lay_out(
        self, problem: Problem, scores: Floats, y: Any, weights: Floats, served: Any
    ) -> None:
        n_parts = problem.folds.n_calibrators
        self._problem, self._n_parts = problem, n_parts
        self._side_by_side: Any = None
        self._runs: dict[bytes, list[tuple[int, int]]] = {}
        self._served = served
        if n_parts > 1 and scores.ndim == 1:
            order = np.argsort(served, kind="stable")
            scores, y, served = scores[order], y[order], served[order]
            weights = weights[order] if weights.size else weights
        self.scores, self.y, self.weights, self._served = scores, y, weights, served
        if scores.ndim == 1:
            self._bounds = np.searchsorted(served, np.arange(n_parts + 1))

    def totals(self) -> _Totals:
        """Return the totals that determine whether optima exist."""
        n_classes, n_parts = self._problem.n_classes, self._n_parts
        cells = self._served.astype(np.int64) * n_classes + self.y
        counts = np.bincount(cells, self.weights if self.weights.size else None,
                             n_parts * n_classes)  # fmt: skip
        weights = counts.reshape(n_parts, n_classes).astype(np.float64)
        if self.scores.ndim == 2:
            least, most = kernels.margin_ranges(
                self.scores, self.y, self.weights, self._served, n_parts, self._problem.with_bias
            )
            return _Totals(weights, least, most)
        least = np.full((n_parts, 2, 2), np.inf)
        most = np.full((n_parts, 2, 2), -np.inf)
        for part in range(n_parts):
            rows = slice(self._bounds[part], self._bounds[part + 1])
            if rows.start == rows.stop:
                continue
            own = self.weights[rows] if self.weights.size else self.weights
            ranges = kernels.class_ranges(self.scores[rows], self.y[rows], own)
            least[part], most[part] = binary_margins(ranges)
        return _Totals(weights, least, most)

    def sums_at(
        self,
        asked: Asked,
        trains: NDArray[np.bool_],
        factors: Floats,
        middle: float,
        fixed_bias: Floats,
    ) -> tuple[Floats, Floats | None]:
        """Return gradient and Hessian of the log loss over the training rows.

        The derivatives are by scale and biases, or by the scale only, with biases `fixed_bias`
        (K,). Weights of classes are multiplied by `factors` (K,); `middle` is subtracted from
        binary scores.
        """
        with_bias = self._problem.with_bias
        point = self._problem.completed(asked.point, fixed_bias)
        if self.scores.ndim == 2:
            if self._side_by_side is None:
                self._side_by_side = kernels.SideBySide(
                    self.scores, self.y, self.weights, self._served, self._n_parts
                )
            found: tuple[Floats, Floats | None] = self._side_by_side.sum_fit(
                point, asked.curved, trains, factors, with_bias
            )
            return found
        scale, shift = point[0], point[2] - point[1]
        sums = np.zeros(5)
        key = trains.tobytes()
        if key not in self._runs:
            self._runs[key] = _runs(trains)
        for first, last in self._runs[key]:
            rows = slice(self._bounds[first], self._bounds[last])
            own = self.weights[rows] if self.weights.size else self.weights
            sums += kernels.sum_fit_binary(
                self.scores[rows], self.y[rows], own, scale, shift, factors, middle
            )
        e, ex, v, vx, vxx = sums
        if not with_bias:
            return np.array([ex]), np.array([[vxx]])
        gradient = np.array([ex, -e, e])
        hessian = np.array([[vxx, -vx, vx], [-vx, v, -v], [vx, -v, v]])
        return gradient, hessian

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
        return ("held rows", self.folds.key)

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        if part.is_whole:
            return part
        accumulator = {} if accumulator is None else accumulator
        # a copy, since the part may be a view of a larger buffer
        predictions = Predictions.joined([part.predictions])
        accumulator[part.number] = (predictions, self.folds.served_by(part))
        return accumulator

    def merge(self, one: Any, other: Any) -> Any:
        return {**one, **other}

    def finish(self, accumulator: Any) -> Part:
        if isinstance(accumulator, Part):
            return accumulator
        parts = [accumulator[number] for number in sorted(accumulator)]
        joined = Part.whole(Predictions.joined([predictions for predictions, _ in parts]))
        served = np.concatenate([of_part for _, of_part in parts])
        joined.remember(("served by", self.folds.key), lambda: served)
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
        return ("totals", id(self.problem))

    def add(self, accumulator: _Totals | None, prepared: None, part: Part) -> _Totals:
        found = Rows(self.problem, part).totals()
        return found if accumulator is None else self.merge(accumulator, found)

    def merge(self, one: _Totals, other: _Totals) -> _Totals:
        return _Totals(
            one.weights + other.weights,
            np.minimum(one.least, other.least),
            np.maximum(one.most, other.most),
        )


@dataclass(frozen=True, eq=False)
class _FitSumsAtPoints(Step):
    """Sum gradient and Hessian, or value and gradient, of several fits, each at its own point."""

    problem: Problem
    places: list[int]
    asked: list[Asked]
    factors: Floats
    middle: float
    offsets: Floats
    rule: ScoringRule | None
    totals: Floats

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.problem.folds.reads

    @property
    def key(self) -> Hashable:
        return ("sums at points", id(self))

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        found = self.sums_of(Rows(self.problem, part))
        return found if accumulator is None else self.merge(accumulator, found)

    def sums_of(self, rows: Rows) -> list[tuple[Any, Any]]:
        """Return the sums over some rows, fit by fit."""
        found: list[tuple[Any, Any]] = []
        for place, asked in zip(self.places, self.asked, strict=True):
            factors, total = self.factors[place], float(self.totals[place])
            if self.rule is not None:
                found.append(rows.score_at(asked, self.rule, factors, total))
            else:
                trains = self.problem.folds.trains[place]
                fixed = self.offsets[place]
                found.append(rows.sums_at(asked, trains, factors, self.middle, fixed))
        return found

    def merge(self, one: Any, other: Any) -> Any:
        return [
            (a + c, None if b is None else b + d) for (a, b), (c, d) in zip(one, other, strict=True)
        ]


def held_rows(data: Data, folds: Folds) -> Plan[Part | None]:
    """Plan: return all rows as one part; None if they exceed the memory budget.

    Each step of a search is then a read. Joining parts takes twice the bytes of the rows.
    """
    n_bytes = 8 * len(data) * (data.n_classes + 2)
    if not isinstance(data, Predictions) and 2 * n_bytes > memory_budget():
        return None
    (rows,) = yield [_HoldRows(folds).over(data)]
    return rows  # type: ignore[no-any-return]


def needs_every_class(data: Data, *, with_bias: bool) -> bool:
    """Whether a fit is undefined if a class has no samples; the scale of posteriors is defined."""
    return with_bias or data.n_classes == 2 or data.kind != "posteriors"


def fit_rows(
    data: Data,
    folds: Folds,
    *,
    with_bias: bool,
    floor: float,
    score_range: tuple[float, float],
    rule: ScoringRule | None = None,
    start: tuple[float, Floats] | None = None,
    rows: Part | None = None,
) -> Plan[Fits]:
    """Plan: request sums over the rows until the fits of all folds have converged; return the fits.

    Parameters
    ----------
    data : Data
    folds : Folds
    with_bias : bool
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    score_range : pair of float
        Lowest and highest score, after the replacement.
    rule : ScoringRule, optional
        Rule to minimize, by descent from the optimum for the log rule, the identity and the best
        constant; for a single calibrator only.
    start : (scale, bias), optional
        Starting point of the search, from another fit.
    rows : Part, optional
        Result of :func:`held_rows`, if it was called.

    Returns
    -------
    Fits
        Of all folds; with `rule` the best fit, and then the points where descents started.

    Raises
    ------
    ValueError
        If a fit has no optimum.
    """
    n_classes = data.n_classes
    divisor = float(data.class_weights.max())
    problem = Problem(folds, with_bias, n_classes, floor, divisor if data.has_weights else 1.0)
    held = None
    if rows is None:
        rows = yield from held_rows(data, folds)
    if rows is not None:
        held = Rows(problem, rows)
        del rows
        totals = held.totals()
    else:
        (totals,) = yield [_SumTotals(problem).over(data)]
    weights = kernels.add_trained(folds.trains, totals.weights)
    given, n_fits = data.given_priors, folds.n_calibrators
    for c, of_class in enumerate(weights):
        if not of_class.any():
            raise ArgumentError(
                "folds",
                "must leave training samples for every trial: some pair of folds covers all; "
                "use more folds",
            )
        if needs_every_class(data, with_bias=with_bias):
            require_weights(of_class, data.kind)
        trains = folds.trains[c]
        check_margins(
            totals.least[trains].min(axis=0), totals.most[trains].max(axis=0), with_bias=with_bias
        )
    factors = np.stack([class_factors(of_class, given) for of_class in weights])
    offsets = np.stack([
        log_prior_of(data.kind, of_class * of_factors, given)
        for of_class, of_factors in zip(weights, factors, strict=True)
    ])  # fmt: skip
    sizes = (weights * factors).sum(axis=1)
    middle = _far_middle(score_range) if n_classes == 2 and with_bias else 0.0
    # contribution of the scale to the biases
    tilt = middle * np.array([-0.5, 0.5]) if middle else np.zeros(n_classes)

    def ask(
        by: ScoringRule | None, at: float, places: list[int], asked: list[Asked]
    ) -> Plan[list[tuple[Any, Any]]]:
        step = _FitSumsAtPoints(problem, places, asked, factors, at, offsets, by, sizes)
        if held is not None:
            with np.errstate(all="ignore"):
                return step.sums_of(held)
        (found,) = yield [step.over(data)]
        return found  # type: ignore[no-any-return]

    n_free = problem.n_free
    gauge = np.arange(n_free) > 0

    def search(c: int, point: Floats) -> Search:
        return newton(point[:n_free], float(sizes[c]), gauge=gauge)

    def first_point(c: int) -> Floats:
        if not with_bias:
            return np.zeros(1)
        return np.concatenate([[0.0], np.log(weights[c] * factors[c] / sizes[c])])

    def from_fit(c: int, scale: float, bias: Floats) -> Floats:
        return np.concatenate([[scale], bias + scale * tilt + offsets[c]])

    def found_by(c: int, end: Floats | None) -> Floats:
        return problem.completed(_require_found(end), offsets[c])

    points: list[Floats | None] = [None] * n_fits
    near = start
    if near is None:
        point = first_point(0)
        rough = yield from _rough_point(data, problem, weights.sum(axis=0), middle, held is None)
        if rough is not None:
            near = (float(rough[0]), rough[1:] - rough[1:].mean())
            point = from_fit(0, near[0], near[1] - near[0] * tilt)
        elif n_fits > 1:  # the others start at the optimum of the first
            (points[0],) = yield from in_lockstep([search(0, point)], partial(ask, None, middle))
            found = found_by(0, points[0])
            near = (float(found[0]), found[1:] - offsets[0])
    else:
        point = from_fit(0, *near)
        near = (near[0], near[1] + near[0] * tilt)
    open_fits = [c for c in range(n_fits) if points[c] is None]
    searches = []
    for c in open_fits:
        begin = point
        if near is not None:
            bias = near[1] if with_bias else np.zeros(n_classes)
            begin = np.concatenate([[near[0]], bias + offsets[c]])
        searches.append(search(c, begin))

    def ask_open(places: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
        return (yield from ask(None, middle, [open_fits[place] for place in places], asked))

    ends = yield from in_lockstep(searches, ask_open)
    for c, end in zip(open_fits, ends, strict=True):
        points[c] = end
    scale, bias = np.empty(n_fits), np.empty((n_fits, n_classes))
    for c, end in enumerate(points):
        found = found_by(c, end)
        scale[c] = found[0]
        own = found[1:] - offsets[c] - found[0] * tilt
        bias[c] = own - own.mean()
    if rule is not None:
        log_optimum = np.concatenate([scale[:1], bias[0] + offsets[0]])
        identity = np.concatenate([[1.0], offsets[0]])
        constant = np.concatenate([[0.0], np.log(weights[0] * factors[0] / sizes[0])])
        starts = [log_optimum, identity, constant]
        best = yield from _descend(starts, partial(ask, rule, 0.0))
        candidates = np.stack([best, *starts])
        own = candidates[:, 1:] - offsets[0]
        return Fits(candidates[:, 0], own - own.mean(axis=1, keepdims=True))
    return Fits(scale, bias)


def _descend(
    starts: list[Floats], ask: Callable[[list[int], list[Asked]], Plan[list[tuple[Any, Any]]]]
) -> Plan[Floats]:
    """Plan: return the best of the points that descents of one fit reach, and of the starts.

    The descent begins at the first start; at another only if that is better than where it ended.
    """

    def of_one(places: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
        return (yield from ask([0] * len(places), asked))

    def best_of(points: list[Floats]) -> Plan[tuple[Floats, Floats]]:
        found = yield from of_one([0] * len(points), [Asked(point) for point in points])
        values = np.array([value if np.isfinite(value) else np.inf for value, _ in found])
        return points[int(values.argmin())], values

    ends = yield from in_lockstep([bfgs(starts[0])], of_one)
    points = [*(end for end in ends if end is not None), *starts]
    best, values = yield from best_of(points)
    better = [point for point, value in zip(points, values, strict=True) if value < values[0]]
    if better:
        ends = yield from in_lockstep([bfgs(point) for point in better], of_one)
        best, _ = yield from best_of([best, *(end for end in ends if end is not None)])
    return best


def _rough_point(
    data: Data, problem: Problem, class_weights: Floats, middle: float, always: bool
) -> Plan[Floats | None]:
    """Plan: return the fit to a sample of the rows: scale, and biases that include the prior.

    None if there are few rows, or the fit to the sample fails.
    """
    if not always and (data.n_classes > 2 or len(data) < 4 * _THIN):
        return None
    (sample,) = yield [sample_step(data, _THIN, problem.floor).over(data)]
    if sample is None or np.unique(sample.y).size < data.n_classes:
        return None
    one = Problem(OneFold(), problem.with_bias, data.n_classes, 0.0, 1.0)
    held = np.bincount(sample.y, sample.weights, data.n_classes)
    factors = class_factors(data.class_weights, data.given_priors) * data.class_weights / held
    weights = sample.weights * factors[sample.y]
    total = float(weights.sum())
    by_class = np.bincount(sample.y, weights, data.n_classes).astype(np.float64)
    offset = log_prior_of(data.kind, by_class, data.given_priors)
    rows = Rows.of_arrays(one, sample.scores, sample.y, weights / total)
    trains, alike = np.ones(1, bool), np.ones(data.n_classes)
    point = np.zeros(one.n_free)
    if one.with_bias:
        point[1:] = np.log(by_class / total)
    search = newton(point, 1.0, gauge=np.arange(one.n_free) > 0)

    def ask(places: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
        with np.errstate(all="ignore"):
            return [rows.sums_at(asked[0], trains, alike, middle, offset)]
        yield

    try:
        (found,) = yield from in_lockstep([search], ask)
    except ValueError:  # no optimum for the sample
        return None
    if found is None or not np.isfinite(found).all():
        return None
    found = one.completed(found, offset)
    return np.concatenate([found[:1], found[1:] - offset])


def _require_found(point: Floats | None) -> Floats:
    if point is None:
        raise no_optimum("all but separate the classes: calibration did not converge in 200 steps")
    if not np.isfinite(point).all():
        raise ArgumentError(
            "scores", "must be of a magnitude whose squares are finite to fit a scale"
        )
    return point


def _far_middle(score_range: tuple[float, float]) -> float:
    """Return the middle of the range if it is so far from 0 that squares lose digits, else 0."""
    low, high = score_range
    middle = low / 2.0 + high / 2.0
    return middle if abs(middle) > high - low > 0.0 else 0.0


def _runs(trains: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (first, last + 1) of the runs of consecutive training folds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], trains, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
