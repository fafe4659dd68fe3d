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
_LEAST_SHARE = 1e-5  # of a group's weight that slopes are taken over: rounding is far below
_LEFT_OUT = 400  # parts of the units that are left out in turn, else


@np.errstate(over="ignore", invalid="ignore")  # values near the largest float have no skewness
def acceleration(jobs: list[Job], signs: list[float], resampling: Resampling, seed: int) -> float:
    """Return a sixth of the skewness of the influence of the units on a sum of signed metrics.

    Where a summary is small, the influence of a sample is its slope; else the units are left out in
    about 400 random parts, whose influences are sums of those of the units. Influences are centered
    within strata.
    """
    units = resampling.units(jobs[0].predictions)
    influence: Floats | None = np.zeros(units.n_units)
    for job, sign in zip(jobs, signs, strict=True):
        found = _by_slopes(job, units)
        influence = None if found is None or influence is None else influence + sign * found
    if influence is None:
        centered = _by_leaving_out(jobs, signs, units, seed)
    else:
        centered = _centered([influence[stratum] for stratum in _strata(units)])
    largest = float(np.abs(centered).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return 0.0
    centered = centered / largest  # of any magnitude: only ratios matter
    return float((centered**3).sum() / (6.0 * (centered**2).sum() ** 1.5))


def _by_slopes(job: Job, units: Units) -> Floats | None:
    """Return the influence of each unit, (U,); None where a summary is too large for it."""
    metric, predictions, summands = job.metric, job.predictions, job.summands
    if summands is None or summands.degree:
        return None
    if summands.n_groups * (1 + summands.n_sums) > _MOST_SLOPES:
        return None
    assert isinstance(metric, Metric)
    n_groups, groups = summands.n_groups, summands.groups
    weights = predictions.weights if predictions.weights.size else np.ones(len(predictions))
    # where the metric is finite, infinite summands are of weight or prior 0
    columns = [np.where((weights > 0.0) & np.isfinite(c), c, 0.0) for c in summands.columns]
    weight = np.asarray(np.bincount(groups, weights, n_groups), np.float64)
    sums = np.zeros((n_groups, len(columns)))
    for place, column in enumerate(columns):
        sums[:, place] = np.bincount(groups, weights * column, n_groups)
    step = float(weights[weights > 0.0].min())
    with np.errstate(all="ignore"):
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
        change = min(max(step, _LEAST_SHARE * weight[group]), 0.5 * weight[group])
        by_weight[group] = difference(weight, group, change)
        for place in range(sums.shape[1]):
            width = abs(sums[group, place]) / weight[group] * change or change
            by_sum[group, place] = difference(sums, group * sums.shape[1] + place, width)
    return by_weight, by_sum


def _by_leaving_out(jobs: list[Job], signs: list[float], units: Units, seed: int) -> Floats:
    """Return the influence of random parts of each stratum's units: the value without them."""
    rng = np.random.default_rng(seed)
    strata = _strata(units)
    most = max(_LEFT_OUT // len(strata), 2)
    of_strata = [np.array_split(rng.permutation(s), min(most, s.size)) for s in strata]
    parts = [part for of_stratum in of_strata for part in of_stratum]
    without = np.asarray(signs) @ values_under(jobs, LeftOut(units, parts), len(parts))
    return _centered(np.split(-without, np.cumsum([len(p) for p in of_strata])[:-1]))


def _strata(units: Units) -> list[Any]:
    """Return the units of each stratum that has some."""
    return [s for s in np.split(units.order, units.strata[1:-1]) if s.size]


def _centered(strata: list[Floats]) -> Floats:
    """Return the finite influences of each stratum less their mean."""
    finite = [values[np.isfinite(values)] for values in strata]
    centered = [values - values.mean() for values in finite if values.size]
    return np.concatenate(centered) if centered else np.empty(0)
