"""Calibrators of the user's own: plain objects with `fit` and `transform`."""

import numpy as np
import pytest

import fastpsr as fp
from tests.contract.data import Case
from tests.refusal import refuses

THREE = "logits of 3 classes"
LOG, BRIER = fp.rules.Log(), fp.rules.Brier()


class Wrapped:
    """What a calibrator of the package does, by an object that shows nothing of it."""

    def __init__(self, calibrator):
        self.calibrator = calibrator

    def fit(self, predictions):
        self.fitted = self.calibrator.fit(predictions)
        return self

    def transform(self, predictions):
        return self.fitted.transform(predictions)


class Bare(Wrapped):
    """Leaves labels, weights and priors out of what it returns."""

    def transform(self, predictions):
        calibrated = super().transform(predictions)
        if calibrated.kind == "posteriors":
            return fp.Predictions.from_log_posteriors(None, calibrated.log_posteriors)
        return fp.Predictions.from_llrs(None, calibrated.llrs)


def data_of(kind, n=300, seed=0):
    return Case(kind, weights="zeros", has_priors=kind == THREE, n=n, seed=seed).predictions()


@pytest.mark.parametrize(
    ("kind", "custom", "train"),
    [
        ("posteriors", Bare, fp.CrossFit(3)),
        ("LLRs", Wrapped, fp.CrossFit(3, groups=np.arange(300) % 40)),
        ("raw scores", Bare, fp.CrossFit(3)),
        (THREE, Bare, fp.TrainOnTest()),
        ("LLRs", Bare, fp.HeldOut(data_of("LLRs", seed=1))),
    ],
)
def test_it_does_what_the_package_does(kind, custom, train):
    data = data_of(kind)
    wrapped, calibrator = custom(fp.DirectionPreserving()), fp.DirectionPreserving()
    calibrated, expected = (
        fp.cross_fit(candidate, data, train) for candidate in (wrapped, calibrator)
    )
    assert calibrated.kind == expected.kind
    np.testing.assert_allclose(calibrated.scores, expected.scores, rtol=1e-7, atol=1e-7)
    assert (calibrated.labels == data.labels).all()
    assert (calibrated.weights == data.weights).all()
    assert not hasattr(wrapped, "fitted")  # each fit has a copy
    if kind == "raw scores":
        return
    for metric in (fp.CalibrationLoss, fp.ExpectedDivergence):
        of_wrapped, of_package = (
            metric(BRIER, candidate, train) for candidate in (wrapped, calibrator)
        )
        assert of_wrapped(data) == pytest.approx(of_package(data), rel=1e-6)
        assert of_wrapped.label == of_package.label
        assert of_wrapped.calibrator is wrapped


def test_replicates_are_fitted_with_their_weights():
    data, train = data_of("posteriors"), fp.CrossFit(3)
    calibrators = (Wrapped(fp.TemperatureScaling()), fp.TemperatureScaling())
    of_wrapped, of_package = fp.bootstrap(
        [fp.CalibrationLoss(LOG, calibrator, train) for calibrator in calibrators],
        data,
        n_resamples=20,
        confidence_level=0.8,
        resampling=fp.Clusters(np.arange(300) // 3),
        method="percentile",
        seed=1,
    )
    np.testing.assert_allclose(of_wrapped.replicates, of_package.replicates, atol=1e-6)
    assert of_wrapped.standard_error > 0.0


def test_what_it_is_shown():
    seen = []

    class Looks(Wrapped):
        def fit(self, predictions):
            seen.append(predictions)
            return super().fit(predictions)

    q = np.array([0.25, 0.5, 0.75, 0.125, 0.375, 0.625])
    data = fp.Predictions.from_posteriors([0, 1, 0, 1, 1, 0], q, sample_weight=[1, 2, 0, 1, 1, 3])
    fp.cross_fit(Looks(fp.HistogramBinning()), data, fp.CrossFit(folds=[0, 0, 0, 1, 1, 1]))
    assert [list(candidate.posteriors[:, 1]) for candidate in seen] == [
        [0.125, 0.375, 0.625],
        [0.25, 0.5],
    ]
    assert [list(candidate.sample_weight) for candidate in seen] == [[1, 1, 3], [1, 2]]


def test_data_in_parts():
    data, calibrator = data_of("LLRs"), Wrapped(fp.TemperatureScaling())
    parts = fp.from_parts([data[:100], data[100:]])
    for use in (
        lambda: fp.cross_fit(calibrator, parts),
        lambda: fp.CalibrationLoss(LOG, calibrator)(parts),
        lambda: fp.ExpectedDivergence(LOG, calibrator)(parts),
    ):
        with refuses("predictions") as caught:
            use()
        assert "predictions.compute()" in caught.value.remedy
    remedied = fp.CalibrationLoss(LOG, calibrator)(parts.compute())
    assert remedied == pytest.approx(fp.CalibrationLoss(LOG, calibrator)(data), rel=1e-10)
    # what is fitted in memory maps parts
    loss = fp.CalibrationLoss(LOG, calibrator, fp.HeldOut(data_of("LLRs", seed=1)))
    assert loss(parts) == pytest.approx(loss(data), rel=1e-10)


class Returns:
    def __init__(self, calibrated):
        self.calibrated = calibrated

    def fit(self, predictions):
        return self

    def transform(self, predictions):
        return self.calibrated


@pytest.mark.parametrize(
    ("kind", "custom", "words"),
    [
        ("posteriors", Returns(data_of("posteriors", 60)), "60 samples of 2 classes"),
        ("posteriors", Returns(data_of(THREE)), "300 samples of 3 classes"),
        ("posteriors", Returns(data_of("LLRs")), "from_log_posteriors"),
        ("LLRs", Returns(data_of("posteriors")), "from_llrs"),
    ],
)
def test_what_it_returns_is_checked(kind, custom, words):
    with refuses("calibrator") as caught:
        fp.cross_fit(custom, data_of(kind), fp.TrainOnTest())
    assert words in str(caught.value)
