"""The differences of systems, as tables of the report."""

from fastpsr.evaluation import Difference
from fastpsr.evaluation.layout import POOLED, difference_with_interval
from fastpsr.report.content import Report
from fastpsr.report.tables import Cell, Table, narrow_tables

__all__ = ["difference_tables"]


def difference_tables(report: Report) -> list[Table]:
    """Return a line per metric of one pair of systems, else per pair and condition.

    The small print of a difference is its interval, and whether that excludes 0.
    """
    found = report.differences
    pairs = list(dict.fromkeys(each.name for each in found))
    groups = list(dict.fromkeys(each.group for each in found))
    metrics = list(dict.fromkeys(each.metric for each in found))
    cells = {(each.name, each.group, each.metric): _cell(each) for each in found}
    if len(pairs) == len(groups) == 1:
        lines = [[Cell(each.metric), cells[each.name, each.group, each.metric]] for each in found]
        return [Table(f"Difference {pairs[0]}", ["metric", "difference"], lines)]
    places = [(pair, group) for pair in pairs for group in groups]
    heads = [[Cell(pair), Cell(group or POOLED)] for pair, group in places]
    rows = [[cells.get((*place, metric), Cell("")) for metric in metrics] for place in places]
    header = ["systems", "condition"]
    return narrow_tables("Differences by condition", header, metrics, heads, rows)


def _cell(each: Difference) -> Cell:
    shown, interval = difference_with_interval(each)
    answers = {None: "", True: "excludes 0", False: "includes 0"}
    answer = "" if each.is_equal else answers[each.excludes_zero]
    return Cell(shown, each.value, tuple(part for part in (interval, answer) if part))
