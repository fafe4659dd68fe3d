"""Summands: the per-sample terms of a summary, from which the bootstrap draws replicates."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.plans.part import Part
from fastpsr.plans.steps import ROWS
from fastpsr.predictions import Floats

__all__ = ["ClassSummands", "NeedsSamplesError", "Summands", "group_type"]


class NeedsSamplesError(Exception):
    """Raised if a replicate cannot be computed from sums, and needs the samples."""


class Summands(ABC):
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
        If positive, the last column is a coordinate in [-1, 1] whose Chebyshev polynomials T_1 to
        T_degree are summed instead.
    known_counts : ndarray of int64, shape (G,), or None
        Number of samples of the whole in each group, where it is known already.
    reads : frozenset of str
        What is read of a part for groups and columns, as for steps.
    needs_rows : bool
        Whether rows are drawn even where counts of groups would do, as some replicates may need
        the samples.
    beside : tuple of data
        Further row-aligned data, whose parts are also passed to `groups` and `columns`.
    """

    stream: tuple[str | int, ...]
    n_groups: int
    n_classes: int
    n_columns: int = 0
    degree: int = 0
    known_counts: NDArray[np.int64] | None = None
    reads: frozenset[str] = ROWS
    needs_rows: bool = False
    beside: tuple[Any, ...] = ()

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Identity of the groups: summands with equal keys share them, and are drawn together.

        With polynomials the columns are also the same.
        """

    @abstractmethod
    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        """Return the group number of each sample of a part, (n,), of type `group_type`."""

    def columns(self, part: Part, *beside: Part) -> tuple[Floats, ...]:
        """Return what is summed, C arrays of float64, (n,) each."""
        return ()

    @abstractmethod
    def assemble(self, weight: Floats, sums: Floats) -> Any:
        """Return the summary of (G,) weights and (G, S) weighted sums."""

    @property
    def class_of_group(self) -> NDArray[np.int64]:
        """Class of the samples in each group, (G,)."""
        return np.repeat(np.arange(self.n_classes), self.n_groups // self.n_classes)

    @property
    def n_sums(self) -> int:
        """Number of sums per group."""
        return self.n_columns + (self.degree - 1 if self.degree else 0)


@dataclass(frozen=True, eq=False)
class ClassSummands(Summands):
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


def group_type(n_groups: int) -> type[np.signedinteger[Any]]:
    """Return the integers that hold the numbers of so many groups."""
    return np.int32 if n_groups < 1 << 31 else np.int64
