"""The distinct scores of one class, and what each weighs."""

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from fastpsr import kernels
from fastpsr.errors import ArgumentError
from fastpsr.plans import Part, Step
from fastpsr.plans.budget import memory_budget
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.buckets import joined_by_number

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

    def start(self) -> "_Held":
        return _Held()

    def add(self, accumulator: "_Held", prepared: None, part: Part) -> "_Held":
        predictions = part.predictions
        scores, weights = self.scores(predictions), predictions.weights
        is_member = predictions.labels == self.take
        if self.bounds != (-np.inf, np.inf):
            is_member &= (scores >= self.bounds[0]) & (scores <= self.bounds[1])
        members = np.flatnonzero(is_member)  # faster than by a mask
        if weights.size:
            members = members[weights[members] > 0.0]
            of_members = weights[members]
        else:
            of_members = np.ones(members.size) if self.has_weights else np.empty(0)
        accumulator.add(part.number, scores[members], of_members)
        if not part.is_in_memory:
            accumulator.require_room(self.take, self.what)
        return accumulator

    def merge(self, one: "_Held", other: "_Held") -> "_Held":
        one.take(other)
        one.require_room(self.take, self.what)
        return one

    def finish(self, accumulator: "_Held") -> tuple[Floats, Floats]:
        return accumulator.distinct()


class _Held:
    """Scores of one class as they come, and their distinct values where they are too many."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[Floats, Floats]] = {}
        self._values, self._counts = np.empty(0), np.empty(0)

    def add(self, number: int, scores: Floats, weights: Floats) -> None:
        """Add the scores of a part, with their weights if they have any."""
        self._rows[number] = scores, weights

    def take(self, other: "_Held") -> None:
        """Add what another holds."""
        self._rows.update(other._rows)
        self._count(other._values, other._counts)

    def require_room(self, class_number: int, what: str) -> None:
        """Raise if the scores exceed the budget; unweighted scores are first reduced to counts."""
        budget = memory_budget()
        if self._bytes <= budget // 2:
            return
        if not any(weights.size for _, weights in self._rows.values()):
            self.compress()
        if self._bytes > budget:
            raise ArgumentError(
                "data",
                f"must have fewer scores of class {class_number} for {what}: they take more than "
                f"the budget of {budget:,} bytes; {BEYOND_BUDGET}",
            )

    @property
    def _bytes(self) -> int:
        rows = sum(scores.nbytes + weights.nbytes for scores, weights in self._rows.values())
        return rows + self._values.nbytes + self._counts.nbytes

    def compress(self) -> None:
        """Replace unweighted scores by their distinct values and counts."""
        scores = [scores for scores, _ in self._rows.values()]
        self._rows = {}
        joined = np.concatenate([np.empty(0), *scores])
        kernels.sort_in_place(joined)
        self._count(*_distinct(joined, np.empty(0)))

    def _count(self, values: Floats, counts: Floats) -> None:
        if not self._values.size or not values.size:
            if values.size:
                self._values, self._counts = values, counts
            return
        joined = np.concatenate([self._values, values])
        order = np.argsort(joined, kind="stable")
        self._values, self._counts = _distinct(
            joined[order], np.concatenate([self._counts, counts])[order]
        )

    def distinct(self) -> tuple[Floats, Floats]:
        """Return the distinct scores, ascending, and the weight of each."""
        if self._values.size:
            self.compress()
            return self._values, self._counts
        if not self._rows:
            return np.empty(0), np.empty(0)
        scores, weights = joined_by_number(self._rows)
        if not weights.size:
            scores = scores.copy()
            kernels.sort_in_place(scores)
            return _distinct(scores, weights)
        order = np.argsort(scores, kind="stable")
        return _distinct(scores[order], weights[order])


def _distinct(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct ones of sorted values, and the weight of each."""
    if not values.size:
        return values, values
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if weights.size:
        return values[starts], np.add.reduceat(weights, starts)
    return values[starts], np.diff(np.append(starts, values.size)).astype(np.float64)
