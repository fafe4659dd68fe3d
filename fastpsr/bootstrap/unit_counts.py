"""Draw counts of units, and sums of the rows that depend on them."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.chunks import ranges
from fastpsr.bootstrap.layout import Layout
from fastpsr.bootstrap.row_counts import RowCounts
from fastpsr.bootstrap.streams import seed_of
from fastpsr.data import Floats
from fastpsr.data.part import Part
from fastpsr.data.steps import Step
from fastpsr.kernels.blocks import on_threads, thread_count, together

if TYPE_CHECKING:
    from fastpsr.bootstrap.units import RowUnits, Units

_MOST_AT_ONCE = 64  # replicates, whose counts of a unit lie side by side
_FEWEST_AT_ONCE = 4
_BYTES_OF_COUNTS = 1 << 27  # for each thread
_BYTES_OF_SUMS = 1 << 26

#: Counts (U + 1, R) of U units in R replicates; the last row is for rows of one unit only: 1.
Counts = NDArray[np.float32]


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

    def totals(self, layouts: tuple[Layout, ...], replicates: range) -> Step:
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
class CountedTotals(Step):
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
