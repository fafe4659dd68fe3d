"""The Beta family, and weights of two and more classes, against closed forms and rays."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import qmc

import fastpsr as fp
from fastpsr.rules import Beta, Weighted
from tests.refusal import refuses

FAR = np.array([-np.inf, -1e5, -800.0, -300.0, -44.4, 44.4, 300.0, 800.0, 1e5, np.inf])
LOG_ODDS = np.concatenate([np.linspace(-42.0, 42.0, 1201), FAR])

shapes = st.floats(np.log(0.05), np.log(200.0)).map(math.exp)
all_log_odds = st.floats(-1000.0, 1000.0) | st.sampled_from([-np.inf, np.inf])
often = settings(deadline=None, max_examples=25)


def binary(rule, log_odds, label):
    log_odds = np.atleast_1d(np.asarray(log_odds, float))
    return rule.binary_losses(log_odds, np.full(log_odds.size, label, np.uint8))


def slopes(rule, log_odds, label):
    log_odds = np.atleast_1d(np.asarray(log_odds, float))
    return rule.binary_slopes(log_odds, np.full(log_odds.size, label, np.uint8))


def beta_density(a, b):
    def density(points):
        logs = (a - 1) * np.log(points[:, 0]) + (b - 1) * np.log(points[:, 1])
        return np.exp(logs - special.betaln(a, b))

    return density


def ones(points):
    return np.ones(len(points))


# The Beta family


@often
@given(shapes, shapes, st.floats(-4.0, 4.0))
def test_beta_against_60_digits(a, b, spread):
    mp = pytest.importorskip("mpmath")
    x = float(np.log(b / a) + spread * np.sqrt(1 / a + 1 / b))
    with mp.workdps(60):
        q1 = 1 / (1 + mp.exp(-mp.mpf(x)))
        power = mp.power(q1, b) / b / mp.beta(a, b)
        expected = power * mp.hyp2f1(2 - mp.mpf(a), b, 1 + mp.mpf(b), q1)
        margin = 1e-12 * expected + 1e-300
        assert abs(binary(Beta(a, b), x, 0)[0] - expected) < margin
        assert abs(binary(Beta(b, a), -x, 1)[0] - expected) < margin


@pytest.mark.parametrize(
    ("a", "b"), [(0.05, 1.0), (0.5, 200.0), (1.0, 0.05), (1.0 + 1e-9, 1.0), (1.3, 0.05)]
)
def test_beta_far_out(a, b):
    # s(v)^(a-1) s(-v)^b is a power series in exp(v) for v < -40, and one in exp(-v) for v > 40.
    rule, scale = Beta(a, b), math.exp(special.betaln(a, b))
    at_40 = binary(rule, 40.0, 0)[0]
    for x in (50.0, 120.0, 700.0):
        reach = x - 40 if a == 1 else -math.expm1(-(x - 40) * (a - 1)) / (a - 1)
        first = math.exp(-40 * (a - 1)) * reach
        second = (math.exp(-40 * a) - math.exp(-x * a)) / a * (1 - a - b)
        expected = at_40 + (first + second) / scale
        assert binary(rule, x, 0)[0] == pytest.approx(expected, rel=2e-12)
    for x in (-45.0, -120.0, -800.0):
        expected = math.exp(b * x) / b / scale
        assert binary(rule, x, 0)[0] == pytest.approx(expected, rel=1e-12, abs=1e-300)


@often
@given(shapes, shapes)
def test_beta_at_certainty(a, b):
    rule = Beta(a, b)
    assert binary(rule, -np.inf, 0)[0] == binary(rule, np.inf, 1)[0] == 0.0
    limits = [(a + b - 1) / (s - 1) if s > 1 else np.inf for s in (a, b)]
    assert binary(rule, np.inf, 0)[0] == pytest.approx(limits[0], rel=1e-12)
    assert binary(rule, -np.inf, 1)[0] == pytest.approx(limits[1], rel=1e-12)
    losses = rule.loss([0, 1, 0, 1], [[0.0, -np.inf], [-np.inf, 0.0]] * 2)
    assert losses.tolist() == [0.0, 0.0, 0.0, 0.0]


@often
@given(shapes, shapes, st.floats(-50.0, 50.0))
def test_beta_slopes(a, b, x):
    s, log_scale = special.log_expit, special.betaln(a, b)
    common = (a - 1) * s(-x) + (b - 1) * s(x) - log_scale
    expected = [math.exp(common + s(x)), -math.exp(common + s(-x))]
    for label in (0, 1):
        loss = binary(Beta(a, b), x, label)[0]
        close = {"rel": 1e-9, "abs": 1e-9 * loss + 1e-300}
        assert slopes(Beta(a, b), x, label)[0] == pytest.approx(expected[label], **close)


def test_slopes_at_infinity():
    x = np.array([-np.inf, np.inf])
    assert slopes(Beta(1, 1), x, 0).tolist() == pytest.approx([0.0, 1.0], rel=1e-13)
    assert slopes(Beta(1, 1), x, 1).tolist() == pytest.approx([-1.0, 0.0], rel=1e-13)
    assert slopes(Beta(2, 2), x, 0).tolist() == [0.0, 0.0]
    assert slopes(Beta(0.5, 0.5), x, 0).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf, 1e7, "x", None])
def test_what_beta_refuses(bad):
    with refuses("a"):
        Beta(bad, 1)
    with refuses("b"):
        Beta(1, bad)


# Weights of two classes


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.05, 0.05), (0.5, 3), (20, 30), (200, 200)])
def test_weighted_by_a_beta_density(a, b):
    for label in (0, 1):
        rule = Weighted(beta_density(a, b))
        losses, expected = (binary(family, LOG_ODDS, label) for family in (rule, Beta(a, b)))
        np.testing.assert_allclose(losses, expected, rtol=1e-10, atol=1e-14)
        curves, expected = (slopes(family, LOG_ODDS, label) for family in (rule, Beta(a, b)))
        np.testing.assert_allclose(curves, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("c", [0.2, 1e-6, 0.9999])
def test_weighted_by_a_jump(c):
    rule = Weighted(lambda a: (a[:, 0] < c) * 1.0)
    near_jump = c * (1 + np.array([-1e-3, -1e-6, -1e-9, 1e-9, 1e-6]))
    q0 = np.concatenate([np.linspace(1e-7, 1 - 1e-7, 1001), near_jump])
    log_odds = np.log1p(-q0) - np.log(q0)
    expected = np.where(q0 < c, np.log(c / q0), 0.0)
    np.testing.assert_allclose(binary(rule, log_odds, 0), expected, rtol=1e-10, atol=1e-10)
    expected = -np.log1p(-np.minimum(q0, c))
    np.testing.assert_allclose(binary(rule, log_odds, 1), expected, rtol=1e-10, atol=1e-10)
    assert binary(rule, np.inf, 0)[0] == np.inf
    assert binary(rule, -np.inf, 1)[0] == pytest.approx(-np.log1p(-c), rel=1e-10)
    assert not rule.is_strict


def test_weighted_by_rounded_values():
    # 1 - a_1 is a staircase where a_1 is nearly 1: rounding is no reason to refine for ever.
    q0, q1 = special.expit(-LOG_ODDS), special.expit(LOG_ODDS)
    losses = binary(Weighted(lambda a: 1 - a[:, 0]), LOG_ODDS, 1)
    np.testing.assert_allclose(losses, q0, rtol=1e-10, atol=1e-300)
    losses = binary(Weighted(lambda a: np.sqrt(1 - a[:, 0])), LOG_ODDS, 1)
    without_last = 2e-8  # sqrt(1 - a_1) is 0 from 1 - a_1 = 1e-16 on
    np.testing.assert_allclose(losses, 2 * q0 / (1 + np.sqrt(q1)), atol=without_last)


def test_weighted_at_certainty():
    assert binary(Weighted(ones), [np.inf, 1e5], 0).tolist() == [np.inf, 1e5]
    assert binary(Weighted(ones), [-np.inf], 0).tolist() == [0.0]
    rising = Weighted(lambda a: np.sqrt(a[:, 0]))  # integral of x^(-1/2)
    assert binary(rising, np.inf, 0)[0] == pytest.approx(2.0, rel=1e-12)
    assert binary(rising, -np.inf, 1)[0] == np.inf
    nothing = Weighted(lambda a: np.zeros(len(a)))
    assert binary(nothing, [-np.inf, 0.0, np.inf], 1).tolist() == [0.0, 0.0, 0.0]


@often
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.lists(all_log_odds, min_size=1, max_size=20))
def test_weighted_is_proper(c, p, elsewhere):
    with np.errstate(divide="ignore"):
        at_p = np.log([p]) - np.log1p([-p])
    for rule in (JUMPY, Weighted(lambda a: np.abs(a[:, 0] - c))):
        best, losses_elsewhere = (
            sum(w * binary(rule, x, k) for k, w in enumerate((1 - p, p)) if w > 0)
            for x in (at_p, elsewhere)
        )
        assert (losses_elsewhere >= best - 1e-10 * (1 + best)).all()


JUMPY = Weighted(lambda a: 0.5 + (a[:, 0] < 0.2) + 3.0 * (a[:, 1] < 0.01))


# What a weight may be


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bad_weights(n_classes):
    for argument, weight in (
        ("weight", lambda a: 1.0),
        ("weight", lambda a: a),
        ("weight", lambda a: a[1:, 0]),
        ("weight", lambda a: a[:, 0] - 0.5),
        ("weight", lambda a: np.where(a[:, 0] > 0.5, np.nan, 1.0)),
        ("weight", lambda a: np.where(a[:, 1] > 0.5, np.inf, 1.0)),
        ("weight(a)", lambda a: ["x"] * len(a)),
    ):
        rule = Weighted(weight)
        with refuses(argument):
            rule.loss([0], np.log([[1 / n_classes] * n_classes]))
        with refuses(argument):
            _ = rule.is_strict


def test_weights_beyond_quadrature():
    with refuses("weight"):
        Weighted(3)
    with pytest.raises(fp.ArgumentError, match=r"finite integral.* grows as a_k\^-1$"):
        binary(Weighted(lambda a: 1 / (a[:, 0] * a[:, 1])), 0.0, 0)
    rng = np.random.default_rng(0)
    with pytest.raises(fp.ArgumentError, match="weight must be smooth"):
        binary(Weighted(lambda a: rng.random(len(a))), 0.0, 0)


def test_strictness_is_probed():
    assert Weighted(ones).is_strict
    assert Weighted(lambda a: a[:, 0] * a[:, 1]).is_strict
    assert not Weighted(lambda a: np.maximum(a[:, 0] - 0.1, 0.0)).is_strict
    assert Weighted(lambda a: a[:, 0] * a[:, 3]).is_strict  # for four classes at least
    assert not Weighted(lambda a: (a @ [1.0, 2.0, 3.0] > 1.5) * 1.0).is_strict  # for three
    assert repr(Weighted(ones)) == "Weighted(ones)"


# Weights of more classes, against rays from the corners


def losses_by_rays(weight, log_q, h, directions):
    """The rule's definition, on rays from a_h = 1: the decision is h until a_h falls to a bound.

    On the ray to u, a = (t, (1 - t) u) with t = a_h of density (K - 1) (1 - t)^(K - 2), and class h
    is decided on while t < q_h / (q_h + max q_i / u_i).
    """
    q = np.exp(log_q)
    other_classes = np.delete(np.arange(q.size), h)
    bounds = (q[other_classes] / directions).max(axis=1)
    starts = np.log(q[h]) - np.log(bounds)
    steps = (np.arange(400) + 0.5) / 400
    steps = steps / (1 - steps)  # of log-odds of t, to infinity
    widths = (1 + steps) ** 2 / 400
    v = starts[:, None] + steps
    a = np.empty((*v.shape, q.size))
    a[:, :, h] = special.expit(v)
    a[:, :, other_classes] = special.expit(-v)[:, :, None] * directions[:, None, :]
    values = weight(a.reshape(-1, q.size)).reshape(v.shape)
    return float((values * special.expit(-v) ** other_classes.size @ widths).mean())


def posteriors(n_classes, n, seed):
    z = np.random.default_rng(seed).normal(size=(n, n_classes)) * 1.5
    return special.log_softmax(z, axis=1)


WEIGHTS = {
    "quadratic": lambda a: 0.2 + a.shape[1] * (a * a).sum(axis=1),
    "product": lambda a: 60.0 * a[:, 0] * a[:, 1] * a[:, 2],
    "lopsided": lambda a: a[:, 0] + 0.1 * a[:, 1],
    "jump": lambda a: 1.0 * (a[:, 1] < 0.3),
}


@pytest.mark.parametrize("n_classes", [3, 10])
def test_constant_weight_is_the_log_rule(n_classes):
    log_q = posteriors(n_classes, 50, n_classes)
    log_q[0] = -np.inf
    log_q[0, 0] = 0.0
    losses = Weighted(lambda a: np.full(len(a), 2.0)).class_losses(log_q)
    np.testing.assert_allclose(losses, -2.0 * log_q, rtol=1e-13)


@pytest.mark.parametrize("name", WEIGHTS)
def test_three_classes_against_rays(name):
    u = (np.arange(400) + 0.5) / 400
    directions = np.column_stack([u, 1 - u])
    log_q = posteriors(3, 6, 0)
    losses = Weighted(WEIGHTS[name]).class_losses(log_q)
    expected = [[losses_by_rays(WEIGHTS[name], q, h, directions) for h in range(3)] for q in log_q]
    np.testing.assert_allclose(losses, expected, rtol=0.01, atol=3e-3)
    assert losses.mean() == pytest.approx(np.mean(expected), rel=3e-3)


def test_five_classes_against_rays():
    name = "quadratic"
    exponentials = -np.log(qmc.Sobol(4, seed=0).random_base2(10))
    directions = exponentials / exponentials.sum(axis=1, keepdims=True)
    log_q = posteriors(5, 4, 5)
    losses = Weighted(WEIGHTS[name]).class_losses(log_q)
    expected = [[losses_by_rays(WEIGHTS[name], q, h, directions) for h in range(5)] for q in log_q]
    log_losses = [[losses_by_rays(ones, q, h, directions) for h in range(5)] for q in log_q]
    expected = np.array(expected) / log_losses * -log_q  # the rays' own error mostly cancels
    np.testing.assert_allclose(losses, expected, rtol=0.05)
    assert losses.mean() == pytest.approx(expected.mean(), rel=0.01)


def test_posteriors_of_zero_for_more_classes():
    log_q = np.log([[1e-300, 0.5, 0.5], [1e-290, 0.5, 0.5], [0.5, 0.5, 1e-300]])
    log_q = np.concatenate([log_q, [[-np.inf, *np.log([0.5, 0.5])], [-1e5, *np.log([0.5, 0.5])]]])
    y = [0, 0, 0, 0, 0]
    vanishing = Weighted(WEIGHTS["product"]).loss(y, log_q)
    assert vanishing[[0, 1, 4]] == pytest.approx([vanishing[3]] * 3, rel=0.02)
    growing = Weighted(WEIGHTS["quadratic"]).loss(y, log_q)
    assert growing[3] == np.inf
    slope = (growing[4] - growing[0]) / (1e5 + log_q[0, 0])
    rate = 0.2 + 3 * 2 / 3  # at a_h = 0 the other two are uniform: their mean square is 1/3
    assert slope == pytest.approx(rate, rel=0.05)
    certain = [[0.0, -np.inf, -np.inf]]
    assert Weighted(ones).loss([0], certain).tolist() == [0.0]
    assert Weighted(ones).class_losses(np.array(certain)).tolist() == [[0.0, np.inf, np.inf]]


def test_losses_do_not_depend_on_the_other_samples():
    log_q = posteriors(4, 200, 1)
    y = np.arange(200) % 4
    rule = Weighted(WEIGHTS["quadratic"])
    losses = rule.loss(y, log_q)
    order = np.random.default_rng(0).permutation(200)
    np.testing.assert_allclose(rule.loss(y[order], log_q[order]), losses[order], rtol=1e-13)
    columns = rule.class_losses(log_q)[np.arange(200), y]
    np.testing.assert_allclose(columns, losses, rtol=1e-13)
    predictions = fp.Predictions.from_log_posteriors(y, log_q)
    np.testing.assert_allclose(rule.losses_of(predictions), losses, rtol=1e-11)
