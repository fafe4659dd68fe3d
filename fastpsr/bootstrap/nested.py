"""Clusters that are drawn, and rows within them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import kernels
from fastpsr.bootstrap.cache import BootstrapCache
from fastpsr.bootstrap.clusters import IdUnits, id_units
from fastpsr.bootstrap.draws import Draws, SharedTotals, UnitDraws
from fastpsr.bootstrap.layout import Layout
from fastpsr.bootstrap.resampling import Resampling
from fastpsr.bootstrap.streams import seed_of
from fastpsr.bootstrap.units import Ints, Units, present_rows
from fastpsr.kernels.blocks import thread_count
from fastpsr.kernels.sizes import LANES, index_type
from fastpsr.plans import LABELS, Data, Plan, Step, picked_ids
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats

__all__ = ["Nested", "NestedDraws", "NestedTotals", "NestedUnits"]


@dataclass(frozen=True, eq=False)
class Nested(Resampling):
    """Draw clusters, then samples within each drawn cluster.

    Clusters are drawn with replacement, as many as there are. From each drawn cluster, samples are
    drawn with replacement, as many as it has; a cluster that is drawn several times has the same
    samples each time. The weight of a sample is thus multiplied by its draw count within its
    cluster, and by that of the cluster.

    Parameters
    ----------
    cluster_ids : array-like of shape (N,), or str
        Cluster of each sample: integers or strings; for data in parts, the name of the column.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length or fewer than two clusters, or with BCa intervals.

    Notes
    -----
    This is the law of the package confidence-intervals where conditions are given. Drawing whole
    clusters (:class:`Clusters`) already has the variance of a mean between and within clusters;
    `Nested` has three times that within clusters, because samples are drawn again and the draw
    counts of a cluster multiply the result. Its intervals are wider.

    References
    ----------
    L. Ferrer and P. Riera, "Confidence Intervals for evaluation in machine learning",
    https://github.com/luferrer/ConfidenceIntervals; A. Davison and D. Hinkley, "Bootstrap methods
    and their application", 1997, section 3.8.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> nested = fp.Nested(["a", "b", "a", "b"])
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=nested, seed=0).value
    0.185
    """

    cluster_ids: ArrayLike | str
    multiplies = True

    def units(self, data: Data) -> Plan["NestedUnits"]:
        return (yield from _nested_units("cluster_ids", self.cluster_ids, data))

    def on_rows(self, data: Data, rows: Any) -> "Nested":
        return Nested(picked_ids("cluster_ids", self.cluster_ids, data, rows))


@dataclass(frozen=True, eq=False)
class NestedUnits(Units):
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
    cache: BootstrapCache

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return LABELS | self.clusters.reads

    @property
    def independent(self) -> IdUnits:
        return self.clusters

    def draws(self, seed: int) -> "NestedDraws":
        return NestedDraws(self, seed)

    def numbers(self, part: Part) -> Ints:
        """Return the cluster of each row of a part, (n,)."""
        return self.clusters.numbers(part)[0]

    def order(self, part: Part) -> tuple[Ints, Any]:
        """Return the rows of a part sorted by cluster, and the blocks that they are drawn in."""
        return self.cache.of(part, "order", lambda: self._order(part))  # type: ignore[no-any-return]

    def _order(self, part: Part) -> tuple[Ints, Any]:
        rows = present_rows(part.predictions)
        clusters, n_clusters = self.numbers(part)[rows], self.clusters.ids.size
        bounds = np.concatenate([[0], np.cumsum(np.bincount(clusters, minlength=n_clusters))])
        order = rows[kernels.order_by_group(clusters, bounds)]
        # a cluster is cut into blocks as a group is, so that no block has rows of two clusters
        blocks = kernels.cut_into_blocks(bounds, np.arange(n_clusters))
        return order.astype(index_type(len(part.predictions))), blocks

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
        return (type(self), self.clusters)

    def start(self) -> NDArray[np.int64]:
        return np.empty((3, 0), np.int64)

    def add(self, accumulator: NDArray[np.int64], prepared: None, part: Part) -> Any:
        rows = present_rows(part.predictions)
        counts = np.bincount(self.clusters.numbers(part)[0][rows])
        here = np.flatnonzero(counts)
        return self.merge(
            accumulator, np.stack([here, np.full(here.size, part.number), counts[here]])
        )

    def merge(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([one, other], axis=1)

    def finish(self, accumulator: NDArray[np.int64]) -> NDArray[np.int64]:
        cluster, number, _ = accumulator
        return accumulator[:, np.lexsort((number, cluster))]


def _nested_units(name: str, spec: Any, data: Data) -> Plan[NestedUnits]:
    """Plan: return the rows of positive weight, and their clusters, as units."""
    clusters = yield from id_units((name,), (spec,), "clusters", data)
    ((cluster, parts, rows),) = yield [_RowsByCluster(clusters).over(data)]
    bounds = np.searchsorted(cluster, np.arange(clusters.ids.size + 1))
    ends = np.cumsum(rows)
    before = (ends - rows)[bounds[:-1]]  # rows of the clusters before, each of which has some
    return NestedUnits(clusters, bounds, parts, ends - before[cluster], BootstrapCache())


class NestedDraws(Draws):
    """Clusters drawn with replacement; and from each drawn cluster as many rows as it has.

    All appearances of a cluster in a replicate have the same rows.
    """

    def __init__(self, units: NestedUnits, seed: int) -> None:
        self.units = units
        self.reads, self.n_shared = units.reads, units.clusters.n_shared
        self._of_clusters = UnitDraws(units.clusters, seed)
        self._seed = seed

    def totals(self, layouts: tuple[Layout, ...], first: int, n_replicates: int) -> "NestedTotals":
        return NestedTotals(layouts, self, first, n_replicates)

    def within(
        self, part: Part, first: int, n_replicates: int
    ) -> tuple[int, NDArray[np.int64], NDArray[np.float32]]:
        """Return the seed of a part, and for each cluster the numbers of rows and of its draws.

        Both numbers are (R, C): how many rows of the part are drawn from a cluster that is drawn,
        and how often the cluster is drawn.
        """
        begin = first // LANES * LANES
        sets = self._of_clusters.counts(part, begin, first - begin + n_replicates)[:, :-1]
        counts = np.moveaxis(sets, 2, 1).reshape(-1, sets.shape[1])
        counts = np.ascontiguousarray(counts[first - begin :][:n_replicates])
        units, n_rows = self.units, np.zeros(counts.shape, np.int64)
        here, places = units.places(part)
        n_rows[:, here] = kernels.draws_in_part(
            seed_of(self._seed, ("nested", "parts")), first, n_replicates, here, units.bounds,
            places, units.ends,
        )  # fmt: skip
        n_rows[counts == 0.0] = 0  # they would not count
        return seed_of(self._seed, ("nested", "part", part.number)), n_rows, counts

    def of_rows(self, part: Part, replicate: int) -> Floats:
        n = len(part.predictions)
        seed, n_rows, counts = self.within(part, replicate, 1)
        order, blocks = self.units.order(part)
        drawn = kernels.draw_units(seed, replicate, n_rows, blocks, order, n)[0, :n, 0]
        return np.asarray(drawn * counts[0].astype(np.float64)[self.units.numbers(part)])


@dataclass(frozen=True, eq=False)
class NestedTotals(SharedTotals):
    """Sums with common draws of clusters and of rows within them."""

    draws: NestedDraws

    def add(self, accumulator: list[Floats], prepared: None, *parts: Part) -> list[Floats]:
        at_once = LANES * thread_count()  # draw counts of all replicates would take much memory
        _, blocks = self.draws.units.order(parts[0])
        for begin in range(0, self.n_replicates, at_once):
            size = min(at_once, self.n_replicates - begin)
            seed, n_rows, counts = self.draws.within(parts[0], self.first + begin, size)
            sets = slice(begin // LANES, -(-(begin + size) // LANES))
            for layout, sums in zip(self.layouts, accumulator, strict=True):
                if layout.is_absent(parts):
                    continue
                groups, weights, columns = self._rows(layout, parts)
                kernels.sum_nested(seed, self.first + begin, n_rows, counts, blocks, groups,
                                   weights, columns, layout.degree, sums[sets])  # fmt: skip
        return accumulator

    def _rows(self, layout: Layout, parts: tuple[Part, ...]) -> Any:
        """Return group, weight and columns of the rows sorted by cluster; sorted once in memory."""

        def compute() -> tuple[NDArray[Any], Floats, Floats]:
            order, _ = self.draws.units.order(parts[0])
            weights, groups = layout.part(parts).predictions.weights, layout.groups(parts)
            if layout.subset is not None and not weights.size:
                weights = np.ones(groups.size)  # rows of other groups have 0
            columns = [layout.spread(parts, column)[order] for column in layout.columns(parts)]
            weights = layout.spread(parts, weights)[order] if weights.size else weights
            groups = layout.spread(parts, groups)[order]
            return groups, weights, np.array(columns).reshape(-1, order.size)

        return layout.cache.of(layout.part(parts), "rows by cluster", compute)
