"""The values of a group are those of its rows alone, for data in memory and in parts."""

import pytest

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import SEARCHED, outcome, require_same
from tests.contract.data import CASES


def with_cases(names):
    chosen = [(name, case) for i, name in enumerate(names) for case in CASES[i::30]]
    return pytest.mark.parametrize(("name", "case"), chosen, ids=str)


@with_cases(registry.METRIC_KINDS)
def test_a_group_has_the_values_of_its_rows(name, case):
    data, folds, groups = case.predictions(), case.columns["fold"], case.columns["group"]
    metrics = registry.metrics(name, data, folds)
    table = outcome(fp.evaluate, data, metrics, by={"group": groups})
    assert len(table.rows) == 4 * len(metrics)
    for row in table.rows:
        index = slice(None) if row.group is None else groups == row.group.removeprefix("group=")
        metric = registry.of_rows(metrics[row.metric], index, folds)
        expected = outcome(metric, case.predictions(index))
        actual = row.error if isinstance(expected, ValueError) else row.value
        require_same(actual, expected, SEARCHED, f"{row.metric} of {row.group}")


@pytest.mark.parametrize("case", CASES[::15], ids=str)
def test_groups_of_parts_are_those_of_memory(case):
    by = {"group": case.columns["group"]}
    in_memory = outcome(fp.evaluate, case.predictions(), by=by)
    in_parts = outcome(fp.evaluate, case.parts(), by="group")
    assert [row.group for row in in_parts.rows] == [row.group for row in in_memory.rows]
    values = [[row.value for row in table.rows] for table in (in_parts, in_memory)]
    require_same(*values, SEARCHED)
