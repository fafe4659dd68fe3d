"""The replicates of metrics: sums where a metric has summands, weighted predictions where not."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fastpsr.bootstrap.resampling import Resampling
from fastpsr.bootstrap.sums import Draws, SampleSums, UnitDraws, UnitSums, chunks_of
from fastpsr.caching import cached_property
from fastpsr.kernels.sizes import LANES
from fastpsr.metrics.base import Metric
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.summands import NeedsSamplesError, Summands

__all__ = [
    "AnyMetric",
    "Job",
    "Progress",
    "as_number",
    "draw_replicates",
    "name_of",
    "values_under",
]

AnyMetric = Metric[Any] | Callable[[Predictions], float]
Progress = Callable[[int, int], object]


@dataclass(frozen=True, eq=False)
class Job:
    """A metric of some predictions."""

    metric: AnyMetric
    predictions: Predictions

    @cached_property
    def summands(self) -> Summands | None:
        """What the metric's summary adds up, or None."""
        return self.metric.summands(self.predictions) if isinstance(self.metric, Metric) else None

    @cached_property
    def _pinned(self) -> AnyMetric:
        """The metric with its folds dealt."""
        metric = self.metric
        return metric.fixed_to(self.predictions) if isinstance(metric, Metric) else metric

    def value_at(self, times: Floats) -> float:
        """Return the value where each sample is there so many times, nan where it is undefined."""
        own = self.predictions.weights
        weights = times * own if own.size else times
        if not weights.any():  # two-way: no trial has both its speakers
            return float("nan")
        try:
            value = self._pinned(self.predictions.reweighted(weights))
        except ValueError:
            return float("nan")
        except Exception as error:
            name = name_of(self.metric)
            raise ValueError(f"metric {name} fails on a replicate: {error!r}") from error
        return as_number(name_of(self.metric), value)


@dataclass(frozen=True, eq=False)
class _Kind:
    """Jobs whose summands share groups, so that one set of sums serves them all."""

    places: list[int]
    jobs: list[Job]
    summands: list[Summands]

    def values_of(self, pieces: Floats, times_of: Callable[[int], Floats]) -> Floats:
        """Return (jobs, R) values of (R, G, 1 + sums); `times_of` goes back to the samples."""
        out = np.full((len(self.jobs), pieces.shape[0]), np.nan)
        for replicate, sums in enumerate(pieces):
            if not sums[:, 0].any():
                continue  # no sample was drawn
            begin, assembled = 1, None
            for place, (job, own) in enumerate(zip(self.jobs, self.summands, strict=True)):
                end = begin + own.n_sums
                metric = job.metric
                assert isinstance(metric, Metric)
                try:
                    if assembled is None or own.n_sums:  # without sums all share one summary
                        assembled = own.assemble(sums[:, 0], sums[:, begin:end])
                    out[place, replicate] = metric.finish(assembled)
                except NeedsSamplesError:
                    out[place, replicate] = job.value_at(times_of(replicate))
                except ValueError:
                    pass  # undefined, as with a class missing: stays nan
                if not own.degree:  # else all of a kind sum the same
                    begin = end
        return out


def draw_replicates(
    jobs: list[Job],
    resampling: Resampling,
    n_resamples: int,
    seed: int,
    *,
    jointly: bool,
    progress: Progress,
) -> Floats:
    """Return (J, R) replicates, nan where a metric is undefined.

    Parameters
    ----------
    jobs : list of Job
        All on the same samples, whose weights are positive.
    jointly : bool
        Whether all metrics must see the same draws, so that they can be subtracted.
    progress : callable
        Called with the number of replicates done and their total, over all passes.
    """
    by_unit = jointly or not resampling.draws_samples
    kinds, others = _sorted_by_kind(jobs)
    out = np.full((len(jobs), n_resamples), np.nan)
    advance = _Count(progress, n_resamples * (len(kinds) + bool(others)))
    if not by_unit:
        _draw_samples(kinds, resampling, seed, out, advance)
        kinds = []
    if kinds or others:
        draws = UnitDraws(resampling.units(jobs[0].predictions), seed)
        _draw_units(kinds, {place: jobs[place] for place in others}, draws, out, advance)
    return out


def values_under(jobs: list[Job], draws: Draws, n_replicates: int) -> Floats:
    """Return (J, R) values of metrics where units are there as often as `draws` say."""
    kinds, others = _sorted_by_kind(jobs)
    out = np.full((len(jobs), n_replicates), np.nan)
    _draw_units(kinds, {place: jobs[place] for place in others}, draws, out, lambda n: None)
    return out


def name_of(metric: AnyMetric) -> str:
    """Return what a metric is called in messages."""
    label = getattr(metric, "label", None)  # of a class it is no string
    return label if isinstance(label, str) else str(getattr(metric, "__name__", repr(metric)))


def as_number(name: str, value: object) -> float:
    """Return what a metric gave as a float, or raise where it is no number."""
    if np.ndim(value) == 0 and not isinstance(value, (str, bytes)):  # type: ignore[arg-type]
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass
    raise ValueError(f"metric {name} must return a number, not {type(value).__name__}")


def _sorted_by_kind(jobs: list[Job]) -> tuple[list[_Kind], list[int]]:
    """Return the jobs with summands by kind, and the places of those without."""
    kinds: dict[tuple[int, str], _Kind] = {}
    others = []
    for place, job in enumerate(jobs):
        summands = job.summands
        if summands is None:
            others.append(place)
            continue
        kind = kinds.setdefault((id(job.predictions), summands.kind), _Kind([], [], []))
        kind.places.append(place)
        kind.jobs.append(job)
        kind.summands.append(summands)
    return list(kinds.values()), others


class _Count:
    """Replicates done, over all passes."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, n: int) -> None:
        self._done += n
        self._progress(self._done, self._total)


@contextmanager
def _in_silence() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what a replicate is warned of is not the user's doing
        yield


def _draw_samples(
    kinds: list[_Kind],
    resampling: Resampling,
    seed: int,
    out: Floats,
    advance: Callable[[int], object],
) -> None:
    """Write the replicates of each kind, which draws samples of its own."""
    n_replicates = out.shape[1]
    for kind in kinds:
        predictions = kind.jobs[0].predictions
        source = SampleSums(kind.summands, predictions, resampling, seed)
        n_numbers = source.n_groups * (1 + source.n_sums)
        for chunk in chunks_of(n_replicates, len(predictions), n_numbers):
            first = chunk.start
            sums = source.draw(first, len(chunk))
            times_of = partial(_times_of_samples, source, first)
            with _in_silence():
                out[kind.places, first : chunk.stop] = kind.values_of(sums, times_of)
            advance(len(chunk))


def _times_of_samples(source: SampleSums, first: int, place: int) -> Floats:
    return source.sample_times(first + place)


def _draw_units(
    kinds: list[_Kind],
    others: dict[int, Job],
    draws: Draws,
    out: Floats,
    advance: Callable[[int], object],
) -> None:
    """Write the replicates of jobs that all see the same units."""
    n_replicates = out.shape[1]
    sources = [UnitSums(k.summands, k.jobs[0].predictions, draws.units) for k in kinds]
    for first, times in draws.sets(n_replicates):
        used = min(times.shape[0] * LANES, n_replicates - first)
        times_of = partial(draws.sample_times, times)
        with _in_silence():
            for kind, source in zip(kinds, sources, strict=True):
                sums = source.draw(times)[:used]
                out[kind.places, first : first + used] = kind.values_of(sums, times_of)
                advance(used)
            for place in range(used if others else 0):
                of_samples = times_of(place)
                for job_place, job in others.items():
                    out[job_place, first + place] = job.value_at(of_samples)
                advance(1)
