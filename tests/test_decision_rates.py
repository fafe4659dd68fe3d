"""Rates of decisions against scikit-learn's, and metrics that are called by their names."""

import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

import fastpsr as fp

RNG = np.random.default_rng(0)
Y, Q, WEIGHTS = RNG.integers(0, 2, 200), RNG.random(200), RNG.random(200)
Y4, Q4 = RNG.integers(0, 4, 300), RNG.dirichlet(np.ones(4), 300)


@pytest.mark.parametrize("threshold", [None, 0.3, 0.9])
def test_rates_are_those_of_scikit_learn(threshold):
    decided = (Q > 0.5 if threshold is None else threshold <= Q).astype(int)
    weights = {"sample_weight": WEIGHTS}
    table = sk.confusion_matrix(Y, decided, **weights)
    expected = {
        ("accuracy", 1.0): sk.accuracy_score(Y, decided, **weights),
        ("balanced accuracy", 1.0): sk.balanced_accuracy_score(Y, decided, **weights),
        ("precision", 1.0): sk.precision_score(Y, decided, **weights),
        ("recall", 1.0): sk.recall_score(Y, decided, **weights),
        ("F", 1.0): sk.f1_score(Y, decided, **weights),
        ("F", 2.0): sk.fbeta_score(Y, decided, beta=2.0, **weights),
        ("false positive rate", 1.0): table[0, 1] / table[0].sum(),
        ("selection rate", 1.0): table[:, 1].sum() / table.sum(),
    }
    data = fp.Predictions.from_posteriors(Y, Q, sample_weight=WEIGHTS)
    for form in (data, fp.from_parts([data[:50], data[50:]])):
        for (rate, beta), value in expected.items():
            metric = fp.DecisionRate(rate, threshold, beta)
            assert metric(form) == pytest.approx(value, abs=1e-12), metric.label


def test_rates_at_given_priors_reweight_the_classes():
    data = fp.Predictions.from_posteriors(Y, Q, priors=[0.9, 0.1])
    weights = np.where(Y, 0.1 / Y.mean(), 0.9 / (1.0 - Y.mean()))
    expected = sk.precision_score(Y, Q > 0.5, sample_weight=weights)
    assert fp.DecisionRate("precision")(data) == pytest.approx(expected, abs=1e-12)


def test_precision_without_a_positive_decision_is_nan():
    data = fp.Predictions.from_posteriors([0, 1], [0.1, 0.2])
    assert np.isnan(fp.DecisionRate("precision")(data))


def test_balanced_accuracy_is_over_the_classes_that_occur():
    present = Y4 != 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, of decisions for a class without samples
        expected = sk.balanced_accuracy_score(Y4[present], Q4[present].argmax(axis=1))
    data = fp.Predictions.from_posteriors(Y4[present], Q4[present])
    assert fp.DecisionRate("balanced accuracy")(data) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rate": "recall", "threshold": 1.5}, "threshold must lie in 0 to 1"),
        ({"rate": "recall", "beta": 2.0}, "beta must be left out for recall"),
        ({"rate": "specificity"}, "rate must be one of"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(fp.ArgumentError, match=words):
        fp.DecisionRate(**options)


def test_a_rate_of_two_classes_is_refused_for_more():
    with pytest.raises(fp.ArgumentError, match="binary task for recall"):
        fp.DecisionRate("recall")(fp.Predictions.from_posteriors(Y4, Q4))


def test_metrics_of_several_classes_by_name_are_those_of_scikit_learn():
    expected = {
        "log loss": sk.log_loss(Y4, Q4),
        "Brier": ((Q4 - np.eye(4)[Y4]) ** 2).sum(axis=1).mean(),
        "accuracy": sk.accuracy_score(Y4, Q4.argmax(axis=1)),
        "balanced accuracy": sk.balanced_accuracy_score(Y4, Q4.argmax(axis=1)),
        "AUC(ovo)": sk.roc_auc_score(Y4, Q4, multi_class="ovo"),
    }
    table = fp.evaluate(fp.Predictions.from_posteriors(Y4, Q4), [*expected])
    assert {row.metric: row.value for row in table.rows} == pytest.approx(expected, abs=1e-12)


def test_metrics_of_two_classes_by_name_are_those_of_scikit_learn():
    expected = {
        "Brier": sk.brier_score_loss(Y, Q),
        "F1": sk.f1_score(Y, Q > 0.5),
        "AP": sk.average_precision_score(Y, Q),
    }
    table = fp.evaluate(fp.Predictions.from_posteriors(Y, Q), [*expected])
    assert {row.metric: row.value for row in table.rows} == pytest.approx(expected, abs=1e-12)
