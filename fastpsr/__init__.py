"""Evaluate probabilistic classifiers the way decision theory says it should be done."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from fastpsr import curves, metrics, rules, simulate
from fastpsr.bootstrap import (
    IID,
    BootstrapResult,
    Clusters,
    Stratified,
    TwoWay,
    bootstrap,
    compare,
)
from fastpsr.calibration import (
    PAV,
    CrossFit,
    DirectionPreserving,
    HeldOut,
    HistogramBinning,
    TemperatureScaling,
    TrainOnTest,
    cross_fit,
    load_calibrator,
    save_calibrator,
)
from fastpsr.costs import CostMatrix, bayes_decisions, expected_cost
from fastpsr.curves import (
    bayes_error,
    consistency_band,
    divergence_curve,
    empirical_cross_entropy,
    pav_steps,
    risk_curve,
    roc,
    score_histogram,
    tippett,
)
from fastpsr.errors import ArgumentError
from fastpsr.evaluate import Evaluation, evaluate
from fastpsr.metrics import (
    AUC,
    ECE,
    EER,
    ActDCF,
    BayesRisk,
    BrierScore,
    CalibrationLoss,
    Cllr,
    CrossEntropy,
    DevPAV,
    ExpectedDivergence,
    ExpectedScore,
    MinCllr,
    MinDCF,
    PavPosterior,
    SemiEmpiricalScore,
)
from fastpsr.plans import PartitionedPredictions, from_parts
from fastpsr.plans.parquet import scan_parquet
from fastpsr.predictions import Predictions

if _TYPE_CHECKING:
    from fastpsr import plotting as plotting  # not in __all__: needs an extra
    from fastpsr import trials

__version__ = "0.1.0"

__all__ = [
    "AUC",
    "ECE",
    "EER",
    "IID",
    "PAV",
    "ActDCF",
    "ArgumentError",
    "BayesRisk",
    "BootstrapResult",
    "BrierScore",
    "CalibrationLoss",
    "Cllr",
    "Clusters",
    "CostMatrix",
    "CrossEntropy",
    "CrossFit",
    "DevPAV",
    "DirectionPreserving",
    "Evaluation",
    "ExpectedDivergence",
    "ExpectedScore",
    "HeldOut",
    "HistogramBinning",
    "MinCllr",
    "MinDCF",
    "PartitionedPredictions",
    "PavPosterior",
    "Predictions",
    "SemiEmpiricalScore",
    "Stratified",
    "TemperatureScaling",
    "TrainOnTest",
    "TwoWay",
    "bayes_decisions",
    "bayes_error",
    "bootstrap",
    "compare",
    "consistency_band",
    "cross_fit",
    "curves",
    "divergence_curve",
    "empirical_cross_entropy",
    "evaluate",
    "expected_cost",
    "from_parts",
    "load_calibrator",
    "metrics",
    "pav_steps",
    "risk_curve",
    "roc",
    "rules",
    "save_calibrator",
    "scan_parquet",
    "score_histogram",
    "simulate",
    "tippett",
    "trials",
]


def __getattr__(name: str) -> _Any:
    if name in ("plotting", "trials"):  # rooms of their own, loaded when they are entered
        import importlib

        return importlib.import_module(f"fastpsr.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
