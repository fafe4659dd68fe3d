"""Calibrators fitted again in replicates: by other rules, to infinite scores, several classes."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration import smooth
from fastpsr.plans import Part, run
from fastpsr.summaries.sums import NeedsSamplesError
from tests.drawn import drawn_times, fixed, sums_of
from tests.samples import make
from tests.test_bootstrap_sums import quietly

LOG, BRIER = fp.rules.Log(), fp.rules.Brier()
FEW = {"n_resamples": 4, "confidence_level": 0.5, "method": "percentile"}


def weighted(metric, data, times):
    own = data.weights if data.weights.size else 1.0
    return fixed(metric, data)(data.reweighted(own * times, times))


def binary(kind, infinite, n=3_000, seed=0):
    """Overconfident log-odds, infinite for some: of the true class, or of either."""
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
    if kind == "llrs":
        return fp.Predictions.from_llrs(y, scores)
    return fp.Predictions.from_logits(y, scores)


CALIBRATORS = [
    fp.DirectionPreserving(), fp.DirectionPreserving(prior=0.1), fp.TemperatureScaling(),
    fp.BetaCalibration(), fp.DirectionPreserving(BRIER), fp.DirectionPreserving(BRIER, prior=0.1),
    fp.DirectionPreserving(fp.rules.Beta(1, 2)), fp.DirectionPreserving(BRIER, floor=0.01),
]  # fmt: skip


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
@pytest.mark.parametrize("infinite", ["none", "right", "either", "below"])
@pytest.mark.parametrize("kind", ["llrs", "posteriors"])
def test_refits_to_sums_are_those_to_the_samples_drawn(kind, infinite, calibrator):
    data = binary(kind, infinite)
    for rule in (LOG, BRIER):
        metric = fp.CalibrationLoss(rule, calibrator, fp.CrossFit(3), relative=False)
        assert sums_of(metric, data) is not None
        if not np.isfinite(quietly(metric, data)):  # infinite before, and after
            assert infinite != "none"
            assert rule is LOG
            continue
        times = drawn_times(fp.IID(), data, metric, 5, 4)
        options = {"seed": 5, **FEW}
        found = quietly(lambda m, o: fp.bootstrap(m, data, **o).replicates, metric, options)
        values = [quietly(weighted, metric, data, drawn) for drawn in times]
        np.testing.assert_allclose(found, values, rtol=1e-8, atol=1e-9)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("calibrator", CALIBRATORS[:6], ids=repr)
@pytest.mark.parametrize("infinite", ["none", "right", "either"])
def test_values_by_sums_are_those_of_the_samples(infinite, calibrator, monkeypatch):
    data = binary("posteriors", infinite, n=20_000)
    metric = fp.CalibrationLoss(BRIER, calibrator, relative=False)
    by_sums = quietly(metric, data), quietly(fp.cross_fit, calibrator, data).scores
    monkeypatch.setattr(smooth, "_MANY", 1 << 40)
    copy = data[:]
    by_samples = quietly(metric, copy), quietly(fp.cross_fit, calibrator, copy).scores
    np.testing.assert_allclose(by_sums[0], by_samples[0], rtol=1e-10)
    np.testing.assert_allclose(by_sums[1], by_samples[1], rtol=1e-6, atol=1e-6)


def test_scales_far_from_no_change(monkeypatch):
    """Descents may begin at the identity, which cells of flat maps do not resolve."""
    data = binary("posteriors", "none", n=20_000)
    far = fp.Predictions.from_logits(data.labels, 300.0 * data.scores)
    fitted = fp.DirectionPreserving(BRIER).fit(far)
    monkeypatch.setattr(smooth, "_MANY", 1 << 40)
    expected = fp.DirectionPreserving(BRIER).fit(far)
    assert (fitted.scale_, *fitted.bias_) == (expected.scale_, *expected.bias_)


def test_infinite_scores_that_are_not_the_furthest_need_samples():
    """Where finite scores lie beyond the value that replaces infinite ones in a fit."""
    data = binary("llrs", "right")
    scores = data.scores.copy()
    scores[np.flatnonzero(np.isfinite(scores))[0]] = 80.0
    far = fp.Predictions.from_llrs(data.labels, scores)
    metric = fp.CalibrationLoss(BRIER, fp.DirectionPreserving())
    assert sums_of(metric, far) is None
    assert np.isfinite(metric(far))


def test_maps_that_fall_have_no_limits():
    """Where the scale is negative, infinite scores are replaced: samples decide."""
    data = binary("llrs", "right")
    reversed_ = fp.Predictions.from_llrs(data.labels, -data.scores)
    metric = fp.CalibrationLoss(BRIER, fp.DirectionPreserving(), fp.CrossFit(3), relative=False)
    sums = sums_of(metric, reversed_)
    part = Part.whole(reversed_)
    weight = np.bincount(sums.groups(part), minlength=sums.n_groups).astype(float)
    with pytest.raises(NeedsSamplesError):
        sums.assemble(weight, np.zeros((sums.n_groups, sums.n_sums)))


# Several classes


def several(n_classes, scores, weights, priors, n=600):
    return make(n_classes, n, scores=scores, weights=weights, priors=priors).predictions


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "calibrator",
    [fp.DirectionPreserving(), fp.TemperatureScaling(), fp.DirectionPreserving(floor=0.01)],
    ids=repr,
)
@pytest.mark.parametrize(
    ("scores", "weights", "priors"),
    [("plain", "none", False), ("tied", "integer", True), ("infinite", "none", False),
     ("infinite", "zero on infinite losses", True), ("extreme", "none", False)],
)  # fmt: skip
@pytest.mark.parametrize("n_classes", [3, 7])
def test_refits_of_several_classes(n_classes, scores, weights, priors, calibrator):
    compare_refits(several(n_classes, scores, weights, priors), calibrator, LOG)
    compare_refits(several(n_classes, scores, weights, priors), calibrator, BRIER)


@pytest.mark.parametrize("rule", [LOG, BRIER], ids=repr)
def test_refits_to_few_samples(rule):
    compare_refits(several(3, "plain", "integer", True, n=60), fp.DirectionPreserving(), rule)


def compare_refits(data, calibrator, rule):
    """Hold the values of replicates equal to those of weighted samples."""
    rng = np.random.default_rng(0)
    metric = fp.CalibrationLoss(rule, calibrator, fp.CrossFit(3), relative=False)
    refits = run(lambda: metric.refits(data))
    assert refits is not None
    times = rng.multinomial(len(data), np.full(len(data), 1.0 / len(data)), 4)
    own = data.weights if data.weights.size else 1.0
    found = refits.summaries(times * own)
    assert any(each is not None for each in found)
    for summary, drawn in zip(found, times, strict=True):
        if summary is not None:
            value = quietly(weighted, metric, data, drawn)
            np.testing.assert_allclose(metric.finish(summary), value, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "resampling",
    [fp.IID(), fp.Stratified(), fp.Clusters(np.arange(600) % 40)],
    ids=["iid", "stratified", "clusters"],
)
def test_replicates_of_several_classes_are_of_the_samples_drawn(resampling):
    data = several(3, "plain", "integer", False)
    metrics = [
        fp.CalibrationLoss(LOG, fp.DirectionPreserving()),
        fp.CalibrationLoss(BRIER, fp.DirectionPreserving(BRIER)),
    ]
    times = drawn_times(resampling, data, metrics[0], 7, 4)
    for metric in metrics:
        found = fp.bootstrap(metric, data, resampling=resampling, seed=7, **FEW).replicates
        values = [weighted(metric, data, drawn) for drawn in times]
        np.testing.assert_allclose(found, values, rtol=1e-7, atol=1e-7)


def test_replicates_without_an_optimum_are_left_to_the_samples():
    """Of a class that is not drawn, and of classes that are separated."""
    data = several(3, "plain", "none", False)
    metric = fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.CrossFit(3))
    refits = run(lambda: metric.refits(data))
    without = np.where(data.labels == 2, 0.0, 1.0)
    best = data.log_posteriors.argmax(axis=1) == data.labels
    found = refits.summaries(np.stack([without, best * 1.0, np.zeros(len(data)), without + 1.0]))
    assert [each is None for each in found] == [True, True, True, False]


def test_what_several_classes_fit_alone():
    data = several(3, "plain", "none", False)
    likelihoods = fp.Predictions.from_log_likelihoods(data.labels, data.log_posteriors)
    for metric, given in (
        (fp.CalibrationLoss(LOG, fp.DirectionPreserving(BRIER)), data),
        (fp.CalibrationLoss(LOG, fp.DirectionPreserving()), likelihoods),
        (fp.CalibrationLoss(LOG, fp.VectorScaling()), data),
        (fp.CalibrationLoss(fp.rules.Cost(1.0 - np.eye(3)), fp.DirectionPreserving()), data),
        (fp.CalibrationLoss(LOG, fp.DirectionPreserving()), several(3, "plain", "huge", False)),
    ):
        assert run(lambda metric=metric, given=given: metric.refits(given)) is None
