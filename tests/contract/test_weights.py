"""An integer weight is a repetition of the row, and the unit of weights does not matter."""

from dataclasses import replace

import numpy as np
import pytest

from tests.contract import registry
from tests.contract.comparison import ROUNDING, SEARCHED, outcome, require_same
from tests.contract.data import CASES

WEIGHTED = [
    replace(case, weights="repetitions", cuts="random")
    for case in CASES if case.scores in ("plain", "tied", "infinite")
]  # fmt: skip
FITTED = ("CalibrationLoss", "ExpectedDivergence")
UNITS = {"tiny": 1e-150, "huge": 1e150}
RETURN_WEIGHTS = ("pav_steps", "score_histogram")
DRAWS = "consistency_band"


def with_cases(names):
    chosen = [(name, WEIGHTED[i % 10 :: 10]) for i, name in enumerate(names)]
    chosen = [(name, cases[:2] if name in FITTED else cases) for name, cases in chosen]
    return pytest.mark.parametrize(("name", "cases"), chosen, ids=[*names])


def require_equivalent(compute, case, tolerance, place, repetitions=True, units=True):
    """Compare what is computed of indices and weights that say the same as the case's."""
    counts, whole = case.rows["weights"], np.arange(case.n)
    variants = {"zeros left out": (np.flatnonzero(counts), counts[counts > 0])}
    if units:
        variants |= {f"{name} unit": (whole, counts * unit) for name, unit in UNITS.items()}
    if repetitions:
        rows = np.repeat(whole, counts)
        variants["repetitions"] = rows, np.ones(rows.size)
    expected = outcome(compute, case, whole, counts)
    for name, (index, weights) in variants.items():
        actual = outcome(compute, case, index, weights)
        require_same(actual, expected, tolerance, f"{place}, {name}, of {case}")


@with_cases(registry.METRIC_KINDS)
def test_metrics(name, cases):
    def value(case, index, weights):
        of_rows = registry.of_rows(metric, index, case.columns["fold"])
        return of_rows(case.predictions(index, weights))

    tolerance = SEARCHED if name in FITTED else ROUNDING
    for case in cases:
        metrics = registry.metrics(name, case.predictions(), case.columns["fold"])
        for label, metric in metrics.items():
            require_equivalent(value, case, tolerance, label, not registry.counts_rows(metric))


@with_cases([name for name in registry.CURVE_FUNCTIONS if name != DRAWS])
def test_curves(name, cases):
    def curve(case, index, weights):
        return registry.curve(name, case.predictions(index, weights))

    for case in cases:
        require_equivalent(curve, case, ROUNDING, name, units=name not in RETURN_WEIGHTS)


@with_cases(registry.CALIBRATOR_KINDS)
def test_calibrators(name, cases):
    def transformed(case, index, weights):
        data, new = case.predictions(index, weights), case.predictions(slice(0, 50))
        return registry.fit_and_transform(calibrator, data, new)

    for case in cases:
        for calibrator in registry.calibrators(name, case.n_classes):
            repetitions = not registry.counts_rows(calibrator)
            require_equivalent(transformed, case, SEARCHED, calibrator, repetitions)
