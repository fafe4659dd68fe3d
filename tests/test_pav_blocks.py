"""The isotonic fit by buckets against the pooling of all ranks, which test_kernels.py checks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastpsr as fp
from fastpsr import kernels
from fastpsr.counts.ranks import pav_blocks, rank_cells


def assert_same_fit(scores, y):
    scores, y = np.asarray(scores, np.float64), np.asarray(y, np.uint8)
    data = fp.Predictions.from_raw_scores(y, scores)
    found = pav_blocks(data)
    expected = rank_cells(data).blocks
    np.testing.assert_array_equal(found.lowest, expected.lowest)
    np.testing.assert_array_equal(found.negatives, expected.negatives)
    np.testing.assert_array_equal(found.positives, expected.positives)
    return found


def make_scores(kind, n, rng):
    y = (rng.random(n) < rng.choice([0.003, 0.1, 0.5, 0.97])).astype(np.uint8)
    scores = rng.normal(rng.choice([0.0, 0.3, 2.0, 9.0]) * y)
    if kind == "tied":
        scores = scores.round(1)
    elif kind == "far":  # nearly all in one bucket, or the range in none
        scores[rng.integers(n, size=max(1, n // 500))] *= 1e300
    elif kind == "beyond":
        scores = rng.uniform(-1.7, 1.7, n) * 1e308
    elif kind == "subnormal":
        scores *= 1e-310
    elif kind == "infinite":
        scores[rng.random(n) < 0.2] = np.inf
        scores[rng.random(n) < 0.2] = -np.inf
    elif kind == "heavy":
        scores = rng.standard_cauchy(n) + y
    elif kind == "two values":
        scores = np.sign(scores)
    elif kind == "one value":
        scores[:] = 0.0
    elif kind == "falling":
        scores *= -1.0
    elif kind == "zeros":  # -0.0 and 0.0 are ties
        scores = np.where(rng.random(n) < 0.3, rng.choice([-0.0, 0.0], n), scores)
    return scores, y


KINDS = [
    "plain", "tied", "far", "beyond", "subnormal", "infinite", "heavy", "two values", "one value",
    "falling", "zeros",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 50, 1000, 20_000, 100_003])
def test_blocks_are_those_of_all_ranks(kind, n):
    rng = np.random.default_rng(n)
    for _ in range(1 if n > 1000 else 20):
        assert_same_fit(*make_scores(kind, n, rng))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-6, 6), st.booleans()), min_size=1, max_size=60))
def test_blocks_of_few_scores(samples):
    assert_same_fit([score for score, _ in samples], [label for _, label in samples])


def test_most_scores_are_not_sorted():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400_000).astype(np.uint8)
    scores = rng.normal(2.0 * y)
    by_part = kernels.buckets.count_into_buckets(scores, y, -3.0, 1000.0, 8192)
    assert by_part.sum() == y.size
    counts = by_part.sum(axis=0)
    undecided = kernels.buckets.find_undecided(counts)
    assert counts[undecided].sum() < 0.6 * y.size
    negatives, positives = kernels.buckets.pick_from_buckets(
        scores, y, -3.0, 1000.0, by_part, undecided
    )
    bucket = np.clip((scores + 3.0) * 1000.0, 0, 8191).astype(np.int64)
    np.testing.assert_array_equal(np.sort(negatives), np.sort(scores[undecided[bucket] & (y == 0)]))
    np.testing.assert_array_equal(np.sort(positives), np.sort(scores[undecided[bucket] & (y == 1)]))
