"""`fastpsr join`, and `fastpsr evaluate` of what it writes, read part by part."""

import os
import signal
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import check_refusal, fastpsr, program, strict_json, succeed
from tests.golden.files import write_files

pytest.importorskip("pyarrow")

JOIN = ("join", "--key", "key", "--scores")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FASTPSR_MEMORY", raising=False)
    write_files()


def test_join_says_what_it_did():
    out = succeed(
        *JOIN, "a.txt", "b.txt", "--output", "o.parquet", "--speakers", "pattern:^id[0-9]+"
    )
    trials = fp.trials.read("key", "b.txt").with_speakers("pattern:^id[0-9]+")
    assert out.splitlines() == [
        "key: kaldi-trials; column 1: enroll; column 2: test; column 3: label (target/nontarget)",
        "a.txt: kaldi-scores; column 1: enroll; column 2: test; column 3: score",
        "b.txt: kaldi-scores; column 1: enroll; column 2: test; column 3: score",
        trials.notes[-1],
        "a.txt: in the order of the key; column a",
        "b.txt: in another order than the key; column b",
        "o.parquet: 192 trials, 60 of them targets; "
        "columns target, a, b, enroll, test, enroll_speaker, test_speaker",
    ]
    frame = polars.read_parquet("o.parquet")
    assert frame["target"].to_list() == trials.y_true.tolist()
    for name in "ab":
        scores = fp.trials.read("key", f"{name}.txt").score
        assert frame[name].to_numpy().tobytes() == scores.tobytes()
    few = ["--metrics", "EER,Cllr", "--resamples", "40", "--resample", "iid", "--json"]
    columns = ["--columns", "a", "--columns", "b", "--scores-are", "llr"]
    succeed("compare", "o.parquet", *columns, *few, "o.json")
    succeed("compare", "--key", "key", "a=a.txt", "b=b.txt", *few, "t.json")
    assert strict_json("o.json")["differences"] == strict_json("t.json")["differences"]


def test_lists_of_targets():
    lines = Path("key").read_text("utf-8").splitlines(keepends=True)
    pairs = [line.rsplit(" ", 1) for line in lines]
    for word in ("target", "nontarget"):
        ids = (f"{pair}\n" for pair, label in pairs if label == f"{word}\n")
        Path(word).write_text("".join(ids), "utf-8")
    succeed(*JOIN, "x=a.txt", "y=b.txt", "--output", "whole.parquet")
    whole = polars.read_parquet("whole.parquet")
    assert whole.columns == ["target", "x", "y", "enroll", "test"]
    both = ("--key", "target=target", "--key", "nontarget=nontarget")
    succeed("join", *both, *JOIN[3:], "x=a.txt", "y=b.txt", "--output", "o.parquet")
    order = whole.sort("target", descending=True, maintain_order=True)
    assert polars.read_parquet("o.parquet").equals(order)
    done = program(*JOIN, "-", "--output", "p.parquet", stdin=Path("a.txt").read_text("utf-8"))
    assert done.returncode == 0, done.stderr
    assert polars.read_parquet("p.parquet")["llr"].equals(whole["x"].alias("llr"))


def test_policies_are_options():
    lines = Path("a.txt").read_text("utf-8").splitlines()
    Path("a.txt").write_text("\n".join([*lines[1:], lines[5], "x y 1.0"]) + "\n", "utf-8")
    refused = fastpsr(*JOIN, "a.txt", "--output", "o.parquet")
    assert refused.err == fastpsr("evaluate", "--key", "key", "--scores", "a.txt").err
    remedy = refused.err.rstrip("\n").split(": pass ")[1]
    words = remedy.removeprefix("--allow ").split(",")
    assert {*words} == {"missing", "extra", "duplicates"}
    out = succeed(*JOIN, "a.txt", "--output", "o.parquet", *remedy.split())
    assert all(f"): --allow {word}\n" in out for word in words)
    assert polars.read_parquet("o.parquet").height == 191


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("a.txt --output none/o.parquet", "No such folder for the file: none/o.parquet"),
        ("key --output o.parquet", "are key and scores swapped?"),
        ("a.txt --output o.parquet --key-format label=x", "--key-format names columns"),
        ("a.txt a.txt --output o.parquet", "--scores must name each file once"),
        ("x=a.txt x=b.txt --output o.parquet", "each file a name of its own, not x twice"),
    ],
)
def test_what_is_refused(arguments, words):
    check_refusal({}, [*JOIN, *arguments.split()], [words])
    check_refusal(
        {}, ["join", "--scores", "a.txt", "--output", "o.parquet"], ["give --key KEY, or"]
    )


STOPPED = """
import os, signal, sys
import pyarrow.parquet
from fastpsr.cli import app
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
class Stopping(pyarrow.parquet.ParquetWriter):
    def write_table(self, *arguments, **options):
        super().write_table(*arguments, **options)
        print(os.listdir(), flush=True)
        os.kill(os.getpid(), {number})
pyarrow.parquet.ParquetWriter = Stopping
sys.exit(app.run())
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_leaves_nothing(number):
    before = {*os.listdir()}
    code = STOPPED.format(number=int(number))
    done = program(*JOIN, "b.txt", "--output", "o.parquet", code=code)
    assert ".part" in done.stdout
    assert done.returncode == (130 if number == signal.SIGINT else 143)
    assert done.stderr.strip() == "stopped"
    assert {*os.listdir()} == before


# Evaluation part by part


def write_parts():
    """Join, and split the file into several with small row groups."""
    succeed(*JOIN, "a.txt", "--output", "whole.parquet", "--speakers", "pattern:^id[0-9]+")
    frame = polars.read_parquet("whole.parquet")
    Path("parts").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(frame.height), 3)):
        frame[rows].write_parquet(f"parts/{k}.parquet", row_group_size=30)


def table(*arguments):
    """Return what is printed of a table without the line of parts, and whether there is one."""
    lines = succeed("evaluate", *arguments).splitlines()
    return [line for line in lines if "read in" not in line], "read in" in "\n".join(lines)


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("parts/*.parquet", "--scores-are llr --columns llr --dcf 0.01 --priors 0.9,0.1"),
        ("parts", "--scores-are log10-llr --priors 0.9,0.1"),
        ("parts/**/[0-9].parquet", "--scores-are raw"),
        ("parts", "--scores-are logits --columns llr --labels target"),
    ],
)
def test_patterns_and_folders_give_the_table_of_memory(path, options, monkeypatch):
    write_parts()
    in_memory = table("whole.parquet", *options.split())
    assert table(path, *options.split()) == (in_memory[0], True)
    monkeypatch.setenv("FASTPSR_MEMORY", "5KB")
    assert table("whole.parquet", *options.split()) == (in_memory[0], True)
    assert not in_memory[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("none/*.parquet", "No file fits the pattern: none/*.parquet"),
        ("empty", "empty: there are no files *.parquet or *.pq in this folder"),
        ("*", "must mean Parquet files alone"),
        ("parts --columns nope", "parts has no column 'nope'; it has target, llr"),
        ("parts --labels nope", "parts has no column 'nope'"),
        ("parts --scores-are llr --resample x --ci 0.9", "parts has no column 'x'"),
        ("parts --scores-are llr --output r.html", "a report draws all scores"),
        ("parts/0.parquet parts/1.parquet", "quote a pattern"),
    ],
)
def test_what_is_refused_of_parts(arguments, words):
    write_parts()
    Path("empty").mkdir()
    assert words in fastpsr("evaluate", *arguments.split()).err
