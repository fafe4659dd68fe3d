"""The trials that several systems have scores of."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.optional import polars
from fastpsr.trials.coded import Coded, recode
from fastpsr.trials.trial_set import TrialSet


def common_trials(systems: Mapping[Any, TrialSet]) -> tuple[dict[Any, TrialSet], str]:
    """Return the trials that all systems have, in the order of the first, and what is left out.

    What is left out is "" if the trials of all systems are the same.
    """
    numbers = _numbers([*systems.values()])
    first, *others = numbers
    if all(np.array_equal(first, other) for other in others):
        return _checked(dict(systems)), ""
    is_shared = np.ones(first.size, bool)
    for other in others:
        is_shared &= np.isin(first, other)
    shared = first[is_shared]
    if not shared.size:
        raise ValueError(f"{_named(systems)} have a score for no trial in common")
    rows = [np.flatnonzero(is_shared)]
    for other in others:
        order = np.argsort(other, kind="stable")
        rows.append(order[np.searchsorted(other[order], shared)])
    n_left = {name: own.size - shared.size for name, own in zip(systems, numbers, strict=True)}
    left = [f"{n:,} of {name}" for name, n in n_left.items()]
    picked = {
        name: made.select(index) for (name, made), index in zip(systems.items(), rows, strict=True)
    }
    return _checked(picked), f"{shared.size:,} trials have all scores; left out: {', '.join(left)}"


def lacking_trial(systems: Mapping[Any, TrialSet]) -> str:
    """Return which trial of some system another one has no score of; "" if there is none."""
    numbers = dict(zip(systems, _numbers([*systems.values()]), strict=True))
    for name, own in numbers.items():
        for other, theirs in numbers.items():
            rows = np.flatnonzero(~np.isin(theirs, own))
            if rows.size:
                trial = " ".join(repr(ids[int(rows[0])]) for ids in systems[other].ids)
                return f"{name} has no score of {trial}, which {other} has ({rows.size:,} in all)"
    return ""


def _checked(systems: dict[Any, TrialSet]) -> dict[Any, TrialSet]:
    """Return trials after a check that both classes are there, where trials are labeled."""
    labels = next(iter(systems.values())).y_true
    for k, name in enumerate(("non-targets", "targets")):
        if labels is not None and not (labels == k).any():
            raise ValueError(f"the trials that have a score in {_named(systems)} have no {name}")
    return systems


def _named(systems: Mapping[Any, TrialSet]) -> str:
    return " and ".join(map(str, systems))


def _numbers(sets: list[TrialSet]) -> list[NDArray[np.int64]]:
    """Return a number for each trial of each set, which is the same for the same trial."""
    sides = [list(made.ids) for made in sets]
    names = [made.source.names.get("side") for made in sets]
    if None not in names:
        for own, made, name in zip(sides, sets, names, strict=True):
            column = made.columns[str(name)]
            assert isinstance(column, Coded)
            own.append(column)
    numbers = [np.zeros(len(made), np.int64) for made in sets]
    for side in zip(*sides, strict=True):
        first, *others = side
        words = first.names
        if all(other.names is words or other.names.equals(words) for other in others):
            codes = [each.codes for each in side]
        else:
            words = polars().concat([each.names for each in side]).unique().sort()
            codes = [recode(each, words) for each in side]
        numbers = [n * len(words) + own for n, own in zip(numbers, codes, strict=True)]
    return numbers
