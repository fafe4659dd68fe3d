"""Consistency band: the range of isotonic fits of a calibrated system by chance."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks, kernels
from fastpsr.counts import begin, count, takes_predictions
from fastpsr.counts.decisions import ThresholdSums
from fastpsr.counts.order_statistics import order_statistics
from fastpsr.counts.roc import require_both_classes
from fastpsr.data import Data, Floats, Part, Predictions
from fastpsr.data.steps import Step
from fastpsr.errors import ArgumentError
from fastpsr.results import Result

_MOST_GROUPS = 20_000  # of samples with similar posteriors


@dataclass(frozen=True, eq=False)
class ConsistencyBand(Result):
    """Pointwise range of the frequencies after PAV under the hypothesis of calibration.

    Attributes
    ----------
    points : ndarray of float64, shape (P,)
        Posteriors of class 1, in the order of the input.
    low, high : ndarray of float64, shape (P,)
        Ends of the pointwise range.
    confidence_level : float
    seed : int
        Seed that reproduces the band.
    """

    points: Floats
    low: Floats
    high: Floats
    confidence_level: float
    seed: int


@takes_predictions
def consistency_band(
    predictions: Data,
    points: ArrayLike | None = None,
    *,
    n_resamples: int = 200,
    confidence_level: float = 0.95,
    seed: int | None = None,
) -> ConsistencyBand:
    """Return the range of isotonic fits under the hypothesis of calibrated posteriors.

    In each replicate, samples are drawn with replacement, their labels are drawn from their
    posteriors, and PAV is trained on them. A reliability curve outside the band shows
    miscalibration.

    Parameters
    ----------
    predictions : Predictions
        Labeled, binary posteriors or likelihoods.
    points : array-like of float, shape (P,), optional
        Posteriors of class 1 strictly between 0 and 1; by default 0.005 to 0.995 in steps of 0.005.
    n_resamples : int
        Number of replicates.
    confidence_level : float
        Pointwise level, between 0 and 1.
    seed : int, optional
        By default a random seed.

    Returns
    -------
    ConsistencyBand

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, a class without samples, or options out of range.

    Notes
    -----
    Samples are assumed to be independent: if they share speakers, the band is too narrow. If there
    are more than 20,000 distinct posteriors, neighboring ones are grouped. Weighted samples of a
    group are drawn with equal probability and have the mean weight of the group.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. Jordan, "Stable reliability diagrams for probabilistic
    classifiers", PNAS 118, 2021, doi:10.1073/pnas.2016191118; J. Broecker and L. Smith,
    "Increasing the reliability of reliability diagrams", Weather and Forecasting 22, 2007.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.2, 0.6, 0.4, 0.8] * 25)
    >>> band = fp.consistency_band(data, [0.5], seed=0)
    >>> bool(band.low[0] < 0.4 < band.high[0])
    True
    """
    predictions.require_posteriors("reliability")
    checks.check_binary("reliability", predictions.n_classes)
    checks.check_integer("n_resamples", n_resamples, 1)
    checks.check_number("n_resamples", n_resamples, 1, 1e6, "be at most 1,000,000")
    confidence_level = checks.as_level(confidence_level)
    array = np.arange(1, 200) / 200 if points is None else points
    array = checks.as_inner_points(array, 1)
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    checks.check_integer("seed", seed, 0)
    begin(predictions)
    totals, priors = predictions.class_weights, predictions.priors
    require_both_classes("reliability", totals)
    if not priors.all():
        raise ArgumentError("priors", f"must be positive for reliability, not {priors.tolist()}")
    # from log-odds at the evaluation's priors to those in the data
    logs = np.log(totals) - np.log(priors)
    shift = float(logs[1] - logs[0])
    lowest, log_odds, counts, weight = _groups(predictions)
    chance = kernels.log_space.sigmoid(log_odds + shift)
    score = kernels.log_space.log_odds_from_posteriors(array)
    rng = np.random.default_rng(seed)
    simulated = np.empty((n_resamples, array.size))
    for replicate in range(n_resamples):
        n_drawn = rng.multinomial(int(counts.sum()), counts / counts.sum())
        hits = rng.binomial(n_drawn, chance)
        positives, negatives = hits * weight, (n_drawn - hits) * weight
        starts = kernels.isotonic.pool_adjacent_violators(negatives, positives)
        above, below = np.add.reduceat(positives, starts), np.add.reduceat(negatives, starts)
        step = np.searchsorted(lowest[starts], score, side="right") - 1
        fitted = checks.log_of_rows(above) - checks.log_of_rows(below)
        simulated[replicate] = kernels.log_space.sigmoid(fitted[np.maximum(step, 0)] - shift)
    tails = [(1.0 - confidence_level) / 2.0, (1.0 + confidence_level) / 2.0]
    low, high = np.quantile(simulated, tails, axis=0, method="inverted_cdf")
    return ConsistencyBand(array, low, high, confidence_level, seed)


def _groups(data: Data) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
    """Return (lowest, middle, number of samples, mean weight) of groups of log-odds."""
    n_rows = int(data.class_sizes.sum())
    lowest, counts = count(_FindDistinct().over(data))
    if lowest is None:
        wanted = np.arange(_MOST_GROUPS) * n_rows // _MOST_GROUPS
        values, n_below = order_statistics(data, _log_odds, wanted)
        first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        lowest, starts = values[first], n_below[first]
        counts = np.diff(np.append(starts, n_rows))
        middle, _ = order_statistics(data, _log_odds, starts + counts // 2)
    else:
        middle = lowest
    if not data.has_weights:
        return lowest, middle, counts, np.ones(lowest.size)
    weights = ThresholdSums(_log_odds, lowest[1:]).total(data)
    return lowest, middle, counts, weights.sum(axis=0) / counts


def _log_odds(predictions: Predictions) -> Floats:
    return predictions.log_odds


@dataclass(frozen=True, eq=False)
class _FindDistinct(Step[Any]):
    """Find the distinct log-odds and their counts; (None, None) if there are too many."""

    is_exact = True

    def start(self) -> Any:
        return np.empty(0), np.empty(0, np.int64)

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        values = part.predictions.present().log_odds
        size = 4 * _MOST_GROUPS  # most data have too many, and a few rows suffice to see it
        for start in range(0, values.size, size):
            if accumulator[0] is None:
                break
            counted = np.unique(values[start : start + size], return_counts=True)
            accumulator = self.merge(accumulator, counted)
        return accumulator

    def merge(self, total: Any, more: Any) -> Any:
        if total[0] is None or more[0] is None:
            return None, None
        values, places = np.unique(np.concatenate([total[0], more[0]]), return_inverse=True)
        if values.size > _MOST_GROUPS:
            return None, None
        counts = np.zeros(values.size, np.int64)
        np.add.at(counts, places, np.concatenate([total[1], more[1]]))
        return values, counts
