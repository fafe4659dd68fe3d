"""Errors of the library for the command line, with options instead of arguments."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from fastpsr.errors import ArgumentError, LooksLike, SuspicionWarning

if TYPE_CHECKING:
    from fastpsr.evaluation import Evaluation

#: Options of the commands for arguments of the library.
_OPTIONS = {
    "bins": "--bins",
    "by": "--by",
    "calibrator": "--calibrator",
    "classes": "--classes",
    "cluster_ids": "--resample",
    "columns": "--columns",
    "confidence_level": "--ci",
    "duplicates": "--duplicates",
    "enroll_speakers": "--resample",
    "equalize": "--equalize",
    "extra": "--extra",
    "floor": "--floor",
    "folds": "--folds",
    "format": "--format",
    "group_differences": "--group-differences",
    "ids": "--resample",
    "in_order": "--in-order",
    "key_columns": "--key-columns",
    "key_format": "--key-format",
    "kind": "--scores-are",
    "labels": "--labels",
    "mapping": "--speakers",
    "method": "--interval",
    "metrics": "--metrics",
    "min_per_class": "--min-per-class",
    "missing": "--missing",
    "n_nontargets": "--nontargets",
    "n_resamples": "--resamples",
    "n_targets": "--targets",
    "nan": "--nan",
    "normalize": "--normalize",
    "pattern": "--speaker-pattern",
    "prior": "--priors",
    "priors": "--priors",
    "score_columns": "--columns",
    "score_format": "--format",
    "seed": "--seed",
    "speaker_columns": "--speaker-columns",
    "speaker_pattern": "--speaker-pattern",
    "speakers": "--speakers",
    "transpose": "--transpose",
}
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
    ", or evaluate a file of these samples and all of class 1 (of trials as --key, with --extra "
    "ignore)"
)
_MENTIONED = re.compile(r"\b(\w+)=\.\.\.")  # arguments in rules
_OF_COLUMN = re.compile(r"(\w+)\['([^']*)'\]$")
_OF_SYSTEM = re.compile(r"^predictions\['([^']*)'\]: ")
_OF_KEY = {"columns": "--key-columns", "format": "--key-format", "transpose": "--key-transpose"}


def in_options(
    error: Exception, *, of_key: bool = False, names: Mapping[str, str] | None = None
) -> str:
    """Return what is wrong, with the options that arguments are in the commands.

    `names` are other words for arguments in this place. What to do in Python is left out, where it
    is nothing that options do; ``labels=...`` in a rule becomes the option.

    Examples
    --------
    >>> fits = "the content fits more than one format"
    >>> error = ArgumentError("path", fits, name="k:", pass_={"format": ...})
    >>> print(error)
    k: the content fits more than one format: pass format=...
    >>> in_options(error, of_key=True)
    'k: the content fits more than one format: pass --key-format NAME'
    >>> in_options(ArgumentError("labels", "has no labels: pass labels=...", name="s.csv"))
    's.csv has no labels: pass --labels'
    """
    if not isinstance(error, ArgumentError):
        return str(error)
    options = {**_OPTIONS, **(_OF_KEY if of_key else {}), **(names or {})}
    option = options.get(error.argument, error.argument)
    name = _OF_SYSTEM.sub(r"\1: ", error.name)
    name = _OF_COLUMN.sub(lambda of: f"{options.get(of[1], of[1])} {of[2]}", name)
    if name.endswith(f": {error.argument}"):  # of a file
        name = name.removesuffix(error.argument) + option
    renamed = error.renamed(name or option)
    problem = _MENTIONED.sub(lambda of: options.get(of[1], of[0]), renamed.problem)
    if not error.pass_ or not error.pass_.keys() <= options.keys():
        return problem
    given = [
        _as_option(options[argument].split(" or ")[0], value)
        for argument, value in error.pass_.items()
    ]
    return f"{problem}: pass {' '.join(given)}"


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
def worded(*, of_key: bool = False, **names: str) -> Iterator[None]:
    """Errors inside are in the command's words; `names` are those for arguments in this place."""
    try:
        yield
    except ArgumentError as error:
        raise ValueError(in_options(error, of_key=of_key, names=names)) from None


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
    """Return a note on what was left out, which ends in an argument, with the option instead.

    Examples
    --------
    >>> note_in_options("left out: 2 trials without a score ('a b', 'a c'): missing=drop")
    "left out: 2 trials without a score ('a b', 'a c'): --missing drop"
    >>> note_in_options("columns e and t are taken as conditions; ...: speaker_columns=('e', 't')")
    'columns e and t are taken as conditions; ...: --speaker-columns e,t'
    """
    pair = r"(?:with_speakers\(column|speaker_columns)=\('(.*)', '(.*)'\)\)?"
    if found := re.fullmatch(rf"(.* taken as conditions.*: ){pair}", note):
        return f"{found[1]}--speaker-columns {found[2]},{found[3]}"
    found = re.fullmatch(r"(.*left out: .*\): )(\w+)=(\w+)", note)
    if found is None or found[2] not in _OPTIONS:
        return note
    return f"{found[1]}{_OPTIONS[found[2]]} {found[3]}"


def _as_option(option: str, value: object) -> str:
    """Return an option with its value; NAME is a placeholder for the user's choice."""
    if value is True:
        return option
    if value is bool:
        return f"{option} or --no-{option.removeprefix('--')}"
    if isinstance(value, Mapping):
        return f"{option} {','.join(f'{role}={_word(name)}' for role, name in value.items())}"
    return f"{option} {_word(value)}"


def _word(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "NAME" if value is ... else str(value)
