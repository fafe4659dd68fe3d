"""Options that are only valid in some modes of a command; in others they are refused."""

from collections.abc import Iterable
from typing import Any

import typer

from fastpsr.cli.options.declaration import TABLES, TRIALS
from fastpsr.cli.options.sources import NOT_OF_TABLES, NOT_OF_TRIALS

#: Options of the calibration loss.
FOR_RCL = ("--calibrator", "--floor", "--folds")


def refuse_for_mode(
    context: typer.Context, *, of_trials: bool, has_key: bool, allowed: Any, trials: Any
) -> None:
    """Raise if a given option is not valid for a table, for trials, or for trials without a key.

    `allowed` and `trials` are the groups of options with what is allowed, and with formats.
    """
    if of_trials:
        refuse(context, _in_panel(context, TABLES), NOT_OF_TRIALS)
    else:
        refuse(context, [*_in_panel(context, TRIALS), "--speakers"], NOT_OF_TABLES)
    allowed.check(of_trials=of_trials, has_key=has_key)
    if of_trials and not has_key:
        refuse(context, ("--key-format",), "needs --key")
        if trials.of_scores.in_order:
            raise ValueError("--format in-order needs --key")


def _in_panel(context: typer.Context, panel: str) -> list[str]:
    options = context.command.params
    return [option.opts[0] for option in options if getattr(option, "rich_help_panel", "") == panel]


def given(context: typer.Context) -> list[str]:
    """Return the names of the options given on the command line."""
    return [
        option.opts[0]
        for option in context.command.params
        if getattr(context.get_parameter_source(option.name or ""), "name", "") == "COMMANDLINE"
        and context.params.get(option.name or "") not in (None, (), [])  # click before 8.2: no FILE
    ]


def refuse(context: typer.Context, options: Iterable[str], reason: str) -> None:
    """Raise if one of `options` was given: the error is its name and the reason."""
    refused = set(options)
    for option in given(context):
        if option in refused:
            raise ValueError(f"{option} {reason}")
