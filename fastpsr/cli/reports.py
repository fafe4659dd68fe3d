"""`--report`: what a command found as a page."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastpsr.cli.trial_rows import TrialRow
from fastpsr.cli.trial_tables import short_names
from fastpsr.evaluate import Evaluation, Intervals, Row
from fastpsr.predictions import Predictions

__all__ = ["report_of_table", "report_of_trials", "require_report", "write_report"]


def require_report(path: Path | None) -> None:
    """Raise, before any work, if a report is asked for and what makes it is not installed."""
    if path is not None:
        try:
            import fastpsr.report  # noqa: F401
        except ImportError as error:
            raise ValueError(f"--report: {error}") from None


def report_of_table(
    path: Path, source: Path, evaluation: Evaluation, predictions: Predictions, read: Sequence[str]
) -> None:
    """Write the evaluation of a table of scores."""
    from fastpsr.report import Result

    counts = {"samples": evaluation.n_samples, "classes": evaluation.n_classes}
    result = Result(source.name, evaluation.rows, counts=counts)
    write_report(
        path, _title([source.name]), [result], predictions={source.name: predictions},
        read=[*read, evaluation.headline], intervals=evaluation.intervals,
    )  # fmt: skip


def report_of_trials(
    path: Path,
    rows: Sequence[TrialRow],
    predictions: Mapping[str, Predictions],
    read: Sequence[str],
    intervals: Intervals | None,
) -> None:
    """Write the evaluation of systems on a trial list."""
    from fastpsr.report import Result

    names = short_names(list(dict.fromkeys(row.system for row in rows)))
    parts: dict[tuple[str, str], list[TrialRow]] = {}
    for row in rows:
        parts.setdefault((row.system, row.condition), []).append(row)
    has_conditions = len({condition for _, condition in parts}) > 1
    results = [
        Result(
            names[system],
            [_plain(row) for row in found],
            condition if has_conditions else "",
            {"targets": found[0].n_target, "non-targets": found[0].n_nontarget},
        )
        for (system, condition), found in parts.items()
    ]
    drawn = {names[system]: samples for system, samples in predictions.items()}
    title = _title(list(names.values()))
    write_report(path, title, results, predictions=drawn, read=read, intervals=intervals)


def write_report(path: Path, title: str, results: Sequence[Any], **parts: Any) -> None:
    """Write a report, with the command and the time that it was made."""
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


def _plain(row: TrialRow) -> Row:
    return Row(
        **{part.name: getattr(row, part.name) for part in fields(Row) if part.name != "error"}
    )
