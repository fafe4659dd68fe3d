"""Counts of decisions: what risks need, at one operating point or at many."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.costs import CostMatrix, bayes_decisions, mean_cost
from fastpsr.counts.roc import require_both_classes
from fastpsr.counts.sums import Sums
from fastpsr.data import Floats, Predictions
from fastpsr.data.steps import Part
from fastpsr.kernels.types import index_type

_FEW_STEPS = 8  # with which comparisons are faster than a search in the steps


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
    def n_groups(self) -> int:
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
    def n_groups(self) -> int:
        """A group for each class and number of steps."""
        return 2 * (self.steps.size + 1)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        values, labels = self.values(part.predictions), part.predictions.labels
        if self.steps.size > _FEW_STEPS:
            integers = index_type(self.n_groups)
            reached = kernels.cells.step_numbers(values, self.steps, integers)
            return np.asarray(reached + (self.steps.size + 1) * labels.astype(integers))
        groups = labels.astype(np.uint8) * np.uint8(self.steps.size + 1)
        for step in self.steps:
            groups += values >= step
        return groups

    def assemble(self, weight: Floats, sums: Floats) -> Floats:
        return weight.reshape(2, -1)


def error_rates(weight: Floats) -> tuple[Floats, Floats]:
    """Return miss and false-alarm rates at each step, (P,), of the weights between them."""
    totals = weight.sum(axis=1)
    require_both_classes("error rates", totals)
    nontargets, targets = weight
    missed, accepted = targets[:-1].cumsum(), nontargets[:0:-1].cumsum()[::-1]
    return missed / totals[1], accepted / totals[0]


def llrs_of(predictions: Predictions) -> Floats:
    """Return the LLRs, of which decisions at thresholds are made."""
    return predictions.llrs
