"""Replicates of metrics: from sums if a metric has sums, else from weighted predictions."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fastpsr.bootstrap.evidence import Job
from fastpsr.bootstrap.group_draws import GroupDraws
from fastpsr.bootstrap.row_draws import Layout, RowCounts, UnitCounts, ranges
from fastpsr.bootstrap.settings import Progress
from fastpsr.bootstrap.units import IndependentRows, Units
from fastpsr.caching import ByIdentity
from fastpsr.counts import count, side_by_side
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, PartitionedPredictions
from fastpsr.data.budget import memory_budget
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Statistic

_DRAWS_PER_CHUNK = 200_000_000  # samples times replicates between looks at the clock: under 0.5 s
_BYTES_PER_CHUNK = 1 << 27
_MOST_PER_READ = 2048  # replicates
_N_READING = 2  # replicates, and subsets, are computed in the same reads
_BYTES_PER_ROW = 64  # of a replicate that is computed from its samples: weights and scores
_N_REPORTS = 10  # of progress, at least


def chunks_of(n_replicates: int, data: Data, n_numbers: int) -> Iterator[range]:
    """Cut replicates into chunks, each with little time and memory.

    For data in parts a chunk is as large as the memory budget allows, since each chunk is a read.
    All passes that share the reads have the same chunks, for which the numbers of all are held.
    """
    n_bytes = 8 * max(n_numbers, 1)
    if isinstance(data, PartitionedPredictions):
        n_held = 2 + data.source.n_parts.bit_length()  # sums of parts in the tree
        most = min(_MOST_PER_READ, memory_budget() // (_N_READING * n_held * n_bytes))
    else:
        most = min(_DRAWS_PER_CHUNK // len(data), _BYTES_PER_CHUNK // n_bytes)
    return ranges(n_replicates, max(1, most))


def numbers_of_samples(data: Data) -> int:
    """Return how many numbers a replicate of the samples takes, while a part of them is read."""
    if not isinstance(data, PartitionedPredictions):
        return 0  # replicates are computed one after another
    of_part = int(data.facts.n_rows.max()) * _BYTES_PER_ROW // 8
    of_whole = len(data) * (2 + (data.n_classes if data.n_classes > 2 else 1))
    # each replicate may collect its samples, unless that would be refused
    return max(of_part, of_whole) if 8 * of_whole <= memory_budget() else of_part


@dataclass(frozen=True, eq=False)
class Bundle:
    """Jobs whose sums share groups, so that one set of sums serves them all."""

    places: list[int]
    jobs: list[Job]

    @property
    def sums(self) -> list[Sums]:
        """The sums of the jobs, once each: jobs may share them."""
        distinct = {ByIdentity(job.sums): job.sums for job in self.jobs}
        return [sums for sums in distinct.values() if sums is not None]

    def layout(self, data: list[Data]) -> Layout:
        """Return the layout of the bundle; data that it needs are appended to `data`."""
        job, sums = self.jobs[0], tuple(self.sums)
        places = [tuple(_place_of(each, data) for each in (job.data, *one.beside)) for one in sums]
        return Layout(sums, tuple(places), job.subset)

    def values_of(self, totals: Floats) -> tuple[list[Floats], list[tuple[int, int]]]:
        """Return the values of each job, (R,) or (R, P) of curves, of (R, G, 1 + sums) sums.

        Also return which of them need the samples.
        """
        n_replicates = totals.shape[0]
        out = [np.full((n_replicates, *job.shape), np.nan) for job in self.jobs]
        unserved = []
        columns, begin = {}, 1
        for one in self.sums:
            columns[ByIdentity(one)] = slice(begin, begin + one.n_sums)
            # polynomials are those of all jobs of a bundle
            begin += 0 if one.degree else one.n_sums
        drawn = np.flatnonzero(totals[:, :, 0].any(axis=1))  # others are undefined
        totals = totals if drawn.size == n_replicates else totals[drawn]
        # without sums all share one summary
        sources = [job.sums if job.sums and job.sums.n_sums else self.sums[0] for job in self.jobs]
        assembling = {
            ByIdentity(one): one.assemble_each(
                totals[:, :, 0], totals[:, :, columns[ByIdentity(one)]]
            )
            for one in {ByIdentity(source): source for source in sources}.values()
        }
        for replicate in drawn.tolist():
            assembled = {source: next(each) for source, each in assembling.items()}
            for place, (job, source) in enumerate(zip(self.jobs, sources, strict=True)):
                metric, summary = job.metric, assembled[ByIdentity(source)]
                assert isinstance(metric, Statistic)
                if summary is None:
                    unserved.append((place, replicate))
                    continue
                try:
                    if isinstance(summary, ValueError):
                        raise summary
                    out[place][replicate] = metric.finish(summary)
                except ValueError:
                    pass  # undefined, for example because a class is missing: stays nan
        return out, unserved

    def write(self, totals: Floats, first: int, draws: RowCounts, out: list[Floats]) -> None:
        """Write the values of (R, G, 1 + sums) of replicates from `first` on."""
        values, unserved = self.values_of(totals)
        for place, of_job in zip(self.places, values, strict=True):
            out[place][first : first + totals.shape[0]] = of_job
        if not unserved:
            return
        if draws.are_of_counts:
            raise ValueError(
                f"metric {self.jobs[unserved[0][0]].name} must not need samples where its sums "
                "are counts alone: give them a column"
            )
        for job in self.jobs:
            beside = job.sums.beside if job.sums is not None else ()
            if isinstance(job.data, PartitionedPredictions) and beside:
                raise ArgumentError("data", f"must fit in memory for {job.name}: some of its "
                                    "replicates need samples beside others")  # fmt: skip
        data = self.jobs[0].data
        for chunk in chunks_of(len(unserved), data, numbers_of_samples(data)):
            some = unserved[chunk.start : chunk.stop]
            views: dict[Hashable, Any] = {}
            under = [partial(self.jobs[k].value_under, draws, first + r, views) for k, r in some]
            for (k, r), value in zip(some, side_by_side(*under, over=data), strict=True):
                out[self.places[k]][first + r] = value


def bundled(jobs: list[Job]) -> tuple[list[Bundle], list[int]]:
    """Return the jobs with sums by bundle, and the indices of those without."""
    bundles: dict[Any, Bundle] = {}
    others = []
    for place, job in enumerate(jobs):
        if job.sums is None:
            others.append(place)
            continue
        bundle = bundles.setdefault((ByIdentity(job.data), job.sums.key), Bundle([], []))
        bundle.places.append(place)
        bundle.jobs.append(job)
    return list(bundles.values()), others


def _place_of(one: Data, data: list[Data]) -> int:
    """Return the index of an object in `data`, to which it is appended if it is not there."""
    for place, other in enumerate(data):
        if other is one:
            return place
    data.append(one)
    return len(data) - 1


def draw_replicates(
    jobs: list[Job],
    units: Units,
    n_resamples: int,
    seed: int,
    *,
    jointly: bool,
    progress: Progress,
) -> list[Floats]:
    """Return the replicates of each job, (R,), or (R, P) of curves; nan where undefined.

    Parameters
    ----------
    jobs : list of Job
        Prepared, and all on the same samples or, if `jointly`, groups of them.
    jointly : bool
        Whether all metrics must see the same draws, so that they can be subtracted.
    progress : callable
        Called with the number of replicates done and their total, over all passes.
    """
    bundles, others = bundled(jobs)
    out = [np.full((n_resamples, *job.shape), np.nan) for job in jobs]
    n_passes = len(bundles) + bool(others)
    advance = _Count(progress, n_resamples * n_passes)
    alone, remaining = [], []
    for bundle in bundles:
        data = [bundle.jobs[0].data]
        layout = bundle.layout(data)
        weight = None if jointly else data[0].common_weight
        if weight is not None and isinstance(units, IndependentRows):
            alone.append((bundle, GroupDraws(layout, units, seed, weight), data))
        else:
            remaining.append(bundle)
    n_numbers = sum(0 if draws.are_of_counts else draws.layout.n_numbers for _, draws, _ in alone)
    passes: list[Callable[[], None]] = []
    if remaining or others:
        draws_of_units = units.draws(seed)
        n_numbers += _numbers_under(jobs, remaining, others, draws_of_units)
        passes += _passes_under(jobs, remaining, others, draws_of_units, out, advance, n_numbers)
    passes += [partial(_draw_groups, *drawn, out, advance, n_numbers) for drawn in alone]
    side_by_side(*passes, over=jobs[0].whole)
    return out


def values_under(jobs: list[Job], draws: UnitCounts, n_replicates: int) -> Floats:
    """Return (J, R) values of metrics on the units that each replicate keeps."""
    bundles, others = bundled(jobs)
    out = [np.full(n_replicates, np.nan) for _ in jobs]
    n_numbers = _numbers_under(jobs, bundles, others, draws)
    passes = _passes_under(jobs, bundles, others, draws, out, lambda n: None, n_numbers)
    side_by_side(*passes, over=jobs[0].whole)
    return np.array(out)


class _Count:
    """Replicates done, over all passes."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, n: int) -> None:
        self._done += n
        self._progress(self._done, self._total)


def _draw_groups(
    bundle: Bundle,
    draws: GroupDraws,
    data: list[Data],
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> None:
    """Write the replicates of a bundle, with draws of groups for it alone.

    `n_numbers` is how many a replicate of all passes takes that share the reads.
    """
    sizes = None
    if draws.are_of_counts:
        sizes = draws.group_sizes(data)
        n_numbers = draws.layout.n_numbers
    for chunk in chunks_of(out[0].shape[0], data[0], n_numbers):
        if sizes is None:
            totals = count(draws.totals(chunk).over(*data))
        else:
            totals = draws.of_counts(sizes, chunk)
        bundle.write(totals, chunk.start, draws, out)
        advance(len(chunk))


def _numbers_under(
    jobs: list[Job], bundles: list[Bundle], others: list[int], draws: UnitCounts
) -> int:
    """Return how many numbers a replicate takes of jobs that share the draws of units."""
    whole = jobs[0].whole
    n_numbers = (
        sum(bundle.layout([whole]).n_numbers for bundle in bundles) + draws.units.n_shared // 2
    )
    return n_numbers + len(others) * numbers_of_samples(whole)


def _passes_under(
    jobs: list[Job],
    bundles: list[Bundle],
    others: list[int],
    draws: UnitCounts,
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> list[Callable[[], None]]:
    """Return what writes the replicates of jobs that share the draws of units."""
    passes: list[Callable[[], None]] = []
    if bundles:
        whole = jobs[0].whole
        passes.append(partial(_sum_units, whole, bundles, draws, out, advance, n_numbers))
    if others:
        chosen = {place: jobs[place] for place in others}
        passes.append(partial(_go_to_samples, chosen, draws, out, advance, n_numbers))
    return passes


def _sum_units(
    data: Data,
    bundles: list[Bundle],
    draws: UnitCounts,
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> None:
    """Write the replicates of bundles that have sums."""
    beside = [data]
    layouts = tuple(bundle.layout(beside) for bundle in bundles)
    n_replicates = out[0].shape[0]
    if isinstance(data, PartitionedPredictions):
        chunks = chunks_of(n_replicates, data, n_numbers)
    else:
        fitting = draws.at_once(sum(one.n_numbers for one in layouts), len(data))
        chunks = ranges(n_replicates, min(fitting, _between_reports(n_replicates)))
    for chunk in chunks:
        totals = count(draws.totals(layouts, chunk).over(*beside))
        for bundle, of_bundle in zip(bundles, totals, strict=True):
            bundle.write(of_bundle, chunk.start, draws, out)
            advance(len(chunk))


def _between_reports(n_replicates: int) -> int:
    """Return the most replicates between two reports of progress."""
    return -(-n_replicates // _N_REPORTS)


def _go_to_samples(
    jobs: dict[int, Job],
    draws: RowCounts,
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> None:
    """Write the replicates of jobs without sums, each computed from the samples."""
    n_replicates = out[0].shape[0]
    data = next(iter(jobs.values())).whole

    def one(replicate: int) -> None:
        views: dict[Hashable, Any] = {}
        values = [partial(job.value_under, draws, replicate, views) for job in jobs.values()]
        for place, value in zip(jobs, side_by_side(*values, over=data), strict=True):
            out[place][replicate] = value
        advance(1)

    for chunk in chunks_of(n_replicates, data, n_numbers):
        side_by_side(*(partial(one, replicate) for replicate in chunk), over=data)
