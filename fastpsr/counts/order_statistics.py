"""Order statistics of a value of each sample, of data of any size."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import kernels
from fastpsr.counts.buckets import Column, Counted, count_until_few, pick
from fastpsr.data import Data, Floats, Predictions
from fastpsr.data.steps import Part

Values = Callable[[Predictions], Floats]


@dataclass(frozen=True)
class _ValuesOf(Column):
    """A value of each sample of positive weight, with balanced weights if wanted."""

    values: Values
    has_weights: bool

    @property
    def key(self) -> Hashable:
        return ("values", getattr(self.values, "key", self.values), self.has_weights)

    def sizes(self, data: Data) -> NDArray[np.int64]:
        return np.array([data.class_sizes.sum(), 0])

    def __call__(self, part: Part) -> tuple[Floats, NDArray[Any], Floats]:
        samples = part.predictions.present()
        values = self.values(samples)
        weights = samples.balanced_weights() if self.has_weights else np.empty(0)
        if self.has_weights and not weights.size:  # of a part, where others have weights
            weights = np.ones(values.size)
        return values, np.zeros(values.size, np.uint8), weights

    def sample(self, part: Part, stride: int) -> Floats:
        return self.values(part.predictions[::stride])


def order_statistics(
    data: Data, values: Values, ranks: ArrayLike
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the values at ranks, and how many values are less than each.

    Parameters
    ----------
    data : Predictions or PartitionedPredictions
    values : callable
        Plain data that returns the (n,) values of a part's predictions; equal ones, or those of an
        equal `key`, must return the same.
    ranks : array-like of int, shape (M,)
        From 0, ascending, among the samples of positive weight.

    Returns
    -------
    values : ndarray of float64, shape (M,)
    n_below : ndarray of int64, shape (M,)
    """
    wanted = np.asarray(ranks, np.int64)
    column = _ValuesOf(values, False)

    def holding(counted: Counted) -> NDArray[np.int64]:
        ends = np.cumsum(counted.counts[:, 0])
        return np.searchsorted(ends, wanted, side="right")

    def needed(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        flags = np.zeros(counted.places.size, bool)
        flags[holding(counted)] = True
        return flags & ~counted.are_alike

    counted, _, flags = count_until_few(column, data, needed)
    picked, _ = pick(column, data, counted, flags)
    picked = np.sort(picked)
    if flags.size == 1 and flags[0]:  # few ranked, all of which were picked
        ranked = picked[wanted]
        return ranked, np.searchsorted(picked, ranked)
    buckets, sizes = holding(counted), counted.counts[:, 0]
    begins = np.cumsum(sizes) - sizes
    in_picked = np.cumsum(np.where(flags, sizes, 0)) - np.where(flags, sizes, 0)
    ranked, n_below = np.empty(wanted.size), begins[buckets]
    inside = flags[buckets]
    of_inside = buckets[inside]
    ranked[inside] = picked[in_picked[of_inside] + wanted[inside] - begins[of_inside]]
    n_below[inside] += np.searchsorted(picked, ranked[inside]) - in_picked[of_inside]
    if not inside.all():
        ranked[~inside] = counted.lowest[buckets[~inside]]
    return ranked, n_below


def weighted_quantiles(data: Data, values: Values, shares: Floats) -> Floats:
    """Return the first values that reach ascending shares of the balanced weight."""
    column = _ValuesOf(values, True)

    def targets(cumulated: Floats) -> Floats:
        # rounding must not push one further, nor to where nothing weighs anything
        return np.asarray(np.maximum(shares * cumulated[-1] * (1.0 - 1e-12), 5e-324))

    def holding(sums: Floats) -> tuple[Floats, NDArray[np.int64]]:
        cumulated = kernels.buckets.cumulate_exactly(sums)
        return cumulated, np.searchsorted(cumulated, targets(cumulated))

    def needed(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        flags = np.zeros(counted.places.size, bool)
        flags[holding(sums)[1]] = True
        return flags & ~counted.are_alike

    counted, sums, flags = count_until_few(column, data, needed, has_weights=True)
    picked, weights = pick(column, data, counted, flags)
    order = np.argsort(picked, kind="stable")
    picked, weights = picked[order], weights[order]
    cumulated, buckets = holding(sums)
    wanted = targets(cumulated)
    # a list of all buckets in order, the picked ones as their values
    sizes = counted.counts[:, 0]
    spread = np.where(flags, sizes, 1)
    is_value = np.repeat(flags, spread)
    entries = np.zeros((is_value.size, 2))
    entries[is_value, 0] = weights
    entries[~is_value] = sums[~flags]
    if counted.lowest.size:
        of_entry = np.repeat(np.where(flags, 0.0, counted.lowest), spread)
    else:
        of_entry = np.zeros(is_value.size)
    of_entry[is_value] = picked
    ends = np.cumsum(spread)
    reached = np.searchsorted(kernels.buckets.cumulate_exactly(entries), wanted)
    # rounding must not leave the bucket
    reached = np.clip(reached, (ends - spread)[buckets], ends[buckets] - 1)
    return np.asarray(of_entry[reached])
