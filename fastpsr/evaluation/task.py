"""Computations for one system: all its samples, or a group of them."""

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from fastpsr.bootstrap import BootstrapResult
from fastpsr.bootstrap.draws import Subset
from fastpsr.bootstrap.settings import Intervals
from fastpsr.bootstrap.values import Job, as_number
from fastpsr.calibration import TrainOnTest
from fastpsr.calibration.pav import PAV
from fastpsr.counts import find_facts, outcomes
from fastpsr.counts.groups import groups_of
from fastpsr.counts.scores import count_infinite_losses
from fastpsr.data import Data, Kind, PartitionedPredictions, Predictions, SharedTargets
from fastpsr.data.reading import without_frames
from fastpsr.errors import (
    ArgumentError,
    ResultWarning,
    Subject,
    counted,
    warn,
    warnings_about,
)
from fastpsr.evaluation.best_calibrator import BestCalibrator, savings_of_others
from fastpsr.evaluation.layout import corrected
from fastpsr.evaluation.specification import Specification
from fastpsr.evaluation.suspicions import suspicions
from fastpsr.evaluation.table import Group, Row
from fastpsr.metrics import ActADCF, CalibrationLoss, Metric, MinADCF
from fastpsr.metrics.base import AnyMetric
from fastpsr.metrics.defaults import LossOfTable
from fastpsr.rules import Log


class NoIntervalsWarning(ResultWarning):
    """A group has no confidence intervals, because it has too few units to resample.

    Attributes
    ----------
    error : ValueError
        The reason.
    """

    def __init__(self, error: ValueError) -> None:
        super().__init__(f"no intervals: {error}", "no intervals")
        self.error = without_frames(error)


#: Called with the name of a step, the amount done, and the total amount.
Progress = Callable[[str, int, int], object]


def no_progress(step: str, done: int, total: int) -> None:
    """Ignore the steps of a computation."""


_ROLES = ("EER", "minDCF", "actDCF", "Cllr", "minCllr", "NCE")


@dataclass(eq=False)
class Task:
    """Metrics of a system, for all its samples or for a group."""

    system: str | None
    among: str  # name of the system if there are several, else ""
    grouping: str | None  # None for all samples, as is the group
    group: str | None
    data: Data
    metrics: Mapping[str, AnyMetric]
    intervals: Intervals | None  # for a group, of its samples alone
    refused: Mapping[str, ValueError] = field(default_factory=dict)  # by name of the metric
    subset: Subset | None = None  # of a group that is drawn with the whole
    not_drawn: AbstractSet[str] = frozenset()  # metrics whose intervals would take long

    described: Group = field(init=False)
    jobs: dict[str, Job] = field(init=False)  # of all metrics, with their values
    errors: dict[str, ValueError] = field(default_factory=dict)  # why metrics have no value
    drawn: dict[str, Job] = field(default_factory=dict)  # of those with a value and an interval
    rows: dict[str, Row] = field(init=False)

    def about(self, metric: str = "") -> Subject:
        """Return the subject of messages."""
        return Subject(self.among, self.group or "", metric)

    def has_interval(self, name: str) -> bool:
        """Return whether a metric has an interval in this table."""
        return name not in self.not_drawn and getattr(self.metrics[name], "has_interval", True)

    def compute(self, progress: Progress) -> None:
        """Compute the values, and prepare their replicates; warn of suspicious data."""
        self.jobs = {name: Job(m, self.data, self.subset) for name, m in self.metrics.items()}
        with_interval = [name for name in self.jobs if self.intervals and self.has_interval(name)]
        suspected: Any = partial(suspicions, self.data) if self.group is None else tuple
        functions: list[Callable[[], Any]] = [self._describe, suspected, self._savings]
        functions += [partial(self._value, name, progress) for name in self.jobs]
        functions += [self.jobs[name].prepare for name in with_interval]
        with warnings_about(Subject(self.among)) if self.among else nullcontext():
            answers = iter(outcomes(functions, self.data))
            self.described, found, savings = (next(answers).get() for _ in range(3))
            for warning in found:
                warn(warning)
        for name, job in self.jobs.items():
            answer = next(answers)
            if answer.error is None:
                job.value = float(answer.result)
            else:
                self.errors[name] = answer.error
        self._refuse_groups_of_one_class()
        for name, answer in zip(with_interval, answers, strict=True):
            if not math.isnan(self.jobs[name].value):
                answer.get()
                self.drawn[name] = self.jobs[name]
        loss = self.metrics.get(self._compared_loss)
        if isinstance(loss, LossOfTable):
            best = BestCalibrator.of(loss, self.jobs[self._compared_loss].value, savings)
            self.described = replace(self.described, best_calibrator=best)

    def own_job(self, name: str) -> Job:
        """Return the prepared job of a metric of these samples alone."""
        job = self.drawn[name]
        return job if job.subset is None else replace(job, subset=None)

    def _describe(self) -> Group:
        data = self.data
        if isinstance(data, PartitionedPredictions):
            find_facts(data)  # in a read with those of other systems
        return Group(
            self.system,
            self.group,
            data.kind,
            len(data),
            tuple(int(n) for n in data.class_sizes),
            tuple(float(prior) for prior in data.priors),
            0 if data.kind == "raw scores" else count_infinite_losses(data),
            class_names=data.class_names,
        )

    @property
    def _compared_loss(self) -> str:
        """Name of the calibration loss to compare with other calibrators, or ""."""
        losses = [name for name, loss in self.metrics.items() if isinstance(loss, LossOfTable)]
        is_compared = self.group is None and self.data.kind != "raw scores"
        return losses[0] if losses and is_compared else ""

    def _savings(self) -> dict[str, float]:
        loss = self.metrics.get(self._compared_loss)
        return savings_of_others(loss, self.data) if isinstance(loss, LossOfTable) else {}

    def _value(self, name: str, progress: Progress) -> Any:
        """Return the value of a metric."""
        progress(str(self.about(name)), [*self.metrics].index(name), len(self.metrics))
        if name in self.refused:
            raise self.refused[name]
        metric = self.metrics[name]
        if isinstance(metric, Metric):
            return metric.value_on(self.data)
        if not isinstance(self.data, Predictions):
            raise ArgumentError(
                "metrics",
                f"must be metrics of this package for data in parts, not the function {name}: make "
                "it a Metric with summarize, merge and finish",
            )
        return as_number(name, metric(self.data))

    def _refuse_groups_of_one_class(self) -> None:
        """Raise if the metric is undefined because the group has samples of one class only."""
        sizes = self.described.class_sizes
        if self.group is None or len(sizes) != 2 or 0 not in sizes:
            return
        empty = sizes.index(0)
        rule = (
            f"has no samples of {self.data.class_name(empty)}: group by a column whose values have "
            "samples of both classes"
        )
        shared = f"{{{self.grouping!r}: fp.SharedTargets(ids)}}"
        remedy = f"to give all targets to each group, pass by={shared}" if empty == 1 else ""
        error = ArgumentError("by", rule, name=self.group, remedy=remedy)
        for name, job in self.jobs.items():
            if not math.isfinite(job.value):
                self.errors[name], job.value = error, math.nan

    def can_be_drawn(self) -> bool:
        """Return whether a group has enough units to resample; warn if not."""
        if self.group is None:  # for all samples this is an error, raised elsewhere
            return True
        assert self.intervals is not None
        try:
            self.intervals.resampling.units(self.data)
        except ValueError as error:
            warn(NoIntervalsWarning(error).of(self.about()))
            return False
        return True

    def row(self, name: str, result: BootstrapResult | None) -> Row:
        """Return the row of a metric, with its interval if there is one."""
        metric, value, error = self.metrics[name], self.jobs[name].value, self.errors.get(name)
        state, n_infinite = "not computed", self.described.n_infinite
        if error is None:
            state, error = _explain(metric, value, n_infinite, self.data.kind)
        note = f"{state}: {error}" if state else str(getattr(metric, "meaning", ""))
        if _is_of_infinite(metric, value, n_infinite):
            note += "; all of it, since the score is infinite without calibration"
        if self.intervals is not None and not state and not self.has_interval(name):
            note += ", without interval"
        row = Row(
            name, value, note=note, unit=getattr(metric, "unit", ""), system=self.system,
            reference_value=getattr(metric, "reference_value", None), group=self.group, state=state,
            error=None if error is None else without_frames(error), role=role_of(metric),
        )  # fmt: skip
        if result is None:
            return row
        row = replace(
            row, low=result.interval.low, high=result.interval.high, method=result.method,
            degrees_of_freedom=_or_none(result.degrees_of_freedom), caution=result.caution,
            corrected=_or_none(result.corrected), n_undefined=result.n_undefined,
        )  # fmt: skip
        is_of_these = isinstance(metric, CalibrationLoss) and isinstance(metric.train, TrainOnTest)
        if row.corrected is not None and (row.is_outside or is_of_these):
            return replace(row, note=f"{note}; {corrected(row.corrected, row.unit)}")
        return row


def tasks_of(
    system: str | None, among: str, data: Data, metrics: Mapping[str, AnyMetric],
    specification: Specification, unweighted: Data | None,
) -> list[Task]:  # fmt: skip
    """Return the tasks of a system: all its samples, then its groups.

    Groups that are compared are drawn with the whole. They are of the `unweighted` samples, if
    given. Where groups share the targets, a-DCF, which needs all kinds of trials, is of all samples
    alone.
    """
    intervals = specification.intervals
    whole = data if unweighted is None else unweighted
    tasks = [Task(system, among, None, None, data, metrics, intervals)]
    of_groups = dict(metrics)
    if any(isinstance(ids, SharedTargets) for ids in specification.columns.values()):
        costs = (MinADCF, ActADCF)
        of_groups = {name: m for name, m in metrics.items() if not isinstance(m, costs)}
    for subgroup in groups_of(whole, specification.by, specification.bins) if of_groups else []:
        rows, of_group, refused = subgroup.rows, dict(of_groups), {}
        for name, metric in of_groups.items():
            if isinstance(metric, Metric):
                try:
                    of_group[name] = metric.on_rows(whole, rows)
                except ValueError as error:
                    refused[name] = error
        settings = None if intervals is None else intervals.on_rows(whole, rows)
        subset = None if specification.group_differences is None else Subset(whole, rows)
        place = (subgroup.grouping, subgroup.name, subgroup.data)
        tasks.append(Task(system, among, *place, of_group, settings, refused, subset))
    return tasks


def _explain(
    metric: AnyMetric, value: float, n_infinite: int, kind: Kind
) -> tuple[str, ValueError | None]:
    """Return the state of a value that is not finite and the reason; else "" and None."""
    if np.isfinite(value):
        return "", None
    state = "undefined" if np.isnan(value) else "infinite"
    if not isinstance(metric, Metric):
        return state, ValueError("the function returned it")
    remedy, pass_ = "", {}
    if kind == "posteriors":
        remedy = "from_posteriors(..., floor=1e-6) bounds what they cost"
    if isinstance(metric, CalibrationLoss):
        name = type(metric.calibrator).__name__
        if getattr(metric.calibrator, "floor", None) == 0.0:
            remedy, pass_ = f"{name}(floor=1e-3) bounds what they cost", {"floor": 1e-3}
        if value < 0.0:
            rule = "would make the score infinitely worse"
            remedy = f"{name}(floor=1e-3) would not" if pass_ else ""
            return state, ArgumentError("calibrator", rule, None, remedy, pass_=pass_, name=name)
    if not n_infinite:
        return state, ValueError(metric.meaning)
    name, have = counted(n_infinite, "sample"), "has" if n_infinite == 1 else "have"
    rule = f"{have} posterior 0 for the true class"
    return state, ArgumentError("predictions", rule, None, remedy, pass_=pass_, name=name)


def _is_of_infinite(metric: AnyMetric, value: float, n_infinite: int) -> bool:
    """Return whether a calibration loss is relative to an infinite score."""
    if not (isinstance(metric, CalibrationLoss) and isinstance(metric.rule, Log)):
        return False
    return metric.relative and value == 100.0 and n_infinite > 0


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def role_of(metric: Any) -> str:
    """Return the standard name of a metric that tables and reports look for; "" for others.

    Examples
    --------
    >>> import fastpsr as fp
    >>> role_of(fp.MinDCF(0.05)), role_of(fp.CrossEntropy()), role_of(fp.AUC())
    ('minDCF', 'NCE', '')
    >>> role_of(fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.CrossFit()))
    'RCL'
    """
    role, _, _ = str(getattr(metric, "label", "")).partition("(")
    if isinstance(metric, CalibrationLoss) and role == "RCL CE":
        on_these = isinstance(metric.calibrator, PAV) and isinstance(metric.train, TrainOnTest)
        return "RCL bound" if on_these and not isinstance(metric, LossOfTable) else "RCL"
    return role if role in _ROLES else ""
