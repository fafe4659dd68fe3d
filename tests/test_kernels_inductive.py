"""Inductive fits, and log-posteriors by row."""

import numpy as np
import pytest

from fastpsr import kernels
from tests.test_venn_abers import isotonic


def with_one_more(scores, hits, at):
    """The isotonic frequency at a score, with a hit added there."""
    return isotonic(np.append(scores, at), np.append(hits, 1.0), np.ones(hits.size + 1), at)


@pytest.mark.parametrize("n_distinct", [1, 3, 12, 50])
def test_inductive_fits(n_distinct):
    """Also at scores without a training sample."""
    rng = np.random.default_rng(n_distinct)
    distinct = np.arange(float(n_distinct))
    for n in (1, 5, 60):
        scores, hits = rng.integers(0, n_distinct, n), rng.random(n) < rng.random()
        cells = [np.bincount(scores[hits == k], minlength=n_distinct) for k in (False, True)]
        upper, lower = kernels.isotonic.isotonic_with_one_more(*map(np.float64, cells))
        for share, is_hit, sign in ((upper, hits, 1.0), (lower, ~hits, -1.0)):
            expected = [with_one_more(sign * scores, is_hit, sign * at) for at in distinct]
            np.testing.assert_allclose(share, expected, rtol=1e-13)


def test_shares_are_shares_where_a_sample_more_is_lost_to_rounding():
    rng = np.random.default_rng(0)
    for _ in range(300):
        cells = 10.0 ** rng.uniform(-300, 300, (2, 8)) * (rng.random((2, 8)) < 0.6)
        for share in kernels.isotonic.isotonic_with_one_more(*cells):
            assert ((share >= 0.0) & (share <= 1.0)).all()
