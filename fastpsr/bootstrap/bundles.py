"""Jobs whose sums share groups: one set of sums of a replicate has the values of them all."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from fastpsr.bootstrap.chunks import chunks_of, numbers_of_samples
from fastpsr.bootstrap.draws import DrawCounts
from fastpsr.bootstrap.job import Job
from fastpsr.bootstrap.layout import Layout
from fastpsr.caching import ByIdentity
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Statistic
from fastpsr.plans import Data, PartitionedPredictions, Plan
from fastpsr.predictions import Floats
from fastpsr.summaries.sums import NeedsSamplesError, PieceSums, Sums

__all__ = ["Bundle", "bundled"]


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
                try:
                    if isinstance(summary, Exception):
                        raise summary
                    out[place][replicate] = metric.finish(summary)
                except NeedsSamplesError:
                    unserved.append((place, replicate))
                except ValueError:
                    pass  # undefined, for example because a class is missing: stays nan
        return out, unserved

    def write_pieces(
        self, totals: Callable[[int, Sums], Iterator[Floats]], out: list[Floats]
    ) -> Plan[None]:
        """Write the values of all replicates, of sums whose groups are found piece by piece.

        `totals` yields (R, G) counts in replicates of the groups of a piece.
        """
        of_jobs = [job.sums for job in self.jobs if isinstance(job.sums, PieceSums)]
        kept: list[list[list[Any]]] = [
            [[] for _ in range(out[place].shape[0])] for place in self.places
        ]
        number = 0
        for read in range(of_jobs[0].n_reads):
            for sums in (yield from of_jobs[0].find(self.jobs[0].data, read)):
                summaries = chain.from_iterable(
                    sums.assemble_each(some, np.empty((*some.shape, 0)))
                    for some in totals(number, sums)
                )
                for replicate, summary in enumerate(summaries):
                    for of_job, each in zip(kept, of_jobs, strict=True):
                        of_job[replicate].append(each.keep(summary))
                number += 1
            del sums, summaries, summary  # before the next are read
        for place, job, of_job, each in zip(self.places, self.jobs, kept, of_jobs, strict=True):
            assert isinstance(job.metric, Statistic)
            for replicate, pieces in enumerate(of_job):
                with suppress(ValueError):  # undefined: stays nan
                    out[place][replicate] = job.metric.finish(each.joined(pieces))

    def find_rows(self) -> Plan[None]:
        """Make sums that are found piece by piece those of rows, which some draws need."""
        sums = self.jobs[0].sums
        if isinstance(sums, PieceSums):
            of_rows = yield from sums.of_rows(self.jobs[0].data)
            for job in self.jobs:
                job.sums = of_rows

    def write(
        self, totals: Floats, first: int, draws: DrawCounts | None, out: list[Floats]
    ) -> Plan[None]:
        """Write the values of (R, G, 1 + sums) of replicates from `first` on.

        `draws` are the draw counts of rows; None if only counts of groups were drawn.
        """
        values, unserved = self.values_of(totals)
        for place, of_job in zip(self.places, values, strict=True):
            out[place][first : first + totals.shape[0]] = of_job
        if not unserved:
            return
        if draws is None:
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
        for chunk in chunks_of(len(unserved), data, numbers_of_samples(data), in_lanes=False):
            some = unserved[chunk.start : chunk.stop]
            views: dict[Hashable, Any] = {}
            numbers = yield [self.jobs[k].value_under(draws, first + r, views) for k, r in some]
            for (k, r), value in zip(some, numbers, strict=True):
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
