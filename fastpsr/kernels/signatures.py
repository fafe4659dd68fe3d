"""The list of all kernels with the types that they are called with, and their compilation.

``python -m tools.signatures`` writes the list, by which kernels are compiled before they are
called. Numba is imported only where that is done.
"""

import gc
import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

LIST = Path(__file__).with_name("signatures.txt")
BY_KERNELS = "kernels"
_OBJECTS = 50_000  # between searches for garbage, which take a tenth of the time at the default


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
    return [_parsed(line) for line in LIST.read_text("utf-8").splitlines()]


def _parsed(line: str) -> Signature:
    called, _, callers = line.rpartition(")")
    kernel, _, types = called.partition("(")
    return Signature(kernel, types, tuple(callers.split()))


def compile_signature(signature: Signature) -> float | None:
    """Compile a kernel; return the seconds of CPU, or None if it need not be compiled."""
    from numba.core import sigutils

    from fastpsr.kernels.cache import is_kept
    from fastpsr.kernels.compiler import is_plain

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
    """Compile what a command calls, from the last kernel to the first, until stdin is closed.

    As it is, whatever the system, when the process that holds its other end has ended.
    """
    gc.set_threshold(_OBJECTS)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    for signature in reversed(listed()):
        if command in signature.callers and not signature.is_part:
            compile_signature(signature)


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def serve() -> None:
    """Compile the signature of each line of stdin; write the seconds as a line of JSON."""
    gc.set_threshold(_OBJECTS)
    for line in sys.stdin:
        print(json.dumps(compile_signature(_parsed(line))), flush=True)
