"""Pages of examples: every example prints what stands below it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fastpsr.trials import FORMATS
from tests import pages
from tests.test_backends_docs import NEEDS

ROOT = Path(__file__).parents[1]
OWN_TESTS = {*NEEDS, "docs/paper/README.md"}  # the other is test_paper_scripts.py
ALL = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
}
PAGES = sorted(
    name for name, page in ALL.items() if name not in OWN_TESTS and pages.BLOCK.search(page)
)
#: Above 3 s, of what other quick tests run as well.
LONG = {"choose-calibrator", "clusters", "compare-systems", "larger-than-memory",
        "machine-learning", "other-programs", "own-calibrator", "quality-measures", "wespeaker",
        "write-tables"}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if Path(n).stem in LONG else []) for n in PAGES],
)
def test_examples_print_what_the_page_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pages.changes(name, ALL[name]) == ""


def test_names_of_pages_are_those_of_files():
    assert {*ALL} > OWN_TESTS
    assert {Path(name).stem for name in PAGES} > LONG


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", sorted(ALL))
def test_links_lead_somewhere(name):
    links = re.findall(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)", ALL[name])
    broken = []
    for file, anchor in links:
        target = ROOT / Path(name).parent / (file or Path(name).name)
        if not target.exists():
            broken.append(file)
        elif anchor and anchor not in anchors(target.read_text("utf-8")):
            broken.append(f"{file}#{anchor}")
    assert broken == []


@pytest.mark.slow
def test_the_picture_of_the_readme_is_drawn(tmp_path):
    script = ROOT / "docs/picture.py"
    subprocess.run([sys.executable, script, tmp_path / "new.svg"], check=True)
    kept = (ROOT / "docs/picture.svg").read_text("utf-8")
    words = re.compile(r"<text[^>]*>([^<]+)</text>")
    assert words.findall((tmp_path / "new.svg").read_text("utf-8")) == words.findall(kept) != []


def test_speed_in_the_readme_is_as_measured():
    made = subprocess.run(
        [sys.executable, "-m", "benchmarks.summary", "docs/speed.json"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    page = ALL["README.md"]
    (shown,) = re.findall(r"<!-- printed from here -->\n(.*)<!-- to here -->", page, re.S)
    assert shown.strip() == made.stdout.strip()


def test_every_format_has_an_example():
    own = [page for name, page in ALL.items() if name.startswith("docs/reference/trial-lists/")]
    examples = "".join(block[2] for page in own for block in pages.BLOCK.finditer(page))
    assert [name for name in FORMATS if f": {name};" not in examples] == []


def test_errors_are_shown_where_the_page_shows_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = "Traceback (most recent call last):\n    ...\nValueError: {}\n"
    page = f"```python\n>>> raise ValueError('this')\n{shown}>>> 2\n2\n\n```\n"
    assert pages.renewed(page.format("that")) == page.format("this")
    with pytest.raises(ValueError, match="this"):
        pages.renewed("```python\n>>> raise ValueError('this')\n3\n\n```\n")


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
