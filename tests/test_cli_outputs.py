"""Where the command line puts results: places, full disks and interruptions."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import fastpsr as fp
from fastpsr.cli import app, evaluate_tables
from fastpsr.files import whole_file
from tests.commands import (
    CAL,
    FOLDER,
    GOOD,
    INTERRUPTIBLE,
    RUN,
    check_refusal,
    fastpsr,
    parameters,
    program,
    snapshot,
    surroundings,
    write,
    write_trials,
)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


TRIALS = ["--key", "key", "--scores-are", "llr"]

OUTPUTS = {
    "folder that is not there": (["simulate", "classes", "no/o.npz"], ["no/o.npz", "folder"]),
    "other ending": (["simulate", "classes", "o.txt"], ["o.txt", ".npz, .csv or .parquet"]),
    "no ending": (["simulate", "classes", "o"], ["o must end in"]),
    "folder": (["simulate", "classes", "f.npz"], ["f.npz"]),
    "trials": (["simulate", "trials", "no/o.csv"], ["no/o.csv", "folder"]),
    "calibrate": ([*CAL, "--output", "no/o.npz"], ["no/o.npz", "folder"]),
    "calibrate, ending": ([*CAL, "--output", "o.npy"], ["o.npy", ".npz, .csv or .parquet"]),
    "--save": ([*CAL, "--save", "no/f.json"], ["no/f.json"]),
    "--save onto a folder": ([*CAL, "--save", "f.npz"], ["f.npz"]),
    "--save after --output": ([*CAL, "--output", "o.npz", "--save", "no/f.json"], ["no/f.json"]),
    "--json": ([*RUN, "--json", "no/t.json"], ["no/t.json"]),
    "--csv": ([*RUN, "--csv", "no/t.csv"], ["no/t.csv"]),
    "--json onto a folder": ([*RUN, "--json", "f.npz"], ["f.npz"]),
    "--markdown": ([*RUN, "--markdown", "no/t.md"], ["no/t.md"]),
    "--latex": ([*RUN, "--latex", "no/t.tex"], ["no/t.tex"]),
    "--csv after --json": ([*RUN, "--json", "t.json", "--csv", "no/t.csv"], ["no/t.csv"]),
}


@pytest.mark.parametrize(("arguments", "words"), parameters(OUTPUTS))
def test_places_for_results(arguments, words):
    check_refusal({"s.npz": GOOD, "f.npz": FOLDER}, arguments, words)


TWICE = {
    "--csv over --json": ([*RUN, "--json", "t", "--csv", "t"], ["--json", "--csv"]),
    "--save over --output": (
        [*CAL, "--output", "o.npz", "--save", "o.npz"],
        ["--output", "--save"],
    ),
    "--json over the scores": ([*RUN, "--json", "s.npz"], ["s.npz"]),
    "--save over the labels": (
        ["calibrate", "s.npy", "--labels", "y.npy", "--save", "y.npy"],
        ["--save", "input"],
    ),
}


@pytest.mark.parametrize(("arguments", "words"), parameters(TWICE))
def test_one_place_for_two_things(arguments, words):
    check_refusal({"s.npz": GOOD}, arguments, words)


DAMAGED = {
    "evaluate": [["s.npz"], [*TRIALS, "--scores", "scores"]],
    "compare": [["s.npz", "t.npz"], [*TRIALS, "scores", "other"]],
    "calibrate": [
        ["s.npz", "--output", "o.npz"],
        [*TRIALS, "--scores", "scores", "--output", "o"],
    ],
    "fuse": [
        [*TRIALS, "--scores", "scores", "other", "--output", "o"],
        ["--load", "scores", "--apply", "other", "--output", "o"],
    ],
    "threshold": [[*TRIALS, "--scores", "scores", "--dcf", "0.01"]],
    "join": [["--key", "key", "--scores", "scores", "--output", "o.parquet"]],
    "demo": [[]],
}

#: Values that no data make right, by option: the commands have no others with such values.
WRONG = {
    **dict.fromkeys(["--json", "--csv", "--markdown", "--latex", "--report"], "no/o"),
    **dict.fromkeys(["--output", "--save"], "no/o.npz"),
    **dict.fromkeys(["--key", "--targets", "--nontargets", "--speakers", "--load"], "no.txt"),
    **dict.fromkeys(["--apply", "--labels", "--weights"], "no.npy"),
    **dict.fromkeys(["--metrics", "--calibrator", "--interval", "--scores-are"], "nope"),
    **dict.fromkeys(["--key-format", "--format"], "nope"),
    **dict.fromkeys(["--missing", "--extra", "--duplicates", "--nan"], "nope"),
    **dict.fromkeys(["--columns", "--key-columns", "--speaker-columns"], "one"),
    "--score": "a=",
    **dict.fromkeys(["--dcf", "--adcf", "--costs"], "nope"),
    **dict.fromkeys(["--ci", "--priors", "--prior", "--floor", "--fa", "--miss"], "7"),
    **dict.fromkeys(["--folds", "--resamples"], "1"),
    **dict.fromkeys(["--seed"], "-1"),
    **dict.fromkeys(["--speaker-pattern"], "("),
    **dict.fromkeys(["--quality", "--quality-columns", "--quality-terms"], "nope"),
}

#: Names of columns, and switches.
DATA_DECIDE = {
    "--by", "--equalize", "--resample", "--group-differences", "--all-pairs", "--eer",
    "--transpose", "--key-transpose", "--in-order", "--scores",
    "--classes", "--normalize", "--refits",
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_all_options_are_checked_before_a_file_is_read(name):
    for file in ("s.npz", "t.npz", "key", "scores", "other"):
        Path(file).write_bytes(b"\x00 cannot be read")
    Path("no.txt").unlink(missing_ok=True)
    options = {p.opts[0] for p in get_command(app.app).commands[name].params}
    options = {option for option in options if option.startswith("--")} - DATA_DECIDE
    assert options <= {*WRONG}
    for arguments in DAMAGED[name]:
        for option in sorted(options if "--key" in arguments else options - {"--columns"}):
            given = [*arguments]
            if option in given:
                place = given.index(option)
                del given[place : place + 2]
            refused = fastpsr(name, *given, option, WRONG[option])
            assert refused.code, option
            assert option in refused.err or WRONG[option] in refused.err, refused.err
            assert "cannot be read" not in refused.err
    assert {*os.listdir()} == {"s.npz", "t.npz", "key", "scores", "other"}


def test_a_bad_ending_is_found_before_the_work(monkeypatch):
    Path("s.npz").write_bytes(GOOD)

    def refuse(*_, **__):
        raise AssertionError("trained for nothing")

    monkeypatch.setattr(fp.DirectionPreserving, "fit", refuse)
    monkeypatch.setattr(fp.simulate, "gaussian_classes", refuse)
    check_refusal({}, [*CAL, "--output", "o.txt"], ["o.txt", ".npz, .csv or .parquet"])
    check_refusal({}, ["simulate", "classes", "o.txt"], ["o.txt", ".npz, .csv or .parquet"])


@pytest.mark.parametrize("there", [False, True], ids=["dangling", "to a file"])
def test_links_stay_links(there):
    Path("s.npz").write_bytes(GOOD)
    Path("folder").mkdir()
    if there:
        Path("folder/real").write_text("what was there", "utf-8")
    Path("t.json").symlink_to("folder/real")
    assert fastpsr(*RUN, "--json", "t.json").code == 0
    assert Path("t.json").is_symlink()
    assert Path("folder/real").read_text("utf-8").startswith("{")
    assert os.listdir("folder") == ["real"]


@pytest.mark.skipif(os.name != "posix", reason="needs pipes with names")
def test_what_is_no_file_is_written_to_as_it_is():
    Path("s.npz").write_bytes(GOOD)
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert fastpsr(*RUN, "--json", "pipe").code == 0
        out, _ = reader.communicate()
    assert out.startswith("{")
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("name", [f"{'x' * 250}.json", f"x.{'y' * 250}"], ids=["stem", "ending"])
def test_the_longest_names(name):
    with whole_file(name) as part:
        part.write_text("whole", "utf-8")
    assert os.listdir() == [name]
    assert Path(name).read_text("utf-8") == "whole"


@pytest.mark.parametrize("option", ["--json", "--csv", "--markdown", "--latex"])
def test_bad_places_are_found_before_the_work(monkeypatch, option):
    Path("s.npz").write_bytes(GOOD)

    def refuse(*_, **__):
        raise AssertionError("computed for nothing")

    monkeypatch.setattr(evaluate_tables, "evaluate_systems", refuse)
    assert fastpsr(*RUN, option, "no/t").code == 2


WRITERS = {  # what to run, and what writes
    ".npz": (["simulate", "classes", "o.npz"], "numpy.savez"),
    ".csv": (["simulate", "classes", "o.csv"], "polars.DataFrame.write_csv"),
    ".parquet": (["simulate", "classes", "o.parquet"], "polars.DataFrame.write_parquet"),
    "calibrate": ([*CAL, "--output", "o.npz"], "numpy.savez"),
    "--save": ([*CAL, "--save", "o.json"], "pathlib.Path.write_text"),
    "--json": ([*RUN, "--json", "o.json"], "pathlib.Path.write_text"),
    "--csv": ([*RUN, "--csv", "o.csv"], "pathlib.Path.write_text"),
    "--markdown": ([*RUN, "--markdown", "o.md"], "pathlib.Path.write_text"),
}


def interrupted_writer(monkeypatch, writer, error):
    def write_some(*arguments, **_):
        part = next(a for a in arguments if isinstance(a, (str, Path)))
        with open(part, "wb") as file:
            file.write(b"half of it")
        raise error

    monkeypatch.setattr(writer, write_some)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("existing", [False, True], ids=["new", "over a file"])
@pytest.mark.parametrize(("arguments", "writer"), WRITERS.values(), ids=WRITERS)
def test_full_disk(monkeypatch, arguments, writer, existing):
    Path("s.npz").write_bytes(GOOD)
    if existing:
        Path(arguments[-1]).write_text("what was there", "utf-8")
    before = snapshot()
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    interrupted_writer(monkeypatch, writer, error)
    outcome = fastpsr(*arguments)
    assert outcome.code == 2
    assert outcome.err.strip().startswith("error: ")
    assert "No space left on device" in outcome.err
    assert outcome.err.strip().count("\n") == 0
    assert snapshot() == before


def test_full_disk_names_the_file(monkeypatch):
    interrupted_writer(monkeypatch, "numpy.savez", OSError(errno.ENOSPC, "No space left on device"))
    assert fastpsr("simulate", "classes", "o.npz").err == "error: No space left on device: o.npz\n"


# Ctrl-C


@pytest.mark.parametrize(("arguments", "writer"), WRITERS.values(), ids=WRITERS)
def test_ctrl_c_while_writing(monkeypatch, arguments, writer):
    Path("s.npz").write_bytes(GOOD)
    interrupted_writer(monkeypatch, writer, KeyboardInterrupt())
    before = snapshot()
    outcome = fastpsr(*arguments)
    assert outcome.code == 130
    assert "Traceback" not in outcome.err
    assert snapshot() == before


def test_ctrl_c_while_computing(monkeypatch):
    Path("s.npz").write_bytes(GOOD)

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate_tables, "evaluate_systems", stop)
    assert fastpsr(*RUN, "--json", "t.json").code == 130
    assert os.listdir() == ["s.npz"]


HALF_WRITTEN = """
import os, signal, sys, time
from pathlib import Path
from fastpsr.cli import app
def slow(path, *_, **__):
    path.write_bytes(b"half of it")
    print("ready", os.listdir(), flush=True)
    time.sleep(600)
Path.write_text = slow
sys.exit(app.run())
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.slow
def test_sigterm_leaves_no_part_files():
    Path("s.npz").write_bytes(GOOD)
    with subprocess.Popen(
        [sys.executable, "-c", HALF_WRITTEN, *RUN, "--json", "t.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(),
    ) as process:
        while not (line := process.stdout.readline()).startswith("ready"):
            assert line
        assert ".part.json" in line
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
    assert (process.returncode, err) == (143, "stopped\n")
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


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a locale of ASCII")
def test_names_that_a_locale_has_no_letters_for():
    Path("\xfc.npz").write_bytes(GOOD)
    done = program("evaluate", "\xfc.npz", **ASCII)
    said = r"error: names must be text in ascii, but '{}\xc3\xbc.{}' is none: set PYTHONUTF8=1"
    assert (done.returncode, done.stderr) == (2, said.format("", "npz") + "\n")
    assert program("evaluate", "\xfc.npz", **ASCII | {"PYTHONUTF8": "1"}).returncode == 0
    Path("folder").mkdir()
    Path("folder/\xfc.parquet").write_bytes(b"")
    for path in ("folder", "folder/*.parquet"):
        done = program("evaluate", path, **ASCII)
        assert done.stderr == said.format("folder/", "parquet") + "\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a locale of ASCII")
def test_output_that_a_locale_has_no_letters_for():
    y = np.arange(40) % 2
    write("s.csv", label=y, größe=y / 2 + 0.2)
    done = program("evaluate", "s.csv", **ASCII)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"scores: gr\xf6\xdfe; labels: label" in done.stdout


def test_messages_are_a_line_each_in_a_pipe():
    name = f"{'long' * 20}.txt"
    write_trials()
    Path("a").rename(name)
    outcome = program("threshold", "--dcf", "0.01", "--key", "key", "--scores", name, COLUMNS="80")
    assert outcome.returncode == 0, outcome.stderr
    calibrated, key, scores, best, actual = outcome.stdout.splitlines()
    assert calibrated.startswith("calibrated LLRs: ")
    assert key.startswith("key: ")
    assert scores.startswith(f"{name}: ")
    assert best.startswith("best for these trials: ")
    assert best.endswith("scores taken as llr")
    assert actual.startswith("at the threshold of calibrated LLRs: ")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_from_outside():
    run = ["simulate", "trials", "o.npz", "--nontargets", "5000000"]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *run],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(),
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert os.listdir() == []
