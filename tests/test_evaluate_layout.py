"""Evaluations as text: how columns and lines are laid out, and digits."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.evaluation.layout import number

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
    values = {f"{row.value:.4f}" for row in table.rows}
    for value in values:
        assert shown.count(value) == sum(f"{row.value:.4f}" == value for row in table.rows)


def test_many_places_are_lines():
    lines = evaluation().to_text(80).splitlines()
    begins = [k for k, line in enumerate(lines) if line.startswith("system  ")]
    n_lines = SYSTEMS * (PLACES + 1)
    assert lines[0].split() == ["system", "condition", "targets", "non-targets", "EER",
                                "minDCF(0.01)", "Cllr", "minCllr"]  # fmt: skip
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
        (0.0, "0.0000"), (-0.0, "-0.0000"), (0.00005001, "0.0001"), (0.0000499, "5.0e-05"),
        (-2.31e-5, "-2.3e-05"), (1e-300, "1.0e-300"), (5e-324, "4.9e-324"), (12.34567, "12.3457"),
        (np.inf, "inf"), (-np.inf, "-inf"), (np.nan, "nan"),
    ],
)  # fmt: skip
def test_no_number_is_shown_as_0_that_is_none(value, text):
    assert number(value) == text
