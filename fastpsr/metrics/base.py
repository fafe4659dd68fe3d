"""What every metric offers."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar
from warnings import warn

from numpy.typing import ArrayLike

from fastpsr.errors import ArgumentError
from fastpsr.metrics.suspicion import FEWEST, are_like_posteriors, like_posteriors
from fastpsr.plans import Data, PartitionedPredictions, Plan, Step, begin, run
from fastpsr.predictions import Predictions
from fastpsr.summaries.summands import Summands

__all__ = ["Metric", "Summarize", "check_metric"]

Summary = TypeVar("Summary")


class Metric(ABC, Generic[Summary]):
    """A number about predictions, computed by way of a summary that can be merged and resampled.

    Call it on ``Predictions``, in memory or in parts; ``metric(y_true, x, **options)`` is short for
    the constructor that fits the metric, ``Predictions.from_posteriors(y_true, x, **options)`` for
    most.

    A metric of one's own says `label`, `summarize` and `finish`. Where summaries have a method
    ``merge(other)``, or the metric says `merge`, it takes data in parts, too. It must heed weights:
    the replicates of a bootstrap are the same samples with other weights, ``balanced_weights()``
    (empty if all weigh the same).

    Examples
    --------
    The share of samples whose posterior of class 1 is above .9:

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

    #: Whether it takes two classes and no more.
    binary_only: ClassVar[bool] = False

    @property
    @abstractmethod
    def label(self) -> str:
        """Short name for tables."""

    @property
    def __name__(self) -> str:
        """The label: scikit-learn asks its score functions for a name."""
        return self.label

    @property
    def meaning(self) -> str:
        """What the number is, in a few words."""
        return ""

    @property
    def unit(self) -> str:
        """What the number is in: "fraction", "percent", "nats", "bits", or "" for ratios."""
        return ""

    @property
    def reference_value(self) -> float | None:
        """The value of a system that is worth nothing, for figures; None where there is none."""
        return None

    @classmethod
    def examples(cls, data: Data) -> "list[Metric[Any]]":
        """Return metrics of this class for data: what tests, warm-up and fuzzing go over.

        By default the one that is made without arguments.
        """
        return [cls()]

    @abstractmethod
    def summarize(self, predictions: Predictions) -> Summary:
        """Return all that the metric needs of labeled predictions, which may be part of a whole.

        Their priors and frequencies are the whole's.
        """

    @abstractmethod
    def finish(self, summary: Summary) -> float:
        """Return the value from a summary."""

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

    def plan(self, data: Data) -> Plan[float]:
        """Ask for what the value needs of the data, and return it."""
        (summary,) = yield [Summarize(self).over(data)]
        return self.finish(summary)

    def summands(self, data: Data) -> Plan[Summands | None]:
        """Ask for what must be known, and return what the summary adds up.

        The bootstrap draws sums where there are summands; where there are none (None) it computes
        the metric anew on weighted data.
        """
        return None
        yield

    def fixed_to(self, data: Data) -> Plan["Metric[Summary]"]:
        """Return the metric with all that must not change between replicates, such as folds."""
        return self
        yield

    def on_rows(self, index: Any) -> "Metric[Summary]":
        """Return the metric for the rows that an index picks, where it holds ids of rows."""
        return self

    @property
    def summary_key(self) -> Hashable:
        """What tells summaries apart: metrics of equal keys have the same, computed once."""
        return id(self)

    #: What the short form ``metric(y_true, x)`` takes for `x`.
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
        if (
            isinstance(predictions, Predictions)
            and (predictions.kind, predictions.n_classes) == ("likelihoods", 2)
            and len(predictions) >= FEWEST
            and are_like_posteriors(predictions._score_rows)
        ):
            warn(like_posteriors(), stacklevel=2)
        return run(lambda: self.plan_from_start(predictions), predictions)

    def plan_from_start(self, data: Data) -> Plan[float]:
        """Ask for the facts of the data, then for what the value needs."""
        yield from begin(data)
        return (yield from self.plan(data))

    def _predictions(self, y_true: ArrayLike, x: ArrayLike, **options: Any) -> Predictions:
        return Predictions.from_posteriors(y_true, x, **options)


@dataclass(frozen=True, eq=False)
class Summarize(Step):
    """Summarize the parts by a metric."""

    metric: Metric[Any]

    @property
    def key(self) -> Hashable:
        return ("summary", self.metric.summary_key)

    def add(self, accumulator: Any, prepared: None, *parts: Any) -> Any:
        summary = self.metric.summarize(*(part.predictions for part in parts))
        return summary if accumulator is None else self.metric.merge(accumulator, summary)

    def merge(self, one: Any, other: Any) -> Any:
        return self.metric.merge(one, other)


def check_metric(metric: object) -> None:
    """Raise unless `metric` is a metric, or a function of predictions."""
    if isinstance(metric, type):
        name = metric.__name__
        raise ArgumentError(
            "metrics", f"must be metrics, not the class {name}: make one, {name}(...)"
        )
    if not callable(metric):
        found = repr(metric) if isinstance(metric, (str, int, float)) else type(metric).__name__
        raise ArgumentError("metrics", f"must be callable, not {found}")
