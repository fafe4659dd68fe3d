"""What is measured: each metric summarises predictions, then finishes the summary."""

from fastpsr.metrics.base import Metric
from fastpsr.metrics.bayes_error import BayesErrorCurve, bayes_error
from fastpsr.metrics.calibration_loss import CalibrationLoss, Decomposition, ExpectedDivergence
from fastpsr.metrics.consistency import ConsistencyBand, consistency_band
from fastpsr.metrics.detection import AUC, EER, ActDCF, Cllr, MinCllr, MinDCF
from fastpsr.metrics.devpav import DevPAV
from fastpsr.metrics.divergence_curve import DivergenceCurve, divergence_curve
from fastpsr.metrics.ece import ECE
from fastpsr.metrics.empirical_cross_entropy import CrossEntropyCurve, empirical_cross_entropy
from fastpsr.metrics.expected_score import (
    BrierScore,
    CrossEntropy,
    ExpectedScore,
    SemiEmpiricalScore,
)
from fastpsr.metrics.pav_steps import PavPosterior, PavSteps, pav_steps
from fastpsr.metrics.risk import BayesRisk, RiskCurve, risk_curve
from fastpsr.metrics.roc import Roc, roc
from fastpsr.metrics.score_histogram import ScoreHistogram, score_histogram
from fastpsr.metrics.tippett import TippettCurves, tippett

__all__ = [
    "AUC",
    "ECE",
    "EER",
    "ActDCF",
    "BayesErrorCurve",
    "BayesRisk",
    "BrierScore",
    "CalibrationLoss",
    "Cllr",
    "ConsistencyBand",
    "CrossEntropy",
    "CrossEntropyCurve",
    "Decomposition",
    "DevPAV",
    "DivergenceCurve",
    "ExpectedDivergence",
    "ExpectedScore",
    "Metric",
    "MinCllr",
    "MinDCF",
    "PavPosterior",
    "PavSteps",
    "RiskCurve",
    "Roc",
    "ScoreHistogram",
    "SemiEmpiricalScore",
    "TippettCurves",
    "bayes_error",
    "consistency_band",
    "divergence_curve",
    "empirical_cross_entropy",
    "pav_steps",
    "risk_curve",
    "roc",
    "score_histogram",
    "tippett",
]
