"""Replicates of metrics: from sums if a metric has sums, else from weighted predictions."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.bundles import Bundle, bundled
from fastpsr.bootstrap.chunks import chunks_of, numbers_of_samples, ranges
from fastpsr.bootstrap.draws import DrawCounts, Draws
from fastpsr.bootstrap.job import Job, Progress
from fastpsr.bootstrap.layout import Layout, counts_suffice, known_counts
from fastpsr.bootstrap.rows import CountDraws, DrawnTotals, RowDraws
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.bootstrap.units import Units
from fastpsr.kernels.sizes import LANES
from fastpsr.plans import Data, PartitionedPredictions, Plan
from fastpsr.plans.budget import memory_budget
from fastpsr.predictions import Floats
from fastpsr.summaries.sums import PieceSums, Sums

__all__ = ["draw_replicates", "values_under"]

_BYTES_AT_ONCE = 1 << 22  # of counts, that stay in the cache
_SHARE_OF_COUNTS = 8  # of the memory budget, for counts of groups
_N_REPORTS = 10  # of progress, at least


def draw_replicates(
    jobs: list[Job],
    units: Units,
    n_resamples: int,
    seed: int,
    *,
    jointly: bool,
    progress: Progress,
) -> Plan[list[Floats]]:
    """Plan: return the replicates of each job, (R,), or (R, P) of curves; nan where undefined.

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
    plans: list[Plan[None]] = []
    alone, remaining, n_numbers = [], [], 0
    for bundle in bundles:
        data = [bundle.jobs[0].data]
        layout = bundle.layout(data)
        draws = None if jointly else units.draws_alone(layout, seed)
        if draws is None:
            remaining.append(bundle)
        else:
            alone.append((bundle, layout, data, draws))
            n_numbers += 0 if counts_suffice(layout, data[0]) else layout.n_numbers
    yield [bundle.find_rows() for bundle in remaining]
    if remaining or others:
        draws_of_units = units.draws(seed)
        n_numbers += _numbers_under(jobs, remaining, others, draws_of_units)
        plans += _plans_under(jobs, remaining, others, draws_of_units, out, advance, n_numbers)
    plans += [_draw_rows(*each, out, advance, n_numbers) for each in alone]
    yield plans
    return out


def values_under(jobs: list[Job], draws: SubsetDraws, *, jointly: bool) -> Plan[Floats]:
    """Plan: return (J, R) values of metrics on the units that each replicate keeps."""
    bundles, others = bundled(jobs)
    out = [np.full(draws.n_replicates, np.nan) for _ in jobs]
    remaining = []
    for bundle in bundles:
        if jointly or not (yield from _deal_counts(bundle, draws, out)):
            remaining.append(bundle)
    yield [bundle.find_rows() for bundle in remaining]
    if remaining or others:
        n_numbers = _numbers_under(jobs, remaining, others, draws)
        yield _plans_under(jobs, remaining, others, draws, out, lambda n: None, n_numbers)
    return np.array(out)


class _Count:
    """Replicates done, over all passes."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, n: int) -> None:
        self._done += n
        self._progress(self._done, self._total)


def _draw_rows(
    bundle: Bundle,
    layout: Layout,
    data: list[Data],
    draws: RowDraws,
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> Plan[None]:
    """Write the replicates of a bundle, with draws of rows for it alone.

    `n_numbers` is how many a replicate of all plans takes that share the reads.
    """
    counts = yield from known_counts(layout, tuple(data))
    n_replicates = out[0].shape[0]
    if counts is not None:
        of_whole = draws.of_whole(counts, n_replicates)
        if isinstance(layout.sums[0], PieceSums):
            yield from _draw_pieces(bundle, draws, of_whole, out)
            advance(n_replicates)
            return
        for first, totals in _totals_of_counts(of_whole):
            yield from bundle.write(totals, first, None, out)
            advance(totals.shape[0])
        return
    for chunk in chunks_of(n_replicates, data[0], n_numbers):
        step = DrawnTotals(layout, draws, chunk.start, len(chunk))
        (totals,) = yield [step.over(*data)]
        yield from bundle.write(totals, chunk.start, draws, out)
        advance(len(chunk))


def _totals_of_counts(draws: CountDraws) -> Iterator[tuple[int, Floats]]:
    """Yield (R, G, 1) counts in some replicates, after the number of the first of them."""
    n_bytes = 8 * max(draws.n_groups, 1)
    at_once = max(1, memory_budget() // _SHARE_OF_COUNTS // n_bytes)
    for chunk in ranges(draws.n_draws.shape[0], at_once):
        yield chunk.start, draws.totals(chunk.start, len(chunk))


def _draw_pieces(
    bundle: Bundle, draws: RowDraws, of_whole: CountDraws, out: list[Floats]
) -> Plan[None]:
    """Write the replicates of a bundle piece by piece, after the draws are divided over pieces."""
    n_replicates = of_whole.n_draws.shape[0]
    counts = of_whole.totals(0, n_replicates)[:, :, 0].astype(np.int64)

    def totals(number: int, sums: Sums) -> Iterator[Floats]:
        by_class = counts.reshape(n_replicates, sums.n_classes, -1)[:, :, number]
        for _, some in _totals_of_counts(draws.of_piece(number, sums, by_class)):
            yield some[:, :, 0]

    yield from bundle.write_pieces(totals, out)


def _deal_counts(bundle: Bundle, draws: SubsetDraws, out: list[Floats]) -> Plan[bool]:
    """Write the replicates of a bundle if counts of its groups suffice; return whether they do."""
    data = [bundle.jobs[0].data]
    layout = bundle.layout(data)
    strata, bytes_each = draws.strata_of_groups(layout), 8 * layout.n_groups
    if strata is None:
        return False
    counts = yield from known_counts(layout, tuple(data))
    if counts is None:
        return False
    before = np.cumsum(counts) - counts
    in_stratum = before - before[np.searchsorted(strata, strata)]
    if isinstance(layout.sums[0], PieceSums):
        sections = np.column_stack([strata, in_stratum, counts])
        yield from _deal_pieces(bundle, draws, sections, out)
        return True
    last = np.flatnonzero(np.diff(strata, append=-1))  # group of each stratum
    sections = np.column_stack([strata[last], np.zeros_like(last), (in_stratum + counts)[last]])
    first = 0
    for some in draws.of_counts(counts, sections, max(1, _BYTES_AT_ONCE // bytes_each)):
        yield from bundle.write(some[:, :, None], first, None, out)
        first += some.shape[0]
    return True


def _deal_pieces(
    bundle: Bundle, draws: SubsetDraws, sections: NDArray[np.int64], out: list[Floats]
) -> Plan[None]:
    """Write the replicates of a bundle piece by piece, of which each class is a section of rows."""

    def totals(number: int, sums: Sums) -> Iterator[Floats]:
        assert sums.known_weight is not None
        own = sections.reshape(sums.n_classes, -1, 3)[:, number]
        at_once = max(1, _BYTES_AT_ONCE // (8 * sums.n_groups))
        return draws.of_counts(sums.known_weight.astype(np.int64), own, at_once)

    yield from bundle.write_pieces(totals, out)


def _numbers_under(jobs: list[Job], bundles: list[Bundle], others: list[int], draws: Draws) -> int:
    """Return how many numbers a replicate takes of jobs that share the draws of units."""
    whole = jobs[0].whole
    n_numbers = sum(bundle.layout([whole]).n_numbers for bundle in bundles) + draws.n_shared // 2
    return n_numbers + len(others) * numbers_of_samples(whole)


def _plans_under(
    jobs: list[Job],
    bundles: list[Bundle],
    others: list[int],
    draws: Draws,
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> list[Plan[None]]:
    """Return plans that write the replicates of jobs that share the draws of units."""
    plans = []
    if bundles:
        plans.append(_sum_units(jobs[0].whole, bundles, draws, out, advance, n_numbers))
    if others:
        chosen = {place: jobs[place] for place in others}
        plans.append(_go_to_samples(chosen, draws, out, advance, n_numbers))
    return plans


def _sum_units(
    data: Data,
    bundles: list[Bundle],
    draws: Draws,
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> Plan[None]:
    """Write the replicates of bundles that have sums."""
    beside = [data]
    layouts = tuple(bundle.layout(beside) for bundle in bundles)
    n_replicates = out[0].shape[0]
    if isinstance(data, PartitionedPredictions):
        chunks = chunks_of(n_replicates, data, n_numbers)
    else:
        fitting = draws.at_once(sum(one.n_numbers for one in layouts))
        chunks = ranges(n_replicates, min(fitting, _between_reports(n_replicates)))
    for chunk in chunks:
        (totals,) = yield [draws.totals(layouts, chunk.start, len(chunk)).over(*beside)]
        for bundle, of_bundle in zip(bundles, totals, strict=True):
            yield from bundle.write(of_bundle, chunk.start, draws, out)
            advance(len(chunk))


def _between_reports(n_replicates: int) -> int:
    """Return the most replicates, in whole lanes, between two reports of progress."""
    return -(-n_replicates // (_N_REPORTS * LANES)) * LANES


def _go_to_samples(
    jobs: dict[int, Job],
    draws: DrawCounts,
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> Plan[None]:
    """Write the replicates of jobs without sums, each computed from the samples."""
    n_replicates = out[0].shape[0]
    data = next(iter(jobs.values())).whole
    for job in jobs.values():
        yield from job.pin()

    def one(replicate: int) -> Plan[None]:
        views: dict[Hashable, Any] = {}
        values = yield [job.value_under(draws, replicate, views) for job in jobs.values()]
        for place, value in zip(jobs, values, strict=True):
            out[place][replicate] = value
        advance(1)

    for chunk in chunks_of(n_replicates, data, n_numbers, in_lanes=False):
        yield [one(replicate) for replicate in chunk]
