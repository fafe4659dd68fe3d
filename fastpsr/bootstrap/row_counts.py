"""How often rows are drawn in a replicate."""

from abc import ABC, abstractmethod

from fastpsr.bootstrap.subsets import Subset
from fastpsr.plans import Transform
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats, Predictions


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
