"""Collection of all rows in memory, within the budget."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from fastpsr.errors import ArgumentError
from fastpsr.plans.budget import memory_budget
from fastpsr.plans.part import Part
from fastpsr.plans.steps import Step
from fastpsr.predictions import Predictions

__all__ = ["Collect"]


@dataclass(frozen=True, eq=False)
class Collect(Step):
    """Collect the rows: predictions in memory themselves, parts joined in their order."""

    is_exact = True
    what: str = "this computation"

    @property
    def key(self) -> Hashable:
        return "rows"

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        if part.is_whole:
            return part.predictions
        accumulator = {} if accumulator is None else accumulator
        accumulator[part.number] = part.predictions.compact()
        held = sum(rows.nbytes for rows in accumulator.values())
        if held > memory_budget():
            raise ArgumentError(
                "data",
                f"must fit in memory for {self.what}: its rows take more than the budget of "
                f"{memory_budget():,} bytes; set FASTPSR_MEMORY to more, or take a sample",
            )
        return accumulator

    def merge(self, one: dict[int, Any], other: dict[int, Any]) -> dict[int, Any]:
        return {**one, **other}

    def finish(self, accumulator: Any) -> Any:
        if isinstance(accumulator, dict):
            return Predictions.joined([accumulator[i] for i in sorted(accumulator)])
        predictions: Predictions | None = accumulator
        return predictions
