"""Replicates of metrics: from sums if a metric has sums, else from weighted predictions."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np

from fastpsr.bootstrap.bundles import Bundle, bundled
from fastpsr.bootstrap.chunks import chunks_of, numbers_of_samples, ranges
from fastpsr.bootstrap.group_draws import GroupDraws
from fastpsr.bootstrap.job import Job, Progress
from fastpsr.bootstrap.row_counts import RowCounts
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.bootstrap.unit_counts import UnitCounts
from fastpsr.bootstrap.units import IndependentRows, Units
from fastpsr.counts import count, side_by_side
from fastpsr.data import Data, Floats, PartitionedPredictions

_N_REPORTS = 10  # of progress, at least


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


def values_under(jobs: list[Job], draws: SubsetDraws) -> Floats:
    """Return (J, R) values of metrics on the units that each replicate keeps."""
    bundles, others = bundled(jobs)
    out = [np.full(draws.n_replicates, np.nan) for _ in jobs]
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
