"""Trials that memory cannot hold: joined into a temporary file, which is read part by part."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from fastpsr.cli.join import join_files
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.modes import given
from fastpsr.cli.options.sources import TableOptions
from fastpsr.cli.show import print_line, size_of
from fastpsr.data import Scale
from fastpsr.data.budget import memory_of_data
from fastpsr.files import can_be_read_again
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.optional import polars
from fastpsr.tables.sample import look
from fastpsr.tables.table import LABELS, WEIGHTS
from fastpsr.trials.labels import KIND, VOCABULARIES, WITH_SPOOF
from fastpsr.trials.reading import least_memory


@contextmanager
def joined_in_parts(
    context: typer.Context,
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, Scale],
    *,
    has_key: bool,
) -> Iterator[tuple[Any, ...] | None]:
    """Yield options, systems and scales of a joined file, or None for trials that memory can hold.

    The file is there in the block. Raises where trials in parts would have other values.
    """
    keys = options.keys.files
    n_bytes, limit = least_memory(keys) if has_key else 0, memory_of_data()
    if limit is None or n_bytes <= limit or not all(map(can_be_read_again, systems)):
        yield None
        return
    needed = (
        f"{' and '.join(map(str, keys))} with scores takes at least about {size_of(n_bytes)} of "
        f"memory, and {size_of(limit)} may be used"
    )
    _check_options(context, options, needed)
    print_line(f"{needed}: the trials are joined into a temporary file, and read part by part")
    columns = _names(systems, keys)
    with TemporaryDirectory(prefix="fastpsr-") as folder:
        path = Path(folder, "joined.parquet")
        files = dict(zip(columns, systems, strict=True))
        join_files(options.keys, files, path, options.trials, options.allowed, options.speakers)
        if _has_spoofed(path):
            raise _refused(needed, "spoofed trials are then non-targets like all others")
        of_table = replace(
            options,
            systems=[f"{name}={name}" for name in columns],
            tables=TableOptions(labels="target"),
        )
        yield of_table, {path: None}, dict(zip(columns, scales.values(), strict=True))


def _check_options(context: typer.Context, options: EvaluationOptions, needed: str) -> None:
    """Raise if options need all trials in memory."""
    layouts = {"--format": options.trials.of_scores, "--key-format": options.trials.of_key}
    in_memory = [f"--output {path}" for path in options.outputs.reports]
    in_memory += ["--equalize"] * ("--equalize" in given(context))
    in_memory += [
        f"{name} transpose or no-transpose"
        for name, own in layouts.items()
        if own.transpose is not None
    ]
    for name in in_memory:
        raise ValueError(
            f"{needed}: set FASTPSR_MEMORY to more if they fit; {name} needs all trials in memory: "
            "leave it out"
        )
    if options.speakers.are_known:
        raise _refused(needed, "RCL then has folds of trials, not of speakers")


def _refused(needed: str, why: str) -> ValueError:
    return ValueError(
        f"{needed}: set FASTPSR_MEMORY to more if they fit, or have them joined by fastpsr join, "
        f"and evaluate that file, with --labels target, part by part ({why})"
    )


def _names(systems: Mapping[Path, str | None], keys: Sequence[Path]) -> list[str]:
    """Return names of the columns of systems in a joined file."""
    names = [name or path.stem for path, name in systems.items()]
    if len(set(names)) < len(names) or any(_is_taken(name, keys) for name in names):
        return [f"system{number}" for number in range(1, len(names) + 1)]
    return names


def _is_taken(column: str, keys: Sequence[Path]) -> bool:
    """Whether a column of scores cannot have this name in a joined file."""
    words = {word for key in keys for word in re.split(r"[\s,]+", look(key).lines[0])}
    known = (*LABELS, *WEIGHTS, *SPEAKER_COLUMNS, "enroll", "test", KIND)
    return "," in column or column in known or column in words


def _has_spoofed(joined: Path) -> bool:
    """Whether some trials of a joined file are spoofed."""
    rows = polars().scan_parquet(joined)
    if KIND not in rows.collect_schema():
        return False
    spoof = VOCABULARIES[WITH_SPOOF][2]
    return bool(rows.select((polars().col(KIND).cast(str) == spoof).any()).collect().item())
