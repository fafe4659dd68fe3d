"""Checks of arguments: types of arrays that no other test has."""

import numpy as np

import fastpsr as fp
from tests.refusal import refuses


def test_labels_of_bytes_without_a_type_are_refused():
    with refuses("y_true", index=0):
        fp.Predictions.from_llrs(np.zeros(3, "V4"), [1.0, 2.0, 3.0], classes=[0, 1])
