"""What a summary is the sum of, sample by sample: all that resampling needs to know."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.caching import cached_property
from fastpsr.predictions import Floats, Predictions

__all__ = ["NeedsSamplesError", "Summands", "class_summands"]


class NeedsSamplesError(Exception):
    """Raised where sums cannot serve a replicate: it goes back to the samples."""


@dataclass(frozen=True, eq=False)
class Summands:
    """Samples in groups, and what is summed over each group besides the weight.

    Attributes
    ----------
    kind : str
        Summands of one kind share groups, and are drawn together.
    n_groups : int
        Those of a class lie side by side, as many for each class.
    n_classes : int
    find_groups : callable
        Returns the (N,) group numbers; called only where counts do not suffice.
    assemble : callable
        ``assemble(weight, sums)`` makes the summary of (G,) weights and (G, S) weighted sums.
    columns : tuple of C arrays of float64, shape (N,)
        What is summed.
    degree : int
        If positive, the last column is a coordinate in [-1, 1] whose Chebyshev polynomials T_1 to
        T_degree are summed instead.
    known_counts : ndarray of int64, shape (G,), or None
        Number of samples in each group, where it is known already.
    """

    kind: str
    n_groups: int
    n_classes: int
    find_groups: Callable[[], NDArray[Any]]
    assemble: Callable[[Floats, Floats], Any]
    columns: tuple[Floats, ...] = ()
    degree: int = 0
    known_counts: NDArray[np.int64] | None = None

    @cached_property
    def groups(self) -> NDArray[np.int32]:
        """Group number of each sample, (N,)."""
        return self.find_groups().astype(np.int32, copy=False)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of samples in each group, (G,)."""
        if self.known_counts is not None:
            return self.known_counts
        return np.bincount(self.groups, minlength=self.n_groups)

    @property
    def class_of_group(self) -> NDArray[np.int64]:
        """Class of the samples in each group, (G,)."""
        return np.repeat(np.arange(self.n_classes), self.n_groups // self.n_classes)

    @property
    def n_sums(self) -> int:
        """Number of sums per group."""
        return len(self.columns) + (self.degree - 1 if self.degree else 0)


def class_summands(
    predictions: Predictions, columns: list[Floats], assemble: Callable[[Floats, Floats], Any]
) -> Summands:
    """Return summands grouped by class alone: those of a mean."""
    n_classes = predictions.n_classes
    return Summands(
        "classes", n_classes, n_classes, lambda: predictions.labels, assemble, tuple(columns)
    )
