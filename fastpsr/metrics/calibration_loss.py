"""Calibration loss, and the expected score divergence."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from fastpsr.caching import cached_property
from fastpsr.calibration import CALIBRATORS, TRAININGS
from fastpsr.calibration.base import Calibrator, FitTransform, as_calibrator
from fastpsr.calibration.pav import PAV
from fastpsr.calibration.training import CrossFit, Training, TrainOnTest, as_training
from fastpsr.counts import begin, one_call, side_by_side
from fastpsr.counts.sums import (
    ClassSums,
    ReferenceMeans,
    ReferenceSums,
    ScoreTotals,
    Sums,
    expected_losses,
    summed_losses,
)
from fastpsr.data import Data, Floats, Part, Predictions
from fastpsr.interval_rule import IS_LINEAR, ONE_TERM, TWO_TERMS, IntervalRule
from fastpsr.metrics.base import Metric, Summary
from fastpsr.results import Result
from fastpsr.rules import Brier, Log, ScoringRule
from fastpsr.rules.base import check_rule


@dataclass(frozen=True, eq=False)
class _AfterCalibration(Metric[Summary]):
    """A metric of a rule that compares posteriors before and after calibration."""

    rule: ScoringRule
    calibrator: Calibrator | FitTransform
    train: Training = field(default_factory=CrossFit)

    def __post_init__(self) -> None:
        check_rule(self.rule)
        as_calibrator(self.calibrator)
        as_training(self.train)

    @cached_property
    def _fitter(self) -> Calibrator:
        return as_calibrator(self.calibrator)

    @property
    def interval_rule(self) -> IntervalRule:
        """Rule of the training and of the fit: optimism of fixed parameters falls as 1 / n."""
        is_pav = isinstance(self._fitter, PAV)
        centers = (TWO_TERMS, ONE_TERM) if is_pav else (IS_LINEAR, IS_LINEAR)
        rule = self.train.interval_rule
        return replace(rule, center=centers[0], center_of_units=centers[1])

    def on_rows(self, data: Data, rows: Any) -> Self:
        return replace(self, train=self.train.on_rows(data, rows))


@dataclass(frozen=True, eq=False)
class CalibrationLoss(_AfterCalibration[tuple[ScoreTotals, ScoreTotals]]):
    """The reduction of a proper score by calibration; by default relative, in percent (RCL).

    ``raw - calibrated``, or ``100 * (raw - calibrated) / raw`` (Ferrer and Ramos, 2024, section
    2.5.3), where ``calibrated`` is the score after calibration, cross-fitted or trained in
    another way (`train`).

    Parameters
    ----------
    rule : ScoringRule
        The proper scoring rule.
    calibrator : one of :mod:`fastpsr.calibration`, such as PAV(), or your own
        A calibrator of your own is an object with ``fit(predictions)``, which must use the sample
        weights, and ``transform(predictions)``. It works on data in memory; for data in parts see
        :class:`fastpsr.calibration.Calibrator`.
    train : CrossFit, TrainOnTest or HeldOut, optional
        By default ``CrossFit()``.
    relative : bool
        Whether to return the reduction in percent of the raw score.

    Returns
    -------
    float
        Negative if calibration makes the score worse. For an infinite raw score the result is inf
        (relative: 100) if the calibrated score is finite, else nan. It is 0 if both scores are 0.

    Raises
    ------
    ValueError
        For raw scores, and if the calibrator cannot be fitted.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.9, 0.4, 0.8, 0.99])
    >>> metric = fp.CalibrationLoss(fp.rules.Brier(), fp.PAV(), fp.TrainOnTest())
    >>> round(metric(data), 2)
    47.09
    """

    relative: bool = True

    @property
    def label(self) -> str:
        return f"{'RCL' if self.relative else 'CalLoss'} {self.rule.label}"

    @property
    def meaning(self) -> str:
        amount = f"share of {self.rule.label}" if self.relative else self.rule.label
        return f"{amount} that {type(self.calibrator).__name__} would remove, {self.train.name}"

    @property
    def value_range(self) -> tuple[float, float]:
        """PAV never makes the score of its own training data worse."""
        pav = self._fitter
        gains = isinstance(pav, PAV) and not pav.floor and isinstance(self.train, TrainOnTest)
        return (0.0 if gains else -np.inf, 100.0 if self.relative else np.inf)

    @property
    def unit(self) -> Any:
        return "percent" if self.relative else self.rule.unit

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        pairs = _trained(data)
        metrics: list[Metric[Any]] = [cls(Log(), *pair) for pair in pairs]
        return [*metrics, *(cls(Brier(), *pair, relative=False) for pair in pairs[:2])]

    def total(self, data: Data) -> tuple[ScoreTotals, ScoreTotals]:
        data.require_posteriors("expected scores")
        self._fitter.check_accepts(data)
        raw, calibrated = side_by_side(
            partial(summed_losses, self.rule, data), partial(self.calibrated_totals, data),
            over=data,
        )  # fmt: skip
        self.train.look_at(self._fitter, data)
        return raw, calibrated

    def calibrated_totals(self, data: Data) -> ScoreTotals:
        """Return the summed losses after calibration."""
        if self.train.refits:
            folds = self.train.folds_of(data)
            return self._fitter.losses_of_folds(self.rule, folds, data)
        calibrated = self.train.calibrated(self._fitter, data)
        return summed_losses(self.rule, calibrated)

    def sums(self, data: Data) -> Sums | None:
        data.require_posteriors("expected scores")
        if self.train.refits:
            folds = self.train.folds_of(data)
            return self._fitter.refit_sums(self.rule, folds, data)
        calibrated = self.train.calibrated(self._fitter, data)
        return _TwoLosses(data.n_classes, self.rule, data.given_priors, (calibrated,))

    def finish(self, summary: tuple[ScoreTotals, ScoreTotals]) -> float:
        raw, calibrated = summary[0].mean(), summary[1].mean()
        if raw == calibrated == float("inf"):
            return float("nan")
        return relative_loss(raw, calibrated) if self.relative else raw - calibrated


def relative_loss(raw: float, calibrated: float) -> float:
    """Return how many percent of a score calibration removes."""
    if raw == calibrated:
        return 0.0
    if raw == float("inf"):
        return 100.0
    return 100.0 * (raw - calibrated) / raw if raw > 0.0 else float("-inf")


@dataclass(frozen=True, eq=False)
class _TwoLosses(ClassSums):
    """Losses of samples before and after calibration trained on other data."""

    rule: ScoringRule
    given_priors: Floats | None
    companions: tuple[Any, ...] = ()
    n_columns = 2

    def columns(self, part: Part, *companions: Part) -> tuple[Floats, ...]:
        return tuple(self.rule.losses_of(one_part.predictions) for one_part in (part, *companions))

    def totals(self, part: Part, *companions: Part) -> tuple[Floats, Floats]:
        losses = [self.rule.summed_losses(one_part.predictions) for one_part in (part, *companions)]
        return part.predictions.class_weights, np.column_stack(losses)

    def assemble(self, weight: Floats, sums: Floats) -> tuple[ScoreTotals, ScoreTotals]:
        raw, after = (ScoreTotals(loss, weight, self.given_priors) for loss in sums.T)
        return raw, after


@dataclass(frozen=True, eq=False)
class SemiEmpiricalDecomposition(Result):
    """A semi-empirical expected score as the sum of calibration and refinement.

    Attributes
    ----------
    score : float
        Expected loss of the posteriors when classes are drawn from the reference.
    divergence : float
        Expected score divergence of the reference from the posteriors.
    refinement : float
        Expected loss of the reference itself (its generalized entropy).
    """

    score: float
    divergence: float
    refinement: float


@dataclass(frozen=True, eq=False)
class ExpectedDivergence(_AfterCalibration[ReferenceMeans]):
    """The mean score divergence d(r; q) of calibrated posteriors r from the posteriors q.

    The classic calibration metric (Ferrer and Ramos, 2024, Equation 24). It is a component of the
    expected score under classes drawn from r, and is not informative if the calibrated posteriors r
    are poor (section 3.4): prefer ``CalibrationLoss``.

    Parameters
    ----------
    rule : ScoringRule
    calibrator : one of :mod:`fastpsr.calibration`, such as PAV(), or your own
        A calibrator of your own is an object with ``fit(predictions)``, which must use the sample
        weights, and ``transform(predictions)``. It works on data in memory; for data in parts see
        :class:`fastpsr.calibration.Calibrator`.
    train : CrossFit, TrainOnTest or HeldOut, optional
        By default ``CrossFit()``.

    Returns
    -------
    float
        Not negative; in nats for the log rule, without unit for other rules. May be infinite.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> metric = fp.ExpectedDivergence(fp.rules.Brier(), fp.PAV(), fp.TrainOnTest())
    >>> round(metric(data), 4)
    0.01
    """

    value_range = (0.0, np.inf)

    @property
    def label(self) -> str:
        return f"Divergence {self.rule.label}"

    @property
    def unit(self) -> Any:
        return self.rule.unit

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(Log(), calibrator, train) for calibrator, train in _trained(data)]

    def total(self, data: Data) -> ReferenceMeans:
        data.require_posteriors("score divergences")
        sums = self._under_reference(data)
        self.train.look_at(self._fitter, data)
        means: ReferenceMeans = sums.total(data)
        return means

    def sums(self, data: Data) -> Sums | None:
        if self.train.refits:  # the reference changes with the replicate
            return None
        return self._under_reference(data)

    def _under_reference(self, data: Data) -> ReferenceSums:
        data.require_posteriors("score divergences")
        reference = self.train.calibrated(self._fitter, data)
        return _referenced(divergences, self.rule, data, reference)

    def finish(self, summary: ReferenceMeans) -> float:
        return summary.mean

    def decompose(self, predictions: Data) -> SemiEmpiricalDecomposition:
        """Return score, divergence and refinement, all under the calibrated reference."""
        predictions.require_posteriors("score divergences")
        with one_call():
            begin(predictions)
            reference = self.train.calibrated(self._fitter, predictions)
            sums = [
                _referenced(values, self.rule, predictions, reference)
                for values in (expected_losses, divergences, _entropies)
            ]
            totals = side_by_side(
                *(partial(total.total, predictions) for total in sums), over=predictions
            )
        return SemiEmpiricalDecomposition(*(total.mean for total in totals))


def _trained(data: Data) -> list[tuple[Calibrator, Training]]:
    """Return all calibrators with the first training, and the first one with each other."""
    first, *other_trainings = [train for kind in TRAININGS for train in kind.examples(data)]
    calibrators = [kind() for kind in CALIBRATORS.values() if kind.suits(data)]
    return [
        *((calibrator, first) for calibrator in calibrators),
        *((calibrators[0], train) for train in other_trainings),
    ]


def divergences(rule: ScoringRule, predictions: Predictions, reference: Predictions) -> Floats:
    """Return the (N,) divergences of reference posteriors from the posteriors."""
    return rule.divergence_of_logs(reference.log_posteriors, predictions.log_posteriors)


def _entropies(rule: ScoringRule, predictions: Predictions, reference: Predictions) -> Floats:
    entropies: Floats = rule.entropy(reference.posteriors)
    return entropies


def _referenced(values: Any, rule: ScoringRule, data: Data, reference: Data) -> ReferenceSums:
    return ReferenceSums(data.n_classes, data.given_priors, partial(values, rule), (reference,))
