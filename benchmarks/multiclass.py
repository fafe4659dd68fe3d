"""Comparisons on test sets of several classes."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import fastpsr as fp
from benchmarks.data import Samples


def our_cross_entropy(samples: Samples) -> float:
    return fp.CrossEntropy(normalized=False)(samples.y, samples.posteriors)


def sklearn_log_loss(samples: Samples) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(samples.y, samples.posteriors))


def our_macro_auc(samples: Samples) -> float:
    return fp.AUC("macro")(samples.y, samples.posteriors)


def sklearn_macro_auc(samples: Samples) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(samples.y, samples.posteriors, multi_class="ovr"))


def our_ece(samples: Samples) -> float:
    return fp.ECE(bins=15, on="confidence")(samples.y, samples.posteriors)


def netcal_ece(samples: Samples) -> float:
    from netcal.metrics import ECE

    return float(ECE(bins=15).measure(samples.posteriors, samples.y))


def same_value(samples: Samples, ours: float, peer: float) -> None:
    """They add up one by one: only rounding may differ."""
    assert_allclose(ours, peer, rtol=1e-9)


@lru_cache(maxsize=1)
def folds_of(samples: Samples) -> NDArray[np.int64]:
    """Return the fold of each sample; both sides are given it."""
    return np.random.default_rng(0).permutation(samples.y.size) % 5


def our_cross_fit(samples: Samples) -> float:
    """Return the cross-entropy after calibration."""
    given = fp.Predictions.from_log_posteriors(samples.y, samples.log_posteriors)
    train = fp.CrossFit(folds=folds_of(samples))
    return fp.CrossEntropy(normalized=False)(fp.cross_fit(fp.DirectionPreserving(), given, train))


def psrcal_cross_fit(samples: Samples) -> float:
    import torch
    from psrcal.calibration import AffineCalLogLoss, calibrate

    log_q, y = torch.from_numpy(samples.log_posteriors), torch.from_numpy(samples.y)
    folds = torch.from_numpy(folds_of(samples))
    calibrated = torch.empty_like(log_q)
    for fold in range(5):
        test = folds == fold
        found, _ = calibrate(log_q[~test], y[~test], log_q[test], AffineCalLogLoss)
        calibrated[test] = found.detach()
    return float(-calibrated.gather(1, y[:, None]).mean())


def same_calibration(samples: Samples, ours: Any, peer: Any) -> None:
    """The optimum is flat: where the peer stops, the cross-entropy has four digits or more."""
    assert_allclose(ours, peer, rtol=1e-4)
