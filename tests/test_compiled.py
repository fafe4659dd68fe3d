"""`fastpsr.compiled`: its functions in compiled code of users, against slow versions."""

import math
import sys

import numba
import numpy as np
import pytest

import fastpsr as fp
from fastpsr import compiled
from fastpsr.kernels.compiler import is_plain
from tests import reference
from tests.reference_bootstrap import assert_uniform
from tests.processes import run

LOG_ODDS = [0.0, 1.5, -1.5, 40.0, -40.0, 800.0, -800.0, math.inf, -math.inf]


def user_code(**options):
    """Loops as users may write them."""

    @numba.njit(**options)
    def losses(log_odds, y):
        out = np.empty((2, log_odds.size))
        for i in range(log_odds.size):
            out[0, i] = compiled.log_loss(log_odds[i], y[i])
            out[1, i] = compiled.brier_loss(log_odds[i], y[i])
        return out

    return losses


# A caller's fastmath must not reach into the functions: that would assume away infinities.
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("options", [{}, {"fastmath": True}, {"error_model": "numpy"}])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
def test_losses(options, dtype):
    log_odds = np.repeat(LOG_ODDS, 2)
    y = np.arange(log_odds.size) % 2
    found = user_code(**options)(log_odds, y.astype(dtype))
    wrong = [reference.log_sigmoid_columns(z)[0, 1 - c] for z, c in zip(log_odds, y, strict=True)]
    right = [reference.log_sigmoid_columns(z)[0, c] for z, c in zip(log_odds, y, strict=True)]
    np.testing.assert_allclose(found[0], -np.array(right), 1e-15)
    np.testing.assert_allclose(found[1], np.exp(wrong) ** 2, 1e-14)
    data = fp.Predictions.from_logits(y, log_odds)
    assert found[0].mean() == fp.CrossEntropy(normalized=False)(data) == math.inf
    finite = np.isfinite(log_odds)
    mean = found[1][finite].mean()
    assert mean == pytest.approx(fp.BrierScore(normalized=False)(data[finite]), rel=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_isotonic_fit(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    negatives, positives = rng.integers(0, 4, (2, n)) * (0.7 if seed % 2 else 1.0)
    found = compiled.isotonic_fit(negatives.astype(float), positives.astype(float))
    scores = np.tile(np.arange(n), 2)
    y = np.repeat([0, 1], n)
    blocks = reference.pool_adjacent_violators(scores, y, np.concatenate([negatives, positives]))
    if not blocks:
        assert np.isnan(found).all()
        return
    expected = [reference.frequency(reference.apply_blocks(blocks, k)) for k in range(n)]
    np.testing.assert_allclose(found, expected, 1e-14)
    assert (np.diff(found) >= 0.0).all()


def test_isotonic_fit_of_nothing():
    assert compiled.isotonic_fit(np.empty(0), np.empty(0)).size == 0
    assert np.isnan(compiled.isotonic_fit(np.zeros(2), np.zeros(2))).all()


EDGES = {
    "none": [],
    "one": [0.25],
    "even": np.linspace(-1.0, 1.0, 11),
    "random": np.sort(np.random.default_rng(0).normal(size=500)),
    "crowded": [-1e300, *np.linspace(0.0, 1e-9, 40), 1e300],
    "infinite": [-math.inf, 0.0, math.inf],
}


@numba.njit
def places(values, prepared):
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        out[i] = compiled.place_among(values[i], prepared)
    return out


@pytest.mark.parametrize("name", EDGES)
def test_places(name):
    edges = np.array(EDGES[name], float)
    beside = [np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)]
    values = np.concatenate([edges, *beside, [0.0, -0.0, -math.inf, math.inf, 1e-320, 3.0]])
    found = places(values, compiled.as_edges(edges))
    below, up_to = (np.searchsorted(edges, values, side) for side in ("left", "right"))
    assert found.tolist() == (below + up_to).tolist()
    assert (found >> 1).tolist() == below.tolist()
    assert ((found + 1) >> 1).tolist() == up_to.tolist()


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0.0, 1.0]], "^edges must have one dimension, not 2"),
        ([0.0, 1.0, 1.0], r"^edges must ascend, .*: 1\.0 in row 2 does not: pass np\.unique"),
        ([0.0, math.nan], "nan in row 1"),
        ([math.nan], "nan in row 0"),
        (["a"], "^edges must be an array of real numbers"),
    ],
)
def test_bad_edges(edges, message):
    with pytest.raises(fp.ArgumentError, match=message):
        compiled.as_edges(edges)


# Random numbers

BITS = (1 << 64) - 1


def mixed(state):
    """SplitMix64 on Python integers."""
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


STEP = 0x9E3779B97F4A7C15


def stream(seed, replicate, block):
    state = mixed((seed + STEP) & BITS)
    state = mixed(((state ^ replicate) + STEP) & BITS)
    return mixed(((state ^ block) + STEP) & BITS)


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


@pytest.mark.parametrize("key", [(0, 0, 0), (7, 1, 0), (7, 0, 1), (2**40, 5, 2**33)])
def test_uniform_numbers_are_those_of_the_counter(key):
    state = stream(*key)
    expected = [(mixed((state + k * STEP) & BITS) >> 11) * 2.0**-53 for k in range(1, 6)]
    assert draws(0, 1, *key, 5).tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 7, 4096, 3_000_000_000, 2**32])
def test_integers_are_those_of_the_counter(n):
    state, expected = stream(3, 1, 0), []
    while len(expected) < 40:
        state = (state + STEP) & BITS
        product = (mixed(state) >> 32) * n
        if product & 0xFFFFFFFF >= (2**32 - n) % n:
            expected.append(product >> 32)
    assert draws(1, n, 3, 1, 0, 40).tolist() == expected


def test_integers_are_uniform():
    assert_uniform(draws(1, 11, 5, 0, 0, 2_000 if is_plain() else 50_000).astype(int), 11)


def test_binomial_counts():
    for n in (3, 100):  # by inversion, and by rejection
        size = 500 if is_plain() else 20_000
        found = draws(2, n, 5, 0, 0, size)
        deviation = abs(found.mean() - 0.3 * n) / math.sqrt(0.21 * n / size)
        assert deviation < 4.0
        assert 0.8 < found.var() / (0.21 * n) < 1.25


def test_functions_can_be_called_in_python():
    state = compiled.random_stream(1, 2, 3)
    assert int(state) == stream(1, 2, 3)
    number, state = compiled.draw_uniform(state)
    assert 0.0 <= number < 1.0
    place, state = compiled.draw_integer(10, state)
    count, _ = compiled.draw_binomial(10, 0.5, state)
    assert 0 <= place < 10
    assert 0 <= count <= 10
    assert compiled.log_loss(0.0, 1) == math.log(2.0)


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
    y = rng.integers(0, 2, 50 if is_plain() else 500)
    log_odds = rng.normal(size=y.size) + y
    n = 40 if is_plain() else 4_000
    found = bootstrapped(log_odds, y, 1, n)
    drawn = [np.array(draws(1, y.size, 1, replicate, 0, y.size), int) for replicate in range(3)]
    losses = (1.0 / (1.0 + np.exp(np.where(y, log_odds, -log_odds)))) ** 2
    np.testing.assert_allclose(found[:3], [losses[i].mean() for i in drawn], 1e-12)
    data = fp.Predictions.from_logits(y, log_odds)
    ours = fp.bootstrap(fp.BrierScore(normalized=False), data, n_resamples=n, seed=2)
    if not is_plain():
        assert found.std() == pytest.approx(ours.standard_error, rel=0.1)
        threads = numba.get_num_threads()
        numba.set_num_threads(1)
        assert bootstrapped(log_odds, y, 1, n).tobytes() == found.tobytes()
        numba.set_num_threads(threads)


def test_numba_is_imported_on_request_only():
    code = "import sys, fastpsr; print('numba' in sys.modules); import fastpsr.compiled"
    assert run(f"{code}; print('numba' in sys.modules)") == ["False", "True"]
    assert "fastpsr.compiled" in sys.modules


@pytest.mark.slow
@pytest.mark.skipif(is_plain(), reason="nothing is compiled")
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
    first, second = run(code, **places), run(code, **places)
    assert (first[1], second[1]) == ("0", "1")
    assert first[0] == second[0]


def test_functions_of_users_need_no_module():
    names = {"numba": numba}  # as of code that a notebook or a tool makes
    exec("@numba.njit\ndef double(x):\n    return 2 * x", names)
    assert names["double"](3) == 6
