"""Groups of samples, one for each value of a column."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr.errors import ArgumentError
from fastpsr.ids import as_ids, numbered, type_of
from fastpsr.plans import LABELS, Data, Part, PartitionedPredictions, Plan, Selection, Step, run

__all__ = ["By", "Grouping", "Rows", "groups_of"]

#: For data in memory, ids by name of the grouping; for data in parts, names of columns.
By = Mapping[str, ArrayLike] | Sequence[str] | str

#: Rows of a group: their numbers in memory, or what selects them in parts.
Rows = NDArray[np.int64] | Selection


@dataclass(frozen=True, eq=False)
class Grouping:
    """A column of ids, encoded as indices of its distinct values.

    Attributes
    ----------
    values : sequence
    places : ndarray of int, shape (N,)
    """

    values: Sequence[Any]
    places: NDArray[Any]

    @classmethod
    def of(cls, name: str, ids: Any, n_samples: int) -> "Grouping":
        """Return the grouping by an id per sample."""
        if isinstance(ids, cls):
            return ids
        if isinstance(ids, str):
            raise ArgumentError(
                "by", f"must have one id per sample for {name!r}: columns are for data in parts"
            )
        array = as_ids(f"by[{name!r}]", ids, n_samples)
        if not array.size:
            return cls((), np.empty(0, np.int64))
        values, (places,) = numbered(array)
        return cls(list(values), places)

    def rows(self) -> dict[str, NDArray[np.int64]]:
        """Return the row numbers of each value that occurs."""
        if not len(self.values):
            return {}
        order = np.argsort(self.places, kind="stable")
        ends = np.cumsum(np.bincount(self.places, minlength=len(self.values)))
        parts = np.split(order, ends[:-1])
        return {_shown(v): rows for v, rows in zip(self.values, parts, strict=True) if rows.size}


def groups_of(data: Data, by: By | None) -> list[tuple[str, Data, Rows]]:
    """Return the name, the data and the rows of each group of each column."""
    if by is None:
        return []
    if isinstance(data, PartitionedPredictions):
        return _groups_in_parts(data, by)
    if not isinstance(by, Mapping):
        raise ArgumentError("by", f'must be a dict such as {{"gender": ids}}, not {by!r}')
    found: list[tuple[str, Data, Rows]] = []
    for name, ids in by.items():
        for value, rows in Grouping.of(name, ids, len(data)).rows().items():
            if not data.weights.size or data.weights[rows].any():  # others are as if absent
                found.append((f"{name}={value}", data[rows].alone(), rows))
    return found


def _groups_in_parts(data: PartitionedPredictions, by: By) -> list[tuple[str, Data, Rows]]:
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, (Mapping, list, tuple)):
        raise ArgumentError("by", f"must name columns of data in parts, not be {names!r}")
    given = names if isinstance(names, Mapping) else dict(zip(names, names, strict=True))
    columns: dict[str, str] = {}
    for name, column in given.items():
        if not isinstance(column, str):
            raise ArgumentError(
                "by", f"must name columns of data in parts, not give ids for {name!r}"
            )
        columns[name] = column

    def plan() -> Plan[list[NDArray[Any]]]:
        return (yield [_DistinctValues(column).over(data) for column in columns.values()])

    found: list[tuple[str, Data, Rows]] = []
    for (name, column), values in zip(columns.items(), run(plan), strict=True):
        for value in values:
            group = _InGroup(column, value)
            found.append((f"{name}={_shown(value)}", data.mapped(group), group))
    return found


def _shown(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class _InGroup(Selection):
    """The rows that have a value in a column."""

    def __init__(self, column: str, value: Any) -> None:
        self.reads = frozenset({column})
        self._column, self._value = column, value

    def rows(self, part: Part) -> NDArray[np.bool_]:
        return np.asarray(part.ids("by", self._column) == self._value)


@dataclass(frozen=True, eq=False)
class _DistinctValues(Step):
    """Collect the values of a column."""

    column: str
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | {self.column}

    @property
    def key(self) -> Hashable:
        return ("distinct values", self.column)

    def add(self, accumulator: Any, prepared: None, part: Part) -> NDArray[Any]:
        ids, weights = part.ids("by", self.column), part.predictions.weights
        here = np.unique(ids[weights > 0.0] if weights.size else ids)
        return here if accumulator is None else self.merge(accumulator, here)

    def merge(self, one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        types = {  # floats of two widths would compare as different
            ids.dtype.str if ids.dtype.kind == "f" else type_of(ids)
            for ids in (one, other)
            if ids.size
        }
        if len(types) > 1:
            raise ArgumentError(
                "by",
                f"must name columns of one type in all parts, but {self.column!r} is {one.dtype} "
                f"and {other.dtype}",
            )
        return np.union1d(one, other)
