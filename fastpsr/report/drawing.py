"""Which figures a report has, by the kind of the data."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from fastpsr import curves, plotting
from fastpsr.bootstrap import Band, band
from fastpsr.evaluation import Row
from fastpsr.evaluation.task import Progress
from fastpsr.metrics import ActDCF
from fastpsr.plotting.canvas import take_notes
from fastpsr.plotting.systems import events_of
from fastpsr.report.content import Report
from fastpsr.report.names import by_column, shorten
from fastpsr.report.sections import Part, Section, gains
from fastpsr.report.svg import inline_svg, make_room, new_axes

_MOST_SYSTEMS = 20  # in a figure: as many as differ in color or line
_MOST_CURVES = 6  # of the classes of a system in a figure
_MOST_CLASSES = 12  # whose reliability is drawn one by one
_MOST_CONDITIONS = 24  # that bars have room for
_BY_CHANCE = (
    " Shaded is where 95 % of their curves would lie by chance, if samples were independent."
)


@dataclass(frozen=True)
class Drawn:
    """A figure: SVG, and words around it; `notes` say what it cannot show."""

    title: str
    caption: str
    svg: Markup
    notes: str


@dataclass(frozen=True)
class _Chart:
    """A figure that overlays systems.

    `of` says what is drawn: "llrs" of two classes, "ranks" (of these, as raw scores) or "classes",
    predictions of more. With intervals, `curve` has bands. Options that depend on the report,
    and further words of its caption, are made `from_report`.
    """

    title: str
    caption: str
    draw: Callable[..., Axes]
    of: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    curve: Callable[..., Any] | None = None
    from_report: Callable[[Report], tuple[Mapping[str, Any], str]] | None = None

    def adapted(self, report: Report) -> "_Chart":
        """Return the figure with what depends on the report."""
        if self.from_report is None:
            return self
        options, words = self.from_report(report)
        return replace(self, options={**self.options, **options}, caption=self.caption + words)


def _with_operating_points(report: Report) -> tuple[Mapping[str, Any], str]:
    """Return options and words that mark the operating points of the report, if it has some."""
    minima = report.operating_points
    if not minima:
        return {}, ""
    words = " Hollow marks: where the cost is lowest"
    if report.is_raw:
        return {"operating_points": minima}, f"{words}."
    actual = [ActDCF(each.p_target, each.c_miss, each.c_fa) for each in minima]
    return (
        {"operating_points": [*minima, *actual]},
        f"{words}; filled marks: Bayes decisions with the scores as they are.",
    )


def _with_spoofs(report: Report) -> tuple[Mapping[str, Any], str]:
    """Return options and words that show spoofed trials apart, if the report has some."""
    if not report.spoof:
        return {}, ""
    return {"spoof": report.spoof}, " Spoofed trials are apart from the non-targets."


#: In the order in which they are shown.
_CHARTS = (
    _Chart(
        "Detection error trade-off",
        "Misses against false alarms as the threshold moves, both on probit axes. Nearer the lower "
        "left corner is better.",
        plotting.det, ("llrs", "ranks"), curve=curves.roc, from_report=_with_operating_points,
    ),
    _Chart(
        "Receiver operating characteristic",
        "Hits against false alarms as the threshold moves. Nearer the upper left corner is better.",
        plotting.roc, ("ranks",), curve=curves.roc,
    ),
    _Chart(
        "Normalized Bayes error",
        "Error of decisions at each prior, with costs of 1, divided by that of the better constant "
        "decision. Solid: at the threshold that the prior asks for; dashed: at the best threshold. "
        "The gap is what calibration would save.",
        plotting.bayes_error, ("llrs",), curve=curves.bayes_error,
    ),
    _Chart(
        "Normalized Bayes error",
        "Least error of decisions at each prior, with costs of 1, divided by that of the better "
        "constant decision: what the scores could reach once calibrated.",
        plotting.bayes_error, ("ranks",), curve=curves.bayes_error,
    ),
    _Chart(
        "Empirical cross-entropy",
        "Uncertainty that is left at each prior. Solid: with the LLRs as they are; dashed: after "
        "the best monotone map (PAV); dotted: without the system. The gap between solid and dashed "
        "is miscalibration.",
        plotting.empirical_cross_entropy, ("llrs",),
    ),
    _Chart(
        "Reliability",
        "How often class 1 was true, by the posterior it was given. Calibrated posteriors follow "
        "the diagonal.",
        plotting.reliability, ("llrs",), {"band": "consistency", "seed": 0}, curves.pav_steps,
    ),
    _Chart(
        "Score histogram",
        "How the scores of each class are spread. The less the classes overlap the better.",
        plotting.score_histogram, ("llrs", "ranks"), from_report=_with_spoofs,
    ),
    _Chart(
        "Tippett plot",
        "Share of the trials of each class with at least this likelihood ratio. Targets below 0 "
        "and non-targets above are misleading evidence.",
        plotting.tippett, ("llrs",), from_report=_with_spoofs,
    ),
    _Chart(
        "PAV map",
        "What the best monotone map makes of each score. Calibrated LLRs follow the identity.",
        plotting.pav_map, ("llrs",), curve=curves.pav_steps,
    ),
    _Chart(
        "PAV map",
        "The LLR that the best monotone map makes of each score.",
        plotting.pav_map, ("ranks",), curve=curves.pav_steps,
    ),
    _Chart(
        "Reliability of the confidence",
        "How often the most probable class was the true one, by the posterior it was given. "
        "Calibrated posteriors follow the diagonal.",
        plotting.reliability, ("classes",),
        {"on": "confidence", "band": "consistency", "seed": 0}, curves.pav_steps,
    ),
    _Chart(
        "Reliability of the confidence in bins",
        "The same in bins of equal width, which the ECEmc averages, with the number of samples in "
        "each above.",
        plotting.reliability_bins, ("classes",),
    ),
)  # fmt: skip


def figures(report: Report, progress: Progress | None = None) -> Section | None:
    """Return the section of figures, None if nothing can be drawn."""
    drawn = draw(report, progress)
    return Section("figures", "Figures", [Part("figures", drawn)]) if drawn else None


def draw(report: Report, progress: Progress | None = None) -> list[Drawn]:
    """Return the figures of a report; `progress` is called before each."""
    pen = _Pen(progress)
    names = shorten(report.systems)
    for part, some in _parts(report.systems):
        _metrics(pen, report, {name: names[name] for name in some}, part)
    _gains(pen, report)
    for part, some in _parts(report.systems):
        _conditions(pen, report, {name: names[name] for name in some}, part)
    if report.drawn:
        bands = _Bands(report, pen)
        n_classes = next(iter(report.drawn.values())).n_classes
        what = "classes" if n_classes > 2 else "ranks" if report.is_raw else "llrs"
        for chart in (each.adapted(report) for each in _CHARTS if what in each.of):
            for part, some in _parts(list(report.drawn)):
                shown = {name: names[name] for name in some}
                options, shaded = bands.around(chart, shown)
                systems = {names[name]: report.drawn[name] for name in some}
                draw_systems = partial(chart.draw, systems, **_renamed(options, shown))
                pen.draw(chart.title + part, chart.caption + shaded, systems, draw_systems)
            if chart.draw is plotting.det:
                _det_by_condition(pen, report, names, chart)
        if n_classes > 2:
            _classes(pen, report, names, n_classes)
    return pen.drawn


class _Bands:
    """Bands of the curves of a report, each computed once."""

    def __init__(self, report: Report, pen: "_Pen") -> None:
        self._report, self._pen = report, pen
        self._found: dict[Any, Band | None] = {}

    def around(self, chart: _Chart, names: Mapping[str, str]) -> tuple[Mapping[str, Any], str]:
        """Return the options of a chart of systems, with bands if there are, and what is shaded."""
        drawn = self._report.evaluation.intervals
        chance = chart.options.get("band") == "consistency"
        bands = {}
        for name, shown in names.items():
            found = self._of(chart, name)
            if found is not None:
                bands[shown] = found
        if bands and drawn is not None:
            shaded = (
                f" Shaded are pointwise bands of {100.0 * drawn.confidence_level:g} %, from "
                f"{drawn.n_resamples:,} replicates, resampling {drawn.drawn}."
            )
            return {**chart.options, "band": bands}, shaded
        return chart.options, _BY_CHANCE if chance else ""

    def _of(self, chart: _Chart, name: str) -> Band | None:
        """Return the band of a curve of a system, None if there is none."""
        report, on = self._report, chart.options.get("on")
        drawn = report.evaluation.intervals
        if drawn is None or chart.curve is None:
            return None
        key = (chart.curve, on, name)
        if key not in self._found:
            self._found[key] = None
            samples = report.drawn[name]
            if on is not None:
                samples = events_of({name: samples}, on, None)[name]
            with suppress(ValueError), warnings.catch_warnings():  # the figure says why
                warnings.simplefilter("ignore", RuntimeWarning)
                self._found[key] = band(
                    chart.curve, samples, n_resamples=drawn.n_resamples,
                    confidence_level=drawn.confidence_level,
                    resampling=report.resampling.get(name, drawn.resampling), seed=drawn.seed,
                    progress=partial(self._pen.begin, f"{chart.title}: {name}, replicates"),
                )  # fmt: skip
        return self._found[key]


@dataclass
class _Pen:
    """Turns axes into the figures of a page."""

    progress: Progress | None = None
    drawn: list[Drawn] = field(default_factory=list)

    def begin(self, title: str, done: int = 0, total: int = 1) -> None:
        """Report that a figure is begun, or how much of it is done."""
        if self.progress is not None:
            self.progress(title, done, total)

    def draw(
        self, title: str, caption: str, systems: Iterable[str], function: Callable[..., Axes]
    ) -> None:
        """Add what a function draws on axes, with words for those who cannot see it."""
        self.begin(title)
        with new_axes() as ax:
            function(ax=ax)
            notes = take_notes(ax)
            make_room(ax)
            x_label, y_label = (
                " ".join(text.split()) for text in (ax.get_xlabel(), ax.get_ylabel())
            )
            what = f"{title} of {', '.join(systems)}: {y_label or 'value'}"
            if x_label:
                what += f" against {x_label}"
            said = " ".join(notes.split()) or "The metrics tell the same in numbers."
            svg = Markup(inline_svg(ax, f"figure{len(self.drawn)}", f"{what}. {said}"))
        self.drawn.append(Drawn(title, caption, svg, notes))


def _parts(names: Sequence[str], what: str = "systems") -> Iterator[tuple[str, Sequence[str]]]:
    """Yield as many names at a time as can be told apart in a figure, and what to call them."""
    for first in range(0, len(names), _MOST_SYSTEMS):
        some = names[first : first + _MOST_SYSTEMS]
        called = f", {what} {first + 1} to {first + len(some)}"
        yield "" if len(names) <= _MOST_SYSTEMS else called, some


def _renamed(options: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    """Return options whose masks of spoofed trials are by the names in legends."""
    if "spoof" not in options:
        return options
    spoof = {names[name]: mask for name, mask in options["spoof"].items() if name in names}
    return {**options, "spoof": spoof}


def _det_by_condition(pen: _Pen, report: Report, names: Mapping[str, str], chart: _Chart) -> None:
    """Draw DET curves of all systems in each condition; of one system, of all its conditions."""
    conditions = list(dict.fromkeys(name for some in report.by_condition.values() for name in some))
    if not 1 < len(conditions) <= _MOST_CONDITIONS:
        return
    column, short = by_column(conditions)
    if len(report.by_condition) == 1:
        ((system, samples),) = report.by_condition.items()
        title = f"{chart.title} of {names[system]} by condition"
        curves_of = {title: {short[name]: each for name, each in samples.items()}}
    else:
        curves_of = {
            f"{chart.title}, {f'{column} ' if column else ''}{short[condition]}": {
                names[system]: samples[condition]
                for system, samples in report.by_condition.items()
                if condition in samples
            }
            for condition in conditions
        }
    for title, curves_in in curves_of.items():
        for part, some in _parts(list(curves_in), "curves"):
            curves_shown = {name: curves_in[name] for name in some}
            draw_curves = partial(chart.draw, curves_shown, **chart.options)
            pen.draw(title + part, chart.caption, some, draw_curves)


def _classes(pen: _Pen, report: Report, names: Mapping[str, str], n_classes: int) -> None:
    """Draw the reliability of each class against the others, one system at a time."""
    caption = "How often samples were of a class, by the posterior it was given."
    if n_classes > _MOST_CLASSES:
        caption += f" Drawn are the {_MOST_CLASSES} most frequent of {n_classes:,} classes."
    for system, samples in report.predictions.items():
        by_size = np.argsort(-samples.class_weights, kind="stable")[:_MOST_CLASSES]
        classes = sorted(by_size.tolist())
        for first in range(0, len(classes), _MOST_CURVES):
            some = classes[first : first + _MOST_CURVES]
            title = f"Reliability of {names[system]}, classes {', '.join(map(str, some))}"
            draw_classes = partial(
                plotting.reliability, samples, on="class", classes=some, band=None
            )
            pen.draw(title, caption, [f"class {k}" for k in some], draw_classes)


def _metrics(pen: _Pen, report: Report, names: Mapping[str, str], part: str) -> None:
    """Draw the metrics that are 1 for a system that knows the priors alone, as bars."""
    metrics = shorten([row.metric for result in report.results for row in result.rows])
    systems = {}
    for result in report.pooled:
        rows = [row for row in result.rows if row.reference_value == 1.0]
        if rows and result.system in names:
            named = [replace(row, metric=metrics[row.metric]) for row in rows]
            systems[names[result.system]] = named
    if not systems:
        return
    caption = (
        "All are 1 (dashed) for a system that knows the priors and nothing else; lower is better."
    )
    if report.evaluation.intervals is not None:
        caption += " Whiskers are the intervals."
    draw_bars = partial(plotting.metric_bars, systems, reference=1.0)
    pen.draw("Normalized metrics" + part, caption, systems, draw_bars)


def _gains(pen: _Pen, report: Report) -> None:
    """Draw what each system adds to a fusion, as bars."""
    found = gains(report)
    names = shorten([*found])
    caption = (
        "The fusion of all minus that without a system, or without the quality measures. Below 0 "
        "these add something, where whiskers do not reach 0."
    )
    for part, some in _parts([*found]):
        systems = {names[name]: found[name] for name in some}
        title = f"Gains of the fusion{part}"
        pen.draw(title, caption, systems, partial(plotting.metric_bars, systems))


def _conditions(pen: _Pen, report: Report, names: Mapping[str, str], part: str) -> None:
    """Draw the most telling metrics by condition, as bars."""
    column, conditions = by_column([result.condition for result in report.results])
    if not 1 < len(conditions) <= _MOST_CONDITIONS:
        return
    found = (report.metric_of(role) for role in ("EER", "minCllr" if report.is_raw else "Cllr"))
    for metric in filter(None, found):
        systems: dict[str, list[Row]] = {}
        for result in report.results:
            row = result.row(metric)
            if row is not None and result.system in names:
                bar = replace(row, metric=conditions[result.condition], group=None)
                systems.setdefault(names[result.system], []).append(bar)
        if systems:
            draw_bars = partial(_draw_by_condition, systems, metric, column)
            pen.draw(f"{metric} by condition{part}", "Lower is better.", systems, draw_bars)


def _draw_by_condition(
    systems: Mapping[str, Sequence[Row]], metric: str, column: str, *, ax: Axes
) -> Axes:
    plotting.metric_bars(systems, ax=ax)
    unit = f" ({ax.get_ylabel().lower()})" if ax.get_ylabel() != "Value" else ""
    ax.set_ylabel(f"{metric}{unit}")
    ax.set_xlabel(column, parse_math=False)
    return ax
