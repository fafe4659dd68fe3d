"""Results of estimands: their intervals, with warnings of what is not reliable."""

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from fastpsr.bootstrap.evidence import Estimand, Evidence, Input, signed_sum
from fastpsr.bootstrap.gather import gather
from fastpsr.bootstrap.intervals import Interval, simultaneous_level
from fastpsr.bootstrap.job import Job, Progress
from fastpsr.bootstrap.methods import Outcome, interval_of
from fastpsr.bootstrap.result import BootstrapResult
from fastpsr.bootstrap.settings import Intervals
from fastpsr.data import Floats
from fastpsr.errors import Subject, warn
from fastpsr.metrics.base import Metric

_FEW = 8.0  # degrees of freedom


def intervals_of(
    estimands: Sequence[Estimand],
    settings: Intervals,
    *,
    jointly: bool,
    progress: Progress,
    also: Sequence[Input] = (),
) -> list[BootstrapResult]:
    """Return estimands with intervals, for which is drawn what these need, as by `gather`."""
    evidence = gather(estimands, settings, jointly=jointly, progress=progress, also=also)
    return results_of(estimands, evidence, settings)


def results_of(
    estimands: Sequence[Estimand], evidence: Mapping[Job, Evidence], settings: Intervals
) -> list[BootstrapResult]:
    """Return estimands with intervals, and warn of those that are not reliable."""
    sums = [
        signed_sum(each.value, [(evidence[term.job], term.sign) for term in each.terms])
        for each in estimands
    ]
    families: dict[Hashable, list[Evidence]] = {}
    for estimand, of_sum in zip(estimands, sums, strict=True):
        families.setdefault(estimand.family, []).append(of_sum)
    level = settings.confidence_level
    levels = {
        family: simultaneous_level([each.replicates for each in members], level)
        for family, members in families.items()
        if family is not None
    }
    results = []
    for estimand, of_sum in zip(estimands, sums, strict=True):
        own_level = levels.get(estimand.family, level)
        outcome = interval_of(settings.method_of(estimand.rules), of_sum, own_level)
        results.append(_result(estimand, of_sum, outcome, settings, own_level))
    _warn_of_few({each.subject: result for each, result in zip(estimands, results, strict=True)})
    return results


def _result(
    estimand: Estimand, evidence: Evidence, outcome: Outcome, settings: Intervals, level: float
) -> BootstrapResult:
    """Return an estimand with its interval, with a warning if that is not reliable."""
    value, replicates, defined = evidence.value, evidence.replicates, evidence.defined
    n_undefined = replicates.size - defined.size
    estimate = outcome.estimate
    corrected = estimate.center if estimate and outcome.method == "subsampling" else math.nan
    caution = _uninformative(evidence, outcome)
    problems = {
        "undefined": _undefined(n_undefined, replicates.size),
        "constant": _constant(estimand, defined),
        outcome.problem.partition(":")[0]: outcome.problem,
        "uninformative": caution and f"has {caution}; test more samples",
    }
    for kind, problem in problems.items():
        if problem:
            warn(f"{estimand.subject} {problem}", kind, [estimand.subject])
    standard_error = bias = math.nan
    if estimate is not None and not replicates.size:
        standard_error = estimate.standard_error
    elif defined.size > 1 and np.isfinite(value) and np.isfinite(defined).all():
        with np.errstate(over="ignore"):  # squares of values near the largest float
            standard_error = float(defined.std(ddof=1))
            bias = float(defined.mean() - value)
    low, high = (_within(end, evidence.value_range) for end in outcome.interval)
    return BootstrapResult(
        name=str(estimand.subject), value=value, interval=Interval(low, high),
        standard_error=standard_error, bias=bias, replicates=replicates, n_undefined=n_undefined,
        confidence_level=level, method=outcome.method, seed=settings.seed,
        resampling=settings.drawn, unit=getattr(estimand.terms[0].job.metric, "unit", ""),
        degrees_of_freedom=estimate.degrees_of_freedom if estimate else math.nan,
        corrected=_within(corrected, evidence.value_range), caution=caution,
    )  # fmt: skip


def _uninformative(evidence: Evidence, outcome: Outcome) -> str:
    """Describe an interval that too few data bound on no side, or on one; else "".

    On a logarithmic scale an end is far beyond the data where the half-width is more than the
    center; there the range alone bounds it.
    """
    low, high = (float(end) for end in evidence.value_range)
    ends, center, scale = outcome.interval, evidence.value, "plain"
    if outcome.estimate is not None and not math.isnan(outcome.estimate.degrees_of_freedom):
        center, scale = outcome.estimate.center, outcome.estimate.rule.scale
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


def _constant(estimand: Estimand, defined: Floats) -> str:
    """Return a message about functions of the caller that may ignore the weights, else ""."""
    is_ours = all(isinstance(term.job.metric, Metric) for term in estimand.terms)
    if is_ours or defined.size < 2 or not (defined == estimand.value).all():
        return ""
    return (
        "is the same in all replicates, which differ only in predictions.sample_weight: "
        "does it take the weights into account?"
    )


def _warn_of_few(results: Mapping[Subject, BootstrapResult]) -> None:
    """Warn of intervals whose width few samples or speakers determine."""
    few = {
        subject: result.degrees_of_freedom
        for subject, result in results.items()
        if result.degrees_of_freedom < _FEW
    }
    if few:
        named = ", ".join(f"{subject} ({degrees:.1f})" for subject, degrees in few.items())
        warn(
            f"few samples or speakers determine these values (degrees of freedom below {_FEW:g}): "
            f"{named}; their intervals are wide, and may still be too narrow",
            "few",
            few,
        )
