"""Cross-fits of several classes, laid out side by side: sums by definition, and fits one by one."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr import kernels
from fastpsr.calibration import objective
from fastpsr.plans import Part, run
from tests import reference
from tests.samples import WEIGHTS, make


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


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_systems", [1, 3])
@pytest.mark.parametrize(
    ("n_classes", "n"), [(3, 1), (3, 700), (4, 40), (5, 2500), (10, 300), (101, 150)]
)
def test_sums_are_those_by_definition(n_classes, n, n_systems, weighted):
    rng = np.random.default_rng([n_classes, n])
    scores = rng.normal(size=(n_systems, n, n_classes)) * 3.0
    y = rng.integers(0, n_classes, n).astype(np.uint8)
    weights = rng.choice([0.0, 0.5, 3.0], n) if weighted else np.empty(0)
    parts_of = rng.choice([0, 1, 3], n).astype(np.uint16)  # nobody is in part 2
    samples = kernels.SideBySide(scores, y, weights, parts_of, 4)
    factors = rng.uniform(0.5, 2.0, n_classes)
    point = np.concatenate([rng.normal(1.3, 0.5, n_systems), rng.normal(size=n_classes)])
    for used in ([True] * 4, [False, True, True, True], [True, False, False, False]):
        parts = np.array(used)
        mass = np.where(parts[parts_of], factors[y] * (weights if weighted else 1.0), 0.0)
        gradient, hessian = naive_sums(scores, y, mass, point)
        close = {"rtol": 1e-12, "atol": 4e-12 * max(mass.sum(), 1.0)}  # what cancels in sums
        found = samples.sum_fit(point, True, parts, factors)
        np.testing.assert_allclose(found[0], gradient, **close)
        np.testing.assert_allclose(found[1], hessian, **close)
        slopes, nothing = samples.sum_fit(point, False, parts, factors)
        np.testing.assert_array_equal(slopes, found[0])
        assert nothing is None
        for curved in (True, False):
            by_scale, bend = samples.sum_fit(point, curved, parts, factors, by_bias=False)
            np.testing.assert_array_equal(by_scale, found[0][:n_systems])
            expected = found[1][:n_systems, :n_systems]
            assert bend is None if not curved else np.array_equal(bend, expected)


@pytest.mark.parametrize(("n_classes", "n"), [(3, 700), (4, 40), (10, 300)])
def test_brier_losses_are_those_by_definition(n_classes, n):
    rng = np.random.default_rng([n_classes, n])
    scores = rng.normal(size=(n, n_classes)) * 3.0
    y = rng.integers(0, n_classes, n).astype(np.uint8)
    weights = rng.choice([0.0, 0.5, 3.0], n)
    samples = kernels.SideBySide(scores[None], y, weights, rng.integers(0, 3, n), 4)
    factors, point = rng.uniform(0.5, 2.0, n_classes), rng.normal(1.0, 0.5, 1 + n_classes)
    value, gradient = samples.brier_fit(point, factors)
    log_q = reference.log_softmax(point[0] * scores + point[1:])
    mass, rule = weights * factors[y], fp.rules.Brier()
    slopes = rule.slopes(log_q, y) * mass[:, None]
    assert value == pytest.approx(mass @ rule.losses_at(log_q, y), rel=1e-12)
    expected = [(slopes * scores).sum(), *slopes.sum(axis=0)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-11 * mass.sum())


KINDS = {
    "posteriors": fp.Predictions.from_log_posteriors,
    "likelihoods": fp.Predictions.from_log_likelihoods,
}


def one_by_one(calibrator, data, folds):
    """Calibrated scores by a fit to the training samples of each calibrator."""
    calibrator_of_row = folds.calibrator_of_rows(Part.whole(data))
    found = np.empty(data.scores.shape)
    for c in range(folds.n_calibrators):
        rows = np.flatnonzero(calibrator_of_row == c)
        if rows.size:
            fitted = calibrator.fit(data[folds.training_mask[c][calibrator_of_row]])
            found[rows] = fitted.transform(data[rows]).scores
    return found


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "calibrator", [fp.DirectionPreserving(), fp.TemperatureScaling()], ids=repr
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("with_priors", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_calibrated_scores_are_those_of_fits_one_by_one(
    n_classes, with_priors, weights, kind, calibrator
):
    sample = make(n_classes, 200, weights=weights, priors=with_priors)
    data = KINDS[kind](sample.y, sample.log_q, priors=sample.priors, sample_weight=sample.weights)
    train = fp.CrossFit(folds=4, seed=1)
    at_once = fp.cross_fit(calibrator, data, train)
    expected = one_by_one(calibrator, data, train.folds_of(data))
    # both take a last step where the gradient is below 1e-8 per unit of weight
    np.testing.assert_allclose(at_once.scores, expected, rtol=1e-8, atol=1e-8)


def test_speakers_on_both_sides():
    sample = make(3, 600)
    rng = np.random.default_rng(3)
    speakers = rng.integers(0, 30, (2, 600))
    train = fp.CrossFit(folds=4, groups=(speakers[0], speakers[1]))
    found = fp.cross_fit(fp.DirectionPreserving(), sample.predictions, train)
    folds = train.folds_of(sample.predictions)
    expected = one_by_one(fp.DirectionPreserving(), sample.predictions, folds)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-8, atol=1e-8)


def test_what_goes_one_by_one():
    sample = make(3, 60)

    def tried(data, folds):
        found = fp.CrossFit(folds).folds_of(data)
        return run(lambda: fp.DirectionPreserving()._fit_together(data, found))

    assert tried(sample.predictions, 4) is not None
    assert tried(sample.predictions, np.arange(60)) is None  # a part for each sample
    assert tried(sample.predictions, sample.y) is None  # no training set has every class
    assert tried(make(3, 60, scores="infinite").predictions, 4) is not None
    far = sample.log_q.copy()
    far[0, (sample.y[0] + 1) % 3], far[1, (sample.y[1] + 1) % 3] = -np.inf, -90.0
    infinite = fp.Predictions.from_log_posteriors(sample.y, reference.log_softmax(far))
    assert tried(infinite, 4) is None  # folds without -90 would have another floor
    reversed_scores = fp.Predictions.from_logits(sample.y, -sample.log_q)
    assert tried(reversed_scores, 4) is None  # scales are negative: users are warned


def test_a_class_of_tiny_weight_that_differs_between_folds():
    """What steps win is next to nothing, and yet the curvature changes a hundredfold."""
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 3
    z = rng.normal(size=(1500, 3)) + np.eye(3)[y]
    weights = np.where(y == 2, 1e-8, 1.0)
    weights[2] = 1e-2
    data = fp.Predictions.from_logits(y, z, sample_weight=weights)
    folds = np.arange(1500) // 3 % 5
    found = fp.cross_fit(fp.DirectionPreserving(), data, fp.CrossFit(folds)).scores
    for fold in range(5):
        alone = fp.DirectionPreserving().fit(data[folds != fold]).transform(data[folds == fold])
        np.testing.assert_allclose(found[folds == fold], alone.scores, rtol=1e-4, atol=1e-4)


def test_small_parts_take_little_room():
    rng = np.random.default_rng(0)
    y = (np.arange(20_000) % 10).astype(np.uint8)
    scores = rng.normal(size=(20_000, 10))
    parts_of = np.zeros(20_000, np.uint16)
    parts_of[:1_499] = 1 + np.arange(1_499)
    samples = kernels.SideBySide(scores[None], y, np.empty(0), parts_of, 1_500)
    held = sum(value.nbytes for value in vars(samples).values() if isinstance(value, np.ndarray))
    assert held < 5 * scores.nbytes


def test_a_fold_that_is_separable_is_named():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    scores = 5.0 * np.eye(3)[y] + rng.normal(size=(90, 3)) * 0.1
    data = fp.Predictions.from_logits(y, scores)
    with pytest.raises(ValueError, match="separate the classes perfectly"):
        fp.cross_fit(fp.DirectionPreserving(), data)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_equations_that_overflow_have_no_step(bad):
    """LAPACK's least squares may never come back from what is not finite."""
    with np.errstate(all="ignore"):
        moves = np.ones(4, bool)
        step = objective._solve(np.ones(4), np.full((4, 4), bad), moves, ~moves)
    assert step.tolist() == [0.0] * 4
