"""Plans over data in parts: their requests, and the runner that answers them."""

from fastpsr.plans.part import Part
from fastpsr.plans.partitioned import (
    Data,
    PartitionedPredictions,
    Selection,
    Transform,
    check_data,
    check_ids,
    from_parts,
    mapped,
    picked_ids,
    takes_predictions,
)
from fastpsr.plans.runner import Outcome, begin, run, run_all
from fastpsr.plans.steps import LABELS, ROWS, Plan, Planned, Request, Shared, Step, resolved

__all__ = [
    "LABELS",
    "ROWS",
    "Data",
    "Outcome",
    "Part",
    "PartitionedPredictions",
    "Plan",
    "Planned",
    "Request",
    "Selection",
    "Shared",
    "Step",
    "Transform",
    "begin",
    "check_data",
    "check_ids",
    "from_parts",
    "mapped",
    "picked_ids",
    "resolved",
    "run",
    "run_all",
    "takes_predictions",
]
