"""`fastpsr join`."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from fastpsr import trials
from fastpsr.cli.options import (
    Columns,
    Drop,
    Duplicates,
    Extra,
    First,
    Ignore,
    KeyColumns,
    KeyFormat,
    Missing,
    Nan,
    ScoreFormat,
    SpeakerColumns,
    SpeakerMap,
    SpeakerPattern,
    check_outputs,
)
from fastpsr.cli.show import console, say, steps, tell
from fastpsr.cli.trial_files import FileOptions, SpeakerOptions
from fastpsr.cli.wording import worded

__all__ = ["join"]

_TERMINATED = 128 + signal.SIGTERM


def join(
    key: Annotated[Path, typer.Option(help="Trial list with labels.")],
    scores: Annotated[
        list[Path],
        typer.Option(help="Score file of a system; further ones may follow at the end."),
    ],
    output: Annotated[Path, typer.Option(help="Parquet file to write.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Score files of further systems."),
    ] = None,
    columns: Columns = None,
    speakers: SpeakerMap = None,
    speaker_columns: SpeakerColumns = None,
    speaker_pattern: SpeakerPattern = None,
    key_format: KeyFormat = None,
    key_columns: KeyColumns = None,
    format: ScoreFormat = None,
    missing: Missing = Drop.ERROR,
    extra: Extra = Ignore.ERROR,
    duplicates: Duplicates = First.ERROR,
    nan: Nan = Drop.ERROR,
) -> None:
    """Join a key and score files, text of any size, into one Parquet file.

    Memory stays within FASTPSR_MEMORY and what the libraries take. `fastpsr evaluate` and
    fp.scan_parquet read the file part by part.
    """
    systems = [*scores, *(files or [])]
    if output.suffix not in (".parquet", ".pq"):
        raise ValueError(f"--output must end in .parquet, as {output} does not")
    check_outputs({"--output": output}, [key, *systems, speakers])
    of_key = FileOptions.parse("--key-columns", key_format, key_columns, None)
    of_scores = FileOptions.parse("--columns", format, columns, None)
    who = SpeakerOptions(speakers, speaker_columns, speaker_pattern)
    pair: Any = None if who.columns is None else tuple(who.columns.split(","))
    with _terminated_as_exit(), steps(None) as begin, worded(scores="--scores"):
        joined = trials.join(
            key,
            systems,
            output,
            key_format=of_key.format,
            score_format=of_scores.format,
            key_columns=of_key.columns,
            score_columns=of_scores.columns,
            speakers=who.mapping,
            speaker_columns=pair,
            speaker_pattern=who.pattern,
            missing=missing.value,
            extra=extra.value,
            duplicates=duplicates.value,
            nan=nan.value,
            progress=begin,
        )
    for line in joined.taken:
        tell(line)
    for path, in_order in joined.in_order.items():
        order = "in the order of the key" if in_order else "in another order than the key"
        name = joined.scores[path]
        console.print(f"{path}: {order}; column {name}")
    console.print(
        f"{joined.path}: {joined.n_trials:,} trials, {joined.n_targets:,} of them targets; "
        f"columns {', '.join(joined.columns)}"
    )


@contextmanager
def _terminated_as_exit() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that what was begun is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        say("stopped")
        raise SystemExit(_TERMINATED)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
