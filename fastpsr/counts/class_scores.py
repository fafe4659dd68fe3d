"""The distinct scores of one class, and what each weighs."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastpsr import kernels
from fastpsr.counts import Step
from fastpsr.counts.buckets import joined_by_number
from fastpsr.data import Floats, Part, Predictions
from fastpsr.data.budget import memory_budget
from fastpsr.errors import ArgumentError

#: What to do where ranks exceed the budget.
BEYOND_BUDGET = "set FASTPSR_MEMORY to more, take a sample, or compute values alone (n_resamples=0)"


@dataclass(frozen=True)
class Scores:
    """The scores of predictions, as they are or as LLRs."""

    as_llrs: bool = False

    @property
    def key(self) -> Hashable:
        """Identity of these scores."""
        return self.as_llrs

    def __call__(self, predictions: Predictions) -> Floats:
        return predictions.llrs if self.as_llrs else predictions.scores


@dataclass(frozen=True, eq=False)
class CollectClass(Step):
    """Collect the distinct scores of a class within bounds, and the weight at each."""

    take: int
    has_weights: bool
    scores: Scores = field(default_factory=Scores)
    what: str = "ranks"
    bounds: tuple[float, float] = (-np.inf, np.inf)

    is_exact = True

    @property
    def key(self) -> Hashable:
        return ("scores of class", self.take, self.scores.key, self.bounds)

    def start(self) -> dict[int, tuple[Floats, Floats]]:
        return {}

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        predictions = part.predictions
        scores, weights = self.scores(predictions), predictions.weights
        is_member = predictions.labels == self.take
        if self.bounds != (-np.inf, np.inf):
            is_member &= (scores >= self.bounds[0]) & (scores <= self.bounds[1])
        members = np.flatnonzero(is_member)  # faster than by a mask
        of_members = np.empty(0)
        if weights.size:
            members = members[weights[members] > 0.0]
            of_members = weights[members]
        elif self.has_weights:
            of_members = np.ones(members.size)
        accumulator[part.number] = scores[members], of_members
        return accumulator if part.is_in_memory else self._within_budget(accumulator)

    def merge(self, one: Any, other: Any) -> Any:
        return self._within_budget({**one, **other})

    def _within_budget(self, by_part: dict[int, tuple[Floats, Floats]]) -> Any:
        """Join what exceeds half of the budget, if counts do not depend on the order of parts."""
        budget = memory_budget()
        if _bytes(by_part) > budget // 2 and not self.has_weights:
            by_part = {min(by_part): _distinct(by_part)}
        if _bytes(by_part) > budget:
            raise ArgumentError(
                "data",
                f"must have fewer scores of class {self.take} for {self.what}: they take more than "
                f"the budget of {budget:,} bytes; {BEYOND_BUDGET}",
            )
        return by_part

    def finish(self, accumulator: dict[int, tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        return _distinct(accumulator)


def _bytes(by_part: dict[int, tuple[Floats, Floats]]) -> int:
    return sum(values.nbytes + weights.nbytes for values, weights in by_part.values())


def _distinct(by_part: dict[int, tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the distinct values, ascending, and the weight of each, by default its number."""
    if any(weights.size for _, weights in by_part.values()):  # others are of weight 1
        by_part = {
            number: (values, weights if weights.size else np.ones(values.size))
            for number, (values, weights) in by_part.items()
        }
    values, weights = joined_by_number(by_part)
    if weights.size:
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
    else:
        values = values.copy()
        kernels.sorting.sort_in_place(values)
    if not values.size:
        return values, values
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if weights.size:
        return values[starts], np.add.reduceat(weights, starts)
    return values[starts], np.diff(np.append(starts, values.size)).astype(np.float64)
