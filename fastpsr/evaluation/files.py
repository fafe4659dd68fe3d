"""Evaluations as files: JSON, CSV, Markdown, LaTeX."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fastpsr.errors import ArgumentError
from fastpsr.evaluation.layout import POOLED, grids, headings_of_differences
from fastpsr.files import write_text
from fastpsr.results import as_json

if TYPE_CHECKING:
    from fastpsr.evaluation.table import Evaluation

_ENDINGS = {
    ".bz2", ".csv", ".gz", ".h5", ".hdf5", ".json", ".npy", ".npz", ".parquet", ".score", ".scores",
    ".tsv", ".txt", ".xz", ".zst",
}  # fmt: skip


def write(evaluation: "Evaluation", path: str | os.PathLike[str]) -> None:
    """Write an evaluation in the format that the ending of the path names."""
    make = _BY_ENDING.get(Path(path).suffix)
    if make is None:
        *endings, last = _BY_ENDING
        rule = f"must end in {', '.join(endings)} or {last}, not {os.fspath(path)!r}"
        raise ArgumentError("path", rule)
    write_text(path, make(evaluation))


def as_csv(evaluation: "Evaluation") -> str:
    """Return CSV with a header, and a line per value, then per difference."""
    return evaluation.to_frame().write_csv()


def as_markdown(evaluation: "Evaluation") -> str:
    """Return a table of values, then of differences; of two systems, both are in one."""
    heading = f"\n{'; '.join(headings_of_differences(evaluation))}\n\n"
    return heading.join(grid.as_markdown() for grid in grids(evaluation))


def as_latex(evaluation: "Evaluation") -> str:
    """Return a tabular of values, then of differences, as for Markdown; it needs booktabs.

    Systems that are called by their files are named without the endings of these.
    """
    heading = f"\n% {'; '.join(headings_of_differences(evaluation))}\n"
    tables = grids(_without_endings(evaluation))
    return heading.join(grid.without(POOLED).as_latex() for grid in tables)


def _without_endings(evaluation: "Evaluation") -> "Evaluation":
    """Return an evaluation whose systems have no endings of files, if their names still differ."""
    names = {group.system for group in evaluation.groups if group.system is not None}
    short = {name: _without_ending(name) for name in names}
    differ = names and len(set(short.values())) == len(names)
    return evaluation.renamed(short) if differ else evaluation


def _without_ending(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return _without_ending(stem) if stem and f"{dot}{ending.lower()}" in _ENDINGS else name


_BY_ENDING: Mapping[str, Callable[["Evaluation"], str]] = {
    ".json": lambda evaluation: as_json(evaluation.to_dict()),
    ".csv": as_csv,
    ".md": as_markdown,
    ".tex": as_latex,
}
