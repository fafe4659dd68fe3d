"""`decompose`: the parts, their intervals, infinities, and how they are shown."""

import json
import math

import numpy as np
import pytest

import fastpsr as fp
from tests import samples
from tests.refusal import refuses

PARTS = ("score", "miscalibration", "discrimination", "uncertainty")


def parts_of(decomposition):
    return [getattr(decomposition, name) for name in PARTS]


def expected_parts(score, calibrated, uncertainty):
    return [score, score - calibrated, uncertainty - calibrated, uncertainty]


@pytest.mark.parametrize(
    ("rule", "K", "calibrator", "train"),
    [
        (fp.rules.Log(), 2, fp.PAV(), fp.TrainOnTest()),
        (fp.rules.Brier(), 2, fp.PAV(), fp.TrainOnTest()),
        (fp.rules.Log(), 2, fp.DirectionPreserving(), fp.CrossFit(3)),
        (fp.rules.Log(), 3, fp.TemperatureScaling(), fp.HeldOut(samples.make(3).predictions)),
        (fp.rules.Brier(), 3, fp.DirectionPreserving(), fp.TrainOnTest()),
    ],
)
def test_parts_are_those_of_the_metrics(rule, K, calibrator, train):
    data = samples.make(K, n=90, scores="tied", weights="integer").predictions
    score = fp.ExpectedScore(rule, normalized=False)
    calibrated = score(fp.cross_fit(calibrator, data, train))
    expected = expected_parts(score(data), calibrated, rule.entropy(data.priors))
    parts = fp.decompose(data, rule, calibrator, train)
    np.testing.assert_allclose(parts_of(parts), expected, 1e-12, 1e-14)
    assert parts.unit == ("nats" if rule.label == "CE" else "")
    if isinstance(calibrator, fp.PAV):
        assert min(parts.miscalibration, parts.discrimination) >= -1e-15
        if rule.label == "CE":  # the default
            assert parts_of(fp.decompose(data)) == parts_of(parts)


# Intervals


@pytest.mark.parametrize(
    ("K", "calibrator", "train", "resampling"),
    [
        (2, fp.PAV(), fp.TrainOnTest(), fp.Stratified()),
        (2, fp.DirectionPreserving(), fp.CrossFit(3), fp.Clusters(np.arange(150) // 4)),
        (3, fp.DirectionPreserving(), fp.TrainOnTest(), fp.IID()),
        (3, fp.TemperatureScaling(), fp.HeldOut(samples.make(3).predictions), fp.IID()),
    ],
)
def test_parts_add_up_in_each_replicate(K, calibrator, train, resampling):
    data = samples.make(K, n=150).predictions
    options = {"n_resamples": 40, "seed": 1, "resampling": resampling, "method": "percentile"}
    parts = fp.decompose(data, None, calibrator, train, **options)
    assert list(parts.intervals) == list(PARTS)
    replicates = {name: result.replicates for name, result in parts.intervals.items()}
    total = replicates["miscalibration"] - replicates["discrimination"] + replicates["uncertainty"]
    np.testing.assert_allclose(total, replicates["score"], 1e-12)
    for name, result in parts.intervals.items():
        assert result.value == getattr(parts, name)
        assert result.name == name
        is_constant = name == "uncertainty" and isinstance(resampling, fp.Stratified)
        assert (np.unique(result.replicates).size == 1) == is_constant
    loss = fp.CalibrationLoss(fp.rules.Log(), calibrator, train, relative=False)
    alone = fp.bootstrap(loss, data, **options).replicates
    np.testing.assert_allclose(replicates["miscalibration"], alone, 1e-9, 1e-12)


def test_undefined_replicates_are_left_out_of_all_parts():
    data = fp.Predictions.from_posteriors([0, 0, 0, 1, 1], [0.1, 0.6, 0.3, 0.4, 0.9])
    with pytest.warns(RuntimeWarning, match="is undefined in") as caught:
        parts = fp.decompose(data, n_resamples=100, seed=0, method="percentile")
    assert {warning.filename for warning in caught} == {__file__}
    n_undefined = {result.n_undefined for result in parts.intervals.values()}
    assert len(n_undefined) == 1
    assert n_undefined != {0}


# Infinities


def test_an_infinite_loss_is_miscalibration():
    data = fp.Predictions.from_posteriors([0, 0, 1, 1, 1], [0.1, 0.6, 0.0, 0.4, 0.9])
    parts = fp.decompose(
        data, n_resamples=40, seed=0, resampling=fp.Stratified(), method="percentile"
    )
    assert (parts.score, parts.miscalibration) == (math.inf, math.inf)
    assert 0.0 < parts.discrimination < parts.uncertainty
    assert parts.intervals["score"].interval.high == math.inf
    assert "inf" in str(parts)
    json.dumps(parts.to_dict(), allow_nan=False)


def test_pav_on_other_data_may_be_infinitely_wrong():
    held_out = fp.HeldOut(fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]))
    data = fp.Predictions.from_posteriors([0, 1, 1], [0.2, 0.05, 0.95])
    parts = fp.decompose(data, train=held_out)
    assert math.isfinite(parts.score)
    assert (parts.miscalibration, parts.discrimination) == (-math.inf, -math.inf)
    floored = fp.decompose(data, None, fp.PAV(1e-3), held_out)
    assert all(map(math.isfinite, parts_of(floored)))
    both_infinite = fp.Predictions.from_posteriors([0, 1, 1], [0.2, 0.0, 0.95])
    assert math.isnan(fp.decompose(both_infinite, train=held_out).miscalibration)


# Arguments, and what is shown


def test_what_is_refused():
    three, dp = samples.make(3).predictions, fp.DirectionPreserving()
    for argument, options in (
        ("calibrator", {}),
        ("resampling", {"calibrator": dp, "resampling": fp.IID()}),
    ):
        with refuses(argument):
            fp.decompose(three, **options)
    with refuses("predictions"):
        fp.decompose(fp.Predictions.from_raw_scores([0, 1], [1.0, 2.0]))


def test_what_is_shown():
    data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    parts = fp.decompose(data, n_resamples=40, seed=0, method="percentile")
    assert [line.split()[0] for line in str(parts).splitlines()[1:]] == list(PARTS)
    content = parts.to_dict()
    assert content["intervals"]["score"]["low"] == parts.intervals["score"].interval.low
    frame = parts.to_frame()
    assert frame.columns == ["part", "value", "low", "high"]
    assert frame["part"].to_list() == list(PARTS)
    assert fp.decompose(data).to_frame().columns == ["part", "value"]
