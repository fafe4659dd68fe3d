"""What the commands measure: of a table of scores with labels, and of a trial list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import Clusters, TwoWay
from fastpsr.calibration import CrossFit
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.options import (
    SCHEMES,
    SPEAKERS,
    CalibratorOptions,
    MeasureOptions,
    ScoresAre,
    TrialScale,
    check_folds,
    parse_priors,
    read_costs,
    table_scale,
    trial_scale,
)
from fastpsr.cli.score_files import ScoreFile
from fastpsr.cli.show import tell
from fastpsr.cli.trial_files import check_column, predictions_of
from fastpsr.cli.wording import in_options, worded
from fastpsr.costs import CostMatrix
from fastpsr.evaluation import (
    Evaluation,
    Grouping,
    Intervals,
    default_metrics,
    detection_metrics,
    evaluate_systems,
)
from fastpsr.metrics import Metric, MinDCF
from fastpsr.plans import run
from fastpsr.predictions import Kind, Predictions
from fastpsr.trials import TrialSet
from fastpsr.trials.coded import Coded

Metrics = dict[str, Metric[Any]]

__all__ = [
    "TableMeasure",
    "TrialMeasure",
    "drawn_of_table",
    "drawn_of_trials",
]


@dataclass(frozen=True, eq=False)
class TableMeasure:
    """What is measured of a table; `scale` says what its scores are.

    Folds that are given must fit the data; by default too few data leave a metric out.
    """

    scale: str
    priors: list[float] | None
    costs: CostMatrix | None
    detection: Sequence[MinDCF]
    calibrator: Calibrator
    folds: int
    folds_are_given: bool
    chosen: Callable[[Metrics], Metrics]

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
        return cls(
            scale,
            parse_priors(measures.priors, scale),
            read_costs(measures.costs),
            measures.detection(of_trials=False),
            loss.untrained(),
            loss.folds,
            folds_are_given,
            measures.chosen,
        )

    def predictions(self, data: ScoreFile) -> Predictions:
        """Return the labeled predictions that a file holds; print what was taken for what."""
        tell(f"{data.taken}; taken as {self.scale}")
        data.require_labels()
        predictions = data.predictions(self.scale, self.priors)
        if self.folds_are_given:
            check_folds(self.folds, predictions)
        return predictions

    def metrics(self, n_classes: int) -> dict[str, Metric[Any]]:
        """Return the metrics by name; of raw scores those that ranks allow."""
        self.calibrator.check_classes(n_classes)
        if self.costs is not None:
            self.costs.check_classes(n_classes)
        if self.detection and n_classes > 2:
            raise ValueError(f"--dcf needs a binary task, not {n_classes} classes")
        table = default_metrics(
            n_classes,
            _kind(self.scale),
            costs=self.costs,
            detection=self.detection,
            calibrator=self.calibrator,
            train=CrossFit(folds=self.folds),
        )
        return self.chosen(table)


@dataclass(frozen=True, eq=False)
class TrialMeasure:
    """What is measured of each system; `by` and `equalize` name columns of the key.

    Folds that are given must fit all trials together; a condition may have too few for a metric.
    """

    scale: TrialScale
    prior: float | None
    detection: Sequence[MinDCF]
    calibrator: Calibrator
    folds: int
    folds_are_given: bool
    by: str | None
    equalize: str | None
    chosen: Callable[[Metrics], Metrics]

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
        return cls(
            scale,
            None if priors is None else priors[1],
            measures.detection(of_trials=True),
            loss.untrained(),
            loss.folds,
            folds_are_given,
            by,
            measures.equalize,
            measures.chosen,
        )

    def evaluation(
        self,
        path: Path,
        made: TrialSet,
        groups: Any,
        intervals: Intervals | None,
        progress: Callable[[str, int, int], object],
    ) -> tuple[Evaluation, Predictions]:
        """Return the evaluation of a system: pooled, then by condition; and all its predictions.

        `groups` are the speakers, if these are known: they stay apart in folds.
        """
        weights = self.weights(made)
        by = None
        if self.by is not None:
            column = made.columns[check_column(made, "--by", self.by)]
            by = {self.by: _grouping(column)}
        predictions = self.predictions(path, made, weights)
        if self.folds_are_given:
            check_folds(self.folds, predictions, groups)
        metrics = self.metrics(groups)
        drawn = None if intervals is None else drawn_of_trials(intervals, made)
        if drawn is not None:
            try:
                run(lambda: drawn.resampling.units(predictions))
            except ValueError as error:
                raise ValueError(f"{path}: {in_options(error)}") from None

        def evaluate(predictions: Predictions, by: Any) -> Evaluation:
            return evaluate_systems(
                {str(path): predictions}, metrics, by=by, intervals=drawn,
                progress=lambda what, *amount: progress(f"{path}: {what}", *amount),
            )  # fmt: skip

        if by is None or weights is None:
            return evaluate(predictions, by), predictions
        # weights make conditions count alike in the pooled result, and nowhere else
        pooled, apart = (
            evaluate(predictions, None),
            evaluate(self.predictions(path, made, None), by),
        )
        rows = tuple(row for row in apart.rows if row.group is not None)
        both = Evaluation((*pooled.rows, *rows), (*pooled.groups, *apart.groups[1:]), drawn)
        return both, predictions

    def predictions(
        self, path: Path, made: TrialSet, weights: NDArray[np.float64] | None
    ) -> Predictions:
        """Return the predictions of trials."""
        return predictions_of(made, path, self.scale, prior=self.prior, weights=weights)

    def weights(self, made: TrialSet) -> NDArray[np.float64] | None:
        """Return what the trials weigh, None for all alike."""
        if self.equalize is None:
            return None
        names = [check_column(made, "--equalize", n) for n in self.equalize.split(",")]
        with worded(columns="--equalize"):
            return made.equalized_weights(names)

    def metrics(self, groups: Any) -> dict[str, Metric[Any]]:
        """Return the metrics by name; of raw scores those that ranks allow."""
        table = detection_metrics(
            _kind(self.scale),
            detection=self.detection,
            calibrator=self.calibrator,
            train=CrossFit(folds=self.folds, groups=groups),
        )
        return self.chosen(table)


def drawn_of_table(intervals: Intervals, data: ScoreFile) -> Intervals:
    """Return intervals that draw what was asked for."""
    if data.clusters is None:
        return intervals
    return replace(intervals, resampling=Clusters(data.clusters))


def drawn_of_trials(intervals: Intervals, made: TrialSet) -> Intervals:
    """Return intervals that draw what was asked for, of the trials or their columns."""
    name = intervals.drawn
    if name in SCHEMES:
        return intervals
    if name == SPEAKERS:
        return replace(intervals, resampling=TwoWay(*made.speakers))
    if name not in made.columns:
        known = ", ".join(made.columns) or "they have none"
        raise ValueError(
            f"--resample must be iid, stratified, speaker or a column of the files ({known}), "
            f"not {name!r}"
        )
    column = made.columns[name]
    ids = column.codes if isinstance(column, Coded) else column
    return replace(intervals, resampling=Clusters(ids))


def _kind(scale: str) -> Kind:
    if scale in ("llr", "log10-llr", "log-likelihoods"):
        return "likelihoods"
    return "raw scores" if scale == "raw" else "posteriors"


def _grouping(column: Any) -> Grouping:
    if isinstance(column, Coded):
        return Grouping(column.names.to_list(), column.codes)
    return Grouping.of("by", column, len(column))
