"""`fastpsr join`, and `fastpsr evaluate` of what it writes, read part by part."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fastpsr as fp
from tests.commands import fastpsr, program, strict_json, succeed, surroundings

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

N = 600


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FASTPSR_MEMORY", raising=False)
    write(N)


def write(n):
    """Write a key and scores of n trials: `a` in the key's order, `b` in another."""
    rng = np.random.default_rng(0)
    side = int(np.ceil(np.sqrt(n)))
    pairs = rng.permutation(side * side)[:n]
    y = rng.random(n) < 0.2
    frame = pl.DataFrame(
        {
            "e": pl.Series(pairs // side).cast(pl.String) + "/enrolment/00001.wav",
            "t": pl.Series(pairs % side).cast(pl.String) + "/test/00001.wav",
            "y": np.where(y, "target", "nontarget"),
            "s": rng.normal(4.0 * y - 2.0, 2.0).round(5),
        }
    )
    plain = {"separator": " ", "include_header": False}
    frame.select("e", "t", "y").write_csv("key", **plain)
    frame.select("e", "t", "s").write_csv("a", **plain)
    frame.select("e", "t", "s").sample(fraction=1.0, shuffle=True, seed=1).write_csv("b", **plain)


JOIN = ("join", "--key", "key", "--scores")


def test_join_says_what_it_did():
    out = succeed(*JOIN, "a", "b", "--output", "trials.parquet", "--speaker-pattern", "^[0-9]+")
    with pytest.warns(fp.errors.ResultWarning, match="target trials are of two speakers"):
        made = fp.trials.read("key", "b").with_speakers(pattern="^[0-9]+")
    assert out.splitlines() == [
        "key: kaldi-trials; column 1: enroll; column 2: test; column 3: label (target/nontarget)",
        "a: kaldi-scores; column 1: enroll; column 2: test; column 3: score",
        "b: kaldi-scores; column 1: enroll; column 2: test; column 3: score",
        made.notes[-1],
        "a: in the order of the key; column a",
        "b: in another order than the key; column b",
        f"trials.parquet: 600 trials, {int(made.y_true.sum())} of them targets; "
        "columns target, a, b, enroll, test, enroll_speaker, test_speaker",
    ]
    frame = pl.read_parquet("trials.parquet")
    assert frame["b"].to_numpy().tobytes() == made.score.tobytes()
    assert frame["a"].to_numpy().tobytes() == made.score.tobytes()


def test_several_keys_and_names_of_columns():
    lines = Path("key").read_text().splitlines(keepends=True)
    Path("one").write_text("".join(lines[:200]))
    Path("two").write_text("".join(lines[200:]))
    succeed(*JOIN, "x=a", "y=b", "--output", "whole.parquet")
    keys = ("--key", "one", "--key", "two")
    out = succeed("join", *keys, "--scores", "x=a", "y=b", "--output", "o.parquet")
    assert "\ntwo: kaldi-trials; column 1: enroll" in out
    assert "a: in the order of the key; column x" in out
    frame = pl.read_parquet("o.parquet")
    assert frame.columns == ["target", "x", "y", "enroll", "test"]
    assert frame.equals(pl.read_parquet("whole.parquet"))


def test_targets_and_nontargets_and_standard_input():
    rows = [line.rsplit(" ", 1) for line in Path("key").read_text().splitlines()]
    for word in ("target", "nontarget"):
        Path(word).write_text("".join(f"{ids}\n" for ids, label in rows if label == word))
    succeed(*JOIN, "a", "--output", "o.parquet")
    expected = pl.read_parquet("o.parquet")
    both = ("--targets", "target", "--nontargets", "nontarget")
    out = succeed("join", *both, "--scores", "a", "--output", "o.parquet")
    assert "target: pairs; column 1: enroll; column 2: test; all are targets\n" in out
    assert pl.read_parquet("o.parquet").equals(
        expected.sort("target", descending=True, maintain_order=True)
    )
    done = program(*JOIN, "-", "--output", "p.parquet", stdin=Path("a").read_text())
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet("p.parquet").equals(expected)
    refused = fastpsr("join", "--scores", "a", "--output", "o.parquet")
    assert refused.err == "error: give --key, or --targets with --nontargets\n"


def test_policies_are_options():
    lines = Path("a").read_text().splitlines()
    Path("a").write_text("\n".join([*lines[1:], lines[5], "x y 1.0"]) + "\n")
    run = fastpsr(*JOIN, "a", "--output", "o.parquet")
    assert run.code == 2
    assert run.err == fastpsr("evaluate", "--key", "key", "--scores", "a").err
    for option in ("--duplicates first", "--missing drop", "--extra ignore"):
        assert option in run.err.split(": pass ")[1]
    assert not Path("o.parquet").exists()
    out = succeed(*JOIN, "a", "--output", "o.parquet", "--missing", "drop", "--extra", "ignore",
                  "--duplicates", "first")  # fmt: skip
    assert out.count("left out: ") == 3
    for option in ("--missing drop", "--extra ignore", "--duplicates first"):
        assert f"): {option}\n" in out
    assert pl.read_parquet("o.parquet").height == N - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "--output", "o.csv"), "--output must end in .parquet, as o.csv does not"),
        (("a", "--output", "none/o.parquet"), "No such folder for the file: none/o.parquet"),
        (("none", "--output", "o.parquet"), "No such file or directory: none"),
        (("key", "--output", "o.parquet"), "are key and scores swapped?"),
        (("a", "--output", "o.parquet", "--format", "x"), "--format"),
        (("a", "--output", "o.parquet", "--key-columns", "label=x"), "--key-columns is for files"),
        (("a", "--output", "o.parquet", "--columns", "label=x"), "--columns is for files that"),
        (("a", "--output", "o.parquet", "--speaker-columns", "a,b"), "--speaker-columns must"),
        (("a", "a", "--output", "o.parquet"), "must name each file once, but names a again"),
        (("x=a", "b", "--output", "o.parquet"), "--scores must name all files or none: b needs"),
        (("x=a", "x=b", "--output", "o.parquet"), "each file a name of its own, not x twice"),
        (("a",), "--output"),
    ],
)
def test_refusals(arguments, message):
    before = set(os.listdir())
    run = fastpsr(*JOIN, *arguments)
    assert run.code == 2
    assert run.err.startswith("error: ")
    assert message in run.err
    assert set(os.listdir()) == before


SLOW = """
import signal, sys
from fastpsr.cli import app
from fastpsr.trials.joining.database import Database
from fastpsr.trials.joining.parquet_writer import ParquetWriter
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
where, kind = sys.argv.pop(), globals()[sys.argv.pop()]
before = getattr(kind, where)
def slow(*given, **options):
    import os, time
    found = before(*given, **options)
    print("ready", os.listdir(), flush=True)
    time.sleep(600)
    return found
setattr(kind, where, slow)
sys.argv[0] = "fastpsr"
sys.exit(app.run())
"""


needs_signals = pytest.mark.skipif(os.name != "posix", reason="needs signals")


@needs_signals
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("scores", "kind", "where"),
    [
        ("a", "ParquetWriter", "add"),
        ("b", "Database", "load"),
        ("b", "Database", "match"),
        ("b", "Database", "rows_between"),
    ],
)
def test_stopped_it_leaves_nothing(how, scores, kind, where):
    """At each of its steps, in the middle of the work."""
    before = set(os.listdir())
    run = subprocess.Popen(
        [sys.executable, "-P", "-c", SLOW, *JOIN, scores, "--output", "o.parquet", kind, where],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings(),
    )  # fmt: skip
    line = run.stdout.readline()
    assert line.startswith("ready"), run.communicate()[1]
    if scores == "b":
        assert ".parts" in line
    run.send_signal(how)
    _, err = run.communicate()
    assert run.returncode == (130 if how == signal.SIGINT else 143)
    assert err.strip() == "stopped"
    assert set(os.listdir()) == before


@needs_signals
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("scores", ["a", "b"])
@pytest.mark.parametrize("seconds", [0.1, 0.6, 2.0, 4.0])
def test_stopped_at_any_time_it_leaves_nothing_half_written(how, scores, seconds):
    write(1_000_000)
    before = set(os.listdir())
    code = SLOW.replace('print("ready", os.listdir(), flush=True)', "").replace(
        "sleep(600)", "sleep(0)"
    )
    code = code.replace("import signal, sys", 'import signal, sys\nprint("ready", flush=True)', 1)
    run = subprocess.Popen(
        [sys.executable, "-P", "-c", code, *JOIN, scores, "--output", "o.parquet", "ParquetWriter",
         "add"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings(),
    )  # fmt: skip
    run.stdout.readline()
    while run.poll() is None and not set(os.listdir()) - before:
        time.sleep(0.01)  # until it has begun to write
    time.sleep(seconds)
    run.send_signal(how)
    _, err = run.communicate()
    left = set(os.listdir()) - before
    if left:  # it came to its end, maybe while the signal was under way
        assert left == {"o.parquet"}
        assert run.returncode in (0, 130, 143, -how)
        assert pl.read_parquet("o.parquet", columns=["target"]).height == 1_000_000
    else:
        assert run.returncode in (130, 143)
        assert err.strip() == "stopped"


# Evaluation part by part


def in_parts(n_files=3):
    """Join, and split the file into several with small row groups."""
    succeed(*JOIN, "a", "--output", "trials.parquet", "--speaker-pattern", "^[0-9]+")
    frame = pl.read_parquet("trials.parquet")
    os.mkdir("parts")
    for k, rows in enumerate(np.array_split(np.arange(frame.height), n_files)):
        frame[rows].write_parquet(f"parts/{k}.parquet", row_group_size=70)
    return frame


def table(*arguments):
    """Return what is printed of a table, without the lines of the parts and of what is written."""
    lines = succeed("evaluate", *arguments).splitlines()
    kept = [line for line in lines if "read in" not in line and "written: " not in line]
    return kept, "read in" in "\n".join(lines)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("where", ["parts/*.parquet", "parts", "parts/**/[0-9].parquet"])
@pytest.mark.parametrize(
    "options",
    [
        ("--scores-are", "llr"),
        ("--scores-are", "llr", "--columns", "llr", "--dcf", "0.01", "--priors", "0.9,0.1"),
        ("--scores-are", "log10-llr", "--priors", "0.9,0.1"),
        ("--scores-are", "raw"),
        ("--scores-are", "logits", "--columns", "llr", "--labels", "target"),
    ],
)
def test_patterns_and_folders_give_the_table_of_memory(where, options):
    in_parts()
    memory, in_memory = table("trials.parquet", *options, "--json", "m.json")
    parts, streamed = table(where, *options, "--json", "p.json")
    assert (in_memory, streamed) == (False, True)
    assert parts == memory
    rows = [strict_json(name)["rows"] for name in ("m.json", "p.json")]
    for ours, theirs in zip(*rows, strict=True):
        assert ours["metric"] == theirs["metric"]
        assert ours["value"] == pytest.approx(theirs["value"], rel=1e-9)


def test_large_files_are_read_part_by_part(monkeypatch):
    in_parts()
    options = ("trials.parquet", "--scores-are", "llr")
    memory, in_memory = table(*options)
    monkeypatch.setenv("FASTPSR_MEMORY", "30KB")
    parts, streamed = table(*options)
    assert (in_memory, streamed) == (False, True)
    assert parts == memory


def test_intervals_of_parts():
    in_parts()
    options = ("--scores-are", "llr", "--resamples", "40", "--seed", "3")
    parts, _ = table("parts", *options, "--resample", "enroll_speaker")
    memory, _ = table(
        "trials.parquet", *options, "--resample", "enroll_speaker", "--columns", "llr"
    )
    assert [line.split()[0] for line in parts] == [line.split()[0] for line in memory]
    parts, _ = table("parts", *options)
    memory, _ = table("trials.parquet", *options)
    assert [line.split()[0] for line in parts] == [line.split()[0] for line in memory]
    for lines in (parts, memory):
        assert any("resampling speaker" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none/*.parquet",), "No file fits the pattern: none/*.parquet"),
        (("empty",), "empty: there are no files *.parquet in this folder"),
        (("*",), "must mean Parquet files alone"),
        (("parts", "--columns", "nope"), "parts has no column 'nope'; it has target, llr"),
        (("parts", "--labels", "nope"), "parts has no column 'nope'"),
        (("parts", "--scores-are", "llr", "--columns", "llr,llr"), "llr scores must be one"),
        (("parts", "--scores-are", "llr", "--resample", "x", "--ci", "0.9"), "a column of parts"),
        (("parts", "--scores-are", "llr", "--report", "r.html"), "--report draws all scores"),
        (("parts/0.parquet", "parts/1.parquet"), "quote a pattern"),
    ],
)
def test_refusals_of_parts(arguments, message):
    in_parts()
    os.mkdir("empty")
    run = fastpsr("evaluate", *arguments)
    assert run.code == 2
    assert message in run.err
