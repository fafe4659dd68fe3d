"""`Predictions`: what a classifier said of samples, checked once, and the ways to make it."""

from fastpsr.predictions.labeled import (
    KINDS,
    KINDS_OF_SCALES,
    Floats,
    Kind,
    LabeledData,
    Scale,
    ScoreKind,
)
from fastpsr.predictions.predictions import Predictions
from fastpsr.predictions.refitted import Refitted
from fastpsr.predictions.weighting import class_factors, weigh_groups

__all__ = [
    "KINDS", "KINDS_OF_SCALES", "Floats", "Kind", "LabeledData", "Predictions", "Refitted",
    "Scale", "ScoreKind", "class_factors", "weigh_groups",
]  # fmt: skip
