"""Replicates of calibrators that are step functions over cells: fits to what the cells weigh."""

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from fastpsr import kernels
from fastpsr.calibration.base import log_prior_of
from fastpsr.calibration.fold_losses import CellLossSums, FoldLosses
from fastpsr.counts.losses import ScoreTotals
from fastpsr.data import Floats, Kind, class_factors


@dataclass(frozen=True, eq=False)
class StepFitSums(CellLossSums):
    """Samples of a binary task grouped by class, fold and cell; raw and calibrated losses.

    Attributes
    ----------
    kind : {"posteriors", "likelihoods", "raw scores"}
    given_priors : ndarray of float64, shape (2,), or None
    offset : float
        Log-odds minus score.
    """

    kind: Kind
    given_priors: Floats | None
    offset: float

    n_classes = 2

    @property
    @abstractmethod
    def cells_key(self) -> Hashable:
        """Hashable identity of the cells and of their use."""

    @abstractmethod
    def levels(self, negatives: Floats, positives: Floats, factors: Floats) -> Floats:
        """Return the calibrated log-odds of the cells, given the training weights by class.

        At given priors, samples of the classes weigh `factors` (2,) times their own weight in them.
        """

    @property
    def key(self) -> Hashable:
        return (self.cells_key, self.folds.key)

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
        calibrators, of_fold = self.folds.served.T
        losses = np.zeros((calibrators.size, 2))
        has_rows = weight.sum(axis=(0, 2)) > 0.0
        for calibrator in np.unique(calibrators[has_rows[of_fold]]).tolist():
            log_odds = self._scores(weight, calibrator) + self.offset
            for entry in np.flatnonzero(calibrators == calibrator):
                for k, of_cells in enumerate(weight[:, of_fold[entry]]):
                    used = np.flatnonzero(of_cells)
                    of_used = self.rule.binary_losses(log_odds[used], np.full(used.size, k, "u1"))
                    losses[entry, k] = (of_used * of_cells[used]).sum()
        return losses

    def _scores(self, weight: Floats, calibrator: int) -> Floats:
        """Return the calibrated scores of the cells: log-odds of posteriors, else LLRs."""
        mask = self.folds.training_mask[calibrator][None]
        training = np.concatenate([kernels.axis.add_masked(mask, of_class) for of_class in weight])
        totals = training.sum(axis=1)
        if not totals.all():
            raise ValueError("a calibrator needs samples of every class")
        factors = class_factors(totals, self.given_priors)
        negatives, positives = training * factors[:, None]
        log_odds = self.levels(negatives, positives, factors)
        log_priors = log_prior_of(self.kind, totals, self.given_priors)
        return np.asarray(log_odds - float(log_priors[1] - log_priors[0]))
