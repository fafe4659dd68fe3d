"""A curve at fixed points: values that can be resampled, for bands around the curve."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastpsr.counts import side_by_side
from fastpsr.data import Data, Floats
from fastpsr.metrics.base import Statistic
from fastpsr.results import Result


@dataclass(frozen=True, eq=False)
class AtPoints:
    """A curve at fixed points, made of metrics.

    Attributes
    ----------
    make : callable
        Returns the curve of values by name, shape (P,) each.
    statistics : mapping of str to Statistic
        Return the values.
    """

    make: Callable[..., Result]
    statistics: Mapping[str, Statistic[Any, Floats]]

    def value_on(self, data: Data) -> Any:
        """Return the curve of data."""
        values = [partial(statistic.value_on, data) for statistic in self.statistics.values()]
        return self.curve(side_by_side(*values, over=data))

    def curve(self, values: Iterable[Floats]) -> Any:
        """Return the curve of values in the order of the statistics."""
        return self.make(**dict(zip(self.statistics, values, strict=True)))
