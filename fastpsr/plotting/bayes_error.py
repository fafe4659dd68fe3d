"""Error of Bayes decisions along the prior: normalized, and as it is."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fastpsr import curves
from fastpsr.bootstrap import Band
from fastpsr.curves import BayesErrorCurve
from fastpsr.data import Predictions
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import PRIOR, Canvas, reaches, second
from fastpsr.plotting.shading import Bands, bands_of, shade
from fastpsr.plotting.systems import as_mapping

Systems = BayesErrorCurve | Predictions | Mapping[str, BayesErrorCurve | Predictions]
_HIGHEST = 1.5  # normalized errors above it lie beyond the axes


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
    bands = bands_of(band, as_mapping(systems), curves.bayes_error)
    canvas: Canvas[BayesErrorCurve] = Canvas(ax, kwargs)
    top = 1.0
    for name, curve in canvas.systems(systems, BayesErrorCurve, curves.bayes_error):
        _draw(canvas, name, curve, ("normalized_actual", "normalized_minimum"), bands.get(name))
        highest = np.nanmax([curve.normalized_actual, curve.normalized_minimum])
        if highest > _HIGHEST:
            canvas.note(name, f"the actual error reaches {highest:.3g}, beyond the axes")
        top = max(top, reaches(curve.normalized_actual, _HIGHEST))
    _keys(canvas)
    x = canvas.ax.get_xlim()
    canvas.guide("constant decision", [-1e3, 1e3], [1.0, 1.0], linestyle=":")
    canvas.ax.set_xlim(x)
    canvas.ax.set_ylim(0.0, max(top, 1.1, canvas.kept_top))
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
    bands = bands_of(band, as_mapping(systems), curves.bayes_error)
    canvas: Canvas[BayesErrorCurve] = Canvas(ax, kwargs)
    tops: dict[str, float] = {}
    for name, curve in canvas.systems(systems, BayesErrorCurve, curves.bayes_error):
        _draw(canvas, name, curve, ("actual", "minimum"), bands.get(name))
        tops[name] = float(np.nanmax([curve.actual, curve.minimum]))
        order = np.argsort(curve.prior_log_odds, kind="stable")
        canvas.guide("constant decision", curve.prior_log_odds[order], curve.default[order],
                     linestyle=":")  # fmt: skip
    _keys(canvas)
    canvas.limit_heights(tops, "the error probability")
    return canvas.finish(PRIOR, "Error probability")


def _draw(
    canvas: Canvas[BayesErrorCurve],
    name: str,
    curve: BayesErrorCurve,
    series: tuple[str, str],
    band: Band | None,
) -> None:
    """Draw the actual error and the minimum, which are `series`, and their bands."""
    order = np.argsort(curve.prior_log_odds, kind="stable")
    x, style = curve.prior_log_odds[order], canvas.style(name)
    label = style["label"]
    for each, look in zip(series, (style, second(style)), strict=True):
        values = getattr(curve, each)[order]
        if np.isnan(values).all():
            canvas.note(name, "raw scores have no actual error, only the minimum")
            continue
        (line,) = canvas.ax.plot(x, values, **{**look, "label": label})
        label = None
        if band is not None:
            low, high = getattr(band.low, each), getattr(band.high, each)
            shade(canvas, name, band, band.low.prior_log_odds, low, high, line.get_color())


def _keys(canvas: Canvas[BayesErrorCurve]) -> None:
    canvas.key("actual", linestyle="-")
    canvas.key("minimum", linestyle="--")
