"""The runner: advances all plans together, with one read of the data for all that ask at a time."""

from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from fastpsr.errors import ArgumentError
from fastpsr.plans.part import Part
from fastpsr.plans.partitioned import Data, PartitionedPredictions
from fastpsr.plans.sources import naming, same_priors
from fastpsr.plans.steps import ROWS, Plan, Request, Shared
from fastpsr.plans.tree import Tree
from fastpsr.plans.watching import tell
from fastpsr.predictions import Predictions

__all__ = ["Outcome", "begin", "parts_of", "run", "run_all", "run_here"]

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a plan came to: its result, or the error that it raised."""

    result: Any
    error: ValueError | None

    def get(self) -> Any:
        """Return the result, or raise."""
        if self.error is not None:
            raise self.error
        return self.result


def run(plan: Callable[[], Plan[Result]], *data: Data) -> Result:
    """Return the result of a plan over data, or raise what it raised."""
    if data and all(isinstance(each, Predictions) for each in data):
        return run_here(plan())
    result: Result = run_all([plan])[0].get()
    return result


def run_all(plans: Sequence[Callable[[], Plan[Any]]]) -> list[Outcome]:
    """Run plans together, as few reads as may be; one that raises does not stop the others."""
    run_of = _Run()
    nodes = [run_of.begin(plan()) for plan in plans]
    run_of.finish()
    return [Outcome(node.result, node.error) for node in nodes]


def begin(*data: Data) -> Plan[None]:
    """Ask for the facts of data in parts; raise unless all have the same rows, and some weight."""
    for one in data:
        if isinstance(one, PartitionedPredictions):
            yield from one.find_facts()
            if not one.class_sizes.any():
                raise ValueError("predictions must have a sample of positive weight")
        else:
            one.require_samples()
    first = data[0]
    for other in data[1:]:
        _require_same_rows(first, other)


def _require_same_rows(one: Data, other: Data) -> None:
    in_parts = [isinstance(data, PartitionedPredictions) for data in (one, other)]
    if not any(in_parts):
        return
    if not all(in_parts):
        raise ArgumentError("predictions", "must both be in parts, or both in memory")
    assert isinstance(one, PartitionedPredictions)
    assert isinstance(other, PartitionedPredictions)
    if not np.array_equal(one.facts.n_rows, other.facts.n_rows):
        raise ArgumentError("predictions", "must be in parts of the same lengths to be compared")
    if one.facts.has_weights == other.facts.has_weights and not np.array_equal(
        one.facts.checksums, other.facts.checksums
    ):
        number = int(np.flatnonzero(one.facts.checksums != other.facts.checksums)[0])
        raise ArgumentError(
            "predictions",
            "must be of the same samples in the same order, but labels or weights differ in "
            f"{one.source.name_of(number)} and {other.source.name_of(number)}",
        )


@dataclass(eq=False)
class _Node:
    """A plan under way; or an answer that was there at once."""

    plan: Plan[Any] | None = None
    waiting: list[Any] | None = None
    result: Any = None
    error: ValueError | None = None
    is_done: bool = False


class _Run:
    """Plans under way, and the steps that they wait for."""

    def __init__(self) -> None:
        self._nodes: list[_Node] = []
        #: By data, which may go when the plans that asked are done.
        self._shared: WeakKeyDictionary[Any, dict[Hashable, _Node]] = WeakKeyDictionary()
        self._slots: dict[Hashable, _Slot] = {}

    def begin(self, plan: Plan[Any]) -> _Node:
        """Advance a plan to where it waits for a step."""
        node = _Node(plan)
        self._advance(node)
        if not node.is_done:
            self._nodes.append(node)
        return node

    def finish(self) -> None:
        """Answer steps, a read at a time, until all plans are done."""
        while self._nodes:
            slots, self._slots = self._slots, {}
            assert slots, "plans wait for one another"
            _read(list(slots.values()))
            del slots
            while ready := [node for node in self._nodes if _is_ready(node)]:
                for node in ready:  # a plan that ends may make others ready
                    self._advance(node)
                self._nodes = [node for node in self._nodes if not node.is_done]

    def _advance(self, node: _Node) -> None:
        """Send a plan its answers, for as long as they are there."""
        assert node.plan is not None
        while _is_ready(node):
            waiting, node.waiting = node.waiting, None
            failed = next((asked.error for asked in waiting or () if asked.error), None)
            try:
                if failed is not None:
                    requests = node.plan.throw(failed)
                elif waiting is None:
                    requests = next(node.plan)
                else:
                    requests = node.plan.send([asked.result for asked in waiting])
            except StopIteration as stop:
                node.result, node.is_done, node.plan = stop.value, True, None
                return
            except ValueError as error:
                node.error, node.is_done, node.plan = error, True, None
                return
            del waiting
            node.waiting = [self._resolve(request) for request in requests]

    def _resolve(self, request: Any) -> Any:
        """Return what will hold the answer to a request, or holds it already."""
        if isinstance(request, Generator):
            return self.begin(request)
        if isinstance(request, Shared):
            if isinstance(request.data, Predictions):
                return _here(request)
            of_data = self._shared.setdefault(request.data, {})
            if request.name not in of_data:
                of_data[request.name] = self.begin(request.plan())
            return of_data[request.name]
        if isinstance(request.data[0], Predictions):
            return _here(request)
        if request.key not in self._slots:
            self._slots[request.key] = _Slot(request)
        return self._slots[request.key]


def _is_ready(node: _Node) -> bool:
    return not node.is_done and all(asked.is_done for asked in node.waiting or ())


def _here(request: Any) -> _Node:
    """Return the answer to a request over predictions in memory."""
    try:
        return _Node(result=_meet(request), is_done=True)
    except ValueError as error:
        return _Node(error=error, is_done=True)


def run_here(plan: Plan[Result]) -> Result:
    """Return the result of a plan whose data are in memory: each request is met as it comes."""
    try:
        asked = next(plan)
        while True:
            answers = []
            for request in asked:
                try:
                    answers.append(_meet(request))
                except ValueError as error:
                    asked = plan.throw(error)
                    break
            else:
                asked = plan.send(answers)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _meet(request: Any) -> Any:
    if isinstance(request, Generator):
        return run_here(request)
    if isinstance(request, Shared):
        if request.is_kept:
            return request.data.remember(request.name, lambda: run_here(request.plan()))
        return run_here(request.plan())
    if isinstance(request.data[0], PartitionedPredictions):  # of training data in parts
        return run(lambda: _ask(request))
    return _count_here(request)


def _ask(request: Request) -> Plan[Any]:
    (answer,) = yield [request]
    return answer


def _count_here(request: Request) -> Any:
    """Take a step over predictions in memory, which are one part."""
    step = request.step
    parts = [Part.whole(data) for data in request.data]
    return step.finish(step.add(step.start(), step.prepare(), *parts))


# Reading


@dataclass(eq=False)
class _Slot:
    """A step that is asked for, and what it has counted so far."""

    request: Request
    is_done: bool = False
    result: Any = None
    error: ValueError | None = None
    _prepared: Any = None
    _accumulator: Any = None
    _run: int = -1
    _tree: Tree = field(init=False)

    def __post_init__(self) -> None:
        self._tree = Tree(self.request.step.merge)

    def prepare(self) -> None:
        self._prepared = self.request.step.prepare()

    def wants(self, number: int) -> bool:
        if self.error is not None:
            return False
        only = self.request.step.only_parts
        return self.error is None and (only is None or number in only)

    def take(self, raws: dict[Hashable, Part], made: dict[int, Part]) -> None:
        """Add a part to the sums of its run."""
        step = self.request.step
        parts = [data.part(raws[id(data.source)], made) for data in self.request.data]
        if not (step.takes_all or all(part.has_weight for part in parts)):
            return
        run = 0 if step.is_exact else parts[0].number // step.parts_per_run
        if run != self._run:
            self._close_run()
            self._run, self._accumulator = run, step.start()
        self._accumulator = step.add(self._accumulator, self._prepared, *parts)

    def _close_run(self) -> None:
        if self._run >= 0:
            self._tree.add(self._run, self._accumulator)

    def finish(self) -> None:
        """Come to the answer, unless counting failed."""
        if self.error is None:
            try:
                self._close_run()
                step, total = self.request.step, self._tree.total()
                self.result = step.finish(step.start() if total is None else total)
            except ValueError as error:
                self.error = error
        self.is_done = True
        self._prepared = self._accumulator = None

    @property
    def held(self) -> int:
        """Bytes of arrays that are held."""
        return _n_bytes([self._prepared, self._accumulator, self._tree.held])


def _held_by(slots: list[_Slot]) -> int:
    """Return the bytes of arrays that steps hold."""
    return sum(slot.held for slot in slots)


def _n_bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Predictions):
        return value.nbytes
    if isinstance(value, dict):
        return sum(_n_bytes(each) for each in value.values())
    if isinstance(value, (list, tuple)):
        return sum(_n_bytes(each) for each in value)
    return 0


def parts_of(data: PartitionedPredictions) -> Iterator[Part]:
    """Yield the parts of data in turn."""
    for raws in _raw_parts({data.source}, ROWS | data.columns_read, range(data.n_parts), [data]):
        yield data.part(raws[id(data.source)], {})


def _read(slots: list[_Slot]) -> None:
    """Answer steps with as few reads as may be."""
    for group in _groups(slots):
        sources = {data.source for slot in group for data in slot.request.data}
        reads: frozenset[str] = frozenset()
        for slot in group:
            slot.prepare()
            reads |= slot.request.step.reads
            for data in slot.request.data:
                reads |= data.columns_read
        n_parts = next(iter(sources)).n_parts
        numbers = [n for n in range(n_parts) if any(slot.wants(n) for slot in group)]
        data_of = [data for slot in group for data in slot.request.data]
        report = tell(len(numbers), len(numbers) < n_parts)
        for done, raws in enumerate(_raw_parts(sources, reads, numbers, data_of), 1):
            number = next(iter(raws.values())).number
            made: dict[int, Part] = {}
            for slot in group:
                if slot.wants(number):
                    try:
                        slot.take(raws, made)
                    except ValueError as error:  # of one who asks; the others go on
                        slot.error = error
            if report is not None:
                n_rows = len(next(iter(raws.values())).predictions)
                n_bytes = sum(raw.predictions.nbytes for raw in raws.values())
                report(done, n_rows, n_bytes, partial(_held_by, group))
            del raws, made
        for slot in group:
            slot.finish()


def _groups(slots: list[_Slot]) -> list[list[_Slot]]:
    """Return steps in groups that share a read."""
    groups: list[tuple[set[Hashable], list[_Slot]]] = []
    for slot in slots:
        readers = {data.source.reader for data in slot.request.data}
        members = [slot]
        apart = []
        for others, held in groups:
            if others & readers:
                readers |= others
                members = held + members
            else:
                apart.append((others, held))
        groups = [*apart, (readers, members)]
    return [members for _, members in groups]


def _raw_parts(
    sources: set[Any], reads: frozenset[str], numbers: Sequence[int], data: Sequence[Any]
) -> Iterator[dict[Hashable, Part]]:
    """Yield the parts of each source by its id; the next ones are read meanwhile."""
    roots = {id(d.root.source): d.root for d in data}
    wanted: dict[Hashable, frozenset[str]] = {}
    of_reader: dict[Hashable, Any] = {}
    for source in sources:
        wanted[source.reader] = wanted.get(source.reader, frozenset()) | source.wanted(reads)
        of_reader[source.reader] = source

    def load(number: int) -> dict[Hashable, Part]:
        loaded = {}
        for reader, source in of_reader.items():
            with naming(source, number):
                loaded[reader] = source.load(number, wanted[reader])
        found: dict[Hashable, Part] = {}
        for source in sources:
            with naming(source, number):
                predictions, columns = source.build(loaded[source.reader], reads)
                _check_part(source, predictions, columns, reads)
            ranks = np.zeros(source.n_classes, np.int64)
            found[id(source)] = Part(predictions, number, 0, ranks, columns)
            roots[id(source)].check_unchanged(found[id(source)], "scores" in reads)
        return found

    with ThreadPoolExecutor(1, "fastpsr-read") as reading:
        ahead = None
        for place, number in enumerate(numbers):
            parts = load(number) if ahead is None else ahead.result()
            ahead = None
            if place + 1 < len(numbers):
                ahead = reading.submit(load, numbers[place + 1])
            yield parts
            del parts


def _check_part(source: Any, predictions: Predictions, columns: Any, reads: frozenset[str]) -> None:
    """Raise unless a part is of the kind that the others are, with the columns that are read."""
    if predictions.y_true is None and len(predictions):
        raise ArgumentError("y_true", "must be given in every part")
    for name in ("kind", "n_classes"):
        found, wanted = getattr(predictions, name), getattr(source, name)
        if found != wanted:
            raise ArgumentError("parts", f"must agree in {name}: {wanted} and {found}")
    if not same_priors(source.given_priors, predictions.given_priors):
        raise ArgumentError("priors", "must be the same in all parts")
    for name in sorted(reads - ROWS):
        if name not in columns:
            have = ", ".join(sorted(columns)) or "none"
            raise ArgumentError("data", f"must have the column {name!r}; there are: {have}")
        if len(columns[name]) != len(predictions):
            raise ArgumentError(
                "data",
                f"must have an entry per sample in the column {name!r}: {len(predictions)}, not "
                f"{len(columns[name])}",
            )
