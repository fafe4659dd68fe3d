"""Values next to exact ones: elementary functions to 2 ulp, sums and ranks to 1e-12."""

from fractions import Fraction

import mpmath
import pytest

import fastpsr as fp
from tests import samples

mp = mpmath.MPContext()
mp.dps = 50


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
