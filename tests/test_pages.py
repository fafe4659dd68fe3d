"""Pages of examples: every example prints what stands below it, and links lead to files."""

import re
from pathlib import Path

import pytest

from tests.test_backends_docs import NEEDS
from tools import pages

ROOT = Path(__file__).parents[1]
TESTED_ELSEWHERE = {*NEEDS, "docs/paper/README.md"}  # the last by test_paper_scripts.py
ALL = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
}
PAGES = sorted(
    name for name, page in ALL.items() if name not in TESTED_ELSEWHERE and pages.BLOCK.search(page)
)
#: Above 3 s, of what other quick tests run as well.
LONG = {"calibrate", "clusters", "compare-systems", "fuse-systems",
        "larger-than-memory", "machine-learning", "other-programs", "own-metric",
        "wespeaker", "write-tables"}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if Path(n).stem in LONG else []) for n in PAGES],
)
def test_examples_print_what_the_page_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pages.changes(name, ALL[name]) == ""


def test_links_of_pages_lead_to_files():
    """The anchors, and pages of the site, are checked when it is built: .ci/docs."""
    broken = [
        f"{name}: {file}"
        for name, page in ALL.items()
        for file in re.findall(r"\]\((?![a-z]+:)([^)#\s]+)", page)
        if not (ROOT / name).parent.joinpath(file).exists()
    ]
    assert broken == []


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
    assert pages.renewed(new.replace("1.5 s", "7.5 s")) == new.replace("1.5 s", "7.5 s")
    with pytest.raises(ValueError, match="this"):
        pages.renewed("```python\n>>> raise ValueError('this')\n3\n\n```\n")
