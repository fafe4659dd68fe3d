"""What is drawn of metrics for their intervals, and the intervals that follow from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastpsr.bootstrap.intervals import Interval, UsedMethod
from fastpsr.bootstrap.inverted_test import InvertedTest
from fastpsr.bootstrap.jackknife import Jackknife
from fastpsr.bootstrap.job import Job, Progress, Sum
from fastpsr.bootstrap.methods import (
    Basic,
    BCa,
    Computed,
    EstimateMethod,
    IntervalMethod,
    Need,
    Normal,
    Percentile,
)
from fastpsr.bootstrap.replicates import draw_replicates
from fastpsr.bootstrap.result import BootstrapResult
from fastpsr.bootstrap.settings import Intervals, least_resamples
from fastpsr.bootstrap.silence import in_silence
from fastpsr.bootstrap.subsampling import Subsampling
from fastpsr.bootstrap.units import Units
from fastpsr.errors import Subject, warn
from fastpsr.metrics.base import Metric
from fastpsr.plans import Plan, resolved, run
from fastpsr.predictions import Floats

__all__ = ["Evidence", "gather", "settings_of", "warn_of_few"]

_METHODS: dict[UsedMethod, IntervalMethod] = {
    method.name: method
    for method in (
        Percentile(), Basic(), Normal(), BCa(), Subsampling(), Jackknife(), InvertedTest(),
    )
}  # fmt: skip

_FEW = 8.0  # degrees of freedom
_DEFAULT_RESAMPLES = 1000
_FOR_STANDARD_ERROR = 200  # replicates, where intervals are not computed from them


@dataclass(frozen=True, eq=False)
class Evidence:
    """Values, replicates and what else intervals are computed from.

    Attributes
    ----------
    intervals : Intervals
    units : Units
    jobs : list of Job
    values : ndarray of float64, shape (J,)
    replicates : ndarray of float64, shape (J, R)
    companions : dict of Job to (ndarray (M,), ndarray (R, M))
        Values and replicates of companions of jobs.
    others : dict of Need to Any
        What methods need besides, each for the jobs that need it.
    """

    intervals: Intervals
    units: Units
    jobs: list[Job]
    values: Floats
    replicates: Floats
    companions: dict[Job, tuple[Floats, Floats]]
    others: dict[Need, Any]

    def needed(self, need: Need) -> Any:
        """Return what a method needs."""
        return self.others[need]

    def method_of(self, terms: Sum) -> IntervalMethod:
        """Return the method by which the interval of a sum is computed."""
        return _method_of(self.intervals, terms)

    def result(self, subject: Subject, terms: Sum) -> BootstrapResult:
        """Return a sum with its interval, with a warning if that is not reliable."""
        settings, jobs = self.intervals, terms.jobs
        value, replicates = self.total(terms)
        defined = replicates[~np.isnan(replicates)]
        n_undefined = replicates.size - defined.size
        method, computed, problem = self._computed(terms, value, defined)
        caution = _uninformative(terms, value, computed)
        problems = {
            "undefined": _undefined(n_undefined, replicates.size),
            "constant": _constant(jobs, value, defined),
            problem.partition(":")[0]: problem,
            "uninformative": caution and f"has {caution}; test more samples",
        }
        for kind, each in problems.items():
            if each:
                warn(f"{subject} {each}", kind, [subject])
        value_range = _range_of(terms)
        standard_error = bias = float("nan")
        if defined.size > 1 and np.isfinite(value) and np.isfinite(defined).all():
            with np.errstate(over="ignore"):  # squares of values near the largest float
                standard_error = float(defined.std(ddof=1))
                bias = float(defined.mean() - value)
        return BootstrapResult(
            name=str(subject), value=value,
            interval=Interval(*(_within(end, value_range) for end in computed.interval)),
            standard_error=standard_error,
            bias=bias, replicates=replicates, n_undefined=n_undefined,
            confidence_level=settings.confidence_level, method=method, seed=settings.seed,
            resampling=settings.drawn, unit=getattr(jobs[0].metric, "unit", ""),
            degrees_of_freedom=computed.degrees_of_freedom,
            corrected=_within(computed.corrected, value_range), caution=caution,
        )  # fmt: skip

    def total(self, terms: Sum) -> tuple[float, Floats]:
        """Return the value of a sum, and its replicates."""
        with np.errstate(invalid="ignore"):  # inf - inf is undefined
            value = float(terms.total(self.jobs, self.values))
            return value, terms.total(self.jobs, self.replicates)

    def at_level(self, confidence_level: float) -> "Evidence":
        """Return the evidence for intervals of another level."""
        intervals = replace(self.intervals, confidence_level=confidence_level)
        return replace(self, intervals=intervals)

    def _computed(
        self, terms: Sum, value: float, defined: Floats
    ) -> tuple[UsedMethod, Computed, str]:
        """Return the method that was used, the interval, and a message about both or ""."""
        method = self.method_of(terms)
        none = Computed(Interval(math.nan, math.nan))
        if np.isnan(value):
            return method.name, none, "is undefined: both values are infinite"
        if defined.size < 2:
            return method.name, none, ""
        if not np.isfinite(method.must_be_finite(value, defined)).all():
            problem = (
                "is infinite on the data or in a replicate: its interval is by percentile, "
                f"not {method.name}"
            )
            return "percentile", Percentile().compute(terms, self), problem
        try:
            return method.name, method.compute(terms, self), ""
        except ValueError as error:
            return method.name, none, f"has no interval: {error}"


def _range_of(terms: Sum) -> tuple[float, float]:
    """Return the least and the greatest value that a sum can have."""
    low = high = 0.0
    for job, sign in zip(terms.jobs, terms.signs, strict=True):
        ends = [sign * end for end in job.value_range]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _uninformative(terms: Sum, value: float, computed: Computed) -> str:
    """Describe an interval that too few data bound on no side, or on one; else "".

    On a logarithmic scale an end is far beyond the data where the half-width is more than the
    center; there the range alone bounds it.
    """
    low, high = (float(end) for end in _range_of(terms))
    ends, center = computed.interval, computed.corrected
    center = value if math.isnan(center) else center
    scale = terms.jobs[0].interval_rule.scale if len(terms.jobs) == 1 else "plain"
    if math.isnan(computed.degrees_of_freedom):  # no estimate with a scale
        scale = "plain"
    is_low, is_high = ends.low <= low, ends.high >= high
    if is_low and is_high and low < high:
        reached = f"from {low:g} to {high:g}"
    elif is_low and scale == "log of the rest" and high - ends.low > math.e * (high - center):
        reached = f"down to {low:g}"
    elif is_high and scale == "log" and ends.high > math.e * center:
        reached = f"up to {high:g}"
    else:
        return ""
    return (
        f"an interval {reached}, the range of the metric, which is not to be used: too few "
        "samples determine the value"
    )


def _within(value: float, value_range: tuple[float, float]) -> float:
    """Return the nearest value in a range; nan stays."""
    return value if math.isnan(value) else min(max(value, value_range[0]), value_range[1])


def _undefined(n_undefined: int, n_replicates: int) -> str:
    """Return a message about replicates that are left out; "" without any."""
    if not n_undefined:
        return ""
    return (
        f"is undefined in {n_undefined:,} of {n_replicates:,} replicates, which are "
        "left out: a class is missing there, or a calibrator has no optimum"
    )


def _constant(jobs: Sequence[Job], value: float, defined: Floats) -> str:
    """Return a message about functions of the caller that may ignore the weights, else ""."""
    is_ours = all(isinstance(job.metric, Metric) for job in jobs)
    if is_ours or defined.size < 2 or not (defined == value).all():
        return ""
    return (
        "is the same in all replicates, which differ only in predictions.sample_weight: "
        "does it take the weights into account?"
    )


def warn_of_few(results: Mapping[Subject, BootstrapResult]) -> None:
    """Warn of intervals whose width few samples or speakers determine."""
    few = {
        subject: each.degrees_of_freedom
        for subject, each in results.items()
        if each.degrees_of_freedom < _FEW
    }
    if few:
        named = ", ".join(f"{subject} ({degrees:.1f})" for subject, degrees in few.items())
        warn(
            f"few samples or speakers determine these values (degrees of freedom below {_FEW:g}): "
            f"{named}; their intervals are wide, and may still be too narrow",
            "few",
            few,
        )


def gather(
    intervals: Intervals,
    jobs: list[Job],
    values: Sequence[float],
    sums: Sequence[Sum],
    *,
    jointly: bool,
    progress: Progress,
    also: Sequence[Need] = (),
) -> Evidence:
    """Draw what the intervals of sums of prepared jobs are computed from.

    Parameters
    ----------
    values : sequence of float
        Of the jobs.
    jointly : bool
        Whether all jobs must see the same draws.
    also : sequence of Need
        What is needed of all jobs besides.
    """
    by_need, companions = _needs_of(intervals, sums)
    by_need |= dict.fromkeys(also, jobs)
    of_job = np.array(values, np.float64)
    seed, drawn_jobs = intervals.seed, [*jobs, *companions.values()]

    def need_of(need: Need, some: list[Job], units: Units) -> Plan[Any]:
        of_some = of_job[[jobs.index(job) for job in some]]
        return need(some, of_some, units.independent, seed, jointly=jointly)

    def plan() -> Plan[Evidence]:
        units = yield from resolved(intervals.resampling.units(jobs[0].whole))
        replicates = draw_replicates(
            drawn_jobs, units, intervals.n_resamples, seed, jointly=jointly, progress=progress
        )
        drawn, *rest = yield [
            replicates,
            *(job.metric.plan(job.data) for job in companions.values()),  # type: ignore[union-attr]
            *(need_of(need, some, units) for need, some in by_need.items()),
        ]
        of_companions = zip(rest, drawn[len(jobs) :], strict=False)
        return Evidence(
            intervals, units, jobs, of_job, np.array(drawn[: len(jobs)]),
            dict(zip(companions, of_companions, strict=True)),
            dict(zip(by_need, rest[len(companions) :], strict=True)),
        )  # fmt: skip

    with in_silence():
        return run(plan)


def settings_of(
    sums: Sequence[Sum], n_resamples: int | None, confidence_level: float, *settings: Any
) -> Intervals:
    """Return settings as :meth:`Intervals.of`, with the default of the number of replicates."""
    n = _DEFAULT_RESAMPLES if n_resamples is None else n_resamples
    intervals = Intervals.of(n, confidence_level, *settings)
    methods = [_method_of(intervals, terms) for terms in sums]
    if n_resamples is not None or not all(isinstance(one, EstimateMethod) for one in methods):
        return intervals
    n = max(_FOR_STANDARD_ERROR, least_resamples(confidence_level))
    return replace(intervals, n_resamples=n)


def _method_of(intervals: Intervals, terms: Sum) -> IntervalMethod:
    return _METHODS[intervals.method_of(*terms.jobs)]


def _needs_of(
    intervals: Intervals, sums: Sequence[Sum]
) -> tuple[dict[Need, list[Job]], dict[Job, Job]]:
    """Return the jobs by what their methods need of them, and the companions of jobs."""
    by_need: dict[Need, dict[Job, None]] = {}
    companions: dict[Job, Job] = {}
    for terms in sums:
        method = _method_of(intervals, terms)
        for need in method.needs:
            by_need.setdefault(need, {}).update(dict.fromkeys(terms.jobs))
        for job in terms.jobs:
            companion = None if job in companions else method.companion(job)
            if companion is not None:
                companions[job] = companion
    return {need: list(some) for need, some in by_need.items()}, companions
