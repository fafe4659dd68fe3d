"""Ctrl-C while the program `fastpsr` is still importing ends it without a traceback."""

import os
import sys
from itertools import pairwise
from types import TracebackType

__all__: list[str] = []

_STOPPED = 130


def _end_program_quietly() -> None:
    """Where this process is the program, have an interrupt that nothing catches end it in a word.

    The package is imported before any module of the command line is, so this is done first. In
    other programs nothing changes.
    """
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    is_module = name == "-m" and ("-m", "fastpsr") in pairwise(sys.orig_argv)
    if not is_module and name not in ("fastpsr", "fastpsr.exe"):
        return
    before = sys.excepthook

    def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            before(kind, error, trace)
            return
        sys.stderr.write("stopped\n")
        raise SystemExit(_STOPPED)

    sys.excepthook = end


_end_program_quietly()
