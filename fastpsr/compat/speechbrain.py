"""Functions of `speechbrain.utils.metric_stats`, version 1.1.2."""

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks, kernels
from fastpsr.compat.inputs import as_scores
from fastpsr.data import Predictions
from fastpsr.metrics import operating_points

__all__ = ["EER", "minDCF"]

_NEAREST = operating_points.EER("nearest")


def EER(positive_scores: ArrayLike, negative_scores: ArrayLike) -> tuple[float, float]:  # noqa: N802
    """Return the equal error rate as speechbrain defines it, and its threshold.

    It is the mean of the miss and the false alarm rate at the threshold where they differ least.
    A trial is accepted if its score is above the threshold. Thresholds are the scores, and of
    several the lowest is chosen.

    Parameters
    ----------
    positive_scores, negative_scores : array-like or tensor of shape (N,)
        Scores of targets and of non-targets; infinite scores are allowed.

    Returns
    -------
    eer : float
        A fraction, not percent.
    threshold : float

    Raises
    ------
    ValueError
        For nan, an empty array, or more than one dimension.

    Notes
    -----
    Counts the scores, instead of N comparisons with each of 2 N thresholds. Equal scores are
    accepted or rejected together, as in speechbrain. That computes rates in single precision, so
    that its values have 7 digits, and two thresholds where the rates differ alike may change
    places. It also tries the middle between two scores, which accepts what the lower score accepts.
    The metric :class:`fastpsr.EER` is lower: it is that of the convex hull of the ROC.

    References
    ----------
    https://github.com/speechbrain/speechbrain, `speechbrain/utils/metric_stats.py`.

    Examples
    --------
    >>> from fastpsr.compat.speechbrain import EER
    >>> EER([0.6, 0.7, 0.8, 0.3], [0.4, 0.3, 0.2, 0.1])
    (0.25, 0.3)
    """
    positives = as_scores("positive_scores", positive_scores)
    negatives = as_scores("negative_scores", negative_scores)
    scores = np.concatenate([positives, negatives])
    # with signs and classes changed, what is accepted at or above a threshold is what was rejected,
    # and the higher of two thresholds is the lower
    is_negative = np.arange(scores.size) >= positives.size
    point = _NEAREST.operating_point(Predictions.from_raw_scores(is_negative, -scores))
    threshold = max(scores.min(), -point.threshold)  # inf or nan if all scores are equal
    return (point.p_miss + point.p_fa) / 2.0, float(threshold)


def minDCF(  # noqa: N802
    positive_scores: ArrayLike,
    negative_scores: ArrayLike,
    c_miss: float = 1.0,
    c_fa: float = 1.0,
    p_target: float = 0.01,
) -> tuple[float, float]:
    """Return the least detection cost as speechbrain defines it, and its threshold.

    It is the minimum over thresholds of ``c_miss p_target p_miss + c_fa (1 - p_target) p_fa``. A
    trial is accepted if its score is above the threshold. Thresholds are the scores, and of several
    the lowest is chosen: accepting all trials is not among the choices.

    Parameters
    ----------
    positive_scores, negative_scores : array-like or tensor of shape (N,)
        Scores of targets and of non-targets; infinite scores are allowed.
    c_miss, c_fa : float
        Costs of a miss and of a false alarm, at least 0.
    p_target : float
        Prior probability of a target, 0 to 1.

    Returns
    -------
    min_dcf : float
        Not normalized: divide by ``min(c_miss p_target, c_fa (1 - p_target))`` to compare with
        :class:`fastpsr.MinDCF`.
    threshold : float

    Raises
    ------
    ValueError
        For nan, an empty array, more than one dimension, or costs or priors out of range.

    Notes
    -----
    Memory is proportional to the number of scores, not to its square. Equal scores are accepted or
    rejected together, as in speechbrain, which computes in single precision and may return the
    middle between two scores, which accepts what the lower one accepts.

    References
    ----------
    https://github.com/speechbrain/speechbrain, `speechbrain/utils/metric_stats.py`.

    Examples
    --------
    >>> from fastpsr.compat.speechbrain import minDCF
    >>> cost, threshold = minDCF([0.6, 0.7, 0.8, 0.3], [0.4, 0.3, 0.2, 0.1])
    >>> round(cost, 6), threshold
    (0.0025, 0.4)
    """
    positives = as_scores("positive_scores", positive_scores).copy()
    negatives = as_scores("negative_scores", negative_scores).copy()
    kernels.sorting.sort_in_place(positives, negatives)
    huge, rule = np.finfo(float).max, "be finite and at least 0"
    c_miss = checks.check_number("c_miss", c_miss, 0.0, huge, rule)
    c_fa = checks.check_number("c_fa", c_fa, 0.0, huge, rule)
    p_target = checks.check_number("p_target", p_target, 0.0, 1.0, "lie in 0 to 1")
    scores = np.sort(np.concatenate([positives, negatives]), kind="stable")  # merges sorted runs
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))
    thresholds = scores[ends]
    misses = np.searchsorted(positives, thresholds, "right")
    p_miss = misses / positives.size
    p_fa = (negatives.size - (ends + 1 - misses)) / negatives.size
    costs = c_miss * p_miss * p_target + c_fa * p_fa * (1.0 - p_target)
    best = int(costs.argmin())
    return float(costs[best]), float(thresholds[best])
