"""Fits of linear fusions, for all folds at once, to rows in memory or read for each step."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.caching import ByIdentity
from fastpsr.calibration.base import require_weights
from fastpsr.calibration.folds import Folds, OneFold
from fastpsr.calibration.fusion_rows import Basis, Problem, Rows, rows_of
from fastpsr.calibration.objective import NEAR, Asked, in_lockstep, newton
from fastpsr.calibration.separability import no_optimum
from fastpsr.calibration.stacks import Stack
from fastpsr.plans import Part, Plan, Step, run
from fastpsr.plans.budget import memory_budget
from fastpsr.predictions import Floats

__all__ = ["FusionFits", "Fusions", "fit_fusions"]

_CHUNK = 1 << 14  # rows whose scores stay in the cache
_THIN = 1 << 15  # samples per class that find a starting point
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

    def fuse(self, columns: Sequence[NDArray[Any]], fusion_of_row: NDArray[Any] | None) -> Floats:
        """Return the scores of all rows, each by a fusion; by default by the first."""
        fused = np.empty(columns[0].shape)
        for first in range(0, len(fused), _CHUNK):
            here = slice(first, first + _CHUNK)
            some = fused[here]
            by_row: Any = 0
            if fusion_of_row is not None and len(self.bias) > 1:
                by_row = fusion_of_row[here]
            bias = self.bias[by_row]
            some[...] = bias if some.ndim > 1 else bias[..., 1] - bias[..., 0]
            for s, column in enumerate(columns):
                weights = self.weights[by_row, s]
                some += (weights if some.ndim == 1 else np.reshape(weights, (-1, 1))) * column[here]
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

        Searches end where what is left is far below what replicates differ by.
        """
        assert self.samples.held is not None
        rows = self.samples.held.reweighted(weights)
        samples = _Samples(self.samples.stack, self.samples.folds, rows)
        begin = np.mean(self.ends, axis=0)
        plan = _search(
            samples, self.basis, rows.totals, self.prior, begin, near=_NEAR_IN_REPLICATES
        )
        return replace(self, ends=run(lambda: plan)).fusions


def fit_fusions(stack: Stack, folds: Folds, prior: float) -> Plan[FusionFits]:
    """Plan: return a fusion for each of the training sets of folds, at this prior of class 1.

    Raises
    ------
    ArgumentError
        Without samples of every class to train on, or where there is no optimum.
    """
    require_weights(stack.first.class_weights, stack.first.kind)
    samples = yield from _Samples.of(stack, folds)
    looked: _Look = yield from samples.ask(_Look())
    for mask in folds.training_mask:  # before anything takes long
        Problem.of(mask, looked.totals, prior)
    middle, _ = yield from samples.ask(_Moments(Basis.around(np.zeros(looked.largest.size))))
    _, covariance = yield from samples.ask(_Moments(Basis.around(middle)))
    middle = middle if middle.ndim == 1 else np.zeros(len(middle))  # which biases are free to move
    basis = Basis.of(middle, covariance, looked.largest)
    samples.move(basis)
    begin = yield from _rough_point(samples, basis, prior)
    ends = yield from _search(samples, basis, looked.totals, prior, begin)
    return FusionFits(samples, basis, prior, ends)


def _search(
    samples: "_Samples",
    basis: Basis,
    totals: Floats,
    prior: float,
    begin: Floats,
    near: float = NEAR,
) -> Plan[list[Floats]]:
    """Plan: return the optimum of each training set, in the directions of the basis."""
    problems = [Problem.of(mask, totals, prior) for mask in samples.folds.training_mask]
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
    if samples.held is not None and sizes.sum() < 4 * _THIN:
        return point
    rows = yield from samples.ask(_Thin(tuple(max(1, int(n) // _THIN) for n in sizes)))
    rows = rows.in_one_fold()
    some = _Samples(samples.stack, OneFold(), rows)
    try:
        (found,) = yield from _search(some, basis, rows.totals, prior, point)
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
        n_numbers = len(stack.names) * (1 if stack.n_classes == 2 else stack.n_classes) + 3
        if 16 * len(stack.first) * n_numbers <= memory_budget():  # joining takes twice the bytes
            read.held = yield from read.ask(_Hold())
        return read

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


@dataclass(frozen=True, eq=False)
class _Look(_Question):
    """Weights of folds by class, (F, K), and the largest scores (S,)."""

    totals: Any = None
    largest: Any = None

    def of(self, rows: Rows) -> "_Look":
        return _Look(rows.totals, rows.largest)

    def merge(self, one: "_Look", other: "_Look") -> "_Look":
        return _Look(one.totals + other.totals, np.maximum(one.largest, other.largest))


@dataclass(frozen=True, eq=False)
class _Moments(_Question):
    """Sums of scores, and of their products, in the directions of a basis."""

    basis: Basis

    def of(self, rows: Rows) -> tuple[Floats, Floats]:
        return rows.moved(self.basis).moments()

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
