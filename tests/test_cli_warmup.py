"""`fastpsr warmup`, the list of what it compiles, and the process that helps a command."""

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from fastpsr.cli import warmup
from fastpsr.kernels import signatures as kernel_signatures
from fastpsr.kernels.compiler import is_plain
from fastpsr.kernels.signatures import Signature, listed
from tests.commands import INTERRUPTIBLE, program, succeed, surroundings
from tools import signatures

compiled = pytest.mark.skipif(is_plain(), reason="nothing is compiled")

LISTED = {f"{each.kernel}({each.types})": each for each in listed()}
PARTS = {each.kernel for each in LISTED.values() if each.is_part}
SMALL = [  # which compile fast; the first is a part of the others
    Signature("elementary.exp_of_nonpositive", "float64", ("kernels",)),
    Signature("log_space._map_exp", "int64, int64, float64[::1], float64[::1]"),
    Signature("log_space._map_exp", "int64, int64, float32[::1], float64[::1]"),
    Signature("isotonic._pool", "float64[::1], float64[::1], int64[::1]"),
]

# The list


def called(*names):
    """Signatures that runs call; parts are seen too if the cache was not filled."""
    found = signatures.recorded(*names)
    return {each for each in found if each in LISTED or each.partition("(")[0] not in PARTS}


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
    found = {each for each in called(name) if not LISTED[each].is_part}
    assert len(found) <= BUDGETS[name]
    if command := signatures.COMMANDS.get(name):
        assert all(command[0] in LISTED[each].callers for each in found)


# The command


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("threads", ["2", "1"])
def test_warmup_compiles_each_kernel_once(threads):
    code = """
from fastpsr.cli import app, warmup
from tests.test_cli_warmup import SMALL
warmup.listed = lambda: SMALL
app.run()
"""
    surrounded = {"NUMBA_CACHE_DIR": "cache", "FASTPSR_NUM_THREADS": threads}
    first, second = (json.loads(program("warmup", "--json", code=code, **surrounded).stdout)
                     for _ in range(2))  # fmt: skip
    assert {(each["kernel"], each["types"]) for each in first} == {
        (each.kernel, each.types) for each in SMALL
    }
    seconds = [each["seconds"] for each in first]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] > 0.0
    assert {each["seconds"] for each in second} == {None}
    names = Counter(path.name.split("-")[0] for path in Path("cache").rglob("*.nbc"))
    assert names["log_space._map_exp"] == 2
    assert names["isotonic._pool"] == 1


@compiled
@pytest.mark.slow
def test_warmup_without_its_processes():
    """They end at once: all is compiled in the first process."""
    code = """
from fastpsr.cli import compiling
from tests.test_cli_warmup import SMALL
start = compiling._start
compiling._start = lambda call: start("nonsense()")
print([seconds > 0.0 for _, seconds in compiling.compile_all(SMALL[:2])])
"""
    done = program(code=code, NUMBA_CACHE_DIR="cache", FASTPSR_NUM_THREADS="2")
    assert (done.stdout, done.stderr) == ("[True, True]\n", "")


def test_warmup_says_how_long_it_took(monkeypatch):
    monkeypatch.setattr(warmup, "listed", lambda: SMALL)
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
    assert kernels.exp(np.zeros(1)) == 1.0
    print(len(started))
print([process.returncode is None for process in started])
kernels.softplus(np.zeros(1))
assert len(started) <= 1
"""


@compiled
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("call", ["call", "'nonsense()'"])
def test_a_process_compiles_ahead_until_the_command_ends(call):
    code = COMMAND.format(call=call)
    for expected in ("1\n[False]\n", "0\n[]\n"):  # with an empty cache, and then with a filled one
        done = program(code=code, NUMBA_CACHE_DIR="cache", FASTPSR_NUM_THREADS="2")
        assert (done.stdout, done.stderr) == (expected, "")


@compiled
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("without", ["cache", "threads", "compilation"])
def test_no_process_compiles_ahead_where_it_does_not_help(without):
    Path("file").touch()
    surrounded = {"NUMBA_CACHE_DIR": "cache", "FASTPSR_NUM_THREADS": "2"}
    surrounded |= {
        "cache": {"NUMBA_CACHE_DIR": "file/cache"},
        "threads": {"FASTPSR_NUM_THREADS": "1"},
        "compilation": {"NUMBA_DISABLE_JIT": "1"},
    }[without]
    code = COMMAND.format(call="call")
    if without == "cache":
        code = "from numba.core import caching\ncaching.CacheImpl._locator_classes = []" + code
    done = program(code=code, **surrounded)
    assert (done.stdout, done.stderr) == ("0\n[]\n", "")


def test_it_compiles_from_the_last_kernel_to_the_first(monkeypatch):
    done = []
    monkeypatch.setattr(kernel_signatures, "_end_with_stdin", lambda: None)
    monkeypatch.setattr(kernel_signatures, "compile_signature", done.append)
    kernel_signatures.serve_command("demo")
    assert len(done) > 10
    assert done[::-1] == [each for each in listed() if "demo" in each.callers and not each.is_part]
    kernel_signatures.serve_command("no command")
    assert len(done) == len(set(done))


@compiled
def test_it_ends_when_the_command_has_died():
    code = """
from fastpsr.kernels import signatures
signatures.listed = lambda: [signatures.Signature("a.b", "int64", ("demo",))]
def for_ever(signature):
    while True:
        pass
signatures.compile_signature = for_ever
signatures.serve_command("demo")
"""
    done = program(code=code, stdin="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@compiled
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_signal_leaves_no_process_behind(name):
    environment = surroundings(NUMBA_CACHE_DIR="cache", FASTPSR_NUM_THREADS="2")
    with subprocess.Popen(
        [sys.executable, "-P", "-c", INTERRUPTIBLE, "demo"], env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as command:  # fmt: skip
        while not (children := children_of(command.pid)):
            assert command.poll() is None
            time.sleep(0.02)
        command.send_signal(getattr(signal, name))
    while any(is_running(child) for child in children):  # until a test's time is over
        time.sleep(0.02)


def children_of(process):
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            found += [int(path.parent.name)] * (int(fields[1]) == process)
    return found


def is_running(process):
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
