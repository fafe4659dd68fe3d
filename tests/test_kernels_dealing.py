"""Hands dealt to folds, and counts of pairs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from fastpsr import kernels


def keys_of(seed, n_classes):
    keys = np.random.default_rng(seed).integers(0, 1 << 64, (n_classes, 12), np.uint64)
    keys[:, ::2] |= np.uint64(1)
    return keys


def deal(y, n_folds, seed, weights=None, ranks=None, sizes=None):
    """Deal by keys alone."""
    weights = np.empty(0) if weights is None else weights
    if sizes is None:
        sizes = np.bincount(y, minlength=2).astype(np.int64)
    ranks = np.zeros(sizes.size, np.int64) if ranks is None else ranks
    first = (np.cumsum(sizes) - sizes) % n_folds
    nowhere = np.full(sizes.size, -1, np.int64)
    return kernels.dealing.deal_ranks(
        y.astype(np.uint8), weights, ranks, sizes, first, np.empty(0, np.int64), nowhere,
        keys_of(seed, sizes.size), n_folds,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "n_folds"), [(6, 2), (17, 1000), (4096, 5), (9001, 2), (9001, 1000)])
def test_keys_permute_the_ranks_of_a_class(n, n_folds):
    y = (np.random.default_rng(n).random(n) < 0.3).astype(np.uint8)
    y[:4] = [0, 0, 1, 1]
    folds = deal(y, n_folds, 7)
    sizes = np.bincount(y)
    for k in (0, 1):
        counts = np.bincount(folds[y == k], minlength=n_folds)
        assert counts.max() - counts.min() <= 1
        # classes begin where the one before ended
        turn = (np.arange(n_folds) - (sizes[0] if k else 0)) % n_folds
        np.testing.assert_array_equal(counts, sizes[k] // n_folds + (turn < sizes[k] % n_folds))
    assert np.ptp(np.bincount(folds, minlength=n_folds)) <= 1
    assert n == 6 or not np.array_equal(deal(y, n_folds, 8), folds)


def test_parts_need_no_more_than_ranks():
    rng = np.random.default_rng(3)
    y, weights = rng.integers(0, 3, 20_000), rng.choice([0.0, 1.0, 2.5], 20_000)
    present = weights > 0.0
    sizes = np.bincount(y[present], minlength=3).astype(np.int64)
    whole = deal(y, 5, 1, weights, sizes=sizes)
    assert not whole[~present].any()
    alone = deal(y[present], 5, 1)
    np.testing.assert_array_equal(whole[present], alone)
    cuts = [0, 1, 1, 4096, 9999, 20_000]
    for a, b in itertools.pairwise(cuts):
        ranks = np.bincount(y[:a][present[:a]], minlength=3).astype(np.int64)
        part = deal(y[a:b], 5, 1, weights[a:b], ranks, sizes)
        np.testing.assert_array_equal(part, whole[a:b])


@pytest.mark.parametrize(("n", "n_folds"), [(20_000, 5), (65_536, 8), (30_003, 2)])
def test_folds_of_rows_do_not_tell_of_other_rows(n, n_folds):
    """Folds of rows at any distance are independent, whatever the seed."""
    chances = []
    for seed in range(40):
        folds = deal(np.zeros(n, np.uint8), n_folds, seed, sizes=np.array([n])).astype(np.int64)
        for distance in (1, 2, 8, 255, 256, n // 2):
            table = np.bincount(
                folds[:-distance] * n_folds + folds[distance:], minlength=n_folds**2
            ).reshape(n_folds, n_folds)
            chances.append(stats.chi2_contingency(table, correction=False).pvalue)
    assert stats.kstest(chances, "uniform").pvalue > 1e-4
    assert min(chances) > 1e-7
