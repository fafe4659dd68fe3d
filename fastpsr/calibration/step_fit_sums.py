"""Calibrators that are step functions over cells, refitted to the cell weights of a replicate."""

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration.fold_losses import FoldLosses
from fastpsr.calibration.folds import Folds
from fastpsr.kernels.sizes import index_type
from fastpsr.plans import Part
from fastpsr.plans.steps import ROWS
from fastpsr.predictions import Floats, class_factors
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.losses import ScoreTotals
from fastpsr.summaries.sums import Sums

__all__ = ["StepFitSums"]


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
    kind: str
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
        given, served = self.given_priors, self.folds.served
        losses = np.zeros((len(served), 2))
        levels: dict[int, Floats] = {}
        has_rows = weight.sum(axis=(0, 2)) > 0.0
        for entry, (calibrator, fold) in enumerate(served.tolist()):
            if not has_rows[fold]:
                continue
            if calibrator not in levels:
                levels[calibrator] = self._log_odds(weight, calibrator, given)
            log_odds = levels[calibrator]
            for k in (0, 1):
                used = np.flatnonzero(weight[k, fold])
                y = np.full(used.size, k, np.uint8)
                losses[entry, k] = (self.rule.binary_losses(log_odds[used], y)
                                    * weight[k, fold, used]).sum()  # fmt: skip
        return losses

    def _log_odds(self, weight: Floats, calibrator: int, given: Floats | None) -> Floats:
        """Return the calibrated log-odds of the cells."""
        training = weight[:, self.folds.training_mask[calibrator]].sum(axis=1)
        totals = training.sum(axis=1)
        if not totals.all():
            raise ValueError("a calibrator needs samples of every class")
        factors = class_factors(totals, given)
        negatives, positives = training * factors[:, None]
        log_odds = self.levels(negatives, positives, factors)
        if self.kind != "posteriors":  # convert to LLRs, then to log-odds
            priors = totals if given is None else given
            log_odds = log_odds - np.log(priors[1] / priors[0]) + self.offset
        return log_odds
