"""Dealing samples, groups and pairs of speakers to folds."""

from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import kernels
from fastpsr.ids import as_ids, coded

__all__ = ["Plan", "deal_groups", "deal_pairs", "deal_samples", "given_folds"]

Ints = NDArray[np.int64]

_MOST_CALIBRATORS = 10_000
_MOST_FOLDS_OF_PAIRS = 140  # whose pairs are no more than that


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

    @property
    def digest(self) -> str:
        """Tell this plan from others."""
        return f"{self.trains.shape[0]}-{crc32(self.served_by.tobytes())}"

    @classmethod
    def of_one(cls, n_samples: int) -> "Plan":
        """Train one calibrator on all samples."""
        return cls(np.zeros(n_samples, np.uint16), np.ones((1, 1), bool))

    @classmethod
    def of_folds(cls, folds: NDArray[Any], n_folds: int) -> "Plan":
        """Train each fold's calibrator on all other folds."""
        return cls(folds, ~np.eye(n_folds, dtype=bool))


def given_folds(folds: ArrayLike, n_samples: int) -> Plan:
    """Use fold ids that the caller gives, one per sample."""
    n_folds, (codes,) = coded(as_ids("folds", folds, n_samples))
    if n_folds < 2:
        raise ValueError(f"folds must name at least two folds, not {n_folds}")
    return Plan.of_folds(codes, n_folds)


def deal_samples(y: NDArray[Any], n_folds: int, seed: int) -> Plan:
    """Deal the shuffled samples of each class to folds in turn."""
    sizes = np.bincount(y)
    hands = np.empty((sizes.size, n_folds), np.int64)
    next_fold = 0
    fewest = int(sizes[sizes > 0].min())
    if fewest < n_folds:
        raise ValueError(
            "folds must not outnumber the samples of any class: "
            f"class {sizes.tolist().index(fewest)} has {fewest}, folds is {n_folds}"
        )
    for k, size in enumerate(sizes):
        # each class begins at the fold after the last one's end, so that sizes even out
        turn = (np.arange(n_folds) - next_fold) % n_folds
        hands[k] = size // n_folds + (turn < size % n_folds)
        next_fold = (next_fold + int(size)) % n_folds
    return Plan.of_folds(kernels.deal_hands(y, hands, seed), n_folds)


def deal_groups(groups: ArrayLike, y: NDArray[Any], n_folds: int, seed: int) -> Plan:
    """Deal whole groups to folds, each class as evenly as their sizes allow."""
    n_groups, (codes,) = coded(as_ids("groups", groups, y.size))
    folds = _deal(_held(codes, y, n_groups), n_folds, seed, "groups")
    return Plan.of_folds(folds[codes], n_folds)


def deal_pairs(pair: tuple[ArrayLike, ArrayLike], y: NDArray[Any], n_folds: int, seed: int) -> Plan:
    """Deal speakers to folds; a trial is served by a fit on trials with neither of its folds."""
    if n_folds > _MOST_FOLDS_OF_PAIRS:
        raise ValueError(
            f"folds must be at most {_MOST_FOLDS_OF_PAIRS} with a pair of groups, not {n_folds}: "
            "every two folds need a calibrator of their own"
        )
    sides = [as_ids("groups", side, y.size) for side in pair]
    if sides[0].dtype.kind != sides[1].dtype.kind:
        raise ValueError(
            "groups must have ids of one type on both sides, "
            f"not {sides[0].dtype} and {sides[1].dtype}"
        )
    n_speakers, (enroll, test) = coded(*sides)
    held = _held(enroll, y, n_speakers) + _held(test, y, n_speakers)
    folds = _deal(held, n_folds, seed, "speakers")
    pairs, counts = kernels.pair_folds(enroll, test, folds)
    cells = np.flatnonzero(counts)
    number = np.zeros(counts.size, np.uint16)
    number[cells] = np.arange(cells.size)
    low, high = cells // n_folds, cells % n_folds
    shares_a_fold = (
        (low[:, None] == low)
        | (low[:, None] == high)
        | (high[:, None] == low)
        | (high[:, None] == high)
    )
    return Plan(number[pairs], ~shares_a_fold)


def _held(codes: NDArray[Any], y: NDArray[Any], n_groups: int) -> Ints:
    """Return how many samples of each class a group holds, (groups, classes)."""
    return np.asarray(kernels.count_pairs(codes, y, n_groups, int(y.max()) + 1))


def _deal(held: Ints, n_folds: int, seed: int, what: str) -> Ints:
    """Return the fold of each group: rare classes first, large groups first, to the emptiest."""
    n_groups = held.shape[0]
    if n_groups < n_folds:
        raise ValueError(f"folds must not outnumber the {what}: {n_groups} {what}, {n_folds} folds")
    order = np.random.default_rng(seed).permutation(n_groups)  # breaks ties of size
    folds = np.full(n_groups, -1, np.int64)
    everything = held.sum(axis=1)
    totals = [0] * n_folds
    sizes = held.sum(axis=0)
    for k in np.argsort(sizes, kind="stable"):
        load = [int(held[folds == fold, k].sum()) for fold in range(n_folds)]
        open_groups = order[(folds[order] < 0) & (held[order, k] > 0)]
        for group in open_groups[np.argsort(-held[open_groups, k], kind="stable")]:
            fold = min(range(n_folds), key=lambda f: (load[f], totals[f]))
            folds[group] = fold
            load[fold] += int(held[group, k])
            totals[fold] += int(everything[group])
    return folds
