"""`fastpsr compare`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.options.evaluation import OptionsOfDifferences
from fastpsr.cli.options.files import named_files
from fastpsr.cli.options.scores import Scores


@in_groups
def compare(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Two systems or more, on the same samples: tables of scores with labels (.npz, "
            ".npy, .csv or .parquet); or score files that contain labels, with --key any, - for "
            "standard input. NAME=FILE names a system. Or one table, with --score for each system.",
        ),
    ] = None,
    scores: Scores = None,
    options: OptionsOfDifferences = OptionsOfDifferences(),  # noqa: B008
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs",
            help="Differences of all pairs of systems; by default of the first with each other.",
        ),
    ] = False,
) -> None:
    """Compare systems on the same samples: difference of each metric, with an interval.

    All systems are evaluated on the same bootstrap draws (paired comparison).
    """
    from fastpsr.cli.evaluation import evaluate_systems
    from fastpsr.tables import is_table

    given, what = [*(scores or []), *(files or [])], "FILE" if scores is None else "--scores"
    systems = named_files(given, what)
    if len(systems) < 2 and options.systems is None:
        remedy = "" if options.keys.files else ": give --score for each system of one table"
        alone = f"{given[0]} alone{remedy}" if given else "none"
        raise ValueError(f"{what} must name two systems or more, not {alone}")
    no_table = bool(systems) and not any(is_table(path) or path.is_dir() for path in systems)
    evaluate_systems(
        context,
        options,
        systems,
        of_trials=bool(options.keys.files) or scores is not None or no_table,
        pairs="all" if all_pairs else "first",
    )
