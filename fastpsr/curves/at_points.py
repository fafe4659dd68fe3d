"""A curve at fixed points: values that can be resampled, for bands around the curve."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastpsr.metrics.base import Statistic
from fastpsr.plans import Data, Plan
from fastpsr.predictions import Floats
from fastpsr.results import Result

__all__ = ["AtPoints"]


@dataclass(frozen=True, eq=False)
class AtPoints:
    """What a curve at fixed points is made of.

    Attributes
    ----------
    make : callable
        Returns the curve of values by name, shape (P,) each.
    statistics : mapping of str to Statistic
        Return the values.
    """

    make: Callable[..., Result]
    statistics: Mapping[str, Statistic[Any, Floats]]

    def plan(self, data: Data) -> Plan[Any]:
        """Plan: request the values, and return the curve."""
        values = yield [each.plan(data) for each in self.statistics.values()]
        return self.make(**dict(zip(self.statistics, values, strict=True)))
