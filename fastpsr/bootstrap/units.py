"""Units that are drawn: rows, or clusters and speakers that rows depend on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered, type_of
from fastpsr.plans import LABELS, Data, PartitionedPredictions, Plan, Step, check_ids
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.summands import group_type

__all__ = [
    "IdUnits",
    "Kept",
    "NestedUnits",
    "RowUnits",
    "Units",
    "id_units",
    "nested_units",
    "row_units",
    "sizes_by_part",
]

Ints = NDArray[Any]


class Kept:
    """Cache of a bootstrap for data in memory; it is not sent to other processes.

    Values of a part that is read from a file are kept while the part is in memory.
    """

    def __init__(self) -> None:
        self._held: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[type["Kept"], tuple[()]]:
        return Kept, ()

    def of(self, part: Part, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the cached result of ``make()`` for a part and key; compute it on first use."""
        if not part.is_whole:
            return part.remember((id(self), key), make)
        name = (id(part.predictions), key)
        if name not in self._held:
            self._held[name] = make()
        return self._held[name]


class Units(ABC):
    """Units that are drawn, and the units of each row.

    Units of a part, or of the whole, are numbered 0 to U - 1. The weight of a row is multiplied by
    the draw counts of its first and its second unit; unit U stands for no second one.
    """

    #: What is read of a part to find the units of its rows.
    reads: frozenset[str] = LABELS
    #: Whether all parts share units; else each part has its own, which are its rows.
    are_shared: bool
    #: Whether a row may depend on two units.
    come_in_pairs = False

    @property
    @abstractmethod
    def n_in_strata(self) -> NDArray[np.int64]:
        """Number of units in each stratum of the whole, (S,)."""

    @abstractmethod
    def in_strata(self, part: Part) -> tuple[Ints, Floats, NDArray[np.int64]]:
        """Return the stratum of each unit of a part, weights, and units in the parts before.

        The weights are empty, or 0 for units that are not drawn; the last are (S,), by stratum.
        """

    @abstractmethod
    def size_in(self, part: Part) -> int:
        """Return the number of units in a part."""

    @abstractmethod
    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        """Return the first and second unit of each row of a part, (n,) each."""

    @abstractmethod
    def order(self, part: Part) -> tuple[Ints, Ints]:
        """Return the units in the order of strata, and the (S + 1,) bounds of strata."""


@dataclass(frozen=True, eq=False)
class RowUnits(Units):
    """Rows of positive weight, in one stratum or in one of each class.

    Attributes
    ----------
    sizes : ndarray of int64, shape (P, S)
        Rows of positive weight of each part, by stratum.
    """

    sizes: NDArray[np.int64]
    by_class: bool
    kept: Kept
    are_shared = False

    @property
    def n_in_strata(self) -> NDArray[np.int64]:
        total: NDArray[np.int64] = self.sizes.sum(axis=0)
        return total

    def in_strata(self, part: Part) -> tuple[Ints, Floats, NDArray[np.int64]]:
        labels = part.predictions.labels
        strata = labels if self.by_class else np.zeros_like(labels)
        return strata, part.predictions.weights, self.sizes[: part.number].sum(axis=0)

    def size_in(self, part: Part) -> int:
        return len(part.predictions)

    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        return self.kept.of(part, "row numbers", lambda: self._numbers(part))  # type: ignore[no-any-return]

    def _numbers(self, part: Part) -> tuple[Ints, Ints]:
        n = len(part.predictions)
        wide = group_type(n + 1)
        return np.arange(n, dtype=wide), np.full(n, n, wide)

    def order(self, part: Part) -> tuple[Ints, Ints]:
        return self.kept.of(part, "row order", lambda: self._order(part))  # type: ignore[no-any-return]

    def _order(self, part: Part) -> tuple[Ints, Ints]:
        predictions = part.predictions
        wide = group_type(len(predictions) + 1)
        rows = _present(predictions)
        if not self.by_class:
            return rows.astype(wide), np.array([0, rows.size])
        y = predictions.labels[rows]
        sizes = np.bincount(y, minlength=self.sizes.shape[1])
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        return rows[kernels.order_by_group(y, bounds)].astype(wide), bounds


@dataclass(frozen=True, eq=False)
class IdUnits(Units):
    """Clusters, or speakers of either side, of the whole.

    Attributes
    ----------
    names : tuple of str
        Names of the arguments with the ids of each side.
    specs : tuple
        For each side an array, for data in memory, or the name of a column.
    ids : ndarray, shape (U,)
        All ids in ascending order.
    """

    names: tuple[str, ...]
    specs: tuple[Any, ...]
    ids: NDArray[Any]
    kept: Kept
    are_shared = True

    @property
    def come_in_pairs(self) -> bool:  # type: ignore[override]
        return len(self.specs) == 2

    @property
    def n_in_strata(self) -> NDArray[np.int64]:
        return np.array([self.ids.size])

    def in_strata(self, part: Part) -> tuple[Ints, Floats, NDArray[np.int64]]:
        return np.zeros(self.ids.size, np.uint8), np.empty(0), np.zeros(1, np.int64)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return _columns(self.specs)

    def size_in(self, part: Part) -> int:
        return int(self.ids.size)

    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        return self.kept.of(part, ("units", self.names), lambda: self._numbers(part))  # type: ignore[no-any-return]

    def _numbers(self, part: Part) -> tuple[Ints, Ints]:
        rows, here, codes = _ids_of(part, self.names, self.specs, self.kept)
        n, n_units = len(part.predictions), self.ids.size
        wide = group_type(n_units + 1)
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

    def order(self, part: Part) -> tuple[Ints, Ints]:
        n_units = self.ids.size
        return np.arange(n_units, dtype=group_type(n_units)), np.array([0, n_units])


@dataclass(frozen=True, eq=False)
class _DistinctIds(Step):
    """Collect the ids of rows of positive weight."""

    names: tuple[str, ...]
    specs: tuple[Any, ...]
    kept: Kept
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | _columns(self.specs)

    @property
    def key(self) -> Hashable:
        return ("distinct ids", id(self.kept))

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        _, here, _ = _ids_of(part, self.names, self.specs, self.kept)
        return here if accumulator is None else self.merge(accumulator, here)

    def merge(self, one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        if type_of(one) != type_of(other):
            raise ArgumentError(
                self.names[0],
                f"must be ids of one type in all parts, not {one.dtype} and {other.dtype}",
            )
        return np.union1d(one, other)


@dataclass(frozen=True, eq=False)
class NestedUnits:
    """Clusters of the whole, and rows of positive weight within each of them.

    Attributes
    ----------
    clusters : IdUnits
    bounds : ndarray of int64, shape (C + 1,)
        The parts with rows of cluster c are the entries from bounds[c] to bounds[c + 1].
    parts, ends : ndarray of int64
        The numbers of these parts in ascending order, and the rows of the cluster up to the end of
        each.
    """

    clusters: IdUnits
    bounds: NDArray[np.int64]
    parts: NDArray[np.int64]
    ends: NDArray[np.int64]
    kept: Kept

    def numbers(self, part: Part) -> Ints:
        """Return the cluster of each row of a part, (n,)."""
        return self.clusters.numbers(part)[0]

    def order(self, part: Part) -> tuple[Ints, Any]:
        """Return the rows of a part sorted by cluster, and the blocks that they are drawn in."""
        return self.kept.of(part, "order", lambda: self._order(part))  # type: ignore[no-any-return]

    def _order(self, part: Part) -> tuple[Ints, Any]:
        rows = _present(part.predictions)
        clusters, n_clusters = self.numbers(part)[rows], self.clusters.ids.size
        bounds = np.concatenate([[0], np.cumsum(np.bincount(clusters, minlength=n_clusters))])
        order = rows[kernels.order_by_group(clusters, bounds)]
        # a cluster is cut into blocks as a group is, so that no block has rows of two clusters
        blocks = kernels.cut_into_blocks(bounds, np.arange(n_clusters))
        return order.astype(group_type(len(part.predictions))), blocks

    def places(self, part: Part) -> tuple[Ints, Ints]:
        """Return the clusters with rows in a part, and the entry of the part for each."""
        places = np.flatnonzero(self.parts == part.number)
        return np.searchsorted(self.bounds, places, side="right") - 1, places


@dataclass(frozen=True, eq=False)
class _RowsByCluster(Step):
    """Count the rows of positive weight of each cluster: (cluster, part, rows), (3, n)."""

    clusters: IdUnits
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | self.clusters.reads

    @property
    def key(self) -> Hashable:
        return ("rows by cluster", id(self.clusters))

    def start(self) -> NDArray[np.int64]:
        return np.empty((3, 0), np.int64)

    def add(self, accumulator: NDArray[np.int64], prepared: None, part: Part) -> Any:
        rows = _present(part.predictions)
        counts = np.bincount(self.clusters.numbers(part)[0][rows])
        here = np.flatnonzero(counts)
        found = np.stack([here, np.full(here.size, part.number), counts[here]])
        return self.merge(accumulator, found)

    def merge(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([one, other], axis=1)

    def finish(self, accumulator: NDArray[np.int64]) -> NDArray[np.int64]:
        cluster, number, _ = accumulator
        return accumulator[:, np.lexsort((number, cluster))]


def nested_units(name: str, spec: Any, data: Data) -> Plan[NestedUnits]:
    """Plan: return the rows of positive weight, and their clusters, as units."""
    clusters = yield from id_units((name,), (spec,), "clusters", data)
    ((cluster, parts, rows),) = yield [_RowsByCluster(clusters).over(data)]
    bounds = np.searchsorted(cluster, np.arange(clusters.ids.size + 1))
    ends = np.cumsum(rows)
    before = (ends - rows)[bounds[:-1]]  # rows of the clusters before, each of which has some
    return NestedUnits(clusters, bounds, parts, ends - before[cluster], Kept())


def id_units(
    names: tuple[str, ...], specs: tuple[Any, ...], what: str, data: Data
) -> Plan[IdUnits]:
    """Plan: return the ids of all rows of positive weight as units."""
    for name, spec in zip(names, specs, strict=True):
        check_ids(name, spec, data)
    kept = Kept()
    (ids,) = yield [_DistinctIds(names, specs, kept).over(data)]
    if ids.size < 2:
        raise ArgumentError(names[0], f"must name at least two {what}, not {ids.size}")
    return IdUnits(names, specs, ids, kept)


def row_units(by_class: bool, data: Data) -> RowUnits:
    """Return the rows of data as units."""
    return RowUnits(sizes_by_part(data, by_class), by_class, Kept())


def sizes_by_part(data: Data, by_class: bool) -> NDArray[np.int64]:
    """Return the number of rows of positive weight, (P, S), of each part and stratum."""
    if isinstance(data, PartitionedPredictions):
        of_classes = data.facts.sizes
    else:  # one part
        of_classes = data.class_sizes[None]
    sizes: NDArray[np.int64] = of_classes
    return sizes if by_class else sizes.sum(axis=1, keepdims=True)


def _ids_of(
    part: Part, names: tuple[str, ...], specs: tuple[Any, ...], kept: Kept
) -> tuple[Ints, NDArray[Any], list[Ints]]:
    """Return the rows of positive weight, their distinct ids, and the index of each row's id."""

    def make() -> tuple[Ints, NDArray[Any], list[Ints]]:
        arrays = [part.ids(name, spec) for name, spec in zip(names, specs, strict=True)]
        if len(arrays) == 2 and arrays[0].dtype.kind != arrays[1].dtype.kind:
            raise ArgumentError(
                names[1],
                f"must be ids of one type, not {arrays[0].dtype} and {arrays[1].dtype}",
                name=" and ".join(names),
            )
        rows = _present(part.predictions)
        return rows, *numbered(*(array[rows] for array in arrays))

    found: tuple[Ints, NDArray[Any], list[Ints]] = kept.of(part, ("ids", names), make)
    return found


def _columns(specs: tuple[Any, ...]) -> frozenset[str]:
    return frozenset(spec for spec in specs if isinstance(spec, str))


def _present(predictions: Predictions) -> Ints:
    weights = predictions.weights
    return np.flatnonzero(weights > 0.0) if weights.size else np.arange(len(predictions))
