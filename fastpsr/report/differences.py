"""The differences of systems and of groups, as tables of the report."""

from collections.abc import Mapping
from typing import Any

from fastpsr.evaluation import Difference
from fastpsr.evaluation.layout import difference_with_interval, simultaneous
from fastpsr.report.content import Report
from fastpsr.report.tables import Cell, Table, narrow_tables, small_print


def differences(report: Report) -> Mapping[str, Any] | None:
    """Return the section of differences, None if there are none."""
    evaluation = report.evaluation
    if not evaluation.differences:
        return None
    return {
        "intervals": evaluation.intervals,
        "simultaneous": simultaneous(evaluation.differences, evaluation.intervals),
        "tables": difference_tables(report),
    }


def difference_tables(report: Report) -> list[Table]:
    """Return a line per metric of a single pair, else per pair and condition or system.

    Systems come before groups. The small print of a difference is its interval, and whether that
    excludes 0.
    """
    of_systems = [each for each in report.evaluation.differences if not each.is_of_groups]
    of_groups = [each for each in report.evaluation.differences if each.is_of_groups]
    return [
        *_tables(of_systems, "Differences by condition", ["systems", "condition"]),
        *_tables(of_groups, "Differences between conditions", ["conditions", "system"]),
    ]


def _tables(found: list[Difference], title: str, header: list[str]) -> list[Table]:
    cells = {(each.name, each.place, each.metric): _cell(each) for each in found}
    names = list(dict.fromkeys(each.name for each in found))
    places = list(dict.fromkeys((each.name, each.place) for each in found))
    places.sort(key=lambda place: names.index(place[0]))
    metrics = list(dict.fromkeys(each.metric for each in found))
    if len(places) == 1:
        ((pair, _),) = places
        lines = [[Cell(metric), cell] for (_, _, metric), cell in cells.items()]
        return [Table(f"Difference {pair}", ["metric", "difference"], lines)]
    heads = [[Cell(name) for name in place] for place in places]
    rows = [[cells.get((*place, metric), Cell("")) for metric in metrics] for place in places]
    return narrow_tables(title, header, metrics, heads, rows) if found else []


def _cell(each: Difference) -> Cell:
    shown, interval = difference_with_interval(each)
    answers = {None: "", True: "excludes 0", False: "includes 0"}
    answer = "" if each.is_equal else answers[each.excludes_zero]
    more = () if each.result is None else small_print(each.result)
    parts = tuple(part for part in (interval, answer, *more) if part)
    return Cell(shown, each.value, parts)
