"""The same number from the same arrays, by fastpsr and by a peer.

Each side goes from raw arrays (int64 labels, scores, posteriors or logits) to the value. Peers are
imported when they are called, so that a case can be listed where its peer is missing. Peers compute
in float32 where they do, and are compared to the digits that this has.
"""

from functools import lru_cache, partial
from math import log
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import fastpsr as fp
from benchmarks.data import (
    MILLION_BALANCED,
    SITW,
    Arrays,
    Layout,
    Samples,
    Size,
    Softmax,
    Systems,
    SystemsSize,
    Trials,
)
from benchmarks.harness import Case, Promise

P_TARGET = 0.01  # of detection costs
PRIOR = 0.5  # of targets, at which both sides of a fusion weigh the classes
BINS = 15


def agree_to(digits: float, data: Any, ours: Any, peer: Any) -> None:
    assert_allclose(ours, peer, rtol=0.0, atol=digits)


exactly = partial(agree_to, 1e-12)
nearly = partial(agree_to, 2e-5)  # sums in single precision


# Posteriors


def our_log_loss(arrays: Arrays) -> float:
    return fp.CrossEntropy(normalized=False)(arrays.y, arrays.values)


def sklearn_log_loss(arrays: Arrays) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(arrays.y, arrays.values))


def numpy_log_loss(arrays: Arrays) -> float:
    return float(-np.log(arrays.values[np.arange(arrays.y.size), arrays.y]).mean())


def our_brier(arrays: Arrays) -> float:
    return fp.BrierScore(normalized=False)(arrays.y, arrays.values)


def sklearn_brier(arrays: Arrays) -> float:
    from sklearn.metrics import brier_score_loss

    return float(brier_score_loss(arrays.y, arrays.values[:, 1]))


def numpy_brier(arrays: Arrays) -> float:
    return float(((arrays.values[:, 1] - arrays.y) ** 2).mean())


def our_ece(trials: Trials) -> float:
    return fp.ECE(BINS, on="class")(trials.y, trials.posteriors)


def torchmetrics_ece(trials: Trials) -> float:
    """Torchmetrics, too, bins the posterior of class 1, against the label."""
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    q, y = torch.from_numpy(trials.posteriors), torch.from_numpy(trials.y)
    return float(binary_calibration_error(q, y, n_bins=BINS, norm="l1"))


def our_macro_auc(samples: Samples) -> float:
    return fp.AUC("macro")(samples.y, samples.posteriors)


def sklearn_macro_auc(samples: Samples) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(samples.y, samples.posteriors, multi_class="ovr"))


# Logits of K classes


def our_cross_entropy(arrays: Arrays) -> float:
    return fp.CrossEntropy(normalized=False)(fp.Predictions.from_logits(arrays.y, arrays.values))


def torch_cross_entropy(arrays: Arrays) -> float:
    import torch

    z, y = torch.from_numpy(arrays.values), torch.from_numpy(arrays.y)
    return float(torch.nn.functional.cross_entropy(z, y))


def our_error_rate(arrays: Arrays) -> float:
    errors = fp.BayesRisk(fp.CostMatrix.zero_one(arrays.values.shape[1]), normalized=False)
    return errors(fp.Predictions.from_logits(arrays.y, arrays.values))


def torch_error_rate(arrays: Arrays) -> float:
    import torch

    z, y = torch.from_numpy(arrays.values), torch.from_numpy(arrays.y)
    return float((z.argmax(dim=1) != y).double().mean())


def our_confidence_ece(arrays: Arrays) -> float:
    metric = fp.ECE(BINS, on="confidence")
    return metric(fp.Predictions.from_logits(arrays.y, arrays.values))


def torchmetrics_confidence_ece(arrays: Arrays) -> float:
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    z, y = torch.from_numpy(arrays.values), torch.from_numpy(arrays.y)
    return float(multiclass_calibration_error(z, y, z.shape[1], n_bins=BINS, norm="l1"))


# Ranks


def our_auc(trials: Trials) -> float:
    return fp.AUC()(trials.y, trials.scores)


def sklearn_auc(trials: Trials) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(trials.y, trials.scores))


def our_roc(trials: Trials) -> NDArray[np.float64]:
    curve = fp.roc(fp.Predictions.from_raw_scores(trials.y, trials.scores))
    return np.array([1.0 - curve.p_miss, curve.p_fa])


def sklearn_roc(trials: Trials) -> NDArray[np.float64]:
    from sklearn.metrics import roc_curve

    false_alarms, hits, _ = roc_curve(trials.y, trials.scores)
    return np.array([hits, false_alarms])


def same_curve(trials: Trials, ours: NDArray[np.float64], peer: NDArray[np.float64]) -> None:
    """Each leaves out other points on straight lines; corners and the area below are the same."""
    summaries = []
    for hits, false_alarms in (ours, peer):
        area = abs(float(np.trapezoid(hits, false_alarms)))
        summaries.append([area, *(float((c * hits - false_alarms).max()) for c in (0.1, 1.0, 10))])
    assert_allclose(*summaries, rtol=0.0, atol=1e-12)


def our_isotonic_posteriors(trials: Trials) -> NDArray[np.float64]:
    predictions = fp.Predictions.from_raw_scores(trials.y, trials.scores)
    return fp.PAV().fit(predictions).transform(predictions).positive_posteriors


def sklearn_isotonic_posteriors(trials: Trials) -> NDArray[np.float64]:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression().fit_transform(trials.scores, trials.y)


def our_detection_metrics(trials: Trials) -> tuple[float, ...]:
    """Return EER, Cllr, minCllr and minDCF of the log-odds taken as LLRs."""
    predictions = fp.Predictions.from_llrs(trials.y, trials.log_odds)
    metrics = (fp.EER(), fp.Cllr(), fp.MinCllr(), fp.MinDCF(P_TARGET))
    return tuple(metric(predictions) for metric in metrics)


def llreval_ranks(llrs: Any, y: Any) -> tuple[float, float, float]:
    """Return EER, minDCF and minCllr of one PAV fit, as llreval's own summary does."""
    from llreval.cllr import min_cllr
    from llreval.pav_rocch import PAV, ROCCH

    pav = PAV(llrs, y)
    hull = ROCCH(pav)
    rate = hull.Bayes_error_rate(np.array([log(P_TARGET / (1.0 - P_TARGET))]))
    min_dcf = float(np.ravel(rate)[0]) / min(P_TARGET, 1.0 - P_TARGET)
    return float(hull.EER()), min_dcf, float(min_cllr(pav))


def llreval_detection_metrics(trials: Trials) -> tuple[float, ...]:
    from llreval.cllr import cllr

    llrs, y = trials.log_odds, trials.y
    eer, min_dcf, min_cllr = llreval_ranks(llrs, y)
    return eer, float(cllr(llrs[y == 1], llrs[y == 0])), min_cllr, min_dcf


def same_metrics(trials: Trials, ours: Any, peer: Any) -> None:
    """The peer finds the EER by a numerical search, to 1e-8 or so."""
    assert_allclose(ours, peer, rtol=1e-6)


# Direction-preserving calibration


def our_affine_fit(trials: Trials) -> tuple[float, float]:
    """Return the scale and the shift of the log-odds."""
    predictions = fp.Predictions.from_logits(trials.y, trials.scores)
    fitted = fp.DirectionPreserving().fit(predictions)
    return fitted.scale_, float(fitted.bias_[1] - fitted.bias_[0])


def sklearn_affine_fit(trials: Trials) -> tuple[float, float]:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=np.inf).fit(trials.scores[:, None], trials.y)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def not_worse(trials: Trials, ours: Any, peer: Any) -> None:
    """Our objective is the lower one; the peer stops at a gradient of 1e-4, near the optimum.

    Its parameters are then off by that over the curvature, 1e-3 where targets are few.
    """
    sign = 1.0 - 2.0 * trials.y

    def objective(scale: float, shift: float) -> float:
        return float(np.logaddexp(0.0, sign * (scale * trials.scores + shift)).mean())

    assert objective(*ours) <= objective(*peer) + 1e-13
    assert_allclose(ours, peer, rtol=0.02, atol=0.05)


@lru_cache(maxsize=1)
def folds_of(data: Trials | Samples) -> NDArray[np.int64]:
    """Return the fold of each sample, of five; both sides are given it."""
    return np.random.default_rng(0).permutation(data.y.size) % 5


def log_posteriors(log_odds: Any) -> Any:
    """Return the tensor of log-posteriors, shape (N, 2)."""
    import torch

    scores = torch.from_numpy(np.ascontiguousarray(log_odds))
    return torch.log_softmax(torch.stack([torch.zeros_like(scores), scores], 1), 1)


def psrcal_calibrated(log_q: Any, y: Any, folds: Any) -> Any:
    """Return log-posteriors that psrcal calibrates by fits to the other folds."""
    import torch
    from psrcal.calibration import AffineCalLogLoss, calibrate

    calibrated = torch.empty_like(log_q)
    for fold in range(5):
        test = folds == fold
        transformed, _ = calibrate(log_q[~test], y[~test], log_q[test], AffineCalLogLoss)
        calibrated[test] = transformed.detach()
    return calibrated


def our_cross_fit(data: Trials | Samples) -> float:
    """Return the cross-entropy after calibration."""
    if isinstance(data, Trials):
        predictions = fp.Predictions.from_logits(data.y, data.scores)
    else:
        predictions = fp.Predictions.from_log_posteriors(data.y, data.log_posteriors)
    train = fp.CrossFit(folds=folds_of(data))
    calibrated = fp.cross_fit(fp.DirectionPreserving(), predictions, train)
    return fp.CrossEntropy(normalized=False)(calibrated)


def psrcal_cross_fit(data: Trials | Samples) -> float:
    import torch

    is_binary = isinstance(data, Trials)
    log_q = log_posteriors(data.scores) if is_binary else torch.from_numpy(data.log_posteriors)
    y = torch.from_numpy(data.y)
    calibrated = psrcal_calibrated(log_q, y, torch.from_numpy(folds_of(data)))
    return float(-calibrated.gather(1, y[:, None]).mean())


def same_calibration(data: Any, ours: float, peer: float) -> None:
    """The optimum is flat: where the peer stops, the cross-entropy has four digits or more."""
    assert_allclose(ours, peer, rtol=1e-4)


# Fusion

Weights = tuple[NDArray[np.float64], float]  # of the systems, and the constant of the LLR


def our_fusion(systems: Systems) -> Weights:
    scored = [fp.Predictions.from_raw_scores(systems.y, scores) for scores in systems.scores]
    fusion = fp.LinearFusion(PRIOR).fit(scored)
    return fusion.weights_, float(fusion.bias_[1] - fusion.bias_[0])


def sklearn_fusion(systems: Systems) -> Weights:
    """Fit without penalty to the optimum."""
    from sklearn.linear_model import LogisticRegression

    n = systems.y.size
    n_targets = int(systems.y.sum())
    share = np.where(systems.y == 1, PRIOR * n / n_targets, (1.0 - PRIOR) * n / (n - n_targets))
    fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    fitted.fit(np.ascontiguousarray(systems.scores.T), systems.y, sample_weight=share)
    return fitted.coef_[0], float(fitted.intercept_[0]) - log(PRIOR / (1.0 - PRIOR))


def same_llrs(systems: Systems, ours: Weights, peer: Weights) -> None:
    """The optimum is one; the peer stops where the objective no longer changes."""
    llrs, expected = (weights @ systems.scores + constant for weights, constant in (ours, peer))
    assert_allclose(llrs, expected, rtol=0.0, atol=1e-5)


_PROBA, _FEW_PROBA = (Layout(n, 2, "posteriors") for n in (1_000_000, 1_000))
_LOGITS = [
    Layout(n_samples, n_classes, "logits", "float32")
    for n_samples, n_classes in ((1_000_000, 10), (100_000, 100), (20_000, 1_000))
]
_SYSTEMS = SystemsSize(SITW.n_trials, SITW.n_targets, 3, "float64")
_FUSION = Promise(20, bound="the sort of the rows, and sums over pairs of columns")
_ROC = Promise(8, bound="the sort of the scores")
_CLASSES = Promise(30, bound="sums over pairs of classes")

#: Name, data, how many times as fast, ours, the peer's, how they agree, the peer.
_ROWS: list[tuple[str, Any, Promise | int | None, Any, Any, Any, str]] = [
    ("log loss", _PROBA, 20, our_log_loss, sklearn_log_loss, exactly, "scikit-learn"),
    ("log loss", _PROBA, 1, our_log_loss, numpy_log_loss, exactly, "numpy"),
    ("log loss", _FEW_PROBA, None, our_log_loss, sklearn_log_loss, exactly, "scikit-learn"),
    ("Brier score", _PROBA, 12, our_brier, sklearn_brier, exactly, "scikit-learn"),
    ("Brier score", _PROBA, 1, our_brier, numpy_brier, exactly, "numpy"),
    ("AUC", MILLION_BALANCED, 10, our_auc, sklearn_auc, exactly, "scikit-learn"),
    ("AUC", Size(1_000, 500), None, our_auc, sklearn_auc, exactly, "scikit-learn"),
    ("macro AUC", Softmax(50_000, 100), 3, our_macro_auc, sklearn_macro_auc,
     partial(agree_to, 1e-9), "scikit-learn"),
    ("ROC", MILLION_BALANCED, _ROC, our_roc, sklearn_roc, same_curve, "scikit-learn"),
    ("PAV fit and map to posteriors", MILLION_BALANCED, 20, our_isotonic_posteriors,
     sklearn_isotonic_posteriors, exactly, "scikit-learn"),
    ("EER, Cllr, minCllr and minDCF", SITW, 10, our_detection_metrics, llreval_detection_metrics,
     same_metrics, "llreval"),
    ("ECE, 15 bins", SITW, 4, our_ece, torchmetrics_ece, partial(agree_to, 1e-9), "torchmetrics"),
    ("DP fit", SITW, 40, our_affine_fit, sklearn_affine_fit, not_worse, "scikit-learn"),
    ("DP cross-fit, 5 folds", SITW, 150, our_cross_fit, psrcal_cross_fit, same_calibration,
     "psrcal"),
    ("DP cross-fit, 5 folds", Softmax(10_000, 100), _CLASSES, our_cross_fit, psrcal_cross_fit,
     same_calibration, "psrcal"),
    ("fusion fit", _SYSTEMS, _FUSION, our_fusion, sklearn_fusion, same_llrs, "scikit-learn"),
    *(
        (name, layout, 1, ours, peer, agree, package)
        for name, ours, peer, agree, package in (
            ("cross-entropy of logits", our_cross_entropy, torch_cross_entropy, nearly, "torch"),
            ("error rate of logits", our_error_rate, torch_error_rate, exactly, "torch"),
            ("ECE of the confidence of logits", our_confidence_ece, torchmetrics_confidence_ece,
             nearly, "torchmetrics"),
        )
        for layout in _LOGITS
    ),
]  # fmt: skip

CASES = [
    Case(name, data, ours, peer, agree, (package,),
         Promise(promise) if isinstance(promise, int) else promise)
    for name, data, promise, ours, peer, agree, package in _ROWS
]  # fmt: skip
