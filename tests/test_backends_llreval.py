"""Detection metrics against llreval, the fork of PYLLR."""

import numpy as np
import pytest

pytest.importorskip("llreval")

from llreval.bayes_error_rate import default_error_rate, fast_Bayes_error_rate
from llreval.cllr import cross_entropy, min_cllr
from llreval.pav_rocch import PAV, ROCCH

import fastpsr as fp

AXIS = np.linspace(-6.0, 6.0, 25)  # with 0, at which rounded scores lie on the threshold


def trials(seed):
    """LLRs of targets and non-targets: few or many, untied or rounded, also infinite."""
    rng = np.random.default_rng(seed)
    scores = [
        rng.normal(mean, 1.5, rng.integers(2, 200))
        for mean in (rng.choice([-1.0, 0.0, 1.0, 4.0]), -1.0)
    ]
    digits = rng.choice([15, 1, 0])
    targets, nontargets = (np.round(each, digits) for each in scores)
    if rng.random() < 0.5:
        targets[0], nontargets[0] = np.inf, -np.inf
    if rng.random() < 0.5:  # errors at any threshold
        targets[1], nontargets[1] = -np.inf, np.inf
    return targets, nontargets


@pytest.mark.parametrize("seed", range(40))
def test_metrics_and_curves(seed):
    targets, nontargets = trials(seed)
    data = fp.Predictions.from_target_nontarget(targets, nontargets)
    scores = np.concatenate([targets, nontargets])
    labels = np.repeat([1, 0], [targets.size, nontargets.size])
    pav = PAV(scores, labels)
    hull = ROCCH(pav)
    assert fp.EER()(data) == pytest.approx(hull.EER(), rel=1e-6, abs=1e-9)  # a numerical search
    assert fp.MinCllr()(data) == pytest.approx(min_cllr(pav), rel=1e-10, abs=1e-14)
    for p in (0.01, 0.5, 0.9):
        bits = -(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p))
        with np.errstate(invalid="ignore"):  # their losses at infinity
            theirs = cross_entropy(targets, nontargets, p)
        assert bits * fp.Cllr(p)(data) == pytest.approx(theirs, rel=1e-10)
        plo = np.log(p / (1.0 - p))
        theirs = hull.Bayes_error_rate(plo) / min(p, 1.0 - p)
        assert fp.MinDCF(p)(data) == pytest.approx(theirs, rel=1e-10, abs=1e-14)
        theirs = fast_Bayes_error_rate(scores, labels, np.array([plo]))[0] / min(p, 1.0 - p)
        assert fp.ActDCF(p)(data) == pytest.approx(theirs, rel=1e-10, abs=1e-14)
    curve = fp.bayes_error(data, AXIS)
    for ours, theirs in (
        (curve.minimum, hull.Bayes_error_rate(AXIS)),
        (curve.actual, fast_Bayes_error_rate(scores, labels, AXIS)),
        (curve.default, default_error_rate(AXIS)),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-14)
    roc = fp.roc(data)
    np.testing.assert_allclose((roc.p_miss[roc.hull], roc.p_fa[roc.hull]), pav.rocch(), atol=1e-14)
