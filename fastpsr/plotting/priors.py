"""Errors and cross-entropy along the prior."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import curves
from fastpsr.curves import BayesErrorCurve, CrossEntropyCurve
from fastpsr.data import Predictions
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import (
    PRIOR,
    Bands,
    Canvas,
    common_end,
    reaches,
    second,
)

Systems = BayesErrorCurve | Predictions | Mapping[str, BayesErrorCurve | Predictions]
_PRIORS = attrgetter("prior_log_odds")
_HIGHEST = 1.5  # normalized errors, and bits, above it lie beyond the axes


@with_hints
def bayes_error(
    systems: Systems, *, band: Bands = None, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw the normalized Bayes error: actual and minimum normalized DCF along the prior.

    The distance between a system's solid and dashed line is what calibration would save; above 1 a
    constant decision would be better.

    Parameters
    ----------
    systems : BayesErrorCurve, Predictions, or mapping of names to these
        Results of :func:`fastpsr.bayes_error`, or binary predictions that are given to it.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.bayes_error, predictions)``, drawn as shaded areas.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): the actual error is solid, the minimum dashed.

    Returns
    -------
    Axes
        A system that cannot be drawn is named in a text, with the reason. Errors above 1.5 lie
        beyond the axes, and the text says how high they go.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary.

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
    canvas, results = _drawn(systems, band, ax, kwargs, "normalized_actual", "normalized_minimum")
    actual = {name: curve.normalized_actual for name, curve in results.items()}
    tops = {name: float(np.nanmax([values, results[name].normalized_minimum]))
            for name, values in actual.items()}  # fmt: skip
    x = canvas.ax.get_xlim()
    canvas.guide("constant decision", [-1e3, 1e3], [1.0, 1.0], linestyle=":")
    canvas.ax.set_xlim(x)
    end = max([1.1, canvas.kept_top, *(reaches(values, _HIGHEST) for values in actual.values())])
    canvas.end_at(
        end, {name: top for name, top in tops.items() if top > _HIGHEST}, "the actual error"
    )
    return canvas.finish(PRIOR, "Normalized Bayes error")


@with_hints
def ape(systems: Systems, *, band: Bands = None, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw the error probability along the prior (APE): the area is in proportion to Cllr.

    Parameters
    ----------
    systems : BayesErrorCurve, Predictions, or mapping of names to these
        Results of :func:`fastpsr.bayes_error`, or binary predictions that are given to it.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.bayes_error, predictions)``, drawn as shaded areas.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): the actual error is solid, the minimum dashed.

    Returns
    -------
    Axes
        A system that cannot be drawn is named in a text, with the reason.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary.

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
    canvas, results = _drawn(systems, band, ax, kwargs, "actual", "minimum")
    for curve in results.values():
        order = np.argsort(curve.prior_log_odds, kind="stable")
        x, y = curve.prior_log_odds[order], curve.default[order]
        canvas.guide("constant decision", x, y, linestyle=":")
    tops = {
        name: float(np.nanmax([curve.actual, curve.minimum])) for name, curve in results.items()
    }
    canvas.limit_heights(tops, "the error probability")
    return canvas.finish(PRIOR, "Error probability")


def _drawn(
    systems: Systems, band: Bands, ax: Axes | None, options: Mapping[str, Any], *series: str
) -> tuple[Canvas[BayesErrorCurve], dict[str, BayesErrorCurve]]:
    """Draw the actual errors and the minima, which are `series`, and their bands."""
    canvas: Canvas[BayesErrorCurve] = Canvas(ax, options)
    canvas.take_bands(band, systems, curves.bayes_error)
    results = dict(canvas.systems(systems, BayesErrorCurve, curves.bayes_error))
    for name, curve in results.items():
        style = canvas.style(name)
        looks = [style, second(style)]
        if np.isnan(curve.actual).all():
            canvas.note(name, "raw scores have no actual error, only the minimum")
            looks = [{**looks[1], "label": style["label"]}]
        for values, look in zip(series[-len(looks) :], looks, strict=True):
            canvas.draw(name, curve, _PRIORS, attrgetter(values), look, in_order=True)
    canvas.key("actual", linestyle="-")
    canvas.key("minimum", linestyle="--")
    return canvas, results


@with_hints
def empirical_cross_entropy(
    systems: CrossEntropyCurve | Predictions | Mapping[str, CrossEntropyCurve | Predictions],
    *,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the empirical cross-entropy along the prior: raw, after PAV, and of LLR 0.

    Parameters
    ----------
    systems : CrossEntropyCurve, Predictions, or mapping of names to these
        Results of :func:`fastpsr.empirical_cross_entropy`, or binary predictions given to it.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): raw LLRs are solid, those after PAV dashed.

    Returns
    -------
    Axes
        A system that cannot be drawn is named in a text, with the reason, as is a cross-entropy
        that is infinite or beyond the axes: above 1.5 bits, or far above that of the other systems.

    Raises
    ------
    ValueError
        For raw scores, and anything that is not labeled and binary.

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
    >>> [line.get_ydata().round(4).tolist() for line in ax.lines[:3]]
    [[0.6646], [0.5], [1.0]]
    """
    canvas: Canvas[CrossEntropyCurve] = Canvas(ax, kwargs)
    results = dict(
        canvas.systems(systems, CrossEntropyCurve, curves.empirical_cross_entropy, calibrated=True)
    )
    for name, curve in results.items():
        style, finite = canvas.style(name), np.isfinite(curve.raw)
        if finite.any():
            canvas.draw(name, curve, _PRIORS, attrgetter("raw"), style, in_order=True)
        if not finite.all():
            canvas.note(name, "raw cross-entropy is infinite: an infinite LLR is wrong")
        look = {**second(style), "label": None if finite.any() else style["label"]}
        canvas.draw(name, curve, _PRIORS, attrgetter("pav"), look, in_order=True)
        order = np.argsort(curve.prior_log_odds, kind="stable")
        canvas.guide("LLR of 0", curve.prior_log_odds[order], curve.null[order], linestyle=":")
    canvas.key("raw", linestyle="-")
    canvas.key("after PAV", linestyle="--")
    _limit_entropies(canvas, results)
    return canvas.finish(PRIOR, "Empirical cross-entropy (bits)")


def _limit_entropies(
    canvas: Canvas[CrossEntropyCurve], results: Mapping[str, CrossEntropyCurve]
) -> None:
    """End the axis where most systems do, and note which go beyond."""
    tops = {name: float(curve.raw.max()) for name, curve in results.items()}
    tops = {name: top for name, top in tops.items() if np.isfinite(top)}
    usual = common_end(tops.values()) if tops else 1.0
    # of good systems the half that they fill, beyond which the line of LLR 0 goes
    end = 2.1 * usual if usual < 0.5 else min(max(1.05 * usual, 1.05), _HIGHEST)
    canvas.end_at(max(end, canvas.kept_top), tops, "raw cross-entropy")
