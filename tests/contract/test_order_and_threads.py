"""Neither the order of rows, nor the names of classes, nor the number of threads matters."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import fastpsr as fp
from tests import samples
from tests.contract import registry
from tests.contract.comparison import ROUNDING, SEARCHED, outcome, require_same
from tests.contract.data import CASES, Case

LOG = fp.rules.Log()
FITTED = ("CalibrationLoss", "ExpectedDivergence")
SHUFFLED = [case for case in CASES if case.cuts in ("sorted", "by class", "in ties")]


def with_cases(names):
    chosen = [(name, SHUFFLED[i % 10 :: 10]) for i, name in enumerate(names)]
    return pytest.mark.parametrize(("name", "cases"), chosen, ids=[*names])


def order_of(case):
    return np.random.default_rng(9).permutation(case.n)


# Order


@with_cases(registry.METRIC_KINDS)
def test_order_of_rows_for_metrics(name, cases):
    tolerance = SEARCHED if name in FITTED else ROUNDING
    for case in cases[: 1 if name in FITTED else None]:
        order, folds = order_of(case), case.columns["fold"]
        for label, metric in registry.metrics(name, case.predictions(), folds).items():
            if registry.counts_rows(metric):
                continue  # inner folds follow row numbers
            expected = outcome(metric, case.predictions())
            shuffled = registry.of_rows(metric, order, folds)
            actual = outcome(shuffled, case.predictions(order))
            require_same(actual, expected, tolerance, f"{label} of {case}")


@with_cases([name for name in registry.CURVE_FUNCTIONS if name != "consistency_band"])
def test_order_of_rows_for_curves(name, cases):
    for case in cases:
        expected = outcome(registry.curve, name, case.predictions())
        actual = outcome(registry.curve, name, case.predictions(order_of(case)))
        require_same(actual, expected, ROUNDING, str(case))


@with_cases([name for name in registry.CALIBRATOR_KINDS if name != "Spline"])
def test_order_of_rows_for_calibrators(name, cases):
    for case in cases:
        new = case.predictions(slice(0, 50))
        for calibrator in registry.calibrators(name, case.n_classes):
            if not isinstance(getattr(calibrator, "rule", LOG), fp.rules.Log):
                continue  # a search may end anywhere between optima
            expected, actual = (
                outcome(registry.fit_and_transform, calibrator, data, new)
                for data in (case.predictions(), case.predictions(order_of(case)))
            )
            require_same(actual, expected, SEARCHED, f"{calibrator} on {case}")


# Names of classes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_names_of_classes(n_classes):
    sample = samples.make(n_classes, 150, weights="integer", priors=True)
    label = np.roll(np.arange(n_classes), 1)
    renamed = replace(
        sample, y=label[sample.y], log_q=sample.log_q[:, np.argsort(label)],
        priors=sample.priors[np.argsort(label)],
    )  # fmt: skip
    costs = np.array(samples.COSTS[n_classes])
    folds = np.arange(150) // n_classes % 3
    metrics = [fp.CrossEntropy(), fp.BrierScore(normalized=False), fp.ECE(7, "confidence", 2),
               fp.AUC("macro"), fp.BayesRisk(costs)]  # fmt: skip
    calibrators = [fp.DirectionPreserving(), fp.TemperatureScaling(), fp.VectorScaling()]
    metrics += [fp.CalibrationLoss(fp.rules.Brier(), c, fp.CrossFit(folds)) for c in calibrators]
    for metric in metrics:
        again = (
            replace(metric, costs=costs[np.argsort(label)]) if hasattr(metric, "costs") else metric
        )
        assert again(renamed.predictions) == pytest.approx(metric(sample.predictions), rel=SEARCHED)


# Threads

MANY = [
    Case("LLRs", "tied", "fractions", n=70_001),
    Case("posteriors", n=70_001),
    Case("logits of 3 classes", weights="zeros", n=70_001),
]


def is_slow(metric):
    return registry.counts_rows(metric) or isinstance(metric, fp.ExpectedDivergence)


def everything(case):
    """Return what is computed of a case, by name."""
    data = case.predictions()
    results = registry.everything(data, is_slow)
    metrics = {"NCE": fp.CrossEntropy(), "ECE": fp.ECE(on="confidence"), "AUC": fp.AUC("macro")}
    options = {"n_resamples": 4, "confidence_level": 0.5, "method": "percentile", "seed": 2}
    for name in registry.RESAMPLING_KINDS:
        scheme = registry.resampling(name, case.columns)
        for result in fp.bootstrap(metrics, data, resampling=scheme, **options):
            results[result.name, name] = result.replicates
    return results


@pytest.mark.parametrize("case", MANY, ids=str)
def test_the_number_of_threads_changes_no_bit(case, monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "3")
    with fp.threads(1):
        expected = everything(case)
    require_same(everything(case), expected, 0.0)


def test_calls_from_several_threads_change_no_bit(monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "3")
    case = Case("logits", weights="fractions", n=40_001)
    shared = case.predictions()
    metrics = [fp.CrossEntropy(), fp.EER(), fp.ECE(), fp.CalibrationLoss(LOG, fp.PAV(1e-6)),
               fp.CalibrationLoss(fp.rules.Brier(), fp.DirectionPreserving())]  # fmt: skip
    expected = [metric(case.predictions()) for metric in metrics]
    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(metric, shared) for metric in metrics * 3]
        assert [call.result(60) for call in calls] == expected * 3
