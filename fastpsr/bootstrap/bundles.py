"""Jobs whose sums share groups: one set of sums of a replicate has the values of them all."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fastpsr.bootstrap.chunks import chunks_of, numbers_of_samples
from fastpsr.bootstrap.job import Job
from fastpsr.bootstrap.layout import Layout
from fastpsr.bootstrap.row_counts import RowCounts
from fastpsr.caching import ByIdentity
from fastpsr.counts import side_by_side
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, PartitionedPredictions
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Statistic


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
