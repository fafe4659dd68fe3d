"""Detection metrics against the script of the NIST SREs, as 3D-Speaker and wespeaker carry it."""

import numpy as np
import pytest

theirs = pytest.importorskip("speakerlab.utils.score_metrics")

import fastpsr as fp
from fastpsr.compat import nist

COSTS = [(0.01, 1, 1), (0.05, 10, 1), (0.3, 1, 2)]


def trials(seed):
    """Untied scores, also infinite, of which both ends are non-targets', and labels."""
    rng = np.random.default_rng(seed)
    n = rng.integers(3, 200)
    order, scores = rng.permutation(n), rng.normal(size=n)
    scores[order] = np.sort(scores)
    labels = rng.random(n) < rng.choice([0.1, 0.5, 0.9])
    labels[order[1]] = True
    # the script has no point before the lowest score, and needs one with P_miss < P_fa
    labels[order[[0, -1]]] = False
    if rng.random() < 0.5:
        scores[order[[0, -1]]] = -np.inf, np.inf
    return scores, labels


@pytest.mark.parametrize("seed", range(40))
def test_untied_scores(seed):
    scores, labels = trials(seed)
    rates = theirs.compute_pmiss_pfa_rbst(scores, labels)
    np.testing.assert_allclose(nist.compute_pmiss_pfa_rbst(scores, labels), rates, atol=1e-14)
    eer, threshold = theirs.compute_eer(*rates, scores)
    assert nist.compute_eer(*rates, scores) == (pytest.approx(eer, abs=1e-14), threshold)
    data = fp.Predictions.from_raw_scores(labels, scores)
    assert fp.EER("crossing")(data) == pytest.approx(eer, abs=1e-14)
    for costs in COSTS:
        least = theirs.compute_c_norm(*rates, *costs)
        assert nist.compute_c_norm(*rates, *costs) == pytest.approx(least, rel=1e-12, abs=1e-14)
        # without the point that accepts all trials
        p, c_miss, c_fa = costs
        of_all = c_fa * (1 - p) / min(c_miss * p, c_fa * (1 - p))
        assert fp.MinDCF(*costs)(data) == pytest.approx(min(least, of_all), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_ties_lie_between_the_extremes_of_their_order(seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(300) % 4 == 0
    scores = np.round(rng.normal(1.5 * labels), 1)
    data = fp.Predictions.from_raw_scores(labels, scores)
    low, high = (
        theirs.compute_pmiss_pfa_rbst(scores + shift * labels, labels) for shift in (1e-9, -1e-9)
    )
    ours = fp.EER("crossing")(data)
    assert theirs.compute_eer(*low) <= ours <= theirs.compute_eer(*high)
    for costs in COSTS:
        ours = fp.MinDCF(*costs)(data)
        least = theirs.compute_c_norm(*low, *costs)
        assert least <= ours <= theirs.compute_c_norm(*high, *costs) + 1e-14
