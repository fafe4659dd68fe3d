"""Conditions of trials: the values of a column, and the kinds of trials of lists with spoofs."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from fastpsr.counts.groups import groups_of
from fastpsr.data import Bins, Grouping, SharedTargets
from fastpsr.errors import ArgumentError
from fastpsr.ids import as_ids
from fastpsr.trials.coded import Coded
from fastpsr.trials.labels import KIND, VOCABULARIES, WITH_SPOOF
from fastpsr.trials.trial_set import TrialSet

#: Columns of conditions; those of a tuple are combined.
Conditions = str | Sequence[str | tuple[str, ...]]

_SPOOF = WITH_SPOOF.split("/")[-1]


def conditions(
    made: TrialSet, by: Conditions | None, bins: Bins | None = None
) -> dict[Any, Any] | None:
    """Return the conditions of columns for ``evaluate(by=)``, None without.

    With spoofed trials, `by` is the column of kinds by default. If trials of a value are spoofed
    and none are targets, all conditions of this column share the targets.
    """
    is_spoof = spoofed_trials(made)
    if by is None and is_spoof is None:
        return None
    names: Sequence[str | tuple[str, ...]] = (
        [KIND] if by is None else ([by] if isinstance(by, str) else by)
    )
    found: dict[Any, Any] = {}
    for name in names:
        columns = [name] if isinstance(name, str) else name
        each = tuple(grouping(made, column) for column in columns)
        ids: Any = each[0] if isinstance(name, str) else each
        found[name] = ids
        if is_spoof is not None:
            own = {k: v for k, v in bins.items() if k in columns} if _by_name(bins) else bins
            if _lack_targets(made, is_spoof, {name: ids}, own or None):
                found[name] = SharedTargets(ids)
    return found


def _by_name(bins: Bins | None) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(bins, Mapping)


def grouping(made: TrialSet, name: str) -> Grouping:
    """Return the groups by a column."""
    column = made.columns[known_column(made, name, "by")]
    if isinstance(column, Coded):
        return Grouping(column.names.to_list(), column.codes)
    return Grouping.of(as_ids(f"by[{name!r}]", column, len(column)))


def _lack_targets(
    made: TrialSet, is_spoof: NDArray[np.bool_], by: Mapping[Any, Any], bins: Bins | None
) -> bool:
    """Whether some condition has spoofed trials, and no targets."""
    groups = groups_of(made.predictions("raw"), by, bins)
    rows = [np.asarray(group.rows) for group in groups]
    is_target = np.asarray(made.y_true == 1)
    return any(is_spoof[own].any() and not is_target[own].any() for own in rows)


def spoofed_trials(made: TrialSet) -> NDArray[np.bool_] | None:
    """Return which trials are spoofed, None if the list does not say so of any."""
    kinds = made.columns.get(KIND)
    if not isinstance(kinds, Coded):
        return None
    words = [word.lower() for word in kinds.names.to_list()]
    if not set(words) <= set(VOCABULARIES[WITH_SPOOF]):
        return None
    is_spoof = np.array([word == _SPOOF for word in words], bool)[kinds.codes]
    return is_spoof if is_spoof.any() else None


def known_column(made: TrialSet, name: str, argument: str) -> str:
    """Return the name of a column; raise if there is no such column."""
    if name not in made.columns:
        known = ", ".join(made.columns) or "they have none"
        raise ArgumentError(argument, f"must name a column of the files ({known}), not {name!r}")
    return name
