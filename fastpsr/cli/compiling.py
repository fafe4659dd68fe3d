"""Processes that compile kernels into the cache: all kernels, or what a command calls next."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fastpsr.kernels.blocks import thread_count
from fastpsr.kernels.compilation import Signature, at_first_compilation, compile_signature, listed

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
            _end(processes)


def compile_all(signatures: Sequence[Signature]) -> Iterator[tuple[Signature, float | None]]:
    """Compile on all processors; yield each signature with the seconds of CPU that it took.

    None if it was compiled before.
    """
    from concurrent.futures import ThreadPoolExecutor  # costs 9 ms to import
    from queue import SimpleQueue

    n_processes = min(thread_count(), len(signatures))
    if n_processes == 1:
        yield from ((signature, compile_signature(signature)) for signature in signatures)
        return
    processes: list[Popen[str]] = []
    idle: SimpleQueue[Popen[str]] = SimpleQueue()

    def ask(signature: Signature) -> str:
        process = idle.get()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):  # it has ended, as it does if a kernel cannot be compiled
            process.stdin.write(f"{signature}\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        idle.put(process)
        return answer

    pool = ThreadPoolExecutor(n_processes)
    try:
        for _ in range(n_processes):
            processes.append(_start("serve()"))
            idle.put(processes[-1])
        for are_parts in (True, False):  # so that no process compiles what another one does
            todo = [signature for signature in signatures if signature.is_part == are_parts]
            for signature, answer in zip(todo, pool.map(ask, todo), strict=True):
                yield signature, json.loads(answer) if answer else compile_signature(signature)
    finally:
        _end(processes, lambda: pool.shutdown(cancel_futures=True))


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


def _end(processes: Sequence["Popen[str]"], after: Callable[[], None] = lambda: None) -> None:
    for process in processes:
        process.kill()
    after()
    for process in processes:
        process.communicate()  # closes the pipes, and waits
