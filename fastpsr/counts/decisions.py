"""Counts of decisions, at one operating point or at many, also by kind of trial."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.costs import CostMatrix, bayes_decisions
from fastpsr.counts.ranks import minority_of, rank_cells
from fastpsr.counts.roc import error_rates, require_both_classes
from fastpsr.counts.sums import Sums
from fastpsr.data import ROWS, Data, Floats, Part, Predictions, check_column_of
from fastpsr.errors import ArgumentError
from fastpsr.kernels.types import index_type

_FEW_STEPS = 8  # up to here comparisons are faster than a search


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

    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
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

    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
        values, labels = self.values(part.predictions), part.predictions.labels
        if self.steps.size > _FEW_STEPS:
            integers = index_type(self.n_groups)
            reached = kernels.cells.step_numbers(values, self.steps, integers)
            return np.asarray(reached + (self.steps.size + 1) * labels.astype(integers))
        groups = labels.astype(np.uint8) * np.uint8(self.steps.size + 1)
        for step in self.steps:
            groups += values >= step
        return groups

    def assemble(self, weight: Floats, sums: Floats) -> Any:
        return weight.reshape(2, -1)


def rates_at_steps(weight: Floats) -> tuple[Floats, Floats]:
    """Return miss and false-alarm rates at each step, (P,), of the weights between them."""
    totals = weight.sum(axis=1)
    require_both_classes("error rates", totals)
    nontargets, targets = weight
    missed, accepted = targets[:-1].cumsum(), nontargets[:0:-1].cumsum()[::-1]
    return missed / totals[1], accepted / totals[0]


def llrs_of(predictions: Predictions) -> Floats:
    """Return the LLRs that decisions compare with thresholds."""
    return predictions.llrs


_KINDS = ("non-targets", "spoofed trials", "targets")  # kinds of a class are consecutive
SPOOFED = 1  #: Index of spoofed trials among these.


@dataclass(frozen=True, eq=False)
class KindCounts:
    """Weight of each kind of trial, at each of P ascending places of the scores.

    Attributes
    ----------
    weight : ndarray of float64, shape (3, P)
        Of non-targets, spoofed trials and targets.
    """

    weight: Floats

    def error_rates(self) -> tuple[Floats, Floats, Floats]:
        """Return P_miss, P_fa and P_fa of spoofed trials below each place, and above all, (P + 1,).

        Raises where a kind has no weight.
        """
        absent = np.flatnonzero(self.weight.sum(axis=1) == 0.0)
        if absent.size:
            argument = "spoof" if absent[0] == 1 else "y_true"
            raise ArgumentError(
                argument,
                "must leave trials of three kinds, but there are no "
                f"{_KINDS[absent[0]]} of positive weight",
            )
        nontargets, spoofs, targets = self.weight
        p_miss, p_fa = error_rates(nontargets, targets)
        return p_miss, p_fa, error_rates(spoofs, targets)[1]


@dataclass(frozen=True, eq=False)
class KindSums(Sums):
    """Trials grouped by kind, and by place of the score."""

    spoof: Any

    n_classes = 2

    @property
    def n_places(self) -> int:
        """Number of places of a score."""
        return 2

    @property
    def n_groups(self) -> int:
        """A group for each kind and place."""
        return len(_KINDS) * self.n_places

    @property
    def class_of_group(self) -> NDArray[np.int64]:
        return np.repeat([0, 0, 1], self.n_places)

    @property
    def reads(self) -> frozenset[str]:
        """The scores, and the column, if it is named."""
        return ROWS | ({self.spoof} if isinstance(self.spoof, str) else frozenset())

    @abstractmethod
    def places(self, part: Part) -> NDArray[Any]:
        """Return the place of each score, (n,)."""

    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
        groups = kinds_of(part, self.spoof).astype(index_type(self.n_groups))
        groups *= self.n_places
        groups += self.places(part)
        return groups

    def assemble(self, weight: Floats, sums: Floats) -> KindCounts:
        return KindCounts(weight.reshape(len(_KINDS), -1))


@dataclass(frozen=True, eq=False)
class KindDecisionSums(KindSums):
    """Trials grouped by kind, and by whether their LLR reaches a threshold."""

    threshold: float
    are_reweightable: bool

    stream = ("decisions by kind",)

    def places(self, part: Part) -> NDArray[Any]:
        return np.asarray(part.predictions.llrs >= self.threshold)


@dataclass(frozen=True, eq=False)
class KindCellSums(KindSums):
    """Trials grouped by kind, and by place among the distinct scores of the smaller class.

    These scores alone are places where a threshold can be best: just at a target, or just above a
    trial of another kind. Each begins a place if they are targets', else it ends one.
    """

    edges: Floats
    of_targets: bool

    stream = ("places by kind",)

    @property
    def n_places(self) -> int:
        """One more than edges."""
        return self.edges.size + 1

    def places(self, part: Part) -> NDArray[Any]:
        scores, dtype = part.predictions.scores, index_type(2 * self.n_places)
        if self.of_targets:
            return kernels.cells.step_numbers(scores, self.edges, dtype)
        return kernels.cells.cell_numbers(scores, self.edges, dtype) >> 1


def kind_cell_sums(data: Data, spoof: Any) -> KindCellSums:
    """Return the sums of kinds at the edges of the rank cells."""
    spoof = as_spoof(spoof, data)
    cells, minority = rank_cells(data), minority_of(data)
    of_minority = cells.positives if minority else cells.negatives
    return KindCellSums(spoof, cells.lowest[of_minority > 0.0], minority == 1)


def as_spoof(spoof: Any, data: Data) -> Any:
    """Return the name of a column, or an array of an entry per trial; checked."""
    check_column_of("spoof", spoof, data)
    return spoof if isinstance(spoof, str) else np.asarray(spoof)


def kinds_of(part: Part, spoof: Any) -> NDArray[np.uint8]:
    """Return the kind of each trial, as an index of `_KINDS`."""
    marks, labels = part.ids("spoof", spoof), part.predictions.labels
    rule = "must be True for spoofed trials and False for others"
    if marks.dtype.kind not in "biu":
        raise ArgumentError("spoof", f"{rule}, not of type {marks.dtype}")
    if marks.dtype.kind != "b":
        invalid = np.flatnonzero((marks != 0) & (marks != 1))
        if invalid.size:
            raise ArgumentError("spoof", rule, int(invalid[0]), value=str(marks[invalid[0]]))
    is_spoof = marks.astype(bool)
    both = np.flatnonzero(is_spoof & (labels == 1))
    if both.size:
        raise ArgumentError("spoof", "must not mark targets", int(both[0]), value="a target's")
    kinds: NDArray[np.uint8] = (2 * labels.astype(np.uint8)) + is_spoof
    return kinds
