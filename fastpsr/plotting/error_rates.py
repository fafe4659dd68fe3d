"""The DET and the ROC, and precision over recall: rates of detectors along the threshold."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fastpsr import curves
from fastpsr.checks import check_instance
from fastpsr.curves import PrecisionRecall, Roc
from fastpsr.data import Floats, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.metrics import ActDCF, MinDCF
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import GRAY, Bands, Canvas, Systems, common_end

OperatingPoint = MinDCF | ActDCF

_LEAST = 1e-12  # rates nearer to 0 or 1 lie here
_LOW = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
_HIGH = tuple(1.0 - rate for rate in reversed(_LOW) if rate not in (0.005, 0.02))  # less crowded
_TICKS = (*_LOW, *_HIGH)
_LOWEST = 1e-5  # of the axes' lower ends, however many samples there are
_TOP, _TOP_OF_CHANCE = 0.5, 0.99  # upper ends of the axes
_MARKERS = ("o", "s", "^", "D", "v", "P")
_P_FA, _P_MISS = attrgetter("p_fa"), attrgetter("p_miss")


@with_hints
def det(
    systems: Systems[Roc],
    *,
    operating_points: Sequence[OperatingPoint] = (),
    band: Bands = None,
    class_: int | str | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the miss rate against the false-alarm rate on probit axes (Martin et al., 1997).

    Parameters
    ----------
    systems : Roc, Predictions, or mapping of names to these
        Results of :func:`fastpsr.roc`, or labeled predictions.
    operating_points : sequence of MinDCF and ActDCF
        Points to mark on each curve: the lowest cost (``MinDCF``, hollow markers), and the Bayes
        decisions with the LLRs (``ActDCF``, filled markers; needs predictions).
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.roc, predictions)``, drawn as shaded areas.
    class_ : int or str, optional
        The class to draw against the rest; needed for predictions of more than two classes.
    ax : Axes, optional
        By default a new figure's. The axes get probit scales; their limits are rates.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        Rates of 0 and 1 have no place on probit axes. The axes reach from the smallest rate above
        0, but at least 0.001 %, to 50 %, or to 99 % for systems near chance.

    Raises
    ------
    ValueError
        For data that are not labeled and binary, and for ``ActDCF`` with a
        :class:`fastpsr.curves.Roc`.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    >>> ax = fp.plotting.det({"A": fp.roc(data)}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().tolist()
    [[1.0, 0.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5], [0.0, 1.0]]
    """
    for point in operating_points:
        check_instance("operating_points", point, (MinDCF, ActDCF), "MinDCF or ActDCF")
    canvas = Canvas(ax, kwargs)
    rates = canvas.results(systems, Roc, curves.roc, band=band, class_=class_, problem=_all_equal)
    is_new = _set_probit_axes(canvas.ax)
    limits = [] if is_new else [canvas.view]
    for name, curve in rates.items():
        color = canvas.draw(name, curve, _P_FA, _P_MISS).get_color()
        _mark(canvas, name, curve, operating_points, color)
        if not ((curve.p_fa > 0.0) & (curve.p_miss > 0.0)).any():
            canvas.note(name, "a threshold separates the classes: there are no errors to draw")
        limits.append(_limits(curve))
    ends = np.array(limits or [(1e-3, 0.5, 1e-3, 0.5)])
    canvas.ax.set_xlim(ends[:, 0].min(), ends[:, 1].max())
    canvas.ax.set_ylim(ends[:, 2].min(), ends[:, 3].max())
    canvas.guide("equal rates", [_LEAST, 1.0 - _LEAST], [_LEAST, 1.0 - _LEAST], linestyle=":")
    if is_new and rates:
        also = ", and operating points beyond the axes, are not shown"
        canvas.note("", f"rates of 0 and 100 %{also if operating_points else ' are not shown'}")
    return canvas.finish("False-alarm rate (%)", "Miss rate (%)")


def _set_probit_axes(ax: Axes) -> bool:
    """Set probit scales on both axes, for rates between 0 and 1; return whether they are new."""
    if ax.get_xscale() == "function":
        return False
    ax.set_xscale("function", functions=(_probit, _rate))
    ax.set_yscale("function", functions=(_probit, _rate))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(_Ticks(_TICKS))
        axis.set_major_formatter(FuncFormatter(_percent))
        axis.set_minor_locator(NullLocator())
    ax.grid(visible=True, color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    return True


def _probit(rates: Any) -> Any:
    from scipy.special import ndtri

    return ndtri(np.clip(rates, _LEAST, 1.0 - _LEAST))


def _rate(probits: Any) -> Any:
    from scipy.special import ndtr

    return ndtr(probits)


def _percent(rate: float, _: object = None) -> str:
    return f"{round(100.0 * rate, 8):g}"


class _Ticks(FixedLocator):
    """Fixed ticks, as many as fit without overlapping labels."""

    def __call__(self) -> Any:
        axis: Any = self.axis
        first, last = np.sort(axis.get_view_interval())
        ticks = [tick for tick in super().__call__() if first <= tick <= last]
        low, *places, high = _probit([first, *ticks, last])
        room, end = (high - low) / max(axis.get_tick_space(), 1), -np.inf
        kept = []
        for tick, place in zip(ticks, places, strict=True):
            if place - end >= room:
                kept.append(tick)
                end = place
        return np.array(kept)


def _limits(curve: Roc) -> tuple[float, float, float, float]:
    """Return the limits of both axes for a curve."""
    nearest = np.argmin(np.abs(curve.p_fa - curve.p_miss))
    hardly = max(curve.p_fa[nearest], curve.p_miss[nearest]) > 0.3
    top = _TOP_OF_CHANCE if hardly else _TOP
    return _low(curve.p_fa, top), top, _low(curve.p_miss, top), top


def _low(rates: Floats, top: float) -> float:
    """Return the tick below the smallest rate between 0 and the upper end."""
    inner = rates[(rates > 0.0) & (rates < top)]
    if not inner.size:
        return 1e-3
    below = [tick for tick in _TICKS if _LOWEST <= tick <= 0.999 * inner.min()]
    return max(below, default=_LOWEST)


def _mark(
    canvas: Canvas, name: str, curve: Roc, points: Sequence[OperatingPoint], color: Any
) -> None:
    """Mark the operating points of a curve."""
    source = canvas.systems[name]
    places = list(dict.fromkeys(str(cost) for point in points for cost in point.costs))
    for point in points:
        is_least = isinstance(point, MinDCF)
        try:
            rates = _rates(point, curve, source)
        except ValueError as error:
            if isinstance(source, Roc):
                raise
            canvas.note(name, f"{point.label} is not marked: {error}")
            continue
        for cost, (p_fa, p_miss) in zip(point.costs, rates, strict=True):
            look: dict[str, Any] = {"marker": _MARKERS[places.index(str(cost)) % len(_MARKERS)],
                    "linestyle": "none", "markersize": 6.5}  # fmt: skip
            called = f"{'min' if is_least else 'act'}DCF({cost})"
            fill, fill_of_key = ("white", "white") if is_least else (color, GRAY)
            canvas.ax.plot([p_fa], [p_miss], color=color, markerfacecolor=fill, zorder=3.0,
                           label=f"_{called}", **look)  # fmt: skip
            canvas.key(called, **look, markeredgecolor=GRAY, markerfacecolor=fill_of_key)


def _rates(
    point: OperatingPoint, curve: Roc, source: Roc | Predictions
) -> list[tuple[float, float]]:
    """Return the false-alarm and miss rates of each cost of an operating point."""
    if isinstance(point, MinDCF):
        p_miss, p_fa = curve.p_miss[curve.hull], curve.p_fa[curve.hull]
        best = [int(np.argmin(cost.normalized(p_miss, p_fa))) for cost in point.costs]
        return [(float(p_fa[at]), float(p_miss[at])) for at in best]
    if isinstance(source, Roc):
        raise ArgumentError(
            "systems", f"must be Predictions for {point.label}: a Roc has no Bayes decisions"
        )
    rates = point.rates(point.total(source))
    return [(p_fa, p_miss) for p_miss, p_fa in rates]


def _all_equal(curve: Roc) -> str:
    """Return a reason to skip a curve of one step, or ""."""
    return "" if curve.threshold.size > 2 else "all scores are equal, so there is no curve"


_ENDS = (0.05, 0.1, 0.2, 0.5, 1.0)  # upper ends of the axis of false-alarm rates


@with_hints
def roc(
    systems: Systems[Roc],
    *,
    hull: bool = False,
    band: Bands = None,
    class_: int | str | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the hit rate against the false-alarm rate.

    Parameters
    ----------
    systems : Roc, Predictions, or mapping of names to these
        Results of :func:`fastpsr.roc`, or labeled predictions.
    hull : bool
        Whether to add the convex hull, dashed.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.roc, predictions)``, drawn as shaded areas.
    class_ : int or str, optional
        The class to draw against the rest; needed for predictions of more than two classes.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        A note names each system that cannot be drawn, with the reason. For good systems the axes
        show only the upper left corner, where the curves differ: rates up to 5, 10, 20 or 50 %, at
        least 4 times the equal error rate of most systems.

    Raises
    ------
    ValueError
        For data that are not labeled and binary.

    Notes
    -----
    Curves keep the vertices that a screen can resolve on linear, log or probit axes.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    >>> ax = fp.plotting.roc({"A": fp.roc(data)}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().tolist()
    [[1.0, 1.0], [0.5, 1.0], [0.5, 0.5], [0.0, 0.5], [0.0, 0.0]]
    """
    canvas = Canvas(ax, kwargs)
    rates = canvas.results(systems, Roc, curves.roc, band=band, class_=class_, problem=_all_equal)
    for name, curve in rates.items():
        line = canvas.draw(name, curve, _P_FA, lambda curve: 1.0 - curve.p_miss)
        if hull:
            corners = curve.hull
            canvas.ax.plot(curve.p_fa[corners], 1.0 - curve.p_miss[corners], linestyle="--",
                           linewidth=1.0, color=line.get_color())  # fmt: skip
            canvas.key("convex hull", linestyle="--")
    _limit_corner(canvas, rates)
    return canvas.finish("False-alarm rate", "Hit rate (1 - miss rate)")


def _limit_corner(canvas: Canvas, curves: Mapping[str, Roc]) -> None:
    """Limit the axes to the corner of 4 times the equal error rate of most systems."""
    rates = {
        name: float(np.maximum(curve.p_fa, curve.p_miss).min()) for name, curve in curves.items()
    }
    usual = common_end(rates.values()) if rates else 1.0
    least = min(max(4.0 * usual, 0.98 * (1.0 - canvas.view[2])), 1.0)
    end = min(end for end in _ENDS if end >= least)
    if end < 1.0:
        canvas.note("", f"the axes only show rates up to {100.0 * end:g} %")
    else:
        canvas.guide("chance", [0.0, 1.0], [0.0, 1.0], linestyle=":")
    for name, rate in rates.items():
        if rate > end:
            canvas.note(name, "the curve lies beyond the axes")
    canvas.ax.set_xlim(-0.01 * end, 1.01 * end)
    canvas.ax.set_ylim(1.0 - 1.01 * end, 1.0 + 0.01 * end)
    canvas.ax.set_aspect("equal")


@with_hints
def precision_recall(
    systems: Systems[PrecisionRecall],
    *,
    band: Bands = None,
    class_: int | str | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the precision against the recall, in steps.

    Parameters
    ----------
    systems : PrecisionRecall, Predictions, or mapping of names to these
        Results of :func:`fastpsr.precision_recall`, or labeled predictions.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.precision_recall, predictions)``, drawn as shaded areas.
    class_ : int or str, optional
        The class to draw against the rest; needed for predictions of more than two classes.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        The area below a curve is the average precision. A dotted line marks the precision of
        chance, which is the prior of the class; results do not hold it, so that only predictions
        have this line. A note names each system that cannot be drawn, with the reason.

    Raises
    ------
    ValueError
        For data that are not labeled, or have more than two classes without `class_`.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    >>> ax = fp.plotting.precision_recall({"A": data}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().round(3).tolist()
    [[1.0, 0.667], [0.5, 1.0], [0.0, 1.0]]
    """
    canvas = Canvas(ax, kwargs)
    results = canvas.results(
        systems, PrecisionRecall, curves.precision_recall, band=band, class_=class_
    )
    for name, curve in results.items():
        look = canvas.style(name, drawstyle="steps-post")
        canvas.draw(name, curve, attrgetter("recall"), attrgetter("precision"), look)
        data = canvas.systems[name]
        if isinstance(data, Predictions):
            prior = float(data.priors[1])
            canvas.guide(f"chance ({prior:.3g})", [0.0, 1.0], [prior, prior], linestyle=":")
    canvas.ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    return canvas.finish("Recall", "Precision")
