"""What has an interval, the values that each method needs, and the results."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from fastpsr.bootstrap import intervals
from fastpsr.bootstrap.intervals import Estimate, Interval, UsedMethod
from fastpsr.bootstrap.schemes import Units
from fastpsr.bootstrap.settings import Intervals, Progress, described, drawn_for
from fastpsr.bootstrap.values import (
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
from fastpsr.results import Result, frame, table
from fastpsr.version import __version__

if TYPE_CHECKING:
    from polars import DataFrame

_FEW = 8.0  # degrees of freedom

#: What intervals are computed from, besides the value on the data.
Input = Literal["replicates", "subsets", "left out", "left out by stratum", "signed errors"]
_OF_UNITS: dict[Input, Callable[..., Floats]] = {
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
        The metrics, with their values on the data, and their signs.
    family : hashable, optional
        The intervals of a family hold jointly; those without a family each alone.
    """

    subject: Subject
    terms: tuple[tuple[Job, float], ...]
    family: Hashable = None

    @classmethod
    def of(cls, subject: Subject, job: Job) -> "Estimand":
        """Return a metric."""
        return cls(subject, ((job, 1.0),))

    @property
    def value(self) -> float:
        """The value on the data."""
        with np.errstate(invalid="ignore"):  # inf - inf is undefined
            return float(sum(np.float64(sign) * job.value for job, sign in self.terms))

    @property
    def rules(self) -> list[IntervalRule]:
        """How the intervals of its metrics are computed."""
        return [job.interval_rule for job, _ in self.terms]


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
        Number of replicates in which the metric is undefined, for example because a class is
        missing. They are not used for the interval.
    confidence_level : float
    method : str
        How the interval was computed: "percentile", "basic", "bca", "normal", "subsampling",
        "jackknife" or "inverted test".
    degrees_of_freedom : float
        Of an interval by subsampling or by the jackknife: about how many samples, clusters or
        speakers determine the value; intervals are wider where there are few. nan for other
        methods.
    seed : int
        Seed that reproduces the replicates.
    resampling : str
        Name of the resampling scheme.
    corrected : float
        The value, corrected for the optimism of having been optimized or fitted on these samples,
        where the interval is by subsampling; else nan. The interval is around it, and for a small
        value of a large optimism it may not contain the value itself.
    caution : str
        Why the interval is not to be used, where only the range of the metric bounds it; else "".
    unit : str
        Of the value: "fraction", "percent", "probability", "nats", "bits", or "" for ratios.

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


def described_results(results: Sequence[BootstrapResult]) -> str:
    """Return the settings of intervals that were computed together as text."""
    methods: dict[str, list[str]] = {}
    for each in results:
        methods.setdefault(each.method, []).append(each.name)
    first = results[0]
    return described(
        first.confidence_level, methods, first.n_resamples, first.resampling, first.seed
    )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Values of a metric, or of a signed sum of metrics, on the data and under draws.

    Attributes
    ----------
    value : float
    value_range : tuple of float
        Least and greatest value that it can have.
    rule : IntervalRule
    class_sizes : ndarray of int64, shape (K,)
    units : Units
        What is drawn.
    draws : dict of Input to ndarray
        Replicates (R,), values on subsets (deals, 42), values without each group of units
        (S, G), and of calibration errors the signed errors of the bins on the data, (M,), their
        replicates, (R, M), and the norm: those that were requested.
    terms : tuple of (Evidence, float)
        Of a sum: its metrics and their signs.
    """

    value: float
    value_range: tuple[float, float]
    rule: IntervalRule
    class_sizes: Any
    units: Units
    draws: Mapping[Input, Any]
    terms: "tuple[tuple[Evidence, float], ...]" = ()

    @property
    def replicates(self) -> Floats:
        """The replicates, none if they were not asked for."""
        return np.asarray(self.draws.get("replicates", np.empty(0)))

    @property
    def defined(self) -> Floats:
        """The replicates that are not nan."""
        return self.replicates[~np.isnan(self.replicates)]


@np.errstate(invalid="ignore")  # inf - inf is undefined
def signed_sum(value: float, terms: Sequence[tuple[Evidence, float]]) -> Evidence:
    """Return the evidence of a sum of metrics, whose value is given."""
    (first, sign), *others = terms
    if not others and sign == 1.0:
        return first
    low = high = 0.0
    for evidence, sign in terms:
        ends = [sign * end for end in evidence.value_range]
        low, high = low + min(ends), high + max(ends)
    draws: dict[Input, Any] = {
        name: sum(sign * evidence.draws[name] for evidence, sign in terms)
        for name in first.draws
        if name != "signed errors" and all(name in evidence.draws for evidence, _ in terms)
    }
    rules = [evidence.rule for evidence, _ in terms]
    rule = next((rule for rule in rules if rule.center != NO_BIAS), rules[0])
    sizes = np.min([evidence.class_sizes for evidence, _ in terms], axis=0)
    return Evidence(
        value, (low, high), replace(rule, scale="plain"), sizes, first.units, draws, tuple(terms)
    )


class IntervalMethod(NamedTuple):
    """What an interval is computed from, and how, at a confidence level.

    The function raises a ValueError with the reason if there is no interval.
    """

    needs: tuple[Input, ...]
    compute: Callable[[Evidence, float], Interval | Estimate]


def _bca(evidence: Evidence, level: float) -> Interval:
    influence = -intervals.centered(evidence.draws["left out by stratum"])
    return intervals.bca(evidence.value, evidence.defined, influence, level)


def _subsampling(evidence: Evidence, _level: float) -> Estimate:
    units = evidence.units.independent
    intervals.check_sizes(units.name, int(units.n_in_strata.sum()), evidence.class_sizes)
    center = sum(
        sign * intervals.corrected_value(of.value, of.draws["subsets"], of.rule, units.name)
        for of, sign in evidence.terms or [(evidence, 1.0)]
    )
    if not evidence.terms:
        center = min(center, evidence.value_range[1])
    draws = evidence.draws
    return intervals.subsampling(
        center, draws["subsets"], draws["left out"], evidence.rule, units.name
    )


def _inverted_test(evidence: Evidence, level: float) -> Interval:
    if not evidence.terms:
        errors, replicates, norm = evidence.draws["signed errors"]
        n_units = evidence.units.n_shared or None  # where nothing is drawn within them
        return intervals.inverted_test(errors, replicates, norm, level, n_units)
    a, b = (term for term, _ in evidence.terms)
    replicates = np.array([a.replicates, b.replicates])
    return intervals.interval_of_difference(
        _inverted_test(a, level), _inverted_test(b, level), replicates
    )


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
        lambda of, _level: intervals.jackknife(of.value, of.draws["left out"], of.rule),
    ),
    "inverted test": IntervalMethod(("replicates", "signed errors"), _inverted_test),
}


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
            return Outcome("percentile", intervals.percentile(replicates, level), None, problem)
    try:
        computed = compute(evidence, level)
        if isinstance(computed, Estimate):
            return Outcome(method, computed.interval(level), computed)
        return Outcome(method, computed)
    except ValueError as error:
        return Outcome(method, none, None, f"has no interval: {error}")


def intervals_of(
    estimands: Sequence[Estimand],
    settings: Intervals,
    *,
    jointly: bool,
    progress: Progress,
    also: Sequence[Input] = (),
) -> list[BootstrapResult]:
    """Return estimands with intervals, from draws as by `gather`."""
    evidence = gather(estimands, settings, jointly=jointly, progress=progress, also=also)
    return results_of(estimands, evidence, settings)


def gather(
    estimands: Sequence[Estimand],
    settings: Intervals,
    *,
    jointly: bool,
    progress: Progress,
    also: Sequence[Input] = (),
) -> dict[Job, Evidence]:
    """Return the values under draws from which the intervals of estimands are computed.

    Parameters
    ----------
    jointly : bool
        Whether all metrics must see the same draws.
    also : sequence of Input
        What is computed of all metrics besides.
    """
    jobs_of = _jobs_by_input(estimands, settings, also)
    jobs = list(dict.fromkeys(job for estimand in estimands for job, _ in estimand.terms))
    whole = jobs[0].whole
    draws: dict[Job, dict[Input, Any]] = {job: {} for job in jobs}
    with in_silence(), one_call():
        units = settings.resampling.units(whole)

        def draw(name: Input) -> None:
            values = _OF_UNITS[name](jobs_of[name], units.independent, settings.seed)
            for job, of_job in zip(jobs_of[name], values, strict=True):
                draws[job][name] = of_job

        def replicate() -> None:
            of_errors = [_of_bins(job) for job in jobs_of["signed errors"]]
            replicated = [*jobs_of["replicates"], *of_errors]
            if not replicated:
                progress(0, 0)
                return
            draw_all = partial(
                draw_replicates, replicated, units, settings.n_resamples, settings.seed,
                jointly=jointly, progress=progress,
            )  # fmt: skip
            on_data = [partial(job.metric.value_on, job.data) for job in of_errors]  # type: ignore[union-attr]
            values, *errors = side_by_side(draw_all, *on_data, over=whole)
            for job in jobs_of["replicates"]:
                draws[job]["replicates"] = values.pop(0)
            for job, *signed in zip(jobs_of["signed errors"], errors, values, strict=True):
                draws[job]["signed errors"] = (*signed, job.metric.norm)  # type: ignore[union-attr]

        of_units = [partial(draw, name) for name in _OF_UNITS if jobs_of[name]]
        side_by_side(replicate, *of_units, over=whole)
    return {
        job: Evidence(
            job.value, job.value_range, job.interval_rule, job.data.class_sizes, units, draws[job]
        )
        for job in jobs
    }


def _jobs_by_input(
    estimands: Sequence[Estimand], settings: Intervals, also: Sequence[Input]
) -> dict[Input, list[Job]]:
    """Return the jobs for which each input is drawn."""
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
    return {name: list(some) for name, some in jobs.items()}


def _of_bins(job: Job) -> Job:
    """Return the job of the signed errors of the bins of a calibration error."""
    metric: Any = job.metric
    return Job(metric.signed_errors, job.data, job.subset, job.sums, (metric.bins,))


def results_of(
    estimands: Sequence[Estimand], evidence: Mapping[Job, Evidence], settings: Intervals
) -> list[BootstrapResult]:
    """Return estimands with intervals, and warn of those that are not reliable."""
    sums = [
        signed_sum(each.value, [(evidence[job], sign) for job, sign in each.terms])
        for each in estimands
    ]
    families: dict[Hashable, list[Evidence]] = {}
    for estimand, of_sum in zip(estimands, sums, strict=True):
        families.setdefault(estimand.family, []).append(of_sum)
    level = settings.confidence_level
    levels = {
        family: intervals.simultaneous_level([each.replicates for each in members], level)
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
        resampling=settings.drawn, unit=getattr(estimand.terms[0][0].metric, "unit", ""),
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
    is_ours = all(isinstance(job.metric, Metric) for job, _ in estimand.terms)
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
