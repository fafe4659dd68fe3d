"""Calibrators fitted again in replicates: to what was drawn, with the folds of the original."""

import numpy as np
import pytest

import fastpsr as fp
from tests.replicates import quietly, recorded, values_at
from tests.samples import make

LOG, BRIER = fp.rules.Log(), fp.rules.Brier()
FEW = {"n_resamples": 4, "confidence_level": 0.5, "method": "percentile", "seed": 5}


def folds_of(n, n_folds=3):
    return fp.CrossFit(folds=np.random.default_rng(n).permutation(n) % n_folds)


def binary(infinite="none", n=3_000, seed=0):
    """Overconfident log-odds, infinite for some: of the true class, of either, or of one sign."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(np.uint8)
    scores = 2.0 * rng.normal(size=n) + 3.0 * y - 1.0
    some = rng.choice(n, 40, replace=False)
    if infinite == "right":
        scores[some] = np.where(y[some] == 1, np.inf, -np.inf)
    elif infinite == "either":
        scores[some] = rng.choice([-np.inf, np.inf], 40)
    elif infinite == "below":
        scores[some[:3]] = -np.inf
    elif infinite == "beyond":  # finite scores lie beyond what replaces infinite ones in a fit
        scores[some] = np.where(y[some] == 1, np.inf, -np.inf)
        scores[np.setdiff1d(np.arange(n), some)[0]] = 80.0
    elif infinite == "reversed":  # a map that falls has no limits
        scores[some] = np.where(y[some] == 1, np.inf, -np.inf)
        scores *= -1.0
    return fp.Predictions.from_logits(y, scores)


def assert_refitted(metrics, *systems, rtol=1e-8, **options):
    """Replicates are the values of the metrics on the samples as they were drawn."""
    results, weights, _ = recorded(metrics, *systems, **{**FEW, **options})
    values = values_at(metrics, systems[0], weights)
    if len(systems) == 2:
        values -= values_at(metrics, systems[1], weights)
    n_defined = np.isfinite(values).sum(axis=1)
    for metric, result, expected in zip(metrics, results, values, strict=True):
        np.testing.assert_allclose(
            result.replicates, expected, rtol=rtol, atol=10.0 * rtol, err_msg=str(metric)
        )
    assert (n_defined >= 2).all()


CALIBRATORS = [
    fp.DirectionPreserving(), fp.DirectionPreserving(prior=0.1), fp.TemperatureScaling(),
    fp.BetaCalibration(), fp.DirectionPreserving(BRIER), fp.DirectionPreserving(BRIER, prior=0.1),
    fp.DirectionPreserving(fp.rules.Beta(1, 2)), fp.DirectionPreserving(BRIER, floor=0.01),
    fp.PAV(0.01), fp.HistogramBinning(4, 0.05),
]  # fmt: skip


@pytest.mark.parametrize("infinite", ["none", "right", "either", "below", "beyond", "reversed"])
def test_refits_are_to_the_samples_drawn(infinite):
    """Of clusters, and of single samples in a comparison."""
    data, other = binary(infinite), binary("none")
    other = fp.Predictions.from_logits(data.y_true, 0.5 * other.log_odds)
    train = folds_of(len(data))
    calibrators = CALIBRATORS if infinite in ("none", "right") else CALIBRATORS[::4]
    metrics = [fp.CalibrationLoss(BRIER, c, train, relative=False) for c in calibrators]
    if infinite == "none":
        metrics += [fp.CalibrationLoss(LOG, c, train) for c in calibrators[:4]]
    assert_refitted(metrics, data, resampling=fp.Clusters(np.arange(len(data)) // 3))
    if infinite in ("none", "either"):
        assert_refitted(metrics[::3], data, other)


@pytest.mark.parametrize(
    ("n_classes", "scores", "weights", "priors"),
    [(3, "plain", "none", False), (3, "tied", "integer", True), (7, "infinite", "none", False),
     (3, "infinite", "zero on infinite losses", True), (7, "extreme", "none", False)],
)  # fmt: skip
def test_refits_of_several_classes(n_classes, scores, weights, priors):
    data = make(n_classes, 600, scores=scores, weights=weights, priors=priors).predictions
    train = folds_of(600)
    metrics = [
        fp.CalibrationLoss(BRIER, calibrator, train, relative=False)
        for calibrator in (
            fp.DirectionPreserving(), fp.TemperatureScaling(), fp.DirectionPreserving(floor=0.01)
        )
    ]  # fmt: skip
    if scores in ("plain", "tied"):
        metrics += [
            fp.CalibrationLoss(LOG, fp.DirectionPreserving(), train),
            fp.CalibrationLoss(BRIER, fp.DirectionPreserving(BRIER), train),
        ]
    assert_refitted(metrics, data, resampling=fp.Clusters(np.arange(600) // 2), rtol=1e-7)


def test_refits_without_an_optimum_are_undefined():
    """Of few samples: of a class that is not drawn, and of classes that are separated."""
    data = make(3, 40, seed=2).predictions
    metrics = [fp.CalibrationLoss(LOG, fp.DirectionPreserving(), folds_of(40, 2), relative=False)]
    clusters = fp.Clusters(np.arange(40) // 5)
    (result,), weights, _ = recorded(
        metrics, data, resampling=clusters, n_resamples=60, method="percentile", seed=0
    )
    (values,) = values_at(metrics, data, weights)
    assert 5 < np.isnan(values).sum() < 55
    np.testing.assert_allclose(result.replicates, values, rtol=1e-6, atol=1e-7)


def test_penalties_are_those_of_as_many_samples_as_were_drawn():
    data, train = make(3, 300).predictions, folds_of(300)
    metrics = [fp.CalibrationLoss(LOG, fp.VectorScaling(), train, relative=False)]
    clusters = fp.Clusters(np.arange(300) // 2)
    (result,), weights, _ = recorded(metrics, data, **FEW, resampling=clusters)
    for replicate, times in zip(result.replicates, weights, strict=True):
        rows = np.repeat(np.arange(300), times.astype(int))
        repeated = fp.CalibrationLoss(
            LOG, fp.VectorScaling(), fp.CrossFit(folds=train.folds[rows]), relative=False
        )
        assert replicate == pytest.approx(repeated(data[rows]), rel=1e-6)


SEEN = []  # training and calibrated log-odds, by copies of the following


class MeanOfTraining:
    """A calibrator by which the training samples of each sample can be seen: their mean score."""

    def fit(self, predictions):
        fitted = MeanOfTraining()
        fitted.trained = predictions.log_odds
        fitted.mean = np.average(predictions.log_odds, weights=predictions.sample_weight)
        return fitted

    def transform(self, predictions):
        SEEN.append((self.trained, predictions.log_odds))
        constant = np.full(len(predictions), self.mean)
        return fp.Predictions.from_logits(predictions.y_true, constant)


def test_pairs_train_no_sample_that_shares_a_speaker():
    data = binary(n=150)
    enroll, test = np.arange(150) % 25, np.arange(150) // 7 % 25
    train = fp.CrossFit(5, groups=(enroll, test))
    metric = fp.CalibrationLoss(BRIER, MeanOfTraining(), train, relative=False)
    SEEN.clear()
    metric(data)
    n_folds = len(SEEN)
    quietly(fp.bootstrap, metric, data, **FEW, resampling=fp.TwoWay(enroll, test))
    assert len(SEEN) > 2 * n_folds > 0  # trained again
    order = np.argsort(data.log_odds)
    for scores in SEEN:
        rows = [order[np.searchsorted(data.log_odds[order], each)] for each in scores]
        trained, calibrated = ({*enroll[of].tolist(), *test[of].tolist()} for of in rows)
        assert not trained & calibrated


def test_replicates_without_a_fold_are_defined():
    """Clusters that are folds: one that is not drawn needs no calibrator."""
    folds = np.arange(120) % 4
    data = binary(n=120, seed=3)
    calibrators = (fp.PAV(0.01), fp.HistogramBinning(4, 0.05), fp.DirectionPreserving())
    metrics = [fp.CalibrationLoss(BRIER, c, fp.CrossFit(folds)) for c in calibrators]
    results, weights, _ = recorded(
        metrics, data, resampling=fp.Clusters(folds), n_resamples=200, method="percentile", seed=7
    )
    alone = [len(set(folds[times > 0])) == 1 for times in weights]
    assert any(alone)  # one fold four times: it has nothing to train on
    for result in results:
        np.testing.assert_array_equal(np.isnan(result.replicates), alone)
