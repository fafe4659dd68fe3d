"""Base class of all metrics."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from numpy.typing import ArrayLike

from fastpsr.counts import begin, count, one_call
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Part, PartitionedPredictions, Predictions
from fastpsr.data.steps import Step
from fastpsr.data.suspicion import look_at_llrs
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import IntervalRule
from fastpsr.options import Options, declared

Summary = TypeVar("Summary")
Value = TypeVar("Value")


class Statistic(Options, ABC, Generic[Summary, Value]):
    """A quantity computed from a summary, with replicates: a metric, or the values of a curve."""

    #: Short name for tables and messages. Here and below: an attribute of a class, or a property.
    label: Any = declared()

    @abstractmethod
    def finish(self, summary: Summary) -> Value:
        """Return the value, computed from a summary."""

    def total(self, data: Data) -> Summary:
        """Return the summary of data whose facts are known: by default of the added sums."""
        sums = self.sums(data)
        assert sums is not None, f"{self.label} has neither sums nor a total"
        summary: Summary = sums.total(data)
        return summary

    def sums(self, data: Data) -> Sums | None:
        """Return the per-sample terms whose sums are the summary, or None.

        With sums the bootstrap draws replicates of the sums; without (None) it recomputes the
        value on weighted data for each replicate.
        """
        return None

    def value_on(self, data: Data) -> Value:
        """Return the value on data."""
        begin(data)
        return self.finish(self.total(data))


class Metric(Statistic[Summary, float]):
    """A metric of predictions, computed from a summary that can be merged and resampled.

    Call it on ``Predictions``, in memory or in parts. The short form ``metric(y_true, x,
    **options)`` creates the predictions first, for most metrics with
    ``Predictions.from_posteriors(y_true, x, **options)``.

    A custom metric defines `label`, `summarize` and `finish`. If its summaries have a method
    ``merge(other)``, or the metric defines `merge`, it also works on data in parts. It must use the
    sample weights ``predictions.balanced_weights()`` (an empty array if all weights are equal),
    because bootstrap replicates are the same samples with other weights.

    Examples
    --------
    The fraction of samples whose posterior of class 1 is above 0.9:

    >>> import numpy as np, fastpsr as fp
    >>> class Certain(fp.metrics.Metric):
    ...     label = "certain"
    ...     def summarize(self, predictions):
    ...         weights = predictions.balanced_weights()
    ...         weights = weights if weights.size else np.ones(len(predictions))
    ...         is_certain = predictions.positive_posteriors > 0.9
    ...         return np.array([weights[is_certain].sum(), weights.sum()])
    ...     def merge(self, one, other):
    ...         return one + other
    ...     def finish(self, summary):
    ...         return float(summary[0] / summary[1])
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.2, 0.95, 0.3, 0.99])
    >>> Certain()(data), Certain()(fp.from_parts([data[:1], data[1:]]))
    (0.5, 0.5)
    """

    #: Whether it is only defined for two classes.
    binary_only: ClassVar[bool] = False
    #: Whether larger values are better, for tools that search for the best.
    higher_is_better: ClassVar[bool] = False

    #: Short description, str.
    meaning: Any = ""
    #: Unit: "fraction" (percent in tables), "percent", "probability", "nats", "bits" or "".
    unit: Any = ""
    #: Value of an uninformative system, shown in figures; None if there is no such value.
    reference_value: Any = None
    #: Least and greatest value that it can have: the ends of intervals lie within.
    value_range: Any = (-math.inf, math.inf)

    #: How its intervals are computed, an `IntervalRule`.
    interval_rule: Any = IntervalRule()

    @property
    def __name__(self) -> str:
        """The label, since scikit-learn expects score functions to have a name."""
        return str(self.label)

    #: Arguments of each example, where they do not depend on the data.
    example_arguments: Any = ((),)

    @classmethod
    def examples(cls, data: Data) -> "list[Metric[Any]]":
        """Return example metrics of this class for data, used by tests, warm-up and fuzzing."""
        return [cls(*arguments) for arguments in cls.example_arguments]

    def summarize(self, predictions: Predictions) -> Summary:
        """Return the summary of labeled predictions: the data, or a part of them.

        A custom metric defines it. Priors and class frequencies of a part are those of the whole.
        """
        raise NotImplementedError(f"metric {self.label} must have a method summarize")

    def merge(self, one: Summary, other: Summary) -> Summary:
        """Return the summary of both sets of samples."""
        joined = getattr(one, "merge", None)
        if joined is None:
            raise ValueError(
                f"metric {self.label} does not take data in parts: it needs a method "
                "merge(one, other) that joins two of its summaries"
            )
        result: Summary = joined(other)
        return result

    def total(self, data: Data) -> Summary:
        if type(self).summarize is Metric.summarize:
            return super().total(data)
        summary: Summary = count(_Summarize(self).over(data))
        return summary

    def without_each_sample(self, data: Data) -> Floats | None:
        """Return the values without each sample of positive weight, where one pass gives them.

        The samples weigh the same. None for metrics that take a pass for each sample.
        """
        return None

    def on_rows(self, data: Data, rows: Any) -> "Metric[Summary]":
        """Return the metric for the rows selected by an index, if it holds one id per row."""
        return self

    #: Description of `x` in the short form ``metric(y_true, x)``.
    _takes = "posteriors"

    def __call__(self, predictions: Any, x: ArrayLike | None = None, **options: Any) -> float:
        """Return the value for `predictions`, or for labels and posteriors as arrays."""
        if not isinstance(predictions, (Predictions, PartitionedPredictions)):
            if x is None:
                raise ArgumentError(
                    "predictions",
                    f"takes Predictions, or labels and {self._takes}: metric(y_true, x)",
                    name=f"{type(self).__name__}",
                )
            if isinstance(x, (Predictions, PartitionedPredictions)):
                rule = "must not be Predictions, which hold labels: pass them alone, metric(x)"
                raise ArgumentError("x", rule)
            predictions = self._predictions(predictions, x, **options)
        elif x is not None or options:
            rule = "belong to the Predictions when these are passed"
            raise ArgumentError("priors", rule, name="priors and weights")
        look_at_llrs(predictions)
        with one_call():
            return self.value_on(predictions)

    def _predictions(self, y_true: ArrayLike, x: ArrayLike, **options: Any) -> Predictions:
        return Predictions.from_posteriors(y_true, x, **options)


class LLRMetric(Metric[Summary]):
    """A metric whose short form takes LLRs."""

    _takes = "LLRs"

    def _predictions(self, y_true: ArrayLike, x: ArrayLike, **options: Any) -> Predictions:
        return Predictions.from_llrs(y_true, x, **options)


AnyMetric = Metric[Any] | Callable[[Predictions], float]


@dataclass(frozen=True, eq=False)
class _Summarize(Step[Any]):
    """Summarize the parts with a custom metric."""

    metric: Metric[Any]

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        summary = self.metric.summarize(part.predictions)
        return summary if accumulator is None else self.metric.merge(accumulator, summary)

    def merge(self, total: Any, more: Any) -> Any:
        return self.metric.merge(total, more)


def name_of(metric: object) -> str:
    """Return the name of a metric in messages."""
    label = getattr(metric, "label", None)  # not a string if `metric` is a class
    return label if isinstance(label, str) else str(getattr(metric, "__name__", repr(metric)))


def check_metric(metric: object, argument: str = "metrics", *, takes_arrays: bool = False) -> None:
    """Raise unless `metric` is a metric, or a function of predictions, or else of arrays."""
    if isinstance(metric, type):
        name = metric.__name__
        raise ArgumentError(
            argument, f"must not be the class {name}", remedy=f"make one, {name}(...)"
        )
    if not callable(metric):
        description = (
            repr(metric) if isinstance(metric, (str, int, float)) else type(metric).__name__
        )
        raise ArgumentError(argument, f"must be callable, not {description}")
    if takes_arrays or isinstance(metric, Metric):
        return
    try:
        parameters = inspect.signature(metric).parameters
    except (TypeError, ValueError):  # of a compiled function
        return
    needed = [
        name for name, option in parameters.items()
        if option.default is option.empty and option.kind is option.POSITIONAL_OR_KEYWORD
    ]  # fmt: skip
    if len(needed) > 1:
        function = getattr(metric, "__name__", "f")
        weights, more = ", sample_weight=p.sample_weight", ""
        if "sample_weight" not in parameters:
            weights, more = "", ", with p.sample_weight, in which replicates differ"
        raise ArgumentError(
            argument,
            f"must take predictions alone, but {function} takes {', '.join(needed)}",
            remedy=f"pass lambda p: {function}(p.y_true, p.positive_posteriors{weights}){more}",
        )
