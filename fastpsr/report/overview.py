"""The usual metrics of all systems at a glance, the best of each condition marked."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastpsr.evaluation.layout import number
from fastpsr.report.content import Report, Result
from fastpsr.report.names import by_column
from fastpsr.report.tables import Cell, Table, narrow_tables

_ROLES = ("EER", "minDCF", "actDCF", "Cllr")  # all better where lower
_OTHERS = ("EER", "minCllr", "NCE")  # where there are none of these but the EER


def overview(report: Report) -> Mapping[str, Any] | None:
    """Return the section, None for a single result.

    There is a table per metric, of systems by conditions; with one condition alone, or one system,
    a single one with a column per metric.
    """
    if len(report.results) < 2:
        return None
    found = [name for role in _ROLES if (name := report.metric_of(role))]
    if len(found) < 2:
        found = [name for role in _OTHERS if (name := report.metric_of(role))]
    several = len(report.systems) > 1
    if several and report.has_conditions:
        tables = [table for metric in found for table in _by_condition(report, metric)]
    else:
        first = "system" if several else "condition"
        heads = [each.system if several else each.condition for each in report.results]
        columns = [[_cell(result, metric) for result in report.results] for metric in found]
        tables = _table(f"By {first}", first, found, heads, columns, mark=several)
    return {"tables": tables, "marked": several} if tables else None


def _by_condition(report: Report, metric: str) -> list[Table]:
    results = {(each.system, each.condition): each for each in report.results}
    conditions = list(dict.fromkeys(each.condition for each in report.results))
    columns = [
        [_cell(results.get((system, condition)), metric) for system in report.systems]
        for condition in conditions
    ]
    column, short = by_column(conditions)
    names = [short[condition] for condition in conditions]
    caption = f"{metric} by {column or 'condition'}"
    return _table(caption, "system", names, report.systems, columns, mark=True)


def _table(
    caption: str, first: str, names: Sequence[str], heads: Sequence[str],
    columns: Sequence[Sequence[Cell]], *, mark: bool,
) -> list[Table]:  # fmt: skip
    """Return tables of columns, in which the lowest numbers are marked."""
    if not columns:
        return []
    lines = list(zip(*(_marked(column) if mark else column for column in columns), strict=True))
    return narrow_tables(caption, [first], names, [[Cell(head)] for head in heads], lines)


def _cell(result: Result | None, metric: str) -> Cell:
    row = None if result is None else result.row(metric)
    return Cell("") if row is None else Cell(number(row.value, row.unit), row.value)


def _marked(column: Sequence[Cell]) -> list[Cell]:
    """Return cells of which the lowest are marked as best: all that are shown alike."""
    known = [(cell.number, cell.text) for cell in column
             if cell.number is not None and not math.isnan(cell.number)]  # fmt: skip
    best = min(known, default=(0.0, None))[1]
    return [replace(cell, is_best=cell.text == best) for cell in column]
