"""Content of the sections of a report: tables, and how the report was made."""

import math
import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from fastpsr import __version__
from fastpsr.calibration import LinearFusion
from fastpsr.evaluation import Evaluation, Intervals, Row
from fastpsr.evaluation.grid import Cell, Grid, number, pivot
from fastpsr.evaluation.layout import (
    POOLED,
    counted_if_many,
    grid_of_differences,
    grid_of_one,
    grid_of_values,
    value_cell,
)
from fastpsr.report.content import Report

_ROLES = ("EER", "minDCF", "actDCF", "Cllr")  # of the overview: all better where lower
_OTHER_ROLES = ("EER", "minCllr", "NCE")  # if only the EER is present
_SLIGHT = 1.0  # percent of the cross-entropy: less is hardly worth a calibrator
_LARGE = 5.0
_LIBRARIES = ("numpy", "scipy", "numba", "matplotlib")


def overview(report: Report) -> list[Grid]:
    """Return the usual metrics of all systems; nothing for a single result.

    With several systems and conditions, each metric has a table of systems by conditions.
    Otherwise one table has a column for each metric.
    """
    metrics = [name for role in _ROLES if (name := report.metric_of(role))]
    if len(metrics) < 2:
        metrics = [name for role in _OTHER_ROLES if (name := report.metric_of(role))]
    rows = [row for row in report.named.rows if row.metric in metrics]
    if len(report.named.groups) < 2 or not rows:
        return []
    cells = [Cell(number(row.value, row.unit), row.value) for row in rows]
    several = len(report.systems) > 1
    if several and report.has_conditions:
        grids = []
        for metric in metrics:
            of_metric = [
                ((Cell(row.system or ""),), row.group or POOLED, cell)
                for row, cell in zip(rows, cells, strict=True)
                if row.metric == metric
            ]
            grids.append(pivot(["system"], of_metric, caption=f"{metric} by condition"))
    else:
        first = "system" if several else "condition"
        lines = [
            ((Cell((row.system if several else row.group) or POOLED),), row.metric, cell)
            for row, cell in zip(rows, cells, strict=True)
        ]
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


def calibration(report: Report) -> Grid:
    """Return the calibration loss by system and condition, and what it means."""
    lines = []
    for group in report.named.groups:
        rows = {row.role: row for row in reversed(report.named.of(group))}
        if "RCL" in rows:
            best = group.best_calibrator
            name = Cell("" if best is None else f"{best.name}, {number(best.saving, best.unit)}")
            assessment = Cell(_assessment(rows, report.evaluation.intervals))
            condition = Cell((group.group or POOLED) if report.has_conditions else "")
            names = [Cell(group.system or ""), condition]
            lines.append([*names, value_cell(rows["RCL"]), assessment, name])
    header = ["system", "condition", "relative calibration loss", "assessment", "best calibrator"]
    return Grid(header, lines, 2, "Relative calibration loss").without("")


def _assessment(rows: Mapping[str, Row], intervals: Intervals | None) -> str:
    """Assess a calibration loss in a few words, and whether it may be due to chance."""
    rcl = rows["RCL"]
    if math.isnan(rcl.value):
        return "unknown"
    if "NCE" in rows and math.isinf(rows["NCE"].value):
        return "not calibrated"
    may_be_chance = rcl.low is not None and rcl.low <= 0.0
    is_wide = may_be_chance and rcl.value > 0.0 and rcl.high is not None and rcl.high >= _LARGE
    if is_wide or rcl.value < -_LARGE or counted_if_many(rcl.n_undefined, intervals):
        return "inconclusive"
    if may_be_chance or rcl.value < _SLIGHT:
        return "calibrated"
    return "slightly off" if rcl.value < _LARGE else "not calibrated"


def metrics(report: Report) -> list[Grid]:
    """Return all metrics: by name for one result, else a line per result; then meanings."""
    evaluation = report.named
    grids = [_detection_costs(report)]
    if len(evaluation.groups) == 1:
        caption = f"Metrics of {evaluation.all_samples.system}: {evaluation.all_samples}"
        return [*grids, replace(grid_of_one(evaluation, "meaning"), caption=caption)]
    grid, caption = grid_of_values(evaluation), "Metrics by system and condition"
    if not report.has_conditions:
        grid, caption = grid.without(POOLED), "Metrics by system"
    return [*grids, replace(grid, caption=caption), _meanings(evaluation)]


def _detection_costs(report: Report) -> Grid:
    costs = dict.fromkeys(cost for point in report.operating_points for cost in point.costs)
    unit, words = (math.log(10.0), "log10 LLR") if report.base == 10 else (1.0, "LLR")
    lines = []
    for cost in costs:
        threshold = cost.threshold / unit
        values = [cost.p_target, cost.c_miss, cost.c_fa, threshold, cost.default]
        texts = [f"{value:g}" for value in values]
        texts[3] = number(threshold)
        lines.append([Cell(str(cost)), *map(Cell, texts, values)])
    header = ["minDCF and actDCF at", "target prior", "cost of a miss", "cost of a false alarm",
              f"Bayes threshold ({words})", "normalized by"]  # fmt: skip
    return Grid(header, lines, caption="Detection costs")


def _meanings(evaluation: Evaluation) -> Grid:
    """Return a line for each metric that has a value somewhere."""
    meanings: dict[str, str] = {}
    for row in evaluation.rows:
        if math.isfinite(row.value) and row.note:
            meanings.setdefault(row.metric, row.note)
    lines = [[Cell(metric), Cell(note)] for metric, note in meanings.items()]
    return Grid(["metric", "meaning"], lines, caption="Definitions of the metrics")


def differences(report: Report) -> Grid:
    """Return the differences of systems and of groups, a line per pair and place."""
    grid = grid_of_differences(report.named.differences).without(POOLED)
    return replace(grid, caption="Differences")


def facts(report: Report) -> dict[str, Any]:
    """Return when the report was made, the seed, and the versions of what computed its numbers."""
    intervals = report.evaluation.intervals
    facts: dict[str, Any] = {"created": report.made} if report.made else {}
    if intervals is not None:
        facts["seed"] = intervals.seed
    facts |= {"fastpsr": __version__, "Python": platform.python_version()}
    facts |= {name: version(name) for name in _LIBRARIES}
    return facts | {"platform": f"{platform.system()} {platform.machine()}"}
