"""Scores: histograms, Tippett plots, and the maps of calibrators."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch

from fastpsr import checks, curves
from fastpsr.calibration import Calibrator
from fastpsr.curves import PavSteps, ScoreHistogram, TippettCurves
from fastpsr.data import Predictions, ScoreKind
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import (
    COLORS,
    LINES,
    LLR,
    Bands,
    Canvas,
    Spoof,
    Systems,
    common_end,
    second,
    spoofed_apart,
)

_CLASSES = ("targets", "non-targets", "spoofed trials")
_FAR = 1e4  # beyond the axes


@with_hints
def score_histogram(
    systems: Systems[ScoreHistogram], *, spoof: Spoof = None, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw the densities of the scores of targets and of non-targets.

    Parameters
    ----------
    systems : ScoreHistogram, Predictions, or mapping of names to these
        Results of :func:`fastpsr.score_histogram`, or binary predictions.
    spoof : array-like of bool, shape (N,), or str, or mapping of names to these, optional
        Which trials are spoofed, or the name of such a column; they are drawn separately from the
        non-targets, dotted.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the outlines (``Axes.stairs``): targets are solid, non-targets dashed.

    Returns
    -------
    Axes
        Notes name infinite scores and scores beyond the axes.

    Raises
    ------
    ValueError
        For data that are not labeled and binary, for a mix of raw scores and LLRs, and for an
        invalid `spoof`.

    Notes
    -----
    The number of bins is 4 times the cube root of the size of the smaller class, from 10 to 200.

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
    canvas = Canvas(ax, kwargs, StepPatch)
    x_label, series_of = _series(canvas, systems, spoof, ScoreHistogram, _histogram)
    has_one = len(canvas.systems) == 1 and not (ax is not None and ax.patches)
    spans: dict[str, tuple[float, float]] = {}
    tops: dict[str, float] = {}
    for name, series in series_of.items():
        looks = _looks(canvas, name, by_color=has_one, fill=False, linewidth=1.3)
        for (counts, k), look in zip(series, looks, strict=False):
            if counts.totals[k]:
                canvas.ax.stairs(counts.densities[k], counts.edges, **look)
                tops[name] = max(tops.get(name, 0.0), float(counts.densities[k].max()))
        edges = np.concatenate([counts.edges for counts, _ in series])
        spans[name] = float(edges.min()), float(edges.max())
        _note_missing(canvas, name, series[0][0])
    if not has_one:
        _key_classes(canvas, series_of)
    canvas.limit_scores(spans)
    canvas.limit_heights(1.05 * common_end(tops.values()), tops, "the density")
    return canvas.finish(x_label, "Density of each class")


def _histogram(predictions: Predictions) -> ScoreHistogram:
    """Return a histogram whose number of bins follows from the size of the smaller class."""
    smallest = min((n for n in predictions.class_sizes if n), default=0)
    return curves.score_histogram(predictions, round(min(max(4.0 * smallest ** (1 / 3), 10), 200)))


def _series(
    canvas: Canvas, systems: Any, spoof: Spoof, kind: Any, make: Callable[[Predictions], Any]
) -> tuple[str, dict[str, list[tuple[Any, int]]]]:
    """Return the label of the axis of scores, and results with the class to draw of each.

    These are targets and non-targets, then spoofed trials, of each system by name.
    """
    named, spoofed = spoofed_apart(systems, spoof)
    results = canvas.results(named, kind, make)
    series = {name: [(result, 1), (result, 0)] for name, result in results.items()}
    for name in spoofed.keys() & series.keys():
        series[name].append((make(spoofed[name]), 0))
    return _score_label(result.are_llrs for result in results.values()), series


def _score_label(are_llrs: Iterable[bool]) -> str:
    """Return the label of the axis of scores, which must be of one kind."""
    kinds = set(are_llrs)
    if len(kinds) > 1:
        raise ArgumentError("systems", "must be all LLRs or all raw scores: they share an axis")
    return "Score" if kinds == {False} else LLR


def _looks(
    canvas: Canvas, name: str, *, by_color: bool = False, **defaults: Any
) -> list[dict[str, Any]]:
    """Return keywords for targets, non-targets and spoofed trials of a system."""
    style = canvas.style(name, **defaults)
    looks = [style, second(style), {**second(style), "linestyle": LINES[2]}]
    if by_color:
        for look, color, label in zip(looks, COLORS, _CLASSES, strict=False):
            look |= {"color": color, "label": label} | canvas.options
        style["label"] = f"{name}, targets" if name else "targets"
    return looks


def _key_classes(canvas: Canvas, series_of: Mapping[str, Sequence[Any]]) -> None:
    canvas.key_series(_CLASSES[: max(map(len, series_of.values()), default=2)])


def _note_missing(canvas: Canvas, name: str, counts: ScoreHistogram) -> None:
    for k, what in enumerate(("non-targets", "targets")):
        if not counts.totals[k]:
            canvas.note(name, f"there are no {what}")
        else:
            _note_infinite(canvas, name, what, counts.infinite[k] / counts.totals[k])
    binned = counts.negatives + counts.positives
    if (binned > 0.0).sum() == 1 and not counts.infinite.any():
        canvas.note(name, "all scores are equal, or in one bin")
    elif not binned.any():
        canvas.note(name, "there are no finite scores")


def _note_infinite(canvas: Canvas, name: str, what: str, shares: Iterable[float]) -> None:
    """Note the shares of a class at minus infinity and at infinity."""
    for share, where in zip(shares, ("minus infinity", "infinity"), strict=True):
        if share > 0.0:
            canvas.note(name, f"{100.0 * share:.3g} % of {what} at {where} are not drawn")


@with_hints
def tippett(
    systems: Systems[TippettCurves], *, spoof: Spoof = None, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw the fractions of targets and of non-targets whose LLR is at least a given value.

    Parameters
    ----------
    systems : TippettCurves, Predictions, or mapping of names to these
        Results of :func:`fastpsr.tippett`, or binary predictions.
    spoof : array-like of bool, shape (N,), or str, or mapping of names to these, optional
        Which trials are spoofed, or the name of such a column; they are drawn separately from the
        non-targets, dotted.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): targets are solid, non-targets dashed.

    Returns
    -------
    Axes
        Notes name infinite scores and scores beyond the axes.

    Raises
    ------
    ValueError
        For data that are not labeled and binary, for a mix of raw scores and LLRs, and for an
        invalid `spoof`.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> curves = fp.tippett(fp.Predictions.from_raw_scores([0, 0, 1], [-2.0, 0.5, 3.0]))
    >>> ax = fp.plotting.tippett({"A": curves}, ax=Figure().subplots())
    >>> ax.lines[1].get_xydata().tolist()
    [[-2.0, 1.0], [0.5, 0.5], [0.5, 0.0]]
    """
    canvas = Canvas(ax, kwargs)
    x_label, series_of = _series(canvas, systems, spoof, TippettCurves, curves.tippett)
    spans: dict[str, tuple[float, float]] = {}
    for name, series in series_of.items():
        looks, together = _looks(canvas, name, drawstyle="steps-pre"), np.empty(0)
        for (curve, k), look, what in zip(series, looks, _CLASSES, strict=False):
            scores, shares = curve.nontarget_scores, curve.p_nontarget
            if k == 1:
                scores, shares = curve.target_scores, curve.p_target
            is_finite = np.isfinite(scores)
            low = 1.0 - shares[scores > -np.inf].max(initial=0.0)
            high = shares[scores == np.inf].max(initial=0.0)
            _note_infinite(canvas, name, what, (low, high))
            x, y = scores[is_finite], shares[is_finite]  # after the last score it steps down
            last = [] if not x.size else [high]
            canvas.ax.plot(np.append(x, x[-1:]), np.append(y, last), **look)
            together = np.append(together, scores)
        finite = together[np.isfinite(together)]
        if finite.size:
            spans[name] = float(finite.min()), float(finite.max())
        if together.min() == together.max():
            canvas.note(name, "all scores are equal")
    canvas.limit_scores(spans)
    _key_classes(canvas, series_of)
    if x_label == LLR:
        across = canvas.ax.get_xaxis_transform()
        canvas.guide("zero", [0.0, 0.0], [0.0, 1.0], transform=across, color="0.8", label="_zero")
    canvas.ax.set_ylim(-0.01, 1.01)
    what = "LLR" if x_label == LLR else "score"
    return canvas.finish(x_label, f"Share of trials at or above the {what}")


@with_hints
def pav_map(
    systems: Systems[PavSteps],
    *,
    band: Bands = None,
    class_: int | str | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the LLRs after PAV against the scores; calibrated LLRs follow the identity.

    Parameters
    ----------
    systems : PavSteps, Predictions, or mapping of names to these
        Results of :func:`fastpsr.pav_steps`, or labeled predictions. The LLRs of posteriors are
        their log-odds minus the log-odds of the prior.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.pav_steps, predictions)``, drawn as shaded areas.
    class_ : int or str, optional
        The class to draw against the rest; needed for predictions of more than two classes.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        Notes name steps of a single class, whose LLRs are infinite, infinite scores, and systems
        that cannot be drawn.

    Raises
    ------
    ValueError
        For data that are not labeled and binary, and for a mix of raw scores and LLRs.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 1, 0, 1], [-3.0, -2.0, 1.0, 3.0])
    >>> ax = fp.plotting.pav_map({"A": fp.pav_steps(data)}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().tolist()
    [[-2.0, 0.0], [1.0, 0.0]]
    """
    canvas = Canvas(ax, kwargs)
    steps_of = canvas.results(systems, PavSteps, curves.pav_steps, band=band, class_=class_)
    x_label = _score_label(steps.kind != "raw scores" for steps in steps_of.values())
    lines, spans = {}, {}
    for name, steps in steps_of.items():
        x = np.column_stack([steps.lowest, steps.highest]).ravel() - _shift(steps)
        y = np.repeat(steps.llr, 2)
        _note_steps(canvas, name, x, y)
        finite = np.isfinite(x) & np.isfinite(y)
        if finite.any():
            (lines[name],) = canvas.ax.plot(x[finite], y[finite], **canvas.style(name))
            spans[name] = float(x[finite][0]), float(x[finite][-1])
    canvas.limit_scores(spans)
    for name in (name for name in lines if name in canvas.bands):
        band_of_system, (first, last) = canvas.bands[name], spans[name]
        x = band_of_system.low.score - _shift(steps_of[name])
        inside = (x >= first) & (x <= last)
        low, high = band_of_system.low.llr[inside], band_of_system.high.llr[inside]
        canvas.fill(name, lines[name], x[inside], low, high)
    if x_label == LLR and lines:
        canvas.guide("identity", [-_FAR, _FAR], [-_FAR, _FAR], linestyle=":")
    return canvas.finish(x_label, "LLR after PAV (natural logarithm)")


def _shift(steps: PavSteps) -> float:
    """Return the difference of log-odds and LLRs for posteriors, and 0 for other scores."""
    return steps.prior_log_odds if steps.kind == "posteriors" else 0.0


def _note_steps(canvas: Canvas, name: str, x: Any, y: Any) -> None:
    """Note steps that are not drawn, and curves of a single step."""
    if np.isinf(y).all():
        canvas.note(name, "the classes do not overlap: PAV maps each score to an infinite LLR")
        return
    if y[0] == y[-1]:
        canvas.note(name, "PAV maps all scores to one value")
    if np.isinf(y).any():
        canvas.note("", "scores beyond the ends of a curve map to infinite LLRs")
    if np.isinf(x[np.isfinite(y)]).any():
        canvas.note(name, "infinite scores that PAV maps to finite LLRs lie beyond the axes")


#: By the kind of the training data: the kind of the scores on the x axis, and labels of both axes.
_AXES: dict[str, tuple[ScoreKind, str, str]] = {
    "posteriors": ("logits", "Log-odds", "Log-odds after calibration"),
    "likelihoods": ("llrs", LLR, "LLR after calibration (natural logarithm)"),
    "raw scores": ("raw scores", "Score", "LLR (natural logarithm)"),
}


@with_hints
def calibration_map(
    systems: Calibrator | Mapping[str, Calibrator],
    *,
    low: float = -10.0,
    high: float = 10.0,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the maps of fitted binary calibrators.

    Parameters
    ----------
    systems : calibrator, or mapping of names to these
        Fitted to data of one kind: log-odds, LLRs or raw scores.
    low, high : float
        Range of the scores.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        A note names calibrators that map scores to infinity.

    Raises
    ------
    ValueError
        For calibrators that are not fitted, or were fitted to more than two classes or to data of
        different kinds.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 1, 0, 1, 1], [-3.0, -2.0, 1.0, 3.0, 0.5])
    >>> maps = {"PAV": fp.PAV(laplace=True).fit(data), "DP": fp.DirectionPreserving().fit(data)}
    >>> ax = fp.plotting.calibration_map(maps, low=-4.0, high=4.0, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines[:2]]
    ['PAV', 'DP']
    """
    if not checks.as_number("low", low) < checks.as_number("high", high):
        raise ArgumentError("low", f"must be below high, not {low} to {high}")
    canvas = Canvas(ax, kwargs)
    calibrators: dict[str, Calibrator] = canvas.results(systems, Calibrator)
    first, *_ = calibrators.values()
    kind, x_label, y_label = _AXES[getattr(first, "domain_", "raw scores")]
    x = Predictions.of(kind, None, np.linspace(low, high, 2_001))
    try:
        maps = {name: calibrator.transform(x).scores for name, calibrator in calibrators.items()}
    except ValueError as error:
        rule = f"must be fitted to two classes, and all to data of one kind: {error}"
        raise ArgumentError("systems", rule) from None
    for name, y in maps.items():
        finite = np.isfinite(y)
        canvas.ax.plot(x.scores[finite], y[finite], **canvas.style(name))
        if not finite.all():
            canvas.note(name, "the calibrator maps some scores to infinity, beyond the axes")
    if x_label != "Score":
        canvas.guide("identity", [low, high], [low, high], linestyle=":")
    return canvas.finish(x_label, y_label)
