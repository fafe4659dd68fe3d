"""Panels of the help, in which options are shown."""

from typing import Any

import typer

__all__ = ["INTERVALS", "TABLES", "TRIALS", "of"]

TABLES, TRIALS, INTERVALS = "Tables", "Trial lists", "Intervals"


def of(panel: str, help: str, *names: str, **more: Any) -> Any:
    """Return an option that is shown in a panel of the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)
