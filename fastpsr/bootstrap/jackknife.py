"""Intervals from values without each cluster or speaker, for means of few of them.

Percentile intervals of such a mean are too short: replicates vary less than means of new clusters,
by (G - 1) / G; and where rare clusters with large losses are missing, both the mean and its
measured error are too small.
"""

import math
from dataclasses import dataclass

import numpy as np

from fastpsr.bootstrap.draws import Dealt
from fastpsr.bootstrap.estimates import Estimate
from fastpsr.bootstrap.replicates import Job, values_under
from fastpsr.bootstrap.units import Units
from fastpsr.metrics.base import Metric
from fastpsr.plans import Plan
from fastpsr.predictions import Floats

__all__ = [
    "LEFT_OUT",
    "LeftOut",
    "degrees_of_freedom",
    "jackknifed",
    "left_out_values",
    "standard_error",
]

LEFT_OUT = 400  # groups that are left out in turn, if there are more units
_LEAST_SHARE = 0.5  # of the groups without which a metric must be defined


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Values of metrics without each of G groups of units, which are left out in turn.

    Attributes
    ----------
    jobs : list of Job
    values : ndarray of float64, shape (J, G)
        nan where a metric is undefined or infinite.
    """

    jobs: list[Job]
    values: Floats

    def centered(self, jobs: list[Job], signs: list[float]) -> Floats:
        """Return the defined values of a sum of signed metrics, minus their mean."""
        rows = self.values[[self.jobs.index(job) for job in jobs]]
        psi: Floats = np.tensordot(np.asarray(signs), rows, 1)
        psi = psi[~np.isnan(psi)]
        return psi - psi.mean() if psi.size else psi


def left_out_values(jobs: list[Job], units: Units, seed: int, *, jointly: bool) -> Plan[LeftOut]:
    """Plan: return the values of prepared jobs without each unit.

    If there are more than 400 units, they are dealt to 400 groups.
    """
    n_units = int(units.n_in_strata.sum())
    draws = Dealt(units, ~np.eye(min(LEFT_OUT, n_units), dtype=bool), seed)
    values = yield from values_under(jobs, draws, jointly=jointly)
    values[np.isinf(values)] = np.nan
    return LeftOut(jobs, values)


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def jackknifed(jobs: list[Job], signs: list[float], value: float, left_out: LeftOut) -> Estimate:
    """Return the value of a mean, or of a sum of signed means, with its standard error.

    Raises
    ------
    ValueError
        If it is undefined or infinite without most of the units, or near the largest float.
    """
    psi = left_out.centered(jobs, signs)
    if psi.size < _LEAST_SHARE * left_out.values.shape[1]:
        raise ValueError("it is undefined or infinite without most of the clusters or speakers")
    error = standard_error(psi)
    if not math.isfinite(error):
        raise ValueError("its values without single units are too near the largest float")
    df = degrees_of_freedom(psi) if error else math.nan
    own = getattr(jobs[0].metric, "optimism", Metric.optimism)
    rule = own if len(jobs) == 1 else Metric.optimism
    return Estimate(value, error, df, math.inf, rule)


def standard_error(psi: Floats) -> float:
    """Return the jackknife's, from centered values without each unit."""
    return math.sqrt((psi.size - 1.0) / max(psi.size, 1) * float((psi**2).sum()))


def degrees_of_freedom(psi: Floats) -> float:
    """Return those of a standard error, from the kurtosis of the centered influence of units."""
    if psi.size < 3:
        return 2.0
    largest = float(np.abs(psi).max())
    if not largest > 0.0:
        return 2.0
    scaled = psi / largest  # the ratio does not depend on it
    excess = float((scaled**4).sum() / (scaled**2).sum() ** 2) - 1.0 / psi.size
    most = psi.size - 1.0
    # 0 but for rounding where all units count alike
    return min(max(2.0 / excess, 2.0), most) if excess > 2.0 / most else most
