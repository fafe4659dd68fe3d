"""Quantities that have an interval, and the methods that compute it from values under draws."""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fastpsr.bootstrap import intervals
from fastpsr.bootstrap.intervals import Estimate, Interval, UsedMethod
from fastpsr.bootstrap.schemes import Units
from fastpsr.bootstrap.values import Input, Job
from fastpsr.data import Floats
from fastpsr.errors import Subject
from fastpsr.interval_rule import NO_BIAS, IntervalRule


@dataclass(frozen=True, eq=False)
class Estimand:
    """A signed sum of metrics that has an interval: one metric, or the difference of two.

    Attributes
    ----------
    subject : Subject
    terms : tuple of (Job, float)
        The metrics, with their values on the data and under draws, and their signs.
    family : hashable, optional
        The intervals of a family hold jointly; those without a family each alone.
    is_paired : bool
        Whether the metrics see the same draws; else their data are drawn apart.
    """

    subject: Subject
    terms: tuple[tuple[Job, float], ...]
    family: Hashable = None
    is_paired: bool = True

    @classmethod
    def of(cls, subject: Subject, job: Job) -> "Estimand":
        """Return a metric."""
        return cls(subject, ((job, 1.0),))

    @property
    def is_sum(self) -> bool:
        """Whether it is more than a metric."""
        return len(self.terms) > 1 or self.terms[0][1] != 1.0

    @property
    def value(self) -> float:
        """The value on the data."""
        with np.errstate(invalid="ignore"):  # inf - inf is undefined
            return float(sum(np.float64(sign) * job.value for job, sign in self.terms))

    @property
    def value_range(self) -> tuple[float, float]:
        """Least and greatest value that it can have."""
        ends = [sign * np.array(job.value_range) for job, sign in self.terms]
        return float(sum(map(min, ends))), float(sum(map(max, ends)))

    @property
    def rule(self) -> IntervalRule:
        """Rule of its intervals; intervals of sums have the plain scale."""
        rules = self.rules
        if not self.is_sum:
            return rules[0]
        biased = (rule for rule in rules if rule.center != NO_BIAS)
        return replace(next(biased, rules[0]), scale="plain")

    @property
    def rules(self) -> list[IntervalRule]:
        """How the intervals of its metrics are computed."""
        return [job.interval_rule for job, _ in self.terms]

    @property
    def class_sizes(self) -> Any:
        """Number of samples of each class, the least of all terms, (K,)."""
        return np.min([job.data.class_sizes for job, _ in self.terms], axis=0)

    @property
    def units(self) -> Units:
        """Units that were drawn."""
        return self.terms[0][0].units

    def under(self, name: Input) -> Any:
        """Return the values under draws, with the shape of the values of its metrics."""
        if not self.is_sum:
            return self.terms[0][0].draws[name]
        with np.errstate(invalid="ignore"):  # inf - inf is undefined
            return sum(sign * job.draws[name] for job, sign in self.terms)

    @property
    def replicates(self) -> Floats:
        """The replicates, none if they were not drawn."""
        if not all("replicates" in job.draws for job, _ in self.terms):
            return np.empty(0)
        return np.asarray(self.under("replicates"))

    @property
    def defined(self) -> Floats:
        """The replicates that are not nan."""
        replicates = self.replicates
        return replicates[~np.isnan(replicates)]


class IntervalMethod(NamedTuple):
    """Inputs and computation of an interval at a confidence level.

    The function raises a ValueError with the reason if there is no interval.
    """

    needs: tuple[Input, ...]
    compute: Callable[[Estimand, float], Interval | Estimate]


def _bca(estimand: Estimand, level: float) -> Interval:
    if estimand.is_paired:
        influence = -intervals.centered(estimand.under("left out by stratum"))
    else:
        of_sides = [
            -sign * intervals.centered(job.draws["left out by stratum"])
            for job, sign in estimand.terms
        ]
        influence = np.concatenate(of_sides)
    return intervals.bca(estimand.value, estimand.defined, influence, level)


def _subsampling(estimand: Estimand, _level: float) -> Estimate:
    units = estimand.units.independent
    intervals.check_sizes(units.name, int(units.n_in_strata.sum()), estimand.class_sizes)
    center = sum(
        sign
        * intervals.corrected_value(job.value, job.draws["subsets"], job.interval_rule, units.name)
        for job, sign in estimand.terms
    )
    if not estimand.is_sum:
        center = min(center, estimand.value_range[1])
    return intervals.subsampling(
        center, estimand.under("subsets"), estimand.under("left out"), estimand.rule, units.name
    )


def _jackknife(estimand: Estimand, _level: float) -> Estimate:
    return intervals.jackknife(estimand.value, estimand.under("left out"), estimand.rule)


def _difference_of_independent(compute: Any, estimand: Estimand, level: float) -> Estimate:
    """Return the difference of two metrics whose data are drawn apart."""
    sides = (Estimand.of(estimand.subject, job) for job, _ in estimand.terms)
    a, b = (compute(side, level) for side in sides)
    difference: Estimate = a.minus(b)
    return difference


def _inverted_test(estimand: Estimand, level: float) -> Interval:
    n_units = estimand.units.n_shared or None  # where nothing is drawn within them
    ends = []
    for job, _ in estimand.terms:
        errors, replicates, norm = job.draws["signed errors"]
        ends.append(intervals.inverted_test(errors, replicates, norm, level, n_units))
    if not estimand.is_sum:
        return ends[0]
    replicates = np.array([job.draws["replicates"] for job, _ in estimand.terms])
    return intervals.interval_of_difference(ends[0], ends[1], replicates)


METHODS: dict[UsedMethod, IntervalMethod] = {
    "percentile": IntervalMethod(
        ("replicates",), lambda of, level: intervals.percentile(of.defined, level)
    ),
    "basic": IntervalMethod(
        ("replicates",), lambda of, level: intervals.basic(of.value, of.defined, level)
    ),
    "normal": IntervalMethod(
        ("replicates",), lambda of, level: intervals.normal(of.value, of.defined, level)
    ),
    "bca": IntervalMethod(("replicates", "left out by stratum"), _bca),
    "subsampling": IntervalMethod(("subsets", "left out"), _subsampling),
    "jackknife": IntervalMethod(("left out",), _jackknife),
    "inverted test": IntervalMethod(("replicates", "signed errors"), _inverted_test),
}


class Outcome(NamedTuple):
    """An interval, its method, the estimate if any, and a problem or ""."""

    method: UsedMethod
    interval: Interval
    estimate: Estimate | None = None
    problem: str = ""


def interval_of(method: UsedMethod, estimand: Estimand, level: float) -> Outcome:
    """Return the interval by a method; by percentile where a value is infinite; or the problem."""
    value, replicates = estimand.value, estimand.defined
    needs, compute = METHODS[method]
    if not estimand.is_paired and method in ("subsampling", "jackknife"):
        compute = partial(_difference_of_independent, compute)
    none = Interval(math.nan, math.nan)
    if math.isnan(value):
        return Outcome(method, none, None, "is undefined: both values are infinite")
    if "replicates" in needs or math.isinf(value):
        if replicates.size < 2:
            return Outcome(method, none)
        if method != "percentile" and not np.isfinite([value, *replicates]).all():
            problem = (
                "is infinite on the data or in a replicate: its interval is by percentile, "
                f"not {method}"
            )
            return Outcome("percentile", intervals.percentile(replicates, level), None, problem)
    try:
        computed = compute(estimand, level)
        if isinstance(computed, Estimate):
            return Outcome(method, computed.interval(level), computed)
        return Outcome(method, computed)
    except ValueError as error:
        return Outcome(method, none, None, f"has no interval: {error}")
