"""Comparisons on trial lists: the functions of both sides, and what they must agree on."""

from functools import lru_cache
from math import log
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import fastpsr as fp
from benchmarks.data import Trials

P_TARGET = 0.01  # of detection costs
_CHECKED = 100_000  # trials at which two step functions are compared


# Cross-entropy


def our_cross_entropy(trials: Trials) -> float:
    return fp.CrossEntropy(normalized=False)(trials.y, trials.posteriors)


def sklearn_log_loss(trials: Trials) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(trials.y, trials.posteriors))


def same_mean(trials: Trials, ours: float, peer: float) -> None:
    """Both are means of positive terms, summed pairwise: only rounding may differ."""
    assert_allclose(ours, peer, rtol=1e-12)


# Expected calibration error


def our_ece(trials: Trials) -> float:
    return fp.ECE(bins=15, on="class")(trials.y, trials.posteriors)


def torchmetrics_ece(trials: Trials) -> float:
    """Torchmetrics, too, bins the posterior of class 1, against the label."""
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    q, y = torch.from_numpy(trials.posteriors), torch.from_numpy(trials.y)
    return float(binary_calibration_error(q, y, n_bins=15, norm="l1"))


def netcal_ece(trials: Trials) -> float:
    """Netcal, too, bins the posterior of class 1 where it is given nothing else."""
    from netcal.metrics import ECE

    return float(ECE(bins=15).measure(trials.posteriors, trials.y))


def same_bins(trials: Trials, ours: float, peer: float) -> None:
    """Their bins are [low, high), ours (low, high], so no posterior may lie on an edge.

    They add one by one: up to N roundings, 1e-10 of a sum of posteriors at SITW size.
    """
    assert not np.isin(trials.posteriors, np.arange(16) / 15).any()
    assert_allclose(ours, peer, rtol=0.0, atol=1e-9)


# Pool adjacent violators


def our_isotonic_values(trials: Trials) -> NDArray[np.float64]:
    """Return the calibrated LLRs, which is what PAV makes of raw scores."""
    raw = fp.Predictions.from_raw_scores(trials.y, trials.scores)
    return fp.PAV().fit(raw).transform(raw).llrs


def sklearn_isotonic_values(trials: Trials) -> NDArray[np.float64]:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression().fit_transform(trials.scores, trials.y)


def same_values(trials: Trials, ours: NDArray[np.float64], peer: NDArray[np.float64]) -> None:
    """The isotonic fit is unique, and a value in it is a ratio of two counts."""
    prior_log_odds = np.log(trials.y.mean()) - np.log1p(-trials.y.mean())
    with np.errstate(over="ignore"):  # LLRs of -inf
        ours = 1.0 / (1.0 + np.exp(-(ours + prior_log_odds)))
    assert_allclose(ours, peer, rtol=0.0, atol=1e-12)


def our_isotonic_fit(trials: Trials) -> fp.PAV:
    return fp.PAV().fit(fp.Predictions.from_raw_scores(trials.y, trials.scores))


def sklearn_isotonic_fit(trials: Trials) -> Any:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression().fit(trials.scores, trials.y)


def same_steps(trials: Trials, ours: fp.PAV, peer: Any) -> None:
    """Compare values at training scores: between them, the peer interpolates and we do not."""
    scores = trials.scores[:_CHECKED]
    block = np.searchsorted(ours.threshold_[1:], scores, side="right")
    assert_allclose(ours.posterior_[block], peer.predict(scores), rtol=0.0, atol=1e-12)


# Direction-preserving calibration


def our_affine_fit(trials: Trials, column: str = "scores") -> tuple[float, float]:
    """Return the scale and the shift of the log-odds."""
    given = fp.Predictions.from_logits(trials.y, getattr(trials, column))
    fitted = fp.DirectionPreserving().fit(given)
    return fitted.scale_, float(fitted.bias_[1] - fitted.bias_[0])


def sklearn_affine_fit(trials: Trials, column: str = "scores") -> tuple[float, float]:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=np.inf).fit(getattr(trials, column)[:, None], trials.y)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def not_worse(trials: Trials, ours: Any, peer: Any, column: str = "scores") -> None:
    """Our objective is the lower one; the peer stops at a gradient of 1e-4, near the optimum.

    Its parameters are then off by that over the curvature, 1e-3 where targets are few.
    """
    sign = 1.0 - 2.0 * trials.y

    def objective(scale: float, shift: float) -> float:
        return float(np.logaddexp(0.0, sign * (scale * getattr(trials, column) + shift)).mean())

    assert objective(*ours) <= objective(*peer) + 1e-13
    assert_allclose(ours, peer, rtol=0.02, atol=0.05)


@lru_cache(maxsize=1)
def stratified_folds(trials: Trials) -> NDArray[np.int64]:
    """Return the fold of each trial, as scikit-learn deals five; both sides are given it."""
    from sklearn.model_selection import StratifiedKFold

    folds = np.empty(trials.y.size, np.int64)
    splitter = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
    for fold, (_, test) in enumerate(splitter.split(trials.y, trials.y)):
        folds[test] = fold
    return folds


def our_cross_fit(trials: Trials) -> float:
    """Return the cross-entropy after calibration."""
    given = fp.Predictions.from_logits(trials.y, trials.scores)
    train = fp.CrossFit(folds=stratified_folds(trials))
    calibrated = fp.cross_fit(fp.DirectionPreserving(), given, train)
    return fp.CrossEntropy(normalized=False)(calibrated)


def psrcal_cross_fit(trials: Trials) -> float:
    import torch
    from psrcal.calibration import AffineCalLogLoss, calibrate

    log_odds, y = torch.from_numpy(trials.scores), torch.from_numpy(trials.y)
    log_q = torch.log_softmax(torch.stack([torch.zeros_like(log_odds), log_odds], 1), 1)
    folds = torch.from_numpy(stratified_folds(trials))
    calibrated = torch.empty_like(log_q)
    for fold in range(5):
        test = folds == fold
        found, _ = calibrate(log_q[~test], y[~test], log_q[test], AffineCalLogLoss)
        calibrated[test] = found.detach()
    return float(-calibrated.gather(1, y[:, None]).mean())


def same_calibration(trials: Trials, ours: float, peer: float) -> None:
    """The optimum is flat: where the peer stops, the cross-entropy has four digits or more."""
    assert_allclose(ours, peer, rtol=1e-4)


# Detection metrics


def our_detection_metrics(trials: Trials) -> tuple[float, ...]:
    """Return EER, Cllr, minCllr and minDCF of the log-odds taken as LLRs."""
    given = fp.Predictions.from_llrs(trials.y, trials.log_odds)
    metrics = (fp.EER(), fp.Cllr(), fp.MinCllr(), fp.MinDCF(P_TARGET))
    return tuple(metric(given) for metric in metrics)


def llreval_detection_metrics(trials: Trials) -> tuple[float, ...]:
    """Fit PAV once, and take all from it, as llreval's own summary does."""
    from llreval.cllr import cllr, min_cllr
    from llreval.pav_rocch import PAV, ROCCH

    llrs, y = trials.log_odds, trials.y
    pav = PAV(llrs, y)
    hull = ROCCH(pav)
    rate = hull.Bayes_error_rate(np.array([log(P_TARGET / (1.0 - P_TARGET))]))
    min_dcf = float(np.ravel(rate)[0]) / min(P_TARGET, 1.0 - P_TARGET)
    return hull.EER(), float(cllr(llrs[y == 1], llrs[y == 0])), float(min_cllr(pav)), min_dcf


def same_metrics(trials: Trials, ours: Any, peer: Any) -> None:
    """The peer finds the EER by a numerical search, to 1e-8 or so."""
    assert_allclose(ours, peer, rtol=1e-6)
