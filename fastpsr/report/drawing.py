"""Which figures a report has, by the kind of the data, and each as SVG."""

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fastpsr import curves, plotting
from fastpsr.bootstrap import Band, band
from fastpsr.data import Predictions
from fastpsr.evaluation.task import Progress, no_progress
from fastpsr.metrics import ActDCF
from fastpsr.plotting.canvas import events_of, take_notes
from fastpsr.report.content import Report
from fastpsr.report.names import shorten

_MOST_SYSTEMS = 20  # in a figure: as many as differ in color or line
_MOST_CONDITIONS = 24  # that have DET curves
_INCHES = (4.7, 3.5)  # so small that text stays legible at the width of a phone
_CHILD = 0.7  # inches, of axes above the axes
_LOOK: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",  # text stays text
    "text.usetex": False,
}


@dataclass(frozen=True)
class _Chart:
    """A figure that overlays systems.

    `of` lists the data that it draws: "llrs" (two classes), "ranks" (raw scores of two classes) or
    "classes" (more than two classes). If the report has intervals, `curve` has bands.
    """

    title: str
    caption: str
    draw: Callable[..., Axes]
    of: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    curve: Callable[..., Any] | None = None
    takes_spoof: bool = False


#: In the order in which they are shown.
_CHARTS = (
    _Chart(
        "Detection error trade-off",
        "Miss rate against false-alarm rate as the threshold varies, on probit axes. Curves closer "
        "to the lower left corner are better.",
        plotting.det, ("llrs", "ranks"), curve=curves.roc,
    ),
    _Chart(
        "Receiver operating characteristic",
        "Hit rate against false-alarm rate as the threshold varies. Curves closer to the upper "
        "left corner are better.",
        plotting.roc, ("ranks",), curve=curves.roc,
    ),
    _Chart(
        "Normalized Bayes error",
        "Error rate of decisions at each prior, with costs of 1, divided by the error rate of the "
        "better constant decision. Solid: at the Bayes threshold of the prior; dashed: at the best "
        "threshold. Calibration could remove the gap between the two.",
        plotting.bayes_error, ("llrs", "ranks"), curve=curves.bayes_error,
    ),
    _Chart(
        "Empirical cross-entropy",
        "Uncertainty that remains at each prior. Solid: with the LLRs as they are; dashed: after "
        "the best monotone map (PAV); dotted: without the system. Miscalibration causes the gap "
        "between the solid and the dashed curve.",
        plotting.empirical_cross_entropy, ("llrs",),
    ),
    _Chart(
        "Reliability",
        "Observed frequency of class 1 (after PAV) against its predicted posterior. Calibrated "
        "posteriors follow the diagonal.",
        plotting.reliability, ("llrs",), {"band": "consistency", "seed": 0}, curves.pav_steps,
    ),
    _Chart(
        "Score histogram",
        "Distribution of the scores of each class. The less the classes overlap, the better.",
        plotting.score_histogram, ("llrs", "ranks"), takes_spoof=True,
    ),
    _Chart(
        "Tippett plot",
        "Share of the trials of each class whose LLR is at least the value on the horizontal axis. "
        "Targets with LLRs below 0 and non-targets with LLRs above 0 are misleading evidence.",
        plotting.tippett, ("llrs",), takes_spoof=True,
    ),
    _Chart(
        "PAV map",
        "LLR after the best monotone map (PAV) against the score before it. Calibrated LLRs follow "
        "the identity line.",
        plotting.pav_map, ("llrs", "ranks"), curve=curves.pav_steps,
    ),
    _Chart(
        "Reliability of the confidence",
        "Observed frequency (after PAV) with which the most probable class is the true class, "
        "against the posterior of that class. Calibrated posteriors follow the diagonal.",
        plotting.reliability, ("classes",),
        {"on": "confidence", "band": "consistency", "seed": 0}, curves.pav_steps,
    ),
    _Chart(
        "Reliability of the confidence in bins",
        "The same frequencies in bins of equal width. The ECEmc is the average gap between "
        "frequency and mean posterior. The upper panel shows the number of samples in each bin.",
        plotting.reliability_bins, ("classes",),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class _Plan:
    """A figure that is to be drawn, with the names of its curves or bars."""

    title: str
    caption: str
    names: list[str]
    draw: Callable[..., Axes]


@dataclass(frozen=True)
class Drawing:
    """A figure: the content of its SVG element, the element's view box, and its texts.

    `axes` are the labels of the axes; `notes` describe data that the figure cannot show.
    """

    plan: _Plan
    svg: Markup
    box: str
    axes: list[str]
    notes: str


def figures(report: Report, progress: Progress | None = None) -> list[Drawing]:
    """Return the figures of a report; `progress` is called before each is drawn."""
    begin = progress or no_progress
    plans = chain(_bars(report), _overlays(report, begin))
    return [
        _drawn(plan, f"fastpsr {number}", begin, report.base) for number, plan in enumerate(plans)
    ]


def _drawn(plan: _Plan, salt: str, begin: Progress, base: int | None) -> Drawing:
    """Draw a figure in the look of reports, without pyplot and its list of open figures.

    Different salts give the parts of figures different ids, and the same salt the same.
    """
    begin(plan.title, 0, 1)
    with matplotlib.rc_context({**_LOOK, "svg.hashsalt": salt}), warnings.catch_warnings():
        # the browser supplies the fonts
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = Figure(_INCHES, layout="constrained")
        ax = figure.subplots()
        plan.draw(ax=ax)
        if base == 10:
            plotting.in_base_10(ax)
        notes = take_notes(ax)
        width, height = _INCHES
        height += sum(legend.get_window_extent().height for legend in figure.legends) / figure.dpi
        figure.set_size_inches(width, height + _CHILD * len(ax.child_axes))
        layout: Any = figure.get_layout_engine()
        layout.execute(figure)  # it changes the ticks, for which drawing makes room
        labels = [" ".join(text.split()) for text in (ax.get_ylabel() or "value", ax.get_xlabel())]
        return Drawing(plan, *_svg(figure), [*filter(None, labels)], notes)


def _svg(figure: Figure) -> tuple[Markup, str]:
    """Return the content of an SVG element, for a page with several of them, and its view box.

    It has no metadata, no styles of the whole page, no unused ids, and no invisible digits. Texts
    are escaped, so that they have no "<".
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    opening = re.search(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', stream.getvalue())
    assert opening is not None
    content = stream.getvalue()[opening.end() :].strip().removesuffix("</svg>")
    content = re.sub(r"<(metadata|style)\b.*?</\1>", "", content, flags=re.DOTALL)
    content = re.sub(r'<g id="[^"]*"', "<g", content)
    content = re.sub(r'<path (?:id="\w*" )?d="[^"]*"', _rounded, content)
    return Markup(content), opening[1]


def _rounded(path: re.Match[str]) -> str:
    return re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", path[0])


# Bars


def _bars(report: Report) -> Iterator[_Plan]:
    """Plan the metrics that are 1 for a system that knows only the priors."""
    evaluation = report.named
    names, metrics = shorten(report.systems), shorten([row.metric for row in evaluation.rows])
    first = {group.system: group for group in reversed(evaluation.groups)}
    systems = {
        names[system]: [
            replace(row, metric=metrics[row.metric])
            for row in evaluation.of(first[system])
            if row.reference_value == 1.0
        ]
        for system in report.systems
    }
    caption = "Each metric is 1 (dashed line) for a system that knows only the priors. Lower is "
    caption += "better."
    if report.evaluation.intervals is not None:
        caption += " Error bars show the confidence intervals."
    draw = partial(plotting.metric_bars, reference=1.0)
    return _plans("Normalized metrics", caption, systems, draw)


def _plans(
    title: str, caption: str, systems: Mapping[str, Any], draw: Callable[..., Axes],
    what: str = "systems", **options: Mapping[str, Any],
) -> Iterator[_Plan]:  # fmt: skip
    """Plan figures of systems by name, without empty ones, each of as many as can be distinguished.

    `options` have a value for each system by name, or for some.
    """
    names = [name for name, value in systems.items() if len(value)]
    for first in range(0, len(names), _MOST_SYSTEMS):
        part = names[first : first + _MOST_SYSTEMS]
        drawn = {name: systems[name] for name in part}
        of_part = {
            option: {name: values[name] for name in part if name in values}
            for option, values in options.items()
            if not values.keys().isdisjoint(part)
        }
        numbers = f", {what} {first + 1} to {first + len(part)}"
        shown = title if len(names) <= _MOST_SYSTEMS else f"{title}{numbers}"
        yield _Plan(shown, caption, part, partial(draw, drawn, **of_part))


# Curves


def _overlays(report: Report, begin: Progress) -> Iterator[_Plan]:
    """Plan the charts of all systems, and the DET curves of the conditions."""
    if not report.drawn:
        return
    names, intervals = shorten(report.systems), report.evaluation.intervals
    systems = {names[name]: samples for name, samples in report.drawn.items()}
    n_classes = next(iter(systems.values())).n_classes
    what = "classes" if n_classes > 2 else "ranks" if report.is_raw else "llrs"
    bands_of = cache(partial(_bands, report, begin, systems))  # some charts are of the same curve
    for chart in (chart for chart in _CHARTS if what in chart.of):
        caption, draw = chart.caption, partial(chart.draw, **chart.options)
        of_conditions: Iterable[_Plan] = ()
        if chart.draw is plotting.det:
            points, marks = _operating_points(report)
            caption, draw = caption + marks, partial(draw, operating_points=points)
            of_conditions = _det_by_condition(report, caption, draw)
        options: dict[str, Any] = {}
        if chart.takes_spoof and report.spoof:
            options["spoof"] = {names[name]: mask for name, mask in report.spoof.items()}
            caption += " Spoofed trials are separate from the non-targets."
        bands = bands_of(chart.curve, chart.options.get("on"))
        if bands and intervals is not None:
            options["band"] = bands
            caption += (
                f" The shaded areas are pointwise {100.0 * intervals.confidence_level:g} % "
                f"bands from {intervals.n_resamples:,} replicates, resampling {intervals.drawn}."
            )
        elif "band" in chart.options:
            caption += (
                " At each posterior, the shaded area holds 95 % of the curves of calibrated "
                "posteriors with independent samples."
            )
        yield from _plans(chart.title, caption, systems, draw, **options)
        yield from of_conditions


def _operating_points(report: Report) -> tuple[list[Any], str]:
    """Return the operating points that DET curves mark, and a sentence of the caption."""
    points: list[Any] = [*report.operating_points]
    if not points:
        return points, ""
    words = " Hollow markers: lowest cost at any threshold"
    if not report.is_raw:
        points += [ActDCF(least.p_target, least.c_miss, least.c_fa) for least in points]
        words += "; filled markers: Bayes decisions with the scores as they are"
    return points, f"{words}."


def _bands(
    report: Report,
    begin: Progress,
    systems: Mapping[str, Predictions],
    curve: Callable[..., Any] | None,
    on: Any,
) -> dict[str, Band]:
    """Return the bands of a curve by system, of those that have one."""
    intervals, bands = report.evaluation.intervals, dict[str, Band]()
    if intervals is None or curve is None:
        return bands
    for name, samples in events_of(systems, on).items() if on else systems.items():
        with suppress(ValueError), warnings.catch_warnings():  # the figure says why
            warnings.simplefilter("ignore", RuntimeWarning)
            bands[name] = band(
                curve, samples, n_resamples=intervals.n_resamples,
                confidence_level=intervals.confidence_level, resampling=intervals.resampling,
                seed=intervals.seed, progress=partial(begin, f"band of {name}, replicates"),
            )  # fmt: skip
    return bands


def _det_by_condition(report: Report, caption: str, draw: Callable[..., Axes]) -> Iterator[_Plan]:
    """Plan DET curves of all systems in each condition; of one system, of its conditions."""
    by_condition, names = report.by_condition, shorten(report.systems)
    conditions = list(dict.fromkeys(chain.from_iterable(by_condition.values())))
    if not 1 < len(conditions) <= _MOST_CONDITIONS:
        return
    short = shorten(conditions)
    figures_of: dict[str, dict[str, Any]] = {}
    for condition in conditions:
        for system, samples in by_condition.items():
            title, name = f", {short[condition]}", names[system]
            if len(by_condition) == 1:
                title, name = f" of {name} by condition", short[condition]
            if condition in samples:
                figures_of.setdefault(title, {})[name] = samples[condition]
    for title, systems in figures_of.items():
        yield from _plans(f"Detection error trade-off{title}", caption, systems, draw, "curves")
