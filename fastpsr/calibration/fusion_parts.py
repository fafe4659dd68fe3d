"""Systems in parts: read once for a fit, and fused when they are read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration.folds import Folds
from fastpsr.calibration.fusions import Fusions
from fastpsr.calibration.row_fits import require_memory
from fastpsr.calibration.stacks import Stack
from fastpsr.counts import count
from fastpsr.data import Floats, Kind, Part, PartitionedPredictions, Predictions
from fastpsr.data.reading import Reading, Rows
from fastpsr.data.sources import Source
from fastpsr.data.steps import Step


@dataclass(frozen=True, eq=False)
class HeldColumns:
    """Columns of a stack in memory: (S, N), or (S, N, K) of several classes.

    Beside them are labels, weights, empty if all are 1, and folds of the rows.
    """

    columns: Floats
    y: NDArray[Any]
    weights: Floats
    fold_of_row: NDArray[Any]

    @classmethod
    def of(cls, stack: Stack, parts: list[Part], folds: Folds) -> "HeldColumns":
        """Return the columns of a part of each system."""
        first = parts[0].predictions
        columns = stack.columns(parts) if stack.held is None else stack.held
        fold_of_row = folds.fold_of_rows(parts[0])
        return cls(np.asarray(columns, np.float64), first.labels, first.weights, fold_of_row)


def held_columns(stack: Stack, folds: Folds) -> HeldColumns:
    """Return the columns of all rows; raise if they exceed the memory budget."""
    if not stack.is_in_parts:
        return HeldColumns.of(stack, [Part.whole(each) for each in stack.data], folds)
    n_numbers = len(stack.names) * (1 if stack.n_classes == 2 else stack.n_classes)
    require_memory(stack.first, n_numbers, "systems")
    return count(_HoldColumns(stack, folds).over(*stack.data))  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class _HoldColumns(Step):
    """Copy the columns of all systems into memory."""

    stack: Stack
    folds: Folds
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        """Rows, columns of measures, and those that determine the folds."""
        return self.stack.reads | self.folds.reads

    def add(self, accumulator: Any, prepared: None, *parts: Part) -> Any:
        accumulator = {} if accumulator is None else accumulator
        accumulator[parts[0].number] = HeldColumns.of(self.stack, [*parts], self.folds)
        return accumulator

    def finish(self, accumulator: Any) -> HeldColumns:
        parts = [accumulator[number] for number in sorted(accumulator)]
        return HeldColumns(
            np.concatenate([part.columns for part in parts], axis=1),
            *(np.concatenate([getattr(part, name) for part in parts])
              for name in ("y", "weights", "fold_of_row")),
        )  # fmt: skip


def fused_data(stack: Stack, fusions: Fusions, folds: Folds | None) -> Any:
    """Return the fused scores of all samples; with folds, each by the fusion that serves it."""
    if stack.held is None:
        return PartitionedPredictions(_FusedParts(stack, fusions, folds)).as_known(stack.first)
    fusion_of_row = None if folds is None else folds.calibrator_of_rows(Part.whole(stack.first))
    return stack.first.replace_scores("likelihoods", fusions.fuse(stack.held, fusion_of_row))


class _FusedParts(Source):
    """Parts of several systems, read together."""

    kind: Kind = "likelihoods"

    def __init__(self, stack: Stack, fusions: Fusions, folds: Folds | None) -> None:
        first = stack.first
        self._stack, self._fusions, self._folds = stack, fusions, folds
        self.n_classes, self.given_priors = first.n_classes, first.given_priors
        self.n_parts, self.columns = first.n_parts, first.source.columns
        self.hint_if_changed = first.source.hint_if_changed
        self.n_rows = first.source.n_rows

    def name_of(self, number: int) -> str:
        return str(self._stack.first.source.name_of(number))

    def name_of_row(self, number: int, row: int) -> str:
        return str(self._stack.first.source.name_of_row(number, row))

    def wanted(self, reads: frozenset[str]) -> frozenset[str]:
        if "scores" not in reads:
            return reads
        reads |= self._stack.reads
        return reads if self._folds is None else reads | self._folds.reads

    def load(self, number: int, wanted: frozenset[str]) -> Any:
        data = self._stack.data if "scores" in wanted else self._stack.data[:1]
        reading = Reading([Rows(wanted).over(*data)])
        raws = reading.parts(number, reading.load(number))
        return [each.part(raws[id(each.source)], {}) for each in data]

    def build(self, loaded: Any, reads: frozenset[str]) -> Predictions:
        first = loaded[0]
        predictions: Predictions = first.predictions
        if len(loaded) < len(self._stack.data):  # labels alone
            return predictions.replace_scores("likelihoods", predictions.scores)
        of_row = None if self._folds is None else self._folds.calibrator_of_rows(first)
        fused = self._fusions.fuse(self._stack.columns(loaded), of_row)
        return predictions.replace_scores("likelihoods", fused)
