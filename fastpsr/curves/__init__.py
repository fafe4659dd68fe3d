"""What is drawn: each curve is a function that returns arrays in a dataclass."""

from fastpsr.curves.bayes_error import BayesErrorCurve, bayes_error
from fastpsr.curves.consistency import ConsistencyBand, consistency_band
from fastpsr.curves.divergence_curve import DivergenceCurve, divergence_curve
from fastpsr.curves.empirical_cross_entropy import CrossEntropyCurve, empirical_cross_entropy
from fastpsr.curves.pav_steps import PavSteps, pav_steps
from fastpsr.curves.risk_curve import RiskCurve, risk_curve
from fastpsr.curves.roc import Roc, roc
from fastpsr.curves.score_histogram import ScoreHistogram, score_histogram
from fastpsr.curves.tippett import TippettCurves, tippett

__all__ = [
    "BayesErrorCurve",
    "ConsistencyBand",
    "CrossEntropyCurve",
    "DivergenceCurve",
    "PavSteps",
    "RiskCurve",
    "Roc",
    "ScoreHistogram",
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
