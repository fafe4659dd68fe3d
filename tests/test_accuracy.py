"""Values against exact rational and 50-digit arithmetic, and against long double."""

import numpy as np
import pytest

import fastpsr as fp
from tests import accuracy, ulps

EXTENDED = np.finfo(np.longdouble).nmant > 52
needs_extended = pytest.mark.skipif(not EXTENDED, reason="long double is double here")


def test_small_samples_against_fifty_digits():
    errors = accuracy.compare_with_exact(few=True)
    assert errors.failures() == {}
    compared = {name.split(",")[0] for name in errors.cases}
    random = {"consistency_band"}
    assert {*fp.curves.__all__, *fp.metrics.__all__} & set(fp.__all__) - compared == random


@pytest.mark.slow
@needs_extended
def test_many_samples_against_long_double():
    assert accuracy.compare_with_long_double().failures() == {}


@pytest.mark.slow
@needs_extended
@pytest.mark.parametrize("name", ulps.FUNCTIONS)
def test_elementary_functions_over_their_whole_range(name):
    error, where, _ = ulps.worst(name)
    assert error <= ulps.PROMISED, where
