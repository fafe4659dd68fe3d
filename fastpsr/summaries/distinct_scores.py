"""The distinct scores of binary data, and what each class weighs there."""

from typing import NamedTuple

from fastpsr import kernels
from fastpsr.plans import Data, Plan, Shared
from fastpsr.predictions import Floats
from fastpsr.summaries.rank_cells import CollectClass

__all__ = ["DistinctScores", "distinct_scores"]


class DistinctScores(NamedTuple):
    """Distinct scores of positive weight, ascending, and what each class weighs there, (m,)."""

    scores: Floats
    negatives: Floats
    positives: Floats


def distinct_scores(data: Data, what: str) -> Plan[DistinctScores]:
    """Plan: return the distinct scores, computed once; raise if they exceed the memory budget.

    `what` names in the error what needs them.
    """
    (found,) = yield [Shared("distinct scores", data, lambda: _collected(data, what))]
    return found  # type: ignore[no-any-return]


def _collected(data: Data, what: str) -> Plan[DistinctScores]:
    steps = [CollectClass(k, data.has_weights, what=what).over(data) for k in (0, 1)]
    (negatives, weights_0), (positives, weights_1) = yield steps
    return DistinctScores(*kernels.merge_classes(negatives, weights_0, positives, weights_1))
