"""Histograms of scores by class."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import StepPatch

from fastpsr import curves
from fastpsr.curves import ScoreHistogram
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import COLORS, LLR, Canvas
from fastpsr.plotting.systems import as_mapping, percent
from fastpsr.predictions import Predictions

__all__ = ["score_histogram"]


@with_hints
def score_histogram(
    systems: ScoreHistogram | Predictions | Mapping[str, ScoreHistogram | Predictions],
    *,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the densities of the scores of targets and of non-targets.

    Parameters
    ----------
    systems : ScoreHistogram, Predictions, or mapping of names to these
        Results of :func:`fastpsr.score_histogram`, or binary predictions that are given to it.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the outlines (``Axes.stairs``): targets are solid, non-targets dashed. The classes of a
        single system also differ in color.

    Returns
    -------
    Axes
        Infinite scores, which lie in no bin, a class without samples, and scores that are all equal
        are named in a text.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary, and raw scores beside LLRs.

    Notes
    -----
    Each class has area 1, less the share of its scores that lie in no bin.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0])
    >>> counts = fp.score_histogram(data, [-2.0, 0.0, 2.0, 4.0])
    >>> ax = fp.plotting.score_histogram(counts, ax=Figure().subplots())
    >>> [patch.get_data().values.tolist() for patch in ax.patches]
    [[0.0, 0.25, 0.25], [0.25, 0.25, 0.0]]
    """
    canvas: Canvas[ScoreHistogram] = Canvas(ax, kwargs, StepPatch)
    single = len(as_mapping(systems)) == 1 and not (ax is not None and ax.patches)
    found = dict(canvas.systems(systems, ScoreHistogram, curves.score_histogram))
    kinds = {counts.are_llrs for counts in found.values()}
    if len(kinds) > 1:
        raise ArgumentError("systems", "must all be LLRs, or all be raw scores: they share an axis")
    for name, counts in found.items():
        style = canvas.style(name, fill=False, linewidth=1.3)
        targets, others = dict(style), {**style, "linestyle": "--", "label": None}
        if single:
            if "label" not in canvas.options:
                targets["label"], others["label"] = _named(name, "targets"), "non-targets"
            if "color" not in canvas.options:
                others["color"] = COLORS[1]
        densities = counts.densities
        if counts.totals[1]:
            canvas.ax.stairs(densities[1], counts.edges, **targets)
        if counts.totals[0]:
            canvas.ax.stairs(densities[0], counts.edges, **others)
        _say_missing(canvas, name, counts)
    if not single:
        canvas.key("targets", linestyle="-")
        canvas.key("non-targets", linestyle="--")
    canvas.ax.set_ylim(bottom=0.0)
    return canvas.finish("Score" if kinds == {False} else LLR,
                         "Density of each class")  # fmt: skip


def _named(name: str, what: str) -> str:
    return f"{name}, {what}" if name else what


def _say_missing(canvas: Canvas[ScoreHistogram], name: str, counts: ScoreHistogram) -> None:
    for k, what in enumerate(("non-targets", "targets")):
        if not counts.totals[k]:
            canvas.note(name, f"there are no {what}")
            continue
        for weight, where in zip(counts.infinite[k], ("minus infinity", "infinity"), strict=True):
            if weight:
                share = percent(float(weight / counts.totals[k]))
                canvas.note(name, f"{share} of {what} at {where}, not drawn")
    binned = counts.negatives + counts.positives
    if (binned > 0.0).sum() == 1 and not counts.infinite.any():
        canvas.note(name, "all scores are equal, or in one bin")
    elif not binned.any():
        canvas.note(name, "no finite scores")
