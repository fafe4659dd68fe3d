"""`fastpsr select`: it prints, writes and saves what fp.select returns."""

import json
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import check_refusal, succeed, write
from tests.golden.files import write_files


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files()


def result(path="r.json"):
    return json.loads(Path(path).read_text("utf-8"))


def test_of_a_table():
    frame = polars.read_csv("t.csv")
    run = ["select", "t.csv", "--columns", "q", "--rule", "brier"]
    run += ["--calibrators", "none,dp,pav-laplace", "--folds", 4, "--ci", 0.9, "--resamples", 50]
    out = succeed(
        *run, "--resample", "patient", "--seed", 3, "--json", "r.json", "--save", "m.json"
    )
    predictions = fp.Predictions.from_posteriors(
        frame["label"], frame["q"], sample_weight=frame["weight"]
    )
    names = {"none": None, "dp": fp.DirectionPreserving(), "pav-laplace": fp.PAV(laplace=True)}
    selection = fp.select(
        predictions, names, fp.rules.Brier(), fp.CrossFit(4), n_resamples=50, confidence_level=0.9,
        resampling=fp.Clusters(frame["patient"]), seed=3,
    )  # fmt: skip
    assert str(selection) in out
    assert result()["score"] == selection.score
    assert result()["table"] == selection.to_dict()["table"]
    loaded = fp.load_calibrator("m.json").transform(predictions).scores
    np.testing.assert_array_equal(loaded, selection.calibrator.transform(predictions).scores)


def test_of_trials_with_speakers():
    run = ["select", "--key", "key", "--scores", "a.txt", "--speakers", "speakers.txt"]
    out = succeed(*run, "--calibrators", "none,dp,temperature", "--folds", 6)
    trials = fp.trials.read("key", "a.txt").with_speakers("speakers.txt")
    names = {name: fp.calibration.CALIBRATORS[name]() for name in ("dp", "temperature")}
    train = fp.CrossFit(6, groups=trials.speakers)
    selection = fp.select(trials.predictions("llr"), {"none": None} | names, train=train)
    assert str(selection) in out


@pytest.mark.slow
def test_speakers_that_are_drawn_of_a_table_are_kept_apart():
    trials = fp.simulate.trial_list(300, 900, n_speakers=40, seed=0)
    columns = {"enroll_speaker": trials.enroll_speaker, "test_speaker": trials.test_speaker}
    write("s.npz", target=trials.y_true, llr=trials.llr, **columns)
    run = ["select", "s.npz", "--columns", "llr", "--scores-are", "llr", "--calibrators", "none,dp"]
    run += ["--ci", "0.6", "--resamples", "8", "--json", "r.json"]
    for options, groups in (([], (*columns.values(),)), (["--resample", "iid"], None)):
        succeed(*run, *options)
        selection = fp.select(
            fp.Predictions.from_llrs(trials.y_true, trials.llr),
            {"none": None, "dp": fp.DirectionPreserving()},
            train=fp.CrossFit(5 if groups is None else 10, groups=groups),
        )
        assert result()["score"] == selection.score


@pytest.mark.parametrize(
    ("arguments", "expected", "left_out"),
    [
        ("unweighted.csv --columns q",
         "none,temperature,dp,beta,spline,pav-laplace,venn-abers", ""),
        ("t.csv --columns q", "none,temperature,dp,beta,spline,pav-laplace",
         "venn-abers, which samples with weights are not for"),
        ("unweighted.csv --columns z --scores-are raw", "temperature,dp,pav-laplace,venn-abers",
         "beta, spline, which raw scores are not for"),
        ("t.npz --scores-are logits", "none,temperature,dp,vector,matrix", ""),
    ],
)  # fmt: skip
def test_candidates_by_default(arguments, expected, left_out):
    out = succeed("select", *arguments.split(), "--json", "r.json")
    assert {row["name"] for row in result()["table"]} == {*expected.split(",")}
    assert (f"left out: {left_out}" in out) if left_out else ("left out" not in out)
    assert ("RCL" in out) == ("raw" not in arguments)


def test_by_condition():
    run = ["select", "--key", "nist.tsv", "--scores", "a.txt", "--calibrators", "None,DP"]
    run += ["--by", "gender,seconds:2", "--min-per-class", "12"]
    out = succeed(*run, "--json", "r.json")
    frame = polars.read_csv("nist.tsv", separator="\t")
    by = {name: frame[name].to_numpy() for name in ("gender", "seconds")}
    dp = fp.DirectionPreserving()
    names = {"none": None, "dp": dp, "dp by condition": fp.ByCondition(dp, 12, {"seconds": 2})}
    llrs = fp.trials.read("key", "a.txt").predictions("llr")
    selection = fp.select(llrs, names, by=by, train=fp.CrossFit(5))
    assert str(selection) in out
    assert result()["table"] == selection.to_dict()["table"]


def test_no_calibration_is_not_saved():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4_000) * 2.0
    write("s.npz", y_true=rng.random(x.size) < 1 / (1 + np.exp(-x)), s=x)
    run = ["select", "s.npz", "--scores-are", "logits", "--calibrators", "none,histogram"]
    assert "chosen: none" in succeed(*run)
    check_refusal({}, [*run, "--save", "m.json"], ["none is chosen, which is no map"])


def test_folders_are_read_in_parts():
    trials = fp.simulate.trial_list(200, 1_000, n_speakers=40, seed=0)
    Path("t").mkdir()
    for k, rows in enumerate((slice(0, 900), slice(900, None))):
        write(f"t/{k}.parquet", target=trials.y_true[rows], llr=trials.llr[rows])
    write("whole.parquet", target=trials.y_true, llr=trials.llr)
    run = ["--scores-are", "llr", "--calibrators", "none,dp", "--json", "r.json"]
    scores = []
    for path in ("t", "t/*.parquet", "whole.parquet"):
        succeed("select", path, *run)
        scores.append(result()["score"])
    assert scores == pytest.approx([scores[0]] * 3, rel=1e-9)
    check_refusal({}, ["calibrate", "t", "--scores-are", "llr", "--save", "m.json"], ["one file"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("t.csv --calibrators dp,dp", "--calibrators must not name dp twice"),
        ("t.csv --speakers speakers.txt", "--speakers is for trials (--key, --scores)"),
        ("t.csv --columns z --scores-are raw --calibrators none,beta", "raw scores"),
        ("t.csv --columns q --save t.csv", "--save must not be an input too: t.csv"),
    ],
)
def test_what_is_refused(arguments, words):
    check_refusal({}, ["select", *arguments.split()], [words])
