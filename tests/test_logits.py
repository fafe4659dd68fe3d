"""Logits of several classes: kept as given, and read row by row."""

import numpy as np
import pytest
from scipy import special

import fastpsr as fp
from fastpsr import kernels
from tests.refusal import refuses


def hostile(shape, dtype, seed=0):
    """Logits of any size, with ties, minus infinities, and a finite entry in each row."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=shape) * rng.choice([1e-12, 1.0, 40.0, 1e4, 1e30], (shape[0], 1))
    z[::3] = z[::3].round()
    z[rng.random(shape) < 0.2] = -np.inf
    z[np.isneginf(z).all(axis=1), -1] = -3.0
    y = rng.integers(0, shape[1], shape[0])
    return z.astype(dtype), y.astype(np.uint8 if shape[1] <= 256 else np.int32)


CASES = [
    ((0, 3), "float64"), ((1, 2), "float32"), ((1, 5_000), "float64"), ((700, 3), "float64"),
    ((4_100, 10), "float32"), ((300, 257), "float32"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "dtype"), CASES)
def test_losses_and_confidences_are_those_of_the_softmax(shape, dtype):
    z, y = hostile(shape, dtype)
    z.flags.writeable = False
    rows = np.arange(shape[0])
    q = special.softmax(np.float64(z), axis=1)
    places = np.empty_like(y)
    assert kernels.logits.likeliest_of_logits(z, places)
    np.testing.assert_array_equal(places, z.argmax(axis=1))
    top = np.float64(z).max(axis=1, initial=-np.inf)
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(np.float64(z) - top[:, None]).sum(axis=1))
    losses = kernels.logits.values_of_logits("log", z, places, y)
    np.testing.assert_allclose(losses, sums - (z[rows, y] - top), rtol=1e-13, atol=1e-15)
    brier = ((q - np.eye(shape[1])[y]) ** 2).mean(axis=1)
    losses = kernels.logits.values_of_logits("brier", z, places, y)
    np.testing.assert_allclose(losses, brier, rtol=1e-12, atol=1e-16)
    confidences = kernels.logits.values_of_logits("confidence", z, places)
    np.testing.assert_allclose(confidences, q.max(axis=1, initial=0.0), rtol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf, "row"])
@pytest.mark.parametrize(("shape", "dtype"), CASES[2:])
def test_invalid_logits_are_found_anywhere(shape, dtype, bad):
    z, _ = hostile(shape, dtype)
    for row in {0, shape[0] // 2, shape[0] - 1}:
        for column in (0, shape[1] - 1):
            wrong = z.copy()
            wrong[row, slice(None) if bad == "row" else column] = -np.inf if bad == "row" else bad
            with refuses("z", index=row):
                fp.Predictions.from_logits(None, wrong)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_decisions_are_those_of_the_logits_as_given(dtype):
    z, y = hostile((4_100, 10), dtype)
    data = fp.Predictions.from_logits(y, z)
    zero_one = 1.0 - np.eye(10)
    np.testing.assert_array_equal(fp.bayes_decisions(data, zero_one), z.argmax(axis=1))
    costs = np.random.default_rng(1).integers(0, 4, (10, 7)).astype(float)
    risks = np.exp(np.float64(z) - z.max(axis=1, keepdims=True)) @ costs
    decisions = fp.bayes_decisions(data, costs)  # sums may be rounded to other ties
    np.testing.assert_allclose(risks[np.arange(y.size), decisions], risks.min(axis=1), atol=1e-14)
    close = fp.Predictions.from_logits(None, np.array([[0.0, 1e-20, -1.0]], dtype))
    assert fp.bayes_decisions(close, 1.0 - np.eye(3)).tolist() == [1]  # not tied by a logarithm
