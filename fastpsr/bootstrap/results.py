"""Quantities with an interval, the values that each method needs, and the results."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

import numpy as np

from fastpsr.bootstrap import intervals
from fastpsr.bootstrap.intervals import Estimate, Interval, UsedMethod, within
from fastpsr.bootstrap.schemes import Units
from fastpsr.bootstrap.settings import (
    Intervals,
    Progress,
    constant_replicates,
    described_results,
    drawn_for,
    undefined_replicates,
)
from fastpsr.bootstrap.values import (
    Input,
    Job,
    draw_replicates,
    left_out_by_stratum,
    left_out_values,
    subset_values,
)
from fastpsr.counts import one_call, side_by_side
from fastpsr.data import Floats
from fastpsr.errors import Subject, in_silence, warn
from fastpsr.interval_rule import NO_BIAS, IntervalRule
from fastpsr.metrics.base import Metric
from fastpsr.metrics.ece import ErrorsOfBins
from fastpsr.results import Result, frame, table
from fastpsr.version import __version__

if TYPE_CHECKING:
    from polars import DataFrame

_FEW = 8.0  # degrees of freedom

_OF_UNITS: dict[Input, Callable[..., list[Floats]]] = {
    "subsets": subset_values,
    "left out": left_out_values,
    "left out by stratum": left_out_by_stratum,
}


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


@dataclass(frozen=True, eq=False)
class BootstrapResult(Result):
    """Value of a metric with its confidence interval.

    Attributes
    ----------
    name : str
        Name of the metric.
    value : float
        Value on the data.
    interval : Interval
        ``.low`` and ``.high``.
    standard_error : float
        Standard deviation of the replicates.
    bias : float
        Mean of the replicates minus the value: an estimate of the bias of the value.
    replicates : ndarray of float64, shape (n_resamples,)
        nan where the metric was undefined.
    n_undefined : int
        Number of replicates in which the metric is undefined, which the interval leaves out.
    confidence_level : float
    method : str
        How the interval was computed: "percentile", "basic", "bca", "normal", "subsampling",
        "jackknife" or "inverted test".
    degrees_of_freedom : float
        Of an interval by subsampling or the jackknife: about how many samples, clusters or speakers
        determine the value; nan for other methods.
    seed : int
        Seed that reproduces the replicates.
    resampling : str
        Name of the resampling scheme.
    corrected : float
        The value corrected for the optimism of a fit to these samples, where the interval is by
        subsampling, else nan. The interval is around it, and may not contain the value itself.
    caution : str
        Why the interval is not to be used, where only the range of the metric bounds it; else "".
    unit : str
        Of the value: "fraction", "percent", "probability", "nats", "bits", or "" for ratios.
    p_value : float
        Two-sided, of the hypothesis that a difference is 0: 1 minus the level at which an interval
        by this method would end at 0, of this difference alone. From replicates it is at least
        ``2 / (n_resamples + 1)``; of percentiles the value counts as one more replicate, so that
        of few it may exceed 0.05 slightly where the interval excludes 0. nan for a metric.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> found = fp.bootstrap(fp.AUC(), data, seed=0)
    >>> found.value, found.n_undefined, found.interval.low < found.value < found.interval.high
    (0.75, 0, True)
    """

    name: str
    value: float
    interval: Interval
    standard_error: float
    bias: float
    replicates: Floats
    n_undefined: int
    confidence_level: float
    method: UsedMethod
    seed: int
    resampling: str
    unit: str = ""
    degrees_of_freedom: float = float("nan")
    corrected: float = float("nan")
    caution: str = ""
    p_value: float = float("nan")

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.interval.low > 0.0 or self.interval.high < 0.0

    @property
    def n_resamples(self) -> int:
        """Number of replicates, including undefined ones."""
        return self.replicates.size

    @property
    def settings(self) -> str:
        """Description of how the interval was computed."""
        return described_results([self])

    def to_frame(self) -> "DataFrame":
        """Return a ``polars.DataFrame`` of one row, with everything except the replicates.

        Raises
        ------
        ValueError
            If polars is not installed.
        """
        row: dict[str, Any] = {
            name: [value] for name, value in self._content().items() if name != "replicates"
        }
        if self.seed < 1 << 64:  # the same type for small and large seeds
            row["seed"] = np.array(row["seed"], np.uint64)
        return frame(row)

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        low, high = content.pop("interval")
        name, value = content.pop("name"), content.pop("value")
        settings = {"n_resamples": self.n_resamples, "fastpsr": __version__}
        return {"name": name, "value": value, "low": low, "high": high, **content, **settings}

    def _repr_html_(self) -> str:
        names = ("value", "low", "high", "standard error", "bias", "undefined")
        numbers = (self.value, *self.interval, self.standard_error, self.bias, self.n_undefined)
        return table(self.settings, ("metric", *names), [(self.name, *numbers)])

    @property
    def _beside(self) -> str:
        """The corrected value as text, where the interval does not contain the value."""
        if math.isnan(self.corrected) or self.interval.low <= self.value <= self.interval.high:
            return ""
        return f"; {self.corrected:.4g} once corrected for optimism on these samples"

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<{self.name}: {self.value:.4g}, {100.0 * self.confidence_level:.6g}% interval "
            f"{low:.4g} to {high:.4g} ({self.method}, {drawn_for(self.method, self.n_resamples)})"
            f"{self._beside}{'; ' * bool(self.caution)}{self.caution}>"
        )


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
    "jackknife": IntervalMethod(
        ("left out",),
        lambda of, level: intervals.jackknife(of.value, of.under("left out"), of.rule),
    ),
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


def draw_values(
    estimands: Sequence[Estimand],
    settings: Intervals,
    *,
    jointly: bool,
    progress: Progress,
    also: Sequence[Input] = (),
) -> None:
    """Compute the values under draws that the intervals of estimands need.

    Parameters
    ----------
    jointly : bool
        Whether all metrics must see the same draws.
    also : sequence of Input
        Further inputs to compute for all metrics.
    """
    jobs_of = _jobs_by_input(estimands, settings, also)
    data = estimands[0].terms[0][0].whole
    with in_silence(), one_call():
        units = settings.resampling.units(data)
        for estimand in estimands:
            for job, _ in estimand.terms:
                job.units, job.draws = units, {}
        replicates = partial(_replicate, jobs_of, units, settings, progress, jointly=jointly)
        of_units = {name: jobs_of[name] for name in _OF_UNITS if jobs_of[name]}
        functions = [
            partial(_OF_UNITS[name], jobs, units.independent, settings.seed)
            for name, jobs in of_units.items()
        ]
        _, *values_of_units = side_by_side(replicates, *functions, over=data)
    for (name, jobs), values in zip(of_units.items(), values_of_units, strict=True):
        for job, of_job in zip(jobs, values, strict=True):
            job.draws[name] = of_job


def _jobs_by_input(
    estimands: Sequence[Estimand], settings: Intervals, also: Sequence[Input]
) -> dict[Input, list[Job]]:
    """Return the jobs that need each input."""
    jobs: dict[Input, dict[Job, None]] = {name: {} for name in get_args(Input)}
    family_sizes = Counter(each.family for each in estimands if each.family is not None)
    for estimand in estimands:
        needs = {*METHODS[settings.method_of(estimand.rules)].needs, *also}
        if not np.isfinite(estimand.value):  # whose interval is by percentile
            needs = {"replicates", *also}
        if family_sizes[estimand.family] > 1:  # their level is found on replicates
            needs.add("replicates")
        for name in needs:
            jobs[name] |= dict.fromkeys(job for job, _ in estimand.terms)
    return {name: list(job_set) for name, job_set in jobs.items()}


def _replicate(
    jobs_of: Mapping[Input, Sequence[Job]],
    units: Units,
    settings: Intervals,
    progress: Progress,
    *,
    jointly: bool,
) -> None:
    """Draw the replicates of jobs, and the signed errors of the bins of calibration errors."""
    jobs, of_errors = jobs_of["replicates"], jobs_of["signed errors"]
    if not jobs:
        progress(0, 0)
        return
    metrics: list[Any] = [job.metric for job in of_errors]
    bins = [
        Job(
            ErrorsOfBins(metric),
            job.data,
            job.subset,
            job.sums,
            (metric.n_bins * len(metric.events(job.data.n_classes)),),
        )
        for metric, job in zip(metrics, of_errors, strict=True)
    ]
    replicates = partial(
        draw_replicates, [*jobs, *bins], units, settings.n_resamples, settings.seed,
        jointly=jointly, progress=progress,
    )  # fmt: skip
    on_data = [
        partial(ErrorsOfBins(metric).value_on, job.data)
        for metric, job in zip(metrics, of_errors, strict=True)
    ]
    values, *errors = side_by_side(replicates, *on_data, over=jobs[0].whole)
    for job, of_job in zip(jobs, values, strict=False):
        job.draws["replicates"] = of_job
    for job, metric, *signed in zip(of_errors, metrics, errors, values[len(jobs) :], strict=True):
        job.draws["signed errors"] = (*signed, metric.norm)


def results_of(estimands: Sequence[Estimand], settings: Intervals) -> list[BootstrapResult]:
    """Return estimands with intervals, and warn of unreliable intervals."""
    families: dict[Hashable, list[Estimand]] = {}
    for estimand in estimands:
        families.setdefault(estimand.family, []).append(estimand)
    level = settings.confidence_level
    levels = {
        family: intervals.simultaneous_level([each.replicates for each in members], level)
        for family, members in families.items()
        if family is not None
    }
    results = []
    for estimand in estimands:
        level_alone = levels.get(estimand.family, level)
        outcome = interval_of(settings.method_of(estimand.rules), estimand, level_alone)
        results.append(_result(estimand, outcome, settings, level_alone))
    _warn_of_few({each.subject: result for each, result in zip(estimands, results, strict=True)})
    return results


def _result(
    estimand: Estimand, outcome: Outcome, settings: Intervals, level: float
) -> BootstrapResult:
    """Return an estimand with its interval, with a warning if that is not reliable."""
    value, replicates, defined = estimand.value, estimand.replicates, estimand.defined
    n_undefined = replicates.size - defined.size
    estimate = outcome.estimate
    corrected = estimate.center if estimate and outcome.method == "subsampling" else math.nan
    caution = _uninformative(estimand, outcome)
    # functions of the caller may ignore the weights
    of_functions = not all(isinstance(job.metric, Metric) for job, _ in estimand.terms)
    problems = {
        "undefined": undefined_replicates(n_undefined, replicates.size),
        "constant": constant_replicates(value, defined) if of_functions else "",
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
    low, high = (within(end, estimand.value_range) for end in outcome.interval)
    return BootstrapResult(
        name=str(estimand.subject), value=value, interval=Interval(low, high),
        standard_error=standard_error, bias=bias, replicates=replicates, n_undefined=n_undefined,
        confidence_level=level, method=outcome.method, seed=settings.seed,
        resampling=settings.drawn, unit=getattr(estimand.terms[0][0].metric, "unit", ""),
        degrees_of_freedom=estimate.degrees_of_freedom if estimate else math.nan,
        corrected=within(corrected, estimand.value_range), caution=caution,
        p_value=_p_value(estimand, outcome),
    )  # fmt: skip


def _p_value(estimand: Estimand, outcome: Outcome) -> float:
    """Return the p-value of a difference of 0, by which the interval is inverted; nan for others.

    It is of each difference alone, also where intervals hold jointly.
    """
    replicates = estimand.defined
    if not estimand.is_sum or math.isnan(outcome.interval.low):
        return math.nan
    if outcome.estimate is not None:
        return outcome.estimate.p_value()
    if outcome.method == "percentile":
        return intervals.percentile_p_value(replicates)
    compute = METHODS[outcome.method].compute
    return intervals.p_value_of(partial(cast("Any", compute), estimand), replicates.size)


def _uninformative(estimand: Estimand, outcome: Outcome) -> str:
    """Describe an interval that too few data bound on no side, or on one; else "".

    On a logarithmic scale an end is far beyond the data where the half-width is more than the
    center; there the range alone bounds it.
    """
    low, high = (float(end) for end in estimand.value_range)
    ends, center, scale = outcome.interval, estimand.value, "plain"
    if outcome.estimate is not None and not math.isnan(outcome.estimate.degrees_of_freedom):
        center, scale = outcome.estimate.center, outcome.estimate.rule.scale
    is_high = ends.high >= high
    if ends.low <= low and is_high and low < high:
        reached = f"from {low:g} to {high:g}"
    elif is_high and scale == "log" and ends.high > math.e * center:
        reached = f"up to {high:g}"
    else:
        return ""
    return (
        f"an interval {reached}, the range of the metric, which is not to be used: too few "
        "samples determine the value"
    )


def _warn_of_few(results: Mapping[Subject, BootstrapResult]) -> None:
    """Warn of intervals whose width few samples or speakers determine."""
    uncertain = {
        subject: result.degrees_of_freedom
        for subject, result in results.items()
        if result.degrees_of_freedom < _FEW
    }
    if uncertain:
        named = ", ".join(f"{subject} ({degrees:.1f})" for subject, degrees in uncertain.items())
        warn(
            f"few samples or speakers determine these values (degrees of freedom below {_FEW:g}): "
            f"{named}; their intervals are wide, and may still be too narrow",
            "few",
            uncertain,
        )
