"""Resampling schemes: what is drawn in each replicate."""

from abc import ABC, abstractmethod
from typing import Any

from fastpsr.bootstrap.units import Units
from fastpsr.options import Options
from fastpsr.plans import Data, Plan

__all__ = ["Resampling"]


class Resampling(Options, ABC):
    """A way to draw replicates."""

    #: Whether the draw counts of two units multiply, so that BCa intervals are not defined.
    multiplies = False
    #: Whether clusters or speakers are drawn, and nothing within them.
    draws_whole_ids = False

    @abstractmethod
    def units(self, data: Data) -> Plan[Units]:
        """Plan: return the units that are drawn; samples of weight 0 are ignored."""

    def on_rows(self, data: Data, rows: Any) -> "Resampling":
        """Return the scheme for the rows selected by an index, if it holds one id per row."""
        return self
