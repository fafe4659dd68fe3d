"""Evaluate a table of scores with labels: a row per metric."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from fastpsr.calibration import CrossFit
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.dcf import OperatingPoints, detection_costs
from fastpsr.cli.score_files import ScoreFile
from fastpsr.cli.show import console, steps
from fastpsr.cli.tables import as_csv, as_json, as_latex, as_markdown, write_tables
from fastpsr.cli.wording import in_options
from fastpsr.costs import CostMatrix
from fastpsr.evaluate import AnyMetric, Evaluation, default_metrics, evaluate

__all__ = ["evaluate_table"]


def evaluate_table(
    data: ScoreFile,
    scale: str,
    *,
    priors: list[float] | None,
    costs: CostMatrix | None,
    dcfs: Sequence[OperatingPoints],
    calibrator: Calibrator,
    folds: int,
    outputs: Mapping[str, Path | None],
) -> None:
    """Compute, print and write the table of a file; `scale` says what its scores are."""
    console.print(f"{data.taken}; taken as {scale}")
    data.require_labels()
    predictions = data.predictions(scale, priors)
    n_classes, raw = predictions.n_classes, scale == "raw"
    calibrator.check_classes(n_classes)
    if costs is not None:
        costs.check_classes(n_classes)
    if dcfs and n_classes > 2:
        raise ValueError(f"--dcf needs a binary task, not {n_classes} classes")
    train = CrossFit(folds=folds)
    metrics: dict[str, AnyMetric] = {
        **default_metrics(n_classes, costs=costs, calibrator=calibrator, train=train, raw=raw),
        **detection_costs(dcfs, raw=raw),
    }
    with steps(len(metrics)) as begin:
        evaluation = evaluate(predictions, metrics, progress=begin)
    _print(evaluation)
    lines = [["metric", "value"], *([r.metric, f"{r.value:.4f}"] for r in evaluation.rows)]
    content = evaluation.to_dict()
    write_tables(
        outputs,
        {
            "--json": lambda: as_json(content),
            "--csv": lambda: as_csv(content["rows"]),
            "--markdown": lambda: as_markdown(lines, "lr"),
            "--latex": lambda: as_latex(lines, "lr"),
        },
    )


def _print(evaluation: Evaluation) -> None:
    console.print(evaluation.headline)
    table = Table(box=None, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning")
    for row in evaluation.rows:
        table.add_row(row.metric, f"{row.value:.4f}", in_options(row.note))
    console.print(table)
