"""Affine fits of several classes: sums by definition, and cross-fits against fits one by one."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr import kernels
from tests import reference
from tests.dealt_folds import folds_of
from tests.samples import make


def naive_sums(scores, y, mass, point):
    """Gradient and Hessian of the sum of -log softmax(scales @ scores + shift)[y]."""
    n_systems, _, n_classes = scores.shape
    n = n_systems + n_classes
    gradient, hessian = np.zeros(n), np.zeros((n, n))
    for x, true, weight in zip(np.moveaxis(scores, 1, 0), y, mass, strict=True):
        z = point[:n_systems] @ x + point[n_systems:]
        q = np.exp(z - z.max())
        q /= q.sum()
        slopes = np.column_stack([x.T, np.eye(n_classes)])  # of z by the parameters
        gradient += weight * (q - np.eye(n_classes)[true]) @ slopes
        hessian += weight * slopes.T @ (np.diag(q) - np.outer(q, q)) @ slopes
    return gradient, hessian


@pytest.mark.parametrize(
    ("n_classes", "n", "n_systems", "weighted"),
    [
        (3, 1, 1, False),
        (3, 700, 3, True),
        (4, 40, 1, True),
        (10, 99, 3, False),
        (101, 9, 1, True),
    ],
)
def test_sums_are_those_by_definition(n_classes, n, n_systems, weighted):
    rng = np.random.default_rng([n_classes, n])
    scores = rng.normal(size=(n_systems, n, n_classes)) * 3.0
    y = rng.integers(0, n_classes, n).astype(np.uint8)
    weights = rng.choice([0.0, 0.5, 3.0], n) if weighted else np.empty(0)
    parts_of = rng.choice([0, 1, 3], n).astype(np.uint16)  # nobody is in part 2
    samples = kernels.side_by_side.SideBySide(scores, y, weights, parts_of, 4)
    factors = rng.uniform(0.5, 2.0, n_classes)
    point = np.concatenate([rng.normal(1.3, 0.5, n_systems), rng.normal(size=n_classes)])
    for used in ([True] * 4, [False, True, True, True], [True, False, False, False]):
        parts = np.array(used)
        mass = np.where(parts[parts_of], factors[y] * (weights if weighted else 1.0), 0.0)
        gradient, hessian = naive_sums(scores, y, mass, point)
        close = {"rtol": 1e-12, "atol": 4e-12 * max(mass.sum(), 1.0)}  # what cancels in sums
        slopes, curvature = samples.sum_fit(point, True, parts, factors)
        np.testing.assert_allclose(slopes, gradient, **close)
        np.testing.assert_allclose(curvature, hessian, **close)
        alone, nothing = samples.sum_fit(point, False, parts, factors)
        np.testing.assert_array_equal(alone, slopes)
        assert nothing is None
        by_scale, bend = samples.sum_fit(point, True, parts, factors, by_bias=False)
        np.testing.assert_array_equal(by_scale, slopes[:n_systems])
        np.testing.assert_array_equal(bend, curvature[:n_systems, :n_systems])


def one_by_one(calibrator, data, train):
    """Calibrated scores by a fit to the training samples of each fold."""
    scores = np.empty(data.scores.shape)
    for fold in folds_of(data.y_true, train, data.sample_weight):
        fitted = calibrator.fit(data[fold.training])
        scores[fold.served] = fitted.transform(data[fold.served]).scores
    return scores


def with_floors_of_their_own():
    """Folds without the score of -90 have another floor."""
    sample = make(3, 60)
    log_q = sample.log_q.copy()
    log_q[0, (sample.y[0] + 1) % 3], log_q[1, (sample.y[1] + 1) % 3] = -np.inf, -90.0
    return fp.Predictions.from_log_posteriors(sample.y, reference.log_softmax(log_q))


def with_a_class_of_tiny_weight():
    """What steps win is next to nothing, and yet the curvature differs a hundredfold by fold."""
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 3
    z = rng.normal(size=(1500, 3)) + np.eye(3)[y]
    weights = np.where(y == 2, 1e-8, 1.0)
    weights[2] = 1e-2
    return fp.Predictions.from_logits(y, z, sample_weight=weights)


def reversed_scores():
    sample = make(3, 60)
    return fp.Predictions.from_logits(sample.y, -sample.log_q)


@pytest.mark.filterwarnings("ignore:the fitted scale is -")
@pytest.mark.filterwarnings("ignore::fastpsr.SuspicionWarning")
@pytest.mark.parametrize(
    ("data", "folds", "tolerance"),
    [
        (make(3, 30).predictions, np.arange(30), 1e-8),
        (make(7, 200, weights="tiny", priors=True).predictions, 4, 1e-8),
        (with_floors_of_their_own(), 4, 1e-8),
        (reversed_scores(), 4, 1e-8),
        (with_a_class_of_tiny_weight(), np.arange(1500) // 3 % 5, 1e-4),
    ],
    ids=["a fold per sample", "tiny weights", "floors that differ", "scales below 0", "tiny class"],
)
def test_cross_fits_are_fits_one_by_one(data, folds, tolerance):
    together = fp.cross_fit(fp.DirectionPreserving(), data, fp.CrossFit(folds)).scores
    expected = one_by_one(fp.DirectionPreserving(), data, fp.CrossFit(folds))
    np.testing.assert_allclose(together, expected, rtol=tolerance, atol=tolerance)
