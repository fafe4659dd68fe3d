"""Notifications during reads, for progress displays and cost estimates."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Progress", "Watch", "hold", "tell", "watched"]


@dataclass(frozen=True)
class Progress:
    """A part was read and counted.

    Attributes
    ----------
    read : int
        Number of the read, from 0, since watching began.
    done, n_parts : int
        Number of parts that are counted in this read, and of those that it reads.
    n_rows, n_bytes : int
        Of the part, as far as it was read.
    is_sample : bool
        Whether the read looks at a few parts only.
    n_held_bytes : int
        Bytes that the accumulators hold.
    """

    read: int
    done: int
    n_parts: int
    n_rows: int
    n_bytes: int
    is_sample: bool
    n_held_bytes: int


class Watch:
    """What is seen of the computations inside.

    Attributes
    ----------
    n_reads : int
    n_held_bytes : int
        Most bytes that a computation held between reads.
    cpu_of_reads : float
        Seconds of the processor until the last part of each read was counted.
    """

    def __init__(self, callback: Callable[[Progress], object]) -> None:
        self.callback = callback
        self.n_reads = self.n_held_bytes = 0
        self.cpu_of_reads = 0.0


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(callback: Callable[[Progress], object]) -> Iterator[Watch]:
    """Call back after every part that computations inside read."""
    watch = Watch(callback)
    token = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(token)


def hold(n_bytes: int) -> None:
    """Tell who watches, if anybody does, how many bytes a computation between reads will hold."""
    watch = _watch.get()
    if watch is not None:
        watch.n_held_bytes = max(watch.n_held_bytes, n_bytes)


def tell(
    n_parts: int, is_sample: bool
) -> Callable[[int, int, int, Callable[[], int]], None] | None:
    """Return what to call after each part of a read that begins; None where nobody watches.

    It takes parts done, rows, bytes, and a function that returns the bytes held.
    """
    watch = _watch.get()
    if watch is None:
        return None
    read, watch.n_reads = watch.n_reads, watch.n_reads + 1
    last = time.process_time()

    def report(done: int, n_rows: int, n_bytes: int, n_held_bytes: Callable[[], int]) -> None:
        nonlocal last
        now = time.process_time()
        watch.cpu_of_reads += now - last
        last = now
        watch.callback(Progress(read, done, n_parts, n_rows, n_bytes, is_sample, n_held_bytes()))

    return report
