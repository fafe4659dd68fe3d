"""What fastpsr is compared with: the same number from the same arrays, computed by a peer.

Each side goes from raw arrays (int64 labels, scores or posteriors) to the value. Peers are
imported when they are called, so that a comparison can be listed where its peer is missing.
"""

from functools import partial

from benchmarks import binary, fusion, multiclass
from benchmarks.arrays import ARRAYS
from benchmarks.comparison import Comparison
from benchmarks.data import (
    LARGE,
    LARGE_BALANCED,
    MILLION,
    SITW,
    SITW_BALANCED,
    SMALL,
    Size,
    Softmax,
    SystemsSize,
)

__all__ = ["COMPARISONS"]


def _cross_entropy(size: Size, promised: float | None = None) -> Comparison:
    return Comparison(
        "cross-entropy", size, promised, binary.our_cross_entropy, binary.sklearn_log_loss,
        binary.same_mean, "scikit-learn", "posteriors",
    )  # fmt: skip


def _pav(size: Size, promised: float | None = None) -> Comparison:
    return Comparison(
        "PAV fit and transform", size, promised, binary.our_isotonic_values,
        binary.sklearn_isotonic_values, binary.same_values, "scikit-learn", "scores",
    )  # fmt: skip


def _pav_fit(size: Size, promised: float | None = None) -> Comparison:
    return Comparison(
        "PAV fit", size, promised, binary.our_isotonic_fit, binary.sklearn_isotonic_fit,
        binary.same_steps, "scikit-learn", "scores",
    )  # fmt: skip


COMPARISONS = [
    _cross_entropy(SMALL),
    _cross_entropy(SITW, 25),
    _cross_entropy(SITW_BALANCED),
    _cross_entropy(MILLION),
    _cross_entropy(LARGE),
    *(
        Comparison(
            "cross-entropy", size, None, multiclass.our_cross_entropy, multiclass.sklearn_log_loss,
            multiclass.same_value, "scikit-learn", "posteriors",
        )
        for size in (Softmax(1_000_000, 10), Softmax(100_000, 100))
    ),
    Comparison(
        "macro AUC", Softmax(50_000, 100), 3, multiclass.our_macro_auc,
        multiclass.sklearn_macro_auc, multiclass.same_value, "scikit-learn", "posteriors",
    ),
    Comparison(
        "ECE, 15 bins", SITW, 4, binary.our_ece, binary.torchmetrics_ece, binary.same_bins,
        "torchmetrics", "posteriors",
    ),
    Comparison(
        "ECE, 15 bins", SITW, None, binary.our_ece, binary.netcal_ece, binary.same_bins, "netcal",
        "posteriors",
    ),
    Comparison(
        "ECE of the confidence, 15 bins", Softmax(1_000_000, 10), None, multiclass.our_ece,
        multiclass.netcal_ece, multiclass.same_value, "netcal", "posteriors",
    ),
    _pav(SMALL),
    _pav(SITW, 25),
    _pav(SITW_BALANCED),
    _pav_fit(LARGE, 80),
    _pav_fit(LARGE_BALANCED, 25),
    Comparison(
        "DP fit", SITW, 40, binary.our_affine_fit, binary.sklearn_affine_fit, binary.not_worse,
        "scikit-learn", "scores",
    ),
    Comparison(
        "DP fit, log-odds near their optimum",
        SITW,
        None,
        partial(binary.our_affine_fit, column="log_odds"),
        partial(binary.sklearn_affine_fit, column="log_odds"),
        partial(binary.not_worse, column="log_odds"),
        "scikit-learn",
        "log_odds",
    ),
    Comparison(
        "DP cross-fit, 5 folds", SITW, 150, binary.our_cross_fit, binary.psrcal_cross_fit,
        binary.same_calibration, "psrcal", "scores",
    ),
    *(
        Comparison(
            "DP cross-fit, 5 folds", Softmax(10_000, n_classes), promised,
            multiclass.our_cross_fit, multiclass.psrcal_cross_fit, multiclass.same_calibration,
            "psrcal", "log_posteriors",
        )
        for n_classes, promised in ((10, None), (100, 50))
    ),
    Comparison(
        "EER, Cllr, minCllr and minDCF", SITW, 12, binary.our_detection_metrics,
        binary.llreval_detection_metrics, binary.same_metrics, "llreval", "log_odds",
    ),
    *(
        Comparison(
            "fusion fit", SystemsSize(size.n_trials, size.n_targets, 3, dtype), promised,
            fusion.our_fit, fusion.sklearn_fit, fusion.same_llrs, "scikit-learn", "scores",
        )
        for size, dtype, promised in ((SITW, "float64", 20), (LARGE, "float32", None))
    ),
    *ARRAYS,
]  # fmt: skip
