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
OF_ONE_UNIT = ("pav_steps", "score_histogram", "consistency_band")  # return weights, or draw


def with_cases(names):
    chosen = [(name, WEIGHTED[i % 10 :: 10]) for i, name in enumerate(names)]
    chosen = [(name, cases[:2] if name in FITTED else cases) for name, cases in chosen]
    return pytest.mark.parametrize(("name", "cases"), chosen, ids=[*names])


def require_equivalent(compute, case, tolerance, place, repetitions=True, units=True):
    """Compare what is computed of an index and weights that say the same as the case's."""
    counts, whole = case.rows["weights"], np.arange(case.n)
    variants = {"zeros left out": (np.flatnonzero(counts), counts[counts > 0])}
    if units:
        variants |= {f"{name} unit": (whole, counts * unit) for name, unit in UNITS.items()}
    if repetitions:
        rows = np.repeat(whole, counts)
        variants["repetitions"] = rows, np.ones(rows.size)
    expected = outcome(lambda: compute(whole, counts))
    for name, (index, weights) in variants.items():
        actual = outcome(lambda index=index, weights=weights: compute(index, weights))
        require_same(actual, expected, tolerance, f"{place}, {name}, of {case}")


@with_cases(registry.METRIC_KINDS)
def test_metrics(name, cases):
    tolerance = SEARCHED if name in FITTED else ROUNDING
    for case in cases:
        folds = case.columns["fold"]
        for label, metric in registry.metrics(name, case.predictions(), folds).items():

            def value(index, weights, case=case, metric=metric, folds=folds):
                of_rows = registry.of_rows(metric, index, folds)
                return of_rows(case.predictions(index, weights))

            require_equivalent(value, case, tolerance, label, not registry.counts_rows(metric))


@with_cases([name for name in registry.CURVE_FUNCTIONS if name != "consistency_band"])
def test_curves(name, cases):
    for case in cases:

        def curve(index, weights, case=case):
            return registry.curve(name, case.predictions(index, weights))

        require_equivalent(curve, case, ROUNDING, name, units=name not in OF_ONE_UNIT)


@with_cases(registry.CALIBRATOR_KINDS)
def test_calibrators(name, cases):
    for case in cases:
        for calibrator in registry.calibrators(name, case.n_classes):

            def transformed(index, weights, case=case, calibrator=calibrator):
                new = case.predictions(slice(0, 50))
                return calibrator.fit(case.predictions(index, weights)).transform(new)

            repetitions = not registry.counts_rows(calibrator)
            require_equivalent(transformed, case, SEARCHED, calibrator, repetitions)
