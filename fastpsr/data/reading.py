"""One read of the data: all parts once, for all requested steps."""

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fastpsr.data.columns import check_column
from fastpsr.data.facts import CountRows, Facts
from fastpsr.data.predictions import Predictions
from fastpsr.data.sources import naming, same_priors
from fastpsr.data.steps import ROWS, Part, Request, Step
from fastpsr.errors import ArgumentError

if TYPE_CHECKING:
    from fastpsr.data.partitioned import PartitionedPredictions


class Reading:
    """Steps over data that are read together: plain data that other processes can take.

    Parameters
    ----------
    requests : list of Request
    """

    def __init__(self, requests: Sequence[Request[Any]]) -> None:
        self.steps: list[Step[Any]] = [request.step for request in requests]
        self.data: list[tuple[PartitionedPredictions, ...]] = [r.data for r in requests]
        everything = [data for of_step in self.data for data in of_step]
        self.sources = list(dict.fromkeys(data.source for data in everything))
        roots = {id(data.source): data.root for data in everything}
        self._roots = [roots[id(source)] for source in self.sources]
        self._prepared: list[Any] | None = None
        self.reads: frozenset[str] = frozenset()
        for step, of_step in zip(self.steps, self.data, strict=True):
            self.reads = self.reads.union(step.reads, *(data.columns_read for data in of_step))
        #: Names to read, by reader.
        self.wanted: dict[Hashable, frozenset[str]] = {}
        for source in self.sources:
            wanted = self.wanted.get(source.reader, frozenset())
            self.wanted[source.reader] = wanted | source.wanted(self.reads)
        n_parts = self.sources[0].n_parts if self.sources else 0
        self.n_parts = n_parts
        self.numbers = [n for n in range(n_parts) if any(self._wants(s, n) for s in self.steps)]
        #: Whether these are a few of the parts.
        self.is_sample = len(self.numbers) < n_parts and all(
            step.only_parts is not None for step in self.steps
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out prepared data: another process prepares them again."""
        return {**self.__dict__, "_prepared": None}

    @staticmethod
    def _wants(step: Step[Any], number: int) -> bool:
        return step.only_parts is None or number in step.only_parts

    def load(self, number: int) -> dict[Hashable, Any]:
        """Read a part, by reader."""
        loaded: dict[Hashable, Any] = {}
        for source in self.sources:
            if source.reader not in loaded:
                with naming(source, number):
                    loaded[source.reader] = source.load(number, self.wanted[source.reader])
        return loaded

    def parts(self, number: int, loaded: dict[Hashable, Any]) -> dict[int, Part]:
        """Return the checked part of each source, by the id of the source."""
        raws: dict[int, Part] = {}
        for source, root in zip(self.sources, self._roots, strict=True):
            with naming(source, number):
                predictions = source.build(loaded[source.reader], self.reads)
                _check_part(source, predictions, self.reads)
            ranks = np.zeros(source.n_classes, np.int64)
            # without caches, since a user may have changed the part
            raws[id(source)] = Part(predictions.compact(), number, 0, ranks)
            root.check_unchanged(raws[id(source)], "scores" in self.reads)
        return raws

    def prepare(self) -> None:
        """Prepare the data that the steps need for all parts, once per process."""
        if self._prepared is None:
            self._prepared = [step.prepare() for step in self.steps]

    def count(self, place: int, accumulator: Any, raws: dict[int, Part], mapped_parts: Any) -> Any:
        """Return the accumulator of a step, by its place, with a part in it, or its error.

        None is an accumulator without parts; parts without weight leave it so.
        """
        step, prepared = self.steps[place], self._prepared
        assert prepared is not None
        number = next(iter(raws.values())).number
        if isinstance(accumulator, ValueError) or not self._wants(step, number):
            return accumulator
        try:
            parts = [data.part(raws[id(data.source)], mapped_parts) for data in self.data[place]]
            if not (step.takes_all or parts[0].has_weight):
                return accumulator
            counted = step.start() if accumulator is None else accumulator
            return step.add(counted, prepared[place], *parts)
        except ValueError as error:  # of one who asks; the others go on
            return without_frames(error)

    def join(self, place: int, total: Any, more: Any) -> Any:
        """Return the merged accumulators of a step, or the first error."""
        for each, rest in ((total, more), (more, total)):
            if each is None:
                return rest
            if isinstance(each, ValueError):
                return each
        return self.steps[place].merge(total, more)

    def answer(self, place: int, total: Any) -> Any:
        """Return the answer that all parts come to, or the error."""
        step = self.steps[place]
        if isinstance(total, ValueError):
            return total
        try:
            return step.finish(step.start() if total is None else total)
        except ValueError as error:
            return error

    def seen(self, number: int) -> list[int | None]:
        """Return the checksums of a part's scores, as they were first seen, source by source."""
        return [root._seen.get(number) for root in self._roots]

    def check_seen(self, checksums: list[list[int | None]]) -> None:
        """Note checksums that were seen elsewhere, in the order of the parts; raise for changes."""
        for number, of_part in zip(self.numbers, checksums, strict=True):
            for root, checksum in zip(self._roots, of_part, strict=True):
                root.note_scores(number, checksum)


def answers_of(requests: Sequence[Request[Any]]) -> list[Any]:
    """Return the answers to requests over data that are read together, or the error of each."""
    reading = Reading(requests)
    for source in reading.sources:
        if source.counts is not None:
            totals = source.counts(reading)
            break
    else:
        totals = _count_in_turn(reading)
    return [reading.answer(place, total) for place, total in enumerate(totals)]


def _count_in_turn(reading: Reading) -> list[Any]:
    """Count part by part; the next one is read meanwhile."""
    n_steps = len(reading.steps)
    trees = [Tree(partial(reading.join, place)) for place in range(n_steps)]
    accumulators: list[Any] = [None] * n_steps
    runs = [-1] * n_steps
    reading.prepare()
    report = tell(len(reading.numbers), reading.is_sample)
    for done, raws in enumerate(_raw_parts(reading), 1):
        number = next(iter(raws.values())).number
        mapped_parts: dict[int, Part] = {}
        for place, step in enumerate(reading.steps):
            run = 0 if step.is_exact else number  # of parts that are added up in turn
            if run != runs[place]:
                if accumulators[place] is not None:
                    trees[place].add(runs[place], accumulators[place])
                runs[place], accumulators[place] = run, None
            accumulators[place] = reading.count(place, accumulators[place], raws, mapped_parts)
        if report is not None:
            report(done, len(next(iter(raws.values())).predictions))
        del raws, mapped_parts
    for tree, run, accumulator in zip(trees, runs, accumulators, strict=True):
        if accumulator is not None:
            tree.add(run, accumulator)
    return [tree.total() for tree in trees]


def read_facts(data: "PartitionedPredictions") -> Facts:
    """Read data, and return their facts."""
    facts: Facts | ValueError = answers_of([CountRows(data.n_classes).over(data)])[0]
    if isinstance(facts, ValueError):
        raise facts
    return facts


def parts_of(data: "PartitionedPredictions", *, with_columns: bool = False) -> Iterator[Part]:
    """Yield the parts of data in turn, with the columns that are kept in memory if wanted."""
    data.find_facts(read_facts)
    reading = Reading([Rows().over(data)])
    if with_columns:
        source = data.source
        reading.wanted[source.reader] |= source.wanted(source.kept_columns)
    for raws in _raw_parts(reading):
        yield data.part(raws[id(data.source)], {})


@dataclass(frozen=True, eq=False)
class Rows(Step[Any]):
    """Rows and columns of ids that are looked at, and not counted."""

    reads: frozenset[str] = ROWS

    def add(self, accumulator: Any, prepared: Any, *parts: Any) -> Any:
        raise NotImplementedError


def _raw_parts(reading: Reading) -> Iterator[dict[int, Part]]:
    def load(number: int) -> dict[int, Part]:
        return reading.parts(number, reading.load(number))

    from concurrent.futures import ThreadPoolExecutor  # costs 9 ms to import

    numbers = reading.numbers
    with ThreadPoolExecutor(1, "fastpsr-read") as thread:
        ahead = None
        for place, number in enumerate(numbers):
            parts = load(number) if ahead is None else ahead.result()
            ahead = None
            if place + 1 < len(numbers):
                ahead = thread.submit(copy_context().run, load, numbers[place + 1])
            yield parts
            del parts


def without_frames(error: ValueError) -> ValueError:
    """Return an error without traceback, whose frames would hold a part until all are read."""
    chained: BaseException | None = error
    while chained is not None:
        chained.__traceback__ = None
        chained = chained.__context__
    return error


def _check_part(source: Any, predictions: Predictions, reads: frozenset[str]) -> None:
    """Raise unless a part is of the kind that the others are, with the columns that are read."""
    if predictions.y_true is None and len(predictions):
        raise ArgumentError("y_true", "must be given in every part")
    for name in ("kind", "n_classes", "class_names"):
        value, wanted = getattr(predictions, name), getattr(source, name)
        if value != wanted and None not in (value, wanted):  # as of classes without names
            raise ArgumentError("parts", f"must agree in {name}: {wanted} and {value}")
    if not same_priors(source.given_priors, predictions.given_priors):
        raise ArgumentError("priors", "must be the same in all parts")
    for name in sorted(reads - ROWS):
        check_column("data", name, predictions.columns)


class Tree:
    """A binary tree over runs of parts, whose sums have the same bits for any number of workers.

    Runs come in their order; some may be missing, as those of parts without weight are.
    """

    def __init__(self, join: Callable[[Any, Any], Any]) -> None:
        self._join = join
        self._nodes: dict[tuple[int, int], Any] = {}  # by height and place

    def add(self, run: int, accumulator: Any) -> None:
        """Put a run in its place, and join complete siblings."""
        self._nodes[0, run] = accumulator
        self._collapse(run + 1)

    def total(self) -> Any:
        """Return the merge of all runs, None without runs, and empty the tree."""
        self._collapse(1 << 62)
        nodes, self._nodes = self._nodes, {}
        return next(iter(nodes.values()), None)

    def _collapse(self, n_runs: int) -> None:
        """Lift nodes whose parents' runs all lie before `n_runs`, and join siblings."""
        height = 0
        while any(h >= height for h, _ in self._nodes):
            for place in sorted(p for h, p in self._nodes if h == height):
                above = (height + 1, place // 2)
                if (place // 2 + 1) << (height + 1) <= n_runs:
                    node = self._nodes.pop((height, place))
                    sibling = self._nodes.get(above)
                    self._nodes[above] = node if sibling is None else self._join(sibling, node)
            height += 1


@dataclass(frozen=True)
class Progress:
    """A part was read and counted.

    Attributes
    ----------
    read : int
        Number of the read, from 0, since watching began.
    done, n_parts : int
        Number of parts that are counted in this read, and of those that it reads.
    n_rows : int
        Of the part, as far as it was read.
    is_sample : bool
        Whether the read looks at a few parts only.
    """

    read: int
    done: int
    n_parts: int
    n_rows: int
    is_sample: bool


#: Whom to call after each part, and the numbers of reads to come.
_WATCH: ContextVar[tuple[Callable[[Progress], object], Iterator[int]] | None] = ContextVar(
    "watch", default=None
)


@contextmanager
def watched(callback: Callable[[Progress], object]) -> Iterator[None]:
    """Call back after every part that computations inside read."""
    token = _WATCH.set((callback, itertools.count()))
    try:
        yield
    finally:
        _WATCH.reset(token)


def tell(n_parts: int, is_sample: bool) -> Callable[[int, int], None] | None:
    """Return a function to call after each part of a new read; None without a callback.

    It takes the number of parts done, and the rows of the part.
    """
    watch = _WATCH.get()
    if watch is None:
        return None
    callback, read = watch[0], next(watch[1])

    def report(done: int, n_rows: int) -> None:
        callback(Progress(read, done, n_parts, n_rows, is_sample))

    return report
