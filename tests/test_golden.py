"""Public calls, commands and readers return what was recorded (``tests/golden``)."""

import json
from collections import defaultdict

import pytest

from tests.golden import COMMANDS, READINGS, VALUES, command_lines, comparison
from tests.golden.cases import cases
from tests.golden.corpus import FILES, reading

SECTIONS = defaultdict(list)
for case in cases():
    SECTIONS[case.section].append(case)
SESSIONS = {lines[0]: lines for lines in command_lines.sessions()}


@pytest.fixture(scope="module")
def records():
    return {path: json.loads(path.read_text("utf-8")) for path in (VALUES, COMMANDS, READINGS)}


@pytest.mark.parametrize("section", SECTIONS)
def test_calls(section, records):
    expected = records[VALUES][section]
    assert [case.text for case in SECTIONS[section]] == list(expected)
    lines = {
        case.text: comparison.differences(case, expected[case.text]) for case in SECTIONS[section]
    }
    differing = {text: differences for text, differences in lines.items() if differences}
    assert differing == {}, "if this is right: python -m tests.golden SECTION"


@pytest.mark.parametrize("first", SESSIONS)
def test_commands(first, records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    actual = command_lines.outcomes(SESSIONS[first])
    differing = list(command_lines.differences(records[COMMANDS][first], actual))
    assert differing == [], "if this is right: python -m tests.golden commands"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_formats(path, records):
    expected = records[READINGS][path.name][""]
    assert reading(path) == expected, "if this is right: python -m tests.golden formats"


def test_nothing_else_is_recorded(records):
    assert records[VALUES].keys() == SECTIONS.keys()
    assert records[COMMANDS].keys() == SESSIONS.keys()
    assert records[READINGS].keys() == {path.name for path in FILES}
