"""Functions of the scoring script of the NIST SREs, as wespeaker and 3D-Speaker carry it.

There it is `wespeaker/utils/score_metrics.py` and `speakerlab/utils/score_metrics.py`.
"""

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.compat.inputs import as_scores, from_tensor
from fastpsr.data import Floats
from fastpsr.errors import ArgumentError

__all__ = ["compute_c_norm", "compute_eer", "compute_pmiss_pfa_rbst"]


def compute_pmiss_pfa_rbst(
    scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Return miss and false alarm rates where scores above each of the sorted scores are accepted.

    Parameters
    ----------
    scores : array-like or tensor of shape (N,)
        Scores of trials; infinite scores are allowed.
    labels : array-like or tensor of shape (N,)
        1 for targets, 0 for non-targets; booleans are allowed.
    weights : array-like or tensor of shape (N,), optional
        Weights of trials, at least 0.

    Returns
    -------
    fnr, fpr : ndarray of float64, shape (N,)
        Rates at the scores in ascending order.

    Raises
    ------
    ValueError
        For nan, other labels, lengths that differ, or a class without weight.

    Notes
    -----
    Equal scores are pooled: all of them have the rates at the last. The scripts have a rate after
    each single trial, so that their results depend on the order of equal scores in the file: four
    equal scores give an EER of 0 or 1 there, and 0.5 here. Without equal scores, rates are theirs.
    Accepting all trials, with rates 0 and 1, is not among the points, as it is not there.

    References
    ----------
    https://github.com/wenet-e2e/wespeaker, `wespeaker/utils/score_metrics.py`.

    Examples
    --------
    >>> from fastpsr.compat import nist
    >>> fnr, fpr = nist.compute_pmiss_pfa_rbst([1.0, 2.0, 3.0, 3.0], [0, 1, 0, 1])
    >>> fnr.tolist(), fpr.tolist()
    ([0.0, 0.5, 1.0, 1.0], [0.5, 0.5, 0.0, 0.0])
    """
    scores = as_scores("scores", scores)
    y = checks.as_labels("labels", from_tensor(labels), scores.size, 2)
    given = None if weights is None else from_tensor(weights)
    w = checks.as_weights("weights", given, scores.size)
    order = np.argsort(scores)
    scores, y, w = scores[order], y[order], w[order] if w.size else np.ones(scores.size)
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))
    last = np.repeat(ends, np.diff(ends, prepend=-1))
    rates = []
    for label in (1, 0):
        passed = np.cumsum(np.where(y == label, w, 0.0))
        if not passed[-1] > 0.0:
            raise ArgumentError("labels", f"must have trials with label {label} and weight > 0")
        rates.append((passed / passed[-1])[last])
    return rates[0], 1.0 - rates[1]


def compute_eer(
    fnr: ArrayLike, fpr: ArrayLike, scores: ArrayLike | None = None
) -> float | tuple[float, float]:
    """Return the equal error rate by interpolation between two operating points.

    These are the first point with ``fnr >= fpr`` and the one before. The line between them crosses
    ``fnr = fpr`` at the EER.

    Parameters
    ----------
    fnr, fpr : array-like or tensor of shape (N,)
        Miss and false alarm rates at ascending thresholds, as of :func:`compute_pmiss_pfa_rbst`.
    scores : array-like or tensor of shape (N,), optional
        All scores, in any order.

    Returns
    -------
    float, or tuple of two floats
        The EER, a fraction; with `scores` also the score at the first of the two points.

    Raises
    ------
    ValueError
        For rates that are not in 0 to 1, not sorted, of different lengths, or that do not cross.

    Notes
    -----
    If already the first point has ``fnr >= fpr``, the point before it accepts all trials: rates 0
    and 1. The scripts raise an IndexError there.

    References
    ----------
    https://github.com/wenet-e2e/wespeaker, `wespeaker/utils/score_metrics.py`.

    Examples
    --------
    >>> from fastpsr.compat import nist
    >>> rates = nist.compute_pmiss_pfa_rbst([1.0, 2.0, 3.0, 4.0, 5.0], [0, 1, 0, 0, 1])
    >>> nist.compute_eer(*rates)
    0.5
    >>> nist.compute_eer(*rates, [1.0, 2.0, 3.0, 4.0, 5.0])
    (0.5, 3.0)
    """
    miss, false_alarm = _rates(fnr, fpr)
    for name, steps in (("fnr", np.diff(miss)), ("fpr", -np.diff(false_alarm))):
        if (steps < -1e-12).any():  # 1 - cumulated weights may go up by a rounding error
            way = "ascending" if name == "fnr" else "descending"
            raise ArgumentError(name, f"must be {way}, as thresholds ascend",
                                int(np.flatnonzero(steps < -1e-12)[0]) + 1)  # fmt: skip
    crossed = np.flatnonzero(miss >= false_alarm)
    if not crossed.size:
        raise ArgumentError("fnr", "must be at least fpr at the last point")
    first = int(crossed[0])
    before = (miss[first - 1], false_alarm[first - 1]) if first else (0.0, 1.0)
    gap = miss[first] - false_alarm[first]
    share = gap / (gap + before[1] - before[0])
    eer = float(miss[first] + share * (before[0] - miss[first]))
    if scores is None:
        return eer
    ordered = np.sort(as_scores("scores", scores))
    checks.check_length("scores", ordered.size, miss.size)
    return eer, float(ordered[first])


def compute_c_norm(
    fnr: ArrayLike, fpr: ArrayLike, p_target: float, c_miss: float = 1, c_fa: float = 1
) -> float:
    """Return the least detection cost over operating points, divided by that without scores.

    Parameters
    ----------
    fnr, fpr : array-like or tensor of shape (N,)
        Miss and false alarm rates, as of :func:`compute_pmiss_pfa_rbst`.
    p_target : float
        Prior probability of a target, between 0 and 1.
    c_miss, c_fa : float
        Costs of a miss and of a false alarm, above 0.

    Returns
    -------
    float
        The minimum of ``c_miss p_target fnr + c_fa (1 - p_target) fpr``, divided by
        ``min(c_miss p_target, c_fa (1 - p_target))``.

    Raises
    ------
    ValueError
        For rates that are not in 0 to 1, or costs or priors out of range.

    Notes
    -----
    The points of :func:`compute_pmiss_pfa_rbst` lack the one that accepts all trials, so that this
    may exceed 1. :class:`fastpsr.MinDCF` has that point.

    References
    ----------
    https://github.com/wenet-e2e/wespeaker, `wespeaker/utils/score_metrics.py`.

    Examples
    --------
    >>> from fastpsr.compat import nist
    >>> rates = nist.compute_pmiss_pfa_rbst([1.0, 2.0, 3.0, 4.0, 5.0], [0, 1, 0, 0, 1])
    >>> nist.compute_c_norm(*rates, p_target=0.01)
    0.5
    """
    miss, false_alarm = _rates(fnr, fpr)
    tiny, huge = np.finfo(float).tiny, np.finfo(float).max
    p_target = checks.check_number(
        "p_target", p_target, tiny, 1.0 - 2.0**-53, "lie between 0 and 1"
    )
    c_miss = checks.check_number("c_miss", c_miss, tiny, huge, "be finite and above 0")
    c_fa = checks.check_number("c_fa", c_fa, tiny, huge, "be finite and above 0")
    of_miss, of_false_alarm = c_miss * p_target, c_fa * (1.0 - p_target)
    least = float((of_miss * miss + of_false_alarm * false_alarm).min())
    return least / min(of_miss, of_false_alarm)


def _rates(fnr: ArrayLike, fpr: ArrayLike) -> tuple[Floats, Floats]:
    """Return valid rates of equal length."""
    rates = [as_scores("fnr", fnr), as_scores("fpr", fpr)]
    for name, each in zip(("fnr", "fpr"), rates, strict=True):
        checks.require(name, each, -1e-12, 1.0 + 1e-12, "lie in 0 to 1")
    if rates[0].size != rates[1].size:
        raise ArgumentError(
            "fpr", f"must have one entry per point: {rates[0].size}, not {rates[1].size}"
        )
    return rates[0], rates[1]
