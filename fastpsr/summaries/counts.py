"""Counts of decisions: what risks need, at one operating point or at many."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.costs import CostMatrix, bayes_decisions, count_outcomes, mean_cost
from fastpsr.plans import Step
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.merging import require_same
from fastpsr.summaries.pav_blocks import require_both_classes
from fastpsr.summaries.summands import Summands, group_type

__all__ = [
    "AcceptanceSummands",
    "BayesDecisionSummands",
    "DecisionCounts",
    "PassedSummands",
    "WeighPassed",
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

    @classmethod
    def of(cls, costs: CostMatrix, predictions: Predictions) -> Self:
        """Count the Bayes decisions of predictions."""
        y, weights = predictions.labels, predictions.weights
        outcomes = costs.outcomes(y, bayes_decisions(predictions, costs))
        counts = count_outcomes(y, outcomes, weights, costs.n_classes, costs.n_outcomes)
        return cls(counts, predictions.given_priors)

    @classmethod
    def at_threshold(cls, threshold: float, predictions: Predictions) -> Self:
        """Count the trials whose LLR lies below a threshold, and those that reach it."""
        accepted, y = predictions.llrs >= threshold, predictions.labels
        if predictions.weights.size:
            counts = count_outcomes(y, accepted, predictions.weights, 2, 2)
        else:  # whole bytes are counted much faster than cells
            totals = predictions.class_weights
            hits = np.count_nonzero(accepted & y.view(bool))
            false_alarms = np.count_nonzero(accepted) - hits
            columns = np.array([false_alarms, hits], np.float64)
            counts = np.column_stack([totals - columns, columns])
        return cls(counts, predictions.given_priors)

    def merge(self, other: Self) -> Self:
        """Return the counts over both sets of samples."""
        require_same("given priors", self.given_priors, other.given_priors)
        return type(self)(self.weight + other.weight, self.given_priors)

    def error_rates(self) -> tuple[float, float]:
        """Return the miss and false-alarm rates of decisions to reject (0) and accept (1)."""
        totals = self.weight.sum(axis=1)
        require_both_classes("error rates", totals)
        return float(self.weight[1, 0] / totals[1]), float(self.weight[0, 1] / totals[0])

    def risk(self, costs: CostMatrix, normalized: bool) -> float:
        """Return the mean cost of the decisions."""
        return mean_cost(self.weight, costs, self.given_priors, normalized)


@dataclass(frozen=True, eq=False)
class BayesDecisionSummands(Summands):
    """Samples grouped by class and the outcome of the Bayes decision."""

    n_classes: int
    given_priors: Floats | None
    costs: CostMatrix

    stream = ("Bayes decisions",)

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """Number of pairs of class and outcome."""
        return self.n_classes * self.costs.n_outcomes

    @property
    def key(self) -> Hashable:
        return ("Bayes decisions", self.costs.key)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        predictions = part.predictions
        outcomes = self.costs.outcomes(predictions.labels, bayes_decisions(predictions, self.costs))
        groups = predictions.labels.astype(group_type(self.n_groups))
        groups *= self.costs.n_outcomes
        groups += outcomes
        return groups

    def assemble(self, weight: Floats, sums: Floats) -> DecisionCounts:
        return DecisionCounts(weight.reshape(self.n_classes, -1), self.given_priors)


@dataclass(frozen=True, eq=False)
class AcceptanceSummands(Summands):
    """Trials grouped by class, and by how many of some thresholds their LLR reaches."""

    thresholds: tuple[float, ...]

    stream = ("decisions at a threshold",)
    n_classes = 2

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """A group for each class and number of thresholds."""
        return 2 * (len(self.thresholds) + 1)

    @property
    def key(self) -> Hashable:
        return ("decisions at LLRs", self.thresholds)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        llrs = part.predictions.llrs
        reached = part.predictions.labels.astype(group_type(self.n_groups))
        reached *= len(self.thresholds) + 1
        for threshold in self.thresholds:
            reached += llrs >= threshold
        return reached

    def assemble(self, weight: Floats, sums: Floats) -> list[DecisionCounts]:
        rejected = weight.reshape(2, -1).cumsum(axis=1)
        totals = rejected[:, -1]
        place = np.argsort(np.argsort(self.thresholds, kind="stable"))
        return [
            DecisionCounts(np.column_stack([rejected[:, k], totals - rejected[:, k]]), None)
            for k in place
        ]


@dataclass(frozen=True, eq=False)
class PassedSummands(Summands):
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

    stream = ("weights between steps",)
    n_classes = 2

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """A group for each class and number of steps."""
        return 2 * (self.steps.size + 1)

    @property
    def key(self) -> Hashable:
        return ("weights between steps", self.values.__qualname__, self.steps.tobytes())

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        levels = np.arange(self.steps.size + 1, dtype=np.float64)
        reached = kernels.step_function(self.values(part.predictions), self.steps, levels)
        groups = part.predictions.labels.astype(group_type(self.n_groups))
        groups *= levels.size
        groups += reached.astype(groups.dtype)
        return groups

    def assemble(self, weight: Floats, sums: Floats) -> Floats:
        return weight.reshape(2, -1)


@dataclass(frozen=True, eq=False)
class WeighPassed(Step):
    """Sum the weight of each class by the number of steps that are reached, (2, P + 1)."""

    passed: PassedSummands

    @property
    def key(self) -> Hashable:
        return self.passed.key

    def start(self) -> Floats:
        return np.zeros(self.passed.n_groups)

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        groups, weights = self.passed.groups(part), part.predictions.weights
        if weights.size:
            cells = groups.astype(np.int64)
            accumulator += kernels.sum_by_cell(weights, cells, accumulator.size)
        else:
            accumulator += np.bincount(groups, minlength=accumulator.size)
        return accumulator

    def finish(self, accumulator: Floats) -> Floats:
        return accumulator.reshape(2, -1)
