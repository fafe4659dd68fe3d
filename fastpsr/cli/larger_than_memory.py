"""Trials that memory cannot hold: refused before they are read, with the commands to run."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path

import typer

from fastpsr.cli.modes import SPEAKERS, given
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.scores import TrialScale
from fastpsr.plans.budget import memory_of_data
from fastpsr.trials.size import least_memory

__all__ = ["check_memory"]

#: Options of `fastpsr join`; the others are for the evaluation.
_OF_JOIN = (
    "--key", "--targets", "--nontargets", "--key-format", "--key-columns", "--format", "--in-order",
    "--missing", "--extra", "--duplicates", "--nan", "--columns", *SPEAKERS,
)  # fmt: skip
_IN_MEMORY = ("--report", "--equalize", "--adcf")


def check_memory(
    context: typer.Context,
    options: EvaluationOptions,
    scales: Mapping[Path, TrialScale],
    *,
    are_pairs: bool,
) -> None:
    """Raise if the trials of the keys take more memory than there is.

    `scales` are the kinds of the scores of each system.
    """
    keys, systems = options.keys.files, [*scales]
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
    if are_pairs:
        raise ValueError(
            f"{needed}; fastpsr compare holds all trials, and fp.evaluate in Python compares "
            'columns of a joined file part by part, with fp.scan_parquet and differences="first": '
            + shlex.join(_join(context, systems, "joined.parquet"))
        )
    known = any(name in given(context) for name in SPEAKERS)
    folds = " (whose RCL has folds of trials, not of speakers)" if known else ""
    first, *others = systems
    each = f" of each system, such as {first}," if others else ""
    output = f"{first.stem}.joined.parquet"
    commands = _join(context, [first], output), _evaluate(context, output, scales[first])
    raise ValueError(
        f"{needed}, or evaluate a joined file{each} part by part{folds}: "
        + " && ".join(map(shlex.join, commands))
    )


def _join(context: typer.Context, systems: Sequence[Path], output: str) -> list[str]:
    """Return the command that joins systems."""
    options = _words(context, _OF_JOIN)
    return ["fastpsr", "join", *options, "--scores", *map(str, systems), "--output", output]


def _evaluate(context: typer.Context, joined: str, scale: TrialScale) -> list[str]:
    """Return the command that evaluates a joined system part by part."""
    others = {name for name in given(context) if name.startswith("--")}
    others -= {*_OF_JOIN, "--scores", "--scores-are"}
    columns = ["--columns", "llr", "--labels", "target", "--scores-are", scale]
    return ["fastpsr", "evaluate", joined, *columns, *_words(context, others)]


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
