"""Resampling schemes: which unit each row belongs to, and how often each unit is drawn."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import kernels
from fastpsr.counts import count
from fastpsr.data import (
    LABELS,
    Data,
    Floats,
    PartitionedPredictions,
    Predictions,
    check_ids,
    picked_ids,
)
from fastpsr.data.steps import Part, Step
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered, type_of
from fastpsr.kernels.types import Blocks, index_type
from fastpsr.options import Options

Ints = NDArray[Any]
#: Counts (U + 1, R) of U units in R replicates; the last row is for rows of one unit only: 1.
Counts = NDArray[np.float32]


class Resampling(Options, ABC):
    """A way to draw replicates; all fields are ids of rows, or names of columns of ids."""

    #: Whether the draw counts of two units multiply, so that BCa intervals are not defined.
    multiplies = False
    #: Whether clusters or speakers are drawn, and nothing within them.
    draws_whole_ids = False

    #: Whether metrics have the same draws, computed together or separately; else metrics of a kind.
    shares_draws = True

    @abstractmethod
    def units(self, data: Data) -> "Units":
        """Return the units that are drawn; samples of weight 0 are ignored."""

    def on_rows(self, data: Data, rows: Any) -> "Resampling":
        """Return the scheme for the rows selected by an index."""
        ids = {name: picked_ids(name, spec, data, rows) for name, spec in self._ids.items()}
        return replace(self, **ids)  # type: ignore[type-var]

    @property
    def _ids(self) -> dict[str, ArrayLike | str]:
        """The ids of rows, or the names of their columns, by argument."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def names_of_ids(resampling: Resampling) -> dict[str, str]:
    """Return the names of columns that are given as ids, by argument."""
    return {name: ids for name, ids in resampling._ids.items() if isinstance(ids, str)}


class _OfRows(Resampling):
    """Draw independent samples, from all or from each class."""

    by_class: ClassVar[bool]
    shares_draws = False

    def units(self, data: Data) -> "Units":
        return RowUnits.independent_rows(data, by_class=self.by_class)


class _OfIds(Resampling):
    """Draw clusters or speakers, with all of their samples."""

    draws_whole_ids = True

    def units(self, data: Data) -> "Units":
        return IdUnits.of(self._ids, data)


@dataclass(frozen=True, eq=False)
class IID(_OfRows):
    """Draw samples with replacement (the ordinary bootstrap): for independent samples.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=fp.IID(), seed=0).value
    0.185
    """

    by_class = False


@dataclass(frozen=True, eq=False)
class Stratified(_OfRows):
    """Draw samples with replacement within each class: for class sizes fixed by design.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.bootstrap(fp.Cllr(), data, resampling=fp.Stratified(), seed=0).n_undefined
    0
    """

    by_class = True


@dataclass(frozen=True, eq=False)
class Clusters(_OfIds):
    """Draw whole clusters: for samples that depend on a common speaker, session or document.

    Parameters
    ----------
    ids : array-like of shape (N,), or str
        Cluster of each sample: integers or strings, or the name of the column that has them.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length or fewer than two clusters.

    Examples
    --------
    >>> import fastpsr as fp
    >>> patients = {"patient": ["a", "b", "a", "b"]}
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], columns=patients)
    >>> clusters = fp.Clusters("patient")  # or the array of ids
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=clusters, seed=0).value
    0.185
    """

    ids: ArrayLike | str


@dataclass(frozen=True, eq=False)
class Nested(Resampling):
    """Draw clusters, then samples within each drawn cluster.

    Clusters are drawn with replacement, as many as there are. From each drawn cluster, samples are
    drawn with replacement, as many as it has, and anew each time that the cluster is drawn.

    Parameters
    ----------
    cluster_ids : array-like of shape (N,), or str
        Cluster of each sample: integers or strings, or the name of the column that has them.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length or fewer than two clusters, or with BCa intervals.

    Notes
    -----
    Drawing whole clusters (:class:`Clusters`) already has the variance of a mean between and within
    clusters; `Nested` has twice that within clusters, because samples are drawn again. Its
    intervals are wider. In the package confidence-intervals, a condition that is drawn several
    times has the same samples each time, which makes that variance three times as large.

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

    def units(self, data: Data) -> "Units":
        return RowUnits.of_clusters(self._ids, data)


@dataclass(frozen=True, eq=False)
class TwoWay(_OfIds):
    """Draw speakers: for trials that share speakers on both sides.

    Speakers of both sides are one population, drawn once. The weight of a trial of speaker s
    against speaker t is multiplied by the draw counts of both s and t; the weight of a trial of s
    against s by the draw count of s.

    Parameters
    ----------
    enroll_speakers, test_speakers : array-like of shape (N,), or str
        Speaker of each side of each trial: integers or strings, with the same ids on both sides,
        or the names of the columns that have them.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length or fewer than two speakers.

    References
    ----------
    A. Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007,
    doi:10.1214/07-AOAS122; N. Poh and S. Bengio, "Estimating the confidence interval of expected
    performance curve in biometric authentication using joint bootstrap", ICASSP 2007.

    Examples
    --------
    >>> import fastpsr as fp
    >>> trials = fp.simulate.trial_list(200, 2_000, n_speakers=30, seed=0)
    >>> data = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    >>> speakers = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
    >>> found = fp.bootstrap(fp.Cllr(), data, resampling=speakers, seed=0)
    >>> found.method, found.interval.low < found.value < found.interval.high
    ('jackknife', True)
    """

    enroll_speakers: ArrayLike | str
    test_speakers: ArrayLike | str
    multiplies = True


class Units(ABC):
    """The units that a scheme draws, and the units that rows depend on: plain data.

    Units of a part, or of the whole, are numbered 0 to U - 1. The weight of a row is multiplied by
    the draw counts of its first and its second unit; unit U stands for no second one.
    """

    #: Name of the units in messages.
    name: str = "samples"
    #: Names of the columns to read of a part to find the units of its rows.
    reads: frozenset[str] = LABELS
    #: Whether a row may depend on two units.
    come_in_pairs: bool = False
    #: Number of units, if all parts share them; 0 if each part has its own.
    n_shared: int = 0

    @abstractmethod
    def of_rows(self, part: Part) -> tuple[Ints, Ints]:
        """Return the first and second unit of each row of a part, (n,) each."""

    @abstractmethod
    def shared_counts(self, seed: int, replicates: range) -> Counts | None:
        """Return the draw counts of units that all parts share, if any."""

    @abstractmethod
    def counts(self, part: Part, seed: int, replicates: range, shared: Counts | None) -> Counts:
        """Return how often the units of a part are drawn, given the counts that parts share."""

    @property
    def independent(self) -> "Units":
        """The units that are independent of each other."""
        return self

    @property
    @abstractmethod
    def n_in_strata(self) -> NDArray[np.int64]:
        """Number of units in each stratum of the whole, (S,)."""

    @abstractmethod
    def strata(self, part: Part | None) -> tuple[Ints, Floats, NDArray[np.int64]]:
        """Return the stratum of each unit of a part, weights, and units in the parts before.

        The weights are empty, or 0 for units that are not drawn; the last are (S,), by stratum.
        """


@dataclass(frozen=True, eq=False)
class IdUnits(Units):
    """Clusters, or speakers of either side, of all data; each replicate draws their number.

    Attributes
    ----------
    columns : IdColumns
    ids : ndarray, shape (U,)
        All ids in ascending order.
    """

    columns: "IdColumns"
    ids: NDArray[Any]

    @classmethod
    def of(cls, ids: dict[str, Any], data: Data) -> "IdUnits":
        """Return the units of data with these ids of each side, by argument."""
        columns = IdColumns.of(ids, data)
        (distinct,) = count(_CountIds(columns).over(data))
        return cls(columns, distinct)

    def __post_init__(self) -> None:
        if self.ids.size < 2:
            rule = f"must name at least two {self.name}, not {self.ids.size}"
            raise ArgumentError(self.columns.names[0], rule)

    @property
    def come_in_pairs(self) -> bool:  # type: ignore[override]
        return len(self.columns.names) == 2

    @property
    def name(self) -> str:  # type: ignore[override]
        return "speakers" if self.come_in_pairs else "clusters"

    @property
    def n_shared(self) -> int:  # type: ignore[override]
        return int(self.ids.size)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return self.columns.reads

    @property
    def n_in_strata(self) -> NDArray[np.int64]:
        return np.array([self.n_shared])

    def strata(self, part: Part | None) -> tuple[Ints, Floats, NDArray[np.int64]]:
        return np.zeros(self.n_shared, np.uint8), np.empty(0), np.zeros(1, np.int64)

    def shared_counts(self, seed: int, replicates: range) -> Counts:
        n = self.n_shared
        blocks = kernels.resampling.cut_into_blocks(np.array([0, n]), np.zeros(1, np.int64))
        return kernels.resampling.draw_counts(
            seed_of(seed, ("units", "part", 0)), replicates.start,
            np.full((len(replicates), 1), n), blocks, np.arange(n, dtype=np.int32), n,
        )  # fmt: skip

    def counts(self, part: Part, seed: int, replicates: range, shared: Counts | None) -> Counts:
        assert shared is not None
        return shared

    def of_rows(self, part: Part) -> tuple[Ints, Ints]:
        units: tuple[Ints, Ints] = part.remember("units", lambda: self._of_rows(part), self)
        return units

    def _of_rows(self, part: Part) -> tuple[Ints, Ints]:
        rows, in_part, codes = self.columns.numbered(part)
        n, n_units = len(part.predictions), self.ids.size
        wide = index_type(n_units + 1)
        # strings are looked up once for each id in the part, not for each row
        numbers = np.searchsorted(self.ids, in_part).astype(wide)
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
class RowUnits(Units):
    """Rows of positive weight, drawn within strata of fixed size.

    Attributes
    ----------
    bounds : ndarray of int64, shape (S + 1,)
        The parts with rows of stratum s are the entries from bounds[s] to bounds[s + 1].
    parts, ends : ndarray of int64
        The numbers of these parts in ascending order, and the rows of the stratum up to the end of
        each.
    by_class : bool
        Whether the strata are the classes.
    clusters : IdUnits or None
        Clusters that are the strata and are drawn themselves: rows are drawn anew for each time
        that their cluster is drawn.
    """

    bounds: NDArray[np.int64]
    parts: NDArray[np.int64]
    ends: NDArray[np.int64]
    by_class: bool = False
    clusters: IdUnits | None = None

    @classmethod
    def independent_rows(cls, data: Data, *, by_class: bool) -> "RowUnits":
        """Return the rows of data in one stratum, or in one of each class."""
        is_in_parts = isinstance(data, PartitionedPredictions)
        sizes = data.facts.sizes if is_in_parts else data.class_sizes[None]  # type: ignore[union-attr]
        sizes = sizes if by_class else sizes.sum(axis=1, keepdims=True)
        parts, strata = np.nonzero(sizes)
        return cls(*_by_stratum(strata, parts, sizes[parts, strata], sizes.shape[1]), by_class)

    @classmethod
    def of_clusters(cls, ids: dict[str, Any], data: Data) -> "RowUnits":
        """Return the rows of data, with these ids of their clusters, by argument."""
        columns = IdColumns.of(ids, data)
        counted, parts, n_rows = count(_CountIds(columns, with_rows=True).over(data))
        distinct, clusters = np.unique(counted, return_inverse=True)
        units = IdUnits(columns, distinct)
        rows = _by_stratum(clusters.ravel(), parts, n_rows, distinct.size)
        return cls(*rows, clusters=units)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return LABELS if self.clusters is None else self.clusters.reads

    @property
    def independent(self) -> Units:
        return self if self.clusters is None else self.clusters

    @property
    def n_in_strata(self) -> NDArray[np.int64]:
        ends = np.append(self.ends, 0)
        return np.where(np.diff(self.bounds), ends[self.bounds[1:] - 1], 0)

    def strata(self, part: Part | None) -> tuple[Ints, Floats, NDArray[np.int64]]:
        assert part is not None
        before = part.ranks if self.by_class else part.ranks.sum(keepdims=True)
        return self._stratum_of_rows(part), part.predictions.weights, before

    def shared_counts(self, seed: int, replicates: range) -> Counts | None:
        return None if self.clusters is None else self.clusters.shared_counts(seed, replicates)

    def counts(self, part: Part, seed: int, replicates: range, shared: Counts | None) -> Counts:
        n_draws = np.tile(self.n_in_strata, (len(replicates), 1))
        if shared is not None:
            n_draws *= shared[:-1].T.astype(np.int64)
        of_parts = seed_of(seed, ("rows", "parts"))
        in_part = self.draws_in_part(part, of_parts, replicates.start, n_draws)
        order, blocks = part.remember("order", lambda: self._order(part), self)
        return kernels.resampling.draw_counts(
            seed_of(seed, ("rows", "part", part.number)), replicates.start, in_part, blocks, order,
            len(part.predictions),
        )  # fmt: skip

    def draws_in_part(
        self, part: Part, seed: int, first: int, n_draws: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many of the draws of each stratum, (R, S), fall in a part."""
        places = np.flatnonzero(self.parts == part.number)
        strata = np.searchsorted(self.bounds, places, side="right") - 1
        in_part = np.zeros_like(n_draws)
        of_strata = np.take(n_draws, strata, axis=1)
        in_part[:, strata] = kernels.resampling.draws_in_part(
            seed, first, of_strata, strata, self.bounds, places, self.ends
        )
        return in_part

    def of_rows(self, part: Part) -> tuple[Ints, Ints]:
        n = len(part.predictions)
        wide = index_type(n + 1)
        return np.arange(n, dtype=wide), np.full(n, n, wide)

    def _stratum_of_rows(self, part: Part) -> Ints:
        if self.clusters is not None:
            return self.clusters.of_rows(part)[0]
        labels = part.predictions.labels
        return labels if self.by_class else np.zeros_like(labels)

    def _order(self, part: Part) -> tuple[Ints, Blocks]:
        """Return the rows of a part sorted by stratum, and the blocks that they are drawn in."""
        n_strata = self.bounds.size - 1
        rows = present_rows(part.predictions)
        strata = self._stratum_of_rows(part)[rows]
        bounds = np.concatenate([[0], np.cumsum(np.bincount(strata, minlength=n_strata))])
        order = rows[kernels.sorting.order_by_group(strata, bounds)]
        return order, kernels.resampling.cut_into_blocks(bounds, np.arange(n_strata))


def _by_stratum(strata: Ints, parts: Ints, n_rows: Ints, n_strata: int) -> tuple[Ints, Ints, Ints]:
    """Return the fields of `RowUnits` for so many rows of strata in parts, in any order."""
    order = np.lexsort((parts, strata))
    strata, n_rows = strata[order], n_rows[order]
    bounds = np.searchsorted(strata, np.arange(n_strata + 1))
    before = np.concatenate([[0], np.cumsum(n_rows)])
    return bounds, parts[order], before[1:] - before[bounds[strata]]


@dataclass(frozen=True, eq=False)
class IdColumns:
    """The ids of rows.

    Attributes
    ----------
    names : tuple of str
        Names of the arguments with the ids of each side.
    sides : tuple
        For each side an array, for data in memory, or the name of a column.
    """

    names: tuple[str, ...]
    sides: tuple[Any, ...]

    @classmethod
    def of(cls, ids: dict[str, Any], data: Data) -> "IdColumns":
        """Return the ids of data, by argument; raise unless there is one for each row."""
        for name, side in ids.items():
            check_ids(name, side, data)
        return cls(tuple(ids), tuple(ids.values()))

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | {side for side in self.sides if isinstance(side, str)}

    def numbered(self, part: Part) -> tuple[Ints, NDArray[Any], list[Ints]]:
        """Return rows of positive weight, their distinct ids, and the index of the id of each."""
        return part.remember("ids", lambda: self._numbered(part), self)

    def _numbered(self, part: Part) -> tuple[Ints, NDArray[Any], list[Ints]]:
        names = self.names
        sides = [part.ids(*side) for side in zip(names, self.sides, strict=True)]
        if len(sides) == 2 and sides[0].dtype.kind != sides[1].dtype.kind:
            rule = f"must be ids of one type, not {sides[0].dtype} and {sides[1].dtype}"
            raise ArgumentError(names[1], rule, name=" and ".join(names))
        rows = present_rows(part.predictions)
        return rows, *numbered(*(side[rows] for side in sides))


@dataclass(frozen=True, eq=False)
class _CountIds(Step[Any]):
    """Collect the distinct ids of rows of positive weight.

    Or, with rows, each id of each part, the number of the part, and how many rows have that id.
    """

    columns: IdColumns
    with_rows: bool = False

    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return self.columns.reads

    def add(self, accumulator: Any, prepared: None, part: Part) -> tuple[Ints, ...]:
        _, ids, codes = self.columns.numbered(part)
        counted: tuple[Ints, ...] = (ids,)
        if self.with_rows:
            n_rows = np.bincount(codes[0], minlength=ids.size)
            counted = (ids, np.full(ids.size, part.number), n_rows)
        return counted if accumulator is None else self.merge(accumulator, counted)

    def merge(self, total: tuple[Ints, ...], more: tuple[Ints, ...]) -> tuple[Ints, ...]:
        if type_of(total[0]) != type_of(more[0]):
            rule = f"must be ids of one type in all parts, not {total[0].dtype} and {more[0].dtype}"
            raise ArgumentError(self.columns.names[0], rule)
        if not self.with_rows:
            return (np.union1d(total[0], more[0]),)
        return tuple(np.concatenate(both) for both in zip(total, more, strict=True))


def present_rows(predictions: Predictions) -> Ints:
    """Return the rows of positive weight."""
    n, weights = len(predictions), predictions.weights
    present = np.flatnonzero(weights > 0.0) if weights.size else np.arange(n)
    return present.astype(index_type(n + 1), copy=False)


def seed_of(seed: int, stream: tuple[str | int, ...]) -> int:
    """Return a 64-bit seed for a stream, so that different streams are independent.

    It is the same in every process, since streams are named by strings and integers only.
    """
    text = "".join(
        f"{'s' if isinstance(part, str) else 'i'}{len(str(part))}:{part}" for part in stream
    )
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), "<u4")
    state = np.random.SeedSequence([seed, *words.tolist()])
    return int(state.generate_state(1, np.uint64)[0])
