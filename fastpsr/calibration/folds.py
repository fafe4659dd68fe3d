"""Dealing samples, groups and pairs of speakers to folds."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks

__all__ = ["Plan", "deal_groups", "deal_pairs", "deal_samples", "given_folds"]

Ints = NDArray[np.int64]

_MOST_CALIBRATORS = 10_000


class Plan:
    """Which calibrator serves each sample, and which samples may train it.

    Attributes
    ----------
    served_by : ndarray of uint16, shape (N,)
        Number of the calibrator, 0 to C-1, that a sample is calibrated by.
    trains : ndarray of bool, shape (C, C)
        ``trains[c, d]``: whether the samples served by d may train calibrator c.
    """

    def __init__(self, served_by: NDArray[Any], trains: NDArray[np.bool_]) -> None:
        if trains.shape[0] > _MOST_CALIBRATORS:
            raise ValueError(
                f"folds must not ask for more than {_MOST_CALIBRATORS:,} calibrators, "
                f"not {trains.shape[0]:,}"
            )
        self.served_by = served_by.astype(np.uint16)
        self.trains = trains

    @classmethod
    def of_folds(cls, folds: NDArray[Any], n_folds: int) -> "Plan":
        """Train each fold's calibrator on all other folds."""
        return cls(folds, ~np.eye(n_folds, dtype=bool))


def given_folds(folds: ArrayLike, n_samples: int) -> Plan:
    """Use fold ids that the caller gives, one per sample."""
    ids = _ids("folds", folds, n_samples)
    found, codes = np.unique(ids, return_inverse=True)
    if found.size < 2:
        raise ValueError(f"folds must name at least two folds, not {found.size}")
    return Plan.of_folds(codes, found.size)


def deal_samples(y: NDArray[Any], n_folds: int, seed: int) -> Plan:
    """Deal the shuffled samples of each class to folds in turn."""
    rng = np.random.default_rng(seed)
    folds = np.empty(y.size, np.uint16)
    next_fold = 0
    for k, size in enumerate(np.bincount(y)):
        if 0 < size < n_folds:
            raise ValueError(
                f"folds must not outnumber the samples of any class: class {k} has {size}, "
                f"folds is {n_folds}"
            )
        # each class begins at the fold after the last one's end, so that sizes even out
        turns = -(-int(size) // n_folds)
        hand = np.tile(np.roll(np.arange(n_folds), -next_fold), turns)[:size]
        rng.shuffle(hand)
        folds[y == k] = hand
        next_fold = (next_fold + int(size)) % n_folds
    return Plan.of_folds(folds, n_folds)


def deal_groups(groups: ArrayLike, y: NDArray[Any], n_folds: int, seed: int) -> Plan:
    """Deal whole groups to folds, each class as evenly as their sizes allow."""
    found, codes = np.unique(_ids("groups", groups, y.size), return_inverse=True)
    folds = _deal(codes, found.size, y, n_folds, seed, "groups")
    return Plan.of_folds(folds[codes], n_folds)


def deal_pairs(pair: tuple[ArrayLike, ArrayLike], y: NDArray[Any], n_folds: int, seed: int) -> Plan:
    """Deal speakers to folds; a trial is served by a fit on trials with neither of its folds."""
    sides = [_ids("groups", side, y.size) for side in pair]
    if sides[0].dtype.kind != sides[1].dtype.kind:
        raise ValueError(
            "groups must have ids of one type on both sides, "
            f"not {sides[0].dtype} and {sides[1].dtype}"
        )
    found, codes = np.unique(np.concatenate(sides), return_inverse=True)
    folds = _deal(codes, found.size, np.concatenate([y, y]), n_folds, seed, "speakers")
    one, other = folds[codes[: y.size]], folds[codes[y.size :]]
    first, second = np.minimum(one, other), np.maximum(one, other)
    cells, served_by = np.unique(first * n_folds + second, return_inverse=True)
    low, high = cells // n_folds, cells % n_folds
    shares_a_fold = (
        (low[:, None] == low)
        | (low[:, None] == high)
        | (high[:, None] == low)
        | (high[:, None] == high)
    )
    return Plan(served_by, ~shares_a_fold)


def _ids(name: str, ids: ArrayLike, n_samples: int) -> NDArray[Any]:
    array = np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-dimensional, not of shape {array.shape}")
    checks.check_length(name, array.size, n_samples)
    if array.dtype.kind == "f" and np.isnan(array).any():
        position = int(np.flatnonzero(np.isnan(array))[0])
        raise ValueError(f"{name} must be ids, but {name}[{position}] is nan")
    if array.dtype.kind == "O":
        array = array.astype(str)
    return array


def _deal(
    codes: NDArray[Any], n_groups: int, y: NDArray[Any], n_folds: int, seed: int, what: str
) -> Ints:
    """Return the fold of each group: rare classes first, large groups first, to the emptiest."""
    if n_groups < n_folds:
        raise ValueError(f"folds must not outnumber the {what}: {n_groups} {what}, {n_folds} folds")
    order = np.random.default_rng(seed).permutation(n_groups)  # breaks ties of size
    folds = np.full(n_groups, -1, np.int64)
    totals = np.zeros(n_folds)
    everything = np.bincount(codes, minlength=n_groups)
    classes, sizes = np.unique(y, return_counts=True)
    for k in classes[np.argsort(sizes, kind="stable")]:
        held = np.bincount(codes[y == k], minlength=n_groups)
        load = np.bincount(folds[folds >= 0], held[folds >= 0], minlength=n_folds)
        open_groups = order[(folds[order] < 0) & (held[order] > 0)]
        for group in open_groups[np.argsort(-held[open_groups], kind="stable")]:
            fold = int(np.lexsort((totals, load))[0])
            folds[group] = fold
            load[fold] += held[group]
            totals[fold] += everything[group]
    return folds
