"""PAV, plain and with a sample of each class at either infinity, and histogram binning."""

import numpy as np
import pytest

import fastpsr as fp
from tests import reference, samples
from tests.reference import assert_close

# PAV


@pytest.mark.parametrize(
    ("kind", "weights", "priors"),
    [
        ("distinct", "none", False),
        ("distinct", "wild", True),
        ("tied", "integer", True),
        ("tied", "wild", False),
        ("outliers", "none", True),
        ("outliers", "integer", False),
        ("reversed", "wild", False),
    ],
)
def test_pav(kind, weights, priors):
    rng, y, s = samples.make_scores(kind)
    w = samples.make_weights(rng, weights, y, np.zeros((y.size, 2)))
    p = [0.9, 0.1] if priors else None
    train = fp.Predictions.from_logits(y, s, priors=p, sample_weight=w)
    blocks = reference.pool_adjacent_violators(s, y, reference.sample_mass(y, 2, w, p))
    new = np.concatenate([s, np.nextafter(s, -np.inf), rng.normal(size=50), [-np.inf, np.inf]])
    expected = [reference.frequency(reference.apply_blocks(blocks, t)) for t in new]
    fitted = fp.PAV().fit(train)
    calibrated = fitted.transform(fp.Predictions.from_logits(None, new))
    assert_close(calibrated.posteriors[:, 1], expected)
    # Blocks of equal frequency may stay apart, but no block may lack its own step.
    assert {block[0] for block in blocks} <= set(fitted.threshold_.tolist())
    assert (np.diff(fitted.threshold_) > 0).all()
    assert (np.diff(fitted.posterior_) > -1e-15).all()


@pytest.mark.parametrize(("kind", "weights"), [("llrs", "integer"), ("raw scores", "wild")])
def test_pav_of_scores_gives_llrs(kind, weights):
    rng, y, s = samples.make_scores("tied", 61)
    w = samples.make_weights(rng, weights, y, np.zeros((y.size, 2)))
    make = fp.Predictions.from_llrs if kind == "llrs" else fp.Predictions.from_raw_scores
    mass = reference.sample_mass(y, 2, w)
    totals = reference.class_totals(mass, y, 2)
    expected = []
    for t in s:
        _, positive, negative = reference.apply_blocks(
            reference.pool_adjacent_violators(s, y, mass), t
        )
        with np.errstate(divide="ignore"):
            expected.append(np.log(positive / totals[1]) - np.log(negative / totals[0]))
    calibrated = fp.PAV().fit(make(y, s, sample_weight=w)).transform(make(None, s))
    assert calibrated.kind == "likelihoods"
    assert_close(calibrated.llrs, expected)


# Histogram binning


@pytest.mark.parametrize(
    ("bins", "weights", "priors"),
    [(1, "integer", False), (4, "wild", True), (15, "none", False), (15, "integer", True)],
)
def test_histogram_binning(bins, weights, priors):
    sample = samples.make(2, 40, weights=weights, priors=priors)
    q = np.exp(sample.log_q)[:, 1]
    new = np.concatenate([q, np.arange(bins + 1) / bins, np.nextafter(np.arange(bins) / bins, 1)])
    options = {"priors": sample.priors, "sample_weight": sample.weights}
    fitted = fp.HistogramBinning(bins).fit(fp.Predictions.from_posteriors(sample.y, q, **options))
    calibrated = fitted.transform(fp.Predictions.from_posteriors(None, new))
    frequencies = reference.histogram_frequencies(q, sample.y, sample.mass, bins)
    edges = reference.uniform_edges(bins)
    expected = [frequencies[reference.find_bin(value, edges)] for value in new]
    assert_close(calibrated.posteriors[:, 1], expected)


def test_empty_histogram_bins_give_their_center():
    train = fp.Predictions.from_posteriors([0, 1, 1, 0], [0.1, 0.2, 0.9, 0.9])
    new = fp.Predictions.from_posteriors(None, [0.0, 0.3, 0.5, 0.7, 1.0])
    calibrated = fp.HistogramBinning(5).fit(train).transform(new)
    assert_close(calibrated.posteriors[:, 1], [0.5, 0.3, 0.5, 0.7, 0.5])


# PAV with a sample of each class at either infinity, against PAV of data that contain these


def with_four_more(data, priors):
    """The blocks of PAV, at the priors, of posteriors and weights that contain the four."""
    mass = data.weights if data.weights.size else np.ones(len(data))
    means = [mass[(data.y_true == k) & (mass > 0.0)].mean() for k in (0, 1)]
    y = np.concatenate([data.y_true, [0, 1, 0, 1]])
    scores = np.concatenate([data.scores, [-np.inf, -np.inf, np.inf, np.inf]])
    mass = np.concatenate([mass, means, means])
    if priors is not None:
        totals = data.class_weights
        mass = mass * (priors / totals * totals.sum())[y]
    return fp.PAV().fit(fp.Predictions.from_raw_scores(y, scores, sample_weight=mass))


def from_logits_at_priors(y, x, sample_weight):
    return fp.Predictions.from_logits(y, x, priors=[0.3, 0.7], sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("make", "n", "weights", "infinite"),
    [
        (fp.Predictions.from_logits, 40, "thirds", False),
        (from_logits_at_priors, 300, "zeros", False),
        (from_logits_at_priors, 40, "none", True),
        (fp.Predictions.from_llrs, 5_000, "none", False),
        (fp.Predictions.from_llrs, 300, "thirds", True),
        (fp.Predictions.from_raw_scores, 40, "zeros", True),
        (fp.Predictions.from_raw_scores, 5_000, "thirds", False),
    ],
)
def test_the_definition(make, n, weights, infinite):
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=n) + 1.3 * y
    y[:4], x[:4] = [0, 1, 0, 1], [np.inf, -np.inf, -np.inf, np.inf] if infinite else x[:4]
    w = {
        "none": None,
        "thirds": rng.integers(1, 9, n) / 3.0,
        "zeros": rng.integers(0, 3, n) / 7.0,
    }[weights]
    data = make(y, x, sample_weight=w)
    fitted, expected = fp.PAV(laplace=True).fit(data), with_four_more(data, data.given_priors)
    of_scores = [
        pav.log_odds_[np.searchsorted(pav.threshold_, data.scores, "right") - 1]
        for pav in (fitted, expected)
    ]
    np.testing.assert_allclose(*of_scores, rtol=1e-11, atol=1e-12)
    assert fitted.posterior_ == pytest.approx(1 / (1 + np.exp(-fitted.log_odds_)), rel=1e-13)
    assert fitted.prior_log_odds_ == fp.PAV().fit(data).prior_log_odds_
    assert np.isfinite(fitted.transform(data).scores).all()


@pytest.mark.parametrize("n", [4, 50])
def test_separable_data_have_finite_llrs(n):
    y = np.arange(n) % 2
    data = fp.Predictions.from_raw_scores(y, 1.0 * y)
    fitted = fp.PAV(laplace=True).fit(data)
    extreme = np.log((n // 2 + 1) / 1.0)
    llrs = fitted.transform(fp.Predictions.from_raw_scores(None, [-np.inf, 0.0, 1.0, np.inf])).llrs
    np.testing.assert_allclose(llrs, [-extreme, -extreme, extreme, extreme])
