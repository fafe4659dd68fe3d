"""Width of an interval against the number of samples, clusters or speakers."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr.bootstrap import SampleSize
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import Canvas, as_mapping


@with_hints
def sample_size(
    systems: SampleSize | Mapping[str, SampleSize], *, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw the width of an interval against the number of units, both on logarithmic axes.

    A circle marks the pilot, a star the number of units for the requested width, and a bar through
    the star the interval of that number.

    Parameters
    ----------
    systems : SampleSize, or mapping of names to these
        Results of :func:`fastpsr.sample_size`, all with the same unit: samples, clusters or
        speakers.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        Notes name intervals without an upper limit.

    Raises
    ------
    ValueError
        For other types, and for results of different units.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> trials = fp.simulate.trial_list(200, 4_000, seed=0)
    >>> pilot = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    >>> found = fp.sample_size(fp.BrierScore(), pilot, 0.05, seed=0)
    >>> ax = fp.plotting.sample_size(found, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.lines[1].get_xdata().tolist() == [4200]
    ('Number of samples', True)
    """
    canvas = Canvas(ax, kwargs)
    counted = {size.drawn for size in as_mapping(systems).values() if isinstance(size, SampleSize)}
    if len(counted) > 1:
        raise ArgumentError("systems", f"must all count samples, clusters or speakers, not "
                            f"{' and '.join(sorted(counted))}")  # fmt: skip
    labels = set()
    sizes: dict[str, SampleSize] = canvas.results(systems, SampleSize)
    for name, size in sizes.items():
        _draw(canvas, name, size)
        unit = f" ({size.pilot.unit})" if size.pilot.unit else ""
        labels.add(f"Width of the {100.0 * size.pilot.confidence_level:g} % interval of "
                   f"{size.pilot.name}{unit}")  # fmt: skip
    canvas.key("pilot", marker="o", linestyle="none")
    canvas.key("required, with interval", marker="*", markersize=9.0, linestyle="none")
    canvas.ax.set_xscale("log")
    canvas.ax.set_yscale("log")
    return canvas.finish(
        f"Number of {next(iter(counted))}",
        labels.pop() if len(labels) == 1 else "Width of the interval",
    )


def _draw(canvas: Canvas, name: str, size: SampleSize) -> None:
    line = canvas.draw(name, size, attrgetter("curve_n"), attrgetter("curve_width"))
    look: dict[str, Any] = {"color": line.get_color(), "linestyle": "none"}
    canvas.ax.plot([size.pilot_n], [size.pilot_width], marker="o", **look)
    canvas.ax.plot([size.n], [size.width], marker="*", markersize=11.0, **look)
    low, high = size.interval
    if np.isfinite(high):
        canvas.ax.plot([low, high], [size.width] * 2, color=line.get_color(), marker="|")
    else:
        canvas.note(name, f"more than {low:,.0f} {size.drawn} required, without upper limit")
