"""Metrics of the commands, for a table of scores with labels and for a trial list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
    """Settings of the metrics of a table; `scale` is the kind of its scores.

    A given number of folds must be possible for the data; with the default number, a metric is
    reported as missing if there are too few samples.
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
        """Return the labeled predictions of a file; print how its columns were interpreted."""
        tell(f"{data.taken}; taken as {self.scale}")
        data.require_labels()
        predictions = data.predictions(self.scale, self.priors)
        if self.folds_are_given:
            check_folds(self.folds, predictions)
        return predictions

    def metrics(self, n_classes: int) -> dict[str, Metric[Any]]:
        """Return the metrics by name; for raw scores only metrics of ranks."""
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
    """Settings of the metrics of each system; `by` and `equalize` name columns of the key.

    A given number of folds must be possible for all trials together; a condition may have too few
    trials for a metric.
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

        `groups` are the speakers, if known, which cross-fitting keeps apart.
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

        def evaluate(predictions: Predictions, by: Any, *, with_all: bool = True) -> Evaluation:
            return evaluate_systems(
                {str(path): predictions}, metrics, by=by, intervals=drawn, with_all=with_all,
                progress=lambda what, *amount: progress(f"{path}: {what}", *amount),
            )  # fmt: skip

        if by is None or weights is None:
            return evaluate(predictions, by), predictions
        # weights make conditions count alike in the pooled result, and nowhere else
        alike = self.predictions(path, made, None)
        both = [evaluate(predictions, None), evaluate(alike, by, with_all=False)]
        return Evaluation.joined(both), predictions

    def predictions(
        self, path: Path, made: TrialSet, weights: NDArray[np.float64] | None
    ) -> Predictions:
        """Return the predictions of trials."""
        return predictions_of(made, path, self.scale, prior=self.prior, weights=weights)

    def weights(self, made: TrialSet) -> NDArray[np.float64] | None:
        """Return the weights of the trials, None if all are equal."""
        if self.equalize is None:
            return None
        names = [check_column(made, "--equalize", n) for n in self.equalize.split(",")]
        with worded(columns="--equalize"):
            return made.equalized_weights(names)

    def metrics(self, groups: Any) -> dict[str, Metric[Any]]:
        """Return the metrics by name; for raw scores only metrics of ranks."""
        table = detection_metrics(
            _kind(self.scale),
            detection=self.detection,
            calibrator=self.calibrator,
            train=CrossFit(folds=self.folds, groups=groups),
        )
        return self.chosen(table)


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


def _kind(scale: str) -> Kind:
    if scale in ("llr", "log10-llr", "log-likelihoods"):
        return "likelihoods"
    return "raw scores" if scale == "raw" else "posteriors"


def _grouping(column: Any) -> Grouping:
    if isinstance(column, Coded):
        return Grouping(column.names.to_list(), column.codes)
    return Grouping.of("by", column, len(column))
