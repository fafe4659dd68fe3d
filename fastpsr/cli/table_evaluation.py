"""Evaluate a table of scores with labels: a row per metric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table

from fastpsr.calibration import CrossFit
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.dcf import OperatingPoints, detection_costs
from fastpsr.cli.intervals import as_arguments, resampling_of_table
from fastpsr.cli.options import check_folds
from fastpsr.cli.reports import report_of_table
from fastpsr.cli.score_files import ScoreFile
from fastpsr.cli.show import console, heard, steps, tell
from fastpsr.cli.tables import as_csv, as_json, as_latex, as_markdown, write_tables
from fastpsr.cli.wording import in_options
from fastpsr.costs import CostMatrix
from fastpsr.evaluate import (
    AnyMetric,
    Evaluation,
    Intervals,
    default_metrics,
    evaluate,
    in_brackets,
)
from fastpsr.predictions import Predictions

__all__ = ["TableMeasure", "evaluate_table", "show_evaluation"]


@dataclass(frozen=True, eq=False)
class TableMeasure:
    """What is measured of a table; `scale` says what its scores are.

    Folds that are given must fit the data; by default too few data leave a metric out.
    """

    scale: str
    priors: list[float] | None
    costs: CostMatrix | None
    dcfs: Sequence[OperatingPoints]
    calibrator: Calibrator
    folds: int
    folds_are_given: bool

    def predictions(self, data: ScoreFile) -> Predictions:
        """Return the labeled predictions that a file holds; print what was taken for what."""
        tell(f"{data.taken}; taken as {self.scale}")
        data.require_labels()
        predictions = data.predictions(self.scale, self.priors)
        if self.folds_are_given:
            check_folds(self.folds, predictions)
        return predictions

    def metrics(self, n_classes: int) -> dict[str, AnyMetric]:
        """Return the metrics by name; of raw scores those that ranks allow."""
        raw = self.scale == "raw"
        self.calibrator.check_classes(n_classes)
        if self.costs is not None:
            self.costs.check_classes(n_classes)
        if self.dcfs and n_classes > 2:
            raise ValueError(f"--dcf needs a binary task, not {n_classes} classes")
        train = CrossFit(folds=self.folds)
        usual = default_metrics(
            n_classes, costs=self.costs, calibrator=self.calibrator, train=train, raw=raw
        )
        return {**usual, **detection_costs(self.dcfs, raw=raw)}


def evaluate_table(
    data: ScoreFile,
    measure: TableMeasure,
    intervals: Intervals | None,
    outputs: Mapping[str, Path | None],
    report: Path | None,
) -> None:
    """Compute, print and write the table of a file."""
    with heard() as read:
        predictions = measure.predictions(data)
    metrics = measure.metrics(predictions.n_classes)
    arguments = as_arguments(intervals, resampling_of_table(intervals, data))
    with heard() as warnings, steps(None) as begin:
        evaluation = evaluate(predictions, metrics, progress=begin, **arguments)
    evaluation = show_evaluation(evaluation, intervals, outputs)
    if report is not None:
        report_of_table(report, data.path, evaluation, predictions, [*read, *warnings])


def show_evaluation(
    evaluation: Evaluation, intervals: Intervals | None, outputs: Mapping[str, Path | None]
) -> Evaluation:
    """Print and write a table; return it in the command's words."""
    rows = tuple(replace(row, note=in_options(row.note)) for row in evaluation.rows)
    evaluation = replace(evaluation, rows=rows, intervals=intervals)  # in the command's words
    _print(evaluation)
    content = evaluation.to_dict()
    lines = [["metric", "value"], *([r.metric, f"{r.value:.4f}"] for r in evaluation.rows)]
    if intervals is not None:
        brackets = [in_brackets(row.low, row.high) for row in evaluation.rows]
        lines = [[*line, b] for line, b in zip(lines, ["interval", *brackets], strict=True)]
    alignment = "l" + "r" * (len(lines[0]) - 1)
    write_tables(
        outputs,
        {
            "--json": lambda: as_json(content),
            "--csv": lambda: as_csv(content["rows"]),
            "--markdown": lambda: as_markdown(lines, alignment),
            "--latex": lambda: as_latex(lines, alignment),
        },
    )
    return evaluation


def _print(evaluation: Evaluation) -> None:
    console.print(evaluation.headline)
    table = Table(box=None, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    if evaluation.intervals is not None:
        console.print(str(evaluation.intervals))
        table.add_column("interval", no_wrap=True)
    table.add_column("meaning")
    for row in evaluation.rows:
        interval = [] if evaluation.intervals is None else [in_brackets(row.low, row.high)]
        table.add_row(row.metric, f"{row.value:.4f}", *interval, row.note)
    console.print(table)
