"""What is summed in each replicate, and the rows that it is summed over."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.row_counts import Subset
from fastpsr.caching import ByIdentity
from fastpsr.counts.sums import Sums
from fastpsr.data import LABELS, Floats, Predictions
from fastpsr.data.part import Part
from fastpsr.kernels.types import DEGREE, index_type


class BootstrapCache:
    """Cache of the units or the sums of a bootstrap; it is not sent to other processes.

    Values of predictions in memory last as long as the cache; those of a part that is read from a
    file, as long as the part.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[type["BootstrapCache"], tuple[()]]:
        return BootstrapCache, ()

    def of(self, part: Part, name: str, compute: Callable[[], Any]) -> Any:
        """Return the cached result of ``compute()`` for a part and name."""
        if not part.is_in_memory:
            return part.remember((self, name), compute)
        key = (ByIdentity(part.predictions), name)
        if key not in self._values:
            self._values[key] = compute()
        return self._values[key]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of positive weight, with their terms of the sums.

    Attributes
    ----------
    numbers : ndarray of int, shape (n,)
        In the part that is drawn.
    groups : ndarray of int32, shape (n,)
    weights : ndarray of float64, shape (n,) or empty
    columns : ndarray of float64, shape (C, n)
    """

    numbers: NDArray[Any]
    groups: NDArray[np.int32]
    weights: Floats
    columns: Floats


@dataclass(frozen=True, eq=False)
class Layout:
    """Sums that share groups, over several row-aligned data: plain data.

    Attributes
    ----------
    sums : tuple of Sums
    places : tuple of tuples of int
        For each of the sums, the index of its data, and of further row-aligned data.
    subset : Subset or None
        The rows of the data, where these are a group of those that are drawn.
    cache : BootstrapCache
        Of its rows, for the draws that it is summed with.
    """

    sums: tuple[Sums, ...]
    places: tuple[tuple[int, ...], ...]
    subset: Subset | None = None
    cache: BootstrapCache = field(default_factory=BootstrapCache)

    @property
    def n_groups(self) -> int:
        return self.sums[0].n_groups

    @property
    def degree(self) -> int:
        degree = self.sums[0].degree
        assert degree in (0, DEGREE)  # kernels have written out that one
        return degree

    @property
    def distinct_sums(self) -> tuple[Sums, ...]:
        """The sums with different columns: with polynomials all of a kind have the same."""
        return self.sums[:1] if self.degree else self.sums

    @property
    def n_sums(self) -> int:
        return sum(s.n_sums for s in self.distinct_sums)

    @property
    def n_numbers(self) -> int:
        """Number of weights and sums of all groups."""
        return self.n_groups * (1 + self.n_sums)

    @property
    def reads(self) -> frozenset[str]:
        return LABELS.union(*(s.reads for s in self.sums))

    def part(self, parts: Sequence[Part]) -> Part:
        """Return the part whose rows are summed."""
        return parts[self.places[0][0]]

    def is_absent(self, parts: Sequence[Part]) -> bool:
        """Whether a part has no row of positive weight of a group, but the whole may."""
        return self.subset is not None and not self.part(parts).has_weight

    def groups(self, parts: Sequence[Part]) -> NDArray[Any]:
        """Return the group of each row, (n,)."""
        return self.sums[0].groups(*(parts[place] for place in self.places[0]))

    def columns(self, parts: Sequence[Part]) -> list[Floats]:
        """Return all that is summed, (n,) each."""
        return [
            column
            for s, places in zip(self.distinct_sums, self.places, strict=False)
            for column in s.columns(*(parts[place] for place in places))
        ]

    def rows(self, parts: Sequence[Part]) -> Rows:
        """Return the rows of a part."""
        part = self.part(parts)
        weights, present = part.predictions.weights, present_rows(part.predictions)
        groups = self.groups(parts).astype(np.int32, copy=False)
        columns = [np.ascontiguousarray(column, np.float64) for column in self.columns(parts)]
        if present.size < groups.size:
            groups, weights = groups[present], weights[present]
            columns = [column[present] for column in columns]
        table = (
            columns[0][None]
            if len(columns) == 1
            else np.array(columns).reshape(len(columns), groups.size)
        )
        numbers = present if self.subset is None else self.subset.places(part)[present]
        return Rows(numbers, groups, weights, table)


def present_rows(predictions: Predictions) -> NDArray[Any]:
    """Return the rows of positive weight."""
    n, weights = len(predictions), predictions.weights
    present = np.flatnonzero(weights > 0.0) if weights.size else np.arange(n)
    return present.astype(index_type(n + 1), copy=False)
