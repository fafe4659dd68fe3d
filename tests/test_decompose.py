"""`decompose`: the parts, their intervals, parts of data, infinities, and how they are shown."""

import json
import math

import numpy as np
import pytest

import fastpsr as fp
from tests import reference, samples

RULES = {
    "log": (fp.rules.Log(), reference.log_class_losses),
    "brier": (fp.rules.Brier(), reference.brier_class_losses),
}
PARTS = ("score", "miscalibration", "discrimination", "uncertainty")
every_rule = pytest.mark.parametrize("rule_name", RULES)


def parts_of(found):
    return [getattr(found, name) for name in PARTS]


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


@pytest.mark.in_turn(2)
@every_rule
@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("weights", ["none", "integer", "wild"])
@pytest.mark.parametrize("scores", ["plain", "tied"])
def test_parts_with_pav_on_the_test_data(rule_name, scores, weights, priors):
    rule, class_losses = RULES[rule_name]
    sample = samples.make(2, scores=scores, weights=weights, priors=priors)
    found = fp.decompose(sample.predictions, rule)
    np.testing.assert_allclose(parts_of(found), naive(sample, class_losses), 1e-12, 1e-14)
    total = found.miscalibration - found.discrimination
    assert total + found.uncertainty == pytest.approx(found.score, rel=1e-14)
    assert min(found.miscalibration, found.discrimination) >= -1e-15
    assert found.unit == ("nats" if rule_name == "log" else "")


@every_rule
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "train", [fp.TrainOnTest(), fp.CrossFit(3), fp.HeldOut], ids=["test", "cross-fit", "held out"]
)
def test_parts_are_those_of_the_metrics(rule_name, K, train):
    rule = RULES[rule_name][0]
    data = samples.make(K, n=90, weights="integer").predictions
    if train is fp.HeldOut:
        train = fp.HeldOut(samples.make(K, seed=1).predictions)
    calibrator = fp.DirectionPreserving()
    score = fp.ExpectedScore(rule, normalized=False)
    calibrated = score(fp.cross_fit(calibrator, data, train))
    expected = expected_parts(score(data), calibrated, rule.entropy(data.priors))
    found = fp.decompose(data, rule, calibrator, train)
    np.testing.assert_allclose(parts_of(found), expected, 1e-12, 1e-14)


def test_defaults_are_the_log_rule_and_pav_on_the_test_data():
    data = samples.make(2).predictions
    given = fp.decompose(data, fp.rules.Log(), fp.PAV(), fp.TrainOnTest())
    assert parts_of(fp.decompose(data)) == parts_of(given)


def test_data_in_parts():
    data = samples.make(2, n=400, scores="tied").predictions
    parts = fp.from_parts([data[:1], data[1:150], data[150:]])
    for train in (fp.TrainOnTest(), fp.CrossFit(3)):
        one, other = (fp.decompose(each, None, fp.PAV(1e-3), train) for each in (data, parts))
        np.testing.assert_allclose(parts_of(other), parts_of(one), 1e-12)
    ids = np.arange(400) // 10
    units = fp.from_parts([(data[:150], {"unit": ids[:150]}), (data[150:], {"unit": ids[150:]})])
    options = {"n_resamples": 40, "seed": 3}
    one = fp.decompose(data, resampling=fp.Clusters(ids), **options)
    other = fp.decompose(units, resampling=fp.Clusters("unit"), **options)
    for name in PARTS:
        mine, theirs = one.intervals[name].replicates, other.intervals[name].replicates
        np.testing.assert_allclose(theirs, mine, 1e-10, 1e-12)


def test_data_on_dask():
    dask = pytest.importorskip("dask.dataframe")
    import pandas

    data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 10, [0.1, 0.6, 0.4, 0.9] * 10)
    frame = pandas.DataFrame({"target": data.y_true, "q": data.positive_posteriors})
    parts = fp.from_dask(dask.from_pandas(frame, npartitions=3), posteriors="q")
    np.testing.assert_allclose(parts_of(fp.decompose(parts)), parts_of(fp.decompose(data)), 1e-12)


# Intervals


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("K", "calibrator", "train"),
    [
        (2, fp.PAV(), fp.TrainOnTest()),  # from cells
        (2, fp.DirectionPreserving(), fp.CrossFit(3)),  # from polynomials, or samples
        (3, fp.DirectionPreserving(), fp.TrainOnTest()),  # from samples
        (3, fp.TemperatureScaling(), fp.HeldOut),  # from losses
    ],
)
@pytest.mark.parametrize(
    "resampling", [fp.IID(), fp.Stratified(), fp.Clusters(np.arange(150) // 4)]
)
def test_parts_add_up_in_each_replicate(K, calibrator, train, resampling):
    data = samples.make(K, n=150).predictions
    if train is fp.HeldOut:
        train = fp.HeldOut(samples.make(K, seed=1).predictions)
    options = {"n_resamples": 40, "seed": 1, "resampling": resampling, "method": "percentile"}
    found = fp.decompose(data, None, calibrator, train, **options)
    assert list(found.intervals) == list(PARTS)
    drawn = {name: result.replicates for name, result in found.intervals.items()}
    total = drawn["miscalibration"] - drawn["discrimination"] + drawn["uncertainty"]
    np.testing.assert_allclose(total, drawn["score"], 1e-12)
    for name, result in found.intervals.items():
        assert result.value == getattr(found, name)
        assert result.name == name
        assert np.unique(result.replicates).size > 1 or (
            name == "uncertainty" and isinstance(resampling, fp.Stratified)
        )
    alone = fp.CalibrationLoss(fp.rules.Log(), calibrator, train, relative=False)
    alone = fp.bootstrap(alone, data, **options).replicates
    np.testing.assert_allclose(drawn["miscalibration"], alone, 1e-9, 1e-12)


@pytest.mark.parametrize("method", ["basic", "bca", "normal"])
def test_methods(method):
    data = samples.make(2, n=300).predictions
    chosen = (fp.rules.Brier(), fp.DirectionPreserving(), fp.CrossFit(3))
    found = fp.decompose(data, *chosen, n_resamples=200, method=method, seed=2)
    loss = fp.CalibrationLoss(*chosen, relative=False)
    alone = fp.bootstrap(loss, data, n_resamples=200, method=method, seed=2)
    result = found.intervals["miscalibration"]
    assert result.method == method
    np.testing.assert_allclose(result.interval, alone.interval, 1e-9)


def test_undefined_replicates_are_left_out_of_all_parts():
    data = fp.Predictions.from_posteriors([0, 0, 0, 1, 1], [0.1, 0.6, 0.3, 0.4, 0.9])
    with pytest.warns(RuntimeWarning, match="is undefined in") as caught:
        found = fp.decompose(data, n_resamples=100, seed=0, method="percentile")
    assert {warning.filename for warning in caught} == {__file__}
    n_undefined = {result.n_undefined for result in found.intervals.values()}
    assert len(n_undefined) == 1
    assert n_undefined != {0}


def test_the_seed_and_threads(monkeypatch):
    data = samples.make(2, n=3_000).predictions
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FASTPSR_NUM_THREADS", threads)
        made = fp.decompose(data, n_resamples=40, seed=5)
        found.append(np.array([result.replicates for result in made.intervals.values()]).tobytes())
    assert found[0] == found[1]


# Infinities


def test_an_infinite_loss_is_miscalibration():
    data = fp.Predictions.from_posteriors([0, 0, 1, 1, 1], [0.1, 0.6, 0.0, 0.4, 0.9])
    found = fp.decompose(data)
    assert (found.score, found.miscalibration) == (math.inf, math.inf)
    assert 0.0 < found.discrimination < found.uncertainty
    drawn = fp.decompose(
        data, n_resamples=40, seed=0, resampling=fp.Stratified(), method="percentile"
    )
    assert drawn.intervals["score"].interval.high == math.inf
    assert "inf" in str(drawn)
    json.dumps(drawn.to_dict(), allow_nan=False)


def test_pav_on_other_data_may_be_infinitely_wrong():
    held_out = fp.HeldOut(fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]))
    data = fp.Predictions.from_posteriors([0, 1, 1], [0.2, 0.05, 0.95])
    found = fp.decompose(data, train=held_out)
    assert math.isfinite(found.score)
    assert (found.miscalibration, found.discrimination) == (-math.inf, -math.inf)
    both = fp.Predictions.from_posteriors([0, 1, 1], [0.2, 0.0, 0.95])
    found = fp.decompose(both, train=held_out)
    assert math.isnan(found.miscalibration)
    assert found.to_dict()["miscalibration"] is None
    floored = fp.decompose(data, None, fp.PAV(1e-3), held_out)
    assert all(map(math.isfinite, parts_of(floored)))


# Arguments, and what is shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"^calibrator must be given for 3 classes: PAV is for two; pass fp\.Direction"),
        ({"calibrator": fp.PAV()}, "must be of a binary task for PAV, not of 3 classes"),
        ({"calibrator": 1}, "^calibrator must"),
        ({"calibrator": fp.DirectionPreserving(), "rule": "log"}, "^rule must be one of"),
        ({"calibrator": fp.DirectionPreserving(), "train": 5}, "^train must be CrossFit"),
        ({"calibrator": fp.DirectionPreserving(), "resampling": fp.IID()}, "n_resamples above 0"),
        ({"calibrator": fp.DirectionPreserving(), "n_resamples": -1}, "^n_resamples must be"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(fp.ArgumentError, match=message):
        fp.decompose(samples.make(3).predictions, **arguments)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([0, 1], "predictions must be"),
        (fp.Predictions.from_raw_scores([0, 1], [1.0, 2.0]), "posteriors or likelihoods"),
        (fp.Predictions.from_posteriors(None, [0.2, 0.7]), "y_true"),
        (fp.Predictions.from_posteriors([], []), "must have a sample|must be of"),
        (fp.Predictions.from_posteriors([0, 0], [0.2, 0.7]), "samples of every class"),
    ],
)
def test_bad_data(data, message):
    with pytest.raises(ValueError, match=message):
        fp.decompose(data)


def test_what_is_shown():
    data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    found = fp.decompose(data, n_resamples=40, seed=0, method="percentile")
    first, *lines = str(found).splitlines()
    assert first == "95 % intervals: percentile, 40 replicates, resampling IID, seed 0"
    assert [line.split()[0] for line in lines] == list(PARTS)
    assert all("[" in line for line in lines)
    assert "[" not in str(fp.decompose(data))
    assert repr(found).startswith("Decomposition(score=0.51")
    assert "intervals" not in repr(found)
    content = found.to_dict()
    assert content["score"] == found.score
    assert content["intervals"]["score"]["low"] == found.intervals["score"].interval.low
    frame = found.to_frame()
    assert frame.columns == ["part", "value", "low", "high"]
    assert frame["part"].to_list() == list(PARTS)
    assert fp.decompose(data).to_frame().columns == ["part", "value"]
    assert "miscalibration" in found._repr_html_()
    assert "nats" in found._repr_html_()
