"""Quality measures of recordings, joined to both sides of trials."""

import dataclasses

import numpy as np
import pytest

import fastpsr as fp

LINES = ["m1 a 2.5 target", "m1 b -1.0 nontarget", "m2 a 0.5 nontarget", "m2 b 1.5 target"]
SECONDS = {"m1": 30.0, "m2": 8.0, "a": 4.0, "b": 12.0, "unused": 0.0}


@pytest.fixture
def made(tmp_path):
    (tmp_path / "scores").write_text("\n".join(LINES) + "\n")
    return fp.trials.read(tmp_path / "scores")


def written(tmp_path, text):
    (tmp_path / "seconds").write_text(text)
    return tmp_path / "seconds"


def test_values_by_id(made, tmp_path):
    text = "".join(f"{id}\t{value}\n" for id, value in SECONDS.items())
    for given in (SECONDS, written(tmp_path, text)):
        found = made.quality(given)
        assert isinstance(found, fp.Quality)
        np.testing.assert_array_equal(found.enroll, [30.0, 30.0, 8.0, 8.0])
        np.testing.assert_array_equal(found.test, [4.0, 12.0, 4.0, 12.0])


def test_cap_before_logarithm(made):
    found = made.quality(SECONDS, cap=10.0, log=True)  # 0 is of an id that no trial has
    np.testing.assert_array_equal(found.enroll, np.log([10.0, 10.0, 8.0, 8.0]))
    np.testing.assert_array_equal(found.test, np.log([4.0, 10.0, 4.0, 10.0]))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"a": np.nan}, {}, "^values must be finite numbers, not 'nan' of 'a'"),
        ({"m2": "long"}, {}, "^values must be finite numbers, not 'long' of 'm2'"),
        ({"b": 0.0}, {"log": True}, "^values .* above 0, whose logarithms .*, not '0.0' of 'b'"),
        ({"b": None}, {}, r"^values must give every id a value, .* none to 1 test id \(.b.\)"),
        ({}, {"cap": "ten"}, "^cap"),
        ({}, {"cap": np.nan}, "^cap must be a finite number, not nan"),
        ({}, {"cap": 0.0, "log": True}, "^cap must be a finite number above 0, .*, not 0.0"),
    ],
)  # fmt: skip
def test_what_is_refused(made, change, options, message):
    with pytest.raises(fp.ArgumentError, match=message):
        made.quality(SECONDS | change, **options)


def test_files_that_are_refused(made, tmp_path):
    path = written(tmp_path, "m1 1\nm2 2\na 3\na 4\n")
    with pytest.raises(ValueError, match="seconds:4: id 'a' has two values: '4' after '3'"):
        made.quality(path)
    path = written(tmp_path, "m1 1\na 3\n")
    with pytest.raises(
        fp.ArgumentError,
        match=r"seconds gives none to 1 enroll id \('m2'\) and 1 test id \('b'\)",
    ):
        made.quality(path)


def test_trials_without_ids(tmp_path):
    (tmp_path / "scores").write_text("2.5 target\n-1 nontarget\n")
    with pytest.raises(ValueError, match="have no ids"):
        fp.trials.read(tmp_path / "scores").quality(SECONDS)


# Columns


@pytest.fixture
def with_columns(tmp_path):
    rows = ["m1,a,1,2.5,30,4", "m1,b,0,-1,30,1e2", "m2,a,0,0.5,8,4", "m2,b,1,1.5,8,x"]
    path = tmp_path / "s.csv"
    path.write_text("enroll,test,label,score,long,short\n" + "\n".join(rows) + "\n")
    return fp.trials.read(path)


def test_columns(with_columns):
    found = with_columns.select(slice(0, 3)).quality(column=("long", "short"), cap=20.0, log=True)
    np.testing.assert_array_equal(found.enroll, np.log([20.0, 20.0, 8.0]))
    np.testing.assert_array_equal(found.test, np.log([4.0, 20.0, 4.0]))
    found = with_columns.quality(column=("long", "long"))
    np.testing.assert_array_equal(found.enroll, found.test)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"column": ("long", "short")}, "^column must be finite numbers, not 'x' in column short"),
        ({"column": ("long", "width")}, r"^column must be one of .*long, short.*, not 'width'"),
        ({"column": "ab"}, "^column must be two names of columns, enroll and test, not 'ab'"),
        ({"column": ("long",)}, r"^column must be two names .* not \('long',\)"),
        ({}, "^quality needs either values or column"),
        ({"values": SECONDS, "column": ("long", "short")}, "needs either"),
    ],
)  # fmt: skip
def test_columns_that_are_refused(with_columns, given, message):
    with pytest.raises(ValueError, match=message):
        with_columns.quality(**given)


def test_numbers_of_columns_that_are_refused(with_columns):
    zero = with_columns.columns | {"long": np.array([3.0, 0.0, 1.0, 1.0])}
    made = dataclasses.replace(with_columns, columns=zero)
    with pytest.raises(fp.ArgumentError, match=r"above 0, .*, not 0.0 in column long"):
        made.quality(column=("long", "long"), log=True)
