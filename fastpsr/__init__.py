"""Evaluate probabilistic classifiers the way decision theory says it should be done."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from fastpsr import metrics, rules, simulate
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
    SemiEmpiricalScore,
    risk_curve,
    roc,
)
from fastpsr.predictions import Predictions

if _TYPE_CHECKING:
    from fastpsr import trials

__version__ = "0.1.0"

__all__ = [
    "AUC",
    "ECE",
    "EER",
    "IID",
    "PAV",
    "ActDCF",
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
    "Predictions",
    "SemiEmpiricalScore",
    "Stratified",
    "TemperatureScaling",
    "TrainOnTest",
    "TwoWay",
    "bayes_decisions",
    "bootstrap",
    "compare",
    "cross_fit",
    "evaluate",
    "expected_cost",
    "load_calibrator",
    "metrics",
    "risk_curve",
    "roc",
    "rules",
    "save_calibrator",
    "simulate",
    "trials",
]


def __getattr__(name: str) -> _Any:
    if name == "trials":  # a room of its own, loaded when it is entered
        import importlib

        return importlib.import_module("fastpsr.trials")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
