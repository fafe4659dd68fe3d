"""CONTRIBUTING.md says which tests serve which room, and how the large ones are run."""

import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import fastpsr as fp

ROOT = Path(__file__).parents[1]
FILES = sorted(path.name for path in (ROOT / "tests").glob("test_*.py"))
ROOMS = {path.parent.name for path in Path(fp.__file__).parent.glob("*/__init__.py")}


def table(text):
    """{what stands on the left: patterns on the right} of the rows of the table of tests."""
    rows = re.findall(r"^\| (.*?) \| (`test_.*?) \|$", text, re.MULTILINE)
    return {left: re.findall(r"`(.*?)`", right) for left, right in rows}


ROWS = table((ROOT / "CONTRIBUTING.md").read_text("utf-8"))


def test_every_room_has_a_row():
    assert {left.strip("`/") for left in ROWS if re.fullmatch(r"`\w+/`", left)} == ROOMS


def test_every_file_of_tests_has_one_place():
    patterns = [pattern for row in ROWS.values() for pattern in row]
    places = {file: [each for each in patterns if fnmatch(file, each)] for file in FILES}
    assert {file: found for file, found in places.items() if len(found) != 1} == {}


def test_every_pattern_names_a_file():
    patterns = [pattern for row in ROWS.values() for pattern in row]
    assert [each for each in patterns if not any(fnmatch(file, each) for file in FILES)] == []


@pytest.mark.slow
def test_slow_tests_are_left_out_but_where_everything_is_checked():
    script = ROOT / ".ci" / "run"
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert pyproject["tool"]["pytest"]["ini_options"]["addopts"][-2:] == ["-m", "not slow"]
    (options,) = re.findall(r'^export PYTEST_ADDOPTS="(.*?)"', script.read_text("utf-8"), re.M)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/test_accuracy.py"],
        capture_output=True, text=True, cwd=ROOT, check=True,
        env={**os.environ, "PYTEST_ADDOPTS": options},
    )  # fmt: skip
    assert "::test_many_samples_against_long_double" in done.stdout
    assert "deselected" not in done.stdout
