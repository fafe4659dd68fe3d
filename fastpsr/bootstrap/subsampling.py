"""Intervals from subsets drawn without replacement, for metrics that optimize on the data.

The bias of such a value goes as n^(-2/3), which the bootstrap does not repair: resampled data have
ties. Halves and quarters of the data show how large it is, and how much the corrected value varies.
"""

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.estimates import Estimate
from fastpsr.bootstrap.intervals import N_DEALS
from fastpsr.bootstrap.job import Job, Sum
from fastpsr.bootstrap.left_out import degrees_of_freedom, left_out_values, standard_error
from fastpsr.bootstrap.methods import EstimateMethod
from fastpsr.bootstrap.replicates import values_under
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.bootstrap.units import Units
from fastpsr.interval_rule import NO_BIAS, ONE_TERM, Center, IntervalRule
from fastpsr.plans import Plan
from fastpsr.predictions import Floats

if TYPE_CHECKING:
    from fastpsr.bootstrap.evidence import Evidence

__all__ = [
    "FEWEST",
    "SPLITS",
    "Subsampling",
    "SubsetValues",
    "subset_values",
]

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


@dataclass(frozen=True, eq=False)
class SubsetValues:
    """Values of metrics on all data and on subsets; nan where a metric is undefined or infinite.

    Attributes
    ----------
    jobs : list of Job
    values : ndarray of float64, shape (J,)
    halves : ndarray of float64, shape (J, deals, 7, 2)
        On complementary halves.
    quarters : ndarray of float64, shape (J, deals, 28)
        On all pairs of eighths.
    drawn : {"samples", "clusters", "speakers"}
    n_units : int
    """

    jobs: list[Job]
    values: Floats
    halves: Floats
    quarters: Floats
    drawn: str
    n_units: int

    def means_of(self, job: Job) -> tuple[float, float, float]:
        """Return the value on all data, and the means over halves and quarters."""
        k = self.jobs.index(job)
        return self.values[k], np.nanmean(self.halves[k]), np.nanmean(self.quarters[k])


def subset_values(
    jobs: list[Job], values: Floats, units: Units, seed: int, *, jointly: bool
) -> Plan[SubsetValues]:
    """Plan: return the values of prepared jobs on subsets of units: dealt 8 times to 8 shares."""
    draws = SubsetDraws(units, _KEEPS, seed, N_DEALS)
    on_subsets = yield from values_under(jobs, draws)
    on_subsets[np.isinf(on_subsets)] = np.nan
    by_deal = on_subsets.reshape(len(jobs), N_DEALS, _KEEPS.shape[0])
    halves, quarters = np.split(by_deal, [2 * _N_HALVES], axis=2)
    halves = halves.reshape(len(jobs), N_DEALS, _N_HALVES, 2)
    n_units = int(units.n_in_strata.sum())
    return SubsetValues(jobs, values, halves, quarters, units.name, n_units)


class Subsampling(EstimateMethod):
    """The corrected value of a metric, or of a sum of signed metrics, with its standard error."""

    name = "subsampling"
    needs = (subset_values, left_out_values)
    corrects = True

    @np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
    def estimate(self, terms: Sum, evidence: "Evidence") -> Estimate:
        subsets: SubsetValues = evidence.needed(subset_values)
        jobs = terms.jobs
        for job in jobs:
            _check_sizes(job, subsets)
        halves = terms.total(subsets.jobs, subsets.halves)
        quarters = terms.total(subsets.jobs, subsets.quarters)
        for values in (halves, quarters):
            if np.isnan(values).mean() > 1.0 - _LEAST_SHARE:
                raise ValueError(
                    "it is undefined or infinite in most subsets of the data; percentile intervals "
                    "need no subsets"
                )
        rules = [job.interval_rule for job in jobs]
        center = float(np.asarray(terms.signs) @ [
            (np.array(_center_of(rule, subsets.drawn)) * subsets.means_of(job)).sum()
            for job, rule in zip(jobs, rules, strict=True)
        ])  # fmt: skip
        rule = next((rule for rule in rules if rule.center != NO_BIAS), rules[0])
        if len(jobs) == 1:
            center = min(center, jobs[0].value_range[1])
        else:
            rule = replace(rule, scale="plain")
        psi = evidence.needed(left_out_values).centered(terms)
        if subsets.drawn == "speakers" and rule.center_of_speakers is not None:
            error, n_contrasts = standard_error(psi), math.inf
        else:
            error = _standard_error(halves, quarters, rule, subsets.drawn)
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


def _check_sizes(job: Job, subsets: SubsetValues) -> None:
    if subsets.n_units < FEWEST:
        raise ValueError(_too_few(subsets.drawn, subsets.n_units))
    sizes = job.data.class_sizes
    if job.data.n_classes == 2 and min(sizes) < FEWEST:
        raise ValueError(_too_few("samples of each class", min(sizes)))


def _too_few(what: str, n: int) -> str:
    return (
        f"at least {FEWEST} {what} are needed, not {n}; percentile intervals need no subsets, but "
        "are too narrow for so few"
    )


def _center_of(rule: IntervalRule, drawn: str) -> Center:
    if drawn == "samples":
        return rule.center
    if drawn == "speakers" and rule.center_of_speakers is not None:
        return rule.center_of_speakers
    return rule.center_of_units


def _standard_error(halves: Floats, quarters: Floats, rule: IntervalRule, drawn: str) -> float:
    """Return the standard error of the corrected value, from complementary halves."""
    spread = rule.spread if drawn == "samples" else rule.spread_of_units
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
