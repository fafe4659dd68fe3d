"""Calibrators of the user's own: plain objects with `fit` and `transform`."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration import CALIBRATORS

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
        made = super().transform(predictions)
        if made.kind == "posteriors":
            return fp.Predictions.from_log_posteriors(None, made.log_posteriors)
        return fp.Predictions.from_llrs(None, made.llrs)


def data_of(kind, n=300, seed=0):
    rng = np.random.default_rng(seed)
    n_classes = 3 if kind == "3 classes" else 2
    y = rng.integers(0, n_classes, n)
    z = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[y]
    w = rng.integers(0, 3, n).astype(float)
    if kind == "3 classes":
        return fp.Predictions.from_logits(y, z, sample_weight=w, priors=[0.2, 0.3, 0.5])
    make = {"llrs": fp.Predictions.from_llrs, "raw scores": fp.Predictions.from_raw_scores,
            "posteriors": fp.Predictions.from_logits}[kind]  # fmt: skip
    return make(y, 2.0 * (z[:, 1] - z[:, 0]), sample_weight=w)


KINDS = ("posteriors", "llrs", "raw scores", "3 classes")
TRAININGS = {
    "folds": lambda kind: fp.CrossFit(3),
    "groups": lambda kind: fp.CrossFit(3, groups=np.arange(300) % 40),
    "on test": lambda kind: fp.TrainOnTest(),
    "held out": lambda kind: fp.HeldOut(data_of(kind, seed=1)),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("own", [Wrapped, Bare])
@pytest.mark.parametrize("train", TRAININGS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_does_what_the_package_does(kind, train, own):
    data, training = data_of(kind), TRAININGS[train](kind)
    wrapped, calibrator = own(fp.DirectionPreserving()), fp.DirectionPreserving()
    made, expected = (fp.cross_fit(each, data, training) for each in (wrapped, calibrator))
    assert made.kind == expected.kind
    np.testing.assert_allclose(made.scores, expected.scores, rtol=1e-7, atol=1e-7)
    assert (made.labels == data.labels).all()
    assert (made.weights == data.weights).all()
    assert not hasattr(wrapped, "fitted")  # each fit has a copy
    if kind == "raw scores":
        return
    for metric in (fp.CalibrationLoss, fp.ExpectedDivergence):
        one, other = metric(BRIER, wrapped, training), metric(BRIER, calibrator, training)
        assert one(data) == pytest.approx(other(data), rel=1e-6)
        assert one.label == other.label
        assert one.calibrator is wrapped


def test_folds_do_not_share_a_fit():
    class Constant:
        def fit(self, predictions):
            self.mean = predictions.y_true.mean()
            return self

        def transform(self, predictions):
            return fp.Predictions.from_posteriors(None, np.full(len(predictions), self.mean))

    y = np.array([0, 0, 0, 1, 0, 1, 1, 1, 1])
    data = fp.Predictions.from_posteriors(y, np.full(9, 0.5))
    folds = np.repeat([0, 1, 2], 3)
    made = fp.cross_fit(Constant(), data, fp.CrossFit(folds=folds))
    expected = [y[folds != fold].mean() for fold in folds]
    np.testing.assert_allclose(made.posteriors[:, 1], expected)


def test_replicates_are_fitted_with_their_weights():
    data = data_of("posteriors")
    clusters = fp.Clusters(np.arange(300) // 3)
    for train in (fp.TrainOnTest(), fp.CrossFit(3)):
        results = fp.bootstrap(
            [fp.CalibrationLoss(LOG, each, train)
             for each in (Wrapped(fp.TemperatureScaling()), fp.TemperatureScaling())],
            data, n_resamples=20, resampling=clusters, seed=1, confidence_level=0.8,
        )  # fmt: skip
        np.testing.assert_allclose(results[0].replicates, results[1].replicates, atol=1e-6)
        assert results[0].standard_error > 0.0
    loss = fp.CalibrationLoss(LOG, Wrapped(fp.TemperatureScaling()), fp.CrossFit(3))
    (row,) = fp.evaluate(data, {"RCL": loss}, n_resamples=40, seed=1, confidence_level=0.8).rows
    assert row.low < row.value < row.high
    assert row.note == "share of CE that Wrapped would save, cross-fitted"


def test_what_it_is_shown():
    seen = []

    class Looks(Wrapped):
        def fit(self, predictions):
            seen.append(predictions)
            return super().fit(predictions)

    q = np.array([0.25, 0.5, 0.75, 0.125, 0.375, 0.625])
    data = fp.Predictions.from_posteriors([0, 1, 0, 1, 1, 0], q, sample_weight=[1, 2, 0, 1, 1, 3])
    fp.cross_fit(Looks(fp.HistogramBinning()), data, fp.CrossFit(folds=[0, 0, 0, 1, 1, 1]))
    assert [list(each.posteriors[:, 1]) for each in seen] == [[0.125, 0.375, 0.625], [0.25, 0.5]]
    assert [list(each.sample_weight) for each in seen] == [[1, 1, 3], [1, 2]]


def test_data_in_parts():
    data = data_of("llrs")
    parts = fp.from_parts([data[:100], data[100:]])
    own = Wrapped(fp.TemperatureScaling())
    uses = [
        lambda: fp.cross_fit(own, parts),
        lambda: fp.cross_fit(own, parts, fp.TrainOnTest()),
        lambda: fp.CalibrationLoss(LOG, own)(parts),
        lambda: fp.ExpectedDivergence(LOG, own)(parts),
    ]
    for use in uses:
        with pytest.raises(
            fp.ArgumentError, match="predictions must be in memory for Wrapped"
        ) as no:
            use()
        assert "predictions.compute()" in no.value.remedy
        assert "fastpsr.calibration.Calibrator" in no.value.remedy
    # what is fitted in memory maps parts
    held_out = fp.HeldOut(data_of("llrs", seed=1))
    loss = fp.CalibrationLoss(LOG, own, held_out)
    assert loss(parts) == pytest.approx(loss(data), rel=1e-10)


class Returns:
    def __init__(self, fitted=None, made=None):
        self.fitted, self.made = fitted, made

    def fit(self, predictions):
        return self if self.fitted is None else self.fitted

    def transform(self, predictions):
        return self.made


RETURNED = {
    "nothing from fit": (Returns(fitted=0), "Returns.fit returned int: end fit with return self"),
    "an array": (Returns(made=np.zeros(300)), "Returns.transform returned ndarray"),
    "other rows": (Returns(made=data_of("posteriors", 7)), "returned 7 samples of 2 classes"),
    "other classes": (Returns(made=data_of("3 classes")), "returned 300 samples of 3 classes"),
    "another kind": (Returns(made=data_of("llrs")), "classes, likelihoods: .*from_log_posteriors"),
}


@pytest.mark.parametrize(("own", "words"), RETURNED.values(), ids=RETURNED)
def test_what_it_returns_is_checked(own, words):
    with pytest.raises(fp.ArgumentError, match=f"^calibrator must return .*{words}"):
        fp.cross_fit(own, data_of("posteriors"), fp.TrainOnTest())


def test_a_kind_that_is_wrong_for_llrs():
    own = Returns(made=data_of("posteriors"))
    with pytest.raises(fp.ArgumentError, match=r"as likelihoods from transform.*from_llrs"):
        fp.cross_fit(own, data_of("llrs"), fp.TrainOnTest())


@pytest.mark.parametrize("wrong", [Wrapped, fp.PAV, None, "pav", 3, object()])
def test_what_is_no_calibrator(wrong):
    data = data_of("posteriors")
    for use in (
        lambda: fp.cross_fit(wrong, data),
        lambda: fp.CalibrationLoss(LOG, wrong),
        lambda: fp.ExpectedDivergence(LOG, wrong),
        lambda: fp.TrainOnTest().calibrate(wrong, data),
    ):
        with pytest.raises(
            fp.ArgumentError, match=r"^calibrator must be a calibrator, such as PAV"
        ):
            use()


def test_its_errors_are_its_own():
    class Fails(Wrapped):
        def fit(self, predictions):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fp.cross_fit(Fails(None), data_of("posteriors"))


def test_the_base_class_is_in_the_public_room():
    assert "calibration" in fp.__all__
    for kind in CALIBRATORS.values():
        assert issubclass(kind, fp.calibration.Calibrator)
