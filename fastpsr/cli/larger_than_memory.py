"""Trials that memory cannot hold: joined into a temporary file, which is read part by part."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from fastpsr.cli.modes import SPEAKERS, given
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.show import print_line
from fastpsr.data import Scale
from fastpsr.data.budget import memory_of_data
from fastpsr.files import can_be_read_again
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.tables.table import LABELS, WEIGHTS
from fastpsr.trials.detect import first_look
from fastpsr.trials.joining.parquet_writer import both_interrupts
from fastpsr.trials.labels import VOCABULARIES
from fastpsr.trials.names import KIND, WITH_SPOOF
from fastpsr.trials.optional import polars
from fastpsr.trials.size import least_memory

#: Options of `fastpsr join`; the others are for the evaluation.
_OF_JOIN = (
    "--key", "--targets", "--nontargets", "--key-format", "--key-columns", "--format", "--in-order",
    "--missing", "--extra", "--duplicates", "--nan", "--columns", *SPEAKERS,
)  # fmt: skip
_JOINED = "joined.parquet"
_IN_MEMORY = ("--report", "--equalize", "--adcf", "--transpose", "--key-transpose")


def evaluated_in_parts(
    context: typer.Context,
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, Scale],
) -> bool:
    """Evaluate trials that memory cannot hold, joined into a temporary file; return if they are so.

    Systems may have names; `scales` are the kinds of their scores. Where trials in parts would have
    other values, this raises, with the commands to run.
    """
    keys = options.keys.files
    n_bytes, limit = least_memory(keys), memory_of_data()
    if limit is None or n_bytes <= limit or not all(map(can_be_read_again, systems)):
        return False
    needed = (
        f"{' and '.join(map(str, keys))} with scores takes at least about {size_of(n_bytes)} of "
        f"memory, and {size_of(limit)} may be used"
    )
    held = [name for name in _IN_MEMORY if name in given(context)]
    if held:
        raise ValueError(
            f"{needed}: set FASTPSR_MEMORY to more if they fit; {held[0]} needs all trials in "
            "memory: leave it out"
        )
    join, evaluate = _commands(context, keys, systems, scales)

    def refused(why: str) -> ValueError:
        words = (shlex.join(["fastpsr", *command(_JOINED)]) for command in (join, evaluate))
        return ValueError(
            f"{needed}: set FASTPSR_MEMORY to more if they fit, or have them joined, and read part "
            f"by part ({why}): {' && '.join(words)}"
        )

    if any(name in given(context) for name in SPEAKERS):
        raise refused("RCL then has folds of trials, not of speakers")
    from fastpsr.cli.app import load

    print_line(f"{needed}: the trials are joined into a temporary file, and read part by part")
    with TemporaryDirectory(prefix="fastpsr-") as folder, both_interrupts():
        joined = str(Path(folder, _JOINED))
        for command in (join, evaluate):
            name, *words = command(joined)
            load(name).main(words, prog_name=name, standalone_mode=False)
            if command is join and _has_spoofed(joined):
                raise refused("spoofed trials are then non-targets like all others")
    return True


def _commands(
    context: typer.Context,
    keys: Sequence[Path],
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, Scale],
) -> tuple[Callable[[str], list[str]], ...]:
    """Return what makes the words of both commands, given the name of the joined file."""
    columns = [name or path.stem for path, name in systems.items()]
    if len(set(columns)) < len(columns) or any(_is_taken(column, keys) for column in columns):
        columns = [f"system{number}" for number in range(1, len(columns) + 1)]
    scores = [f"{column}={path}" for column, path in zip(columns, systems, strict=True)]
    of_join = [*_words(context, _OF_JOIN), "--scores", *scores]
    others = {name for name in given(context) if name.startswith("--")}
    kinds = [*scales.values()]
    of_kinds = kinds[:1] if len(set(kinds)) == 1 else kinds
    asked = [
        *(word for column in columns for word in ("--score", column)), "--labels", "target",
        *(word for kind in of_kinds for word in ("--scores-are", kind)),
        *_words(context, others - {*_OF_JOIN, "--scores", "--scores-are"}),
    ]  # fmt: skip
    name = str(context.info_name)
    return (
        lambda joined: ["join", *of_join, "--output", joined],
        lambda joined: [name, joined, *asked],
    )


def _is_taken(column: str, keys: Sequence[Path]) -> bool:
    """Whether a column of scores cannot have this name in a joined file."""
    words = {word for key in keys for word in re.split(r"[\s,]+", first_look(key).lines[0])}
    known = (*LABELS, *WEIGHTS, *SPEAKER_COLUMNS, "enroll", "test", KIND)
    return "," in column or column in known or column in words


def _has_spoofed(joined: str) -> bool:
    """Whether some trials of a joined file are spoofed."""
    rows = polars().scan_parquet(joined)
    if KIND not in rows.collect_schema():
        return False
    spoof = VOCABULARIES[WITH_SPOOF][2]
    return bool(rows.select((polars().col(KIND).cast(str) == spoof).any()).collect().item())


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


def size_of(n_bytes: int) -> str:
    """Return a size as text, with three digits."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
