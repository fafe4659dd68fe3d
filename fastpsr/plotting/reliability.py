"""Reliability diagrams, by isotonic regression and by bins."""

import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from fastpsr import checks, curves
from fastpsr.bootstrap import Band
from fastpsr.bootstrap import band as band_of
from fastpsr.bootstrap.schemes import Resampling
from fastpsr.counts.bins import BinTotals
from fastpsr.curves import PavSteps
from fastpsr.data import Floats, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.metrics import ECE
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import Bands, Canvas, On, Systems, as_mapping, events_of, is_multiclass

_POINTS = np.arange(1, 200) / 200
_GAP = "#D55E00"


@with_hints
def reliability(
    systems: Systems[PavSteps],
    *,
    on: On | None = None,
    band: Literal["confidence", "consistency"] | Bands = "confidence",
    n_resamples: int = 200,
    confidence_level: float = 0.95,
    resampling: Resampling | None = None,
    seed: int | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the frequency of an event after PAV against its posterior (CORP, Dimitriadis 2021).

    Parameters
    ----------
    systems : Predictions, PavSteps, or mapping of names to these
        Posteriors or likelihoods; results of :func:`fastpsr.pav_steps` have no band.
    on : {"class", "confidence"}, optional
        "class" draws the posterior of class 1, or one curve for each of more than two classes;
        "confidence" draws the largest posterior against the frequency with which the most probable
        class is the true class. By default "class" for two classes, else "confidence".
    band : {"confidence", "consistency"}, Band, mapping of names to Band, or None
        "confidence" draws a bootstrap band, with Clopper-Pearson intervals at steps of a single
        class; "consistency" draws the band of :func:`fastpsr.consistency_band`.
    n_resamples, confidence_level, resampling, seed
        Of the band, as for :func:`fastpsr.bootstrap`.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        For raw scores and unlabeled data.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.6, 0.9])
    >>> ax = fp.plotting.reliability(fp.pav_steps(data), ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().round(4).tolist()
    [[0.1, 0.0], [0.3, 0.5], [0.4, 0.5], [0.6, 1.0], [0.9, 1.0]]
    """
    canvas, named = Canvas(ax, kwargs), as_mapping(systems)
    several = any(map(is_multiclass, named.values()))
    checks.check_choice("on", on, ("class", "confidence", None))
    on = on or ("confidence" if several else "class")
    if isinstance(band, str):
        checks.check_choice("band", band, ("confidence", "consistency"))
    if band == "consistency" and resampling is not None:
        raise ValueError("resampling is for confidence bands: consistency bands draw samples")
    events = events_of(named, on)
    bands = None if isinstance(band, str) else band
    results = canvas.results(events, PavSteps, curves.pav_steps, band=bands, calibrated=True)
    settings: dict[str, Any] = {
        "n_resamples": n_resamples, "confidence_level": confidence_level, "seed": seed,
    }  # fmt: skip
    for name, steps in results.items():
        line, samples = _draw_steps(canvas, name, steps), events[name]
        if isinstance(samples, Predictions) and band == "consistency":
            points = _points(steps)
            area = curves.consistency_band(samples, points, **settings)
            canvas.fill(name, line, points, area.low, area.high)
        elif isinstance(samples, Predictions) and band == "confidence":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a note says it
                canvas.bands[name] = band_of(
                    curves.pav_steps, samples, steps.score_of(_points(steps)),
                    resampling=resampling, **settings,
                )  # fmt: skip
        if name in canvas.bands:
            drawn = canvas.bands[name]
            canvas.fill(name, line, drawn.low.forecast, *_confidence(steps, drawn))
    return _finished(canvas, on, "the class" if several else "class 1", " after PAV")


def _draw_steps(canvas: Canvas, name: str, steps: PavSteps) -> Line2D:
    if np.isnan(steps.score_log_odds):
        raise ArgumentError("systems", "must be posteriors or likelihoods, not raw scores")
    x, y = np.column_stack(steps.forecast).ravel(), np.repeat(steps.posterior, 2)
    is_corner = np.concatenate([[True], (np.diff(x) != 0.0) | (np.diff(y) != 0.0)])
    (line,) = canvas.ax.plot(x[is_corner], y[is_corner], **canvas.style(name))
    return line


def _finished(canvas: Canvas, on: On, event: str, after: str = "", *, zorder: float = 1.0) -> Axes:
    """Finish a diagram of frequencies against posteriors, both from 0 to 1."""
    x_label, y_label = f"Posterior of {event}", f"Frequency of {event}{after}"
    if on == "confidence":
        x_label, y_label = "Largest posterior", f"Frequency of the true class{after}"
    canvas.guide("calibrated", [0.0, 1.0], [0.0, 1.0], linestyle=":", zorder=zorder)
    canvas.ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    return canvas.finish(x_label, y_label)


def _points(steps: PavSteps) -> Floats:
    """Return the posteriors at which the band is drawn: within the forecasts, and their ends."""
    tiny, (lowest, highest) = np.nextafter(0.0, 1.0), steps.forecast
    low, high = np.clip([lowest[0], highest[-1]], tiny, 1.0 - 1e-16)
    return np.unique([low, *_POINTS[(low < _POINTS) & (high > _POINTS)], high])


def _confidence(steps: PavSteps, band: Band) -> tuple[Floats, Floats]:
    """Return the ends of a band, widened to the intervals of steps of a single class.

    These are the intervals of Clopper and Pearson, converted to the given priors.
    """
    from scipy.special import betaincinv

    tail, (hits, misses) = (1.0 - band.confidence_level) / 2.0, (steps.positives, steps.negatives)
    least = np.where(hits > 0.0, betaincinv(np.fmax(hits, 1e-9), misses + 1.0, tail), 0.0)
    most = np.where(misses > 0.0, betaincinv(hits + 1.0, np.fmax(misses, 1e-9), 1.0 - tail), 1.0)
    prior = np.log(hits.sum()) - np.log(misses.sum())  # of the data
    odds = np.exp(steps.prior_log_odds - prior)
    least, most = (share * odds / (share * odds + 1.0 - share) for share in (least, most))
    step = np.maximum(np.searchsorted(steps.lowest, band.value.score, side="right") - 1, 0)
    of_one_class = np.isinf(steps.log_odds)[step]
    low, high = band.low.posterior, band.high.posterior
    low = np.where(of_one_class, np.fmin(low, least[step]), low)
    return low, np.where(of_one_class, np.fmax(high, most[step]), high)


@with_hints
def reliability_bins(
    systems: Predictions | Mapping[str, Predictions],
    *,
    ece: ECE | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the frequency against the mean posterior in bins; the ECE averages their differences.

    A single system is drawn as bars with gaps, several systems as lines. The upper panel shows the
    number of samples in each bin, on a log scale. Prefer :func:`reliability`, which needs no bins.

    Parameters
    ----------
    systems : Predictions, or mapping of names to these
        Labeled posteriors or likelihoods.
    ece : ECE, optional
        By default ``ECE()``, or ``ECE(on="confidence")`` for more than 2 classes.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the bars (``Axes.bar``), or the lines (``Axes.plot``) of several systems.

    Returns
    -------
    Axes
        The axes of the counts are ``ax.child_axes[0]``; weighted samples count with their weights.

    Raises
    ------
    ValueError
        For raw scores and for other types.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.3, 0.3, 0.9])
    >>> ax = fp.plotting.reliability_bins(data, ece=fp.ECE(bins=5), ax=Figure().subplots())
    >>> [float(bar.get_height()) for bar in ax.containers[0]]
    [0.0, 0.5, 1.0]
    """
    single = not isinstance(systems, Mapping) or len(systems) == 1
    canvas = Canvas(ax, kwargs, Rectangle if single else Line2D)
    named: dict[str, Predictions] = canvas.results(systems, Predictions)
    ece = _checked(ece, named)
    for name, value in named.items():
        try:
            (bins,) = ece.total(value)
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
    on: Any = ece.on  # not "classwise"
    return _finished(canvas, on, "class 1", zorder=3.0)


def _checked(ece: ECE | None, systems: Mapping[str, Predictions]) -> ECE:
    """Return the ECE to draw, by default the one that suits the systems."""
    checks.check_instance("ece", ece, (ECE, type(None)), "an ECE")
    if ece is not None and ece.on == "classwise":
        raise ArgumentError("ece", "must not be classwise: draw each class separately")
    for value in systems.values():
        value.require_posteriors("reliability diagrams")
        if value.y_true is None:
            raise ArgumentError("systems", "must be labeled predictions")
    return ece or ECE(on="confidence" if any(map(is_multiclass, systems.values())) else "class")


def _draw_bars(
    canvas: Canvas, name: str, bins: BinTotals, used: Any, frequency: Any, mean: Any
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
    heights = np.where(counts > 0.0, counts, np.nan)
    above.stairs(heights, bins.edges, baseline=floor, color=color, linewidth=1.2)
