"""Whether two results are the same: values and refusals, to a tolerance or bit by bit."""

import warnings
from dataclasses import fields, is_dataclass

import numpy as np

import fastpsr as fp

ROUNDING = 1e-12
OPTIMUM = 1e-9  # of the objective, and of parameters of the log rule
SEARCHED = 1e-6  # of parameters that a search under another rule returns


def outcome(function, *arguments, **options):
    """Return what a call returns, or the ValueError that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **options)
        except ValueError as error:
            return error


def require_same(actual, expected, tolerance, place=""):
    """Compare refusals by their argument, and numbers in all that results hold."""
    if isinstance(expected, ValueError) or isinstance(actual, ValueError):
        assert type(actual) is type(expected), f"{place}: {actual!r}, not {expected!r}"
        arguments = [getattr(error, "argument", "") for error in (actual, expected)]
        assert arguments[0] == arguments[1], f"{place}: {actual!r}, not {expected!r}"
    elif isinstance(expected, fp.Predictions):
        assert actual.kind == expected.kind, place
        np.testing.assert_array_equal(actual.y_true, expected.y_true)
        _require_same_numbers(actual.scores, expected.scores, tolerance, place)
    elif is_dataclass(expected) and not isinstance(expected, type):
        for field in fields(expected):
            values = (getattr(result, field.name, None) for result in (actual, expected))
            require_same(*values, tolerance, f"{place}.{field.name}")
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), place
        for i, values in enumerate(zip(actual, expected, strict=True)):
            require_same(*values, tolerance, f"{place}[{i}]")
    elif isinstance(expected, dict):
        assert [*actual] == [*expected], place
        for name in expected:
            require_same(actual[name], expected[name], tolerance, f"{place} {name}")
    elif isinstance(expected, (str, Warning)) or expected is None:
        assert str(actual) == str(expected), place
    else:
        _require_same_numbers(actual, expected, tolerance, place)


def _require_same_numbers(actual, expected, tolerance, place):
    if tolerance == 0.0:
        np.testing.assert_array_equal(actual, expected, err_msg=place)
    else:
        np.testing.assert_allclose(actual, expected, tolerance, tolerance, err_msg=place)
