"""Run the commands, write what they read, read what they write, and check what they refuse."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.cli import app, show

# COLUMNS decides, not what it was when they were made
show.console._width = show.errors._width = None


@dataclass
class Outcome:
    code: int
    out: str
    err: str


def fastpsr(*arguments, columns=250):
    """Run the command in this process, on a wide screen."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["fastpsr", *map(str, arguments)]),
        mock.patch.dict(os.environ, {"COLUMNS": str(columns), "TERM": "dumb"}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = app.run()
    return Outcome(code, out.getvalue(), err.getvalue())


def succeed(*arguments, **options):
    outcome = fastpsr(*arguments, **options)
    assert outcome.code == 0, outcome.err
    return outcome.out


def surroundings(**environment):
    """Return the environment of a process that finds the package and these tests, and compiles."""
    folders = Path(fp.__file__).parents[1], Path(__file__).parents[1]  # one, if not installed
    path = os.pathsep.join(map(str, folders))
    return os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "0"} | environment


def program(*arguments, code=None, stdin=None, **environment):
    """Run the command, or Python code, in a process of its own."""
    start = ["-m", "fastpsr"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, "-P", *start, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=surroundings(**environment),
    )


# The program, where Ctrl-C is to reach it
INTERRUPTIBLE = """
import signal, sys
from fastpsr.cli import app
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
print("ready", flush=True)
sys.exit(app.run())
"""


# Files


def data(K=2, n=240, seed=0):
    """Labels, logits and weights."""
    rng = np.random.default_rng([seed, K])
    y = rng.permutation(np.arange(n) % K)
    return y, rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y], rng.integers(1, 9, n) / 4.0


def write(path, **columns):
    """Write columns by the ending of the path; .npy: each to a file of its own."""
    path = Path(path)
    if path.suffix == ".npz":
        np.savez(path, **columns)
        return
    if path.suffix == ".npy":
        for name, values in columns.items():
            np.save(f"{name}.npy", values)
        return
    flat = {}
    for name, values in columns.items():
        if values.ndim == 1:
            flat[name] = values
        else:
            flat |= {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}
    frame = polars.DataFrame(flat)
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)


@dataclass
class Trials:
    """A simulated trial list with the LLRs of two systems."""

    made: fp.simulate.TrialList
    llrs: dict  # by the name of the file
    session: np.ndarray

    def predictions(self, system, rows=slice(None), **options):
        return fp.Predictions.from_llrs(self.made.y_true[rows], self.llrs[system][rows], **options)

    def speakers(self, rows=slice(None)):
        """As the files name them."""
        sides = self.made.enroll_speaker, self.made.test_speaker
        return tuple(side[rows].astype(str) for side in sides)


def write_trials(n_target=300, n_nontarget=1500, n_sessions=5, n_speakers=30):
    """Write a key and the scores of systems a and b, those of b in another order."""
    made = fp.simulate.trial_list(n_target, n_nontarget, n_speakers=n_speakers, seed=1)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(2, made.llr.size))
    llrs = {"a": 0.3 * made.llr + noise[0], "b": 0.2 * made.llr + noise[1]}
    session = rng.integers(0, n_sessions, made.llr.size)
    ids = [f"m{e}\ts{t}" for e, t in zip(made.enroll, made.test, strict=True)]
    columns = zip(ids, made.y_true, session, *Trials(made, llrs, session).speakers(), strict=True)
    rows = [f"{i}\t{('non', '')[y]}target\t{s}\t{e}\t{t}\n" for i, y, s, e, t in columns]
    head = "modelid\tsegmentid\ttargettype\tsession\tby\tof\n"
    Path("key").write_text(head + "".join(rows), "utf-8")
    for name, values in llrs.items():
        lines = [f"{i} {x!r}\n" for i, x in zip(ids, values.tolist(), strict=True)]
        Path(name).write_text("".join(lines if name == "a" else lines[::-1]), "utf-8")
    return Trials(made, llrs, session.astype(str))


def strict_json(path):
    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    return json.loads(Path(path).read_text("utf-8"), parse_constant=refuse)


def check_rows(evaluation, path="t.json", system=None):
    """Check that a JSON file has the groups, metrics and numbers of an evaluation."""

    def numbers(row):
        values = [row[name] for name in ("value", "low", "high", "n_undefined")]
        return [np.nan if value is None else float(value) for value in values]

    rows = [row for row in strict_json(path)["rows"] if system in (None, row["system"])]
    expected = evaluation.to_dict()["rows"]
    names = [(row["group"], row["metric"]) for row in rows]
    assert names == [(row["group"], row["metric"]) for row in expected]
    for row, expected_row in zip(rows, expected, strict=True):
        close = pytest.approx(numbers(expected_row), rel=1e-9, abs=1e-12, nan_ok=True)
        assert numbers(row) == close, row["metric"]


def check_differences(evaluation, path="t.json"):
    """Check that a JSON file has the differences of an evaluation."""
    assert strict_json(path)["differences"] == evaluation.to_dict()["differences"]


def read(path):
    """Columns of a written file, those of several numbered parts put together."""
    if path.endswith(".npz"):
        with np.load(path) as archive:
            return {name: archive[name] for name in archive.files}
    frame = polars.read_csv(path) if path.endswith(".csv") else polars.read_parquet(path)
    columns, parts = {}, {}
    for name in frame.columns:
        stem, _, number = name.rpartition("_")
        if number.isdigit():
            parts.setdefault(stem, []).append(frame[name].to_numpy())
        else:
            columns[name] = frame[name].to_numpy()
    return columns | {stem: np.column_stack(each) for stem, each in parts.items()}


# What is refused

Y = np.arange(40) % 2
Q = np.clip(0.5 * Y + np.random.default_rng(0).normal(0.25, 0.3, Y.size), 0.05, 0.95)
FOLDER = object()


def packed(save, *values, **named):
    buffer = io.BytesIO()
    save(buffer, *values, **named)
    return buffer.getvalue()


def npz(**changes):
    return packed(np.savez, **({"label": Y, "score": Q} | changes))


GOOD = npz()


def snapshot():
    return {str(path): path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


def check_refusal(files, arguments, words):
    """Check that a command ends with one line of an error, and leaves the files as they are."""
    for name, content in files.items():
        if content is FOLDER:
            Path(name).mkdir()
        else:
            Path(name).write_bytes(content)
    before = snapshot()
    outcome = fastpsr(*arguments)
    assert outcome.code == 2, outcome
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert outcome.err.endswith("\n")
    assert ".part" not in outcome.err
    assert not re.search(r"\b[a-z_]+=('|\{| |True|False)", outcome.err), "an argument of Python"
    assert [word for word in words if word not in outcome.err] == []
    assert snapshot() == before
