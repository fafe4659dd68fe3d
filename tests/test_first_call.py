"""The line that says, once, where a person looks on, that kernels are compiled."""

import os
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty")

CALL = "import fastpsr as fp; fp.AUC()([0, 1, 1], [0.1, 0.4, 0.3]); fp.EER()([0, 1], [0.1, 0.2])"
LINE = "fastpsr: compiling what is used for the first time"


def printed_to_terminal(folder, code=CALL):
    """Return what a process prints on a stderr that is a terminal."""
    main, other = pty.openpty()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    with os.fdopen(main, "rb", buffering=0) as terminal:
        subprocess.run([sys.executable, "-c", code], stderr=other, env=environment, check=True)
        os.set_blocking(main, False)
        text = terminal.read() or b""
        os.close(other)
    return text.decode()


def printed_to_pipes(folder, code=CALL):
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
    )  # fmt: skip
    assert process.stderr == ""
    return process.stdout


@pytest.mark.slow
def test_terminals_are_told_once_and_only_when_something_is_compiled(tmp_path):
    assert printed_to_pipes(tmp_path / "other") == ""
    assert printed_to_terminal(tmp_path).count(LINE) == 1
    assert printed_to_terminal(tmp_path) == ""
    of_others = f"{CALL}; import numba; numba.njit(lambda x: x + 1)(1)"
    assert printed_to_terminal(tmp_path, of_others) == ""


INTERRUPTED = """
import os, signal
import fastpsr as fp
from numba.core.codegen import CPUCodeLibrary

ask = CPUCodeLibrary._object_getbuffer_hook

def hook(*arguments):  # called by LLVM, when it asks for the code that a kernel may have
    signal.raise_signal(signal.{name})
    return ask(*arguments)

def stop(*_):
    raise KeyboardInterrupt

CPUCodeLibrary._object_getbuffer_hook = hook
signal.signal(signal.{name}, stop)
for call in range(100):
    try:
        value = fp.AUC()([0, 1, 1], [0.1, 0.4, 0.3])
    except KeyboardInterrupt:
        print("stopped")
    else:
        print(value)
        break
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_a_kernel_is_compiled_or_loaded_comes_after(name, tmp_path):
    for _ in ("compiled", "loaded"):
        *stopped, value = printed_to_pipes(tmp_path, INTERRUPTED.format(name=name)).split()
        assert (set(stopped), float(value)) == ({"stopped"}, 1)
