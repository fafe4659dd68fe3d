"""What calibrators do: calibrated scores against the scores that they are given."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import checks
from fastpsr.calibration import Calibrator
from fastpsr.data import Predictions, ScoreKind
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import LLR, Canvas

#: Kind of the scores that a calibrator of such predictions is given, and labels of the axes.
_AXES: dict[str, tuple[ScoreKind, str, str]] = {
    "posteriors": ("logits", "Log-odds", "Log-odds after calibration"),
    "likelihoods": ("llrs", LLR, "LLR after calibration (natural logarithm)"),
    "raw scores": ("raw scores", "Score", "LLR (natural logarithm)"),
}


@with_hints
def calibration_map(
    systems: Calibrator | Mapping[str, Calibrator],
    *,
    low: float = -10.0,
    high: float = 10.0,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the maps of fitted calibrators of binary tasks, such as the candidates of a choice.

    Parameters
    ----------
    systems : calibrator, or mapping of names to these
        Fitted to data of one kind: log-odds, LLRs or raw scores.
    low, high : float
        Range of the scores.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        Scores that are mapped to infinity are named in a text.

    Raises
    ------
    ValueError
        For calibrators that are not fitted, or to data of several classes or of different kinds.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 1, 0, 1, 1], [-3.0, -2.0, 1.0, 3.0, 0.5])
    >>> maps = {"PAV": fp.PAV(laplace=True).fit(data), "DP": fp.DirectionPreserving().fit(data)}
    >>> ax = fp.plotting.calibration_map(maps, low=-4.0, high=4.0, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines[:2]]
    ['PAV', 'DP']
    """
    if not checks.as_number("low", low) < checks.as_number("high", high):
        raise ArgumentError("low", f"must be below high, not {low} to {high}")
    canvas: Canvas[Calibrator] = Canvas(ax, kwargs)
    found = dict(canvas.systems(systems, Calibrator))
    kinds = {getattr(each, "domain_", "nothing") for each in found.values()}
    if "nothing" in kinds:
        raise ArgumentError("systems", "must be fitted", remedy="call fit(predictions)")
    if len(kinds) > 1:
        raise ArgumentError("systems", "must all be fitted to data of one kind: they share an axis")
    kind, x_label, y_label = _AXES[kinds.pop()]
    x = np.linspace(low, high, 2_001)
    for name, calibrator in found.items():
        if np.size(getattr(calibrator, "bias_", (0, 1))) > 2:
            raise ArgumentError("systems", "must be fitted to two classes: others have no one axis")
        y = calibrator.transform(Predictions.of(kind, None, x)).scores
        finite = np.isfinite(y)
        canvas.ax.plot(x[finite], y[finite], **canvas.style(name))
        if not finite.all():
            canvas.note(name, "scores that are mapped to infinity lie beyond the axes")
    if x_label != "Score":
        canvas.guide("identity", [low, high], [low, high], linestyle=":")
    return canvas.finish(x_label, y_label)
