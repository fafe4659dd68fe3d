"""Evaluations as text: columns and lines, and the digits of numbers and intervals."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import fastpsr as fp

INF, NAN = np.inf, np.nan
SYSTEMS, PLACES = 5, 13
METRICS = [fp.EER(), fp.MinDCF(0.01), fp.Cllr(), fp.MinCllr(), fp.AUC(), fp.CrossEntropy()]


def detector(n=40, **options):
    y = np.arange(n) % 2
    return fp.Predictions.from_llrs(y, np.random.default_rng(0).normal(size=n) + y, **options)


ANY_TABLE = fp.evaluate(detector(), {"m": lambda p: 0.0})


@cache
def evaluation(n_systems=SYSTEMS, n_places=PLACES):
    n = 40 * n_places
    place = [f"{k:02}" for k in np.arange(n) // 2 % n_places]
    data = detector(n)
    shifted = {f"system {k}": data.llrs * (1.0 + 0.3 * k) for k in range(n_systems)}
    systems = {name: fp.Predictions.from_llrs(data.y_true, llrs) for name, llrs in shifted.items()}
    return fp.evaluate(systems, METRICS, by={"place": place})


def shown(value, low=None, high=None, unit=""):
    """A value and its interval as a table shows them."""
    table = ANY_TABLE.with_rows(
        lambda row: replace(row, value=value, low=low, high=high, unit=unit)
    )
    return re.sub(" +", " ", str(table).splitlines()[1]).removeprefix("m ")


# Columns and lines


@pytest.mark.parametrize("width", [30, 80, 1000])
def test_every_number_occurs_once_within_the_width(width):
    table = evaluation()
    lines = table.to_text(width).splitlines()
    assert max(map(len, lines)) <= max(width, 45)
    words = [word for line in lines for word in line.split()]
    numbers = [shown(row.value, unit=row.unit).removesuffix(" %") for row in table.rows]
    for number in set(numbers):
        assert words.count(number) == numbers.count(number)


def test_many_places_are_lines():
    lines = evaluation().to_text(80).splitlines()
    n_lines = SYSTEMS * (PLACES + 1)
    begins = [k for k, line in enumerate(lines) if line.startswith("system  ")]
    assert begins == [0, n_lines + 2]
    assert lines[0].split() == [
        "system", "condition", "targets", "non-targets", "EER", "minDCF(0.01)", "Cllr",
    ]  # fmt: skip
    assert lines[1].startswith("system 0  pooled ")
    assert lines[n_lines].startswith(f"system {SYSTEMS - 1}  place={PLACES - 1:02} ")
    for k in range(1, n_lines + 1):  # the same place as in the table below
        assert lines[k][:20] == lines[begins[1] + k][:20]
    wide = evaluation().to_text(10_000)  # columns
    assert sum(line.startswith("EER ") for line in wide.splitlines()) == 1


def test_tables_of_differences():
    systems = {name: detector(120, prior=0.1 * k) for k, name in enumerate("abc", start=1)}
    options = {"n_resamples": 120, "seed": 0, "method": "percentile"}
    metrics = ["EER", "NCE", "NBS"]
    two = fp.evaluate(
        {name: systems[name] for name in "ab"}, metrics, differences="first", **options
    )
    lines = str(two).splitlines()
    assert lines[1] == "difference: a - b; * where the interval excludes 0"
    assert lines[2].split() == ["metric", "a", "b", "difference", "interval"]
    assert [line.split()[0] for line in lines[3:]] == ["targets", "non-targets", *metrics]
    for line, difference in zip(lines[5:], two.differences, strict=True):
        assert line.endswith(" *") == bool(difference.excludes_zero)
        assert line.rstrip().endswith("equal") == difference.is_equal
    by = {"g": np.arange(120) // 2 % 3}
    many = fp.evaluate(
        systems, metrics, by=by, differences="all", group_differences="all", **options
    )
    n_stars = sum(bool(d.excludes_zero) for d in many.differences)
    assert n_stars > 0
    for width in (80, 300):
        lines = many.to_text(width).splitlines()
        assert max(map(len, lines)) <= width
        below = "\n".join(lines).split("where the interval excludes 0\n")[1]
        assert below.count("*") == n_stars
        assert below.count("[") == sum(not d.is_equal for d in many.differences)
        assert len(re.findall(r"\], p [=<] [01]\.\d{3}", below)) == below.count("[")
        assert "over 3 differences" in below
    assert many._repr_html_().count(" *</td>") == n_stars
    assert two._repr_html_().count(" *</td>") == sum(bool(d.excludes_zero) for d in two.differences)


def test_values_outside_their_corrected_intervals():
    table = fp.evaluate({"a": detector(), "b": detector()}, {"m": lambda p: 0.0})
    numbers = {"value": 0.5, "low": 0.1, "high": 0.2, "corrected": 0.15}
    words = "0.1500 once corrected for optimism"
    for change, is_outside, n_lines in (
        ({}, True, 2), ({"high": 0.5}, False, 0), ({"low": 0.5, "high": 0.6}, False, 0),
        ({"corrected": None}, True, 0),
    ):  # fmt: skip
        changed = table.with_rows(lambda row, new=numbers | change: replace(row, **new))
        assert {row.is_outside for row in changed.rows} == {is_outside}
        assert str(changed).count(words) == n_lines


def test_tables_of_notebooks():
    groups = fp.evaluate(detector(), [fp.AUC()], by={"half": np.arange(40) // 20})._repr_html_()
    assert "system" not in groups
    assert "interval" not in groups
    assert '<td style="text-align: left">half=0</td>' in groups
    html = fp.evaluate(detector(), [fp.AUC()], n_resamples=40, seed=0)._repr_html_()
    assert f'<td style="text-align: left">{fp.AUC().meaning}</td>' in html
    (interval,) = (cell for cell in html.split("<td") if "[" in cell)
    assert "white-space: nowrap" in interval


# Digits


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (-0.0, "", "0.0000"), (-2.31e-5, "", "-0.000023"), (5e-324, "", "4.9e-324"),
        (12.34567, "", "12.3457"), (NAN, "", "nan"), (0.99994, "", "0.9999"),
        (0.99995, "", "0.999950"), (1.0 - 3e-8, "", ">0.999999"), (1.0 + 3e-8, "", "<1.000001"),
        (1.0 - 1e-15, "", "1.0000"), (0.9999999, "fraction", "99.999990 %"),
        (99.99999999, "percent", ">99.999999 %"), (0.99999, "percent", "1.000 %"),
        (0.012345, "fraction", "1.234 %"), (3e-9, "fraction", "3.0e-07 %"),
        (0.75, "probability", "0.7500"), (-INF, "percent", "-inf"),
    ],
)  # fmt: skip
def test_digits_of_numbers(value, unit, text):
    assert shown(value, unit=unit) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (0.01, 0.0008, 0.0509, "", "0.0100 [0.0008, 0.0509]"),
        (0.5, 0.4999999, 0.5000001, "", "0.50000000 [0.49999990, 0.50000010]"),
        (0.01, 2e-6, 0.02, "", "0.0100 [2.0e-06, 0.0200]"),
        (0.1, 0.0, INF, "percent", "0.100 % [0.000, inf]"),
        (0.1, NAN, NAN, "", "0.1000 no interval"),
        (0.0, 0.0, 0.0, "", "0.0000 [0.0000, 0.0000]"),
        (0.999, 0.99, 0.99997, "", "0.9990 [0.9900, 0.999970]"),
    ],
)
def test_digits_of_intervals(value, low, high, unit, text):
    assert shown(value, low, high, unit) == text
