"""Values in the places of a grid whose buckets are divided, against a walk in plain Python."""

import struct

import numpy as np
import pytest

from fastpsr import kernels
from fastpsr.kernels import buckets

N_BUCKETS = 16


def key_of(value):
    (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))
    return bits if bits >= 0 else bits ^ (2**63 - 1)


def divided(low, per_unit):
    """Divide some buckets, and some of their parts; return a grid, and the first place added last.

    The last parts are as narrow as a float, so that divided places hold ties, too.
    """
    chosen = np.array([0, 3, 4, 15])
    nodes, node_of_place = [], np.full(N_BUCKETS, -1, np.int32)
    first = [int(key) for key in kernels.buckets.first_keys(chosen, low, per_unit, N_BUCKETS)]
    behind = [int(key) for key in kernels.buckets.first_keys(chosen + 1, low, per_unit, N_BUCKETS)]
    for _ in range(2):
        first_place = node_of_place.size
        ranges = []
        for place, begin, end in zip(chosen, first, behind, strict=True):
            shift = max((end - begin - 1).bit_length() - 5, 0)
            n_parts = ((end - begin - 1) >> shift) + 1
            node_of_place[place] = len(nodes)
            nodes.append((node_of_place.size, begin, shift))
            for part in range(n_parts):
                key = begin + (part << shift)
                ranges.append((node_of_place.size + part, key, min(key + (1 << shift), end)))
            node_of_place = np.append(node_of_place, np.full(n_parts, -1, np.int32))
        chosen, first, behind = zip(*ranges[::7], strict=True)
    return (low, per_unit, N_BUCKETS, node_of_place, np.array(nodes)), first_place


def place_of(value, grid):
    low, per_unit, n_buckets, node_of_place, nodes = grid
    with np.errstate(invalid="ignore"):
        position = (np.float64(value) - low) * per_unit
    place = int(min(max(position, 0.0), n_buckets - 1.0)) if position > 0.0 else 0
    while node_of_place[place] >= 0:
        base, first_key, shift = (int(number) for number in nodes[node_of_place[place]])
        place = base + ((key_of(value) - first_key) >> shift)
    return place


def hostile(n, dtype):
    rng = np.random.default_rng(n)
    values = rng.normal(size=n) * rng.choice([1e-300, 1e-8, 1.0, 3.0, 1e300], n)
    values[rng.random(n) < 0.3] = 0.25  # ties
    values[rng.random(n) < 0.1] = rng.choice([0.0, -0.0, np.inf, -np.inf])
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def assert_same_values(result, expected):
    """Compare values in any order, bit by bit."""
    assert result.dtype == np.float64
    as_bits = (np.sort(values.astype(np.float64).view(np.int64)) for values in (result, expected))
    np.testing.assert_array_equal(*as_bits)


# not Python's floats, in which NumPy would calculate with as few digits as float32 has
GRIDS = {"usual": np.array([-2.0, 4.0]), "all in one bucket": np.zeros(2)}


@pytest.mark.parametrize(
    ("grid", "n", "layout", "threads", "weighted"),
    [
        ("usual", 0, "float64", "1", False),
        ("usual", 1, "float32", "2", True),
        ("usual", 500, "with gaps", "3", False),
        ("usual", 20_000, "read-only", "1", True),
        ("usual", 20_000, "float32", "3", False),
        ("all in one bucket", 500, "float64", "2", True),
        ("all in one bucket", 20_000, "with gaps", "2", False),
    ],
)
def test_places_are_those_of_a_walk(grid, n, layout, threads, weighted, monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", threads)
    monkeypatch.setattr(buckets, "_AT_ONCE", 2 * buckets.BLOCK)  # so that there are several runs
    values = hostile(n, np.float32 if layout == "float32" else np.float64)
    if layout == "with gaps":
        values = np.repeat(values, 2)[::2]
    values.flags.writeable = layout != "read-only"
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n).astype(np.uint8)
    weights = rng.integers(0, 8, n) / 4.0 if weighted else np.empty(0)
    arrays, first_place = divided(*GRIDS[grid])
    n_places = arrays[3].size
    at = np.array([place_of(float(value), arrays) for value in values], np.int64)

    size = n_places - first_place
    held = np.zeros((size, 4))  # rows with gaps, as those that count have
    counts, extremes = held.view(np.int64)[:, :2], held[:, 2:]
    extremes[:] = np.inf, -np.inf
    sums = np.zeros((size if weighted else 0, 2))
    kernels.buckets.count_into_places(
        values, y, weights, arrays, first_place, counts, extremes, sums
    )
    expected = np.zeros((n_places, 2), np.int64)
    np.add.at(expected, (at, y), 1)
    np.testing.assert_array_equal(counts, expected[first_place:])
    lowest, highest = np.full(n_places, np.inf), np.full(n_places, -np.inf)
    np.minimum.at(lowest, at, values)
    np.maximum.at(highest, at, values)
    np.testing.assert_array_equal(extremes[:, 0], lowest[first_place:])
    np.testing.assert_array_equal(extremes[:, 1], highest[first_place:])
    if weighted:  # quarters, whose sums are exact
        np.testing.assert_array_equal(
            sums.sum(axis=1), np.bincount(at, weights, n_places)[first_place:]
        )

    picked = rng.random(n_places) < 0.5
    picked[arrays[3] >= 0] = False
    marks = kernels.buckets.marks_of_places(arrays[3], picked)
    np.testing.assert_array_equal(kernels.buckets.mark_in_places(values, arrays, marks), picked[at])
    for label, result in enumerate(kernels.buckets.pick_from_places(values, y, arrays, marks)):
        assert_same_values(result, values[picked[at] & (y == label)])
