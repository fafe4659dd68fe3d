"""Floors of calibrators clip as `from_posteriors(..., floor=...)` does; notes name what helps."""

import math
import warnings

import numpy as np
import pytest

import fastpsr as fp
from tests.contract.comparison import OPTIMUM, require_same

FLOOR = 1e-3
KINDS = [fp.DirectionPreserving, fp.TemperatureScaling]
LOG, BRIER = fp.rules.Log(), fp.rules.Brier()


def votes(n_classes, n=300):
    """Labels, and posteriors of which some are 0, also for the true class."""
    rng = np.random.default_rng([n_classes, n])
    y = rng.integers(0, n_classes, n)
    q = rng.multinomial(3, 0.2 * np.eye(n_classes)[y] + 0.8 / n_classes) / 3.0
    return y, q


def both_places(data):
    return data, fp.from_parts([data[:100], data[100:]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", [None, 0.1])
def test_llrs_are_clipped_to_the_log_odds_of_the_floor(prior, kind):
    y, q = votes(2)
    with np.errstate(divide="ignore"):
        llr = np.log(q[:, 1]) - np.log(q[:, 0])
    most = math.log((1.0 - FLOOR) / FLOOR)
    data = fp.Predictions.from_llrs(y, llr, prior=prior)
    clipped = fp.Predictions.from_llrs(y, np.clip(llr, -most, most), prior=prior)
    require_same(fp.cross_fit(kind(floor=FLOOR), data), fp.cross_fit(kind(), clipped), OPTIMUM)


def test_log_likelihoods_are_clipped_at_equal_priors():
    y, q = votes(3)
    with np.errstate(divide="ignore"):
        log_lk = np.log(q) + np.linspace(-3.0, 3.0, y.size)[:, None]
    data = fp.Predictions.from_log_likelihoods(y, log_lk)
    clipped = fp.Predictions.from_log_likelihoods(y, np.log(np.clip(q, FLOOR, 1.0 - FLOOR)))
    transformed = fp.DirectionPreserving(floor=FLOOR).fit(data).transform(data)
    expected = fp.DirectionPreserving().fit(clipped).transform(clipped)
    np.testing.assert_allclose(transformed.posteriors, expected.posteriors, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::fastpsr.SuspicionWarning")
@pytest.mark.parametrize(("n_classes", "n"), [(2, 300), (4, 300), (2, 40_000)])
def test_a_floor_leaves_the_calibration_loss_defined(n_classes, n):
    data = fp.Predictions.from_posteriors(*votes(n_classes, n))
    calibrator = fp.DirectionPreserving(floor=FLOOR)
    for place in both_places(data):
        assert math.isnan(fp.CalibrationLoss(LOG, fp.DirectionPreserving())(place))
        assert fp.CalibrationLoss(LOG, calibrator)(place) == 100.0
    brier = fp.BrierScore(normalized=False)
    expected = brier(data) - brier(fp.cross_fit(calibrator, data))  # the raw score is not clipped
    loss = fp.CalibrationLoss(BRIER, calibrator, relative=False)
    assert loss(data) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_notes_name_a_call_that_helps(n_classes):
    y, q = votes(n_classes)
    data = fp.Predictions.from_posteriors(y, q)
    notes = {row.metric: row.note for row in fp.evaluate(data).rows}
    n_infinite = np.count_nonzero(q[np.arange(y.size), y] == 0.0)
    for metric, call in (("NCE", "from_posteriors(..., floor=1e-6)"),
                         ("RCL", "DirectionPreserving(floor=1e-3)")):  # fmt: skip
        assert f"{n_infinite} samples have posterior 0 for the true class" in notes[metric]
        assert call in notes[metric]
    clipped = fp.Predictions.from_posteriors(y, q, floor=1e-6)
    assert math.isfinite(fp.evaluate(clipped)["NCE"])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_posteriors_of_0_are_warned_of_once_at_every_entry(n_classes):
    y, q = votes(n_classes)
    n = int((q[np.arange(y.size), y] == 0.0).sum())
    entries = [
        lambda calibrator, data: calibrator.fit(data),
        lambda calibrator, data: fp.cross_fit(calibrator, data),
        lambda calibrator, data: fp.cross_fit(calibrator, data, fp.HeldOut(data)),
        lambda calibrator, data: fp.CalibrationLoss(BRIER, calibrator)(data),
        lambda calibrator, data: fp.ExpectedDivergence(BRIER, calibrator)(data),
        lambda calibrator, data: fp.decompose(data, BRIER, calibrator),
    ]
    for data in both_places(fp.Predictions.from_posteriors(y, q)):
        for kind, entry in zip(KINDS * 3, entries, strict=True):
            words = f"{n} samples have posterior 0 for the true class.*floor"
            with pytest.warns(fp.SuspicionWarning, match=words) as caught:
                entry(kind(), data)
            assert len(caught) == 1
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                entry(kind(floor=FLOOR), data)
