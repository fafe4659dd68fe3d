"""Blocks of the isotonic fit, which determine the convex hull of the ROC."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.errors import ArgumentError
from fastpsr.predictions import Floats, class_factors

__all__ = ["ClassTotals", "PavBlocks", "require_both_classes"]


class ClassTotals:
    """Totals of the two classes, for rank cells and PAV blocks."""

    negatives: Floats
    positives: Floats

    def class_totals(self, what: str) -> Floats:
        """Return the total weight of class 0 and class 1, after checking that neither is absent."""
        totals = np.array([self.negatives.sum(), self.positives.sum()])
        require_both_classes(what, totals)
        return totals


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
        starts = kernels.pool_adjacent_violators(negatives, positives)
        return cls(
            lowest[starts],
            np.add.reduceat(negatives, starts),
            np.add.reduceat(positives, starts),
            given_priors,
        )

    @property
    def blocks(self) -> Self:
        """Themselves: a metric asks ranks of either kind for their blocks."""
        return self

    @cached_property
    def hull(self) -> tuple[Floats, Floats]:
        """Miss and false-alarm rates at the vertices of the ROC's convex hull, (0, 1) first."""
        totals = self.class_totals("error rates")
        p_miss = np.concatenate([[0.0], np.cumsum(self.positives) / totals[1]])
        p_fa = np.concatenate([np.cumsum(self.negatives[::-1])[::-1] / totals[0], [0.0]])
        p_miss[-1] = p_fa[0] = 1.0  # not 1 - rounding
        return p_miss, p_fa

    @property
    def log_odds(self) -> Floats:
        """Log-odds of class 1 in each block, at the given priors; infinite where one is absent."""
        below, above = self.at_priors()  # which do not change the order of odds
        above = np.where(below + above > 0.0, above, self.positives)  # priors that underflow
        return checks.log_of_rows(above) - checks.log_of_rows(below)

    def at_priors(self) -> tuple[Floats, Floats]:
        """Return the weights of class 0 and class 1 with given priors worked in."""
        if self.given_priors is None:
            return self.negatives, self.positives
        totals = np.array([self.negatives.sum(), self.positives.sum()])
        factors = class_factors(totals, self.given_priors)
        return self.negatives * factors[0], self.positives * factors[1]


def require_both_classes(what: str, totals: Floats) -> None:
    """Raise where a class has no weight."""
    absent = np.flatnonzero(totals == 0.0)
    if absent.size:
        name = "targets" if absent[0] == 1 else "non-targets"
        raise ArgumentError(
            "y_true",
            f"must have both classes for {what}, but there are no {name} of positive weight",
        )
