"""What must not change a value: repetition instead of weight, order, names, threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.plans import run
from fastpsr.plans.part import Part
from tests import samples

N = 150
OPTIMUM = 1e-8  # relative accuracy where an optimizer decides


@dataclass(frozen=True, eq=False)
class Data:
    """A sample, with a reference posterior and a fold for each of its rows."""

    y: np.ndarray
    log_q: np.ndarray
    weights: np.ndarray | None
    priors: np.ndarray | None
    reference: np.ndarray
    folds: np.ndarray

    def rows(self, index, weights):
        """The same with other rows, and their weights."""
        return Data(
            self.y[index],
            self.log_q[index],
            weights,
            self.priors,
            self.reference[index],
            self.folds[index],
        )

    def relabeled(self, new_label):
        """The same with class k called new_label[k]."""
        old = np.argsort(new_label)
        priors = None if self.priors is None else self.priors[old]
        return Data(
            new_label[self.y],
            self.log_q[:, old],
            self.weights,
            priors,
            self.reference[:, old],
            self.folds,
        )

    @property
    def predictions(self):
        return fp.Predictions.from_log_posteriors(
            self.y, self.log_q, priors=self.priors, sample_weight=self.weights
        )


def make(K, *, weights="none", priors=False):
    sample = samples.make(
        K, N, scores="tied" if K == 2 else "plain", weights=weights, priors=priors
    )
    rng = np.random.default_rng(K)
    reference = rng.dirichlet(np.ones(K), N)
    folds = np.arange(N) // K % 3
    return Data(sample.y, sample.log_q, sample.weights, sample.priors, reference, folds)


def plain_values(data, costs):
    """Name -> value of every metric that fits nothing."""
    predictions, K = data.predictions, data.log_q.shape[1]
    as_reference = fp.Predictions.from_posteriors(None, data.reference)
    a = np.arange(1, K + 1) / np.arange(1, K + 1).sum()
    metrics = {
        "cross-entropy": fp.CrossEntropy(),
        "raw cross-entropy": fp.CrossEntropy(normalized=False),
        "brier": fp.BrierScore(),
        "risk": fp.BayesRisk(costs),
        "semi-empirical": fp.SemiEmpiricalScore(fp.rules.Log(), as_reference),
        "confidence": fp.ECE(7, "confidence"),
        "confidence, quantiles": fp.ECE(7, "confidence", 2, "quantile"),
    }
    if K == 2:
        metrics["ece"] = fp.ECE(9)
        metrics["ece, norm 2"] = fp.ECE(9, norm=2)
        metrics["ece, quantiles"] = fp.ECE(9, binning="quantile")
    values = {name: metric(predictions) for name, metric in metrics.items()}
    values["risk curve"] = fp.risk_curve(predictions, [a, a[::-1]]).risk
    values["decisions"] = fp.expected_cost(
        data.y,
        fp.bayes_decisions(predictions, costs),
        costs,
        priors=data.priors,
        sample_weight=data.weights,
    )
    return values


def calibrators(K):
    affine = [fp.DirectionPreserving(), fp.TemperatureScaling()]
    return [*affine, fp.PAV(1e-6), fp.HistogramBinning(6, 1e-6)] if K == 2 else affine


def fitted_values(data, trainings):
    """Name -> value of the metrics that calibrate, for each way to train."""
    K = data.log_q.shape[1]
    values = {}
    for calibrator in calibrators(K):
        for train in trainings:
            name = f"{type(calibrator).__name__}, {type(train).__name__}"
            predictions = data.predictions
            loss = fp.CalibrationLoss(fp.rules.Log(), calibrator, train)
            divergence = fp.ExpectedDivergence(fp.rules.Brier(), calibrator, train)
            values[f"{name}: loss"] = loss(predictions)
            values[f"{name}: divergence"] = divergence(predictions)
    return values


def assert_same_values(values, others, rtol=1e-12):
    assert values.keys() == others.keys()
    for name, value in values.items():
        np.testing.assert_allclose(others[name], value, rtol=rtol, atol=1e-14, err_msg=name)


every_K = pytest.mark.parametrize("K", samples.CLASS_COUNTS)
few_K = pytest.mark.parametrize("K", [2, 3])
given_priors = pytest.mark.parametrize("priors", [False, True], ids=["frequencies", "priors"])


# Weight is repetition


def repeated(data):
    counts = data.weights.astype(int)
    return data.rows(np.repeat(np.arange(N), counts), None)


@given_priors
@every_K
def test_weight_is_repetition(K, priors):
    data = make(K, weights="integer", priors=priors)
    assert 0 in data.weights
    costs = samples.COSTS[K]
    assert_same_values(plain_values(repeated(data), costs), plain_values(data, costs))


@given_priors
@few_K
def test_weight_is_repetition_where_something_is_fitted(K, priors):
    data = make(K, weights="integer", priors=priors)
    again = repeated(data)
    one = fitted_values(data, [fp.TrainOnTest(), fp.CrossFit(folds=data.folds)])
    other = fitted_values(again, [fp.TrainOnTest(), fp.CrossFit(folds=again.folds)])
    assert_same_values(other, one, rtol=OPTIMUM)


@pytest.mark.parametrize("make_scores", [fp.Predictions.from_llrs, fp.Predictions.from_raw_scores])
@pytest.mark.parametrize(
    "calibrator",
    [fp.PAV(), fp.DirectionPreserving(), fp.TemperatureScaling()],
    ids=lambda c: type(c).__name__,
)
def test_weight_is_repetition_for_calibrated_llrs(calibrator, make_scores):
    rng, y, s = samples.make_scores("tied")
    w = rng.integers(0, 4, y.size)
    rows = np.repeat(np.arange(y.size), w)
    new = make_scores(None, np.linspace(-3, 3, 50))
    weighted = calibrator.fit(make_scores(y, s, sample_weight=w)).transform(new)
    again = calibrator.fit(make_scores(y[rows], s[rows])).transform(new)
    np.testing.assert_allclose(weighted.llrs, again.llrs, rtol=OPTIMUM, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
@few_K
def test_the_unit_of_the_weights_does_not_matter(K, factor):
    data = make(K, weights="integer")
    scaled = data.rows(np.arange(N), data.weights * factor)
    costs = samples.COSTS[K]
    assert_same_values(plain_values(scaled, costs), plain_values(data, costs))
    trainings = [fp.TrainOnTest(), fp.CrossFit(folds=data.folds)]
    assert_same_values(
        fitted_values(scaled, trainings), fitted_values(data, trainings), rtol=OPTIMUM
    )


# The order of samples, and of classes


@pytest.mark.parametrize("weights", ["none", "wild"])
@every_K
def test_order_of_samples(K, weights):
    data = make(K, weights=weights, priors=True)
    order = np.random.default_rng(9).permutation(N)
    shuffled = data.rows(order, None if data.weights is None else data.weights[order])
    costs = samples.COSTS[K]
    assert_same_values(plain_values(shuffled, costs), plain_values(data, costs))


@few_K
def test_order_of_samples_where_something_is_fitted(K):
    data = make(K, weights="integer", priors=True)
    order = np.random.default_rng(9).permutation(N)
    shuffled = data.rows(order, data.weights[order])
    one = fitted_values(data, [fp.TrainOnTest(), fp.CrossFit(folds=data.folds)])
    other = fitted_values(shuffled, [fp.TrainOnTest(), fp.CrossFit(folds=shuffled.folds)])
    assert_same_values(other, one, rtol=OPTIMUM)


@every_K
def test_names_of_classes(K):
    data = make(K, weights="integer", priors=True)
    new_label = np.roll(np.arange(K), 1)
    renamed = data.relabeled(new_label)
    costs = np.array(samples.COSTS[K])
    values = plain_values(data, costs)
    others = plain_values(renamed, costs[np.argsort(new_label)])
    for name in [*values]:
        if name.startswith("ece") or name == "risk curve":  # these look at certain classes
            del values[name], others[name]
    assert_same_values(others, values)


@few_K
def test_names_of_classes_where_something_is_fitted(K):
    data = make(K, weights="integer", priors=True)
    new_label = np.roll(np.arange(K), 1)
    renamed = data.relabeled(new_label)
    one = fitted_values(data, [fp.TrainOnTest()])
    other = fitted_values(renamed, [fp.TrainOnTest()])
    assert_same_values(other, one, rtol=OPTIMUM)
    fitted = fp.DirectionPreserving().fit(data.predictions)
    again = fp.DirectionPreserving().fit(renamed.predictions)
    np.testing.assert_allclose(again.bias_[new_label], fitted.bias_, rtol=OPTIMUM)


# Parts of the data


@pytest.mark.parametrize("weights", ["none", "wild"])
@given_priors
@few_K
def test_sums_of_parts_are_those_of_the_whole(K, priors, weights):
    predictions = make(K, weights=weights, priors=priors).predictions
    metrics = [
        fp.CrossEntropy(),
        fp.BrierScore(normalized=False),
        fp.BayesRisk(samples.COSTS[K]),
        fp.ECE(on="confidence"),
    ]
    for metric in metrics:
        sums = run(lambda metric=metric: metric.sums(predictions))
        parts = [Part.whole(predictions[rows]) for rows in (slice(0, 7), slice(7, None))]
        weight, totals = map(sum, zip(*map(sums.totals, parts), strict=True))
        merged = metric.finish(sums.assemble(weight, totals))
        np.testing.assert_allclose(merged, metric(predictions), rtol=1e-12)


# Threads


def make_many(K):
    """So many samples that every loop over blocks of 4,096 has several threads' work."""
    n = 100_003
    rng = np.random.default_rng(K)
    y = rng.integers(0, K, n)
    z = samples.make_logits(rng, y, K)
    w = rng.uniform(0.1, 3.0, n)
    return fp.Predictions.from_logits(y, z, sample_weight=w), rng.dirichlet(np.ones(K), n)


def bits_of_everything(K):
    predictions, rows = make_many(K)
    as_reference = fp.Predictions.from_posteriors(None, rows)
    values = [
        predictions.log_posteriors,
        predictions.posteriors,
        fp.bayes_decisions(predictions, samples.COSTS[K]),
        fp.risk_curve(predictions, rows[:20]).risk,
    ]
    folds = fp.CrossFit(folds=3, seed=1)
    metrics = [
        fp.CrossEntropy(),
        fp.BrierScore(),
        fp.BayesRisk(samples.COSTS[K]),
        fp.SemiEmpiricalScore(fp.rules.Log(), as_reference),
        fp.ECE(on="confidence"),
        fp.ECE(on="confidence", binning="quantile"),
        *([fp.ECE(), fp.ECE(binning="quantile")] if K == 2 else []),
        fp.ExpectedDivergence(fp.rules.Log(), fp.DirectionPreserving(), folds),
    ]
    values += [metric(predictions) for metric in metrics]
    for calibrator in calibrators(K):
        values.append(fp.cross_fit(calibrator, predictions, folds).log_posteriors)
    return values


@pytest.mark.parametrize("K", [2, 3])
def test_the_number_of_threads_does_not_change_a_bit(K, monkeypatch):
    found = {}
    for threads in ("1", "2", "4"):
        monkeypatch.setenv("FASTPSR_NUM_THREADS", threads)
        found[threads] = bits_of_everything(K)
    for one, two, four in zip(found["1"], found["2"], found["4"], strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, four)


def test_metrics_may_be_called_from_several_threads():
    predictions, _ = make_many(2)
    whole = fp.CrossEntropy()(predictions)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(fp.CrossEntropy(), predictions[:]) for _ in range(16)]
        assert {call.result(timeout=60) for call in calls} == {whole}
