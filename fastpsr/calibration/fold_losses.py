"""Losses after cross-fitting, by fold."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration.folds import FoldLosses, Folds
from fastpsr.counts.sums import ScoreTotals, Sums
from fastpsr.data import Data, Floats, Part, Transform, mapped
from fastpsr.data.steps import ROWS
from fastpsr.kernels.types import index_type
from fastpsr.rules.base import ScoringRule


@dataclass(frozen=True, eq=False)
class CellLossSums(Sums):
    """Samples grouped by class, fold and cell, with their losses as they are."""

    rule: ScoringRule
    folds: Folds
    n_columns = 1

    #: Number of cells: an attribute, or a property.
    n_cells: ClassVar[Any] = 1

    def cells(self, part: Part) -> Any:
        """Return the cell of each sample of a part, (n,), or one cell of all."""
        return 0

    @property
    def n_groups(self) -> int:
        """Number of triples of class, fold and cell."""
        return self.n_classes * self.folds.n_folds * int(self.n_cells)

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.folds.reads

    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
        wide = index_type(self.n_groups)
        of_fold = part.predictions.labels.astype(wide) * wide(self.folds.n_folds)
        of_fold += self.folds.fold_of_rows(part)
        return np.asarray(of_fold * wide(self.n_cells) + self.cells(part))

    def columns(self, part: Part, *companions: Part) -> tuple[Floats, ...]:
        return (self.rule.losses_of(part.predictions),)


@dataclass(frozen=True, eq=False)
class FoldLossSums(CellLossSums):
    """Losses of the samples of each class and fold, as they are."""

    n_classes: int
    given_priors: Floats | None

    @property
    def stream(self) -> tuple[str | int, ...]:
        """The number of folds."""
        return ("classes and folds", self.folds.n_folds)

    @property
    def key(self) -> Any:
        return ("classes and folds", self.n_classes, self.folds.key)

    def assemble(self, weight: Floats, sums: Floats) -> tuple[ScoreTotals, FoldLosses]:
        """Return the losses of all, and of each pair as if calibrators changed nothing."""
        losses, weights = (
            np.ascontiguousarray(column.reshape(self.n_classes, -1).T)
            for column in (sums[:, 0], weight)
        )
        priors = self.given_priors
        with np.errstate(over="ignore"):  # of losses near the largest float
            raw = ScoreTotals(losses.sum(axis=0), weights.sum(axis=0), priors)
        return raw, FoldLosses.of(losses[self.folds.served[:, 1]], weights, priors)


def summed_by_fold(rule: ScoringRule, data: Data, folds: Folds, transform: Transform) -> FoldLosses:
    """Return the losses of transformed samples, each by the calibrator that serves its fold.

    Where folds are served by several calibrators, the data are mapped as often.
    """
    served = folds.served
    losses = np.zeros((len(served), data.n_classes))
    weights = np.zeros((folds.n_folds, data.n_classes))
    sums = FoldLossSums(rule, folds, data.n_classes, data.given_priors)
    for pairs in _rounds(served):
        at = transform
        if len(pairs) < len(served):
            calibrator_of_fold = np.zeros(folds.n_folds, np.int64)
            calibrator_of_fold[served[pairs, 1]] = served[pairs, 0]
            of_round = replace(folds, calibrator_of_fold=calibrator_of_fold)
            at = replace(transform, folds=of_round)  # type: ignore[type-var]
        _, summed = sums.total(mapped(data, at))
        losses[pairs] = summed.of_served[pairs]
        weights = summed.of_folds
    return FoldLosses.of(losses, weights, data.given_priors)


def _rounds(served: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return pairs of folds in the fewest rounds that have no fold twice."""
    order = np.argsort(served[:, 1], kind="stable")
    folds = served[order, 1]
    first = np.searchsorted(folds, folds)
    number = np.empty(len(served), np.int64)
    number[order] = np.arange(len(served)) - first
    return [np.flatnonzero(number == k) for k in range(int(number.max()) + 1)]
