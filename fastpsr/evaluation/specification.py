"""Specification of an evaluation: metrics, intervals, groups, differences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from fastpsr import checks
from fastpsr.bootstrap.settings import Intervals
from fastpsr.data import By, Kind
from fastpsr.data.groupings import Bins, columns_by_name
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import AnyMetric
from fastpsr.metrics.defaults import (
    NamedMetric,
    common_kind,
    default_metrics,
    metrics_named,
    named_metric,
)

#: Which systems are compared: the first with each other, or all pairs; of the same samples, or the
#: first with each other where test sets are independent.
Pairs = Literal["first", "all", "unpaired"]
#: Which groups are compared: each with all samples, or all pairs.
GroupPairs = Literal["pooled", "all"]

Metrics = NamedMetric | Mapping[str, NamedMetric] | Sequence[NamedMetric]


@dataclass(frozen=True, eq=False)
class Specification:
    """Specification of an evaluation, checked before any data are read.

    Attributes
    ----------
    metrics : metric, dict of name to metric, list of metrics, or None
        None for those that are usual for the kind of the scores.
    intervals : Intervals or None
    by, bins : optional
        Groups, as for :func:`fastpsr.evaluate`.
    differences : {"first", "all", "unpaired"} or None
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
        checks.check_choice("differences", self.differences, (None, *get_args(Pairs)))
        checks.check_choice("group_differences", self.group_differences, (None, "pooled", "all"))
        if self.differences == "unpaired" and self.group_differences is not None:
            rule = "must be left out where test sets of systems are independent"
            raise ArgumentError("group_differences", rule)

    @property
    def columns(self) -> dict[Any, Any]:
        """Ids of each grouping, or the name of its column, by the name of the grouping."""
        return {} if self.by is None else columns_by_name(self.by)


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
    words = "a metric, or a dict or a list of them"
    checks.check_instance("metrics", metrics, (Mapping, Sequence), words)
    if not metrics:
        raise ArgumentError("metrics", "must not be empty")
    named: dict[str, AnyMetric] = {}
    if isinstance(metrics, Mapping):
        for name, metric in metrics.items():
            if not isinstance(name, str):
                raise ArgumentError("metrics", f"must have names that are strings, not {name!r}")
            _, named[name] = named_metric(metric, n_classes, kind, **options)
        return named
    for metric in metrics:
        for name, of_name in metrics_named(metric, n_classes, kind, **options).items():
            if name in named:
                rule = f"must differ in name, but two are {name!r}"
                raise ArgumentError("metrics", rule, remedy="pass a dict of name to metric")
            named[name] = of_name
    return named
