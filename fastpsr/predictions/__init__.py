"""`Predictions`: what a classifier said of samples, checked once, and the ways to make it."""

from fastpsr.predictions.labeled import KINDS, Floats, Kind, LabeledData, ScoreKind
from fastpsr.predictions.predictions import Predictions
from fastpsr.predictions.refitted import Refitted
from fastpsr.predictions.weighting import class_factors, weigh_groups

__all__ = [
    "KINDS", "Floats", "Kind", "LabeledData", "Predictions", "Refitted", "ScoreKind",
    "class_factors", "weigh_groups",
]  # fmt: skip
