"""The pages on files: every example prints what stands below it."""

import difflib
from pathlib import Path

import pytest

from fastpsr.trials import FORMATS
from tests import pages

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("trials.md", "formats.md")


@pytest.mark.parametrize("name", PAGES)
def test_examples_print_what_the_page_shows(name, tmp_path, monkeypatch):
    page = (DOCS / name).read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    changed = difflib.unified_diff(
        page.splitlines(), pages.renewed(page).splitlines(), name, "now", lineterm=""
    )
    said = "\n".join(changed)
    assert not said, f"{said}\nIf this is right: python -m tests.pages docs/{name}"


def test_every_format_has_an_example():
    page = (DOCS / "trials.md").read_text("utf-8")
    examples = "".join(block[2] for block in pages.BLOCK.finditer(page))
    assert [name for name in FORMATS if f": {name};" not in examples] == []


def test_what_changes_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (
        "```python\nprint(3)\n```\n\nSaved as `three.py`:\n\n"
        "```console\n$ python three.py\n4\n$ echo 'took 1.5 s'\ntook 2.5 s\n"
        "$ fastpsr --nope 2>&1 \\\n> | grep -c nope\n```\n\n"
        "```python\n>>> x = 1\n\n>>> x\n2\n\n```\n"
    )
    new = pages.renewed(page)
    assert new == page.replace("4\n", "3\n").replace("2.5 s", "1.5 s").replace(
        "nope\n```", "nope\n1\n```"
    ).replace("2\n\n```", "1\n\n```")
    assert pages.renewed(new) == new
    assert pages.renewed(new.replace("1.5 s", "7.5 s")) == new.replace("1.5 s", "7.5 s")
