"""Ids of samples of any type: units are numbered in ascending order, missing ids refused."""

import numpy as np
import pytest

import fastpsr as fp
from tests.refusal import refuses

RNG = np.random.default_rng(0)
N = 400
Y = np.arange(N) % 2
DATA = fp.Predictions.from_logits(Y, RNG.normal(size=N) + Y)
OPTIONS = {"n_resamples": 40, "method": "percentile", "seed": 0, "confidence_level": 0.5}


def replicates(resampling, data=DATA):
    return fp.bootstrap(fp.CrossEntropy(), data, resampling=resampling, **OPTIONS).replicates


def require_numbered(*sides):
    """Require that ids draw what their ranks among all ids of both sides draw."""
    values = sorted({value for side in sides for value in np.asarray(side).tolist()})
    ranks = {value: rank for rank, value in enumerate(values)}
    coded = [np.array([ranks[value] for value in np.asarray(side).tolist()]) for side in sides]
    scheme, data = fp.TwoWay if len(sides) == 2 else fp.Clusters, DATA[: len(sides[0])]
    expected = replicates(scheme(*coded), data)
    np.testing.assert_array_equal(replicates(scheme(*sides), data), expected)


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_over_their_whole_range(dtype):
    info = np.iinfo(dtype)
    for low, high in (
        (info.min, info.max),
        (info.max - 99, info.max),
        (info.min, info.min + 99),
        (3, 50),
        (0, 50),
    ):
        require_numbered(RNG.integers(low, high, N, dtype=dtype, endpoint=True))


def draw(low, high, dtype=np.int64):
    return RNG.integers(low, high, N, dtype=dtype)


@pytest.mark.parametrize(
    ("enroll", "test"),
    [
        (draw(0, 9), draw(5, 20)),
        (draw(-9, 9), draw(5, 20)),
        (draw(-(2**62), 2**62), draw(5, 20)),
        (draw(-9, 9, np.int8), draw(200, 256, np.uint8)),  # signed and unsigned
        (draw(0, 30).astype("U2"), np.char.add("longer", draw(0, 30).astype("U2"))),
    ],
)
def test_both_sides_are_numbered_together(enroll, test):
    require_numbered(enroll, test)


@pytest.mark.parametrize(
    "values",
    [["b", "a", "c"], ["", " ", "  "], ["a", "A", "aa"], ["é", "e", "ß"], [1.5, -2.0, 1.25],
     [True, False, True], [-5, 10**18, 3], ["1", "10", "9"], ["a" * k for k in range(1, 50)],
     [10**30, 10**29, 10**28]],
)  # fmt: skip
def test_other_ids(values):
    ids = [values[k % len(values)] for k in range(N)]
    require_numbered(ids)
    if len({*map(type, ids)} & {str, int}) == 1:
        require_numbered(np.array(ids, object))


@pytest.mark.parametrize(
    ("ids", "index", "value"),
    [
        (["a"], None, ""),
        ([], None, ""),
        (3, None, ""),
        ([[1, 2]], None, ""),
        ([1, [2]], None, ""),
        ([1.0, np.nan], 1, "nan"),
        (["a", np.nan], 1, "nan"),
        (["a", None], 1, "None"),
        ([None, "a"], 0, "None"),
        ([1, "1"], 1, "'1'"),
        (("1", 1), 1, "1"),
        ([b"a", "a"], 0, "b'a'"),
        (np.array(["a", 2.5], object), 1, "2.5"),
        (np.array(["NaT", "2020-01-01"], "datetime64[D]"), 0, "NaT"),
        (np.ma.array([1, 2], mask=[False, True]), None, ""),
    ],
)
def test_invalid_ids(ids, index, value):
    with refuses("ids", index=index, value=value):
        replicates(fp.Clusters(ids), DATA[:2])
