"""Confidence intervals for any metric, and for the difference of two systems."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn, TypedDict, Unpack, overload

import numpy as np

from fastpsr.bootstrap.intervals import Method
from fastpsr.bootstrap.results import METHODS, BootstrapResult, Estimand, draw_values, results_of
from fastpsr.bootstrap.schemes import IdUnits, Resampling, names_of_ids, present_rows
from fastpsr.bootstrap.settings import Intervals, Progress, as_progress, least_resamples
from fastpsr.bootstrap.values import Job, as_number
from fastpsr.counts import begin, side_by_side
from fastpsr.data import Data, PartitionedPredictions, Predictions, check_data
from fastpsr.data.suspicion import look_at_llrs
from fastpsr.errors import ArgumentError, Subject
from fastpsr.frames import row_out_of_order
from fastpsr.metrics.base import AnyMetric, Statistic, check_metric, name_of
from fastpsr.metrics.defaults import NamedMetric, common_kind, named_metric
from fastpsr.options import with_hints

_DEFAULT_RESAMPLES = 1000
_FOR_STANDARD_ERROR = 200  # replicates, where intervals are not computed from them

Metrics = Sequence[NamedMetric] | Mapping[str, NamedMetric]


class _Drawing(TypedDict, total=False):
    """Options of functions that draw replicates."""

    n_resamples: int | None
    confidence_level: float
    method: Method
    resampling: Resampling | None
    seed: int | None
    progress: bool | Progress | None


@overload
def bootstrap(  # type: ignore[overload-overlap]  # a text is a sequence of texts
    metrics: NamedMetric, predictions: Data, **options: Unpack[_Drawing]
) -> BootstrapResult: ...


@overload
def bootstrap(
    metrics: Metrics, predictions: Data, **options: Unpack[_Drawing]
) -> list[BootstrapResult]: ...


@with_hints
def bootstrap(
    metrics: NamedMetric | Metrics,
    predictions: Data,
    *,
    n_resamples: int | None = None,
    confidence_level: float = 0.95,
    method: Method = "auto",
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress | None = None,
) -> BootstrapResult | list[BootstrapResult]:
    """Return metrics with confidence intervals.

    Parameters
    ----------
    metrics : metric, list of metrics, or dict of name to metric
        Metrics of this package, their names in default tables (such as "EER"), or callables
        ``f(predictions) -> float``. A callable must use ``predictions.sample_weight``, because
        replicates only differ in their weights.
    predictions : Predictions or PartitionedPredictions
        Labeled.
    n_resamples : int, optional
        Number of replicates, by default 1000; 200, or what the confidence level needs, if no
        interval is computed from replicates, as by subsampling.
    confidence_level : float
        Between 0 and 1.
    method : {"auto", "percentile", "basic", "bca", "normal", "subsampling"}
        How the interval is computed: "auto" takes what covers best for each metric, see Notes.
        "normal" subtracts the estimated bias from the value; "subsampling" uses values on halves
        and quarters of the data, drawn without replacement.
    resampling : IID, Stratified, Clusters, Nested or TwoWay, optional
        Resampling scheme; by default samples are drawn independently, ``IID()``.
    seed : int, optional
        Random seed. The same seed gives identical results, for any number of threads, and whether
        metrics are computed together or separately. By default a random seed.
    progress : bool or callable, optional
        Whether to show progress on stderr, by default in a terminal or a notebook after a second;
        or a callable that is called with (number of replicates done, total number).

    Returns
    -------
    BootstrapResult, or list of them in the order of the metrics

    Raises
    ------
    ValueError
        If a metric is undefined on the data, a callable does not return a number, there are too few
        replicates for the confidence level, or BCa is combined with Nested or TwoWay.

    Warns
    -----
    RuntimeWarning
        If a metric is undefined in some replicates, if a callable has the same value in all
        replicates, or if a method needs finite values or replicates on both sides of the value.

    Notes
    -----
    The interval is for the population value of the metric. Calibrators that are cross-fitted, or
    trained on the test data, are trained again in each replicate, with folds fixed by original
    sample; calibrators trained on held-out data are not. Priors that were not given are the class
    frequencies of the replicate. Metrics that optimize on the data (EER, minDCF, minCllr, PAV) and
    ECE are biased: see `bias`, and docs/reference/coverage.md for the coverage of each method.

    "auto" takes subsampling for these metrics and for calibrators that are trained on the test
    data; the jackknife on the scale of logits for AUC; an inverted test for ECE; BCa for
    cross-fitted calibrators; and percentiles otherwise. Where clusters or speakers are drawn, means
    and risks have intervals by the jackknife, and operating points by subsampling.

    Rows of positive weight are drawn with equal probability and keep their weight. Metrics of
    different kinds are not drawn jointly: for a function of several metrics pass a callable.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841, appendix E; B. Efron and R. Tibshirani, "An
    introduction to the bootstrap", 1993.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> found = fp.bootstrap(fp.BrierScore(), data, seed=0)
    >>> round(found.value, 4), found.replicates.size
    (0.74, 1000)
    """
    check_data(predictions)
    settings = (n_resamples, confidence_level, method, resampling, seed)
    return _with_intervals(metrics, "metrics", [predictions], settings, progress)


@overload
def compare(  # type: ignore[overload-overlap]  # as above
    metric: NamedMetric, a: Data, b: Data, *, paired: bool = ..., **options: Unpack[_Drawing]
) -> BootstrapResult: ...


@overload
def compare(
    metric: Metrics, a: Data, b: Data, *, paired: bool = ..., **options: Unpack[_Drawing]
) -> list[BootstrapResult]: ...


@with_hints
def compare(
    metric: NamedMetric | Metrics,
    a: Data,
    b: Data,
    *,
    paired: bool = True,
    n_resamples: int | None = None,
    confidence_level: float = 0.95,
    method: Method = "auto",
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress | None = None,
) -> BootstrapResult | list[BootstrapResult]:
    """Return the difference of metrics between two systems, a minus b.

    Both systems are evaluated on the same bootstrap draws of the same samples (a paired
    comparison), so that variation in the difficulty of the samples cancels: the interval is
    narrower than with separate draws. With ``paired=False`` they are evaluated on two independent
    test sets, which are drawn separately.

    Parameters
    ----------
    metric : metric, list of metrics, or dict of name to metric
        As for :func:`bootstrap`.
    a, b : Predictions or PartitionedPredictions
        Predictions for the same samples in the same order, with the same labels; both in memory, or
        both in parts of the same lengths. Columns of ids must be in both.
    paired : bool
        False for two test sets without a sample, cluster or speaker in common. Then schemes name
        columns, and variances add up, with Welch's degrees of freedom.
    n_resamples, confidence_level, method, resampling, seed, progress
        As for :func:`bootstrap`.

    Returns
    -------
    BootstrapResult, or list of them in the order of the metrics
        For the value of `a` minus that of `b`.

    Raises
    ------
    ValueError
        As :func:`bootstrap`; if the samples or their labels differ, or, where the test sets are
        independent, if they share clusters or speakers.

    Notes
    -----
    ``p_value`` of the result inverts its interval. For the AUC it is close to the p-value of
    DeLong's test.

    Examples
    --------
    >>> import fastpsr as fp
    >>> a = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> b = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.2, 0.6, 0.4, 0.8] * 25)
    >>> round(fp.compare(fp.BrierScore(), a, b, seed=0).value, 4)
    -0.06
    """
    settings = (n_resamples, confidence_level, method, resampling, seed)
    if not isinstance(paired, (bool, np.bool_)):
        raise ArgumentError("paired", f"must be True or False, not {paired!r}")
    if paired:
        check_same_samples(a, b)
        return _with_intervals(metric, "metric", [a, b], settings, progress)
    check_data(a, "a")
    check_data(b, "b")
    if a.n_classes != b.n_classes:
        _refuse_pair(f"must have the same classes: {a.n_classes} and {b.n_classes}")
    return _with_intervals(metric, "metric", [a, b], settings, progress, paired=False)


def _with_intervals(
    metrics: NamedMetric | Metrics,
    argument: str,
    systems: list[Data],
    settings: tuple[Any, ...],
    progress: bool | Progress | None,
    *,
    paired: bool = True,
) -> BootstrapResult | list[BootstrapResult]:
    """Return metrics of one system, or the differences between two, with intervals."""
    named_metrics = _named(metrics, argument, *systems)
    for data in systems:
        look_at_llrs(data)
    is_pair = len(systems) == 2
    jobs = [[Job(metric, data) for data in systems] for _, metric in named_metrics]
    intervals = _settings([job for each in jobs for job in each], *settings)
    if is_pair and paired:
        check_same_columns(systems[0], systems[1], names_of_ids(intervals.resampling).values())
    report = as_progress(progress)
    value_on_data(
        [(name, job) for (name, _), each in zip(named_metrics, jobs, strict=True) for job in each]
    )
    estimands = [
        Estimand(
            Subject(metric=name, pair="a - b" if is_pair else ""),
            tuple(zip(each, (1.0, -1.0), strict=False)),
            is_paired=paired,
        )
        for (name, _), each in zip(named_metrics, jobs, strict=True)
    ]
    if paired:
        draw = partial(draw_values, jointly=is_pair, progress=report, also=("replicates",))
        draw(estimands, intervals)
    else:
        check_independent(systems[0], systems[1], intervals.resampling)
        for side, settings_of_side in enumerate((intervals, intervals.apart())):
            of_side = [Estimand.of(each.subject, each.terms[side][0]) for each in estimands]
            draw_values(
                of_side, settings_of_side, jointly=False, progress=report, also=("replicates",)
            )
    results = results_of(estimands, intervals)
    return results[0] if _is_one(metrics) else results


def _settings(
    jobs: Sequence[Job], n_resamples: int | None, confidence_level: float, *settings: Any
) -> Intervals:
    """Return validated settings, with the default of the number of replicates."""
    n = _DEFAULT_RESAMPLES if n_resamples is None else n_resamples
    intervals = Intervals.of(n, confidence_level, *settings)
    methods = {intervals.method_of([job.interval_rule]) for job in jobs}
    if n_resamples is not None or any("replicates" in METHODS[used].needs for used in methods):
        return intervals
    n = max(_FOR_STANDARD_ERROR, least_resamples(confidence_level))
    return replace(intervals, n_resamples=n)


def value_on_data(named_jobs: Sequence[tuple[str, Job]]) -> None:
    """Compute the values of jobs on their data, and the inputs of their replicates."""
    jobs = [job for _, job in named_jobs]
    for job in jobs:
        if isinstance(job.data, Predictions) and job.data.y_true is None:
            raise ArgumentError("y_true", "must be given: these predictions are unlabeled")
    values = [partial(_value, *named_job) for named_job in named_jobs]
    answers = side_by_side(*values, *(job.prepare for job in jobs), over=[job.data for job in jobs])
    for job, value in zip(jobs, answers, strict=False):
        job.value = value


def check_same_samples(a: Data, b: Data) -> None:
    """Raise unless the labels and weights of two systems are consistent with the same samples."""
    for name, side in (("a", a), ("b", b)):
        check_data(side, name)
    if a.n_classes != b.n_classes:
        _refuse_pair(f"must have the same classes: {a.n_classes} and {b.n_classes}")
    if not (isinstance(a, Predictions) and isinstance(b, Predictions)):
        begin(a, b)
        return
    if len(a) != len(b):
        _refuse_pair(f"must be of the same samples: {len(a)} and {len(b)}")
    if not np.array_equal(a.labels, b.labels):
        place = int(np.flatnonzero(a.labels != b.labels)[0])
        rule = f"must be of the same samples in the same order, but labels differ in row {place}"
        _refuse_pair(rule, place)
    row = row_out_of_order(a.row_order, b.row_order)
    if row is not None:
        _refuse_pair(f"must be in one order, but their pandas indexes differ in row {row}", row)
    if not np.array_equal(present_rows(a), present_rows(b)):
        _refuse_pair("must have positive weight at the same samples")


def check_same_columns(a: Data, b: Data, names: Iterable[str]) -> None:
    """Raise where two systems in memory have other ids in columns that are used for both."""
    if not (isinstance(a, Predictions) and isinstance(b, Predictions)):
        return
    for name in names:
        if name in a.columns and name in b.columns:
            of_a, of_b = (side.ids(f"columns[{name!r}]", name) for side in (a, b))
            if not np.array_equal(of_a, of_b):
                place = int(np.flatnonzero(of_a != of_b)[0])
                rule = f"must have the same column {name!r}, but it differs in row {place}"
                _refuse_pair(rule, place)


def check_independent(a: Data, b: Data, resampling: Resampling) -> None:
    """Raise where two test sets share ids that are drawn, or where these are not columns of both.

    Ids that are arrays belong to the rows of one of them.
    """
    for argument, ids in resampling._ids.items():
        if not isinstance(ids, str):
            remedy = "make predictions with columns={name: ids}, and pass the name"
            rule = "must name a column of both test sets where these are independent"
            raise ArgumentError(argument, rule, remedy=remedy)
    if resampling._ids:
        units = [IdUnits.of(resampling._ids, data) for data in (a, b)]
        common = np.intersect1d(units[0].ids, units[1].ids)
        if common.size:
            _refuse_pair(
                f"must not share {units[0].name} where they are independent, but {common.size} "
                f"are in both, the first {common[0]}"
            )


def _refuse_pair(rule: str, row: int | None = None) -> NoReturn:
    raise ArgumentError("b", rule, row, name="a and b")


def _is_one(metrics: NamedMetric | Metrics) -> bool:
    return callable(metrics) or isinstance(metrics, str)


def _named(
    metrics: NamedMetric | Metrics, argument: str, *data: Data
) -> list[tuple[str, AnyMetric]]:
    """Return metrics of some data with their names in messages."""
    metric_list: Any = [metrics] if _is_one(metrics) else metrics
    if not isinstance(metric_list, Iterable) or isinstance(metric_list, bytes):
        rule = f"must be a metric, or a list or dict of them, not {metrics!r}"
        raise ArgumentError(argument, rule)
    items = (
        metric_list.items()
        if isinstance(metric_list, Mapping)
        else [(None, each) for each in metric_list]
    )
    if not items:
        raise ArgumentError(argument, "must not be empty")
    named = []
    for name, metric in items:
        if isinstance(metric, str):
            kind = common_kind(each.kind for each in data)
            label, metric = named_metric(metric, data[0].n_classes, kind, argument)
        else:
            check_metric(metric, argument)
            label = name_of(metric)
        named.append((label if name is None else name, metric))
    return named


def _value(name: str, job: Job) -> float:
    """Return the value on the data; raise if it is not a number."""
    metric, data = job.metric, job.data
    try:
        if isinstance(metric, Statistic):
            value: object = metric.value_on(data)
        elif isinstance(data, PartitionedPredictions):
            raise ArgumentError(
                "metrics",
                f"must be metrics of this package for data in parts, not the function {name}: make "
                "it a Metric with summarize, merge and finish",
            )
        else:
            value = metric(data)
    except Exception as error:
        raise ValueError(f"metric {name} cannot be computed: {error}") from error
    number = as_number(name, value)
    if np.isnan(number):
        raise ValueError(f"metric {name} is nan on the data: it has no interval")
    return number
