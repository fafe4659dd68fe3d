"""Scoring rules: losses, divergences, and risks whose area is an expected score."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import checks, curves
from fastpsr.curves import DivergenceCurve, RiskCurve
from fastpsr.data import Floats, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import Bands, Canvas, second
from fastpsr.rules import Beta, Brier, Log, ScoringRule, Weighted

_LOG_ODDS = np.linspace(-10.0, 10.0, 401)


@with_hints
def risk_curve(
    systems: RiskCurve | Predictions | Mapping[str, RiskCurve | Predictions],
    *,
    weight: ScoringRule | Callable[[Floats], Any] | None = None,
    band: Bands = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw weighted Bayes risks against the log-odds of the operating point.

    The area under a curve over all log-odds is an expected score (Ferrer and Ramos, 2024, Figure 1,
    whose axis is the operating point a_1 itself).

    Parameters
    ----------
    systems : RiskCurve, Predictions, or mapping of names to these
        Results of :func:`fastpsr.risk_curve` in binary tasks, or predictions that are given to it
        with 401 points from -10 to 10.
    weight : Log, Brier, Beta or Weighted rule, or callable, optional
        Density over a_1. For a rule, it is that for which the area under the curve is its expected
        score. A callable takes an array of points a_1 and returns weights. By default 1, as for
        ``Log()``, for which the area is the cross-entropy.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.risk_curve, predictions)``, drawn as shaded areas.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        A system that cannot be drawn is named in a text, with the reason.

    Raises
    ------
    ValueError
        For anything that is not binary, raw scores, and invalid weights.

    Notes
    -----
    On the axis of log-odds, the natural ``log(a_1 / (1 - a_1))``, areas are kept by the factor
    ``a_1 (1 - a_1)``: heights are ``weight(a_1) a_1 (1 - a_1)`` times the risk.
    Overconfidence shows far from 0, which an axis of a_1 would hide.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9])
    >>> curve = fp.risk_curve(data, [0.35, 0.5])
    >>> ax = fp.plotting.risk_curve(curve, weight=fp.rules.Brier(), ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().round(4).tolist()
    [[-0.619, 0.0], [0.0, 0.0625]]
    """
    canvas: Canvas[RiskCurve] = Canvas(ax, kwargs)
    canvas.take_bands(band, systems, curves.risk_curve)
    density = _density(weight)
    tops: dict[str, float] = {}
    weigh = isinstance(weight, ScoringRule) or weight is not None
    for name, curve in canvas.systems(systems, RiskCurve, _curve, calibrated=True):
        if curve.points.ndim == 2 and curve.points.shape[1] > 2:
            raise ArgumentError(
                "systems",
                f"must be binary, but the points of {name!r} are of "
                f"{curve.points.shape[1]} classes",
            )
        x, scale = _axis(curve, density)
        order = np.argsort(x, kind="stable")
        heights = (scale * curve.risk)[order]
        (line,) = canvas.ax.plot(x[order], heights, **canvas.style(name))
        tops[name] = float(heights.max())
        canvas.shade(
            name, line, lambda of: _axis(of, density)[0], lambda of: _axis(of, density)[1] * of.risk
        )
    canvas.limit_heights(tops, "the risk")
    label = "Weighted Bayes risk" if weigh else "Bayes risk"
    return canvas.finish(
        "Log-odds of the operating point $a_1$ (natural logarithm)",
        f"{label} $\\times\\,a_1(1-a_1)$",
    )


def _axis(curve: RiskCurve, density: Callable[[Floats], Any]) -> tuple[Floats, Floats]:
    """Return the log-odds of the points of a curve, and the factors on its risks."""
    x = curve.points if curve.points.ndim == 1 else curve.points[:, 0]
    values = checks.as_floats("weight", np.broadcast_to(density(x), x.shape), 1)
    checks.require("weight", values, 0.0, float(np.finfo(np.float64).max),
                   "be finite and not negative")  # fmt: skip
    return np.log(x) - np.log1p(-x), values * x * (1.0 - x)


def _curve(predictions: Predictions) -> RiskCurve:
    return curves.risk_curve(predictions, 1.0 / (1.0 + np.exp(-_LOG_ODDS)))


def _density(weight: ScoringRule | Callable[[Floats], Any] | None) -> Callable[[Floats], Any]:
    """Return the weight as a function of a_1."""
    if weight is None or isinstance(weight, Log):
        return np.ones_like
    if isinstance(weight, Brier):
        return lambda a: 2.0 * a * (1.0 - a)
    if isinstance(weight, Beta):
        beta = weight

        def of_beta(a: Floats) -> Floats:
            from scipy.special import betaln

            powers = (beta.a - 1.0) * np.log(a) + (beta.b - 1.0) * np.log1p(-a)
            return np.asarray(np.exp(powers - betaln(beta.a, beta.b)))

        return of_beta
    if isinstance(weight, Weighted):
        own = weight.weight
        return lambda a: own(np.column_stack([a, 1.0 - a]))
    if isinstance(weight, ScoringRule) or not callable(weight):
        raise ArgumentError(
            "weight", f"must be a Log, Brier, Beta or Weighted rule, or a callable, not {weight!r}"
        )
    return weight


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
