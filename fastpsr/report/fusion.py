"""The weights of a fusion, and what each of its systems adds."""

from collections.abc import Mapping
from typing import Any

from fastpsr.evaluation import Row
from fastpsr.evaluation.fusion_gains import WITHOUT
from fastpsr.report.content import Report
from fastpsr.report.tables import Cell, Table


def fusion(report: Report) -> Mapping[str, Any] | None:
    """Return the section of the fusion, None if the report is of none."""
    fitted = report.fusion
    if fitted is None:
        return None
    bias = float(fitted.bias_[1] - fitted.bias_[0])
    values = [*zip(fitted.columns_, fitted.weights_.tolist(), strict=True), ("bias", bias)]
    lines = [[Cell(name), Cell(f"{value:.5g}", value)] for name, value in values]
    table = Table("Weights of a fit to all samples", ["column", "weight"], lines)
    return {"fitted": fitted, "table": table}


def gains(report: Report) -> dict[str, list[Row]]:
    """Return the metrics of the fusion minus those without a part of it, by that part."""
    found: dict[str, list[Row]] = {}
    for each in report.evaluation.differences:
        row = each.b.system or ""
        if report.fusion is not None and row.startswith(WITHOUT):
            value = Row(each.metric, each.value, each.low, each.high, unit=each.a.unit)
            found.setdefault(row.removeprefix(WITHOUT), []).append(value)
    return found
