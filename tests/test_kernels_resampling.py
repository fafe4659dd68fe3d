"""Draws with replacement: which replicates come how often, and sums over what was drawn."""

import itertools

import numpy as np
import pytest
from scipy import stats

from fastpsr import kernels
from tests import reference_bootstrap as reference

FEW = 40_000  # replicates of a handful of units


def blocks_of(sizes, strata=None):
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return kernels.resampling.cut_into_blocks(
        bounds, np.asarray(strata or [0] * len(sizes), np.int64)
    )


def draws_of(sizes, strata, n_replicates):
    """(R, S) draws of strata: as many as each has rows."""
    rows = np.bincount(np.asarray(strata or [0] * len(sizes)), sizes).astype(np.int64)
    return np.repeat(rows[None], n_replicates, axis=0)


def drawn_units(sizes, strata=None, *, n=FEW, seed=1, first=0, order=None):
    """(R, U) counts of units that lie in groups of such sizes."""
    n_units = sum(sizes)
    order = np.arange(n_units) if order is None else order
    n_draws = draws_of(sizes, strata, n)
    out = kernels.resampling.draw_counts(
        seed, first, n_draws, blocks_of(sizes, strata), order, n_units
    )
    assert out.shape == (n_units + 1, n)
    assert (out[n_units] == 1.0).all()
    return out[:n_units].T.astype(int)


def multinomial(n):
    return {c: reference.multinomial(c) for c in reference.compositions(n, n)}


@pytest.mark.parametrize("n", [1, 3, 5])
def test_every_replicate_of_a_few_units_comes_as_often_as_it_should(n):
    counts = drawn_units([n], seed=n)
    reference.assert_distributed(list(map(tuple, counts.tolist())), multinomial(n))


def test_strata_are_drawn_apart():
    counts = drawn_units([3, 1, 2], [0, 1, 2])
    expected = {
        a + b + c: pa * pb * pc
        for (a, pa), (b, pb), (c, pc) in itertools.product(
            multinomial(3).items(), multinomial(1).items(), multinomial(2).items()
        )
    }
    reference.assert_distributed(list(map(tuple, counts.tolist())), expected)


def test_units_lie_in_the_order_given():
    order = np.array([3, 0, 4, 1, 2])
    straight, mixed = (drawn_units([5], n=24, order=each) for each in (None, order))
    np.testing.assert_array_equal(mixed[:, order], straight)
    out = kernels.resampling.draw_counts(
        0, 0, draws_of([2], None, 32), blocks_of([2]), np.array([1, 3]), 5
    )
    assert (out[[0, 2, 4]] == 0.0).all()
    assert (out[[1, 3]].sum(axis=0) == 2.0).all()


@pytest.mark.parametrize(
    "sizes",
    [[4097], [100, 2, 2, 70, 1], [4096, 4096, 30]],
    ids=str,
)
def test_the_shares_of_groups_are_multinomial(sizes):
    """Over blocks and within them: the total of any part of the rows is binomial."""
    n = sum(sizes)
    counts = drawn_units(sizes, n=2_000, seed=len(sizes))
    assert (counts.sum(axis=1) == n).all()
    edges = np.concatenate([[0], np.cumsum(sizes)])
    parts = [(a, b) for a, b in itertools.pairwise(edges) if b < n]
    parts += [(0, 1), (n - 1, n), (1, n // 2), (n // 3, n - 1), (n - 2, n)]
    for a, b in parts:
        totals = counts[:, a:b].sum(axis=1)
        share = (b - a) / n
        inner = np.unique(stats.binom.ppf(np.arange(1, 20) / 20, n, share))
        mass = np.diff(np.concatenate([[0.0], stats.binom.cdf(inner, n, share), [1.0]]))
        reference.assert_distributed(
            np.searchsorted(inner, totals).tolist(), dict(enumerate(mass.tolist()))
        )
    # totals of neighbors: correlation of a multinomial's cells
    half = n // 2
    one, other = counts[:, : half // 2].sum(axis=1), counts[:, half // 2 : half].sum(axis=1)
    p, q = (half // 2) / n, (half - half // 2) / n
    expected = -np.sqrt(p * q / ((1 - p) * (1 - q)))
    assert abs(np.corrcoef(one, other)[0, 1] - expected) < 5.0 / np.sqrt(len(counts))


def test_replicates_do_not_depend_on_how_they_are_asked_for():
    sizes, strata = [5000, 10, 70, 3], [0, 0, 1, 1]
    together = drawn_units(sizes, strata, n=32)
    for first in range(0, 32, 8):
        alone = drawn_units(sizes, strata, n=8, first=first)
        np.testing.assert_array_equal(alone, together[first : first + 8])
    np.testing.assert_array_equal(drawn_units(sizes, strata, n=8, first=3), together[3:11])
    assert len({tuple(row) for row in together.tolist()}) == 32
    other = drawn_units(sizes, strata, n=32, seed=2)
    assert not any((a == b).all() for a, b in zip(together, other, strict=True))


# Sums


def summed(sizes, strata, columns, degree, n_replicates, seed=5, first=0):
    n = sum(sizes)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = np.asarray(columns, float).reshape(-1, n) if len(columns) else np.empty((0, 0))
    n_sums = columns.shape[0] + (degree - 1 if degree else 0)
    out = np.zeros((n_replicates, len(sizes), 1 + n_sums))
    return kernels.resampling.sum_draws(
        seed, first, draws_of(sizes, strata, n_replicates), blocks_of(sizes, strata), bounds,
        columns, degree, out,
    )  # fmt: skip


SIZES = [([5], [0]), ([70, 3, 0, 64, 9], [0, 0, 0, 1, 1]), ([4100, 50, 1], [0, 0, 0]), ([1], [0])]


@pytest.mark.parametrize(
    ("case", "n_columns", "degree"),
    [(0, 1, 0), (1, 0, 0), (1, 3, 7), (2, 1, 7), (2, 3, 0), (3, 3, 7)],
)
def test_sums_are_those_of_the_units_drawn(case, n_columns, degree):
    sizes, strata = SIZES[case]
    rng = np.random.default_rng(len(sizes))
    n = sum(sizes)
    columns = rng.uniform(-1.0, 1.0, (n_columns, n))
    result = summed(sizes, strata, columns, degree, 8)
    counts = drawn_units(sizes, strata, n=8, seed=5)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for replicate in range(8):
        expected = reference.chebyshev_sums(groups, len(sizes), counts[replicate], columns, degree)
        np.testing.assert_allclose(result[replicate], expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize(
    ("n", "weighted", "n_columns", "degree"),
    [(1, False, 2, 7), (700, True, 0, 0), (1500, True, 2, 7), (700, False, 1, 0)],
)
def test_sums_by_units(n, weighted, n_columns, degree):
    rng = np.random.default_rng(n)
    n_units, n_groups, n_replicates = 9, 5, 16
    groups = rng.integers(0, n_groups, n).astype(np.int32)
    first, second = (rng.integers(0, n_units + 1, n).astype(np.int32) for _ in range(2))
    counts = rng.integers(0, 4, (n_units + 1, n_replicates)).astype(np.float32)
    counts[n_units] = 1.0
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.empty(0)
    columns = rng.uniform(-1.0, 1.0, (n_columns, n))
    columns[: n_columns - (degree > 0), ::7] = np.inf
    out = np.zeros((n_groups, 1 + max(n_columns + degree - (degree > 0), 0), n_replicates))
    rows = (first, second, groups, weights, columns)
    for _ in range(2):  # sums that are there stay: 1 + 1 = 2
        kernels.resampling.sum_counted_rows(counts, rows, degree, out)
    for replicate in range(n_replicates):
        drawn = counts[:, replicate].astype(float)
        times = drawn[first] * drawn[second] * (weights if weighted else 1.0)
        expected = reference.chebyshev_sums(groups, n_groups, times, columns, degree)
        np.testing.assert_allclose(out[:, :, replicate] / 2.0, expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize(
    ("n_columns", "degree", "weighted"),
    [(0, 0, False), (2, 0, True), (2, 3, False), (1, 4, True)],
)
def test_sums_by_share_are_those_of_its_rows(n_columns, degree, weighted):
    rng = np.random.default_rng(n_columns + degree)
    n, n_units, n_groups = 3_700, 90, 6
    groups, units = (rng.integers(0, most, n).astype(np.int32) for most in (n_groups, n_units))
    shares = rng.choice([0, 1, 3], n_units).astype(np.uint16)  # one of them has no rows
    tables = np.array([1, 0, 2, 1])
    weights = rng.random(n) if weighted else np.empty(0)
    columns = rng.uniform(-1, 1, (n_columns, n))
    out = np.zeros((3, 1 + n_columns + (degree - 1 if degree else 0), n_groups))
    kernels.resampling.sum_by_share(shares, tables, (units, groups, weights, columns), degree, out)
    for table in range(3):
        times = (tables[shares[units]] == table) * (weights if weighted else 1.0)
        expected = reference.chebyshev_sums(groups, n_groups, times, columns, degree)
        np.testing.assert_allclose(out[table].T, expected, rtol=1e-12, atol=1e-11)
