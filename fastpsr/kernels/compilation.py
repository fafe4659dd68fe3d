"""When kernels are compiled: the list for compiling ahead, a message, and signals that wait.

``python -m tools.signatures`` writes the list of all kernels with the types that they are called
with, by which they are compiled before they are called. Numba is imported only where that is done.
"""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("signatures.txt")
BY_KERNELS = "kernels"
_OBJECTS = 50_000  # between searches for garbage, which take a tenth of the time at the default
_actions: list[Callable[[], None]] = []


@dataclass(frozen=True)
class Signature:
    """A kernel with the types of its arguments.

    Attributes
    ----------
    kernel : str
        Module in this folder, and name.
    types : str
        As Numba spells them, separated by commas.
    callers : tuple of str
        Commands that call it if no option is given; "kernels" if it is a part of other kernels.
    """

    kernel: str
    types: str
    callers: tuple[str, ...] = ()

    @property
    def is_part(self) -> bool:
        """Whether it is compiled into other kernels."""
        return BY_KERNELS in self.callers

    def __str__(self) -> str:
        return " ".join([f"{self.kernel}({self.types})", *self.callers])


def listed() -> list[Signature]:
    """Return all: parts before the kernels that they are compiled into, else the first called."""
    signatures = []
    for line in LIST.read_text("utf-8").splitlines():
        called, _, callers = line.rpartition(")")
        kernel, _, types = called.partition("(")
        signatures.append(Signature(kernel, types, tuple(callers.split())))
    return signatures


def compile_signature(signature: Signature) -> float | None:
    """Compile a kernel; return the seconds of CPU, or None if it need not be compiled."""
    from numba.core import sigutils

    from fastpsr.kernels.compiler import is_kept, is_plain

    if is_plain():
        return None
    module, _, name = signature.kernel.partition(".")
    dispatcher = getattr(import_module(f"fastpsr.kernels.{module}"), name)
    types, _ = sigutils.normalize_signature(f"({signature.types},)")
    if is_kept(dispatcher, types):
        return None
    begun = time.process_time()
    dispatcher.compile(types)
    return time.process_time() - begun


def serve_command(command: str) -> None:
    """Compile the kernels of a command, from the last to the first, until stdin is closed.

    As it is, whatever the system, when the process that holds its other end has ended.
    """
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    for signature in reversed(listed()):
        if command in signature.callers and not signature.is_part:
            compile_signature(signature)


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


@contextmanager
def at_first_compilation(action: Callable[[], None]) -> Iterator[None]:
    """Call a function when, in the block, the first kernel is compiled that the cache will keep."""
    _actions.append(action)
    try:
        yield
    finally:
        with suppress(ValueError):  # it was called
            _actions.remove(action)


def listen() -> None:
    """Hear of kernels that are compiled, as they were not found in the cache.

    The first makes a line be printed on stderr, of a terminal or a notebook.
    """
    from numba.core import event as events

    class Notice(events.Listener):
        _is_said = False

        def on_start(self, event: Any) -> None:  # as Numba calls it
            dispatcher = event.data.get("dispatcher")
            function = getattr(dispatcher, "py_func", None)
            if not (getattr(function, "__module__", "") or "").startswith("fastpsr."):
                return
            if not self._is_said and _is_watched():
                self._is_said = True
                _say()
            while _actions and getattr(dispatcher, "stats", None) and dispatcher.stats.cache_path:
                _actions.pop()()

        def on_end(self, event: Any) -> None:
            pass

    events.register("numba:compile", Notice())


def _say() -> None:
    print(
        "fastpsr: compiling what is used for the first time; later runs find it compiled "
        "(fastpsr warmup compiles everything)",
        file=sys.stderr,
        flush=True,
    )


def _is_watched() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return bool(sys.stderr is not None and sys.stderr.isatty())


@contextmanager
def undisturbed() -> Iterator[None]:
    """Compile in the block: signals are handled after it, and searches for garbage are rare.

    LLVM calls back into Python. Python drops what is raised there: Ctrl-C would be lost, and a
    kernel from the cache would be without code.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread
        return
    thresholds = gc.get_threshold()
    gc.set_threshold(thresholds[0] and max(thresholds[0], _OBJECTS))  # 0: never
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in found.items() if callable(handler)}
    arrived: dict[int, Any] = {}  # with the frame; a signal that comes twice counts once
    for number in handlers:
        signal.signal(number, arrived.setdefault)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with ExitStack() as last_first:  # which calls all, also if one raises
            for first, frame in reversed(arrived.items()):
                last_first.callback(handlers[signal.Signals(first)], first, frame)
