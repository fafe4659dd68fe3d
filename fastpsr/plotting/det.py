"""The DET: error rates of detectors on probit axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr.curves import Roc
from fastpsr.curves import roc as roc_of
from fastpsr.data import Floats, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.metrics import ActDCF, MinDCF
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import GRAY, Canvas
from fastpsr.plotting.probit import LEAST, TICKS, ProbitScale
from fastpsr.plotting.roc import all_equal
from fastpsr.plotting.shading import Bands, bands_of, shade
from fastpsr.plotting.systems import as_mapping, of_class
from fastpsr.plotting.thinning import rate_grid, thin

_LOWEST = 1e-5  # of the axes' lower ends, however many samples there are
_TOP, _TOP_OF_CHANCE = 0.5, 0.99  # upper ends of the axes
_MARKERS = ("o", "s", "^", "D", "v", "P")

OperatingPoint = MinDCF | ActDCF


@with_hints
def det(
    systems: Roc | Predictions | Mapping[str, Roc | Predictions],
    *,
    operating_points: Sequence[OperatingPoint] = (),
    band: Bands = None,
    class_: int | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the miss rate against the false-alarm rate, both on probit axes.

    Systems whose scores are normal in both classes, with one variance, are straight lines.

    Parameters
    ----------
    systems : Roc, Predictions, or mapping of names to these
        Results of :func:`fastpsr.roc`, or binary predictions that are given to it.
    operating_points : sequence of MinDCF and ActDCF
        Marked on each curve: where the cost is lowest (``MinDCF``, hollow), and where Bayes
        decisions with the LLRs lie (``ActDCF``, filled), which needs predictions. Presets such as
        ``MinDCF("sre21")`` mark each of their points. Equal points have equal markers.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.roc, predictions)``, drawn as shaded areas.
    class_ : int, optional
        Of predictions of several classes: the class that is told from the rest.
    ax : Axes, optional
        By default a new figure's. Its axes become probit axes: what is drawn on them are rates,
        their limits are rates, and ticks are in percent.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        A system that cannot be drawn is named in a text, with the reason; so is one that makes no
        errors within the axes.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary, other operating points, and ``ActDCF`` of a
        :class:`fastpsr.curves.Roc`, whose thresholds are those of its corners only.

    Notes
    -----
    Rates of 0 and 1 lie beyond the axes, infinitely far: curves run out of the axes towards them.
    The axes reach down to the smallest rate above 0, but not below 0.001 %, and up to 50 %, or to
    99 % for systems that hardly rank. Operating points do not widen them; a text has the rates of
    those beyond, except for rates of 0 and 1.
    Curves keep the vertices that can be told apart on any screen.

    References
    ----------
    A. Martin et al., "The DET curve in assessment of detection task performance", Eurospeech 1997.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    >>> ax = fp.plotting.det({"A": fp.roc(data)}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().tolist()
    [[1.0, 0.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5], [0.0, 1.0]]

    With the points of lowest cost and of Bayes decisions:

    >>> llrs = [-2.0, -1.5, -1.0, 1.5, -1.8, -0.5, 1.0, 2.0]
    >>> data = fp.Predictions.from_llrs([0, 0, 0, 0, 1, 1, 1, 1], llrs)
    >>> points = [fp.MinDCF(0.5), fp.ActDCF(0.5)]
    >>> ax = fp.plotting.det(data, operating_points=points, ax=Figure().subplots())
    >>> [line.get_xydata().round(4).tolist() for line in ax.lines[1:4:2]]
    [[[0.25, 0.25]], [[0.25, 0.5]]]
    """
    for point in operating_points:
        if not isinstance(point, OperatingPoint):
            raise ArgumentError("operating_points", f"must be MinDCF or ActDCF, not {point!r}")
    systems = of_class(systems, class_)
    given = as_mapping(systems)
    bands = bands_of(band, given, roc_of)
    canvas: Canvas[Roc] = Canvas(ax, kwargs)
    curves = list(canvas.systems(systems, Roc, roc_of, problem=all_equal))
    fresh = canvas.ax.get_xscale() != "probit"
    if fresh:
        canvas.ax.set_xscale(ProbitScale(canvas.ax.xaxis))
        canvas.ax.set_yscale(ProbitScale(canvas.ax.yaxis))
    limits = [] if fresh else [canvas.ax.get_xlim() + canvas.ax.get_ylim()]
    marked: list[tuple[str, str, float, float]] = []
    for name, curve in curves:
        kept = thin(curve.p_fa, curve.p_miss, rate_grid(), rate_grid())
        style = canvas.style(name)
        (line,) = canvas.ax.plot(curve.p_fa[kept], curve.p_miss[kept], **style)
        if name in bands:
            low, high = bands[name].low, bands[name].high
            shade(canvas, name, bands[name], low.p_fa, low.p_miss, high.p_miss, line.get_color())
        marked += _mark(canvas, name, curve, given[name], operating_points, style)
        if not ((curve.p_fa > 0.0) & (curve.p_miss > 0.0)).any():
            canvas.note(name, "a threshold parts the classes: no errors to draw")
        limits.append(_limits(curve))
    ends = np.array(limits or [(1e-3, 0.5, 1e-3, 0.5)])
    left, right = canvas.ax.set_xlim(ends[:, 0].min(), ends[:, 1].max())
    low, high = canvas.ax.set_ylim(ends[:, 2].min(), ends[:, 3].max())
    for name, called, p_fa, p_miss in marked:
        is_shown = left <= p_fa <= right and low <= p_miss <= high
        if not is_shown and 0.0 < min(p_fa, p_miss) <= max(p_fa, p_miss) < 1.0:
            canvas.note(name, f"{called} is beyond the axes: {p_fa:.3%} false alarms, "
                        f"{p_miss:.3%} misses")  # fmt: skip
    canvas.guide("equal rates", [LEAST, 1.0 - LEAST], [LEAST, 1.0 - LEAST], linestyle=":")
    canvas.ax.grid(visible=True, color="0.9", linewidth=0.6)
    canvas.ax.set_axisbelow(True)
    if fresh and curves:
        also = ", and operating points there," if operating_points else ""
        canvas.note("", f"rates of 0 and 100 %{also} lie beyond the axes")
    return canvas.finish("False-alarm rate (%)", "Miss rate (%)")


def _mark(
    canvas: Canvas[Roc],
    name: str,
    curve: Roc,
    given: Roc | Predictions,
    points: Sequence[OperatingPoint],
    style: Mapping[str, Any],
) -> list[tuple[str, str, float, float]]:
    """Mark the operating points of a curve, and return system, name and rates of each."""
    places = list(dict.fromkeys(str(cost) for point in points for cost in point.costs))
    marked = []
    for point in points:
        try:
            rates = _rates(point, curve, given)
        except ValueError as error:
            if isinstance(given, Roc):
                raise
            canvas.note(name, f"{point.label} is not marked: {error}")
            continue
        fill = "white" if isinstance(point, MinDCF) else style["color"]
        for cost, (p_fa, p_miss) in zip(point.costs, rates, strict=True):
            look: dict[str, Any] = {"marker": _MARKERS[places.index(str(cost)) % len(_MARKERS)],
                    "linestyle": "none", "markersize": 6.5}  # fmt: skip
            called = f"{'min' if isinstance(point, MinDCF) else 'act'}DCF({cost})"
            canvas.ax.plot([p_fa], [p_miss], color=style["color"], markerfacecolor=fill, zorder=3.0,
                           label=f"_{called}", **look)  # fmt: skip
            gray = "white" if fill == "white" else GRAY
            canvas.key(called, **look, markeredgecolor=GRAY, markerfacecolor=gray)
            marked.append((name, called, p_fa, p_miss))
    return marked


def _rates(
    point: OperatingPoint, curve: Roc, given: Roc | Predictions
) -> list[tuple[float, float]]:
    """Return the false-alarm and miss rates of each cost of an operating point."""
    if isinstance(point, MinDCF):
        p_miss, p_fa = curve.p_miss[curve.hull], curve.p_fa[curve.hull]
        best = [int(np.argmin(cost.normalized(p_miss, p_fa))) for cost in point.costs]
        return [(float(p_fa[at]), float(p_miss[at])) for at in best]
    if isinstance(given, Roc):
        raise ArgumentError(
            "systems", f"must be Predictions for {point.label}: a Roc has no Bayes decisions"
        )
    rates = point.rates(point.total(given))
    return [(p_fa, p_miss) for p_miss, p_fa in rates]


def _limits(curve: Roc) -> tuple[float, float, float, float]:
    """Return the ends of both axes for a curve."""
    nearest = np.argmin(np.abs(curve.p_fa - curve.p_miss))
    hardly = max(curve.p_fa[nearest], curve.p_miss[nearest]) > 0.3
    top = _TOP_OF_CHANCE if hardly else _TOP
    return _low(curve.p_fa, top), top, _low(curve.p_miss, top), top


def _low(rates: Floats, top: float) -> float:
    """Return the tick below the smallest rate above 0 that is not the only one."""
    inner = rates[(rates > 0.0) & (rates < top)]
    if not inner.size:
        return 1e-3
    below = [tick for tick in TICKS if _LOWEST <= tick <= 0.999 * inner.min()]
    return max(below, default=_LOWEST)
