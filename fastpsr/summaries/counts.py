"""Counts of decisions: what risks need, at one operating point or at many."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.costs import CostMatrix, bayes_decisions, mean_cost
from fastpsr.kernels.sizes import index_type
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.pav_blocks import require_both_classes
from fastpsr.summaries.sums import Sums

__all__ = [
    "AcceptanceSums",
    "BayesDecisionSums",
    "DecisionCounts",
    "ThresholdSums",
]


@dataclass(frozen=True, eq=False)
class DecisionCounts:
    """Total weight of each pair of class and decision.

    Attributes
    ----------
    weight : ndarray of float64, shape (K, M)
        With zero-one costs of several classes (K, 2): of right decisions, and of wrong ones.
    given_priors : ndarray of float64, shape (K,), or None
    """

    weight: Floats
    given_priors: Floats | None

    def error_rates(self) -> tuple[float, float]:
        """Return the miss and false-alarm rates of decisions to reject (0) and accept (1)."""
        totals = self.weight.sum(axis=1)
        require_both_classes("error rates", totals)
        return float(self.weight[1, 0] / totals[1]), float(self.weight[0, 1] / totals[0])

    def risk(self, costs: CostMatrix, normalized: bool) -> float:
        """Return the mean cost of the decisions."""
        return mean_cost(self.weight, costs, self.given_priors, normalized)


@dataclass(frozen=True, eq=False)
class BayesDecisionSums(Sums):
    """Samples grouped by class and the outcome of the Bayes decision."""

    n_classes: int
    given_priors: Floats | None
    costs: CostMatrix

    stream = ("Bayes decisions",)

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """Number of pairs of class and outcome."""
        return self.n_classes * self.costs.n_outcomes

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        predictions = part.predictions
        outcomes = self.costs.outcomes(predictions.labels, bayes_decisions(predictions, self.costs))
        groups = predictions.labels.astype(index_type(self.n_groups))
        groups *= self.costs.n_outcomes
        groups += outcomes
        return groups

    def assemble(self, weight: Floats, sums: Floats) -> DecisionCounts:
        return DecisionCounts(weight.reshape(self.n_classes, -1), self.given_priors)


@dataclass(frozen=True, eq=False)
class AcceptanceSums(Sums):
    """Trials grouped by class, and by how many of some thresholds their LLR reaches."""

    thresholds: tuple[float, ...]
    are_reweightable: bool

    stream = ("decisions at a threshold",)
    n_classes = 2

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """A group for each class and number of thresholds."""
        return 2 * (len(self.thresholds) + 1)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        llrs = part.predictions.llrs
        reached = part.predictions.labels.astype(index_type(self.n_groups))
        reached *= len(self.thresholds) + 1
        for threshold in self.thresholds:
            reached += llrs >= threshold
        return reached

    def totals(self, part: Part, *beside: Part) -> tuple[Floats, Floats]:
        predictions = part.predictions
        if predictions.weights.size:
            return super().totals(part)
        llrs, y = predictions.llrs, predictions.labels
        # by class, the trials that reach each threshold; whole bytes are counted faster than cells
        reach = np.zeros((2, len(self.thresholds) + 2))
        reach[:, 0] = predictions.class_weights
        for place, threshold in enumerate(sorted(self.thresholds), start=1):
            accepted = llrs >= threshold
            hits = np.count_nonzero(accepted & y.view(bool))
            reach[:, place] = np.count_nonzero(accepted) - hits, hits
        weight = (reach[:, :-1] - reach[:, 1:]).ravel()
        return weight, np.empty((weight.size, 0))

    def assemble(self, weight: Floats, sums: Floats) -> list[DecisionCounts]:
        rejected = weight.reshape(2, -1).cumsum(axis=1)
        counts = np.empty((len(self.thresholds), 2, 2))
        counts[:, :, 0] = rejected.T[:-1]
        counts[:, :, 1] = rejected[:, -1] - rejected.T[:-1]
        ascending = sorted(self.thresholds)  # the first of equal ones has the counts of all
        return [DecisionCounts(counts[ascending.index(t)], None) for t in self.thresholds]


@dataclass(frozen=True, eq=False)
class ThresholdSums(Sums):
    """Samples grouped by class, and by how many steps a value of theirs reaches.

    Attributes
    ----------
    values : callable
        Returns the value of each sample of predictions, (N,); a function of a module.
    steps : ndarray of float64, shape (P,)
        Ascending; a value reaches a step that it equals.
    """

    values: Callable[[Predictions], Floats]
    steps: Floats
    are_reweightable: bool = True

    stream = ("weights between steps",)
    n_classes = 2

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """A group for each class and number of steps."""
        return 2 * (self.steps.size + 1)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        levels = np.arange(self.steps.size + 1, dtype=np.float64)
        reached = kernels.step_function(self.values(part.predictions), self.steps, levels)
        groups = part.predictions.labels.astype(index_type(self.n_groups))
        groups *= levels.size
        groups += reached.astype(groups.dtype)
        return groups

    def assemble(self, weight: Floats, sums: Floats) -> Floats:
        return weight.reshape(2, -1)
