"""Rows sorted by group, and their blocks."""

import numpy as np
import pytest

from fastpsr import kernels

BLOCK, SMALL = 4096, 64


def cut(sizes, strata):
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    start, group, stratum = kernels.resampling.cut_into_blocks(bounds, np.asarray(strata, np.int64))
    return bounds, start, group, stratum


def check_blocks(sizes, strata):
    bounds, start, group, stratum = cut(sizes, strata)
    n_blocks = group.size
    assert start.size == n_blocks + 1
    assert stratum.size == n_blocks
    # a partition of the rows into blocks that are not empty, nor too large
    assert start[0] == 0
    assert start[-1] == bounds[-1]
    assert (np.diff(start) > 0).all()
    assert (np.diff(start) <= BLOCK).all()
    group_of_row = np.repeat(np.arange(len(sizes)), sizes)
    for b in range(n_blocks):
        inside = set(group_of_row[start[b] : start[b + 1]])
        assert {strata[g] for g in inside} == {stratum[b]}
        assert group[b] == min(inside)
        if len(inside) > 1:
            assert all(sizes[g] < SMALL for g in inside)
    for g, size in enumerate(sizes):  # large groups have blocks of their own, as few as will do
        if size >= SMALL:
            assert np.count_nonzero(group == g) == -(-size // BLOCK)
    # few blocks: of neighbors that share blocks, two together would be too large
    for b in range(n_blocks - 1):
        is_small = sizes[group[b]] < SMALL and sizes[group[b + 1]] < SMALL
        if is_small and stratum[b] == stratum[b + 1]:
            assert start[b + 2] - start[b] > BLOCK - SMALL


@pytest.mark.parametrize(
    ("sizes", "strata"),
    [
        ([0], [0]),
        ([0, 0, 0], [0, 0, 1]),
        ([63] * 66, [0] * 66),  # 4,158 rows
        ([0, 5, 0, 0, 5, 0], [0, 0, 0, 1, 1, 1]),
        ([8192, 3, 8193], [0, 0, 0]),
        ([1] * 5000, [0] * 2500 + [1] * 2500),
        ([4095, 1], [0, 0]),
    ],
)
def test_blocks(sizes, strata):
    check_blocks(sizes, strata)


def test_random_blocks():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = rng.integers(1, 100)
        choices = [0, 1, 2, 5, 30, 62, 63, 64, 65, 500, 4095, 4096, 4097, 9000]
        chance = rng.dirichlet(np.full(len(choices), 0.3))
        sizes = rng.choice(choices, n, p=chance)
        strata = np.sort(rng.integers(0, rng.integers(1, 5), n))
        check_blocks(sizes.tolist(), strata.tolist())


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_order_is_that_of_a_stable_sort(dtype):
    rng = np.random.default_rng(0)
    for n, n_groups in ((1, 1), (10, 3), (1000, 7), (9000, 200)):
        groups = rng.integers(0, n_groups, n).astype(dtype)
        bounds = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=n_groups))])
        groups.flags.writeable = False
        order = kernels.sorting.order_by_group(groups, bounds)
        np.testing.assert_array_equal(order, np.argsort(groups, kind="stable"))
