"""Where the numbers of a report come from: what was read, and how it was made."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastpsr import __version__
from fastpsr.errors import counted
from fastpsr.report.content import Report

_LIBRARIES = ("numpy", "scipy", "numba", "polars", "matplotlib")
_WARNING = "warning: "


def read(report: Report) -> Mapping[str, Any] | None:
    """Return the section of what was read, in which warnings are folded."""
    warnings = [line.removeprefix(_WARNING) for line in report.read if line.startswith(_WARNING)]
    lines = [line for line in report.read if not line.startswith(_WARNING)]
    if not report.read:
        return None
    return {"lines": lines, "warnings": warnings, "counted": counted(len(warnings), "warning")}


def made(report: Report) -> Mapping[str, Any]:
    """Return the section with the command, and the versions of what the numbers come from."""
    intervals = report.evaluation.intervals
    facts: dict[str, Any] = {"made": report.made} if report.made else {}
    if intervals is not None:
        facts["seed"] = intervals.seed
    facts |= {"fastpsr": __version__, "Python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    facts["system"] = f"{platform.system()} {platform.machine()}"
    return {"command": report.command, "facts": facts}
