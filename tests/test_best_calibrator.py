"""The calibrator that an evaluation and a report name as the best of several."""

import json

import numpy as np
import pytest

import fastpsr as fp

#: By the names that the table uses.
CALIBRATORS = {
    "dp": fp.DirectionPreserving(),
    "temperature": fp.TemperatureScaling(),
    "beta": fp.BetaCalibration(),
    "vector": fp.VectorScaling(),
    "matrix": fp.MatrixScaling(),
    "pav-laplace": fp.PAV(laplace=True),
}


def binary(slopes=(0.5, 3.0), n=4_000):
    """LLRs with a slope on either side of 0: what beta repairs and an affine map does not."""
    trials = fp.simulate.trial_list(n // 4, n, n_speakers=200, seed=1)
    scale = np.where(trials.llr < 0.0, *slopes)
    return fp.Predictions.from_llrs(trials.y_true, scale * trials.llr)


def classes_that_differ(n=4_000):
    """Logits whose scale differs by class, which one scale for all does not repair."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    logits = 2.0 * rng.normal(size=(n, 3))
    logits[np.arange(n), labels] += 4.0
    return fp.Predictions.from_logits(labels, logits * [0.3, 1.0, 3.0])


@pytest.mark.parametrize("data", [binary(), classes_that_differ()], ids=["binary", "classes"])
def test_the_best_is_that_with_the_largest_relative_calibration_loss(data):
    table = fp.evaluate(data)
    best = table.all_samples.best_calibrator
    losses = {
        name: fp.CalibrationLoss(fp.rules.Log(), CALIBRATORS[name])(data) for name in best.among
    }
    assert len(losses) > 2
    assert best.name == max(losses, key=losses.get)
    assert best.saving == pytest.approx(losses[best.name], rel=1e-9)
    if data.n_classes == 3:  # the direction-preserving map understates what can be saved
        assert best.name in ("vector", "matrix")
        assert best.saving > table["RCL"] + 5.0


def test_no_calibrator_is_named_without_the_default_loss():
    raw = fp.Predictions.from_raw_scores([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    metrics = [fp.CrossEntropy(), fp.CalibrationLoss(fp.rules.Log(), fp.PAV())]
    for table in (fp.evaluate(raw), fp.evaluate(binary(), metrics)):
        assert table.all_samples.best_calibrator is None
        assert "calibration by" not in str(table)


def test_calibrators_that_have_no_optimum_are_not_compared():
    data = fp.Predictions.from_logits([0] * 10 + [1] * 10, [*range(-10, 0), *range(1, 11)])
    table = fp.evaluate(data)
    assert table.row("RCL").state == "not computed"
    assert table.all_samples.best_calibrator is None


def test_a_calibrated_system_is_said_to_gain_nothing():
    rng = np.random.default_rng(3)
    log_odds = rng.normal(size=60)
    labels = rng.random(60) < 1.0 / (1.0 + np.exp(-log_odds))
    table = fp.evaluate(fp.Predictions.from_logits(labels.astype(int), log_odds))
    assert table.all_samples.best_calibrator.saving <= 0.0
    assert "calibration would remove nothing; compared: dp, temperature, beta" in str(table)


def test_the_best_calibrator_is_in_the_text_the_dict_and_the_report(tmp_path):
    table = fp.evaluate({"a": binary(), "b": binary((2.0, 2.0))})
    best = table.groups[0].best_calibrator
    assert f"a: {best}" in str(table).splitlines()
    content = json.loads(json.dumps(table.to_dict()))
    assert content["groups"][0]["best_calibrator"]["name"] == best.name
    assert str(best) in table._repr_html_()
    table.to_report(tmp_path / "report.html")
    assert f">{best.name}, {best.saving:.3f} %<" in (tmp_path / "report.html").read_text("utf-8")


def test_groups_have_none():
    all_rows, *groups = fp.evaluate(binary(), by={"half": np.arange(5_000) % 2}).groups
    assert all_rows.best_calibrator is not None
    assert [group.best_calibrator for group in groups] == [None, None]
