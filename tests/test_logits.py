"""Logits of several classes: kept as given, and read row by row."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import special

import fastpsr as fp
from fastpsr import kernels
from fastpsr.kernels.compiler import is_plain

SHAPES = [(0, 3), (1, 2), (1, 5_000), (700, 3), (4_100, 10), (300, 257)]


def hostile(shape, dtype, seed=0):
    """Logits of any size, with ties, minus infinities, and a finite entry in each row."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=shape) * rng.choice([1e-12, 1.0, 40.0, 1e4, 1e30], (shape[0], 1))
    z[::3] = z[::3].round()
    z[rng.random(shape) < 0.2] = -np.inf
    z[np.isneginf(z).all(axis=1), -1] = -3.0
    y = rng.integers(0, shape[1], shape[0])
    return z.astype(dtype), y.astype(np.uint8 if shape[1] <= 256 else np.int32)


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("shape", SHAPES)
def test_losses_and_confidences_are_those_of_the_softmax(shape, dtype):
    z, y = hostile(shape, dtype)
    z.flags.writeable = False
    rows = np.arange(shape[0])
    q = special.softmax(np.float64(z), axis=1)
    places = np.empty_like(y)
    assert kernels.likeliest_of_logits(z, places)
    np.testing.assert_array_equal(places, z.argmax(axis=1))
    top = np.float64(z).max(axis=1, initial=-np.inf)
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(np.float64(z) - top[:, None]).sum(axis=1))
    losses = kernels.log_losses_of_logits(z, places, y)
    np.testing.assert_allclose(losses, sums - (z[rows, y] - top), rtol=1e-13, atol=1e-15)
    brier = ((q - np.eye(shape[1])[y]) ** 2).mean(axis=1)
    losses = kernels.brier_losses_of_logits(z, places, y)
    np.testing.assert_allclose(losses, brier, rtol=1e-12, atol=1e-16)
    confidences = kernels.confidences_of_logits(z, places)
    np.testing.assert_allclose(confidences, q.max(axis=1, initial=0.0), rtol=1e-13)


def test_a_right_class_that_is_certain_costs_nothing():
    z = np.array([[0.0, -800.0, -np.inf], [1e5, 0.0, 0.0]])
    y = places = np.zeros(2, np.uint8)
    assert kernels.log_losses_of_logits(z, places, y).tolist() == [0.0, 0.0]
    assert kernels.brier_losses_of_logits(z, places, y).tolist() == [0.0, 0.0]
    wrong = kernels.log_losses_of_logits(z, places, y + np.uint8(1))
    assert wrong.tolist() == [800.0, 1e5]  # far below the least exponential
    assert kernels.log_losses_of_logits(z, places, y + np.uint8(2))[0] == np.inf


@pytest.mark.parametrize("shape", SHAPES[2:])
@pytest.mark.parametrize("bad", [np.nan, np.inf, "row"])
def test_invalid_logits_are_found_anywhere(shape, bad, dtype):
    z, y = hostile(shape, dtype)
    for row in {0, shape[0] // 2, shape[0] - 1}:
        for column in (0, shape[1] - 1):
            wrong = z.copy()
            wrong[row, slice(None) if bad == "row" else column] = -np.inf if bad == "row" else bad
            assert not kernels.likeliest_of_logits(wrong, np.empty_like(y))
            with pytest.raises(fp.ArgumentError, match="z must") as refused:
                fp.Predictions.from_logits(None, wrong)
            assert refused.value.index == row


@pytest.mark.parametrize("costs", ["zero-one", "others"])
def test_decisions_are_those_of_the_logits_as_given(costs, dtype):
    z, y = hostile((4_100, 10), dtype)
    matrix = 1.0 - np.eye(10)
    if costs == "others":
        matrix = np.random.default_rng(1).integers(0, 4, (10, 7)).astype(float)
    shares = np.exp(np.float64(z) - z.max(axis=1, keepdims=True))
    expected = (shares @ matrix).argmin(axis=1)
    data = fp.Predictions.from_logits(y, z)
    found = fp.bayes_decisions(data, matrix)
    if costs == "zero-one":
        np.testing.assert_array_equal(found, z.argmax(axis=1))
    else:  # sums may be rounded to other ties
        risks = shares @ matrix
        rows = np.arange(y.size)
        np.testing.assert_allclose(risks[rows, found], risks[rows, expected], atol=1e-14)
    close = fp.Predictions.from_logits(None, np.array([[0.0, 1e-20, -1.0]], dtype))
    assert fp.bayes_decisions(close, 1.0 - np.eye(3)).tolist() == [1]  # not tied by a logarithm


def test_the_same_rows_give_the_same_values_whatever_was_done_with_them(dtype):
    z, y = hostile((900, 4), dtype)
    z = z[(z > -np.inf).all(axis=1)]
    y = y[: len(z)]
    data = fp.Predictions.from_logits(y, z)
    expected = data.log_posteriors
    np.testing.assert_allclose(expected, special.log_softmax(np.float64(z), axis=1), atol=1e-12)
    ones = np.ones(len(data))
    fresh = fp.Predictions.from_logits(y, z)
    joined = fp.Predictions.joined([fresh[:70], data[70:]])
    normalized = data[70:].replace_scores("posteriors", expected[70:])
    mixed = fp.Predictions.joined([fresh[:70], normalized])
    same = [pickle.loads(pickle.dumps(data)), fresh.reweighted(ones), joined, mixed, fresh[y >= 0]]
    metrics = [fp.CrossEntropy(), fp.BrierScore(), fp.ECE(on="confidence")]
    for other in same:
        np.testing.assert_array_equal(other.log_posteriors, expected)
        for metric in metrics:
            assert metric(other) == pytest.approx(metric(data), rel=1e-12)
    odd = np.arange(1, len(data), 2)
    np.testing.assert_array_equal(data[odd].log_posteriors, expected[odd])
    np.testing.assert_array_equal(fresh[odd].log_posteriors, expected[odd])
    for metric in metrics:
        assert metric(data[odd]) == metric(fp.Predictions.from_logits(y[odd], z[odd]))


@pytest.mark.skipif(is_plain(), reason="nothing is compiled: slow")
def test_a_call_needs_three_tenths_of_single_precision_logits_at_most():
    rng = np.random.default_rng(0)
    y, z = rng.integers(0, 10, 400_000), rng.random((400_000, 10), dtype=np.float32)
    metrics = [
        fp.CrossEntropy(), fp.BrierScore(), fp.ECE(on="confidence"),
        fp.BayesRisk(fp.CostMatrix.zero_one(10)),
    ]  # fmt: skip
    for metric in metrics:
        metric(fp.Predictions.from_logits(y, z))  # which compiles
        tracemalloc.start()
        metric(fp.Predictions.from_logits(y, z))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 0.31 * z.nbytes, metric
