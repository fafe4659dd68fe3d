"""The replicates of metrics: sums where a metric has summands, weighted predictions where not."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr.bootstrap.resampling import Resampling
from fastpsr.bootstrap.sums import LANES, SampleSums, UnitDraws, UnitSums, chunks_of
from fastpsr.metrics.base import Metric
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.summands import NeedsSamplesError, Summands

__all__ = ["AnyMetric", "Job", "Progress", "draw_replicates", "name_of", "value_of"]

AnyMetric = Metric[Any] | Callable[[Predictions], float]
Progress = Callable[[int, int], object]
_Drawn = tuple[int, Floats, Callable[[int], Floats]]  # first replicate, sums, weights of one


@dataclass(frozen=True, eq=False)
class Job:
    """A metric of some predictions."""

    metric: AnyMetric
    predictions: Predictions


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
    out = np.full((len(jobs), n_resamples), np.nan)
    by_sums, by_weights = _sorted_by_kind(jobs)
    passes = len(by_sums) + (1 if by_weights else 0)
    done = 0

    def advance(n: int) -> None:
        nonlocal done
        done += n
        progress(done, passes * n_resamples)

    pinned: dict[int, AnyMetric] = {}
    units = None
    if by_weights or jointly or not resampling.draws_samples:
        units = UnitDraws(resampling.units(jobs[0].predictions), seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what a replicate is warned of is not the user's doing
        for members in by_sums.values():
            summands = [s for _, _, s in members]
            predictions = members[0][1].predictions
            if units is None or (resampling.draws_samples and not jointly):
                pieces = _sums_of_samples(summands, predictions, resampling, n_resamples, seed)
            else:
                pieces = _sums_of_units(summands, predictions, units, n_resamples)
            for drawn in pieces:
                _finish(members, drawn, pinned, out)
                advance(drawn[1].shape[0])
        if by_weights:
            assert units is not None
            for _ in _call(by_weights, jobs, units, n_resamples, pinned, out):
                advance(1)
    return out


def name_of(metric: AnyMetric) -> str:
    """Return what a metric is called in messages."""
    return str(getattr(metric, "label", getattr(metric, "__name__", repr(metric))))


def value_of(metric: AnyMetric, predictions: Predictions) -> float:
    """Return a metric's value, nan where it is undefined."""
    try:
        value = metric(predictions)
    except ValueError:
        return float("nan")
    return float(value)


def _sorted_by_kind(
    jobs: list[Job],
) -> tuple[dict[tuple[int, str], list[tuple[int, Job, Summands]]], list[int]]:
    """Return jobs with their summands by predictions and kind, and those without."""
    by_sums: dict[tuple[int, str], list[tuple[int, Job, Summands]]] = {}
    by_weights = []
    for place, job in enumerate(jobs):
        found = job.metric.summands(job.predictions) if isinstance(job.metric, Metric) else None
        if found is None:
            by_weights.append(place)
        else:
            by_sums.setdefault((id(job.predictions), found.kind), []).append((place, job, found))
    return by_sums, by_weights


def _sums_of_samples(
    summands: list[Summands],
    predictions: Predictions,
    resampling: Resampling,
    n_resamples: int,
    seed: int,
) -> Iterator[_Drawn]:
    source = SampleSums(summands, predictions, resampling, seed)
    n_numbers = source.n_groups * (1 + source.n_sums)
    for chunk in chunks_of(n_resamples, len(predictions), n_numbers):
        sums = source.draw(chunk.start, len(chunk))
        yield (
            chunk.start,
            sums,
            lambda place, first=chunk.start: source.sample_weights(  # type: ignore[misc]
                first + place
            ),
        )


def _sums_of_units(
    summands: list[Summands], predictions: Predictions, units: UnitDraws, n_resamples: int
) -> Iterator[_Drawn]:
    source = UnitSums(summands, predictions, units.units)
    for first, drawn in units.sets(n_resamples):
        kept = n_resamples - first
        sums = source.draw(drawn)[:kept]
        yield (
            first,
            sums,
            lambda place, drawn=drawn: units.sample_weights(  # type: ignore[misc]
                drawn[place // LANES, :, place % LANES]
            ),
        )


def _finish(
    members: list[tuple[int, Job, Summands]],
    drawn: _Drawn,
    pinned: dict[int, AnyMetric],
    out: Floats,
) -> None:
    """Write the values of the replicates that were drawn."""
    first, sums, weights_of = drawn
    for replicate in range(sums.shape[0]):
        begin, assembled = 1, None
        for place, job, summands in members:
            end = begin + summands.n_sums
            metric = job.metric
            assert isinstance(metric, Metric)
            try:
                if assembled is None or summands.n_sums:  # without sums all share one summary
                    assembled = summands.assemble(
                        sums[replicate, :, 0], sums[replicate, :, begin:end]
                    )
                out[place, first + replicate] = metric.finish(assembled)
            except NeedsSamplesError:
                weighed = _weighed(job.predictions, weights_of(replicate))
                out[place, first + replicate] = value_of(_pinned(pinned, place, job), weighed)
            except ValueError:
                pass  # undefined, as with a class missing: stays nan
            if not summands.degree:  # else all of a kind sum the same
                begin = end


def _call(
    places: list[int],
    jobs: list[Job],
    units: UnitDraws,
    n_resamples: int,
    pinned: dict[int, AnyMetric],
    out: Floats,
) -> Iterator[int]:
    """Call metrics on weighted predictions, replicate by replicate."""
    for first, drawn in units.sets(n_resamples):
        for replicate in range(first, min(first + drawn.shape[0] * LANES, n_resamples)):
            in_set, lane = divmod(replicate - first, LANES)
            weights = units.sample_weights(drawn[in_set, :, lane])
            for place in places:
                metric = _pinned(pinned, place, jobs[place])
                out[place, replicate] = value_of(metric, _weighed(jobs[place].predictions, weights))
            yield replicate


def _pinned(pinned: dict[int, AnyMetric], place: int, job: Job) -> AnyMetric:
    """Return a metric with its folds, dealt once."""
    if place not in pinned:
        metric = job.metric
        pinned[place] = metric.fixed_to(job.predictions) if isinstance(metric, Metric) else metric
    return pinned[place]


def _weighed(predictions: Predictions, weights: Floats) -> Predictions:
    own = predictions.weights
    return predictions.reweighted(weights * own if own.size else weights)
