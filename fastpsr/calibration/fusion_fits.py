"""Fits of linear fusions, for all folds at once, to rows in memory or read for each step."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import ByIdentity
from fastpsr.calibration.base import require_weights
from fastpsr.calibration.folds import Folds, OneFold
from fastpsr.calibration.fusion_rows import Basis, Problem, Rows, rows_of
from fastpsr.calibration.objective import NEAR, Asked, in_lockstep, newton
from fastpsr.calibration.separability import no_optimum
from fastpsr.calibration.stacks import Stack
from fastpsr.plans import Part, Plan, Step, run
from fastpsr.plans.budget import steady_budget
from fastpsr.predictions import Floats

__all__ = ["FusionFits", "Fusions", "fit_fusions"]

_THIN = 1 << 16  # samples that find a starting point, classes alike, and
_THIN_NUMBERS = 1 << 23  # numbers that these have at most
_NEAR_IN_REPLICATES = 1e-3  # gradient before the last step of a search in a replicate


@dataclass(frozen=True, eq=False)
class Fusions:
    """C fitted fusions.

    Attributes
    ----------
    weights : ndarray of float64, shape (C, S)
    bias : ndarray of float64, shape (C, K)
    rank : int
    """

    weights: Floats
    bias: Floats
    rank: int

    def fuse(self, columns: Any, fusion_of_row: NDArray[Any] | None) -> Floats:
        """Return the scores of all rows, each by a fusion; by default by the first.

        Columns are S arrays of shape (n,) or (n, K), or one array (S, n).
        """
        n = len(columns[0])
        by_row: Any = np.zeros(n, np.uint8) if fusion_of_row is None else fusion_of_row
        if columns[0].ndim == 1:
            between = np.ascontiguousarray(self.bias[:, 1] - self.bias[:, 0])
            features = np.asarray(columns, np.float64)
            fused: Floats = kernels.combine_by_part(features, by_row, self.weights, between)
            return fused
        fused = self.bias[by_row]
        for s, column in enumerate(columns):
            fused += self.weights[by_row, s, None] * column
        return fused


@dataclass(frozen=True, eq=False)
class FusionFits:
    """Fits to the training sets of folds.

    Attributes
    ----------
    samples : _Samples
    basis : Basis
    prior : float
        Of class 1, at which classes are weighed.
    ends : list of ndarray
        Optimum of each training set, in the directions of the basis.
    """

    samples: "_Samples"
    basis: Basis
    prior: float
    ends: list[Floats]

    @property
    def fusions(self) -> Fusions:
        """Weights of systems, and biases."""
        weights, bias = [], []
        for end in self.ends:
            of_systems = (self.basis.to * end[: self.basis.rank]).sum(axis=1)
            if self.samples.stack.n_classes == 2:
                between = float(end[-1] - (of_systems * self.basis.middle).sum())
                bias.append(between * np.array([-0.5, 0.5]))
            else:
                of_class = end[self.basis.rank :]
                bias.append(of_class - of_class.mean())
            weights.append(of_systems)
        return Fusions(np.stack(weights), np.stack(bias), self.basis.rank)

    def at_weights(self, weights: Floats) -> Fusions:
        """Return the fusions where samples, which are held, have other weights (N,).

        Searches end where what is left is below a hundredth of what replicates differ by.
        """
        assert self.samples.held is not None
        folds = self.samples.folds
        samples = _Samples(self.samples.stack, folds, self.samples.held.reweighted(weights))

        def plan() -> Plan[list[Floats]]:
            begin, near = np.mean(self.ends, axis=0), _NEAR_IN_REPLICATES
            if folds.n_calibrators > 1:  # all begin where the sums of folds serve all of them
                every = np.ones((1, folds.n_folds), bool)
                (begin,) = yield from _search(samples, every, self.basis, self.prior, begin, near)
            masks = folds.training_mask
            return (yield from _search(samples, masks, self.basis, self.prior, begin, near))

        return replace(self, ends=run(plan)).fusions


def fit_fusions(stack: Stack, folds: Folds, prior: float) -> Plan[FusionFits]:
    """Plan: return a fusion for each of the training sets of folds, at this prior of class 1.

    Raises
    ------
    ArgumentError
        Without samples of every class to train on, or where there is no optimum.
    """
    require_weights(stack.first.class_weights, stack.first.kind)
    samples = yield from _Samples.of(stack, folds)
    largest = yield from samples.ask(_Largest())
    middle, _ = yield from samples.ask(_Moments(None))
    _, covariance = yield from samples.ask(_Moments(Basis.around(middle)))
    middle = middle if middle.ndim == 1 else np.zeros(len(middle))  # which biases are free to move
    basis = Basis.of(middle, covariance, largest)
    samples.move(basis)
    begin = yield from _rough_point(samples, basis, prior)
    ends = yield from _search(samples, folds.training_mask, basis, prior, begin)
    return FusionFits(samples, basis, prior, ends)


def _search(
    samples: "_Samples",
    training_mask: NDArray[np.bool_],
    basis: Basis,
    prior: float,
    begin: Floats,
    near: float = NEAR,
) -> Plan[list[Floats]]:
    """Plan: return the optimum of each training set, in the directions of the basis."""
    totals = yield from samples.ask(_Totals())
    problems = [Problem.of(mask, totals, prior) for mask in training_mask]
    gauge = None if samples.stack.n_classes == 2 else np.arange(begin.size) >= basis.rank

    def ask(places: list[int], asked: list[Asked]) -> Plan[list[tuple[Any, Any]]]:
        some = [problems[place] for place in places]
        sums: list[tuple[Any, Any]] = yield from samples.ask(_Sums(some, asked))
        return sums

    searches = [newton(begin, 1.0, gauge=gauge, near=near) for _ in problems]
    ends = yield from in_lockstep(searches, ask)
    found: list[Floats] = []
    for problem, end in zip(problems, ends, strict=True):
        if end is None or not np.isfinite(end).all():
            error = no_optimum("all but separate the classes: the search did not converge", 3)
            raise error.renamed("systems")
        margins = yield from samples.ask(_Margins(end, problem.training_mask))
        if Rows.separate(margins):
            error = no_optimum("together separate the classes, and no fusion is best", 3)
            raise error.renamed("systems")
        found.append(end)
    return found


def _rough_point(samples: "_Samples", basis: Basis, prior: float) -> Plan[Floats]:
    """Plan: return the optimum for some of the rows, from which searches begin."""
    n_classes = samples.stack.n_classes
    point = np.zeros(basis.rank + (1 if n_classes == 2 else n_classes))
    sizes = np.asarray(samples.stack.first.class_sizes)
    if samples.held is not None and sizes.sum() < 2 * _THIN:
        return point
    most = min(_THIN, _THIN_NUMBERS / samples.numbers_per_row) / n_classes
    rows = yield from samples.ask(_Thin(tuple(max(1, int(n / most)) for n in sizes)))
    some = _Samples(samples.stack, OneFold(), rows.in_one_fold())
    try:
        (found,) = yield from _search(some, np.ones((1, 1), bool), basis, prior, point)
    except ValueError:  # no optimum for these
        return point
    return found


class _Samples:
    """The rows that fusions are fitted to: held, or read for each question."""

    def __init__(self, stack: Stack, folds: Folds, held: Rows | None) -> None:
        self.stack, self.folds, self.held = stack, folds, held
        self._basis: Basis | None = None

    @classmethod
    def of(cls, stack: Stack, folds: Folds) -> Plan["_Samples"]:
        """Plan: return the rows, which are held where the memory budget allows it."""
        if not stack.is_in_parts:
            parts = [Part.whole(each) for each in stack.data]
            return cls(stack, folds, rows_of(stack, parts, folds))
        read = cls(stack, folds, None)
        n_numbers = len(stack.first) * read.numbers_per_row
        if 16 * n_numbers <= steady_budget():  # joining takes twice the bytes
            read.held = yield from read.ask(_Hold())
        return read

    @property
    def numbers_per_row(self) -> int:
        """How many numbers are held of a row: its scores, and what else it has."""
        n_classes = self.stack.n_classes
        return len(self.stack.names) * (1 if n_classes == 2 else n_classes) + 3

    def move(self, basis: Basis) -> None:
        """Let scores be those in the directions of a basis from now on."""
        self._basis = basis
        if self.held is not None:
            self.held = self.held.moved(basis)

    def ask(self, question: "_Question") -> Plan[Any]:
        """Plan: return the answer of all rows."""
        if self.held is not None:
            with np.errstate(all="ignore"):
                return question.finish([question.of(self.held)])
        step = _AskParts(self.stack, self.folds, self._basis, question)
        (answer,) = yield [step.over(*self.stack.data)]
        return answer


class _Question(ABC):
    """What is asked of rows: plain data."""

    #: Whether answers are kept until there are those of all parts.
    is_listed = False

    @abstractmethod
    def of(self, rows: Rows) -> Any:
        """Return the answer of the rows of a part."""

    def merge(self, one: Any, other: Any) -> Any:
        """Return the answer of the rows of both."""
        raise NotImplementedError

    def finish(self, answers: list[Any]) -> Any:
        """Return the answer of all rows: of one answer, or those of all parts in turn."""
        return answers[0]


@dataclass(frozen=True, eq=False)
class _AskParts(Step):
    """Ask the rows of each part."""

    stack: Stack
    folds: Folds
    basis: Basis | None
    question: _Question

    @property
    def reads(self) -> frozenset[str]:
        """Rows, columns of measures, and those that determine the folds."""
        return self.stack.reads | self.folds.reads

    @property
    def is_exact(self) -> bool:
        return self.question.is_listed

    @property
    def key(self) -> Hashable:
        return ("fusion", ByIdentity(self.question))

    def add(self, accumulator: Any, prepared: None, *parts: Part) -> Any:
        rows = rows_of(self.stack, parts, self.folds)
        rows = rows if self.basis is None else rows.moved(self.basis)
        with np.errstate(all="ignore"):
            answer = self.question.of(rows)
        if self.question.is_listed:
            answer = {parts[0].number: answer}
        return answer if accumulator is None else self.merge(accumulator, answer)

    def merge(self, one: Any, other: Any) -> Any:
        return {**one, **other} if self.question.is_listed else self.question.merge(one, other)

    def finish(self, accumulator: Any) -> Any:
        if not self.question.is_listed:
            return self.question.finish([accumulator])
        return self.question.finish([accumulator[number] for number in sorted(accumulator)])


class _Hold(_Question):
    """The rows themselves."""

    is_listed = True

    def of(self, rows: Rows) -> Rows:
        return rows

    def finish(self, answers: list[Rows]) -> Rows:
        return answers[0].joined(answers)


@dataclass(frozen=True, eq=False)
class _Thin(_Hold):
    """Every n-th row of each class."""

    strides: tuple[int, ...]

    def of(self, rows: Rows) -> Rows:
        return rows.thinned(self.strides)


class _Totals(_Question):
    """Weights of folds by class, (F, K)."""

    def of(self, rows: Rows) -> Floats:
        return rows.totals

    def merge(self, one: Floats, other: Floats) -> Floats:
        return one + other


class _Largest(_Question):
    """The largest score of each system, by magnitude, (S,)."""

    def of(self, rows: Rows) -> Floats:
        return rows.largest

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.maximum(one, other)


@dataclass(frozen=True, eq=False)
class _Moments(_Question):
    """Sums of scores, and of their products, in the directions of a basis if there is one."""

    basis: Basis | None

    def of(self, rows: Rows) -> tuple[Floats, Floats]:
        return (rows if self.basis is None else rows.moved(self.basis)).moments()

    def merge(self, one: Any, other: Any) -> Any:
        return one[0] + other[0], one[1] + other[1]


@dataclass(frozen=True, eq=False)
class _Sums(_Question):
    """Gradient and Hessian of problems, each at its own point."""

    problems: list[Problem]
    asked: list[Asked]

    def of(self, rows: Rows) -> list[tuple[Any, Any]]:
        return rows.sums(self.problems, self.asked)

    def merge(self, one: Any, other: Any) -> Any:
        return [
            (a + c, None if b is None else b + d) for (a, b), (c, d) in zip(one, other, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _Margins(_Question):
    """Whether a fusion separates the classes."""

    end: Floats
    training_mask: NDArray[np.bool_]

    def of(self, rows: Rows) -> Floats:
        return rows.margins(self.end, self.training_mask)

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.minimum(one, other)
