"""Curves: each is a function that returns arrays in a dataclass.

`CURVES` lists all curves, each with a function that returns example keywords for a number of
classes, and `BANDS` those that can have bands; tests, warm-up and fuzzing iterate over them.
"""

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from fastpsr.curves.at_points import AtPoints
from fastpsr.curves.bayes_error import BayesErrorCurve as BayesErrorCurve
from fastpsr.curves.bayes_error import bayes_error, bayes_error_at
from fastpsr.curves.consistency import ConsistencyBand as ConsistencyBand
from fastpsr.curves.consistency import consistency_band
from fastpsr.curves.divergence_curve import DivergenceCurve as DivergenceCurve
from fastpsr.curves.divergence_curve import divergence_curve
from fastpsr.curves.empirical_cross_entropy import CrossEntropyCurve as CrossEntropyCurve
from fastpsr.curves.empirical_cross_entropy import empirical_cross_entropy
from fastpsr.curves.pav_steps import PavMap as PavMap
from fastpsr.curves.pav_steps import PavSteps as PavSteps
from fastpsr.curves.pav_steps import pav_steps, pav_steps_at
from fastpsr.curves.precision_recall import PrecisionCurve as PrecisionCurve
from fastpsr.curves.precision_recall import PrecisionRecall as PrecisionRecall
from fastpsr.curves.precision_recall import precision_at, precision_recall
from fastpsr.curves.risk_curve import RiskCurve as RiskCurve
from fastpsr.curves.risk_curve import risk_curve, risk_curve_at
from fastpsr.curves.roc import MissRateCurve as MissRateCurve
from fastpsr.curves.roc import Roc as Roc
from fastpsr.curves.roc import roc, roc_at
from fastpsr.curves.score_distributions import ScoreHistogram as ScoreHistogram
from fastpsr.curves.score_distributions import TippettCurves as TippettCurves
from fastpsr.curves.score_distributions import score_histogram, tippett
from fastpsr.data import Data
from fastpsr.rules import Brier


def _operating_points(n_classes: int) -> dict[str, Any]:
    if n_classes == 2:
        return {"points": [0.01, 0.3, 0.5, 0.9]}
    shares = [[1.0 + (k == j) for k in range(n_classes)] for j in range(n_classes)]
    return {"points": [[share / (n_classes + 1.0) for share in row] for row in shares]}


CURVES: dict[Callable[..., Any], Callable[[int], dict[str, Any]]] = {
    bayes_error: lambda n_classes: {},
    consistency_band: lambda n_classes: {"n_resamples": 20, "seed": 0},
    divergence_curve: lambda n_classes: {"divergence": Brier()},
    empirical_cross_entropy: lambda n_classes: {},
    pav_steps: lambda n_classes: {},
    precision_recall: lambda n_classes: {},
    risk_curve: _operating_points,
    roc: lambda n_classes: {},
    score_histogram: lambda n_classes: {"bins": 20},
    tippett: lambda n_classes: {},
}

#: Curves that can have bands, each with the function that evaluates it at points.
BANDS: dict[Callable[..., Any], Callable[[Data, ArrayLike | None], AtPoints]] = {
    roc: roc_at,
    bayes_error: bayes_error_at,
    risk_curve: risk_curve_at,
    pav_steps: pav_steps_at,
    precision_recall: precision_at,
}

__all__ = [
    "bayes_error",
    "consistency_band",
    "divergence_curve",
    "empirical_cross_entropy",
    "pav_steps",
    "precision_recall",
    "risk_curve",
    "roc",
    "score_histogram",
    "tippett",
]
