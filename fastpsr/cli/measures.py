"""Metrics of the commands, for a table of scores with labels and for a trial list."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import TwoWay
from fastpsr.calibration import CrossFit
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.options import (
    BY_WHAT_IS_KNOWN,
    NESTED,
    SCHEMES,
    SPEAKERS,
    CalibratorOptions,
    MeasureOptions,
    ScoresAre,
    TrialScale,
    check_folds,
    check_speakers_are_drawn,
    drawn_in_clusters,
    kind_of,
    parse_priors,
    read_costs,
    table_scale,
    trial_scale,
)
from fastpsr.cli.show import tell, tell_once
from fastpsr.cli.spoofing import grouped_by, spoofed_trials
from fastpsr.cli.trial_files import check_column, predictions_of
from fastpsr.cli.wording import in_options, worded
from fastpsr.costs import CostMatrix
from fastpsr.evaluation import (
    Evaluation,
    GroupPairs,
    Intervals,
    Pairs,
    SharedTargets,
    default_metrics,
    detection_metrics,
    evaluate_systems,
    groups_of,
)
from fastpsr.metrics import EER, ActADCF, Metric, MinADCF, MinDCF
from fastpsr.plans import run
from fastpsr.predictions import KINDS, Predictions
from fastpsr.tables import Table
from fastpsr.trials import TrialSet
from fastpsr.trials.coded import Coded

Metrics = dict[str, Metric[Any]]

_MOST_COSTS = 36  # that are listed one by one

__all__ = [
    "TableMeasure",
    "TrialMeasure",
    "drawn_of_table",
    "drawn_of_trials",
    "evaluate_trials",
    "shared",
]


@dataclass(frozen=True, eq=False)
class TableMeasure:
    """Settings of the metrics of a table; `scale` is the kind of its scores.

    A given number of folds must be possible for the data; with the default number, a metric is
    reported as missing if there are too few samples.
    """

    scale: str
    priors: list[float] | None
    costs: CostMatrix | None
    eer: EER
    detection: Sequence[MinDCF]
    calibrator: Calibrator
    folds: int
    folds_are_given: bool
    chosen: Callable[[Metrics, Metrics], Metrics]

    @classmethod
    def of(
        cls,
        scores_are: ScoresAre | None,
        measures: MeasureOptions,
        loss: CalibratorOptions,
        *,
        folds_are_given: bool,
    ) -> "TableMeasure":
        """Return what the options ask for."""
        scale = table_scale(scores_are)
        made = cls(
            scale,
            parse_priors(measures.priors, scale),
            read_costs(measures.costs),
            measures.equal_rates,
            measures.detection(of_trials=False),
            loss.untrained(),
            loss.folds,
            folds_are_given,
            measures.chosen,
        )
        measures.check_names(made._table(2) | made._table(3) | made._others(2))
        return made

    def predictions(self, table: Table) -> Predictions:
        """Return the labeled predictions of a file; print how its columns were interpreted."""
        tell(f"{table.notes}; taken as {self.scale}")
        table.require_labels()
        predictions = cast(Predictions, table.predictions(self.priors))
        if self.folds_are_given:
            check_folds(self.folds, predictions)
        return predictions

    def metrics(self, n_classes: int) -> dict[str, Metric[Any]]:
        """Return the metrics by name; for raw scores only metrics of ranks."""
        self.calibrator.check_classes(n_classes)
        if self.costs is not None:
            self.costs.check_classes(n_classes)
            tell_once(f"--costs: {_listed(self.costs)}")
        if self.detection and n_classes > 2:
            raise ValueError(f"--dcf needs a binary task, not {n_classes} classes")
        return self.chosen(self._table(n_classes), self._others(n_classes))

    def _others(self, n_classes: int) -> Metrics:
        """Return the metrics that a table has only where they are asked for by name."""
        if n_classes > 2:
            return {}
        return detection_metrics(
            KINDS[kind_of(self.scale)],
            eer=self.eer,
            detection=self.detection or [MinDCF(0.01)],
            calibrator=self.calibrator,
            train=CrossFit(folds=self.folds),
        )

    def _table(self, n_classes: int) -> Metrics:
        return default_metrics(
            n_classes,
            KINDS[kind_of(self.scale)],
            costs=self.costs,
            eer=self.eer,
            detection=self.detection,
            calibrator=self.calibrator,
            train=CrossFit(folds=self.folds),
        )


@dataclass(frozen=True, eq=False)
class TrialMeasure:
    """Settings of the metrics of each system; `by` and `equalize` name columns of the key.

    A given number of folds must be possible for all trials together; a condition may have too few
    trials for a metric.
    """

    scale: TrialScale
    prior: float | None
    eer: EER
    detection: Sequence[MinDCF]
    spoofing: Callable[[Any], Sequence[MinADCF]]
    calibrator: Calibrator
    folds: int
    folds_are_given: bool
    by: str | None
    equalize: str | None
    chosen: Callable[[Metrics, Metrics], Metrics]

    @classmethod
    def of(
        cls,
        scores_are: ScoresAre | None,
        measures: MeasureOptions,
        loss: CalibratorOptions,
        *,
        by: str | None,
        folds_are_given: bool,
    ) -> "TrialMeasure":
        """Return what the options ask for."""
        scale = trial_scale(scores_are)
        priors = parse_priors(measures.priors, scale, of_trials=True)
        made = cls(
            scale,
            None if priors is None else priors[1],
            measures.equal_rates,
            measures.detection(of_trials=True),
            measures.spoofing,
            loss.untrained(),
            loss.folds,
            folds_are_given,
            by,
            measures.equalize,
            measures.chosen,
        )
        with_spoof = made._table(None, np.ones(1, bool))
        # --adcf is for lists with spoofed trials alone
        names = with_spoof if measures.adcf else made._table(None) | with_spoof
        measures.check_names(names | made._others())
        return made

    def weights(self, made: TrialSet) -> NDArray[np.float64] | None:
        """Return the weights of the trials, None if all are equal."""
        if self.equalize is None:
            return None
        names = [check_column(made, "--equalize", n) for n in self.equalize.split(",")]
        with worded(columns="--equalize"):
            return made.equalized_weights(names)

    def metrics(
        self, groups: Any, spoof: NDArray[np.bool_] | None = None
    ) -> dict[str, Metric[Any]]:
        """Return the metrics by name; for raw scores only metrics of ranks."""
        return self.chosen(self._table(groups, spoof), self._others())

    def _others(self) -> Metrics:
        """Return the metrics that trials have only where they are asked for by name."""
        return default_metrics(2, KINDS[kind_of(self.scale)], eer=self.eer)

    def _table(self, groups: Any, spoof: NDArray[np.bool_] | None = None) -> Metrics:
        return detection_metrics(
            KINDS[kind_of(self.scale)],
            eer=self.eer,
            detection=self.detection,
            spoofing=self.spoofing(spoof),
            calibrator=self.calibrator,
            train=CrossFit(folds=self.folds, groups=groups),
        )


def evaluate_trials(
    systems: Mapping[Path, TrialSet],
    measures: Mapping[Path, TrialMeasure],
    groups: Any,
    intervals: Intervals | None,
    progress: Callable[[str, int, int], object],
    differences: Pairs | None = None,
    group_differences: GroupPairs | None = None,
) -> tuple[Evaluation, dict[str, Predictions]]:
    """Return the evaluation of systems on the same trials, all trials before the conditions.

    `groups` are the speakers, if known, which cross-fitting keeps apart. Also returned are the
    predictions of all trials, by path.
    """
    (first, made), *_ = systems.items()
    measure = measures[first]
    weights = measure.weights(made)
    spoof = spoofed_trials(made)
    by = _groups(made, measure.by, spoof)
    predictions = _predictions(systems, measures, weights)
    if measure.folds_are_given:
        check_folds(measure.folds, predictions[str(first)], groups)
    metrics = shared([each.metrics(groups, spoof) for each in measures.values()])
    of_groups = metrics
    if by is not None and any(isinstance(each, SharedTargets) for each in by.values()):
        costs = (MinADCF, ActADCF)  # of all three kinds of trials
        of_groups = {k: each for k, each in metrics.items() if not isinstance(each, costs)}
    drawn = None if intervals is None else drawn_of_trials(intervals, made)
    if drawn is not None:
        try:
            run(lambda: drawn.resampling.units(predictions[str(first)]))
        except ValueError as error:
            raise ValueError(f"{first}: {in_options(error)}") from None

    def evaluate(
        predictions: dict[str, Predictions], metrics: Metrics, by: Any,
        group_differences: GroupPairs | None = None, *, with_all: bool = True,
    ) -> Evaluation:  # fmt: skip
        return evaluate_systems(
            predictions, metrics, by=by, intervals=drawn, differences=differences,
            group_differences=group_differences, progress=progress, with_all=with_all,
        )  # fmt: skip

    if by is None or (weights is None and of_groups == metrics):
        return evaluate(predictions, metrics, by, group_differences), predictions
    if group_differences == "pooled":
        why = "spoofed trials, where conditions have other metrics"
        why = why if weights is None else "--equalize, where conditions have other weights"
        raise ValueError(
            f"--group-differences must not be pooled with {why} than all trials: use all"
        )
    found = [evaluate(predictions, metrics, None)]
    if of_groups:
        # weights make conditions count alike in the pooled result, and nowhere else
        alike = predictions if weights is None else _predictions(systems, measures, None)
        found.append(evaluate(alike, of_groups, by, group_differences, with_all=False))
    return Evaluation.joined(found), predictions


def conditions_of(
    systems: Mapping[Path, TrialSet], measures: Mapping[Path, TrialMeasure]
) -> dict[str, dict[str, Predictions]]:
    """Return the predictions of each condition, all of whose trials count alike, by path."""
    by = {
        str(path): _groups(made, measures[path].by, spoofed_trials(made))
        for path, made in systems.items()
    }
    return {
        path: {one.name: cast(Predictions, one.data) for one in groups_of(each, by[path])}
        for path, each in _predictions(systems, measures, None).items()
    }


def _groups(made: TrialSet, by: str | None, spoof: NDArray[np.bool_] | None) -> Any:
    """Return the conditions of `--by`, or those of the kinds of trials, None without."""
    if by is not None:
        check_column(made, "--by", by)
    return grouped_by(made, by, spoof)


def _predictions(
    systems: Mapping[Path, TrialSet],
    measures: Mapping[Path, TrialMeasure],
    weights: NDArray[np.float64] | None,
) -> dict[str, Predictions]:
    """Return the predictions of trials, by path."""
    return {
        str(path): predictions_of(
            made, path, measures[path].scale, prior=measures[path].prior, weights=weights
        )
        for path, made in systems.items()
    }


def shared(tables: Sequence[Metrics]) -> Metrics:
    """Return the metrics that all tables have."""
    first, *others = tables
    return {name: first[name] for name in first if all(name in other for other in others)}


def drawn_of_table(intervals: Intervals, clusters: tuple[Any, ...]) -> Intervals:
    """Return intervals that draw what was asked for, of a table with these ids or columns."""
    if len(clusters) == 2 and intervals.drawn.startswith(NESTED):
        raise ValueError(
            f"--resample {intervals.drawn} must name one column of cluster ids, not the speakers "
            "of both sides: rename the column, or use --resample speaker"
        )
    if len(clusters) == 2:
        check_speakers_are_drawn(intervals)
        return replace(intervals, drawn=SPEAKERS, resampling=TwoWay(*clusters))
    if clusters:
        return drawn_in_clusters(intervals, *clusters)
    if intervals.drawn == BY_WHAT_IS_KNOWN:
        return replace(intervals, drawn="iid")
    return intervals


def drawn_of_trials(intervals: Intervals, made: TrialSet) -> Intervals:
    """Return settings of intervals with the requested resampling of trials."""
    name = intervals.drawn
    if name in SCHEMES:
        return intervals
    if name == SPEAKERS:
        return replace(intervals, resampling=TwoWay(*made.speakers))
    name = name.removeprefix(NESTED)
    if name not in made.columns:
        known = ", ".join(made.columns) or "they have none"
        raise ValueError(
            f"--resample must be iid, stratified, speaker or a column of the files ({known}), "
            f"not {name!r}"
        )
    column = made.columns[name]
    ids = column.codes if isinstance(column, Coded) else column
    return drawn_in_clusters(intervals, ids)


def _listed(costs: CostMatrix) -> str:
    """Return the costs as text, of a large matrix the shape and the range."""
    values = costs.values
    if values.size > _MOST_COSTS:
        shape = f"{costs.n_classes:,} classes, {costs.n_decisions:,} decisions"
        return f"{shape}, costs from {values.min():g} to {values.max():g}"
    rows = "; ".join(", ".join(f"{cost:g}" for cost in row) for row in values)
    return f"a row for each true class, a column for each decision: {rows}"
