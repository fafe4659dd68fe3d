"""Metrics that the options ask for, of a table of scores with labels and of a trial list."""

from collections.abc import Sequence
from typing import Any

from fastpsr.calibration import CrossFit
from fastpsr.cli.options.measures import CalibratorOptions, MeasureOptions
from fastpsr.cli.options.scores import OF_POSTERIORS, kind_of
from fastpsr.evaluation import default_metrics, detection_metrics
from fastpsr.metrics import Metric, MinDCF
from fastpsr.predictions import KINDS

__all__ = ["check_names", "metrics_of_table", "metrics_of_trials", "shared"]

Metrics = dict[str, Metric[Any]]


def metrics_of_table(
    measures: MeasureOptions, loss: CalibratorOptions, scale: str, n_classes: int
) -> Metrics:
    """Return the metrics by name; for raw scores only metrics of ranks."""
    loss.untrained(has_floor=scale in OF_POSTERIORS).check_classes(n_classes)
    if measures.cost_matrix is not None:
        measures.cost_matrix.check_classes(n_classes)
    if measures.dcf and n_classes > 2:
        raise ValueError(f"--dcf needs a binary task, not {n_classes} classes")
    return measures.chosen(*_of_table(measures, loss, scale, n_classes))


def metrics_of_trials(
    measures: MeasureOptions, loss: CalibratorOptions, scale: str, *, has_spoof: bool
) -> Metrics:
    """Return the metrics by name; for raw scores only metrics of ranks."""
    return measures.chosen(*_of_trials(measures, loss, scale, has_spoof=has_spoof))


def check_names(
    measures: MeasureOptions, loss: CalibratorOptions, scale: str, *, of_trials: bool
) -> None:
    """Raise, before anything is read, where --metrics names none of all possible metrics."""
    if of_trials:
        names, others = _of_trials(measures, loss, scale, has_spoof=True)
        if not measures.adcf:  # which is for lists with spoofed trials alone
            names = _of_trials(measures, loss, scale, has_spoof=False)[0] | names
        measures.check_names(names | others)
        return
    (two, others), (three, _) = (_of_table(measures, loss, scale, n) for n in (2, 3))
    measures.check_names(two | three | others)


def shared(tables: Sequence[Metrics]) -> Metrics:
    """Return the metrics that all tables have."""
    first, *others = tables
    return {name: first[name] for name in first if all(name in other for other in others)}


def _of_table(
    measures: MeasureOptions, loss: CalibratorOptions, scale: str, n_classes: int
) -> tuple[Metrics, Metrics]:
    """Return the metrics of a table, and those that it has only where they are asked for."""
    kind, costs = KINDS[kind_of(scale)], measures.detection(of_trials=False)
    options = _options(measures, loss, has_floor=scale in OF_POSTERIORS)
    table = default_metrics(n_classes, kind, costs=measures.cost_matrix, detection=costs, **options)
    if n_classes > 2:
        return table, {}
    return table, detection_metrics(kind, detection=costs or [MinDCF(0.01)], **options)


def _of_trials(
    measures: MeasureOptions, loss: CalibratorOptions, scale: str, *, has_spoof: bool
) -> tuple[Metrics, Metrics]:
    """Return the metrics of trials, and those that they have only where they are asked for."""
    kind = KINDS[kind_of(scale)]
    table = detection_metrics(
        kind,
        detection=measures.detection(of_trials=True),
        spoofing=measures.spoofing(has_spoof=has_spoof),
        **_options(measures, loss),
    )
    return table, default_metrics(2, kind, eer=measures.equal_rates)


def _options(
    measures: MeasureOptions, loss: CalibratorOptions, *, has_floor: bool = False
) -> dict[str, Any]:
    return {
        "eer": measures.equal_rates,
        "calibrator": loss.untrained(has_floor=has_floor),
        "train": CrossFit(folds=loss.folds),
    }
