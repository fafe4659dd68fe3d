"""Which calibrator for which data: cross-fitted NCE of each, and the choice, nested.

FASTPSR_DATA names the folder of the score files of Ferrer and Ramos (2024). The simulated trials
are as many as in SITW; their LLRs are also doubled, and multiplied by slopes that differ between
the sides of 0. The lowest NCE of a row is bold; "nested" is that of the whole procedure with its
choice, and "saves" the RCL under the chosen calibrator.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import fastpsr as fp
from benchmarks.harness import ROOT

BINARY = {
    "none": None,
    "temperature": fp.TemperatureScaling(),
    "dp": fp.DirectionPreserving(),
    "beta": fp.BetaCalibration(),
    "spline": fp.Spline(),
    "pav-laplace": fp.PAV(laplace=True),
    "venn-abers": fp.VennAbers(),
}
SEVERAL = {
    "none": None,
    "temperature": fp.TemperatureScaling(),
    "dp": fp.DirectionPreserving(),
    "vector": fp.VectorScaling(),
    "matrix": fp.MatrixScaling(),
}
Task = tuple[str, fp.Predictions, fp.CrossFit]


def published(folder: Path) -> Iterator[Task]:
    """Yield the systems of the paper's Table 2 whose scores are there."""
    with patch.object(sys, "path", [str(ROOT / "docs" / "paper"), *sys.path]):
        datasets = import_module("datasets")
    with redirect_stdout(io.StringIO()):  # names of those that are missing
        yield from list(datasets.systems(folder))


def simulated(n_targets: int = 3_658, n_nontargets: int = 718_130) -> Iterator[Task]:
    """Yield trials: their name, LLRs and folds."""
    trials = fp.simulate.trial_list(n_targets, n_nontargets, n_speakers=300, seed=0)
    slopes = np.where(trials.llr > 0.0, 0.5, 1.5)
    for name, scale in {"trials": 1.0, "doubled": 2.0, "two slopes": slopes}.items():
        data = fp.Predictions.from_llrs(trials.y_true, scale * trials.llr)
        yield f"simulated, {name}", data, fp.CrossFit()


def rows(tasks: Iterator[Task], candidates: dict[str, Any], n_classes: range) -> Iterator[str]:
    """Yield the lines of a table of the tasks with so many classes."""
    header = ["", *candidates, "nested", "saves"]
    yield f"| {' | '.join(header)} |"
    yield f"|---|{'---:|' * (len(header) - 1)}"
    for name, data, train in tasks:
        if data.n_classes not in n_classes:
            continue
        found = fp.select(data, candidates, train=train)
        cells = [f"{each.score:.4f}" for each in found.table]
        best = list(candidates).index(found.chosen)
        cells[best] = f"**{cells[best]}**"
        cells += [f"{found.score:.4f}", f"{found[found.chosen].rcl:.1f} %"]
        yield f"| {' | '.join([name, *cells])} |"


def tables(quick: bool) -> str:
    """Return the tables of binary tasks and of those with several classes."""
    folder = os.environ.get("FASTPSR_DATA")
    if quick:
        tasks = list(simulated(200, 2_000))
    else:
        tasks = [*(published(Path(folder)) if folder else ()), *simulated()]
    binary = rows(iter(tasks), BINARY, range(2, 3))
    return "\n".join([*binary, "", *rows(iter(tasks), SEVERAL, range(3, 1_000))])
