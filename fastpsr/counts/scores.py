"""Numbers of samples by class, their distinct scores, and infinite losses."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.counts import begin, count
from fastpsr.counts.buckets import joined_by_number
from fastpsr.data import LABELS, Data, Floats, Part, Predictions
from fastpsr.data.budget import memory_budget
from fastpsr.data.steps import CollectParts, Step
from fastpsr.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class ClassCounts(Step[Floats]):
    """Count the samples of positive weight of each class, (K,); drawn twice, one counts as two."""

    n_classes: int
    reads = LABELS
    is_exact = True

    def start(self) -> Floats:
        return np.zeros(self.n_classes)

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        samples = part.predictions
        if not samples.weights.size:
            return accumulator + np.bincount(samples.labels, minlength=self.n_classes)
        n_draws = 1.0 if samples.n_draws is None else samples.n_draws
        counts = (samples.weights > 0.0) * n_draws
        return accumulator + np.bincount(samples.labels, counts, self.n_classes)


#: Remedy if ranks exceed the budget.
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
class CollectClass(CollectParts[tuple[Floats, Floats]]):
    """Collect the distinct scores of a class within bounds, and the weight at each."""

    take: int
    has_weights: bool
    scores: Scores = field(default_factory=Scores)
    what: str = "ranks"
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def key(self) -> Hashable:
        return ("scores of class", self.take, self.scores.key, self.bounds)

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

    def merge(self, total: Any, more: Any) -> Any:
        return self._within_budget({**total, **more})

    def _within_budget(self, by_part: dict[int, tuple[Floats, Floats]]) -> Any:
        """Join scores above half of the budget, if counts do not depend on the order of parts."""
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


@dataclass(frozen=True, eq=False)
class HighestInSteps(Step[Floats]):
    """Find the highest score in each step: before the first edge, and from each edge on."""

    edges: Floats

    is_exact = True

    def prepare(self) -> Any:
        return kernels.cells.bucket_grid(self.edges)

    def start(self) -> Floats:
        return np.full(self.edges.size + 1, -np.inf)

    def add(self, accumulator: Floats, prepared: Any, part: Part) -> Floats:
        predictions = part.predictions
        kernels.cells.highest_in_steps(
            predictions.scores, predictions.weights, prepared, accumulator
        )
        return accumulator

    def merge(self, total: Floats, more: Floats) -> Floats:
        return np.maximum(total, more, out=total)


def count_infinite_losses(data: Data) -> int:
    """Return the number of samples with posterior 0 for their class, if its prior is > 0."""
    begin(data)
    counts = count(CountInfinite(data.n_classes).over(data))
    return int(counts[data.priors > 0.0].sum())


@dataclass(frozen=True, eq=False)
class CountInfinite(Step[NDArray[np.int64]]):
    """Count the samples of each class with posterior 0 for this class."""

    n_classes: int
    is_exact = True

    def start(self) -> NDArray[np.int64]:
        return np.zeros(self.n_classes, np.int64)

    def add(self, accumulator: NDArray[np.int64], prepared: None, part: Part) -> NDArray[np.int64]:
        predictions = part.predictions
        if predictions.has_finite_scores:
            return accumulator
        scores, y, weights = predictions.scores, predictions.labels, predictions.weights
        if scores.ndim == 1:
            hopeless = np.where(y == 0, scores == np.inf, scores == -np.inf)
        else:
            hopeless = scores[np.arange(y.size), y] == -np.inf
        if weights.size:
            hopeless &= weights > 0.0
        accumulator += np.bincount(y[hopeless], minlength=self.n_classes)
        return accumulator
