"""Conditions of trials: which share the targets, and folds that keep speakers apart."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration import CrossFit
from fastpsr.counts.groups import groups_of
from fastpsr.data import Bins, By, Predictions, SharedTargets
from fastpsr.data.groupings import columns_by_name
from fastpsr.metrics import CalibrationLoss
from fastpsr.metrics.base import AnyMetric


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
