"""What the bootstrap draws: how often each sample is there, by replicate."""

from fastpsr.bootstrap.group_draws import GroupDraws
from fastpsr.bootstrap.row_draws import Layout


def sums_of(metric, data):
    return metric.sums(data)


def units_of(resampling, data):
    return resampling.units(data)


def layout_of(sums):
    return Layout(tuple(sums), tuple((0,) for _ in sums))


def group_draws(sums, data, resampling, seed):
    """Draws of the groups of sums of one kind."""
    return GroupDraws(layout_of(sums), units_of(resampling, data), seed, data.common_weight)
