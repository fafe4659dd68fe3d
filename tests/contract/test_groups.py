"""The values of a group are those of its rows alone, for data in memory and in parts."""

import pytest

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import SEARCHED, outcome, require_same
from tests.contract.data import CASES, Case


@pytest.mark.parametrize("name", registry.METRIC_KINDS)
def test_a_group_has_the_values_of_its_rows(name):
    for case in CASES[[*registry.METRIC_KINDS].index(name) :: 30]:
        data, folds, groups = case.predictions(), case.columns["fold"], case.columns["group"]
        metrics = registry.metrics(name, data, folds)
        table = outcome(lambda: fp.evaluate(data, metrics, by={"group": groups}))
        for row in table.rows:
            index = slice(None) if row.group is None else groups == row.group.removeprefix("group=")
            metric = registry.of_rows(metrics[row.metric], index, folds)
            expected = outcome(lambda metric=metric, index=index: metric(case.predictions(index)))
            actual = row.error if isinstance(expected, ValueError) else row.value
            require_same(actual, expected, SEARCHED, f"{row.metric} of {row.group} of {case}")


@pytest.mark.parametrize("case", CASES[::15], ids=str)
def test_groups_of_parts_are_those_of_memory(case):
    columns = case.columns
    in_memory = outcome(lambda: fp.evaluate(case.predictions(), by={"group": columns["group"]}))
    in_parts = outcome(lambda: fp.evaluate(case.parts(), by="group"))
    assert [row.group for row in in_parts.rows] == [row.group for row in in_memory.rows]
    values = [[row.value for row in table.rows] for table in (in_parts, in_memory)]
    require_same(*values, SEARCHED)


def test_conditions_are_crossed_and_counted():
    case = Case(kind="logits", weights="fractions")
    left = case.columns["left"] < "s06"
    by = {"group": case.columns["group"], ("group", "left"): (case.columns["group"], left)}
    table = fp.evaluate(case.predictions(), {"loss": fp.CrossEntropy()}, by=by)
    index = (case.columns["group"] == "b") & left
    (row,) = (row for row in table.rows if "b" in str(row.group) and "True" in str(row.group))
    assert row.value == pytest.approx(fp.CrossEntropy()(case.predictions(index)), rel=1e-12)
