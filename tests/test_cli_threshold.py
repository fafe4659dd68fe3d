"""`fastpsr threshold`: thresholds and costs are those of the library."""

import re

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import check_refusal, fastpsr, strict_json, succeed, write
from tests.golden.files import write_files

# small lists: intervals say that few speakers hold the values
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RUN = ("--key", "key", "--scores", "a.txt")


@pytest.fixture(autouse=True)
def trials(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files()
    return fp.trials.read("key", "a.txt")


@pytest.mark.parametrize("dcf", ["0.01", "voxsrc", "0.5:10:2"])
def test_of_a_cost(trials, dcf):
    points = {"0.01": (0.01, 1, 1), "voxsrc": (0.05, 1, 1), "0.5:10:2": (0.5, 10, 2)}
    p_target, c_miss, c_fa = points[dcf]
    first = f"calibrated LLRs: {np.log(c_fa * (1 - p_target) / (c_miss * p_target)):.6g} (natural "
    assert succeed("threshold", "--at", f"dcf={dcf}") == f"{first}logarithm)\n"
    out = succeed("threshold", "--at", f"dcf={dcf}", *RUN)
    assert out.startswith(first)
    llrs = trials.predictions("llr")
    least, actual = (metric(*points[dcf])(llrs) for metric in (fp.MinDCF, fp.ActDCF))
    assert f"of calibrated LLRs: normalized cost {actual:.4f}, P_miss" in out
    best = re.search(
        r"best for these trials: (\S+): normalized cost (\S+), P_miss (\S+), P_fa (\S+);", out
    )
    is_target = trials.y_true == 1
    p_miss = (trials.score[is_target] < float(best[1])).mean()
    p_fa = (trials.score[~is_target] >= float(best[1])).mean()
    assert best.groups()[1:] == (f"{least:.4f}", f"{p_miss:.4f}", f"{p_fa:.6f}")
    assert fp.MinDCF(*points[dcf]).costs[0].normalized(p_miss, p_fa) == pytest.approx(least)


def test_scores_at_the_threshold_are_accepted():
    write("t.csv", label=np.array([0, 0, 0, 1, 1, 1]), llr=np.array([-1.0, 0, 0, 0, 1, 2]))
    out = succeed("threshold", "t.csv", "--at", "dcf=0.5", "--scores-are", "llr")
    assert (
        "at the threshold of calibrated LLRs: normalized cost 0.6667, P_miss 0.0000, P_fa 0.66"
        in out
    )


@pytest.mark.parametrize(
    ("point", "metric", "says"),
    [("fa=0.1", fp.MissRate(0.1), "lowest with P_fa of at most 0.1 on"),
     ("miss=0.1", fp.FalseAlarmRate(0.1), "highest with P_miss of at most 0.1 on"),
     ("precision=0.9", fp.RecallAtPrecision(0.9), "lowest with a precision of at least 0.9 on"),
     ("eer", fp.EER(), "at the equal error rate of")],
)  # fmt: skip
def test_at_a_point(trials, point, metric, says):
    at, raw = point, trials.predictions("raw")
    point = metric.operating_point(raw)
    said = f"P_miss {point.p_miss:.4f}, P_fa {point.p_fa:.6f}; scores taken as llr"
    run = ["threshold", "--at", at, *RUN]
    assert succeed(*run).endswith(f"{says} these trials: {point.threshold!r}: {said}\n")
    drawn = ["--speakers", "speakers.txt", "--ci", "0.9", "--resamples", "60", "--seed", "3"]
    out = succeed(*run, *drawn, "--json", "t.json")
    content = strict_json("t.json")
    assert content["operating_point"] == point.to_dict()
    assert (content["scores_are"], content["groups"][0]["kind"]) == ("llr", "likelihoods")
    speakers = fp.TwoWay(*trials.with_speakers("speakers.txt").speakers)
    metrics = {"threshold": fp.Threshold(metric), metric.label: metric}
    settings = {"n_resamples": 60, "confidence_level": 0.9, "seed": 3, "resampling": speakers}
    for row, result in zip(content["rows"], fp.bootstrap(metrics, raw, **settings), strict=True):
        assert (row["metric"], row["value"]) == (result.name, result.value)
        assert (row["low"], row["high"]) == result.interval
        shown = f"{100.0 * result.value:.3f} %" if result.name != "threshold" else result.value
        assert re.search(rf"^{re.escape(result.name)} +{shown:.6}", out, re.M)
    assert "resampling speaker" in out


def test_a_limit_that_nothing_keeps():
    write("t.csv", label=np.arange(40) % 2, s=np.where(np.arange(40) % 2, np.arange(40) / 9, 9.0))
    run = ["threshold", "t.csv", "--at", "fa=0", "--scores-are", "raw"]
    assert "on these samples: none: accept nothing: P_miss 1.0000, P_fa 0.000000" in succeed(*run)


def test_of_tables_and_posteriors(trials):
    q = 1.0 / (1.0 + np.exp(-trials.score))
    write("t.npz", y_true=trials.y_true, q=np.stack([1.0 - q, q], axis=1))
    point = fp.MissRate(0.1).operating_point(fp.Predictions.from_posteriors(trials.y_true, q))
    out = succeed("threshold", "t.npz", "--at", "fa=0.1", "--resamples", "40", "--json", "o.json")
    assert f"P_fa of at most 0.1 on these samples: {point.threshold!r} (log-odds" in out
    assert strict_json("o.json")["operating_point"]["threshold"] == pytest.approx(point.threshold)
    words = np.array(["non", "tar"])[trials.y_true.astype(int)]
    frame = polars.DataFrame({"y": words, "x": trials.score, "w": trials.y_true + 1.0})
    frame.write_csv("t.csv")
    run = ["threshold", "t.csv", "--at", "dcf=0.5", "--scores-are", "log10-llr", "--columns", "x"]
    out = succeed(*run, "--labels", "y", "--weights", "w", "--classes", "non,tar")
    raw = fp.Predictions.from_raw_scores(trials.y_true, trials.score, sample_weight=frame["w"])
    best = fp.MinDCF(0.5).operating_point(raw).threshold
    assert f"best for these samples: {best!r}: " in out  # in the units of the file
    actual = fp.ActDCF(0.5)(fp.Predictions.from_llrs(trials.y_true, trials.score * np.log(10)))
    assert f"of calibrated LLRs: normalized cost {actual:.4f}" in out


def test_cautions():
    assert "less than one error" in fastpsr("threshold", *RUN, "--at", "miss=1e-5").err
    assert fastpsr("threshold", *RUN, "--at", "fa=0.1").err == ""
    assert (
        "repeat: give --speakers" in fastpsr("threshold", *RUN, "--at", "fa=0.1", "--ci", "0.9").err
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "give --at eer, fa=P"), ("--at fa=0.1", "needs --scores"),
        ("--at fa=1", "--at fa must be at least 0 and below 1, not 1.0"),
        ("--at precision=high", "--at precision must be a number, not 'high'"),
        ("--at recall=1", "not 'recall=1'"), ("--fa 0.1", "--at"),
        ("--at dcf=sre16", "--at dcf must have one operating point"),
        ("--at dcf=0.1 --key key", "--key needs --scores"), ("--at dcf=high", "--at dcf must have"),
        ("--at dcf=0.1 --key key --scores a.txt --labels y", "--labels is for a table"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments, words):
    check_refusal({}, ["threshold", *arguments.split()], [words])
