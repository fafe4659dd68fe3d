"""Kernels: elementary functions, places among edges, first bad entries, and pooling."""

import contextlib
import gc
import itertools

import numpy as np
import pytest

from fastpsr import kernels
from fastpsr.kernels import elementary
from fastpsr.kernels.compilation import undisturbed
from fastpsr.kernels.compiler import kernel

INF, NAN = np.inf, np.nan
LEAST, LARGEST = 5e-324, np.finfo(float).max
EXTENDED = np.finfo(np.longdouble).nmant > 52

# Elementary functions: as compiled into the loops that use them


@kernel
def _log1p(values, out):
    for i in range(values.size):
        out[i] = elementary.log1p_of_unit(values[i])


def log1p_of_unit(values):
    out = np.empty_like(values)
    _log1p(values, out)
    return out


@kernel
def _log1p_whole(values, out):
    for i in range(values.size):
        out[i] = elementary.log1p_of_nonnegative(values[i])


def log1p_of_nonnegative(values):
    out = np.empty_like(values)
    _log1p_whole(values, out)
    return out


@kernel
def _exp_whole(values, out):
    for i in range(values.size):
        out[i] = elementary.exp_of_nonpositive(values[i])


def exp_of_nonpositive(values):
    out = np.empty_like(values)
    _exp_whole(values, out)
    return out


def log_of_nonnegative(values):
    """log(x / 1): the kernel subtracts log(1), which is 0."""
    return kernels.log_space.log_odds_from_posteriors(
        np.column_stack([np.ones_like(values), values])
    )


def spread_out(low, high, n):
    """Numbers of every magnitude from 10^low to 10^high."""
    with np.errstate(under="ignore"):
        return 10.0 ** np.random.default_rng(n).uniform(low, high, n)


ULPS = np.arange(1, 40) * LEAST
TINY = np.array([LEAST, 2 * LEAST, 1e-320, 2.2250738585072009e-308, 2.2250738585072014e-308])
ENDS = np.array([745.13321910194122, 745.13, 744.44007192138126, 744.0, 709.78, 708.4, 708.3])
UNIT = np.concatenate(
    [[0.0, 1.0, np.sqrt(2) - 1, np.nextafter(1, 0), 0.41421356237309515], ULPS, TINY,
     spread_out(-324, 0, 2000), np.linspace(0, 1, 2001)]
)  # fmt: skip
NEGATIVE = -np.concatenate(
    [[0.0], UNIT, ENDS, np.linspace(0, 746, 3001), np.arange(1, 1075) * np.log(2)]
)
BOTH = np.concatenate([NEGATIVE, -NEGATIVE, spread_out(-320, 308, 2000), [1e308]])
POSITIVE = np.concatenate(
    [UNIT, spread_out(-324, 308, 4000), [LARGEST], 1 + spread_out(-16, 0, 999),
     2.0 ** np.arange(-1074, 1024)]
)  # fmt: skip
POSITIVE = POSITIVE[POSITIVE > 0]
ELEMENTARY = {
    "exp": (exp_of_nonpositive, NEGATIVE),
    "log": (log_of_nonnegative, POSITIVE),
    "log1p": (log1p_of_unit, UNIT),
    "log1p of any": (log1p_of_nonnegative, np.concatenate([[0.0], POSITIVE])),
    "softplus": (kernels.log_space.softplus, BOTH),
    "sigmoid": (kernels.log_space.sigmoid, BOTH),
}
SPECIAL = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (-INF, 0.0), (-1e308, 0.0), (-746.0, 0.0), (NAN, NAN)],
    "log": [(0.0, -INF), (-0.0, -INF), (INF, INF), (1.0, 0.0), (NAN, NAN)],
    "log1p": [(0.0, 0.0), (NAN, NAN)],
    "log1p of any": [(0.0, 0.0), (INF, INF), (NAN, NAN)],
    "softplus": [(-INF, 0.0), (-1e308, 0.0), (1e308, 1e308), (INF, INF), (NAN, NAN)],
    "sigmoid": [(-INF, 0.0), (-1e308, 0.0), (0.0, 0.5), (1e308, 1.0), (INF, 1.0), (NAN, NAN)],
}


def in_extended_precision(name, x):
    x = x.astype(np.longdouble)
    with np.errstate(under="ignore", over="ignore"):
        return {
            "exp": np.exp,
            "log": np.log,
            "log1p": np.log1p,
            "log1p of any": np.log1p,
            "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
            "sigmoid": lambda x: np.where(x < 0, np.exp(-np.abs(x)), 1) / (1 + np.exp(-np.abs(x))),
        }[name](x)


@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions_are_right_to_2_ulp(name):
    function, x = ELEMENTARY[name]
    expected = in_extended_precision(name, x)
    with np.errstate(under="ignore"):
        ulp = np.spacing(np.abs(expected.astype(float)))
    error = np.abs(function(x).astype(np.longdouble) - expected) / ulp
    worst = int(error.argmax())
    assert error[worst] <= (2.0 if EXTENDED else 2.5), x[worst]


@pytest.mark.parametrize("name", SPECIAL)
def test_elementary_functions_at_their_ends(name):
    for (value, expected), length in itertools.product(SPECIAL[name], (1, 9)):  # a vector's rest
        np.testing.assert_array_equal(
            ELEMENTARY[name][0](np.full(length, value)), np.full(length, expected)
        )


# Places among edges

RNG = np.random.default_rng(5)
EDGES = {
    "none": [],
    "one": [0.5],
    "plain": np.sort(RNG.normal(size=50)),
    "many": np.sort(RNG.normal(size=5_000)),
    "two far out": [-1e300, *np.linspace(0, 1, 30), 1e300],
    "infinite": [-INF, -1.0, 0.0, 2.0, INF],
    "subnormal gaps": np.arange(-20, 20) * LEAST,
    "neighbors": 1.0 + np.arange(40) * np.finfo(float).eps,
    "widest range": np.linspace(-1, 1, 31) * LARGEST,
    "every magnitude": [*-np.logspace(300, -300, 301), *np.logspace(-300, 300, 301)],
    "crowded": np.sort(np.append(RNG.normal(size=200) * 1e-9, [-1.0, 1.0])),
}
EDGES = {name: np.unique(np.asarray(edges, float)) for name, edges in EDGES.items()}


def hostile_values(edges, n=9_000):
    """Values on, next to and between edges, far away, and one value again and again."""
    with np.errstate(all="ignore"):
        near = [edges, np.nextafter(edges, INF), np.nextafter(edges, -INF)]
        between = edges[:-1] / 2 + edges[1:] / 2
    far = [INF, -INF, 0.0, -0.0, LEAST, -LEAST, 1e300, -1e300, LARGEST, -LARGEST, 0.5]
    pool = np.concatenate([*near, between, far])
    pool = pool[~np.isnan(pool)]
    rng = np.random.default_rng(edges.size)
    values = np.concatenate([pool, rng.normal(size=n // 3), np.full(n // 3, pool[0])])
    return rng.permutation(np.append(values, rng.choice(pool, n // 3)))


by_edges = pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES)


def cells_of(values, edges):
    return np.searchsorted(edges, values, "left") + np.searchsorted(edges, values, "right")


@by_edges
def test_steps_at_or_below_a_value(edges):
    values = hostile_values(edges)
    steps = kernels.cells.step_function(values, edges, np.arange(edges.size + 1.0))
    np.testing.assert_array_equal(steps, np.searchsorted(edges, values, "right"))


@by_edges
def test_bin_numbers(edges):
    inner = np.sort(np.concatenate([edges, edges[::3], edges[::3]]))  # quantile edges may tie
    values = hostile_values(edges)
    bins = kernels.cells.bin_numbers(values, np.concatenate([[-INF], inner, [INF]]))
    np.testing.assert_array_equal(bins, np.searchsorted(inner, values, "left"))


def count_cells(scores, weights, edges, take, y):
    """Count twice, so that the second half is added to what is there."""
    cells = np.zeros((2 * edges.size + 2, 2 if weights.size else 1))
    lowest = np.full(2 * edges.size + 2, INF)
    grid = kernels.cells.bucket_grid(edges)
    for rows in (slice(0, 5_000), slice(5_000, None)):
        kernels.cells.count_into_cells(
            scores[rows], weights[rows], grid, take, y[rows], cells, lowest
        )
    return cells[:-1].sum(axis=1), lowest[:-1]


@by_edges
def test_count_into_cells(edges):
    scores = hostile_values(edges, 18_000)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, scores.size).astype(np.uint8)
    for weights in (np.empty(0), rng.integers(0, 9, scores.size) / 8.0):  # sums are exact
        taken = (y == 1) & (weights > 0) if weights.size else y == 1
        cells = cells_of(scores[taken], edges)
        of_taken = weights[taken] if weights.size else None
        expected = np.bincount(cells, of_taken, 2 * edges.size + 1)
        lowest = np.full(expected.size, INF)
        np.minimum.at(lowest, cells, scores[taken])
        totals, counted_lowest = count_cells(scores, weights, edges, 1, y)
        np.testing.assert_array_equal(totals, expected)
        np.testing.assert_array_equal(counted_lowest, lowest)


@by_edges
def test_merging_sorted_scores_counts_them(edges):
    scores = np.sort(hostile_values(edges))
    members = np.sort(np.concatenate([edges, edges[::2]]))
    others, lowest = count_cells(scores, np.empty(0), edges, 0, np.zeros(scores.size, np.uint8))
    of_members = np.zeros(others.size)
    of_members[1::2] = 1.0 + (np.arange(edges.size) % 2 == 0)
    lowest[1::2] = edges
    filled = (of_members > 0.0) | (others > 0.0)
    merged = kernels.cells.merge_by_score(members, scores)
    for values, expected in zip(merged, (lowest, of_members, others), strict=True):
        np.testing.assert_array_equal(values, expected[filled])


@pytest.mark.parametrize(
    ("kind", "n"),
    [("normal", 0), ("normal", 1), ("normal", 70_001), ("rounded", 16_384), ("float32", 5_000),
     ("extreme", 5_000), ("equal", 16_384), ("ascending", 70_001)],
)  # fmt: skip
def test_sort_in_place(kind, n):
    rng = np.random.default_rng(n)
    values = {
        "normal": rng.normal(size=n),
        "rounded": rng.normal(size=n).round(1),
        "float32": rng.normal(size=n).astype(np.float32).astype(np.float64),
        "extreme": rng.choice([-INF, INF, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, 1.0], n),
        "equal": np.full(n, -2.5),
        "ascending": np.arange(n) - n / 2.0,
    }[kind]
    ascending, negated = values.copy(), -values
    kernels.sorting.sort_in_place(ascending, negated)
    np.testing.assert_array_equal(ascending, np.sort(values))
    np.testing.assert_array_equal(negated, np.sort(-values))


@by_edges
def test_highest_in_steps(edges):
    values = hostile_values(edges, 18_000)
    grid = kernels.cells.bucket_grid(edges)
    for weights in (np.empty(0), np.random.default_rng(0).integers(0, 2, values.size) * 1.0):
        present = weights > 0 if weights.size else np.full(values.size, True)
        expected = np.full(edges.size + 1, -INF)
        np.maximum.at(expected, np.searchsorted(edges, values[present], "right"), values[present])
        highest = np.full(edges.size + 1, -INF)
        for rows in (slice(0, 3), slice(3, None)):
            kernels.cells.highest_in_steps(values[rows], weights[rows], grid, highest)
        np.testing.assert_array_equal(highest, expected)


# The first entry that breaks a rule

PLACES = [0, 1, 4095, 4096, 8191, 9998, 9999]


@pytest.mark.parametrize("bad", [NAN, INF, -INF, np.nextafter(1, 2), -LEAST])
def test_find_outside(bad):
    for place in PLACES:
        values = np.tile([0.0, 1.0, 0.5, LEAST], 2_500)
        assert kernels.checking.find_outside(values, 0.0, 1.0) == -1
        values[place] = bad
        values[9999:] = bad  # a later one does not matter
        assert kernels.checking.find_outside(values, 0.0, 1.0) == place


def test_find_outside_with_infinite_ends():
    assert kernels.checking.find_outside(np.array([INF, -INF, 0.0]), -INF, INF) == -1
    assert kernels.checking.find_outside(np.array([INF, -INF, 0.0]), -LARGEST, INF) == 1
    assert kernels.checking.find_outside(np.array([0.0, NAN]), -INF, INF) == 1
    assert kernels.checking.find_outside(np.empty(0), 0.0, 1.0) == -1


@pytest.mark.parametrize(
    ("n_classes", "dtype", "bad"),
    [(2, np.uint8, 2), (2, np.uint8, 256), (256, np.uint8, 256), (256, np.uint8, -1),
     (300, np.int32, 300), (300, np.int32, 2**32), (2, np.uint8, -(2**63))],
)  # fmt: skip
def test_compact_labels(n_classes, dtype, bad):
    for place in PLACES:
        labels = np.arange(10_000) % n_classes
        codes = np.full(labels.size, 99, dtype)
        assert kernels.checking.compact_labels(labels, n_classes, codes) == -1
        np.testing.assert_array_equal(codes, labels)
        labels[place] = labels[-1] = bad
        assert kernels.checking.compact_labels(labels, n_classes, codes) == place


# Pooling


POOLED = [  # negatives, positives, starts
    ([0, 0], [0, 0], []),
    ([1], [0], [0]),
    ([3, 1], [6, 2], [0]),
    ([0, 0], [1, 1], [0]),
    ([1, 0, 1], [0, 0, 0], [0]),
    ([3, 0, 1], [1, 0, 1], [0, 2]),
    ([1, 3], [1, 1], [0]),
]


@pytest.mark.parametrize("unit", [1.0, 2.0**-900, 2.0**1000])
def test_pooling_whatever_the_unit_of_weight(unit):
    for negatives, positives, starts in POOLED:
        cells = unit * np.array(negatives, float), unit * np.array(positives, float)
        assert kernels.isotonic.pool_adjacent_violators(*cells).tolist() == starts


def test_pooling_weights_of_unlike_magnitudes():
    tiny = 1e-200
    negatives, positives = [tiny, 0, tiny, 0, 0], [0, tiny, 0, tiny, 1.0]
    starts = kernels.isotonic.pool_adjacent_violators(np.array(negatives), np.array(positives))
    assert starts.tolist() == [0, 1, 3]


@pytest.mark.parametrize("threshold", [0, 700, 10**6])
def test_a_compilation_leaves_the_search_for_garbage_as_it_was(threshold):
    before = gc.get_threshold()
    gc.set_threshold(threshold)
    try:
        with contextlib.suppress(KeyError), undisturbed():
            assert (gc.get_threshold()[0] == 0) == (threshold == 0)
            raise KeyError
        assert gc.get_threshold()[0] == threshold
    finally:
        gc.set_threshold(*before)
