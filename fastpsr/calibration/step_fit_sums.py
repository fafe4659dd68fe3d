"""Calibrators that are step functions over cells: fits of all folds to what the cells weigh."""

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.base import Calibrator, log_prior_of, output_kind
from fastpsr.calibration.fold_losses import FoldLosses
from fastpsr.calibration.folds import Folds
from fastpsr.kernels.sizes import index_type
from fastpsr.plans import Data, Part, Plan, Transform, resolved
from fastpsr.plans.budget import memory_budget
from fastpsr.plans.steps import ROWS
from fastpsr.predictions import Floats, Kind, Predictions, class_factors
from fastpsr.rules import Log
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.losses import ScoreTotals
from fastpsr.summaries.sums import Sums

_ARRAYS = 32  # bytes of a group that are needed: its number of samples, scores, and copies

__all__ = ["StepCalibrator", "StepFitSums"]


class StepCalibrator(Calibrator):
    """A step function. Where steps lie between cells, one count of these serves all folds."""

    def cross_fit_plan(self, data: Data, folds: Folds) -> Plan[Transform]:
        counted = yield from self._count(Log(), folds, data)
        if counted is None or folds.n_calibrators == 1:
            return (yield from resolved(super().cross_fit_plan(data, folds)))
        sums, weight = counted
        return _StepByFold(folds, sums, sums.calibrated(weight), output_kind(data.kind))

    def losses_plan(self, rule: ScoringRule, folds: Folds, data: Data) -> Plan[FoldLosses]:
        counted = yield from self._count(rule, folds, data)
        if counted is None:
            return (yield from super().losses_plan(rule, folds, data))
        sums, weight = counted
        return FoldLosses.of(sums.losses(weight), weight.sum(axis=2).T, data.given_priors)

    def _count(
        self, rule: ScoringRule, folds: Folds, data: Data
    ) -> Plan[tuple["StepFitSums", Floats] | None]:
        """Plan: return sums, and what each class and fold weighs in the cells, (2, F, cells).

        None if weights need more than counts, a fit is not defined, or cells are too many.
        """
        given = data.given_priors
        if data.has_weights or not (given is None or given.all()):
            return None
        sums = yield from resolved(self.refit_sums(rule, folds, data))
        if not isinstance(sums, StepFitSums):
            return None
        if _ARRAYS * sums.n_groups > memory_budget():
            return None
        weight = yield from _CellCounts(sums).total(data)
        totals = weight.sum(axis=2) @ folds.training_mask.T
        return (sums, weight) if totals.all() else None


@dataclass(frozen=True, eq=False)
class StepFitSums(Sums):
    """Samples of a binary task grouped by class, fold and cell; raw and calibrated losses.

    Attributes
    ----------
    rule : ScoringRule
    folds : Folds
    kind : {"posteriors", "likelihoods", "raw scores"}
    given_priors : ndarray of float64, shape (2,), or None
    offset : float
        Log-odds minus score.
    """

    rule: ScoringRule
    folds: Folds
    kind: Kind
    given_priors: Floats | None
    offset: float

    n_classes = 2
    n_columns = 1

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """Number of cells."""

    @property
    @abstractmethod
    def cells_key(self) -> Hashable:
        """Hashable identity of the cells and of their use."""

    @abstractmethod
    def cells(self, part: Part) -> NDArray[Any]:
        """Return the cell of each sample of a part, (n,)."""

    @abstractmethod
    def levels(self, negatives: Floats, positives: Floats, factors: Floats) -> Floats:
        """Return the calibrated log-odds of the cells, given the training weights by class.

        At given priors, samples of the classes weigh `factors` (2,) times their own weight in them.
        """

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """Number of triples of class, fold and cell."""
        return 2 * self.folds.n_folds * self.n_cells

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        """Rows, and the columns that determine their folds."""
        return ROWS | self.folds.reads

    @property
    def key(self) -> Hashable:
        return (self.cells_key, self.folds.key)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        wide = index_type(self.n_groups)
        of_fold = part.predictions.labels.astype(wide) * wide(self.folds.n_folds)
        of_fold += self.folds.fold_of_rows(part)
        return np.asarray(of_fold * wide(self.n_cells) + self.cells(part))

    def columns(self, part: Part, *beside: Part) -> tuple[Floats, ...]:
        return (self.rule.losses_of(part.predictions),)

    def assemble(self, weight: Floats, sums: Floats) -> tuple[ScoreTotals, FoldLosses]:
        weight = weight.reshape(2, self.folds.n_folds, self.n_cells)
        by_class = weight.sum(axis=(1, 2))
        raw = sums[:, 0].reshape(2, -1).sum(axis=1)
        given = self.given_priors
        after = FoldLosses.of(self.losses(weight), weight.sum(axis=2).T, given)
        return ScoreTotals(raw, by_class, given), after

    def losses(self, weight: Floats) -> Floats:
        """Return the summed losses of each class, of each pair of calibrator and fold, (E, 2).

        Weights (2, F, cells) are of each class in each fold.
        """
        served = self.folds.served
        losses = np.zeros((len(served), 2))
        has_rows = weight.sum(axis=(0, 2)) > 0.0
        order = np.argsort(served[:, 0], kind="stable")  # the pairs of a calibrator in turn
        last = -1
        for entry in order.tolist():
            calibrator, fold = served[entry].tolist()
            if not has_rows[fold]:
                continue
            if calibrator != last:
                log_odds, last = self._scores(weight, calibrator) + self.offset, calibrator
            for k in (0, 1):
                used = np.flatnonzero(weight[k, fold])
                y = np.full(used.size, k, np.uint8)
                losses[entry, k] = (self.rule.binary_losses(log_odds[used], y)
                                    * weight[k, fold, used]).sum()  # fmt: skip
        return losses

    def calibrated(self, weight: Floats) -> Floats:
        """Return the scores of the cells after each calibrator, (C, cells)."""
        return np.stack([self._scores(weight, c) for c in range(self.folds.n_calibrators)])

    def _scores(self, weight: Floats, calibrator: int) -> Floats:
        """Return the calibrated scores of the cells: log-odds of posteriors, else LLRs."""
        mask = self.folds.training_mask[calibrator][None]
        training = np.concatenate([kernels.add_masked(mask, of_class) for of_class in weight])
        totals = training.sum(axis=1)
        if not totals.all():
            raise ValueError("a calibrator needs samples of every class")
        factors = class_factors(totals, self.given_priors)
        negatives, positives = training * factors[:, None]
        log_odds = self.levels(negatives, positives, factors)
        log_priors = log_prior_of(self.kind, totals, self.given_priors)
        return np.asarray(log_odds - float(log_priors[1] - log_priors[0]))


@dataclass(frozen=True, eq=False)
class _CellCounts(Sums):
    """What the groups of a step function weigh."""

    of: StepFitSums

    n_classes = 2

    @property
    def stream(self) -> tuple[str | int, ...]:  # type: ignore[override]
        return self.of.stream

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        return self.of.n_groups

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return self.of.reads

    @property
    def identity(self) -> Hashable:
        return ("counts", self.of.key)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        return self.of.groups(part, *beside)

    def assemble(self, weight: Floats, sums: Floats) -> Floats:
        return weight.reshape(2, self.of.folds.n_folds, self.of.n_cells)


@dataclass(frozen=True, eq=False)
class _StepByFold(Transform):
    """Give each sample the score of its cell after the calibrator of its fold."""

    folds: Folds
    sums: StepFitSums
    scores: Floats
    kind: Kind

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        """Columns that determine the fold of a row."""
        return self.folds.reads

    def __call__(self, part: Part) -> Predictions:
        values = self.scores[self.folds.calibrator_of_rows(part), self.sums.cells(part)]
        return part.predictions.replace_scores(self.kind, values)
