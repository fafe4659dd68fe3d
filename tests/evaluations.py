"""Shared by the tests of evaluations: refused calls, and what rows hold."""

import numpy as np
import pytest

import fastpsr as fp


def refusal(*arguments, **options):
    """The error of `fp.evaluate` with these arguments."""
    with pytest.raises(fp.ArgumentError) as raised:
        fp.evaluate(*arguments, **options)
    return raised.value


def assert_same_rows(rows, expected):
    """The same metrics with the same numbers and notes, whatever the system and the group."""
    assert [row.metric for row in rows] == [row.metric for row in expected]
    for row, wanted in zip(rows, expected, strict=True):
        numbers = [(r.value, r.low, r.high, r.n_undefined, r.note) for r in (row, wanted)]
        np.testing.assert_equal(*numbers)
