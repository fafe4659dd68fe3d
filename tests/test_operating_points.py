"""Error rates at operating points, and their thresholds, against their definitions."""

import numpy as np
import pytest

import fastpsr as fp
from tests import reference_detection as reference
from tests.refusal import refuses
from tests.test_detection import KINDS, make

LIMITS = [0.0, 0.05, 0.25, 0.5, 0.99]
METRICS = [
    *map(fp.EER, ("hull", "crossing", "nearest")),
    *map(fp.MissRate, LIMITS), *map(fp.FalseAlarmRate, LIMITS), *map(fp.MinDCF, (0.01, 0.5)),
]  # fmt: skip


def in_memory(y, scores, weights):
    weights = None if (weights == 1.0).all() else weights
    return fp.Predictions.from_raw_scores(y, scores, sample_weight=weights)


def rates_by_comparison(scores, y, weights, threshold):
    """(P_miss, P_fa) by comparing each score with the threshold."""
    accepted = scores >= threshold
    miss = weights[(y == 1) & ~accepted].sum() / weights[y == 1].sum()
    return miss, weights[(y == 0) & accepted].sum() / weights[y == 0].sum()


def close(point):
    return pytest.approx(tuple(map(float, point)), rel=1e-12, abs=1e-14, nan_ok=True)


def fields(point):
    return point.threshold, point.p_miss, point.p_fa


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_points_are_those_of_the_naive_versions(kind, share):
    n = {0.1: 9, 0.5: 90, 0.9: 60}[share]
    y, scores, weights = make(kind, n, share, seed=n)
    if kind == "tied":
        weights = np.random.default_rng(n).integers(1, 3, n).astype(float)
    sample, data = (scores, y, weights), in_memory(y, scores, weights)
    nearest = reference.nearest(*sample)
    for definition, expected in (
        ("nearest", (nearest[1] + nearest[2]) / 2),
        ("crossing", reference.crossing(*sample)),
    ):
        metric = fp.EER(definition)
        assert metric(data) == pytest.approx(float(expected), rel=1e-12, abs=1e-14)
        assert fields(metric.operating_point(data)) == close(nearest)
    assert fp.EER("hull")(data) <= fp.EER("crossing")(data) + 1e-15
    for limit in LIMITS:
        miss = reference.miss_rate(*sample, limit)
        assert fields(fp.MissRate(limit).operating_point(data)) == close(miss)
        assert fp.MissRate(limit)(data) == pytest.approx(float(miss[1]), rel=1e-12, abs=1e-14)
        fa = reference.false_alarm_rate(*sample, limit)
        assert fields(fp.FalseAlarmRate(limit).operating_point(data)) == close(fa)
        assert fp.FalseAlarmRate(limit)(data) == pytest.approx(float(fa[2]), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(("n", "share"), [(60, 0.5), (60, 0.98), (20_000, 0.02)])
@pytest.mark.parametrize("kind", KINDS)
def test_comparing_scores_with_the_threshold_gives_the_rates(kind, n, share):
    y, scores, weights = make(kind, n, share)
    data = in_memory(y, scores, weights)
    for metric in METRICS:
        point = metric.operating_point(data)
        rates = rates_by_comparison(scores, y, weights, point.threshold)
        assert (point.p_miss, point.p_fa) == pytest.approx(rates, rel=1e-12, abs=1e-13)
        assert fp.Threshold(metric)(data) == pytest.approx(point.threshold, rel=0, nan_ok=True)
        if isinstance(metric, fp.MinDCF):
            cost = float(metric.costs[0].normalized(point.p_miss, point.p_fa))
            assert metric(data) == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_the_vertex_of_the_hull_is_the_nearer_one(kind, share):
    y, scores, weights = make(kind, share=share)
    data = in_memory(y, scores, weights)
    value, curve = fp.EER()(data), fp.roc(data)
    point = fp.EER().operating_point(data)
    vertices = np.column_stack([curve.p_miss, curve.p_fa])[curve.hull]
    distances = np.hypot(*(vertices - value).T)
    after = int(np.argmax(vertices[:, 0] >= vertices[:, 1]))
    least = distances[after - 1 : after + 1].min()
    assert np.hypot(point.p_miss - value, point.p_fa - value) == pytest.approx(least, abs=1e-12)
    assert [point.p_miss, point.p_fa] in vertices.tolist()


def test_of_two_nearest_thresholds_the_higher_counts():
    # P_miss - P_fa is -1/3 at 1.0, 1/3 at 2.0: as floats of 3 and 3 samples, not quite
    for n in (3, 7, 21, 49):
        tied = np.repeat([0.0, 1.0, 2.0], n)
        y = np.concatenate([np.zeros(n), np.r_[0, np.ones(n - 1)], np.ones(n)]).astype(int)
        data = fp.Predictions.from_raw_scores(y, tied)
        nearest = reference.nearest(tied, y, np.ones(3 * n))
        assert fields(fp.EER("nearest").operating_point(data)) == close(nearest)
    data = fp.Predictions.from_raw_scores([0, 0, 1, 1], [0.0, 1.0, 1.0, 2.0])
    for definition in ("hull", "crossing", "nearest"):
        assert fp.EER(definition).operating_point(data).threshold == 2.0


def test_no_number_rejects_infinite_scores():
    data = fp.Predictions.from_llrs([0, 1, 0], [np.inf, 1.0, 2.0], prior=0.5)
    point = fp.MissRate(0.0).operating_point(data)
    assert np.isnan(point.threshold)
    assert (point.p_miss, point.p_fa) == (1.0, 0.0)
    assert point.to_dict()["threshold"] is None
    assert np.isnan(fp.MinDCF(0.1).operating_point(data).threshold)
    finite = fp.Predictions.from_llrs([0, 1, 0], [3.0, 1.0, 2.0], prior=0.5)
    assert fp.MissRate(0.0).operating_point(finite).threshold == np.inf
    assert fp.MinDCF(0.1).operating_point(finite).threshold == np.inf


def predictions_of(form):
    """Predictions, labels, and the scores that users compare with thresholds."""
    y, z, _ = make("plain", 500)
    q = 1.0 / (1.0 + np.exp(-z))
    if form == "two columns":
        return fp.Predictions.from_posteriors(y, np.column_stack([1.0 - q, q])), y, q
    if form == "float32":
        return fp.Predictions.from_posteriors(y, q.astype(np.float32)), y, q.astype(np.float32)
    scores = q if form == "posteriors" else z
    return fp.Predictions.of(form, y, scores), y, scores


@pytest.mark.parametrize(
    "form", ["posteriors", "float32", "two columns", "logits", "llrs", "raw scores"]
)
def test_thresholds_are_on_the_scale_that_was_passed(form):
    """Comparing what was passed with them gives the rates; log-odds stand beside."""
    data, y, scores = predictions_of(form)
    log_odds = data.log_odds if data.kind == "posteriors" else None
    weights = np.ones(y.size)
    for each in (data, fp.from_parts([data[:100], data[100:350], data[350:]])):
        curve = fp.roc(each)
        for at in range(0, curve.threshold.size, 7):
            rates = rates_by_comparison(scores, y, weights, curve.threshold[at])
            assert (curve.p_miss[at], curve.p_fa[at]) == pytest.approx(rates, rel=1e-12)
        assert (curve.log_odds is None) == (log_odds is None)
        for metric in METRICS[:5]:
            point = metric.operating_point(each)
            assert point.threshold in np.append(scores, np.inf)
            rates = rates_by_comparison(scores, y, weights, point.threshold)
            assert (point.p_miss, point.p_fa) == rates
            assert fp.Threshold(metric)(each) == point.threshold
            if log_odds is None:
                assert point.log_odds is None
            else:
                assert rates_by_comparison(log_odds, y, weights, point.log_odds) == rates


def test_posteriors_of_exactly_one_can_be_rejected():
    one = fp.Predictions.from_posteriors([0, 1, 0, 1], [1.0, 0.4, 0.2, 1.0])
    point = fp.MissRate(0.0).operating_point(one)
    assert (point.threshold, point.p_miss) == (np.inf, 1.0)
    assert np.isnan(point.log_odds)
    at_one = fp.FalseAlarmRate(0.5).operating_point(one)
    assert (at_one.threshold, at_one.log_odds, at_one.p_fa) == (1.0, np.inf, 0.5)
    assert fp.roc(one).threshold.tolist() == [0.2, 0.4, 1.0, np.inf]
    # two columns rank 1 - 1e-30 above 1 - 1e-20: the posterior of both is 1
    q_0 = np.array([0.8, 1e-20, 0.4, 1e-30])
    two = fp.Predictions.from_posteriors([0, 0, 1, 1], np.column_stack([q_0, 1.0 - q_0]))
    point = fp.MissRate(0.0).operating_point(two)
    assert (point.threshold, point.p_miss, point.p_fa) == (1.0, 0.5, 0.0)
    assert (two.log_odds >= point.log_odds).tolist() == [False, False, False, True]


@pytest.mark.parametrize("kind", ["plain", "tied"])
def test_equal_weights_are_none(kind):
    """Also at limits that are rates, and at ties: sums of 0.1 are rounded."""
    for n in (8, 21, 50, 133, 190):
        y, scores, _ = make(kind, n, 0.4)
        plain = fp.Predictions.from_raw_scores(y, scores)
        weighted = fp.Predictions.from_raw_scores(y, scores, sample_weight=np.full(n, 0.1))
        curve = fp.roc(plain)
        metrics = [fp.EER("nearest"), fp.EER("crossing")]
        metrics += [fp.MissRate(p) for p in curve.p_fa if p < 1.0]
        metrics += [fp.FalseAlarmRate(p) for p in curve.p_miss if p < 1.0]
        for metric in metrics:
            assert metric(weighted) == pytest.approx(metric(plain), rel=1e-12, abs=1e-15)
            expected = fields(metric.operating_point(plain))
            assert fields(metric.operating_point(weighted)) == close(expected)


def test_a_limit_may_be_next_to_one():
    y, scores, _ = make("plain")
    data = fp.Predictions.from_raw_scores(y, scores)
    limit = np.nextafter(1.0, 0.0)
    assert fp.MissRate(limit).operating_point(data).p_fa < 1.0
    assert fp.FalseAlarmRate(limit).operating_point(data).p_miss < 1.0


def test_invalid_arguments():
    for argument, call in (
        ("p_fa", lambda: fp.MissRate(1.0)),
        ("p_miss", lambda: fp.FalseAlarmRate(1.0)),
        ("metric", lambda: fp.Threshold(fp.AUC())),
        ("p_target", lambda: fp.MinDCF("sre16").operating_point(predictions_of("llrs")[0])),
    ):
        with refuses(argument):
            call()


def test_data_without_operating_points():
    for metric in METRICS:
        with pytest.raises(ValueError, match="Predictions"):
            metric.operating_point(np.arange(3.0))
        with pytest.raises(ValueError, match="no targets"):
            metric.operating_point(fp.Predictions.from_raw_scores([0, 0], [1.0, 2.0]))
        with pytest.raises(ValueError, match="binary"):
            metric.operating_point(fp.Predictions.from_logits([0, 1, 2], np.eye(3)))
