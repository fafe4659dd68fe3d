"""Influence of each drawn unit on a metric, for the acceleration of BCa intervals."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr.bootstrap.draws import Dealt
from fastpsr.bootstrap.jackknife import LEFT_OUT
from fastpsr.bootstrap.replicates import Job, layout_of, values_under
from fastpsr.bootstrap.resampling import Resampling
from fastpsr.bootstrap.sums import Layout
from fastpsr.bootstrap.units import IdUnits, Kept, RowUnits, Units
from fastpsr.metrics.base import Metric
from fastpsr.plans import LABELS, Data, Plan, Step
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats
from fastpsr.summaries.summands import Summands

__all__ = ["acceleration"]

_MOST_SLOPES = 20_000  # largest size of a summary for which slopes are computed
_LEAST_SHARE = 1e-5  # width of difference quotients, as a fraction of the weight of a group


def acceleration(
    jobs: list[Job], signs: list[float], resampling: Resampling, seed: int
) -> Plan[float]:
    """Plan: return skewness / 6 of the influence of the units on a sum of signed metrics.

    For small summaries the influence of a sample is a slope. Otherwise about 400 random subsets of
    the units are left out in turn; the influence of a subset is the sum over its units. Influences
    are centered within strata.
    """
    units = yield from resampling.units(jobs[0].whole)
    assert isinstance(units, Units)  # others have no influence: BCa is refused
    if all(_has_slopes(job) for job in jobs):
        return (yield from _by_slopes(jobs, signs, units))
    return (yield from _by_leaving_out(jobs, signs, units, seed))


# Slopes


def _has_slopes(job: Job) -> bool:
    summands = job.summands
    if summands is None or summands.degree or not getattr(job.metric, "has_slopes", True):
        return False
    return summands.n_groups * (1 + summands.n_sums) <= _MOST_SLOPES


def _by_slopes(jobs: list[Job], signs: list[float], units: Units) -> Plan[float]:
    """Plan: request the sums of each group, then the moments of the influences of the units."""
    data: list[Data] = [jobs[0].whole]
    kept, layouts = Kept(), []
    for job in jobs:
        assert job.summands is not None
        layouts.append(layout_of(job, [job.summands], kept, data))
    totals = yield [_GroupTotals(layout).over(*data) for layout in layouts]
    slopes = []
    for job, sign, total in zip(jobs, signs, totals, strict=True):
        metric, summands = job.metric, job.summands
        assert isinstance(metric, Metric)
        assert summands is not None
        with np.errstate(all="ignore"):
            by_weight, by_sum = _slopes(metric, summands, total.weight, total.sums, total.least)
        slopes.append((sign * by_weight, sign * by_sum))
    influences = _Influences(tuple(layouts), tuple(slopes), units)
    if isinstance(units, IdUnits):
        (by_unit,) = yield [_UnitInfluences(influences, units.ids.size).over(*data)]
        return _sixth_of_skewness(_centered([by_unit]))
    (first,) = yield [_FirstMoments(influences).over(*data)]
    with np.errstate(all="ignore"):
        means = first.total / first.count
        scale = first.largest + float(np.abs(np.where(first.count, means, 0.0)).max(initial=0.0))
    if not 0.0 < scale < np.inf:
        return 0.0
    (sums,) = yield [_HigherMoments(influences, means, scale).over(*data)]
    squares, cubes = sums
    # if all influences are equal, deviations are rounding errors, whose skewness is meaningless
    return float(cubes / (6.0 * squares**1.5)) if squares > 0.0 else 0.0


@dataclass(eq=False)
class _Totals:
    weight: Floats
    sums: Floats
    least: float


@dataclass(frozen=True, eq=False)
class _GroupTotals(Step):
    """Weight and sums of each group, and the least positive weight of a row."""

    layout: Layout

    @property
    def reads(self) -> frozenset[str]:
        return self.layout.reads

    @property
    def key(self) -> Hashable:
        return ("group totals", id(self.layout))

    def start(self) -> _Totals:
        n, n_sums = self.layout.n_groups, self.layout.n_sums
        return _Totals(np.zeros(n), np.zeros((n, n_sums)), np.inf)

    def add(self, accumulator: _Totals, prepared: None, *parts: Part) -> _Totals:
        if self.layout.is_absent(parts):
            return accumulator
        groups, weights, columns = _terms(self.layout, parts)
        n = self.layout.n_groups
        accumulator.weight += np.bincount(groups, weights, n)
        for place, column in enumerate(columns):
            accumulator.sums[:, place] += np.bincount(groups, weights * column, n)
        accumulator.least = min(accumulator.least, float(weights[weights > 0.0].min()))
        return accumulator

    def merge(self, one: _Totals, other: _Totals) -> _Totals:
        return _Totals(one.weight + other.weight, one.sums + other.sums,
                       min(one.least, other.least))  # fmt: skip


def _terms(layout: Layout, parts: tuple[Part, ...]) -> tuple[Any, Floats, list[Floats]]:
    """Return group, weight and summands of each row."""
    predictions = layout.own(parts).predictions
    weights = predictions.weights if predictions.weights.size else np.ones(len(predictions))
    # where the metric is finite, infinite summands are of weight or prior 0
    columns = [np.where((weights > 0.0) & np.isfinite(c), c, 0.0) for c in layout.columns(parts)]
    return layout.groups(parts), weights, columns


@dataclass(frozen=True, eq=False)
class _Influences:
    """The influence of each row, from the slopes of each job's summary."""

    layouts: tuple[Layout, ...]
    slopes: tuple[tuple[Floats, Floats], ...]
    units: Units

    @property
    def reads(self) -> frozenset[str]:
        return LABELS.union(self.units.reads, *(layout.reads for layout in self.layouts))

    def of_rows(self, parts: tuple[Part, ...]) -> Floats:
        """Return (n,) influences."""
        total = np.zeros(len(parts[0].predictions))
        for layout, (by_weight, by_sum) in zip(self.layouts, self.slopes, strict=True):
            if layout.is_absent(parts):
                continue
            groups, weights, columns = _terms(layout, parts)
            influence = by_weight[groups]
            for place, column in enumerate(columns):
                influence += by_sum[groups, place] * column
            total += layout.spread(parts, influence * weights)
        return total

    def by_stratum(self, parts: tuple[Part, ...]) -> list[Floats]:
        """Return the finite influences of the rows of each stratum."""
        assert isinstance(self.units, RowUnits)
        order, bounds = self.units.order(parts[0])
        influence = self.of_rows(parts)[order]
        strata = np.split(influence, bounds[1:-1])
        return [values[np.isfinite(values)] for values in strata]


@dataclass(frozen=True, eq=False)
class _InfluenceStep(Step):
    influences: _Influences

    @property
    def reads(self) -> frozenset[str]:
        return self.influences.reads

    @property
    def key(self) -> Hashable:
        return (type(self).__name__, id(self.influences))


@dataclass(frozen=True, eq=False)
class _UnitInfluences(_InfluenceStep):
    """Sum the influences of the rows of each unit."""

    n_units: int

    def add(self, accumulator: Any, prepared: None, *parts: Part) -> Any:
        first, _ = self.influences.units.numbers(parts[0])
        found = np.bincount(first, self.influences.of_rows(parts), self.n_units)
        return found if accumulator is None else accumulator + found


@dataclass(eq=False)
class _Moments:
    count: Floats
    total: Floats
    largest: float


@dataclass(frozen=True, eq=False)
class _FirstMoments(_InfluenceStep):
    """Number and sum of finite influences in each stratum, and the largest of all."""

    def add(self, accumulator: _Moments | None, prepared: None, *parts: Part) -> _Moments:
        strata = self.influences.by_stratum(parts)
        found = _Moments(
            np.array([float(values.size) for values in strata]),
            np.array([values.sum() for values in strata]),
            max(float(np.abs(values).max(initial=0.0)) for values in strata),
        )
        return found if accumulator is None else self.merge(accumulator, found)

    def merge(self, one: _Moments, other: _Moments) -> _Moments:
        return _Moments(one.count + other.count, one.total + other.total,
                        max(one.largest, other.largest))  # fmt: skip


@dataclass(frozen=True, eq=False)
class _HigherMoments(_InfluenceStep):
    """Sums of squares and cubes of centered influences, in units of `scale`."""

    means: Floats
    scale: float

    def add(self, accumulator: Any, prepared: None, *parts: Part) -> Any:
        found = np.zeros(2)
        for values, mean in zip(self.influences.by_stratum(parts), self.means, strict=True):
            if values.size:
                centered = (values - mean) / self.scale  # skewness does not depend on the scale
                found += (centered**2).sum(), (centered**3).sum()
        return found if accumulator is None else accumulator + found


def _slopes(
    metric: Metric[Any], summands: Summands, weight: Floats, sums: Floats, step: float
) -> tuple[Floats, Floats]:
    """Return derivatives of the metric by weight and sums of each group (central differences)."""
    by_weight, by_sum = np.zeros(weight.shape), np.zeros(sums.shape)

    def difference(array: Floats, place: int, width: float) -> float:
        flat = array.reshape(-1)  # a view
        held = flat[place]
        values = []
        for shifted in (held + width, held - width):
            flat[place] = shifted
            values.append(metric.finish(summands.assemble(weight.copy(), sums.copy())))
        flat[place] = held
        return (values[0] - values[1]) / (2.0 * width)

    for group in np.flatnonzero(weight > 0.0).tolist():
        change = min(max(step, _LEAST_SHARE * weight[group]), 0.5 * weight[group])
        by_weight[group] = difference(weight, group, change)
        for place in range(sums.shape[1]):
            width = abs(sums[group, place]) / weight[group] * change or change
            by_sum[group, place] = difference(sums, group * sums.shape[1] + place, width)
    return by_weight, by_sum


# Leaving out


def _by_leaving_out(jobs: list[Job], signs: list[float], units: Units, seed: int) -> Plan[float]:
    """Plan: request the values without each random subset of units, and return skewness / 6."""
    sizes = units.n_in_strata
    n_shares = max(LEFT_OUT // max(int(np.count_nonzero(sizes)), 1), 2)
    taken = np.minimum(n_shares, sizes)  # shares that have units, which are dealt in turn
    shares = [stratum * n_shares + np.arange(n) for stratum, n in enumerate(taken.tolist())]
    keeps = ~np.eye(n_shares * sizes.size, dtype=bool)[np.concatenate(shares)]
    found = yield from values_under(
        jobs, Dealt(units, keeps, seed, apart=True), jointly=len(jobs) > 1
    )
    without = np.asarray(signs) @ found
    return _sixth_of_skewness(_centered(np.split(-without, np.cumsum(taken)[:-1])))


def _centered(strata: list[Floats]) -> Floats:
    """Return the finite influences of each stratum minus their mean."""
    finite = [values[np.isfinite(values)] for values in strata]
    centered = [values - values.mean() for values in finite if values.size]
    return np.concatenate(centered) if centered else np.empty(0)


def _sixth_of_skewness(centered: Floats) -> float:
    largest = float(np.abs(centered).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return 0.0
    centered = centered / largest  # skewness does not depend on the scale
    return float((centered**3).sum() / (6.0 * (centered**2).sum() ** 1.5))
