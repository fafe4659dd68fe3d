"""Evaluate probabilistic classifiers the way decision theory says it should be done."""

from fastpsr import metrics, rules, simulate
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
    ECE,
    BayesRisk,
    BrierScore,
    CalibrationLoss,
    CrossEntropy,
    ExpectedDivergence,
    ExpectedScore,
    SemiEmpiricalScore,
    risk_curve,
)
from fastpsr.predictions import Predictions

__version__ = "0.1.0"

__all__ = [
    "ECE",
    "PAV",
    "BayesRisk",
    "BrierScore",
    "CalibrationLoss",
    "CostMatrix",
    "CrossEntropy",
    "CrossFit",
    "DirectionPreserving",
    "Evaluation",
    "ExpectedDivergence",
    "ExpectedScore",
    "HeldOut",
    "HistogramBinning",
    "Predictions",
    "SemiEmpiricalScore",
    "TemperatureScaling",
    "TrainOnTest",
    "bayes_decisions",
    "cross_fit",
    "evaluate",
    "expected_cost",
    "load_calibrator",
    "metrics",
    "risk_curve",
    "rules",
    "save_calibrator",
    "simulate",
]
