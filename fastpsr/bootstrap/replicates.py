"""The replicates of metrics: sums where a metric has summands, weighted predictions where not."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fastpsr.bootstrap.resampling import Resampling
from fastpsr.bootstrap.sums import LANES, Draws, SampleSums, UnitDraws, UnitSums, chunks_of
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
class _Piece:
    """Sums of some replicates, (R, G, 1 + sums), and how to come by the samples of one."""

    first: int
    sums: Floats
    times_of: Callable[[int], Floats]


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
    draws = None
    if by_unit or any(job.summands is None for job in jobs):
        draws = UnitDraws(resampling.units(jobs[0].predictions), seed)

    def pieces(summands: list[Summands], predictions: Predictions) -> Iterator[_Piece]:
        if by_unit:
            assert draws is not None
            return _by_units(summands, predictions, draws, n_resamples)
        source = SampleSums(summands, predictions, resampling, seed)
        return _by_samples(source, len(predictions), n_resamples)

    return _values(jobs, pieces, draws, n_resamples, progress)


def values_under(jobs: list[Job], draws: Draws, n_replicates: int) -> Floats:
    """Return (J, R) values of metrics where units are there as often as `draws` say."""

    def pieces(summands: list[Summands], predictions: Predictions) -> Iterator[_Piece]:
        return _by_units(summands, predictions, draws, n_replicates)

    return _values(jobs, pieces, draws, n_replicates, lambda done, total: None)


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


def _values(
    jobs: list[Job],
    pieces: Callable[[list[Summands], Predictions], Iterator[_Piece]],
    draws: Draws | None,
    n_replicates: int,
    progress: Progress,
) -> Floats:
    out = np.full((len(jobs), n_replicates), np.nan)
    kinds: dict[tuple[int, str], list[int]] = {}
    others = []
    for place, job in enumerate(jobs):
        if job.summands is None:
            others.append(place)
        else:
            kinds.setdefault((id(job.predictions), job.summands.kind), []).append(place)
    total = n_replicates * (len(kinds) + bool(others))
    done = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what a replicate is warned of is not the user's doing
        for places in kinds.values():
            members = [jobs[place] for place in places]
            summands = [job.summands for job in members if job.summands is not None]
            for piece in pieces(summands, members[0].predictions):
                after = piece.first + piece.sums.shape[0]
                out[places, piece.first : after] = _finish(members, summands, piece)
                done += piece.sums.shape[0]
                progress(done, total)
        if others:
            assert draws is not None
            for first, times in draws.sets(n_replicates):
                for replicate in range(first, min(first + times.shape[0] * LANES, n_replicates)):
                    of_samples = draws.sample_times(times, replicate - first)
                    for place in others:
                        out[place, replicate] = jobs[place].value_at(of_samples)
                    done += 1
                    progress(done, total)
    return out


def _by_samples(source: SampleSums, n_samples: int, n_replicates: int) -> Iterator[_Piece]:
    n_numbers = source.n_groups * (1 + source.n_sums)
    for chunk in chunks_of(n_replicates, n_samples, n_numbers):
        first = chunk.start
        sums = source.draw(first, len(chunk))
        yield _Piece(first, sums, lambda place, first=first: source.sample_times(first + place))  # type: ignore[misc]


def _by_units(
    summands: list[Summands], predictions: Predictions, draws: Draws, n_replicates: int
) -> Iterator[_Piece]:
    source = UnitSums(summands, predictions, draws.units)
    for first, times in draws.sets(n_replicates):
        sums = source.draw(times)[: n_replicates - first]
        yield _Piece(first, sums, lambda place, times=times: draws.sample_times(times, place))  # type: ignore[misc]


def _finish(members: list[Job], summands: list[Summands], piece: _Piece) -> Floats:
    """Return the (members, R) values of a piece."""
    out = np.full((len(members), piece.sums.shape[0]), np.nan)
    for replicate, sums in enumerate(piece.sums):
        if not sums[:, 0].any():
            continue  # no sample was drawn
        begin, assembled = 1, None
        for place, (job, own) in enumerate(zip(members, summands, strict=True)):
            end = begin + own.n_sums
            metric = job.metric
            assert isinstance(metric, Metric)
            try:
                if assembled is None or own.n_sums:  # without sums all share one summary
                    assembled = own.assemble(sums[:, 0], sums[:, begin:end])
                out[place, replicate] = metric.finish(assembled)
            except NeedsSamplesError:
                out[place, replicate] = job.value_at(piece.times_of(replicate))
            except ValueError:
                pass  # undefined, as with a class missing: stays nan
            if not own.degree:  # else all of a kind sum the same
                begin = end
    return out
