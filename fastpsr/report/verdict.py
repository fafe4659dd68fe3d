"""Assessment of calibration, and of the effect of calibrating, as sentences."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from fastpsr.calibration import TrainOnTest
from fastpsr.calibration.pav import PAV
from fastpsr.evaluation import BestCalibrator, Intervals, Row
from fastpsr.evaluation.grid import Cell, Grid, number
from fastpsr.evaluation.layout import counted_if_many, value_cell
from fastpsr.metrics import CalibrationLoss
from fastpsr.report.content import Report, Result
from fastpsr.rules import Log

_SLIGHT = 1.0  # percent of the cross-entropy: less is hardly worth a calibrator
_LARGE = 5.0


@dataclass(frozen=True)
class Verdict:
    """Assessment of a system in a condition.

    Attributes
    ----------
    result : Result
    short : str
        A few words.
    sentence : str
    after : float or None
        The normalized cross-entropy that calibration would leave.
    best : BestCalibrator or None
        The calibrator that would remove most: if any saves something.
    bound : float or None
        The most that PAV would remove on these samples, in percent.
    """

    result: Result
    short: str
    sentence: str
    after: float | None = None
    best: BestCalibrator | None = None
    bound: float | None = None


def verdicts(report: Report) -> list[Verdict]:
    """Return a verdict for each result with a calibration loss, or of raw scores."""
    of_results = []
    for result in report.results:
        row = result.of_role("RCL")
        if row is not None:
            of_results.append(_judge(report, result, row))
        elif report.is_raw:
            of_results.append(Verdict(result, "raw scores", _of_raw(result)))
    return of_results


def verdict_table(verdicts: Sequence[Verdict]) -> Grid:
    """Return the calibration loss by system and condition."""
    lines = []
    for verdict in verdicts:
        row = verdict.result.of_role("RCL")
        if row is not None:
            names = [Cell(verdict.result.system), Cell(verdict.result.condition)]
            best = verdict.result.best_calibrator
            text = "" if best is None else f"{best.name}, {number(best.saving, best.unit)}"
            lines.append([*names, value_cell(row), Cell(verdict.short), Cell(text)])
    header = ["system", "condition", "relative calibration loss", "assessment", "best calibrator"]
    return Grid(header, lines, 2, "Relative calibration loss").without("")


def _judge(report: Report, result: Result, rcl: Row) -> Verdict:
    intervals, nce = report.evaluation.intervals, result.of_role("NCE")
    if math.isnan(rcl.value):
        reason = rcl.note.removeprefix("not computed: ").rstrip(".")
        return Verdict(result, "unknown", f"Calibration could not be assessed: {reason}.")
    if nce is not None and math.isinf(nce.value):
        why = (
            "Its cross-entropy is infinite, because some samples have posterior 0 for their true "
            "class. Any calibration that avoids such certainty would make it finite."
        )
        return Verdict(result, "not calibrated", why)
    if undefined := counted_if_many(rcl.n_undefined, intervals):
        change = _save(rcl.value) if rcl.value > 0.0 else _worse(rcl.value)
        text = f"There are too few data to tell: {change}, but {rcl.metric} is {undefined}."
        return Verdict(result, "inconclusive", text)
    after, best = None, result.best_calibrator
    if nce is not None and math.isfinite(nce.value * rcl.value) and rcl.value >= _SLIGHT:
        after = nce.value * (1.0 - rcl.value / 100.0)
    best = best if best is not None and best.saving > 0.0 else None
    return Verdict(result, *_of_loss(rcl, intervals), after, best, _bound(report, result))


def _of_loss(rcl: Row, intervals: Intervals | None) -> tuple[str, str]:
    """Return the meaning of the calibration loss, and whether it may be due to chance."""
    loss, save = rcl.value, _save(rcl.value)
    if loss < -_LARGE:
        return "inconclusive", f"There are too few data to tell: {_worse(loss)}."
    if rcl.low is None or rcl.high is None or math.isnan(rcl.low + rcl.high):
        without = " (no interval was computed)"
        if loss < _SLIGHT:
            change = save if loss > 0.0 else _worse(loss)
            return "calibrated", f"It is well calibrated{without}: {change}."
        if loss < _LARGE:
            return "slightly off", f"It is slightly miscalibrated{without}: {save}."
        return "not calibrated", f"It is not calibrated: {save}."
    level = "" if intervals is None else f"{100.0 * intervals.confidence_level:g} % interval "
    span = f" ({level}{percent(rcl.low, '')} to {percent(rcl.high)})"
    if rcl.low > 0.0:
        if loss < _SLIGHT:
            text = f"It is nearly calibrated: {save}{span}, a small gain but more than chance."
            return "nearly calibrated", text
        short = "slightly off" if loss < _LARGE else "not calibrated"
        name = "slightly miscalibrated" if loss < _LARGE else "not calibrated"
        return short, f"It is {name}: {save}{span}."
    if loss <= 0.0:
        return "calibrated", f"It is well calibrated: {_worse(loss)}{span}."
    if rcl.high < _LARGE:
        return "calibrated", f"It is well calibrated: {save}{span}, which may be due to chance."
    text = f"The data are inconclusive: {save}{span}, which may be due to chance."
    return "inconclusive", text


def _of_raw(result: Result) -> str:
    best = result.of_role("minCllr")
    text = "Raw scores only rank the samples, so their calibration cannot be assessed."
    if best is None or not math.isfinite(best.value):
        return text
    return f"{text} The best monotone map would reach a Cllr of {best.value:.3f} (minCllr)."


def _bound(report: Report, result: Result) -> float | None:
    """Return the most that PAV would remove, in percent; None if there is no such bound."""
    row = result.of_role("RCL bound")
    samples = report.predictions.get(result.system) if result in report.pooled else None
    if row is None and samples is not None and samples.n_classes == 2:
        with suppress(ValueError):  # of raw scores, and of one class
            bound = CalibrationLoss(Log(), PAV(), TrainOnTest()).value_on(samples)
            return bound if math.isfinite(bound) else None
    return None if row is None or not math.isfinite(row.value) else row.value


def _save(loss: float) -> str:
    return f"calibration would remove {percent(loss)} of the cross-entropy"


def _worse(loss: float) -> str:
    if math.isinf(loss):
        return "calibration would make the cross-entropy infinite"
    if loss > -0.05:
        return "calibration would change nothing"
    return f"calibration would make the cross-entropy {percent(-loss)} worse"


def percent(value: float, unit: str = " %") -> str:
    """Return a percentage as text with one decimal, or two of small ones."""
    text = f"{value:.1f}" if abs(value) >= 0.1 or value == 0.0 else f"{value:.2f}"
    return ("0.0" if float(text) == 0.0 else text.replace("-", "\u2212")) + unit
