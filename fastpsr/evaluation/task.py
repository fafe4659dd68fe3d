"""What is computed of a system, for all its samples or for a group."""

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
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
from fastpsr.counts import Outcome, find_facts
from fastpsr.counts.groups import Subgroup, groups_of
from fastpsr.counts.scores import count_infinite_losses
from fastpsr.data import Data, Kind, PartitionedPredictions, Predictions
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
from fastpsr.metrics import (
    EER,
    ActDCF,
    CalibrationLoss,
    Cllr,
    CrossEntropy,
    Metric,
    MinCllr,
    MinDCF,
)
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


Progress = Callable[[str, int, int], object]
_ROLES = {EER: "EER", MinDCF: "minDCF", ActDCF: "actDCF", Cllr: "Cllr", MinCllr: "minCllr"}


@dataclass(eq=False)
class Task:
    """Metrics of a system, for all its samples or for a group."""

    system: str | None
    subgroup: Subgroup | None
    among: str  # name of the system if there are several, else ""
    data: Data
    metrics: Mapping[str, AnyMetric]
    intervals: Intervals | None  # for a group, of its samples alone
    refused: Mapping[str, ValueError] = field(default_factory=dict)  # by name of the metric
    subset: Subset | None = None  # of a group that is drawn with the whole
    not_drawn: AbstractSet[str] = frozenset()  # metrics whose intervals would take long

    described: Group = field(init=False)
    values: dict[str, Outcome] = field(init=False)
    numbers: dict[str, float] = field(init=False)  # those of the values that are not nan
    rows: dict[str, Row] = field(init=False)

    def __post_init__(self) -> None:
        self._jobs = {
            name: Job(metric, self.data, self.subset) for name, metric in self.metrics.items()
        }

    @property
    def group(self) -> str | None:
        """Name of the group; None for all samples."""
        return None if self.subgroup is None else self.subgroup.name

    @property
    def grouping(self) -> str | None:
        """Name of the grouping; None for all samples."""
        return None if self.subgroup is None else self.subgroup.grouping

    def functions(self, progress: Progress | None) -> dict[tuple[str, str], Callable[[], Any]]:
        """Return what counts the data, by what it returns: ("value", metric), for example."""
        functions: dict[tuple[str, str], Callable[[], Any]] = {("described", ""): self._describe}
        if self.group is None:
            functions["suspicions", ""] = partial(suspicions, self.data)
        for name, loss in self._losses.items():
            functions["savings", name] = partial(savings_of_others, loss, self.data)
        for place, name in enumerate(self.metrics):
            functions["value", name] = partial(self._value, place, name, progress)
        for name in self.metrics:
            if self.intervals is not None and name not in self.not_drawn:
                prepare = self._jobs[name].prepare
                functions["prepared", name] = partial(_about, self.among, self.data, prepare)
        return functions

    def take(self, answers: Mapping[tuple[str, str], Outcome]) -> None:
        """Take the outcomes of the functions, and warn of what the data look like."""
        self.described = answers["described", ""].get()
        self.values = {name: answers["value", name] for name in self.metrics}
        self._refuse_groups_of_one_class()
        numbers = {name: float(o.result) for name, o in self.values.items() if o.error is None}
        self.numbers = {name: value for name, value in numbers.items() if not np.isnan(value)}
        for name, value in self.numbers.items():
            self._jobs[name].value = value
        for name, loss in self._losses.items():
            savings = answers["savings", name].get()
            best = BestCalibrator.of(loss, self.numbers.get(name, math.nan), savings)
            self.described = replace(self.described, best_calibrator=best)
        for name in self.numbers:
            if ("prepared", name) in answers:
                answers["prepared", name].get()
        if self.group is None:
            for warning in answers["suspicions", ""].get():
                warn(warning.of(self.about()) if self.among else warning)

    def _refuse_groups_of_one_class(self) -> None:
        """Replace values that are undefined without a class by an error that says so."""
        sizes = self.described.class_sizes
        if self.group is None or len(sizes) != 2 or 0 not in sizes:
            return
        empty = sizes.index(0)
        rule = (
            f"has no samples of class {empty}: group by a column whose values have samples of "
            "both classes"
        )
        shared = f"{{{self.grouping!r}: fp.SharedTargets(ids)}}"
        remedy = f"to give all targets to each group, pass by={shared}" if empty == 1 else ""
        error = ArgumentError("by", rule, name=self.group, remedy=remedy)
        self.values = {
            name: outcome if _is_finite(outcome) else Outcome(None, error)
            for name, outcome in self.values.items()
        }

    @property
    def _losses(self) -> dict[str, LossOfTable]:
        """The calibration losses that are compared with those of other calibrators."""
        if self.group is not None or self.data.kind == "raw scores":
            return {}
        return {name: loss for name, loss in self.metrics.items() if isinstance(loss, LossOfTable)}

    def has_interval(self, name: str) -> bool:
        """Return whether a metric has an interval in this table."""
        return name not in self.not_drawn and getattr(self.metrics[name], "has_interval", True)

    def job(self, name: str) -> Job:
        """Return the prepared job of a metric; that of a subset is drawn with its whole."""
        return self._jobs[name]

    def own_job(self, name: str) -> Job:
        """Return the prepared job of a metric of these samples alone."""
        job = self._jobs[name]
        return job if job.subset is None else replace(job, subset=None)

    def can_be_drawn(self) -> bool:
        """Return whether a group has enough units to resample; warn if not."""
        if self.group is None:  # for all samples this is an error, raised elsewhere
            return True
        assert self.intervals is not None
        resampling = self.intervals.resampling
        try:
            resampling.units(self.data)
        except ValueError as error:
            warn(NoIntervalsWarning(error).of(self.about()))
            return False
        return True

    def make_rows(self, results: Mapping[Any, BootstrapResult]) -> None:
        """Make the rows of all metrics, with intervals by (task, metric)."""
        self.rows = {name: self._row(name, results.get((self, name))) for name in self.metrics}

    def _row(self, name: str, result: BootstrapResult | None) -> Row:
        metric, outcome, n_infinite = self.metrics[name], self.values[name], self.n_infinite
        unit = getattr(metric, "unit", "")
        value, state, error = float("nan"), "not computed", outcome.error
        if error is None:
            value = float(outcome.result)
            state, error = _explain(metric, value, n_infinite, self.data.kind)
        notes = [f"{state}: {error}" if state else str(getattr(metric, "meaning", ""))]
        if _is_of_infinite(metric, value, n_infinite):
            notes.append("all of it, since the score is infinite without calibration")
        interval: dict[str, Any] = {}
        if result is not None:
            if _is_optimistic(metric, value, result):
                notes.append(corrected(result.corrected, unit))
            interval = {
                "low": result.interval.low, "high": result.interval.high,
                "n_undefined": result.n_undefined, "method": result.method,
                "degrees_of_freedom": _or_none(result.degrees_of_freedom),
                "corrected": _or_none(result.corrected), "caution": result.caution,
            }  # fmt: skip
        note = "; ".join(notes)
        if result is None and self.intervals and not state and not self.has_interval(name):
            note += ", without interval"
        return Row(
            name, value, **interval, note=note, unit=unit,
            reference_value=getattr(metric, "reference_value", None),
            system=self.system, group=self.group, state=state,
            error=None if error is None else without_frames(error), role=role_of(metric),
        )  # fmt: skip

    @property
    def n_infinite(self) -> int:
        """Number of samples with posterior 0 for the true class."""
        return self.described.n_infinite

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
        )

    def _value(self, place: int, name: str, progress: Progress | None) -> Any:
        """Return the value of a metric."""
        if progress is not None:
            progress(str(self.about(name)), place, len(self.metrics))
        if name in self.refused:
            raise self.refused[name]
        metric = self.metrics[name]
        if isinstance(metric, Metric):
            return _about(self.among, self.data, partial(metric.value_on, self.data))
        if not isinstance(self.data, Predictions):
            raise ArgumentError(
                "metrics",
                f"must be metrics of this package for data in parts, not the function {name}: make "
                "it a Metric with summarize, merge and finish",
            )
        return as_number(name, metric(self.data))

    def about(self, metric: str = "") -> Subject:
        """Return what messages are about."""
        return Subject(self.among, self.group or "", metric)


def tasks_of(
    system: str | None, label: str, data: Data, metrics: Mapping[str, AnyMetric],
    specification: Specification,
) -> list[Task]:  # fmt: skip
    """Return the tasks of a system: all its samples, then its groups.

    Groups that are compared are drawn with the whole.
    """
    intervals = specification.intervals
    tasks = [Task(system, None, label, data, metrics, intervals)]
    for subgroup in groups_of(data, specification.by, specification.bins):
        samples, rows = subgroup.data, subgroup.rows
        of_group, refused = dict(metrics), {}
        for name, metric in metrics.items():
            if isinstance(metric, Metric):
                try:
                    of_group[name] = metric.on_rows(data, rows)
                except ValueError as error:
                    refused[name] = error
        settings = None if intervals is None else intervals.on_rows(data, rows)
        subset = None if specification.group_differences is None else Subset(data, rows)
        tasks.append(Task(system, subgroup, label, samples, of_group, settings, refused, subset))
    return tasks


def _about(system: str, data: Data, function: Callable[[], Any]) -> Any:
    """Return what a function returns; of data in memory, its warnings begin with the system."""
    if not system or not isinstance(data, Predictions):
        return function()
    with warnings_about(Subject(system)):
        return function()


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
    rule = (
        "has posterior 0 for the true class"
        if n_infinite == 1
        else "have posterior 0 for the true class"
    )
    name = counted(n_infinite, "sample")
    return state, ArgumentError("predictions", rule, None, remedy, pass_=pass_, name=name)


def _is_of_infinite(metric: AnyMetric, value: float, n_infinite: int) -> bool:
    """Return whether a calibration loss is relative to an infinite score."""
    if not (isinstance(metric, CalibrationLoss) and isinstance(metric.rule, Log)):
        return False
    return metric.relative and value == 100.0 and n_infinite > 0


def _is_optimistic(metric: AnyMetric, value: float, result: BootstrapResult) -> bool:
    """Return whether a value is trained on these samples, or outside its corrected interval."""
    if math.isnan(result.corrected):
        return False
    if isinstance(metric, CalibrationLoss) and isinstance(metric.train, TrainOnTest):
        return True
    return value < result.interval.low or value > result.interval.high


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def _is_finite(outcome: Outcome) -> bool:
    return outcome.error is None and bool(np.isfinite(outcome.result))


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
    if isinstance(metric, CalibrationLoss):
        if not (metric.relative and isinstance(metric.rule, Log)):
            return ""
        on_these = isinstance(metric.calibrator, PAV) and isinstance(metric.train, TrainOnTest)
        return "RCL bound" if on_these and not isinstance(metric, LossOfTable) else "RCL"
    if isinstance(metric, CrossEntropy):
        return "NCE" if metric.normalized else ""
    return next((role for kind, role in _ROLES.items() if isinstance(metric, kind)), "")
