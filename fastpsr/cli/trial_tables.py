"""Rows of trial-list evaluations as tables: terminal, JSON, CSV, Markdown, LaTeX."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from fastpsr.cli.show import console
from fastpsr.cli.tables import Makers, as_csv, as_json, as_latex, as_markdown
from fastpsr.cli.trial_rows import TrialRow
from fastpsr.evaluate import in_brackets

__all__ = ["print_rows", "short_names", "table_makers"]

_GAP = 2  # blanks between columns


def print_rows(rows: Sequence[TrialRow]) -> None:
    """Print a line per metric, a column per system and condition, and the reasons of gaps below.

    Columns that do not fit beside each other follow in further tables.
    """
    header, *lines = _pivot(rows)
    names = short_names([line[0] for line in lines])
    first = ["", "", *header[2:]]
    columns = [[names[line[0]], *line[1:]] for line in lines]
    left = max(map(len, first))
    while columns:
        n_fitting = _n_fitting(columns, console.width - left)
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        for _ in columns[:n_fitting]:
            table.add_column(justify="right", overflow="fold")
        for cells in zip(first, *columns[:n_fitting], strict=True):
            table.add_row(*cells)
        console.print(table)
        columns = columns[n_fitting:]
        if columns:
            console.print()
    for line in _reasons(rows, names):
        console.print(line)


def table_makers(rows: Sequence[TrialRow]) -> Makers:
    """Return what makes the text of each kind of file."""
    records = [asdict(row) for row in rows]
    lines = _pivot(rows)
    alignment = "ll" + "r" * (len(lines[0]) - 2)
    return {
        "--json": lambda: as_json(records),
        "--csv": lambda: as_csv(records),
        "--markdown": lambda: as_markdown(lines, alignment),
        "--latex": lambda: as_latex(lines, alignment),
    }


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return for each path its shortest end, in whole parts, that no other has.

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


def _pivot(rows: Sequence[TrialRow]) -> list[list[str]]:
    """Return a header, and a line per system and condition."""
    metrics = list(dict.fromkeys(row.metric for row in rows))
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        counts = [f"{row.n_target:,}", f"{row.n_nontarget:,}"]
        line = lines.setdefault((row.system, row.condition), [row.system, row.condition, *counts])
        line.append(f"{row.value:.4f} {in_brackets(row.low, row.high)}".rstrip())
    return [["system", "condition", "targets", "non-targets", *metrics], *lines.values()]


def _n_fitting(columns: Sequence[Sequence[str]], width: int) -> int:
    """Return how many of the next columns fit, at least one."""
    n_fitting = 0
    for column in columns:
        width -= max(map(len, column)) + _GAP
        if width < 0:
            break
        n_fitting += 1
    return max(n_fitting, 1)


def _reasons(rows: Sequence[TrialRow], names: dict[str, str]) -> list[str]:
    """Say why values are not finite: once for all metrics of a place with the same reason."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if not math.isfinite(row.value):
            place = (names[row.system], row.condition, row.note)
            places.setdefault(place, []).append(row.metric)
    n_metrics = len({row.metric for row in rows})
    lines = []
    for (system, condition, note), metrics in places.items():
        which = "" if len(metrics) == n_metrics else f"{', '.join(metrics)}: "
        lines.append(f"{system}, {condition}: {which}{note}")
    return lines
