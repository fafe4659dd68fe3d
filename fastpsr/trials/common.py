"""The trials that several systems have scores of."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.ids import numbered
from fastpsr.trials.coded import Coded
from fastpsr.trials.trial_set import TrialSet


def common_trials(systems: Mapping[Any, TrialSet]) -> tuple[dict[Any, TrialSet], str]:
    """Return the trials that all systems have, in the order of the first, and what is left out.

    What is left out is "" if the trials of all systems are the same.
    """
    names, common = " and ".join(map(str, systems)), dict(systems)
    numbers = dict(zip(systems, _numbers(systems), strict=True))
    first, *others = numbers.values()
    n_left = dict.fromkeys(systems, 0)
    if not all(np.array_equal(first, other) for other in others):
        shared = first[np.logical_and.reduce([np.isin(first, other) for other in others])]
        if not shared.size:
            raise ValueError(f"{names} have a score for no trial in common")
        for name, number in numbers.items():
            order = np.argsort(number, kind="stable")
            common[name] = systems[name].select(order[np.searchsorted(number[order], shared)])
            n_left[name] = number.size - shared.size
    trials = next(iter(common.values()))
    for label, kind in enumerate(("non-targets", "targets")):
        if trials.y_true is not None and not (trials.y_true == label).any():
            raise ValueError(f"the trials that have a score in {names} have no {kind}")
    if not any(n_left.values()):
        return common, ""
    listed = ", ".join(f"{n:,} of {name}" for name, n in n_left.items())
    return common, f"{len(trials):,} trials have all scores; left out: {listed}"


def lacking_trial(systems: Mapping[Any, TrialSet]) -> str:
    """Return which trial of some system another one has no score of; "" if there is none."""
    numbers = dict(zip(systems, _numbers(systems), strict=True))
    for name, number in numbers.items():
        for other, of_other in numbers.items():
            rows = np.flatnonzero(~np.isin(of_other, number))
            if rows.size:
                trial = " ".join(repr(ids[int(rows[0])]) for ids in systems[other].ids)
                return f"{name} has no score of {trial}, which {other} has ({rows.size:,} in all)"
    return ""


def _numbers(systems: Mapping[Any, TrialSet]) -> list[NDArray[np.int64]]:
    """Return a number for each trial of each system, which is the same for the same trial."""
    columns: list[list[Any]] = [[*trials.ids] for trials in systems.values()]
    sides = [trials.columns.get(trials.source.names.get("side", "")) for trials in systems.values()]
    if all(isinstance(side, Coded) for side in sides):
        columns = [[*ids, side] for ids, side in zip(columns, sides, strict=True)]
    numbers = [np.zeros(len(trials), np.int64) for trials in systems.values()]
    for alike in zip(*columns, strict=True):
        words, codes = numbered(*(column.coded_ids() for column in alike))
        numbers = [n * len(words) + code for n, code in zip(numbers, codes, strict=True)]
    return numbers
