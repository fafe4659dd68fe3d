"""Ctrl-C while a kernel is compiled or loaded waits until it is."""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def held_back() -> Iterator[None]:
    """Call Python's handlers of Ctrl-C and of SIGTERM after the block, not in it.

    LLVM calls back into Python. Python drops what is raised there: Ctrl-C would be lost, and a
    kernel from the cache would be without code.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread
        return
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in found.items() if callable(handler)}
    arrived: dict[int, Any] = {}  # with the frame; a signal that comes twice counts once
    for number in handlers:
        signal.signal(number, arrived.setdefault)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with ExitStack() as last_first:  # which calls all, also if one raises
            for first, frame in reversed(arrived.items()):
                last_first.callback(handlers[signal.Signals(first)], first, frame)
