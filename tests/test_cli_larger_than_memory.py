"""`fastpsr evaluate --key` of lists that memory cannot hold: joined, and read part by part."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.commands import fastpsr, program, strict_json, succeed

pytest.importorskip("pyarrow")

N = 10_000
EVALUATE = ("evaluate", "--key", "the key.csv", "--scores")
FILES = ("--scores", "a.txt", "--metrics", "EER")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pairs, y = rng.permutation(N), rng.random(N) < 0.2
    frame = pl.DataFrame(
        {
            "enroll": pl.Series(pairs // 100).cast(pl.String) + "-e",
            "test": pl.Series(pairs % 100).cast(pl.String) + "-t",
            "label": np.where(y, "target", "nontarget"),
            "channel": np.where(pairs % 3 == 0, "near", "far"),
            "score": rng.normal(4.0 * y - 2.0, 2.0).round(5),
        }
    )
    frame.drop("score").write_csv("the key.csv")
    plain = {"separator": " ", "include_header": False}
    for name in "ab":
        frame.select("enroll", "test", "score").write_csv(f"{name}.txt", **plain)
    monkeypatch.setenv("FASTPSR_MEMORY", "500KB")


def refused(*arguments):
    run = fastpsr(*arguments)
    assert run.code == 2
    assert run.out == ""
    return run.err


SAID = (
    "the key.csv with scores takes at least about 1 MB of memory, and 500 KB may be used: the "
    "trials are joined into a temporary file, and read part by part"
)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--by", "channel", "--dcf", "0.05", "--dcf", "0.01"),
        ("--scores-are", "raw", "--allow", "missing", "--metrics", "EER,minCllr"),
        ("--key-format", "label=label", "--priors", "0.9,0.1", "--folds", "3"),
    ],
)
def test_values_are_those_of_memory(options, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    said = succeed(*EVALUATE, "a.txt", *options, "--json", "parts.json")
    assert said.startswith(SAID)
    assert "read in 1 part" in said
    assert [*(tmp_path / "temporary").iterdir()] == []
    monkeypatch.setenv("FASTPSR_MEMORY", "1GB")
    succeed(*EVALUATE, "a.txt", *options, "--json", "memory.json")
    check_alike()


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_several_systems_are_columns_of_one_file(command, monkeypatch):
    systems = ("x=a.txt", "b.txt")
    more = ("--scores-are", "log10-llr", "--scores-are", "llr", "--by", "channel")
    if command == "compare":
        more += ("--metrics", "EER,Cllr", "--resamples", "40")
    given = (command, "--key", "the key.csv", "--scores")
    assert SAID in succeed(*given, *systems, *more, "--json", "parts.json")
    assert list(Path().glob("*.parquet")) == []
    monkeypatch.setenv("FASTPSR_MEMORY", "1GB")
    succeed(*given, *systems, *more, "--json", "memory.json")
    check_alike()


def check_alike():
    """Compare the values of both files."""
    ours, theirs = (
        {(r["system"], r["metric"], r["group"]): r["value"] for r in strict_json(path)["rows"]}
        for path in ("memory.json", "parts.json")
    )
    assert set(ours) == set(theirs)
    for name, value in ours.items():
        assert theirs[name] == pytest.approx(value, rel=1e-12)


def test_where_values_would_differ_it_is_refused():
    options = ("--scores-are", "log10-llr", "--speakers", "pattern:^[0-9]+", "--allow", "extra")
    assert refused(*EVALUATE, "a.txt", *options) == (
        "error: the key.csv with scores takes at least about 1 MB of memory, and 500 KB may be "
        "used: set FASTPSR_MEMORY to more if they fit, or join them by fastpsr join, and evaluate "
        "the file with --labels target --columns SYSTEM --scores-are llr (RCL then has folds of "
        "trials)\n"
    )


def test_what_takes_all_trials_is_refused():
    for options, name in (
        (("--output", "r.html"), "--output r.html"),
        (("--equalize", "channel"), "--equalize"),
    ):
        message = refused(*EVALUATE, "a.txt", *options)
        assert message.endswith(f"FASTPSR_MEMORY to more if they fit, or leave out {name}\n")


def test_systems_have_the_names_of_memory():
    """Files may be called as columns of the joined file are, or as each other."""
    names = ("a.txt", "c/a.txt", "weight.txt", "target", "x,b.txt", "enroll.csv", "channel")
    Path("c").mkdir()
    for name in names[1:]:
        Path(name).write_bytes(Path("a.txt").read_bytes())
    run = succeed(*EVALUATE, *names, "--by", "channel", "--metrics", "EER", "--json", "t.json")
    assert run.startswith(SAID)
    assert {row["system"] for row in strict_json("t.json")["rows"]} == {*names}


def test_archives_pipes_and_small_lists():
    Path("k.gz").write_bytes(gzip.compress(Path("the key.csv").read_bytes()))
    shown = succeed("evaluate", "--key", "k.gz", *FILES)
    assert "k.gz with scores takes at least about " in shown
    assert SAID.partition(": ")[2] in shown
    run = program(*EVALUATE, "-", stdin=Path("a.txt").read_text())
    assert run.returncode == 0, run.stderr
    lines = Path("the key.csv").read_text().splitlines(keepends=True)
    Path("few").write_text("".join(lines[:4000]))
    succeed("evaluate", "--key", "few", "--scores", "a.txt", "--allow", "extra")


@pytest.mark.parametrize("line", [1, N])
def test_spoofed_trials_are_told_apart_in_memory_alone(line, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    lines = Path("the key.csv").read_text().splitlines()
    words = lines[line].split(",")
    lines[line] = ",".join([*words[:2], "spoof", *words[3:]])
    Path("spoofed.csv").write_text("\n".join(lines) + "\n")
    run = fastpsr("evaluate", "--key", "spoofed.csv", "--scores", "a.txt", "--metrics", "EER")
    assert run.code == 2
    assert "llr (spoofed trials are non-targets)" in run.err
    assert "EER" not in run.out
    assert [*(tmp_path / "temporary").iterdir()] == []
