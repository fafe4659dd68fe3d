"""The page: a template filled with the content of a report."""

import base64
import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import ArrayLike

from fastpsr import __version__
from fastpsr.counts.groups import groups_of
from fastpsr.data import By, Predictions
from fastpsr.data.groupings import Bins
from fastpsr.errors import counted
from fastpsr.evaluation import Evaluation
from fastpsr.evaluation.layout import gaps, simultaneous
from fastpsr.evaluation.task import Progress
from fastpsr.files import check_place, write_text
from fastpsr.report.content import UNNAMED, Report
from fastpsr.report.drawing import figures
from fastpsr.report.names import clean
from fastpsr.report.sections import calibration, differences, facts, metrics, overview, weights

_WARNING = "warning: "


def write_report(
    path: str | os.PathLike[str], report: Report, progress: Progress | None = None
) -> None:
    """Write a report as one HTML file, whole or not at all.

    Parameters
    ----------
    path : path
    report : Report
    progress : callable, optional
        Called with (title of a figure, amount done, total amount), before each is drawn.

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
    write_text(path, render(report, progress))


def write_evaluation(
    path: str | os.PathLike[str],
    evaluation: Evaluation,
    predictions: Predictions | Mapping[str, Predictions] | None,
    *,
    by: By | None = None,
    bins: Bins | None = None,
    spoof: ArrayLike | Mapping[str, ArrayLike] | None = None,
    unweighted: Mapping[str, Predictions] | None = None,
    progress: Progress | None = None,
    **content: Any,
) -> None:
    """Write an evaluation as a report; arguments are those of ``Evaluation.to_report``.

    Conditions are of the `unweighted` samples, if given.
    """
    systems = predictions if isinstance(predictions, Mapping) else {UNNAMED: predictions}
    labeled = {name: samples for name, samples in systems.items() if samples is not None}
    masks: Any = spoof if isinstance(spoof, Mapping) or spoof is None else {UNNAMED: spoof}
    report = Report(evaluation, labeled, spoof=masks or {}, **content)
    conditions: Any = {
        name: {group.name: group.data for group in groups_of(samples, by, bins)}
        for name, samples in (unweighted or labeled).items()
    }
    write_report(path, replace(report, by_condition=conditions), progress)


def render(report: Report, progress: Progress | None = None) -> str:
    """Return the page of a report: the same text for the same report.

    Parameters
    ----------
    report : Report
    progress : callable, optional
        As for `write_report`.

    Returns
    -------
    str
        HTML that needs no other file, no network and no script. All texts of the report are
        escaped.
    """
    script = _text("script.js")
    warnings = [line.removeprefix(_WARNING) for line in report.read if line.startswith(_WARNING)]
    evaluation = report.named
    normalized = (row.metric for row in evaluation.rows if row.reference_value == 1.0)
    page: str = _template().render(
        report=report,
        evaluation=evaluation,
        overview=overview(report),
        read=[line for line in report.read if not line.startswith(_WARNING)],
        warnings=warnings,
        n_warnings=counted(len(warnings), "warning"),
        weights=None if report.fusion is None else weights(report.fusion),
        calibration=calibration(report),
        normalized=list(dict.fromkeys(normalized)),
        metrics=metrics(report),
        gaps=gaps(evaluation) if len(evaluation.groups) > 1 else [],
        differences=differences(report),
        jointly=simultaneous(evaluation.differences, evaluation.intervals),
        figures=figures(report, progress),
        facts=facts(report),
        version=__version__,
        style=Markup(_text("style.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
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
    """Return text without characters that no page can hold; markup comes from this package."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _text(name: str) -> str:
    return files("fastpsr.report").joinpath(name).read_text("utf-8")
