"""The page: a template filled with what a report holds."""

import base64
import hashlib
import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from fastpsr import __version__
from fastpsr.evaluation.layout import simultaneous
from fastpsr.files import check_place, whole_file
from fastpsr.report.content import Report
from fastpsr.report.differences import difference_tables
from fastpsr.report.drawing import draw
from fastpsr.report.svg import clean
from fastpsr.report.tables import metric_tables, normalized, operating_points, verdict_table
from fastpsr.report.verdict import verdicts

__all__ = ["render", "write_report"]

_LIBRARIES = ("numpy", "scipy", "numba", "polars", "matplotlib")


def write_report(path: str | os.PathLike[str], report: Report) -> None:
    """Write a report as one HTML file, whole or not at all.

    Parameters
    ----------
    path : path
    report : Report

    Raises
    ------
    OSError
        Where the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import fastpsr as fp
    >>> from fastpsr.report import Report, write_report
    >>> data = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, 0.5, -0.5, 3.0])
    >>> content = Report(fp.evaluate(data), {"A": data}, title="Four trials")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "report.html"
    ...     write_report(page, content)
    ...     print(page.read_text("utf-8")[:15])
    <!doctype html>
    """
    check_place(path)  # before the work
    text = render(report)
    with whole_file(path) as part:
        part.write_text(text, "utf-8")


def render(report: Report) -> str:
    """Return the page of a report: the same text for the same report.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
        HTML that needs no other file, no network and no script. Whatever stands in the report is
        shown as text.
    """
    said = verdicts(report)
    first = {result.place for result in report.pooled}
    script = _script()
    page: str = _template().render(
        report=report,
        verdicts=[verdict for verdict in said if verdict.result.place in first],
        verdict_table=verdict_table(said),
        tables=metric_tables(report),
        differences=difference_tables(report),
        simultaneous=simultaneous(report.evaluation.differences, report.evaluation.intervals),
        normalized=normalized(report),
        operating_points=operating_points(report),
        figures=draw(report),
        versions=_versions(),
        style=Markup(_text("style.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        svg=Markup,
    )
    return page


@cache
def _template() -> Any:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_shown, loader=FunctionLoader(_text),
    )  # fmt: skip
    return environment.get_template("page.html.jinja")


def _shown(value: Any) -> Any:
    """Return what a page can hold; markup is our own."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _text(name: str) -> str:
    return files("fastpsr.report").joinpath(name).read_text("utf-8")


def _script() -> str:
    return _text("script.js")


def _versions() -> Mapping[str, str]:
    """Return the versions of what the numbers and figures come from."""
    found = {"fastpsr": __version__, "Python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"system": f"{platform.system()} {platform.machine()}"}
