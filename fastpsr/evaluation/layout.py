"""The grids of an evaluation, and the words around them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fastpsr.evaluation.grid import Cell, Grid, number, with_interval
from fastpsr.results import aligned

if TYPE_CHECKING:
    from fastpsr.bootstrap import BootstrapResult
    from fastpsr.bootstrap.settings import Intervals
    from fastpsr.evaluation.table import Difference, Evaluation, Row

#: Name of all samples of a system in tables.
POOLED = "pooled"


def grids(evaluation: "Evaluation") -> list[Grid]:
    """Return the values, then the differences; those of two systems stand beside their values."""
    if is_of_two(evaluation):
        return [grid_of_two(evaluation)]
    if len(evaluation.groups) == 1 and evaluation.all_samples.system is None:
        return [grid_of_one(evaluation)]
    tables = [grid_of_values(evaluation)]
    if evaluation.differences:
        tables.append(grid_of_differences(evaluation.differences))
    return [grid.without("") for grid in tables]


def grid_of_one(evaluation: "Evaluation", notes: str = "") -> Grid:
    """Return a line per metric; the column of notes has a name, or there is none."""
    has_intervals = evaluation.intervals is not None
    has_intervals |= any(row.low is not None for row in evaluation.rows)
    lines = []
    for row in evaluation.rows:
        cell = value_cell(row)
        interval = Cell(cell.interval, row.low, remarks=cell.remarks)
        value = [replace(cell, interval="", remarks=()), *[interval] * has_intervals]
        lines.append([Cell(row.metric), *value, *[Cell(row.note)] * bool(notes)])
    return Grid(["metric", "value", *["interval"] * has_intervals, *[notes] * bool(notes)], lines)


def grid_of_values(evaluation: "Evaluation") -> Grid:
    """Return a line per system and group: names, sizes of classes, metrics."""
    metrics = list(dict.fromkeys(row.metric for row in evaluation.rows))
    header, sizes = _sizes(evaluation)
    lines = []
    for group, counts in zip(evaluation.groups, sizes, strict=True):
        cells = {row.metric: value_cell(row) for row in evaluation.of(group)}
        values = [cells.get(name, Cell("")) for name in metrics]
        lines.append([Cell(group.system or ""), Cell(group.group or POOLED), *counts, *values])
    return Grid(["system", "condition", *header, *metrics], lines, 2)


def grid_of_differences(differences: "Sequence[Difference]") -> Grid:
    """Return a line per pair and what it is of: the group of systems, or the system of groups."""
    metrics = list(dict.fromkeys(pair.metric for pair in differences))
    names = list(dict.fromkeys(pair.name for pair in differences))
    cells: dict[tuple[str, str], dict[str, Cell]] = {}  # by pair and place, and metric
    for pair in differences:
        cells.setdefault((pair.name, pair.place), {})[pair.metric] = difference_cell(pair)
    kinds = {pair.is_of_groups: "system" if pair.is_of_groups else "condition"
             for pair in differences}  # fmt: skip
    lines = [
        [*map(Cell, place), *(cells[place].get(metric, Cell("")) for metric in metrics)]
        for place in sorted(cells, key=lambda place: names.index(place[0]))
    ]
    return Grid(["difference", " or ".join(kinds.values()), *metrics], lines, 2)


def grid_of_two(evaluation: "Evaluation") -> Grid:
    """Return sizes and metrics of two systems, and their differences."""
    a, b = (group.system or "" for group in evaluation.groups)
    more = ["difference", *["interval", "excludes 0"] * (evaluation.intervals is not None)]
    names, sizes = _sizes(evaluation)
    lines = [
        [Cell(name), *cells, *[Cell("")] * len(more)]
        for name, *cells in zip(names, *sizes, strict=True)
    ]
    for pair in evaluation.differences:
        values = [Cell(number(row.value, row.unit), row.value) for row in (pair.a, pair.b)]
        cell = difference_cell(pair)
        answer = {None: "", True: "yes", False: "no"}[cell.excludes_zero]
        compared = [Cell(cell.text, cell.number), Cell(cell.interval), Cell(answer)]
        lines.append([Cell(pair.metric), *values, *compared[: len(more)]])
    return Grid(["metric", a, b, *more], lines)


def is_of_two(evaluation: "Evaluation") -> bool:
    """Whether these are the differences of two systems, without groups."""
    differences = evaluation.differences
    return len(evaluation.groups) == 2 and bool(differences) and not differences[0].is_of_groups


def value_cell(row: "Row") -> Cell:
    """Return the value of a row with its interval."""
    text, interval = with_interval(row.value, row.low, row.high, row.unit)
    return Cell(text, row.value, interval, remarks=_remarks_of(row))


def difference_cell(pair: "Difference") -> Cell:
    """Return a difference with its interval; "equal" and no interval if it is 0."""
    remarks = () if pair.result is None else _remarks_of(pair.result)
    if pair.is_equal:
        return Cell("equal", pair.value, remarks=remarks)
    text, interval = with_interval(pair.value, pair.low, pair.high, pair.a.unit)
    return Cell(text, pair.value, interval, pair.excludes_zero, remarks)


def _remarks_of(result: "Row | BootstrapResult") -> tuple[str, ...]:
    undefined = f"undefined replicates: {result.n_undefined:,}" if result.n_undefined else ""
    return tuple(filter(None, [undefined, result.caution and "interval not to be used"]))


def _sizes(evaluation: "Evaluation") -> tuple[list[str], list[list[Cell]]]:
    """Return a header, and the numbers of samples of each group, by class if there are two."""
    groups = evaluation.groups
    header, sizes = ["samples"], [[group.n_samples] for group in groups]
    if all(group.n_classes == 2 for group in groups):
        header = ["targets", "non-targets"]
        sizes = [[*reversed(group.class_sizes)] for group in groups]
    return header, [[Cell(f"{n:,}", n) for n in counts] for counts in sizes]


# Text and HTML


def as_text(evaluation: "Evaluation", width: int) -> str:
    """Return a line per metric, or a column per system and group, and the words around these."""
    lines = [evaluation.settings] if evaluation.settings else []
    tables = grids(evaluation)
    if len(evaluation.groups) == 1 and evaluation.all_samples.system is None:
        rows = grid_of_one(evaluation, "note").texts[1:]
        rows = [[name, f"{value:>10}", *more] for name, value, *more in rows]
        places = [k for k in range(len(rows[0])) if any(row[k] for row in rows)]
        cells = [[row[k] for k in places] for row in rows]
        lines = [
            str(evaluation.all_samples),
            *lines,
            *aligned(cells, "lr" + "l" * (len(places) - 2)),
        ]
        return "\n".join([*lines, *remarks(evaluation)])
    if is_of_two(evaluation):
        lines.append(f"difference: {evaluation.differences[0].name}")
        lines += _one_below_another(_tables(tables[0].texts, 1, width))
    else:
        lines += _in_columns(tables[0], width)
        for grid in tables[1:]:
            lines += ["", *headings_of_differences(evaluation), *_in_columns(grid, width)]
    return "\n".join([*lines, *gaps(evaluation), *remarks(evaluation)])


def as_html(evaluation: "Evaluation") -> str:
    """Return tables for notebooks."""
    several = len(evaluation.groups) > 1
    what = f"{len(evaluation.groups)} groups of samples" if several else evaluation.all_samples
    title = "; ".join(filter(None, [str(what), *remarks(evaluation), evaluation.settings]))
    if several:
        html = grid_of_values(evaluation).without("").as_html(title)
    else:
        grid = grid_of_one(evaluation, "note")
        html = grid.as_html(title, f"{grid.sides[:-1]}l")
    if evaluation.differences:
        html += grids(evaluation)[-1].as_html("; ".join(headings_of_differences(evaluation)))
    return html


def headings_of_differences(evaluation: "Evaluation") -> list[str]:
    """Return what stands above a table of differences: of stars and intervals, if it has some."""
    has_stars = any(pair.excludes_zero for pair in evaluation.differences)
    heading = "differences"
    if has_stars and not is_of_two(evaluation):  # which has a column for it
        heading += "; * where the interval excludes 0"
    return [heading, *filter(None, [simultaneous(evaluation.differences, evaluation.intervals)])]


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


def _in_columns(grid: Grid, width: int) -> list[str]:
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
    return _one_below_another(tables)


def _one_below_another(tables: Sequence[Sequence[str]]) -> list[str]:
    return [line for table in tables for line in ("", *table)][1:]


def _tables(rows: Sequence[Sequence[str]], n_names: int, width: int) -> list[list[str]]:
    """Return tables of as many columns as fit, each after the first columns, which are names."""
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    tables = []
    begin = n_names
    while begin < len(widths):
        room = width + 2 - sum(widths[:n_names])
        end = begin + 1
        while end < len(widths) and sum(widths[begin : end + 1]) <= room:
            end += 1
        cells = [[*row[:n_names], *row[begin:end]] for row in rows]
        tables.append(aligned(cells, "l" * n_names + "r" * (end - begin)))
        begin = end
    return tables


# Words


def reasons(rows: "Sequence[Row]") -> dict[str, list[str]]:
    """Return why values are not finite, and by reason the metrics that it holds of."""
    metrics: dict[str, list[str]] = {}
    for row in rows:
        if not math.isfinite(row.value):
            metrics.setdefault(row.note, []).append(row.metric)
    return metrics


def gaps(evaluation: "Evaluation") -> list[str]:
    """Return why values are not finite, or not within their corrected intervals, by group."""
    lines = []
    for group in evaluation.groups:
        rows = evaluation.of(group)
        outside = [row for row in rows if math.isfinite(row.value) and row.is_outside]
        notes = reasons(rows) | {
            corrected(row.corrected, row.unit): [row.metric]
            for row in outside
            if row.corrected is not None
        }
        place = ", ".join(name for name in (group.system, group.group or POOLED) if name)
        for note, metrics in notes.items():
            which = "" if len(metrics) == len(rows) else f"{', '.join(metrics)}: "
            lines.append(f"{place}: {which}{note}")
    return lines


def remarks(evaluation: "Evaluation") -> list[str]:
    """Return lines on intervals that are not to be used, or leave out many replicates.

    Lines on the best calibrators follow.
    """
    intervals = evaluation.intervals
    lines, in_doubt = [], set()
    results: list[tuple[tuple[str | None, str | None], str, Row | BootstrapResult]]
    results = [((row.system, row.group), row.metric, row) for row in evaluation.rows]
    results += [((d.place, d.name), d.metric, d.result) for d in evaluation.differences if d.result]
    for place, metric, result in results:
        about = f"{', '.join(filter(None, place))}: ".removeprefix(": ") + metric
        if undefined := counted_if_many(result.n_undefined, intervals):
            lines.append(f"{about} is {undefined}")
        if result.caution:
            lines.append(f"{about} has {result.caution}")
    for row in evaluation.rows:
        if row.role == "RCL" and counted_if_many(row.n_undefined, intervals):
            in_doubt.add((row.system, row.group))
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
    """Say what a value is without the optimism of these samples."""
    return f"{number(value, unit)} once corrected for optimism on these samples"
