"""What is drawn for intervals: what their methods need, and no more."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, get_args

import numpy as np

from fastpsr.bootstrap.evidence import Estimand, Evidence, Input
from fastpsr.bootstrap.inverted_test import SignedErrors
from fastpsr.bootstrap.job import Job, Progress
from fastpsr.bootstrap.left_out import left_out_by_stratum, left_out_values
from fastpsr.bootstrap.methods import METHODS
from fastpsr.bootstrap.replicates import draw_replicates
from fastpsr.bootstrap.settings import Intervals
from fastpsr.bootstrap.subsampling import subset_values
from fastpsr.bootstrap.units import Units
from fastpsr.counts import one_call, side_by_side
from fastpsr.errors import in_silence

_OF_UNITS: dict[Input, Any] = {
    "subsets": subset_values,
    "left out": left_out_values,
    "left out by stratum": left_out_by_stratum,
}


def gather(
    estimands: Sequence[Estimand],
    settings: Intervals,
    *,
    jointly: bool,
    progress: Progress,
    also: Sequence[Input] = (),
) -> dict[Job, Evidence]:
    """Return the values under draws from which the intervals of estimands are computed.

    Parameters
    ----------
    jointly : bool
        Whether all metrics must see the same draws.
    also : sequence of Input
        What is asked for of all metrics besides.
    """
    jobs_by_input = _jobs_by_input(estimands, settings, also)
    values = {term.job: term.value for estimand in estimands for term in estimand.terms}
    whole = next(iter(values)).whole
    with in_silence(), one_call():
        units = settings.resampling.units(whole)
        replicates = partial(_replicates, jobs_by_input, units, settings, progress, jointly=jointly)
        of_units = {name: jobs_by_input[name] for name in _OF_UNITS if jobs_by_input[name]}
        draws, *arrays = side_by_side(
            replicates,
            *(
                partial(_OF_UNITS[name], jobs, units.independent, settings.seed)
                for name, jobs in of_units.items()
            ),
            over=whole,
        )
    for (name, jobs), values_of_jobs in zip(of_units.items(), arrays, strict=True):
        draws[name] = dict(zip(jobs, values_of_jobs, strict=True))
    return {
        job: Evidence(
            value, job.value_range, job.interval_rule, job.data.class_sizes, units,
            {name: by_job[job] for name, by_job in draws.items() if job in by_job},
        )
        for job, value in values.items()
    }  # fmt: skip


def _jobs_by_input(
    estimands: Sequence[Estimand], settings: Intervals, also: Sequence[Input]
) -> dict[Input, list[Job]]:
    """Return the jobs for which each input is drawn."""
    jobs: dict[Input, dict[Job, None]] = {name: {} for name in get_args(Input)}
    family_sizes = Counter(each.family for each in estimands if each.family is not None)
    for estimand in estimands:
        needs = {*METHODS[settings.method_of(estimand.rules)].needs, *also}
        if not np.isfinite(estimand.value):  # whose interval is by percentile
            needs = {"replicates", *also}
        if family_sizes[estimand.family] > 1:  # their level is found on replicates
            needs.add("replicates")
        for name in needs:
            jobs[name] |= dict.fromkeys(term.job for term in estimand.terms)
    return {name: list(some) for name, some in jobs.items()}


def _replicates(
    jobs_by_input: dict[Input, list[Job]],
    units: Units,
    settings: Intervals,
    progress: Progress,
    *,
    jointly: bool,
) -> dict[Input, dict[Job, Any]]:
    """Return the replicates of jobs, and the signed errors of calibration errors."""
    jobs, of_errors = jobs_by_input["replicates"], jobs_by_input["signed errors"]
    if not jobs:
        progress(0, 0)
        return {}
    bins = [_of_bins(job) for job in of_errors]
    draw = partial(
        draw_replicates, [*jobs, *bins], units, settings.n_resamples, settings.seed,
        jointly=jointly, progress=progress,
    )  # fmt: skip
    of_bins = [partial(job.metric.value_on, job.data) for job in bins]  # type: ignore[union-attr]
    replicates, *errors = side_by_side(draw, *of_bins, over=jobs[0].whole)
    signed = {
        job: SignedErrors(on_data, under_draws, job.metric.norm)  # type: ignore[union-attr]
        for job, on_data, under_draws in zip(
            of_errors, errors, replicates[len(jobs) :], strict=True
        )
    }
    return {
        "replicates": dict(zip(jobs, replicates, strict=False)),
        "signed errors": signed,
    }


def _of_bins(job: Job) -> Job:
    """Return the job of the signed errors of the bins of a calibration error."""
    metric: Any = job.metric
    return Job(metric.signed_errors, job.data, job.subset, job.sums, (metric.bins,))
