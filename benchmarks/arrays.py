"""Comparisons on arrays as classifiers give them: `predict_proba`, float32, logits of K classes.

Peers compute in float32 where they do, and are compared to the digits that this has.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import fastpsr as fp
from benchmarks.comparison import Comparison
from benchmarks.data import MILLION_BALANCED, Trials

BINS = 15
_SPREAD = 1.0  # of logits; not so wide that confidences round to 1 in float32
_ABOVE = 2.0  # the true class's logit, on average


@dataclass(frozen=True)
class Layout:
    """How many samples, of how many classes, in which array: of one column for P(class 1)."""

    n_samples: int
    n_columns: int
    kind: str
    dtype: str = "float64"
    order: str = "C"

    def __str__(self) -> str:
        shape = f"{self.n_samples:,}" + (f" x {self.n_columns:,}" if self.n_columns > 1 else "")
        order = ", Fortran order" if self.order == "F" else ""
        return f"{shape} {self.kind}, {self.dtype}{order}"

    def make(self) -> "Given":
        return make_arrays(self)


@dataclass(frozen=True, eq=False)
class Given:
    """What a user holds.

    Attributes
    ----------
    y : ndarray of int64, shape (N,)
    values : ndarray, shape (N,) or (N, K)
        Posteriors or logits, of the layout's dtype.
    """

    y: NDArray[np.int64]
    values: NDArray[Any]


@lru_cache(maxsize=2)
def make_arrays(layout: Layout, seed: int = 0) -> Given:
    """Draw a test set, with as many samples of each class."""
    rng = np.random.default_rng(seed)
    n, n_classes = layout.n_samples, max(2, layout.n_columns)
    y = rng.permutation(np.arange(n) % n_classes)
    values = _SPREAD * rng.normal(size=(n, n_classes))
    values[np.arange(n), y] += _ABOVE
    if layout.kind == "posteriors":
        values -= values.max(axis=1, keepdims=True)
        np.exp(values, out=values)
        values /= values.sum(axis=1, keepdims=True)
    if layout.n_columns == 1:
        values = values[:, 1]
    return Given(y, np.array(values, layout.dtype, order=layout.order))  # type: ignore[call-overload]


# Posteriors


def our_cross_entropy(given: Given) -> float:
    return fp.CrossEntropy(normalized=False)(given.y, given.values)


def sklearn_log_loss(given: Given) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(given.y, given.values))


def numpy_log_loss(given: Given) -> float:
    y, q = given.y, given.values
    of_true = q[np.arange(y.size), y] if q.ndim == 2 else np.where(y == 1, q, 1.0 - q)
    return float(-np.log(of_true).mean())


def our_brier(given: Given) -> float:
    return fp.BrierScore(normalized=False)(given.y, given.values)


def sklearn_brier(given: Given) -> float:
    from sklearn.metrics import brier_score_loss

    return float(brier_score_loss(given.y, given.values[:, 1]))


def numpy_brier(given: Given) -> float:
    q = given.values if given.values.ndim == 1 else given.values[:, 1]
    return float(((q - given.y) ** 2).mean())


def our_ece(given: Given) -> float:
    return fp.ECE(BINS, on="class")(given.y, given.values)


def torchmetrics_ece(given: Given) -> float:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    q, y = torch.from_numpy(given.values), torch.from_numpy(given.y)
    return float(binary_calibration_error(q, y, n_bins=BINS, norm="l1"))


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
    found = []
    for hits, false_alarms in (ours, peer):
        area = abs(float(np.trapezoid(hits, false_alarms)))
        found.append([area, *(float((c * hits - false_alarms).max()) for c in (0.1, 1.0, 10.0))])
    assert_allclose(*found, rtol=0.0, atol=1e-12)


def our_isotonic_posteriors(trials: Trials) -> NDArray[np.float64]:
    given = fp.Predictions.from_raw_scores(trials.y, trials.scores)
    return fp.PAV().fit(given).transform(given).positive_posteriors


def sklearn_isotonic_posteriors(trials: Trials) -> NDArray[np.float64]:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression().fit_transform(trials.scores, trials.y)


# Logits of K classes


def our_cross_entropy_of_logits(given: Given) -> float:
    return fp.CrossEntropy(normalized=False)(fp.Predictions.from_logits(given.y, given.values))


def torch_cross_entropy(given: Given) -> float:
    import torch

    z, y = torch.from_numpy(given.values), torch.from_numpy(given.y)
    return float(torch.nn.functional.cross_entropy(z, y))


def our_error_rate(given: Given) -> float:
    errors = fp.BayesRisk(fp.CostMatrix.zero_one(given.values.shape[1]), normalized=False)
    return errors(fp.Predictions.from_logits(given.y, given.values))


def torch_error_rate(given: Given) -> float:
    import torch

    z, y = torch.from_numpy(given.values), torch.from_numpy(given.y)
    return float((z.argmax(dim=1) != y).double().mean())


def our_ece_of_logits(given: Given) -> float:
    metric = fp.ECE(BINS, on="confidence")
    return metric(fp.Predictions.from_logits(given.y, given.values))


def torchmetrics_ece_of_logits(given: Given) -> float:
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    z, y = torch.from_numpy(given.values), torch.from_numpy(given.y)
    return float(multiclass_calibration_error(z, y, z.shape[1], n_bins=BINS, norm="l1"))


def agree_to(digits: float, data: Any, ours: Any, peer: Any) -> None:
    assert_allclose(ours, peer, rtol=0.0, atol=digits)


_exactly = partial(agree_to, 1e-12)
_nearly = partial(agree_to, 2e-5)  # sums in single precision

_PROBA = Layout(1_000_000, 2, "posteriors")
_PROBA_32 = Layout(1_000_000, 2, "posteriors", "float32", "F")
_OF_ONE = Layout(1_000_000, 1, "posteriors")
_OF_ONE_32 = Layout(1_000_000, 1, "posteriors", "float32")
_LOGITS = [
    Layout(n_samples, n_classes, "logits", "float32")
    for n_samples, n_classes in ((1_000_000, 10), (100_000, 100), (20_000, 1_000))
]

#: name, layout, promised, ours, the peer's, how they agree, the peer.
_ROWS: list[tuple[str, Any, float, Any, Any, Any, str]] = [
    ("log loss", _PROBA, 25, our_cross_entropy, sklearn_log_loss, _exactly, "scikit-learn"),
    ("log loss", _PROBA, 1, our_cross_entropy, numpy_log_loss, _exactly, "numpy"),
    ("log loss", _PROBA_32, 15, our_cross_entropy, sklearn_log_loss, _nearly, "scikit-learn"),
    ("log loss", _OF_ONE, 1.5, our_cross_entropy, numpy_log_loss, _exactly, "numpy"),
    ("Brier score", _PROBA, 15, our_brier, sklearn_brier, _exactly, "scikit-learn"),
    ("Brier score", _PROBA, 0.5, our_brier, numpy_brier, _exactly, "numpy"),
    ("Brier score", _OF_ONE, 0.7, our_brier, numpy_brier, _exactly, "numpy"),
    ("ECE, 15 bins", _OF_ONE_32, 5, our_ece, torchmetrics_ece, _nearly, "torchmetrics"),
    *(
        ("cross-entropy of logits", layout, promised, our_cross_entropy_of_logits,
         torch_cross_entropy, _nearly, "torch")
        for layout, promised in zip(_LOGITS, (1.5, 1, 1), strict=True)
    ),
    *(
        ("error rate of logits", layout, 1, our_error_rate, torch_error_rate, _exactly, "torch")
        for layout in _LOGITS
    ),
    *(
        ("ECE of the confidence of logits", layout, 2, our_ece_of_logits,
         torchmetrics_ece_of_logits, _nearly, "torchmetrics")
        for layout in _LOGITS
    ),
]  # fmt: skip

#: Comparisons on arrays as users have them.
ARRAYS = [
    *(
        Comparison(name, layout, promised, ours, peer, agree, package, "values")
        for name, layout, promised, ours, peer, agree, package in _ROWS
    ),
    Comparison("AUC", MILLION_BALANCED, 10, our_auc, sklearn_auc, _exactly, "scikit-learn",
               "scores"),
    Comparison("ROC", MILLION_BALANCED, 8, our_roc, sklearn_roc, same_curve, "scikit-learn",
               "scores"),
    Comparison("PAV fit and map to posteriors", MILLION_BALANCED, 20, our_isotonic_posteriors,
               sklearn_isotonic_posteriors, _exactly, "scikit-learn", "scores"),
]  # fmt: skip
