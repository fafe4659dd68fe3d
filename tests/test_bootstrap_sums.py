"""Sums stand for samples: a metric of them is that of weighted, and of repeated, samples."""

import warnings

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.bootstrap.draws import CountTable, GroupDraws, UnitDraws
from fastpsr.data import Part
from tests import reference_bootstrap as reference
from tests import samples

LOG, BRIER = fp.rules.Log(), fp.rules.Brier()
KINDS = ("posteriors", "log-posteriors", "likelihoods", "llrs", "raw")
N = 70


def predictions_of(kind, K, scores, weights, priors, seed=0):
    sample = samples.make(K, N, scores=scores, weights=weights, priors=priors, seed=seed)
    y, log_q, given = sample.y, sample.log_q, sample.priors
    options = {"sample_weight": sample.weights}
    if kind == "raw":
        return fp.Predictions.from_raw_scores(y, log_q[:, 1], **options)
    if kind == "llrs":
        with np.errstate(invalid="ignore"):
            llr = log_q[:, 1] - log_q[:, 0]
        return fp.Predictions.from_llrs(
            y, llr, prior=None if given is None else given[1], **options
        )
    options["priors"] = given
    if kind == "likelihoods":
        return fp.Predictions.from_log_likelihoods(y, log_q, **options)
    if kind == "posteriors":
        q = np.exp(log_q)
        return fp.Predictions.from_posteriors(y, q / q.sum(axis=1, keepdims=True), **options)
    return fp.Predictions.from_log_posteriors(y, log_q, **options)


def quietly(make, *arguments):
    """What it returns, nan where it is undefined."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return make(*arguments)
        except ValueError:
            return float("nan")


def draws(predictions, seed=0):
    """How often each sample is there: as drawn, and without most of a class."""
    rng = np.random.default_rng(seed)
    times = rng.multinomial(N, np.full(N, 1.0 / N))
    yield times
    rare = times.copy()
    rows = np.flatnonzero(predictions.labels == 0)
    rare[rows] = 0
    rare[rows[:2]] = 1
    yield rare
    yield np.where(predictions.labels == 1, times, 0)  # a class missing: often undefined


def groups_and_columns(sums, predictions):
    parts = [Part.whole(data) for data in (predictions, *sums.beside)]
    return sums.groups(*parts), sums.columns(*parts)


def by_sums(metric, predictions, times):
    """The metric finished from sums over groups, made one sample at a time, or None."""
    own = predictions.weights if predictions.weights.size else np.ones(len(predictions))
    s = metric.sums(predictions)
    groups, columns = groups_and_columns(s, predictions)
    sums = reference.chebyshev_sums(groups, s.n_groups, own * times, columns, s.degree)
    summary = s.assemble(sums[:, 0], sums[:, 1:])
    return None if summary is None else metric.finish(summary)


def weighted(metric, predictions, times):
    own = predictions.weights if predictions.weights.size else 1.0
    return metric(predictions.reweighted(own * times, times))


def repeated(metric, predictions, times):
    return metric(predictions[np.repeat(np.arange(N), times)])


def assert_alike(value, expected, rel=1e-12, abs=1e-14):
    assert value == pytest.approx(expected, rel=rel, abs=abs, nan_ok=True)


# Metrics without calibrators


def plain_metrics(kind, K, priors):
    if kind != "raw":
        yield from (fp.CrossEntropy(), fp.CrossEntropy(False), fp.BrierScore())
        yield fp.ExpectedScore(fp.rules.Cost(samples.COSTS[K]))
        yield fp.BayesRisk(fp.CostMatrix.zero_one(K))
        yield fp.BayesRisk(samples.COSTS[K], normalized=False)
        yield from (fp.ECE(7, "confidence"), fp.ECE(3, "confidence", 2))
    if K == 2:
        yield from (fp.EER(), fp.MinDCF(0.05), fp.MinDCF(0.5, 1, 3), fp.MinCllr(), fp.AUC())
        yield from map(fp.Threshold, (fp.EER(), fp.MinDCF(0.05), fp.MinDCF(0.9, 1, 3)))
    if K == 2 and kind != "raw":
        yield from (fp.ExpectedScore(fp.rules.Beta(2, 3)), fp.ECE(), fp.ECE(5, norm=2))
    if K == 2 and (kind == "llrs" or priors):
        yield from (fp.ActDCF(0.2), fp.ActDCF(0.5, 1, 3), fp.Cllr(), fp.Cllr(0.1))


def kinds_weights_and_priors():
    """All combinations; quick are the weights with and without priors, and numbers, in turn."""
    for k, kind in enumerate(KINDS):
        for w, weights in enumerate(samples.WEIGHTS):
            numbers = (2,) if kind in ("llrs", "raw") else (2, 3)
            for priors in (False, True)[: 1 if kind == "raw" else 2]:
                for K in numbers:
                    is_quick = kind == "raw" or priors == (k + w) % 2
                    is_quick &= numbers[w // 2 % len(numbers)] == K
                    marks = [] if is_quick else pytest.mark.slow
                    yield pytest.param(K, kind, weights, priors, marks=marks)


@pytest.mark.parametrize(("K", "kind", "weights", "priors"), [*kinds_weights_and_priors()])
def test_sums_weights_and_repetitions_agree(K, kind, weights, priors):
    n_compared = 0
    for scores in samples.SCORES:
        predictions = predictions_of(kind, K, scores, weights, priors)
        for metric in plain_metrics(kind, K, priors):
            for times in draws(predictions):
                value = quietly(repeated, metric, predictions, times)
                assert_alike(quietly(by_sums, metric, predictions, times), value)
                assert_alike(quietly(weighted, metric, predictions, times), value)
                n_compared += not np.isnan(value)
    assert n_compared >= 40


@pytest.mark.parametrize("metric", [fp.ActDCF(0.2), fp.Cllr()], ids=lambda m: m.label)
@pytest.mark.parametrize("kind", ["posteriors", "log-posteriors"])
def test_llrs_of_posteriors_move_with_the_priors_of_a_replicate(metric, kind):
    """As they do where samples are weighted, in devPAV, and in callables."""
    predictions = predictions_of(kind, 2, "plain", "none", False)
    for times in draws(predictions):
        value = quietly(repeated, metric, predictions, times)
        assert_alike(quietly(weighted, metric, predictions, times), value)
    assert not metric.sums(predictions).are_reweightable


def test_semi_empirical_scores_and_held_out_calibrators():
    for kind, priors in (("posteriors", True), ("posteriors", False), ("llrs", True)):
        predictions = predictions_of(kind, 2, "tied", "integer", priors)
        other = predictions_of(kind, 2, "plain", "none", priors, seed=3)
        for times in draws(predictions):
            rows = np.repeat(np.arange(N), times)
            semi = fp.SemiEmpiricalScore(LOG, other)
            value = quietly(fp.SemiEmpiricalScore(LOG, other[rows]), predictions[rows])
            assert_alike(quietly(by_sums, semi, predictions, times), value)
            for metric in (
                fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.HeldOut(other)),
                fp.CalibrationLoss(BRIER, fp.PAV(), fp.HeldOut(other), relative=False),
                fp.ExpectedDivergence(BRIER, fp.PAV(0.01), fp.HeldOut(other)),
            ):
                value = quietly(repeated, metric, predictions, times)
                for way in (by_sums, weighted):
                    found = quietly(way, metric, predictions, times)
                    assert_alike(found, value, abs=1e-12)


# Calibrators in the loop


def refitted(metric, predictions, times):
    """The calibration loss with public calibrators, fitted to repeated rows, part by part."""
    folds = metric.train.folds_of(predictions)
    rows = np.repeat(np.arange(N), times)
    if predictions.weights.size:
        rows = rows[predictions.weights[rows] > 0.0]
    calibrator_of_rows = folds.calibrator_of_rows(Part.whole(predictions))[rows]
    replicate = predictions[rows]
    log_odds = np.empty(rows.size)
    for part in np.unique(calibrator_of_rows):
        here = calibrator_of_rows == part
        training = replicate[folds.training_mask[part][calibrator_of_rows]]
        log_odds[here] = metric.calibrator.fit(training).transform(replicate[here]).log_odds
    after = fp.Predictions.from_logits(
        replicate.y_true, log_odds, priors=replicate.given_priors,
        sample_weight=replicate.sample_weight,
    )  # fmt: skip
    score = fp.ExpectedScore(metric.rule, normalized=False)
    raw, calibrated = score(replicate), score(after)
    if raw == calibrated:
        return 0.0 if np.isfinite(raw) else float("nan")
    if not metric.relative:
        return raw - calibrated
    return 100.0 if np.isinf(raw) else 100.0 * (raw - calibrated) / raw


def trainings():
    rng = np.random.default_rng(9)
    return {
        "train on test": fp.TrainOnTest(),
        "given folds": fp.CrossFit(rng.integers(0, 3, N)),
        "dealt folds": fp.CrossFit(3, seed=2),
        "groups": fp.CrossFit(3, groups=rng.integers(0, 12, N)),
        "pairs": fp.CrossFit(5, groups=tuple(rng.integers(0, 25, (2, N)))),
    }


def kinds_and_trainings():
    """All pairs; quick are the trainings with the kinds in turn."""
    kinds = ("posteriors", "log-posteriors", "llrs")
    for place, (name, train) in enumerate(trainings().items()):
        for kind in kinds:
            marks = [] if kind == kinds[place % 3] else pytest.mark.slow
            yield pytest.param(kind, train, id=f"{kind}-{name}", marks=marks)


@pytest.mark.parametrize(("kind", "train"), [*kinds_and_trainings()])
def test_calibrators_are_refitted_to_each_replicate(kind, train):
    """Steps to rounding; affine fits to what the gradient of 1e-9 per sample leaves."""
    calibrators = {fp.PAV(): 1e-11, fp.PAV(0.01): 1e-11, fp.HistogramBinning(4, 0.05): 1e-11,
                   fp.PAV(laplace=True): 1e-11, fp.VennAbers(): 1e-11,
                   fp.DirectionPreserving(): 1e-8, fp.TemperatureScaling(): 1e-8,
                   fp.BetaCalibration(): 1e-8, fp.DirectionPreserving(prior=0.1): 1e-8,
                   fp.BetaCalibration(prior=0.1): 1e-8}  # fmt: skip
    n_by_sums, n_defined = 0, 0
    for scores, weights, priors in (
        ("plain", "none", False),
        ("tied", "none", True),
        ("tied", "integer", False),
        ("plain", "zero on infinite losses", True),
        ("infinite", "integer", False),
    ):
        predictions = predictions_of(kind, 2, scores, weights, priors, seed=1)
        for calibrator, tolerance in calibrators.items():
            if weights != "none" and isinstance(calibrator, fp.VennAbers):
                continue
            for rule, relative in ((LOG, True), (BRIER, False)):
                metric = fp.CalibrationLoss(rule, calibrator, train, relative)
                times = next(draws(predictions))
                value = quietly(refitted, metric, predictions, times)
                found = quietly(weighted, metric, predictions, times)
                assert_alike(found, value, rel=tolerance, abs=tolerance)
                n_defined += not np.isnan(value)
                if quietly(metric.sums, predictions) is None:
                    continue
                found = quietly(by_sums, metric, predictions, times)
                if found is None:
                    continue
                assert_alike(found, value, rel=tolerance, abs=tolerance)
                n_by_sums += 1
    assert n_defined > 25
    assert n_by_sums > 15


def test_rare_draws_of_calibrators():
    """With hardly any of a class left, or none, the paths still agree on what is undefined."""
    for calibrator in (fp.PAV(), fp.PAV(laplace=True), fp.DirectionPreserving()):
        for train in (fp.TrainOnTest(), fp.CrossFit(np.arange(N) % 2)):
            predictions = predictions_of("posteriors", 2, "plain", "none", False)
            metric = fp.CalibrationLoss(BRIER, calibrator, train)
            for times in draws(predictions):
                value = quietly(refitted, metric, predictions, times)
                found = quietly(by_sums, metric, predictions, times)
                if found is None:
                    found = quietly(weighted, metric, predictions, times)
                assert_alike(found, value, rel=1e-8, abs=1e-8)


# Draws


@pytest.mark.parametrize("scores", ["plain", "extreme"])
@pytest.mark.parametrize("weights", ["none", "integer"])
def test_replicates_of_refits_are_those_of_the_samples_drawn(scores, weights):
    """Also where sums cannot serve, and the engine goes back to the samples."""
    predictions = predictions_of("llrs", 2, scores, weights, False)
    metric = fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.CrossFit(2))
    draws = UnitDraws(fp.IID().units(predictions), 5, [])
    if weights == "none":
        table = CountTable((metric.sums(predictions),), ((0,),))
        draws = GroupDraws(table, fp.IID().units(predictions), 5, 1.0)
    times = [draws.of_rows(Part.whole(predictions), replicate) for replicate in range(40)]
    found = quietly(lambda: fp.bootstrap(metric, predictions, seed=5, n_resamples=40).replicates)
    values = [quietly(weighted, metric, predictions, drawn) for drawn in times]
    np.testing.assert_allclose(found, values, rtol=1e-8, atol=1e-8)
    assert np.isfinite(found).sum() > 20
