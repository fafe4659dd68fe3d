"""The tables of a report, as cells."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastpsr.bootstrap import BootstrapResult
from fastpsr.evaluation import Row
from fastpsr.evaluation.layout import number, with_interval
from fastpsr.report.content import Report, Result

_MOST_COLUMNS = 6  # of numbers in a table, which is what a printed page has room for


@dataclass(frozen=True)
class Cell:
    """A cell: text, what it is sorted by if that is a number, and lines of small print below."""

    text: str
    number: float | None = None
    small: tuple[str, ...] = ()
    is_best: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a line is its heading."""

    caption: str
    header: Sequence[str]
    lines: Sequence[Sequence[Cell]]

    def is_number(self, place: int) -> bool:
        """Whether a column holds numbers."""
        return any(line[place].number is not None for line in self.lines)


def metrics(report: Report) -> Mapping[str, Any]:
    """Return the section of all metrics."""
    intervals = report.evaluation.intervals
    costs = operating_points(report)
    return {
        "settings": None if intervals is None else report.evaluation.settings,
        "normalized": normalized(report),
        "tables": [*([] if costs is None else [costs]), *metric_tables(report)],
    }


def metric_tables(report: Report) -> list[Table]:
    """Return the metrics: by name for one result, else a line per result; then meanings."""
    if len(report.results) == 1:
        return [_of_one(report.results[0])]
    tables = _of_many(report)
    meanings = _meanings(report.results)
    if meanings:
        tables.append(Table("What the metrics are", ["metric", "meaning"], meanings))
    gaps = _gaps(report.results)
    if gaps:
        header = ["system and condition", "metrics", "why there is no finite value"]
        tables.append(Table("What could not be computed", header, gaps))
    return tables


def _of_one(result: Result) -> Table:
    has_intervals = any(row.low is not None for row in result.rows)
    lines = []
    for row in result.rows:
        value, interval = with_interval(row.value, row.low, row.high, row.unit)
        cells = [Cell(row.metric), Cell(value, row.value)]
        if has_intervals:
            cells.append(Cell(interval, row.low, small_print(row)))
        lines.append([*cells, Cell(row.note)])
    header = ["metric", "value", *(["interval"] if has_intervals else []), "meaning"]
    return Table(f"Metrics of {_counted(result)}", header, lines)


def normalized(report: Report) -> list[str]:
    """Return the names of the metrics that are 1 for a system that knows the priors alone."""
    rows = (row for result in report.results for row in result.rows)
    return list(dict.fromkeys(row.metric for row in rows if row.reference_value == 1.0))


def operating_points(report: Report) -> Table | None:
    """Return the detection costs of the evaluation, None if there are none."""
    costs = dict.fromkeys(cost for point in report.operating_points for cost in point.costs)
    if not costs:
        return None
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
    return Table("Detection costs", header, lines)


def _of_many(report: Report) -> list[Table]:
    counts = list(dict.fromkeys(name for result in report.results for name in result.counts))
    metrics = list(dict.fromkeys(row.metric for result in report.results for row in result.rows))
    lines = []
    for result in report.results:
        cells = []
        for name in counts:
            n = result.counts.get(name)
            cells.append(Cell("") if n is None else Cell(f"{n:,}", n))
        for metric in metrics:
            row = result.row(metric)
            cells.append(Cell("") if row is None else value_cell(row))
        lines.append(cells)
    heads = [[Cell(result.system), Cell(result.condition)] for result in report.results]
    header = ["system", "condition"], [*counts, *metrics]
    tables = narrow_tables("Metrics by system and condition", *header, heads, lines)
    return [without_conditions(table) for table in tables]


def narrow_tables(
    caption: str,
    head: Sequence[str],
    columns: Sequence[str],
    heads: Sequence[Sequence[Cell]],
    lines: Sequence[Sequence[Cell]],
) -> list[Table]:
    """Return tables of few columns each; all have the headings of the lines."""
    n_tables = -(-len(columns) // _MOST_COLUMNS)
    tables = []
    for k in range(n_tables):
        begin, end = (at * len(columns) // n_tables for at in (k, k + 1))
        part = f", part {k + 1} of {n_tables}" if n_tables > 1 else ""
        rows = [[*of, *line[begin:end]] for of, line in zip(heads, lines, strict=True)]
        tables.append(Table(f"{caption}{part}", [*head, *columns[begin:end]], rows))
    return tables


def without_conditions(table: Table) -> Table:
    """Return a table without its second column, of conditions, if these are not given."""
    if any(line[1].text for line in table.lines):
        return table
    lines = [[line[0], *line[2:]] for line in table.lines]
    caption = table.caption.replace(" by system and condition", " by system")
    return Table(caption, [table.header[0], *table.header[2:]], lines)


def value_cell(row: Row) -> Cell:
    """Return the value of a row, above its interval."""
    value, interval = with_interval(row.value, row.low, row.high, row.unit)
    return Cell(value, row.value, (*([interval] if interval else []), *small_print(row)))


def small_print(found: Row | BootstrapResult) -> tuple[str, ...]:
    """Return small print on replicates that an interval leaves out, and if it is not to be used."""
    undefined = f"undefined replicates: {found.n_undefined:,}" if found.n_undefined else ""
    return tuple(filter(None, [undefined, found.caution and "interval not to be used"]))


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
