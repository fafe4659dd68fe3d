"""A process that compiles into the cache what a command calls next."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fastpsr.kernels.blocks import thread_count
from fastpsr.kernels.compilation import at_first_compilation, listed

if TYPE_CHECKING:
    from subprocess import Popen


@contextmanager
def compiling_ahead(command: str) -> Iterator[None]:
    """Let a process compile what a command calls, from the last kernel to the first.

    It begins when the command compiles its first kernel, so not if the cache is filled, and ends
    with the block. Neither waits for the other: they may compile one kernel twice where they meet.
    """
    processes: list[Popen[str]] = []
    owner = os.getpid()

    def begin() -> None:
        is_listed = any(command in signature.callers for signature in listed())
        if is_listed and thread_count() > 1 and os.getpid() == owner:  # which may have been forked
            with suppress(OSError):  # without help it takes longer
                processes.append(_start(f"serve_command({command!r})"))

    with at_first_compilation(begin):
        try:
            yield
        finally:
            for process in processes:
                process.kill()
                process.communicate()  # closes the pipes, and waits


def _start(call: str) -> "Popen[str]":
    """Start a process that finds the modules that this one does, and that Ctrl-C does not reach."""
    from subprocess import DEVNULL, PIPE, Popen

    code = f"""
import sys
sys.path[:] = {sys.path!r}
from fastpsr.kernels import compilation
compilation.{call}
"""
    return Popen(
        [sys.executable, "-P", "-c", code], stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
        encoding="utf-8", start_new_session=True,
    )  # fmt: skip
