"""PAV and histogram binning against slow versions."""

import numpy as np
import pytest

import fastpsr as fp
from tests import reference, samples
from tests.refusal import refuses


def assert_close(value, expected, rtol=1e-12, atol=1e-14):
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)


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


def test_bins_are_a_whole_number():
    data = samples.make(2).predictions
    for bins in (0, 2.5, -1):
        with refuses("bins"):
            fp.HistogramBinning(bins=bins).fit(data)
