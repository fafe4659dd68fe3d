"""A message in terminals and notebooks, printed once, that kernels are being compiled."""

import sys
from typing import Any

from numba.core import event as events

__all__ = ["say_when_compiling"]


def say_when_compiling() -> None:
    """Print a line on stderr, of a terminal or a notebook, when the first kernel is compiled."""
    events.register("numba:compile", _Notice())


class _Notice(events.Listener):
    """Hears of functions that were not found in the cache."""

    _is_said = False

    def on_start(self, event: Any) -> None:  # as Numba calls it
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        is_ours = getattr(function, "__module__", "").startswith("fastpsr.")
        if self._is_said or not is_ours or not _is_watched():
            return
        self._is_said = True
        print(
            "fastpsr: compiling what is used for the first time; later runs find it compiled "
            "(fastpsr warmup compiles everything)",
            file=sys.stderr,
            flush=True,
        )

    def on_end(self, event: Any) -> None:
        pass


def _is_watched() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return bool(sys.stderr is not None and sys.stderr.isatty())
