"""Resampling schemes: what is drawn in each replicate."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from fastpsr.bootstrap.units import Units
from fastpsr.data import Data
from fastpsr.options import Options


class Resampling(Options, ABC):
    """A way to draw replicates."""

    #: Whether the draw counts of two units multiply, so that BCa intervals are not defined.
    multiplies = False
    #: Whether clusters or speakers are drawn, and nothing within them.
    draws_whole_ids = False

    #: Whether metrics have the same draws, computed together or separately; else metrics of a kind.
    shares_draws = True

    @abstractmethod
    def units(self, data: Data) -> Units:
        """Return the units that are drawn; samples of weight 0 are ignored."""

    def on_rows(self, data: Data, rows: Any) -> "Resampling":
        """Return the scheme for the rows selected by an index, if it holds one id per row."""
        return self


def names_of_ids(resampling: Resampling) -> dict[str, str]:
    """Return the names of columns that are given as ids, by argument."""
    values = {field.name: getattr(resampling, field.name) for field in fields(resampling)}  # type: ignore[arg-type]
    return {argument: value for argument, value in values.items() if isinstance(value, str)}


def with_ids(resampling: Resampling, find: Callable[[str], Any]) -> Resampling:
    """Return the scheme with the ids that a function returns for the names of columns."""
    ids = {argument: find(name) for argument, name in names_of_ids(resampling).items()}
    return replace(resampling, **ids) if ids else resampling  # type: ignore[type-var]
