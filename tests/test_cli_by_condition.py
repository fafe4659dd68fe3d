"""`fastpsr calibrate --by` and `select --by`: what fp.ByCondition returns, written and printed."""

import json
import re
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import fastpsr, succeed, write

N = 800
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
SECONDS = np.round(RNG.gamma(2.0, 5.0, N), 1)
GENDER = np.where(RNG.random(N) < 0.5, "f", "m")
X = np.round(np.where(SECONDS > 8.0, 3.0, 1.0) * (1.5 * Y + RNG.normal(size=N)), 4)
SPEAKERS = [[f"a{i}" for i in side] for side in RNG.integers(0, 30, (2, N))]
BY = {"seconds": SECONDS, "gender": GENDER}
MAKER = fp.ByCondition(min_per_class=40, bins={"seconds": 2})
OPTIONS = ["--by", "seconds,gender", "--bins", "seconds=2", "--min-per-class", "40"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = [(f"{a}/{i}", f"{b}/{i}") for i, (a, b) in enumerate(zip(*SPEAKERS, strict=True))]
    rows = list(zip(ids, Y, X, SECONDS, GENDER, strict=True))
    word = ["nontarget", "target"]
    write_lines("key.tsv", "enroll test label seconds gender",
                [(*i, word[y], s, g) for i, y, _, s, g in rows])  # fmt: skip
    write_lines("s.tsv", "enroll test score", [(*i, x) for i, _, x, _, _ in rows])
    write_lines("new.tsv", "enroll test score seconds gender",
                [(*i, x, s, g) for i, _, x, s, g in rows])  # fmt: skip


def write_lines(path, head, rows):
    lines = [head.split(), *(map(str, row) for row in rows)]
    Path(path).write_text("".join("\t".join(line) + "\n" for line in lines), "utf-8")


def fail(*arguments):
    outcome = fastpsr(*arguments)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    return outcome.err


def written(path):
    return polars.read_csv(path, separator="\t")["score"].to_numpy()


TRIALS = ["calibrate", "--key", "key.tsv", "--scores", "s.tsv", "--scores-are", "raw", *OPTIONS]


def test_cross_fitted_trials():
    out = succeed(*TRIALS, "--output", "o.tsv", "--speaker-pattern", "^[^/]+", "--folds", "4")
    data = fp.Predictions.from_raw_scores(Y, X)
    train = fp.CrossFit(4, groups=tuple(SPEAKERS))
    expected = fp.cross_fit(MAKER, data, train, by=BY)
    np.testing.assert_allclose(written("o.tsv"), expected.scores, rtol=1e-9)
    table = str(MAKER.fit(data, BY))
    assert table in out
    one = fp.cross_fit(fp.DirectionPreserving(), data, train)
    nce = [fp.CrossEntropy()(each) for each in (one, expected)]
    assert f"one calibrator for all {nce[0]:.4f}, by condition {nce[1]:.4f}\n" in out


def test_applied_and_saved_trials():
    succeed(*TRIALS, "--apply", "new.tsv", "--output", "o.tsv", "--save", "c.json")
    fitted = MAKER.fit(fp.Predictions.from_raw_scores(Y, X), BY)
    data = fp.Predictions.from_raw_scores(None, X)
    np.testing.assert_allclose(written("o.tsv"), fitted.transform(data, BY).scores, rtol=1e-12)
    loaded = fp.load_calibrator("c.json")
    assert loaded.groups_ == fitted.groups_
    load = ["calibrate", "--load", "c.json", "--scores-are", "raw", "--output", "p.tsv"]
    out = succeed(*load, "--apply", "new.tsv")
    assert str(fitted) in out
    assert written("p.tsv").tolist() == written("o.tsv").tolist()
    message = "s.tsv: conditions of c.json must name a column of the files"
    assert message in fail(*load, "--apply", "s.tsv")
    assert "s.tsv: --by must name a column" in fail(*TRIALS, "--apply", "s.tsv", "--output", "o")
    assert "--by has no use with --load" in fail(*load, "--apply", "new.tsv", "--by", "gender")


def test_new_conditions_are_warned_of():
    text = Path("new.tsv").read_text("utf-8")
    Path("new.tsv").write_text(re.sub(r"\tf$", "\tx", text, count=3, flags=re.MULTILINE), "utf-8")
    outcome = fastpsr(*TRIALS, "--apply", "new.tsv", "--output", "o.tsv")
    assert outcome.code == 0
    assert "3 samples are of conditions that the training data do not have" in outcome.err


def test_tables():
    columns = {"y_true": Y, "llr": X, "seconds": SECONDS, "gender": GENDER}
    polars.DataFrame(columns).write_csv("t.csv")
    run = ["calibrate", "t.csv", "--columns", "llr", "--scores-are", "llr", *OPTIONS]
    succeed(*run, "--output", "o.csv")
    data = fp.Predictions.from_llrs(Y, X)
    got = polars.read_csv("o.csv")["llr"].to_numpy()
    np.testing.assert_allclose(got, fp.cross_fit(MAKER, data, by=BY).llrs, rtol=1e-12)
    del columns["y_true"]
    polars.DataFrame(columns).write_csv("u.csv")
    succeed(*run, "--apply", "u.csv", "--output", "o.csv")
    got = polars.read_csv("o.csv")["llr"].to_numpy()
    np.testing.assert_allclose(got, MAKER.fit(data, BY).transform(data, BY).llrs, rtol=1e-12)
    assert "t.csv has no column 'color'" in fail(*run[:6], "--by", "color", "--output", "o.csv")


def test_columns_may_be_repeated():
    options = ["--by", "seconds", "--by", "gender", "--bins", "seconds=2"]
    succeed(*TRIALS[:7], *options, "--min-per-class", "40", "--save", "c.json")
    assert fp.load_calibrator("c.json").columns_ == ("seconds", "gender")


@pytest.mark.parametrize(
    "names", [["dp"], pytest.param(["dp", "pav-laplace"], marks=pytest.mark.slow)], ids=len
)
def test_select(names):
    out = succeed(
        "select", *TRIALS[1:], "--calibrators", ",".join(names), "--resamples", "40",
        "--seed", "1", "--save", "c.json", "--json", "s.json",
    )  # fmt: skip
    data = fp.Predictions.from_raw_scores(Y, X)
    chosen = {"dp": MAKER.calibrator, "pav-laplace": fp.PAV(laplace=True)}
    candidates = {name: chosen[name] for name in names}
    for name in names:
        candidates[f"{name} by condition"] = fp.ByCondition(chosen[name], 40, {"seconds": 2})
    expected = fp.select(
        data, candidates, by=BY, n_resamples=40, seed=1, resampling=fp.IID(), train=fp.CrossFit(5)
    )
    found = json.loads(Path("s.json").read_text("utf-8"))
    assert [row["name"] for row in found["table"]] == list(candidates)
    scores = [row["score"] for row in found["table"]]
    np.testing.assert_allclose(scores, [each.score for each in expected.table], rtol=1e-9)
    assert found["chosen"] == expected.chosen == "dp by condition"
    assert "dp by condition*" in out
    assert fp.load_calibrator("c.json").groups_ == expected.calibrator.groups_


def test_select_on_a_table():
    write("t.npz", y_true=Y, s=X, seconds=SECONDS)
    out = succeed("select", "t.npz", "--columns", "s", "--scores-are", "llr", "--by", "seconds",
                  "--bins", "2", "--calibrators", "none,dp")  # fmt: skip
    names = [line.split("  ")[0] for line in out.splitlines()]
    assert {"none", "dp", "dp by condition*"} <= set(names)
    assert "none by condition" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bins", "3"], "--bins is for conditions: give --by too"),
        (["--min-per-class", "3"], "--min-per-class is for conditions: give --by too"),
        (["--by", "color"], "--by must name a column of the files (seconds, gender), not 'color'"),
        (["--by", "seconds"], "--by seconds must have at most 20 different numbers"),
        (["--by", "gender", "--bins", "3"], "--bins are for columns of numbers"),
        (["--by", "seconds", "--bins", "x"], "--bins must be a number of bins"),
        (["--by", "gender", "--bins", "seconds=2"], "--bins must be for columns of --by"),
    ],
)
@pytest.mark.parametrize("command", ["calibrate", "select"])
def test_bad_options(command, arguments, words):
    output = ["--output", "o.tsv"] if command == "calibrate" else []
    message = fail(command, *TRIALS[1:7], *arguments, *output)
    assert words in message.replace("columns of by:", "columns of --by:")


# Fusion


FUSE = ["fuse", "--key", "key.tsv", "--scores", "s.tsv", "--scores", "t.tsv", "--scores-are", "raw",
        *OPTIONS]  # fmt: skip
FUSION = fp.ByCondition(fp.LinearFusion(), min_per_class=40, bins={"seconds": 2})


@pytest.fixture
def second():
    """Scores of another system."""
    z = np.round(Y + np.random.default_rng(1).normal(size=N), 4)
    for path, more in (("t.tsv", "label"), ("u.tsv", "label seconds gender")):
        source = polars.read_csv("s.tsv" if more == "label" else "new.tsv", separator="\t")
        source.with_columns(score=z).write_csv(path, separator="\t")
    return {"s": fp.Predictions.from_raw_scores(Y, X), "t": fp.Predictions.from_raw_scores(Y, z)}


def test_fusion_by_condition(second):
    out = succeed(*FUSE, "--metrics", "Cllr", "--output", "o.tsv", "--json", "o.json",
                  "--resamples", "40", "--report", "o.html")  # fmt: skip
    expected = fp.cross_fit(FUSION, second, by=BY)
    np.testing.assert_allclose(written("o.tsv"), expected.scores, rtol=1e-9)
    fitted = FUSION.fit(second, BY)
    assert str(fitted) in out
    content = json.loads(Path("o.json").read_text())
    values = {row["system"]: row["value"] for row in content["rows"]}
    assert values["fused"] == fp.Cllr()(expected)
    one = fp.Cllr()(fp.cross_fit(fp.LinearFusion(), second))
    assert values["without conditions"] == one
    for name, own in zip(fitted.groups_, fitted.own_, strict=True):
        shown = content["fusion"]["conditions"][name]
        assert (shown is None) == (own is None)
        if own is not None:
            assert [*shown["weights"].values()] == own.weights_.tolist()
            assert (
                f"fusion of {name} at a prior of 0.5, in natural logarithms: rank 2 of 2 columns"
                in out
            )
    assert [*content["fusion"]["weights"].values()] == fitted.pooled_.weights_.tolist()


def test_a_fusion_by_condition_is_applied_and_saved(second):
    applied = ["--apply", "new.tsv", "--apply", "u.tsv"]
    succeed(
        *FUSE,
        "--metrics",
        "Cllr",
        "--resamples",
        "40",
        *applied,
        "--output",
        "o.tsv",
        "--save",
        "f.json",
    )
    expected = FUSION.fit(second, BY).transform(second, BY)
    np.testing.assert_allclose(written("o.tsv"), expected.scores, rtol=1e-9)
    succeed("fuse", "--load", "f.json", *applied, "--scores-are", "raw", "--output", "p.tsv")
    assert Path("p.tsv").read_text() == Path("o.tsv").read_text()
    error = fail("calibrate", "--load", "f.json", "--apply", "new.tsv", "--output", "q.tsv")
    assert "f.json is a fusion of several systems: use fastpsr fuse --load" in error
    error = fail("fuse", "--load", "f.json", "--apply", "s.tsv", "--apply", "t.tsv",
                 "--scores-are", "raw", "--output", "q.tsv")  # fmt: skip
    assert "seconds" in error
