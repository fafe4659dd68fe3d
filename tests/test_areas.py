"""Areas under curves of ranks, against scikit-learn's, and what they must do by definition."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

import fastpsr as fp

EXACT = 1e-12


def binary(rng, share, *, ties, weighted):
    while True:
        n = int(rng.integers(8, 300))
        y = (rng.random(n) < share).astype(int)
        weights = rng.integers(0, 3, n).astype(float) if weighted else None
        seen = y if weights is None else y[weights > 0]
        if 0 < seen.sum() < seen.size:
            break
    scores = rng.normal(size=n) + y
    return y, np.round(scores, 1) if ties else scores, weights


def both_forms(y, scores, weights):
    data = fp.Predictions.from_raw_scores(y, scores, sample_weight=weights)
    return data, fp.from_parts([data[: y.size // 3], data[y.size // 3 :]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_areas_of_two_classes_are_those_of_scikit_learn(share, ties, weighted):
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, scores, weights = binary(rng, share, ties=ties, weighted=weighted)
        expected = {
            fp.AveragePrecision(): average_precision_score(y, scores, sample_weight=weights),
            fp.AUC(max_fpr=0.3): roc_auc_score(y, scores, sample_weight=weights, max_fpr=0.3),
            fp.AUC(max_fnr=0.3): roc_auc_score(1 - y, -scores, sample_weight=weights, max_fpr=0.3),
        }
        for data in both_forms(y, scores, weights):
            for metric, value in expected.items():
                assert metric(data) == pytest.approx(value, abs=EXACT), metric.label


def test_areas_of_several_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, q = rng.integers(0, 4, 500), rng.dirichlet(np.ones(4), 500)
    data = fp.Predictions.from_posteriors(y, q)
    one_hot = np.eye(4)[y]
    expected = {
        fp.AUC("ovo"): roc_auc_score(y, q, multi_class="ovo"),
        fp.AUC("weighted"): roc_auc_score(y, q, multi_class="ovr", average="weighted"),
        fp.AUC("macro"): roc_auc_score(y, q, multi_class="ovr"),
        fp.AveragePrecision("macro"): average_precision_score(one_hot, q),
        fp.AveragePrecision("weighted"): average_precision_score(one_hot, q, average="weighted"),
        fp.AveragePrecision(2): average_precision_score(y == 2, q[:, 2]),
    }
    for form in (data, fp.from_parts([data[:100], data[100:]])):
        for metric, value in expected.items():
            assert metric(form) == pytest.approx(value, abs=EXACT), metric.label


def test_average_precision_at_given_priors_is_that_of_reweighted_classes():
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 2, 200), rng.normal(size=200)
    given = fp.Predictions.from_llrs(y, scores, prior=0.1)
    weights = np.where(y, 0.1 / y.mean(), 0.9 / (1.0 - y.mean()))
    expected = average_precision_score(y, scores, sample_weight=weights)
    assert fp.AveragePrecision()(given) == pytest.approx(expected, abs=EXACT)


def test_the_curve_has_the_points_of_scikit_learn_where_recall_changes():
    rng = np.random.default_rng(2)
    for ties in (False, True):
        y, q = rng.integers(0, 2, 150), rng.random(150).round(2 if ties else 12)
        curve = fp.precision_recall(fp.Predictions.from_posteriors(y, q))
        precision, recall, threshold = precision_recall_curve(y, q)
        is_kept = np.append(np.isin(threshold, q[y == 1]), True)
        np.testing.assert_array_equal(curve.threshold[:-1], threshold[is_kept[:-1]])
        np.testing.assert_allclose(curve.precision, precision[is_kept], EXACT)
        np.testing.assert_allclose(curve.recall, recall[is_kept], EXACT)


def test_a_band_holds_precision_at_recalls():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    data = fp.Predictions.from_raw_scores(y, rng.normal(size=300) + y)
    band = fp.band(fp.precision_recall, data, [0.25, 0.5, 1.0], n_resamples=200, seed=0)
    curve = fp.precision_recall(data)
    at_half = curve.precision[np.flatnonzero(curve.recall >= 0.5 - EXACT)[-1]]
    assert band.value.precision[1] == pytest.approx(at_half, abs=EXACT)
    assert (band.low.precision <= band.value.precision).all()
    assert (band.value.precision <= band.high.precision).all()


def test_limits_of_areas_exclude_each_other_and_show_in_names():
    assert fp.AUC(max_fpr=0.1).label == "AUC(FPR<=0.1)"
    assert fp.AUC("ovo").label == "AUC(ovo)"
    with pytest.raises(fp.ArgumentError, match="max_fnr must be left out"):
        fp.AUC(max_fpr=0.1, max_fnr=0.1)
    y, scores = [0, 0, 1, 1], [1.0, 3.0, 2.0, 4.0]
    assert fp.AUC("ovo")(y, scores) == fp.AUC()(y, scores)  # of two classes raw scores will do
    with pytest.raises(fp.ArgumentError, match="samples of class 2"):
        fp.AUC("ovo")(fp.Predictions.from_posteriors([0, 1], np.full((2, 3), 1 / 3)))


@pytest.mark.parametrize("precision", [0.3, 0.6, 0.9, 1.0])
def test_recall_at_a_precision_is_the_highest_that_scikit_learn_has(precision):
    rng = np.random.default_rng(4)
    for weighted in (False, True):
        y, scores, weights = binary(rng, 0.5, ties=True, weighted=weighted)
        of_all, recall, threshold = precision_recall_curve(y, scores, sample_weight=weights)
        expected = recall[of_all >= precision - EXACT].max()
        for data in both_forms(y, scores, weights):
            metric = fp.RecallAtPrecision(precision)
            assert metric(data) == pytest.approx(expected, abs=EXACT)
            point = metric.operating_point(data)
            assert fp.Threshold(metric)(data) == point.threshold
            assert point.p_miss == pytest.approx(1.0 - expected, abs=EXACT)
            if expected:
                assert point.threshold in threshold


@pytest.mark.parametrize("n_votes", [10, 1000])
def test_equal_posteriors_of_one_class_are_ties(n_votes):
    rng = np.random.default_rng(11)
    shares = rng.dirichlet(np.ones(4), 300)
    votes = np.array([rng.multinomial(n_votes, share) for share in shares]) / n_votes
    y = rng.integers(0, 4, 300)
    for average in ("macro", "weighted"):
        theirs = roc_auc_score(y, votes, multi_class="ovr", average=average)
        assert fp.AUC(average)(y, votes) == pytest.approx(theirs, abs=EXACT)
    theirs = roc_auc_score(y, votes, multi_class="ovo")
    assert fp.AUC("ovo")(y, votes) == pytest.approx(theirs, abs=EXACT)
    theirs = average_precision_score(y == 2, votes[:, 2])
    assert fp.AveragePrecision(2)(y, votes) == pytest.approx(theirs, abs=EXACT)


def test_intervals_of_the_auc_are_the_same_in_parts_and_with_equal_weights():
    rng = np.random.default_rng(12)
    y, scores = rng.integers(0, 2, 900), rng.normal(size=900)
    data = fp.Predictions.from_llrs(y, scores)
    expected = fp.bootstrap(fp.AUC(), data, seed=0).interval
    weights = np.append(np.full(900, 3.0), 0.0)
    weighted = fp.Predictions.from_llrs(
        np.append(y, 1), np.append(scores, 9.0), sample_weight=weights
    )
    for same in (fp.from_parts([data[:200], data[200:]]), weighted):
        assert fp.bootstrap(fp.AUC(), same, seed=1).interval == pytest.approx(expected, rel=1e-12)


def test_no_score_is_accepted_at_the_threshold_of_a_precision_that_is_not_reached():
    metric = fp.RecallAtPrecision(0.9)
    data = fp.Predictions.from_posteriors([0, 0, 1, 1], [1.0, 0.9, 0.5, 0.2])
    assert metric.operating_point(data).threshold == fp.Threshold(metric)(data) == np.inf
    with_inf = fp.Predictions.from_logits([0, 0, 1, 1], [np.inf, 2.0, 1.0, 0.0])
    assert np.isnan(metric.operating_point(with_inf).threshold)
