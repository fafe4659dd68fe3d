"""The examples of docs/backends.md, where the tools are installed."""

import difflib
from pathlib import Path

import pytest

pytest.importorskip("sklearn", "1.6")
pytest.importorskip("torchmetrics", "1.6")
pytest.importorskip("model_diagnostics")

from tests import pages

PAGE = Path(__file__).parents[1] / "docs" / "backends.md"


def test_examples_print_what_the_page_shows(tmp_path, monkeypatch):
    page = PAGE.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    changed = difflib.unified_diff(
        page.splitlines(), pages.renewed(page).splitlines(), PAGE.name, "now", lineterm=""
    )
    assert not list(changed), "if it is right: python -m tests.pages docs/backends.md"
