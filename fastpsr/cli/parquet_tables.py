"""Tables of scores in Parquet files, evaluated part by part where they are large."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastpsr.cli.inputs import parquet_files
from fastpsr.cli.measures import TableMeasure, drawn_of_table
from fastpsr.cli.score_files import (
    LABELS,
    WEIGHTS,
    find_clusters,
    find_column,
    known_column,
    score_columns,
)
from fastpsr.cli.show import console, steps, tell
from fastpsr.cli.tables import Outputs, print_evaluation, write_evaluation
from fastpsr.cli.wording import in_words
from fastpsr.evaluation import Intervals, evaluate_systems
from fastpsr.plans import PartitionedPredictions
from fastpsr.plans.budget import memory_budget
from fastpsr.plans.parquet import scan_parquet
from fastpsr.plans.watching import Progress, watched
from fastpsr.predictions import Predictions
from fastpsr.wording import counted

__all__ = ["TableInParts", "evaluate_parts", "table_in_parts", "usual_columns"]

_WORK_BYTES = 32  # approximate memory of an evaluation in memory, per number that is read
_ARGUMENTS = {
    "posteriors": "posteriors",
    "log-posteriors": "log_posteriors",
    "logits": "logits",
    "log-likelihoods": "log_likelihoods",
    "llr": "llrs",
    "log10-llr": "llrs",
    "raw": "raw_scores",
}
_OF_ONE_COLUMN = ("llr", "log10-llr", "raw")


@dataclass(frozen=True)
class TableInParts:
    """Parquet files of one table, and the interpretation of their columns."""

    path: Path
    files: tuple[str, ...]
    scores: tuple[str, ...]
    labels: str
    weights: str | None
    clusters: tuple[str, ...]

    @property
    def taken(self) -> str:
        """The interpretation of the columns, as text."""
        said = (
            f"scores: {', '.join(self.scores)}; labels: {self.labels}; "
            f"weights: {self.weights or 'none'}"
        )
        return f"{said}; clusters: {', '.join(self.clusters)}" if self.clusters else said

    def predictions(self, scores_are: str, priors: list[float] | None) -> PartitionedPredictions:
        """Return predictions in parts of scores that are posteriors, logits, LLRs, ..."""
        options: dict[str, Any] = {"priors": priors}
        if scores_are in _OF_ONE_COLUMN:
            if len(self.scores) > 1:
                raise ValueError(
                    f"{self.path}: {scores_are} scores must be one column, not {len(self.scores)} "
                    f"({', '.join(self.scores)}); say which with --columns"
                )
            prior = None if priors is None else priors[1]
            options = {} if scores_are == "raw" else {"prior": prior}
        names = self.scores[0] if len(self.scores) == 1 else list(self.scores)
        options[_ARGUMENTS[scores_are]] = names
        data = scan_parquet(
            list(self.files), y_true=self.labels, sample_weight=self.weights, **options
        )
        return data.map(partial(_to_natural, **options)) if scores_are == "log10-llr" else data


def usual_columns(path: Path, columns: str | None, scores_are: str) -> str | None:
    """Return the requested columns; for LLRs in Parquet files by default `llr`, if it exists."""
    if columns is None and scores_are in _OF_ONE_COLUMN and "llr" in _names(parquet_files(path)):
        return "llr"
    return columns


def table_in_parts(
    path: Path,
    labels: str | None,
    scores: str | None,
    weights: str | None,
    clusters: str | None,
    *,
    always: bool = False,
) -> TableInParts | None:
    """Return a table that is read part by part, or None for a table that is read whole.

    Folders and patterns are read part by part, and so are files whose numbers would take more than
    a quarter of FASTPSR_MEMORY.
    """
    files = parquet_files(path)
    if not files:
        return None
    names = _names(files)
    drawn = find_clusters(path, names, clusters)
    label = find_column(path, names, labels, LABELS)
    weight = find_column(path, names, weights, WEIGHTS)
    chosen = score_columns(names, label, weight, *drawn)
    if scores is not None:
        chosen = [known_column(path, names, name) for name in scores.split(",")]
    n_columns = len(chosen) + 1 + (weight is not None)
    is_large = _n_rows(files) * n_columns * _WORK_BYTES > memory_budget()
    if not (always or is_large or files != [str(path)]):
        return None
    if label is None:
        raise ValueError(f"{path} has no labels: say where they are with --labels")
    if not chosen:
        raise ValueError(f"{path} must have a column of scores besides {', '.join(names)}")
    return TableInParts(path, tuple(files), tuple(chosen), label, weight, drawn)


def evaluate_parts(
    table: TableInParts,
    measure: TableMeasure,
    intervals: Intervals | None,
    outputs: Outputs,
    report: Path | None,
    *,
    explain: bool,
) -> None:
    """Compute, print and write the table of files that are read part by part."""
    if report is not None:
        raise ValueError(
            f"--report draws all scores, and {table.path} is read part by part: take a sample"
        )
    data = table.predictions(measure.scale, measure.priors)
    metrics = measure.metrics(data.n_classes)
    tell(f"{table.taken}; taken as {measure.scale}")
    n_files, n_parts = counted(len(table.files), "file"), counted(data.n_parts, "part")
    tell(f"{table.path}: {n_files}, read in {n_parts}")
    if explain:
        console.print(str(data.explain(metrics)))
        return
    drawn = None if intervals is None else drawn_of_table(intervals, table.clusters)
    with _rows_shown(data):
        evaluation = evaluate_systems({None: data}, metrics, intervals=drawn)
    evaluation = in_words(evaluation)
    print_evaluation(evaluation)
    write_evaluation(evaluation, measure.scale, outputs)


@contextmanager
def _rows_shown(data: PartitionedPredictions) -> Iterator[None]:
    """Show the number of rows that have been read."""
    n_rows = data.source.n_rows
    read, n_done = -1, 0
    with steps(None) as begin:

        def see(progress: Progress) -> None:
            nonlocal read, n_done
            if progress.read != read:
                read, n_done = progress.read, 0
            n_done += progress.n_rows
            begin(f"rows, read {read + 1}", n_done, None if progress.is_sample else n_rows)

        with watched(see):
            yield


def _to_natural(before: Predictions, llrs: str, prior: float | None) -> Predictions:
    """Convert LLRs from base 10 to natural logarithms."""
    return Predictions.from_llrs(
        before.y_true, np.log(10.0) * before.scores, prior=prior, sample_weight=before.sample_weight
    )


def _names(files: list[str]) -> list[str]:
    """Return the names of the columns; none if there are no Parquet files."""
    if not files:
        return []
    import polars

    try:
        return list(polars.read_parquet_schema(files[0]))
    except (polars.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{files[0]} must be a whole Parquet file: {reason}") from None


def _n_rows(files: list[str]) -> int:
    import polars

    return int(polars.scan_parquet(files, glob=False).select(polars.len()).collect().item())
