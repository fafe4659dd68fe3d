"""Intervals from subsets drawn without replacement, for metrics that optimize on the data.

The bias of such a value goes as n^(-2/3), which the bootstrap does not repair: resampled data have
ties. Halves and quarters of the data show how large it is, and how much the corrected value varies.
"""

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.evidence import Evidence
from fastpsr.bootstrap.intervals import N_DEALS, Estimate
from fastpsr.bootstrap.job import Job
from fastpsr.bootstrap.left_out import centered, degrees_of_freedom, standard_error
from fastpsr.bootstrap.replicates import values_under
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.bootstrap.units import Units
from fastpsr.data import Floats
from fastpsr.interval_rule import ONE_TERM, Center, IntervalRule

FEWEST = 8  # samples of a class, clusters or speakers
_N_SHARES = 8
_N_HALVES = 7  # complementary pairs
_LEAST_SHARE = 0.5  # of the subsets in which a metric must be defined


def _split() -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which shares each subset keeps, (42, 8), and the quarters of halves, (7, 2, 3, 2).

    Halves are the rows of a Hadamard matrix of order 8 but the first; quarters are all pairs of
    shares. Each half is split into two quarters in three ways.
    """
    number = np.arange(_N_SHARES)
    parity = np.array([[bin(row & n).count("1") % 2 for n in number] for row in range(1, 8)])
    halves = np.array([[np.flatnonzero(row == side) for side in (0, 1)] for row in parity])
    quarters = list(combinations(range(_N_SHARES), 2))
    keeps = np.zeros((2 * _N_HALVES + len(quarters), _N_SHARES), bool)
    for place, shares in enumerate([*halves.reshape(-1, 4).tolist(), *quarters]):
        keeps[place, list(shares)] = True
    place_of = {pair: place for place, pair in enumerate(quarters)}
    splits = [
        [[place_of[one[0], one[k]], place_of[tuple(np.delete(one, [0, k]))]] for k in (1, 2, 3)]
        for pair in halves
        for one in pair
    ]
    return keeps, np.array(splits).reshape(_N_HALVES, 2, 3, 2)


#: What each subset keeps, and the places among the quarters of those of each half.
_KEEPS, SPLITS = _split()


def subset_values(jobs: list[Job], units: Units, seed: int) -> Floats:
    """Return the values of prepared jobs on subsets of units, (J, deals, 42).

    Units are dealt 8 times to 8 shares. Values are nan where a metric is undefined or infinite.
    """
    draws = SubsetDraws(units, _KEEPS, seed, N_DEALS)
    values = values_under(jobs, draws)
    return np.where(np.isinf(values), np.nan, values).reshape(len(jobs), N_DEALS, -1)


def halves_and_quarters(subsets: Floats) -> tuple[Floats, Floats]:
    """Return the values on complementary halves, (deals, 7, 2), and on quarters, (deals, 28)."""
    halves, quarters = np.split(subsets, [2 * _N_HALVES], axis=1)
    return halves.reshape(-1, _N_HALVES, 2), quarters


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def subsampling(evidence: Evidence) -> Estimate:
    """Return the corrected value of a metric, or of a signed sum, with its standard error."""
    _check_sizes(evidence)
    units, rule = evidence.units.independent.name, evidence.rule
    halves, quarters = halves_and_quarters(evidence.draws["subsets"])
    for values in (halves, quarters):
        if np.isnan(values).mean() > 1.0 - _LEAST_SHARE:
            raise ValueError(
                "it is undefined or infinite in most subsets of the data; percentile intervals "
                "need no subsets"
            )
    center = _center(evidence, units)
    if not evidence.terms:
        center = min(center, evidence.value_range[1])
    psi = centered(evidence.draws["left out"])
    if units == "speakers" and rule.center_of_speakers is not None:
        error, n_contrasts = standard_error(psi), math.inf
    else:
        error = _standard_error(halves, quarters, rule, units)
        n_contrasts = N_DEALS * _N_HALVES
    if not math.isfinite(center) or not math.isfinite(error):
        raise ValueError("its values on subsets are too near the largest float")
    if not error > 0.0:
        if rule.scale == "plain":  # as for the difference of equal systems
            return Estimate(center, 0.0, math.nan, n_contrasts, rule)
        raise ValueError(
            "it has the same value in all subsets of the data, as where classes are separated; "
            "test more samples, until some are wrong"
        )
    return Estimate(center, error, degrees_of_freedom(psi), n_contrasts, rule)


def _check_sizes(evidence: Evidence) -> None:
    units = evidence.units.independent
    n_units = int(units.n_in_strata.sum())
    if n_units < FEWEST:
        raise ValueError(_too_few(units.name, n_units))
    sizes = evidence.class_sizes
    if len(sizes) == 2 and min(sizes) < FEWEST:
        raise ValueError(_too_few("samples of each class", min(sizes)))


def _too_few(what: str, n: int) -> str:
    return (
        f"at least {FEWEST} {what} are needed, not {n}; percentile intervals need no subsets, but "
        "are too narrow for so few"
    )


def _center(evidence: Evidence, units: str) -> float:
    """Return the value corrected for its bias; that of a sum is the sum of those of its metrics."""
    if evidence.terms:
        return sum(sign * _center(term, units) for term, sign in evidence.terms)
    halves, quarters = halves_and_quarters(evidence.draws["subsets"])
    of_value, of_halves, of_quarters = _coefficients(evidence.rule, units)
    corrections = of_halves * np.nanmean(halves) + of_quarters * np.nanmean(quarters)
    return of_value * evidence.value + float(corrections)


def _coefficients(rule: IntervalRule, units: str) -> Center:
    if units == "samples":
        return rule.center
    if units == "speakers" and rule.center_of_speakers is not None:
        return rule.center_of_speakers
    return rule.center_of_units


def _standard_error(halves: Floats, quarters: Floats, rule: IntervalRule, units: str) -> float:
    """Return the standard error of the corrected value, from complementary halves."""
    spread = rule.spread if units == "samples" else rule.spread_of_units
    if spread == "halves":
        return _root_mean_square(np.diff(halves) / 2.0)
    of_halves = quarters[:, SPLITS].mean(axis=-1)  # (deals, 7, 2, 3)
    mine, theirs, _ = ONE_TERM
    corrected = mine * halves[..., None] + theirs * of_halves
    differences = (corrected[:, :, 0] - corrected[:, :, 1]) / 2.0  # (deals, 7, 3)
    if spread == "nested":
        defined = ~np.isnan(differences)
        n = defined.sum(axis=-1)
        total = np.where(defined, differences, 0.0).sum(axis=-1)
        differences = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    return _root_mean_square(differences)


def _root_mean_square(differences: Floats) -> float:
    """Return it of the values that are not nan."""
    if np.isnan(differences).all():
        raise ValueError("no pair of complementary subsets of the data has a value in both")
    return math.sqrt(float(np.nanmean(differences**2)))
