"""Counts: tables of sums over rows, from which everything else is computed."""

from fastpsr.counts.counting import (
    Outcome,
    begin,
    count,
    count_all,
    find_facts,
    one_call,
    outcomes,
    shared,
    side_by_side,
    takes_predictions,
)

__all__ = [
    "Outcome", "begin", "count", "count_all", "find_facts", "one_call",
    "outcomes", "shared", "side_by_side", "takes_predictions",
]  # fmt: skip
