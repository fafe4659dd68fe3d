"""Expected divergence of posteriors from a constant, against the constant."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr.curves import DivergenceCurve
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import Canvas


@with_hints
def divergence_curve(
    systems: DivergenceCurve | Mapping[str, DivergenceCurve],
    *,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the mean divergence from a constant q_0 against q_01 (Ferrer and Ramos, 2024, Figure 4).

    A star marks the mean of the posteriors, at which every score divergence has its minimum.

    Parameters
    ----------
    systems : DivergenceCurve, or mapping of names to these
        Results of :func:`fastpsr.divergence_curve`, by divergence or by system.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        A divergence that is infinite everywhere is named in a text.

    Raises
    ------
    ValueError
        For other types.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_posteriors(None, [0.1, 0.2, 0.9])
    >>> curve = fp.divergence_curve(data, fp.rules.Brier(), [0.2, 0.6, 0.8])
    >>> ax = fp.plotting.divergence_curve({"Brier": curve}, ax=Figure().subplots())
    >>> ax.lines[1].get_xydata().round(4).tolist()
    [[0.6, 0.1267]]
    """
    canvas: Canvas[DivergenceCurve] = Canvas(ax, kwargs)
    for name, curve in canvas.systems(systems, DivergenceCurve, problem=_problem):
        order = np.argsort(curve.points, kind="stable")
        x, y = curve.points[order], curve.divergence[order]
        (line,) = canvas.ax.plot(x, y, **canvas.style(name))
        mean = curve.mean_posterior
        if x[0] <= mean <= x[-1]:
            canvas.ax.plot([mean], [np.interp(mean, x, y)], marker="*", markersize=11.0,
                           linestyle="none", color=line.get_color())  # fmt: skip
            canvas.key("mean posterior", marker="*", markersize=9.0, linestyle="none")
        else:
            canvas.note(name, f"the mean posterior, {mean:.3g}, lies beyond the points")
    canvas.ax.set_ylim(bottom=0.0)
    return canvas.finish("$q_{01}$, the constant's posterior of class 0", "Expected divergence")


def _problem(curve: DivergenceCurve) -> str:
    finite = np.isfinite(curve.divergence)
    return "" if finite.any() else "the expected divergence is infinite at every point"
