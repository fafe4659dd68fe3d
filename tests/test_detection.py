"""Detection metrics against their naive versions, and against other packages where installed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastpsr as fp
from fastpsr.summaries import rank_cells, rank_runs
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
    weights = rng.integers(0, 4, n) * rng.random(n) if kind == "weighted" else np.ones(n)
    weights[:2] = 1.0
    return y, scores, weights


KINDS = ["plain", "tied", "constant", "separated", "reversed", "infinite", "weighted"]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_rank_metrics_against_reference(kind, share):
    y, scores, weights = make(kind, share=share)
    data = fp.Predictions.from_raw_scores(y, scores, sample_weight=weights)
    for metric, expected in [
        (fp.EER(), reference.eer(scores, y, weights)),
        (fp.AUC(), reference.auc(scores, y, weights)),
        (fp.MinCllr(), reference.min_cllr(scores, y, weights)),
        (fp.MinCllr(0.02), reference.min_cllr(scores, y, weights, 0.02)),
        *((fp.MinDCF(*p), reference.min_dcf(scores, y, weights, *p)) for p in POINTS),
    ]:
        assert metric(data) == pytest.approx(expected, rel=1e-12, abs=1e-14), metric


def test_auc_of_separated_weighted_scores_is_at_most_1():
    rng = np.random.default_rng(0)
    for _ in range(200):
        y = np.array([0, 0, 0, 1, 1, 1])
        data = fp.Predictions.from_raw_scores(
            y, 10.0 * y + rng.random(6), sample_weight=rng.random(6)
        )
        assert 1.0 - 1e-15 < fp.AUC()(data) <= 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_metrics_of_llrs_against_reference(kind):
    y, llrs, weights = make(kind, n=80)
    data = fp.Predictions.from_llrs(y, llrs, sample_weight=weights)
    for metric, expected in [
        (fp.Cllr(), reference.cllr(llrs, y, weights)),
        (fp.Cllr(0.03), reference.cllr(llrs, y, weights, 0.03)),
        *((fp.ActDCF(*p), reference.act_dcf(llrs, y, weights, *p)) for p in POINTS),
    ]:
        assert metric(data) == pytest.approx(expected, rel=1e-12, abs=1e-14), metric


@pytest.mark.parametrize("priors", [None, [0.2, 0.8]])
def test_devpav_of_posteriors_is_that_of_their_llrs(priors):
    y, log_odds, _ = make("plain", n=200)
    data = fp.Predictions.from_logits(y, log_odds, priors=priors)
    prior = np.array([np.mean(y == 0), np.mean(y)]) if priors is None else np.array(priors)
    llrs = log_odds - np.log(prior[1] / prior[0])
    assert fp.DevPAV()(data) == pytest.approx(fp.DevPAV()(y, llrs), rel=1e-9)


@pytest.mark.parametrize("kind", ["plain", "tied", "weighted"])
def test_devpav_against_reference(kind):
    y, llrs, weights = make(kind, n=200)
    data = fp.Predictions.from_llrs(y, llrs, sample_weight=weights)
    assert fp.DevPAV()(data) == pytest.approx(reference.devpav(llrs, y, weights), rel=1e-4)


def test_devpav_where_there_is_no_curve():
    y, llrs, _ = make("separated")
    with pytest.raises(ValueError, match="overlap"):
        fp.DevPAV()(y, llrs)
    y, llrs, _ = make("constant")
    found = fp.DevPAV()(y, llrs)
    assert found == pytest.approx(abs(0.25 / np.log(10.0)), rel=1e-12)


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


def test_scores_are_counted_once(monkeypatch):
    y, scores, _ = make("plain", n=500)
    data = fp.Predictions.from_raw_scores(y, scores)
    counted = []

    def spied(name, plan):
        return lambda d: (counted.append(name), plan(d))[1]

    for module, name in (
        (rank_cells, "_fit"), (rank_runs, "_find_runs"), (rank_cells, "_fill_cells"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, spied(name, getattr(module, name)))
    for metric in (fp.EER(), fp.AUC(), fp.MinCllr(), fp.MinDCF(0.01), fp.MinDCF(0.5)):
        metric(data)
    fp.roc(data)
    assert counted == ["_fit", "_find_runs", "_fill_cells"]
    fp.EER()(data[:400])  # other samples, another hull
    assert counted == ["_fit", "_find_runs", "_fill_cells", "_fit"]


def test_ties_do_not_depend_on_order_and_say_nothing():
    y = [0, 0, 1, 1]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3]):
        labels = np.array(y)[order]
        assert fp.EER()(labels, np.zeros(4)) == 0.5
        assert fp.AUC()(labels, np.zeros(4)) == 0.5
        assert fp.MinDCF(0.01)(labels, np.zeros(4)) == 1.0
        assert fp.MinCllr()(labels, np.zeros(4)) == 1.0


def test_constant_llrs():
    y, _, _ = make("plain")
    assert fp.Cllr()(y, np.zeros(y.size)) == pytest.approx(1.0, rel=1e-12)
    assert fp.Cllr(0.01)(y, np.zeros(y.size)) == pytest.approx(1.0, rel=1e-12)
    assert fp.ActDCF(0.01)(y, np.zeros(y.size)) == 1.0
    threshold = np.log(99.0)
    assert fp.ActDCF(0.01)(y, np.full(y.size, threshold)) == pytest.approx(99.0)  # all accepted


def test_infinite_llrs_cost_infinitely_much_only_where_they_are_wrong():
    assert fp.Cllr()([0, 1], [-np.inf, np.inf]) == 0.0
    assert fp.Cllr()([0, 1, 1], [-1.0, 1.0, -np.inf]) == np.inf
    weighted = fp.Cllr()([0, 1, 1], [-1.0, 1.0, -np.inf], sample_weight=[1, 1, 0])
    assert weighted == pytest.approx(fp.Cllr()([0, 1], [-1.0, 1.0]))


def test_llrs_of_posteriors_do_not_depend_on_the_prior_they_hold():
    y, llrs, _ = make("plain", n=200)
    for prior in (0.01, 0.5, 0.9):
        q = 1.0 / (1.0 + np.exp(-(llrs + np.log(prior / (1 - prior)))))
        data = fp.Predictions.from_posteriors(y, q, priors=[1 - prior, prior])
        assert fp.Cllr()(data) == pytest.approx(fp.Cllr()(y, llrs), rel=1e-9)


@pytest.mark.parametrize(
    ("make_metric", "says"),
    [
        (lambda: fp.MinDCF(0.0), "p_target"),
        (lambda: fp.MinDCF(1.0), "p_target"),
        (lambda: fp.ActDCF(float("nan")), "p_target"),
        (lambda: fp.ActDCF(0.1, 0.0), "c_miss"),
        (lambda: fp.MinDCF(0.1, 1.0, np.inf), "c_fa"),
        (lambda: fp.Cllr(-0.1), "p_target"),
        (lambda: fp.MinCllr(2.0), "p_target"),
    ],
)
def test_bad_parameters(make_metric, says):
    with pytest.raises(ValueError, match=f"^{says}"):
        make_metric()


def test_bad_data():
    for metric in (fp.EER(), fp.AUC(), fp.MinCllr(), fp.MinDCF(0.1), fp.Cllr(), fp.ActDCF(0.1)):
        with pytest.raises(ValueError, match=r"target|class"):
            metric([0, 0], [1.0, 2.0])
    raw = fp.Predictions.from_raw_scores([0, 1], [0.0, 1.0])
    for metric in (fp.Cllr(), fp.ActDCF(0.1), fp.DevPAV()):
        with pytest.raises(ValueError, match="raw scores"):
            metric(raw)
    many = fp.Predictions.from_logits([0, 1, 2], np.eye(3))
    for metric in (fp.EER(), fp.Cllr(), fp.DevPAV(), fp.ActDCF(0.5)):
        with pytest.raises(ValueError, match="binary"):
            metric(many)


def test_against_scikit_learn():
    y, scores, weights = make("weighted", n=3000, share=0.05)
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    expected = sklearn_metrics.roc_auc_score(y, scores, sample_weight=weights)
    data = fp.Predictions.from_raw_scores(y, scores, sample_weight=weights)
    assert fp.AUC()(data) == pytest.approx(expected, rel=1e-12)
