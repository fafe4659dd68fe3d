"""The ECE plot of forensic science: empirical cross-entropy along the prior."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import curves
from fastpsr.curves import CrossEntropyCurve
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import PRIOR, Canvas, reaches
from fastpsr.predictions import Predictions

__all__ = ["empirical_cross_entropy"]


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
        that is infinite or above 1.5 bits, beyond the axes.

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
    top, highest = 1.05, 1.5
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
        if not finite.all():
            canvas.note(name, "raw cross-entropy is infinite: an infinite LLR is wrong")
        elif curve.raw.max() > highest:
            canvas.note(name, f"raw cross-entropy reaches {curve.raw.max():.3g}, beyond the axes")
        canvas.ax.plot(x, curve.pav[order], **{**style, "linestyle": "--"})
        canvas.guide("LLR of 0", x, curve.null[order], linestyle=":")
        top = max(top, reaches(curve.raw, highest))
    canvas.key("raw", linestyle="-")
    canvas.key("after PAV", linestyle="--")
    canvas.ax.set_ylim(0.0, max(top, canvas.kept_top))
    return canvas.finish(
        PRIOR,
        "Empirical cross-entropy (bits)",
        legend="upper right",
    )
