"""What replicates are drawn of: a metric of some data."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr.bootstrap.row_counts import Reweighted, RowCounts, Subset
from fastpsr.caching import ByIdentity, cached_property
from fastpsr.counts import begin
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, mapped
from fastpsr.interval_rule import IntervalRule
from fastpsr.metrics.base import AnyMetric, Metric, Statistic, name_of

Progress = Callable[[int, int], object]


@dataclass(eq=False)
class Job:
    """A metric, or the values of a curve, of some data, and its prepared sums.

    A subset is drawn with its whole; `shape` is that of the value, () for a metric.
    """

    metric: AnyMetric | Statistic[Any, Floats]
    data: Data
    subset: Subset | None = None
    sums: Sums | None = None
    shape: tuple[int, ...] = ()

    @cached_property
    def name(self) -> str:
        """Name of the metric in messages."""
        return name_of(self.metric)

    @property
    def interval_rule(self) -> IntervalRule:
        """How its intervals are computed; functions of the caller have the default."""
        rule: IntervalRule = getattr(self.metric, "interval_rule", Metric.interval_rule)
        return rule

    @property
    def value_range(self) -> tuple[float, float]:
        """Least and greatest value that it can have."""
        ends: tuple[float, float] = getattr(self.metric, "value_range", Metric.value_range)
        return ends

    @property
    def whole(self) -> Data:
        """The data whose units are drawn."""
        return self.data if self.subset is None else self.subset.whole

    def prepare(self) -> None:
        """Find the sums of the metric, of which replicates are computed."""
        if isinstance(self.metric, Statistic):
            begin(self.data)
            if self.data.refit is not None:  # so that scores of replicates are others
                return
            sums = self.metric.sums(self.data)
            if sums is not None and sums.are_reweightable:
                self.sums = sums

    def value_under(self, draws: RowCounts, replicate: int, views: dict[Hashable, Any]) -> Any:
        """Return the value for given draw counts of the rows; nan if it is undefined.

        `views` are draws of rows, and data under these, which jobs share: what is computed once for
        several metrics of the same data is computed once here, too.
        """
        key = ByIdentity(self.data), self.subset, replicate
        try:
            if key not in views:
                drawn = key[1:]
                if drawn not in views:
                    views[drawn] = Reweighted(draws, replicate, self.subset)
                views[key] = mapped(self.data, views[drawn])
            view: Any = views[key]
            if isinstance(self.metric, Statistic):
                value: Any = self.metric.value_on(view)
            else:
                view.require_samples()  # two-way: possibly no trial with both speakers drawn
                value = self.metric(view)
        except ValueError:
            return np.full(self.shape, np.nan)[()]
        except Exception as error:
            raise ValueError(f"metric {self.name} fails on a replicate: {error!r}") from error
        return value if self.shape else as_number(self.name, value)


def as_number(name: str, value: object) -> float:
    """Return the value of a metric as a float; raise if it is not a number."""
    if np.ndim(value) == 0 and not isinstance(value, (str, bytes)):  # type: ignore[arg-type]
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass
    raise ValueError(f"metric {name} must return a number, not {type(value).__name__}")
