"""Options that are only valid in some modes of a command; in others they are refused."""

from collections.abc import Iterable

import typer

#: Options that define the speakers.
SPEAKERS = ("--speakers", "--speaker-columns", "--speaker-pattern")
#: Options for keys, and for differences between a key and scores.
NEED_KEY = (
    "--key-format", "--key-columns", "--key-transpose", "--in-order", "--missing", "--extra",
)  # fmt: skip
#: Options that are not valid for a table of scores with labels.
FOR_TRIALS = (
    "--equalize", "--adcf", *SPEAKERS, *NEED_KEY,
    "--format", "--transpose", "--duplicates", "--nan",
)  # fmt: skip
#: Options that are not valid for trials.
FOR_TABLES = ("--score", "--labels", "--classes", "--normalize", "--weights", "--costs")
#: Options of the calibration loss.
FOR_RCL = ("--calibrator", "--floor", "--folds")


def refuse_for_mode(
    context: typer.Context, *, of_trials: bool, has_key: bool, by: str = "--key, --scores"
) -> None:
    """Raise if a given option is not valid for a table, for trials, or for trials without a key.

    `by` names the option that implies trials.
    """
    if not of_trials:
        refuse(context, FOR_TRIALS, f"is for trials ({by}), not for a table of scores")
        return
    refuse(context, FOR_TABLES, f"is for a table of scores, not for trials ({by})")
    if not has_key:
        refuse(context, NEED_KEY, "needs --key")


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
