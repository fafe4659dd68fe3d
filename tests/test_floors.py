"""Calibrators that clip what they are given, as `from_posteriors(..., floor=...)` does."""

import math
import warnings

import numpy as np
import pytest

import fastpsr as fp

FLOOR = 1e-3
KINDS = {
    "dp": fp.DirectionPreserving,
    "dp by Brier": lambda floor=0.0: fp.DirectionPreserving(fp.rules.Brier(), floor),
    "temperature": fp.TemperatureScaling,
}
LOG, BRIER = fp.rules.Log(), fp.rules.Brier()


def votes(n_classes, n=300):
    """Labels, and posteriors of which some are 0, also for the true class."""
    rng = np.random.default_rng([n_classes, n])
    y = rng.integers(0, n_classes, n)
    q = rng.multinomial(3, 0.2 * np.eye(n_classes)[y] + 0.8 / n_classes) / 3.0
    return y, q


def given(n_classes, n=300, form="posteriors", **options):
    y, q = votes(n_classes, n)
    w = np.random.default_rng(0).integers(0, 3, n)
    if form == "posteriors":
        return fp.Predictions.from_posteriors(y, q, sample_weight=w, **options)
    with np.errstate(divide="ignore"):
        return fp.Predictions.from_log_posteriors(y, np.log(q), sample_weight=w, **options)


def in_parts(data):
    return fp.from_parts([data[: len(data) // 3], data[len(data) // 3 :]])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("form", ["posteriors", "log-posteriors"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_posteriors_are_clipped_as_by_their_constructor(n_classes, form, name):
    data, clipped = given(n_classes, form=form), given(n_classes, form=form, floor=FLOOR)
    fitted, expected = KINDS[name](floor=FLOOR).fit(data), KINDS[name]().fit(clipped)
    tolerance = 1e-6 if name == "dp by Brier" else 1e-10
    assert fitted.scale_ == pytest.approx(expected.scale_, rel=tolerance)
    np.testing.assert_allclose(fitted.bias_, expected.bias_, rtol=tolerance, atol=tolerance)
    made, wanted = fitted.transform(data).scores, expected.transform(clipped).scores
    np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance)
    made = fp.cross_fit(KINDS[name](floor=FLOOR), data).scores
    wanted = fp.cross_fit(KINDS[name](), clipped).scores
    np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance)
    assert np.isfinite(made).all()


@pytest.mark.parametrize(("n_classes", "n"), [(2, 300), (4, 300), (2, 40_000)])
def test_parts_are_clipped_as_they_are_in_memory(n_classes, n):
    data = given(n_classes, n)
    for kind in (fp.DirectionPreserving, fp.TemperatureScaling):
        calibrator = kind(floor=FLOOR)
        made = fp.cross_fit(calibrator, in_parts(data)).compute().scores
        np.testing.assert_allclose(made, fp.cross_fit(calibrator, data).scores, atol=1e-8)
        fitted = calibrator.fit(data)
        made = fitted.transform(in_parts(data)).compute().scores
        np.testing.assert_allclose(made, fitted.transform(data).scores, rtol=1e-12)
        loss = fp.CalibrationLoss(BRIER, calibrator)
        assert loss(in_parts(data)) == pytest.approx(loss(data), abs=1e-6)


def test_llrs_are_clipped_to_the_log_odds_of_the_floor():
    y, q = votes(2)
    with np.errstate(divide="ignore"):
        llr = np.log(q[:, 1]) - np.log(q[:, 0])
    most = math.log((1.0 - FLOOR) / FLOOR)
    for prior in (None, 0.1):
        data = fp.Predictions.from_llrs(y, llr, prior=prior)
        clipped = fp.Predictions.from_llrs(y, np.clip(llr, -most, most), prior=prior)
        for kind in (fp.DirectionPreserving, fp.TemperatureScaling):
            made = fp.cross_fit(kind(floor=FLOOR), data)
            assert made.kind == "likelihoods"
            expected = fp.cross_fit(kind(), clipped).llrs
            np.testing.assert_allclose(made.llrs, expected, rtol=1e-10, atol=1e-10)


def test_log_likelihoods_are_clipped_at_equal_priors():
    y, q = votes(3)
    with np.errstate(divide="ignore"):
        log_lk = np.log(q) + np.linspace(-3.0, 3.0, y.size)[:, None]
    data = fp.Predictions.from_log_likelihoods(y, log_lk)
    clipped = fp.Predictions.from_log_likelihoods(y, np.log(np.clip(q, FLOOR, 1.0 - FLOOR)))
    made = fp.DirectionPreserving(floor=FLOOR).fit(data).transform(data)
    expected = fp.DirectionPreserving().fit(clipped).transform(clipped)
    np.testing.assert_allclose(made.posteriors, expected.posteriors, rtol=1e-9)


@pytest.mark.parametrize("kind", [fp.DirectionPreserving, fp.TemperatureScaling])
def test_raw_scores_have_nothing_to_clip(kind):
    data = fp.Predictions.from_raw_scores(np.arange(10) % 2, np.arange(10.0))
    for use in (kind(floor=FLOOR).fit, lambda data: fp.cross_fit(kind(floor=FLOOR), data)):
        with pytest.raises(fp.ArgumentError, match=r"floor must be 0 for raw scores.*PAV\(floor"):
            use(data)
    kind(floor=0.0).fit(data)


@pytest.mark.parametrize(("n_classes", "n"), [(2, 300), (4, 300), (2, 40_000)])
def test_a_floor_leaves_the_calibration_loss_defined(n_classes, n):
    data = given(n_classes, n)
    for data_given in (data, in_parts(data)):
        assert math.isnan(fp.CalibrationLoss(LOG, fp.DirectionPreserving())(data_given))
        loss = fp.CalibrationLoss(LOG, fp.DirectionPreserving(floor=FLOOR))
        assert loss(data_given) == 100.0
    calibrator = fp.DirectionPreserving(floor=FLOOR)
    brier = fp.BrierScore(normalized=False)
    raw, calibrated = brier(data), brier(fp.cross_fit(calibrator, data))
    loss = fp.CalibrationLoss(BRIER, calibrator, relative=False)
    assert loss(data) == pytest.approx(raw - calibrated, abs=1e-9)  # the raw score is not clipped


@pytest.mark.parametrize(("n_classes", "n"), [(2, 300), (3, 300), (2, 20_000)])
def test_replicates_clip_what_is_refitted_and_nothing_else(n_classes, n):
    data = given(n_classes, n)
    clusters = fp.Clusters(np.arange(n) // 4)
    calibrator, train = fp.DirectionPreserving(floor=FLOOR), fp.TrainOnTest()
    loss = fp.CalibrationLoss(BRIER, calibrator, train)

    def slowly(replicate):
        brier = fp.BrierScore()
        raw, after = brier(replicate), brier(train.calibrate(calibrator, replicate))
        return 100.0 * (raw - after) / raw

    by_sums, by_samples = fp.bootstrap(
        [loss, slowly], data, n_resamples=20, resampling=clusters, seed=1, confidence_level=0.8
    )
    assert by_sums.n_undefined == 0
    np.testing.assert_allclose(by_sums.replicates, by_samples.replicates, atol=1e-6)
    of_log = fp.CalibrationLoss(LOG, calibrator, train)
    options = {"n_resamples": 20, "confidence_level": 0.8, "method": "percentile"}
    result = fp.bootstrap(of_log, data, seed=1, **options)
    assert (result.replicates == 100.0).all()


@pytest.mark.parametrize("name", KINDS)
def test_files_keep_the_floor(tmp_path, name):
    data = given(2)
    fitted = KINDS[name](floor=FLOOR).fit(data)
    fp.save_calibrator(fitted, tmp_path / "c.json")
    loaded = fp.load_calibrator(tmp_path / "c.json")
    assert loaded.floor == FLOOR
    assert (loaded.transform(data).scores == fitted.transform(data).scores).all()


def test_a_floor_changes_nothing_beyond_it():
    y, q = votes(3)
    data = fp.Predictions.from_posteriors(y, 0.9 * q + 0.1 / 3.0)
    made = fp.cross_fit(fp.DirectionPreserving(floor=1e-6), data).scores
    np.testing.assert_allclose(made, fp.cross_fit(fp.DirectionPreserving(), data).scores, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_notes_name_a_call_that_helps(n_classes):
    y, q = votes(n_classes)
    data = fp.Predictions.from_posteriors(y, q)
    notes = {row.metric: row.note for row in fp.evaluate(data).rows}
    n_infinite = np.count_nonzero(q[np.arange(y.size), y] == 0.0)
    have = f"{n_infinite} samples have posterior 0 for the true class"
    assert notes["NCE"] == (
        f"infinite: {have}: from_posteriors(..., floor=1e-6) bounds what they cost"
    )
    assert notes["RCL"] == (
        f"undefined: {have}: DirectionPreserving(floor=1e-3) bounds what they cost"
    )
    clipped = fp.Predictions.from_posteriors(y, q, floor=1e-6)
    assert math.isfinite(fp.evaluate(clipped)["NCE"])
    loss = fp.CalibrationLoss(LOG, fp.DirectionPreserving(floor=1e-6), relative=False)
    (row,) = fp.evaluate(data, {"RCL": loss}).rows
    assert (row.value, row.note) == (math.inf, notes["NCE"])  # the calibrator has done its part


# Posteriors of 0


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("where", ["memory", "parts"])
@pytest.mark.parametrize("kind", [fp.DirectionPreserving, fp.TemperatureScaling])
def test_posteriors_of_0_are_said_at_every_entry(kind, where, n_classes):
    y, q = votes(n_classes)
    n = int((q[np.arange(y.size), y] == 0.0).sum())
    assert n > 1
    data = fp.Predictions.from_posteriors(y, q)
    data = in_parts(data) if where == "parts" else data
    entries = [
        lambda made: made.fit(data),
        lambda made: fp.cross_fit(made, data),
        lambda made: fp.cross_fit(made, data, fp.HeldOut(data)),
        lambda made: fp.CalibrationLoss(LOG, made, fp.TrainOnTest())(data),
        lambda made: fp.CalibrationLoss(BRIER, made)(data),
        lambda made: fp.ExpectedDivergence(BRIER, made)(data),
        lambda made: fp.decompose(data, BRIER, made),
    ]
    for entry in entries:
        said = f"{n} samples have posterior 0 for the true class.*floor"
        with pytest.warns(fp.SuspicionWarning, match=said) as caught:
            entry(kind())
        assert len(caught) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            entry(kind(floor=1e-3))
            entry(fp.PAV() if n_classes == 2 else kind(floor=0.01))


def test_raw_scores_of_minus_infinity_are_said():
    data = fp.Predictions.from_raw_scores([0, 1, 0, 1, 1, 0], [0.0, -np.inf, 1.0, 2.0, 0.5, 0.7])
    with (
        pytest.warns(RuntimeWarning, match="fitted scale"),
        pytest.warns(fp.SuspicionWarning, match=r"1 sample has score -inf.*PAV\(floor"),
    ):
        fp.DirectionPreserving().fit(data)
