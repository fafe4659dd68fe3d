"""An evaluation as text, HTML and files: its grids, and the words around them."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fastpsr.errors import ArgumentError
from fastpsr.evaluation.grid import Cell, Grid, number, pivot, with_interval
from fastpsr.files import write_text
from fastpsr.results import aligned, as_json

if TYPE_CHECKING:
    from fastpsr.bootstrap import BootstrapResult
    from fastpsr.bootstrap.settings import Intervals
    from fastpsr.data import Floats
    from fastpsr.evaluation.table import Difference, Evaluation, Row

#: Name of all samples of a system in tables.
POOLED = "pooled"
_STARS = "; * where the interval excludes 0"


def is_of_one(evaluation: "Evaluation") -> bool:
    """Whether these are the values of one system that has no name, without groups."""
    return len(evaluation.groups) == 1 and evaluation.all_samples.system is None


def is_of_two(evaluation: "Evaluation") -> bool:
    """Whether these are the differences of two systems, without groups."""
    differences = evaluation.differences
    return len(evaluation.groups) == 2 and bool(differences) and not differences[0].is_of_groups


def grids(evaluation: "Evaluation", notes: str = "") -> list[Grid]:
    """Return the values, then the differences; of two systems they are beside the values.

    Those of one system have a column of notes, if it is given a name. Captions of differences have
    a line, or three.
    """
    if is_of_one(evaluation):
        return [grid_of_one(evaluation, notes)]
    if is_of_two(evaluation):
        return [_grid_of_two(evaluation)]
    tables = [grid_of_values(evaluation)]
    if evaluation.differences:
        tables.append(grid_of_differences(evaluation.differences))
        caption = "differences"
        if any(pair.excludes_zero for pair in evaluation.differences):
            caption += _STARS
        if jointly := simultaneous(evaluation.differences, evaluation.intervals):
            caption += f"\n{jointly}\np-values are of each difference alone"
        tables[1] = replace(tables[1], caption=caption)
    return [grid.without("") for grid in tables]


def grid_of_one(evaluation: "Evaluation", notes: str = "") -> Grid:
    """Return a line per metric; without a name there is no column of notes."""
    lines = []
    for row in evaluation.rows:
        cell = value_cell(row)
        interval = Cell(cell.interval, row.low, remarks=cell.remarks)
        value = replace(cell, interval="", remarks=())
        lines.append([Cell(row.metric), value, interval, Cell(row.note if notes else "")])
    return Grid(["metric", "value", "interval", notes], lines, n_words=1).without("")


def grid_of_values(evaluation: "Evaluation") -> Grid:
    """Return a line per system and group: names, sizes of classes, metrics."""
    header, sizes = _sizes(evaluation)
    cells = []
    for group, counts in zip(evaluation.groups, sizes, strict=True):
        line = (Cell(group.system or ""), Cell(group.group or POOLED), *counts)
        cells += [(line, row.metric, value_cell(row)) for row in evaluation.of(group)]
    return pivot(["system", "condition", *header], cells, 2)


def grid_of_differences(differences: "Sequence[Difference]") -> Grid:
    """Return a line per pair, with the group of two systems, or the system of two groups."""
    names = list(dict.fromkeys(pair.name for pair in differences))
    kinds = dict.fromkeys("system" if d.is_of_groups else "condition" for d in differences)
    cells = [
        ((Cell(pair.name), Cell(pair.place)), pair.metric, difference_cell(pair))
        for pair in sorted(differences, key=lambda pair: names.index(pair.name))
    ]
    return pivot(["difference", " or ".join(kinds)], cells, 2)


def _grid_of_two(evaluation: "Evaluation") -> Grid:
    """Return sizes and metrics of two systems, and their differences."""
    a, b = (group.system or "" for group in evaluation.groups)
    names, sizes = _sizes(evaluation)
    nothing = [Cell("")] * 2
    has_stars = any(pair.excludes_zero for pair in evaluation.differences)
    lines = [[Cell(name), *of_both, *nothing] for name, *of_both in zip(names, *sizes, strict=True)]
    for pair in evaluation.differences:
        values = [Cell(number(row.value, row.unit), row.value) for row in (pair.a, pair.b)]
        cell = difference_cell(pair)
        star = " *" if cell.excludes_zero else "  " * has_stars  # numbers stand below numbers
        compared = [Cell(cell.text, cell.number), Cell(cell.interval and cell.interval + star)]
        lines.append([Cell(pair.metric), *values, *compared])
    header = ["metric", a, b, "difference", "interval"]
    caption = f"difference: {evaluation.differences[0].name}{_STARS * has_stars}"
    return Grid(header, lines, caption=caption).without("")


def value_cell(row: "Row") -> Cell:
    """Return the value of a row with its interval."""
    text, interval = with_interval(row.value, row.low, row.high, row.unit)
    return Cell(text, row.value, interval, remarks=_remarks_of(row))


def difference_cell(pair: "Difference") -> Cell:
    """Return a difference with its interval and p-value; "equal" and no interval if it is 0."""
    remarks = () if pair.result is None else _remarks_of(pair.result)
    if pair.is_equal:
        return Cell("equal", pair.value, remarks=remarks)
    text, interval = with_interval(pair.value, pair.low, pair.high, pair.a.unit)
    if pair.result is not None and pair.p_value is not None:
        interval += f", {_p_value(pair.p_value, pair.result.replicates)}"
    return Cell(text, pair.value, interval, pair.excludes_zero, remarks)


def _p_value(value: float, replicates: "Floats") -> str:
    """Return a p-value with three decimals, or the bound that these and the replicates leave.

    Examples
    --------
    >>> _p_value(0.0312, np.zeros(0)), _p_value(2e-5, np.zeros(0)), _p_value(2 / 201, np.zeros(200))
    ('p = 0.031', 'p < 0.001', 'p < 0.010')
    """
    n_defined = int(np.count_nonzero(~np.isnan(replicates)))
    least = 2.0 / (n_defined + 1.0) if n_defined else 0.0
    bound = (math.floor(1000.0 * least) + 1.0) / 1000.0
    return f"p < {bound:.3f}" if value < bound else f"p = {value:.3f}"


def _remarks_of(result: "Row | BootstrapResult") -> tuple[str, ...]:
    undefined = f"undefined replicates: {result.n_undefined:,}" if result.n_undefined else ""
    return tuple(filter(None, [undefined, result.caution and "interval not to be used"]))


def _sizes(evaluation: "Evaluation") -> tuple[list[str], list[list[Cell]]]:
    """Return a header, and the numbers of samples of each group, per class of two."""
    groups = evaluation.groups
    header, sizes = ["samples"], [[group.n_samples] for group in groups]
    if all(group.n_classes == 2 for group in groups):
        words = {group.class_words for group in groups}
        header = [*reversed(words.pop() if len(words) == 1 else ("class 0", "class 1"))]
        sizes = [[*reversed(group.class_sizes)] for group in groups]
    return header, [[Cell(f"{n:,}", n) for n in counts] for counts in sizes]


# Text and HTML


def as_text(evaluation: "Evaluation", width: int) -> str:
    """Return a line per metric, or a column per system and group, and the words around these."""
    lines = [evaluation.settings] if evaluation.settings else []
    grid, *of_differences = grids(evaluation, "note")
    if is_of_one(evaluation):
        rows = [[name, f"{value:>10}", *more] for name, value, *more in grid.texts[1:]]
        lines = [
            str(evaluation.all_samples),
            *lines,
            *aligned(rows, "lr" + "l" * (len(rows[0]) - 2)),
        ]
    elif is_of_two(evaluation):
        lines += [grid.caption, "\n\n".join(_tables(grid.texts, 1, width))]
    else:
        lines.append(_in_columns(grid, width))
    for grid in of_differences:
        lines += ["", grid.caption, _in_columns(grid, width)]
    notes = [] if is_of_one(evaluation) else gaps(evaluation)
    return "\n".join([*lines, *notes, *remarks(evaluation)])


def as_html(evaluation: "Evaluation") -> str:
    """Return tables for notebooks."""
    grid, *of_differences = grids(evaluation, "note")
    several = len(evaluation.groups) > 1
    what = f"{len(evaluation.groups)} groups of samples" if several else str(evaluation.all_samples)
    words = [what, grid.caption, *remarks(evaluation), evaluation.settings]
    html = grid.as_html("; ".join(filter(None, words)))
    return html + "".join(other.as_html(other.title) for other in of_differences)


def simultaneous(differences: "Sequence[Difference]", intervals: "Intervals | None") -> str:
    """Return how many intervals of differences of groups are simultaneous; "" if none are."""
    sizes = sorted(
        {pair.n_simultaneous for pair in differences if pair.is_of_groups and pair.result}
    )
    if intervals is None or sizes in ([], [1]):
        return ""
    level = f"{100.0 * intervals.confidence_level:g} % intervals"
    of_groups = "" if all(pair.is_of_groups for pair in differences) else " of groups"
    n = " to ".join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))
    return f"{level}{of_groups} are simultaneous over {n} differences of each metric"


def _in_columns(grid: Grid, width: int) -> str:
    """Return a line per column of a grid, and a column per line, as text.

    Columns that exceed the width are continued in a further table. If more than two tables were
    needed, they are as the grid is, if that makes fewer.
    """
    lines, n_names = grid.texts, grid.n_names
    if any(cell.excludes_zero for line in grid.lines for cell in line):  # stars
        lines = [  # numbers stand below numbers
            [*line[:n_names], *(c if c.endswith("*") else f"{c}  " for c in line[n_names:])]
            for line in lines
        ]
    turned = [list(row) for row in zip(*lines, strict=True)]
    for row in turned[:n_names]:
        row[0] = ""
    tables = _tables(turned, 1, width)
    if len(tables) > 2:
        tables = min(tables, _tables(lines, n_names, width), key=len)
    return "\n\n".join(tables)


def _tables(rows: Sequence[Sequence[str]], n_names: int, width: int) -> list[str]:
    """Return tables that fit in width; each begins with the first columns, the names."""
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    tables = []
    begin = n_names
    while begin < len(widths):
        room = width + 2 - sum(widths[:n_names])
        end = begin + 1
        while end < len(widths) and sum(widths[begin : end + 1]) <= room:
            end += 1
        cells = [[*row[:n_names], *row[begin:end]] for row in rows]
        tables.append("\n".join(aligned(cells, "l" * n_names + "r" * (end - begin))))
        begin = end
    return tables


# Files


def write(evaluation: "Evaluation", path: str | os.PathLike[str]) -> None:
    """Write an evaluation in the format that the ending of the path names."""
    make = _BY_ENDING.get(Path(path).suffix.lower())
    if make is None:
        *endings, last = _BY_ENDING
        rule = f"must end in {', '.join(endings)} or {last}, not {os.fspath(path)!r}"
        raise ArgumentError("path", rule)
    write_text(path, make(evaluation))


def as_markdown(evaluation: "Evaluation") -> str:
    """Return a table of values, then of differences; of two systems, both are in one."""
    grid, *others = grids(evaluation)
    below = [f"\n{other.title}\n\n{other.as_markdown()}" for other in others]
    return "".join([grid.as_markdown(), *below])


def as_latex(evaluation: "Evaluation") -> str:
    """Return a tabular of values, then of differences, as for Markdown; it needs booktabs."""
    grid, *others = (grid.without(POOLED) for grid in grids(evaluation))
    below = [f"\n% {other.title}\n{other.as_latex()}" for other in others]
    return "".join([grid.as_latex(), *below])


_BY_ENDING: Mapping[str, Callable[["Evaluation"], str]] = {
    ".json": lambda evaluation: as_json(evaluation.to_dict()),
    ".csv": lambda evaluation: evaluation.to_frame().write_csv(),
    ".md": as_markdown,
    ".tex": as_latex,
}


# Words


def gaps(evaluation: "Evaluation") -> list[str]:
    """Return why values are not finite, or not within their corrected intervals, by group."""
    lines = []
    for group in evaluation.groups:
        rows, metrics = evaluation.of(group), dict[str, list[str]]()
        for row in rows:
            if not math.isfinite(row.value):
                metrics.setdefault(row.note, []).append(row.metric)
        for row in rows:
            if row.corrected is not None and row.is_outside and math.isfinite(row.value):
                metrics[corrected(row.corrected, row.unit)] = [row.metric]
        place = ", ".join(name for name in (group.system, group.group or POOLED) if name)
        for note, names in metrics.items():
            which = "" if len(names) == len(rows) else f"{', '.join(names)}: "
            lines.append(f"{place}: {which}{note}")
    return lines


def remarks(evaluation: "Evaluation") -> list[str]:
    """Return lines on intervals that are not to be used, or leave out many replicates.

    Lines on the best calibrators follow.
    """
    lines, in_doubt = [], set()
    results: list[tuple[tuple[str | None, str | None], str, Row | BootstrapResult]]
    results = [((row.system, row.group), row.metric, row) for row in evaluation.rows]
    results += [((d.place, d.name), d.metric, d.result) for d in evaluation.differences if d.result]
    for place, metric, result in results:
        about = f"{', '.join(filter(None, place))}: ".removeprefix(": ") + metric
        if undefined := counted_if_many(result.n_undefined, evaluation.intervals):
            lines.append(f"{about} is {undefined}")
            if getattr(result, "role", "") == "RCL":
                in_doubt.add(place)
        if result.caution:
            lines.append(f"{about} has {result.caution}")
    for group in evaluation.groups:
        if group.best_calibrator is not None:
            system = f"{group.system}: " if group.system else ""
            doubt = "; too few data to tell" * ((group.system, group.group) in in_doubt)
            lines.append(f"{system}{group.best_calibrator}{doubt}")
    return lines


def counted_if_many(n_undefined: int, intervals: "Intervals | None") -> str:
    """Say that a metric is undefined in more replicates than an interval excludes; else ""."""
    if intervals is None:
        return ""
    n, level = intervals.n_resamples, intervals.confidence_level
    if n_undefined <= (1.0 - level) * n:
        return ""
    return f"undefined in {n_undefined:,} of {n:,} replicates, which its interval leaves out"


def corrected(value: float, unit: str) -> str:
    """Describe a value without the optimism of these samples."""
    return f"{number(value, unit)} once corrected for optimism on these samples"
