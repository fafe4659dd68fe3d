"""Detection metrics against their naive versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastpsr as fp
from tests import reference_detection as reference

POINTS = [(0.5, 1.0, 1.0), (0.01, 1.0, 1.0), (0.05, 10.0, 1.0), (0.9, 1.0, 3.0)]


def make(kind, n=60, share=0.3, seed=0):
    """Labels, scores, and weights of some kind; both classes present."""
    rng = np.random.default_rng([seed, n])
    y = (rng.random(n) < share).astype(int)
    y[:2] = 0, 1
    scores = rng.normal(1.5 * y, 1.0)
    if kind == "tied":
        scores = np.round(scores)
    elif kind == "constant":
        scores[:] = 0.25
    elif kind == "separated":
        scores += 100.0 * y
    elif kind == "reversed":
        scores = -scores
    elif kind == "infinite":
        scores[2:6] = [np.inf, np.inf, -np.inf, -np.inf]
    weights = np.ones(n)
    if kind == "weighted":
        weights = rng.integers(0, 4, n) * rng.random(n)
    elif kind == "wild":
        weights = 10.0 ** rng.uniform(-8, 8, n)
    weights[:2] = 1.0
    return y, scores, weights


KINDS = ["plain", "tied", "constant", "separated", "reversed", "infinite", "weighted"]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kind", [*KINDS, "wild"])
def test_values_are_those_of_the_naive_versions(kind, share):
    sample = y, scores, weights = make(kind, share=share)
    data = fp.Predictions.from_llrs(y, scores, sample_weight=weights)
    naive_sample = scores, y, weights
    for metric, expected in [
        (fp.EER(), reference.eer(*naive_sample)),
        (fp.AUC(), reference.auc(*naive_sample)),
        (fp.MinCllr(), reference.min_cllr(*naive_sample)),
        (fp.MinCllr(0.02), reference.min_cllr(*naive_sample, 0.02)),
        *((fp.MinDCF(*point), reference.min_dcf(*naive_sample, *point)) for point in POINTS),
        (fp.Cllr(), reference.cllr(*naive_sample)),
        (fp.Cllr(0.03), reference.cllr(*naive_sample, 0.03)),
        *((fp.ActDCF(*point), reference.act_dcf(*naive_sample, *point)) for point in POINTS),
    ]:
        assert metric(data) == pytest.approx(expected, rel=1e-12, abs=1e-14), (metric, sample)


def test_auc_of_separated_weighted_scores_is_at_most_1():
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 0, 1, 1, 1])
    for _ in range(200):
        scores, weights = 10.0 * y + rng.random(6), rng.random(6)
        data = fp.Predictions.from_raw_scores(y, scores, sample_weight=weights)
        assert 1.0 - 1e-15 < fp.AUC()(data) <= 1.0


@pytest.mark.parametrize("kind", ["plain", "tied", "weighted"])
def test_devpav_is_the_mean_distance_of_the_curve(kind):
    y, llrs, weights = make(kind, n=200)
    data = fp.Predictions.from_llrs(y, llrs, sample_weight=weights)
    assert fp.DevPAV()(data) == pytest.approx(reference.devpav(llrs, y, weights), rel=1e-4)


def test_devpav_needs_overlapping_classes():
    y, llrs, _ = make("separated")
    with pytest.raises(ValueError, match="overlap"):
        fp.DevPAV()(y, llrs)
    y, llrs, _ = make("constant")
    assert fp.DevPAV()(y, llrs) == pytest.approx(0.25 / np.log(10.0), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_roc_is_every_corner_and_its_hull_is_below(data):
    n = data.draw(st.integers(2, 40))
    scores = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), float)
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y[:2] = 0, 1
    curve = fp.roc(fp.Predictions.from_raw_scores(y, scores))
    ones = np.ones(n)
    corners = list(zip(curve.threshold, curve.p_miss, curve.p_fa, strict=True))
    for threshold, p_miss, p_fa in corners[:-1]:
        assert (p_miss, p_fa) == pytest.approx(reference.rates(scores, y, ones, threshold))
    assert corners[-1] == (np.inf, 1.0, 0.0)
    miss, fa = curve.p_miss[curve.hull], curve.p_fa[curve.hull]
    assert (fa[0], miss[0], fa[-1], miss[-1]) == (1.0, 0.0, 0.0, 1.0)
    slopes = np.divide(np.diff(miss), -np.diff(fa), out=np.full(miss.size - 1, np.inf),
                       where=np.diff(fa) != 0)  # fmt: skip
    assert (np.diff(slopes) > 0).all()
    for p_miss, p_fa in reference.all_rates(scores, y, ones):
        assert p_miss >= np.interp(p_fa, fa[::-1], miss[::-1]) - 1e-12


def test_constant_scores():
    for labels in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]):  # in any order
        assert fp.EER()(labels, np.zeros(4)) == fp.AUC()(labels, np.zeros(4)) == 0.5
    at_the_threshold = np.full(4, np.log(99.0))  # all are accepted
    assert fp.ActDCF(0.01)([0, 1, 0, 1], at_the_threshold) == pytest.approx(99.0)


def test_cllr_of_one_class_is_refused_for_the_labels():
    with pytest.raises(
        fp.ArgumentError, match=r"y_true must have .* of class 1 .*: its prior is 0\.5"
    ):
        fp.Cllr()([0, 0], [0.2, 0.3])


@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("metric", [fp.Cllr(), fp.DevPAV()])
def test_llrs_of_posteriors_do_not_depend_on_their_prior(metric, prior):
    y, llrs, _ = make("plain", n=200)
    log_odds = llrs + np.log(prior / (1.0 - prior))
    data = fp.Predictions.from_logits(y, log_odds, priors=[1.0 - prior, prior])
    assert metric(data) == pytest.approx(metric(y, llrs), rel=1e-9)
    own = np.log(y.mean() / (1.0 - y.mean()))  # the prior of the test data, if none is passed
    assert metric(fp.Predictions.from_logits(y, llrs + own)) == pytest.approx(metric(y, llrs))
