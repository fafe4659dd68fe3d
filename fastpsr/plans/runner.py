"""The runner: advances all plans together, with one read of the data for all their requests."""

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from types import GeneratorType
from typing import Any, NamedTuple, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np

from fastpsr.errors import ArgumentError, in_one_call
from fastpsr.plans.mapped_parts import MappedParts
from fastpsr.plans.part import Part
from fastpsr.plans.reading import Failed, count_all
from fastpsr.plans.steps import SAMPLED_PARTS, Plan, Planned, Request, Shared, resolved
from fastpsr.predictions import LabeledData, Predictions

__all__ = ["Outcome", "begin", "run", "run_all"]

Result = TypeVar("Result")


class Outcome(NamedTuple):
    """Result of a plan, or the error that it raised."""

    result: Any
    error: ValueError | None

    def get(self) -> Any:
        """Return the result, or raise."""
        if self.error is not None:
            raise self.error
        return self.result


@overload
def run(plan: Callable[[], Plan[Result]]) -> Result: ...


@overload
def run(plan: Callable[[], Planned[Result]]) -> Result: ...


def run(plan: Callable[[], Any]) -> Any:
    """Return the result of a plan, or raise what it raised."""
    (outcome,) = run_all([plan])
    return outcome.get()


def run_all(plans: Sequence[Callable[[], Planned[Any]]]) -> list[Outcome]:
    """Run plans together, as few reads as may be; one that raises does not stop the others."""
    run_of = _Run()
    with in_one_call():
        nodes = [run_of.begin(_begun(plan)) for plan in plans]
        run_of.finish()
    return [Outcome(node.result, node.error) for node in nodes]


def _begun(plan: Callable[[], Any]) -> Plan[Any]:
    """Plan: return what a function returns, or the plan that it returns."""
    return (yield from resolved(plan()))


def begin(*data: LabeledData) -> Plan[None]:
    """Ask for the facts of data in parts; raise unless all have the same rows, and some weight."""
    for one in data:
        if isinstance(one, MappedParts):
            yield from one.find_facts()
        one.require_samples()
    first = data[0]
    for other in data[1:]:
        _require_same_rows(first, other)


def _require_same_rows(one: LabeledData, other: LabeledData) -> None:
    in_parts = [isinstance(data, MappedParts) for data in (one, other)]
    if not any(in_parts):
        return
    if not all(in_parts):
        raise ArgumentError("predictions", "must both be in parts, or both in memory")
    assert isinstance(one, MappedParts)
    assert isinstance(other, MappedParts)
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


class _Answer:
    """The answer to a request: a result or an error, once it is done."""

    __slots__ = ("error", "is_done", "result")

    def __init__(self, result: Any = None, *, is_done: bool = False) -> None:
        self.result, self.is_done = result, is_done
        self.error: ValueError | None = None


class _Node(_Answer):
    """A plan under way, and the answers that it waits for."""

    __slots__ = ("plan", "waiting")

    def __init__(self, plan: Plan[Any]) -> None:
        super().__init__()
        self.plan: Plan[Any] | None = plan
        self.waiting: list[_Answer] | None = None


class _Slot(_Answer):
    """A step over data in parts, to be answered by the next read."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


_is_done = attrgetter("is_done")


class _Run:
    """Plans under way, and the steps that they wait for."""

    def __init__(self) -> None:
        self._nodes: list[_Node] = []
        #: Answers for data in parts by name; the data may go when the plans that asked are done.
        self._kept: WeakKeyDictionary[Any, dict[Hashable, Any]] | None = None
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
            assert self._slots, "plans wait for one another"
            # what is known of a few parts may save a read of all
            samples = {key: slot for key, slot in self._slots.items() if _is_of_few(slot)}
            slots = samples or self._slots
            self._slots = {k: slot for k, slot in self._slots.items() if k not in slots}
            _answer(list(slots.values()))
            del samples, slots
            while ready := [node for node in self._nodes if _is_ready(node)]:
                for node in ready:  # a plan that ends may make others ready
                    self._advance(node)
                self._nodes = [node for node in self._nodes if not node.is_done]

    def _advance(self, node: _Node) -> None:
        """Send a plan its answers, for as long as they are there."""
        while _is_ready(node):
            waiting, node.waiting = node.waiting, None
            try:
                requests = _resume(node.plan, waiting)
            except StopIteration as stop:
                node.result, node.is_done, node.plan = stop.value, True, None
                return
            except ValueError as error:
                node.error, node.is_done, node.plan = error, True, None
                return
            del waiting  # results may be large
            node.waiting = [self._resolve(request) for request in requests]

    def _resolve(self, request: Any) -> _Answer:
        """Return what will hold the answer to a request, or holds it already."""
        if isinstance(request, GeneratorType):
            return self.begin(request)
        if isinstance(request, Shared):
            return self._share(request)
        if not isinstance(request, Request):  # the result itself
            return _Answer(request, is_done=True)
        if isinstance(request.data[0], Predictions):
            return _answered_in_memory(request)
        known = self._kept_of(request.data[0]) if request.step.is_kept else self._slots
        if request.key not in known:
            known[request.key] = self._slots[request.key] = _Slot(request)
        answer: _Answer = known[request.key]
        return answer

    def _share(self, request: Shared) -> _Answer:
        """Return the answer of a shared plan, which begins where nobody asked before."""
        if isinstance(request.data, Predictions):
            return self.begin(request.remembered() if request.is_kept else _begun(request.plan))
        known = self._kept_of(request.data)
        if request.name not in known:
            known[request.name] = self.begin(_begun(request.plan))
        answer: _Answer = known[request.name]
        return answer

    def _kept_of(self, data: Any) -> dict[Hashable, Any]:
        if self._kept is None:
            self._kept = WeakKeyDictionary()
        return self._kept.setdefault(data, {})


def _is_ready(node: _Node) -> bool:
    return all(map(_is_done, node.waiting or ()))


def _resume(plan: Any, waiting: list[_Answer] | None) -> Any:
    """Send a plan the answers that it waited for, and return its next requests."""
    if waiting is None:
        return next(plan)
    for asked in waiting:
        if asked.error is not None:
            return plan.throw(asked.error)
    return plan.send([asked.result for asked in waiting])


def _answered_in_memory(request: Request) -> _Answer:
    """Return the answer to a step over predictions in memory, which are one part."""
    step, data = request
    key, kept = (step.key, data[0].results) if step.is_kept else (None, {})
    answer = _Answer(kept.get(key), is_done=True)
    if answer.result is not None:
        return answer
    try:
        parts = map(Part.whole, data)
        answer.result = step.finish(step.add(step.start(), step.prepare(), *parts))
    except ValueError as error:
        answer.error = error
    else:
        kept[key] = answer.result
    return answer


def _is_of_few(slot: _Slot) -> bool:
    """Whether a step looks at so few parts that they are read before all are."""
    if slot.request.step.only_parts is None:
        return False
    source = slot.request.data[0].source
    return bool(source.n_parts >= 2 * SAMPLED_PARTS * source.n_classes)


def _answer(slots: list[_Slot]) -> None:
    """Answer steps with as few reads as may be."""
    for group in _groups(slots):
        for slot, answer in zip(group, count_all([s.request for s in group]), strict=True):
            slot.is_done = True
            if isinstance(answer, Failed):
                slot.error = answer.error
            else:
                slot.result = answer


def _groups(slots: list[_Slot]) -> list[list[_Slot]]:
    """Return steps in groups that share a read."""
    groups: list[tuple[set[Hashable], list[_Slot]]] = []
    for slot in slots:
        readers = {data.source.reader for data in slot.request.data}
        members = [slot]
        apart = []
        for others, earlier in groups:
            if others & readers:
                readers |= others
                members = earlier + members
            else:
                apart.append((others, earlier))
        groups = [*apart, (readers, members)]
    return [members for _, members in groups]
