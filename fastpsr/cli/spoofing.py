"""Trial lists with spoofed trials: which they are, and conditions that share all targets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.cli.show import tell_once
from fastpsr.evaluation import Grouping, SharedTargets
from fastpsr.trials import TrialSet
from fastpsr.trials.coded import Coded
from fastpsr.trials.labels import VOCABULARIES
from fastpsr.trials.names import KIND, WITH_SPOOF

__all__ = ["grouped_by", "spoofed_by_path", "spoofed_trials"]

_SPOOF = WITH_SPOOF.split("/")[-1]


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


def spoofed_by_path(systems: Mapping[Path, TrialSet]) -> dict[str, NDArray[np.bool_]]:
    """Return which trials are spoofed, by the path of systems whose lists say so of some."""
    found = {str(path): spoofed_trials(made) for path, made in systems.items()}
    return {path: spoof for path, spoof in found.items() if spoof is not None}


def grouped_by(made: TrialSet, name: str | None, spoof: NDArray[np.bool_] | None) -> Any:
    """Return the conditions of a column for `evaluate`, None without; print what is shared.

    With spoofed trials, `name` is the column of kinds by default. If trials of a value are spoofed
    and none are targets, all conditions share the targets.
    """
    if name is None and spoof is None:
        return None
    column = made.columns[KIND if name is None else name]
    if isinstance(column, Coded):
        grouping = Grouping(column.names.to_list(), column.codes)
    else:
        grouping = Grouping.of("by", column, len(column))
    if spoof is None:
        return {name: grouping}
    n, is_target = len(grouping.values), made.y_true == 1
    spoofs, targets = (np.bincount(grouping.places[own], minlength=n) for own in (spoof, is_target))
    if not (spoofs[targets == 0] > 0).any():
        return {name: grouping}
    if name is None:
        tell_once(
            f"spoofed trials: the EER of all trials is SASV-EER; {KIND}=nontarget (SV-EER) and "
            f"{KIND}={_SPOOF} (SPF-EER) share all targets"
        )
    else:
        tell_once(f"--by {name}: conditions share all targets, as some have spoofed trials only")
    return {name or KIND: SharedTargets(grouping)}
