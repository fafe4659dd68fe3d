"""Classes so many that no matrix of K x K numbers can be made."""

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
    np.testing.assert_allclose([metric(many) for metric in metrics], expected, rtol=1e-12)
    decisions = fp.bayes_decisions(many, COSTS)
    cost = fp.expected_cost(
        many.y_true, decisions, COSTS, sample_weight=many.sample_weight, normalized=False
    )
    assert cost == pytest.approx(rate, rel=1e-12)
    rule = fp.ExpectedScore(fp.rules.Cost(COSTS), normalized=False)
    assert rule(many) == pytest.approx(rate, rel=1e-12)


def test_replicates_of_many_classes(many):
    options = {"n_resamples": 40, "seed": 3, "confidence_level": 0.8}

    def error_rate(replicate):
        wrong = replicate.log_posteriors.argmax(axis=1) != replicate.y_true
        return np.average(wrong, weights=replicate.sample_weight)

    of_risk, of_function = fp.bootstrap(
        [fp.BayesRisk(COSTS, normalized=False), error_rate], many, method="percentile",
        resampling=fp.Clusters(np.arange(N) // 2), **options,
    )  # fmt: skip
    np.testing.assert_allclose(of_risk.replicates, of_function.replicates, rtol=1e-12)


@pytest.mark.parametrize(("n_classes", "given"), [(2, True), (3, False), (40, True)])
def test_counts_of_errors_give_the_risks_of_the_matrix(n_classes, given):
    priors = np.arange(1.0, n_classes + 1.0) / np.arange(1.0, n_classes + 1.0).sum()
    data = data_of(n_classes, 2_000, priors=priors if given else None)
    costs = fp.CostMatrix.zero_one(n_classes)
    doubled = fp.CostMatrix(2.0 * costs.values)  # of which all decisions are counted
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
    for ask in (lambda: COSTS.values, lambda: fp.CostMatrix.zero_one(MANY, reject=0.1)):
        with pytest.raises(fp.ArgumentError, match=r"K must be at most 16,384.*not 50000"):
            ask()
    few = fp.CostMatrix.zero_one(3)
    with pytest.raises(ValueError, match="read-only"):
        few.values[0, 0] = 1.0
    with pytest.raises(ValueError, match="K must be at most"):
        fp.CostMatrix.zero_one(1 << 31)


def test_one_class_alone_is_refused_in_a_line(many):
    alone = many[many.y_true == many.y_true[1]]
    with pytest.raises(ValueError, match=r"whose largest is 1.0 \(class") as refused:
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


def test_temperature_is_fitted_to_many_classes():
    many = data_of(20_000)
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


# One class against the rest


def of_four(**options):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 500)
    z = rng.normal(size=(500, 4)) + 1.5 * np.eye(4)[y]
    return fp.Predictions.from_logits(y, z, **options), y


@pytest.mark.parametrize("scale", [1.0, 30.0, 800.0])
def test_the_odds_of_one_class_lose_no_digits(scale):
    """The scores of the steps of one class are log-odds against the rest."""
    y, z = np.arange(300) % 7, scale * np.random.default_rng(1).normal(size=(300, 7))
    data = fp.Predictions.from_logits(y, z)
    log_q = data.log_posteriors
    for k in range(7):
        steps = fp.pav_steps(data, class_=k)
        odds = np.sort(log_q[:, k] - np.logaddexp.reduce(np.delete(log_q, k, axis=1), axis=1))
        for ends in (steps.lowest, steps.highest):
            at = np.clip(np.searchsorted(odds, ends), 1, odds.size - 1)
            nearest = np.minimum(np.abs(odds[at] - ends), np.abs(odds[at - 1] - ends))
            assert (nearest <= 1e-12 * (1.0 + np.abs(ends))).all()


def test_the_odds_of_certain_rows_are_infinite():
    data = fp.Predictions.from_posteriors([0, 1, 2, 1], [*np.eye(3).tolist(), [0.5, 0.5, 0.0]])
    steps = fp.pav_steps(data, class_=1)
    assert (steps.lowest.tolist(), steps.highest.tolist()) == ([-np.inf, 0.0], [-np.inf, np.inf])


@pytest.mark.parametrize("curve", [fp.roc, fp.pav_steps])
def test_curves_of_one_class_are_those_of_its_posterior(curve):
    data, y = of_four(priors=[0.1, 0.2, 0.3, 0.4])
    for k in range(4):
        rest = np.logaddexp.reduce(np.delete(data.log_posteriors, k, 1), axis=1)
        alone = fp.Predictions.from_logits(
            y == k, data.log_posteriors[:, k] - rest, sample_weight=data.balanced_weights()
        )
        expected = vars(curve(alone))
        for name, value in vars(curve(data, class_=k)).items():
            if isinstance(value, np.ndarray):
                np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-12)
    two = fp.Predictions.from_llrs([0, 1, 0, 1, 1], [-1.0, 2.0, 0.5, 1.0, -0.2])
    for name, value in vars(curve(two, class_=1)).items():
        np.testing.assert_array_equal(value, vars(curve(two))[name])
