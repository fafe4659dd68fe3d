"""Scores as people have them: float32, strided, Fortran order; bit by bit what float64 gives."""

import numpy as np
import pytest

import fastpsr as fp

N = 9_001  # several blocks, the last one short

LAYOUTS = {
    "float32": lambda x: x,
    "strided float32": lambda x: np.repeat(x, 3, axis=0)[::3],
    "reversed float64": lambda x: np.ascontiguousarray(x[::-1].astype(np.float64))[::-1],
    "Fortran order": lambda x: np.asfortranarray(x.astype(np.float64)),
    "Fortran order float32": np.asfortranarray,
    "read-only": lambda x: _read_only(x),
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder()),
}


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def binary():
    rng = np.random.default_rng(1)
    y = (rng.random(N) < 0.3).astype(np.uint8)
    return y, (rng.normal(size=N) + 2.0 * y - 1.0).astype(np.float32)


def several():
    rng = np.random.default_rng(2)
    y = np.arange(N) % 4
    return y, (rng.normal(size=(N, 4)) + 1.5 * np.eye(4)[y]).astype(np.float32)


def rows_of(z):
    q = np.exp(z.astype(np.float64))
    q /= q.sum(axis=1, keepdims=True)
    return np.round(q * 1024) / 1024, q  # the first are exact in float32


def cases():
    y, scores = binary()
    yield "llrs", y, scores
    yield "raw_scores", y, scores
    yield "logits", y, scores
    q = (1.0 / (1.0 + np.exp(-scores.astype(np.float64)))).astype(np.float32)
    yield "posteriors", y, q
    pairs = np.round(np.column_stack([1.0 - q, q]) * 4096) / 4096
    pairs[:, 0] = 1.0 - pairs[:, 1]
    yield "posteriors", y, pairs.astype(np.float32)
    yield "log_likelihoods", y, np.column_stack([-scores, scores])
    y, z = several()
    yield "logits", y, z
    yield "log_likelihoods", y, z
    exact, _ = rows_of(z)
    exact[:, 0] += 1.0 - exact.sum(axis=1)
    keep = (exact >= 0.0).all(axis=1)
    yield "posteriors", y[keep], exact[keep].astype(np.float32)


CASES = {f"{kind} {x.shape[1:]}": (kind, y, x) for kind, y, x in cases()}


def outcome(metric, predictions):
    """The bits of the value, or the message."""
    try:
        return np.float64(metric(predictions)).tobytes()
    except ValueError as error:
        return str(error)


def metrics_of(predictions):
    for metric in fp.metrics.METRICS:
        yield from metric.examples(predictions)


@pytest.mark.in_turn(7)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_layouts_change_no_bit(case, layout):
    kind, y, x = CASES[case]
    make = getattr(fp.Predictions, f"from_{kind}")
    plain = make(y, np.ascontiguousarray(x, dtype=np.float64))
    other = make(y, LAYOUTS[layout](x))
    for metric in metrics_of(plain):
        wanted, found = (outcome(metric, data) for data in (plain, other))
        assert found == wanted, metric.label
    for name in ("scores", "posteriors", "log_posteriors", "log_odds", "llrs"):
        try:
            wanted = getattr(plain, name)
        except ValueError:
            continue
        found = getattr(other, name)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, wanted)


def test_arrays_are_referenced():
    y, scores = binary()
    for x in (scores, scores.astype(np.float64), np.repeat(scores, 2)[::2]):
        made = fp.Predictions.from_llrs(y, x)
        assert np.shares_memory(made._values, x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_wrong_values_are_found_where_they_are(layout):
    y, scores = binary()
    scores[7_123] = np.nan
    with pytest.raises(ValueError, match=r"llr\[7123\] is nan"):
        fp.Predictions.from_llrs(y, LAYOUTS[layout](scores))
    y, z = several()
    z[5_000, 2] = np.inf
    with pytest.raises(ValueError, match=r"z\[5000, 2\] is inf"):
        fp.Predictions.from_logits(y, LAYOUTS[layout](z))
