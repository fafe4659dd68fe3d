"""Which figures a report has, by the kind of the data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from matplotlib.axes import Axes

from fastpsr import plotting
from fastpsr.evaluation import Row
from fastpsr.plotting.notes import notes_of
from fastpsr.report.content import Report
from fastpsr.report.svg import clean, inline_svg, new_axes

__all__ = ["Drawn", "draw"]

_LONGEST = 32  # characters of a name in a legend
_MOST_SYSTEMS = 6  # in a figure
_MOST_LINES = 6  # of notes within the axes
_MOST_CONDITIONS = 24  # that bars have room for


@dataclass(frozen=True)
class Drawn:
    """A figure: SVG, and words around it; `notes` are those that found no place in it."""

    title: str
    caption: str
    svg: str
    notes: str


@dataclass(frozen=True)
class _Chart:
    """A figure that overlays systems."""

    title: str
    caption: str
    draw: Callable[..., Axes]
    options: Mapping[str, Any]


_DET = _Chart(
    "Detection error trade-off",
    "Misses against false alarms as the threshold moves, both on probit axes. Nearer the lower "
    "left corner is better.",
    plotting.det,
    {},
)
_ROC = _Chart(
    "Receiver operating characteristic",
    "Hits against false alarms as the threshold moves. Nearer the upper left corner is better; the "
    "dotted line is chance.",
    plotting.roc,
    {},
)
_BAYES = _Chart(
    "Normalized Bayes error",
    "Error of decisions at each prior, over that of a constant decision. Solid: at the threshold "
    "that the prior asks for; dashed: at the best threshold. The gap is what calibration would "
    "save.",
    plotting.bayes_error,
    {},
)
_MINIMUM = _Chart(
    "Normalized Bayes error",
    "Least error of decisions at each prior, over that of a constant decision: what the scores "
    "could reach once calibrated.",
    plotting.bayes_error,
    {},
)
_CROSS_ENTROPY = _Chart(
    "Empirical cross-entropy",
    "Uncertainty that is left at each prior. Solid: with the LLRs as they are; dashed: after the "
    "best monotone map (PAV); dotted: without the system. The gap between solid and dashed is "
    "miscalibration.",
    plotting.empirical_cross_entropy,
    {},
)
_RELIABILITY = _Chart(
    "Reliability",
    "How often class 1 was true, by the posterior it was given. Calibrated posteriors follow the "
    "diagonal; shaded is where 95 % of their curves would lie by chance, if samples were "
    "independent.",
    plotting.reliability,
    {"band": "consistency", "seed": 0},
)
_HISTOGRAM = _Chart(
    "Score histogram",
    "How the scores of each class are spread. The less the classes overlap the better.",
    plotting.score_histogram,
    {},
)
_TIPPETT = _Chart(
    "Tippett plot",
    "Share of the trials of each class with at least this likelihood ratio. Targets below 0 and "
    "non-targets above are misleading evidence.",
    plotting.tippett,
    {},
)
_PAV = _Chart(
    "PAV map",
    "What the best monotone map makes of each score. Calibrated LLRs follow the identity.",
    plotting.pav_map,
    {},
)
_RAW_PAV = _Chart(
    "PAV map", "The LLR that the best monotone map makes of each score.", plotting.pav_map, {}
)
_CONFIDENCE = _Chart(
    "Reliability of the confidence",
    "How often the most probable class was the true one, by the posterior it was given. Calibrated "
    "posteriors follow the diagonal.",
    plotting.reliability_bins,
    {},
)


def draw(report: Report) -> list[Drawn]:
    """Return the figures of a report."""
    pen = _Pen()
    names = _short(report.systems)
    for part, some in _parts(report.systems):
        _metrics(pen, report, {name: names[name] for name in some}, part)
    for part, some in _parts(report.systems):
        _conditions(pen, report, {name: names[name] for name in some}, part)
    if report.predictions:
        n_classes = next(iter(report.predictions.values())).n_classes
        for chart in _charts(report.is_raw, n_classes):
            for part, some in _parts(list(report.predictions)):
                systems = {names[name]: report.predictions[name] for name in some}
                with new_axes() as ax:
                    chart.draw(systems, ax=ax, **chart.options)
                    pen.keep(ax, chart.title + part, chart.caption, list(systems))
    return pen.drawn


@dataclass
class _Pen:
    """Turns axes into the figures of a page."""

    drawn: list[Drawn] = field(default_factory=list)

    def keep(self, ax: Axes, title: str, caption: str, systems: Sequence[str]) -> None:
        """Add a figure, with words for those who cannot see it."""
        notes = notes_of(ax)
        too_long = notes.count("\n") >= _MOST_LINES
        for text in list(ax.texts):
            text.set_in_layout(False)
            if too_long and text.get_text() == notes:
                text.remove()
        what = f"{title} of {', '.join(systems)}: {ax.get_ylabel() or 'value'}"
        if ax.get_xlabel():
            what += f" against {ax.get_xlabel()}"
        said = " ".join(notes.split()) or "The metrics tell the same in numbers."
        svg = inline_svg(ax, f"figure{len(self.drawn)}", f"{_without_math(what)}. {said}")
        self.drawn.append(Drawn(title, caption, svg, notes if too_long else ""))


def _parts(names: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield as many systems at a time as can be told apart in a figure, and what to call them."""
    for first in range(0, len(names), _MOST_SYSTEMS):
        some = names[first : first + _MOST_SYSTEMS]
        called = f", systems {first + 1} to {first + len(some)}"
        yield "" if len(names) <= _MOST_SYSTEMS else called, some


def _charts(raw: bool, n_classes: int) -> list[_Chart]:
    if raw:
        return [_DET, _ROC, _MINIMUM, _HISTOGRAM, _RAW_PAV]
    if n_classes > 2:
        return [_CONFIDENCE]
    return [_DET, _BAYES, _CROSS_ENTROPY, _RELIABILITY, _HISTOGRAM, _TIPPETT, _PAV]


def _metrics(pen: _Pen, report: Report, names: Mapping[str, str], part: str) -> None:
    """Draw the metrics that are 1 for a system that knows the priors alone, as bars."""
    metrics = _short([row.metric for result in report.results for row in result.rows])
    systems = {}
    for result in report.pooled:
        rows = [row for row in result.rows if row.reference_value == 1.0]
        if rows and result.system in names:
            named = [replace(row, metric=metrics[row.metric]) for row in rows]
            systems[names[result.system]] = named
    if not systems:
        return
    caption = "All are 1 (dashed) for a system that knows the priors and nothing else; lower is "
    caption += "better." if report.intervals is None else "better. Whiskers are the intervals."
    with new_axes() as ax:
        plotting.metric_bars(systems, reference=1.0, ax=ax)
        if len(systems) > 3:
            _make_room(ax, len(systems))
        pen.keep(ax, "Normalized metrics" + part, caption, list(systems))


def _conditions(pen: _Pen, report: Report, names: Mapping[str, str], part: str) -> None:
    """Draw the most telling metrics by condition, as bars."""
    conditions = _short([result.condition for result in report.results], 20)
    if not 1 < len(conditions) <= _MOST_CONDITIONS:
        return
    names_of_metrics = (row.metric for result in report.results for row in result.rows)
    eer = next((name for name in names_of_metrics if name.startswith("EER")), "EER")
    for metric in (eer, "minCllr" if report.is_raw else "Cllr"):
        systems: dict[str, list[Row]] = {}
        for result in report.results:
            row = result.row(metric)
            if row is not None and result.system in names:
                bar = replace(row, metric=conditions[result.condition])
                systems.setdefault(names[result.system], []).append(bar)
        if systems:
            with new_axes() as ax:
                plotting.metric_bars(systems, ax=ax)
                ax.set_ylabel(metric)
                _make_room(ax, len(systems))
                pen.keep(ax, f"{metric} by condition{part}", "Lower is better.", list(systems))


def _make_room(ax: Axes, n_systems: int) -> None:
    """Make room for the legend above bars."""
    ax.set_ylim(top=(1.05 + 0.12 * n_systems) * ax.get_ylim()[1])


def _without_math(label: str) -> str:
    return label.replace("$\\log_{10}$", "log10").replace("$a_1$", "a1").replace("\n", " ")


def _short(names: Sequence[str], longest: int = _LONGEST) -> dict[str, str]:
    """Return for each name one that fits in a legend, all different."""
    short: dict[str, str] = {}
    for name in dict.fromkeys(names):
        shown = clean(" ".join(name.split())) or "(no name)"
        if len(shown) > longest:
            half = (longest - 1) // 2
            shown = f"{shown[:half]}\u2026{shown[-half:]}"
        if shown in short.values():
            shown = f"{shown} ({len(short) + 1})"
        short[name] = shown
    return short
