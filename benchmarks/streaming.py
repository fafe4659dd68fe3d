"""The machine's own limit: a streaming read, which adds up the 8-byte words of arrays."""

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import thread_count, together

_WORTH_THREADS = 1 << 19  # bytes; below, handing over costs more than it saves


def time_read(arrays: list[NDArray[Any]]) -> float:
    """Return the seconds of one read of contiguous arrays, on as many threads as it is worth."""
    n_threads = thread_count() if sum(array.nbytes for array in arrays) >= _WORTH_THREADS else 1
    parts: list[Callable[[], Any]] = []
    for array in arrays:
        words = array.ravel().view(np.uint8)[: array.nbytes // 8 * 8].view(np.uint64)
        edges = np.linspace(0, words.size, n_threads + 1).astype(int)
        parts += [words[a:b].sum for a, b in pairwise(edges)]
    shares = [_in_turn(parts[place::n_threads]) for place in range(n_threads)]
    start = perf_counter()
    together(*shares)
    return perf_counter() - start


def _in_turn(calls: list[Callable[[], Any]]) -> Callable[[], None]:
    def run() -> None:
        for call in calls:
            call()

    return run
