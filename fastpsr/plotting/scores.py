"""Scores: histograms, Tippett plots, and the maps that calibrators make of them."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

from fastpsr import checks, curves
from fastpsr.calibration import Calibrator
from fastpsr.curves import PavSteps, ScoreHistogram, TippettCurves
from fastpsr.data import Floats, Predictions, ScoreKind
from fastpsr.errors import ArgumentError
from fastpsr.options import with_hints
from fastpsr.plotting.canvas import COLORS, LLR, Bands, Canvas, is_guide, second
from fastpsr.plotting.systems import SPOOFED, Spoof, as_mapping, of_class, percent, spoofed_apart


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
        Results of :func:`fastpsr.score_histogram`, or binary predictions.
    spoof : array-like of bool, shape (N,), or mapping of names to these, optional
        Which trials are spoofed: these are drawn apart from the non-targets, dotted.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the outlines (``Axes.stairs``): targets are solid, non-targets dashed.

    Returns
    -------
    Axes
        Infinite scores, and those beyond the axes, are named in a text.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary, raw scores beside LLRs, and other `spoof`.

    Notes
    -----
    Predictions have 4 times the cube root of the smaller class as bins, 10 to 200.

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
    histograms = dict(canvas.systems(systems, ScoreHistogram, _histogram))
    x_label = _score_label(counts.are_llrs for counts in histograms.values())
    spans: dict[str, tuple[float, float]] = {}
    tops: dict[str, float] = {}
    for name, counts in histograms.items():
        looks = _looks(canvas, name, alone=single, fill=False, linewidth=1.3)
        series = {"targets": (counts, 1), "non-targets": (counts, 0)}
        if name in spoofed:
            series["spoofed trials"] = _histogram(spoofed[name]), 0
        edges = np.concatenate([part.edges for part, _ in series.values()])
        spans[name] = float(edges.min()), float(edges.max())
        for what, (part, k) in series.items():
            if part.totals[k]:
                canvas.ax.stairs(part.densities[k], part.edges, **looks[what])
                tops[name] = max(tops.get(name, 0.0), float(part.densities[k].max()))
        _say_missing(canvas, name, counts)
    if not single:
        _key_classes(canvas, with_spoofs=bool(spoofed))
    canvas.limit_scores(spans)
    canvas.limit_heights(tops, "the density")
    return canvas.finish(x_label, "Density of each class")


def _score_label(are_llrs: Iterable[bool]) -> str:
    """Return the label of the axis of scores, which must be of one kind."""
    kinds = set(are_llrs)
    if len(kinds) > 1:
        raise ArgumentError("systems", "must all be LLRs, or all be raw scores: they share an axis")
    return "Score" if kinds == {False} else LLR


def _key_classes(canvas: Canvas[Any], *, with_spoofs: bool) -> None:
    canvas.key("targets", linestyle="-")
    canvas.key("non-targets", linestyle="--")
    if with_spoofs:
        canvas.key("spoofed trials", linestyle=SPOOFED)


def _histogram(predictions: Predictions) -> ScoreHistogram:
    """Return a histogram with as many bins as the smaller class has samples for."""
    smallest = min((n for n in predictions.class_sizes if n), default=0)
    return curves.score_histogram(predictions, round(min(max(4.0 * smallest ** (1 / 3), 10), 200)))


def _looks(
    canvas: Canvas[Any], name: str, *, alone: bool = False, **defaults: Any
) -> dict[str, dict[str, Any]]:
    """Return keywords for each class of a system; `alone`, classes also differ in color."""
    style = canvas.style(name, **defaults)
    looks = {"targets": style, "non-targets": second(style)}
    looks["spoofed trials"] = {**second(style), "linestyle": SPOOFED}
    if alone:
        for color, (what, look) in zip(COLORS, looks.items(), strict=False):
            label = f"{name}, {what}" if name and what == "targets" else what
            look_of_class = {"color": color, "label": label}
            look |= {
                key: value for key, value in look_of_class.items() if key not in canvas.options
            }
    return looks


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
        Results of :func:`fastpsr.tippett`, or binary predictions.
    spoof : array-like of bool, shape (N,), or mapping of names to these, optional
        Which trials of predictions are spoofed: these are drawn apart from the non-targets, dotted.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``): targets are solid, non-targets dashed.

    Returns
    -------
    Axes
        Infinite scores, and those beyond the axes, are named in a text.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary, raw scores beside LLRs, and other `spoof`.

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
    curves_of, spans = dict(canvas.systems(systems, TippettCurves, curves.tippett)), {}
    x_label = _score_label(result.are_llrs for result in curves_of.values())
    for name, result in curves_of.items():
        looks = _looks(canvas, name)
        series = {
            "targets": (result.target_scores, result.p_target),
            "non-targets": (result.nontarget_scores, result.p_nontarget),
        }
        if name in spoofed:
            spoofs = curves.tippett(spoofed[name])
            series["spoofed trials"] = spoofs.nontarget_scores, spoofs.p_nontarget
        for what, (scores, shares) in series.items():
            canvas.ax.plot(*_steps(scores, shares), **looks[what])
            _note_infinite_scores(canvas, name, what, scores, shares)
        together = np.concatenate([scores for scores, _ in series.values()])
        finite = together[np.isfinite(together)]
        if finite.size:
            spans[name] = float(finite.min()), float(finite.max())
        if together.min() == together.max():
            canvas.note(name, "all scores are equal")
    canvas.limit_scores(spans)
    _key_classes(canvas, with_spoofs=bool(spoofed))
    if x_label == LLR:
        across = canvas.ax.get_xaxis_transform()
        canvas.guide("zero", [0.0, 0.0], [0.0, 1.0], transform=across, color="0.8", label="_zero")
    canvas.ax.set_ylim(-0.01, 1.01)
    return canvas.finish(x_label, "Share of trials at or above")


def _steps(scores: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a step curve over the finite scores."""
    finite = np.isfinite(scores)
    if not finite.any():
        return np.empty(0), np.empty(0)
    after = np.append(shares[1:], 0.0)[finite]
    x, y = scores[finite], shares[finite]
    # a step goes down at each score, to the share of the next one
    down = np.append(y[1:], after[-1])
    return np.repeat(x, 2), np.column_stack([y, down]).ravel()


def _note_infinite_scores(
    canvas: Canvas[TippettCurves], name: str, what: str, scores: Floats, shares: Floats
) -> None:
    if np.isneginf(scores[0]):
        left = 1.0 - shares[1] if shares.size > 1 else 1.0
        canvas.note(name, f"{percent(left)} of {what} at minus infinity")
    if np.isposinf(scores[-1]):
        canvas.note(name, f"{percent(float(shares[-1]))} of {what} at infinity")


@with_hints
def pav_map(
    systems: PavSteps | Predictions | Mapping[str, PavSteps | Predictions],
    *,
    band: Bands = None,
    class_: int | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw the LLRs after PAV against the scores; calibrated LLRs follow the identity.

    Parameters
    ----------
    systems : PavSteps, Predictions, or mapping of names to these
        Results of :func:`fastpsr.pav_steps`, or binary predictions that are given to it. The LLRs
        of posteriors are their log-odds less those of the prior.
    band : Band, or mapping of names to Band, optional
        Results of ``fp.band(fp.pav_steps, predictions)``, drawn as shaded areas.
    class_ : int, optional
        Of predictions of several classes: the class that is told from the rest.
    ax : Axes, optional
        By default a new figure's.
    **kwargs
        For the lines (``Axes.plot``).

    Returns
    -------
    Axes
        Steps of one class alone, which are mapped to infinite LLRs, are named in a text, as are
        infinite scores and systems that cannot be drawn.

    Raises
    ------
    ValueError
        For anything that is not labeled and binary, and raw scores beside LLRs.

    Examples
    --------
    >>> import fastpsr as fp
    >>> from matplotlib.figure import Figure
    >>> data = fp.Predictions.from_llrs([0, 1, 0, 1], [-3.0, -2.0, 1.0, 3.0])
    >>> ax = fp.plotting.pav_map({"A": fp.pav_steps(data)}, ax=Figure().subplots())
    >>> ax.lines[0].get_xydata().tolist()
    [[-2.0, 0.0], [1.0, 0.0]]
    """
    systems = of_class(systems, class_)
    canvas: Canvas[PavSteps] = Canvas(ax, kwargs)
    canvas.take_bands(band, systems, curves.pav_steps)
    steps_of = dict(canvas.systems(systems, PavSteps, curves.pav_steps))
    x_label = _score_label(steps.kind != "raw scores" for steps in steps_of.values())
    lines: dict[str, Line2D] = {}
    for name, steps in steps_of.items():
        x = np.column_stack([steps.lowest, steps.highest]).ravel() - _shift(steps)
        y = np.repeat(steps.llr, 2)
        _note_infinite(canvas, name, x, y, alone=len(steps_of) == 1)
        finite = np.isfinite(x) & np.isfinite(y)
        if finite.any():
            (lines[name],) = canvas.ax.plot(x[finite], y[finite], **canvas.style(name))
    ends = {name: np.asarray(line.get_xdata())[[0, -1]] for name, line in lines.items()}
    canvas.limit_scores({name: (low, high) for name, (low, high) in ends.items()})
    for name in (name for name in lines if name in canvas.bands):
        band_of_system, (first, last) = canvas.bands[name], ends[name]
        x = band_of_system.low.score - _shift(steps_of[name])
        inside = (x >= first) & (x <= last)
        low, high = band_of_system.low.llr[inside], band_of_system.high.llr[inside]
        canvas.fill(name, lines[name], band_of_system, x[inside], low, high)
    if x_label == LLR and any(not is_guide(line) for line in canvas.ax.lines):
        _draw_identity(canvas)
    return canvas.finish(x_label, "LLR after PAV (natural logarithm)")


def _shift(steps: PavSteps) -> float:
    """Return what log-odds are above LLRs; 0 for scores that are no posteriors."""
    return steps.prior_log_odds if steps.kind == "posteriors" else 0.0


def _draw_identity(canvas: Canvas[Any]) -> None:
    """Draw the diagonal over the axes as they are."""
    limits = canvas.ax.get_xlim(), canvas.ax.get_ylim()
    ends = [min(map(min, limits)), max(map(max, limits))]
    canvas.guide("identity", ends, ends, linestyle=":")
    canvas.ax.set_xlim(limits[0])
    canvas.ax.set_ylim(limits[1])


def _note_infinite(canvas: Canvas[PavSteps], name: str, x: Any, y: Any, *, alone: bool) -> None:
    if np.isinf(y).all():
        canvas.note(name, "the classes do not overlap: PAV maps every score to infinity")
        return
    if y[0] == y[-1]:
        canvas.note(name, "PAV maps all scores to one value")
    parts = []
    if np.isneginf(y[0]):
        parts.append(f"up to {x[np.isneginf(y)][-1]:.3g} to minus infinity")
    if np.isposinf(y[-1]):
        parts.append(f"from {x[np.isposinf(y)][0]:.3g} to infinity")
    if parts and alone:
        canvas.note(name, f"PAV maps scores {' and '.join(parts)}")
    elif parts:
        canvas.note("", "scores beyond the ends of a curve are mapped to infinity")
    if np.isinf(x[np.isfinite(y)]).any():
        canvas.note(name, "infinite scores that PAV maps to finite LLRs lie beyond the axes")


#: Kind of the scores that a calibrator of such predictions is given, and labels of the axes.
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
    """Draw the maps of fitted calibrators of binary tasks, such as the candidates of a choice.

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
        Scores that are mapped to infinity are named in a text.

    Raises
    ------
    ValueError
        For calibrators that are not fitted, or to data of several classes or of different kinds.

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
    canvas: Canvas[Calibrator] = Canvas(ax, kwargs)
    calibrators = dict(canvas.systems(systems, Calibrator))
    kinds = {getattr(calibrator, "domain_", "nothing") for calibrator in calibrators.values()}
    if "nothing" in kinds:
        raise ArgumentError("systems", "must be fitted", remedy="call fit(predictions)")
    if len(kinds) > 1:
        raise ArgumentError("systems", "must all be fitted to data of one kind: they share an axis")
    kind, x_label, y_label = _AXES[kinds.pop()]
    x = np.linspace(low, high, 2_001)
    for name, calibrator in calibrators.items():
        if np.size(getattr(calibrator, "bias_", (0, 1))) > 2:
            raise ArgumentError("systems", "must be fitted to two classes: others have no one axis")
        y = calibrator.transform(Predictions.of(kind, None, x)).scores
        finite = np.isfinite(y)
        canvas.ax.plot(x[finite], y[finite], **canvas.style(name))
        if not finite.all():
            canvas.note(name, "scores that are mapped to infinity lie beyond the axes")
    if x_label != "Score":
        canvas.guide("identity", [low, high], [low, high], linestyle=":")
    return canvas.finish(x_label, y_label)
