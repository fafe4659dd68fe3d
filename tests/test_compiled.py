"""`fastpsr.compiled`: its functions in compiled code of users, against slow versions."""

import math

import numba
import numpy as np
import pytest

import fastpsr as fp
from fastpsr import compiled
from tests import reference
from tests.commands import program
from tests.refusal import refuses
from tests.test_kernels import EDGES, hostile_values

LOG_ODDS = [0.0, 1.5, -1.5, 40.0, -40.0, 800.0, -800.0, math.inf, -math.inf]


# A caller's fastmath must not reach into the functions: that would assume away infinities.
@pytest.mark.parametrize(
    ("options", "dtype"), [({"fastmath": True}, np.bool_), ({"error_model": "numpy"}, np.int64)]
)
def test_losses(options, dtype):
    @numba.njit(**options)
    def losses(log_odds, y):
        out = np.empty((2, log_odds.size))
        for i in range(log_odds.size):
            out[0, i] = compiled.log_loss(log_odds[i], y[i])
            out[1, i] = compiled.brier_loss(log_odds[i], y[i])
        return out

    log_odds = np.repeat(LOG_ODDS, 2)
    y = np.arange(log_odds.size) % 2
    log_loss, brier_loss = losses(log_odds, y.astype(dtype))
    columns = [reference.log_sigmoid_columns(z)[0] for z in log_odds]
    right = [column[c] for column, c in zip(columns, y, strict=True)]
    wrong = [column[1 - c] for column, c in zip(columns, y, strict=True)]
    np.testing.assert_allclose(log_loss, -np.array(right), 1e-15)
    np.testing.assert_allclose(brier_loss, np.exp(wrong) ** 2, 1e-14)


def test_isotonic_fit():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 30))
        negatives, positives = rng.integers(0, 4, (2, n)) * (0.7 if seed % 2 else 1.0)
        posteriors = compiled.isotonic_fit(negatives.astype(float), positives.astype(float))
        scores, y = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
        weights = np.concatenate([negatives, positives])
        blocks = reference.pool_adjacent_violators(scores, y, weights)
        expected = [reference.frequency(reference.apply_blocks(blocks, k)) for k in range(n)]
        np.testing.assert_allclose(posteriors, expected, 1e-14)


def test_isotonic_fit_of_nothing():
    assert compiled.isotonic_fit(np.empty(0), np.empty(0)).size == 0
    assert np.isnan(compiled.isotonic_fit(np.zeros(2), np.zeros(2))).all()


@numba.njit
def places(values, prepared):
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        out[i] = compiled.place_among(values[i], prepared)
    return out


@pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES)
def test_places(edges):
    values = hostile_values(edges, 900)
    below, up_to = (np.searchsorted(edges, values, side) for side in ("left", "right"))
    np.testing.assert_array_equal(places(values, compiled.as_edges(edges)), below + up_to)


@pytest.mark.parametrize(
    ("edges", "index"),
    [([[0.0, 1.0]], None), ([0.0, 1.0, 1.0], 2), ([0.0, math.nan], 1), (["a"], None)],
)
def test_bad_edges(edges, index):
    with refuses("edges", index=index):
        compiled.as_edges(edges)


# Random numbers


@numba.njit
def draws(kind, n, seed, replicate, block, size):
    state = compiled.random_stream(seed, replicate, block)
    out = np.empty(size)
    for k in range(size):
        if kind == 0:
            out[k], state = compiled.draw_uniform(state)
        elif kind == 1:
            out[k], state = compiled.draw_integer(n, state)
        else:
            out[k], state = compiled.draw_binomial(n, 0.3, state)
    return out


def test_draws_have_their_distributions():
    """Their streams are compared with the published ones in test_kernels_random.py."""
    uniform = draws(0, 1, 5, 0, 0, 20_000)
    assert 0.0 <= uniform.min() < 1e-3 < 1.0 - 1e-3 < uniform.max() < 1.0
    integers = draws(1, 7, 5, 1, 0, 20_000).astype(int)
    for counts in (np.bincount((uniform * 7).astype(int)), np.bincount(integers)):
        assert counts.size == 7
        assert np.abs(counts - 20_000 / 7).max() < 5.0 * math.sqrt(20_000 / 7)
    for n in (3, 100):  # by inversion, and by rejection
        counts = draws(2, n, 5, 0, 0, 20_000)
        assert abs(counts.mean() - 0.3 * n) < 4.0 * math.sqrt(0.21 * n / counts.size)
        assert 0.95 < counts.var() / (0.21 * n) < 1.05


# A loop of a user's own


@numba.njit(parallel=True)
def bootstrapped(log_odds, y, seed, n_resamples):
    out = np.empty(n_resamples)
    for replicate in numba.prange(n_resamples):
        state = compiled.random_stream(seed, replicate, 0)
        total = 0.0
        for _ in range(y.size):
            i, state = compiled.draw_integer(y.size, state)
            total += compiled.brier_loss(log_odds[i], y[i])
        out[replicate] = total / y.size
    return out


def test_a_parallel_bootstrap():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    log_odds = rng.normal(size=y.size) + y
    means = bootstrapped(log_odds, y, 1, 4_000)
    drawn = [np.array(draws(1, y.size, 1, replicate, 0, y.size), int) for replicate in range(3)]
    losses = (1.0 / (1.0 + np.exp(np.where(y, log_odds, -log_odds)))) ** 2
    np.testing.assert_allclose(means[:3], [losses[rows].mean() for rows in drawn], 1e-12)
    data = fp.Predictions.from_logits(y, log_odds)
    result = fp.bootstrap(fp.BrierScore(normalized=False), data, n_resamples=4_000, seed=2)
    assert means.std() == pytest.approx(result.standard_error, rel=0.1)


@pytest.mark.slow
def test_a_cached_function_of_a_user(tmp_path):
    """A second process takes it from the cache, with the same bits."""
    (tmp_path / "own.py").write_text(
        "import numba\nfrom fastpsr.compiled import log_loss\n"
        "@numba.njit(cache=True)\ndef own(z):\n    return log_loss(z, 1)\n"
    )
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from own import own
print(own(0.3).hex(), sum(own.stats.cache_hits.values()))
"""
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (program(code=code, **places).stdout.split() for _ in range(2))
    assert (first[1], second[1]) == ("0", "1")
    assert first[0] == second[0]


def test_functions_of_users_need_no_module():
    names = {"numba": numba}  # as of code that a notebook or a tool makes
    exec("@numba.njit\ndef double(x):\n    return 2 * x", names)
    assert names["double"](3) == 6
