"""`fastpsr simulate` and `fastpsr demo`: what they write and print is what the library makes."""

import re
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import check_refusal, check_rows, read, succeed


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_trials(ending):
    run = ["--targets", 30, "--nontargets", 400, "--seed", 3]
    out = succeed("simulate", "trials", f"a{ending}", *run)
    assert out == f"a{ending}: 430 trials, 30 of them targets\n"
    simulated = fp.simulate.trial_list(30, 400, seed=3)
    columns = read(f"a{ending}")
    assert [*columns] == ["y_true", "llr", "enroll", "test", "enroll_speaker", "test_speaker"]
    for name, values in columns.items():
        np.testing.assert_array_equal(values, getattr(simulated, name))


@pytest.mark.parametrize(
    ("system", "ending"), [("cal", ".npz"), ("mcs", ".csv"), ("mcp", ".parquet"), ("mcps", ".npz")]
)
def test_classes(system, ending):
    options = ["--samples", 90, "--classes", 3, "--variance", 0.3, "--seed", 2, "--system", system]
    out = succeed("simulate", "classes", f"a{ending}", *options)
    assert out == f"a{ending}: 90 samples of 3 classes, system {system}\n"
    simulated = fp.simulate.gaussian_classes(90, n_classes=3, variance=0.3, seed=2)
    columns = read(f"a{ending}")
    np.testing.assert_array_equal(columns["y_true"], simulated.y_true)
    np.testing.assert_array_equal(columns["log_posterior"], getattr(simulated, system))
    run = ["evaluate", f"a{ending}", "--scores-are", "log-posteriors", "--json", "t.json"]
    succeed(*run)
    log_posteriors = getattr(simulated, system)
    check_rows(fp.evaluate(fp.Predictions.from_log_posteriors(simulated.y_true, log_posteriors)))


def test_challenge():
    out = succeed("simulate", "challenge", "a", "--targets", 30, "--nontargets", 400, "--seed", 3)
    assert "a/dev_key.txt: 430 trials\n" in out
    lists = fp.simulate.challenge(30, 400, seed=3)
    for name, simulated in zip(("dev", "eval"), lists, strict=True):
        for system in "ab":
            files = f"a/{name}_key.txt", f"a/{name}_{system}.txt"
            trials = fp.trials.read(*files, speaker_pattern="^[^/]+")
            np.testing.assert_array_equal(trials.y_true, simulated.y_true)
            scores = getattr(simulated, system)
            np.testing.assert_allclose(trials.score, scores, rtol=0.0, atol=5.1e-6)
            for codes, side in zip(trials.speakers, ("enroll", "test"), strict=True):
                names = [trials.speaker_names[code] for code in codes]
                assert names == [f"id{number}" for number in getattr(simulated, f"{side}_speaker")]
            quality = trials.quality("a/durations.txt")
            for side in ("enroll", "test"):
                seconds = getattr(simulated, f"{side}_seconds")
                np.testing.assert_allclose(getattr(quality, side), seconds, rtol=0.0, atol=5.1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("challenge none/c", "No such folder for the folder: none/c"),
        ("challenge file", "Not a directory: file"),
        ("challenge c --targets 10000000000", "--targets must be at most 1e9, not 10000000000"),
        ("challenge c --nontargets 0", "--nontargets must be an integer of at least 1, not 0"),
        ("trials o.npz --nontargets 1000000000000000", "memory"),
        ("trials o.txt", "o.txt must end in .npz, .csv or .parquet"),
        ("classes o", "o must end in"), ("classes none/o.npz", "none/o.npz"),
        ("classes o.npz --variance nan", "variance"), ("classes o.npz --seed -1", "--seed"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments, words):
    check_refusal({"file": b""}, ["simulate", *arguments.split()], [words])


# The demonstration

PAPER = {"uncalibrated": (0.324, 0.225, 0.191, 0.189, 16.7, 0.2, 0.2)}  # Table 2, SITW
PAPER["calibrated"] = (0.306, 0.190, 0.153, 0.158, -0.1, 0.0, 0.0)
PAPER["PAV"] = (0.304, 0.188, 0.152, 0.155, -0.0, 0.0, 0.0)


def numbers(text, row):
    line = next(line for line in text.splitlines() if line.startswith(row))
    return re.findall(r"-?\d+\.\d+", line.removeprefix(row))


def test_demo():
    """The table is like that of the paper, and has the numbers of the library."""
    demo = succeed("demo")
    trials = fp.simulate.trial_list()
    raw = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    assert demo.startswith(f"{trials.llr.size:,} simulated trials, {trials.y_true.sum():,} of")
    systems = {
        "uncalibrated": raw,
        "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw),
        "PAV": fp.cross_fit(fp.PAV(), raw, fp.TrainOnTest()),
    }
    metrics = [
        fp.BayesRisk([[0, 1], [1, 0]]), fp.BayesRisk([[0, 1, 0.1], [1, 0, 0.1]]),
        fp.BayesRisk([[0, 1], [10, 0]]), fp.CrossEntropy(),
        fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()), fp.ECE(on="confidence"),
        fp.ECE(),
    ]  # fmt: skip
    for row, predictions in systems.items():
        values = [metric(predictions) for metric in metrics]
        expected = [*(f"{v:.3f}" for v in values[:4]), f"{values[4]:.1f}",
                    *(f"{100 * v:.1f}" for v in values[5:])]  # fmt: skip
        assert numbers(demo, f"simulated, {row} ") == expected
        assert [float(number) for number in numbers(demo, f"SITW, {row} ")] == [*PAPER[row]]
        assert values[:3] == pytest.approx(PAPER[row][:3], rel=0.25)
        assert values[3] == pytest.approx(PAPER[row][3], rel=0.1)
        assert values[4] == pytest.approx(PAPER[row][4], rel=0.1, abs=0.5)
    eer, cost, cllr = (metric(raw) for metric in (fp.EER(), fp.MinDCF(0.01), fp.Cllr()))
    text = " ".join(demo.split())
    assert f"EER is {eer:.1%}, minDCF(0.01) {cost:.3f} and Cllr {cllr:.3f}, uncalibrated" in text
    _, table = demo.split("95 % intervals, uncalibrated")
    speakers = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
    results = [
        fp.bootstrap(fp.CrossEntropy(), raw, n_resamples=200, resampling=resampling, seed=0)
        for resampling in (fp.IID(), speakers)
    ]
    ends = [end for result in results for end in result.interval]
    assert numbers(table, "NCE") == [f"{end:.3f}" for end in (fp.CrossEntropy()(raw), *ends)]
    assert "share 194 speakers" in text


def test_demo_refuses_places_before_any_work():
    check_refusal({}, ["demo", "--output", "none/r.html"], ["No such folder for the file: none/r"])
    assert [*Path().iterdir()] == []
