"""Columns that a fusion adds up: scores of several systems, and quality measures of recordings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.row_fits import require_memory
from fastpsr.counts import begin, count
from fastpsr.data import (
    ROWS,
    Data,
    Floats,
    Part,
    PartitionedPredictions,
    Predictions,
    check_column_of,
)
from fastpsr.data.sources import same_priors
from fastpsr.data.steps import CollectParts
from fastpsr.errors import ArgumentError
from fastpsr.frames import row_out_of_order

#: Columns from the measures of both sides that do not depend on the order of the sides.
TERMS = ("min,max", "bilinear", "scale")

SIDES = ("enroll", "test")
_LARGEST = 1e140  # number whose squares are finite in sums


@dataclass(frozen=True, eq=False)
class Quality:
    """A quality measure of both recordings of each trial, such as log-durations, for a fusion.

    Parameters
    ----------
    enroll, test : array-like of shape (N,), or str
        Finite numbers, in the order of the trials; or the names of their columns.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rng = np.random.default_rng(0)
    >>> y, enroll, test = rng.integers(0, 2, 4000), rng.random(4000), rng.random(4000)
    >>> scores = fp.Predictions.from_raw_scores(y, y + rng.normal(size=4000) - enroll - test)
    >>> fusion = fp.LinearFusion().fit({"x": scores, "noise": fp.Quality(enroll, test)})
    >>> dict(zip(fusion.columns_, fusion.weights_.round(1).tolist()))
    {'x': 1.0, 'min(noise)': 0.9, 'max(noise)': 1.1}
    """

    enroll: ArrayLike | str
    test: ArrayLike | str


def column_names(name: str, terms: str) -> tuple[str, str]:
    """Return the names of the columns of a measure."""
    words = ("product", "sum") if terms == "bilinear" else ("min", "max")
    return f"{words[0]}({name})", f"{words[1]}({name})"


def columns_of(
    name: str, place: str, quality: Quality, part: Part, terms: str
) -> Iterator[tuple[str, Floats]]:
    """Yield names and values of the columns of a measure; errors are of its `place`."""
    enroll, test = (_values(f"{place}.{side}", getattr(quality, side), part) for side in SIDES)
    first, second = column_names(name, terms)
    if terms == "bilinear":
        with np.errstate(over="ignore"):
            yield first, enroll * test
            yield second, enroll + test
    else:
        yield first, np.minimum(enroll, test)
        yield second, np.maximum(enroll, test)


def _values(name: str, side: Any, part: Part) -> Floats:
    """Return the quality measure of a side for the rows of a part, (n,)."""
    values = checks.as_floats(name, part.values(name, side), 1, may_be_empty=True)
    checks.check_length(name, values.size, len(part.predictions))
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        at = int(wrong[0])
        row = part.first_row + at
        raise ArgumentError(name, "must be finite", row, value=str(values[at]))
    return values.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Stack:
    """Systems of the same samples, all in memory or all in parts, and quality measures of these.

    Attributes
    ----------
    systems : dict of str to Predictions or PartitionedPredictions
    measures : dict of str to Quality
    places : dict of str to str
        Names of the systems in messages.
    terms : str
        How measures make columns.
    held : list of ndarray, or None
        The columns, where they are in memory.
    """

    systems: dict[str, Data]
    measures: dict[str, Quality]
    places: dict[str, str]
    terms: str
    held: list[NDArray[Any]] | None = None

    @classmethod
    def of(cls, inputs: Mapping[Any, Data | Quality], terms: str, *, labeled: bool = True) -> Self:
        """Return the stack; raise unless the systems can be of the same samples."""
        systems: dict[str, Data] = {}
        measures: dict[str, Quality] = {}
        places = {str(name): f"systems[{name!r}]" for name in inputs}
        for name, entry in inputs.items():
            if isinstance(entry, Quality):
                measures[str(name)] = entry
                continue
            first = next(iter(systems.values()), None)
            systems[str(name)] = _checked(places[str(name)], entry, first)
        if not systems:
            raise ArgumentError("systems", "must have predictions of a system or more")
        stack = cls(systems, measures, places, terms)
        check_differ(stack.names)
        for name in measures:
            if stack.n_classes > 2:
                rule = f"must be predictions: quality is of two classes, not {stack.n_classes}"
                raise ArgumentError("systems", rule, name=places[name])
        if not stack.is_in_parts:
            held = stack.columns([Part.whole(entry) for entry in stack.data], labeled=labeled)
            return replace(stack, held=held)
        return stack

    @property
    def data(self) -> list[Any]:
        """The systems."""
        return [*self.systems.values()]

    @property
    def first(self) -> Any:
        """The first system, with the labels and weights."""
        return next(iter(self.systems.values()))

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return int(self.first.n_classes)

    @property
    def is_in_parts(self) -> bool:
        """Whether the systems are in parts."""
        return isinstance(self.first, PartitionedPredictions)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the S columns."""
        names = [*self.systems]
        for measure in self.measures:
            for name in column_names(measure, self.terms):
                names.append(name)
                if self.terms == "scale":
                    names += [f"{system} x {name}" for system in self.systems]
        return tuple(names)

    @property
    def reads(self) -> frozenset[str]:
        """Names of the columns to read of each part."""
        if not self.is_in_parts:
            return ROWS
        sides = [
            side for measure in self.measures.values() for side in (measure.enroll, measure.test)
        ]
        return ROWS.union(side for side in sides if isinstance(side, str))

    def begin(self) -> None:
        """Count the facts of the systems; raise unless their samples are the same."""
        for system in self.data:
            begin(system)
        for name, measure in self.measures.items():
            for side in SIDES:
                check_column_of(f"{self.places[name]}.{side}", getattr(measure, side), self.first)
        if not self.is_in_parts:
            return
        for name, system in zip(self.systems, self.data, strict=True):
            rule = "must have the samples of the first, in the same parts"
            if len(system) != len(self.first):
                rule = f"{rule}: {len(self.first):,}, not {len(system):,}"
            expected, actual = self.first.facts, system.facts
            if not np.array_equal(expected.n_rows, actual.n_rows):
                raise ArgumentError("systems", rule, name=self.places[name])
            if not np.array_equal(expected.checksums, actual.checksums):
                rule = "must have the labels and weights of the first, in the same order"
                raise ArgumentError("systems", rule, name=self.places[name])

    def columns(self, parts: Sequence[Part], *, labeled: bool = True) -> list[NDArray[Any]]:
        """Return the columns, S of shape (n,) or (n, K), of a part of each system; checked."""
        first = parts[0]
        columns: dict[str, NDArray[Any]] = {}
        for name, part in zip(self.systems, parts, strict=True):
            _check_rows(self.places[name], part, first, labeled=labeled)
            columns[name] = part.predictions.scores
        scores = dict(columns)
        for name, measure in self.measures.items():
            for of, values in columns_of(name, self.places[name], measure, first, self.terms):
                columns[of] = values
                if self.terms == "scale":
                    with np.errstate(over="ignore"):
                        columns |= {f"{s} x {of}": values * x for s, x in scores.items()}
        for of, column in columns.items():
            largest = np.abs(column).max(initial=0.0)
            if largest > _LARGEST:
                rule = f"must have numbers of at most {_LARGEST:g}, but {of} has {largest:g}"
                raise ArgumentError("systems", rule)
        return [*columns.values()]


@dataclass(frozen=True, eq=False)
class HeldColumns:
    """Columns of a stack in memory: (S, N), or (S, N, K) of several classes.

    Beside them are labels, weights, empty if all are 1, and folds of the rows.
    """

    columns: Floats
    y: NDArray[Any]
    weights: Floats
    fold_of_row: NDArray[Any]

    @classmethod
    def of(cls, stack: Stack, parts: list[Part], folds: Folds) -> "HeldColumns":
        """Return the columns of a part of each system."""
        first = parts[0].predictions
        columns = stack.columns(parts) if stack.held is None else stack.held
        fold_of_row = folds.fold_of_rows(parts[0])
        return cls(np.asarray(columns, np.float64), first.labels, first.weights, fold_of_row)


def held_columns(stack: Stack, folds: Folds) -> HeldColumns:
    """Return the columns of all rows; raise if they exceed the memory budget."""
    if not stack.is_in_parts:
        return HeldColumns.of(stack, [Part.whole(system) for system in stack.data], folds)
    n_numbers = len(stack.names) * (1 if stack.n_classes == 2 else stack.n_classes)
    require_memory(stack.first, n_numbers, "systems")
    return count(_HoldColumns(stack, folds).over(*stack.data))


@dataclass(frozen=True, eq=False)
class _HoldColumns(CollectParts[HeldColumns]):
    """Copy the columns of all systems into memory."""

    stack: Stack
    folds: Folds

    @property
    def reads(self) -> frozenset[str]:
        """Rows, columns of measures, and columns that determine the folds."""
        return self.stack.reads | self.folds.reads

    def add(self, accumulator: Any, prepared: None, *parts: Part) -> Any:
        accumulator[parts[0].number] = HeldColumns.of(self.stack, [*parts], self.folds)
        return accumulator

    def finish(self, accumulator: Any) -> HeldColumns:
        parts = [accumulator[number] for number in sorted(accumulator)]
        return HeldColumns(
            np.concatenate([part.columns for part in parts], axis=1),
            *(np.concatenate([getattr(part, name) for part in parts])
              for name in ("y", "weights", "fold_of_row")),
        )  # fmt: skip


def check_differ(names: Sequence[str]) -> None:
    """Raise where two systems, measures, or columns have one name."""
    counts = Counter(names)
    for name in counts:
        if counts[name] > 1:
            rule = f"must have names that differ, also those of columns, not two of {name!r}"
            raise ArgumentError("systems", rule)


def _checked(name: str, system: Any, first: Any) -> Any:
    """Return a system; raise unless it can be fused with the first."""
    if not isinstance(system, Predictions | PartitionedPredictions):
        raise ArgumentError("systems", f"must be predictions, not {system!r}", name=name)
    if system.kind == "posteriors":
        remedy = "pass predictions.as_llrs()" if system.n_classes == 2 else ""
        rule = "must be LLRs, log-likelihoods or raw scores, not posteriors"
        raise ArgumentError("systems", rule, name=name, remedy=remedy)
    if first is None:
        return system
    if isinstance(system, Predictions) != isinstance(first, Predictions):
        raise ArgumentError("systems", "must all be in memory, or all in parts", name=name)
    if system.n_classes != first.n_classes:
        rule = f"must have the {first.n_classes} classes of the first, not {system.n_classes}"
        raise ArgumentError("systems", rule, name=name)
    if isinstance(system, PartitionedPredictions) and system.n_parts != first.n_parts:
        rule = f"must have the {first.n_parts:,} parts of the first, not {system.n_parts:,}"
        raise ArgumentError("systems", rule, name=name)
    if not same_priors(system.given_priors, first.given_priors):
        raise ArgumentError("systems", "must have the priors of the first", name=name)
    return system


def _check_rows(name: str, part: Part, first_part: Part, *, labeled: bool) -> None:
    """Raise unless a system has the rows of the first system, with finite scores."""
    system, first = part.predictions, first_part.predictions
    if len(system) != len(first):
        rule = f"must have the samples of the first, {len(first):,}, not {len(system):,}"
        raise ArgumentError("systems", rule, name=name)
    if not system.has_finite_scores:
        rows = np.isfinite(system.scores)
        at = int(np.argmin(rows if rows.ndim == 1 else rows.all(axis=1)))
        value = str(system.scores[at])
        rule = "must have finite scores"
        raise ArgumentError("systems", rule, part.first_row + at, name=name, value=value)
    row = row_out_of_order(system.row_order, first.row_order)
    if row is not None:
        rule = f"must be in the order of the first, but their pandas indexes differ in row {row}"
        raise ArgumentError("systems", rule, row, name=name)
    if not labeled and (system.y_true is None or first.y_true is None):
        return
    if system is first or system.labels is first.labels:
        return
    if not np.array_equal(system.labels, first.labels):
        at = part.first_row + int(np.argmax(system.labels != first.labels))
        rule = f"must have the labels of the first, but row {at} differs"
        raise ArgumentError("systems", rule, name=name)
    if not np.array_equal(system.weights, first.weights):
        raise ArgumentError("systems", "must have the weights of the first", name=name)
