"""What is drawn of metrics for their intervals, and the intervals that follow from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fastpsr.bootstrap.estimates import Estimate
from fastpsr.bootstrap.influence import acceleration
from fastpsr.bootstrap.intervals import FoundBy, Interval, interval
from fastpsr.bootstrap.inverted_test import (
    errors_of_bins,
    interval_of_difference,
    inverted_interval,
)
from fastpsr.bootstrap.jackknife import LeftOut, jackknifed, left_out_values
from fastpsr.bootstrap.replicates import Job, Progress, draw_replicates, in_silence
from fastpsr.bootstrap.result import BootstrapResult
from fastpsr.bootstrap.settings import Intervals
from fastpsr.bootstrap.subsampling import SubsetValues, subsampled, subset_values
from fastpsr.bootstrap.units import IdUnits
from fastpsr.errors import warn
from fastpsr.metrics.base import Metric
from fastpsr.metrics.ece import ECE
from fastpsr.plans import Plan, run
from fastpsr.predictions import Floats

__all__ = ["Evidence", "Sum", "gather", "warn_of_few"]

#: Signed metrics that are added: one metric, or the difference of two.
Sum = Sequence[tuple[Job, float]]

_FEW = 8.0  # degrees of freedom


@dataclass(frozen=True, eq=False)
class Evidence:
    """Values, replicates and what else intervals are computed from.

    Attributes
    ----------
    intervals : Intervals
    jobs : list of Job
    values : ndarray of float64, shape (J,)
    replicates : ndarray of float64, shape (J, R)
    subsets : SubsetValues or None
        Of the jobs whose intervals are by subsampling.
    left_out : LeftOut or None
        Of these, and of jobs whose intervals are by the jackknife.
    errors : dict of Job to (ndarray (M,), ndarray (R, M))
        Signed errors of the bins of calibration errors, and their replicates.
    n_ids : int or None
        Number of clusters or speakers, where these are drawn and there are calibration errors.
    """

    intervals: Intervals
    jobs: list[Job]
    values: Floats
    replicates: Floats
    subsets: SubsetValues | None
    left_out: LeftOut | None
    errors: dict[Job, tuple[Floats, Floats]]
    n_ids: int | None

    def result(self, name: str, terms: Sum) -> BootstrapResult:
        """Return a sum with its interval, with a warning if that is not reliable."""
        settings, jobs = self.intervals, [job for job, _ in terms]
        value, replicates = self.total(terms)
        defined = replicates[~np.isnan(replicates)]
        n_undefined = replicates.size - defined.size
        found = self._found(terms, value, defined)
        problems = [
            _undefined(n_undefined, replicates.size),
            _constant(jobs, value, defined),
            found.problem,
        ]
        for problem in filter(None, problems):
            warn(f"{name} {problem}", RuntimeWarning)
        value_range = _range_of(terms)
        standard_error = bias = float("nan")
        if defined.size > 1 and np.isfinite(value) and np.isfinite(defined).all():
            with np.errstate(over="ignore"):  # squares of values near the largest float
                standard_error = float(defined.std(ddof=1))
                bias = float(defined.mean() - value)
        return BootstrapResult(
            name=name, value=value,
            interval=Interval(*(_within(end, value_range) for end in found.interval)),
            standard_error=standard_error,
            bias=bias, replicates=replicates, n_undefined=n_undefined,
            confidence_level=settings.confidence_level, method=found.method, seed=settings.seed,
            resampling=settings.drawn, unit=getattr(jobs[0].metric, "unit", ""),
            degrees_of_freedom=found.degrees_of_freedom,
            corrected=_within(found.corrected, value_range),
        )  # fmt: skip

    def total(self, terms: Sum) -> tuple[float, Floats]:
        """Return the value of a sum, and its replicates."""
        places = [self.jobs.index(job) for job, _ in terms]
        signs = [sign for _, sign in terms]
        with np.errstate(invalid="ignore"):  # inf - inf is undefined
            value, *more = (sign * self.values[k] for k, sign in zip(places, signs, strict=True))
            rows, *others = (
                sign * self.replicates[k] for k, sign in zip(places, signs, strict=True)
            )
            for other, each in zip(more, others, strict=True):
                value, rows = value + other, rows + each
        return float(value), rows

    def estimate(self, terms: Sum) -> Estimate:
        """Return what the interval of a sum follows from, if that is not the replicates.

        Raises
        ------
        ValueError
            If the sum has no interval.
        """
        jobs, signs = [job for job, _ in terms], [sign for _, sign in terms]
        assert self.left_out is not None
        if self.intervals.method_of(*jobs) == "jackknife":
            return jackknifed(jobs, signs, self.total(terms)[0], self.left_out)
        assert self.subsets is not None
        return subsampled(jobs, signs, self.subsets, self.left_out)

    def at_level(self, confidence_level: float) -> "Evidence":
        """Return the evidence for intervals of another level."""
        intervals = replace(self.intervals, confidence_level=confidence_level)
        return replace(self, intervals=intervals)

    def _found(self, terms: Sum, value: float, defined: Floats) -> "_Found":
        """Return the interval of a sum from its value and its defined replicates."""
        settings = self.intervals
        jobs, signs = [job for job, _ in terms], [sign for _, sign in terms]
        method = settings.method_of(*jobs)
        if np.isnan(value):
            return _Found(method, problem="is undefined: both values are infinite")
        if defined.size < 2:
            return _Found(method)
        is_drawn = method not in ("subsampling", "jackknife")
        needed = np.append(defined if is_drawn else [], value)
        if method != "percentile" and not np.isfinite(needed).all():
            percentiles = interval(value, defined, settings.confidence_level, "percentile")
            problem = (
                "is infinite on the data or in a replicate: its interval is by percentile, "
                f"not {method}"
            )
            return _Found("percentile", percentiles, problem=problem)
        try:
            if not is_drawn:
                estimate = self.estimate(terms)
                own = estimate.interval(settings.confidence_level)
                corrected = estimate.center if method == "subsampling" else float("nan")
                return _Found(method, own, estimate.degrees_of_freedom, corrected)
            if method == "inverted test":
                return _Found(method, self._by_inverted_tests(jobs))
            skewness = 0.0
            if method == "bca":
                with in_silence():  # the skewness of values near the largest float overflows
                    skewness = run(
                        lambda: acceleration(jobs, signs, settings.resampling, settings.seed)
                    )
            own = interval(value, defined, settings.confidence_level, method, skewness)
        except ValueError as error:
            return _Found(method, problem=f"has no interval: {error}")
        return _Found(method, own)

    def _by_inverted_tests(self, jobs: list[Job]) -> Interval:
        """Return the interval of one metric, or of the difference of two."""
        sides = [self._by_inverted_test(job) for job in jobs]
        if len(sides) == 1:
            return sides[0]
        places = [self.jobs.index(job) for job in jobs]
        return interval_of_difference(sides[0], sides[1], self.replicates[places])

    def _by_inverted_test(self, job: Job) -> Interval:
        metric, (errors, replicates) = job.metric, self.errors[job]
        assert isinstance(metric, ECE)
        defined = replicates[~np.isnan(replicates).any(axis=1)]
        level = self.intervals.confidence_level
        return inverted_interval(errors, defined, metric.norm, level, self.n_ids)


class _Found(NamedTuple):
    """An interval, how it was computed, and a message if that differs from what was asked for."""

    method: FoundBy
    interval: Interval = Interval(float("nan"), float("nan"))
    degrees_of_freedom: float = float("nan")
    corrected: float = float("nan")
    problem: str = ""


def _range_of(terms: Sum) -> tuple[float, float]:
    """Return the least and the greatest value that a sum can have."""
    low = high = 0.0
    for job, sign in terms:
        ends = getattr(job.metric, "value_range", Metric.value_range)
        low += min(sign * end for end in ends)
        high += max(sign * end for end in ends)
    return low, high


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


def warn_of_few(results: Sequence[BootstrapResult]) -> None:
    """Warn of intervals whose width few samples or speakers determine."""
    few = [each for each in results if each.degrees_of_freedom < _FEW]
    if few:
        named = ", ".join(f"{each.name} ({each.degrees_of_freedom:.1f})" for each in few)
        warn(
            f"few samples or speakers determine these values (degrees of freedom below {_FEW:g}): "
            f"{named}; their intervals are wide, and may still be too narrow",
            RuntimeWarning,
        )


def gather(
    intervals: Intervals,
    jobs: list[Job],
    values: Sequence[float],
    sums: Sequence[Sum],
    *,
    jointly: bool,
    progress: Progress,
) -> Evidence:
    """Draw what the intervals of sums of prepared jobs are computed from.

    Parameters
    ----------
    values : sequence of float
        Of the jobs.
    jointly : bool
        Whether all jobs must see the same draws.
    """

    def jobs_by(method: FoundBy) -> dict[Job, None]:
        by_method = (terms for terms in sums
                     if intervals.method_of(*(job for job, _ in terms)) == method)  # fmt: skip
        return dict.fromkeys(job for terms in by_method for job, _ in terms)

    in_subsets, tested = jobs_by("subsampling"), jobs_by("inverted test")
    beside = in_subsets | jobs_by("jackknife")
    bins = {job: errors_of_bins(job) for job in tested}
    of_bins = [each for job in tested for each in bins[job]]
    known = dict(zip(jobs, values, strict=True))

    resampling, seed = intervals.resampling, intervals.seed

    def values_beside() -> Plan[tuple[SubsetValues | None, LeftOut | None]]:
        if not beside:
            return None, None
        units = yield from resampling.independent_units(jobs[0].whole)
        left_out = left_out_values(list(beside), units, seed, jointly=jointly)
        if not in_subsets:
            return None, (yield from left_out)
        own = [known[job] for job in in_subsets]
        subsets = subset_values(list(in_subsets), own, units, seed, jointly=jointly)
        first, second = yield [subsets, left_out]
        return first, second

    def n_ids_if_needed() -> Plan[int | None]:
        units = (yield from resampling.units(jobs[0].whole)) if tested else None
        return units.ids.size if isinstance(units, IdUnits) else None

    def plan() -> Plan[list[Any]]:
        drawn = draw_replicates(
            [*jobs, *of_bins], resampling, intervals.n_resamples, seed,
            jointly=jointly, progress=progress,
        )  # fmt: skip
        errors = [each.metric.plan(each.data) for each in of_bins]  # type: ignore[union-attr]
        return (yield [drawn, values_beside(), n_ids_if_needed(), *errors])

    with in_silence():
        replicates, (subsets, left_out), n_ids, *errors = run(plan)
    own = iter(zip(errors, replicates[len(jobs) :], strict=True))
    by_bin = {job: [next(own) for _ in bins[job]] for job in tested}
    held = {
        job: (np.array([error for error, _ in each]), np.array([row for _, row in each]).T)
        for job, each in by_bin.items()
    }
    return Evidence(
        intervals, jobs, np.array(values, np.float64), replicates[: len(jobs)], subsets, left_out,
        held, n_ids,
    )  # fmt: skip
