"""Groups of samples whose units are drawn with those of the whole."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.plans import Data, Selection
from fastpsr.plans.part import Part
from fastpsr.predictions import Predictions


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
            return part.at_depth(part.depth - 1)
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
