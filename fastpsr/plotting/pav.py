"""The PAV map: scores against the LLRs that isotonic calibration makes of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import curves
from fastpsr.curves import PavSteps
from fastpsr.data import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import LLR, Canvas, is_guide
from fastpsr.plotting.shading import Bands, bands_of, shade
from fastpsr.plotting.systems import as_mapping, of_class
from fastpsr.plotting.thinning import span_grid, thin


@with_hints
def pav_map(
    systems: PavSteps | Predictions | Mapping[str, PavSteps | Predictions],
    *,
    band: Bands = None,
    class_: int | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the LLRs after PAV against the scores; calibrated LLRs follow the identity.

    Parameters
    ----------
    systems : PavSteps, Predictions, or mapping of names to these
        Results of :func:`fastpsr.pav_steps`, or binary predictions that are given to it. The LLRs
        of posteriors are their log-odds less those of the prior.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.pav_steps, predictions)``, drawn as shaded areas.
    class_ : int, optional
        Of predictions of several classes: the class that is told from the rest.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        Steps of one class alone, which are mapped to infinite LLRs, are named in a text, as are
        infinite scores and systems that cannot be drawn.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary, and raw scores beside LLRs.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 1, 0, 1], [-3.0, -2.0, 1.0, 3.0])
    >>> ax = fp.plotting.pav_map({"A": fp.pav_steps(data)}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().tolist()
    [[-2.0, 0.0], [1.0, 0.0]]
    """
    systems = of_class(systems, class_)
    bands = bands_of(band, as_mapping(systems), curves.pav_steps)
    canvas: Canvas[PavSteps] = Canvas(ax, kwargs)
    found = dict(canvas.systems(systems, PavSteps, curves.pav_steps))
    kinds = {steps.kind == "raw scores" for steps in found.values()}
    if len(kinds) > 1:
        raise ArgumentError("systems", "must all be LLRs, or all be raw scores: they share an axis")
    colors = {}
    for name, steps in found.items():
        shift = steps.prior_log_odds if steps.kind == "posteriors" else 0.0
        x = np.column_stack([steps.lowest, steps.highest]).ravel() - shift
        y = np.repeat(steps.llr, 2)
        _note_infinite(canvas, name, x, y, alone=len(found) == 1)
        drawn = np.isfinite(x) & np.isfinite(y)
        x, y = x[drawn], y[drawn]
        if x.size:
            kept = thin(x, y, span_grid(x), span_grid(y))
            (line,) = canvas.ax.plot(x[kept], y[kept], **canvas.style(name))
            colors[name] = line.get_color(), x[0], x[-1], shift
    if colors:
        canvas.limit_scores({name: (first, last) for name, (_, first, last, _) in colors.items()})
    for name, band_of in bands.items():
        if name in colors:
            color, first, last, shift = colors[name]
            x = band_of.low.score - shift
            inside = (x >= first) & (x <= last)
            low, high = band_of.low.llr[inside], band_of.high.llr[inside]
            shade(canvas, name, band_of, x[inside], low, high, color)
    if kinds == {False} and any(not is_guide(line) for line in canvas.ax.lines):
        limits = canvas.ax.get_xlim(), canvas.ax.get_ylim()
        ends = [min(map(min, limits)), max(map(max, limits))]
        canvas.guide("identity", ends, ends, linestyle=":")
        canvas.ax.set_xlim(limits[0])
        canvas.ax.set_ylim(limits[1])
    x_label = "Score" if kinds == {True} else LLR
    return canvas.finish(x_label, "LLR after PAV (natural logarithm)")


def _note_infinite(canvas: Canvas[PavSteps], name: str, x: Any, y: Any, *, alone: bool) -> None:
    if np.isinf(y).all():
        canvas.note(name, "the classes do not overlap: PAV maps every score to infinity")
        return
    if y[0] == y[-1]:
        canvas.note(name, "PAV maps all scores to one value")
    parts = []
    if np.isneginf(y[0]):
        parts.append(f"up to {x[np.isneginf(y)][-1]:.3g} to minus infinity")
    if np.isposinf(y[-1]):
        parts.append(f"from {x[np.isposinf(y)][0]:.3g} to infinity")
    if parts and alone:
        canvas.note(name, f"PAV maps scores {' and '.join(parts)}")
    elif parts:
        canvas.note("", "scores beyond the ends of a curve are mapped to infinity")
    if np.isinf(x[np.isfinite(y)]).any():
        canvas.note(name, "infinite scores that PAV maps to finite LLRs lie beyond the axes")
