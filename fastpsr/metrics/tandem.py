"""Equal error rate of a countermeasure in tandem with a verification system (t-EER)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.counts.decisions import KindCounts, kinds_of
from fastpsr.counts.ranks import rank_cells
from fastpsr.counts.roc import error_rates
from fastpsr.data import Floats, Part, Predictions
from fastpsr.errors import ArgumentError


def tandem_eer(cm: Predictions, asv: Predictions, spoof: ArrayLike | str) -> float:
    """Return the concurrent tandem equal error rate (t-EER) of two systems.

    The countermeasure passes trials on to the verification system, and a trial is accepted if both
    accept it. With decisions that are independent given the kind of trial, targets are rejected
    with ``1 - (1 - P_miss_cm) (1 - P_miss)``, non-targets accepted with ``(1 - P_miss_cm) P_fa``,
    and spoofed trials accepted with ``P_fa_cm P_fa_spoof``. The t-EER is the value of all three at
    the pair of thresholds where they are equal.

    Parameters
    ----------
    cm : Predictions
        Scores of the countermeasure; class 1 are bona fide trials, class 0 spoofed ones.
    asv : Predictions
        Scores of the verification system, of the same trials or of others; class 1 are targets,
        class 0 non-targets and spoofed trials.
    spoof : array-like of bool, shape (N,), or str
        Whether each trial of `asv` is spoofed, or the name of such a column.

    Returns
    -------
    float
        A fraction, up to 0.5 if the verification system is better than chance.

    Raises
    ------
    ValueError
        For more than 2 classes, if a kind of trial is absent, and if no pair of thresholds makes
        the rates equal: the verification system accepts fewer spoofed trials than non-targets at
        its EER, or the countermeasure is no better than chance.

    Notes
    -----
    Rates are interpolated between neighboring thresholds, as by ``EER("crossing")``. At the first
    of several points of equality the countermeasure rejects least. Weights are used within each
    kind of trial. The cost is a sort of the scores.

    References
    ----------
    T. Kinnunen, K. A. Lee, H. Tak, N. Evans and A. Nautsch, "t-EER: parameter-free tandem
    evaluation of countermeasures and biometric comparators", IEEE Transactions on Pattern Analysis
    and Machine Intelligence, 2023, doi:10.1109/TPAMI.2023.3313648. Their program, TakHemlata/T-EER
    on GitHub, takes the nearest pair of thresholds instead.

    Examples
    --------
    >>> import fastpsr as fp
    >>> cm = fp.Predictions.from_raw_scores([1, 1, 1, 1, 0, 0, 0], [3, 2, 1, -1, 0, -2, -3])
    >>> asv = fp.Predictions.from_raw_scores([1, 1, 1, 0, 0, 0, 0], [3, 2, 0, 1, -1, 2, 3])
    >>> round(fp.tandem_eer(cm, asv, [False] * 5 + [True] * 2), 4)
    0.3333
    """
    from scipy.optimize import brentq

    for name, system in (("cm", cm), ("asv", asv)):
        checks.check_instance(name, system, Predictions, "Predictions")
        checks.check_binary("the t-EER", system.n_classes)
    points = _equal_misses(_countermeasure_errors(cm), _verification_errors(asv, spoof))
    excess = _excess(points)
    after = int(np.argmax(excess <= 0.0))
    if excess[0] < 0.0 or excess[after] > 0.0:
        raise ArgumentError(
            "cm",
            "must equal the tandem error rates at some threshold, but spoofed trials are accepted "
            f"{'less' if excess[0] < 0.0 else 'more'} often than non-targets at all of them",
        )
    ends = points[:, [max(after - 1, 0), after]]
    share = brentq(lambda w: _excess(ends @ [1.0 - w, w]), 0.0, 1.0, xtol=1e-15) if after else 0.0
    difference, p_fa, *_ = ends @ [1.0 - share, share]
    return float(p_fa / (1.0 + difference))


def _countermeasure_errors(cm: Predictions) -> tuple[Floats, Floats]:
    """Return P_miss and P_fa, from the lowest threshold up."""
    cells = rank_cells(cm)
    cells.class_totals("the t-EER")
    return error_rates(cells.negatives, cells.positives)


def _verification_errors(asv: Predictions, spoof: ArrayLike | str) -> tuple[Floats, ...]:
    """Return P_miss, P_fa and P_fa of spoofed trials, from the highest threshold down."""
    kinds = kinds_of(Part.whole(asv), spoof)
    distinct, place = np.unique(asv.scores, return_inverse=True)
    groups = kinds.astype(np.int64) * distinct.size + place
    weight: Floats = np.bincount(groups, asv.sample_weight, 3 * distinct.size).astype(float)
    return tuple(rate[::-1] for rate in KindCounts(weight.reshape(3, -1)).error_rates())


def _equal_misses(of_cm: tuple[Floats, ...], of_verification: tuple[Floats, ...]) -> Floats:
    """Return the points where tandem misses are as frequent as accepted non-targets, (4, V).

    With the difference ``d = P_fa - P_miss`` of verification, P_miss_cm is then ``d / (1 + d)``,
    and both rates are ``P_fa / (1 + d)``. Rows are d, which ascends, P_fa, P_fa of spoofed trials,
    and ``P_fa_cm / (1 - P_miss_cm)``; between the points all are linear.
    """
    p_miss, p_fa, p_fa_spoof = of_verification
    difference = p_fa - p_miss
    used = difference >= 0.0
    p_miss_cm, p_fa_cm = of_cm
    half = np.interp(0.5, p_miss_cm, p_fa_cm)  # where verification accepts all trials
    p_fa_cm = np.append(p_fa_cm[p_miss_cm <= 0.5], half)
    p_miss_cm = np.append(p_miss_cm[p_miss_cm <= 0.5], 0.5)
    odds, ratio = p_miss_cm / (1.0 - p_miss_cm), p_fa_cm / (1.0 - p_miss_cm)
    highest = np.interp(-difference[used], -odds[::-1], ratio[::-1])  # of several at the same odds
    at_verification = [difference[used], p_fa[used], p_fa_spoof[used], highest]
    at_cm = [odds, *(np.interp(odds, difference, rate) for rate in (p_fa, p_fa_spoof)), ratio]
    points = np.concatenate([at_verification, at_cm], axis=1)
    return np.asarray(points[:, np.argsort(points[0], kind="stable")])


def _excess(points: Floats) -> Any:
    """Return by how much accepted spoofed trials exceed accepted non-targets, up to a factor."""
    _, p_fa, p_fa_spoof, ratio = points
    return ratio * p_fa_spoof - p_fa
