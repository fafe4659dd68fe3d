"""Estimators and scorers for scikit-learn, against scikit-learn."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import fastpsr as fp

pytest.importorskip("sklearn", "1.6")

from sklearn import config_context, metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fastpsr.sklearn import CalibratedClassifier, make_scorer

NAMES = np.array(["cat", "dog", "owl"])


def data(n_classes=2, n=300, seed=0, **options):
    X, y = make_classification(
        n,
        **{"n_informative": 4, "n_classes": n_classes, "flip_y": 0.2} | options,
        random_state=seed,
    )
    return X, NAMES[y]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([CalibratedClassifier(LogisticRegression(C=1.0))])
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


# What it computes


def calibrated_by_hand(classifier, calibrator, X, y, make, method, weights=None):
    scores = cross_val_predict(classifier, X, y, cv=StratifiedKFold(5), method=method)
    samples = make(y, scores, classes=np.unique(y), sample_weight=weights)
    final = getattr(classifier.fit(X, y), method)(X)
    return calibrator.fit(samples).transform(make(None, final)).posteriors


@pytest.mark.parametrize(
    ("n_classes", "classifier", "calibrator", "make", "method"),
    [
        (2, LinearSVC(random_state=0), fp.PAV(floor=0.01), "from_logits", "decision_function"),
        (2, GaussianNB(), fp.HistogramBinning(5), "from_posteriors", "predict_proba"),
        (3, GaussianNB(), fp.TemperatureScaling(), "from_posteriors", "predict_proba"),
        (3, LinearSVC(random_state=0), None, "from_logits", "decision_function"),
    ],
)
def test_it_is_cross_prediction_and_one_fit(n_classes, classifier, calibrator, make, method):
    X, y = data(n_classes)
    ours = CalibratedClassifier(classifier, calibrator).fit(X, y)
    by_hand = calibrated_by_hand(
        clone(classifier), calibrator or fp.DirectionPreserving(), X, y,
        getattr(fp.Predictions, make), method,
    )  # fmt: skip
    np.testing.assert_allclose(ours.predict_proba(X), by_hand, rtol=1e-9)  # folds in another order
    assert ours.classes_.tolist() == NAMES[:n_classes].tolist()
    assert (ours.predict(X) == NAMES[by_hand.argmax(axis=1)]).all()


def test_separable_folds_fall_back_to_smoothed_targets_with_a_warning():
    X, y = data(n=60, flip_y=0, class_sep=8.0, seed=1)
    classifier = CalibratedClassifier(LinearSVC(random_state=0))
    with pytest.warns(RuntimeWarning, match="separate the classes perfectly.*smoothed targets"):
        classifier.fit(X, y)
    scores = cross_val_predict(LinearSVC(random_state=0), X, y, method="decision_function")
    n_1 = (y == "dog").sum()
    targets = np.where(y == "dog", (n_1 + 1) / (n_1 + 2), 1 / (y.size - n_1 + 2))

    def loss(parameters):
        log_odds = parameters[0] * scores + parameters[1]
        both = np.logaddexp(0, -log_odds), np.logaddexp(0, log_odds)
        return (targets * both[0] + (1 - targets) * both[1]).sum()

    best = minimize(loss, [1.0, 0.0], tol=1e-12).x
    fitted = classifier.calibrator_
    parameters = [fitted.scale_, fitted.bias_[1] - fitted.bias_[0]]
    np.testing.assert_allclose(parameters, best, rtol=1e-4)
    assert 0 < classifier.predict_proba(X).min() < 0.1


def test_forests_never_give_a_posterior_of_zero():
    """Half of their posteriors are 0 or 1, at first of other classes than the true one."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=1, stratify=y)
    forest = RandomForestClassifier(50, random_state=0)
    ours = CalibratedClassifier(forest).fit(X, y)
    q = ours.predict_proba(X_test)
    assert ours.floor_ == 0.01
    assert 0 < q.min() < q.max() < 1
    assert fp.CrossEntropy()(y_test, q) < 0.3
    # steps map 0 as they map other posteriors: clipping would only merge them
    assert CalibratedClassifier(forest, fp.PAV()).fit(X, y).floor_ == 0.0


def test_temperature_scaling_is_that_of_scikit_learn_with_its_floor():
    pytest.importorskip("sklearn", "1.8")
    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    peer = CalibratedClassifierCV(GaussianNB(), method="temperature", ensemble=False).fit(X, y)
    ours = CalibratedClassifier(GaussianNB(), fp.TemperatureScaling(), floor=1e-12).fit(X, y)
    (of_peer,) = peer.calibrated_classifiers_
    assert ours.calibrator_.scale_ == pytest.approx(float(of_peer.calibrators[0].beta_), rel=1e-3)
    expected = metrics.log_loss(y_test, peer.predict_proba(X_test))
    assert metrics.log_loss(y_test, ours.predict_proba(X_test)) == pytest.approx(expected, rel=1e-3)


def test_smoothed_targets_of_several_classes_and_with_weights():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = 10.0 * np.eye(3)[y] + rng.normal(size=(60, 3))
    repeats = rng.integers(1, 4, 60)
    folds = np.tile([0, 1], 30)
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in (0, 1)]
    again = np.repeat(np.arange(60), repeats)
    of_again = [tuple(np.flatnonzero(np.isin(again, half)) for half in pair) for pair in splits]
    prior = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.warns(RuntimeWarning, match="smoothed"):
        weighted = CalibratedClassifier(prior, cv=splits).fit(X, y, sample_weight=repeats)
    with pytest.warns(RuntimeWarning, match="smoothed"):
        repeated = CalibratedClassifier(prior, cv=of_again).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)
    with pytest.warns(RuntimeWarning, match="smoothed"):
        ours = CalibratedClassifier(GaussianNB(), cv=splits).fit(X, y, sample_weight=repeats)
    np.testing.assert_array_equal(ours.estimator_.theta_, GaussianNB().fit(X, y, repeats).theta_)


class Unweighted(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_, self.is_fitted_ = np.unique(y), True
        return self

    def predict_proba(self, X):
        q = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([1 - q, q])


def test_an_estimator_without_weights_is_told():
    X, y = data()
    weights = np.random.default_rng(0).uniform(size=y.size)
    with pytest.warns(UserWarning, match="Unweighted takes no sample_weight"):
        ours = CalibratedClassifier(Unweighted()).fit(X, y, sample_weight=weights)
    direct = fp.Predictions.from_posteriors(
        y == "dog", Unweighted().predict_proba(X), sample_weight=weights
    )
    assert ours.calibrator_.scale_ == pytest.approx(fp.DirectionPreserving().fit(direct).scale_)


def test_a_trained_classifier_is_calibrated_as_it_is():
    X, y = data()
    trained = GaussianNB().fit(X[:100], y[:100])
    ours = CalibratedClassifier(FrozenEstimator(trained), fp.PAV()).fit(X[100:], y[100:])
    held_out = fp.Predictions.from_posteriors(
        y[100:], trained.predict_proba(X[100:]), classes=["cat", "dog"]
    )
    np.testing.assert_array_equal(
        ours.predict_proba(X[100:]), fp.PAV().fit(held_out).transform(held_out).posteriors
    )


# In the company of scikit-learn


def test_metadata_are_routed():
    X, y = data()
    weights = np.random.default_rng(0).uniform(size=y.size)
    groups = np.arange(y.size) % 7
    plain = CalibratedClassifier(GaussianNB(), fp.PAV(floor=0.01), GroupKFold(3))

    def fitted(rows):
        splits = [*GroupKFold(3).split(X[rows], y[rows], groups[rows])]
        return clone(plain).set_params(cv=splits).fit(X[rows], y[rows], weights[rows])

    with config_context(enable_metadata_routing=True):
        routed = clone(plain).set_fit_request(sample_weight=True)
        routed.estimator.set_fit_request(sample_weight=True)
        routed.fit(X, y, sample_weight=weights, groups=groups)
        scorer = make_scorer(fp.CrossEntropy()).set_score_request(sample_weight=True)
        params = {"sample_weight": weights, "groups": groups}
        scores = cross_validate(routed, X, y, scoring=scorer, params=params, cv=3)["test_score"]
    assert (routed.predict_proba(X) == fitted(slice(None)).predict_proba(X)).all()
    expected = [
        scorer(fitted(train), X[test], y[test], weights[test])
        for train, test in StratifiedKFold(3).split(X, y)
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:One or more of the test scores", "ignore:invalid value")
def test_pipelines_and_grid_search_over_options_of_the_calibrator():
    X, y = data()
    classifier = CalibratedClassifier(GaussianNB(), fp.PAV())
    search = GridSearchCV(
        make_pipeline(StandardScaler(), classifier),
        {"calibratedclassifier__calibrator__floor": [0.0, 0.01, 0.2]},
        scoring={"nce": make_scorer(fp.CrossEntropy()), "eer": make_scorer(fp.EER())},
        refit="nce",
    ).fit(X, y)
    results = search.cv_results_["mean_test_nce"]
    assert np.isneginf(results[0])
    assert search.best_params_["calibratedclassifier__calibrator__floor"] == 0.2
    assert results[2] > results[1]
    assert search.best_estimator_[-1].calibrator_.floor == 0.2
    assert classifier.calibrator.floor == 0.0  # what was passed is unchanged


def test_parameters_of_the_calibrator():
    classifier = CalibratedClassifier(GaussianNB(), fp.PAV(floor=0.1))
    assert classifier.get_params()["calibrator__floor"] == 0.1
    assert "calibrator__floor" not in classifier.get_params(deep=False)
    classifier.set_params(calibrator=fp.HistogramBinning(), calibrator__bins=7, cv=3)
    assert (classifier.calibrator.bins, classifier.cv) == (7, 3)
    with pytest.raises(ValueError, match="one of its options, bins, floor, not flor"):
        classifier.set_params(calibrator__flor=0.1)
    with pytest.raises(fp.ArgumentError, match="floor"):
        classifier.set_params(calibrator__floor=0.7)
    assert CalibratedClassifier(GaussianNB()).get_params()["calibrator"] is None
    default = CalibratedClassifier(GaussianNB()).set_params(calibrator__floor=0.2)
    assert type(default.calibrator) is fp.DirectionPreserving
    assert default.calibrator.floor == 0.2
    assert CalibratedClassifier(GaussianNB()).set_params(cv=3).calibrator is None
    assert classifier.set_params(cv=4).calibrator is classifier.calibrator


def test_copies():
    X, y = data(3)
    fitted = CalibratedClassifier(LinearSVC(random_state=0), fp.TemperatureScaling()).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(X) == fitted.predict_proba(X)).all()
    assert not hasattr(clone(fitted), "calibrator_")
    scorer = pickle.loads(pickle.dumps(make_scorer(fp.BrierScore())))
    assert scorer(fitted, X, y) == make_scorer(fp.BrierScore())(fitted, X, y)


# What is refused


def test_what_classifiers_refuse():
    X, y = data(3)
    rare = np.where(np.arange(y.size) == 0, "bat", y)
    X4, y4 = make_classification(200, n_informative=4, n_classes=4, random_state=0)
    one_against_one = SVC(decision_function_shape="ovo")
    for classifier, samples, message in (
        (CalibratedClassifier(GaussianNB(), fp.PAV()), (X, y), "binary task for PAV"),
        (CalibratedClassifier(GaussianNB()), (X, ["cat"] * y.size), "at least two classes"),
        (CalibratedClassifier(one_against_one), (X4, y4), 'decision_function_shape="ovr"'),
    ):
        with pytest.raises(fp.ArgumentError, match=message):
            classifier.fit(*samples)
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(fp.ArgumentError, match="every class to train on"),
    ):
        CalibratedClassifier(GaussianNB()).fit(X, rare)


def test_what_scorers_refuse():
    X, y = data(3)
    for metric, message in (
        (fp.CrossEntropy, "must be a metric"),
        ("neg_log_loss", "metric must be among NCE"),
        (fp.Threshold(fp.MissRate(0.01)), r"must tell better .*: pass MissRate\("),
    ):
        with pytest.raises(fp.ArgumentError, match=message):
            make_scorer(metric)
    unnormalized = SimpleNamespace(
        classes_=np.unique(y), predict_proba=lambda X: np.full((len(X), 3), 0.5)
    )
    for classifier, labels, message in (
        (LinearSVC().fit(X, y), y, r"must have predict_proba.*CalibratedClassifier"),
        (GaussianNB().fit(X, y), np.full(y.size, "bat"), "y_true must be one of classes"),
        (unnormalized, y, r"predict_proba.* sum to 1.*divides rows by their sums"),
    ):
        with pytest.raises(fp.ArgumentError, match=message):
            make_scorer(fp.CrossEntropy())(classifier, X, labels)


# Scorers


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_one_minus_ours(n_classes):
    X, y = data(n_classes)
    weights = np.random.default_rng(0).uniform(size=y.size)
    fitted = GaussianNB().fit(X, y)
    q = fitted.predict_proba(X)
    q = q if n_classes > 2 else q[:, 1]
    is_class = {} if n_classes > 2 else {"pos_label": "dog"}
    peers = [(fp.CrossEntropy(), metrics.d2_log_loss_score, {})]
    if hasattr(metrics, "d2_brier_score"):  # not in scikit-learn 1.6
        peers.append((fp.BrierScore(), metrics.d2_brier_score, is_class))
    for metric, peer, options in peers:
        theirs = peer(y, q, sample_weight=weights, **options)
        ours = make_scorer(metric)(fitted, X, y, sample_weight=weights)
        assert abs(theirs - (1 + ours)) < 1e-12


def test_ranks_need_no_posteriors_and_larger_is_better_where_it_is():
    X, y = data()
    svm = LinearSVC(random_state=0).fit(X, y)
    scores = fp.Predictions.from_raw_scores(y == "dog", svm.decision_function(X))
    assert make_scorer(fp.EER())(svm, X, y) == -fp.EER()(scores)
    assert make_scorer(fp.AUC())(svm, X, y) == fp.AUC()(scores)
    assert (
        repr(make_scorer(fp.AUC())) == "make_scorer(AUC(class_=None, max_fpr=None, max_fnr=None))"
    )
    assert make_scorer("eer")(svm, X, y) == -fp.EER()(scores)
    assert repr(make_scorer("EER")) == "make_scorer('EER')"


def test_metrics_are_score_functions_of_scikit_learn():
    X, y = data()
    for metric in (fp.CrossEntropy(), fp.EER()):
        scorer = metrics.make_scorer(
            metric, greater_is_better=False, response_method="predict_proba"
        )
        ours = cross_val_score(LogisticRegression(), X, y == "dog", scoring=make_scorer(metric))
        theirs = cross_val_score(LogisticRegression(), X, y == "dog", scoring=scorer)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_test_fold_may_lack_a_class_that_was_trained_on():
    X, y = data(3)
    fitted = GaussianNB().fit(X, y)
    rows = y != "dog"
    expected = fp.CrossEntropy(normalized=False)(
        fp.Predictions.from_posteriors(
            y[rows], fitted.predict_proba(X[rows]), classes=["cat", "dog", "owl"]
        )
    )
    assert make_scorer(fp.CrossEntropy(normalized=False))(fitted, X[rows], y[rows]) == -expected


# Functions


@pytest.mark.parametrize("digits", [0, 1, 8])
def test_ranks_bins_and_isotonic_fits(digits):
    rng = np.random.default_rng(digits)
    y = (rng.random(500) < 0.3).astype(int)
    scores = np.round(rng.normal(2.0 * y, 1.0), digits)
    data = fp.Predictions.from_raw_scores(y, scores)
    assert fp.AUC()(data) == pytest.approx(metrics.roc_auc_score(y, scores), rel=1e-12)
    weights = rng.random(y.size)
    theirs = metrics.roc_auc_score(y, scores, sample_weight=weights)
    assert fp.AUC()(data.reweighted(weights)) == pytest.approx(theirs, rel=1e-12)
    fpr, tpr, thresholds = metrics.roc_curve(y, scores, drop_intermediate=False)
    curve = fp.roc(data)
    theirs = dict(zip(thresholds, zip(fpr, tpr, strict=True), strict=True))
    for t, p_miss, p_fa in zip(curve.threshold, curve.p_miss, curve.p_fa, strict=True):
        assert (p_fa, 1.0 - p_miss) == pytest.approx(theirs[t], abs=1e-14)
    assert metrics.auc(curve.p_fa, 1.0 - curve.p_miss) == pytest.approx(metrics.auc(fpr, tpr))
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(scores, y)
    fitted = fp.PAV().fit(data).transform(data).posteriors[:, 1]
    np.testing.assert_allclose(fitted, isotonic.predict(scores), rtol=1e-12, atol=1e-14)
    crossing = brentq(lambda x: 1.0 - x - np.interp(x, fpr, tpr), 0.0, 1.0, xtol=1e-13)
    assert fp.EER("crossing")(data) == pytest.approx(crossing, abs=1e-9)
    # edges lie on rounded posteriors, and both ends are in use
    q = np.round(np.clip(rng.normal(0.5 + 0.2 * y, 0.4), 0.0, 1.0), digits + 1)
    frequencies, means = calibration_curve(y, q, n_bins=10)
    counts = np.bincount(np.searchsorted(np.linspace(0.0, 1.0, 11)[1:-1], q), minlength=10)
    expected = np.abs(frequencies - means) @ counts[counts > 0] / y.size
    assert fp.ECE(10)(y, q) == pytest.approx(expected, rel=1e-10)


def test_scorers_of_several_classes_take_posteriors_and_names():
    X, y = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    model = LogisticRegression().fit(X, y)
    q = model.predict_proba(X)
    macro = metrics.roc_auc_score(y, q, multi_class="ovr")
    for scorer in (make_scorer(fp.AUC("macro")), make_scorer("AUC(macro)")):
        assert scorer(model, X, y) == pytest.approx(macro, abs=1e-12)
    assert make_scorer("AP(macro)")(model, X, y) == fp.AveragePrecision("macro")(y, q)
    with pytest.raises(ValueError, match=r"must have predict_proba for AUC\(macro\)"):
        make_scorer(fp.AUC("macro"))(LinearSVC().fit(X, y), X, y)
