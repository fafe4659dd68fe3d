"""The tables of a report, as cells."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastpsr.evaluation import Row
from fastpsr.evaluation.layout import with_interval
from fastpsr.report.content import Report, Result
from fastpsr.report.verdict import Verdict

__all__ = ["Cell", "Table", "metric_tables", "verdict_table"]


@dataclass(frozen=True)
class Cell:
    """A cell: text, what it is sorted by if that is a number, and small print below."""

    text: str
    number: float | None = None
    small: str = ""


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a line is its heading."""

    caption: str
    header: Sequence[str]
    lines: Sequence[Sequence[Cell]]

    def is_number(self, place: int) -> bool:
        """Whether a column holds numbers."""
        return any(line[place].number is not None for line in self.lines)


def metric_tables(report: Report) -> list[Table]:
    """Return the metrics: by name for one result, else a line per result; then meanings."""
    if len(report.results) == 1:
        return [_of_one(report.results[0])]
    tables = [_of_many(report)]
    meanings = _meanings(report.results)
    if meanings:
        tables.append(Table("What the metrics are", ["metric", "meaning"], meanings))
    gaps = _gaps(report.results)
    if gaps:
        header = ["system and condition", "metrics", "why there is no finite value"]
        tables.append(Table("What could not be computed", header, gaps))
    return tables


def verdict_table(verdicts: Sequence[Verdict]) -> Table | None:
    """Return the calibration loss by system and condition, None if there is too little to tell."""
    lines = []
    for verdict in verdicts:
        row = verdict.result.row("RCL")
        if row is not None:
            names = [Cell(verdict.result.system), Cell(verdict.result.condition)]
            lines.append([*names, _value(row), Cell(verdict.short)])
    if len(lines) < 2:
        return None
    header = ["system", "condition", "RCL, % of cross-entropy", "in words"]
    return _without_conditions(Table("Relative calibration loss", header, lines))


def _of_one(result: Result) -> Table:
    has_intervals = any(row.low is not None for row in result.rows)
    lines = []
    for row in result.rows:
        value, interval = with_interval(row.value, row.low, row.high, row.unit)
        cells = [Cell(row.metric), Cell(value, row.value)]
        if has_intervals:
            cells.append(Cell(interval, row.low, _undefined(row)))
        lines.append([*cells, Cell(row.note)])
    header = ["metric", "value", *(["interval"] if has_intervals else []), "meaning"]
    return Table(f"Metrics of {_counted(result)}", header, lines)


def _of_many(report: Report) -> Table:
    counts = list(dict.fromkeys(name for result in report.results for name in result.counts))
    metrics = list(dict.fromkeys(row.metric for result in report.results for row in result.rows))
    lines = []
    for result in report.results:
        cells = [Cell(result.system), Cell(result.condition)]
        for name in counts:
            n = result.counts.get(name)
            cells.append(Cell("") if n is None else Cell(f"{n:,}", n))
        for metric in metrics:
            row = result.row(metric)
            cells.append(Cell("") if row is None else _value(row))
        lines.append(cells)
    header = ["system", "condition", *counts, *metrics]
    return _without_conditions(Table("Metrics by system and condition", header, lines))


def _without_conditions(table: Table) -> Table:
    """Return a table without its column of conditions, if these are not given."""
    if any(line[1].text for line in table.lines):
        return table
    lines = [[line[0], *line[2:]] for line in table.lines]
    caption = table.caption.replace(" by system and condition", " by system")
    return Table(caption, [table.header[0], *table.header[2:]], lines)


def _value(row: Row) -> Cell:
    value, interval = with_interval(row.value, row.low, row.high, row.unit)
    small = " ".join(part for part in (interval, _undefined(row)) if part)
    return Cell(value, row.value, small)


def _undefined(row: Row) -> str:
    return f"undefined in {row.n_undefined:,} replicates" if row.n_undefined else ""


def _counted(result: Result) -> str:
    counts = ", ".join(f"{n:,} {name}" for name, n in result.counts.items())
    return f"{result.place} ({counts})" if counts else result.place


def _meanings(results: Iterable[Result]) -> list[list[Cell]]:
    """Return a line for each metric that has a value somewhere."""
    meanings: dict[str, str] = {}
    for result in results:
        for row in result.rows:
            if math.isfinite(row.value) and row.note:
                meanings.setdefault(row.metric, row.note)
    return [[Cell(metric), Cell(note)] for metric, note in meanings.items()]


def _gaps(results: Iterable[Result]) -> list[list[Cell]]:
    """Return a line for each reason: in the terminal's words, once for all metrics it holds of."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for row in result.rows:
            if not math.isfinite(row.value):
                reasons.setdefault((result.place, row.note), []).append(row.metric)
    return [
        [Cell(place), Cell(", ".join(metrics)), Cell(note)]
        for (place, note), metrics in reasons.items()
    ]
