"""A part of data: rows that are read together, and their position in the whole."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.data.predictions import Predictions
from fastpsr.ids import as_ids

#: What may be read of a part, besides columns of ids.
LABELS = frozenset({"labels", "weights"})
ROWS = LABELS | {"scores"}


class Part:
    """Predictions of some rows, and where these lie in the whole.

    Attributes
    ----------
    predictions : Predictions
        Priors and frequencies are those of the whole.
    number : int
        Of the part, from 0.
    first_row : int
        Number of rows before it.
    ranks : ndarray of int64, shape (K,)
        Number of rows of positive weight of each class before it.
    columns : dict of str to array-like, or None
        Columns of ids; None in memory.
    """

    def __init__(
        self,
        predictions: Predictions,
        number: int,
        first_row: int,
        ranks: NDArray[np.int64],
        columns: Mapping[str, Any] | None,
    ) -> None:
        self.predictions, self.number = predictions, number
        self.first_row, self.ranks = first_row, ranks
        self.columns = columns
        self._before: Part | None = None
        self._drawn_from: Part | None = None

    @classmethod
    def whole(cls, predictions: Predictions) -> "Part":
        """Return predictions in memory as the one part that they are."""
        return cls(predictions, 0, 0, np.zeros(predictions.n_classes, np.int64), None)

    def made_from(self, before: "Part", *, keeps_rows: bool, is_replicate: bool) -> "Part":
        """Remember the part that this was made from, where rows or weights were changed."""
        self._before = before._before if keeps_rows else before
        if keeps_rows or is_replicate:
            self._drawn_from = before.drawn_from if is_replicate else before._drawn_from
        return self

    @property
    def drawn_from(self) -> "Part":
        """The part of which this is a replicate, by other weights; else this part itself."""
        if self.columns is not None:
            return self if self._drawn_from is None else self._drawn_from
        whole = self.predictions.drawn_from
        return self if whole is self.predictions else Part.whole(whole)

    @property
    def depth(self) -> int:
        """How often rows or weights were changed since the source gave the part."""
        return 0 if self._before is None else 1 + self._before.depth

    def at_depth(self, depth: int) -> "Part":
        """Return the part as it was when rows and weights had been changed that often."""
        part = self
        while part.depth > depth:
            assert part._before is not None
            part = part._before
        return part

    @property
    def is_in_memory(self) -> bool:
        """Whether these are predictions in memory, which have no other parts."""
        return self.columns is None

    @property
    def has_weight(self) -> bool:
        """Whether any row has positive weight."""
        weights = self.predictions.weights
        return len(self.predictions) > 0 and (not weights.size or bool(weights.any()))

    def ids(self, name: str, ids: Any) -> NDArray[Any]:
        """Return one id per row: of the column `ids`, or in memory those that `ids` are.

        `name` is the argument that gave them.
        """
        if self.columns is None:
            return as_ids(name, ids, len(self.predictions), self.predictions.row_order)
        column = self.columns[ids]
        ids_of_rows: NDArray[Any] = self.remember(
            ("ids", ids), lambda: as_ids(name, column, len(self.predictions))
        )
        return ids_of_rows

    def columns_of(self, rows: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return the columns of ids of some of the rows."""
        assert self.columns is not None
        return {name: self.ids(name, name)[rows] for name in self.columns}

    def remember(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the cached result of ``make()`` for a key; compute it on first use.

        The cache is that of the predictions, which in parts are made anew for each read.
        """
        return self.predictions.remember(key, make)
