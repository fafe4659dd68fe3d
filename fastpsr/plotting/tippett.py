"""Tippett plots: how often LLRs of each class exceed a value."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import curves
from fastpsr.curves import TippettCurves
from fastpsr.data import Floats, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import LLR, Canvas, second
from fastpsr.plotting.spoofs import SPOOFED, Spoof, spoofed_apart
from fastpsr.plotting.systems import percent
from fastpsr.plotting.thinning import rate_grid, span_grid, thin


@with_hints
def tippett(
    systems: TippettCurves | Predictions | Mapping[str, TippettCurves | Predictions],
    *,
    spoof: Spoof = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the fractions of targets and of non-targets whose LLR is at least a given value.

    Parameters
    ----------
    systems : TippettCurves, Predictions, or mapping of names to these
        Results of :func:`fastpsr.tippett`, or binary predictions that are given to it.
    spoof : array-like of bool, shape (N,), or mapping of names to these, optional
        Which trials of predictions are spoofed: these are drawn apart from the non-targets, dotted.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): targets are solid, non-targets dashed.

    Returns
    -------
    Axes
        A system that cannot be drawn is named in a text, with the reason; so are infinite LLRs,
        where curves do not begin at 1 or do not end at 0, and scores beyond the axes, which reach
        as far as those of most systems do.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary, raw scores beside LLRs, and for `spoof` of
        other trials, of targets, or of what are no Predictions.

    Notes
    -----
    Curves keep the vertices that can be told apart on any screen.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> curves = fp.tippett(fp.Predictions.from_raw_scores([0, 0, 1], [-2.0, 0.5, 3.0]))
    >>> ax = fp.plotting.tippett({"A": curves}, ax=Figure().subplots())
    >>> ax.lines[1].get_xydata().tolist()
    [[-2.0, 1.0], [-2.0, 0.5], [0.5, 0.5], [0.5, 0.0]]
    """
    canvas: Canvas[TippettCurves] = Canvas(ax, kwargs)
    systems, spoofed = spoofed_apart(systems, spoof)
    found = dict(canvas.systems(systems, TippettCurves, curves.tippett))
    kinds = {each.are_llrs for each in found.values()}
    if len(kinds) > 1:
        raise ArgumentError("systems", "must all be LLRs, or all be raw scores: they share an axis")
    spans = {}
    for name, each in found.items():
        style = canvas.style(name)
        drawn = [
            ("targets", each.target_scores, each.p_target, style),
            ("non-targets", each.nontarget_scores, each.p_nontarget, second(style)),
        ]
        if name in spoofed:
            spoofs = curves.tippett(spoofed[name])
            look = {**second(style), "linestyle": SPOOFED}
            drawn.append(("spoofed trials", spoofs.nontarget_scores, spoofs.p_nontarget, look))
        finite: list[float] = []
        for what, scores, shares, own in drawn:
            x, y = _steps(scores, shares)
            canvas.ax.plot(x, y, **own)
            finite += [float(x[0]), float(x[-1])] if x.size else []
            _note_infinite(canvas, name, what, scores, shares)
        if finite:
            spans[name] = min(finite), max(finite)
        if len({end for _, scores, _, _ in drawn for end in (scores[0], scores[-1])}) == 1:
            canvas.note(name, "all scores are equal")
    if spans:
        canvas.limit_scores(spans)
    canvas.key("targets", linestyle="-")
    canvas.key("non-targets", linestyle="--")
    if spoofed:
        canvas.key("spoofed trials", linestyle=SPOOFED)
    if kinds != {False}:
        across = canvas.ax.get_xaxis_transform()
        canvas.guide("zero", [0.0, 0.0], [0.0, 1.0], transform=across, color="0.8", label="_zero")
    canvas.ax.set_ylim(-0.01, 1.01)
    x_label = "Score" if kinds == {False} else LLR
    return canvas.finish(x_label, "Share of trials at or above")


def _steps(scores: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a step curve over the finite scores."""
    finite = np.isfinite(scores)
    if not finite.any():
        return np.empty(0), np.empty(0)
    after = np.append(shares[1:], 0.0)[finite]
    x, y = scores[finite], shares[finite]
    kept = thin(x, y, span_grid(x), rate_grid())
    x, y = x[kept], y[kept]
    # a step goes down at each score, to the share of the next one
    down = np.append(y[1:], after[-1])
    return np.repeat(x, 2), np.column_stack([y, down]).ravel()


def _note_infinite(
    canvas: Canvas[TippettCurves], name: str, what: str, scores: Floats, shares: Floats
) -> None:
    if np.isneginf(scores[0]):
        left = 1.0 - shares[1] if shares.size > 1 else 1.0
        canvas.note(name, f"{percent(left)} of {what} at minus infinity")
    if np.isposinf(scores[-1]):
        canvas.note(name, f"{percent(float(shares[-1]))} of {what} at infinity")
