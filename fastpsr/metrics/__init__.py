"""What is measured: each metric summarises predictions, then finishes the summary."""

from fastpsr.metrics.base import Metric
from fastpsr.metrics.calibration_loss import CalibrationLoss, Decomposition, ExpectedDivergence
from fastpsr.metrics.detection import AUC, EER, ActDCF, Cllr, MinCllr, MinDCF
from fastpsr.metrics.devpav import DevPAV
from fastpsr.metrics.ece import ECE
from fastpsr.metrics.expected_score import (
    BrierScore,
    CrossEntropy,
    ExpectedScore,
    SemiEmpiricalScore,
)
from fastpsr.metrics.risk import BayesRisk, RiskCurve, risk_curve
from fastpsr.metrics.roc import Roc, roc

__all__ = [
    "AUC",
    "ECE",
    "EER",
    "ActDCF",
    "BayesRisk",
    "BrierScore",
    "CalibrationLoss",
    "Cllr",
    "CrossEntropy",
    "Decomposition",
    "DevPAV",
    "ExpectedDivergence",
    "ExpectedScore",
    "Metric",
    "MinCllr",
    "MinDCF",
    "RiskCurve",
    "Roc",
    "SemiEmpiricalScore",
    "risk_curve",
    "roc",
]
