"""Errors and cross-entropy along the prior."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import curves
from fastpsr.curves import BayesErrorCurve, CrossEntropyCurve
from fastpsr.data import Floats
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import PRIOR, Bands, Canvas, Systems, common_end, second

_PRIORS = attrgetter("prior_log_odds")
_RANKS_ALONE = "raw scores have only a minimum error, no actual error"
_HIGHEST = 1.5  # upper end of the axis, of normalized errors or bits


@with_hints
def bayes_error(
    systems: Systems[BayesErrorCurve], *, band: Bands = None, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw the normalized Bayes error: actual and minimum normalized DCF along the prior.

    Calibration could remove the gap between the solid and the dashed line of a system. Above 1, a
    constant decision would be better.

    Parameters
    ----------
    systems : BayesErrorCurve, Predictions, or mapping of names to these
        Results of :func:`fastpsr.bayes_error`, or binary predictions.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.bayes_error, predictions)``, drawn as shaded areas.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): the actual error is solid, the minimum dashed.

    Returns
    -------
    Axes
        Notes name each system that cannot be drawn, with the reason, and errors above 1.5, which
        lie beyond the axes.

    Raises
    ------
    ValueError
        For data that are not labeled and binary.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0])
    >>> curve = fp.bayes_error(data, [0.0, 1.2])
    >>> ax = fp.plotting.bayes_error({"A": curve}, ax=Figure().subplots())
    >>> [line.get_ydata().round(4).tolist() for line in ax.lines[:2]]
    [[0.6667, 0.6667], [0.3333, 0.3333]]
    """
    canvas = Canvas(ax, kwargs)
    results = canvas.results(systems, BayesErrorCurve, curves.bayes_error, band=band)
    series = {"actual": "normalized_actual", "minimum": "normalized_minimum"}
    _draw(canvas, results, series, _RANKS_ALONE)
    across = canvas.ax.get_yaxis_transform()
    canvas.guide("constant decision", [0.0, 1.0], [1.0, 1.0], transform=across, linestyle=":")
    highest = {name: _highest(curve.normalized_actual) for name, curve in results.items()}
    end = min(1.05 * max(highest.values(), default=0.0), _HIGHEST)
    beyond = {name: top for name, top in highest.items() if top > _HIGHEST}
    canvas.limit_heights(max(1.1, end), beyond, "the actual error")
    return canvas.finish(PRIOR, "Normalized Bayes error")


@with_hints
def ape(
    systems: Systems[BayesErrorCurve], *, band: Bands = None, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw the error probability along the prior (APE): the area is in proportion to Cllr.

    Parameters
    ----------
    systems : BayesErrorCurve, Predictions, or mapping of names to these
        Results of :func:`fastpsr.bayes_error`, or binary predictions.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.bayes_error, predictions)``, drawn as shaded areas.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): the actual error is solid, the minimum dashed.

    Returns
    -------
    Axes
        A note names each system that cannot be drawn, with the reason.

    Raises
    ------
    ValueError
        For data that are not labeled and binary.

    References
    ----------
    N. Brummer and J. du Preez, "Application-independent evaluation of speaker detection", Computer
    Speech and Language 20, 2006, doi:10.1016/j.csl.2005.08.001.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0])
    >>> ax = fp.plotting.ape({"A": fp.bayes_error(data, [0.0])}, ax=Figure().subplots())
    >>> [line.get_ydata().round(4).tolist() for line in ax.lines[:2]]
    [[0.3333], [0.1667]]
    """
    canvas = Canvas(ax, kwargs)
    results = canvas.results(systems, BayesErrorCurve, curves.bayes_error, band=band)
    _draw(canvas, results, {"actual": "actual", "minimum": "minimum"}, _RANKS_ALONE)
    _guide(canvas, results, "constant decision", "default")
    tops = {
        name: max(_highest(curve.actual), _highest(curve.minimum))
        for name, curve in results.items()
    }
    canvas.limit_heights(1.05 * common_end(tops.values()), tops, "the error probability")
    return canvas.finish(PRIOR, "Error probability")


def _draw(
    canvas: Canvas, results: Mapping[str, Any], series: Mapping[str, str], why_not: str
) -> None:
    """Draw a solid and a dashed line of each system, by the attributes of the curves.

    A note replaces a series without finite values.
    """
    for name, curve in results.items():
        style = canvas.style(name)
        label = style["label"]
        for attribute, look in zip(series.values(), (style, second(style)), strict=True):
            if np.isfinite(getattr(curve, attribute)).any():
                look["label"], label = label, None
                canvas.draw(name, curve, _PRIORS, attrgetter(attribute), look)
            else:
                canvas.note(name, why_not)
    canvas.key_series(series)


def _guide(canvas: Canvas, results: Mapping[str, Any], key: str, attribute: str) -> None:
    """Draw a reference line that all systems share."""
    for curve in results.values():
        x = curve.prior_log_odds
        canvas.guide(key, x, getattr(curve, attribute), linestyle=":")


def _highest(values: Floats) -> float:
    """Return the highest finite value, or 0 if there is none."""
    return float(values[np.isfinite(values)].max(initial=0.0))


@with_hints
def empirical_cross_entropy(
    systems: Systems[CrossEntropyCurve], *, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw the empirical cross-entropy along the prior: raw, after PAV, and for LLR = 0.

    Parameters
    ----------
    systems : CrossEntropyCurve, Predictions, or mapping of names to these
        Results of :func:`fastpsr.empirical_cross_entropy`, or binary predictions.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): raw LLRs are solid, LLRs after PAV dashed.

    Returns
    -------
    Axes
        Notes name each system that cannot be drawn, with the reason, and each cross-entropy that is
        infinite or lies beyond the axes: above 1.5 bits, or far above the other systems.

    Raises
    ------
    ValueError
        For raw scores, and for data that are not labeled and binary.

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
    >>> [line.get_ydata().round(4).tolist() for line in ax.lines[:2]]
    [[0.6646], [0.5]]
    """
    canvas = Canvas(ax, kwargs)
    results = canvas.results(
        systems, CrossEntropyCurve, curves.empirical_cross_entropy, calibrated=True
    )
    why_not = "raw cross-entropy is infinite, because an infinite LLR favors the wrong class"
    _draw(canvas, results, {"as given": "raw", "after PAV": "pav"}, why_not)
    _guide(canvas, results, "LLR = 0", "null")
    tops = {
        name: _highest(curve.raw) for name, curve in results.items() if np.isfinite(curve.raw).any()
    }
    usual = common_end(tops.values()) or 1.0
    # good systems fill half of the axis; the line of LLR = 0 goes beyond
    end = 2.1 * usual if usual < 0.5 else min(max(1.05 * usual, 1.05), _HIGHEST)
    canvas.limit_heights(end, tops, "raw cross-entropy")
    return canvas.finish(PRIOR, "Empirical cross-entropy (bits)")
