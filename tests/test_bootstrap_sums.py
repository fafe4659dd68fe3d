"""Replicates with calibrators in the loop are those of the rows drawn."""

from dataclasses import replace

import numpy as np
import pytest

import fastpsr as fp
from tests import samples
from tests.contract import registry
from tests.dealt_folds import fold_numbers
from tests.replicates import of_repeated_rows, quietly, recorded, values_at

LOG, BRIER = fp.rules.Log(), fp.rules.Brier()
N = 70


def predictions_of(kind, scores, weights, priors, seed=0):
    sample = samples.make(2, N, scores=scores, weights=weights, priors=priors, seed=seed)
    y, log_q, given = sample.y, sample.log_q, sample.priors
    options = {"sample_weight": sample.weights}
    if kind == "llrs":
        with np.errstate(invalid="ignore"):
            llr = log_q[:, 1] - log_q[:, 0]
        return fp.Predictions.from_llrs(
            y, llr, prior=None if given is None else given[1], **options
        )
    options["priors"] = given
    if kind == "posteriors":
        q = np.exp(log_q)
        return fp.Predictions.from_posteriors(y, q / q.sum(axis=1, keepdims=True), **options)
    return fp.Predictions.from_log_posteriors(y, log_q, **options)


def clusters(data):
    """A few clusters of one class each: a replicate may have little of a class, or nothing."""
    return fp.Clusters(data.labels * 3 + np.arange(N) % 3)


def replicates(metrics, data, n=6, seed=1):
    """Return the replicates of metrics, (M, R), and what each row weighs in them."""
    results, weights, _ = recorded(
        metrics, data, resampling=clusters(data), n_resamples=n, seed=seed, confidence_level=0.5,
        method="percentile",
    )  # fmt: skip
    return np.array([result.replicates for result in results]), weights


def repeated(metric, data, weights):
    """Return the metric of rows that are repeated until they weigh as in replicates."""
    own = data.weights if data.weights.size else np.ones(N)
    times = np.divide(weights, own, out=np.zeros(weights.shape), where=own > 0.0)
    return [of_repeated_rows(metric, data, of_rows) for of_rows in times]


TRAININGS = {
    "train on test": fp.TrainOnTest(),
    "folds": fp.CrossFit(3, seed=2),
    "groups": fp.CrossFit(3, groups=np.random.default_rng(9).integers(0, 12, N)),
    "held out": fp.HeldOut(predictions_of("posteriors", "plain", "none", False, seed=3)),
}
#: Steps to rounding; smooth maps to what the gradient of 1e-9 per sample leaves.
CALIBRATORS = {
    fp.PAV(): 1e-11, fp.PAV(0.01): 1e-11, fp.HistogramBinning(4, 0.05): 1e-11,
    fp.PAV(laplace=True): 1e-11, fp.VennAbers(): 1e-11, fp.DirectionPreserving(): 1e-8,
    fp.TemperatureScaling(): 1e-8, fp.BetaCalibration(): 1e-8,
    fp.DirectionPreserving(prior=0.1): 1e-8, fp.BetaCalibration(prior=0.1): 1e-8,
}  # fmt: skip


@pytest.mark.parametrize("train", TRAININGS.values(), ids=TRAININGS)
def test_calibrators_are_refitted_to_each_replicate(train):
    n_defined = 0
    for kind, scores, weights, priors in (
        ("posteriors", "plain", "none", False), ("log-posteriors", "tied", "none", True),
        ("log-posteriors", "tied", "integer", False), ("posteriors", "extreme", "none", False),
        ("llrs", "plain", "zero on infinite losses", True),
        ("posteriors", "infinite", "integer", False),
    ):  # fmt: skip
        kind = "posteriors" if isinstance(train, fp.HeldOut) else kind
        data = predictions_of(kind, scores, weights, priors, seed=1)
        metrics = [
            fp.CalibrationLoss(rule, calibrator, train, relative)
            for calibrator in CALIBRATORS for rule, relative in ((LOG, True), (BRIER, False))
            if weights == "none" or not isinstance(calibrator, fp.VennAbers)
        ]  # fmt: skip
        metrics = [metric for metric in metrics if not np.isnan(quietly(metric, data))]
        values, drawn = replicates(metrics, data, n=4)
        if isinstance(train, fp.CrossFit):  # folds are those of the original samples
            folds = fp.CrossFit(fold_numbers(data.y_true, train, data.sample_weight))
            metrics = [replace(metric, train=folds) for metric in metrics]
        expected = values_at(metrics, data, drawn)
        for k, metric in enumerate(metrics):
            if registry.counts_rows(metric):  # weights do not say how many rows there are
                expected[k] = repeated(metric, data, drawn)
            tolerance = CALIBRATORS[metric.calibrator]
            np.testing.assert_allclose(
                values[k], expected[k], rtol=tolerance, atol=tolerance,
                err_msg=f"{metric.calibrator} on {scores}, {weights}",
            )  # fmt: skip
        n_defined += np.count_nonzero(~np.isnan(expected))
    assert n_defined > 100


def test_references_are_drawn_with_the_samples():
    for kind, priors in (("posteriors", True), ("posteriors", False), ("llrs", True)):
        data = predictions_of(kind, "tied", "integer", priors)
        reference = predictions_of(kind, "plain", "none", priors, seed=3)
        metric = fp.SemiEmpiricalScore(LOG, reference)
        values, drawn = replicates([metric], data)
        expected = values_at([metric], data, drawn)
        assert not np.isnan(expected).any()
        np.testing.assert_allclose(values, expected, rtol=1e-12)
