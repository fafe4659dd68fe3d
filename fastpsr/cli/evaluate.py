"""`fastpsr evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.scores import Scores


@in_groups
def evaluate(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="A table of scores with labels: .npz, .npy, .csv or .parquet, a folder of Parquet "
            "files, or a pattern of Parquet files in quotes. After --scores: score files of "
            "further systems.",
        ),
    ] = None,
    scores: Scores = None,
    options: EvaluationOptions = EvaluationOptions(),  # noqa: B008
) -> None:
    """Evaluate a table of scores with labels, or systems on a trial list (--key and --scores)."""
    from fastpsr.cli.evaluation import evaluate_systems

    systems, keys = [*(scores or []), *(files or [])], options.keys
    of_trials = bool(keys.files) or scores is not None
    evaluate_systems(
        context,
        options,
        keys.systems(systems) if of_trials else dict.fromkeys(systems),
        of_trials=of_trials,
        has_scores=bool(systems),
    )
