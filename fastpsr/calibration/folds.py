"""Assignment of samples, groups and pairs of speakers to folds."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.counts import count
from fastpsr.counts.sums import ScoreTotals
from fastpsr.data import LABELS, Data, Floats, Part
from fastpsr.data.steps import Step
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MOST_CALIBRATORS = 10_000
_MOST_FOLDS_OF_PAIRS = 140  # so that the number of pairs of folds is below that limit

_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class Assignment(ABC):
    """The rule that assigns rows to folds: plain data.

    Attributes
    ----------
    key : hashable
        Identity of the rule among those for the same data.
    """

    key: Hashable = field(default_factory=lambda: ("folds", next(_numbers)), kw_only=True)

    @property
    def cache_key(self) -> Hashable:
        """Key of the folds of a part's rows in its cache."""
        return ("fold of rows", self.key)

    #: Names of the columns of ids that determine the fold of a row: an attribute, or a property.
    reads: ClassVar[Any] = frozenset()

    @abstractmethod
    def folds(self, part: Part) -> NDArray[np.uint16]:
        """Return the fold of each row of a part, (n,)."""


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of each row, and the folds that train each calibrator and that it serves.

    Plain data. Calibrator c serves fold f if the pair (c, f) is in `served`.

    Attributes
    ----------
    assignment : Assignment
    training_mask : ndarray of bool, shape (C, F)
        ``training_mask[c, f]``: whether the samples of fold f train calibrator c.
    served : ndarray of int64, shape (E, 2)
        Pairs of a calibrator and a fold whose samples it transforms.
    may_train : ndarray of bool, shape (F, F)
        ``may_train[d, f]``: whether fold f may train a calibrator that serves fold d.
    calibrator_of_fold : ndarray of int64, shape (F,)
        The calibrator that transforms the rows of each fold.
    table : hashable
        Identity of the calibrators among those for the same assignment.
    """

    assignment: Assignment
    training_mask: Mask
    served: Ints
    may_train: Mask
    calibrator_of_fold: Ints
    table: Hashable = "cross-fitted"

    def __post_init__(self) -> None:
        _check_number(self.n_calibrators)

    @classmethod
    def cross_fitted(cls, assignment: Assignment, training_mask: Mask) -> "Folds":
        """Return a calibrator for each fold."""
        numbers = np.arange(len(training_mask))
        served = np.column_stack([numbers, numbers])
        return cls(assignment, training_mask, served, training_mask, numbers)

    def with_one_calibrator(self, training_mask: Mask, table: Hashable) -> "Folds":
        """Return one calibrator that some folds (F,) train, and that serves all."""
        zeros = np.zeros(self.n_folds, np.int64)
        served = np.column_stack([zeros, np.arange(self.n_folds)])
        return replace(
            self, training_mask=training_mask[None], served=served, calibrator_of_fold=zeros,
            table=table,
        )  # fmt: skip

    def inner(self) -> "Folds":
        """Return one calibrator that all folds train, and that chooses an option by these folds."""
        return self.with_one_calibrator(np.ones(self.n_folds, bool), "inner")

    def nested(self) -> "Folds":
        """Return also a calibrator for each pair of folds that may train each other's.

        It is trained on neither: on one of them it is evaluated, when something is chosen for the
        other. Their pairs in `served` follow those of the calibrators of folds, in the order of
        ``np.argwhere(may_train)``.

        Raises
        ------
        ArgumentError
            Where no samples would be left for training.
        """
        rule = "must leave training samples where two folds are left out at once: use more folds"
        if not self.training_mask.any(axis=1).all():
            raise ArgumentError("folds", rule)
        number_of = {mask.tobytes(): number for number, mask in enumerate(self.training_mask)}
        masks, served = list(self.training_mask), self.served.tolist()
        for outer, inner in np.argwhere(self.training_mask):
            mask = self.training_mask[outer] & self.training_mask[inner]
            if not mask.any():
                raise ArgumentError("folds", rule)
            number = number_of.setdefault(mask.tobytes(), len(masks))
            if number == len(masks):
                masks.append(mask)
            served.append((number, int(inner)))
        return replace(self, training_mask=np.stack(masks), served=np.array(served), table="nested")

    def repeated(self, n: int) -> "Folds":
        """Return the calibrators of n data sets, one data set after another."""
        if n == 1:
            return self
        first = np.arange(n)[:, None, None] * np.array(self.training_mask.shape)
        eye = np.eye(n, dtype=bool)
        return replace(
            self, training_mask=np.kron(eye, self.training_mask),
            served=(self.served + first).reshape(-1, 2), may_train=np.kron(eye, self.may_train),
        )  # fmt: skip

    @property
    def n_calibrators(self) -> int:
        """The number C of calibrators."""
        return int(self.training_mask.shape[0])

    @property
    def n_folds(self) -> int:
        """The number F of folds."""
        return int(self.training_mask.shape[1])

    @property
    def key(self) -> Hashable:
        """Identity of these folds among folds of the same data."""
        return (self.table, self.assignment.key)

    @property
    def reads(self) -> frozenset[str]:
        """Names of the columns of ids that determine the calibrator of a row."""
        return frozenset(self.assignment.reads)

    def fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        """Return the fold of each row of a part, (n,); a replicate has the folds of its data."""
        original = part.drawn_from
        folds: NDArray[np.uint16] = original.remember(
            self.assignment.cache_key, lambda: self.assignment.folds(original)
        )
        return folds

    def calibrator_of_rows(self, part: Part) -> NDArray[np.uint16]:
        """Return the index of the calibrator that transforms each row of a part, (n,)."""
        return self.calibrator_of_fold.astype(np.uint16)[self.fold_of_rows(part)]


@dataclass(frozen=True, eq=False)
class FoldLosses(ScoreTotals):
    """Summed losses by class, in all, and of each pair of a calibrator and a fold that it serves.

    Attributes
    ----------
    of_served : ndarray of float64, shape (E, K)
        Losses, in the order of `Folds.served`.
    of_folds : ndarray of float64, shape (F, K)
        Weights of the classes in each fold.
    """

    of_served: Floats
    of_folds: Floats

    @classmethod
    def of(cls, of_served: Floats, of_folds: Floats, given_priors: Floats | None) -> Self:
        """Return the losses with their totals, which are valid if no fold is served twice."""
        with np.errstate(over="ignore"):  # weights near the largest float
            total = of_served.sum(axis=0)
        return cls(total, of_folds.sum(axis=0), given_priors, of_served, of_folds)


def one_fold() -> Folds:
    """Return one calibrator, trained on all samples."""
    folds = Folds.cross_fitted(_AllRows(key="one fold"), np.ones((1, 1), bool))
    return replace(folds, may_train=np.zeros((1, 1), bool))


# Rules


@dataclass(frozen=True, eq=False)
class _AllRows(Assignment):
    """All rows are in one fold."""

    def folds(self, part: Part) -> NDArray[np.uint16]:
        return np.zeros(len(part.predictions), np.uint16)


@dataclass(frozen=True, eq=False)
class RowFolds(Assignment):
    """The folds of rows in memory.

    Attributes
    ----------
    numbers : ndarray of uint16, shape (N,)
    """

    numbers: NDArray[np.uint16]

    def folds(self, part: Part) -> NDArray[np.uint16]:
        return self.numbers


@dataclass(frozen=True, eq=False)
class _DealtRanks(Assignment):
    """Folds by the rank of a row among the rows of its class with positive weight.

    Attributes
    ----------
    n_folds : int
    sizes : ndarray of int64, shape (K,)
        Number of rows of positive weight of each class.
    first_folds, places, tables, keys : ndarray
        Arguments of the kernel.
    """

    n_folds: int
    sizes: Ints
    first_folds: Ints
    tables: Ints
    places: Ints
    keys: NDArray[np.uint64]

    def folds(self, part: Part) -> NDArray[np.uint16]:
        predictions = part.predictions
        return kernels.dealing.deal_ranks(
            predictions.labels, predictions.weights, part.ranks, self.sizes, self.first_folds,
            self.tables, self.places, self.keys, self.n_folds,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _FoldsOfIds(Assignment):
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

    def folds(self, part: Part) -> NDArray[np.uint16]:
        codes = _codes(part, self.argument, self.spec, self.ids)
        folds = self.fold_of_id.astype(np.uint16)[codes]
        return folds if self.serves_absent else _without_absent(folds, part)


@dataclass(frozen=True, eq=False)
class _FoldsOfPairs(Assignment):
    """Folds by the pair of folds of the speakers on both sides of a row.

    Attributes
    ----------
    specs : pair of str or array
        Names of columns, or, for data in memory, the ids themselves.
    ids : ndarray, shape (G,)
        Distinct ids of speakers, ascending.
    fold_of_id : ndarray of int64, shape (G,)
    number_of_pair : ndarray of uint16, shape (F x F,)
        Number of each pair of folds f <= g, at f x F + g.
    """

    specs: tuple[Any, Any]
    ids: NDArray[Any]
    fold_of_id: Ints
    number_of_pair: NDArray[np.uint16]

    @property
    def reads(self) -> frozenset[str]:
        return _columns(*self.specs)

    def folds(self, part: Part) -> NDArray[np.uint16]:
        n_folds = int(np.sqrt(self.number_of_pair.size) + 0.5)
        pairs = _pairs(part, self.specs, self.ids, self.fold_of_id, n_folds)
        return _without_absent(self.number_of_pair[pairs], part)


def deal_samples(data: Data, n_folds: int, seed: int) -> Folds:
    """Assign the permuted samples of each class to folds in turn."""
    sizes = np.asarray(data.class_sizes, np.int64)
    present = np.flatnonzero(sizes)
    fewest = int(present[sizes[present].argmin()])
    if sizes[fewest] < n_folds:
        of_samples = f"such as CrossFit(folds=np.arange(n_samples) % {n_folds})"
        remedy = f"pass CrossFit({sizes[fewest]}), or give the fold of each sample, {of_samples}"
        if sizes[fewest] == 1:  # then only a scale can be trained without its fold
            remedy = "add samples of this class, or train on others with HeldOut(predictions)"
            if data.n_classes > 2:
                remedy += f", or fit TemperatureScaling() to the folds of samples, {of_samples}"
        raise ArgumentError(
            "folds",
            f"must not outnumber the samples of any class: {data.class_name(fewest)} has "
            f"{sizes[fewest]}, folds is {n_folds}",
            remedy=remedy,
        )
    # each class starts at the fold after the end of the previous class, so that sizes are balanced
    first_folds = (np.cumsum(sizes) - sizes) % n_folds
    dealing = kernels.dealing.shuffle_ranks(sizes, np.random.default_rng(seed))
    rule = _DealtRanks(n_folds, sizes, first_folds, *dealing)
    return Folds.cross_fitted(rule, _all_others(n_folds))


def given_folds(data: Data, spec: Any) -> Folds:
    """Return the folds given by the caller as one id per sample."""
    groups = count(CollectIds("folds", (spec,), data.n_classes, takes_all=True).over(data))
    n_folds = groups.ids.size
    if n_folds < 2:
        raise ArgumentError("folds", f"must name at least two folds, not {n_folds}")
    _check_number(n_folds)  # before a matrix of their pairs is made
    rule = _FoldsOfIds("folds", spec, groups.ids, np.arange(n_folds), True)
    return Folds.cross_fitted(rule, _all_others(n_folds))


def deal_groups(data: Data, spec: Any, n_folds: int, seed: int) -> Folds:
    """Assign whole groups to folds, with classes as balanced as the group sizes allow."""
    groups = count(CollectIds("groups", (spec,), data.n_classes).over(data))
    folds = _deal_to_emptiest(groups.counts, n_folds, seed, "groups")
    rule = _FoldsOfIds("groups", spec, groups.ids, folds, False)
    return Folds.cross_fitted(rule, _all_others(n_folds))


def deal_pairs(data: Data, specs: tuple[Any, Any], n_folds: int, seed: int) -> Folds:
    """Assign speakers to folds; a trial is not calibrated with trials of its two folds."""
    if n_folds > _MOST_FOLDS_OF_PAIRS:
        raise ArgumentError(
            "folds",
            f"must be at most {_MOST_FOLDS_OF_PAIRS} with a pair of groups, not {n_folds}: "
            "every two folds need a calibrator of their own",
        )
    speakers = count(CollectIds("groups", specs, data.n_classes).over(data))
    folds = _deal_to_emptiest(speakers.counts, n_folds, seed, "speakers")
    counts = count(_CountPairs(specs, speakers.ids, folds, n_folds).over(data))
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
    return Folds.cross_fitted(_FoldsOfPairs(specs, speakers.ids, folds, number), ~shares_a_fold)


def spec_key(spec: Any) -> Hashable:
    """Return a key of the name of a column, or of the current entries of ids."""
    if isinstance(spec, str):
        return spec
    try:
        ids = np.asarray(spec)
    except ValueError:  # rows of different lengths: rejected later
        return repr(spec)
    entries = repr(ids.tolist()) if ids.dtype == object else ids.tobytes()
    return (ids.dtype.str, ids.shape, entries)


@dataclass(frozen=True, eq=False)
class IdCounts:
    """Distinct ids, ascending, and their numbers of rows by class, (G, K)."""

    ids: NDArray[Any]
    counts: Ints


@dataclass(frozen=True, eq=False)
class CollectIds(Step[IdCounts]):
    """Collect the distinct ids of one or two columns, and count the rows of each class.

    With `takes_all` also those of rows of weight 0: in given folds they are calibrated.
    """

    argument: str
    specs: tuple[Any, ...]
    n_classes: int
    takes_all: bool = False
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        """Labels, weights and the columns."""
        return LABELS | _columns(*self.specs)

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
        if present is not None and not self.takes_all:
            y, sides = y[present], [side[present] for side in sides]
        for side in sides:
            ids, (codes,) = numbered(side)
            cells = np.bincount(codes * self.n_classes + y, minlength=ids.size * self.n_classes)
            counts = cells.reshape(ids.size, self.n_classes)
            accumulator = self.merge(accumulator, IdCounts(ids, counts))
        return accumulator

    def merge(self, total: IdCounts, more: IdCounts) -> IdCounts:
        if not total.ids.size or not more.ids.size:
            return total if total.ids.size else more
        if total.ids.dtype.kind != more.ids.dtype.kind:
            raise ArgumentError(
                self.argument,
                f"must have ids of total type in all parts, not {total.ids.dtype} and "
                f"{more.ids.dtype}",
            )
        ids = np.union1d(total.ids, more.ids)
        counts = np.zeros((ids.size, self.n_classes), np.int64)
        for side in (total, more):
            counts[np.searchsorted(ids, side.ids)] += side.counts
        return IdCounts(ids, counts)


@dataclass(frozen=True, eq=False)
class _CountPairs(Step[Ints]):
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
        pairs = _pairs(part, self.specs, self.ids, self.fold_of_id, self.n_folds)
        present = _present(part)
        pairs = pairs if present is None else pairs[present]
        accumulator += np.bincount(pairs, minlength=accumulator.size)
        return accumulator


def _check_number(n_calibrators: int) -> None:
    if n_calibrators > _MOST_CALIBRATORS:
        raise ArgumentError(
            "folds",
            f"must not ask for more than {_MOST_CALIBRATORS:,} calibrators, not {n_calibrators:,}",
        )


def _columns(*specs: Any) -> frozenset[str]:
    return frozenset(spec for spec in specs if isinstance(spec, str))


def _all_others(n_folds: int) -> NDArray[np.bool_]:
    return np.asarray(~np.eye(n_folds, dtype=bool))


def _present(part: Part) -> NDArray[np.bool_] | None:
    """Return a mask of rows of positive weight; None if all have positive weight."""
    weights = part.predictions.weights
    return None if not weights.size or weights.all() else weights > 0.0


def _without_absent(folds: NDArray[np.uint16], part: Part) -> NDArray[np.uint16]:
    present = _present(part)
    if present is not None:
        folds[~present] = 0
    return folds


def _codes(part: Part, argument: str, spec: Any, known_ids: NDArray[Any]) -> NDArray[np.int64]:
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
    places = np.minimum(np.searchsorted(known_ids, ids), max(known_ids.size - 1, 0))
    return np.asarray(places[codes], np.int64)


def _pairs(
    part: Part, specs: tuple[Any, Any], ids: NDArray[Any], fold_of_id: Ints, n_folds: int
) -> Ints:
    """Return the pair of folds f <= g of the sides of each row, as f x F + g."""
    enroll_folds, test_folds = (fold_of_id[_codes(part, "groups", spec, ids)] for spec in specs)
    return np.minimum(enroll_folds, test_folds) * n_folds + np.maximum(enroll_folds, test_folds)


def _deal_to_emptiest(counts: Ints, n_folds: int, seed: int, what: str) -> Ints:
    """Assign groups to the emptiest fold: rare classes first, then by decreasing size."""
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
