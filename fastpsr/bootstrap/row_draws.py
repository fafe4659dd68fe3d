"""Draws of rows: how often each is drawn in a replicate, and the sums of the rows drawn."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import ByIdentity
from fastpsr.counts.sums import Sums
from fastpsr.data import LABELS, Data, Floats, Predictions, Selection, Transform
from fastpsr.data.steps import Part, Step
from fastpsr.kernels.blocks import on_threads, thread_count, together
from fastpsr.kernels.types import DEGREE, index_type

if TYPE_CHECKING:
    from fastpsr.bootstrap.units import RowUnits, Units

_MOST_AT_ONCE = 64  # replicates, whose counts of a unit lie side by side
_FEWEST_AT_ONCE = 4
_BYTES_OF_COUNTS = 1 << 27  # for each thread
_BYTES_OF_SUMS = 1 << 26
#: Counts (U + 1, R) of U units in R replicates; the last row is for rows of one unit only: 1.
Counts = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Subset:
    """Rows of a group in the whole, which is drawn.

    Attributes
    ----------
    whole : Predictions or PartitionedPredictions
    rows : ndarray of int64, or Selection
        Row numbers in memory; in parts what the group was made with.
    """

    whole: Data
    rows: NDArray[np.int64] | Selection

    def __reduce__(self) -> tuple[type["Subset"], tuple[Any, ...]]:
        # only parts are sent to other processes, and these know what they were made from
        return Subset, (None, self.rows)

    def whole_of(self, part: Part) -> Part:
        """Return the part of the whole that has the rows of a part of the group."""
        if isinstance(self.rows, Selection):
            assert part.before is not None
            return part.before
        assert isinstance(self.whole, Predictions)
        return Part.whole(self.whole)

    def places(self, part: Part) -> NDArray[np.int64]:
        """Return the row number in the whole's part of each row of a part of the group, (n,)."""
        rows = self.rows
        if not isinstance(rows, Selection):
            return rows
        places: NDArray[np.int64] = part.remember(
            ("rows in the whole", self),
            lambda: np.flatnonzero(rows.rows(self.whole_of(part))),
        )
        return places

    def spread(self, part: Part, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the rows of a part of the group, with 0 at the whole's other rows."""
        full = np.zeros(len(self.whole_of(part).predictions), values.dtype)
        full[self.places(part)] = values
        return full


class RowCounts(ABC):
    """A count for each row and replicate: plain data."""

    #: What is read of a part.
    reads: frozenset[str]
    #: Whether only counts of groups are drawn, so that those of rows are not known.
    are_of_counts = False

    @abstractmethod
    def of_rows(self, part: Part, replicate: int) -> Floats:
        """Return the draw count of each row of a part, (n,)."""


class Reweighted(Transform):
    """Rows weighted by their draw counts in a replicate, times their own weight.

    Rows of a subset are drawn with those of the whole.
    """

    keeps_rows = False
    is_replicate = True

    def __init__(self, draws: RowCounts, replicate: int, subset: Subset | None = None) -> None:
        self._draws, self._replicate, self._subset = draws, replicate, subset
        self._counts: Floats | None = None  # of rows in memory, which are the same for all data
        self.reads = draws.reads

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        if not len(predictions) or not part.has_weight:
            return predictions
        counts = self._counts if part.is_in_memory else None
        if counts is None:
            counts = self.counts_of(part)
            self._counts = counts if part.is_in_memory else None
        weights = predictions.weights
        return predictions.reweighted(counts * weights if weights.size else counts, counts)

    def counts_of(self, part: Part) -> Floats:
        """Return the draw count of each row of a part, (n,)."""
        subset = self._subset
        whole = part if subset is None else subset.whole_of(part)
        counts = self._draws.of_rows(whole, self._replicate)
        return counts if subset is None else counts[subset.places(part)]


def seed_of(seed: int, stream: tuple[str | int, ...]) -> int:
    """Return a 64-bit seed for a stream, so that different streams are independent.

    It is the same in every process, since streams are named by strings and integers only.
    """
    text = "".join(f"{_kind(part)}{len(str(part))}:{part}" for part in stream)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), "<u4")
    state = np.random.SeedSequence([seed, *words.tolist()])
    return int(state.generate_state(1, np.uint64)[0])


def _kind(part: object) -> str:
    if isinstance(part, str):
        return "s"
    if isinstance(part, (int, np.integer)):
        return "i"
    raise TypeError(f"streams are named by strings and integers, not {part!r}")


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


class UnitCounts(RowCounts):
    """Counts of units in replicates; the count of a row is the product of those of its units."""

    def __init__(self, units: "Units") -> None:
        self.units, self.reads = units, units.reads

    def shared(self, replicates: range) -> Counts | None:
        """Return the counts of units that all parts share, if there are some."""
        return None

    @abstractmethod
    def of_part(self, part: Part, replicates: range, shared: Counts | None) -> Counts:
        """Return the counts of the units of a part, given those that all parts share."""

    def of_rows(self, part: Part, replicate: int) -> Floats:
        replicates = range(replicate, replicate + 1)
        counts = self.of_part(part, replicates, self.shared(replicates))[:, 0].astype(np.float64)
        one, other = self.units.numbers(part)
        return np.asarray(counts[one] * counts[other])

    def terms(self, layout: Layout, parts: tuple[Part, ...]) -> tuple[NDArray[Any], ...]:
        """Return units, groups, weights and columns of the rows of a part; in memory kept."""

        def compute() -> tuple[NDArray[Any], ...]:
            rows = layout.rows(parts)
            one, other = (of_side[rows.numbers] for of_side in self.units.numbers(parts[0]))
            return one, other, rows.groups, rows.weights, rows.columns

        return layout.cache.of(layout.part(parts), "terms", compute)  # type: ignore[no-any-return]

    def totals(self, layouts: tuple[Layout, ...], replicates: range) -> Step[Any]:
        """Return the step that sums layouts in replicates: (R, G, 1 + sums) of each."""
        return CountedTotals(layouts, self, replicates)

    def at_once(self, n_numbers: int, n_rows: int) -> int:
        """Return how many replicates of so many sums are best computed together in memory."""
        n_threads = thread_count()
        most = _BYTES_OF_SUMS // (8 * max(n_numbers, 1) * n_threads)
        lanes = _lanes(self.units.n_shared or n_rows)
        return n_threads * min(max(most, _FEWEST_AT_ONCE), lanes)


class DrawnIds(UnitCounts):
    """Units that all parts share, drawn with replacement, as many as there are."""

    def __init__(self, units: "Units", seed: int) -> None:
        super().__init__(units)
        self._seed = seed_of(seed, ("units", "part", 0))

    def shared(self, replicates: range) -> Counts:
        n = self.units.n_shared
        n_draws = np.full((len(replicates), 1), n)
        blocks = kernels.resampling.cut_into_blocks(np.array([0, n]), np.zeros(1, np.int64))
        order = np.arange(n, dtype=np.int32)
        return kernels.resampling.draw_counts(
            self._seed, replicates.start, n_draws, blocks, order, n
        )

    def of_part(self, part: Part, replicates: range, shared: Counts | None) -> Counts:
        assert shared is not None
        return shared


class DrawnRows(UnitCounts):
    """Rows drawn with replacement from strata, from each as many as it has.

    If strata are drawn themselves, rows are drawn anew for each time that a stratum is drawn.
    """

    def __init__(self, units: "RowUnits", seed: int, strata: UnitCounts | None = None) -> None:
        super().__init__(units)
        self._rows, self._seed, self._strata = units, seed, strata

    def shared(self, replicates: range) -> Counts | None:
        return None if self._strata is None else self._strata.shared(replicates)

    def of_part(self, part: Part, replicates: range, shared: Counts | None) -> Counts:
        rows, first = self._rows.rows, replicates.start
        n_draws = np.tile(rows.in_strata, (len(replicates), 1))
        if shared is not None:
            n_draws *= shared[:-1].T.astype(np.int64)
        in_part = rows.draws_in(part.number, seed_of(self._seed, ("rows", "parts")), first, n_draws)
        seed = seed_of(self._seed, ("rows", "part", part.number))
        order, blocks = self._rows.order(part)
        return kernels.resampling.draw_counts(
            seed, first, in_part, blocks, order, len(part.predictions)
        )


@dataclass(frozen=True, eq=False)
class CountedTotals(Step[Any]):
    """Sums of several layouts in several replicates, of rows weighted by their draw counts."""

    layouts: tuple[Layout, ...]
    draws: UnitCounts
    replicates: range

    @property
    def reads(self) -> frozenset[str]:
        return self.draws.reads.union(*(layout.reads for layout in self.layouts))

    def prepare(self) -> Counts | None:
        return self.draws.shared(self.replicates)

    def start(self) -> list[Floats]:
        n = len(self.replicates)
        return [np.zeros((layout.n_groups, 1 + layout.n_sums, n)) for layout in self.layouts]

    def add(self, accumulator: list[Floats], shared: Counts | None, *parts: Part) -> list[Floats]:
        draws, part = self.draws, parts[0]
        present = [
            (layout.degree, sums, draws.terms(layout, parts))
            for layout, sums in zip(self.layouts, accumulator, strict=True)
            if not layout.is_absent(parts)
        ]

        def add_some(begin: int, end: int) -> None:
            some, given = self.replicates[begin:end], shared
            if given is not None:
                given = np.ascontiguousarray(given[:, begin:end])
            with on_threads(1):
                counts = draws.of_part(part, some, given)
                for degree, sums, terms in present:
                    # not in place: threads would write to the same lines of the cache
                    sums_here = np.zeros((*sums.shape[:2], end - begin))
                    kernels.resampling.sum_counted_rows(counts, terms, degree, sums_here)
                    sums[:, :, begin:end] += sums_here

        n = len(self.replicates)
        at_once = min(_lanes(draws.units.size_in(part)), -(-n // thread_count()))
        together(*(partial(add_some, some.start, some.stop) for some in ranges(n, at_once)))
        return accumulator

    def merge(self, one: list[Floats], other: list[Floats]) -> list[Floats]:
        for sums, more in zip(one, other, strict=True):
            sums += more
        return one

    def finish(self, accumulator: list[Floats]) -> list[Floats]:
        return [np.ascontiguousarray(np.moveaxis(sums, 2, 0)) for sums in accumulator]


def _lanes(n_units: int) -> int:
    """Return how many replicates of so many units a thread counts together."""
    fitting = _BYTES_OF_COUNTS // (4 * max(n_units, 1))
    return min(max(fitting, _FEWEST_AT_ONCE), _MOST_AT_ONCE)


def ranges(n_replicates: int, size: int) -> Iterator[range]:
    """Cut replicates into ranges of a size, of which the last may be shorter."""
    for first in range(0, n_replicates, size):
        yield range(first, min(first + size, n_replicates))
