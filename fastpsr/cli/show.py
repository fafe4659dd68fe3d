"""What the commands print, and the files they write beside it."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from fastpsr.evaluate import Evaluation
from fastpsr.files import whole_file

__all__ = ["console", "errors", "json_number", "print_evaluation", "steps", "write_evaluation"]

console = Console(highlight=False, markup=False, emoji=False)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False)


@contextmanager
def steps(total: int | None) -> Iterator[Any]:
    """Show a bar of `total` steps, if that is known; call what is given as each step begins."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=errors, transient=True,
                  disable=not errors.is_terminal) as bar:  # fmt: skip
        task = bar.add_task("", total=total)
        begun = 0

        def begin(name: str) -> None:
            nonlocal begun
            bar.update(task, description=name, completed=begun)
            begun += 1

        yield begin


def print_evaluation(evaluation: Evaluation) -> None:
    """Print an evaluation as a table."""
    console.print(evaluation.headline)
    table = Table(box=None, pad_edge=False)
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column("meaning")
    for row in evaluation.rows:
        table.add_row(row.metric, f"{row.value:.4f}", row.note)
    console.print(table)


def write_evaluation(evaluation: Evaluation, to_json: Path | None, to_csv: Path | None) -> None:
    """Write an evaluation to files, each whole or not at all."""
    if to_json is not None:
        content = evaluation.to_dict()
        for row in content["rows"]:
            row["value"] = json_number(row["value"])
        with whole_file(to_json) as part:
            part.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", "utf-8")
    if to_csv is not None:
        import polars

        with whole_file(to_csv) as part:
            polars.DataFrame(evaluation.to_dict()["rows"]).write_csv(part)


def json_number(value: float) -> float | str | None:
    """Return what JSON can hold: null for nan, words for infinities."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)
