"""What is measured: each metric summarises predictions, then finishes the summary."""

from fastpsr.metrics.base import Metric
from fastpsr.metrics.calibration_loss import CalibrationLoss, Decomposition, ExpectedDivergence
from fastpsr.metrics.ece import ECE
from fastpsr.metrics.expected_score import (
    BrierScore,
    CrossEntropy,
    ExpectedScore,
    SemiEmpiricalScore,
)
from fastpsr.metrics.risk import BayesRisk, RiskCurve, risk_curve

__all__ = [
    "ECE",
    "BayesRisk",
    "BrierScore",
    "CalibrationLoss",
    "CrossEntropy",
    "Decomposition",
    "ExpectedDivergence",
    "ExpectedScore",
    "Metric",
    "RiskCurve",
    "SemiEmpiricalScore",
    "risk_curve",
]
