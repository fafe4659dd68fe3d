"""Metrics: each summarizes predictions, then computes a number from the summary.

`METRICS` lists all metrics; tests, warm-up and fuzzing iterate over it.
"""

from typing import Any

from fastpsr.metrics.areas import AUC, AveragePrecision
from fastpsr.metrics.base import Metric as Metric
from fastpsr.metrics.calibration_loss import CalibrationLoss, ExpectedDivergence
from fastpsr.metrics.calibration_loss import (
    SemiEmpiricalDecomposition as SemiEmpiricalDecomposition,
)
from fastpsr.metrics.decision_rates import DecisionRate
from fastpsr.metrics.detection import PRESETS as PRESETS
from fastpsr.metrics.detection import ActDCF, Cllr, MinCllr, MinDCF
from fastpsr.metrics.devpav import DevPAV
from fastpsr.metrics.ece import ECE
from fastpsr.metrics.expected_score import (
    BayesRisk,
    BrierScore,
    CrossEntropy,
    ExpectedScore,
    SemiEmpiricalScore,
)
from fastpsr.metrics.operating_points import (
    EER,
    FalseAlarmRate,
    MissRate,
    OperatingPoint,
    Threshold,
)
from fastpsr.metrics.ranks import PavPosterior
from fastpsr.metrics.recall_at_precision import RecallAtPrecision
from fastpsr.metrics.spoofing import ActADCF, MinADCF, MinTDCF
from fastpsr.metrics.tandem import tandem_eer

METRICS: tuple[type[Metric[Any]], ...] = (
    CrossEntropy,
    BrierScore,
    ExpectedScore,
    SemiEmpiricalScore,
    BayesRisk,
    CalibrationLoss,
    ExpectedDivergence,
    ECE,
    EER,
    MissRate,
    FalseAlarmRate,
    RecallAtPrecision,
    Threshold,
    MinDCF,
    ActDCF,
    MinADCF,
    ActADCF,
    MinTDCF,
    Cllr,
    MinCllr,
    AUC,
    AveragePrecision,
    DecisionRate,
    DevPAV,
    PavPosterior,
)

__all__ = [
    "AUC",
    "ECE",
    "EER",
    "ActADCF",
    "ActDCF",
    "AveragePrecision",
    "BayesRisk",
    "BrierScore",
    "CalibrationLoss",
    "Cllr",
    "CrossEntropy",
    "DecisionRate",
    "DevPAV",
    "ExpectedDivergence",
    "ExpectedScore",
    "FalseAlarmRate",
    "MinADCF",
    "MinCllr",
    "MinDCF",
    "MinTDCF",
    "MissRate",
    "OperatingPoint",
    "PavPosterior",
    "RecallAtPrecision",
    "SemiEmpiricalScore",
    "Threshold",
    "tandem_eer",
]
