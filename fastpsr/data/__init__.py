"""Data: predictions in memory and in parts, their labels, weights, priors and columns of ids."""

from fastpsr.data.labeled import (
    KINDS,
    KINDS_OF_SCALES,
    Floats,
    Kind,
    LabeledData,
    Scale,
    ScoreKind,
)
from fastpsr.data.mapped_parts import Selection, Transform
from fastpsr.data.part import LABELS, ROWS, Part
from fastpsr.data.partitioned import (
    Data,
    PartitionedPredictions,
    check_data,
    check_ids,
    from_parts,
    mapped,
    picked_ids,
)
from fastpsr.data.predictions import Predictions
from fastpsr.data.refitted import Refitted
from fastpsr.data.weighting import class_factors, weigh_groups

__all__ = [
    "KINDS", "KINDS_OF_SCALES", "LABELS", "ROWS", "Data", "Floats", "Kind", "LabeledData", "Part",
    "PartitionedPredictions", "Predictions", "Refitted", "Scale", "ScoreKind", "Selection",
    "Transform", "check_data", "check_ids", "class_factors", "from_parts", "mapped", "picked_ids",
    "weigh_groups",
]  # fmt: skip
