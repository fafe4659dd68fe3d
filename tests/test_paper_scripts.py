"""The scripts in docs/paper print what their page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from tools import pages

DOCS = Path(__file__).parents[1] / "docs"
README = (DOCS / "paper" / "README.md").read_text("utf-8")
CONSOLES = [body for kind, body, _ in pages.BLOCK.findall(README) if kind == "console"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, from where the scripts can be run."""
    monkeypatch.chdir(tmp_path)
    Path("docs").symlink_to(DOCS)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("body", CONSOLES, ids=lambda body: body.split("\n", 1)[0][2:])
def test_the_page_shows_what_the_scripts_print(body, folder):
    if "FASTPSR_DATA" in body and not os.environ.get("FASTPSR_DATA"):
        pytest.skip("FASTPSR_DATA is not set")
    with mock.patch.dict(os.environ, pages.SURROUNDINGS):
        printed = pages.console(body)
    assert printed == body, "if this is right: python -m tools.pages docs/paper/README.md"


@pytest.mark.slow
def test_run_all_says_what_failed_and_what_was_skipped(folder):
    done = [
        subprocess.run(
            [sys.executable, "docs/paper/run_all.py", *data, "--out", "all", "--only", "table3"],
            capture_output=True,
            text=True,
            check=False,
        )
        for data in (["--data", "nowhere"], [])
    ]
    assert [process.returncode for process in done] == [1, 0]
    failed = r"^table3 +failed, exit code 1: FileNotFoundError"
    assert re.search(failed, done[0].stdout, re.M)
    assert "Traceback" in Path("all/table3.txt").read_text()
    assert "table3     skipped: needs --data\n" in done[1].stdout
