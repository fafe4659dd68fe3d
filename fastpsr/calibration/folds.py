"""Assignment of samples, groups and pairs of speakers to folds."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered
from fastpsr.plans import LABELS, Data, Part, Plan, Step

__all__ = [
    "DealtSamples",
    "Folds",
    "GroupFolds",
    "InnerFolds",
    "NestedFolds",
    "OneFold",
    "PairFolds",
    "PinnedFolds",
    "TrainingFolds",
    "deal_groups",
    "deal_pairs",
    "deal_samples",
    "given_folds",
    "spec_key",
    "training_runs",
]

Ints = NDArray[np.int64]

_MOST_CALIBRATORS = 10_000
_MOST_FOLDS_OF_PAIRS = 140  # so that the number of pairs of folds is below that limit

_numbers = count()


@dataclass(frozen=True, eq=False)
class TrainingFolds:
    """Which folds train each calibrator, and which folds it serves.

    Attributes
    ----------
    training_mask : ndarray of bool, shape (C, F)
        ``training_mask[c, f]``: whether the samples of fold f train calibrator c.
    """

    training_mask: NDArray[np.bool_]

    @property
    def n_calibrators(self) -> int:
        """The number C of calibrators."""
        return int(self.training_mask.shape[0])

    @property
    def n_folds(self) -> int:
        """The number F of folds."""
        return int(self.training_mask.shape[1])

    @property
    def served(self) -> Ints:
        """Pairs of a calibrator and a fold whose samples it transforms, (E, 2).

        By default there is a calibrator for each fold, or one for all.
        """
        folds = np.arange(self.n_folds)
        return np.column_stack([folds if self.n_calibrators > 1 else 0 * folds, folds])

    @property
    def apart(self) -> NDArray[np.bool_]:
        """``apart[d, f]``: whether fold f may train a calibrator of fold d, (F, F)."""
        return self.training_mask

    def repeated(self, n: int) -> "TrainingFolds":
        """Return the folds of n data sets, those of one after those of another."""
        return self if n == 1 else _Repeated(np.kron(np.eye(n, dtype=bool), self.training_mask),
                                             self, n)  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Repeated(TrainingFolds):
    of_one: TrainingFolds
    n: int

    @property
    def served(self) -> Ints:
        first = np.arange(self.n)[:, None, None] * np.array(self.of_one.training_mask.shape)
        return np.asarray(self.of_one.served + first).reshape(-1, 2)

    @property
    def apart(self) -> NDArray[np.bool_]:
        return np.asarray(np.kron(np.eye(self.n, dtype=bool), self.of_one.apart))


@dataclass(frozen=True, eq=False)
class Folds(TrainingFolds, ABC):
    """The fold of each sample, and which folds train each calibrator: plain data.

    Attributes
    ----------
    key : hashable
        Identity of these folds among folds of the same data.
    """

    key: Hashable = field(default_factory=lambda: ("folds", next(_numbers)), kw_only=True)

    def __post_init__(self) -> None:
        if self.n_calibrators > _MOST_CALIBRATORS:
            raise ArgumentError(
                "folds",
                f"must not ask for more than {_MOST_CALIBRATORS:,} calibrators, "
                f"not {self.n_calibrators:,}",
            )

    @property
    def reads(self) -> frozenset[str]:
        """Names of the columns of ids that determine the calibrator of a row."""
        return frozenset()

    def fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        """Return the fold of each row of a part, (n,)."""
        numbers: NDArray[np.uint16] = part.remember(
            ("fold of rows", self.key), lambda: self._fold_of_rows(part)
        )
        return numbers

    def calibrator_of_rows(self, part: Part) -> NDArray[np.uint16]:
        """Return the index of the calibrator that transforms each row of a part, (n,)."""
        folds = self.fold_of_rows(part)
        return folds if self.n_calibrators > 1 else np.zeros_like(folds)

    @abstractmethod
    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        """Return the fold of each row; called once per part."""


@dataclass(frozen=True, eq=False)
class OneFold(Folds):
    """One calibrator, trained on all samples."""

    training_mask: NDArray[np.bool_] = field(default_factory=lambda: np.ones((1, 1), bool))
    key: Hashable = field(default="one fold", kw_only=True)

    @property
    def apart(self) -> NDArray[np.bool_]:
        return np.zeros((1, 1), bool)

    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        return np.zeros(len(part.predictions), np.uint16)


@dataclass(frozen=True, eq=False)
class DealtSamples(Folds):
    """Folds assigned by the rank of a row among the rows of its class with positive weight.

    Attributes
    ----------
    sizes : ndarray of int64, shape (K,)
        Number of rows of positive weight of each class.
    first_folds, places, tables, keys : ndarray
        Arguments of the kernel.
    """

    sizes: Ints
    first_folds: Ints
    tables: Ints
    places: Ints
    keys: NDArray[np.uint64]

    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        predictions = part.predictions
        return kernels.deal_ranks(
            predictions.labels, predictions.weights, part.ranks, self.sizes, self.first_folds,
            self.tables, self.places, self.keys, self.n_folds,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class InnerFolds(Folds):
    """Folds of the training data of a single calibrator, which chooses an option by them."""

    dealt: Folds

    @classmethod
    def of(cls, dealt: Folds) -> "InnerFolds":
        """Return one calibrator over the folds of another dealing."""
        everything = np.ones((1, dealt.n_folds), bool)
        return cls(everything, dealt, key=("inner folds", dealt.key))

    @property
    def apart(self) -> NDArray[np.bool_]:
        return self.dealt.training_mask

    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        return self.dealt.fold_of_rows(part)


@dataclass(frozen=True, eq=False)
class NestedFolds(Folds):
    """Folds whose calibrators are judged by folds that they are also kept apart from.

    Besides the calibrator of each fold there is one for each two folds that are apart, trained
    on neither: on one of them it is judged, when something is chosen for the other.

    Attributes
    ----------
    dealt : Folds
        With a calibrator for each fold.
    judged : ndarray of int64, shape (J, 2)
        Pairs (o, i): calibrators are chosen for fold o by their losses on fold i. Their
        calibrators follow those of all folds in `served`.
    """

    dealt: Folds
    judged: Ints
    _served: Ints

    @classmethod
    def of(cls, dealt: Folds) -> "NestedFolds":
        """Return the folds of a dealing; raise where no samples would be left for training."""
        rule = "must leave training samples where two folds are left out at once: use more folds"
        if not dealt.training_mask.any(axis=1).all():
            raise ArgumentError("folds", rule)
        masks = {mask.tobytes(): number for number, mask in enumerate(dealt.training_mask)}
        rows = list(dealt.training_mask)
        judged = np.argwhere(dealt.training_mask)
        served = [(fold, fold) for fold in range(dealt.n_folds)]
        for outer, inner in judged:
            mask = dealt.training_mask[outer] & dealt.training_mask[inner]
            if not mask.any():
                raise ArgumentError("folds", rule)
            number = masks.setdefault(mask.tobytes(), len(rows))
            if number == len(rows):
                rows.append(mask)
            served.append((number, int(inner)))
        key = ("nested folds", dealt.key)
        return cls(np.stack(rows), dealt, judged, np.array(served), key=key)

    @property
    def served(self) -> Ints:
        return self._served

    @property
    def reads(self) -> frozenset[str]:
        return self.dealt.reads

    @property
    def apart(self) -> NDArray[np.bool_]:
        return self.dealt.training_mask

    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        return self.dealt.fold_of_rows(part)


@dataclass(frozen=True, eq=False)
class GroupFolds(Folds):
    """Folds by the id of a row.

    Attributes
    ----------
    argument : str
        Argument with the ids: "groups" or "folds".
    spec : str or array
        Name of a column, or, for data in memory, the ids themselves.
    ids : ndarray, shape (G,)
        Distinct ids, ascending.
    fold_of_id : ndarray of int64, shape (G,)
    serves_absent : bool
        Whether rows of weight 0 are in the fold of their id; else in fold 0.
    """

    argument: str
    spec: Any
    ids: NDArray[Any]
    fold_of_id: Ints
    serves_absent: bool

    @property
    def reads(self) -> frozenset[str]:
        return _columns(self.spec)

    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        codes = _codes(part, self.argument, self.spec, self.ids)
        folds = self.fold_of_id.astype(np.uint16)[codes]
        return folds if self.serves_absent else _without_absent(folds, part)


@dataclass(frozen=True, eq=False)
class PairFolds(Folds):
    """Calibrators by the folds of the speakers on both sides of a row.

    Attributes
    ----------
    specs : pair of str or array
        Names of columns, or, for data in memory, the ids themselves.
    ids : ndarray, shape (G,)
        Distinct ids of speakers, ascending.
    fold_of_id : ndarray of int64, shape (G,)
    number_of_pair : ndarray of uint16, shape (F x F,)
        Calibrator of each pair of folds f <= g, at f x F + g.
    """

    specs: tuple[Any, Any]
    ids: NDArray[Any]
    fold_of_id: Ints
    number_of_pair: NDArray[np.uint16]

    @property
    def reads(self) -> frozenset[str]:
        return _columns(*self.specs)

    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        n_folds = int(np.sqrt(self.number_of_pair.size) + 0.5)
        one, other = (_codes(part, "groups", spec, self.ids) for spec in self.specs)
        pairs, _ = kernels.pair_folds(one, other, self.fold_of_id, n_folds)
        return _without_absent(self.number_of_pair[pairs], part)


@dataclass(frozen=True, eq=False)
class PinnedFolds(Folds):
    """Folds that were assigned to data before these were reweighted.

    Attributes
    ----------
    dealt : Folds
    depth : int
        Number of changes of rows or weights before the folds were assigned.
    numbers : ndarray of uint16, or None
        Fold of each row, for data in memory.
    """

    dealt: Folds
    depth: int
    numbers: NDArray[np.uint16] | None

    @property
    def reads(self) -> frozenset[str]:
        return self.dealt.reads

    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        if self.numbers is not None:
            return self.numbers
        return self.dealt.fold_of_rows(part.at_depth(self.depth))


def deal_samples(data: Data, n_folds: int, seed: int) -> Folds:
    """Assign the permuted samples of each class to folds in turn."""
    sizes = np.asarray(data.class_sizes, np.int64)
    present = np.flatnonzero(sizes)
    fewest = int(present[sizes[present].argmin()])
    if sizes[fewest] < n_folds:
        of_samples = f"such as CrossFit(folds=np.arange(n_samples) % {n_folds})"
        remedy = f"pass CrossFit({sizes[fewest]}), or give the fold of each sample, {of_samples}"
        if sizes[fewest] == 1:  # without which no fold can train, except for a scale alone
            remedy = "add samples of this class, or train on others with HeldOut(predictions)"
            if data.n_classes > 2:
                remedy += f", or fit TemperatureScaling() to the folds of samples, {of_samples}"
        raise ArgumentError(
            "folds",
            f"must not outnumber the samples of any class: class {fewest} has {sizes[fewest]}, "
            f"folds is {n_folds}",
            remedy=remedy,
        )
    # each class starts at the fold after the end of the previous class, so that sizes are balanced
    first_folds = (np.cumsum(sizes) - sizes) % n_folds
    dealing = kernels.shuffle_ranks(sizes, np.random.default_rng(seed))
    return DealtSamples(_all_others(n_folds), sizes, first_folds, *dealing)


def given_folds(data: Data, spec: Any) -> Plan[Folds]:
    """Plan: return the folds given by the caller as one id per sample."""
    (groups,) = yield [CollectIds("folds", (spec,), data.n_classes, with_absent=True).over(data)]
    n_folds = groups.ids.size
    if n_folds < 2:
        raise ArgumentError("folds", f"must name at least two folds, not {n_folds}")
    if n_folds > _MOST_CALIBRATORS:  # before a matrix of their pairs is made
        raise ArgumentError(
            "folds",
            f"must not ask for more than {_MOST_CALIBRATORS:,} calibrators, not {n_folds:,}",
        )
    training_mask = _all_others(n_folds)
    return GroupFolds(training_mask, "folds", spec, groups.ids, np.arange(n_folds), True)


def deal_groups(data: Data, spec: Any, n_folds: int, seed: int) -> Plan[Folds]:
    """Plan: assign whole groups to folds, with classes as balanced as the group sizes allow."""
    (groups,) = yield [CollectIds("groups", (spec,), data.n_classes).over(data)]
    folds = _deal_to_emptiest(groups.counts, n_folds, seed, "groups")
    return GroupFolds(_all_others(n_folds), "groups", spec, groups.ids, folds, False)


def deal_pairs(data: Data, specs: tuple[Any, Any], n_folds: int, seed: int) -> Plan[Folds]:
    """Plan: assign speakers to folds; a trial is not calibrated with trials of its two folds."""
    if n_folds > _MOST_FOLDS_OF_PAIRS:
        raise ArgumentError(
            "folds",
            f"must be at most {_MOST_FOLDS_OF_PAIRS} with a pair of groups, not {n_folds}: "
            "every two folds need a calibrator of their own",
        )
    (speakers,) = yield [CollectIds("groups", specs, data.n_classes).over(data)]
    folds = _deal_to_emptiest(speakers.counts, n_folds, seed, "speakers")
    (counts,) = yield [_CountPairs(specs, speakers.ids, folds, n_folds).over(data)]
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
    return PairFolds(~shares_a_fold, specs, speakers.ids, folds, number)


def spec_key(spec: Any) -> Hashable:
    """Return a key of the name of a column, or of ids, which are copied: they may be edited."""
    return spec if isinstance(spec, str) else _CopyOfIds(spec)


class _CopyOfIds:
    """A key of ids: equal to that of other ids with the same entries."""

    def __init__(self, ids: Any) -> None:
        try:
            self._ids = np.array(ids)
        except ValueError:  # rows of different lengths, which are refused later
            self._ids = np.array([repr(ids)])

    def __hash__(self) -> int:
        return hash((self._ids.shape, self._ids.dtype.str))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _CopyOfIds) or self._ids.dtype != other._ids.dtype:
            return False
        return np.array_equal(self._ids, other._ids)


@dataclass(frozen=True, eq=False)
class IdCounts:
    """Distinct ids, ascending, and their numbers of rows by class, (G, K)."""

    ids: NDArray[Any]
    counts: Ints


@dataclass(frozen=True, eq=False)
class CollectIds(Step):
    """Collect the distinct ids of one or two columns, and count the rows of each class."""

    argument: str
    specs: tuple[Any, ...]
    n_classes: int
    with_absent: bool = False
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        """Labels, weights and the columns."""
        return LABELS | _columns(*self.specs)

    @property
    def takes_all(self) -> bool:
        """Whether rows of weight 0 are used: in given folds they are calibrated."""
        return self.with_absent

    @property
    def key(self) -> Hashable:
        return ("ids", self.argument, *map(spec_key, self.specs))

    def start(self) -> IdCounts:
        return IdCounts(np.empty(0, np.int64), np.zeros((0, self.n_classes), np.int64))

    def add(self, accumulator: IdCounts, prepared: None, part: Part) -> IdCounts:
        if not len(part.predictions):
            return accumulator
        sides = [part.ids(self.argument, spec) for spec in self.specs]
        if len({side.dtype.kind for side in sides}) > 1:
            raise ArgumentError(
                self.argument,
                f"must have ids of one type on both sides, "
                f"not {sides[0].dtype} and {sides[1].dtype}",
            )
        present = _present(part)
        y = part.predictions.labels
        if present is not None and not self.with_absent:
            y, sides = y[present], [side[present] for side in sides]
        for side in sides:
            ids, (codes,) = numbered(side)
            counts = kernels.count_pairs(codes, y, ids.size, self.n_classes)
            accumulator = self.merge(accumulator, IdCounts(ids, counts))
        return accumulator

    def merge(self, one: IdCounts, other: IdCounts) -> IdCounts:
        if not one.ids.size or not other.ids.size:
            return one if one.ids.size else other
        if one.ids.dtype.kind != other.ids.dtype.kind:
            raise ArgumentError(
                self.argument,
                f"must have ids of one type in all parts, not {one.ids.dtype} and "
                f"{other.ids.dtype}",
            )
        ids = np.union1d(one.ids, other.ids)
        counts = np.zeros((ids.size, self.n_classes), np.int64)
        for side in (one, other):
            counts[np.searchsorted(ids, side.ids)] += side.counts
        return IdCounts(ids, counts)


@dataclass(frozen=True, eq=False)
class _CountPairs(Step):
    """Count the rows of each pair of folds, (F x F,)."""

    specs: tuple[Any, Any]
    ids: NDArray[Any]
    fold_of_id: Ints
    n_folds: int
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        """Weights and both columns."""
        return LABELS | _columns(*self.specs)

    @property
    def key(self) -> Hashable:
        return ("pairs", *map(spec_key, self.specs), self.fold_of_id.tobytes(), self.n_folds)

    def start(self) -> Ints:
        return np.zeros(self.n_folds**2, np.int64)

    def add(self, accumulator: Ints, prepared: None, part: Part) -> Ints:
        one, other = (_codes(part, "groups", spec, self.ids) for spec in self.specs)
        present = _present(part)
        if present is not None:
            one, other = one[present], other[present]
        _, counts = kernels.pair_folds(one, other, self.fold_of_id, self.n_folds)
        accumulator += counts
        return accumulator


def _columns(*specs: Any) -> frozenset[str]:
    return frozenset(spec for spec in specs if isinstance(spec, str))


def _all_others(n_folds: int) -> NDArray[np.bool_]:
    return np.asarray(~np.eye(n_folds, dtype=bool))


def _present(part: Part) -> NDArray[np.bool_] | None:
    """Return which rows have positive weight; None if all have."""
    weights = part.predictions.weights
    return None if not weights.size or weights.all() else weights > 0.0


def _without_absent(folds: NDArray[np.uint16], part: Part) -> NDArray[np.uint16]:
    present = _present(part)
    if present is not None:
        folds[~present] = 0
    return folds


def _codes(part: Part, argument: str, spec: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """Return the index of each row's id among the known ids.

    The index is arbitrary for rows of weight 0 with an unknown id.
    """
    ids, (codes,) = (
        numbered(part.ids(argument, spec))
        if part.is_in_memory
        else part.remember(
            ("distinct ids", argument, spec_key(spec)), lambda: numbered(part.ids(argument, spec))
        )
    )
    places = np.minimum(np.searchsorted(known, ids), max(known.size - 1, 0))
    return np.asarray(places[codes], np.int64)


def _deal_to_emptiest(counts: Ints, n_folds: int, seed: int, what: str) -> Ints:
    """Assign groups to the emptiest fold, those of rare classes first, then by decreasing size."""
    n_groups = counts.shape[0]
    if n_groups < n_folds:
        raise ArgumentError(
            "folds", f"must not outnumber the {what}: {n_groups} {what}, {n_folds} folds"
        )
    order = np.random.default_rng(seed).permutation(n_groups)  # breaks ties of size
    folds = np.full(n_groups, -1, np.int64)
    everything = counts.sum(axis=1)
    totals = [0] * n_folds
    sizes = counts.sum(axis=0)
    for k in np.argsort(sizes, kind="stable"):
        load = [int(counts[folds == fold, k].sum()) for fold in range(n_folds)]
        open_groups = order[(folds[order] < 0) & (counts[order, k] > 0)]
        for group in open_groups[np.argsort(-counts[open_groups, k], kind="stable")]:
            fold = min(range(n_folds), key=lambda f: (load[f], totals[f]))
            folds[group] = fold
            load[fold] += int(counts[group, k])
            totals[fold] += int(everything[group])
    return folds


def training_runs(training_mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (first, last + 1) of the runs of consecutive training folds."""
    edges = np.flatnonzero(
        np.diff(np.concatenate([[False], training_mask, [False]]).astype(np.int8))
    )
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
