"""Classes of the user's own, as the guide has them, under type checkers that are strict."""

import doctest
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[1] / "docs" / "guide.md"

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

CHECKERS = {
    "mypy": ["mypy", "--strict"],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


def classes_of_the_guide():
    """Return the examples of the guide that define classes with types, and what these import."""
    found = [
        each.source
        for each in doctest.DocTestParser().get_examples(GUIDE.read_text("utf-8"))
        if " -> " in each.source or each.source.startswith("from ")
    ]
    assert sum("class " in source for source in found) == 3
    return "".join(found)


@pytest.mark.parametrize("checker", CHECKERS)
def test_classes_of_the_guide_have_types(checker, tmp_path):
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    file = tmp_path / "own.py"
    file.write_text(PREAMBLE + classes_of_the_guide() + USES, "utf-8")
    command = [sys.executable, "-m", *CHECKERS[checker], file]
    done = subprocess.run(command, capture_output=True, text=True, cwd=GUIDE.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
