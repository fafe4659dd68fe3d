"""Pages with examples of other tools, where the tools are installed."""

import os
from pathlib import Path

import pytest

from tools import pages

ROOT = Path(__file__).parents[1]
NEEDS = {
    "docs/from/bosaris-dca-plda.md": ("torch", "psrcal", "llreval"),
    "docs/from/scikit-learn.md": ("sklearn",),
    "docs/from/smaller-packages.md": ("model_diagnostics",),
    "docs/from/speechbrain.md": ("torch", "speechbrain"),
    "docs/from/torchmetrics.md": ("torch", "torchmetrics"),
    "docs/from/wespeaker.md": ("speakerlab",),
}


@pytest.mark.parametrize("name", NEEDS)
def test_examples_print_what_the_page_shows(name, tmp_path, monkeypatch):
    if not os.environ.get("FASTPSR_ALL_TOOLS"):  # which .ci/backends sets: none skips there
        for module in NEEDS[name]:
            pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    assert pages.changes(name, (ROOT / name).read_text("utf-8")) == ""
