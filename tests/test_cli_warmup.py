"""`fastpsr warmup`, the list of what it compiles, and the process that helps a command."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fastpsr.kernels import compilation
from fastpsr.kernels.compilation import Signature, listed
from fastpsr.kernels.compiler import is_plain
from tests.commands import program, succeed, surroundings
from tools import signatures

compiled = pytest.mark.skipif(is_plain(), reason="nothing is compiled")

LISTED = {f"{each.kernel}({each.types})": each for each in listed()}
PARTS = {each.kernel for each in LISTED.values() if each.is_part}
SMALL = [  # which compile fast; the first is a part of the others
    Signature("elementary.exp_of_nonpositive", "float64", ("kernels",)),
    Signature("log_space._map_sigmoid", "int64, int64, float64[::1], float64[::1]"),
    Signature("log_space._map_sigmoid", "int64, int64, float32[::1], float64[::1]"),
    Signature("isotonic._pool", "float64[::1], float64[::1], int64[::1]"),
]


def called(*names):
    """Return signatures that runs call; parts are seen too if the cache was not filled."""
    recorded = signatures.recorded(*names)
    return {each for each in recorded if each in LISTED or each.partition("(")[0] not in PARTS}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# kernels that are compiled, those apart that are only parts of others
BUDGETS = {
    "demo": 35,
    "evaluate a file": 24,
    "evaluate trials": 25,
    "evaluate in Python": 22,
    "a first metric": 3,
    "a first detection metric": 4,
}


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("name", BUDGETS)
def test_budget(name):
    signatures.write_files()
    kernels = {each for each in called(name) if not LISTED[each].is_part}
    assert len(kernels) <= BUDGETS[name]
    if command := signatures.COMMANDS.get(name):
        assert all(command[0] in LISTED[each].callers for each in kernels)


# The command


@compiled
@pytest.mark.slow
def test_warmup_compiles_each_kernel_once():
    code = """
import json
from fastpsr.kernels.compilation import compile_signature
from tests.test_cli_warmup import SMALL
print(json.dumps([*map(compile_signature, SMALL)]))
"""
    first, second = (
        json.loads(program(code=code, NUMBA_CACHE_DIR="cache").stdout) for _ in range(2)
    )
    assert min(first) > 0.0
    assert {*second} == {None}
    names = Counter(path.name.split("-")[0] for path in Path("cache").rglob("*.nbc"))
    assert (names["log_space._map_sigmoid"], names["isotonic._pool"]) == (2, 1)


def test_warmup_says_how_long_it_took(monkeypatch):
    monkeypatch.setattr(compilation, "listed", lambda: SMALL)
    assert re.fullmatch(r"compiled in \d+\.\d s\n", succeed("warmup"))


# The process that compiles ahead of a command

COMMAND = """
import numpy as np
from fastpsr import kernels
from fastpsr.cli import compiling
started = []
def start(call, start=compiling._start):
    started.append(start({call}))
    return started[-1]
compiling._start = start
with compiling.compiling_ahead("demo"):
    assert not started
    assert kernels.log_space.sigmoid(np.zeros(1)) == 0.5
    print(len(started))
print([process.returncode is None for process in started])
kernels.log_space.softplus(np.zeros(1))
assert len(started) <= 1
"""


@compiled
@pytest.mark.parametrize("call", ["call", pytest.param("'nonsense()'", marks=pytest.mark.slow)])
def test_a_process_compiles_ahead_until_the_command_ends(call):
    code = COMMAND.format(call=call)
    for expected in ("1\n[False]\n", "0\n[]\n"):  # with an empty cache, and then with a filled one
        done = program(code=code, NUMBA_CACHE_DIR="cache", FASTPSR_NUM_THREADS="2")
        assert (done.stdout, done.stderr) == (expected, "")


@compiled
def test_it_ends_when_the_command_has_died():
    code = """
from fastpsr.kernels import compilation
compilation.listed = lambda: [compilation.Signature("a.b", "int64", ("demo",))]
def for_ever(signature):
    while True:
        pass
compilation.compile_signature = for_ever
compilation.serve_command("demo")
"""
    done = program(code=code, stdin="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


SIGNALED = """
import os, signal, subprocess, sys
from fastpsr.cli import app
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
class Announced(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        print(self.pid, file=sys.stderr, flush=True)
subprocess.Popen = Announced
sys.exit(app.run())
"""


@compiled
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for the end of any process")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_signal_leaves_no_process_behind(name, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-P", "-c", SIGNALED, "demo"], text=True,
        env=surroundings(NUMBA_CACHE_DIR=str(tmp_path), FASTPSR_NUM_THREADS="2"),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as command:  # fmt: skip
        helper = os.pidfd_open(int(command.stderr.readline()))
        command.send_signal(getattr(signal, name))
    with os.fdopen(helper) as file:  # can be read once the process has ended
        assert select.select([file], [], []) == ([file], [], [])
