"""`evaluate`: a table of metrics."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

from fastpsr.bootstrap import BootstrapResult, Resampling
from fastpsr.bootstrap.bootstrap import (
    check_independent,
    check_same_columns,
    check_same_samples,
)
from fastpsr.bootstrap.intervals import Method
from fastpsr.bootstrap.results import Estimand, draw_values, results_of
from fastpsr.bootstrap.schemes import names_of_ids
from fastpsr.bootstrap.settings import Intervals, as_progress
from fastpsr.counts import side_by_side
from fastpsr.data import By, Data, Predictions, check_data
from fastpsr.data.groupings import Bins
from fastpsr.errors import ArgumentError, ResultWarning, Subject, kept_warnings, warn
from fastpsr.evaluation.layout import POOLED
from fastpsr.evaluation.specification import (
    GroupPairs,
    Metrics,
    Pairs,
    Specification,
    named_metrics,
)
from fastpsr.evaluation.table import Difference, Evaluation
from fastpsr.evaluation.task import Progress, Task, no_progress, tasks_of
from fastpsr.metrics.defaults import LossOfTable
from fastpsr.options import with_hints

_Pair = tuple[Task, Task]
_MOST_SECONDS = 20.0  # of an interval in a default table


class SlowIntervalWarning(ResultWarning):
    """A metric of a default table has no interval, because it would take long.

    Attributes
    ----------
    metric : str
    seconds : float
        Estimated before anything is computed.
    """

    def __init__(self, metric: str, seconds: float) -> None:
        about = f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"
        super().__init__(
            f"{metric} has no interval, whose refits would take {about}", "no interval"
        )
        self.metric, self.seconds = metric, seconds
        self.remedy = f"name it in metrics=[..., {metric!r}] if it is worth that"


@with_hints
def evaluate(
    predictions: Data | Mapping[str, Data],
    metrics: Metrics | None = None,
    *,
    by: By | None = None,
    bins: Bins | None = None,
    n_resamples: int = 0,
    confidence_level: float = 0.95,
    method: Method = "auto",
    resampling: Resampling | None = None,
    seed: int | None = None,
    differences: Pairs | None = None,
    group_differences: GroupPairs | None = None,
    progress: bool | Progress | None = None,
) -> Evaluation:
    """Compute a table of metrics.

    Parameters
    ----------
    predictions : Predictions, or dict of name to Predictions
        Labeled predictions, in memory or in parts; or a dict of several systems.
    metrics : metric, dict of name to metric, or list of metrics, optional
        Metrics of this package, their names in default tables (such as "NCE" and "minDCF", in any
        case), or callables that take predictions and return a float. By default the kind of the
        scores decides. For posteriors, and for several classes: normalized cross-entropy, Brier
        score and error rate, relative calibration loss and its upper bound, and calibration errors.
        For LLRs: EER, minDCF and actDCF at a prior of 0.01, Cllr, minCllr, AUC, normalized
        cross-entropy and Brier score, and relative calibration loss. For raw scores: the metrics
        of ranks among these. With `differences`, all systems have the metrics of raw scores if a
        system has raw scores, else the metrics of LLRs if a system has LLRs.
    by : str, list of str, or dict of name to array-like of shape (N,), optional
        Columns of the predictions, or the group of each sample, for one or more groupings: the
        metrics are also computed for the samples of each group alone. A tuple of names, as in
        ``[("gender", "channel")]`` or ``{("gender", "channel"): (genders, channels)}``, has a group
        for each combination that occurs. A dict may also have names of columns in place of ids. A
        Series of pandas or polars has its name.
        ``fp.SharedTargets(ids)`` in place of ids: each group has all targets. Groups are in the
        natural order of their values: 3s, 10s, 30s. LLRs without a prior are completed with the
        class frequencies of the group, which ``predictions[mask]`` does not do.
    bins : int, sequence of float, "each", or dict of name to one of these, optional
        Groups of the columns of numbers (also in text): the number of quantile bins, each with
        about the same sample weight; or ascending edges; or a group of each value, as is the
        default up to 20 different numbers. Bins hold their lower edge, as ``snr=[0, 5)`` says; the
        first and last are open-ended, ``snr=[-inf, 0)`` and ``snr=[5, inf]``, and empty ones are
        left out. Edges of quantile bins are rounded down to few digits; equal values are in one
        bin, so that there may be fewer bins. Replicates use the bins of the data.
    n_resamples : int
        Number of bootstrap replicates; with 0 there are no confidence intervals. Without `metrics`
        the RCL of several classes has none if its refits would take more than 20 s by an estimate,
        rows x classes x folds x (replicates + 400) x 2e-8 s / threads; a warning reports it.
    confidence_level, method, resampling, seed
        As for :func:`fastpsr.bootstrap`.
    differences : {"first", "all", "unpaired"}, optional
        For several systems on the same samples: also the differences between the first system and
        each other, or of all pairs, the system named first minus the other. "unpaired" is "first"
        for systems on independent test sets, as ``fp.compare(..., paired=False)``. With
        `n_resamples` differences are computed on the same bootstrap draws of all systems, as by
        :func:`fastpsr.compare`; the intervals of the systems are those without differences.
    group_differences : {"pooled", "all"}, optional
        With `by`, also the differences between each group and all samples, or of all pairs of
        groups of each grouping, in each system. With `n_resamples` the samples are drawn as a
        whole for them, so that units that groups share are drawn once. Their intervals are
        simultaneous: they hold jointly for all differences of groups of a metric and system. The
        intervals of the groups do not change.
    progress : bool or callable, optional
        Whether to show the progress of replicates on stderr, by default in a terminal or a notebook
        after a second; or a callable that is called with (name of the step, amount done, total
        amount). Steps are the metrics, reported before each is computed, ``"replicates"``, and
        ``"intervals"`` before these are computed. Replicates are only drawn for intervals that are
        computed from them.

    Returns
    -------
    Evaluation
        A metric that cannot be computed has value nan, no interval, and a note with the reason.

    Raises
    ------
    ValueError
        For unlabeled predictions, an empty list of metrics, a resampling without `n_resamples`,
        differences of one system, of other samples or without groups, fewer replicates than
        simultaneous intervals need, and as :func:`fastpsr.bootstrap`; for `by` with more than 20
        different numbers, or more than 1,000 groups of a grouping, unless `bins` says what to do,
        and for nan among ids.

    Warns
    -----
    SuspicionWarning
        If binary data look like a mistake: LLRs of at least 10 samples that all lie in [0, 1], like
        posteriors, and are not all 0 or 1; LLRs of at least 10 samples of each class that all lie
        in [-1, 1] and have a fitted scale above 3, like cosine similarities; LLRs whose Cllr is
        above 1, but at most half as large after an affine map; an AUC more than three standard
        errors below 0.5. See docs/reference/warnings.md.
    RuntimeWarning
        As :func:`fastpsr.bootstrap`, and for groups with too few units to resample.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(fp.evaluate(data, [fp.CrossEntropy(), fp.BrierScore()]))
    4 samples, 2 classes, priors 0.5, 0.5
    NCE      0.7370  cross-entropy relative to the priors
    NBS      0.7400  Brier score relative to the priors

    By group:

    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(fp.evaluate(data, [fp.AUC()], by={"room": ["x", "y", "x", "y"]}))
               pooled  room=x  room=y
    positives       2       1       1
    negatives       2       1       1
    AUC        0.7500  1.0000  1.0000

    By bins of a number:

    >>> print(fp.evaluate(data, [fp.AUC()], by={"snr": [3.5, 12.0, 0.5, 17.0]}, bins=[10]))
               pooled  snr=[-inf, 10)  snr=[10, inf]
    positives       2               1              1
    negatives       2               1              1
    AUC        0.7500          1.0000         1.0000

    With intervals:

    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> print(fp.evaluate(data, [fp.BrierScore()], n_resamples=200, seed=0))
    100 samples, 2 classes, priors 0.5, 0.5
    95 % intervals: percentile, 200 replicates, resampling IID, seed 0
    NBS      0.7400  [0.6303, 0.8814]  Brier score relative to the priors

    Two systems:

    >>> other = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.2, 0.6, 0.4, 0.8] * 25)
    >>> systems, metrics = {"a": data, "b": other}, [fp.AUC(), fp.BrierScore()]
    >>> found = fp.evaluate(systems, metrics, n_resamples=200, seed=0, differences="first")
    >>> print(found)  # doctest: +NORMALIZE_WHITESPACE
    95 % intervals: jackknife of AUC (units left out in turn); percentile of NBS;
    200 replicates, resampling IID, seed 0
    difference: a - b; * where the interval excludes 0
    metric          a       b  difference                         interval
    positives      50      50
    negatives      50      50
    AUC        0.7500  0.7500       equal
    NBS        0.7400  0.8000     -0.0600  [-0.0720, -0.0508], p < 0.010 *
    >>> [each.excludes_zero for each in found.differences]
    [False, True]

    Two groups, whose interval holds alone, since there is one difference:

    >>> by = {"room": ["x", "y", "y", "x"] * 25}
    >>> found = fp.evaluate(
    ...     data, [fp.BrierScore()], by=by, n_resamples=200, seed=0, group_differences="all"
    ... )
    >>> (each,) = found.differences
    >>> each.name, round(each.value, 4), each.excludes_zero, each.n_simultaneous
    ('room=x - room=y', -1.4, True, 1)
    """
    systems = predictions if isinstance(predictions, Mapping) else {None: predictions}
    for name in systems:
        if isinstance(predictions, Mapping) and not (isinstance(name, str) and name):
            raise ArgumentError(
                "predictions", f"must have names that are strings, not empty, not {name!r}"
            )
    intervals = Intervals.if_any(n_resamples, confidence_level, method, resampling, seed)
    specification = Specification(metrics, intervals, by, bins, differences, group_differences)
    return evaluate_systems(systems, specification, as_steps(progress))


def as_steps(progress: bool | Progress | None) -> Progress:
    """Return the callable that reports steps, or shows lines of replicates."""
    if callable(progress):
        return progress
    line = as_progress(progress)

    def report(step: str, done: int, total: int) -> None:
        nonlocal line
        if step.endswith(("replicates", "replicates of differences")):
            line(done, total)
        else:  # the time that is left is that of the replicates that follow
            line = as_progress(progress)

    return report


def evaluate_systems(
    systems: Mapping[Any, Data],
    specification: Specification,
    progress: Progress = no_progress,
    *,
    unweighted: Mapping[Any, Data] | None = None,
    always_named: bool = False,
) -> Evaluation:
    """Compute a table of metrics of systems by name.

    Groups are of the `unweighted` samples of systems, if given: weights that make groups count
    alike in the whole have no meaning within them. Messages name the system if there are several,
    or with `always_named`.
    """
    if not systems:
        raise ArgumentError("predictions", "must not be empty")
    for system, data in systems.items():
        check_data(data, "predictions" if system is None else f"predictions[{system!r}]")
    if always_named:
        _check_units(systems, specification)
    kinds = [data.kind for data in systems.values()]
    of_systems: list[list[Task]] = []
    for system, data in systems.items():
        try:
            if isinstance(data, Predictions):
                _ = data.labels  # raises if there are none
            own = [data.kind] if specification.differences is None else kinds
            metrics = named_metrics(specification.metrics, data.n_classes, own)
            groups = None if unweighted is None else unweighted[system]
            intervals = specification.intervals
            if intervals is not None and specification.differences == "unpaired" and of_systems:
                intervals = intervals.apart()
            of_system = replace(specification, intervals=intervals)
            among = str(system) if always_named or len(systems) > 1 else ""
            of_systems.append(tasks_of(system, among, data, metrics, of_system, groups))
        except ArgumentError as error:
            if len(systems) == 1:
                raise
            name = error.name or error.argument
            raise error.renamed(f"predictions[{system!r}]: {name}") from None
    pairs = _pairs_of_systems(systems, of_systems, specification)
    for tasks in of_systems:
        pairs += _pairs_of_groups(tasks, specification, are_weighted=unweighted is not None)
    return _evaluated(of_systems, pairs, specification, progress)


def _check_units(systems: Mapping[Any, Data], specification: Specification) -> None:
    """Raise if the first system has too few units to draw, before anything is computed."""
    (system, data), *_ = systems.items()
    if specification.intervals is None or not isinstance(data, Predictions):
        return
    try:
        specification.intervals.resampling.units(data)
    except ArgumentError as error:
        raise error.renamed(f"{system}: {error.name or error.argument}") from None


def _evaluated(
    of_systems: Sequence[Sequence[Task]],
    pairs: Sequence[_Pair],
    specification: Specification,
    progress: Progress,
) -> Evaluation:
    """Return the table of the tasks of each system, and the differences of pairs of tasks."""
    intervals = specification.intervals
    tasks = [task for of_system in of_systems for task in of_system]
    results: dict[Any, BootstrapResult] = {}
    with kept_warnings() as warned:
        _leave_out_slow_intervals(tasks)
        over = [task.data for task in tasks]
        side_by_side(*(partial(task.compute, progress) for task in tasks), over=over)
        for batch in [] if intervals is None else _batches(of_systems, specification):
            settings = intervals if specification.group_differences else batch[0].intervals
            assert settings is not None
            between = [(a, b) for a, b in pairs if a in batch]
            results |= _intervals(batch, between, settings, progress)
        if intervals is not None and specification.differences == "unpaired":
            apart = _estimands(pairs, results, is_paired=False)
            results |= zip(apart, results_of([*apart.values()], intervals), strict=True)
    for task in tasks:
        task.rows = {name: task.row(name, results.get((task, name))) for name in task.metrics}
    rows = tuple(row for task in tasks for row in task.rows.values())
    groups = tuple(task.described for task in tasks)
    differences = _differences(pairs, results)
    return Evaluation(rows, groups, intervals, differences, tuple(warned.values()))


# Pairs


def _pairs_of_systems(
    systems: Mapping[Any, Data],
    of_systems: Sequence[Sequence[Task]],
    specification: Specification,
) -> list[_Pair]:
    """Return the compared pairs of systems, of the same group; raise if they are not comparable."""
    pairs: list[_Pair] = []
    if specification.differences is None:
        return pairs
    if len(systems) < 2:
        raise ArgumentError("differences", "need a dict of two systems or more")
    (first, of_first), *further = zip(systems, of_systems, strict=True)
    intervals, which = specification.intervals, specification.differences
    for system, tasks in further:
        has_same_groups = [a.group for a in of_first] == [b.group for b in tasks]
        try:
            if which == "unpaired":
                _check_independent(of_first[0].data, tasks[0].data, intervals)
                pairs += [(a, b) for a in of_first for b in tasks if a.group == b.group]
                continue
            check_same_columns(of_first[0].data, tasks[0].data, _shared_columns(specification))
            for a, b in zip(of_first, tasks, strict=True) if has_same_groups else []:
                check_same_samples(a.data, b.data)
        except ArgumentError as error:
            raise error.renamed(f"predictions {first!r} and {system!r}") from None
        if not has_same_groups:
            raise ArgumentError("by", f"must be of the same values in {first!r} and {system!r}")
    for batch in zip(*of_systems, strict=True) if which != "unpaired" else []:
        of_batch = combinations(batch, 2)
        pairs += [(a, b) for a, b in of_batch if which == "all" or a is batch[0]]
    return pairs


def _check_independent(a: Data, b: Data, intervals: Intervals | None) -> None:
    """Raise unless test sets of two systems have the same classes, and share no drawn ids."""
    if a.n_classes != b.n_classes:
        rule = f"must have the same classes: {a.n_classes} and {b.n_classes}"
        raise ArgumentError("predictions", rule)
    if intervals is not None:
        check_independent(a, b, intervals.resampling)


def _shared_columns(specification: Specification) -> list[str]:
    """Return the names of columns that groups and units come from."""
    columns: list[Any] = []
    for ids in specification.columns.values():
        columns += ids if isinstance(ids, (tuple, list)) else [ids]
    if specification.intervals is not None:
        columns += names_of_ids(specification.intervals.resampling).values()
    return [name for name in columns if isinstance(name, str)]


def _pairs_of_groups(
    tasks: Sequence[Task], specification: Specification, *, are_weighted: bool
) -> list[_Pair]:
    """Return the compared pairs of groups of a system: with all samples, or of a grouping."""
    which, intervals = specification.group_differences, specification.intervals
    if which is None:
        return []
    if which == "pooled":
        have_other_metrics = any(len(task.metrics) < len(tasks[0].metrics) for task in tasks)
        if are_weighted or have_other_metrics:
            why = "spoofed trials, where conditions have other metrics"
            if are_weighted:
                why = "equalize=..., where conditions have other weights"
            rule = f"must not be pooled with {why} than all trials: use all"
            raise ArgumentError("group_differences", rule)
        pairs = [(group, tasks[0]) for group in tasks[1:]]
    else:
        of_groups = combinations(tasks[1:], 2)
        pairs = [(a, b) for a, b in of_groups if a.grouping == b.grouping]
    if not pairs:
        needed = "groups of samples" if which == "pooled" else "two groups of a grouping"
        raise ArgumentError("group_differences", f"need {needed}", pass_={"by": ...})
    if intervals is not None:
        intervals.check_simultaneous(len(pairs))
    return pairs


def _family(a: Task, b: Task, metric: str) -> tuple[str | None, str] | None:
    """Return the key of differences with joint intervals; None for a difference of systems."""
    return None if a.group == b.group else (a.system, metric)


def _differences(
    pairs: Sequence[_Pair], results: Mapping[Any, BootstrapResult]
) -> tuple[Difference, ...]:
    """Return the differences between the rows of pairs, with their intervals."""
    n_in_family = Counter(_family(*key) for key in results if len(key) == 3)
    n_in_family[None] = 1
    return tuple(
        Difference(
            a.rows[name], b.rows[name], results.get((a, b, name)),
            n_in_family[_family(a, b, name)] if (a, b, name) in results else 1,
        )
        for a, b in pairs
        for name in a.rows
        if name in b.rows
    )  # fmt: skip


# Intervals


def _batches(
    of_systems: Sequence[Sequence[Task]], specification: Specification
) -> Sequence[Sequence[Task]]:
    """Return the tasks whose intervals are drawn together: those that are compared."""
    tasks = [task for of_system in of_systems for task in of_system]
    if specification.differences in (None, "unpaired"):
        return of_systems if specification.group_differences else [[task] for task in tasks]
    return [tasks] if specification.group_differences else list(zip(*of_systems, strict=True))


def _leave_out_slow_intervals(tasks: Sequence[Task]) -> None:
    """Leave out intervals of default metrics that would take long in this table, and warn."""
    slow: dict[str, float] = defaultdict(float)
    for task in tasks:
        for name, metric in task.metrics.items():
            if isinstance(metric, LossOfTable) and task.intervals is not None:
                slow[name] += metric.seconds_of_refits(task.data, task.intervals.n_resamples)
    slow = {name: seconds for name, seconds in slow.items() if seconds > _MOST_SECONDS}
    for name, seconds in slow.items():
        warn(SlowIntervalWarning(name, seconds))
    for task in tasks:
        task.not_drawn = slow.keys()


def _intervals(
    tasks: Sequence[Task],
    pairs: Sequence[_Pair],
    intervals: Intervals,
    progress: Progress,
) -> dict[Any, BootstrapResult]:
    """Return results by (task, metric), and of differences by (task, task, metric).

    Values and differences of systems are drawn once where a scheme draws alike for both. The rows
    have the same draws with and without differences.
    """
    drawn = [task for task in tasks if task.drawn and task.can_be_drawn()]
    rows: dict[Any, Estimand] = {
        (task, name): Estimand.of(task.about(name), task.own_job(name))
        for task in drawn
        for name in task.drawn
    }
    differences = _estimands(pairs, rows)
    groups = {task.group for task in drawn}
    if differences and len(groups) == 1 and intervals.resampling.shares_draws:
        about = Subject("", groups.pop() or "")
        return _results(rows | differences, intervals, progress, about, jointly=True)
    results: dict[Any, BootstrapResult] = {}
    for task in drawn:
        assert task.intervals is not None
        of_task = {key: estimand for key, estimand in rows.items() if key[0] is task}
        results |= _results(of_task, task.intervals, progress, task.about(), jointly=False)
    about = Subject(metric="replicates of differences")
    return results | _results(differences, intervals, progress, about, jointly=True)


def _estimands(
    pairs: Sequence[_Pair], rows: Mapping[Any, Any], *, is_paired: bool = True
) -> dict[Any, Estimand]:
    """Return the differences of pairs whose rows are drawn, by (task, task, metric).

    Differences of groups have joint intervals.
    """
    estimands: dict[Any, Estimand] = {}
    for a, b in pairs:
        for name in a.drawn:
            if (a, name) not in rows or (b, name) not in rows:
                continue
            subject = Subject("", a.group or "", name, f"{a.system} - {b.system}")
            if a.group != b.group:
                groups = f"{a.group or POOLED} - {b.group or POOLED}"
                subject = Subject(a.among, "", name, groups)
            terms = (a.drawn[name], 1.0), (b.drawn[name], -1.0)
            difference = Estimand(subject, terms, _family(a, b, name), is_paired)
            if not math.isnan(difference.value):  # as inf - inf is
                estimands[a, b, name] = difference
    return estimands


def _results(
    estimands: Mapping[Any, Estimand],
    intervals: Intervals,
    progress: Progress,
    about: Subject,
    *,
    jointly: bool,
) -> dict[Any, BootstrapResult]:
    """Return the results of estimands by the same keys; steps are reported as about a subject."""
    if not estimands:
        return {}

    drawn = about if about.metric else replace(about, metric="replicates")

    def report(done: int, total: int) -> None:
        if total:
            progress(str(drawn), done, total)
        if done == total:
            progress(str(replace(about, metric="intervals")), 0, len(estimands))

    of_keys = list(estimands.values())
    draw_values(of_keys, intervals, jointly=jointly, progress=report)
    return dict(zip(estimands, results_of(of_keys, intervals), strict=True))
