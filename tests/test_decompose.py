"""`decompose`: the parts, their intervals, infinities, and how they are shown."""

import json
import math

import numpy as np
import pytest

import fastpsr as fp
from tests import reference, samples
from tests.refusal import refuses

RULES = {
    "log": (fp.rules.Log(), reference.log_class_losses),
    "brier": (fp.rules.Brier(), reference.brier_class_losses),
}
PARTS = ("score", "miscalibration", "discrimination", "uncertainty")


def parts_of(decomposition):
    return [getattr(decomposition, name) for name in PARTS]


def expected_parts(score, calibrated, uncertainty):
    return [score, score - calibrated, uncertainty - calibrated, uncertainty]


def naive(sample, class_losses):
    """The parts with PAV on the test data, by the slow version."""
    log_odds = sample.log_q[:, 1] - sample.log_q[:, 0]
    blocks = reference.pool_adjacent_violators(log_odds, sample.y, sample.mass)
    rows = []
    for score in log_odds:
        q = reference.frequency(reference.apply_blocks(blocks, score))
        rows.append([1.0 - q, q])
    options = {**sample.options, "normalized": False}
    priors = reference.class_priors(sample.y, 2, **sample.options)
    return expected_parts(
        reference.expected_score(sample.y, sample.log_q, class_losses, **options),
        reference.expected_score(sample.y, reference.logarithm(rows), class_losses, **options),
        reference.entropy(priors, class_losses),
    )


@pytest.mark.parametrize(
    ("rule_name", "scores", "weights", "priors"),
    [
        ("log", "tied", "wild", False),
        ("brier", "tied", "wild", True),
    ],
)
def test_parts_with_pav_on_the_test_data(rule_name, scores, weights, priors):
    rule, class_losses = RULES[rule_name]
    sample = samples.make(2, scores=scores, weights=weights, priors=priors)
    parts = fp.decompose(sample.predictions, rule)
    np.testing.assert_allclose(parts_of(parts), naive(sample, class_losses), 1e-12, 1e-14)
    total = parts.miscalibration - parts.discrimination
    assert total + parts.uncertainty == pytest.approx(parts.score, rel=1e-14)
    assert min(parts.miscalibration, parts.discrimination) >= -1e-15
    assert parts.unit == ("nats" if rule_name == "log" else "")
    if rule_name == "log":
        assert parts_of(fp.decompose(sample.predictions)) == parts_of(parts)  # the default


@pytest.mark.parametrize(
    ("rule", "K", "train"),
    [
        (fp.rules.Log(), 2, fp.CrossFit(3)),
        (fp.rules.Brier(), 2, fp.HeldOut(samples.make(2, seed=1).predictions)),
        (fp.rules.Log(), 3, fp.HeldOut(samples.make(3, seed=1).predictions)),
        (fp.rules.Brier(), 3, fp.TrainOnTest()),
    ],
)
def test_parts_are_those_of_the_metrics(rule, K, train):
    data = samples.make(K, n=90, weights="integer").predictions
    calibrator = fp.DirectionPreserving()
    score = fp.ExpectedScore(rule, normalized=False)
    calibrated = score(fp.cross_fit(calibrator, data, train))
    expected = expected_parts(score(data), calibrated, rule.entropy(data.priors))
    parts = fp.decompose(data, rule, calibrator, train)
    np.testing.assert_allclose(parts_of(parts), expected, 1e-12, 1e-14)


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
    parts = fp.decompose(both_infinite, train=held_out)
    assert math.isnan(parts.miscalibration)
    assert parts.to_dict()["miscalibration"] is None


# Arguments, and what is shown


def test_what_is_refused():
    three, dp = samples.make(3).predictions, fp.DirectionPreserving()
    for argument, options in (
        ("calibrator", {}),
        ("calibrator", {"calibrator": 1}),
        ("rule", {"calibrator": dp, "rule": "log"}),
        ("train", {"calibrator": dp, "train": 5}),
        ("resampling", {"calibrator": dp, "resampling": fp.IID()}),
        ("n_resamples", {"calibrator": dp, "n_resamples": -1}),
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
    assert content["score"] == parts.score
    assert content["intervals"]["score"]["low"] == parts.intervals["score"].interval.low
    frame = parts.to_frame()
    assert frame.columns == ["part", "value", "low", "high"]
    assert frame["part"].to_list() == list(PARTS)
    assert fp.decompose(data).to_frame().columns == ["part", "value"]
