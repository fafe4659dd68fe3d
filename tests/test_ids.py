"""Ids of samples as numbers from 0."""

import numpy as np
import pytest

from fastpsr.ids import as_ids, coded


def check_codes(*sides):
    n, found = coded(*sides)
    values = sorted({v for side in sides for v in side.tolist()})
    number = {value: code for code, value in enumerate(values)}
    assert n == len(values)
    assert len(found) == len(sides)
    for side, codes in zip(sides, found, strict=True):
        assert codes.dtype == np.int32
        assert codes.tolist() == [number[v] for v in side.tolist()]


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("n", [1, 40, 70_000])
def test_integers_over_their_whole_range(dtype, n):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    for low, high in (
        (info.min, info.max),
        (info.min // 2, info.max // 2 + 1),
        (info.max - 99, info.max),
        (info.min, info.min + 99),
        (3, 50),
        (0, 50),
    ):
        check_codes(rng.integers(low, high, n, dtype=dtype, endpoint=True))


def test_sides_may_be_empty_or_differ_in_length():
    check_codes(np.arange(3), np.empty(0, np.int64))
    check_codes(np.empty(0, np.int64))
    check_codes(np.array(["b", "a", "b"]), np.array(["c"]), np.empty(0, "U1"))


def test_two_sides():
    rng = np.random.default_rng(1)
    check_codes(rng.integers(0, 9, 50), rng.integers(5, 20, 50))
    check_codes(rng.integers(-9, 9, 50), rng.integers(5, 20, 50))
    check_codes(rng.integers(-(2**62), 2**62, 50), rng.integers(5, 20, 50))
    check_codes(np.array(["b", "a"]), np.array(["c", "aaaa"]))
    check_codes(rng.integers(-9, 9, 50).astype(np.int8), rng.integers(200, 256, 50))


def test_signed_and_unsigned_sides():
    check_codes(np.array([1, 2, 3], np.uint8), np.array([-1, 2, 3]))
    check_codes(np.array([2**64 - 1, 5], np.uint64), np.array([-1, 5]))
    check_codes(np.array([2**63, 2**63 + 1], np.uint64), np.array([-1, 5]))  # alike as floats


def test_read_only_ids():
    ids = np.arange(10) % 3
    ids.flags.writeable = False
    check_codes(ids)


@pytest.mark.parametrize(
    "ids",
    [["b", "a", "b"], ["", " ", "  "], ["a", "A", "aa"], ["é", "e", "ß"], [1.5, -2.0, 1.5],
     [True, False, True], [-5, 10**18, 3], ["1", "10", "9"]],
)  # fmt: skip
def test_other_ids(ids):
    array = as_ids("ids", ids, len(ids))
    check_codes(array)
    assert array.tolist() == ids


def test_strings_of_many_lengths_do_not_share_a_code():
    check_codes(np.array(["a" * k for k in range(1, 50)]))


def test_objects():
    strings = as_ids("ids", np.array(["b", "a"], object), 2)
    assert strings.tolist() == ["b", "a"]
    integers = as_ids("ids", np.array([3, np.int8(-1)], object), 2)
    assert integers.dtype.kind == "i"
    assert integers.tolist() == [3, -1]
    huge = as_ids("ids", [10**30, 5], 2)
    assert coded(huge)[0] == 2


def test_unsigned_ids_are_of_one_type_with_signed_ones():
    for dtype in INTEGERS:
        assert as_ids("ids", np.array([1, 2], dtype), 2).dtype.kind == "i"


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a"], "ids must have one entry per sample: 2, not 1"),
        ([], "ids must have one entry per sample: 2, not 0"),
        (3, "ids must be 1-dimensional, not of shape ()"),
        ([[1, 2]], "ids must be 1-dimensional, not of shape (1, 2)"),
        ([1, [2]], "ids must be 1-dimensional: "),
        ([1.0, np.nan], "ids must have an id for each sample, but ids[1] is nan"),
        (["a", np.nan], "ids must have an id for each sample, but ids[1] is nan"),
        (["a", None], "ids must have an id for each sample, but ids[1] is None"),
        ([None, "a"], "ids must have an id for each sample, but ids[0] is None"),
        ([1, "1"], "ids must be ids that are all integers or all strings, but ids[1] is '1'"),
        (("1", 1), "ids must be ids that are all integers or all strings, but ids[1] is 1"),
        ([b"a", "a"], "ids must be ids that are all integers or all strings, but ids[0] is b'a'"),
        (np.array(["a", 2.5], object), "but ids[1] is 2.5"),
        (np.array(["NaT", "2020-01-01"], "datetime64[D]"), "for each sample, but ids[0] is NaT"),
        (np.ma.array([1, 2], mask=[False, True]), "ids must not have masked entries"),
    ],
)  # fmt: skip
def test_bad_ids(ids, message):
    with pytest.raises(ValueError) as caught:
        as_ids("ids", ids, 2)
    assert message in str(caught.value)
