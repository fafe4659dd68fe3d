"""What happens when kernels are compiled: a message, printed once, and what others ask for."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_actions: list[Callable[[], None]] = []


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
