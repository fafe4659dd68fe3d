"""Values of metrics without each of the units, which show how much each unit counts."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.job import Job, Sum
from fastpsr.bootstrap.replicates import values_under
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.bootstrap.units import Units
from fastpsr.plans import Plan
from fastpsr.predictions import Floats

__all__ = [
    "LeftOut",
    "degrees_of_freedom",
    "left_out_by_stratum",
    "left_out_values",
    "standard_error",
]

_MOST_GROUPS = 400  # that are left out in turn, if there are more units


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Values of metrics without each of G groups of units, which are left out in turn.

    Attributes
    ----------
    jobs : list of Job
    values : ndarray of float64, shape (J, G)
        nan where a metric is undefined or infinite.
    ends : ndarray of int64
        Where the groups of each stratum but the last end, if strata have groups of their own.
    """

    jobs: list[Job]
    values: Floats
    ends: NDArray[np.int64]

    def centered(self, terms: Sum) -> Floats:
        """Return the defined values of a sum, minus their mean in each stratum."""
        strata = np.split(terms.total(self.jobs, self.values), self.ends)
        defined = [values[~np.isnan(values)] for values in strata]
        return np.concatenate([each - each.mean() if each.size else each for each in defined])


def left_out_values(
    jobs: list[Job], values: Floats, units: Units, seed: int, *, jointly: bool
) -> Plan[LeftOut]:
    """Plan: return the values of prepared jobs without each unit.

    If there are more than 400 units, they are dealt to 400 groups, each with units of all strata.
    """
    n_groups = min(_MOST_GROUPS, int(units.n_in_strata.sum()))
    draws = SubsetDraws(units, ~np.eye(n_groups, dtype=bool), seed)
    return (yield from _without(jobs, draws, np.zeros(0, np.int64), jointly))


def left_out_by_stratum(
    jobs: list[Job], values: Floats, units: Units, seed: int, *, jointly: bool
) -> Plan[LeftOut]:
    """Plan: return the same values, but of groups of units of one stratum each."""
    sizes = units.n_in_strata
    if sizes.size == 1:
        return (yield from left_out_values(jobs, values, units, seed, jointly=jointly))
    n_groups = max(_MOST_GROUPS // max(int(np.count_nonzero(sizes)), 1), 2)
    taken = np.minimum(n_groups, sizes)  # groups that have units, which are dealt in turn
    places = [stratum * n_groups + np.arange(n) for stratum, n in enumerate(taken.tolist())]
    keeps = ~np.eye(n_groups * sizes.size, dtype=bool)[np.concatenate(places)]
    draws = SubsetDraws(units, keeps, seed, apart=True)
    return (yield from _without(jobs, draws, np.cumsum(taken)[:-1], jointly))


def _without(
    jobs: list[Job], draws: SubsetDraws, ends: NDArray[np.int64], jointly: bool
) -> Plan[LeftOut]:
    values = yield from values_under(jobs, draws)
    values[np.isinf(values)] = np.nan
    return LeftOut(jobs, values, ends)


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
