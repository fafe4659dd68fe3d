"""The calibrator that an evaluation and a report name as the best of several."""

import json

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration import NAMED
from fastpsr.evaluation import default_metrics
from fastpsr.report import Report
from fastpsr.report.verdict import verdicts


def binary(slopes: tuple[float, float] = (0.5, 3.0), n: int = 4_000) -> fp.Predictions:
    """LLRs with a slope on either side of 0: what beta repairs and an affine map does not."""
    trials = fp.simulate.trial_list(n // 4, n, n_speakers=200, seed=1)
    scale = np.where(trials.llr < 0.0, *slopes)
    return fp.Predictions.from_llrs(trials.y_true, scale * trials.llr)


def classes_that_differ(n: int = 4_000) -> fp.Predictions:
    """Logits whose scale differs by class, which one scale for all does not repair."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    logits = 2.0 * rng.normal(size=(n, 3))
    logits[np.arange(n), labels] += 4.0
    return fp.Predictions.from_logits(labels, logits * [0.3, 1.0, 3.0])


@pytest.mark.parametrize("data", [binary(), classes_that_differ()], ids=["binary", "classes"])
def test_the_best_is_that_with_the_largest_relative_calibration_loss(data):
    best = fp.evaluate(data).all_samples.best_calibrator
    losses = {name: fp.CalibrationLoss(fp.rules.Log(), NAMED[name])(data) for name in best.among}
    assert best.name == max(losses, key=losses.get)
    assert best.saving == pytest.approx(losses[best.name], rel=1e-9)


def test_where_classes_differ_the_direction_preserving_map_understates_what_can_be_saved():
    found = fp.evaluate(classes_that_differ())
    best = found.all_samples.best_calibrator
    assert best.name in ("vector", "matrix")
    assert best.saving > found["RCL"] + 5.0


def test_data_in_parts_have_the_same_best_calibrator():
    data = binary()
    cut = [data[k : k + 700] for k in range(0, len(data), 700)]
    whole, parts = (fp.evaluate(each).all_samples for each in (data, fp.from_parts(cut)))
    assert whole.best_calibrator.name == parts.best_calibrator.name
    assert whole.best_calibrator.saving == pytest.approx(parts.best_calibrator.saving, rel=1e-9)


def test_the_calibrator_of_the_loss_is_among_those_compared():
    data = binary()
    metrics = default_metrics(2, "likelihoods", calibrator=fp.PAV(laplace=True))
    best = fp.evaluate(data, metrics).all_samples.best_calibrator
    assert best.among == ("pav-laplace", "temperature", "dp", "beta")


@pytest.mark.parametrize(
    ("data", "metrics"),
    [
        (fp.Predictions.from_raw_scores([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]), None),
        (binary(), [fp.CrossEntropy(), fp.CalibrationLoss(fp.rules.Log(), fp.PAV())]),
    ],
    ids=["raw scores", "metrics that were asked for"],
)
def test_no_calibrator_is_named_without_the_default_loss(data, metrics):
    found = fp.evaluate(data, metrics)
    assert found.all_samples.best_calibrator is None
    assert "calibration by" not in str(found)


def test_calibrators_that_have_no_optimum_are_not_compared():
    data = fp.Predictions.from_logits([0] * 10 + [1] * 10, [*range(-10, 0), *range(1, 11)])
    found = fp.evaluate(data)
    assert found.row("RCL").state == "not computed"
    best = found.all_samples.best_calibrator
    assert best is None or "dp" not in best.among


def test_a_calibrated_system_is_said_to_gain_nothing():
    rng = np.random.default_rng(3)
    log_odds = rng.normal(size=60)
    labels = rng.random(60) < 1.0 / (1.0 + np.exp(-log_odds))
    found = fp.evaluate(fp.Predictions.from_logits(labels.astype(int), log_odds))
    assert found.all_samples.best_calibrator.saving <= 0.0
    assert "calibration would save nothing; compared: dp, temperature, beta" in str(found)


def test_the_best_calibrator_is_in_the_text_the_dict_and_the_report():
    found = fp.evaluate({"a": binary(), "b": binary((2.0, 2.0))})
    first = found.groups[0].best_calibrator
    assert f"a: {first}" in str(found).splitlines()
    content = json.loads(json.dumps(found.to_dict()))
    assert content["groups"][0]["best_calibrator"]["name"] == first.name
    assert str(first) in found._repr_html_()
    said = verdicts(Report(found))
    for verdict, group in zip(said, found.groups, strict=True):
        assert f"Best is {group.best_calibrator.name}" in " ".join(verdict.words)


def test_groups_have_none_of_their_own():
    by = {"half": np.arange(5_000) % 2}
    whole, *groups = fp.evaluate(binary(), by=by).groups
    assert whole.best_calibrator is not None
    assert [group.best_calibrator for group in groups] == [None, None]
