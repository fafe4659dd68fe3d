"""Data: predictions in memory and in parts, their labels, weights, priors and columns of ids."""

from fastpsr.data.checks import check_column_of, check_data, check_ids, picked_ids
from fastpsr.data.groupings import Bins, By, Grouping, SharedTargets
from fastpsr.data.labeled import (
    KINDS,
    KINDS_OF_SCALES,
    Floats,
    Kind,
    LabeledData,
    Scale,
    ScoreKind,
    class_factors,
    weigh_groups,
)
from fastpsr.data.partitioned import Data, PartitionedPredictions, from_parts, mapped
from fastpsr.data.predictions import Predictions
from fastpsr.data.steps import LABELS, ROWS, Part, Request, Selection, Step, Transform

__all__ = [
    "KINDS", "KINDS_OF_SCALES", "LABELS", "ROWS", "Bins", "By", "Data", "Floats", "Grouping",
    "Kind", "LabeledData", "Part", "PartitionedPredictions", "Predictions", "Request", "Scale",
    "ScoreKind", "Selection", "SharedTargets", "Step", "Transform", "check_column_of", "check_data",
    "check_ids",
    "class_factors", "from_parts", "mapped", "picked_ids", "weigh_groups",
]  # fmt: skip
