"""Content of the sections of a report: tables, and how the report was made."""

import math
import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from fastpsr import __version__
from fastpsr.calibration import LinearFusion
from fastpsr.evaluation import Difference, Evaluation
from fastpsr.evaluation.grid import Cell, Grid, number, pivot
from fastpsr.evaluation.layout import (
    POOLED,
    grid_of_differences,
    grid_of_one,
    grid_of_values,
)
from fastpsr.report.content import Report
from fastpsr.report.names import by_column

_MOST_COLUMNS = 6  # of numbers in a table: as many as fit on a printed page
_ROLES = ("EER", "minDCF", "actDCF", "Cllr")  # of the overview: all better where lower
_OTHER_ROLES = ("EER", "minCllr", "NCE")  # if only the EER is present
_LIBRARIES = ("numpy", "scipy", "numba", "matplotlib")


def overview(report: Report) -> list[Grid]:
    """Return the usual metrics of all systems; nothing for a single result.

    With several systems and conditions, each metric has a table of systems by conditions.
    Otherwise one table has a column for each metric.
    """
    metrics = [name for role in _ROLES if (name := report.metric_of(role))]
    if len(metrics) < 2:
        metrics = [name for role in _OTHER_ROLES if (name := report.metric_of(role))]
    if len(report.results) < 2 or not metrics:
        return []
    cells = [
        (result, metric, Cell(number(row.value, row.unit), row.value))
        for result in report.results
        for metric in metrics
        if (row := result.row(metric)) is not None
    ]
    several = len(report.systems) > 1
    if several and report.has_conditions:
        column, short = by_column([result.condition for result in report.results])
        grids = []
        for metric in metrics:
            of_metric = [
                ((Cell(result.system),), short[result.condition], cell)
                for result, name, cell in cells
                if name == metric
            ]
            caption = f"{metric} by {column or 'condition'}"
            grids.append(pivot(["system"], of_metric, caption=caption))
    else:
        first = "system" if several else "condition"
        lines = [((Cell(getattr(result, first)),), metric, cell) for result, metric, cell in cells]
        grids = [pivot([first], lines, caption=f"By {first}")]
    return [_with_best(grid) for grid in grids] if several else grids


def _with_best(grid: Grid) -> Grid:
    """Mark the lowest numbers of each column as best, with all that are displayed alike."""
    columns = []
    for column in zip(*grid.lines, strict=True):
        numbers = [(cell.number, cell.text) for cell in column
                 if cell.number is not None and not math.isnan(cell.number)]  # fmt: skip
        best = min(numbers, default=(0.0, None))[1]
        columns.append([replace(cell, is_best=cell.text == best) for cell in column])
    return replace(grid, lines=list(zip(*columns, strict=True)))


def weights(fitted: LinearFusion) -> Grid:
    """Return the weights of a fusion, and its bias."""
    bias = float(fitted.bias_[1] - fitted.bias_[0])
    values = [*zip(fitted.columns_, fitted.weights_.tolist(), strict=True), ("bias", bias)]
    lines = [[Cell(name), Cell(f"{value:.5g}", value)] for name, value in values]
    return Grid(["column", "weight"], lines, caption="Fusion weights, fitted to all samples")


def metrics(report: Report) -> list[Grid]:
    """Return all metrics: by name for one result, else a line per result; then meanings."""
    evaluation = report.named
    grids = [_detection_costs(report)]
    if len(report.results) == 1:
        caption = f"Metrics of {report.results[0].place}: {evaluation.all_samples}"
        return [*grids, replace(grid_of_one(evaluation, "meaning"), caption=caption)]
    grid, caption = grid_of_values(evaluation), "Metrics by system and condition"
    if not report.has_conditions:
        grid, caption = grid.without(POOLED), "Metrics by system"
    return [*grids, replace(grid, caption=caption), _meanings(evaluation)]


def _detection_costs(report: Report) -> Grid:
    costs = dict.fromkeys(cost for point in report.operating_points for cost in point.costs)
    lines = []
    for cost in costs:
        values = [cost.p_target, cost.c_miss, cost.c_fa, cost.threshold, cost.default]
        texts = [f"{value:g}" for value in values]
        texts[3] = number(cost.threshold)
        lines.append([Cell(str(cost)), *map(Cell, texts, values)])
    header = ["minDCF and actDCF at", "target prior", "cost of a miss", "cost of a false alarm",
              "Bayes threshold (LLR)", "normalized by"]  # fmt: skip
    return Grid(header, lines, caption="Detection costs")


def _meanings(evaluation: Evaluation) -> Grid:
    """Return a line for each metric that has a value somewhere."""
    meanings: dict[str, str] = {}
    for row in evaluation.rows:
        if math.isfinite(row.value) and row.note:
            meanings.setdefault(row.metric, row.note)
    lines = [[Cell(metric), Cell(note)] for metric, note in meanings.items()]
    return Grid(["metric", "meaning"], lines, caption="Definitions of the metrics")


def differences(report: Report) -> list[Grid]:
    """Return the differences of systems, then of groups."""
    compared = report.named.differences
    of_systems = [pair for pair in compared if not pair.is_of_groups]
    of_groups = [pair for pair in compared if pair.is_of_groups]
    return [
        _differences(of_systems, "Differences by condition", ["systems", "condition"]),
        _differences(of_groups, "Differences between conditions", ["conditions", "system"]),
    ]


def _differences(compared: Sequence[Difference], caption: str, names: Sequence[str]) -> Grid:
    """Return a line per pair and place; of a single one, a line per metric."""
    grid = grid_of_differences(compared)
    if len(grid.lines) != 1:
        return replace(grid, header=[*names, *grid.header[2:]], caption=caption)
    ((pair, _, *cells),) = grid.lines
    lines = [[Cell(metric), cell] for metric, cell in zip(grid.header[2:], cells, strict=True)]
    return Grid(["metric", "difference"], lines, caption=f"Difference {pair.text}")


def facts(report: Report) -> dict[str, Any]:
    """Return when the report was made, the seed, and the versions of what computed its numbers."""
    intervals = report.evaluation.intervals
    facts: dict[str, Any] = {"created": report.made} if report.made else {}
    if intervals is not None:
        facts["seed"] = intervals.seed
    facts |= {"fastpsr": __version__, "Python": platform.python_version()}
    facts |= {name: version(name) for name in _LIBRARIES}
    return facts | {"platform": f"{platform.system()} {platform.machine()}"}


def narrow(grids: Sequence[Grid]) -> list[Grid]:
    """Return tables of few columns, each with the names of the lines; leave out empty tables."""
    tables = []
    for grid in grids:
        n_values = len(grid.header) - grid.n_names if grid.lines else 0
        n_tables = -(-n_values // _MOST_COLUMNS)
        for k in range(n_tables):
            begin, end = (grid.n_names + at * n_values // n_tables for at in (k, k + 1))
            words = f"{grid.caption}, part {k + 1} of {n_tables}" if n_tables > 1 else grid.caption
            places = [*range(grid.n_names), *range(begin, end)]
            tables.append(replace(grid.of(places), caption=words))
    return tables
