"""Values of metrics without each of the units, which show how much each unit counts."""

import math

import numpy as np

from fastpsr.bootstrap.intervals import Estimate
from fastpsr.bootstrap.job import Job
from fastpsr.bootstrap.replicates import values_under
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.bootstrap.units import Units
from fastpsr.data import Floats
from fastpsr.interval_rule import IntervalRule

_MOST_GROUPS = 400  # that are left out in turn, if there are more units
_LEAST_SHARE = 0.5  # of the groups without which a mean must be defined


def left_out_values(jobs: list[Job], units: Units, seed: int) -> Floats:
    """Return the values of prepared jobs without each unit, (J, 1, G).

    If there are more than 400 units, they are dealt to 400 groups, each with units of all strata.
    Values are nan where a metric is undefined or infinite.
    """
    n_groups = min(_MOST_GROUPS, int(units.n_in_strata.sum()))
    draws = SubsetDraws(units, ~np.eye(n_groups, dtype=bool), seed)
    values = values_under(jobs, draws)
    return np.where(np.isinf(values), np.nan, values)[:, None]


def left_out_by_stratum(jobs: list[Job], units: Units, seed: int) -> Floats:
    """Return the same values, but of groups of units of one stratum each, (J, S, G)."""
    sizes = units.n_in_strata
    if sizes.size == 1:
        return left_out_values(jobs, units, seed)
    n_groups = max(_MOST_GROUPS // max(int(np.count_nonzero(sizes)), 1), 2)
    has_units = np.arange(n_groups) < sizes[:, None]  # groups of a stratum are dealt to in turn
    keeps = ~np.eye(has_units.size, dtype=bool)[has_units.ravel()]
    draws = SubsetDraws(units, keeps, seed, apart=True)
    values = np.full((len(jobs), *has_units.shape), np.nan)
    values[:, has_units] = values_under(jobs, draws)
    values[np.isinf(values)] = np.nan
    return values


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def centered(left_out: Floats) -> Floats:
    """Return the defined values of (S, G) values without each group, minus their stratum's mean."""
    strata = [values[~np.isnan(values)] for values in left_out]
    return np.concatenate([values - values.mean() if values.size else values for values in strata])


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
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


def standard_error(psi: Floats) -> float:
    """Return the jackknife's, from centered values without each unit."""
    return math.sqrt((psi.size - 1.0) / max(psi.size, 1) * float((psi**2).sum()))


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def jackknife(value: float, left_out: Floats, rule: IntervalRule) -> Estimate:
    """Return the value of a mean, or of a sum of signed means, with its standard error.

    Percentile intervals of a mean over few clusters are too short: replicates vary less than means
    of new clusters, by (G - 1) / G; and where rare clusters with large losses are missing, both the
    mean and its measured error are too small.
    """
    psi = centered(left_out)
    if psi.size < _LEAST_SHARE * left_out.size:
        raise ValueError("it is undefined or infinite without most of the clusters or speakers")
    error = standard_error(psi)
    if not math.isfinite(error):
        raise ValueError("its values without single units are too near the largest float")
    df = degrees_of_freedom(psi) if error else math.nan
    return Estimate(value, error, df, math.inf, rule)
