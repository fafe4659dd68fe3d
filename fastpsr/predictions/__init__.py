"""`Predictions`: what a classifier said of samples, checked once, and the ways to make it."""

from fastpsr.predictions.labeled import Floats, Kind, LabeledData
from fastpsr.predictions.predictions import Predictions
from fastpsr.predictions.weighting import class_factors, weigh_groups

__all__ = ["Floats", "Kind", "LabeledData", "Predictions", "class_factors", "weigh_groups"]
