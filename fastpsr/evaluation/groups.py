"""Groups of samples, one for each value of a column."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr.errors import ArgumentError
from fastpsr.ids import as_ids, numbered, type_of
from fastpsr.plans import LABELS, Data, Part, PartitionedPredictions, Plan, Selection, Step, run
from fastpsr.predictions import Predictions

__all__ = ["By", "Grouping", "Rows", "SharedTargets", "Subgroup", "groups_of"]


@dataclass(frozen=True, eq=False)
class SharedTargets:
    """Groups of negatives that share all targets, for the argument `by` of ``fp.evaluate``.

    Each group has the negatives (class 0) of one value and all samples of class 1: so the EER of
    each spoofing attack is computed, attacks having no targets of their own.

    Parameters
    ----------
    ids : array-like of shape (N,), or str
        Group of each sample: integers or strings; for data in parts, the name of the column. Those
        of targets are not used.

    Raises
    ------
    ArgumentError
        When used, for ids of the wrong length, or data of more than two classes.

    Notes
    -----
    Groups overlap, so that their intervals are not independent: each has the same targets.

    References
    ----------
    J. Jung et al., "SASV 2022: the first spoofing-aware speaker verification challenge",
    Interspeech 2022, doi:10.21437/Interspeech.2022-11270, section 3.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([1, 1, 0, 0, 0], [2.0, 0.5, -1.0, 1.0, 3.0])
    >>> attacks = fp.SharedTargets(["", "", "none", "A01", "A02"])
    >>> print(fp.evaluate(data, [fp.AUC()], by={"attack": attacks}))
                 pooled  attack=A01  attack=A02  attack=none
    targets           2           2           2            2
    non-targets       3           1           1            1
    AUC          0.5000      0.5000      0.0000       1.0000
    """

    ids: Any


#: For data in memory, ids by name of the grouping; for data in parts, names of columns.
By = Mapping[str, ArrayLike | SharedTargets] | Sequence[str] | str

#: Rows of a group: their numbers in memory, or what selects them in parts.
Rows = NDArray[np.int64] | Selection


@dataclass(frozen=True, eq=False)
class Subgroup:
    """The samples with one value of a grouping.

    Attributes
    ----------
    grouping : str
    name : str
        Of grouping and value, such as "gender=f".
    data : Predictions or PartitionedPredictions
    rows : ndarray of int64, or Selection
    """

    grouping: str
    name: str
    data: Data
    rows: Rows


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


def groups_of(data: Data, by: By | None) -> list[Subgroup]:
    """Return the groups of each column."""
    if by is None:
        return []
    if isinstance(data, PartitionedPredictions):
        return _groups_in_parts(data, by)
    if not isinstance(by, Mapping):
        raise ArgumentError("by", f'must be a dict such as {{"gender": ids}}, not {by!r}')
    found = []
    for name, ids in by.items():
        for value, rows in _rows_of_groups(name, ids, data).items():
            if not data.weights.size or data.weights[rows].any():  # others are as if absent
                found.append(Subgroup(name, f"{name}={value}", data[rows].alone(), rows))
    return found


def _rows_of_groups(name: str, ids: Any, data: Predictions) -> dict[str, NDArray[np.int64]]:
    """Return the row numbers of each group of data in memory."""
    if not isinstance(ids, SharedTargets):
        return Grouping.of(name, ids, len(data)).rows()
    _check_targets(name, data)
    is_target = data.labels == 1
    targets, others = np.flatnonzero(is_target), np.flatnonzero(~is_target)
    grouping = Grouping.of(name, ids.ids, len(data))
    own = Grouping(grouping.values, grouping.places[others]).rows()
    weights = data.weights if data.weights.size else np.ones(len(data))
    return {
        value: np.sort(np.append(others[rows], targets))
        for value, rows in own.items()
        if weights[others[rows]].any()
    }


def _check_targets(name: str, data: Data) -> None:
    if data.n_classes != 2:
        rule = f"must not share targets: these are data of {data.n_classes} classes, not 2"
        raise ArgumentError("by", rule, name=f"by[{name!r}]")


def _groups_in_parts(data: PartitionedPredictions, by: By) -> list[Subgroup]:
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, (Mapping, list, tuple)):
        raise ArgumentError("by", f"must name columns of data in parts, not be {names!r}")
    given = names if isinstance(names, Mapping) else dict(zip(names, names, strict=True))
    columns: dict[str, str] = {}
    shared: dict[str, bool] = {}
    for name, column in given.items():
        shared[name] = isinstance(column, SharedTargets)
        if isinstance(column, SharedTargets):
            _check_targets(name, data)
            column = column.ids
        if not isinstance(column, str):
            raise ArgumentError(
                "by", f"must name columns of data in parts, not give ids for {name!r}"
            )
        columns[name] = column

    def plan() -> Plan[list[NDArray[Any]]]:
        steps = [_DistinctValues(column, shared[name]) for name, column in columns.items()]
        return (yield [step.over(data) for step in steps])

    found = []
    for (name, column), values in zip(columns.items(), run(plan), strict=True):
        for value in values:
            group = _InGroup(column, value, shared[name])
            found.append(Subgroup(name, f"{name}={_shown(value)}", data.mapped(group), group))
    return found


def _shown(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class _InGroup(Selection):
    """The rows that have a value in a column, and all targets if they are shared."""

    def __init__(self, column: str, value: Any, shares_targets: bool) -> None:
        self.reads = frozenset({column})
        self._column, self._value, self._shares_targets = column, value, shares_targets

    def rows(self, part: Part) -> NDArray[np.bool_]:
        own = np.asarray(part.ids("by", self._column) == self._value)
        return own | (part.predictions.labels == 1) if self._shares_targets else own


@dataclass(frozen=True, eq=False)
class _DistinctValues(Step):
    """Collect the values of a column, of targets only if they are not shared."""

    column: str
    shares_targets: bool
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | {self.column}

    @property
    def key(self) -> Hashable:
        return ("distinct values", self.column, self.shares_targets)

    def add(self, accumulator: Any, prepared: None, part: Part) -> NDArray[Any]:
        ids, weights = part.ids("by", self.column), part.predictions.weights
        present = weights > 0.0 if weights.size else np.ones(ids.size, bool)
        if self.shares_targets:
            present &= part.predictions.labels == 0
        here = np.unique(ids[present])
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
