"""Units that are drawn, which a resampling scheme defines."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.layout import BootstrapCache, present_rows
from fastpsr.bootstrap.unit_counts import DrawnRows, UnitCounts
from fastpsr.data import LABELS, Data, Floats, PartitionedPredictions
from fastpsr.data.part import Part
from fastpsr.kernels.types import Blocks, index_type

Ints = NDArray[Any]


class Units(ABC):
    """What a scheme draws, and the units that rows depend on.

    Units of a part, or of the whole, are numbered 0 to U - 1. The weight of a row is multiplied by
    the draw counts of its first and its second unit; unit U stands for no second one.
    """

    #: What the units are, in messages.
    name: str = "clusters"
    #: What is read of a part to find the units of its rows.
    reads: frozenset[str] = LABELS
    #: Whether a row may depend on two units.
    come_in_pairs = False
    #: Number of units, if all parts share them; 0 if each part has its own.
    n_shared: int = 0

    @abstractmethod
    def draws(self, seed: int) -> UnitCounts:
        """Return draws of the units, which all metrics share."""

    @abstractmethod
    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        """Return the first and second unit of each row of a part, (n,) each."""

    @property
    def independent(self) -> "Units":
        """The units that are independent of each other."""
        return self

    @property
    def n_whole_ids(self) -> int | None:
        """Number of clusters or speakers, if nothing is drawn within them."""
        return self.n_shared or None

    @property
    def n_in_strata(self) -> NDArray[np.int64]:
        """Number of units in each stratum of the whole, (S,)."""
        return np.array([self.n_shared])

    def in_strata(self, part: Part | None) -> tuple[Ints, Floats, NDArray[np.int64]]:
        """Return the stratum of each unit of a part, weights, and units in the parts before.

        The weights are empty, or 0 for units that are not drawn; the last are (S,), by stratum.
        """
        return np.zeros(self.n_shared, np.uint8), np.empty(0), np.zeros(1, np.int64)

    def size_in(self, part: Part) -> int:
        """Return the number of units in a part."""
        return self.n_shared or len(part.predictions)


@dataclass(frozen=True, eq=False)
class RowsOfParts:
    """Numbers of rows of each stratum in the parts that have some.

    Attributes
    ----------
    bounds : ndarray of int64, shape (S + 1,)
        The parts with rows of stratum s are the entries from bounds[s] to bounds[s + 1].
    parts, ends : ndarray of int64
        The numbers of these parts in ascending order, and the rows of the stratum up to the end of
        each.
    """

    bounds: NDArray[np.int64]
    parts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, strata: Ints, parts: Ints, n_rows: Ints, n_strata: int) -> "RowsOfParts":
        """Return the table of so many rows of strata in parts, in any order."""
        order = np.lexsort((parts, strata))
        strata, n_rows = strata[order], n_rows[order]
        bounds = np.searchsorted(strata, np.arange(n_strata + 1))
        before = np.concatenate([[0], np.cumsum(n_rows)])
        return cls(bounds, parts[order], before[1:] - before[bounds[strata]])

    @property
    def in_strata(self) -> NDArray[np.int64]:
        """Number of rows of each stratum, (S,)."""
        ends = np.append(self.ends, 0)
        return np.where(np.diff(self.bounds), ends[self.bounds[1:] - 1], 0)

    def draws_in(
        self, part: int, seed: int, first: int, n_draws: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many of the draws of each stratum, (R, S), fall in a part."""
        places = np.flatnonzero(self.parts == part)
        strata = np.searchsorted(self.bounds, places, side="right") - 1
        in_part = np.zeros_like(n_draws)
        of_strata = np.take(n_draws, strata, axis=1)
        in_part[:, strata] = kernels.resampling.draws_in_part(
            seed, first, of_strata, strata, self.bounds, places, self.ends
        )
        return in_part


class RowUnits(Units):
    """Rows of positive weight, drawn from strata."""

    #: Of each stratum.
    rows: RowsOfParts
    cache: BootstrapCache

    @abstractmethod
    def strata(self, part: Part) -> Ints:
        """Return the stratum of each row of a part, (n,)."""

    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        return self.cache.of(part, "numbers", lambda: _row_numbers(part))  # type: ignore[no-any-return]

    def order(self, part: Part) -> tuple[Ints, Blocks]:
        """Return the rows of a part sorted by stratum, and the blocks that they are drawn in."""
        return self.cache.of(part, "order", lambda: self._order(part))  # type: ignore[no-any-return]

    def _order(self, part: Part) -> tuple[Ints, Blocks]:
        n_strata = self.rows.in_strata.size
        rows = present_rows(part.predictions)
        strata = self.strata(part)[rows]
        bounds = np.concatenate([[0], np.cumsum(np.bincount(strata, minlength=n_strata))])
        order = rows[kernels.sorting.order_by_group(strata, bounds)]
        return order, kernels.resampling.cut_into_blocks(bounds, np.arange(n_strata))


@dataclass(frozen=True, eq=False)
class IndependentRows(RowUnits):
    """Rows in one stratum, or in one of each class.

    Attributes
    ----------
    rows_by_part : ndarray of int64, shape (P, S)
        Rows of positive weight of each part, by stratum.
    """

    rows_by_part: NDArray[np.int64]
    by_class: bool
    rows: RowsOfParts
    cache: BootstrapCache
    name = "samples"

    @classmethod
    def of(cls, data: Data, *, by_class: bool) -> "IndependentRows":
        """Return the rows of data as units."""
        sizes = data.class_sizes[None]
        if isinstance(data, PartitionedPredictions):
            sizes = data.facts.sizes
        sizes = sizes if by_class else sizes.sum(axis=1, keepdims=True)
        parts, strata = np.nonzero(sizes)
        rows = RowsOfParts.of(strata, parts, sizes[parts, strata], sizes.shape[1])
        return cls(sizes, by_class, rows, BootstrapCache())

    def draws(self, seed: int) -> UnitCounts:
        return DrawnRows(self, seed)

    @property
    def n_in_strata(self) -> NDArray[np.int64]:
        return self.rows.in_strata

    def strata(self, part: Part) -> Ints:
        labels = part.predictions.labels
        return labels if self.by_class else np.zeros_like(labels)

    def in_strata(self, part: Part | None) -> tuple[Ints, Floats, NDArray[np.int64]]:
        assert part is not None
        before = self.rows_by_part[: part.number].sum(axis=0)
        return self.strata(part), part.predictions.weights, before


def _row_numbers(part: Part) -> tuple[Ints, Ints]:
    """Return the number of each row of a part, as its one unit."""
    n = len(part.predictions)
    wide = index_type(n + 1)
    return np.arange(n, dtype=wide), np.full(n, n, wide)
