"""The methods by which intervals are computed: what each needs, and its function."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fastpsr.bootstrap.evidence import Evidence, Input
from fastpsr.bootstrap.intervals import (
    Estimate,
    Interval,
    UsedMethod,
    basic,
    bca,
    normal,
    percentile,
)
from fastpsr.bootstrap.inverted_test import interval_of_difference, inverted_interval
from fastpsr.bootstrap.left_out import centered, jackknife
from fastpsr.bootstrap.subsampling import subsampling


class IntervalMethod(NamedTuple):
    """What an interval is computed from, and how, at a confidence level.

    The function raises a ValueError with the reason if there is no interval.
    """

    needs: tuple[Input, ...]
    compute: Callable[[Evidence, float], Interval | Estimate]


class Outcome(NamedTuple):
    """An interval, the method that was used, the estimate if there is one, and a problem or ""."""

    method: UsedMethod
    interval: Interval
    estimate: Estimate | None = None
    problem: str = ""


def interval_of(method: UsedMethod, evidence: Evidence, level: float) -> Outcome:
    """Return the interval by a method; by percentile where a value is infinite; or the problem."""
    value, replicates = evidence.value, evidence.defined
    needs, compute = METHODS[method]
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
            return Outcome("percentile", percentile(replicates, level), None, problem)
    try:
        computed = compute(evidence, level)
        if isinstance(computed, Estimate):
            return Outcome(method, computed.interval(level), computed)
        return Outcome(method, computed)
    except ValueError as error:
        return Outcome(method, none, None, f"has no interval: {error}")


def _percentile(evidence: Evidence, level: float) -> Interval:
    return percentile(evidence.defined, level)


def _basic(evidence: Evidence, level: float) -> Interval:
    return basic(evidence.value, evidence.defined, level)


def _normal(evidence: Evidence, level: float) -> Interval:
    return normal(evidence.value, evidence.defined, level)


def _bca(evidence: Evidence, level: float) -> Interval:
    influence = -centered(evidence.draws["left out by stratum"])
    return bca(evidence.value, evidence.defined, influence, level)


def _subsampling(evidence: Evidence, _level: float) -> Estimate:
    return subsampling(evidence)


def _jackknife(evidence: Evidence, _level: float) -> Estimate:
    return jackknife(evidence.value, evidence.draws["left out"], evidence.rule)


def _inverted_test(evidence: Evidence, level: float) -> Interval:
    if not evidence.terms:
        n_units = evidence.units.n_whole_ids
        return inverted_interval(evidence.draws["signed errors"], level, n_units)
    a, b = (term for term, _ in evidence.terms)
    replicates = np.array([a.replicates, b.replicates])
    return interval_of_difference(_inverted_test(a, level), _inverted_test(b, level), replicates)


METHODS: dict[UsedMethod, IntervalMethod] = {
    "percentile": IntervalMethod(("replicates",), _percentile),
    "basic": IntervalMethod(("replicates",), _basic),
    "normal": IntervalMethod(("replicates",), _normal),
    "bca": IntervalMethod(("replicates", "left out by stratum"), _bca),
    "subsampling": IntervalMethod(("subsets", "left out"), _subsampling),
    "jackknife": IntervalMethod(("left out",), _jackknife),
    "inverted test": IntervalMethod(("replicates", "signed errors"), _inverted_test),
}
