"""What is summed in each replicate, and the rows that it is summed over."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.cache import BootstrapCache
from fastpsr.bootstrap.subsets import Subset
from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.sizes import DEGREE
from fastpsr.plans import LABELS, Data, Plan
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats
from fastpsr.summaries.sums import AddUp, Sums

__all__ = ["Layout", "Rows", "counts_suffice", "known_counts"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of positive weight sorted by group, with their terms of the sums."""

    bounds: NDArray[np.int64]
    order: NDArray[Any]
    weights: Floats
    columns: Floats  # (C, rows)


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

    def in_whole(self, parts: Sequence[Part], rows: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers that rows have in the part that is drawn."""
        return rows if self.subset is None else self.subset.places(self.part(parts))[rows]

    def spread(self, parts: Sequence[Part], values: NDArray[Any]) -> NDArray[Any]:
        """Return values of rows with 0 at all other rows of the part that is drawn."""
        return values if self.subset is None else self.subset.spread(self.part(parts), values)

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
        """Return the rows of a part, sorted; in memory they are sorted once."""
        rows: Rows = self.cache.of(self.part(parts), "rows", lambda: self.sort(parts))
        return rows

    def sort(self, parts: Sequence[Part]) -> Rows:
        """Return the rows of a part, sorted."""
        part = self.part(parts)
        weights = part.predictions.weights
        bounds, order = self.sorted_rows(parts)
        columns = self.columns(parts)
        ordered = np.empty((len(columns), order.size))
        over_blocks(_take, count_blocks(order.size), columns, order, ordered)
        return Rows(bounds, order, weights[order] if weights.size else weights, ordered)

    def sorted_rows(self, parts: Sequence[Part]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the (G + 1,) bounds of groups, and the rows of positive weight by group."""
        part, groups = self.part(parts), self.groups(parts)
        weights, present = part.predictions.weights, None
        if weights.size and not weights.all():
            present = np.flatnonzero(weights > 0.0)
            groups = groups[present]
        counts: NDArray[Any] | None = None
        if part.is_in_memory and not weights.size:
            counts = self.sums[0].known_weight
        if counts is None:
            counts = np.bincount(groups, minlength=self.n_groups)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        order = kernels.order_by_group(groups, bounds)
        return bounds, order if present is None else present[order]


def _take(first: int, last: int, columns: list[Floats], order: NDArray[Any], out: Floats) -> None:
    """Write some blocks of the columns in an order."""
    rows = slice(first * BLOCK, last * BLOCK)
    for column, ordered in zip(columns, out, strict=True):
        np.take(column, order[rows], out=ordered[rows], mode="clip")  # others copy the output


def counts_suffice(layout: Layout, data: Data) -> bool:
    """Whether replicates need no more than the counts of groups."""
    return not (layout.n_sums or data.has_weights or layout.sums[0].needs_rows)


def known_counts(layout: Layout, data: tuple[Any, ...]) -> Plan[NDArray[np.int64] | None]:
    """Plan: return the counts of groups if these are sufficient, else None."""
    if not counts_suffice(layout, data[0]):
        return None
    weight = layout.sums[0].known_weight
    if weight is None:
        step = AddUp(layout.sums[0])
        ((weight, _),) = yield [step.over(*(data[place] for place in layout.places[0]))]
    return weight.astype(np.int64)
