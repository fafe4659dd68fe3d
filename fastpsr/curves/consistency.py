"""Where a calibrated system's isotonic fit would lie by chance: the consistency band."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks, kernels
from fastpsr.predictions import Floats, Predictions, check_predictions
from fastpsr.summaries.pav_blocks import require_both_classes

__all__ = ["ConsistencyBand", "consistency_band"]

_MOST_GROUPS = 20_000  # of samples with posteriors that are alike


@dataclass(frozen=True, eq=False)
class ConsistencyBand:
    """Range of the frequencies after PAV that a calibrated system would show.

    Attributes
    ----------
    points : ndarray of float64, shape (P,)
        Posteriors of class 1, in the order asked for.
    low, high : ndarray of float64, shape (P,)
        Ends of the pointwise range.
    confidence_level : float
    seed : int
        Which gives the same band again.
    """

    points: Floats
    low: Floats
    high: Floats
    confidence_level: float
    seed: int


def consistency_band(
    predictions: Predictions,
    points: ArrayLike | None = None,
    *,
    n_resamples: int = 200,
    confidence_level: float = 0.95,
    seed: int | None = None,
) -> ConsistencyBand:
    """Return where the isotonic fit would lie if the posteriors were calibrated.

    In each replicate samples are drawn with replacement, labels are drawn by their posteriors, and
    PAV is trained on both. A reliability diagram that leaves the band shows miscalibration.

    Parameters
    ----------
    predictions : Predictions
        Labeled, binary posteriors or likelihoods.
    points : array-like of float, shape (P,), optional
        Posteriors of class 1 strictly between 0 and 1; by default 0.005 to 0.995 in steps of 0.005.
    n_resamples : int
        Number of replicates.
    confidence_level : float
        Between 0 and 1, for each point by itself.
    seed : int, optional
        By default a new one each time.

    Returns
    -------
    ConsistencyBand

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, a class without samples, or options out of range.

    Notes
    -----
    Samples are independent here: where they share speakers the band is too narrow. More than 20,000
    distinct posteriors are grouped with their neighbors. Samples with weights are drawn alike
    within a group and weigh its mean.

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
    check_predictions(predictions)
    predictions.require_posteriors("reliability")
    if predictions.n_classes > 2:
        raise ValueError(f"reliability needs a binary task, not {predictions.n_classes} classes")
    checks.check_integer("n_resamples", n_resamples, 1)
    checks.check_number("n_resamples", n_resamples, 1, 1e6, "be at most 1,000,000")
    if not 0.0 < checks.as_number("confidence_level", confidence_level) < 1.0:
        raise ValueError(
            f"confidence_level must lie strictly between 0 and 1, not {confidence_level}"
        )
    array = np.arange(1, 200) / 200 if points is None else points
    array = checks.as_inner_points(array, 1)
    require_both_classes("reliability", predictions.class_weights)
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    checks.check_integer("seed", seed, 0)
    samples = predictions.present()
    totals, priors = samples.class_weights, samples.priors
    if not priors.all():
        raise ValueError(f"priors must be positive for reliability, not {priors.tolist()}")
    # from log-odds at the evaluation's priors to those in the data
    logs = np.log(totals) - np.log(priors)
    shift = float(logs[1] - logs[0])
    lowest, log_odds, counts, weight = _groups(samples)
    chance = np.asarray(kernels.sigmoid(log_odds + shift))
    score = np.asarray(kernels.log_odds_from_posteriors(array))
    rng = np.random.default_rng(seed)
    found = np.empty((n_resamples, array.size))
    for replicate in range(n_resamples):
        drawn = rng.multinomial(len(samples), counts / counts.sum())
        hits = rng.binomial(drawn, chance)
        positives, negatives = hits * weight, (drawn - hits) * weight
        starts = kernels.pool_adjacent_violators(negatives, positives)
        above, below = np.add.reduceat(positives, starts), np.add.reduceat(negatives, starts)
        step = np.searchsorted(lowest[starts], score, side="right") - 1
        fitted = checks.log_of_rows(above) - checks.log_of_rows(below)
        found[replicate] = kernels.sigmoid(fitted[np.maximum(step, 0)] - shift)
    tails = [(1.0 - confidence_level) / 2.0, (1.0 + confidence_level) / 2.0]
    low, high = np.quantile(found, tails, axis=0, method="inverted_cdf")
    return ConsistencyBand(array, low, high, confidence_level, seed)


def _groups(samples: Predictions) -> tuple[Floats, Floats, Floats, Floats]:
    """Return groups of like log-odds: lowest, middle, number of samples and mean weight of each."""
    order = np.argsort(samples.log_odds, kind="stable")
    values = samples.log_odds[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if starts.size > _MOST_GROUPS:
        wanted = np.arange(_MOST_GROUPS) * values.size // _MOST_GROUPS
        starts = starts[np.unique(np.searchsorted(starts, wanted, side="right") - 1)]
    counts = np.diff(np.append(starts, values.size))
    middle = values[starts + counts // 2]
    if not samples.weights.size:
        return values[starts], middle, counts, np.ones(starts.size)
    weight = np.add.reduceat(samples.weights[order], starts) / counts
    return values[starts], middle, counts, weight
