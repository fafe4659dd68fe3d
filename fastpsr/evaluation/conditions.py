"""Evaluation by condition, where conditions have other weights or metrics than all samples."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import Resampling
from fastpsr.calibration import CrossFit
from fastpsr.counts.groups import groups_of
from fastpsr.data import Bins, By, Data, Predictions, SharedTargets
from fastpsr.data.groupings import columns_by_name
from fastpsr.errors import ArgumentError
from fastpsr.evaluation.evaluate import evaluate_systems
from fastpsr.evaluation.specification import Specification
from fastpsr.evaluation.table import Evaluation
from fastpsr.evaluation.task import Progress
from fastpsr.metrics import ActADCF, CalibrationLoss, MinADCF
from fastpsr.metrics.base import AnyMetric


def evaluate_conditions(
    systems: Mapping[Any, Data],
    specification: Specification,
    progress: Progress | None = None,
    *,
    unweighted: Mapping[Any, Data] | None = None,
    always_named: bool = False,
) -> Evaluation:
    """Compute a table of metrics of systems on the same samples, as `evaluate_systems` does.

    Where conditions share the targets, a-DCF, which needs all kinds of trials, is computed of all
    trials alone. Conditions are of the `unweighted` samples, where there are some: weights that
    make conditions count alike in the whole have no meaning within them.
    """
    (name, first), *_ = systems.items()
    if specification.intervals is not None and isinstance(first, Predictions):
        _check_units(specification.intervals.resampling, name if always_named else None, first)
    metrics, by, of_all = specification.metrics, specification.by, frozenset[str]()
    assert isinstance(metrics, Mapping)
    if any(isinstance(column, SharedTargets) for column in columns_by_name(by or []).values()):
        costs = (MinADCF, ActADCF)
        of_all = frozenset(name for name, metric in metrics.items() if isinstance(metric, costs))
    if specification.group_differences == "pooled" and (of_all or unweighted is not None):
        why = "spoofed trials, where conditions have other metrics"
        if unweighted is not None:
            why = "equalize=..., where conditions have other weights"
        raise ArgumentError(
            "group_differences", f"must not be pooled with {why} than all trials: use all"
        )
    return evaluate_systems(
        systems, specification, progress,
        unweighted=unweighted, of_all=of_all, always_named=always_named,
    )  # fmt: skip


def sharing_targets(
    data: Predictions, by: By, bins: Bins | None, is_spoof: NDArray[np.bool_]
) -> dict[Any, Any]:
    """Return conditions; the values of a column share all targets if a value needs them.

    A value needs them if it has spoofed trials and no targets.
    """
    columns = columns_by_name(by)
    is_target = data.labels == 1
    for name, column in columns.items():
        names = [name] if isinstance(name, str) else name
        own = {k: v for k, v in bins.items() if k in names} if isinstance(bins, Mapping) else bins
        rows = [np.asarray(group.rows) for group in groups_of(data, {name: column}, own or None)]
        if any(is_spoof[each].any() and not is_target[each].any() for each in rows):
            columns[name] = SharedTargets(column)
    return columns


def kept_apart(metrics: Mapping[str, AnyMetric], columns: tuple[str, str]) -> dict[str, AnyMetric]:
    """Return metrics whose cross-fitting keeps the ids of two columns apart, by default."""
    kept = dict(metrics)
    for name, metric in metrics.items():
        if not (isinstance(metric, CalibrationLoss) and isinstance(metric.train, CrossFit)):
            continue
        if metric.train.groups is None and isinstance(metric.train.folds, int):
            kept[name] = replace(metric, train=replace(metric.train, groups=columns))
    return kept


def _check_units(resampling: Resampling, name: Any, predictions: Predictions) -> None:
    """Raise if there are too few units to draw."""
    try:
        resampling.units(predictions)
    except ArgumentError as error:
        place = error.name or error.argument
        raise error.renamed(place if name is None else f"{name}: {place}") from None
