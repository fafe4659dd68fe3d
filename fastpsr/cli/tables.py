"""Evaluations as tables on the terminal, and the files that are written of them."""

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from fastpsr.cli.show import console
from fastpsr.evaluation import Evaluation
from fastpsr.evaluation.files import as_csv, as_latex, as_markdown
from fastpsr.evaluation.layout import grid_of_one, remarks
from fastpsr.files import can_be_read_again, write_text
from fastpsr.results import as_json
from fastpsr.tables import parquet_files
from fastpsr.version import __version__


def print_evaluation(evaluation: Evaluation) -> None:
    """Print a line per metric with its meaning, or a column per system and condition."""
    if evaluation.groups[0].system is not None or len(evaluation.groups) > 1:
        console.print(evaluation.to_text(console.width), soft_wrap=True)
        return
    console.print(str(evaluation.all_samples))
    header, *lines = grid_of_one(evaluation, "meaning").texts
    if evaluation.intervals is not None:
        console.print(evaluation.settings)
    table = Table(box=None, pad_edge=False)
    for name in header:
        justify = "right" if name == "value" else "left"
        table.add_column(name, justify=justify, no_wrap=name != "meaning")  # type: ignore[arg-type]
    for line in lines:
        table.add_row(*line)
    console.print(table, soft_wrap=False)
    for remark in remarks(evaluation):
        console.print(remark)


def write_evaluation(
    evaluation: Evaluation,
    scores_are: str,
    files: Mapping[str, Path | None],
    inputs: Sequence[Path | None],
    **more: Any,
) -> None:
    """Write the requested files by option; JSON also has what was read, and `more` by name."""
    makers: Mapping[str, Callable[[Evaluation], str]] = {
        "--json": lambda evaluation: as_json(
            {"version": __version__, "scores_are": scores_are, **more, **evaluation.to_dict(),
             "inputs": described(inputs)}
        ),
        "--csv": as_csv,
        "--markdown": as_markdown,
        "--latex": as_latex,
    }  # fmt: skip
    for option, path in files.items():
        if path is not None and str(path) == "-":
            sys.stdout.write(makers[option](evaluation))
        elif path is not None:
            write_text(path, makers[option](evaluation))


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
    found: list[dict[str, Any]] = []
    for path in paths:
        if path is None:
            continue
        if can_be_read_again(path):
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.append(_entry(path, path.stat().st_size, digest))
        else:
            files = [Path(name) for name in parquet_files(path)]
            found += [_entry(each, each.stat().st_size, None) for each in files]
            found += [] if files else [_entry(path, None, None)]
    return found


def _entry(path: Path, n_bytes: int | None, digest: str | None) -> dict[str, Any]:
    return {"path": str(path), "n_bytes": n_bytes, "sha256": digest}
