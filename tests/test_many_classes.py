"""Classes so many that no matrix of K x K numbers can be made."""

import pickle
from functools import partial

import numpy as np
import pytest

import fastpsr as fp

MANY, N = 50_000, 200
COSTS = fp.CostMatrix.zero_one(MANY)


def data_of(n_classes, n=N, **options):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, n)
    z = rng.normal(size=(n, n_classes)).astype(np.float32)
    z[np.arange(n), y] += rng.normal(4.0, 1.5, n).astype(np.float32)
    return fp.Predictions.from_logits(y, z, **options)


def in_parts(data):
    return fp.from_parts([data[:80], data[80:]])


@pytest.fixture(scope="module")
def many():
    return data_of(MANY, sample_weight=np.arange(N) % 3)


def test_the_error_rate_of_many_classes(many):
    wrong = many.log_posteriors.argmax(axis=1) != many.y_true
    rate = np.average(wrong, weights=many.sample_weight)
    assert 0.1 < rate < 0.9
    metrics = [fp.BayesRisk(COSTS, normalized=False), fp.BayesRisk(COSTS)]
    expected = [rate, rate / (1.0 - many.priors.max())]
    for data in (many, in_parts(many)):
        np.testing.assert_allclose([metric(data) for metric in metrics], expected, rtol=1e-12)
    decisions = fp.bayes_decisions(many, COSTS)
    cost = fp.expected_cost(
        many.y_true, decisions, COSTS, sample_weight=many.sample_weight, normalized=False
    )
    assert cost == pytest.approx(rate, rel=1e-12)
    rule = fp.ExpectedScore(fp.rules.Cost(COSTS), normalized=False)
    assert rule(many) == pytest.approx(rate, rel=1e-12)


def test_replicates_of_many_classes(many):
    plain = data_of(MANY)
    options = {"n_resamples": 40, "seed": 3, "confidence_level": 0.8}
    for data in (plain, in_parts(plain)):
        (risk,) = fp.bootstrap([fp.BayesRisk(COSTS, normalized=False)], data, **options)
        sd = np.sqrt(risk.value * (1.0 - risk.value) / N)
        assert 0.6 * sd < risk.standard_error < 1.5 * sd
    clusters = fp.Clusters(np.arange(N) // 2)

    def error_rate(replicate):
        wrong = replicate.log_posteriors.argmax(axis=1) != replicate.y_true
        return np.average(wrong, weights=replicate.sample_weight)

    by_sums, by_samples = fp.bootstrap(
        [fp.BayesRisk(COSTS, normalized=False), error_rate], many, resampling=clusters,
        method="percentile", **options,
    )  # fmt: skip
    np.testing.assert_allclose(by_sums.replicates, by_samples.replicates, rtol=1e-12)


@pytest.mark.parametrize("given", [None, "priors"])
@pytest.mark.parametrize("n_classes", [2, 3, 40])
def test_counts_of_errors_give_the_risks_of_the_matrix(n_classes, given):
    priors = np.arange(1.0, n_classes + 1.0) / np.arange(1.0, n_classes + 1.0).sum()
    data = data_of(n_classes, 2_000, priors=priors if given else None)
    costs = fp.CostMatrix.zero_one(n_classes)
    doubled = fp.CostMatrix(2.0 * costs.values)  # of which all decisions are counted
    assert costs.n_outcomes == 2
    assert doubled.n_outcomes == n_classes
    for normalized in (True, False):
        factor = 1.0 if normalized else 2.0
        expected = fp.BayesRisk(doubled, normalized)(data) / factor
        for same in (costs, costs.values):  # a matrix that is zero-one is taken as one
            assert fp.BayesRisk(same, normalized)(data) == pytest.approx(expected, rel=1e-12)
    losses = fp.rules.Cost(fp.CostMatrix.zero_one(n_classes)).loss(data.y_true, data.log_posteriors)
    twice = fp.rules.Cost(doubled).loss(data.y_true, data.log_posteriors)
    assert (2.0 * losses == twice).all()


def test_a_rare_error_keeps_its_digits():
    priors = np.array([1.0 - 3e-13, 1e-13, 2e-13])
    assert fp.CostMatrix.zero_one(3).naive_cost(priors) == pytest.approx(3e-13, rel=1e-12)


def test_no_matrix_is_made_unless_it_is_asked_for():
    assert repr(COSTS) == "CostMatrix.zero_one(50000)"
    assert (COSTS.n_classes, COSTS.n_decisions, COSTS.is_zero_one) == (MANY, MANY, True)
    assert pickle.loads(pickle.dumps(COSTS)).key == COSTS.key
    for ask in (lambda: COSTS.values, lambda: fp.CostMatrix.zero_one(MANY, reject=0.1)):
        with pytest.raises(fp.ArgumentError, match=r"K must be at most 16,384.*not 50000"):
            ask()
    few = fp.CostMatrix.zero_one(3)
    assert few.key == fp.CostMatrix(few.values).key
    with pytest.raises(ValueError, match="read-only"):
        few.values[0, 0] = 1.0
    with pytest.raises(ValueError, match="K must be at most"):
        fp.CostMatrix.zero_one(1 << 31)


def test_one_class_alone_is_refused_in_a_line(many):
    alone = many[many.y_true == many.y_true[1]]
    with pytest.raises(ValueError, match=r"the largest is 1.0 \(class") as refused:
        fp.BayesRisk(COSTS)(alone)
    assert len(str(refused.value)) < 300


def test_a_fit_with_biases_is_refused(many):
    crossed = partial(fp.cross_fit, fp.DirectionPreserving())
    for use in (fp.DirectionPreserving().fit, crossed):
        for data in (many, in_parts(many)):
            with pytest.raises(fp.ArgumentError) as refused:
                use(data)
            assert refused.value.argument == "predictions"
            assert "not 50,000" in refused.value.rule
            assert "TemperatureScaling()" in refused.value.remedy
    table = fp.evaluate(many)
    (rcl,) = (row for row in table.rows if row.metric == "RCL")
    assert rcl.note == f"not computed: {refused.value}"
    assert all(np.isfinite(row.value) for row in table.rows if row is not rcl)


def test_temperature_is_fitted_to_many_classes(many):
    folds = fp.CrossFit(folds=np.arange(N) % 5)
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.TemperatureScaling(), folds)
    assert 0.0 < loss(many) < 100.0
    with pytest.raises(fp.ArgumentError, match=r"class \d+ has 1, folds is 5") as refused:
        fp.cross_fit(fp.TemperatureScaling(), many)
    assert refused.value.remedy.endswith("CrossFit(folds=np.arange(n_samples) % 5)")


def test_the_limit_of_a_fit_with_biases_follows_the_budget(monkeypatch):
    data = data_of(40, 4_000)
    fitted = fp.DirectionPreserving().fit(data)
    monkeypatch.setenv("FASTPSR_MEMORY", "20KB")
    with pytest.raises(fp.ArgumentError, match="at most 25 classes"):
        fp.DirectionPreserving().fit(data)
    assert fitted.transform(data).n_classes == 40
