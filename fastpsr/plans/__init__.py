"""Data in parts, steps over them, and how these are counted."""

from fastpsr.plans.counting import (
    Outcome,
    begin,
    count,
    count_all,
    find_facts,
    one_call,
    outcomes,
    shared,
    side_by_side,
)
from fastpsr.plans.mapped_parts import Selection, Transform
from fastpsr.plans.part import Part
from fastpsr.plans.partitioned import (
    Data,
    PartitionedPredictions,
    check_data,
    check_ids,
    from_parts,
    mapped,
    picked_ids,
    takes_predictions,
)
from fastpsr.plans.steps import LABELS, ROWS, Request, Step

__all__ = [
    "LABELS", "ROWS", "Data", "Outcome", "Part", "PartitionedPredictions", "Request", "Selection",
    "Step", "Transform", "begin", "check_data", "check_ids", "count", "count_all", "find_facts",
    "from_parts", "mapped", "one_call", "outcomes", "picked_ids", "shared", "side_by_side",
    "takes_predictions",
]  # fmt: skip
