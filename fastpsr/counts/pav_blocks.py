"""Blocks of the isotonic fit, which determine the convex hull of the ROC."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.counts.roc_steps import Criterion, RocStep, error_rates
from fastpsr.data import Floats, class_factors
from fastpsr.errors import ArgumentError


class ClassTotals:
    """What rank cells and PAV blocks derive from the weights of both classes."""

    lowest: Floats
    negatives: Floats
    positives: Floats

    def class_totals(self, what: str) -> Floats:
        """Return the total weight of class 0 and class 1, after checking that neither is absent."""
        require_both_classes(what, self._totals)
        return self._totals

    @cached_property
    def _totals(self) -> Floats:
        return np.array([self.negatives.sum(), self.positives.sum()])

    def step(self, criterion: Criterion) -> RocStep:
        """Return the operating points around a criterion."""
        self.class_totals("error rates")
        return RocStep.of(self.lowest, self.negatives, self.positives, criterion)


@dataclass(frozen=True, eq=False)
class PavBlocks(ClassTotals):
    """Weights of both classes in the blocks of the isotonic fit, from low scores to high.

    Attributes
    ----------
    lowest : ndarray of float64, shape (B,)
        Lowest score in each block.
    negatives, positives : ndarray of float64, shape (B,)
        Total weight of each class.
    given_priors : ndarray of float64, shape (2,), or None

    Notes
    -----
    Blocks' ends are the vertices of the ROC's convex hull, whatever the classes weigh. Blocks of
    parts do not make blocks of the whole: only rank cells merge.
    """

    lowest: Floats
    negatives: Floats
    positives: Floats
    given_priors: Floats | None

    @classmethod
    def of_cells(
        cls, lowest: Floats, negatives: Floats, positives: Floats, given_priors: Floats | None
    ) -> Self:
        """Pool cells, which come in the order of their scores."""
        starts = kernels.isotonic.pool_adjacent_violators(negatives, positives)
        return cls(
            lowest[starts],
            np.add.reduceat(negatives, starts),
            np.add.reduceat(positives, starts),
            given_priors,
        )

    @property
    def blocks(self) -> Self:
        """The blocks: rank cells have this attribute, too."""
        return self

    @cached_property
    def hull(self) -> tuple[Floats, Floats]:
        """Miss and false-alarm rates at the vertices of the ROC's convex hull, (0, 1) first."""
        self.class_totals("error rates")
        return error_rates(self.negatives, self.positives)

    @property
    def log_odds(self) -> Floats:
        """Log-odds of class 1 in each block, at the given priors; infinite where one is absent."""
        below, above = self.at_priors()  # which do not change the order of odds
        above = np.where(below + above > 0.0, above, self.positives)  # priors that underflow
        return checks.log_of_rows(above) - checks.log_of_rows(below)

    def steps_at(self, scores: Floats) -> NDArray[np.int64]:
        """Return the last block whose lowest score is not above each score, at least the first."""
        return np.maximum(np.searchsorted(self.lowest, scores, side="right") - 1, 0)

    def posteriors_at(self, scores: Floats) -> Floats:
        """Return the posterior of class 1 at each score; nan in a block that weighs nothing."""
        self.class_totals("isotonic fits")
        below, above = self.at_priors()
        with np.errstate(invalid="ignore"):
            return np.asarray((above / (below + above))[self.steps_at(scores)])

    def at_priors(self) -> tuple[Floats, Floats]:
        """Return the weights of class 0 and class 1 with given priors worked in."""
        if self.given_priors is None:
            return self.negatives, self.positives
        factors = class_factors(self._totals, self.given_priors)
        return self.negatives * factors[0], self.positives * factors[1]


def require_both_classes(what: str, totals: Floats) -> None:
    """Raise where a class has no weight."""
    if not totals.all():
        name = "targets" if totals[0] else "non-targets"
        raise ArgumentError(
            "y_true",
            f"must have both classes for {what}, but there are no {name} of positive weight",
        )
