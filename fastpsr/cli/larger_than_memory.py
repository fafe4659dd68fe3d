"""Trials that memory cannot hold: joined into a temporary file, which is read part by part."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fastpsr.cli.join import join_files
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.show import print_line, size_of
from fastpsr.data.budget import memory_of_data
from fastpsr.files import can_be_read_again
from fastpsr.optional import polars
from fastpsr.trials.labels import KIND, VOCABULARIES, WITH_SPOOF
from fastpsr.trials.read import least_memory

_JOIN = (
    "join them by fastpsr join, and evaluate the file with --labels target --columns SYSTEM "
    "--scores-are llr"
)


def column_of(number: int) -> str:
    """Return the column of a system in the joined file, which no file of trials has."""
    return f"scores {number + 1}"


@contextmanager
def joined_in_parts(
    options: EvaluationOptions, systems: Collection[Path], *, has_scores: bool
) -> Iterator[Path | None]:
    """Yield a file of the joined trials of systems, or None for trials that memory can hold.

    The file is there in the block. Raises where trials in parts would have other values.
    """
    trials, limit = options.trials, memory_of_data()
    n_bytes = least_memory(trials.files) if has_scores else 0
    if limit is None or n_bytes <= limit or not all(map(can_be_read_again, systems)):
        yield None
        return
    needed = (
        f"{' and '.join(map(str, trials.files))} with scores takes at least about "
        f"{size_of(n_bytes)} of memory, and {size_of(limit)} may be used"
    )
    refused = f"{needed}: set FASTPSR_MEMORY to more if they fit, or {{}}"
    in_memory = [f"--output {path}" for path in options.outputs.reports]
    in_memory += ["--equalize"] if options.measures.equalize else []
    if in_memory:
        raise ValueError(refused.format(f"leave out {' and '.join(in_memory)}"))
    if trials.speakers:
        raise ValueError(refused.format(f"{_JOIN} (RCL then has folds of trials)"))
    print_line(f"{needed}: the trials are joined into a temporary file, and read part by part")
    with TemporaryDirectory(prefix="fastpsr-") as folder:
        path = Path(folder, "joined.parquet")
        join_files(trials, {column_of(k): file for k, file in enumerate(systems)}, path)
        if _has_spoofed(path):
            raise ValueError(refused.format(f"{_JOIN} (spoofed trials are non-targets)"))
        yield path


def _has_spoofed(joined: Path) -> bool:
    """Whether some trials of a joined file are spoofed."""
    rows = polars().scan_parquet(joined)
    if KIND not in rows.collect_schema():
        return False
    spoof = VOCABULARIES[WITH_SPOOF][2]
    return bool(rows.select((polars().col(KIND).cast(str) == spoof).any()).collect().item())
