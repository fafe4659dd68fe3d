"""`fastpsr simulate` and `fastpsr demo`: what they write and print is what the library makes."""

import doctest
import re

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
    options = ["--samples", 90, "--classes", 3, "--seed", 2, "--system", system]
    out = succeed("simulate", "classes", f"a{ending}", *options)
    assert out == f"a{ending}: 90 samples of 3 classes, system {system}\n"
    simulated = fp.simulate.gaussian_classes(90, n_classes=3, seed=2)
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
            trials = fp.trials.read(*files, speakers="pattern:^[^/]+")
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
        ("challenge none/c", "No such file or directory: none/c"),
        ("challenge file", "File exists: file"),
        ("challenge c --targets 10000000000", "--targets must be at most 1e9, not 10000000000"),
        ("challenge c --nontargets 0", "--nontargets must be an integer of at least 1, not 0"),
        ("trials o.npz --nontargets 1000000000000000", "memory"),
        ("trials o.txt", "o.txt must end in .npz, .csv or .parquet"),
        ("classes o", "o must end in"), ("classes none/o.npz", "none/o.npz"),
        ("classes o.npz --seed -1", "--seed"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments, words):
    check_refusal({"file": b""}, ["simulate", *arguments.split()], [words])


# The demonstration


def test_demo():
    """It prints a script with what it prints: values like those of Table 2 of the paper."""
    out = succeed("demo", columns=100)
    example = doctest.DocTestParser().get_doctest(out, {}, "demo", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
    for name in ("C01", "Cab", "Cimb", "NCE"):
        simulated, published = (
            [float(text) for text in re.search(rf"^{mark}{name} +(.*)$", out, re.M)[1].split()]
            for mark in ("", "# ")
        )
        assert simulated == pytest.approx(published, rel=0.1 if name == "NCE" else 0.25)
