"""Draws with replacement: which replicates come how often, and sums over what was drawn."""

import itertools

import numpy as np
import pytest
from scipy import stats

from fastpsr import kernels
from tests import reference_bootstrap as reference

FEW = 5_000  # sets of 8 replicates of a handful of units


def blocks_of(sizes, strata=None):
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return kernels.cut_into_blocks(bounds, np.asarray(strata or [0] * len(sizes), np.int64))


def draws_of(sizes, strata, n_replicates):
    """(R, S) draws of strata: as many as each has rows."""
    rows = np.bincount(np.asarray(strata or [0] * len(sizes)), sizes).astype(np.int64)
    return np.repeat(rows[None], n_replicates, axis=0)


def drawn_units(sizes, strata=None, *, n_sets=FEW, seed=1, first=0, order=None):
    """(R, U) counts of units that lie in groups of such sizes."""
    n = sum(sizes)
    order = np.arange(n) if order is None else order
    n_draws = draws_of(sizes, strata, 8 * n_sets)
    out = kernels.draw_units(seed, first, n_draws, blocks_of(sizes, strata), order, n)
    assert out.shape == (n_sets, n + 1, 8)
    assert (out[:, n] == 1.0).all()
    return np.moveaxis(out[:, :n], 2, 1).reshape(-1, n).astype(int)


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
    straight, mixed = (drawn_units([5], n_sets=3, order=each) for each in (None, order))
    np.testing.assert_array_equal(mixed[:, order], straight)
    out = kernels.draw_units(0, 0, draws_of([2], None, 32), blocks_of([2]), np.array([1, 3]), 5)
    assert (out[:, [0, 2, 4]] == 0.0).all()
    assert (out[:, [1, 3]].sum(axis=1) == 2.0).all()


@pytest.mark.parametrize(
    "sizes",
    [[4097], [100, 2, 2, 70, 1], [4096, 4096, 30]],
    ids=str,
)
def test_the_shares_of_groups_are_multinomial(sizes):
    """Over blocks and within them: the total of any part of the rows is binomial."""
    n = sum(sizes)
    counts = drawn_units(sizes, n_sets=250, seed=len(sizes))  # 2,000 replicates
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
    together = drawn_units(sizes, strata, n_sets=4)
    for first in range(0, 32, 8):
        alone = drawn_units(sizes, strata, n_sets=1, first=first)
        np.testing.assert_array_equal(alone, together[first : first + 8])
    np.testing.assert_array_equal(drawn_units(sizes, strata, n_sets=1, first=3), together[3:11])
    assert len({tuple(row) for row in together.tolist()}) == 32
    other = drawn_units(sizes, strata, n_sets=4, seed=2)
    assert not any((a == b).all() for a, b in zip(together, other, strict=True))


# Sums


def summed(sizes, strata, weights, columns, degree, n_replicates, seed=5, first=0):
    n = sum(sizes)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = np.asarray(columns, float).reshape(-1, n) if len(columns) else np.empty((0, 0))
    n_sums = columns.shape[0] + (degree - 1 if degree else 0)
    out = np.zeros((n_replicates, len(sizes), 1 + n_sums))
    return kernels.sum_draws(
        seed, first, draws_of(sizes, strata, n_replicates), blocks_of(sizes, strata), bounds,
        weights, columns, degree, out,
    )  # fmt: skip


SIZES = [([5], [0]), ([70, 3, 0, 64, 9], [0, 0, 0, 1, 1]), ([4100, 50, 1], [0, 0, 0]), ([1], [0])]


@pytest.mark.parametrize(
    ("case", "weighted", "n_columns", "degree"),
    [(0, True, 1, 0), (1, False, 0, 0), (1, True, 3, 7), (2, False, 1, 7), (2, True, 3, 0),
     (3, False, 3, 7)],
)  # fmt: skip
def test_sums_are_those_of_the_units_drawn(case, weighted, n_columns, degree):
    sizes, strata = SIZES[case]
    rng = np.random.default_rng(len(sizes))
    n = sum(sizes)
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.empty(0)
    columns = rng.uniform(-1.0, 1.0, (n_columns, n))
    result = summed(sizes, strata, weights, columns, degree, 8)
    counts = drawn_units(sizes, strata, n_sets=1, seed=5)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for replicate in range(8):
        times = counts[replicate] * (weights if weighted else 1.0)
        expected = reference.chebyshev_sums(groups, len(sizes), times, columns, degree)
        np.testing.assert_allclose(result[replicate], expected, rtol=1e-12, atol=1e-11)


def test_sums_do_not_depend_on_what_is_summed_besides():
    sizes, strata = SIZES[1]
    columns = np.random.default_rng(0).integers(-99, 99, (2, sum(sizes))).astype(float)
    sums = summed(sizes, strata, np.empty(0), columns, 0, 16)
    part = summed(sizes, strata, np.empty(0), columns, 0, 5, first=7)
    np.testing.assert_array_equal(part, sums[7:12])
    few = summed(sizes, strata, np.empty(0), columns[:1], 0, 16)  # fewer columns, same draws
    np.testing.assert_array_equal(few, sums[:, :, :2])


@pytest.mark.parametrize(
    ("sizes", "weighted"), [([3], False), ([200], True), ([40, 40], False)], ids=str
)
def test_infinite_sums(sizes, weighted):
    """An infinite row makes a sum infinite where it is drawn, and only there."""
    n = sum(sizes)
    column = np.ones(n)
    column[1] = np.inf
    weights = np.full(n, 2.0) if weighted else np.empty(0)
    result = summed(sizes, None, weights, [column], 0, 16)[:, 0, 1]
    counts = drawn_units(sizes, n_sets=2, seed=5)[:, 1]
    assert 0 < np.count_nonzero(counts) < 16
    np.testing.assert_array_equal(np.isinf(result), counts > 0)
    assert not np.isnan(result).any()


@pytest.mark.parametrize(
    ("n", "weighted", "n_columns", "degree"),
    [(1, False, 2, 7), (700, True, 0, 0), (1500, True, 2, 7), (700, False, 1, 0)],
)
def test_sums_by_units(n, weighted, n_columns, degree):
    rng = np.random.default_rng(n)
    n_units, n_groups = 9, 5
    groups = np.sort(rng.integers(0, n_groups, n))
    present = np.unique(groups)  # a group without rows has no run
    bounds = np.searchsorted(groups, [*present, n_groups])
    first, second = (rng.integers(0, n_units + 1, n).astype(np.int32) for _ in range(2))
    units = rng.integers(0, 4, (2, n_units + 1, 8)).astype(np.float32)
    units[:, n_units] = 1.0
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.empty(0)
    columns = rng.uniform(-1.0, 1.0, (n_columns, n))
    columns[: n_columns - (degree > 0), ::7] = np.inf
    n_sums = 1 + max(n_columns + degree - (degree > 0), 0)
    out = np.zeros((2, n_groups, n_sums, 8))
    for _ in range(2):  # what is there stays: 1 + 1 = 2 times all
        kernels.sum_units(units, first, second, bounds, present, weights, columns, degree, out)
    result = np.moveaxis(out, -1, 1).reshape(16, n_groups, n_sums) / 2.0
    for replicate in range(16):
        drawn = units[replicate // 8, :, replicate % 8].astype(float)
        times = drawn[first] * drawn[second] * (weights if weighted else 1.0)
        expected = reference.chebyshev_sums(groups, n_groups, times, columns, degree)
        np.testing.assert_allclose(result[replicate], expected, rtol=1e-12, atol=1e-11)


# Parts


def test_draws_over_parts_come_as_often_as_they_should():
    """A part of one row each: all the multinomials."""
    n = 4
    counts = kernels.divide_over_parts(n, 0, 40_000, np.ones((n, 1), np.int64))[:, :, 0]
    reference.assert_distributed(list(map(tuple, counts.tolist())), multinomial(n))


def test_draws_in_one_part_of_many():
    """Over all parts, the multinomial; each part is drawn without the others."""
    sizes = np.array([[1, 0, 2], [1, 0, 0], [1, 5, 1]])  # (parts, strata)
    ends = [np.cumsum(column[column > 0]) for column in sizes.T]
    bounds = np.concatenate([[0], np.cumsum([e.size for e in ends])])
    n = 40_000
    result = np.zeros((n, *sizes.shape), np.int64)
    for part, row in enumerate(sizes):
        strata = np.flatnonzero(row)
        places = bounds[strata] + np.count_nonzero(sizes[:part, strata], axis=0)
        of_strata = (strata, bounds, places, np.concatenate(ends))
        result[:, part, strata] = kernels.draws_in_part(5, 0, n, *of_strata)
        some = kernels.draws_in_part(5, 700, 3, *of_strata)
        np.testing.assert_array_equal(some, result[700:703, part, strata])
    np.testing.assert_array_equal(result.sum(axis=1), np.tile(sizes.sum(axis=0), (n, 1)))
    reference.assert_distributed(list(map(tuple, result[:, :, 0].tolist())), multinomial(3))
    assert (result[:, 2, 1] == 5).all()
    share = result[:, 0, 2] / 3.0
    assert abs(share.mean() - 2.0 / 3.0) < 5.0 * np.sqrt(2.0 / 27.0 / n)
    assert abs(np.corrcoef(result[:, 0, 0], result[:, 0, 2])[0, 1]) < 5.0 / np.sqrt(n)


@pytest.mark.parametrize(
    ("weighted", "n_columns", "degree"), [(False, 0, 0), (True, 1, 0), (True, 2, 3)]
)
def test_sums_of_rows_drawn_in_clusters(weighted, n_columns, degree):
    rng = np.random.default_rng(3)
    sizes, n_replicates = [3, 5_000, 1, 40], 11
    n, n_groups = sum(sizes), 5
    groups = rng.integers(0, n_groups, n)
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.empty(0)
    weights[::5] = 0.0  # as of the rows of other groups
    columns = rng.uniform(-1.0, 1.0, (n_columns, n))
    columns[: n_columns - (degree > 0), ::7] = np.inf
    n_draws = np.tile(sizes, (n_replicates, 1))
    n_draws[2, 1] = 0
    times = rng.integers(0, 4, (n_replicates, len(sizes))).astype(np.float32)
    blocks = blocks_of(sizes, list(range(len(sizes))))
    n_sums = 1 + max(n_columns + degree - (degree > 0), 0)
    out = np.zeros((2, n_groups, n_sums, 8))
    for _ in range(2):  # what is there stays: 1 + 1 = 2 times all
        kernels.sum_nested(4, 16, n_draws, times, blocks, groups, weights, columns, degree, out)
    result = np.moveaxis(out, -1, 1).reshape(16, n_groups, n_sums) / 2.0
    assert not result[n_replicates:].any()
    rows = kernels.draw_units(4, 16, n_draws, blocks, np.arange(n), n)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    for replicate in range(n_replicates):
        drawn = rows[replicate // 8, :n, replicate % 8].astype(float) * times[replicate][clusters]
        drawn = drawn * weights if weighted else drawn
        expected = reference.chebyshev_sums(groups, n_groups, drawn, columns, degree)
        np.testing.assert_allclose(result[replicate], expected, rtol=1e-12, atol=1e-11)


def test_pieces_are_drawn_as_in_the_whole():
    sizes, n = [5_000, 1, 9_000, 40], 14_041
    blocks = blocks_of(sizes, [0, 1, 0, 2])
    order = np.random.default_rng(0).permutation(n)
    n_draws = draws_of(sizes, [0, 1, 0, 2], 11)
    whole = kernels.draw_units(3, 5, n_draws, blocks, order, n)
    in_blocks = kernels.divide_over_blocks(3, 5, n_draws, blocks)
    start = blocks[0]
    for low, high in ((0, 1), (1, 3), (3, start.size - 1)):
        begin, end = start[low], start[high]
        piece = kernels.draw_in_blocks(
            3, 5, np.ascontiguousarray(in_blocks[:, low:high]), start[low : high + 1] - begin,
            np.arange(end - begin), end - begin, low,
        )  # fmt: skip
        np.testing.assert_array_equal(piece[:, :-1], whole[:, order[begin:end]])
        assert (piece[:, -1] == 1.0).all()


def test_numbers_of_draws_may_differ_from_those_of_rows():
    """A part takes more or fewer draws than it has rows."""
    n_draws = np.array([[0, 7], [3, 0], [9_000, 2]])
    out = kernels.draw_units(1, 0, n_draws, blocks_of([5_000, 4], [0, 1]), np.arange(5_004), 5_004)
    assert out.shape == (1, 5_005, 8)
    np.testing.assert_array_equal(out[0, :5_000, :3].sum(axis=0), n_draws[:, 0])
    np.testing.assert_array_equal(out[0, 5_000:5_004, :3].sum(axis=0), n_draws[:, 1])
    assert not out[0, :5_004, 3:].any()
