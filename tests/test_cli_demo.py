"""`fastpsr simulate` and `fastpsr demo`: what they write and print is what the library makes."""

import re
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import fastpsr, read, same, succeed, values_of


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# simulate


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_simulate_trials(ending):
    run = ["--targets", 30, "--nontargets", 400]
    out = succeed("simulate", "trials", f"a{ending}", *run, "--seed", 3)
    assert out == f"a{ending}: 430 trials, 30 of them targets\n"
    succeed("simulate", "trials", f"b{ending}", *run, "--seed", 3)
    succeed("simulate", "trials", f"c{ending}", *run, "--seed", 4)
    a, b, c = (read(f"{name}{ending}") for name in "abc")
    made = fp.simulate.trial_list(30, 400, seed=3)
    assert list(a) == ["y_true", "llr", "enroll", "test", "enroll_speaker", "test_speaker"]
    for name, values in a.items():
        np.testing.assert_array_equal(values, getattr(made, name))
        assert values.tobytes() == b[name].tobytes()
    assert not np.array_equal(a["llr"], c["llr"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere/c"], "No such folder for the folder: nowhere/c"),
        (["file"], "Not a directory: file"),
        (["c", "--targets", "10000000000"], "--targets must be at most 1e9, not 10000000000"),
        (["c", "--nontargets", "0"], "--nontargets must be an integer of at least 1, not 0"),
    ],
)
def test_challenges_that_cannot_be_written(arguments, message):
    Path("file").write_text("")
    outcome = fastpsr("simulate", "challenge", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert [path.name for path in Path().iterdir()] == ["file"]


def test_simulate_challenge():
    run = ["--targets", 30, "--nontargets", 400]
    out = succeed("simulate", "challenge", "a", *run, "--seed", 3)
    assert "a/dev_key.txt: 430 trials\n" in out
    succeed("simulate", "challenge", "b", *run, "--seed", 3)
    for name in ("dev", "eval"):
        made = dict(zip(("dev", "eval"), fp.simulate.challenge(30, 400, seed=3), strict=True))[name]
        for system in "ab":
            file = f"{name}_{system}.txt"
            assert Path("a", file).read_bytes() == Path("b", file).read_bytes()
            found = fp.trials.read(f"a/{name}_key.txt", f"a/{file}", speaker_pattern="^[^/]+")
            np.testing.assert_array_equal(found.y_true, made.y_true)
            np.testing.assert_allclose(found.score, getattr(made, system), rtol=0.0, atol=5.1e-6)
            for side, speaker in zip(found.speakers, ("enroll", "test"), strict=True):
                names = [found.speaker_names[code] for code in side]
                assert names == [f"id{one}" for one in getattr(made, f"{speaker}_speaker")]
            seconds = found.quality("a/durations.txt")
            for side in ("enroll", "test"):
                expected = getattr(made, f"{side}_seconds")
                np.testing.assert_allclose(getattr(seconds, side), expected, rtol=0.0, atol=5.1e-6)


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
@pytest.mark.parametrize("system", ["cal", "mcs", "mcp", "mcps"])
def test_simulate_classes(system, ending):
    options = ["--samples", 90, "--classes", 3, "--variance", 0.3, "--seed", 2, "--system", system]
    for name in "ab":
        out = succeed("simulate", "classes", f"{name}{ending}", *options)
    assert f"90 samples of 3 classes, system {system}" in out
    made = fp.simulate.gaussian_classes(90, n_classes=3, variance=0.3, seed=2)
    a, b = read(f"a{ending}"), read(f"b{ending}")
    np.testing.assert_array_equal(a["y_true"], made.y_true)
    np.testing.assert_array_equal(a["log_posterior"], getattr(made, system))
    assert a["log_posterior"].tobytes() == b["log_posterior"].tobytes()


def test_simulated_files_can_be_evaluated():
    succeed("simulate", "classes", "a.csv")
    succeed("evaluate", "a.csv", "--scores-are", "log-posteriors", "--json", "t.json")
    made = fp.simulate.gaussian_classes(2_000)
    predictions = fp.Predictions.from_log_posteriors(made.y_true, made.cal)
    assert same(values_of("t.json"), fp.evaluate(predictions))


# demo


@pytest.fixture(scope="module")
def demo():
    return succeed("demo")


def numbers(demo, row):
    line = next(line for line in demo.splitlines() if line.startswith(row))
    return re.findall(r"-?\d+\.\d+", line.removeprefix(row))


PAPER = {"uncalibrated": (0.324, 0.225, 0.191, 0.189, 16.7, 0.2, 0.2)}  # Table 2, SITW
PAPER["calibrated"] = (0.306, 0.190, 0.153, 0.158, -0.1, 0.0, 0.0)
PAPER["PAV"] = (0.304, 0.188, 0.152, 0.155, -0.0, 0.0, 0.0)


@pytest.mark.parametrize("row", PAPER)
def test_demo_is_like_the_paper(demo, row):
    found = [float(number) for number in numbers(demo, f"simulated, {row} ")]
    assert [float(number) for number in numbers(demo, f"SITW, {row} ")] == list(PAPER[row])
    *risks, nce, rcl, _, _ = zip(found, PAPER[row], strict=True)
    for value, printed in risks:
        assert value == pytest.approx(printed, rel=0.25)
    assert nce[0] == pytest.approx(nce[1], rel=0.1)
    assert rcl[0] == pytest.approx(rcl[1], rel=0.1, abs=0.5)  # of percent


def test_demo_prints_what_the_library_computes(demo):
    trials = fp.simulate.trial_list()
    assert demo.startswith(f"{trials.llr.size:,} simulated trials, {trials.y_true.sum():,} of")
    raw = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    systems = {
        "uncalibrated": raw,
        "calibrated": fp.cross_fit(fp.DirectionPreserving(), raw),
        "PAV": fp.cross_fit(fp.PAV(), raw, fp.TrainOnTest()),
    }
    metrics = [
        fp.BayesRisk([[0, 1], [1, 0]]),
        fp.BayesRisk([[0, 1, 0.1], [1, 0, 0.1]]),
        fp.BayesRisk([[0, 1], [10, 0]]),
        fp.CrossEntropy(),
        fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
        fp.ECE(on="confidence"),
        fp.ECE(),
    ]
    for row, predictions in systems.items():
        values = [metric(predictions) for metric in metrics]
        expected = [f"{value:.3f}" for value in values[:4]]
        expected += [f"{values[4]:.1f}", *(f"{100 * value:.1f}" for value in values[5:])]
        assert numbers(demo, f"simulated, {row} ") == expected
    reading = " ".join(demo.split("SITW, PAV")[1].split())
    words = "uncalibrated: calibrated: PAV: C01, Cab Cimb NCE RCL ECE ECEmc,"
    assert set(words.split()) <= set(reading.split())
    eer, cost, cllr = (metric(raw) for metric in (fp.EER(), fp.MinDCF(0.01), fp.Cllr()))
    assert f"EER is {eer:.1%}, minDCF(0.01) {cost:.3f} and Cllr {cllr:.3f}" in reading


def test_demo_draws_trials_beside_speakers(demo):
    trials = fp.simulate.trial_list()
    raw = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    speakers = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
    _, table = demo.split("95 % intervals, uncalibrated")
    for row, metric in (("C01", fp.BayesRisk([[0, 1], [1, 0]])), ("NCE", fp.CrossEntropy())):
        by_trial, by_speaker = (
            fp.bootstrap(metric, raw, n_resamples=200, resampling=resampling, seed=0).interval
            for resampling in (fp.IID(), speakers)
        )
        expected = [f"{end:.3f}" for end in (metric(raw), *by_trial, *by_speaker)]
        assert numbers(table, row) == expected
        width = (by_speaker.high - by_speaker.low) / (by_trial.high - by_trial.low)
        assert 1.5 < width < 4.0
    for word in ("drawing trials", "drawing speakers", "200 replicates", "share 194 speakers"):
        assert word in " ".join(table.split())
