"""Orders of scores, inductive fits to samples in one order, and log-posteriors by row."""

import numpy as np
import pytest

from fastpsr import kernels

RNG = np.random.default_rng(0)
SCORES = {
    "one": np.zeros(1),
    "few": np.array([2.0, -1.0, 2.0, 0.0, -0.0]),
    "normal": RNG.normal(size=20_000),
    "rounded": np.round(RNG.normal(size=20_000), 1),
    "constant": np.full(5_000, 3.0),
    "outlier": np.append(RNG.normal(size=5_000), 1e300),
    "infinite": np.concatenate([RNG.normal(size=5_000), np.tile([np.inf, -np.inf], 40)]),
    "all infinite": np.tile([np.inf, -np.inf], 300),
    "long tails": np.exp(20.0 * RNG.normal(size=20_000)),
    "heaps": np.concatenate([1e-9 * RNG.normal(size=300) + k for k in range(400)]),
    "subnormal": 5e-324 * RNG.integers(0, 9, 2_000),
    "widest": np.array([-1.7e308, 1.7e308, 0.0] * 100),
}


@pytest.mark.parametrize("name", SCORES)
def test_order_by_score(name):
    scores = SCORES[name]
    ordered, rows, begins = kernels.order_by_score(scores)
    np.testing.assert_array_equal(ordered, np.sort(scores))
    np.testing.assert_array_equal(scores[rows], ordered)
    np.testing.assert_array_equal(np.sort(rows), np.arange(scores.size))
    distinct, first = np.unique(ordered, return_index=True)
    np.testing.assert_array_equal(ordered[begins[:-1]], distinct)
    np.testing.assert_array_equal(begins, np.append(first, scores.size))


@pytest.mark.parametrize("n_distinct", [3, 12])
def test_inductive_fits(n_distinct):
    """As of the training samples counted in cells."""
    rng = np.random.default_rng(n_distinct)
    scores = rng.integers(0, n_distinct, 60).astype(float)
    codes = rng.integers(0, 6, scores.size).astype(np.uint16)
    ordered, rows, begins = kernels.order_by_score(scores)
    of_ordered = codes[rows]
    fits = kernels.InductiveFits(of_ordered, begins)
    for _ in range(20):
        classes = rng.integers(0, 3, 6).astype(np.uint8)
        classes[:2] = 0, 1
        wanted = rng.random(6) < 0.5
        upper, lower = fits.levels(classes, wanted)
        used = np.logical_or.reduceat(wanted[of_ordered], begins[:-1])
        for which, of in ((upper, 1), (lower, 0)):
            signed = ordered if of else -ordered
            expected = [
                _with_one_more(signed, classes[of_ordered] == of, classes[of_ordered] < 2, at)
                for at in signed[begins[:-1]]
            ]
            np.testing.assert_allclose(which[used], np.array(expected)[used], rtol=1e-13)


def test_shares_are_shares_where_a_sample_more_is_lost_to_rounding():
    rng = np.random.default_rng(0)
    for _ in range(300):
        cells = 10.0 ** rng.uniform(-300, 300, (2, 8)) * (rng.random((2, 8)) < 0.6)
        for share in kernels.isotonic_with_one_more(*cells):
            assert ((share >= 0.0) & (share <= 1.0)).all()


def _with_one_more(scores, hits, trains, at):
    """The isotonic frequency at a score, with a hit added there: max of min of means."""
    scores, hits = np.append(scores[trains], at), np.append(hits[trains], True)
    starts, ends = (np.unique(scores[side]) for side in (scores <= at, scores >= at))
    return max(
        min(hits[(scores >= start) & (scores <= end)].mean() for end in ends) for start in starts
    )


def test_log_sigmoid_rows():
    x = np.concatenate([50.0 * RNG.normal(size=10_000), [np.inf, -np.inf, 0.0, -0.0, 1e308]])
    log_of_1, minus_log_of_0 = kernels.log_sigmoid_rows(x)
    np.testing.assert_array_equal(log_of_1, -kernels.softplus(-x))
    np.testing.assert_array_equal(minus_log_of_0, kernels.softplus(x))
