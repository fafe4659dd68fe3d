"""What the command line refuses: one line that names the culprit, and nothing left behind."""

import io
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import (
    CAL,
    FOLDER,
    GOOD,
    RNG,
    RUN,
    Q,
    Y,
    check_refusal,
    fastpsr,
    npz,
    packed,
    parameters,
    program,
    surroundings,
)

Q3 = RNG.dirichlet([1, 1, 1], 42)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def changed(values, place, value):
    values = np.array(values, float)
    values[place] = value
    return values


def csv(*rows):
    return "\n".join(["label,score", *rows]).encode()


def archive(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


PARQUET = packed(lambda file: polars.DataFrame({"label": Y, "score": Q}).write_parquet(file))
DAMAGED = bytearray(packed(np.savez_compressed, label=Y, score=RNG.random(Y.size)))
DAMAGED[len(DAMAGED) * 5 // 8] ^= 0xFF


# Files of scores: content by name, and words that the message must have

FILES = {
    "no .npz": ({}, "s.npz", ["No such file", "s.npz"]),
    "no .npy": ({}, "s.npy", ["No such file", "s.npy"]),
    "no .csv": ({}, "s.csv", ["No such file", "s.csv"]),
    "no .parquet": ({}, "s.parquet", ["No such file", "s.parquet"]),
    "folder .npz": ({"s.npz": FOLDER}, "s.npz", ["s.npz"]),
    "folder .npy": ({"s.npy": FOLDER}, "s.npy", ["s.npy"]),
    "folder .csv": ({"s.csv": FOLDER}, "s.csv", ["s.csv"]),
    "other ending": ({"s.txt": b"0 1"}, "s.txt", ["s.txt", ".npz", ".npy", ".csv", ".parquet"]),
    "no ending": ({"s": GOOD}, "s", ["s must end in"]),
    "truncated .npz": ({"s.npz": GOOD[:-200]}, "s.npz", ["s.npz", "whole .npz"]),
    "truncated .npy": ({"s.npy": packed(np.save, Q)[:-9]}, "s.npy", ["s.npy", "whole .npy"]),
    "truncated .parquet": ({"s.parquet": PARQUET[:-50]}, "s.parquet", ["s.parquet", "Parquet"]),
    "damaged .npz": ({"s.npz": bytes(DAMAGED)}, "s.npz", ["s.npz", "whole .npz"]),
    "empty .npz": ({"s.npz": b""}, "s.npz", ["s.npz"]),
    "empty .npy": ({"s.npy": b""}, "s.npy", ["s.npy"]),
    "empty .csv": ({"s.csv": b""}, "s.csv", ["s.csv", "empty"]),
    "empty .parquet": ({"s.parquet": b""}, "s.parquet", ["s.parquet"]),
    "text as .npz": ({"s.npz": b"label,score"}, "s.npz", ["s.npz"]),
    "array as .npz": ({"s.npz": packed(np.save, Q)}, "s.npz", ["s.npz", ".npy"]),
    "archive as .npy": ({"s.npy": GOOD}, "s.npy", ["s.npy", "archive"]),
    "archive of nothing": ({"s.npz": archive()}, "s.npz", ["s.npz"]),
    "archive of text": ({"s.npz": archive(label="0", score="1")}, "s.npz", ["s.npz", "score"]),
    "objects": ({"s.npz": npz(score=np.array([None] * 40))}, "s.npz", ["s.npz"]),
    "labels alone": ({"s.npz": packed(np.savez, label=Y)}, "s.npz", ["s.npz", "column of scores"]),
    "header alone": ({"s.csv": csv()}, "s.csv", ["s.csv", "no rows"]),
    "ragged rows": ({"s.csv": csv("0,0.5", "1,0.5,0.5")}, "s.csv", ["s.csv"]),
    "semicolons": ({"s.csv": b"label;score\n0;0.5\n1;0.25\n"}, "s.csv", ["s.csv"]),
    "text among scores": ({"s.csv": csv("0,0.5", "1,high")}, "s.csv", ["score", "high"]),
    "text far down": ({"s.csv": csv(*["0,0.5"] * 300, "1,high")}, "s.csv", ["score", "high"]),
    "text as labels": ({"s.csv": csv("no,0.5", "yes,0.5")}, "s.csv", ["label", "no"]),
    "missing score": ({"s.csv": csv("0,0.5", "1,", "1,0.5")}, "s.csv", ["score", "[1]"]),
    "nan as NumPy writes it": ({"s.csv": csv("0,nan", "1,0.5")}, "s.csv", ["score[0] is nan"]),
    "text below nothing": ({"s.csv": csv("0,", "1,high")}, "s.csv", ["'high' in row 1"]),
    "no header": (
        {"s.csv": b"0,-1\n1,2\n0,-2\n"}, "s.csv", ["s.csv: the first line must be a header", "'-1'"]
    ),
    "no header, twice the same": (
        {"s.csv": b"0.5,0.5\n1,2\n"}, "s.csv", ["the first line must be a header", "'0.5'"]
    ),
    "no header, exponents": (
        {"s.csv": b"u1,0,1e-3\nu2,1,2\n"}, "s.csv", ["the first line must be a header", "'1e-3'"]
    ),
    "too large": ({"s.csv": csv("0,0.5", "1,1e400")}, "s.csv", ["score[1] is 1e400"]),
    "too large among inf": (
        {"s.csv": csv("0,-Inf", "1, inf", "1,-1e400")}, "s.csv", ["score[2] is -1e400"]
    ),
    "missing label": ({"s.csv": csv("0,0.5", ",0.25", "1,0.5")}, "s.csv", ["label", "[1]"]),
    "nan": ({"s.npz": npz(score=changed(Q, 7, np.nan))}, "s.npz", ["score", "[7]", "nan"]),
    "label 2": ({"s.npz": npz(label=changed(Y, 7, 2))}, "s.npz", ["label", "[7]", "2", "0 to 1"]),
    "label 0.5": ({"s.npz": npz(label=changed(Y, 7, 0.5))}, "s.npz", ["label", "[7]", "0.5"]),
    "sum not 1": (
        {"s.npz": npz(score=np.column_stack([Q, changed(1 - Q, 7, 0.99)]))},
        "s.npz",
        ["score", "sum to 1", "row 7"],
    ),
    "over 1": ({"s.npz": npz(score=changed(Q, 7, 1.5))}, "s.npz", ["score", "[7]", "1.5"]),
    "lengths": ({"s.npz": npz(label=Y[:9])}, "s.npz", ["label", "40", "9"]),
    "no samples": ({"s.npz": npz(label=Y[:0], score=Q[:0])}, "s.npz", ["s.npz has no rows"]),
    "cube": ({"s.npz": npz(score=np.ones((40, 2, 2)))}, "s.npz", ["score", "(40, 2, 2)"]),
    "weight nan": (
        {"s.npz": npz(weight=changed(Q, 7, np.nan))}, "s.npz", ["weight", "[7]", "nan"]
    ),
    "several arrays": ({"s.npz": npz(other=Q)}, "s.npz", ["--columns", "s.npz", "score, other"]),
    "no labels": ({"s.npz": packed(np.savez, score=Q)}, "s.npz", ["--labels"]),
    "no labels for .npy": ({"s.npy": packed(np.save, Q)}, "s.npy", ["--labels"]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy leaves a
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # truncated .npz file open
@pytest.mark.parametrize(("files", "path", "words"), parameters(FILES))
def test_files_of_scores(files, path, words):
    check_refusal(files, ["evaluate", path], words)


NAMES = {
    "backslash": (b"label,s\\d\n0,0.5\n1,high\n", [], ["s\\\\d", "high"]),
    "name of an argument": (
        b"lab,y_true\n0,0.5\n1,1.5\n",
        ["--labels", "lab"],
        ["y_true[1] is 1.5"],
    ),
}


@pytest.mark.parametrize(("content", "options", "words"), parameters(NAMES))
def test_unusual_names(content, options, words):
    check_refusal({"s.csv": content}, ["evaluate", "s.csv", *options], words)


@pytest.mark.parametrize("ending", ["npz", "npy", "csv", "parquet", "json"])
def test_unreadable_file(ending):
    name = f"s.{ending}"
    Path("good.npz").write_bytes(GOOD)
    Path(name).write_bytes(GOOD)
    Path(name).chmod(0)
    if os.access(name, os.R_OK):
        pytest.skip("this user reads all files")
    run = ["evaluate", name] if ending != "json" else ["evaluate", "good.npz", "--costs", name]
    outcome = fastpsr(*run)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert name in outcome.err


# Options

NPY = {"s.npy": packed(np.save, Q), "y.npy": packed(np.save, Y)}
SEVERAL = {"s.npz": npz(other=Q[:9])}
THREE = {"s.npz": npz(label=np.arange(42) % 3, score=Q3)}
OPTIONS = {
    "--labels": ({"s.npz": GOOD}, [*RUN, "--labels", "y"], ["s.npz", "'y'", "label, score"]),
    "--columns": ({"s.npz": GOOD}, [*RUN, "--columns", "x"], ["s.npz", "'x'", "label, score"]),
    "--columns, one of two": ({"s.npz": GOOD}, [*RUN, "--columns", "score,x"], ["s.npz", "'x'"]),
    "--weights": ({"s.npz": GOOD}, [*RUN, "--weights", "w"], ["s.npz", "'w'", "label, score"]),
    "no name": ({"s.npz": GOOD}, [*RUN, "--labels", ""], ["s.npz", "''"]),
    "unlike lengths": (SEVERAL, [*RUN, "--columns", "score,other"], ["s.npz", "40", "9"]),
    "--columns of .npy": (NPY, ["evaluate", "s.npy", "--columns", "s"], ["--columns", "s.npy"]),
    "--labels of .npy": (NPY, ["evaluate", "s.npy", "--labels", "no.npy"], ["No such", "no.npy"]),
    "--priors, sum": ({"s.npz": GOOD}, [*RUN, "--priors", "0.5,0.6"], ["--priors", "1.1"]),
    "--priors, one": ({"s.npz": GOOD}, [*RUN, "--priors", "0.5"], ["--priors must sum to 1"]),
    "--priors, one 1": ({"s.npz": GOOD}, [*RUN, "--priors", "1"], ["--priors must", "2, not 1"]),
    "--priors, three": ({"s.npz": GOOD}, [*RUN, "--priors", "0.5,0.3,0.2"], ["--priors", "not 3"]),
    "--priors, words": ({"s.npz": GOOD}, [*RUN, "--priors", "a,b"], ["--priors", "'a,b'"]),
    "--priors, nothing": ({"s.npz": GOOD}, [*RUN, "--priors", ""], ["--priors", "''"]),
    "--priors, nan": ({"s.npz": GOOD}, [*RUN, "--priors", "nan,1"], ["priors[0]", "nan"]),
    "--priors, negative": ({"s.npz": GOOD}, [*RUN, "--priors", "-0.5,1.5"], ["priors[0]", "-0.5"]),
    "--priors of LLRs": (
        {"s.npz": GOOD}, [*RUN, "--scores-are", "llr", "--priors", "0.5,0.6"], ["--priors", "1.1"]
    ),
    "--priors of LLRs, 0": (
        {"s.npz": GOOD}, [*RUN, "--scores-are", "llr", "--priors", "0,1"],
        ["--priors", "above 0", "'0,1'"],
    ),
    "--priors of LLRs, one": (
        {"s.npz": GOOD}, [*RUN, "--scores-are", "llr", "--priors", "0.5"],
        ["--priors must be two numbers", "'0.5'"],
    ),
    "--priors of raw scores": (
        {"s.npz": GOOD}, [*RUN, "--scores-are", "raw", "--priors", "0.5,0.5"], ["--priors", "raw"]
    ),
    "rows needed": ({"s.npz": GOOD}, [*RUN, "--scores-are", "log-posteriors"], ["(40,)"]),
    "binary needed": (THREE, [*RUN, "--scores-are", "llr"], ["one column, not 3 (score)"]),
    "one column needed": (
        {"s.csv": b"label,a,b\n0,1,2\n1,3,4\n"}, ["evaluate", "s.csv", "--scores-are", "raw"],
        ["one column, not 2 (a, b)", "--columns"],
    ),
    "names of trials": (
        {"s.csv": b"id,label,q\nx1,0,0.2\nx2,1,0.7\n"}, ["evaluate", "s.csv"],
        ["'id'", "'x1'", "--columns"],
    ),
    "one of several columns": (
        {"s.csv": b"label,a,b\n0,0.5,0.5\n1,0.5,7\n"}, ["evaluate", "s.csv"],
        ["scores must lie in 0 to 1", "but b[1] is 7", "; other kinds of scores need --scores-are"],
    ),
    "--folds 1": ({"s.npz": GOOD}, [*RUN, "--folds", "1"], ["--folds", "2"]),
    "--folds 1 for calibrate": (
        {"s.npz": GOOD}, ["calibrate", "s.npz", "--folds", "1", "--output", "o.npz"],
        ["--folds", "2"],
    ),
    "--dcf": ({}, [*RUN, "--dcf", "2"], ["--dcf", "between 0 and 1", "'2'"]),
    "--dcf of three classes": (THREE, [*RUN, "--dcf", "0.1"], ["--dcf", "binary", "3 classes"]),
    "a score file of trials": ({"s.txt": b"a b 1"}, ["evaluate", "s.txt"], ["--scores"]),
    "--calibrator": (THREE, [*RUN, "--calibrator", "pav"], ["PAV", "binary", "3 classes"]),
    "--calibrator for calibrate": (
        THREE, ["calibrate", "s.npz", "--calibrator", "pav", "--output", "o.npz"],
        ["PAV", "binary", "3 classes"],
    ),
    "separable": (
        {"s.npz": npz(score=0.3 + 0.4 * Y)}, ["calibrate", "s.npz", "--output", "o.npz"],
        ["separate the classes perfectly", ": pass --calibrator pav --floor 0.001"],
    ),
    "--floor": (
        {"s.npz": GOOD}, [*RUN, "--calibrator", "pav", "--floor", "0.5"], ["--floor must", "0.5"]
    ),
    "--floor nan": (
        {"s.npz": GOOD}, [*RUN, "--calibrator", "pav", "--floor", "nan"], ["--floor must", "nan"]
    ),
    "--floor of raw scores": (
        {"s.npz": GOOD}, [*RUN, "--scores-are", "raw", "--calibrator", "pav", "--floor", "0.1"],
        ["raw scores"],
    ),
    "--floor for calibrate": (
        {"s.npz": GOOD}, [*CAL, "--scores-are", "raw", "--output", "o.npz", "--floor", "0.1"],
        ["--floor must be 0 for raw scores, which have no posteriors to clip, not 0.1"],
    ),
    "--prior": (
        {"s.npz": GOOD}, [*CAL, "--output", "o.npz", "--prior", "1"],
        ["--prior must lie strictly between 0 and 1, not 1.0"],
    ),
    "--prior of three classes": (
        THREE, [*CAL, "--output", "o.npz", "--prior", "0.1"],
        ["--prior must be left out for more than two classes, here 3, not 0.1"],
    ),
    "too many folds": (
        {"s.npz": GOOD}, [*RUN, "--folds", "21"], ["--folds must not outnumber", "20, folds is 21"]
    ),
    "too many folds for compare": (
        {"s.npz": GOOD, "t.npz": GOOD}, ["compare", "s.npz", "t.npz", "--folds", "21"],
        ["--folds must not outnumber", "20, folds is 21"],
    ),
    "very many folds": (
        {"s.npz": GOOD}, [*RUN, "--folds", "10001"],
        ["--folds must be an integer of 2 to 10,000, not 10001"],
    ),
    "--seed of replicates": (
        {"s.npz": GOOD}, [*RUN, "--ci", "0.9", "--seed", "-1"],
        ["--seed must be an integer of at least 0, not -1"],
    ),
    "raw scores in bins": (
        {"s.npz": GOOD},
        [*CAL, "--scores-are", "raw", "--calibrator", "histogram", "--output", "o.npz"],
        ["--calibrator histogram must not be given raw scores", "use dp, "],
    ),
    "--targets": ({}, ["simulate", "trials", "o.npz", "--targets", "-1"], ["targets", "-1"]),
    "--seed": ({}, ["simulate", "classes", "o.npz", "--seed", "-1"], ["seed", "-1"]),
    "--classes": ({}, ["simulate", "classes", "o.npz", "--classes", "1"], ["classes", "1"]),
    "--variance": ({}, ["simulate", "classes", "o.npz", "--variance", "nan"], ["variance", "nan"]),
    "too many trials": (
        {}, ["simulate", "trials", "o.npz", "--nontargets", "1000000000000000"], ["memory"]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "arguments", "words"), parameters(OPTIONS))
def test_options(files, arguments, words):
    check_refusal(files, arguments, words)


# Costs

COSTS = {
    "none": (None, "c.json", ["No such file", "c.json"]),
    "folder": (FOLDER, "c.json", ["c.json"]),
    "empty .json": (b"", "c.json", ["c.json"]),
    "empty .csv": (b"", "c.csv", ["c.csv"]),
    "truncated": (b"[[0, 1], [1", "c.json", ["c.json", "JSON"]),
    "object": (b'{"a": 1}', "c.json", ["c.json", "matrix"]),
    "null": (b"null", "c.json", ["c.json", "matrix"]),
    "vector": (b"[0, 1]", "c.json", ["c.json", "2-dimensional"]),
    "ragged .json": (b"[[0, 1], [1]]", "c.json", ["c.json", "must have 2 costs, but row 1 has 1"]),
    "ragged .csv": (b"0\n1,0\n", "c.csv", ["c.csv", "must have 2 costs, but row 0 has 1"]),
    "a row and a number": (b"[[0, 1], 1]", "c.json", ["c.json", "but row 1 is 1"]),
    "a cost of several": (b"[[0, [1]], [1, 0]]", "c.json", ["c.json", "costs[0, 1] is [1]"]),
    "words": (b"a,b\n1,0\n", "c.csv", ["c.csv", "'a'"]),
    "nan": (b"[[0, NaN], [1, 0]]", "c.json", ["c.json", "costs[0, 1]", "nan"]),
    "nan in .csv": (b"0,1\nnan,0\n", "c.csv", ["c.csv", "costs[1, 0]", "nan"]),
    "infinite": (b"0,1\ninf,0\n", "c.csv", ["c.csv", "costs[1, 0]", "inf"]),
    "three rows": (b"[[0, 1], [1, 0], [1, 1]]", "c.json", ["costs", "2, not 3"]),
    "one row": (b"0,1\n", "c.csv", ["c.csv", "row per class"]),
    "binary": (bytes(range(128, 256)), "c.csv", ["c.csv"]),
    "huge number": (b"[[0, 1" + b"0" * 400 + b"], [1, 0]]", "c.json", ["c.json"]),
    "nested deeply": (b"[" * 100_000, "c.json", ["c.json"]),
}


@pytest.mark.parametrize(("content", "path", "words"), parameters(COSTS))
def test_costs(content, path, words):
    files = {"s.npz": GOOD} | ({} if content is None else {path: content})
    check_refusal(files, [*RUN, "--costs", path], words)


# Calibrators: more of their files in test_calibrator_files.py

USE = ("--apply", "s.npz", "--output", "o.npz")
LOAD = ("calibrate", "--load", "f.json", *USE)
CALIBRATE = {
    "nothing": ((), ["calibrate"], ["file to train on", "--load"]),
    "no result": ((), [*CAL], ["--output", "--save"]),
    "train and load": ((), [*CAL, "--load", "f.json", *USE], ["--load"]),
    "--apply without --output": ((), [*CAL, "--apply", "s.npz"], ["--apply needs --output"]),
    "--load without --apply": ((), ["calibrate", "--load", "f.json"], ["--load", "--apply"]),
    "no file": ((), ["calibrate", "--load", "no.json", *USE], ["No such file", "no.json"]),
    "folder": ((), ["calibrate", "--load", "folder", *USE], ["folder"]),
    "no JSON": ((), ["calibrate", "--load", "s.npz", *USE], ["s.npz", "calibrator saved by"]),
    "another kind": ((), ["calibrate", "--load", "c.json", *USE], ["c.json", "calibrator saved"]),
    "truncated": ((), ["calibrate", "--load", "cut.json", *USE], ["cut.json", "calibrator saved"]),
    "other scores": (
        (), ["calibrate", "--load", "f.json", *USE, "--scores-are", "llr"],
        ["posteriors", "likelihoods"],
    ),
    "other classes": (
        (), ["calibrate", "--load", "f.json", "--apply", "3.npz", "--output", "o.npz"], ["2", "3"]
    ),
    "nothing to train on": ((), ["calibrate", "no.npz", *USE], ["No such file", "no.npz"]),
    "nothing to apply to": ((), [*CAL, "--apply", "no.npz", "--output", "o.npz"], ["no.npz"]),
    "train and apply with load": (
        (), [*LOAD, "n.npz"], ["--apply takes one file: n.npz is one too many beside s.npz"]
    ),
    "train with load": (
        (), [*CAL, "--load", "f.json", "--output", "o.npz"], ["--load needs --apply", "not s.npz"]
    ),
    "--key with load": ((), [*LOAD, "--key", "k"], ["--key has no use with --load", "--apply"]),
    "--scores with load": ((), [*LOAD, "--scores", "k"], ["--scores has no use with --load"]),
    "two score files": (
        (), [*CAL, "--key", "k", "--scores", "t", "--output", "o"],
        ["--scores takes one file: s.npz is one too many beside t"],
    ),
    "a table with a key": (
        (), [*CAL, "--key", "k", "--output", "o"], ["--key needs --scores FILE", "s.npz is a table"]
    ),
    "no format": (
        (), ["calibrate", "--load", "a.json", *USE], ["a.json", "saved by fastpsr: it has no 'fo"]
    ),
    "unknown calibrator": (
        (), ["calibrate", "--load", "foo.json", *USE],
        ["foo.json", "calibrator must be one of 'DirectionPreserving', ", "not 'Foo'"],
    ),
    "unlabeled": ((), ["calibrate", "u.npz", "--output", "o.npz"], ["--labels"]),
    "bad among two files": ((), [*CAL, "--apply", "n.npz", "--output", "o.npz"], ["n.npz", "[7]"]),
}  # fmt: skip


LOADED = {
    "--calibrator": "pav",
    "--floor": "0",
    "--folds": "3",
    "--save": "x.json",
    "--prior": ".1",
}
CALIBRATE |= {  # what has no meaning is refused, not ignored
    f"{option} {why}": ((), [*run, option, value], [option, why])
    for why, run, options in [
        ("--load", LOAD, LOADED),
        ("cross-fitting", [*CAL, *USE], {"--folds": "3"}),
        ("cross-fitting", [*CAL, "--save", "x.json"], {"--folds": "3"}),
        ("table of scores", [*CAL, "--output", "o.npz"], {"--nan": "drop", "--speakers": "m"}),
    ]
    for option, value in options.items()
}


@pytest.mark.parametrize(("_", "arguments", "words"), parameters(CALIBRATE))
def test_calibrate(_, arguments, words):
    fp.save_calibrator(fp.DirectionPreserving().fit(fp.Predictions.from_posteriors(Y, Q)), "f.json")
    files = {
        "s.npz": GOOD, "folder": FOLDER, "c.json": b"[[0, 1], [1, 0]]", "3.npz": THREE["s.npz"],
        "cut.json": Path("f.json").read_bytes()[:150], "u.npz": packed(np.savez, score=Q),
        "n.npz": npz(score=changed(Q, 7, np.nan)), "a.json": b'{"a": 1}',
        "foo.json": Path("f.json").read_bytes().replace(b"DirectionPreserving", b"Foo"),
    }  # fmt: skip
    check_refusal(files, arguments, words)


# The command as a program, and usage errors


def test_as_a_program():
    done = program("evaluate", "no.npz")
    message = "error: No such file or directory: no.npz\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="needs pipes that end their writer")
@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "s.npz"],
        pytest.param(["evaluate", "s.npz", "--csv", "-"], marks=pytest.mark.slow),
        pytest.param(["--help"], marks=pytest.mark.slow),
    ],
)
def test_a_reader_that_leaves_is_no_error(arguments):
    """As `| head -1` does: nothing is said, and the exit code is that of other programs."""
    Path("s.npz").write_bytes(GOOD)
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "fastpsr", *arguments],
            stdout=write, stderr=subprocess.PIPE, text=True, env=surroundings(),
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.returncode == 128 + signal.SIGPIPE
    assert not re.search("^error|Exception|Traceback", done.stderr, re.MULTILINE)
    assert "--csv" in arguments or done.stderr == ""


def test_errors_are_not_printed_to_stdout():
    Path("s.npz").write_bytes(npz(label=Y + 5))
    done = program("evaluate", "s.npz", "--json", "t.json")
    assert done.returncode == 2
    assert "error" not in done.stdout
    assert os.listdir() == ["s.npz"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["valuate"], ["valuate"]),
        (["evaluate"], ["file"]),
        (["evaluate", "s.npz", "more.npz"], ["more.npz"]),
        (["evaluate", "s.npz", "--folds", "two"], ["--folds"]),
        (["evaluate", "s.npz", "--scores-are", "tea"], ["--scores-are': 'tea' is ", "posteriors"]),
        (["evaluate", "s.npz", "--calibrator", "platt"], ["--calibrator", "platt", "temperature"]),
        (["evaluate", "s.npz", "--color", "red"], ["--color"]),
        (["simulate", "nothing"], ["nothing"]),
        (["simulate", "trials"], ["output"]),
        (["simulate", "challenge"], ["folder"]),
        (["simulate", "classes", "o.npz", "--system", "abc"], ["--system", "abc", "mcps"]),
    ],
)
def test_usage(arguments, words):
    outcome = fastpsr(*arguments)
    assert outcome.code == 2
    assert [word for word in words if word not in outcome.err.lower()] == []
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert os.listdir() == []


SEVERAL_TIMES = {
    "evaluate": {"--equalize", "--priors", "--ci", "--missing", "--json"},
    "compare": {"--weights", "--resamples"},
    "calibrate": {"--scores", "--apply", "--output", "--calibrator"},
    "fuse": {"--prior", "--output", "--quality-terms", "--load"},
    "threshold": {"--dcf", "--scores"},
    "demo": {"--seed", "--report"},
    "simulate trials": {"--seed", "--targets"},
    "simulate challenge": {"--seed", "--targets"},
    "simulate classes": {"--seed", "--system"},
}


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, options in SEVERAL_TIMES.items() for option in sorted(options)],
)
def test_options_given_twice(command, option):
    """Refused rather than the first one ignored."""
    message = f"error: {option} must be given once, not 2 times\n"
    for values in (("a", "a"), ("a", "b")):
        outcome = fastpsr(*command.split(), f"{option}={values[0]}", option, values[1])
        assert (outcome.code, outcome.out, outcome.err) == (2, "", message)


def test_a_switch_given_twice():
    outcome = fastpsr("evaluate", "s", "--transpose", "--no-transpose")
    assert outcome.err == "error: --transpose must be given once, not 2 times\n"


def test_header_of_numbers():
    """Plain integers, as pandas writes them, and numbers besides words above numbers."""
    for header in ("0,1", "label,0.5"):
        Path("s.csv").write_text(f"{header}\n0,0.25\n1,0.75\n0,0.5\n")
        assert fastpsr("evaluate", "s.csv", "--labels", header.split(",")[0]).code == 0


def test_infinite_numbers_in_text():
    Path("s.csv").write_text("label,llr\n0,-inf\n1, 0.5\n0,-1\n1,Infinity\n")
    outcome = fastpsr("calibrate", "s.csv", "--scores-are", "llr", "--calibrator", "pav",
                      "--output", "o.csv", "--apply", "s.csv")  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert (
        "o.csv: 4 rows of y_true, llr (natural logarithms); scores that are -inf: 2, "
        in outcome.out
    )


def test_notes_have_the_options():
    Path("s.npz").write_bytes(npz(score=0.3 + 0.4 * Y))
    assert fastpsr(*RUN, "--json", "t.json").code == 0
    assert ": pass --calibrator pav --floor 0.001" in Path("t.json").read_text("utf-8")


def test_environment(monkeypatch):
    """Not an error of a file."""
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "abc")
    Path("s.npz").write_bytes(GOOD)
    outcome = fastpsr(*RUN)
    assert outcome.code == 2
    assert outcome.err == "error: FASTPSR_NUM_THREADS must be a positive integer, not 'abc'\n"


def test_brackets_in_names_are_printed():
    outcome = fastpsr("simulate", "classes", "[red]o.npz", "--samples", "20")
    assert outcome.out.startswith("[red]o.npz: 20 samples")


def test_nothing_on_disk_is_executed():
    """Pickles could run code: they are refused whatever they hold."""
    Path("s.npy").write_bytes(packed(np.save, np.array([{}], object), allow_pickle=True))
    check_refusal({}, ["evaluate", "s.npy"], ["s.npy", "pickle"])
