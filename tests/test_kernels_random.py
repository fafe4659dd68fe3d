"""Streams of random numbers, and binomial counts."""

import numpy as np
import pytest
from scipy import stats

from fastpsr.kernels import random
from tests.reference_bootstrap import assert_distributed, assert_uniform

DRAWS = 20_000


def numbers(state, n):
    """The first n numbers of a stream."""
    steps = np.arange(1, n + 1, dtype=np.uint64) * random.STEP
    return np.array([random.mixed(np.uint64(s)) for s in np.uint64(state) + steps], np.uint64)


def binomials(n, p, draws, seed=0):
    state = np.uint64(random.stream_of(np.uint64(seed), 0, 0))
    out = []
    for _ in range(draws):
        count, state = random.draw_binomial(n, p, state)
        out.append(count)
        state = np.uint64(state)
    return out


def test_splitmix_is_the_published_one():
    """Numbers of a stream from 0: those of the reference implementation of SplitMix64."""
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert numbers(0, 3).tolist() == expected


def test_streams_differ_by_seed_replicate_and_block():
    values = (0, 1, 2, 3, 255, 2**31, 2**40)
    starts = {
        random.stream_of(np.uint64(seed), replicate, block)
        for seed in (*values, 2**63, 2**64 - 1)
        for replicate in values
        for block in (-1, *values)
    }
    assert len(starts) == 9 * 7 * 8  # no two alike, and no order of the three forgotten


@pytest.mark.parametrize("varied", ["seed", "replicate", "block"])
def test_neighboring_streams_are_unrelated(varied):
    """Leading and trailing bits over streams that differ by one are uniform, also in pairs."""
    n = 4096
    place = ["seed", "replicate", "block"].index(varied)
    first = []
    for k in range(n):
        key = [7, 7, 7]
        key[place] = k
        first.append(numbers(random.stream_of(np.uint64(key[0]), key[1], key[2]), 1)[0])
    first = np.array(first, np.uint64)
    for bits in (first >> np.uint64(59), first & np.uint64(31)):
        bits = bits.astype(int)
        assert_uniform(bits, 32)
        assert_uniform((bits[:-1] - bits[1:]) % 32, 32)


@pytest.mark.parametrize(
    ("n", "p"),
    [
        *((1, 0.3), (5, 0.9), (19, 0.5), (20, 0.5), (21, 0.5), (12, 0.83)),
        *((1000, 0.00999), (1000, 0.0101), (1000, 0.9901), (4096, 0.5)),  # both ways
        *((721_788, 4096 / 721_788), (10**9, 1e-8), (5000, 4096 / 5000)),
    ],
)
def test_binomial_counts(n, p):
    counts = binomials(n, p, DRAWS, seed=n)
    low, high = (int(stats.binom.isf(q, n, p)) for q in (1.0 - 1e-10, 1e-10))
    probabilities = {k: float(stats.binom.pmf(k, n, p)) for k in range(low, high + 1)}
    if len(probabilities) > 100:  # bins of some values each, for power
        edges = stats.binom.ppf(np.arange(1, 40) / 40, n, p)
        mass = np.diff(np.concatenate([[0.0], stats.binom.cdf(edges, n, p), [1.0]]))
        assert low <= min(counts) <= max(counts) <= high
        assert_distributed(np.searchsorted(edges, counts).tolist(), dict(enumerate(mass.tolist())))
    else:
        assert_distributed(counts, probabilities)


def test_binomial_counts_that_are_sure():
    for n, p, expected in (
        (0, 0.5, 0), (-1, 0.5, 0), (9, 0.0, 0), (9, -0.1, 0), (9, 1.0, 9), (9, 1.1, 9),
        (9, 1e-300, 0), (10**9, 1e-300, 0), (10**9, 1.0 - 2.0**-53, 10**9),
    ):  # fmt: skip
        assert binomials(n, p, 50) == [expected] * 50, (n, p)
