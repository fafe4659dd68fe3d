"""Files, pipes, signals and terminals: results are written whole or not at all."""

import contextlib
import errno
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import (
    GOOD,
    INTERRUPTIBLE,
    fastpsr,
    program,
    snapshot,
    strict_json,
    succeed,
    surroundings,
    write,
)
from tests.golden.files import write_files

COMMAND = Path(sys.executable).parent / "fastpsr"
RUN = ("evaluate", "s.npz")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs signals, pipes and terminals")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.npz").write_bytes(GOOD)


# The program


@pytest.mark.skipif(not COMMAND.exists(), reason="not installed")
def test_the_installed_program():
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{fp.__version__}\n", "")
    assert succeed("--version") == f"{fp.__version__}\n"


def test_help_names_commands_and_options():
    commands = ("demo", "evaluate", "compare", "calibrate", "fuse", "select", "threshold", "join",
                "warmup", "simulate")  # fmt: skip
    out = succeed("--help")
    assert [command for command in commands if command not in out] == []
    for command, words in (
        ("evaluate", ["--scores-are", "--ci", "raw", "temperature", "Intervals", "Trial lists"]),
        ("simulate trials", ["--targets", "3658", "FILE"]),
    ):
        out = succeed(*command.split(), "--help")
        assert [word for word in words if word not in out] == []


def test_results_and_errors_have_streams_of_their_own():
    done = program("evaluate", "none.npz")
    message = "error: No such file or directory: none.npz\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    done = program(*RUN, "--json", "t.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "written: t.json" in done.stdout


@needs_posix
@pytest.mark.parametrize(
    "arguments", [RUN, pytest.param((*RUN, "--json", "-"), marks=pytest.mark.slow)]
)
def test_a_reader_that_leaves_is_no_error(arguments):
    """As `| head -1` does: nothing is said, and the exit status is that of other programs."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "fastpsr", *arguments],
            stdout=writing, stderr=subprocess.PIPE, text=True, env=surroundings(),
        )  # fmt: skip
    finally:
        os.close(writing)
    assert done.returncode == 128 + signal.SIGPIPE
    assert not re.search("^error|Exception|Traceback", done.stderr, re.MULTILINE)


# What was read


def entry(name):
    content = Path(name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return {"path": name, "n_bytes": len(content), "sha256": digest}


def test_json_says_what_was_read():
    write_files()
    run = ["evaluate", "--key", "key", "--scores", "a.txt", "b.txt", "--speakers", "speakers.txt"]
    succeed(*run, "--scores-are", "raw", "--json", "t.json")
    content = strict_json("t.json")
    files = ["a.txt", "b.txt", "key", "speakers.txt"]
    assert content["inputs"] == [entry(name) for name in files]
    assert (content["scores_are"], content["version"]) == ("raw", fp.__version__)
    write("s.npy", label=np.arange(80) % 2, s=np.random.default_rng(0).normal(size=80))
    run = ["evaluate", "s.npy", "--labels", "label.npy", "--scores-are", "llr"]
    succeed(*run, "--costs", "costs.csv", "--json", "t.json")
    files = ["s.npy", "costs.csv", "label.npy"]
    assert strict_json("t.json")["inputs"] == [entry(name) for name in files]
    Path("parts").mkdir()
    for k in range(2):
        write(f"parts/{k}.parquet", label=np.arange(80) % 2, llr=np.arange(80) / 9.0)
    for path in ("parts", "parts/*.parquet"):
        succeed("evaluate", path, "--scores-are", "llr", "--metrics", "AUC", "--json", "t.json")
        parts = [entry(f"parts/{k}.parquet") | {"sha256": None} for k in range(2)]
        assert strict_json("t.json")["inputs"] == parts


def test_standard_input_and_output():
    write_files()
    scores = Path("a.txt").read_text("utf-8")
    run = ["evaluate", "--key", "key", "--scores", "-", "--metrics", "EER", "--json", "-"]
    done = program(*run, stdin=scores)
    trials = fp.trials.read("key", "a.txt").predictions("llr")
    assert json.loads(done.stdout)["rows"][0]["value"] == pytest.approx(fp.EER()(trials))
    assert "/dev/stdin: kaldi-scores" in done.stderr
    succeed("calibrate", "--key", "key", "--scores", "a.txt", "--output", "o")
    done = program("calibrate", "--key", "key", "--scores", "-", "--output", "-", stdin=scores)
    assert done.stdout == Path("o").read_text("utf-8")
    assert "-: 192 trials" in done.stderr
    for command in (["evaluate"], ["threshold", "--at", "dcf=0.1"], ["calibrate", "--output", "p"]):
        refused = fastpsr(*command, "--key", "-", "--scores", "-")
        assert "standard input (-) can be read once" in refused.err


# Where results are written


@pytest.mark.parametrize("exists", [False, True])
def test_links_stay_links(exists):
    Path("folder").mkdir()
    if exists:
        Path("folder/real").write_text("what was there", "utf-8")
    Path("t.json").symlink_to("folder/real")
    succeed(*RUN, "--json", "t.json")
    assert Path("t.json").is_symlink()
    assert Path("folder/real").read_text("utf-8").startswith("{")
    assert os.listdir("folder") == ["real"]


@needs_posix
def test_pipes_are_written_to_as_they_are():
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        succeed(*RUN, "--json", "pipe")
        out, _ = reader.communicate()
    assert out.startswith("{")
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("name", [f"{'x' * 250}.json", f"x.{'y' * 250}"], ids=["stem", "ending"])
def test_the_longest_names(name):
    succeed(*RUN, "--json", name)
    assert {*os.listdir()} == {"s.npz", name}


CAL = ("calibrate", "s.npz")
WRITERS = {  # what to run, and what writes
    ".npz": (["simulate", "classes", "o.npz"], "fastpsr.cli.score_files.write_npz"),
    ".csv": (["simulate", "classes", "o.csv"], "polars.DataFrame.write_csv"),
    ".parquet": ([*CAL, "--output", "o.parquet"], "polars.DataFrame.write_parquet"),
    "--save": ([*CAL, "--save", "o.json"], "pathlib.Path.write_text"),
    "--json": ([*RUN, "--json", "o.json"], "pathlib.Path.write_text"),
    "--output": ([*RUN, "--output", "o.md"], "pathlib.Path.write_text"),
}
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full disk", "Ctrl-C"])
@pytest.mark.parametrize(("arguments", "writer"), WRITERS.values(), ids=WRITERS)
def test_no_half_file_is_left(monkeypatch, arguments, writer, error):
    path = arguments[-1]
    if arguments[-2] != "classes":
        Path(path).write_text("what was there", "utf-8")
    before = snapshot()

    def write_half(*values, **_):
        part = next(value for value in values if isinstance(value, (str, Path)))
        Path(part).write_bytes(b"half of it")
        raise error

    monkeypatch.setattr(writer, write_half)
    outcome = fastpsr(*arguments)
    message = f"error: No space left on device: {path}\n" if error is FULL else "stopped\n"
    assert (outcome.code, outcome.err) == (2 if error is FULL else 130, message)
    assert snapshot() == before


STOPPED = """
import os, signal, sys
from pathlib import Path
from fastpsr.cli import app
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
def write_half(path, *_, **__):
    path.write_bytes(b"half of it")
    print(os.listdir(), flush=True)
    os.kill(os.getpid(), {number})
Path.write_text = write_half
sys.exit(app.run())
"""


@needs_posix
@pytest.mark.parametrize("name", [pytest.param("SIGINT", marks=pytest.mark.slow), "SIGTERM"])
def test_a_signal_leaves_no_part_files(name):
    number = int(getattr(signal, name))
    done = program(*RUN, "--json", "t.json", code=STOPPED.format(number=number))
    assert ".part.json" in done.stdout
    assert (done.returncode, done.stderr) == (130 if name == "SIGINT" else 143, "stopped\n")
    assert os.listdir() == ["s.npz"]


WHILE_IMPORTING = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
class Interrupt:
    def find_spec(self, name, *_):
        if name == MODULE:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
runpy.run_module("fastpsr", run_name="__main__", alter_sys=True)
"""
LATER = ("typer", "rich.console", "fastpsr.cli.evaluate", "numpy", "fastpsr.bootstrap")


@pytest.mark.parametrize(
    "module",
    ["polars", "fastpsr.cli.app", *(pytest.param(m, marks=pytest.mark.slow) for m in LATER)],
)
def test_ctrl_c_while_importing(module):
    done = program("evaluate", "none.npz", code=f"MODULE = {module!r}\n{WHILE_IMPORTING}")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


HOOKS = """
import signal, sys, threading
def hooks():
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    return [sys.excepthook, sys.unraisablehook, threading.excepthook, *sys.meta_path, *handlers]
sys.argv = ["fastpsr", "--help"]
before = hooks()
import fastpsr, fastpsr.cli.app
from fastpsr import *
assert hooks() == before
"""


def test_importing_sets_no_hooks():
    done = program(code=HOOKS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Locales

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@needs_posix
def test_letters_that_a_locale_does_not_have():
    y = np.arange(40) % 2
    write("s.csv", label=y, größe=y / 2 + 0.2)
    done = program("evaluate", "s.csv", **ASCII)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"scores: gr\xf6\xdfe; labels: label" in done.stdout
    Path("\xfc.npz").write_bytes(GOOD)
    done = program("evaluate", "\xfc.npz", **ASCII)
    said = r"error: names must be text in ascii, but '\xc3\xbc.npz' is none: set PYTHONUTF8=1"
    assert (done.returncode, done.stderr) == (2, f"{said}\n")


# Terminals


def shown_on_a_terminal(*arguments, stdout=None, code=None, stop_at=None):
    """Return what a terminal gets, and the exit status; Ctrl-C comes once `stop_at` is shown."""
    start = ["-m", "fastpsr"] if code is None else ["-c", code]
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, *start, *map(str, arguments)],
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        env=surroundings(TERM="xterm", COLUMNS="100"),
    ) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal ends
            while part := os.read(ours, 4096):
                shown += part
                if stop_at is not None and re.search(stop_at, shown):
                    process.send_signal(signal.SIGINT)
                    stop_at = None
    os.close(ours)
    return shown.decode("utf-8"), process.returncode


@needs_posix
@pytest.mark.slow
def test_a_bar_of_steps_is_removed():
    """What is printed stays."""
    write_files()
    run = ["evaluate", "--key", "key", "--scores", "a.txt", "b.txt", "--speakers", "speakers.txt"]
    run += ["--resamples", "100", "--metrics", "EER,Cllr", "--ci", "percentile"]
    piped = program(*run, COLUMNS="100").stdout
    shown, _ = shown_on_a_terminal(*run)
    assert "━" in shown
    assert [
        kind for kind in ("reading key", "joining b.txt", "metrics of") if kind not in shown
    ] == []
    _, after = shown.split(piped.splitlines()[-1].strip())
    assert after.endswith("\x1b[1A\x1b[2K")  # the line above is erased, where the bar was


@needs_posix
def test_ctrl_c_between_replicates():
    write_files()
    run = ["evaluate", "--key", "key", "--scores", "a.txt", "--metrics", "EER,Cllr,RCL"]
    run += ["--resamples", "10000000", "--json", "t.json"]
    before = sorted(os.listdir())
    stop_at = rb"\d/\d0000000"  # long before the last of the replicates
    options = {"stdout": subprocess.DEVNULL, "code": INTERRUPTIBLE, "stop_at": stop_at}
    shown, code = shown_on_a_terminal(*run, **options)
    assert code == 130
    assert "stopped" in shown[-40:]
    assert "Traceback" not in shown
    assert sorted(os.listdir()) == before


def test_messages_are_a_line_each_in_a_pipe():
    write_files()
    name = f"{'long' * 20}.txt"
    Path("a.txt").rename(name)
    done = program("threshold", "--at", "dcf=0.01", "--key", "key", "--scores", name, COLUMNS="80")
    starts = ["calibrated LLRs: ", "key: ", f"{name}: ", "best for these trials: ", "at the thresh"]
    lines = done.stdout.splitlines()
    assert len(lines) == len(starts)
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=True))
