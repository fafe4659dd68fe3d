"""What is printed and written of an evaluation: tables on the terminal, files, and reports."""

import hashlib
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastpsr.cli.options.files import Outputs, is_report
from fastpsr.cli.show import Steps
from fastpsr.evaluation import Evaluation
from fastpsr.files import can_be_read_again, ending_of, write_text
from fastpsr.results import as_json
from fastpsr.tables import parquet_files
from fastpsr.version import __version__


def shown_names(systems: Mapping[Any, str | None]) -> dict[str, str]:
    """Return the names of systems by path: those they were given, or short ones."""
    short = short_names([str(path) for path in systems])
    return short | {str(path): name for path, name in systems.items() if name}


def write_evaluation(
    evaluation: Evaluation,
    scores_are: str,
    files: Outputs,
    inputs: Sequence[Path | None],
    **more: Any,
) -> None:
    """Write tables by their ending; JSON also has what was read, and `more` by name."""
    for option, path in files:
        if path is None or is_report(path):
            continue
        if option != "--json" and ending_of(path) != ".json":
            evaluation.write(path)
            continue
        content = {"version": __version__, "scores_are": scores_are, **more}
        text = as_json(content | evaluation.to_dict() | {"inputs": described(inputs)})
        if str(path) == "-":
            sys.stdout.write(text)
        else:
            write_text(path, text)


def write_report(path: Path, evaluation: Evaluation, begin: Steps, **content: Any) -> None:
    """Write a report that includes the command and the current time, as a step of the command."""
    from fastpsr.report.page import write_evaluation

    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    content |= {"command": shlex.join(["fastpsr", *sys.argv[1:]]), "made": made}
    begin(f"writing {path}")

    def tell(title: str, *amount: int) -> None:
        begin(f"{path}: {title}", *amount)

    write_evaluation(path, evaluation, progress=tell, **content)


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return for each path its shortest suffix, in whole path components, that is unique.

    Examples
    --------
    >>> short_names(["a/dev/s.txt", "a/eval/s.txt", "a/t.txt"])
    {'a/dev/s.txt': 'dev/s.txt', 'a/eval/s.txt': 'eval/s.txt', 'a/t.txt': 't.txt'}
    """
    parts = {path: Path(path).parts for path in paths}

    def shortest(path: str) -> str:
        for n in range(1, len(parts[path]) + 1):
            end = parts[path][-n:]
            if sum(other[-n:] == end for other in parts.values()) == 1:
                return str(Path(*end))
        return path

    return {path: shortest(path) for path in parts}


def described(paths: Iterable[Path | None]) -> list[dict[str, Any]]:
    """Return path, bytes and SHA-256 of each file; of the files of folders and patterns no hash.

    What can be read only once, such as a pipe, has neither.
    """
    entries = []
    for path in filter(None, paths):
        is_file = can_be_read_again(path)
        files = [path] if is_file else [Path(name) for name in parquet_files(path)]
        for file in files or [path]:
            entry: dict[str, Any] = {"path": str(file), "n_bytes": None, "sha256": None}
            if files:
                entry["n_bytes"] = file.stat().st_size
            if is_file:
                with file.open("rb") as opened:
                    entry["sha256"] = hashlib.file_digest(opened, "sha256").hexdigest()
            entries.append(entry)
    return entries
