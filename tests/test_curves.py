"""Curves and steps that figures show, against naive versions and the metrics that they contain."""

import numpy as np
import pytest

import fastpsr as fp
from tests import samples


def detector(kind="plain", n=80, weights=False, priors=None):
    rng, y, s = samples.make_scores(kind, n)
    w = rng.uniform(0.5, 2.0, n) if weights else None
    if priors is not None:
        return fp.Predictions.from_llrs(y, s, prior=priors, sample_weight=w)
    return fp.Predictions.from_llrs(y, s, sample_weight=w)


by_kind = pytest.mark.parametrize(
    ("kind", "weights"),
    [("plain", False), ("tied", True), ("outliers", False), ("outliers", True), ("reversed", True)],
)


@by_kind
def test_bayes_error_is_dcf_at_every_prior(kind, weights):
    data = detector(kind, weights=weights)
    points = np.array([2.03, -7.0, 0.01, 0.52, -0.53, 2.03, 1.17])  # in any order
    curve = fp.bayes_error(data, points)
    priors = 1 / (1 + np.exp(-points))
    actual = [fp.ActDCF(p)(data) for p in priors]
    minimum = [fp.MinDCF(p)(data) for p in priors]
    np.testing.assert_allclose(curve.normalized_actual, actual, rtol=1e-12)
    np.testing.assert_allclose(curve.normalized_minimum, minimum, rtol=1e-12)
    np.testing.assert_allclose(curve.default, np.minimum(priors, 1 - priors), rtol=1e-12)


def test_bayes_error_accepts_at_equality():
    curve = fp.bayes_error(fp.Predictions.from_llrs([0, 1], [0.25, 0.25]), [-0.25])
    assert curve.actual[0] == pytest.approx(1 / (1 + np.exp(-0.25)))  # P_fa 1, P_miss 0


def test_bayes_error_of_raw_scores_and_far_priors():
    data = fp.Predictions.from_raw_scores([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0])
    curve = fp.bayes_error(data, [-600.0, 0.0, 600.0])
    assert np.isnan(curve.actual).all()
    np.testing.assert_allclose(curve.minimum[1], 0.25)
    assert (curve.default > 0).all()
    for wrong in ([601.0], [np.nan], [[1.0]], []):
        with pytest.raises(ValueError, match="prior_log_odds"):
            fp.bayes_error(data, wrong)


@pytest.mark.parametrize(
    ("kind", "weights", "n"),
    [("plain", True, 80), ("tied", False, 80), ("reversed", True, 80), ("tied", True, 30_000)],
)
def test_empirical_cross_entropy_contains_cllr(kind, weights, n):
    data, points = detector(kind, n, weights=weights), [0.0, -2.0, 1.0]
    curve = fp.empirical_cross_entropy(data, points)
    priors = 1 / (1 + np.exp(-np.array(points)))
    entropy = -(priors * np.log2(priors) + (1 - priors) * np.log2(1 - priors))
    np.testing.assert_allclose(curve.null, entropy, rtol=1e-12)
    np.testing.assert_allclose(curve.raw, [fp.Cllr(p)(data) for p in priors] * entropy, rtol=1e-12)
    np.testing.assert_allclose(
        curve.pav, [fp.MinCllr(p)(data) for p in priors] * entropy, rtol=1e-10
    )


@pytest.mark.parametrize("n", [1, 20_000])
def test_empirical_cross_entropy_is_infinite_where_an_infinite_llr_is_wrong(n):
    data = fp.Predictions.from_llrs([0, 1, 1] * n, [-1.0, -np.inf, 2.0] * n)
    curve = fp.empirical_cross_entropy(data, [-600.0, 0.0, 600.0])
    assert np.isposinf(curve.raw).all()
    assert np.isfinite(curve.pav).all()
    right = fp.Predictions.from_llrs([0, 1], [-np.inf, np.inf])
    assert fp.empirical_cross_entropy(right, [0.0]).raw.tolist() == [0.0]
    with pytest.raises(ValueError, match="raw scores"):
        fp.empirical_cross_entropy(fp.Predictions.from_raw_scores([0, 1], [0.0, 1.0]))


@by_kind
def test_tippett_counts_what_lies_at_or_above(kind, weights):
    data = detector(kind, weights=weights)
    curves = fp.tippett(data)
    w = data.weights if weights else np.ones(len(data))
    for k, scores, shares in (
        (0, curves.nontarget_scores, curves.p_nontarget),
        (1, curves.target_scores, curves.p_target),
    ):
        own = data.llrs[data.y_true == k]
        np.testing.assert_array_equal(scores, np.unique(own))
        of_class = w[data.y_true == k]
        naive = [of_class[own >= score].sum() / of_class.sum() for score in scores]
        np.testing.assert_allclose(shares, naive, rtol=1e-12)
    below = (w * (data.y_true == 1) * (data.llrs < 0)).sum() / (w * (data.y_true == 1)).sum()
    above = (w * (data.y_true == 0) * (data.llrs > 0)).sum() / (w * (data.y_true == 0)).sum()
    np.testing.assert_allclose(curves.misleading, (below, above), atol=1e-12)


@pytest.mark.parametrize("priors", [None, 0.1])
@by_kind
def test_pav_steps_are_those_of_the_calibrator(kind, weights, priors):
    data = detector(kind, weights=weights, priors=priors)
    steps = fp.pav_steps(data)
    fitted = fp.PAV().fit(data)
    np.testing.assert_array_equal(steps.lowest, fitted.threshold_)
    calibrated = fitted.transform(data)
    place = np.searchsorted(steps.lowest, data.llrs, side="right") - 1
    np.testing.assert_allclose(steps.llr[place], calibrated.llrs, rtol=1e-12, atol=1e-12)
    naive = [data.llrs[place == b].max() for b in range(steps.lowest.size)]
    np.testing.assert_array_equal(steps.highest, naive)
    w = data.weights if weights else np.ones(len(data))
    hits = [w[(place == b) & (data.y_true == 1)].sum() for b in range(steps.lowest.size)]
    np.testing.assert_allclose(steps.positives, hits, rtol=1e-12)
    with np.errstate(invalid="ignore"):
        for score in (-0.3, 0.0, 0.7, -np.inf, np.inf):
            at = max(int(np.searchsorted(steps.lowest, score, side="right")) - 1, 0)
            assert fp.PavPosterior(score)(data) == pytest.approx(steps.posterior[at], rel=1e-12)


def test_consistency_bands_follow_given_priors():
    rng = np.random.default_rng(6)
    q = rng.uniform(0.05, 0.95, 40_000)
    y = rng.random(q.size) < q
    llr = np.log(q / (1 - q))
    data = fp.Predictions.from_llrs(y, llr, prior=0.1)  # posteriors at odds of 1/9
    band = fp.consistency_band(data, [0.02, 0.1, 0.3], n_resamples=50, seed=0)
    assert (band.low < band.points).all()
    assert (band.points < band.high).all()
    assert (band.high - band.low).max() < 0.1


def test_consistency_bands_are_quantiles_of_isotonic_fits_to_calibrated_labels():
    """Of a naive loop, and of so many posteriors that they are grouped."""
    rng = np.random.default_rng(7)
    for n in (300, 12_000):
        q = rng.uniform(0.1, 0.9, n)
        data = fp.Predictions.from_posteriors(rng.random(n) < q, q)
        points = [0.25, 0.5, 0.75]
        band = fp.consistency_band(data, points, n_resamples=200, confidence_level=0.8, seed=0)
        fits = []
        for _ in range(60):
            drawn = fp.Predictions.from_posteriors(rng.random(n) < q, q)
            steps = fp.pav_steps(drawn)
            lowest = 1.0 / (1.0 + np.exp(-steps.lowest))
            fits.append(steps.posterior[np.searchsorted(lowest, points, side="right") - 1])
        spread = np.std(fits, axis=0)
        # a quantile's standard error is about 1.4 standard deviations over the root of the number
        error = 5.0 * 1.4 * spread * np.sqrt(1 / 60 + 1 / 200)
        low, high = np.quantile(fits, [0.1, 0.9], axis=0)
        assert (np.abs(band.low - low) < error).all()
        assert (np.abs(band.high - high) < error).all()


@pytest.mark.parametrize(
    ("rule", "priors"),
    [(fp.rules.Log(), None), (fp.rules.Brier(), [0.3, 0.7]), (fp.rules.Beta(2, 1), [0.3, 0.7])],
)
def test_divergence_curves_have_their_minimum_at_the_mean(rule, priors):
    sample = samples.make(2, 60, weights="integer")
    data = fp.Predictions.from_log_posteriors(
        sample.y, sample.log_q, sample_weight=sample.weights, priors=priors
    )
    mean = fp.divergence_curve(data, rule).mean_posterior
    around = fp.divergence_curve(data, rule, [mean - 0.01, mean, mean + 0.01]).divergence
    assert around[1] < around[0]
    assert around[1] < around[2]
    mass = sample.weights.astype(float)
    if priors is not None:
        totals = np.bincount(sample.y, mass)
        mass *= (np.array(priors) / totals)[sample.y]
    q = np.exp(sample.log_q)
    naive = mass @ rule.divergence(q, [[0.3, 0.7]]) / mass.sum()
    np.testing.assert_allclose(fp.divergence_curve(data, rule, [0.3]).divergence, naive, rtol=1e-9)
    np.testing.assert_allclose(mean, mass @ q[:, 0] / mass.sum())


@pytest.mark.parametrize("weights", [False, True])
def test_score_histograms_lose_nothing(weights):
    data = detector("outliers", weights=weights)
    counts = fp.score_histogram(data, np.linspace(-1e301, 1e301, 11))
    total = counts.negatives.sum() + counts.positives.sum() + counts.infinite.sum()
    np.testing.assert_allclose(total, data.weights.sum() if weights else len(data))
    np.testing.assert_allclose(counts.totals, data.class_weights)
    plain = fp.score_histogram(detector(), 20)
    width = np.diff(plain.edges)
    assert [round(float((d * width).sum()), 12) for d in plain.densities] == [1.0, 1.0]


def test_score_histograms_of_equal_scores_and_wrong_bins():
    counts = fp.score_histogram(fp.Predictions.from_llrs([0, 1], [3.0, 3.0]), 10)
    assert counts.edges[0] < 3.0 < counts.edges[-1]
    infinite = fp.score_histogram(fp.Predictions.from_llrs([0, 1], [-np.inf, np.inf]))
    assert infinite.infinite.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    for bins in (0, 2.5, [1.0], [1.0, 1.0], [0.0, np.inf]):
        with pytest.raises(ValueError, match="bins"):
            fp.score_histogram(detector(), bins)
    with pytest.raises(ValueError, match="edges"):
        fp.score_histogram(fp.Predictions.from_llrs([0, 1], [-1e308, 1e308]))
