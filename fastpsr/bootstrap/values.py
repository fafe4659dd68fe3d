"""Values of metrics under draws: from tables if a metric has sums, else from weighted rows."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.draws import (
    CountTable,
    Draws,
    GroupDraws,
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
from fastpsr.data import (
    Data,
    Floats,
    Part,
    PartitionedPredictions,
    Predictions,
    Transform,
    mapped,
)
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
_MOST_ROWS_LEFT_OUT = 4_000_000  # one by one

#: Inputs of intervals, besides the value on the data.
Input = Literal["replicates", "subsets", "left out", "left out by stratum", "signed errors"]


@dataclass(eq=False)
class Job:
    """A metric or the values of a curve, its data, and the inputs of its replicates.

    Attributes
    ----------
    metric : metric or Statistic
    data : Predictions or PartitionedPredictions
    subset : Subset or None
        For a group that is drawn with its whole.
    sums : Sums or None
        Sums that the replicates follow from; None if replicates are computed from samples.
    shape : tuple of int
        Shape of the value, () for a metric.
    value : float
        On the data.
    units : Units
        Units of the last draws.
    draws : dict of Input to ndarray
        Values under these draws: replicates (R,), values on subsets (deals, 42), values without
        each group of units (S, G), and of calibration errors the signed errors of the bins on the
        data, (M,), their replicates, (R, M), and the norm: those that were requested.
    """

    metric: AnyMetric | Statistic[Any, Floats]
    data: Data
    subset: Subset | None = None
    sums: Sums | None = None
    shape: tuple[int, ...] = ()
    value: float = float("nan")
    units: Units = field(init=False)
    draws: dict[Input, Any] = field(init=False)

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
        """Find the sums of the metric that its replicates follow from."""
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
                draw_key = key[1:]
                if draw_key not in views:
                    views[draw_key] = Reweighted(draws, replicate, self.subset)
                views[key] = mapped(self.data, views[draw_key])
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


class Reweighted(Transform):
    """Rows weighted by their draw counts in a replicate, times their own weight.

    Rows of a subset are drawn with those of the whole.
    """

    keeps_rows = False
    is_replicate = True

    def __init__(self, draws: Draws, replicate: int, subset: Subset | None = None) -> None:
        self._draws, self._replicate, self._subset = draws, replicate, subset
        self._counts: Floats | None = None  # of rows in memory, which are the same for all data
        self.reads = draws.reads

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        if not len(predictions) or not part.has_weight:
            return predictions
        counts = self._counts if part.is_in_memory else None
        if counts is None:
            counts = self._counts_of(part)
            self._counts = counts if part.is_in_memory else None
        weights = predictions.weights
        return predictions.reweighted(counts * weights if weights.size else counts, counts)

    def _counts_of(self, part: Part) -> Floats:
        """Return the draw count of each row of a part, (n,)."""
        subset = self._subset
        part_of_whole = part if subset is None else subset.whole_of(part)
        counts = self._draws.of_rows(part_of_whole, self._replicate)
        return counts if subset is None else counts[subset.places(part)]


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
        passes.append(_Pass.of(draws, data, [members], [], n_resamples))
    if of_units or of_samples:
        data = [jobs[0].whole]
        tables = [_table_of(members, data) for members in of_units]
        unit_draws = UnitDraws(units, seed, tables)
        passes.append(_Pass.of(unit_draws, data, of_units, of_samples, n_resamples))
    _run(passes, jobs[0].whole, progress)
    values = {job: one_pass.values[job] for one_pass in passes for job in one_pass.values}
    return [values[job] for job in jobs]


def subset_values(jobs: Sequence[Job], units: Units, seed: int) -> list[Floats]:
    """Return the values of prepared jobs on subsets of units, (deals, 42) of each.

    Units are dealt 8 times to 8 shares. Values are nan where a metric is undefined or infinite.
    """
    return [*_keep_shares(jobs, units, seed, KEEPS, N_DEALS)]


def left_out_values(jobs: Sequence[Job], units: Units, seed: int) -> list[Floats]:
    """Return the values of prepared jobs without each unit, (1, G) of each.

    If there are more than 400 units, they are dealt to 400 groups, each with units of all strata,
    unless the values without each sample follow from one pass. Values are nan where a metric is
    undefined or infinite.
    """
    values: dict[Job, Floats] = {}
    if isinstance(units, RowUnits) and units.clusters is None:
        values = _without_each_row(jobs)
    in_groups = [job for job in jobs if job not in values]
    if in_groups:
        n_groups = min(_MOST_GROUPS, int(units.n_in_strata.sum()))
        of_groups = _keep_shares(in_groups, units, seed, ~np.eye(n_groups, dtype=bool))
        values |= zip(in_groups, of_groups, strict=True)
    return [values[job] for job in jobs]


def _without_each_row(jobs: Sequence[Job]) -> dict[Job, Floats]:
    """Return the values without each row, (1, n), of metrics that give them for all their data."""
    values: dict[ByIdentity, dict[Job, Floats | None]] = {}
    for job in jobs:
        values.setdefault(ByIdentity(job.metric), {})[job] = _without_each_sample(job)
    return {
        job: of_job[None]
        for of_metric in values.values()
        for job, of_job in of_metric.items()
        if of_job is not None and not any(other is None for other in of_metric.values())
    }


def _without_each_sample(job: Job) -> Floats | None:
    data, metric = job.data, job.metric
    if not isinstance(metric, Metric) or job.subset is not None or data.refit is not None:
        return None
    if len(data) > _MOST_ROWS_LEFT_OUT or data.common_weight is None:
        return None
    return metric.without_each_sample(data)


def left_out_by_stratum(jobs: Sequence[Job], units: Units, seed: int) -> list[Floats]:
    """Return the same values, but of groups of units of one stratum each, (S, G) of each job."""
    sizes = units.n_in_strata
    if sizes.size == 1:
        return left_out_values(jobs, units, seed)
    n_groups = max(_MOST_GROUPS // max(int(np.count_nonzero(sizes)), 1), 2)
    has_units = np.arange(n_groups) < sizes[:, None]  # groups of a stratum are dealt to in turn
    keeps = ~np.eye(has_units.size, dtype=bool)[has_units.ravel()]
    values = np.full((len(jobs), *has_units.shape), np.nan)
    values[:, has_units] = _keep_shares(jobs, units, seed, keeps, by_stratum=True)[:, 0]
    return [*values]


def _keep_shares(
    jobs: Sequence[Job],
    units: Units,
    seed: int,
    keeps: NDArray[np.bool_],
    n_deals: int = 1,
    *,
    by_stratum: bool = False,
) -> Floats:
    """Return (J, deals, R) values on the shares that each replicate keeps; nan if infinite."""
    by_table, of_samples = _by_table(jobs)
    data = [jobs[0].whole]
    tables = [_table_of(members, data) for members in by_table]
    passes = []
    for deal in range(n_deals):
        draws = SubsetDraws(units, seed, tables, keeps, deal, by_stratum=by_stratum)
        passes.append(_Pass.of(draws, data, by_table, of_samples, keeps.shape[0]))
    _run(passes, data[0], lambda done, total: None)
    values = np.array([[one_pass.values[job] for one_pass in passes] for job in jobs])
    return np.where(np.isinf(values), np.nan, values)


@dataclass(frozen=True, eq=False)
class _Pass:
    """Draws, and the jobs that are computed from each of their tables, or from the samples.

    Attributes
    ----------
    draws : Draws
    data : list of data
        Data of the tables; the first are drawn.
    by_table : list of lists of Job
    of_samples : list of Job
    values : dict of Job to ndarray, shape (R,), or (R, P) of curves
        nan where undefined, and until they are computed.
    """

    draws: Draws
    data: list[Data]
    by_table: list[list[Job]]
    of_samples: list[Job]
    values: dict[Job, Floats]
    n_replicates: int

    @classmethod
    def of(
        cls,
        draws: Draws,
        data: list[Data],
        by_table: list[list[Job]],
        of_samples: list[Job],
        n: int,
    ) -> "_Pass":
        """Return the pass of n replicates."""
        jobs = [*chain(*by_table), *of_samples]
        values = {job: np.full((n, *job.shape), np.nan) for job in jobs}
        return cls(draws, data, by_table, of_samples, values, n)

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
    """Return the jobs that share groups of sums, and the jobs without sums."""
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
    places = [tuple(_place_of(each, data) for each in (jobs[0].data, *s.companions)) for s in sums]
    return CountTable(sums, tuple(places), jobs[0].subset)


def _place_of(data: Data, all_data: list[Data]) -> int:
    """Return the index of an object in `all_data`; append it if missing."""
    for place, known_data in enumerate(all_data):
        if known_data is data:
            return place
    all_data.append(data)
    return len(all_data) - 1


def _run(passes: list[_Pass], data: Data, progress: Progress) -> None:
    """Compute the values of all passes."""
    n_numbers = sum(one_pass.n_numbers for one_pass in passes)
    total = sum(
        one_pass.n_replicates * (len(one_pass.by_table) + bool(one_pass.of_samples))
        for one_pass in passes
    )
    done = 0

    def advance(n: int) -> None:
        nonlocal done
        done += n
        progress(done, total)

    functions: list[Callable[[], None]] = []
    for one_pass in passes:
        if one_pass.by_table:
            functions.append(partial(_value_tables, one_pass, n_numbers, advance))
        if one_pass.of_samples:
            functions.append(partial(_value_samples, one_pass, n_numbers, advance))
    side_by_side(*functions, over=data)


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


def _chunks_of_tables(one_pass: _Pass, n_numbers: int) -> Iterable[range]:
    """Cut the replicates of tables into chunks."""
    draws, data, n_replicates = one_pass.draws, one_pass.data[0], one_pass.n_replicates
    if draws.are_of_counts:
        return chunks_of(n_replicates, data, draws.tables[0].n_numbers)
    if isinstance(draws, GroupDraws) or isinstance(data, PartitionedPredictions):
        return chunks_of(n_replicates, data, n_numbers)
    most = draws.at_once(len(data))
    if not isinstance(draws, SubsetDraws):  # subsets report no progress
        most = min(most, -(-n_replicates // _N_REPORTS))
    return ranges(n_replicates, most)


def _numbers_of_samples(data: Data) -> int:
    """Return the size of a replicate of the samples in numbers, during the read of a part."""
    if not isinstance(data, PartitionedPredictions):
        return 0  # replicates are computed one after another
    of_part = int(data.facts.n_rows.max()) * _BYTES_PER_ROW // 8
    of_whole = len(data) * (2 + (data.n_classes if data.n_classes > 2 else 1))
    # each replicate may collect its samples, unless that would be refused
    return max(of_part, of_whole) if 8 * of_whole <= memory_budget() else of_part


def _value_samples(one_pass: _Pass, n_numbers: int, advance: Callable[[int], object]) -> None:
    """Write the values of jobs without sums, each computed from the samples."""
    jobs, data = one_pass.of_samples, one_pass.data[0]

    def write(replicate: int) -> None:
        views: dict[Hashable, Any] = {}
        under = [partial(job.value_under, one_pass.draws, replicate, views) for job in jobs]
        for job, value in zip(jobs, side_by_side(*under, over=data), strict=True):
            one_pass.values[job][replicate] = value
        advance(1)

    for chunk in chunks_of(one_pass.n_replicates, data, n_numbers):
        side_by_side(*(partial(write, replicate) for replicate in chunk), over=data)


def _value_tables(one_pass: _Pass, n_numbers: int, advance: Callable[[int], object]) -> None:
    """Write the values of jobs that are computed from tables."""
    draws, values = one_pass.draws, one_pass.values
    for chunk in _chunks_of_tables(one_pass, n_numbers):
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
        # the polynomials of all jobs of a table
        begin_of += 0 if sums.degree else sums.n_sums
    defined = np.flatnonzero(totals[:, :, 0].any(axis=1))  # others are undefined
    totals = totals if defined.size == totals.shape[0] else totals[defined]
    # without sums all share one summary
    sources = [job.sums if job.sums and job.sums.n_sums else table.sums[0] for job in jobs]
    summaries = {
        key: key.named.assemble_each(totals[:, :, 0], totals[:, :, columns[key]])
        for key in dict.fromkeys(map(ByIdentity, sources))
    }
    without_value = []
    for replicate in (first + defined).tolist():
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
        if (
            isinstance(data, PartitionedPredictions)
            and job.sums is not None
            and job.sums.companions
        ):
            raise ArgumentError("data", f"must fit in memory for {job.name}: some of its "
                                "replicates need samples beside others")  # fmt: skip
    for chunk in chunks_of(len(without_value), data, _numbers_of_samples(data)):
        chunk_of_jobs = without_value[chunk.start : chunk.stop]
        views: dict[Hashable, Any] = {}
        under = [
            partial(job.value_under, draws, replicate, views) for job, replicate in chunk_of_jobs
        ]
        for (job, replicate), value in zip(
            chunk_of_jobs, side_by_side(*under, over=data), strict=True
        ):
            values[job][replicate] = value
