"""Evaluations as files: JSON, CSV, Markdown, LaTeX."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fastpsr.errors import ArgumentError
from fastpsr.evaluation.layout import POOLED, as_tables, headings_of_differences
from fastpsr.files import write_text
from fastpsr.results import as_json

if TYPE_CHECKING:
    from fastpsr.evaluation.table import Evaluation

_Lines = list[list[str]]
_INTERVAL = re.compile(r"\[.*\]|no interval")
_ENDINGS = {
    ".bz2", ".csv", ".gz", ".h5", ".hdf5", ".json", ".npy", ".npz", ".parquet", ".score", ".scores",
    ".tsv", ".txt", ".xz", ".zst",
}  # fmt: skip


def write(evaluation: "Evaluation", path: str | os.PathLike[str]) -> None:
    """Write an evaluation in the format that the ending of the path names."""
    make = _BY_ENDING.get(Path(path).suffix)
    if make is None:
        *others, last = _BY_ENDING
        rule = f"must end in {', '.join(others)} or {last}, not {os.fspath(path)!r}"
        raise ArgumentError("path", rule)
    write_text(path, make(evaluation))


def as_csv(evaluation: "Evaluation") -> str:
    """Return CSV with a header, and a line per value, then per difference."""
    return evaluation.to_frame().write_csv()


def as_markdown(evaluation: "Evaluation") -> str:
    """Return a table of values, then of differences; of two systems, both are in one."""
    tables = []
    for n_names, lines in as_tables(evaluation):
        rule = ["---"] * n_names + ["--:"] * (len(lines[0]) - n_names)
        escaped = [[c.replace("|", "\\|") for c in line] for line in [lines[0], rule, *lines[1:]]]
        tables.append("".join(f"| {' | '.join(line)} |\n" for line in escaped))
    return f"\n{'; '.join(headings_of_differences(evaluation))}\n\n".join(tables)


def as_latex(evaluation: "Evaluation") -> str:
    """Return a tabular of values, then of differences, as for Markdown; it needs booktabs.

    Systems that are called by their files are named without the endings of these. Percent signs are
    in the headings, and intervals below their values.
    """
    tables = []
    for n_names, lines in as_tables(_without_endings(evaluation)):
        n_names, lines = _without_pooled(n_names, lines)
        head, *body = [
            " & ".join(_escape(cell) for cell in line) + r" \\"
            for line in _with_units(n_names, lines)
        ]
        sides = "l" * n_names + "r" * (len(lines[0]) - n_names)
        rows = [r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
        tables.append("\n".join([rf"\begin{{tabular}}{{{sides}}}", *rows, r"\end{tabular}", ""]))
    return f"\n% {'; '.join(headings_of_differences(evaluation))}\n".join(tables)


def _without_pooled(n_names: int, lines: _Lines) -> tuple[int, _Lines]:
    """Return a table without a column of conditions that says "pooled" in each line."""
    if n_names < 2 or any(line[1] != POOLED for line in lines[1:]):
        return n_names, lines
    return n_names - 1, [[*line[:1], *line[2:]] for line in lines]


def _with_units(n_names: int, lines: _Lines) -> _Lines:
    """Move percent signs to the names of metrics, and intervals to lines below their values."""
    head, *body = lines
    if head[0] == "metric":
        names = [line[0] + " [%]" * any(" %" in cell for cell in line[1:]) for line in body]
        return [head, *([n, *map(_bare, line[1:])] for n, line in zip(names, body, strict=True))]
    units = ["" if k < n_names else " [%]" * any(" %" in line[k] for line in body)
             for k in range(len(head))]  # fmt: skip
    found = [[name + unit for name, unit in zip(head, units, strict=True)]]
    for line in body:
        intervals = ["".join(_INTERVAL.findall(cell)) for cell in line[n_names:]]
        values = [_bare(_INTERVAL.sub("", cell)).strip() for cell in line[n_names:]]
        found.append([*line[:n_names], *values])
        if any(intervals):
            found.append([*[""] * n_names, *intervals])
    return found


def _bare(cell: str) -> str:
    return cell.replace(" %", "")


def _without_endings(evaluation: "Evaluation") -> "Evaluation":
    """Return an evaluation whose systems have no endings of files, if their names still differ."""
    names = {each.system for each in evaluation.groups if each.system is not None}
    short = {name: _without_ending(name) for name in names}
    differ = names and len(set(short.values())) == len(names)
    return evaluation.renamed(short) if differ else evaluation


def _without_ending(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return _without_ending(stem) if stem and f"{dot}{ending.lower()}" in _ENDINGS else name


def _escape(text: str) -> str:
    special = {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<": "$<$", ">": "$>$", "≥": r"$\geq$",
    }  # fmt: skip
    text = re.sub(r"=\[(.+), inf\]$", r" ≥ \1", re.sub(r"=\[-inf, (.+)\)$", r" < \1", text))
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


_BY_ENDING: Mapping[str, Callable[["Evaluation"], str]] = {
    ".json": lambda evaluation: as_json(evaluation.to_dict()),
    ".csv": as_csv,
    ".md": as_markdown,
    ".tex": as_latex,
}
