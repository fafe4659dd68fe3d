"""`--report`: the results of a command as an HTML report."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastpsr.bootstrap import Resampling
from fastpsr.evaluation import Evaluation, Group
from fastpsr.evaluation.layout import POOLED
from fastpsr.metrics import MinDCF
from fastpsr.predictions import Predictions

__all__ = ["FigureData", "report_of_systems", "report_of_table", "require_report", "write_report"]


@dataclass(frozen=True)
class FigureData:
    """What the figures of a report show, by system: all samples, the conditions, and costs.

    Bands of a system are drawn by its resampling.
    """

    predictions: Mapping[str, Predictions]
    by_condition: Mapping[str, Mapping[str, Predictions]] = field(default_factory=dict)
    operating_points: Sequence[MinDCF] = ()
    resampling: Mapping[str, Resampling] = field(default_factory=dict)

    def renamed(self, names: Mapping[str, str]) -> "FigureData":
        """Return the same with other names of the systems."""
        return replace(
            self,
            predictions={names[system]: each for system, each in self.predictions.items()},
            by_condition={names[system]: each for system, each in self.by_condition.items()},
            resampling={names[system]: each for system, each in self.resampling.items()},
        )


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
    result = Result(
        source.name, evaluation.rows, counts=counts, best_calibrator=whole.best_calibrator
    )
    drawn = evaluation.intervals
    write_report(
        path, _title([source.name]), [result], predictions={source.name: predictions},
        read=[*read, str(whole)], intervals=drawn, operating_points=detection,
        resampling={} if drawn is None else {source.name: drawn.resampling},
    )  # fmt: skip


def report_of_systems(
    path: Path, evaluation: Evaluation, figures: FigureData, read: Sequence[str]
) -> None:
    """Write the evaluation of systems, and their differences."""
    from fastpsr.report import Result

    has_conditions = any(group.group is not None for group in evaluation.groups)
    results = [
        Result(
            group.system or "",
            evaluation.of(group),
            (group.group or POOLED) if has_conditions else "",
            _counts(group),
            group.best_calibrator,
        )
        for group in evaluation.groups
    ]
    systems = list(dict.fromkeys(result.system for result in results))
    is_comparison = any(not each.is_of_groups for each in evaluation.differences)
    what = "Comparison" if is_comparison else "Evaluation"
    write_report(
        path, _title(systems, what), results, predictions=figures.predictions,
        by_condition=figures.by_condition, operating_points=figures.operating_points, read=read,
        intervals=evaluation.intervals, differences=evaluation.differences,
        resampling=figures.resampling,
    )  # fmt: skip


def _counts(group: Group) -> dict[str, int]:
    if group.n_classes == 2:
        return dict(zip(("targets", "non-targets"), reversed(group.class_sizes), strict=True))
    return {"samples": group.n_samples, "classes": group.n_classes}


def write_report(path: Path, title: str, results: Sequence[Any], **parts: Any) -> None:
    """Write a report that includes the command and the current time."""
    from fastpsr import report

    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = shlex.join(["fastpsr", *sys.argv[1:]])
    content = report.Report(title, results, command=command, made=made, **parts)
    report.write_report(path, content)


def _title(systems: Sequence[str], what: str = "Evaluation") -> str:
    if len(systems) > 3:
        return f"{what} of {len(systems)} systems"
    *first, last = systems
    return f"{what} of {', '.join(first)} and {last}" if first else f"{what} of {last}"
