"""Tables of scores in Parquet files, evaluated part by part where they are large."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from fastpsr.cli.measures import TableMeasure, drawn_of_table
from fastpsr.cli.show import console, steps, tell
from fastpsr.cli.tables import Outputs, print_evaluation, write_evaluation
from fastpsr.cli.wording import in_words
from fastpsr.evaluation import Intervals, evaluate_systems
from fastpsr.plans import PartitionedPredictions
from fastpsr.plans.watching import Progress, watched
from fastpsr.tables import Table
from fastpsr.wording import counted

__all__ = ["evaluate_parts"]


def evaluate_parts(
    table: Table,
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
    data = cast(PartitionedPredictions, table.predictions(measure.priors))
    metrics = measure.metrics(data.n_classes)
    tell(f"{table.notes}; taken as {measure.scale}")
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
