"""Values next to exact ones: elementary functions to 2 ulp, sums and ranks to 1e-12."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fastpsr as fp
from fastpsr import kernels
from tests import samples

LARGEST = float(np.finfo(np.float64).max)
mp = mpmath.MPContext()
mp.dps = 50


def log_of_ratio(values):
    return kernels.log_space.log_odds_from_posteriors(
        np.column_stack([np.ones_like(values), values])
    )


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


#: Function, the same in extended precision, and the range that it is for.
FUNCTIONS = {
    "log": (log_of_ratio, np.log, (5e-324, LARGEST)),
    "softplus": (kernels.log_space.softplus, softplus, (-746.0, 746.0)),
    "sigmoid": (kernels.log_space.sigmoid, sigmoid, (-746.0, 746.0)),
}


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is double here")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions(name):
    function, extended, (low, high) = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    exponents = rng.uniform(-324, math.log10(max(-low, high)), 20_000)
    near_ends = [end + np.arange(-300, 301) * 1e-16 * abs(end) for end in (low, high / 2, 1.0)]
    x = np.concatenate([
        rng.uniform(max(low, -800.0), min(high, 800.0), 20_000), rng.uniform(-40.0, 40.0, 20_000),
        10.0**exponents, -(10.0**exponents), *near_ends,
    ])  # fmt: skip
    x = x[(x >= low) & (x <= high)]
    with np.errstate(under="ignore", over="ignore"):
        expected = extended(x.astype(np.longdouble))
    ulp = np.spacing(np.abs(expected.astype(np.float64)))
    error = np.abs(function(x).astype(np.longdouble) - expected) / ulp
    assert error.max() <= 2.0, x[error.argmax()]


def exact_losses(row):
    """Return the log and Brier losses of each class, for log-posteriors as floats."""
    row = [mp.mpf(float(x)) for x in row]
    q = [mp.exp(x) for x in row]
    q = [x / mp.fsum(q) for x in q]
    K = len(q)
    brier = [mp.fsum((q[i] - (i == h)) ** 2 for i in range(K)) / K for h in range(K)]
    return [-mp.log(x) if x else mp.inf for x in q], brier


@pytest.mark.parametrize("weights", ["none", "wild", "tiny", "huge", "zero on infinite losses"])
@pytest.mark.parametrize(("K", "scores"), [(2, "extreme"), (3, "infinite"), (7, "plain")])
def test_expected_scores(K, scores, weights):
    sample = samples.make(K, 40, scores=scores, weights=weights)
    w = [Fraction(1)] * 40 if sample.weights is None else [Fraction(x) for x in sample.weights]
    for i, metric in enumerate((fp.CrossEntropy(False), fp.BrierScore(False))):
        terms = [
            exact_losses(row)[i][y] * mp.mpf(x.numerator) / x.denominator
            for row, y, x in zip(sample.log_q, sample.y, w, strict=True)
            if x
        ]
        expected = mp.fsum(terms) / mp.fsum([mp.mpf(x.numerator) / x.denominator for x in w])
        assert metric(sample.predictions) == pytest.approx(float(expected), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("kind", ["plain", "tied", "outliers", "reversed"])
def test_ranks_of_wild_weights(kind):
    rng, y, s = samples.make_scores(kind)
    w = 10.0 ** rng.uniform(-8, 8, y.size)
    data = fp.Predictions.from_raw_scores(y, s, sample_weight=w)
    exact = [Fraction(x) for x in w]
    targets, others = ([i for i in range(y.size) if y[i] == k] for k in (1, 0))
    of_pairs = sum(
        exact[i] * exact[j] * (Fraction(2 * int(s[i] > s[j]) + int(s[i] == s[j])) / 2)
        for i in targets
        for j in others
    )
    totals = [sum(exact[i] for i in members) for members in (targets, others)]
    auc = of_pairs / totals[0] / totals[1]
    assert fp.AUC()(data) == pytest.approx(float(auc), rel=1e-12)
    costs = [Fraction(1)]  # of rejecting all
    for threshold in s:
        p_miss = sum(exact[i] for i in targets if s[i] < threshold) / totals[0]
        p_fa = sum(exact[i] for i in others if s[i] >= threshold) / totals[1]
        costs.append(p_miss + 9 * p_fa)
    assert fp.MinDCF(0.1)(data) == pytest.approx(float(min(costs)), rel=1e-12, abs=1e-14)


def test_sums_of_millions():
    n = 2_000_003
    rng = np.random.default_rng(0)
    y, weights = np.arange(n) % 3 == 0, rng.uniform(0.1, 3.0, n)
    llrs = 5.0 * rng.normal(size=n) + 1e-3
    data = fp.Predictions.from_posteriors(y, 1.0 / (1.0 + np.exp(-llrs)), sample_weight=weights)
    q = data.positive_posteriors
    losses = (np.where(y, 1.0 - q, q)) ** 2
    expected = math.fsum(losses * weights) / math.fsum(weights)
    assert fp.BrierScore(False)(data) == pytest.approx(expected, rel=1e-13)
