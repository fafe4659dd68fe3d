"""Clusters that are drawn, or speakers of both sides, by their ids."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.layout import BootstrapCache, present_rows
from fastpsr.bootstrap.unit_counts import DrawnIds, DrawnRows, UnitCounts
from fastpsr.bootstrap.units import Ints, RowsOfParts, RowUnits, Units
from fastpsr.counts import count
from fastpsr.data import LABELS, Data, check_ids
from fastpsr.data.part import Part
from fastpsr.data.steps import Step
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered, type_of
from fastpsr.kernels.types import index_type


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


class FindIds(Step):
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
