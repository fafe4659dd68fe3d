"""Reliability diagrams by bins."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from fastpsr.counts.bins import BinTotals
from fastpsr.data import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.metrics import ECE
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import Canvas
from fastpsr.plotting.systems import as_mapping

_GAP = "#D55E00"


@with_hints
def reliability_bins(
    systems: Predictions | Mapping[str, Predictions],
    *,
    ece: ECE | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw frequency against mean posterior in bins, whose differences the ECE averages.

    A single system is drawn as bars with the gaps between mean posterior and frequency; several
    are drawn as lines. Above are the numbers of samples in the bins, on a log scale. Prefer
    :func:`reliability`, which needs no bins.

    Parameters
    ----------
    systems : Predictions, or mapping of names to these
        Labeled posteriors or likelihoods.
    ece : ECE, optional
        Says what is binned, and how; by default ``ECE()``, or ``ECE(on="confidence")`` for more
        than 2 classes.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the bars (``Axes.bar``), or the lines (``Axes.plot``) of several systems.

    Returns
    -------
    Axes
        Bins without samples are empty. A system that cannot be drawn is named in a text. The axes
        of the counts are ``ax.child_axes[0]``; weighted samples count with their weights.

    Raises
    ------
    ValueError
        For raw scores and other types.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.3, 0.3, 0.9])
    >>> ax = fp.plotting.reliability_bins(data, ece=fp.ECE(bins=5), ax=Figure().subplots())
    >>> [float(bar.get_height()) for bar in ax.containers[0]]
    [0.0, 0.5, 1.0]
    """
    if ece is not None and not isinstance(ece, ECE):
        raise ArgumentError("ece", f"must be an ECE, not {type(ece).__name__}")
    named = as_mapping(systems)
    for value in named.values():
        if not isinstance(value, Predictions):
            raise ArgumentError("systems", f"must be Predictions, or a mapping of names to these, "
                             f"not {type(value).__name__}")  # fmt: skip
        value.require_posteriors("reliability diagrams")
        if value.y_true is None:
            raise ArgumentError("systems", "must be labeled predictions")
    if ece is None:
        many = any(value.n_classes > 2 for value in named.values())
        ece = ECE(on="confidence" if many else "class")
    single = len(named) == 1
    canvas: Canvas[BinTotals] = Canvas(ax, kwargs, Rectangle if single else Line2D)
    for name, value in named.items():
        try:
            bins = ece.total(value)
            shares, hits, posteriors = bins.shares
        except ValueError as error:
            canvas.note(name, str(error))
            continue
        used = shares > 0.0
        frequency, mean = hits[used] / shares[used], posteriors[used] / shares[used]
        if single:
            color = _draw_bars(canvas, name, bins, used, frequency, mean)
        else:
            style = canvas.style(name, marker="o", markersize=4.0)
            (line,) = canvas.ax.plot(mean, frequency, **style)
            color = line.get_color()
        _draw_counts(canvas.ax, bins, color, weighted=value.weights.size > 0)
    canvas.guide("calibrated", [0.0, 1.0], [0.0, 1.0], linestyle=":", zorder=3.0)
    canvas.ax.set_xlim(-0.01, 1.01)
    canvas.ax.set_ylim(-0.01, 1.01)
    canvas.ax.set_aspect("equal")
    if ece.on == "class":
        labels = "Posterior of class 1", "Frequency of class 1"
    else:
        labels = "Largest posterior", "Frequency of the true class"
    return canvas.finish(*labels)


def _draw_bars(
    canvas: Canvas[BinTotals], name: str, bins: BinTotals, used: Any, frequency: Any, mean: Any
) -> Any:
    """Draw bars with gaps, and return their color."""
    left, width = bins.edges[:-1][used], np.diff(bins.edges)[used]
    style = canvas.style(name or "frequency", align="edge", edgecolor="white", linewidth=0.5)
    bars = canvas.ax.bar(left, frequency, width=width, **style)
    canvas.ax.bar(
        left, mean - frequency, width=width, bottom=frequency, align="edge", facecolor="none",
        edgecolor=_GAP, hatch="////", linewidth=0.8, label="gap to the mean posterior",
    )  # fmt: skip
    return bars.patches[0].get_facecolor()


def _draw_counts(ax: Axes, bins: BinTotals, color: Any, *, weighted: bool) -> None:
    """Draw the number of samples in each bin above the axes."""
    above: Any = ax.child_axes[0] if ax.child_axes else None
    if above is None:
        above = ax.inset_axes((0.0, 1.04, 1.0, 0.24), sharex=ax)
        above.set_yscale("log")
        above.tick_params(labelbottom=False, labelsize="small")
        above.grid(visible=False, axis="x")
        above.set_ylabel("Weight" if weighted else "Samples", fontsize="small")
    counts = bins.weight.sum(axis=0)
    floor = 0.5 * min(1.0, counts[counts > 0.0].min())  # a log scale has no 0
    drawn = np.where(counts > 0.0, counts, np.nan)
    above.stairs(drawn, bins.edges, baseline=floor, color=color, linewidth=1.2)
