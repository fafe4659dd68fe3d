"""Sums: the per-sample terms of a summary, from which the bootstrap draws replicates."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.counts import count
from fastpsr.data import Floats, weigh_groups
from fastpsr.data.part import ROWS, Part
from fastpsr.data.steps import Step, identity_of_fields


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
        What is read of a part for groups and columns, as for steps.
    beside : tuple of data
        Further row-aligned data, whose parts are also passed to `groups` and `columns`.
    are_reweightable : bool
        Whether they are valid under other weights; those of LLRs made of posteriors are not, as
        these LLRs depend on the class frequencies.
    """

    stream: tuple[str | int, ...]
    n_groups: int
    n_classes: int
    n_columns: int = 0
    degree: int = 0
    known_weight: Floats | None = None
    reads: frozenset[str] = ROWS
    beside: tuple[Any, ...] = ()
    are_reweightable: bool = True

    @property
    def key(self) -> Hashable:
        """Identity of the groups: sums with equal keys share them, and are drawn together.

        With polynomials the columns are also the same.
        """
        return self.identity

    @abstractmethod
    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        """Return the group number of each sample of a part, (n,), of type `index_type`."""

    def columns(self, part: Part, *beside: Part) -> Iterable[Floats]:
        """Return or yield what is summed, C arrays of float64, (n,) each."""
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

    def totals(self, part: Part, *beside: Part) -> tuple[Floats, Floats]:
        """Return the weights (G,) and sums (G, S) of a part; faster kernels may replace this."""
        groups, weights = self.groups(part, *beside), part.predictions.weights
        codes = groups if groups.dtype == np.uint8 else groups.astype(np.int32, copy=False)
        sums = np.empty((self.n_groups, self.n_columns))
        for place, column in enumerate(self.columns(part, *beside)):
            sums[:, place] = kernels.sums.sum_by_class(column, codes, weights, self.n_groups)
        return weigh_groups(groups, weights, self.n_groups), sums

    def total(self, data: Any) -> Any:
        """Return the summary of data whose facts are known; computed once."""
        if self.known_weight is not None and not self.n_columns:
            return self.assemble(self.known_weight, np.empty((self.n_groups, 0)))
        return self.assemble(*count(AddUp(self).over(data, *self.beside)))

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
        return self.n_columns + (self.degree - 1 if self.degree else 0)


@dataclass(frozen=True, eq=False)
class ClassSums(Sums):
    """Samples grouped by class alone: what a mean adds up."""

    n_classes: int

    stream = ("classes",)

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """Number of classes."""
        return self.n_classes

    @property
    def key(self) -> Hashable:
        return "classes"

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        return part.predictions.labels


@dataclass(frozen=True, eq=False)
class AddUp(Step):
    """Add up the weight of each group, and the sums within it."""

    sums: Sums

    @property
    def reads(self) -> frozenset[str]:
        return self.sums.reads

    @property
    def key(self) -> Hashable:
        return (type(self), self.sums.identity)

    @property
    def is_kept(self) -> bool:  # type: ignore[override]
        """Unless further data lie beside, which a key that is kept would hold in memory."""
        return not self.sums.beside

    def add(self, accumulator: Any, prepared: None, *parts: Part) -> tuple[Floats, Floats]:
        totals = self.sums.totals(*parts)
        return totals if accumulator is None else self.merge(accumulator, totals)

    def merge(self, one: Any, other: Any) -> tuple[Floats, Floats]:
        (weight, sums), (more_weight, more) = one, other
        with np.errstate(over="ignore", invalid="ignore"):  # losses may be infinite, or near that
            return weight + more_weight, sums + more
