"""Counting: answers to steps over data, with one read of the data for all who ask side by side.

Functions request counts by :func:`count`. Over predictions in memory each request is answered at
once. Over data in parts, functions that run :func:`side_by_side` are tasks: threads that run one at
a time, each until its next request. When all of them wait, the data are read once for all requests.
So any function that counts can share its reads with others, without knowing of them.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import wraps
from threading import Semaphore, Thread
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

import numpy as np

from fastpsr.data import LabeledData, PartitionedPredictions, Predictions, check_data
from fastpsr.data.facts import SAMPLED_PARTS, CountRows
from fastpsr.data.reading import answers_of
from fastpsr.data.steps import Answer, Part, Request
from fastpsr.errors import ArgumentError, PackageWarning, in_one_call, show, warnings_go_to

Result = TypeVar("Result")
_P = ParamSpec("_P")

_MOST_TASKS = 1000  # at a time


class Outcome:
    """The result or the error of a request, or neither yet."""

    def __init__(self, result: Any = None, error: ValueError | None = None) -> None:
        self.result, self.error = result, error
        self.is_begun = self.is_there = result is not None or error is not None

    def settle(self, result: Any) -> None:
        """Become a result, or an error that stands for one."""
        self.is_there = True
        if isinstance(result, ValueError):
            self.error = result
        else:
            self.result = result

    def run(self, make: Callable[[], Any]) -> None:
        """Become the result of a function, or its error."""
        self.is_begun = True
        try:
            self.settle(make())
        except ValueError as error:
            self.settle(error)

    def get(self) -> Any:
        """Return the result, or raise."""
        if self.error is not None:
            raise self.error
        return self.result


def count(request: Request[Answer]) -> Answer:
    """Return the answer to a step over data; raise what the step raised."""
    if isinstance(request.data[0], Predictions):
        return _answer_in_memory(request)
    answer: Answer = count_all([request])[0]
    return answer


def count_all(requests: Iterable[Request[Any]]) -> list[Any]:
    """Return the answers to several requests from one read of data in parts."""
    with one_call() as call:
        answers = [call.ask(request) for request in requests]
        call.wait(answers)
    return [answer.get() for answer in answers]


def shared(key: Hashable, data: Any, make: Callable[[], Result]) -> Result:
    """Return ``make()``; it runs once per key of the data.

    The data remember it; those in parts, which may change, until the call of the user ends.
    """
    if isinstance(data, Predictions):
        data.require_rows()
        remembered: Result = data.remember(key, make)
        return remembered
    with one_call() as call:
        outcome = call.outcome_of(data, key)
        if outcome.is_begun:
            call.wait([outcome])
        else:
            outcome.run(make)
    result: Result = outcome.get()
    return result


def side_by_side(*functions: Callable[[], Any], over: Any) -> list[Any]:
    """Return the results of functions that count over data; raise the first error of theirs.

    `over` is data, or a list of data that have the same parts.
    """
    return [outcome.get() for outcome in outcomes(functions, over)]


def outcomes(functions: Sequence[Callable[[], Any]], over: Any) -> list[Outcome]:
    """Return the outcomes of functions that count over data, with shared reads."""
    data = over if isinstance(over, list) else [over]
    answers = [Outcome() for _ in functions]
    with one_call() as call:
        if len(functions) > 1 and any(isinstance(d, PartitionedPredictions) for d in data):
            call.run([_Task(*pair) for pair in zip(functions, answers, strict=True)])
        else:
            for function, answer in zip(functions, answers, strict=True):
                answer.run(function)
    return answers


@contextmanager
def one_call() -> Iterator["_Call"]:
    """Return a block in which shared results are computed once, also across nested blocks."""
    outer = _CALL.get()
    if outer is not None:
        yield outer
        return
    call = _Call()
    token = _CALL.set(call)
    try:
        with in_one_call():
            yield call
    finally:
        _CALL.reset(token)
        call.end()


def begin(*data: LabeledData) -> None:
    """Count the facts of data in parts; raise unless all have the same rows, and some weight."""
    for system in data:
        if isinstance(system, PartitionedPredictions):
            find_facts(system)
        system.require_samples()
    for system in data[1:]:
        _require_same_rows(data[0], system)


def find_facts(data: PartitionedPredictions) -> None:
    """Count the facts of data, where they are not known."""
    data.find_facts(lambda of: count(CountRows(of.n_classes).over(of)))


def _require_same_rows(first: LabeledData, second: LabeledData) -> None:
    in_parts = [isinstance(data, PartitionedPredictions) for data in (first, second)]
    if not any(in_parts):
        return
    if not all(in_parts):
        raise ArgumentError("predictions", "must both be in parts, or both in memory")
    assert isinstance(first, PartitionedPredictions)
    assert isinstance(second, PartitionedPredictions)
    facts, facts_of_second = first.facts, second.facts
    if not np.array_equal(facts.n_rows, facts_of_second.n_rows):
        raise ArgumentError("predictions", "must be in parts of the same lengths to be compared")
    differ = facts.checksums != facts_of_second.checksums
    if facts.has_weights == facts_of_second.has_weights and differ.any():
        number = int(np.argmax(differ))
        raise ArgumentError(
            "predictions",
            "must be of the same samples in the same order, but labels or weights differ in "
            f"{first.source.name_of(number)} and {second.source.name_of(number)}",
        )


def takes_predictions(function: Callable[_P, Result]) -> Callable[_P, Result]:
    """Wrap a function of predictions as one call; arrays raise an error with the call to make."""

    @wraps(function)
    def checked(*args: _P.args, **options: _P.kwargs) -> Result:
        if args or "predictions" in options:
            check_data(args[0] if args else options["predictions"])
        with one_call():
            return function(*args, **options)

    return checked


#: A request for which data in parts are read next, and what holds its answer then.
_Asked = tuple[Request[Any], Outcome]


class _Stopped(BaseException):
    """Ends a task whose call has failed elsewhere."""


class _Task:
    """A function that runs in a thread of its own, while its call waits, until it asks."""

    def __init__(self, function: Callable[[], Any], answer: Outcome) -> None:
        self._function, self.answer = function, answer
        self.waiting: Sequence[Outcome] = ()
        self._go, self._paused = Semaphore(0), Semaphore(0)
        self._thread: Thread | None = None
        self._failure: BaseException | None = None
        self._is_stopped = False
        self._warnings: list[PackageWarning] = []

    @property
    def is_new(self) -> bool:
        return self._thread is None

    @property
    def is_done(self) -> bool:
        return self._thread is not None and (self.answer.is_there or self._failure is not None)

    def resume(self) -> None:
        """Run the task until its next request or its end; raise all but errors of arguments."""
        if self._thread is None:
            run = copy_context().run
            self._thread = Thread(target=run, args=(self._run,), name="fastpsr-task", daemon=True)
            self._thread.start()
        else:
            self._go.release()
        self._paused.acquire()
        while self._warnings:  # shown by this thread, whose stack has the line of the caller
            show(self._warnings.pop(0))
        if self._failure is not None:
            raise self._failure

    def wait(self, answers: Sequence[Outcome]) -> None:
        """Pause the task until it has its answers."""
        self.waiting = answers
        self._paused.release()
        self._go.acquire()
        if self._is_stopped:
            raise _Stopped

    def stop(self) -> None:
        """End the task where it waits."""
        if self._thread is not None and not self.is_done:
            self._is_stopped = True
            self._go.release()
            self._thread.join()

    def _run(self) -> None:
        _TASK.set(self)
        try:
            with warnings_go_to(self._warnings.append):
                self.answer.run(self._function)
        except BaseException as failure:  # for the thread of the call
            self._failure = failure
        self._paused.release()


class _Call:
    """A call of the user: tasks and steps under way, and data in parts that remember outcomes."""

    def __init__(self) -> None:
        self._data: WeakSet[PartitionedPredictions] = WeakSet()
        self._asked: dict[Hashable, _Asked] = {}
        self._tasks: list[_Task] = []

    def outcome_of(self, data: PartitionedPredictions, key: Hashable) -> Outcome:
        """Return the outcome of a key, cached in the data for this call."""
        self._data.add(data)
        outcome: Outcome = data.remember((self, key), Outcome)
        return outcome

    def end(self) -> None:
        """Let the data forget the outcomes of this call."""
        for data in self._data:
            data.forget(self)

    def ask(self, request: Request[Any]) -> Outcome:
        """Return the outcome of a request, which holds its answer now or later."""
        outcome = Outcome()
        if isinstance(request.data[0], Predictions):
            outcome.run(lambda: _answer_in_memory(request))
            return outcome
        if not isinstance(request.step, CountRows):
            for data in request.data:
                find_facts(data)
        if request.step.is_kept:
            outcome = self.outcome_of(request.data[0], request.key)
        if not outcome.is_there:
            _, outcome = self._asked.setdefault(request.key, (request, outcome))
        return outcome

    def wait(self, answers: Sequence[Outcome]) -> None:
        """Wait for answers, from own reads or from reads for all tasks."""
        while not all(answer.is_there for answer in answers):
            task = _TASK.get()
            if task is None:
                self._read()
            else:
                task.wait(answers)

    def run(self, tasks: list[_Task]) -> None:
        """Run tasks until all are done."""
        self._tasks += tasks
        if _TASK.get() is not None:  # the tasks of a task run beside it
            self.wait([task.answer for task in tasks])
            return
        try:
            while self._tasks:
                self._advance()
                if self._asked:
                    self._read()
        finally:
            for task in self._tasks:
                task.stop()
            self._tasks = []

    def _advance(self) -> None:
        """Run tasks while they have their answers."""
        while ready := [t for t in self._tasks if all(answer.is_there for answer in t.waiting)]:
            n_running = sum(not task.is_new for task in self._tasks)
            for task in ready:
                if task.is_new and n_running >= _MOST_TASKS and self._asked:
                    continue
                n_running += task.is_new
                task.resume()
            if all(task.is_new for task in ready):
                break
            self._tasks = [task for task in self._tasks if not task.is_done]

    def _read(self) -> None:
        """Answer the requested steps, first the steps that look at a few parts only."""
        assert self._asked, "tasks wait for one another"
        # facts of a few parts may save a read of all
        samples = {key: pair for key, pair in self._asked.items() if _is_of_few(pair[0])}
        first = samples or self._asked
        self._asked = {key: pair for key, pair in self._asked.items() if key not in first}
        for group in _groups(list(first.values())):
            answers = answers_of([request for request, _ in group])
            for (_, outcome), answer in zip(group, answers, strict=True):
                outcome.settle(answer)


_CALL: ContextVar[_Call | None] = ContextVar("call", default=None)
_TASK: ContextVar[_Task | None] = ContextVar("task", default=None)


def _answer_in_memory(request: Request[Answer]) -> Answer:
    """Return the answer to a step over predictions in memory, as one part."""
    step, data = request.step, request.data
    data[0].require_rows()

    def compute() -> Answer:
        return step.finish(step.add(step.start(), step.prepare(), *map(Part.whole, data)))

    if not step.is_kept:
        return compute()
    answer: Answer = data[0].remember(step.key, compute)
    return answer


def _is_of_few(request: Request[Any]) -> bool:
    """Whether a step looks at so few parts that they are read before all are."""
    if request.step.only_parts is None:
        return False
    source = request.data[0].source
    return bool(source.n_parts >= 2 * SAMPLED_PARTS * source.n_classes)


def _groups(requests: list[_Asked]) -> list[list[_Asked]]:
    """Return steps in groups that share a read."""
    groups: list[tuple[set[Hashable], list[_Asked]]] = []
    for request, outcome in requests:
        readers = {data.source.reader for data in request.data}
        members = [(request, outcome)]
        separate = []
        for group_readers, earlier in groups:
            if group_readers & readers:
                readers |= group_readers
                members = earlier + members
            else:
                separate.append((group_readers, earlier))
        groups = [*separate, (readers, members)]
    return [members for _, members in groups]
