"""Panels of the help, in which options are shown."""

from typing import Any

import typer

TABLES, TRIALS, INTERVALS = "Tables", "Trial lists", "Intervals"
METRICS, FILES = "Metrics and calibration", "Files"


def of(panel: str | None, help: str, *names: str, **more: Any) -> Any:
    """Return an option that is shown in a panel of the help, by default the first."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)
