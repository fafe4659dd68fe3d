"""Units that are drawn, which a resampling scheme defines."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap.draws import Draws, UnitDraws
from fastpsr.kernels.sizes import index_type
from fastpsr.plans import LABELS
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.sums import Sums

if TYPE_CHECKING:
    from fastpsr.bootstrap.layout import Layout
    from fastpsr.bootstrap.rows import RowDraws

__all__ = ["CountedUnits", "Ints", "Units", "present_rows"]

Ints = NDArray[Any]


class Units(ABC):
    """What a scheme draws."""

    #: What is read of a part to find the units of its rows.
    reads: frozenset[str] = LABELS

    @abstractmethod
    def draws(self, seed: int) -> Draws:
        """Return draws of the units, which all metrics share."""

    def draws_alone(self, layout: "Layout", seed: int) -> "RowDraws | None":
        """Return draws for the sums of metrics of one kind alone; None if all share draws."""
        return None

    @property
    @abstractmethod
    def independent(self) -> "CountedUnits":
        """The units that are independent of each other."""

    @property
    def n_whole_ids(self) -> int | None:
        """Number of clusters or speakers, if nothing is drawn within them."""
        return None


class CountedUnits(Units):
    """Units that are drawn so many times each, and the units of each row.

    Units of a part, or of the whole, are numbered 0 to U - 1. The weight of a row is multiplied by
    the draw counts of its first and its second unit; unit U stands for no second one.

    By default all parts share the units, which are of one stratum.
    """

    #: What the units are, in messages.
    name: str = "clusters"
    #: Whether a row may depend on two units.
    come_in_pairs = False
    #: Number of units, if all parts share them; 0 if each part has its own.
    n_shared: int

    def draws(self, seed: int) -> Draws:
        return UnitDraws(self, seed)

    @property
    def independent(self) -> "CountedUnits":
        return self

    @property
    def n_whole_ids(self) -> int | None:
        return self.n_shared or None

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of units of each part and stratum, (P, S); one row if parts share them."""
        return np.array([[self.n_shared]])

    @property
    def n_in_strata(self) -> NDArray[np.int64]:
        """Number of units in each stratum of the whole, (S,)."""
        total: NDArray[np.int64] = self.sizes.sum(axis=0)
        return total

    def strata_of_groups(self, sums: Sums) -> NDArray[np.int64] | None:
        """Return the stratum of the units in each group, (G,); None if units are not rows."""
        return None

    @abstractmethod
    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        """Return the first and second unit of each row of a part, (n,) each."""

    def in_strata(self, part: Part) -> tuple[Ints, Floats, NDArray[np.int64]]:
        """Return the stratum of each unit of a part, weights, and units in the parts before.

        The weights are empty, or 0 for units that are not drawn; the last are (S,), by stratum.
        """
        return np.zeros(self.n_shared, np.uint8), np.empty(0), np.zeros(1, np.int64)

    def size_in(self, part: Part) -> int:
        """Return the number of units in a part."""
        return self.n_shared

    def order(self, part: Part) -> tuple[Ints, Ints]:
        """Return the units in the order of strata, and the (S + 1,) bounds of strata."""
        n_units = self.n_shared
        return np.arange(n_units, dtype=index_type(n_units)), np.array([0, n_units])


def present_rows(predictions: Predictions) -> Ints:
    """Return the rows of positive weight."""
    weights = predictions.weights
    return np.flatnonzero(weights > 0.0) if weights.size else np.arange(len(predictions))
