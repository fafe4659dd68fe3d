"""Trials that memory cannot hold: refused before they are read, with the commands to run."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path

import typer

from fastpsr.cli.modes import SPEAKERS, given
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.scores import TrialScale
from fastpsr.plans.budget import memory_of_data
from fastpsr.tables.table import LABELS, WEIGHTS
from fastpsr.trials.detect import first_look
from fastpsr.trials.size import least_memory
from fastpsr.trials.speakers import SPEAKER_COLUMNS

__all__ = ["check_memory"]

#: Options of `fastpsr join`; the others are for the evaluation.
_OF_JOIN = (
    "--key", "--targets", "--nontargets", "--key-format", "--key-columns", "--format", "--in-order",
    "--missing", "--extra", "--duplicates", "--nan", "--columns", *SPEAKERS,
)  # fmt: skip
_JOINED = "joined.parquet"
_IN_MEMORY = ("--report", "--equalize", "--adcf", "--transpose", "--key-transpose")


def check_memory(
    context: typer.Context,
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, TrialScale],
) -> None:
    """Raise if the trials of the keys take more memory than there is.

    Systems may have names; `scales` are the kinds of their scores.
    """
    keys = options.keys.files
    n_bytes, limit = least_memory(keys), memory_of_data()
    if limit is None or n_bytes <= limit or not all(path.is_file() for path in systems):
        return
    needed = (
        f"{' and '.join(map(str, keys))} with scores takes at least about {_size(n_bytes)} of "
        f"memory, and {_size(limit)} may be used: set FASTPSR_MEMORY to more if they fit"
    )
    held = [name for name in _IN_MEMORY if name in given(context)]
    if held:
        raise ValueError(f"{needed}; {held[0]} needs all trials in memory: leave it out")
    known = any(name in given(context) for name in SPEAKERS)
    notes = ["RCL then has folds of trials, not of speakers"] * known
    notes += ["spoofed trials are then non-targets like all others"] * any(map(_has_spoof, keys))
    said = f" ({'; '.join(notes)})" if notes else ""
    columns = [name or path.stem for path, name in systems.items()]
    if len(set(columns)) < len(columns) or any(map(_is_taken, columns)):
        columns = [f"system{number}" for number in range(1, len(columns) + 1)]
    of_score = "--columns" if context.info_name == "evaluate" and len(columns) == 1 else "--score"
    join = [
        "fastpsr", "join", *_words(context, _OF_JOIN), "--scores",
        *(f"{column}={path}" for column, path in zip(columns, systems, strict=True)),
        "--output", _JOINED,
    ]  # fmt: skip
    kinds = [*scales.values()]
    of_kinds = kinds[:1] if len(set(kinds)) == 1 else kinds
    others = {name for name in given(context) if name.startswith("--")}
    others -= {*_OF_JOIN, "--scores", "--scores-are"}
    evaluate = [
        "fastpsr", str(context.info_name), _JOINED,
        *(word for column in columns for word in (of_score, column)), "--labels", "target",
        *(word for kind in of_kinds for word in ("--scores-are", kind)), *_words(context, others),
    ]  # fmt: skip
    raise ValueError(
        f"{needed}, or have them joined, and read part by part{said}: "
        f"{shlex.join(join)} && {shlex.join(evaluate)}"
    )


def _is_taken(column: str) -> bool:
    """Whether a column of scores cannot have this name in a joined file."""
    return "," in column or column in (*LABELS, *WEIGHTS, *SPEAKER_COLUMNS, "enroll", "test")


def _has_spoof(key: Path) -> bool:
    """Whether the first lines of a key speak of spoofed trials."""
    return any("spoof" in line.lower() for line in first_look(key).lines)


def _words(context: typer.Context, options: Iterable[str]) -> Iterator[str]:
    """Yield the given ones of some options with their values, as they are typed."""
    names = {*options} & {*given(context)}
    for option in context.command.params:
        if option.opts[0] not in names:
            continue
        value = context.params[option.name or ""]
        if isinstance(value, bool):
            yield option.opts[0] if value else option.secondary_opts[0]
            continue
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield option.opts[0]
            yield str(each.value if isinstance(each, Enum) else each)


def _size(n_bytes: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
