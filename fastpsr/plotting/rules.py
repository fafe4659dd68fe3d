"""The shapes of scoring rules: losses against the posterior."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr.options import with_hints
from fastpsr.plotting.canvas import Canvas, second
from fastpsr.rules import ScoringRule


@with_hints
def rule_losses(
    systems: ScoringRule | Mapping[str, ScoringRule],
    *,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the losses of binary rules against the posterior of class 1, for both true classes.

    Parameters
    ----------
    systems : ScoringRule, or mapping of names to these
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): solid where class 1 is true, dashed where class 0 is.

    Returns
    -------
    Axes
        Losses above those at posteriors of 1 % and 99 % lie beyond the axes.

    Raises
    ------
    ValueError
        For other types, and rules that are not for two classes.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> ax = fp.plotting.rule_losses({"Brier": fp.rules.Brier()}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata()[500].tolist()
    [0.5, 0.25]
    """
    canvas: Canvas[ScoringRule] = Canvas(ax, kwargs)
    posterior = np.linspace(0.0, 1.0, 1001)
    with np.errstate(divide="ignore"):
        log_q = np.log(np.column_stack([1.0 - posterior, posterior]))
    top = 0.0
    for name, rule in canvas.systems(systems, ScoringRule):
        losses = rule.class_losses(log_q)
        style = canvas.style(name)
        canvas.ax.plot(posterior, losses[:, 1], **style)
        canvas.ax.plot(posterior, losses[:, 0], **second(style))
        top = max(top, float(losses[10:-10].max()))
    canvas.key("class 1 is true", linestyle="-")
    canvas.key("class 0 is true", linestyle="--")
    canvas.ax.set_xlim(0.0, 1.0)
    canvas.ax.set_ylim(0.0, max(1.05 * top, canvas.kept_top))
    return canvas.finish("Posterior of class 1", "Loss")
