"""Options that only some modes of a command have: elsewhere they are refused, not ignored."""

from collections.abc import Iterable

import typer

__all__ = ["FOR_RCL", "FOR_TRIALS", "SPEAKERS", "given", "refuse", "refuse_for_mode"]

#: Where the commands learn who speaks.
SPEAKERS = ("--speakers", "--speaker-columns", "--speaker-pattern")
#: What describes a key, or says what to do where it and the scores differ.
NEED_KEY = ("--key-format", "--key-columns", "--key-transpose", "--missing", "--extra")
#: What has no meaning for a table of scores with labels.
FOR_TRIALS = (
    "--by", "--equalize", *SPEAKERS, *NEED_KEY, "--format", "--transpose", "--duplicates", "--nan"
)  # fmt: skip
#: What has no meaning for trials.
FOR_TABLES = ("--labels", "--weights", "--costs")
#: What the calibration loss is computed by.
FOR_RCL = ("--calibrator", "--floor", "--folds")


def refuse_for_mode(
    context: typer.Context, *, of_trials: bool, has_key: bool, by: str = "--key, --scores"
) -> None:
    """Raise if an option was given that a table, or trials, or trials without a key do not have.

    `by` names what makes them trials.
    """
    if not of_trials:
        refuse(context, FOR_TRIALS, f"is for trials ({by}), not for a table of scores")
        return
    refuse(context, FOR_TABLES, f"is for a table of scores, not for trials ({by})")
    if not has_key:
        refuse(context, NEED_KEY, "needs --key")


def given(context: typer.Context) -> list[str]:
    """Return the options that stand on the command line, by name."""
    return [
        option.opts[0]
        for option in context.command.params
        if getattr(context.get_parameter_source(option.name or ""), "name", "") == "COMMANDLINE"
    ]


def refuse(context: typer.Context, options: Iterable[str], reason: str) -> None:
    """Raise if one of `options` was given: the error is its name and the reason."""
    refused = set(options)
    for option in given(context):
        if option in refused:
            raise ValueError(f"{option} {reason}")
