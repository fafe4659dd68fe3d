"""The ROC of detectors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr.curves import Roc
from fastpsr.curves import roc as roc_of
from fastpsr.data import Predictions
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import Canvas
from fastpsr.plotting.limits import common_end
from fastpsr.plotting.shading import Bands, bands_of, shade
from fastpsr.plotting.systems import as_mapping, of_class
from fastpsr.plotting.thinning import rate_grid, thin

_ENDS = (0.05, 0.1, 0.2, 0.5, 1.0)  # of the false-alarm rates that are drawn


@with_hints
def roc(
    systems: Roc | Predictions | Mapping[str, Roc | Predictions],
    *,
    hull: bool = False,
    band: Bands = None,
    class_: int | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the hit rate against the false-alarm rate.

    Parameters
    ----------
    systems : Roc, Predictions, or mapping of names to these
        Results of :func:`fastpsr.roc`, or binary predictions that are given to it.
    hull : bool
        Whether to add the convex hull, dashed.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.roc, predictions)``, drawn as shaded areas.
    class_ : int, optional
        Of predictions of several classes: the class that is told from the rest.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        A system that cannot be drawn is named in a text, with the reason. Of good systems the
        corner is drawn that they are told apart in: rates up to 5, 10, 20 or 50 %, at least 4 times
        the equal error rate of most systems.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary.

    Notes
    -----
    Curves keep the vertices that can be told apart on any screen, on linear, log or probit axes.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    >>> ax = fp.plotting.roc({"A": fp.roc(data)}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().tolist()
    [[1.0, 1.0], [0.5, 1.0], [0.5, 0.5], [0.0, 0.5], [0.0, 0.0]]
    """
    systems = of_class(systems, class_)
    bands = bands_of(band, as_mapping(systems), roc_of)
    canvas: Canvas[Roc] = Canvas(ax, kwargs)
    rates = {}
    for name, curve in canvas.systems(systems, Roc, roc_of, problem=all_equal):
        rates[name] = float(np.maximum(curve.p_fa, curve.p_miss).min())
        kept = thin(curve.p_fa, curve.p_miss, rate_grid(), rate_grid())
        (line,) = canvas.ax.plot(curve.p_fa[kept], 1.0 - curve.p_miss[kept], **canvas.style(name))
        if name in bands:
            low, high = bands[name].low, bands[name].high
            shade(canvas, name, bands[name], low.p_fa, 1.0 - high.p_miss, 1.0 - low.p_miss,
                  line.get_color())  # fmt: skip
        if hull:
            corners = curve.hull
            canvas.ax.plot(curve.p_fa[corners], 1.0 - curve.p_miss[corners], linestyle="--",
                           linewidth=1.0, color=line.get_color())  # fmt: skip
            canvas.key("convex hull", linestyle="--")
    usual = common_end(rates.values()) if rates else 1.0
    least = min(max(4.0 * usual, 0.98 * (1.0 - canvas.kept_bottom)), 1.0)
    end = min(end for end in _ENDS if end >= least)
    if end < 1.0:
        canvas.note("", f"the corner of rates up to {100.0 * end:g} %")
    else:
        canvas.guide("chance", [0.0, 1.0], [0.0, 1.0], linestyle=":")
    for name, rate in rates.items():
        if rate > end:
            canvas.note(name, "beyond the axes")
    canvas.ax.set_xlim(-0.01 * end, 1.01 * end)
    canvas.ax.set_ylim(1.0 - 1.01 * end, 1.0 + 0.01 * end)
    canvas.ax.set_aspect("equal")
    return canvas.finish("False-alarm rate", "Hit rate (1 - miss rate)")


def all_equal(curve: Roc) -> str:
    """Say what is wrong with a curve of one step."""
    return "" if curve.threshold.size > 2 else "all scores are equal, which is no curve"
