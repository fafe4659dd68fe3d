"""Replicates of metrics: from sums if a metric has sums, else from weighted predictions."""

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.draws import DrawCounts, Draws, Reweighted
from fastpsr.bootstrap.layout import Layout, counts_suffice, known_counts
from fastpsr.bootstrap.rows import CountDraws, DrawnTotals, RowDraws
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.bootstrap.subsets import Subset
from fastpsr.bootstrap.units import Units
from fastpsr.caching import ByIdentity, cached_property
from fastpsr.errors import ArgumentError, kept_warnings
from fastpsr.interval_rule import IntervalRule
from fastpsr.kernels.blocks import thread_count
from fastpsr.kernels.sizes import LANES
from fastpsr.metrics.base import Metric, Statistic
from fastpsr.plans import Data, Part, PartitionedPredictions, Plan, begin, mapped
from fastpsr.plans.budget import budget_of_all, memory_budget
from fastpsr.plans.watching import hold
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.sums import NeedsSamplesError, PieceSums, Sums

__all__ = [
    "AnyMetric",
    "Job",
    "Progress",
    "Sum",
    "as_number",
    "draw_replicates",
    "in_silence",
    "name_of",
    "values_under",
]

AnyMetric = Metric[Any] | Callable[[Predictions], float]
Progress = Callable[[int, int], object]

_DRAWS_PER_CHUNK = 200_000_000  # samples times replicates between looks at the clock: under 0.5 s
_BYTES_PER_CHUNK = 1 << 27
_BYTES_AT_ONCE = 1 << 22  # of counts, that stay in the cache
_MOST_PER_READ = 2048  # replicates
_SHARE_OF_COUNTS = 8  # of the memory budget, for counts of groups
_N_READING = 2  # replicates, and subsets, are computed in the same reads
_NUMBERS_SIDE_BY_SIDE = 1 << 20  # weights of the samples in replicates that are refitted at once
_BYTES_PER_ROW = 64  # of a replicate that is computed from its samples: weights and scores


@dataclass(eq=False)
class Job:
    """A metric, or the values of a curve, of some data, and its prepared sums.

    A subset is drawn with its whole; `shape` is that of the value, () for a metric.
    """

    metric: AnyMetric | Statistic[Any, Floats]
    data: Data
    subset: Subset | None = None
    sums: Sums | None = None
    shape: tuple[int, ...] = ()
    refits: Any = None
    _pinned: list[AnyMetric | Statistic[Any, Floats]] = field(default_factory=list)

    @cached_property
    def name(self) -> str:
        """Name of the metric in messages."""
        return name_of(self.metric)

    @property
    def interval_rule(self) -> IntervalRule:
        """How its intervals are computed; functions of the caller have the default."""
        rule: IntervalRule = getattr(self.metric, "interval_rule", Metric.interval_rule)
        return rule

    @property
    def value_range(self) -> tuple[float, float]:
        """Least and greatest value that it can have."""
        ends: tuple[float, float] = getattr(self.metric, "value_range", Metric.value_range)
        return ends

    @property
    def whole(self) -> Data:
        """The data whose units are drawn."""
        return self.data if self.subset is None else self.subset.whole

    def prepare(self) -> Plan[None]:
        """Plan: request the sums of the metric, or what computes replicates without."""
        if isinstance(self.metric, Statistic):
            yield from begin(self.data)
            if self.data.follows_weights:  # so that scores of replicates are others
                return
            sums = yield from self.metric.sums(self.data)
            if sums is not None and sums.are_reweightable:
                self.sums = sums
            if sums is None and isinstance(self.data, Predictions):
                self.refits = yield from self.metric.refits(self.data)

    def pin(self) -> Plan[AnyMetric | Statistic[Any, Floats]]:
        """Plan: return the metric with fixed folds."""
        if not self._pinned:
            metric: Any = self.metric
            if isinstance(metric, Metric):
                metric = yield from metric.fixed_to(self.data)
            self._pinned.append(metric)
        return self._pinned[0]

    def values_of_refits(self, draws: DrawCounts, replicates: range) -> Floats:
        """Return the values under draw counts that refits yield, (R,) or (R, P); else nan."""
        assert isinstance(self.metric, Statistic)
        assert isinstance(self.data, Predictions)
        part = Part.whole(self.data)
        own = part.predictions.weights
        weights = np.empty((len(replicates), len(self.data)))
        for row, replicate in zip(weights, replicates, strict=True):
            row[:] = Reweighted(draws, replicate, self.subset).counts_of(part)
            if own.size:
                row *= own
        values = np.full((len(replicates), *self.shape), np.nan)
        for place, summary in enumerate(self.refits.summaries(weights)):
            if summary is not None:
                with suppress(ValueError):  # undefined
                    values[place] = self.metric.finish(summary)
        return values

    def value_under(
        self, draws: DrawCounts, replicate: int, views: dict[Hashable, Any]
    ) -> Plan[Any]:
        """Plan: return the value for given draw counts of the rows; nan if it is undefined.

        `views` are draws of rows, and data under these, which jobs share: what is computed once for
        several metrics of the same data is computed once here, too.
        """
        pinned = yield from self.pin()
        key = ByIdentity(self.data), self.subset, replicate
        try:
            if key not in views:
                drawn = key[1:]
                if drawn not in views:
                    views[drawn] = Reweighted(draws, replicate, self.subset)
                views[key] = mapped(self.data, views[drawn])
            view: Any = views[key]
            if isinstance(pinned, Statistic):
                value: Any = yield from pinned.plan_from_start(view)
            else:
                view.require_samples()  # two-way: possibly no trial with both speakers drawn
                value = pinned(view)
        except ValueError:
            return np.full(self.shape, np.nan)[()]
        except Exception as error:
            raise ValueError(f"metric {self.name} fails on a replicate: {error!r}") from error
        return value if self.shape else as_number(self.name, value)


@dataclass(frozen=True, eq=False)
class _Bundle:
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
        for chunk in _chunks_of(len(unserved), data, _numbers_of_samples(data), in_lanes=False):
            some = unserved[chunk.start : chunk.stop]
            views: dict[Hashable, Any] = {}
            numbers = yield [self.jobs[k].value_under(draws, first + r, views) for k, r in some]
            for (k, r), value in zip(some, numbers, strict=True):
                out[self.places[k]][first + r] = value


@dataclass(frozen=True, eq=False)
class Sum:
    """Signed metrics that are added: one metric, or the difference of two."""

    jobs: tuple[Job, ...]
    signs: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, terms: Iterable[tuple[Job, float]]) -> "Sum":
        """Return the sum of jobs with their signs, of which those of 0 are left out."""
        jobs, signs = zip(*((job, sign) for job, sign in terms if sign), strict=True)
        return cls(jobs, signs)

    def total(self, jobs: list[Job], values: Floats) -> Any:
        """Return the sum, given the values of `jobs`."""
        total, *others = (
            sign * values[jobs.index(job)] for job, sign in zip(self.jobs, self.signs, strict=True)
        )
        for other in others:
            total = total + other
        return total


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
    bundles, others = _bundled(jobs)
    out = [np.full((n_resamples, *job.shape), np.nan) for job in jobs]
    advance = _Count(progress, n_resamples * (len(bundles) + bool(others)))
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
    bundles, others = _bundled(jobs)
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


def name_of(metric: object) -> str:
    """Return the name of a metric in messages."""
    label = getattr(metric, "label", None)  # not a string if `metric` is a class
    return label if isinstance(label, str) else str(getattr(metric, "__name__", repr(metric)))


def as_number(name: str, value: object) -> float:
    """Return the value of a metric as a float; raise if it is not a number."""
    if np.ndim(value) == 0 and not isinstance(value, (str, bytes)):  # type: ignore[arg-type]
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass
    raise ValueError(f"metric {name} must return a number, not {type(value).__name__}")


@contextmanager
def in_silence() -> Iterator[None]:
    """Suppress warnings, which in replicates are not caused by the user's input."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), kept_warnings():
        warnings.simplefilter("ignore")
        yield


def _place_of(one: Data, data: list[Data]) -> int:
    """Return the index of an object in `data`, to which it is appended if it is not there."""
    for place, other in enumerate(data):
        if other is one:
            return place
    data.append(one)
    return len(data) - 1


def _bundled(jobs: list[Job]) -> tuple[list[_Bundle], list[int]]:
    """Return the jobs with sums by bundle, and the indices of those without."""
    bundles: dict[Any, _Bundle] = {}
    others = []
    for place, job in enumerate(jobs):
        if job.sums is None:
            others.append(place)
            continue
        bundle = bundles.setdefault((ByIdentity(job.data), job.sums.key), _Bundle([], []))
        bundle.places.append(place)
        bundle.jobs.append(job)
    return list(bundles.values()), others


class _Count:
    """Replicates done, over all passes."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, n: int) -> None:
        self._done += n
        self._progress(self._done, self._total)


def _chunks_of(
    n_replicates: int, data: Data, n_numbers: int, *, in_lanes: bool = True
) -> Iterator[range]:
    """Cut replicates into chunks of whole lanes, each with little time and memory.

    For data in parts a chunk is as large as the memory budget allows, since each chunk is a read.
    All plans that share the reads have the same chunks, for which the numbers of all are held.
    """
    n_bytes = 8 * max(n_numbers, 1)
    if isinstance(data, PartitionedPredictions):
        n_held = 2 + data.source.n_parts_in_all.bit_length()  # sums of parts in the tree
        most = min(_MOST_PER_READ, budget_of_all() // (_N_READING * n_held * n_bytes))
    else:
        most = min(_DRAWS_PER_CHUNK // len(data), _BYTES_PER_CHUNK // n_bytes)
    size = max(1, most // LANES) * LANES if in_lanes else max(1, most)
    return _ranges(n_replicates, size)


def _ranges(n_replicates: int, size: int) -> Iterator[range]:
    for first in range(0, n_replicates, size):
        yield range(first, min(first + size, n_replicates))


def _numbers_of_samples(data: Data) -> int:
    """Return how many numbers a replicate of the samples takes, while a part of them is read."""
    if not isinstance(data, PartitionedPredictions):
        return 0  # replicates are computed one after another
    of_part = int(data.facts.n_rows.max()) * _BYTES_PER_ROW // 8
    of_whole = len(data) * (2 + (data.n_classes if data.n_classes > 2 else 1))
    # each replicate may collect its samples, unless that would be refused
    return max(of_part, of_whole) if 8 * of_whole <= memory_budget() else of_part


def _draw_rows(
    bundle: _Bundle,
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
    for chunk in _chunks_of(n_replicates, data[0], n_numbers):
        step = DrawnTotals(layout, draws, chunk.start, len(chunk))
        (totals,) = yield [step.over(*data)]
        yield from bundle.write(totals, chunk.start, draws, out)
        advance(len(chunk))


def _totals_of_counts(draws: CountDraws) -> Iterator[tuple[int, Floats]]:
    """Yield (R, G, 1) counts in some replicates, after the number of the first of them."""
    n_bytes = 8 * max(draws.n_groups, 1)
    at_once = max(1, memory_budget() // _SHARE_OF_COUNTS // n_bytes)
    for chunk in _ranges(draws.n_draws.shape[0], at_once):
        hold(n_bytes * len(chunk))
        yield chunk.start, draws.totals(chunk.start, len(chunk))


def _draw_pieces(
    bundle: _Bundle, draws: RowDraws, of_whole: CountDraws, out: list[Floats]
) -> Plan[None]:
    """Write the replicates of a bundle piece by piece, after the draws are divided over pieces."""
    n_replicates = of_whole.n_draws.shape[0]
    counts = of_whole.totals(0, n_replicates)[:, :, 0].astype(np.int64)

    def totals(number: int, sums: Sums) -> Iterator[Floats]:
        by_class = counts.reshape(n_replicates, sums.n_classes, -1)[:, :, number]
        for _, some in _totals_of_counts(draws.of_piece(number, sums, by_class)):
            yield some[:, :, 0]

    yield from bundle.write_pieces(totals, out)


def _deal_counts(bundle: _Bundle, draws: SubsetDraws, out: list[Floats]) -> Plan[bool]:
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
    bundle: _Bundle, draws: SubsetDraws, sections: NDArray[np.int64], out: list[Floats]
) -> Plan[None]:
    """Write the replicates of a bundle piece by piece, of which each class is a section of rows."""

    def totals(number: int, sums: Sums) -> Iterator[Floats]:
        assert sums.known_weight is not None
        own = sections.reshape(sums.n_classes, -1, 3)[:, number]
        at_once = max(1, _BYTES_AT_ONCE // (8 * sums.n_groups))
        return draws.of_counts(sums.known_weight.astype(np.int64), own, at_once)

    yield from bundle.write_pieces(totals, out)


def _numbers_under(jobs: list[Job], bundles: list[_Bundle], others: list[int], draws: Draws) -> int:
    """Return how many numbers a replicate takes of jobs that share the draws of units."""
    whole = jobs[0].whole
    n_numbers = sum(bundle.layout([whole]).n_numbers for bundle in bundles) + draws.n_shared // 2
    return n_numbers + len(others) * _numbers_of_samples(whole)


def _plans_under(
    jobs: list[Job],
    bundles: list[_Bundle],
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
    bundles: list[_Bundle],
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
        chunks = _chunks_of(n_replicates, data, n_numbers)
    else:
        chunks = _ranges(n_replicates, draws.at_once(sum(one.n_numbers for one in layouts)))
    for chunk in chunks:
        (totals,) = yield [draws.totals(layouts, chunk.start, len(chunk)).over(*beside)]
        for bundle, of_bundle in zip(bundles, totals, strict=True):
            yield from bundle.write(of_bundle, chunk.start, draws, out)
            advance(len(chunk))


def _go_to_samples(
    jobs: dict[int, Job],
    draws: DrawCounts,
    out: list[Floats],
    advance: Callable[[int], object],
    n_numbers: int,
) -> Plan[None]:
    """Write the replicates of jobs without sums, each from weighted samples."""
    n_replicates = out[0].shape[0]
    data = next(iter(jobs.values())).whole
    for job in jobs.values():
        yield from job.pin()

    def one(replicate: int) -> Plan[None]:
        views: dict[Hashable, Any] = {}
        remaining = [place for place in jobs if np.isnan(out[place][replicate]).all()]
        values = yield [jobs[place].value_under(draws, replicate, views) for place in remaining]
        for place, value in zip(remaining, values, strict=True):
            out[place][replicate] = value
        advance(1)

    side_by_side = max(thread_count(), _NUMBERS_SIDE_BY_SIDE // max(len(data), 1))
    for chunk in _chunks_of(n_replicates, data, n_numbers, in_lanes=False):
        for place, job in jobs.items():
            if not job.refits:
                continue
            at_once = max(1, min(side_by_side, memory_budget() // job.refits.n_bytes))
            for first in range(chunk.start, chunk.stop, at_once):
                some = range(first, min(first + at_once, chunk.stop))
                out[place][some.start : some.stop] = job.values_of_refits(draws, some)
        yield [one(replicate) for replicate in chunk]
