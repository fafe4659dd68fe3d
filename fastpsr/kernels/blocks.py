"""Run a kernel over blocks of rows, on all threads of the machine.

Rows are cut into blocks of 4,096 whatever the number of threads. A kernel takes the numbers of its
first and last block and writes what it finds to places that belong to a block, so the result has
the same bits for any number of threads.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

BLOCK = 4096  # rows; 32 KiB of float64, so that a block stays in the first-level cache
_WORTH_A_THREAD = 8  # blocks; below, handing over costs more than it saves

_own_count: ContextVar[int | None] = ContextVar("fastpsr threads", default=None)
_pool: "ThreadPoolExecutor | None" = None
_pool_lock = threading.Lock()


def thread_count() -> int:
    """Return the number of threads of calls here: of `on_threads`, else `most_threads`."""
    chosen = _own_count.get()
    return most_threads() if chosen is None else chosen


def most_threads() -> int:
    """Return FASTPSR_NUM_THREADS, else the number of processors that this process may use."""
    asked = os.environ.get("FASTPSR_NUM_THREADS", "")
    if asked:
        if not asked.isdecimal() or int(asked) == 0:
            raise ValueError(f"FASTPSR_NUM_THREADS must be a positive integer, not {asked!r}")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_blocks(n_rows: int) -> int:
    """Return how many blocks hold `n_rows` rows."""
    return -(-n_rows // BLOCK)


def over_blocks(
    kernel: Callable[..., Any],
    n_blocks: int,
    *arguments: Any,
    worth_a_thread: int = _WORTH_A_THREAD,
) -> None:
    """Call ``kernel(first, last, *arguments)`` so that every block is covered once."""
    if n_blocks < 2 * worth_a_thread and "FASTPSR_NUM_THREADS" not in os.environ:
        kernel(0, n_blocks, *map(writable, arguments))
        return
    n_parts = min(thread_count(), max(1, n_blocks // worth_a_thread))
    edges = [n_blocks * part // n_parts for part in range(n_parts + 1)]
    arguments = tuple(writable(argument) for argument in arguments)
    together(
        *(
            lambda first=first, last=last: kernel(first, last, *arguments)
            for first, last in pairwise(edges)
        )
    )


def cut(n_rows: int, n_parts: int) -> NDArray[np.int64]:
    """Return the bounds, in blocks, of parts of like size."""
    return np.arange(n_parts + 1) * count_blocks(n_rows) // n_parts


def over_parts(kernel: Callable[..., Any], bounds: NDArray[np.int64], *arguments: Any) -> None:
    """Call ``kernel(first, last, bounds, *arguments)`` so that every part of the rows is covered.

    For kernels that need room of their own for each part, which is larger than a block.
    """
    n_parts, n_blocks = bounds.size - 1, int(bounds[-1])
    worth = -(-_WORTH_A_THREAD * n_parts // max(n_blocks, 1))
    over_blocks(kernel, n_parts, bounds, *arguments, worth_a_thread=max(1, worth))


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Run calls that do not depend on one another at the same time; the first in this thread."""
    if len(calls) == 1 or thread_count() == 1:  # as in our own threads, which must not wait for
        return [call() for call in calls]  # one another
    try:
        others = [_threads().submit(call) for call in calls[1:]]
    except RuntimeError:  # the interpreter is shutting down
        return [call() for call in calls]
    try:
        first = calls[0]()
    finally:
        rest = [other.exception() for other in others]  # also waits: they write to our arrays
    for error in rest:
        if error is not None:
            raise error
    return [first, *(other.result() for other in others)]


@contextmanager
def on_threads(n_threads: int) -> Iterator[None]:
    """Run the kernels inside on so many threads, of this thread (or task) of Python only."""
    token = _own_count.set(n_threads)
    try:
        yield
    finally:
        _own_count.reset(token)


def _threads() -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor  # costs 9 ms to import

    global _pool
    with _pool_lock:
        if _pool is None:
            n_threads = max(1, most_threads() - 1)
            _pool = ThreadPoolExecutor(n_threads, "fastpsr", initializer=_own_count.set,
                                       initargs=(1,))  # fmt: skip
        return _pool


def writable(argument: Any) -> Any:
    """Return a view that says it may be written to: Numba compiles anew for arrays that do not.

    Kernels write to none of their inputs.
    """
    if not isinstance(argument, np.ndarray) or argument.flags.writeable:
        return argument
    return np.asarray(_Memory(argument))


class _Memory:
    """The memory of an array, without its protection."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        place, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (place, False)}


def _forget_threads() -> None:
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)  # threads do not survive a fork
