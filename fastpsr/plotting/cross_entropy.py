"""The ECE plot of forensic science: empirical cross-entropy along the prior."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import curves
from fastpsr.curves import CrossEntropyCurve
from fastpsr.data import Predictions
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import PRIOR, Canvas, second
from fastpsr.plotting.limits import common_end

_HIGHEST = 1.5  # bits; higher cross-entropies lie beyond the axes


@with_hints
def empirical_cross_entropy(
    systems: CrossEntropyCurve | Predictions | Mapping[str, CrossEntropyCurve | Predictions],
    *,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the empirical cross-entropy along the prior: raw, after PAV, and of LLR 0.

    Parameters
    ----------
    systems : CrossEntropyCurve, Predictions, or mapping of names to these
        Results of :func:`fastpsr.empirical_cross_entropy`, or binary predictions given to it.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): raw LLRs are solid, those after PAV dashed.

    Returns
    -------
    Axes
        A system that cannot be drawn is named in a text, with the reason, as is a cross-entropy
        that is infinite or beyond the axes: above 1.5 bits, or far above that of the other systems.

    Raises
    ------
    ValueError
        For raw scores, and anything that is not labeled and binary.

    References
    ----------
    D. Ramos and J. Gonzalez-Rodriguez, "Reliable support: measuring calibration of likelihood
    ratios", Forensic Science International 230, 2013, doi:10.1016/j.forsciint.2013.04.014.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0])
    >>> curve = fp.empirical_cross_entropy(data, [0.0])
    >>> ax = fp.plotting.empirical_cross_entropy({"A": curve}, ax=Figure().subplots())
    >>> [line.get_ydata().round(4).tolist() for line in ax.lines[:3]]
    [[0.6646], [0.5], [1.0]]
    """
    canvas: Canvas[CrossEntropyCurve] = Canvas(ax, kwargs)
    tops: dict[str, float] = {}
    made = canvas.systems(
        systems, CrossEntropyCurve, curves.empirical_cross_entropy, calibrated=True
    )
    for name, curve in made:
        order = np.argsort(curve.prior_log_odds, kind="stable")
        x, style = curve.prior_log_odds[order], canvas.style(name)
        finite = np.isfinite(curve.raw)
        if finite.any():
            canvas.ax.plot(x, curve.raw[order], **style)
            style["label"] = None
        if finite.all():
            tops[name] = float(curve.raw.max())
        else:
            canvas.note(name, "raw cross-entropy is infinite: an infinite LLR is wrong")
        canvas.ax.plot(x, curve.pav[order], **second(style))
        canvas.guide("LLR of 0", x, curve.null[order], linestyle=":")
    usual = common_end(tops.values()) if tops else 1.0
    # of good systems the half that they fill, beyond which the line of LLR 0 goes
    top = max(
        2.1 * usual if usual < 0.5 else min(max(1.05 * usual, 1.05), _HIGHEST), canvas.kept_top
    )
    for name, end in tops.items():
        if end > top:
            canvas.note(name, f"raw cross-entropy reaches {end:.3g}, beyond the axes")
    canvas.key("raw", linestyle="-")
    canvas.key("after PAV", linestyle="--")
    canvas.ax.set_ylim(0.0, top)
    return canvas.finish(PRIOR, "Empirical cross-entropy (bits)")
