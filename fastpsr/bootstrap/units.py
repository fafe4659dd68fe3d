"""Units that are drawn: rows, clusters, or speakers of both sides."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.row_draws import (
    BootstrapCache,
    DrawnIds,
    DrawnRows,
    UnitCounts,
    present_rows,
)
from fastpsr.counts import count
from fastpsr.data import LABELS, Data, Floats, PartitionedPredictions, check_ids
from fastpsr.data.steps import Part, Step
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered, type_of
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


@dataclass(frozen=True, eq=False)
class _RowIds:
    """The ids of rows.

    Attributes
    ----------
    names : tuple of str
        Names of the arguments with the ids of each side.
    specs : tuple
        For each side an array, for data in memory, or the name of a column.
    """

    names: tuple[str, ...]
    specs: tuple[Any, ...]
    cache: BootstrapCache

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | {spec for spec in self.specs if isinstance(spec, str)}

    def of(self, part: Part) -> tuple[Ints, NDArray[Any], list[Ints]]:
        """Return rows of positive weight, their distinct ids, and the index of the id of each."""
        return self.cache.of(part, "ids", lambda: self._of(part))  # type: ignore[no-any-return]

    def _of(self, part: Part) -> tuple[Ints, NDArray[Any], list[Ints]]:
        names = self.names
        sides = [part.ids(name, spec) for name, spec in zip(names, self.specs, strict=True)]
        if len(sides) == 2 and sides[0].dtype.kind != sides[1].dtype.kind:
            rule = f"must be ids of one type, not {sides[0].dtype} and {sides[1].dtype}"
            raise ArgumentError(names[1], rule, name=" and ".join(names))
        rows = present_rows(part.predictions)
        return rows, *numbered(*(side[rows] for side in sides))


@dataclass(frozen=True, eq=False)
class IdUnits(Units):
    """Clusters, or speakers of either side, of the whole.

    Attributes
    ----------
    ids_of_rows : _RowIds
    ids : ndarray, shape (U,)
        All ids in ascending order.
    """

    ids_of_rows: _RowIds
    ids: NDArray[Any]

    @property
    def come_in_pairs(self) -> bool:  # type: ignore[override]
        return len(self.ids_of_rows.specs) == 2

    @property
    def name(self) -> str:  # type: ignore[override]
        return "speakers" if self.come_in_pairs else "clusters"

    @property
    def n_shared(self) -> int:  # type: ignore[override]
        return int(self.ids.size)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return self.ids_of_rows.reads

    def draws(self, seed: int) -> UnitCounts:
        return DrawnIds(self, seed)

    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        return self.ids_of_rows.cache.of(part, "units", lambda: self._numbers(part))  # type: ignore[no-any-return]

    def _numbers(self, part: Part) -> tuple[Ints, Ints]:
        rows, here, codes = self.ids_of_rows.of(part)
        n, n_units = len(part.predictions), self.ids.size
        wide = index_type(n_units + 1)
        # strings are looked up once for each id in the part, not for each row
        numbers = np.searchsorted(self.ids, here).astype(wide)
        sides = []
        for side in codes:
            full = np.zeros(n, wide)  # the unit of rows of weight 0 does not matter
            full[rows] = numbers[side]
            sides.append(full)
        if len(sides) == 1:
            return sides[0], np.full(n, n_units, wide)
        first, second = sides
        second[first == second] = n_units  # one speaker on both sides counts once
        return first, second


@dataclass(frozen=True, eq=False)
class NestedUnits(RowUnits):
    """Rows of positive weight, within clusters that are drawn themselves.

    Attributes
    ----------
    clusters : IdUnits
    rows : RowsOfParts
        Of each cluster.
    """

    clusters: IdUnits
    rows: RowsOfParts
    cache: BootstrapCache

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return self.clusters.reads

    @property
    def independent(self) -> IdUnits:
        return self.clusters

    def draws(self, seed: int) -> UnitCounts:
        return DrawnRows(self, seed, self.clusters.draws(seed))

    def strata(self, part: Part) -> Ints:
        return self.clusters.numbers(part)[0]


class FindIds(Step[Any]):
    """Collect the ids of rows of positive weight as units, of which there must be two.

    Parameters
    ----------
    what : str
        What the units are, in messages.
    **sides : array-like or str
        The ids of each side by the name of the argument, of which there may be two.
    """

    is_exact = True

    def __init__(self, what: str, data: Data, **sides: Any) -> None:
        for name, spec in sides.items():
            check_ids(name, spec, data)
        self.what = what
        self.ids_of_rows = _RowIds(tuple(sides), tuple(sides.values()), BootstrapCache())

    def units(self, data: Data) -> Units:
        """Return the units."""
        return count(self.over(data))  # type: ignore[no-any-return]

    @property
    def reads(self) -> frozenset[str]:
        return self.ids_of_rows.reads

    @property
    def key(self) -> Hashable:
        return (type(self), self.ids_of_rows)

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        _, here, _ = self.ids_of_rows.of(part)
        return here if accumulator is None else self.merge(accumulator, here)

    def merge(self, one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        self._require_one_type(one, other)
        return np.union1d(one, other)

    def finish(self, ids: NDArray[Any]) -> Units:
        if ids.size < 2:
            name = self.ids_of_rows.names[0]
            raise ArgumentError(name, f"must name at least two {self.what}, not {ids.size}")
        return IdUnits(self.ids_of_rows, ids)

    def _require_one_type(self, one: NDArray[Any], other: NDArray[Any]) -> None:
        if type_of(one) != type_of(other):
            rule = f"must be ids of one type in all parts, not {one.dtype} and {other.dtype}"
            raise ArgumentError(self.ids_of_rows.names[0], rule)


class FindNested(FindIds):
    """Count the rows of each cluster in each part, besides: (id, part, rows)."""

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        _, here, (codes,) = self.ids_of_rows.of(part)
        found = (here, np.full(here.size, part.number), np.bincount(codes, minlength=here.size))
        return found if accumulator is None else self.merge(accumulator, found)

    def merge(self, one: Any, other: Any) -> Any:
        self._require_one_type(one[0], other[0])
        return tuple(np.concatenate(both) for both in zip(one, other, strict=True))

    def finish(self, accumulator: Any) -> Units:
        ids, parts, n_rows = accumulator
        distinct, clusters = np.unique(ids, return_inverse=True)
        units = super().finish(distinct)
        assert isinstance(units, IdUnits)
        rows = RowsOfParts.of(clusters.ravel(), parts, n_rows, distinct.size)
        return NestedUnits(units, rows, BootstrapCache())
