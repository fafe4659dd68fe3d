"""Values of metrics under draws: from tables if a metric has sums, else from weighted rows."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.draws import (
    CountTable,
    Draws,
    GroupDraws,
    Reweighted,
    Subset,
    SubsetDraws,
    UnitDraws,
    ranges,
)
from fastpsr.bootstrap.intervals import KEEPS, N_DEALS
from fastpsr.bootstrap.schemes import RowUnits, Units
from fastpsr.bootstrap.settings import Progress
from fastpsr.caching import ByIdentity, cached_property
from fastpsr.counts import begin, side_by_side
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, PartitionedPredictions, mapped
from fastpsr.data.budget import memory_budget
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import IntervalRule
from fastpsr.metrics.base import AnyMetric, Metric, Statistic, name_of

_DRAWS_PER_CHUNK = 200_000_000  # samples times replicates between looks at the clock: under 0.5 s
_BYTES_PER_CHUNK = 1 << 27
_MOST_PER_READ = 2048  # replicates
_N_READING = 2  # replicates, and subsets, are computed in the same reads
_BYTES_PER_ROW = 64  # of a replicate that is computed from its samples: weights and scores
_N_REPORTS = 10  # of progress, at least
_MOST_GROUPS = 400  # that are left out in turn, if there are more units


@dataclass(eq=False)
class Job:
    """A metric, or the values of a curve, of some data, and what its replicates are made of.

    Attributes
    ----------
    metric : metric or Statistic
    data : Predictions or PartitionedPredictions
    subset : Subset or None
        For a group that is drawn with its whole.
    sums : Sums or None
        Of which replicates are computed; None for those that are computed from samples.
    shape : tuple of int
        That of the value, () for a metric.
    value : float
        On the data.
    """

    metric: AnyMetric | Statistic[Any, Floats]
    data: Data
    subset: Subset | None = None
    sums: Sums | None = None
    shape: tuple[int, ...] = ()
    value: float = float("nan")

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

    def prepare(self) -> None:
        """Find the sums of the metric, of which replicates are computed."""
        if isinstance(self.metric, Statistic):
            begin(self.data)
            if self.data.refit is not None:  # so that scores of replicates are others
                return
            sums = self.metric.sums(self.data)
            if sums is not None and sums.are_reweightable:
                self.sums = sums

    def value_under(self, draws: Draws, replicate: int, views: dict[Hashable, Any]) -> Any:
        """Return the value for given draw counts of the rows; nan if it is undefined.

        `views` are draws of rows, and data under these, which jobs share: what is computed once for
        several metrics of the same data is computed once here, too.
        """
        key = ByIdentity(self.data), self.subset, replicate
        try:
            if key not in views:
                drawn = key[1:]
                if drawn not in views:
                    views[drawn] = Reweighted(draws, replicate, self.subset)
                views[key] = mapped(self.data, views[drawn])
            view: Any = views[key]
            if isinstance(self.metric, Statistic):
                value: Any = self.metric.value_on(view)
            else:
                view.require_samples()  # two-way: possibly no trial with both speakers drawn
                value = self.metric(view)
        except ValueError:
            return np.full(self.shape, np.nan)[()]
        except Exception as error:
            raise ValueError(f"metric {self.name} fails on a replicate: {error!r}") from error
        return value if self.shape else as_number(self.name, value)


def as_number(name: str, value: object) -> float:
    """Return the value of a metric as a float; raise if it is not a number."""
    if np.ndim(value) == 0 and not isinstance(value, (str, bytes)):  # type: ignore[arg-type]
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass
    raise ValueError(f"metric {name} must return a number, not {type(value).__name__}")


def draw_replicates(
    jobs: Sequence[Job],
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
    by_table, of_samples = _by_table(jobs)
    passes, of_units = [], []
    for members in by_table:
        data = [members[0].data]
        weight = None if jointly else data[0].common_weight
        if weight is None or not isinstance(units, RowUnits) or units.clusters is not None:
            of_units.append(members)
            continue
        draws = GroupDraws(_table_of(members, data), units, seed, weight)
        passes.append(_Pass(draws, data, [members], []))
    if of_units or of_samples:
        data = [jobs[0].whole]
        tables = [_table_of(members, data) for members in of_units]
        passes.append(_Pass(UnitDraws(units, seed, tables), data, of_units, of_samples))
    return _values_under(jobs, passes, n_resamples, progress)


def subset_values(jobs: Sequence[Job], units: Units, seed: int) -> Floats:
    """Return the values of prepared jobs on subsets of units, (J, deals, 42).

    Units are dealt 8 times to 8 shares. Values are nan where a metric is undefined or infinite.
    """
    values = _keep_shares(jobs, units, seed, KEEPS, N_DEALS)
    return values.reshape(len(jobs), N_DEALS, -1)


def left_out_values(jobs: Sequence[Job], units: Units, seed: int) -> Floats:
    """Return the values of prepared jobs without each unit, (J, 1, G).

    If there are more than 400 units, they are dealt to 400 groups, each with units of all strata.
    Values are nan where a metric is undefined or infinite.
    """
    n_groups = min(_MOST_GROUPS, int(units.n_in_strata.sum()))
    return _keep_shares(jobs, units, seed, ~np.eye(n_groups, dtype=bool))[:, None]


def left_out_by_stratum(jobs: Sequence[Job], units: Units, seed: int) -> Floats:
    """Return the same values, but of groups of units of one stratum each, (J, S, G)."""
    sizes = units.n_in_strata
    if sizes.size == 1:
        return left_out_values(jobs, units, seed)
    n_groups = max(_MOST_GROUPS // max(int(np.count_nonzero(sizes)), 1), 2)
    has_units = np.arange(n_groups) < sizes[:, None]  # groups of a stratum are dealt to in turn
    keeps = ~np.eye(has_units.size, dtype=bool)[has_units.ravel()]
    values = np.full((len(jobs), *has_units.shape), np.nan)
    values[:, has_units] = _keep_shares(jobs, units, seed, keeps, by_stratum=True)
    return values


def _keep_shares(
    jobs: Sequence[Job],
    units: Units,
    seed: int,
    keeps: NDArray[np.bool_],
    n_deals: int = 1,
    *,
    by_stratum: bool = False,
) -> Floats:
    """Return (J, R) values on the shares of units that each replicate keeps; nan if infinite."""
    by_table, of_samples = _by_table(jobs)
    data = [jobs[0].whole]
    tables = [_table_of(members, data) for members in by_table]
    draws = SubsetDraws(units, seed, tables, keeps, n_deals, by_stratum=by_stratum)
    n_replicates = keeps.shape[0] * n_deals
    passes = [_Pass(draws, data, by_table, of_samples)]
    values = np.array(_values_under(jobs, passes, n_replicates, lambda done, total: None))
    return np.where(np.isinf(values), np.nan, values)


@dataclass(frozen=True, eq=False)
class _Pass:
    """Draws, and the jobs that are computed from each of their tables, or from the samples.

    `data` are those of the tables, of which the first is drawn.
    """

    draws: Draws
    data: list[Data]
    by_table: list[list[Job]]
    of_samples: list[Job]

    @property
    def n_numbers(self) -> int:
        """How many numbers a replicate takes that is computed while data are read."""
        draws = self.draws
        if draws.are_of_counts:
            return 0
        n_numbers = sum(table.n_numbers for table in draws.tables)
        if isinstance(draws, GroupDraws):
            return n_numbers
        of_samples = len(self.of_samples) * _numbers_of_samples(self.data[0])
        return n_numbers + draws.units.n_shared // 2 + of_samples


def _by_table(jobs: Iterable[Job]) -> tuple[list[list[Job]], list[Job]]:
    """Return the jobs that share the groups of their sums, and those without sums."""
    by_table: dict[Any, list[Job]] = {}
    of_samples = []
    for job in jobs:
        if job.sums is None:
            of_samples.append(job)
        else:
            by_table.setdefault((ByIdentity(job.data), job.sums.key), []).append(job)
    return list(by_table.values()), of_samples


def _table_of(jobs: list[Job], data: list[Data]) -> CountTable:
    """Return the table of jobs that share groups; data that it needs are appended to `data`."""
    distinct = {ByIdentity(job.sums): job.sums for job in jobs}
    sums = tuple(each for each in distinct.values() if each is not None)
    places = [tuple(_place_of(each, data) for each in (jobs[0].data, *s.beside)) for s in sums]
    return CountTable(sums, tuple(places), jobs[0].subset)


def _place_of(data: Data, all_data: list[Data]) -> int:
    """Return the index of an object in `all_data`, to which it is appended if it is not there."""
    for place, each in enumerate(all_data):
        if each is data:
            return place
    all_data.append(data)
    return len(all_data) - 1


def _values_under(
    jobs: Sequence[Job], passes: list[_Pass], n_replicates: int, progress: Progress
) -> list[Floats]:
    """Return the values of each job in all replicates, (R,) or (R, P) of curves."""
    values = {job: np.full((n_replicates, *job.shape), np.nan) for job in jobs}
    n_passes = sum(len(each.by_table) + bool(each.of_samples) for each in passes)
    n_numbers = sum(each.n_numbers for each in passes)
    done = 0

    def advance(n: int) -> None:
        nonlocal done
        done += n
        progress(done, n_replicates * n_passes)

    functions: list[Callable[[], None]] = []
    for each in passes:
        if each.by_table:
            chunks = _chunks_of_tables(each, n_replicates, n_numbers)
            functions.append(partial(_value_tables, each, chunks, values, advance))
        if each.of_samples:
            chunks = chunks_of(n_replicates, each.data[0], n_numbers)
            functions.append(partial(_value_samples, each, chunks, values, advance))
    side_by_side(*functions, over=jobs[0].whole)
    return [values[job] for job in jobs]


def chunks_of(n_replicates: int, data: Data, n_numbers: int) -> Iterable[range]:
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


def _chunks_of_tables(each: _Pass, n_replicates: int, n_numbers: int) -> Iterable[range]:
    """Cut the replicates of tables into chunks."""
    draws, data = each.draws, each.data[0]
    if draws.are_of_counts:
        return chunks_of(n_replicates, data, draws.tables[0].n_numbers)
    if isinstance(draws, GroupDraws) or isinstance(data, PartitionedPredictions):
        return chunks_of(n_replicates, data, n_numbers)
    between_reports = -(-n_replicates // _N_REPORTS)
    return ranges(n_replicates, min(draws.at_once(len(data)), between_reports))


def _numbers_of_samples(data: Data) -> int:
    """Return how many numbers a replicate of the samples takes, while a part of them is read."""
    if not isinstance(data, PartitionedPredictions):
        return 0  # replicates are computed one after another
    of_part = int(data.facts.n_rows.max()) * _BYTES_PER_ROW // 8
    of_whole = len(data) * (2 + (data.n_classes if data.n_classes > 2 else 1))
    # each replicate may collect its samples, unless that would be refused
    return max(of_part, of_whole) if 8 * of_whole <= memory_budget() else of_part


def _value_samples(
    one_pass: _Pass,
    chunks: Iterable[range],
    values: dict[Job, Floats],
    advance: Callable[[int], object],
) -> None:
    """Write the values of jobs without sums, each computed from the samples."""
    jobs, data = one_pass.of_samples, one_pass.data[0]

    def write(replicate: int) -> None:
        views: dict[Hashable, Any] = {}
        under = [partial(job.value_under, one_pass.draws, replicate, views) for job in jobs]
        for job, value in zip(jobs, side_by_side(*under, over=data), strict=True):
            values[job][replicate] = value
        advance(1)

    for chunk in chunks:
        side_by_side(*(partial(write, replicate) for replicate in chunk), over=data)


def _value_tables(
    one_pass: _Pass,
    chunks: Iterable[range],
    values: dict[Job, Floats],
    advance: Callable[[int], object],
) -> None:
    """Write the values of jobs that are computed from tables."""
    draws = one_pass.draws
    for chunk in chunks:
        totals = draws.totals(chunk, one_pass.data)
        for jobs, table, of_table in zip(one_pass.by_table, draws.tables, totals, strict=True):
            without_value = _finish(jobs, table, of_table, chunk.start, values)
            if without_value:
                _value_undecided(without_value, draws, values)
            advance(len(chunk))


def _finish(
    jobs: list[Job], table: CountTable, totals: Floats, first: int, values: dict[Job, Floats]
) -> list[tuple[Job, int]]:
    """Write the values of (R, G, 1 + sums) tables of replicates from `first` on.

    Return the jobs and replicates that need the samples.
    """
    columns, begin_of = {}, 1
    for sums in table.sums:
        columns[ByIdentity(sums)] = slice(begin_of, begin_of + sums.n_sums)
        # polynomials are those of all jobs of a table
        begin_of += 0 if sums.degree else sums.n_sums
    drawn = np.flatnonzero(totals[:, :, 0].any(axis=1))  # others are undefined
    totals = totals if drawn.size == totals.shape[0] else totals[drawn]
    # without sums all share one summary
    sources = [job.sums if job.sums and job.sums.n_sums else table.sums[0] for job in jobs]
    summaries = {
        key: key.named.assemble_each(totals[:, :, 0], totals[:, :, columns[key]])
        for key in dict.fromkeys(map(ByIdentity, sources))
    }
    without_value = []
    for replicate in (first + drawn).tolist():
        of_replicate = {key: next(each) for key, each in summaries.items()}
        for job, source in zip(jobs, sources, strict=True):
            summary = of_replicate[ByIdentity(source)]
            if summary is None:
                without_value.append((job, replicate))
                continue
            assert isinstance(job.metric, Statistic)
            try:
                if isinstance(summary, ValueError):
                    raise summary
                values[job][replicate] = job.metric.finish(summary)
            except ValueError:
                pass  # undefined, for example because a class is missing: stays nan
    return without_value


def _value_undecided(
    without_value: list[tuple[Job, int]], draws: Draws, values: dict[Job, Floats]
) -> None:
    """Write values that do not follow from tables, computed from the samples."""
    first_job, _ = without_value[0]
    if draws.are_of_counts:
        raise ValueError(
            f"metric {first_job.name} must not need samples where its sums are counts alone: give "
            "them a column"
        )
    data = first_job.data
    for job, _ in without_value:
        if isinstance(data, PartitionedPredictions) and job.sums is not None and job.sums.beside:
            raise ArgumentError("data", f"must fit in memory for {job.name}: some of its "
                                "replicates need samples beside others")  # fmt: skip
    for chunk in chunks_of(len(without_value), data, _numbers_of_samples(data)):
        some = without_value[chunk.start : chunk.stop]
        views: dict[Hashable, Any] = {}
        under = [partial(job.value_under, draws, replicate, views) for job, replicate in some]
        for (job, replicate), value in zip(some, side_by_side(*under, over=data), strict=True):
            values[job][replicate] = value
