"""Evaluations of several systems and groups as lines of text."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastpsr.evaluation.table import Evaluation

__all__ = ["POOLED", "gaps", "in_brackets", "in_columns", "number", "pivot"]

#: Name of all samples of a system in tables.
POOLED = "pooled"
_BETWEEN = 2  # blanks between columns


def in_columns(evaluation: "Evaluation", width: int) -> list[str]:
    """Return a line per metric, a column per system and group, and reasons of missing values below.

    Columns that exceed the width are continued in a further table. If more than two tables were
    needed, there is a line per system and group and a column per metric, if that makes fewer.
    """
    lines = pivot(evaluation)
    n_names = 2
    if not any(line[0] for line in lines[1:]):  # one system without a name
        n_names, lines = 1, [line[1:] for line in lines]
    turned = [list(row) for row in zip(*lines, strict=True)]
    for row in turned[:n_names]:
        row[0] = ""
    tables = _tables(turned, 1, width)
    if len(tables) > 2:
        tables = min(tables, _tables(lines, n_names, width), key=len)
    shown = [line for table in tables for line in ("", *table)]
    return [*shown[1:], *gaps(evaluation)]


def _tables(rows: Sequence[Sequence[str]], n_names: int, width: int) -> list[list[str]]:
    """Return tables of as many columns as fit, each after the first columns, which are names."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = [_joined(f"{row[k]:<{widths[k]}}" for k in range(n_names)) for row in rows]
    tables = []
    begin = n_names
    while begin < len(widths):
        end = begin + _n_fitting(widths[begin:], width - len(names[0]))
        cells = [[f"{row[k]:>{widths[k]}}" for k in range(begin, end)] for row in rows]
        tables.append([_joined([n, *c]).rstrip() for n, c in zip(names, cells, strict=True)])
        begin = end
    return tables


def _joined(cells: Iterable[str]) -> str:
    return (" " * _BETWEEN).join(cells)


def pivot(evaluation: "Evaluation") -> list[list[str]]:
    """Return a header, and a line per system and group: names, sizes of classes, metrics."""
    metrics = list(dict.fromkeys(row.metric for row in evaluation.rows))
    is_binary = all(group.n_classes == 2 for group in evaluation.groups)
    sizes = ["targets", "non-targets"] if is_binary else ["samples"]
    lines = []
    for group in evaluation.groups:
        counts = reversed(group.class_sizes) if is_binary else [group.n_samples]
        rows = {row.metric: row for row in evaluation.of(group)}
        cells = [
            f"{number(rows[name].value)} {in_brackets(rows[name].low, rows[name].high)}".rstrip()
            if name in rows
            else ""
            for name in metrics
        ]
        names = [group.system or "", group.group or POOLED]
        lines.append([*names, *(f"{n:,}" for n in counts), *cells])
    return [["system", "condition", *sizes, *metrics], *lines]


def gaps(evaluation: "Evaluation") -> list[str]:
    """Return why values are not finite, once for all metrics of a group with the same reason."""
    lines = []
    for group in evaluation.groups:
        rows = evaluation.of(group)
        reasons: dict[str, list[str]] = {}
        for row in rows:
            if not math.isfinite(row.value):
                reasons.setdefault(row.note, []).append(row.metric)
        place = ", ".join(name for name in (group.system, group.group or POOLED) if name)
        for note, metrics in reasons.items():
            which = "" if len(metrics) == len(rows) else f"{', '.join(metrics)}: "
            lines.append(f"{place}: {which}{note}")
    return lines


def in_brackets(low: float | None, high: float | None) -> str:
    """Return an interval as text, or "" if there is none.

    Examples
    --------
    >>> in_brackets(0.25, 0.75)
    '[0.2500, 0.7500]'
    """
    return "" if low is None or high is None else f"[{number(low)}, {number(high)}]"


def number(value: float) -> str:
    """Return a number with four decimals, or two digits of one that these would show as 0.

    Examples
    --------
    >>> number(0.25), number(-2.34e-5), number(0.0)
    ('0.2500', '-2.3e-05', '0.0000')
    """
    shown = f"{value:.4f}"
    return f"{value:.1e}" if value != 0.0 and float(shown) == 0.0 else shown


def _n_fitting(widths: Sequence[int], room: int) -> int:
    """Return how many of the next columns fit, at least one."""
    for n_fitting, width in enumerate(widths):
        room -= width + _BETWEEN
        if room < 0:
            return max(n_fitting, 1)
    return len(widths)
