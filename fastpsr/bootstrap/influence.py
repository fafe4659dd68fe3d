"""How much each drawn unit moves a metric: the acceleration of BCa intervals."""

from typing import Any

import numpy as np

from fastpsr.bootstrap.replicates import Job, values_under
from fastpsr.bootstrap.resampling import Resampling, Units
from fastpsr.bootstrap.sums import LeftOut
from fastpsr.metrics.base import Metric
from fastpsr.predictions import Floats
from fastpsr.summaries.summands import Summands

__all__ = ["acceleration"]

_MOST_SLOPES = 20_000  # numbers in a summary whose slopes are taken one by one
_LEFT_OUT = 400  # parts of the units that are left out in turn, else


def acceleration(jobs: list[Job], signs: list[float], resampling: Resampling, seed: int) -> float:
    """Return a sixth of the skewness of the influence of the units on a sum of signed metrics.

    Where a summary is small, the influence of a sample is its slope; else the units are left out in
    at most 400 random parts, whose influences are sums of those of the units.
    """
    units = resampling.units(jobs[0].predictions)
    influence: Floats | None = np.zeros(units.n_units)
    for job, sign in zip(jobs, signs, strict=True):
        found = _by_slopes(job, units)
        influence = None if found is None or influence is None else influence + sign * found
    if influence is None:
        centred = _by_leaving_out(jobs, signs, units, seed)
    else:
        drawn = influence[units.order]
        means = [part.mean() for part in np.split(drawn, units.strata[1:-1]) if part.size]
        sizes = np.diff(units.strata)
        centred = drawn - np.repeat(means, sizes[sizes > 0])
    spread = float((centred**2).sum())
    return float((centred**3).sum()) / (6.0 * spread**1.5) if spread > 0.0 else 0.0


def _by_slopes(job: Job, units: Units) -> Floats | None:
    """Return the influence of each unit, (U,); None where a summary is too large for it."""
    metric, predictions = job.metric, job.predictions
    summands = metric.summands(predictions) if isinstance(metric, Metric) else None
    if summands is None or summands.degree:
        return None
    if summands.n_groups * (1 + summands.n_sums) > _MOST_SLOPES:
        return None
    assert isinstance(metric, Metric)
    n_groups, groups = summands.n_groups, summands.groups
    weights = predictions.weights if predictions.weights.size else np.ones(len(predictions))
    columns = [np.where(weights > 0.0, c, 0.0) for c in summands.columns]  # 0 x inf is 0
    weight = np.asarray(np.bincount(groups, weights, n_groups), np.float64)
    sums = np.zeros((n_groups, len(columns)))
    for place, column in enumerate(columns):
        sums[:, place] = np.bincount(groups, weights * column, n_groups)
    step = float(weights[weights > 0.0].min())
    by_weight, by_sum = _slopes(metric, summands, weight, sums, step)
    influence = by_weight[groups]
    for place, column in enumerate(columns):
        influence += by_sum[groups, place] * column
    by_unit = np.bincount(units.first, influence * weights, units.n_units)
    return np.asarray(by_unit, np.float64)


def _slopes(
    metric: Metric[Any], summands: Summands, weight: Floats, sums: Floats, step: float
) -> tuple[Floats, Floats]:
    """Return how the metric changes with each group's weight and sums, by central differences."""
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
        by_weight[group] = difference(weight, group, min(step, 0.5 * weight[group]))
        for place in range(sums.shape[1]):
            width = abs(sums[group, place]) / weight[group] * step or step
            by_sum[group, place] = difference(sums, group * sums.shape[1] + place, width)
    return by_weight, by_sum


def _by_leaving_out(jobs: list[Job], signs: list[float], units: Units, seed: int) -> Floats:
    """Return the influence of random parts of the units: the value without them, centred."""
    shuffled = np.random.default_rng(seed).permutation(units.order)
    parts = np.array_split(shuffled, min(_LEFT_OUT, shuffled.size))
    values = np.asarray(signs) @ values_under(jobs, LeftOut(units, parts), len(parts))
    defined = values[np.isfinite(values)]
    return np.asarray(defined.mean() - defined) if defined.size else defined
