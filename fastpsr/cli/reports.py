"""`--report`: the results of a command as an HTML report."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastpsr.evaluation import Evaluation
from fastpsr.evaluation.layout import POOLED
from fastpsr.metrics import MinDCF
from fastpsr.predictions import Predictions

__all__ = ["report_of_table", "report_of_trials", "require_report", "write_report"]


def require_report(path: Path | None) -> None:
    """Raise, before any computation, if a report is requested and its libraries are missing."""
    if path is not None:
        try:
            import fastpsr.report  # noqa: F401
        except ImportError as error:
            raise ValueError(f"--report: {error}") from None


def report_of_table(
    path: Path,
    source: Path,
    evaluation: Evaluation,
    predictions: Predictions,
    read: Sequence[str],
    detection: Sequence[MinDCF],
) -> None:
    """Write the evaluation of a table of scores."""
    from fastpsr.report import Result

    whole = evaluation.all_samples
    counts = {"samples": whole.n_samples, "classes": whole.n_classes}
    result = Result(source.name, evaluation.rows, counts=counts)
    write_report(
        path, _title([source.name]), [result], predictions={source.name: predictions},
        read=[*read, str(whole)], intervals=evaluation.intervals, operating_points=detection,
    )  # fmt: skip


def report_of_trials(
    path: Path,
    evaluation: Evaluation,
    predictions: Mapping[str, Predictions],
    by_condition: Mapping[str, Mapping[str, Predictions]],
    read: Sequence[str],
    detection: Sequence[MinDCF],
) -> None:
    """Write the evaluation of systems on a trial list."""
    from fastpsr.report import Result

    has_conditions = any(group.group is not None for group in evaluation.groups)
    results = [
        Result(
            group.system or "",
            evaluation.of(group),
            (group.group or POOLED) if has_conditions else "",
            dict(zip(("targets", "non-targets"), reversed(group.class_sizes), strict=True)),
        )
        for group in evaluation.groups
    ]
    systems = list(dict.fromkeys(result.system for result in results))
    write_report(
        path, _title(systems), results, predictions=predictions, by_condition=by_condition,
        read=read, intervals=evaluation.intervals, operating_points=detection,
    )  # fmt: skip


def write_report(path: Path, title: str, results: Sequence[Any], **parts: Any) -> None:
    """Write a report that includes the command and the current time."""
    from fastpsr import report

    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = shlex.join(["fastpsr", *sys.argv[1:]])
    content = report.Report(title, results, command=command, made=made, **parts)
    report.write_report(path, content)


def _title(systems: Sequence[str]) -> str:
    if len(systems) > 3:
        return f"Evaluation of {len(systems)} systems"
    *first, last = systems
    return f"Evaluation of {', '.join(first)} and {last}" if first else f"Evaluation of {last}"
