"""The difference of two systems on the same samples, or of two groups of samples of a system."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from fastpsr.bootstrap import BootstrapResult
from fastpsr.errors import ArgumentError
from fastpsr.evaluation.layout import POOLED
from fastpsr.evaluation.table import Row

#: Which systems are compared: the first with each other, or all pairs.
Pairs = Literal["first", "all"]
#: Which groups are compared: each with all samples, or all pairs.
GroupPairs = Literal["pooled", "all"]

_ROUNDING = 1e-9  # of the values: what the order of sums and the end of a search may change


@dataclass(frozen=True, eq=False)
class Difference:
    """A metric of two systems on the same samples, or of two groups, and the difference.

    Attributes
    ----------
    a, b : Row
        The metric of each system, for the same group of samples; or of each group, for the same
        system.
    result : BootstrapResult or None
        For the value of `a` minus that of `b`; None if no interval was requested, one of the values
        is undefined, or both are infinite. Its `confidence_level` is that of the interval alone.
        Where the interval is not computed from replicates, it has none: its `standard_error` is
        that of the interval, and its `bias` nan.
    n_simultaneous : int
        Number of differences of groups whose intervals are simultaneous: they hold jointly at the
        level of the evaluation. 1 if the interval holds alone.
    """

    a: Row
    b: Row
    result: BootstrapResult | None = None
    n_simultaneous: int = 1

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.a.metric

    @property
    def name(self) -> str:
        """Names of both systems, or of both groups, "a - b"."""
        return " - ".join(self._sides)

    @property
    def group(self) -> str | None:
        """Group of samples of two systems; None for all samples, and for two groups."""
        return None if self.is_of_groups else self.a.group

    @property
    def is_of_groups(self) -> bool:
        """Whether these are two groups of a system, not two systems."""
        return self.a.group != self.b.group

    @property
    def place(self) -> str:
        """What both have in common: the group of two systems, or the system of two groups."""
        return self.a.system or "" if self.is_of_groups else self.a.group or POOLED

    @property
    def _sides(self) -> list[str]:
        rows = (self.a, self.b)
        return [(r.group or POOLED if self.is_of_groups else r.system or "") for r in rows]

    @property
    def value(self) -> float:
        """The value of `a` minus that of `b`, in the unit of the metric."""
        return self.a.value - self.b.value

    @property
    def low(self) -> float | None:
        """Lower end of the interval; None if there is none."""
        return None if self.result is None else self.result.interval.low

    @property
    def high(self) -> float | None:
        """Upper end of the interval; None if there is none."""
        return None if self.result is None else self.result.interval.high

    @property
    def is_equal(self) -> bool:
        """Whether difference and interval are 0, except for rounding: 1e-9 of the values."""
        most = _ROUNDING * max(abs(self.a.value), abs(self.b.value))
        ends = [end for end in (self.low, self.high) if end is not None and not math.isnan(end)]
        return math.isfinite(most) and all(abs(each) <= most for each in (self.value, *ends))

    @property
    def excludes_zero(self) -> bool | None:
        """Whether the interval excludes 0 by more than rounding; None if there is no interval."""
        if self.low is None or self.high is None or math.isnan(self.low):
            return None
        return not self.is_equal and (self.low > 0.0 or self.high < 0.0)

    @property
    def note(self) -> str:
        """Description of the metric, or the reason why a value is not finite."""
        reasons: dict[str, str] = {}
        for row, side in zip((self.a, self.b), self._sides, strict=True):
            if not math.isfinite(row.value):
                others = f"{reasons[row.note]} and " if row.note in reasons else ""
                reasons[row.note] = f"{others}{side}"
        return "; ".join(f"{who}: {why}" for why, who in reasons.items()) or self.a.note

    def with_rows(self, change: Callable[[Row], Row]) -> "Difference":
        """Return the difference with rows that a function returns for these."""
        return replace(self, a=change(self.a), b=change(self.b))

    def to_dict(self) -> dict[str, Any]:
        """Return a dict of plain numbers and strings; `a` and `b` are the values."""
        found = self.result
        return {
            "system_a": self.a.system,
            "system_b": self.b.system,
            "group_a": self.a.group,
            "group_b": self.b.group,
            "metric": self.metric,
            "a": self.a.value,
            "b": self.b.value,
            "difference": self.value,
            "low": self.low,
            "high": self.high,
            "n_undefined": 0 if found is None else found.n_undefined,
            "n_simultaneous": self.n_simultaneous,
            "method": None if found is None else found.method,
            "equal": self.is_equal,
            "excludes_zero": self.excludes_zero,
            "note": self.note,
            "unit": self.a.unit,
        }


def pairs_of(n_systems: int, pairs: Pairs) -> Sequence[tuple[int, int]]:
    """Return the numbers of the systems of each pair, in the order of the systems.

    Examples
    --------
    >>> pairs_of(3, "first"), pairs_of(3, "all")
    ([(0, 1), (0, 2)], [(0, 1), (0, 2), (1, 2)])
    """
    if n_systems < 2:
        raise ArgumentError("differences", "need a dict of two systems or more")
    found = list(combinations(range(n_systems), 2))
    return found if pairs == "all" else found[: n_systems - 1]


def group_pairs_of(groupings: Sequence[str | None], pairs: GroupPairs) -> Sequence[tuple[int, int]]:
    """Return the numbers of the groups of each pair, given the grouping of each, None for all.

    Examples
    --------
    >>> groupings = [None, "gender", "gender", "room", "room"]
    >>> group_pairs_of(groupings, "pooled"), group_pairs_of(groupings, "all")
    ([(1, 0), (2, 0), (3, 0), (4, 0)], [(1, 2), (3, 4)])
    """
    places = range(len(groupings))
    found = [
        (a, b)
        for a, b in combinations(places, 2)
        if groupings[a] is not None and groupings[a] == groupings[b]
    ]
    if pairs == "pooled":
        found = [(a, b) for b in places for a in places if groupings[b] is None and a != b]
    if not found:
        rule = "need groups of samples" if pairs == "pooled" else "need two groups of a grouping"
        raise ArgumentError("group_differences", rule, pass_={"by": ...})
    return found
