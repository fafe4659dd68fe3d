"""Histograms of scores by class."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch

from fastpsr import curves
from fastpsr.curves import ScoreHistogram
from fastpsr.data import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import COLORS, LLR, Canvas, second
from fastpsr.plotting.spoofs import SPOOFED, Spoof, spoofed_apart
from fastpsr.plotting.systems import as_mapping, percent


@with_hints
def score_histogram(
    systems: ScoreHistogram | Predictions | Mapping[str, ScoreHistogram | Predictions],
    *,
    spoof: Spoof = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the densities of the scores of targets and of non-targets.

    Parameters
    ----------
    systems : ScoreHistogram, Predictions, or mapping of names to these
        Results of :func:`fastpsr.score_histogram`, or binary predictions that are given to it.
    spoof : array-like of bool, shape (N,), or mapping of names to these, optional
        Which trials of predictions are spoofed: these are drawn apart from the non-targets, dotted.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the outlines (``Axes.stairs``): targets are solid, non-targets dashed. The classes of a
        single system also differ in color.

    Returns
    -------
    Axes
        Infinite scores, which lie in no bin, a class without samples, and scores that are all equal
        are named in a text, and so is what lies beyond the axes, which reach as far as those of
        most systems do.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary, raw scores beside LLRs, and for `spoof` of
        other trials, of targets, or of what are no Predictions.

    Notes
    -----
    Each class has area 1, less the share of its scores that lie in no bin. Predictions have more
    bins the more samples there are in the smaller class: 4 times the cube root, 10 to 200.

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
    systems, spoofed = spoofed_apart(systems, spoof)
    found = dict(canvas.systems(systems, ScoreHistogram, _histogram))
    kinds = {counts.are_llrs for counts in found.values()}
    if len(kinds) > 1:
        raise ArgumentError("systems", "must all be LLRs, or all be raw scores: they share an axis")
    spans: dict[str, tuple[float, float]] = {}
    tops: dict[str, float] = {}
    for name, counts in found.items():
        style = canvas.style(name, fill=False, linewidth=1.3)
        targets, others, spoofs = dict(style), second(style), second(style)
        spoofs["linestyle"] = SPOOFED
        if single:
            if "label" not in canvas.options:
                targets["label"], others["label"] = _named(name, "targets"), "non-targets"
                spoofs["label"] = "spoofed trials"
            if "color" not in canvas.options:
                others["color"], spoofs["color"] = COLORS[1:3]
        drawn = [(counts, 1, targets), (counts, 0, others)]
        if name in spoofed:
            drawn.append((_histogram(spoofed[name]), 0, spoofs))
        edges = np.concatenate([part.edges for part, _, _ in drawn])
        spans[name] = float(edges.min()), float(edges.max())
        for part, k, look in drawn:
            if part.totals[k]:
                canvas.ax.stairs(part.densities[k], part.edges, **look)
                tops[name] = max(tops.get(name, 0.0), float(part.densities[k].max()))
        _say_missing(canvas, name, counts)
    if not single:
        canvas.key("targets", linestyle="-")
        canvas.key("non-targets", linestyle="--")
        if spoofed:
            canvas.key("spoofed trials", linestyle=SPOOFED)
    if spans:
        canvas.limit_scores(spans)
    canvas.limit_heights(tops, "the density")
    return canvas.finish("Score" if kinds == {False} else LLR,
                         "Density of each class")  # fmt: skip


def _histogram(predictions: Predictions) -> ScoreHistogram:
    """Return a histogram with as many bins as the smaller class has samples for."""
    smallest = min((n for n in predictions.class_sizes if n), default=0)
    return curves.score_histogram(predictions, round(min(max(4.0 * smallest ** (1 / 3), 10), 200)))


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
