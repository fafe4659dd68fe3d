"""What is computed of systems: metrics, intervals, groups, differences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from fastpsr import checks
from fastpsr.bootstrap.settings import Intervals
from fastpsr.data import By, Kind
from fastpsr.data.groupings import Bins
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import AnyMetric
from fastpsr.metrics.defaults import (
    NamedMetric,
    common_kind,
    default_metrics,
    metrics_named,
    named_metric,
)

#: Which systems are compared: the first with each other, or all pairs.
Pairs = Literal["first", "all"]
#: Which groups are compared: each with all samples, or all pairs.
GroupPairs = Literal["pooled", "all"]

Metrics = NamedMetric | Mapping[str, NamedMetric] | Sequence[NamedMetric]


@dataclass(frozen=True, eq=False)
class Specification:
    """What is computed of systems, checked before any data are read.

    Attributes
    ----------
    metrics : metric, dict of name to metric, list of metrics, or None
        None for those that are usual for the kind of the scores.
    intervals : Intervals or None
    by, bins : optional
        Groups, as for :func:`fastpsr.evaluate`.
    differences : {"first", "all"} or None
        Of systems.
    group_differences : {"pooled", "all"} or None
    """

    metrics: Metrics | None = None
    intervals: Intervals | None = None
    by: By | None = None
    bins: Bins | None = None
    differences: Pairs | None = None
    group_differences: GroupPairs | None = None

    def __post_init__(self) -> None:
        checks.check_choice("differences", self.differences, (None, "first", "all"))
        checks.check_choice("group_differences", self.group_differences, (None, "pooled", "all"))


def named_metrics(
    metrics: Metrics | None, n_classes: int, kinds: Iterable[Kind], **options: Any
) -> Mapping[str, AnyMetric]:
    """Return metrics by name, for data of some kinds.

    `options` of default metrics are as for :func:`default_metrics`.
    """
    kind = common_kind(kinds)
    if metrics is None:
        return default_metrics(n_classes, kind, **options)
    if isinstance(metrics, str) or callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Mapping | Sequence):
        rule = f"must be a metric, or a dict or a list of them, not {metrics!r}"
        raise ArgumentError("metrics", rule)
    if not metrics:
        raise ArgumentError("metrics", "must not be empty")
    if isinstance(metrics, Mapping):
        for name in metrics:
            if not isinstance(name, str):
                raise ArgumentError("metrics", f"must have names that are strings, not {name!r}")
        return {
            name: named_metric(each, n_classes, kind, **options)[1]
            for name, each in metrics.items()
        }
    named: dict[str, AnyMetric] = {}
    for each in metrics:
        some = metrics_named(each, n_classes, kind, **options)
        for name in some:
            if name in named:
                remedy = "pass a dict of name to metric"
                raise ArgumentError(
                    "metrics", f"must differ in name, but two are {name!r}", None, remedy
                )
        named |= some
    return named


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
