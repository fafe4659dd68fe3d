"""`fastpsr compare`: `fastpsr evaluate --differences first`."""

from dataclasses import replace

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.evaluate import Files, evaluate_systems
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.sources import Scores


@in_groups
def compare(
    context: typer.Context,
    *,
    files: Files = None,
    scores: Scores = None,
    options: EvaluationOptions,
) -> None:
    """Compare systems on the same samples: difference of each metric, with an interval.

    The same as `fastpsr evaluate --differences first`: all systems are evaluated on the same
    bootstrap draws (paired comparison).
    """
    pairs = options.differences.pairs or "first"
    differences = replace(options.differences, pairs=pairs)
    evaluate_systems(context, replace(options, differences=differences), files, scores)
