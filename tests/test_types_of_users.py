"""Classes of the user's own, as the docs have them, under type checkers that are strict."""

import doctest
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import fastpsr as fp

PAGE = Path(__file__).parents[1] / "docs/how-to/own-metric.md"

PREAMBLE = """\
import numpy as np
import fastpsr as fp

data = fp.Predictions.from_posteriors([0, 1], [0.2, 0.9])
"""

USES = """\
value: float = MeanPosterior()(data) + fp.ExpectedScore(Spherical())(data)
width: float = fp.bootstrap(MeanPosterior(), data).interval.high
crossed: fp.Predictions = fp.cross_fit(fp.PAV(), data)
table = fp.evaluate(data, metrics={"own": MeanPosterior()}).to_frame()
"""

NAMES = """\
import fastpsr as fp
from fastpsr import *
from fastpsr import compat as compat, plotting as plotting

"""

CHECKERS = {
    "mypy": ["mypy", "--strict"],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


def classes_of_the_page():
    """Return the examples of the page that define classes with types, and what these import."""
    sources = [
        example.source
        for example in doctest.DocTestParser().get_examples(PAGE.read_text("utf-8"))
        if " -> " in example.source or example.source.startswith("from ")
    ]
    assert sum("class " in source for source in sources) == 3
    return "".join(sources)


def uses_of_all_names():
    """None is `Any`, for then it could be an exception, or its ignored error would not be one."""
    names = sorted({*fp.__all__, "plotting", "compat"})
    uses = [
        f"def {mode}_{name}() -> Exact:\n    return {prefix}{name}  # type: ignore[return-value]\n"
        for name in names
        for mode, prefix in (("by", "fp."), ("of", ""))
    ]
    return NAMES + "class Exact: ...\n\n" + "\n".join(uses)


@pytest.mark.parametrize("checker", CHECKERS)
def test_classes_of_the_page_and_all_names_have_types(checker, tmp_path):
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    (tmp_path / "own.py").write_text(PREAMBLE + classes_of_the_page() + USES, "utf-8")
    (tmp_path / "names.py").write_text(uses_of_all_names(), "utf-8")
    command = [sys.executable, "-m", *CHECKERS[checker], tmp_path / "own.py", tmp_path / "names.py"]
    process = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert process.returncode == 0, process.stdout + process.stderr
