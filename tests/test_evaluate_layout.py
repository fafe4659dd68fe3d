"""Evaluations as text: how columns and lines are laid out, and digits."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.evaluation.layout import number, with_interval

SYSTEMS, PLACES = 5, 13
METRICS = [fp.EER(), fp.MinDCF(0.01), fp.Cllr(), fp.MinCllr(), fp.AUC(), fp.CrossEntropy()]


def evaluation(n_systems=SYSTEMS, n_places=PLACES):
    rng = np.random.default_rng(0)
    n = 40 * n_places
    y, place = np.arange(n) % 2, [f"{k:02}" for k in np.arange(n) // 2 % n_places]
    data = {
        f"system {k}": fp.Predictions.from_llrs(y, rng.normal(size=n) + y) for k in range(n_systems)
    }
    return fp.evaluate(data, METRICS, by={"place": place})


@pytest.mark.parametrize("width", [30, 80, 120, 1000])
def test_every_number_once_and_within_the_width(width):
    table = evaluation()
    lines = table.to_text(width).splitlines()
    assert max(map(len, lines)) <= max(width, 45)
    shown = [word for line in lines for word in line.split()]
    values = [number(row.value, row.unit).removesuffix(" %") for row in table.rows]
    for value in set(values):
        assert shown.count(value) == values.count(value)


def test_many_places_are_lines():
    lines = evaluation().to_text(80).splitlines()
    begins = [k for k, line in enumerate(lines) if line.startswith("system  ")]
    n_lines = SYSTEMS * (PLACES + 1)
    assert lines[0].split() == ["system", "condition", "targets", "non-targets", "EER",
                                "minDCF(0.01)", "Cllr"]  # fmt: skip
    assert begins == [0, n_lines + 2]
    assert lines[1].startswith("system 0  pooled ")
    assert lines[n_lines].startswith(f"system {SYSTEMS - 1}  place={PLACES - 1:02} ")
    for k in range(1, n_lines + 1):  # each is about the same place in every table
        assert lines[k][:20] == lines[begins[1] + k][:20]


@pytest.mark.parametrize(("width", "n_tables"), [(1000, 1), (100, 2)])
def test_few_places_are_columns(width, n_tables):
    lines = evaluation(2, 4).to_text(width).splitlines()
    assert sum(line.startswith("EER ") for line in lines) == n_tables
    assert lines[0].split()[:2] == ["system", "0"]


def test_one_system_has_no_column_of_systems():
    data = fp.Predictions.from_llrs([0, 1] * 40, np.random.default_rng(0).normal(size=80))
    table = fp.evaluate(data, METRICS, by={"place": np.arange(80) // 2 % 20})
    lines = table.to_text(60).splitlines()
    assert lines[0].split()[:3] == ["condition", "targets", "non-targets"]
    assert lines[1].startswith("pooled ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"), (-0.0, "0.0000"), (0.00052, "0.00052"), (0.0000499, "0.000050"),
        (-2.31e-5, "-0.000023"), (2.31e-7, "2.3e-07"), (1e-300, "1.0e-300"),
        (5e-324, "4.9e-324"), (12.34567, "12.3457"),
        (np.inf, "inf"), (-np.inf, "-inf"), (np.nan, "nan"),
    ],
)  # fmt: skip
def test_no_number_is_shown_as_0_that_is_none(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.99994, "", "0.9999"), (0.99995, "", "0.999950"), (1.0 - 3e-8, "", ">0.999999"),
        (1.00003, "", "1.000030"), (1.0 + 3e-8, "", "<1.000001"), (1.0 - 1e-15, "", "1.0000"),
        (0.99999, "fraction", "99.999 %"), (0.9999999, "fraction", "99.999990 %"),
        (99.99999999, "percent", ">99.999999 %"), (1.0, "percent", "1.000 %"),
        (0.99999, "percent", "1.000 %"),
    ],
)  # fmt: skip
def test_no_number_is_shown_as_1_that_is_none(value, unit, text):
    assert number(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.012345, "fraction", "1.234 %"), (12.3456, "percent", "12.346 %"),
        (0.0, "fraction", "0.000 %"), (1e-5, "fraction", "0.0010 %"),
        (3e-9, "fraction", "3.0e-07 %"), (0.75, "probability", "0.7500"),
        (np.nan, "percent", "nan"), (-np.inf, "percent", "-inf"), (0.5, "nats", "0.5000"),
    ],
)  # fmt: skip
def test_shares_are_shown_in_percent(value, unit, text):
    assert number(value, unit) == text


@pytest.mark.parametrize(
    ("numbers", "unit", "text"),
    [
        ((0.01, 0.0008, 0.0509), "", "0.0100 [0.0008, 0.0509]"),
        ((0.012346, 0.0123, 0.0124), "fraction", "1.2346 % [1.2300, 1.2400]"),
        ((0.5, 0.4999999, 0.5000001), "", "0.50000000 [0.49999990, 0.50000010]"),
        ((0.01, 2e-6, 0.02), "", "0.0100 [2.0e-06, 0.0200]"),
        ((0.1, 0.0, np.inf), "percent", "0.100 % [0.000, inf]"),
        ((0.1, np.nan, np.nan), "", "0.1000 no interval"),
        ((0.0, 0.0, 0.0), "", "0.0000 [0.0000, 0.0000]"),
        ((0.1, None, None), "", "0.1000 "),
        ((0.999, 0.99, 0.99997), "", "0.9990 [0.9900, 0.999970]"),
    ],
)
def test_ends_of_intervals_differ_and_are_not_0(numbers, unit, text):
    assert " ".join(with_interval(*numbers, unit)) == text


def test_notebooks_show_no_empty_columns_and_words_on_the_left():
    data = fp.Predictions.from_llrs([0, 1] * 20, np.random.default_rng(0).normal(size=40))
    one = fp.evaluate(data, [fp.AUC()])._repr_html_()
    assert "interval" not in one
    assert f'<td style="text-align: left">{fp.AUC().meaning}</td>' in one
    groups = fp.evaluate(data, [fp.AUC()], by={"half": np.arange(40) // 20})._repr_html_()
    assert "system" not in groups
    assert '<td style="text-align: left">half=0</td>' in groups
    drawn = fp.evaluate(data, [fp.AUC()], n_resamples=40, seed=0)._repr_html_()
    (interval,) = (cell for cell in drawn.split("<td") if "[" in cell)
    assert "white-space: nowrap" in interval
