"""Calibrators of two classes for several: each class against the rest, normalized."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import fastpsr as fp

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 400)
Q = 0.8 * RNG.dirichlet(np.ones(3), 400) + 0.2 * np.eye(3)[Y]
DATA = fp.Predictions.from_posteriors(Y, Q)


def test_pav_of_each_class_is_scikit_learns_isotonic_regression_normalized():
    each = [IsotonicRegression().fit_transform(Q[:, k], k == Y) for k in range(3)]
    expected = np.stack(each, axis=1) / np.sum(each, axis=0)[:, None]
    calibrated = fp.OneVersusRest(fp.PAV()).fit(DATA).transform(DATA)
    np.testing.assert_allclose(calibrated.posteriors, expected, atol=1e-12)


def test_a_row_of_zeros_becomes_uniform():
    fitted = fp.OneVersusRest(fp.PAV()).fit(DATA)
    low = fp.PAV().fit(fp.Predictions.from_posteriors([0, 1], [0.4, 0.6]))
    object.__setattr__(fitted, "maps_", (low,) * 3)
    rows = fitted.transform(fp.Predictions.from_posteriors(None, [[1 / 3, 1 / 3, 1 / 3]]))
    np.testing.assert_allclose(rows.posteriors, 1 / 3)


def test_of_two_classes_it_is_the_calibrator_itself():
    data = fp.Predictions.from_posteriors(Y == 1, Q[:, 1])
    fitted = fp.OneVersusRest(fp.PAV()).fit(data)
    np.testing.assert_array_equal(
        fitted.transform(data).scores, fp.PAV().fit(data).transform(data).scores
    )


def test_other_input_is_refused():
    with pytest.raises(fp.ArgumentError, match="calibrator of this package, such"):
        fp.OneVersusRest("pav")
    with pytest.raises(fp.ArgumentError, match="must be posteriors"):
        fp.OneVersusRest().fit(fp.Predictions.from_log_likelihoods(Y, np.log(Q)))
    fitted = fp.OneVersusRest().fit(DATA)
    with pytest.raises(fp.ArgumentError, match="3 classes of the fit, not 4"):
        fitted.transform(fp.Predictions.from_posteriors(None, np.full((2, 4), 0.25)))
