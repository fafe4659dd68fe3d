"""The differences of systems, as a table of the report."""

from fastpsr.evaluation import Difference
from fastpsr.evaluation.layout import POOLED, difference_with_interval
from fastpsr.report.content import Report
from fastpsr.report.tables import Cell, Table

__all__ = ["difference_table"]


def difference_table(report: Report) -> Table | None:
    """Return a line per metric of one pair of systems, else per pair and condition; None without.

    The small print of a difference is its interval, and whether that excludes 0.
    """
    found = report.differences
    if not found:
        return None
    pairs = list(dict.fromkeys(each.name for each in found))
    groups = list(dict.fromkeys(each.group for each in found))
    metrics = list(dict.fromkeys(each.metric for each in found))
    cells = {(each.name, each.group, each.metric): _cell(each) for each in found}
    if len(pairs) == len(groups) == 1:
        lines = [[Cell(each.metric), cells[each.name, each.group, each.metric]] for each in found]
        return Table(f"Difference {pairs[0]}", ["metric", "difference"], lines)
    lines = [
        [
            Cell(pair),
            Cell(group or POOLED),
            *(cells.get((pair, group, metric), Cell("")) for metric in metrics),
        ]
        for pair in pairs
        for group in groups
    ]
    return Table("Differences by condition", ["systems", "condition", *metrics], lines)


def _cell(each: Difference) -> Cell:
    shown, interval = difference_with_interval(each)
    answers = {None: "", True: "excludes 0", False: "includes 0"}
    answer = "" if each.is_equal else answers[each.excludes_zero]
    return Cell(shown, each.value, ", ".join(part for part in (interval, answer) if part))
