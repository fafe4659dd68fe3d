"""Sources of parts: readers of the rows of a part by its number."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from fastpsr.data.columns import Columns
from fastpsr.data.labeled import Floats, Kind
from fastpsr.data.predictions import Predictions
from fastpsr.data.steps import ROWS
from fastpsr.errors import ArgumentError

#: A part as passed by users.
GivenPart = Predictions | tuple[Predictions, Mapping[str, Any]]


class Source(ABC):
    """Parts by number, with facts about all parts before a read."""

    kind: Kind
    n_classes: int
    given_priors: Floats | None
    class_names: tuple[str, ...] | None = None
    n_parts: int
    n_rows: int | None = None  #: Where it is known without reading.
    #: Names of the columns that parts have; None where only reading can tell.
    columns: frozenset[str] | None = None
    #: Of these, columns that stay with the samples in memory.
    kept_columns: frozenset[str] = frozenset()
    #: Remedy if parts change between reads.
    hint_if_changed: str = ""
    #: Takes a reading and returns the accumulators of its steps, where parts are counted elsewhere.
    counts: Callable[[Any], list[Any]] | None = None

    @property
    def reader(self) -> Hashable:
        """Identity of the reader: sources with equal readers share each read."""
        return id(self)

    @abstractmethod
    def name_of(self, number: int) -> str:
        """Return the name of a part in messages."""

    def name_of_row(self, number: int, row: int) -> str:
        """Return the name of a row of a part in messages."""
        return f"row {row:,} of {self.name_of(number)}"

    def wanted(self, reads: frozenset[str]) -> frozenset[str]:
        """Return the names that the reader must read for `reads` of a step."""
        return reads

    @abstractmethod
    def load(self, number: int, wanted: frozenset[str]) -> Any:
        """Read the `wanted` names of a part; the result serves all sources of equal readers."""

    @abstractmethod
    def build(self, loaded: Any, reads: frozenset[str]) -> Predictions:
        """Return the loaded data as predictions with columns."""


@contextmanager
def naming(source: Source, number: int) -> Iterator[None]:
    """Errors inside name the part, and the row if they know it."""
    try:
        yield
    except Exception as error:
        row = getattr(error, "index", None)
        row = row if isinstance(row, int) else None  # also a method of sequences
        name = source.name_of(number) if row is None else source.name_of_row(number, row)
        if not isinstance(error, ArgumentError):
            message = str(error) or type(error).__name__
            raise ArgumentError("data", f"cannot be read, in {name}: {message}", row) from error
        rule = f"cannot be read, in {name}: {error.problem}"
        raise ArgumentError("data", rule, row, error.remedy, pass_=error.pass_) from error


class Given(Source):
    """Parts that the caller gives, each as itself or as a function that returns it."""

    def __init__(self, parts: Iterable[GivenPart | Callable[[], GivenPart]]) -> None:
        self._parts = list(parts)
        self.n_parts = len(self._parts)
        if not self._parts:
            raise ArgumentError("parts", "must not be empty")
        with naming(self, 0):
            first = self.build(self.load(0, ROWS), ROWS)
        self.kind, self.n_classes = first.kind, first.n_classes
        self.given_priors, self.class_names = first.given_priors, first.class_names
        self.columns = self.kept_columns = frozenset(first.columns)

    def name_of(self, number: int) -> str:
        return f"parts[{number}]"

    def load(self, number: int, wanted: frozenset[str]) -> Any:
        part = self._parts[number]
        return part() if callable(part) else part

    def build(self, loaded: Any, reads: frozenset[str]) -> Predictions:
        predictions: Any = loaded
        columns: Any = {}
        if isinstance(loaded, tuple) and len(loaded) == 2:
            predictions, columns = loaded
        if not isinstance(predictions, Predictions) or not isinstance(columns, Mapping):
            raise ArgumentError(
                "parts",
                "must be Predictions, pairs of Predictions and a dict of columns, or functions "
                f"that return one of these, not {type(loaded).__name__}",
            )
        if not columns:
            return predictions
        further = Columns.of(columns, len(predictions), predictions.row_order)
        return predictions.with_columns(Columns({**predictions.columns, **further}))


def same_priors(priors: Floats | None, other_priors: Floats | None) -> bool:
    """Return whether given priors are the same, or both are left out."""
    if priors is None or other_priors is None:
        return priors is other_priors
    return bool(np.array_equal(priors, other_priors))
