"""Trials that memory cannot hold: joined into a temporary file, which is read part by part."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from fastpsr.cli.join import join_files
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.modes import given
from fastpsr.cli.show import print_line, size_of
from fastpsr.data.budget import memory_of_data
from fastpsr.files import can_be_read_again
from fastpsr.optional import polars
from fastpsr.trials.labels import KIND, VOCABULARIES, WITH_SPOOF
from fastpsr.trials.reading import least_memory


def column_of(number: int) -> str:
    """Return the column of a system in the joined file, which no file of trials has."""
    return f"scores {number + 1}"


@contextmanager
def joined_in_parts(
    context: typer.Context,
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    *,
    has_key: bool,
) -> Iterator[Path | None]:
    """Yield a file of the joined trials of systems, or None for trials that memory can hold.

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
    with TemporaryDirectory(prefix="fastpsr-") as folder:
        path = Path(folder, "joined.parquet")
        files = {column_of(number): file for number, file in enumerate(systems)}
        join_files(options.keys, files, path, options.trials, options.allowed, options.speakers)
        if _has_spoofed(path):
            raise _refused(needed, "spoofed trials are then non-targets like all others")
        yield path


def _check_options(context: typer.Context, options: EvaluationOptions, needed: str) -> None:
    """Raise if options need all trials in memory."""
    in_memory = [f"--output {path}" for path in options.outputs.reports]
    in_memory += ["--equalize"] * ("--equalize" in given(context))
    layouts = {"--format": options.trials.of_scores, "--key-format": options.trials.of_key}
    in_memory += [
        f"{name} transpose or no-transpose"
        for name, layout in layouts.items()
        if layout.transpose is not None
    ]
    if in_memory:
        raise ValueError(
            f"{needed}: set FASTPSR_MEMORY to more if they fit; {in_memory[0]} needs all trials in "
            "memory: leave it out"
        )
    if options.speakers.are_known:
        raise _refused(needed, "RCL then has folds of trials, not of speakers")


def _refused(needed: str, why: str) -> ValueError:
    return ValueError(
        f"{needed}: set FASTPSR_MEMORY to more if they fit, or have them joined by fastpsr join, "
        f"and evaluate that file, with --labels target, part by part ({why})"
    )


def _has_spoofed(joined: Path) -> bool:
    """Whether some trials of a joined file are spoofed."""
    rows = polars().scan_parquet(joined)
    if KIND not in rows.collect_schema():
        return False
    spoof = VOCABULARIES[WITH_SPOOF][2]
    return bool(rows.select((polars().col(KIND).cast(str) == spoof).any()).collect().item())
