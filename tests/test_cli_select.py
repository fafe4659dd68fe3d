"""`fastpsr select`: it prints, writes and saves what fp.select returns."""

import json
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import fastpsr, succeed, write


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def fail(*arguments):
    outcome = fastpsr(*arguments)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    return outcome.err


def table(n=600, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    z = 2.0 * (rng.normal(size=(n, K)) + np.eye(K)[y])
    return y, z


CANDIDATES = {"none": None, "dp": fp.DirectionPreserving(), "pav-laplace": fp.PAV(laplace=True)}


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_of_a_table(rule):
    y, z = table()
    write("s.npz", y_true=y, s=z)
    out = succeed(
        "select", "s.npz", "--scores-are", "logits", "--calibrators", ",".join(CANDIDATES),
        "--rule", rule, "--json", "r.json", "--save", "m.json", "--folds", 4, "--ci", 0.9,
        "--resamples", 50, "--resample", "iid", "--seed", 3,
    )  # fmt: skip
    data = fp.Predictions.from_logits(y, z)
    found = fp.select(
        data, CANDIDATES, {"log": fp.rules.Log(), "brier": fp.rules.Brier()}[rule], fp.CrossFit(4),
        n_resamples=50, confidence_level=0.9, seed=3,
    )  # fmt: skip
    assert str(found) in out
    content = json.loads(Path("r.json").read_text())
    assert content["score"] == found.score
    assert content["table"] == found.to_dict()["table"]
    saved = fp.load_calibrator("m.json")
    np.testing.assert_array_equal(
        saved.transform(data).scores, found.calibrator.transform(data).scores
    )


@pytest.mark.slow
def test_of_trials_with_speakers():
    made = fp.simulate.trial_list(400, 1_600, n_speakers=40, seed=1)
    lines = [f"e{i} t{i} {'target' if y else 'nontarget'}\n" for i, y in enumerate(made.y_true)]
    Path("key").write_text("".join(lines))
    scores = [f"e{i} t{i} {2.0 * llr!r}\n" for i, llr in enumerate(made.llr.tolist())]
    Path("scores").write_text("".join(scores))
    names = {f"e{i}": s for i, s in enumerate(made.enroll_speaker.tolist())}
    names |= {f"t{i}": s for i, s in enumerate(made.test_speaker.tolist())}
    Path("speakers").write_text("".join(f"{a} s{b}\n" for a, b in names.items()))
    run = ["select", "--key", "key", "--scores", "scores", "--calibrators"]
    out = succeed(*run, "none,dp,beta", "--speakers", "speakers", "--simplest", "--resamples", 40,
                  "--ci", 0.95, "--folds", 6, "--save", "m.json")  # fmt: skip
    data = fp.Predictions.from_llrs(made.y_true, 2.0 * made.llr)
    speakers = (made.enroll_speaker, made.test_speaker)
    found = fp.select(
        data,
        {"none": None, "dp": fp.DirectionPreserving(), "beta": fp.BetaCalibration()},
        train=fp.CrossFit(6, groups=tuple(np.array([f"s{i}" for i in s]) for s in speakers)),
    )
    assert f"chosen: {found.chosen}; nested NCE {found.score:.4f}" in out
    assert "simplest: dp" in out
    assert isinstance(fp.load_calibrator("m.json"), fp.DirectionPreserving)
    without = succeed(*run, "none,dp")
    assert "chosen" in without


@pytest.mark.parametrize(
    ("K", "are", "expected"),
    [
        (2, "logits", {"none", "temperature", "dp", "beta", "spline", "pav-laplace", "venn-abers"}),
        (2, "raw", {"temperature", "dp", "pav-laplace", "venn-abers"}),
        (3, "logits", {"none", "temperature", "dp", "vector", "matrix"}),
    ],
)
def test_candidates_by_default(K, are, expected):
    y, z = table(900, K)
    write("s.npz", y_true=y, s=z if are == "logits" else z[:, 1] - z[:, 0])
    succeed("select", "s.npz", "--scores-are", are, "--json", "r.json")
    rows = json.loads(Path("r.json").read_text())["table"]
    assert {row["name"] for row in rows} == expected


def test_candidates_that_do_not_suit_are_told():
    y, z = table(900)
    write("s.npz", y_true=y, s=z[:, 1] - z[:, 0], sample_weight=np.linspace(0.5, 1.5, 900))
    printed = succeed("select", "s.npz", "--scores-are", "raw")
    assert "left out: none, beta, spline, venn-abers, since raw scores have no" in printed
    printed = succeed("select", "s.npz", "--scores-are", "logits")
    assert "left out: venn-abers, since samples have weights" in printed


@pytest.mark.slow
def test_speakers_that_are_drawn_of_a_table_are_kept_apart():
    trials = fp.simulate.trial_list(3_000, 9_000, n_speakers=150, seed=0)
    columns = {"enroll_speaker": trials.enroll, "test_speaker": trials.test}
    write("s.npz", target=trials.y_true, llr=trials.llr, **columns)
    run = ["select", "s.npz", "--columns", "llr", "--scores-are", "llr", "--calibrators", "none,dp"]
    drawn = ["--ci", "0.6", "--resamples", "8"]
    succeed(*run, *drawn, "--json", "r.json")
    found = fp.select(
        fp.Predictions.from_llrs(trials.y_true, trials.llr),
        {"none": None, "dp": fp.DirectionPreserving()},
        train=fp.CrossFit(10, groups=(trials.enroll, trials.test)),
    )
    assert json.loads(Path("r.json").read_text())["score"] == found.score
    succeed(*run, *drawn, "--resample", "iid", "--json", "r.json")
    assert json.loads(Path("r.json").read_text())["score"] != found.score


def test_no_calibration_is_not_saved():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4_000) * 2.0
    y = (rng.random(x.size) < 1 / (1 + np.exp(-x))).astype(int)
    write("s.npz", y_true=y, s=x)
    run = ["select", "s.npz", "--scores-are", "logits", "--calibrators", "none,histogram"]
    assert "chosen: none" in succeed(*run)
    assert "the best is none, which is no map" in fail(*run, "--save", "m.json")
    assert not Path("m.json").exists()


def test_parquet_files_are_read_in_parts():
    trials = fp.simulate.trial_list(200, 2_000, n_speakers=40, seed=0)
    frame = polars.DataFrame({
        "target": trials.y_true, "llr": trials.llr,
        "enroll_speaker": trials.enroll, "test_speaker": trials.test,
    })  # fmt: skip
    Path("t").mkdir()
    frame[:900].write_parquet("t/a.parquet")
    frame[900:].write_parquet("t/b.parquet")
    frame.write_parquet("whole.parquet")
    run = ["--scores-are", "llr", "--calibrators", "none,dp"]
    found = []
    for path in ("t", "t/*.parquet", "whole.parquet"):
        succeed("select", path, *run, "--columns", "llr", "--json", "r.json", "--save", "m.json")
        found.append(json.loads(Path("r.json").read_text())["score"])
        assert isinstance(fp.load_calibrator("m.json"), fp.DirectionPreserving)
    assert found == pytest.approx([found[0]] * 3, rel=1e-9)
    assert "one file" in fail("calibrate", "t", "--scores-are", "llr", "--save", "m2.json")


REFUSED = {
    "no scores": (["select"], ["table of scores", "--key"]),
    "both": (["select", "s.npz", "--scores", "s.npz"], ["--scores", "s.npz"]),
    "rule": (["select", "s.npz", "--rule", "ece"], ["--rule", "proper"]),
    "calibrator": (["select", "s.npz", "--calibrators", "none,platt"], ["platt", "beta"]),
    "twice": (["select", "s.npz", "--calibrators", "dp,dp"], ["dp twice"]),
    "simplest": (["select", "s.npz", "--simplest"], ["--simplest", "--ci"]),
    "folds": (["select", "s.npz", "--folds", "2"], ["--folds"]),
    "speakers": (["select", "s.npz", "--speakers", "x"], ["--speakers", "trials"]),
    "seed": (["select", "s.npz", "--seed", "1"], ["--seed", "--ci"]),
    "interval": (["select", "s.npz", "--ci", ".9", "--interval", "bca"], ["--interval", "no use"]),
    "output": (["select", "s.npz", "--save", "s.npz"], ["--save", "s.npz"]),
    "raw": (
        ["select", "s.npz", "--scores-are", "raw", "--calibrators", "none,beta"], ["raw scores"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    y, z = table(100)
    write("s.npz", y_true=y, s=z[:, 1])
    command, words = REFUSED[name]
    error = fail(*command)
    for word in words:
        assert word in error
    assert not Path("m.json").exists()
