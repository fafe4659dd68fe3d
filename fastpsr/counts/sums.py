"""Sums of per-sample terms, for example losses; the bootstrap draws replicates of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.counts import count
from fastpsr.data import Data, Floats, Predictions, class_factors, weigh_groups
from fastpsr.data.steps import ROWS, Part, Step, identity_of_fields
from fastpsr.errors import ArgumentError
from fastpsr.rules.base import ScoringRule, dot_or_zero


class Sums(ABC):
    """Groups of samples, and the terms that are summed over each group besides the weight.

    Plain data, without reference to samples, which can be sent to another process.

    Attributes
    ----------
    stream : tuple of str and int
        Key of the random stream, the same in every process.
    n_groups : int
        Number of groups; the groups of a class are consecutive, and each class has equally many.
    n_classes : int
    n_columns : int
        Number of arrays that are summed.
    degree : int
        0, or `DEGREE`: then the last column is a coordinate in [-1, 1] whose Chebyshev polynomials
        T_1 to T_DEGREE are summed instead.
    known_weight : ndarray of float64, shape (G,), or None
        Weight of each group in the whole, where it is known already.
    reads : frozenset of str
        Names to read of a part for groups and columns, as for steps.
    companions : tuple of data
        Further row-aligned data, whose parts are also passed to `groups` and `columns`.
    are_reweightable : bool
        Whether they are valid under other weights; those of LLRs made of posteriors are not, as
        these LLRs depend on the class frequencies.
    """

    n_classes: int
    degree: int = 0
    companions: tuple[Any, ...] = ()
    are_reweightable: bool = True

    # attributes of some classes, properties of others

    stream: Any
    n_groups: Any
    n_columns: Any = 0
    known_weight: Any = None
    reads: Any = ROWS

    @property
    def key(self) -> Hashable:
        """Identity of the groups: sums with equal keys share them, and are drawn together.

        With polynomials the columns are also the same.
        """
        return self.identity

    @abstractmethod
    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
        """Return the group number of each sample of a part, (n,), of type `index_type`."""

    def columns(self, part: Part, *companions: Part) -> Iterable[Floats]:
        """Return or yield the columns to sum, C arrays of float64, (n,) each."""
        return ()

    @abstractmethod
    def assemble(self, weight: Floats, sums: Floats) -> Any:
        """Return the summary of (G,) weights and (G, S) weighted sums; None if it takes samples."""

    def assemble_each(self, weight: Floats, sums: Floats) -> Iterator[Any]:
        """Yield the summaries of (R, G) weights and (R, G, S) sums of replicates.

        In place of a summary that is undefined comes its ValueError.
        """
        for of_replicate in zip(weight, sums, strict=True):
            try:
                yield self.assemble(*of_replicate)
            except ValueError as error:
                yield error

    def totals(self, part: Part, *companions: Part) -> tuple[Floats, Floats]:
        """Return the weights (G,) and sums (G, S) of a part; faster kernels may replace this."""
        groups, weights = self.groups(part, *companions), part.predictions.weights
        codes = groups if groups.dtype == np.uint8 else groups.astype(np.int32, copy=False)
        sums = np.empty((self.n_groups, self.n_columns))
        for place, column in enumerate(self.columns(part, *companions)):
            sums[:, place] = kernels.sums.sum_by_class(column, codes, weights, self.n_groups)
        return weigh_groups(groups, weights, self.n_groups), sums

    def total(self, data: Any) -> Any:
        """Return the summary of data whose facts are known; computed once."""
        if self.known_weight is not None and not self.n_columns:
            return self.assemble(self.known_weight, np.empty((self.n_groups, 0)))
        return self.assemble(*count(AddUp(self).over(data, *self.companions)))

    @property
    def identity(self) -> Hashable:
        """Identity of these sums: their type, and the values of their fields."""
        return identity_of_fields(self)

    @property
    def class_of_group(self) -> NDArray[np.int64]:
        """Class of the samples in each group, (G,)."""
        return np.repeat(np.arange(self.n_classes), self.n_groups // self.n_classes)

    @property
    def n_sums(self) -> int:
        """Number of sums per group."""
        return int(self.n_columns) + (self.degree - 1 if self.degree else 0)


@dataclass(frozen=True, eq=False)
class ClassSums(Sums):
    """Samples grouped by class alone: the sums of a mean."""

    n_classes: int

    stream = ("classes",)
    key = "classes"

    @property
    def n_groups(self) -> int:
        """Number of classes."""
        return self.n_classes

    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
        return part.predictions.labels


@dataclass(frozen=True, eq=False)
class AddUp(Step[tuple[Floats, Floats]]):
    """Add up the weight of each group, and the sums within it."""

    sums: Sums

    @property
    def reads(self) -> Any:
        return self.sums.reads

    @property
    def key(self) -> Hashable:
        return (type(self), self.sums.identity)

    @property
    def is_kept(self) -> bool:
        """Unless there are companions: a kept key would hold them in memory."""
        return not self.sums.companions

    def add(self, accumulator: Any, prepared: None, *parts: Part) -> tuple[Floats, Floats]:
        totals = self.sums.totals(*parts)
        return totals if accumulator is None else self.merge(accumulator, totals)

    def merge(self, total: Any, more_totals: Any) -> tuple[Floats, Floats]:
        (weight, sums), (more_weight, more) = total, more_totals
        with np.errstate(over="ignore", invalid="ignore"):  # losses may be infinite, or near that
            return weight + more_weight, sums + more


@dataclass(frozen=True, eq=False)
class ScoreTotals:
    """Weighted sums of losses and of weights, by class.

    Attributes
    ----------
    loss, weight : ndarray of float64, shape (K,)
    given_priors : ndarray of float64, shape (K,), or None
    """

    loss: Floats
    weight: Floats
    given_priors: Floats | None

    @property
    def priors(self) -> Floats:
        """The priors of the evaluation: as given, else the class frequencies."""
        if self.given_priors is not None:
            return self.given_priors
        return np.asarray(self.weight / self.weight.sum())

    def mean(self) -> float:
        """Return the expected loss at the priors; a class of prior 0 adds nothing."""
        factors = class_factors(self.weight, self.given_priors) / self.weight.sum()
        used = (factors > 0.0) & (self.weight > 0.0)
        with np.errstate(invalid="ignore"):  # costs may be negative
            terms = self.loss * factors if used.all() else self.loss[used] * factors[used]
            value = float(terms.sum())
        if np.isnan(value):
            raise ArgumentError(
                "sample_weight",
                "must not be so large that summed costs are beyond the largest float",
            )
        return value


@dataclass(frozen=True, eq=False)
class LossSums(ClassSums):
    """The losses of each class."""

    rule: ScoringRule
    given_priors: Floats | None
    n_columns = 1

    def columns(self, part: Part, *companions: Part) -> tuple[Floats, ...]:
        return (self.rule.losses_of(part.predictions),)

    def totals(self, part: Part, *companions: Part) -> tuple[Floats, Floats]:
        predictions = part.predictions
        return predictions.class_weights, self.rule.summed_losses(predictions)[:, None]

    def assemble(self, weight: Floats, sums: Floats) -> ScoreTotals:
        return ScoreTotals(sums[:, 0], weight, self.given_priors)


class ReferenceMeans(NamedTuple):
    """Means of losses expected under reference posteriors, and of these posteriors, (K,)."""

    mean: float
    reference: Floats


@dataclass(frozen=True, eq=False)
class MeanSums(ClassSums):
    """Samples grouped by class, for means at priors; labels are only needed if priors are given."""

    given_priors: Floats | None

    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
        if part.predictions.y_true is not None:
            return part.predictions.labels
        if self.given_priors is not None:
            raise ArgumentError("priors", "need labels", remedy="pass y_true, or no priors")
        return np.zeros(len(part.predictions), np.uint8)  # all are of one group

    def assemble(self, weight: Floats, sums: Floats) -> Any:
        """Return the mean of each column, (C,); a class of prior 0 adds nothing."""
        if self.given_priors is None:
            return np.asarray(sums.sum(axis=0) / weight.sum())
        factors = class_factors(weight, self.given_priors) / weight.sum()
        used = (factors > 0.0) & (weight > 0.0)
        return np.asarray((sums[used] * factors[used, None]).sum(axis=0))


@dataclass(frozen=True, eq=False)
class ReferenceSums(MeanSums):
    """Values that belong to reference posteriors, beside the predictions, and these."""

    values: Callable[[Predictions, Predictions], Floats]
    companions: tuple[Any, ...] = ()

    @property
    def n_columns(self) -> int:
        """The values, and a posterior of each class."""
        return 1 + self.n_classes

    def columns(self, part: Part, *companions: Part) -> tuple[Floats, ...]:
        reference = companions[0].predictions
        values = self.values(part.predictions, reference)
        return (values, *np.ascontiguousarray(reference.posteriors.T))

    def assemble(self, weight: Floats, sums: Floats) -> ReferenceMeans:
        mean, *reference = super().assemble(weight, sums)
        # sums of a replicate, or shifted for BCa, are not 1
        return ReferenceMeans(float(mean), np.array(reference) / sum(reference))


def summed_losses(rule: ScoringRule, data: Data) -> ScoreTotals:
    """Return the sums of the losses of data whose facts are known."""
    totals: ScoreTotals = LossSums(data.n_classes, rule, data.given_priors).total(data)
    return totals


def expected_losses(rule: ScoringRule, predictions: Predictions, reference: Predictions) -> Floats:
    """Return the (N,) losses of `predictions` that are expected under `reference`."""
    predictions.require_posteriors("semi-empirical scores")
    if len(reference) != len(predictions) or reference.n_classes != predictions.n_classes:
        raise ArgumentError(
            "reference",
            f"must have a posterior for each sample: {len(predictions)} samples of "
            f"{predictions.n_classes} classes, not {len(reference)} of {reference.n_classes}",
        )
    return dot_or_zero(reference.posteriors, rule.class_losses(predictions.log_posteriors))
