"""Values next to exact ones: elementary functions to 2 ulp, sums and ranks to 1e-12."""

from fractions import Fraction

import mpmath
import pytest

import fastpsr as fp
from tests import samples

mp = mpmath.MPContext()
mp.dps = 50


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
