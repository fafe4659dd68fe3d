"""The difference of two systems on the same samples: a row per metric."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastpsr.bootstrap import BootstrapResult
from fastpsr.bootstrap.bootstrap import check_same_samples, with_differences
from fastpsr.bootstrap.replicates import AnyMetric, Job
from fastpsr.bootstrap.settings import Intervals
from fastpsr.evaluation.table import Evaluation, Row
from fastpsr.plans import Data, Plan, run

__all__ = ["Difference", "differences"]


@dataclass(frozen=True, eq=False)
class Difference:
    """A metric of two systems, and its difference with a confidence interval.

    Attributes
    ----------
    a, b : Row
        The metric of each system.
    result : BootstrapResult or None
        For the value of `a` minus that of `b`; None if one of them is undefined, or both are
        infinite.
    """

    a: Row
    b: Row
    result: BootstrapResult | None

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.a.metric

    @property
    def value(self) -> float:
        """The value of `a` minus that of `b`."""
        return self.a.value - self.b.value

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval excludes zero; None if there is no interval."""
        if self.result is None or math.isnan(self.result.interval.low):
            return None
        low, high = self.result.interval
        return low > 0.0 or high < 0.0

    @property
    def note(self) -> str:
        """Description of the metric, or the reason why a value is not finite."""
        reasons: dict[str, str] = {}
        for side, row in (("A", self.a), ("B", self.b)):
            if not math.isfinite(row.value):
                also = f"{reasons[row.note]} and {side}" if row.note in reasons else side
                reasons[row.note] = also
        return "; ".join(f"{who}: {why}" for why, who in reasons.items()) or self.a.note

    def to_dict(self) -> dict[str, Any]:
        """Return a dict of plain numbers and strings."""
        found = self.result
        return {
            "metric": self.metric,
            "a": self.a.value,
            "b": self.b.value,
            "difference": self.value,
            "low": None if found is None else found.interval.low,
            "high": None if found is None else found.interval.high,
            "bias": None if found is None else found.bias,
            "n_undefined": 0 if found is None else found.n_undefined,
            "excludes_zero": self.excludes_zero,
            "note": self.note,
        }


def differences(
    metrics: Mapping[str, AnyMetric],
    systems: tuple[Data, Data],
    evaluations: tuple[Evaluation, Evaluation],
    intervals: Intervals,
    progress: Callable[[int, int], object],
) -> list[Difference]:
    """Return the differences of two systems whose metrics were evaluated."""
    check_same_samples(*systems)
    pairs = list(zip(evaluations[0].rows, evaluations[1].rows, strict=True))
    comparable = [(a, b) for a, b in pairs if not math.isnan(a.value - b.value)]
    names = [a.metric for a, _ in comparable]
    jobs = [Job(metrics[name], system) for name in names for system in systems]

    def prepare() -> Plan[Any]:
        return (yield [job.prepare() for job in jobs])

    found: dict[str, BootstrapResult] = {}
    if jobs:
        run(prepare)
        values = [row.value for pair in comparable for row in pair]
        labels = [f"{name}, a - b" for name in names]
        results = with_differences(labels, jobs, values, intervals, progress)
        found = dict(zip(names, results, strict=True))
    return [Difference(a, b, found.get(a.metric)) for a, b in pairs]
