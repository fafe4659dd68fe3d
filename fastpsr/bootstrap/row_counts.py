"""How often rows are drawn in a replicate, and groups whose rows are drawn with the whole."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.data import Data, Floats, Predictions, Selection, Transform
from fastpsr.data.part import Part


@dataclass(frozen=True, eq=False)
class Subset:
    """Rows of a group in the whole, which is drawn.

    Attributes
    ----------
    whole : Predictions or PartitionedPredictions
    rows : ndarray of int64, or Selection
        Row numbers in memory; in parts what the group was made with.
    """

    whole: Data
    rows: NDArray[np.int64] | Selection

    def __reduce__(self) -> tuple[type["Subset"], tuple[Any, ...]]:
        # only parts are sent to other processes, and these know what they were made from
        return Subset, (None, self.rows)

    def whole_of(self, part: Part) -> Part:
        """Return the part of the whole that has the rows of a part of the group."""
        if isinstance(self.rows, Selection):
            assert part.before is not None
            return part.before
        assert isinstance(self.whole, Predictions)
        return Part.whole(self.whole)

    def places(self, part: Part) -> NDArray[np.int64]:
        """Return the row number in the whole's part of each row of a part of the group, (n,)."""
        rows = self.rows
        if not isinstance(rows, Selection):
            return rows
        places: NDArray[np.int64] = part.remember(
            ("rows in the whole", self),
            lambda: np.flatnonzero(rows.rows(self.whole_of(part))),
        )
        return places

    def spread(self, part: Part, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the rows of a part of the group, with 0 at the whole's other rows."""
        full = np.zeros(len(self.whole_of(part).predictions), values.dtype)
        full[self.places(part)] = values
        return full


class RowCounts(ABC):
    """A count for each row and replicate: plain data."""

    #: What is read of a part.
    reads: frozenset[str]
    #: Whether only counts of groups are drawn, so that those of rows are not known.
    are_of_counts = False

    @abstractmethod
    def of_rows(self, part: Part, replicate: int) -> Floats:
        """Return the draw count of each row of a part, (n,)."""


class Reweighted(Transform):
    """Rows weighted by their draw counts in a replicate, times their own weight.

    Rows of a subset are drawn with those of the whole.
    """

    keeps_rows = False
    is_replicate = True

    def __init__(self, draws: RowCounts, replicate: int, subset: Subset | None = None) -> None:
        self._draws, self._replicate, self._subset = draws, replicate, subset
        self._counts: Floats | None = None  # of rows in memory, which are the same for all data
        self.reads = draws.reads

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        if not len(predictions) or not part.has_weight:
            return predictions
        counts = self._counts if part.is_in_memory else None
        if counts is None:
            counts = self.counts_of(part)
            self._counts = counts if part.is_in_memory else None
        weights = predictions.weights
        return predictions.reweighted(counts * weights if weights.size else counts, counts)

    def counts_of(self, part: Part) -> Floats:
        """Return the draw count of each row of a part, (n,)."""
        subset = self._subset
        whole = part if subset is None else subset.whole_of(part)
        counts = self._draws.of_rows(whole, self._replicate)
        return counts if subset is None else counts[subset.places(part)]
