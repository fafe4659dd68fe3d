"""The sections of a report, each a function that returns its heading and what stands below it."""

import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from fastpsr import __version__
from fastpsr.errors import counted
from fastpsr.evaluation import Difference, Evaluation, Row
from fastpsr.evaluation.fusion_gains import WITHOUT
from fastpsr.evaluation.grid import Cell, Grid, number
from fastpsr.evaluation.layout import (
    POOLED,
    grid_of_differences,
    grid_of_one,
    grid_of_values,
    reasons,
    simultaneous,
)
from fastpsr.report.content import Report, Result
from fastpsr.report.names import by_column

_MOST_COLUMNS = 6  # of numbers in a table, which is what a printed page has room for
_ROLES = ("EER", "minDCF", "actDCF", "Cllr")  # of the overview: all better where lower
_OTHER_ROLES = ("EER", "minCllr", "NCE")  # where there are none of these but the EER
_LIBRARIES = ("numpy", "scipy", "numba", "polars", "matplotlib")
_WARNING = "warning: "


@dataclass(frozen=True)
class Part:
    """A part of a section, which the template shows by its kind; `folded` below a line."""

    kind: Literal["paragraph", "table", "lines", "verdicts", "figures", "command", "facts"]
    content: Any
    folded: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it; the name is its anchor."""

    name: str
    heading: str
    parts: Sequence[Part]


def overview(report: Report) -> Section | None:
    """Return the usual metrics of all systems, None for a single result.

    There is a table per metric, of systems by conditions; with one condition alone, or one system,
    a single one with a column per metric.
    """
    if len(report.results) < 2:
        return None
    metrics = [name for role in _ROLES if (name := report.metric_of(role))]
    if len(metrics) < 2:
        metrics = [name for role in _OTHER_ROLES if (name := report.metric_of(role))]
    several = len(report.systems) > 1
    if several and report.has_conditions:
        grids = [_by_condition(report, metric) for metric in metrics]
    else:
        first = "system" if several else "condition"
        lines = [
            [Cell(getattr(result, first)), *(_overview_cell(result, name) for name in metrics)]
            for result in report.results
        ]
        grids = [Grid([first, *metrics], lines, caption=f"By {first}")] if metrics else []
    if not grids:
        return None
    parts = []
    if several:
        words = "Lower is better; the best system of each column is bold, whether or not that may "
        parts.append(Part("paragraph", f"{words}be chance."))
        grids = [_with_best(grid) for grid in grids]
    return Section("overview", "Overview", [*parts, *_tables(grids)])


def _by_condition(report: Report, metric: str) -> Grid:
    results = {(result.system, result.condition): result for result in report.results}
    conditions = list(dict.fromkeys(result.condition for result in report.results))
    column, short = by_column(conditions)
    lines = [
        [Cell(name), *(_overview_cell(results.get((name, key)), metric) for key in conditions)]
        for name in report.systems
    ]
    caption = f"{metric} by {column or 'condition'}"
    return Grid(["system", *(short[condition] for condition in conditions)], lines, caption=caption)


def _overview_cell(result: Result | None, metric: str) -> Cell:
    row = None if result is None else result.row(metric)
    return Cell("") if row is None else Cell(number(row.value, row.unit), row.value)


def _with_best(grid: Grid) -> Grid:
    """Mark the lowest numbers of each column as best: all that are shown alike."""
    columns = []
    for column in zip(*grid.lines, strict=True):
        numbers = [(cell.number, cell.text) for cell in column
                 if cell.number is not None and not math.isnan(cell.number)]  # fmt: skip
        best = min(numbers, default=(0.0, None))[1]
        columns.append([replace(cell, is_best=cell.text == best) for cell in column])
    return replace(grid, lines=list(zip(*columns, strict=True)))


def read(report: Report) -> Section | None:
    """Return what was read, in which warnings are folded."""
    warnings = [line.removeprefix(_WARNING) for line in report.read if line.startswith(_WARNING)]
    lines = [line for line in report.read if not line.startswith(_WARNING)]
    parts = [Part("lines", lines)] if lines else []
    if warnings:
        parts.append(Part("lines", warnings, folded=counted(len(warnings), "warning")))
    return Section("read", "What was read", parts) if parts else None


def fusion(report: Report) -> Section | None:
    """Return the weights of the fusion, None if the report is of none."""
    fitted = report.fusion
    if fitted is None:
        return None
    bias = float(fitted.bias_[1] - fitted.bias_[0])
    values = [*zip(fitted.columns_, fitted.weights_.tolist(), strict=True), ("bias", bias)]
    lines = [[Cell(name), Cell(f"{value:.5g}", value)] for name, value in values]
    words = (
        f"Logistic regression at a prior of {fitted.prior:g}, rank {fitted.rank_} of "
        f"{len(fitted.columns_)} columns. The metrics below are of cross-fitted scores: each "
        "sample is fused by weights of other folds."
    )
    grid = Grid(["column", "weight"], lines, caption="Weights of a fit to all samples")
    return Section("fusion", "Fusion", [Part("paragraph", words), Part("table", grid)])


def gains(report: Report) -> dict[str, list[Row]]:
    """Return the metrics of the fusion minus those without a part of it, by that part."""
    rows_of: dict[str, list[Row]] = {}
    for pair in report.evaluation.differences:
        row = pair.b.system or ""
        if report.fusion is not None and row.startswith(WITHOUT):
            value = Row(
                pair.metric,
                pair.value,
                pair.low,
                pair.high,
                unit=pair.a.unit,
            )
            rows_of.setdefault(row.removeprefix(WITHOUT), []).append(value)
    return rows_of


def metrics(report: Report) -> Section:
    """Return all metrics: by name for one result, else a line per result; then meanings."""
    evaluation = report.named
    words = [f"{evaluation.settings or 'Without confidence intervals: none were asked for'}."]
    normalized = dict.fromkeys(row.metric for row in evaluation.rows if row.reference_value == 1.0)
    if normalized:
        words.append(
            "Normalized metrics are divided by the value of the best system that knows the priors "
            f"alone, so that 1 is no better than such a system: {', '.join(normalized)}."
        )
    grids = [_detection_costs(report)] if report.operating_points else []
    if len(report.results) == 1:
        caption = f"Metrics of {report.results[0].place}: {evaluation.all_samples}"
        grids.append(replace(grid_of_one(evaluation, "meaning"), caption=caption))
    else:
        grid, caption = grid_of_values(evaluation), "Metrics by system and condition"
        if not report.has_conditions:
            grid, caption = grid.without(POOLED), "Metrics by system"
        grids += [replace(grid, caption=caption), _meanings(evaluation), _gaps(report)]
    return Section(
        "metrics", "Metrics", [*(Part("paragraph", text) for text in words), *_tables(grids)]
    )


def _detection_costs(report: Report) -> Grid:
    costs = dict.fromkeys(cost for point in report.operating_points for cost in point.costs)
    lines = [
        [
            Cell(str(cost)),
            Cell(f"{cost.p_target:g}", cost.p_target),
            Cell(f"{cost.c_miss:g}", cost.c_miss),
            Cell(f"{cost.c_fa:g}", cost.c_fa),
            Cell(number(cost.threshold), cost.threshold),
            Cell(f"{cost.default:g}", cost.default),
        ]
        for cost in costs
    ]
    header = ["minDCF and actDCF at", "target prior", "cost of a miss", "cost of a false alarm",
              "Bayes threshold (LLR)", "divided by"]  # fmt: skip
    return Grid(header, lines, caption="Detection costs")


def _meanings(evaluation: Evaluation) -> Grid:
    """Return a line for each metric that has a value somewhere."""
    meanings: dict[str, str] = {}
    for row in evaluation.rows:
        if math.isfinite(row.value) and row.note:
            meanings.setdefault(row.metric, row.note)
    lines = [[Cell(metric), Cell(note)] for metric, note in meanings.items()]
    return Grid(["metric", "meaning"], lines, caption="What the metrics are")


def _gaps(report: Report) -> Grid:
    """Return a line for each reason, once for all metrics it holds of."""
    lines = [
        [Cell(result.place), Cell(", ".join(metrics)), Cell(note)]
        for result in report.results
        for note, metrics in reasons(result.rows).items()
    ]
    header = ["system and condition", "metrics", "why there is no finite value"]
    return Grid(header, lines, caption="What could not be computed")


def differences(report: Report) -> Section | None:
    """Return the differences of systems, then of groups; None if there are none."""
    compared, intervals = report.named.differences, report.evaluation.intervals
    if not compared:
        return None
    words = "The system or condition named first minus the other; systems on the same samples"
    if intervals is not None:
        alone = f"at {100 * intervals.confidence_level:g} % for each difference alone"
        jointly = simultaneous(compared, intervals)
        words += (
            ", all in the same bootstrap draws. A difference whose interval excludes 0 is more "
            f"than chance, {f'where {jointly}' if jointly else alone}"
        )
    of_systems = [pair for pair in compared if not pair.is_of_groups]
    of_groups = [pair for pair in compared if pair.is_of_groups]
    grids = [
        _differences(of_systems, "Differences by condition", ["systems", "condition"]),
        _differences(of_groups, "Differences between conditions", ["conditions", "system"]),
    ]
    return Section("differences", "Differences", [Part("paragraph", f"{words}."), *_tables(grids)])


def _differences(compared: Sequence[Difference], caption: str, names: Sequence[str]) -> Grid:
    """Return a line per pair and place; of a single one, a line per metric."""
    grid = grid_of_differences(compared)
    if len(grid.lines) != 1:
        return replace(grid, header=[*names, *grid.header[2:]], caption=caption)
    ((pair, _, *cells),) = grid.lines
    lines = [[Cell(metric), cell] for metric, cell in zip(grid.header[2:], cells, strict=True)]
    return Grid(["metric", "difference"], lines, caption=f"Difference {pair.text}")


def made(report: Report) -> Section:
    """Return the command, and the versions of what the numbers come from."""
    intervals = report.evaluation.intervals
    facts: dict[str, Any] = {"made": report.made} if report.made else {}
    if intervals is not None:
        facts["seed"] = intervals.seed
    facts |= {"fastpsr": __version__, "Python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    facts["system"] = f"{platform.system()} {platform.machine()}"
    parts = [Part("command", report.command)] if report.command else []
    return Section("made", "How this was made", [*parts, Part("facts", facts)])


def _tables(grids: Sequence[Grid]) -> list[Part]:
    """Return tables of few columns each, all with the names of the lines; none of no lines."""
    parts = []
    for grid in grids:
        n_values = len(grid.header) - grid.n_names if grid.lines else 0
        n_tables = -(-n_values // _MOST_COLUMNS)
        for k in range(n_tables):
            begin, end = (grid.n_names + at * n_values // n_tables for at in (k, k + 1))
            words = f"{grid.caption}, part {k + 1} of {n_tables}" if n_tables > 1 else grid.caption
            places = [*range(grid.n_names), *range(begin, end)]
            parts.append(Part("table", replace(grid.of(places), caption=words)))
    return parts
