"""Evaluations of several systems and groups as lines of text."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastpsr.evaluation.table import Evaluation

__all__ = ["POOLED", "gaps", "in_brackets", "in_columns", "pivot"]

#: Name of all samples of a system in tables.
POOLED = "pooled"
_BETWEEN = 2  # blanks between columns


def in_columns(evaluation: "Evaluation", width: int) -> list[str]:
    """Return a line per metric, a column per system and group, and reasons of missing values below.

    Columns that exceed the width are continued in further tables.
    """
    header, *lines = pivot(evaluation)
    first = ["", "", *header[2:]]
    if not any(line[0] for line in lines):  # one system without a name
        first, lines = first[1:], [line[1:] for line in lines]
    left = max(map(len, first))
    widths = [max(map(len, line)) for line in lines]
    shown: list[str] = []
    begin = 0
    while begin < len(lines):
        end = begin + _n_fitting(widths[begin:], width - left)
        shown += [""] * bool(shown)
        for place, name in enumerate(first):
            cells = [f"{lines[k][place]:>{widths[k]}}" for k in range(begin, end)]
            shown.append((" " * _BETWEEN).join([f"{name:<{left}}", *cells]).rstrip())
        begin = end
    return [*shown, *gaps(evaluation)]


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
            f"{rows[name].value:.4f} {in_brackets(rows[name].low, rows[name].high)}".rstrip()
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
    return "" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"


def _n_fitting(widths: Sequence[int], room: int) -> int:
    """Return how many of the next columns fit, at least one."""
    for n_fitting, width in enumerate(widths):
        room -= width + _BETWEEN
        if room < 0:
            return max(n_fitting, 1)
    return len(widths)
