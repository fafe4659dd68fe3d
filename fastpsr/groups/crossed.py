"""Crossed columns: the combination of values of each sample, with bins that are found once."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr.data import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.groups.binning import Binner, Binning, Bins
from fastpsr.groups.groups import (
    Grouping,
    SharedTargets,
    binning_in_memory,
    combined,
    named,
    rows_of_each,
)


@dataclass(frozen=True, eq=False)
class GroupOfRows:
    """The group of each sample.

    Attributes
    ----------
    names : list of str
        Of all G groups, in natural order, such as "gender=f, channel=tel".
    places : ndarray of int64, shape (N,)
        Number of the group of each sample.
    """

    names: list[str]
    places: NDArray[np.int64]

    @property
    def rows(self) -> list[NDArray[np.int64]]:
        """Rows of each group, ascending."""
        return rows_of_each(self.places, len(self.names))


@dataclass(frozen=True, eq=False)
class Crossed:
    """Columns that are combined, and the bins of those of numbers.

    Attributes
    ----------
    columns : tuple of str
    binnings : tuple of Binning
    """

    columns: tuple[str, ...]
    binnings: tuple[Binning, ...]

    @classmethod
    def of(cls, samples: Predictions, by: Any, bins: Bins | None) -> tuple[Self, GroupOfRows]:
        """Return the columns of `by`, with bins of the samples of positive weight, and groups."""
        columns = _columns(by)
        binner = Binner(bins, columns)
        counted = _counted(samples)

        def binning(name: str) -> Binning:
            if not binner.asks_for(name):
                return Binning()
            column = Grouping.of(name, by[name], len(samples), samples.row_order, is_binned=True)
            return binning_in_memory(samples, name, column, counted, binner)

        found = cls(columns, tuple(map(binning, columns)))
        binner.check_used()
        values, places = found._combined(by, samples)
        n_here = np.bincount(places[counted], minlength=len(values))
        present = [each for each, n in zip(values, n_here, strict=True) if n]
        binner.check_number(columns, present)
        return found, found._named(values, places)

    def groups(self, by: Mapping[str, Any], samples: Predictions) -> GroupOfRows:
        """Return the groups of samples.

        Raises
        ------
        ArgumentError
            Unless `by` has these columns, with an id per sample, and numbers where there are bins.
        """
        if {*_columns(by)} != {*self.columns}:
            rule = f"must give {', '.join(self.columns)}, as in the fit, not {', '.join(by)}"
            raise ArgumentError("by", rule)
        return self._named(*self._combined(by, samples))

    def _named(self, values: list[tuple[Any, ...]], places: NDArray[Any]) -> GroupOfRows:
        ordered = named(self.columns, self.binnings, values)
        names = [name for name, _ in ordered]
        ((name, n),) = Counter(names).most_common(1) or [("", 0)]
        if n > 1:
            raise ArgumentError("by", f"must give groups of different names, but {n} are {name!r}")
        place_of = {each: place for place, (_, each) in enumerate(ordered)}
        order = np.array([place_of[each] for each in values], np.int64)
        return GroupOfRows(names, order[places])

    def _combined(
        self, by: Mapping[str, Any], samples: Predictions
    ) -> tuple[list[tuple[Any, ...]], NDArray[Any]]:
        columns = []
        for name, binning in zip(self.columns, self.binnings, strict=True):
            is_binned = binning.edges is not None
            column = Grouping.of(
                name, by[name], len(samples), samples.row_order, is_binned=is_binned
            )
            if is_binned:
                _check_numbers(name, column, samples)
            columns.append(column.binned(binning))
        return combined(columns)


def _counted(samples: Predictions) -> Any:
    """Return an index of the samples of positive weight."""
    return samples.weights > 0.0 if samples.weights.size else slice(None)


def _check_numbers(name: str, column: Grouping, samples: Predictions) -> None:
    n_here = np.bincount(column.places[_counted(samples)], minlength=len(column.values))
    wrong = np.isnan(column.numbers()) & (n_here > 0)
    if wrong.any():
        word = str(column.values[int(np.argmax(wrong))])
        rule = f"must be numbers, as in the fit, not {word!r}"
        raise ArgumentError("by", rule, name=f"by[{name!r}]")


def _columns(by: Any) -> tuple[str, ...]:
    """Return the names of the columns; raise unless each is a name with ids."""
    if not isinstance(by, Mapping) or not by:
        shown = repr(by) if isinstance(by, Mapping) else f"of type {type(by).__name__}"
        raise ArgumentError("by", f'must be a dict such as {{"gender": ids}}, not {shown}')
    for name, ids in by.items():
        if not isinstance(name, str):
            rule = f"must give each column under its own name, not {name!r}"
            raise ArgumentError("by", rule, remedy="columns of a dict are combined")
        if isinstance(ids, SharedTargets):
            rule = "must not share targets: each sample is of one condition"
            raise ArgumentError("by", rule, name=f"by[{name!r}]")
    return tuple(by)
