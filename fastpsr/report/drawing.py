"""Which figures a report has, by the kind of the data."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from fastpsr import curves, plotting
from fastpsr.bootstrap import Band, band
from fastpsr.data import Predictions
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
    predictions of more. With intervals, `curve` has bands. Points of operation are marked, and
    spoofed trials are apart, where that is said.
    """

    title: str
    caption: str
    draw: Callable[..., Axes]
    of: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    curve: Callable[..., Any] | None = None
    marks_points: bool = False
    parts_spoofs: bool = False

    def adapted(self, report: Report) -> "_Chart":
        """Return the figure with the operating points and the spoofed trials of a report."""
        options, words = dict(self.options), ""
        if self.marks_points and report.operating_points:
            options["operating_points"] = [*report.operating_points]
            words = " Hollow marks: where the cost is lowest"
            if not report.is_raw:
                options["operating_points"] += [
                    ActDCF(minimum.p_target, minimum.c_miss, minimum.c_fa)
                    for minimum in report.operating_points
                ]
                words += "; filled marks: Bayes decisions with the scores as they are"
            words += "."
        if self.parts_spoofs and report.spoof:
            options["spoof"], words = (
                report.spoof,
                " Spoofed trials are apart from the non-targets.",
            )
        return replace(self, options=options, caption=self.caption + words)


#: In the order in which they are shown.
_CHARTS = (
    _Chart(
        "Detection error trade-off",
        "Misses against false alarms as the threshold moves, both on probit axes. Nearer the lower "
        "left corner is better.",
        plotting.det, ("llrs", "ranks"), curve=curves.roc, marks_points=True,
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
        plotting.score_histogram, ("llrs", "ranks"), parts_spoofs=True,
    ),
    _Chart(
        "Tippett plot",
        "Share of the trials of each class with at least this likelihood ratio. Targets below 0 "
        "and non-targets above are misleading evidence.",
        plotting.tippett, ("llrs",), parts_spoofs=True,
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
    """Return the section of figures, None if nothing can be drawn; `progress` tells of each."""
    drawing = _Drawing(report, progress)
    for part, names in _parts(report.systems):
        drawing.draw_metrics(part, names)
    drawing.draw_gains()
    for part, names in _parts(report.systems):
        drawing.draw_conditions(part, names)
    if report.drawn:
        n_classes = next(iter(report.drawn.values())).n_classes
        what = "classes" if n_classes > 2 else "ranks" if report.is_raw else "llrs"
        for chart in (each.adapted(report) for each in _CHARTS if what in each.of):
            for part, names in _parts(list(report.drawn)):
                drawing.draw_systems(chart, part, names)
            if chart.draw is plotting.det:
                drawing.draw_det_by_condition(chart)
        if n_classes > 2:
            drawing.draw_classes(n_classes)
    if not drawing.drawn:
        return None
    return Section("figures", "Figures", [Part("figures", drawing.drawn)])


class _Drawing:
    """The figures of a report, one after the other; each band is computed once."""

    def __init__(self, report: Report, progress: Progress | None) -> None:
        self.drawn: list[Drawn] = []
        self._report, self._progress = report, progress
        self._names = shorten(report.systems)
        self._bands: dict[Any, Band | None] = {}

    def _begin(self, title: str, done: int = 0, total: int = 1) -> None:
        if self._progress is not None:
            self._progress(title, done, total)

    def _add(
        self, title: str, caption: str, systems: Iterable[str], draw: Callable[..., Axes]
    ) -> None:
        """Add what a function draws on axes, with words for those who cannot see it."""
        self._begin(title)
        with new_axes() as ax:
            draw(ax=ax)
            notes = take_notes(ax)
            make_room(ax)
            x_label, y_label = (
                " ".join(text.split()) for text in (ax.get_xlabel(), ax.get_ylabel())
            )
            words = f"{title} of {', '.join(systems)}: {y_label or 'value'}"
            if x_label:
                words += f" against {x_label}"
            words += f". {' '.join(notes.split()) or 'The metrics tell the same in numbers.'}"
            svg = Markup(inline_svg(ax, f"figure{len(self.drawn)}", words))
        self.drawn.append(Drawn(title, caption, svg, notes))

    def draw_systems(self, chart: _Chart, part: str, systems: Sequence[str]) -> None:
        """Draw a chart of systems, with bands where there are intervals."""
        names, options, caption = self._names, dict(chart.options), chart.caption
        if "spoof" in options:
            options["spoof"] = {names[k]: v for k, v in options["spoof"].items() if k in systems}
        bands = {names[name]: self._band_of(chart, name) for name in systems}
        bands = {label: area for label, area in bands.items() if area is not None}
        intervals = self._report.evaluation.intervals
        if bands and intervals is not None:
            caption += (
                f" Shaded are pointwise bands of {100.0 * intervals.confidence_level:g} %, from "
                f"{intervals.n_resamples:,} replicates, resampling {intervals.drawn}."
            )
            options["band"] = bands
        elif options.get("band") == "consistency":
            caption += _BY_CHANCE
        curves_of = {names[name]: self._report.drawn[name] for name in systems}
        self._add(chart.title + part, caption, curves_of, partial(chart.draw, curves_of, **options))

    def _band_of(self, chart: _Chart, name: str) -> Band | None:
        """Return the band of a curve of a system, None if there is none."""
        on, intervals = chart.options.get("on"), self._report.evaluation.intervals
        if intervals is None or chart.curve is None:
            return None
        key = (chart.curve, on, name)
        if key not in self._bands:
            self._bands[key] = None
            samples = self._report.drawn[name]
            if on is not None:
                samples = events_of({name: samples}, on, None)[name]
            with suppress(ValueError), warnings.catch_warnings():  # the figure says why
                warnings.simplefilter("ignore", RuntimeWarning)
                self._bands[key] = band(
                    chart.curve, samples, n_resamples=intervals.n_resamples,
                    confidence_level=intervals.confidence_level, seed=intervals.seed,
                    resampling=self._report.resampling.get(name, intervals.resampling),
                    progress=partial(self._begin, f"{chart.title}: {name}, replicates"),
                )  # fmt: skip
        return self._bands[key]

    def draw_det_by_condition(self, chart: _Chart) -> None:
        """Draw DET curves of all systems in each condition; of one system, of its conditions."""
        by_condition, names = self._report.by_condition, self._names
        conditions = list(dict.fromkeys(chain.from_iterable(by_condition.values())))
        if not 1 < len(conditions) <= _MOST_CONDITIONS:
            return
        column, short = by_column(conditions)
        figures_of: dict[str, dict[str, Predictions]] = {}
        for system, samples in by_condition.items():
            for condition in samples:
                title = f"{chart.title}, {f'{column} ' if column else ''}{short[condition]}"
                curve = names[system]
                if len(by_condition) == 1:
                    title, curve = f"{chart.title} of {curve} by condition", short[condition]
                figures_of.setdefault(title, {})[curve] = samples[condition]
        for title, systems in figures_of.items():
            for part, labels in _parts(list(systems), "curves"):
                curves_of = {name: systems[name] for name in labels}
                draw = partial(chart.draw, curves_of, **chart.options)
                self._add(title + part, chart.caption, curves_of, draw)

    def draw_classes(self, n_classes: int) -> None:
        """Draw the reliability of each class against the others, one system at a time."""
        caption = "How often samples were of a class, by the posterior it was given."
        if n_classes > _MOST_CLASSES:
            caption += f" Drawn are the {_MOST_CLASSES} most frequent of {n_classes:,} classes."
        for system, samples in self._report.predictions.items():
            by_size = np.argsort(-samples.class_weights, kind="stable")[:_MOST_CLASSES]
            classes = sorted(by_size.tolist())
            for first in range(0, len(classes), _MOST_CURVES):
                subset = classes[first : first + _MOST_CURVES]
                title = (
                    f"Reliability of {self._names[system]}, classes {', '.join(map(str, subset))}"
                )
                draw = partial(plotting.reliability, samples, on="class", classes=subset, band=None)
                self._add(title, caption, [f"class {k}" for k in subset], draw)

    def draw_metrics(self, part: str, names: Sequence[str]) -> None:
        """Draw the metrics that are 1 for a system that knows the priors alone, as bars."""
        results = self._report.results
        metrics = shorten([row.metric for result in results for row in result.rows])
        systems = {
            self._names[result.system]: [
                replace(row, metric=metrics[row.metric])
                for row in result.rows
                if row.reference_value == 1.0
            ]
            for result in self._report.pooled
            if result.system in names
        }
        systems = {name: rows for name, rows in systems.items() if rows}
        caption = (
            "All are 1 (dashed) for a system that knows the priors and nothing else; lower is "
            "better."
        )
        if self._report.evaluation.intervals is not None:
            caption += " Whiskers are the intervals."
        if systems:
            draw = partial(plotting.metric_bars, systems, reference=1.0)
            self._add("Normalized metrics" + part, caption, systems, draw)

    def draw_gains(self) -> None:
        """Draw what each system adds to a fusion, as bars."""
        rows_of = gains(self._report)
        names = shorten([*rows_of])
        caption = (
            "The fusion of all minus that without a system, or without the quality measures. Below "
            "0 these add something, where whiskers do not reach 0."
        )
        for part, parts_of_fusion in _parts([*rows_of]):
            systems = {names[name]: rows_of[name] for name in parts_of_fusion}
            draw = partial(plotting.metric_bars, systems)
            self._add(f"Gains of the fusion{part}", caption, systems, draw)

    def draw_conditions(self, part: str, names: Sequence[str]) -> None:
        """Draw the most telling metrics by condition, as bars."""
        report = self._report
        column, conditions = by_column([result.condition for result in report.results])
        if not 1 < len(conditions) <= _MOST_CONDITIONS:
            return
        usual = (report.metric_of(role) for role in ("EER", "minCllr" if report.is_raw else "Cllr"))
        for metric in filter(None, usual):
            systems: dict[str, list[Row]] = {}
            for result in report.results:
                row = result.row(metric)
                if row is not None and result.system in names:
                    bar = replace(row, metric=conditions[result.condition], group=None)
                    systems.setdefault(self._names[result.system], []).append(bar)
            if systems:
                draw = partial(_draw_by_condition, systems, metric, column)
                self._add(f"{metric} by condition{part}", "Lower is better.", systems, draw)


def _draw_by_condition(
    systems: Mapping[str, Sequence[Row]], metric: str, column: str, *, ax: Axes
) -> Axes:
    plotting.metric_bars(systems, ax=ax)
    unit = f" ({ax.get_ylabel().lower()})" if ax.get_ylabel() != "Value" else ""
    ax.set_ylabel(f"{metric}{unit}")
    ax.set_xlabel(column, parse_math=False)
    return ax


def _parts(names: Sequence[str], what: str = "systems") -> Iterator[tuple[str, Sequence[str]]]:
    """Yield as many names at a time as can be told apart in a figure, and what to call them."""
    for first in range(0, len(names), _MOST_SYSTEMS):
        names_of_part = names[first : first + _MOST_SYSTEMS]
        numbers = f", {what} {first + 1} to {first + len(names_of_part)}"
        yield "" if len(names) <= _MOST_SYSTEMS else numbers, names_of_part
