"""What is measured: each metric summarizes predictions, then finishes the summary."""

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
from fastpsr.metrics.pav_posterior import PavPosterior
from fastpsr.metrics.risk import BayesRisk

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
    "PavPosterior",
    "SemiEmpiricalScore",
]
