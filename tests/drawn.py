"""What the bootstrap draws: how often each sample is there, by replicate."""

from fastpsr.bootstrap.job import Job
from fastpsr.bootstrap.layout import Layout
from fastpsr.bootstrap.rows import IID, Stratified
from fastpsr.plans import Part, run


def sums_of(metric, data):
    return run(lambda: metric.sums(data))


def fixed(metric, data):
    """The metric with its folds dealt."""
    return run(lambda: metric.fixed_to(data))


def units_of(resampling, data):
    return run(lambda: resampling.units(data))


def row_draws(sums, data, resampling, seed):
    """The layout of sums of one kind, and the draws of its rows."""
    layout = Layout(tuple(sums), tuple((0,) for _ in sums))
    return layout, units_of(resampling, data).draws_alone(layout, seed)


def draws_of(units, seed):
    return units.draws(seed)


def draws_rows(resampling):
    """Whether rows are drawn one by one."""
    return isinstance(resampling, (IID, Stratified))


def drawn_times(resampling, data, metric, seed, n):
    """How often each sample is there in each replicate of a metric."""
    part = Part.whole(data)
    sums = prepared(metric, data).sums  # None where they do not hold for other weights
    if draws_rows(resampling) and sums is not None:
        _, draws = row_draws([sums], data, resampling, seed)
    else:
        draws = draws_of(units_of(resampling, data), seed)
    return [draws.of_rows(part, r) for r in range(n)]


def prepared(metric, data):
    job = Job(metric, data)
    run(job.prepare)
    return job
