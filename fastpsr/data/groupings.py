"""Groupings of samples by columns of ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.data.binning import Binning, as_numbers, ranks_of
from fastpsr.data.labeled import Floats
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered

#: Name of a grouping: of a column, or of several, whose combinations make the groups.
Name = str | tuple[str, ...]
#: Names of columns; or ids, or names of columns, by name of the grouping; or a Series that has a
#: name. A grouping of several columns has a tuple of names, and a tuple of ids.
By = Mapping[str, Any] | Mapping[Name, Any] | Sequence[Name] | str


@dataclass(frozen=True, eq=False)
class SharedTargets:
    """Groups of negatives that share all targets, for the argument `by` of ``fp.evaluate``.

    Each group has the negatives (class 0) of one value and all samples of class 1: so the EER of
    each spoofing attack is computed, attacks having no targets of their own.

    Parameters
    ----------
    ids : array-like of shape (N,), or str
        Group of each sample: integers, other numbers or strings, or the name of the column that has
        them; a tuple of these for combinations. Those of targets are not used.

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


@dataclass(frozen=True, eq=False)
class Grouping:
    """A column of ids, encoded as indices of its distinct values.

    Attributes
    ----------
    values : sequence or ndarray
    places : ndarray of int, shape (N,)
    """

    values: Sequence[Any] | NDArray[Any]
    places: NDArray[Any]

    @classmethod
    def of(cls, ids: Any, *, is_binned: bool = False) -> "Grouping":
        """Return the grouping by an id per sample; of numbers to be binned each is a value."""
        if not ids.size:
            return cls((), np.empty(0, np.int64))
        if is_binned and ids.dtype.kind in "iuf":
            return cls(ids, np.arange(ids.size))
        values, (places,) = numbered(ids)
        return cls(list(values), places)

    def binned(self, binning: Binning) -> "Grouping":
        """Return the grouping by the bins of the values."""
        if binning.edges is None:
            return self
        distinct, (places,) = numbered(binning.codes(self.numbers()))
        return Grouping(list(distinct), places[self.places])

    def numbers(self) -> Floats:
        """Return the values as numbers, nan where they are none."""
        return as_numbers(np.asarray(self.values))


def columns_by_name(by: Any) -> dict[Any, Any]:
    """Return the ids of each grouping, or the name of its column, by the name of the grouping."""
    if isinstance(by, str):
        return {by: by}
    if isinstance(by, Mapping):
        return dict(by)
    if isinstance(by, (list, tuple)) and all(isinstance(name, (str, tuple, list)) for name in by):
        return {name if isinstance(name, str) else tuple(name): name for name in by}
    name = getattr(by, "name", None)  # of a Series of pandas or polars
    if not isinstance(name, str) or not name:
        shown = repr(by) if isinstance(by, (str, int, float)) else type(by).__name__
        rule = (
            f"must be names of columns, a dict of name to ids, or a Series with a name, not {shown}"
        )
        raise ArgumentError("by", rule, remedy="pass by={'group': ids}")
    return {name: by}


def named(
    names: Sequence[str], binnings: Sequence[Binning], values: Sequence[tuple[Any, ...]]
) -> list[tuple[str, tuple[Any, ...]]]:
    """Return names of groups with their values of each column, in natural order."""
    ranks = [ranks_of(own) for own in zip(*values, strict=True)]
    ordered = sorted(values, key=lambda each: [r[v] for r, v in zip(ranks, each, strict=True)])

    def name(each: tuple[Any, ...]) -> str:
        columns = zip(names, binnings, each, strict=True)
        return ", ".join(f"{column}={binning.name(value)}" for column, binning, value in columns)

    return [(name(each), each) for each in ordered]


def combined(columns: Sequence[Grouping]) -> tuple[list[tuple[Any, ...]], NDArray[Any]]:
    """Return the combinations of values that occur, and the place of each sample among them."""
    first, *others = columns
    combinations, places = [(value,) for value in first.values], first.places
    for other in others:
        n = len(other.values)
        distinct, (places,) = numbered(places.astype(np.int64) * n + other.places)
        combinations = [(*combinations[c // n], other.values[c % n]) for c in distinct.tolist()]
    return combinations, places


def rows_of_each(places: NDArray[Any], n_groups: int) -> list[NDArray[np.int64]]:
    """Return the rows of each group, ascending."""
    bounds = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=n_groups))])
    order = kernels.sorting.order_by_group(places, bounds).astype(np.int64)
    return np.split(order, bounds[1:-1]) if n_groups else []
