"""Hands dealt to folds, and counts of pairs."""

import itertools
from collections import Counter

import numpy as np
import pytest

from fastpsr import kernels
from tests import reference_bootstrap as reference


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [6, 500, 9001])
def test_hands_have_their_sizes(K, n):
    rng = np.random.default_rng(n)
    y = (rng.integers(0, K, n)).astype(np.uint8)
    hands = np.array(
        [rng.multinomial(size, np.ones(4) / 4) for size in np.bincount(y, minlength=K)]
    )
    before = hands.copy()
    folds = kernels.deal_hands(y, hands, 7)
    np.testing.assert_array_equal(hands, before)
    for k in range(K):
        np.testing.assert_array_equal(np.bincount(folds[y == k], minlength=4), hands[k])
    np.testing.assert_array_equal(kernels.deal_hands(y, hands, 7), folds)
    assert n == 6 or not np.array_equal(kernels.deal_hands(y, hands, 8), folds)


def test_every_deal_comes_as_often_as_any_other():
    y = np.array([0, 1, 0, 0, 1, 0], np.uint8)
    hands = np.array([[2, 1, 1], [1, 0, 1]])
    of_first = set(itertools.permutations([0, 0, 1, 2]))
    of_second = set(itertools.permutations([0, 2]))
    deals = []
    for seed in range(6_000):
        folds = kernels.deal_hands(y, hands, seed)
        deals.append((tuple(folds[y == 0].tolist()), tuple(folds[y == 1].tolist())))
    chance = 1.0 / len(of_first) / len(of_second)
    expected = dict.fromkeys(itertools.product(of_first, of_second), chance)
    assert len(expected) == 24
    reference.assert_distributed(deals, expected)


def test_pairs_are_counted():
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 9, 700).astype(np.int32), rng.integers(0, 3, 700).astype(np.uint8)
    found = kernels.count_pairs(codes, y, 10, 3)
    counted = Counter(zip(codes.tolist(), y.tolist(), strict=True))
    assert found.tolist() == [[counted[c, k] for k in range(3)] for c in range(10)]


def test_folds_of_pairs():
    rng = np.random.default_rng(2)
    one, other = rng.integers(0, 12, (2, 400)).astype(np.int32)
    folds = np.arange(12) % 4
    pairs, counts = kernels.pair_folds(one, other, folds)
    f, g = np.sort([folds[one], folds[other]], axis=0)
    np.testing.assert_array_equal(pairs, f * 4 + g)
    np.testing.assert_array_equal(counts, np.bincount(pairs, minlength=16))
