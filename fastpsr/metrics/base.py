"""What every metric offers."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from numpy.typing import ArrayLike

from fastpsr.predictions import Predictions
from fastpsr.summaries.summands import Summands

__all__ = ["Metric", "check_metric"]

Summary = TypeVar("Summary")


class Metric(ABC, Generic[Summary]):
    """A number about predictions, computed by way of a summary that can be merged and resampled.

    Call it on ``Predictions``; ``metric(y_true, x, **options)`` is short for the constructor that
    fits the metric, ``Predictions.from_posteriors(y_true, x, **options)`` for most.
    """

    @property
    @abstractmethod
    def label(self) -> str:
        """Short name for tables."""

    @property
    def meaning(self) -> str:
        """What the number is, in a few words."""
        return ""

    @abstractmethod
    def summarize(self, predictions: Predictions) -> Summary:
        """Return all that the metric needs of labeled predictions."""

    @abstractmethod
    def finish(self, summary: Summary) -> float:
        """Return the value from a summary."""

    def summands(self, predictions: Predictions) -> Summands | None:
        """Return what the summary adds up, or None where it is not a sum over samples.

        The bootstrap draws sums where there are summands; else it calls the metric on weighted
        predictions.
        """
        return None

    def fixed_to(self, predictions: Predictions) -> "Metric[Summary]":
        """Return the metric with all that must not change between replicates, such as folds."""
        return self

    #: What the short form ``metric(y_true, x)`` takes for `x`.
    _takes = "posteriors"

    def __call__(self, predictions: Any, x: ArrayLike | None = None, **options: Any) -> float:
        """Return the value for `predictions`, or for labels and posteriors as arrays."""
        if not isinstance(predictions, Predictions):
            if x is None:
                raise ValueError(
                    f"{type(self).__name__} takes Predictions, or labels and {self._takes}: "
                    "metric(y_true, x)"
                )
            predictions = self._predictions(predictions, x, **options)
        elif x is not None or options:
            raise ValueError("priors and weights belong to the Predictions when these are passed")
        return self.finish(self.summarize(predictions))

    def _predictions(self, y_true: ArrayLike, x: ArrayLike, **options: Any) -> Predictions:
        return Predictions.from_posteriors(y_true, x, **options)


def check_metric(metric: object) -> None:
    """Raise unless `metric` is a metric, or a function of predictions."""
    if isinstance(metric, type):
        name = metric.__name__
        raise ValueError(f"metrics must be metrics, not the class {name}: make one, {name}(...)")
    if not callable(metric):
        found = repr(metric) if isinstance(metric, (str, int, float)) else type(metric).__name__
        raise ValueError(f"metrics must be callable, not {found}")
