"""`decompose`: an expected score as miscalibration, discrimination and uncertainty."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from fastpsr.bootstrap import BootstrapResult, Resampling
from fastpsr.bootstrap.intervals import Method
from fastpsr.bootstrap.results import Estimand, draw_values, results_of
from fastpsr.bootstrap.settings import Intervals, Progress, as_progress, described_results
from fastpsr.bootstrap.values import Job
from fastpsr.calibration import TrainOnTest
from fastpsr.calibration.base import Calibrator, FitTransform
from fastpsr.calibration.pav import PAV
from fastpsr.calibration.training import Training
from fastpsr.counts import begin, side_by_side, takes_predictions
from fastpsr.counts.sums import ScoreTotals, summed_losses
from fastpsr.data import Data
from fastpsr.errors import ArgumentError, Subject
from fastpsr.evaluation.grid import Cell, Grid, ShownAsGrid, with_interval
from fastpsr.interval_rule import OF_MEANS, IntervalRule
from fastpsr.metrics import CalibrationLoss
from fastpsr.options import with_hints
from fastpsr.results import Result
from fastpsr.rules import Log, ScoringRule

#: The parts of a decomposition as signed sums of the terms (score, calibrated score, uncertainty).
_SIGNS = {
    "score": (1.0, 0.0, 0.0),
    "miscalibration": (1.0, -1.0, 0.0),
    "discrimination": (0.0, -1.0, 1.0),
    "uncertainty": (0.0, 0.0, 1.0),
}


@dataclass(frozen=True, eq=False)
class Decomposition(ShownAsGrid, Result):
    """An expected score, and its parts: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        Mean loss of the posteriors.
    miscalibration : float
        The score minus the score of the calibrated posteriors: the saving by calibration. Negative
        if calibration makes the score worse.
    discrimination : float
        The uncertainty minus the score of the calibrated posteriors: the advantage of the
        calibrated classifier over the class priors.
    uncertainty : float
        Generalized entropy of the class priors: the score of a system that always returns them.
    unit : str
        "nats" for the log rule, else "".
    intervals : dict of str to BootstrapResult
        By the names of the four parts; empty if no intervals were requested.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(fp.decompose(data, fp.rules.Brier()))
    score           0.1850
    miscalibration  0.0600
    discrimination  0.1250
    uncertainty     0.2500
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    unit: str = ""
    intervals: Mapping[str, BootstrapResult] = field(default_factory=dict, repr=False)
    has_header = False

    def _columns(self) -> dict[str, Any]:
        columns = {"part": list(_SIGNS), "value": [getattr(self, name) for name in _SIGNS]}
        if self.intervals:
            ends = [self.intervals[name].interval for name in _SIGNS]
            columns["low"], columns["high"] = map(list, zip(*ends, strict=True))
        return columns

    def _grid(self) -> Grid:
        lines = []
        for name, value, *ends in zip(*self._columns().values(), strict=True):
            low, high = ends or (None, None)
            lines.append([Cell(name), *map(Cell, with_interval(value, low, high))])
        header = ["part", f"value ({self.unit})" if self.unit else "value", "interval"]
        return Grid(header, lines, n_words=1).without("")

    def _above(self) -> list[str]:
        return [described_results(list(self.intervals.values()))] if self.intervals else []


@takes_predictions
@with_hints
def decompose(
    predictions: Data,
    rule: ScoringRule | None = None,
    calibrator: Calibrator | FitTransform | None = None,
    train: Training | None = None,
    *,
    n_resamples: int = 0,
    confidence_level: float = 0.95,
    method: Method = "auto",
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress | None = None,
) -> Decomposition:
    """Decompose an expected score into miscalibration, discrimination and uncertainty.

    ``score = miscalibration - discrimination + uncertainty``, none of them normalized::

        score          = mean loss(y_t, q_t)
        miscalibration = mean loss(y_t, q_t) - mean loss(y_t, c_t)
        discrimination = entropy(priors) - mean loss(y_t, c_t)
        uncertainty    = entropy(priors)

    with posteriors q_t, calibrated posteriors c_t, and the generalized entropy of the rule.

    Parameters
    ----------
    predictions : Predictions, or predictions in parts
        Labeled: N samples of K classes; posteriors or likelihoods.
    rule : ScoringRule, optional
        By default ``fp.rules.Log()``: all parts are in nats. Otherwise they have the unit of the
        rule.
    calibrator : one of :mod:`fastpsr.calibration`, such as PAV(), or your own
        By default ``fp.PAV()``, for binary tasks.
    train : CrossFit, TrainOnTest or HeldOut, optional
        By default ``fp.TrainOnTest()``, with which miscalibration and discrimination of PAV are
        not negative, as the priors and, for posteriors, the identity are monotone maps. It
        overfits: with cross-fitting they estimate the effect on new data.
    n_resamples : int
        Number of bootstrap replicates; with 0 there are no confidence intervals.
    confidence_level, method, resampling, seed, progress
        As for :func:`fastpsr.bootstrap`. Calibrators are trained again in each replicate, except on
        held-out data. The parts of a replicate are of the same draws: they add up in each.

    Returns
    -------
    Decomposition

    Raises
    ------
    ValueError
        For raw scores, more than two classes without a `calibrator`, a calibrator that cannot be
        fitted, a resampling or seed without `n_resamples`, and as :func:`fastpsr.bootstrap`.

    Warns
    -----
    RuntimeWarning
        As :func:`fastpsr.bootstrap`.

    Notes
    -----
    Equal scores get equal calibrated posteriors; a sample of weight n is equivalent to n copies.
    With given priors, samples are reweighted to them, and the uncertainty is their entropy.

    Nothing is clipped: under the log rule a posterior of 0 for a true class makes the score and the
    miscalibration infinite. PAV trained on the same data gives no true class a posterior of 0;
    trained on other data it may, without a `floor`: then the discrimination is -inf, and the
    miscalibration -inf, or nan if the score is infinite, too. A replicate in which a part is
    undefined (nan) is left out of its interval.

    For two classes, the Brier score here is the mean of (q_1 - y)^2, the squared error of the
    posterior of class 1; for K classes it is 1/K of the sum over the classes. The log rule is in
    nats. So the parts with PAV equal the parts by model-diagnostics (``decompose`` with
    ``SquaredError`` and ``LogLoss``).

    References
    ----------
    A. Murphy, "A new vector partition of the probability score", Journal of Applied Meteorology 12,
    1973; T. Dimitriadis, T. Gneiting and A. Jordan, "Stable reliability diagrams for probabilistic
    classifiers", PNAS 118, 2021, doi:10.1073/pnas.2016191118, Equation 2.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> print(fp.decompose(data))
    score           0.5108
    miscalibration  0.1643
    discrimination  0.3466
    uncertainty     0.6931
    >>> found = fp.decompose(data, fp.rules.Brier(), n_resamples=200, method="percentile", seed=0)
    >>> print(found)
    95 % intervals: percentile, 200 replicates, resampling IID, seed 0
    score           0.1850  [0.1570, 0.2165]
    miscalibration  0.0600  [0.0530, 0.0762]
    discrimination  0.1250  [0.0944, 0.1470]
    uncertainty     0.2500  [0.2379, 0.2500]
    """
    if calibrator is None and predictions.n_classes != 2:
        raise ArgumentError(
            "calibrator",
            f"must be given for {predictions.n_classes} classes: PAV is for two; pass "
            "fp.DirectionPreserving() or fp.TemperatureScaling()",
        )
    intervals = Intervals.if_any(n_resamples, confidence_level, method, resampling, seed)
    report = as_progress(progress)
    settings = (
        Log() if rule is None else rule,
        PAV() if calibrator is None else calibrator,
        TrainOnTest() if train is None else train,
    )
    terms = [_Term(*settings, term=term) for term in ("score", "calibrated", "uncertainty")]
    jobs = [Job(term, predictions) for term in terms]
    begin(predictions)
    prepare = [jobs[0].prepare] if intervals is not None else []
    summary, *_ = side_by_side(partial(terms[1].total, predictions), *prepare, over=predictions)
    values = [term.finish(summary) for term in terms]
    parts = {  # where the sign is 0, a term may be infinite
        name: sum(sign * term for sign, term in zip(signs, values, strict=True) if sign)
        for name, signs in _SIGNS.items()
    }
    results: list[BootstrapResult] = []
    if intervals is not None:
        for job, value in zip(jobs, values, strict=True):
            job.sums, job.value = jobs[0].sums, value
        estimands = [
            Estimand(
                Subject(metric=name),
                tuple((job, sign) for job, sign in zip(jobs, signs, strict=True) if sign),
            )
            for name, signs in _SIGNS.items()
        ]
        draw_values(estimands, intervals, jointly=False, progress=report, also=("replicates",))
        replicates = [job.draws["replicates"] for job in jobs]
        is_undefined = np.isnan(replicates).any(axis=0)
        for of_term in replicates:  # undefined together
            of_term[is_undefined] = np.nan
        results = results_of(estimands, intervals)
    by_name = {result.name: result for result in results}
    return Decomposition(**parts, unit=terms[0].unit, intervals=by_name)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Term(CalibrationLoss):
    """A term of the decomposition; all are computed from the summary of the calibration loss."""

    relative: bool = False
    term: Literal["score", "calibrated", "uncertainty"]

    @property
    def label(self) -> str:
        return self.term

    @property
    def value_range(self) -> tuple[float, float]:
        """Range of the losses, or of their entropy."""
        return (self.rule.least_loss, np.inf)

    @property
    def interval_rule(self) -> IntervalRule:
        """Rule of a fit for the score after calibration, of means for the others."""
        return super().interval_rule if self.term == "calibrated" else OF_MEANS

    def total(self, data: Data) -> tuple[ScoreTotals, ScoreTotals]:
        if self.term == "calibrated":
            return super().total(data)
        raw = summed_losses(self.rule, data)
        return raw, raw

    def finish(self, summary: tuple[ScoreTotals, ScoreTotals]) -> float:
        raw, calibrated = summary
        if self.term == "uncertainty":
            return float(self.rule.entropy(raw.priors))
        return (raw if self.term == "score" else calibrated).mean()
