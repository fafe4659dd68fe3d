"""Error rates at operating points, and their thresholds, against their definitions."""

import itertools

import numpy as np
import pytest

import fastpsr as fp
from tests import reference_detection as reference
from tests.test_detection import KINDS, make
from tests.test_ranks_in_parts import cut_into_parts

LIMITS = [0.0, 0.05, 0.25, 0.5, 0.99]
METRICS = [
    *map(fp.EER, ("hull", "crossing", "nearest")),
    *map(fp.MissRate, LIMITS), *map(fp.FalseAlarmRate, LIMITS), *map(fp.MinDCF, (0.01, 0.5)),
]  # fmt: skip


def in_memory(y, scores, weights):
    weights = None if (weights == 1.0).all() else weights
    return fp.Predictions.from_raw_scores(y, scores, sample_weight=weights)


def counted(scores, y, weights, threshold):
    """(P_miss, P_fa) by comparing each score with the threshold."""
    accepted = scores >= threshold
    miss = weights[(y == 1) & ~accepted].sum() / weights[y == 1].sum()
    return miss, weights[(y == 0) & accepted].sum() / weights[y == 0].sum()


def samples(kind, share, n):
    y, scores, weights = make(kind, n, share, seed=n)
    if kind == "tied":
        weights = np.random.default_rng(n).integers(1, 3, n).astype(float)
    return y, scores, weights


def close(point):
    return pytest.approx(tuple(map(float, point)), rel=1e-12, abs=1e-14, nan_ok=True)


def fields(point):
    return point.threshold, point.p_miss, point.p_fa


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [9, 60, 300])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_against_reference(kind, share, n, weighted):
    y, scores, weights = samples(kind, share, n)
    if not weighted:
        weights = np.ones(n)
    data = in_memory(y, scores, weights)
    near = reference.nearest(scores, y, weights)
    mean = float((near[1] + near[2]) / 2)
    assert fp.EER("nearest")(data) == pytest.approx(mean, rel=1e-12, abs=1e-14)
    assert fields(fp.EER("nearest").operating_point(data)) == close(near)
    assert fields(fp.EER("crossing").operating_point(data)) == close(near)
    expected = float(reference.crossing(scores, y, weights))
    assert fp.EER("crossing")(data) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    for limit in LIMITS:
        miss = reference.miss_rate(scores, y, weights, limit)
        assert fields(fp.MissRate(limit).operating_point(data)) == close(miss)
        assert fp.MissRate(limit)(data) == pytest.approx(float(miss[1]), rel=1e-12, abs=1e-14)
        fa = reference.false_alarm_rate(scores, y, weights, limit)
        assert fields(fp.FalseAlarmRate(limit).operating_point(data)) == close(fa)
        assert fp.FalseAlarmRate(limit)(data) == pytest.approx(float(fa[2]), rel=1e-12, abs=1e-14)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("n", [60, 20_000])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("kind", KINDS)
def test_counting_at_the_threshold_gives_the_rates(kind, share, n):
    y, scores, weights = make(kind, n, share)
    data = in_memory(y, scores, weights)
    for metric in METRICS:
        point = metric.operating_point(data)
        rates = counted(scores, y, weights, point.threshold)
        assert (point.p_miss, point.p_fa) == pytest.approx(rates, rel=1e-12, abs=1e-13)
        assert fp.Threshold(metric)(data) == pytest.approx(point.threshold, rel=0, nan_ok=True)
        if isinstance(metric, fp.MissRate):
            assert metric(data) == pytest.approx(point.p_miss, rel=1e-12, abs=1e-13)
            assert point.p_fa <= metric.p_fa
        if isinstance(metric, fp.FalseAlarmRate):
            assert metric(data) == pytest.approx(point.p_fa, rel=1e-12, abs=1e-13)
            assert point.p_miss <= metric.p_miss
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


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_have_the_points_of_the_whole(kind, dtype):
    rng = np.random.default_rng(3)
    y, scores, weights = make(kind, 5_000, 0.05)
    data = in_memory(y, scores.astype(dtype), weights)
    parts = cut_into_parts(data, rng)
    for metric in METRICS:
        one, other = fields(metric.operating_point(data)), fields(metric.operating_point(parts))
        if kind == "weighted":
            assert other == close(one)
        else:
            assert np.array_equal(one, other, equal_nan=True)
            assert metric(parts) == metric(data)


@pytest.mark.parametrize("budget", ["3KB", "100KB"])
def test_little_memory_changes_no_bit(budget, monkeypatch):
    y, scores, _ = make("plain", 20_000, 0.4)
    data = fp.Predictions.from_raw_scores(y, np.exp(30.0 * scores))  # most share a bucket
    parts = cut_into_parts(data, np.random.default_rng(0))
    expected = [fields(metric.operating_point(data)) for metric in METRICS]
    monkeypatch.setenv("FASTPSR_MEMORY", budget)
    for metric, point in zip(METRICS[1:], expected[1:], strict=True):
        if not isinstance(metric, fp.MinDCF):
            assert fields(metric.operating_point(parts)) == point


def test_the_order_of_tied_scores_changes_no_bit():
    y, scores, _ = make("tied", 4_000, 0.2)
    order = np.random.default_rng(0).permutation(y.size)
    one = fp.Predictions.from_raw_scores(y, scores)
    other = fp.Predictions.from_raw_scores(y[order], scores[order])
    for metric in METRICS:
        assert metric(one) == metric(other)
        assert fields(metric.operating_point(one)) == fields(metric.operating_point(other))


def test_of_two_nearest_thresholds_the_higher_counts():
    # P_miss - P_fa is -1/3 at 1.0, 1/3 at 2.0: as floats of 3 and 3 samples, not quite
    for n in (3, 7, 21, 49):
        tied = np.repeat([0.0, 1.0, 2.0], n)
        y = np.concatenate([np.zeros(n), np.r_[0, np.ones(n - 1)], np.ones(n)]).astype(int)
        data = fp.Predictions.from_raw_scores(y, tied)
        near = reference.nearest(tied, y, np.ones(3 * n))
        assert fields(fp.EER("nearest").operating_point(data)) == close(near)
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


def passed(form):
    """Predictions, and the scores that users compare with thresholds."""
    y, z, _ = make("plain", 500)
    q = 1.0 / (1.0 + np.exp(-z))
    if form == "two columns":
        return fp.Predictions.from_posteriors(y, np.column_stack([1.0 - q, q])), y, q
    if form == "float32":
        return fp.Predictions.from_posteriors(y, q.astype(np.float32)), y, q.astype(np.float32)
    scores = q if form == "posteriors" else z
    return fp.Predictions.of(form, y, scores), y, scores


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize(
    "form", ["posteriors", "float32", "two columns", "logits", "llrs", "raw scores"]
)
def test_thresholds_are_on_the_scale_that_was_passed(form, in_parts):
    """Comparing what was passed with them gives the rates; log-odds stand beside."""
    data, y, scores = passed(form)
    log_odds = data.log_odds if data.kind == "posteriors" else None
    if in_parts:
        data = fp.from_parts([data[:100], data[100:350], data[350:]])
    weights = np.ones(y.size)
    curve = fp.roc(data)
    for at in range(0, curve.threshold.size, 7):
        rates = counted(scores, y, weights, curve.threshold[at])
        assert (curve.p_miss[at], curve.p_fa[at]) == pytest.approx(rates, rel=1e-12)
    for metric in METRICS:
        point = metric.operating_point(data)
        assert point.threshold in np.append(scores, np.inf)
        assert (point.p_miss, point.p_fa) == counted(scores, y, weights, point.threshold)
        assert fp.Threshold(metric)(data) == point.threshold
        if log_odds is None:
            assert point.log_odds is curve.log_odds is None
        else:
            assert counted(log_odds, y, weights, point.log_odds) == (point.p_miss, point.p_fa)
    assert (curve.log_odds is None) == (log_odds is None)


@pytest.mark.parametrize("metric", [fp.MissRate(0.05), fp.EER("nearest"), fp.MinDCF(0.2)])
def test_replicates_of_thresholds_are_posteriors(metric):
    data, y, q = passed("posteriors")
    result = fp.bootstrap(fp.Threshold(metric), data, n_resamples=50, seed=0, method="percentile")
    assert result.value == metric.operating_point(data).threshold
    assert {*result.replicates} <= {*q, np.inf}
    of_logits = fp.Predictions.from_logits(y, data.log_odds)
    other = fp.bootstrap(
        fp.Threshold(metric), of_logits, n_resamples=50, seed=0, method="percentile"
    )
    expected = 1.0 / (1.0 + np.exp(-other.replicates))
    assert result.replicates[np.isfinite(other.replicates)] == pytest.approx(
        expected[np.isfinite(other.replicates)], rel=1e-12
    )


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


def test_thresholds_of_calibrated_posteriors_are_posteriors():
    data, y, _ = passed("posteriors")
    calibrated = fp.cross_fit(fp.DirectionPreserving(), data)
    point = fp.MissRate(0.1).operating_point(calibrated)
    rates = counted(calibrated.posteriors[:, 1], y, np.ones(y.size), point.threshold)
    assert rates == (point.p_miss, point.p_fa)


@pytest.mark.parametrize("share", [0.02, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_crossing_is_that_of_scikit_learn(seed, share):
    roc_curve = pytest.importorskip("sklearn.metrics").roc_curve
    optimize = pytest.importorskip("scipy.optimize")
    interpolate = pytest.importorskip("scipy.interpolate")
    y, scores, _ = make("plain", 3_000, share, seed)
    fpr, tpr, _ = roc_curve(y, scores)
    expected = optimize.brentq(lambda x: 1.0 - x - interpolate.interp1d(fpr, tpr)(x), 0.0, 1.0)
    assert fp.EER("crossing")(y, scores) == pytest.approx(expected, abs=1e-9)


def speechbrain_eer(positive, negative):
    """Its definition, quoted: accepted above thresholds at the scores and between them."""
    thresholds = np.unique(np.concatenate([positive, negative]))
    thresholds = np.sort(np.concatenate([thresholds, (thresholds[1:] + thresholds[:-1]) / 2]))
    miss = (positive[:, None] <= thresholds).mean(axis=0)
    fa = (negative[:, None] > thresholds).mean(axis=0)
    at = np.abs(miss - fa).argmin()
    return (miss[at] + fa[at]) / 2


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_nearest_is_that_of_speechbrain_and_torchmetrics(seed, share):
    """By their definitions; `test_backends_*.py` have the packages."""
    y, scores, _ = make("plain", 1_000, share, seed)
    value, smaller = fp.EER("nearest")(y, scores), min(y.sum(), (1 - y).sum())
    expected = speechbrain_eer(scores[y == 1], scores[y == 0])
    assert value == pytest.approx(expected, abs=1.0 / smaller)
    roc_curve = pytest.importorskip("sklearn.metrics").roc_curve
    fpr, tpr, _ = roc_curve(y, scores, drop_intermediate=False)
    at = np.abs(fpr - (1.0 - tpr)).argmin()  # torchmetrics 1.9, binary_eer
    assert value == pytest.approx((fpr[at] + 1.0 - tpr[at]) / 2.0, abs=1.0 / smaller)


def test_hull_is_never_above_crossing():
    for kind, share in itertools.product(KINDS, (0.1, 0.5, 0.9)):
        y, scores, weights = make(kind, 200, share)
        data = in_memory(y, scores, weights)
        assert fp.EER()(data) <= fp.EER("crossing")(data) + 1e-15


@pytest.mark.parametrize("metric", METRICS[1:], ids=lambda m: m.label)
def test_they_work_wherever_metrics_do(metric):
    y, scores, _ = make("plain", 2_000)
    ids = np.arange(2_000) % 40
    a = fp.Predictions.from_llrs(y, scores, prior=0.1)
    b = fp.Predictions.from_llrs(y, scores + np.sin(scores), prior=0.1)
    table = fp.evaluate({"a": a, "b": b}, [metric], by={"half": ids < 20})
    for half in (False, True):
        rows = a[(ids < 20) == half]
        assert table["a", f"half={half}", metric.label] == metric(rows)
    assert a.priors is not None
    for method in ("percentile", "basic", "bca", "normal"):
        found = fp.bootstrap(metric, a, n_resamples=60, method=method, seed=2)
        assert found.interval.low <= found.interval.high
        assert found.n_undefined == 0
    options = {"n_resamples": 60, "method": "percentile", "seed": 2}
    found = fp.compare(metric, a, b, resampling=fp.Clusters(ids), **options)
    assert found.value == metric(a) - metric(b)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("seed", range(20))
def test_equal_weights_are_none(seed):
    """Also at limits that are rates, and at ties: sums of 0.1 are rounded."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 200))
    y, scores, _ = make("tied" if seed % 2 else "plain", n, 0.4, seed)
    plain = fp.Predictions.from_raw_scores(y, scores)
    weighted = fp.Predictions.from_raw_scores(y, scores, sample_weight=np.full(n, 0.1))
    curve = fp.roc(plain)
    metrics = [fp.EER("nearest"), fp.EER("crossing")]
    metrics += [fp.MissRate(p) for p in curve.p_fa if p < 1.0]
    metrics += [fp.FalseAlarmRate(p) for p in curve.p_miss if p < 1.0]
    for metric in metrics:
        assert metric(weighted) == pytest.approx(metric(plain), rel=1e-12, abs=1e-15)
        one, other = (metric.operating_point(data) for data in (plain, weighted))
        assert fields(other) == close(fields(one))


def test_a_limit_may_be_next_to_one():
    y, scores, _ = make("plain")
    data = fp.Predictions.from_raw_scores(y, scores)
    limit = np.nextafter(1.0, 0.0)
    assert fp.MissRate(limit).operating_point(data).p_fa < 1.0
    assert fp.FalseAlarmRate(limit).operating_point(data).p_miss < 1.0


@pytest.mark.parametrize("limit", [-0.1, 1.0, np.nan, np.inf])
def test_limits_out_of_range(limit):
    for kind, name in ((fp.MissRate, "p_fa"), (fp.FalseAlarmRate, "p_miss")):
        with pytest.raises(ValueError, match=f"^{name} must be at least 0 and below 1"):
            kind(limit)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"^definition must be one of"):
        fp.EER("exact")
    with pytest.raises(ValueError, match=r"^metric must have an operating point"):
        fp.Threshold(fp.AUC())
    y, scores, _ = make("plain")
    data = fp.Predictions.from_raw_scores(y, scores)
    with pytest.raises(ValueError, match=r"^p_target must be one prior .*MinDCF\(0.01\)"):
        fp.MinDCF("sre16").operating_point(data)
    with pytest.raises(ValueError, match=r"takes? Predictions|must be Predictions"):
        fp.EER().operating_point(scores)
    for metric in METRICS:
        with pytest.raises(ValueError, match="no targets"):
            metric.operating_point(fp.Predictions.from_raw_scores([0, 0], [1.0, 2.0]))
        with pytest.raises(ValueError, match="binary"):
            metric.operating_point(fp.Predictions.from_logits([0, 1, 2], np.eye(3)))
