"""Errors of the library for the command line, with options instead of arguments."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from fastpsr.cli.options.declaration import KNOWN, USAGE
from fastpsr.errors import ArgumentError, LooksLike, SuspicionWarning

if TYPE_CHECKING:
    from fastpsr.evaluation import Evaluation

#: What to do in the commands about data that look like something else.
_REMEDIES: dict[LooksLike, str] = {
    "posteriors": "say --scores-are posteriors, or --scores-are raw of similarities",
    "cosine similarities": "say --scores-are raw; fastpsr calibrate makes LLRs of raw scores",
    "probabilities": "say --scores-are posteriors",
    "shifted scores": "say --scores-are raw; fastpsr calibrate makes LLRs of raw scores",
    "posteriors of 0": "pass --floor 1e-3 to calibrate them",
    "decisions": "give the probabilities that were decided on",
    "permuted columns": "list the labels in the order of the columns with --classes",
    "reversed scores": "higher must mean class 1 (target): negate the scores, or swap the labels",
}
#: What to do about conditions without targets; the library's own remedy is for Python.
_TARGETS_TOO = (
    ", or evaluate a file of these samples and all of class 1 (of trials as --key, with --allow "
    "extra)"
)
_MENTIONED = re.compile(r"\b(\w+)=\.\.\.")  # arguments in rules
_LAST = re.compile(r"(?:(?<=: )|^)(\w+)(?:\['([^']*)'\])?$")  # an argument, or a column of it
_OF_SYSTEM = re.compile(r"^predictions\['([^']*)'\]: ")


def usage_of(argument: str) -> str | None:
    """Return how an argument is given in the commands, with {} for the value; None if it is not.

    That is "--" and its name, unless the declaration of an option says otherwise.
    """
    usual = f"--{argument.replace('_', '-')} {{}}"
    usages = [usage for usage in (USAGE.get(argument), usual) if usage]
    return next((each for each in usages if each.split()[0] in KNOWN or each[0] != "-"), None)


def in_options(error: Exception, names: Mapping[str, str] | None = None) -> str:
    """Return the message of an error, with the commands' options in place of arguments.

    `names` are other words for arguments in this place. What to do in Python is left out, where it
    is nothing that options do; ``labels=...`` in a rule becomes the option.

    Examples
    --------
    >>> from fastpsr.cli.app import load
    >>> _ = load("evaluate")
    >>> fits = "the content fits more than one format"
    >>> error = ArgumentError("path", fits, name="k:", pass_={"key_format": ...})
    >>> print(error)
    k: the content fits more than one format: pass key_format=...
    >>> in_options(error)
    'k: the content fits more than one format: pass --key-format NAME'
    >>> in_options(ArgumentError("labels", "has no labels: pass labels=...", name="s.csv"))
    's.csv has no labels: pass --labels'
    """
    if not isinstance(error, ArgumentError):
        return str(error)

    def usage(argument: str) -> str | None:
        return (names or {}).get(argument) or usage_of(argument)

    def option(argument: str) -> str:
        return (usage(argument) or argument).partition("{")[0].rstrip(" :")

    name = _OF_SYSTEM.sub(r"\1: ", error.name or error.argument)
    column, last = "", _LAST.search(name)
    if last and (last[2] or last[1] == error.argument):  # not the path of a file
        column = last[2] or ""
        name = f"{name[: last.start()]}{option(last[1])} {column}".rstrip()
    problem = error.renamed(name).problem
    problem = _MENTIONED.sub(lambda of: option(of[1]) if usage(of[1]) else of[0], problem)
    remedies = [(usage(argument), value) for argument, value in error.pass_.items()]
    values: dict[str, list[str]] = {}  # of an option that is given once
    for given, value in remedies:
        if given is None:
            return problem
        name, _, text = _with_value(given, value, column).partition(" ")
        values.setdefault(name, []).extend([text] if text else [])
    shown = [f"{name} {','.join(texts)}".rstrip() for name, texts in values.items()]
    return f"{problem}: pass {' '.join(shown)}" if shown else problem


def warning_in_options(warning: Warning) -> str:
    """Return a warning with the options that remedy it."""
    from fastpsr.evaluation import NoIntervalsWarning
    from fastpsr.evaluation.evaluate import SlowIntervalWarning

    if isinstance(warning, SuspicionWarning):  # its own remedy is for Python
        return f"{warning.problem}: {_REMEDIES[warning.looks_like]}"
    if isinstance(warning, NoIntervalsWarning):
        return f"{warning.subjects[0]}: no intervals: {in_options(warning.error)}"
    if isinstance(warning, SlowIntervalWarning):
        return f"{warning.problem}: --metrics {warning.metric} has it"
    return str(warning)


@contextmanager
def worded(**names: str) -> Iterator[None]:
    """Errors inside are in the command's words; `names` are those for arguments in this place."""
    try:
        yield
    except ArgumentError as error:
        raise ValueError(in_options(error, names)) from None


def in_words(evaluation: "Evaluation", drawn: str | None = None) -> "Evaluation":
    """Return an evaluation that names options instead of arguments, and what was drawn."""
    if drawn is not None and evaluation.intervals is not None:
        evaluation = replace(evaluation, intervals=replace(evaluation.intervals, drawn=drawn))
    return evaluation.with_rows(
        lambda row: row if row.error is None else replace(row, note=_note(row.state, row.error))
    )


def _note(state: str, error: Exception) -> str:
    lacks_targets = isinstance(error, ArgumentError) and error.argument == "by" and error.remedy
    return f"{state}: {in_options(error)}{_TARGETS_TOO if lacks_targets else ''}"


def note_in_options(note: str) -> str:
    """Return a note that ends in an argument with the option instead.

    Examples
    --------
    >>> from fastpsr.cli.app import load
    >>> _ = load("evaluate")
    >>> note_in_options("left out: 2 trials without a score ('a b', 'a c'): missing=drop")
    "left out: 2 trials without a score ('a b', 'a c'): --allow missing"
    >>> note_in_options("columns e and t are taken as conditions; ...: speakers='columns:e,t'")
    'columns e and t are taken as conditions; ...: --speakers columns:e,t'
    """
    what, colon, last = note.rpartition(": ")
    argument, equals, value = last.partition("=")
    usage = usage_of(argument) if equals else None
    return note if usage is None else what + colon + usage.format(value.strip("'"))


def _with_value(usage: str, value: object, column: str = "") -> str:
    """Return an option with its value; NAME is a placeholder for the user's choice."""
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    elif value is True:
        value = ""
    column = column.split(", ")[0]  # of several that are crossed, the first
    text = usage.format("NAME" if value is ... else value, column=column or "COLUMN")
    return text.rstrip()
