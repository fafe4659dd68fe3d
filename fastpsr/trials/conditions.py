"""Conditions of trials: the values of a column, and the kinds of trials of lists with spoofs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.evaluation import Grouping, SharedTargets
from fastpsr.trials.coded import Coded
from fastpsr.trials.labels import VOCABULARIES
from fastpsr.trials.names import KIND, WITH_SPOOF
from fastpsr.trials.trial_set import TrialSet

__all__ = ["conditions", "known_column", "spoofed_trials"]

_SPOOF = WITH_SPOOF.split("/")[-1]


def conditions(made: TrialSet, name: str | None) -> dict[str, Any] | None:
    """Return the conditions of a column for ``evaluate(by=)``, None without.

    With spoofed trials, `name` is the column of kinds by default. If trials of a value are spoofed
    and none are targets, all conditions share the targets.
    """
    spoof = spoofed_trials(made)
    if name is None and spoof is None:
        return None
    name = KIND if name is None else known_column(made, name, "by")
    column = made.columns[name]
    if isinstance(column, Coded):
        grouping = Grouping(column.names.to_list(), column.codes)
    else:
        grouping = Grouping.of("by", column, len(column))
    if spoof is None:
        return {name: grouping}
    n, is_target = len(grouping.values), made.y_true == 1
    spoofs, targets = (np.bincount(grouping.places[own], minlength=n) for own in (spoof, is_target))
    shared = bool((spoofs[targets == 0] > 0).any())
    return {name: SharedTargets(grouping) if shared else grouping}


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
