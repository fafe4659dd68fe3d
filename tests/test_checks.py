"""Checks of arguments: types of arrays that no other test has."""

import numpy as np
import pytest

import fastpsr as fp


def test_labels_of_bytes_without_a_type_are_refused():
    with pytest.raises(fp.ArgumentError) as refusal:
        fp.Predictions.from_llrs(np.zeros(3, "V4"), [1.0, 2.0, 3.0], classes=[0, 1])
    assert (refusal.value.argument, refusal.value.index) == ("y_true", 0)
