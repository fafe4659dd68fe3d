"""Every metric against its slow version, on ordinary and on hostile data."""

import math

import numpy as np
import pytest

import fastpsr as fp
from tests import reference, samples
from tests.reference import assert_close


def rules(K):
    """Rules with the losses that the reference takes."""
    costs = samples.COSTS[K]
    return {
        "log": (fp.rules.Log(), reference.log_class_losses),
        "brier": (fp.rules.Brier(), reference.brier_class_losses),
        "cost": (fp.rules.Cost(costs), reference.cost_class_losses(costs)),
    }


every_rule = pytest.mark.parametrize("rule_name", ["log", "brier", "cost"])
every_K = pytest.mark.parametrize("K", samples.CLASS_COUNTS)
normalized = pytest.mark.parametrize("normalized", [False, True], ids=["raw", "normalized"])


def combinations():
    """Class counts, scores, weights, priors and normalization: scores with all weights."""
    for i, K in enumerate(samples.CLASS_COUNTS):
        for j, scores in enumerate(samples.SCORES):
            for k in ((i + j) % 2, (i + j) % 2 + 2, (i + j) % 2 + 4):
                weights = samples.WEIGHTS[(k + j) % 6]
                yield K, scores, weights, (i + k // 2) % 2 == 0, (j + k // 2) % 2 == 0


COMBINATIONS = [*combinations()]


# Expected scores


@pytest.mark.parametrize(("K", "scores", "weights", "priors", "normalized"), COMBINATIONS)
def test_expected_score(K, scores, weights, priors, normalized):
    sample = samples.make(K, scores=scores, weights=weights, priors=priors)
    for rule, class_losses in rules(K).values():
        expected = reference.expected_score(
            sample.y, sample.log_q, class_losses, normalized=normalized, **sample.options
        )
        metric = fp.ExpectedScore(rule, normalized=normalized)
        assert_close(metric(sample.predictions), expected)


@every_K
def test_losses(K):
    for scores in samples.SCORES:
        sample = samples.make(K, scores=scores)
        for rule, class_losses in rules(K).values():
            expected = reference.losses(sample.y, sample.log_q, class_losses)
            assert_close(rule.loss(sample.y, sample.log_q), expected)


@every_K
@every_rule
def test_entropy_and_divergence(rule_name, K):
    rng = np.random.default_rng(K)
    r, q = rng.dirichlet(np.full(K, 0.7), 40), rng.dirichlet(np.full(K, 0.7), 40)
    r[:5, 0], q[3:8, 1] = 0.0, 0.0
    r, q = r / r.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
    rule, class_losses = rules(K)[rule_name]
    assert_close(rule.entropy(r), [reference.entropy(row, class_losses) for row in r])
    assert_close(rule.entropy(r[0]), reference.entropy(r[0], class_losses))
    expected = [reference.divergence(a, b, class_losses) for a, b in zip(r, q, strict=True)]
    assert_close(rule.divergence(r, q), expected)


def test_divergence_of_losses_beyond_the_largest_float():
    rule, tiny, none = fp.rules.Beta(0.0152, 1.55), [3e-319, 1.0], [0.0, 1.0]
    assert rule.divergence([tiny, tiny, none], [none, tiny, none]).tolist() == [math.inf, 0.0, 0.0]


def test_rows_of_divergences_match():
    for rows in ([[0.2, 0.3, 0.5]] * 2, [[0.5, 0.5]] * 3):
        with pytest.raises(
            fp.ArgumentError, match=r"r and q must match, not be of shapes \(2, 2\), "
        ):
            fp.rules.Log().divergence([[0.5, 0.5]] * 2, rows)


def test_the_losses_of_the_paper():
    # Two classes, posterior 0.2 for the true one: -log 0.2; ((0.8)^2 + (0.8)^2) / 2.
    q = [[0.8, 0.2]]
    raw = {"normalized": False}
    assert_close(fp.CrossEntropy(**raw)([1], q), -math.log(0.2))
    assert_close(fp.BrierScore(**raw)([1], q), 0.64)
    assert_close(fp.BayesRisk([[0, 1], [10, 0]], **raw)([1], q), 0.0)
    assert_close(fp.BayesRisk([[0, 1], [3, 0]], **raw)([1], q), 3.0)


@pytest.mark.parametrize("log_odds", [-700.0, -40.0, 40.0, 700.0])
def test_extreme_log_odds_keep_their_digits(log_odds):
    y = np.array([0, 1])
    sample = fp.Predictions.from_logits(y, [log_odds, log_odds])
    assert_close(sample.log_odds, [log_odds, log_odds])
    losses = fp.rules.Log().loss(y, sample.log_posteriors)
    expected = [np.logaddexp(0, log_odds), np.logaddexp(0, -log_odds)]
    np.testing.assert_allclose(losses, expected, rtol=1e-12)  # also the loss of 1e-304
    llrs = fp.Predictions.from_llrs(y, [log_odds, log_odds], prior=0.5)
    assert_close(fp.CrossEntropy(normalized=False)(llrs), np.mean(expected))


@pytest.mark.parametrize("K", [2, 3])
def test_sums_over_many_samples(K):
    rng = np.random.default_rng(K)
    n = 500_001
    y, z = rng.integers(0, K, n), rng.normal(scale=4.0, size=(n, K))
    w = 10.0 ** rng.uniform(-6, 6, n)
    log_q = reference.log_softmax(z)
    q = np.exp(log_q)
    own = log_q[np.arange(n), y]
    brier = ((q - np.eye(K)[y]) ** 2).sum(axis=1) / K
    data = fp.Predictions.from_logits(y, z, sample_weight=w)
    for metric, losses in [(fp.CrossEntropy, -own), (fp.BrierScore, brier)]:
        expected = math.fsum(w * losses) / math.fsum(w)
        assert metric(normalized=False)(data) == pytest.approx(expected, rel=1e-12)


# Priors


@every_rule
def test_a_class_without_samples(rule_name):
    sample = samples.make(3)
    y = np.where(sample.y == 2, 0, sample.y)
    rule, class_losses = rules(3)[rule_name]
    metric = fp.ExpectedScore(rule)

    priors = [0.3, 0.7, 0.0]
    absent = fp.Predictions.from_log_posteriors(y, sample.log_q, priors=priors)
    expected = reference.expected_score(y, sample.log_q, class_losses, priors=priors)
    assert_close(metric(absent), expected)

    frequencies = fp.Predictions.from_log_posteriors(y, sample.log_q)
    assert_close(metric(frequencies), reference.expected_score(y, sample.log_q, class_losses))

    wanted = fp.Predictions.from_log_posteriors(y, sample.log_q, priors=[0.3, 0.3, 0.4])
    with pytest.raises(ValueError, match=r"y_true.*class 2.*prior is 0\.4"):
        metric(wanted)


# Shortcuts


@pytest.mark.parametrize(
    "metric",
    [fp.CrossEntropy(), fp.BayesRisk(samples.COSTS[2]), fp.ECE(on="confidence", norm=2),
     fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.TrainOnTest())],
    ids=lambda metric: metric.label,
)  # fmt: skip
def test_shortcut_takes_labels_and_posteriors(metric):
    sample = samples.make(2)
    q, w, p = np.exp(sample.log_q), np.arange(1.0, 61.0), [0.3, 0.7]
    data = fp.Predictions.from_posteriors(sample.y, q, priors=p, sample_weight=w)
    value = metric(sample.y, q, priors=p, sample_weight=w)
    assert value == metric(data)
    assert type(value) is float


# Bayes decisions and expected costs


@pytest.mark.parametrize(
    ("K", "scores"),
    [(2, "plain"), (2, "infinite"), (3, "tied"), (3, "extreme"), (7, "infinite"), (7, "tied")],
)
def test_bayes_decisions(K, scores):
    sample = samples.make(K, scores=scores)
    for costs in (samples.COSTS[K], 1.0 - np.eye(K)):
        expected = [reference.decide(reference.posteriors_of_logs(q), costs) for q in sample.log_q]
        assert fp.bayes_decisions(sample.predictions, costs).tolist() == expected


@every_K
def test_ties_between_decisions_go_to_the_lowest(K):
    uniform = fp.Predictions.from_posteriors(None, np.full((1, K), 1 / K))
    assert fp.bayes_decisions(uniform, fp.CostMatrix.zero_one(K)).tolist() == [0]
    assert fp.bayes_decisions(uniform, np.ones((K, 4))).tolist() == [0]
    backwards = 1.0 - np.eye(K)[:, ::-1]
    assert fp.bayes_decisions(uniform, backwards).tolist() == [0]


@pytest.mark.parametrize(
    ("q", "costs"),
    [  # all in exact arithmetic, without rounding: 0.75 x 1 = 0.25 x 3
        ([0.75, 0.25], [[0, 1], [3, 0]]),
        ([0.25, 0.75], [[0, 3], [1, 0]]),
        ([0.875, 0.125], [[0, 1], [7, 0]]),
        ([0.5, 0.5], [[0, 1, 0.5], [1, 0, 0.5]]),
        ([0.75, 0.25], [[0, 1, 0.25], [1, 0, 0.25]]),
        ([0.3125, 0.3125, 0.375], [[3, 2, 0], [0, 3, 3], [3, 3, 3]]),
        ([0.25, 0.125, 0.625], [[0.5, 1.75], [1.75, -0.75], [-0.5, -0.5]]),
    ],
    ids=str,
)
def test_ties_at_a_threshold(q, costs):
    assert reference.decide(q, costs) == 0
    predictions = fp.Predictions.from_posteriors(None, [q])
    assert fp.bayes_decisions(predictions, costs).tolist() == [0]


def test_decisions_where_posteriors_underflow():
    sure = fp.Predictions.from_logits(None, [-800.0, 800.0])
    assert fp.bayes_decisions(sure, [[0.0, 1.0], [1.0, 0.0]]).tolist() == [0, 1]
    # The unlikely class decides between two decisions that the likely class does not tell apart.
    assert fp.bayes_decisions(sure, [[0.0, 0.0], [1.0, 0.0]]).tolist() == [1, 1]


@pytest.mark.parametrize(("K", "scores", "weights", "priors", "normalized"), COMBINATIONS[::3])
def test_expected_cost(K, scores, weights, priors, normalized):
    sample = samples.make(K, weights=weights, priors=priors)
    costs = samples.COSTS[K]
    decisions = np.random.default_rng(K).integers(0, len(costs[0]), sample.y.size)
    value = fp.expected_cost(
        sample.y, decisions, costs, priors=sample.priors, sample_weight=sample.weights,
        normalized=normalized,
    )  # fmt: skip
    expected = reference.expected_cost(
        sample.y, decisions, costs, normalized=normalized, **sample.options
    )
    assert_close(value, expected)


def test_named_cost_matrices():
    assert fp.CostMatrix.zero_one(3).values.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert fp.CostMatrix.zero_one(2, reject=0.1).values.tolist() == [[0, 1, 0.1], [1, 0, 0.1]]
    # Missing a target is deciding 0 on class 1.
    assert fp.CostMatrix.detection(10, 1).values.tolist() == [[0, 1], [10, 0]]


# Risk curves


@pytest.mark.parametrize(
    ("scores", "priors"), [("plain", True), ("tied", False), ("extreme", True), ("infinite", False)]
)
def test_risk_curve_of_binary_thresholds(scores, priors):
    sample = samples.make(2, 40, scores=scores, weights="integer", priors=priors)
    points = np.array([1e-9, 0.013, 0.25, 0.4999, 0.77, 1 - 1e-9])
    curve = fp.risk_curve(sample.predictions, points)
    expected = [
        reference.risk_at(sample.y, sample.log_q, [a, 1 - a], **sample.options) for a in points
    ]
    assert_close(curve.points, points)
    assert_close(curve.risk, expected)


@every_K
def test_risk_curve_on_the_simplex(K):
    sample = samples.make(K, 40, weights="wild")
    points = np.random.default_rng(1).dirichlet(np.ones(K), 6)
    curve = fp.risk_curve(sample.predictions, points)
    expected = [reference.risk_at(sample.y, sample.log_q, a, **sample.options) for a in points]
    assert curve.risk.shape == (6,)
    assert_close(curve.risk, expected)


def test_risk_curve_at_a_tie_takes_the_lowest_decision():
    at_threshold = fp.Predictions.from_posteriors([1], [[0.25, 0.75]], priors=[0.0, 1.0])
    assert_close(fp.risk_curve(at_threshold, [0.25]).risk, [1 / 0.75])
