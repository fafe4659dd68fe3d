"""`--report`: the results of a command as an HTML report."""

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastpsr.cli.show import Steps

if TYPE_CHECKING:
    from fastpsr.evaluation import Evaluation


def require_report(path: Path | None) -> None:
    """Raise, before any computation, if a report is requested and its libraries are missing."""
    if path is not None:
        try:
            import fastpsr.report  # noqa: F401
        except ImportError as error:
            raise ValueError(f"--report: {error}") from None


def write_report(path: Path, evaluation: "Evaluation", begin: Steps, **content: Any) -> None:
    """Write a report that includes the command and the current time, as a step of the command."""
    from fastpsr import report

    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = shlex.join(["fastpsr", *sys.argv[1:]])
    content |= {"command": command, "made": made}
    begin(f"writing {path}")
    report.write_report(
        path,
        report.Report(evaluation, **content),
        lambda title, *amount: begin(f"{path}: {title}", *amount),
    )
