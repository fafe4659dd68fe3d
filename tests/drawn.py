"""What the bootstrap draws: how often each sample is there, by replicate."""

from fastpsr.bootstrap.draws import draws_of
from fastpsr.bootstrap.replicates import Job
from fastpsr.bootstrap.sums import Layout, RowDraws
from fastpsr.bootstrap.units import Kept, sizes_by_part
from fastpsr.plans import Part, run


def summands_of(metric, data):
    return run(lambda: metric.summands(data))


def fixed(metric, data):
    """The metric with its folds dealt."""
    return run(lambda: metric.fixed_to(data))


def units_of(resampling, data):
    return run(lambda: resampling.units(data))


def row_draws(summands, data, resampling, seed):
    """The layout of summands of one kind, and the draws of its rows."""
    layout = Layout(tuple(summands), tuple((0,) for _ in summands), Kept())
    sizes = sizes_by_part(data, resampling.by_class)
    return layout, RowDraws(layout, sizes, resampling.by_class, seed)


def drawn_times(resampling, data, metric, seed, n):
    """How often each sample is there in each replicate of a metric."""
    part = Part.whole(data)
    summands = summands_of(metric, data)
    if resampling.draws_samples and summands is not None and summands.are_reweightable:
        _, draws = row_draws([summands], data, resampling, seed)
    else:
        draws = draws_of(units_of(resampling, data), seed)
    return [draws.times(part, r) for r in range(n)]


def prepared(metric, data):
    job = Job(metric, data)
    run(job.prepare)
    return job
