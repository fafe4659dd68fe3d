"""Quality measures of recordings, joined to both sides of trials."""

import dataclasses

import numpy as np
import pytest

import fastpsr as fp

LINES = ["m1 a 2.5 target", "m1 b -1.0 nontarget", "m2 a 0.5 nontarget", "m2 b 1.5 target"]
SECONDS = {"m1": 30.0, "m2": 8.0, "a": 4.0, "b": 12.0, "unused": 0.0}
ROWS = ["m1,a,1,2.5,30,4", "m1,b,0,-1,30,1e2", "m2,a,0,0.5,8,4", "m2,b,1,1.5,8,x"]


def read(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return fp.trials.read(path)


@pytest.fixture
def trials(tmp_path):
    return read(tmp_path / "scores", LINES)


@pytest.fixture
def with_columns(tmp_path):
    return read(tmp_path / "s.csv", ["enroll,test,label,score,long,short", *ROWS])


def written(tmp_path, text):
    (tmp_path / "seconds").write_text(text)
    return tmp_path / "seconds"


def test_values_by_id(trials, tmp_path):
    text = "".join(f"{id}\t{value}\n" for id, value in SECONDS.items())
    for values in (SECONDS, written(tmp_path, text)):
        quality = trials.quality(values)
        assert isinstance(quality, fp.Quality)
        np.testing.assert_array_equal(quality.enroll, [30.0, 30.0, 8.0, 8.0])
        np.testing.assert_array_equal(quality.test, [4.0, 12.0, 4.0, 12.0])


def test_cap_before_logarithm(trials):
    quality = trials.quality(SECONDS, cap=10.0, log=True)  # 0 is of an id that no trial has
    np.testing.assert_array_equal(quality.enroll, np.log([10.0, 10.0, 8.0, 8.0]))
    np.testing.assert_array_equal(quality.test, np.log([4.0, 10.0, 4.0, 10.0]))


def test_columns(with_columns):
    some = with_columns.select(slice(0, 3))
    quality = some.quality(("long", "short"), cap=20.0, log=True)
    np.testing.assert_array_equal(quality.enroll, np.log([20.0, 20.0, 8.0]))
    np.testing.assert_array_equal(quality.test, np.log([4.0, 20.0, 4.0]))


@pytest.mark.parametrize(
    ("change", "options", "argument", "names"),
    [
        ({"a": np.nan}, {}, "values", "nan of 'a'"),
        ({"m2": "long"}, {}, "values", "'long' of 'm2'"),
        ({"b": 0.0}, {"log": True}, "values", "0.0 of 'b'"),
        ({"b": None}, {}, "values", "1 test id ('b')"),
        ({}, {"cap": "ten"}, "cap", "ten"),
        ({}, {"cap": np.nan}, "cap", "nan"),
        ({}, {"cap": 0.0, "log": True}, "cap", "0.0"),
    ],
)
def test_invalid_values(trials, change, options, argument, names):
    with pytest.raises(fp.ArgumentError) as caught:
        trials.quality(SECONDS | change, **options)
    assert caught.value.argument == argument
    assert names in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (("long", "short"), "'x' in column short"),
        (("long", "width"), "'width'"),
        (("long",), "('long',)"),
    ],
)
def test_invalid_columns(with_columns, columns, names):
    with pytest.raises(ValueError) as caught:
        with_columns.quality(columns)
    assert names in str(caught.value)


def test_invalid_numbers_of_columns(with_columns):
    columns = with_columns.columns | {"long": np.array([3.0, 0.0, 1.0, 1.0])}
    with pytest.raises(fp.ArgumentError, match=r"above 0, .*, not 0.0 in column long"):
        dataclasses.replace(with_columns, columns=columns).quality(("long", "long"), log=True)


def test_invalid_files(trials, tmp_path):
    for content, message in (
        ("m1 1\nm2 2\na 3\na 4\n", "seconds:4: id 'a' has two values: '4' after '3'"),
        ("m1 1\na 3\n", r"seconds gives none to 1 enroll id \('m2'\) and 1 test id \('b'\)"),
    ):
        with pytest.raises(ValueError, match=message):
            trials.quality(written(tmp_path, content))
    with pytest.raises(ValueError, match="have no ids"):
        read(tmp_path / "bare", ["2.5 target", "-1 nontarget"]).quality(SECONDS)
