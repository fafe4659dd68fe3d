"""The DET: error rates of detectors on probit axes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr.curves import Roc
from fastpsr.curves import roc as roc_of
from fastpsr.plotting.canvas import Canvas
from fastpsr.plotting.probit import LEAST, TICKS, ProbitScale
from fastpsr.plotting.roc import all_equal
from fastpsr.plotting.thinning import rate_grid, thin
from fastpsr.predictions import Floats, Predictions

__all__ = ["det"]

_LOWEST = 1e-5  # of the axes' lower ends, however many samples there are


def det(
    systems: Roc | Predictions | Mapping[str, Roc | Predictions],
    *,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the miss rate against the false-alarm rate, both on probit axes.

    Systems whose scores are normal in both classes, with one variance, are straight lines.

    Parameters
    ----------
    systems : Roc, Predictions, or mapping of names to these
        Results of :func:`fastpsr.roc`, or binary predictions that are given to it.
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
        For anything that is not labeled and binary.

    Notes
    -----
    Rates of 0 and 1 lie beyond the axes, infinitely far: curves run out of the axes towards them.
    The axes reach down to the smallest rate above 0, but not below 0.001 %, and up to 40 % or more.
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
    """
    canvas: Canvas[Roc] = Canvas(ax, kwargs)
    curves = list(canvas.systems(systems, Roc, roc_of, problem=all_equal))
    fresh = canvas.ax.get_xscale() != "probit"
    if fresh:
        canvas.ax.set_xscale(ProbitScale(canvas.ax.xaxis))
        canvas.ax.set_yscale(ProbitScale(canvas.ax.yaxis))
    limits = [] if fresh else [canvas.ax.get_xlim() + canvas.ax.get_ylim()]
    for name, curve in curves:
        kept = thin(curve.p_fa, curve.p_miss, rate_grid(), rate_grid())
        canvas.ax.plot(curve.p_fa[kept], curve.p_miss[kept], **canvas.style(name))
        if not ((curve.p_fa > 0.0) & (curve.p_miss > 0.0)).any():
            canvas.note(name, "a threshold parts the classes: no errors to draw")
        limits.append(_limits(curve))
    ends = np.array(limits or [(1e-3, 0.5, 1e-3, 0.5)])
    canvas.ax.set_xlim(ends[:, 0].min(), ends[:, 1].max())
    canvas.ax.set_ylim(ends[:, 2].min(), ends[:, 3].max())
    canvas.guide("equal rates", [LEAST, 1.0 - LEAST], [LEAST, 1.0 - LEAST], linestyle=":")
    canvas.ax.grid(visible=True, color="0.9", linewidth=0.6)
    canvas.ax.set_axisbelow(True)
    if fresh and curves:
        canvas.note("", "rates of 0 and 100 % lie beyond the axes")
    return canvas.finish("False-alarm rate (%)", "Miss rate (%)", legend="upper right")


def _limits(curve: Roc) -> tuple[float, float, float, float]:
    nearest = np.argmin(np.abs(curve.p_fa - curve.p_miss))
    hardly = max(curve.p_fa[nearest], curve.p_miss[nearest]) > 0.3
    top = 0.99 if hardly else 0.5
    return _low(curve.p_fa, top), top, _low(curve.p_miss, top), top


def _low(rates: Floats, top: float) -> float:
    """Return the tick below the smallest rate above 0 that is not the only one."""
    inner = rates[(rates > 0.0) & (rates < top)]
    if not inner.size:
        return 1e-3
    below = [tick for tick in TICKS if _LOWEST <= tick <= 0.999 * inner.min()]
    return max(below, default=_LOWEST)
