"""Notifications during reads, for progress displays."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


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


class _Watch:
    """Whom to call, and the number of reads so far."""

    def __init__(self, callback: Callable[[Progress], object]) -> None:
        self.callback = callback
        self.n_reads = 0


_watch: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(callback: Callable[[Progress], object]) -> Iterator[None]:
    """Call back after every part that computations inside read."""
    token = _watch.set(_Watch(callback))
    try:
        yield
    finally:
        _watch.reset(token)


def tell(n_parts: int, is_sample: bool) -> Callable[[int, int], None] | None:
    """Return what to call after each part of a read that begins; None where nobody watches.

    It takes the number of parts done, and the rows of the part.
    """
    watch = _watch.get()
    if watch is None:
        return None
    read, watch.n_reads = watch.n_reads, watch.n_reads + 1

    def report(done: int, n_rows: int) -> None:
        watch.callback(Progress(read, done, n_parts, n_rows, is_sample))

    return report
