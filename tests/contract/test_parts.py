"""Data in parts have the values of the same data in memory.

Unweighted counts and ranks are equal bit by bit, sums within 1e-12, fits as closely as they are
promised.
"""

import pytest

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import OPTIMUM, ROUNDING, SEARCHED, outcome, require_same
from tests.contract.data import CASES, LARGE, Case

#: What depends on counts and ranks alone: without weights, equal bit by bit.
COUNTED = {
    "EER", "MissRate", "FalseAlarmRate", "Threshold", "MinDCF", "MinCllr", "AUC", "PavPosterior",
    "DevPAV", "BayesRisk", "ActDCF", "MinADCF", "MinTDCF", "ActADCF", "roc", "pav_steps",
    "bayes_error", "tippett", "score_histogram", "risk_curve", "PAV",
}  # fmt: skip
FITTED = ("CalibrationLoss", "ExpectedDivergence")


def with_cases(names):
    """Parametrize by names, each with some of the cases: all of these in turn."""
    chosen = []
    for i, name in enumerate(names):
        few = CASES[i::40] if name in FITTED else CASES[i % 8 :: 8]
        large = [LARGE[i % len(LARGE)]] if name != "ExpectedDivergence" else []  # slow
        chosen.append((name, few + large))
    return pytest.mark.parametrize(("name", "cases"), chosen, ids=[*names])


def tolerance_of(name, case):
    if name in COUNTED and case.weights == "none":
        return 0.0
    return OPTIMUM if name in FITTED else ROUNDING


def tolerance_of_fit(calibrator, case):
    if hasattr(calibrator, "rule"):
        return OPTIMUM if isinstance(calibrator.rule, fp.rules.Log) else SEARCHED
    return tolerance_of(type(calibrator).__name__, case)


@with_cases(registry.METRIC_KINDS)
def test_metrics(name, cases):
    for case in cases:
        data = case.predictions()
        spoof = registry.METRIC_KINDS["MinADCF"].examples(data)[0].spoof
        parts = case.parts(case.columns | {"spoof": spoof})
        metrics_of_parts = registry.metrics(name, parts)
        for label, metric in registry.metrics(name, data).items():
            expected, actual = outcome(metric, data), outcome(metrics_of_parts[label], parts)
            tolerance = tolerance_of(name, case) * (100.0 if metric.unit == "percent" else 1.0)
            require_same(actual, expected, tolerance, f"{label} of {case}")


@with_cases(registry.CURVE_FUNCTIONS)
def test_curves(name, cases):
    for case in cases:
        expected = outcome(registry.curve, name, case.predictions())
        actual = outcome(registry.curve, name, case.parts())
        require_same(actual, expected, tolerance_of(name, case), str(case))


def in_memory(data):
    return data.compute() if isinstance(data, fp.PartitionedPredictions) else data


def fitted_values(calibrator, data):
    fitted = calibrator.fit(data)
    attributes = {name: getattr(fitted, name) for name in fitted.fitted_names}
    return attributes, in_memory(fitted.transform(data))


@with_cases(registry.CALIBRATOR_KINDS)
def test_calibrators(name, cases):
    for case in cases:
        for calibrator in registry.calibrators(name, case.n_classes):
            expected = outcome(fitted_values, calibrator, case.predictions())
            actual = outcome(fitted_values, calibrator, case.parts())
            tolerance = tolerance_of_fit(calibrator, case)
            require_same(actual, expected, tolerance, f"{calibrator} on {case}")


def cross_fitted(calibrator, data, train):
    return in_memory(fp.cross_fit(calibrator, data, train))


@with_cases(registry.TRAINING_KINDS)
def test_trainings(name, cases):
    for case in cases:
        names = {column: column for column in case.columns}
        data, parts = case.predictions(), case.parts()
        trainings_of_parts = registry.trainings(name, parts, names)
        for i, train in enumerate(registry.trainings(name, data, case.columns)):
            calibrator = (fp.DirectionPreserving(), fp.PAV())[i % 2]
            expected = outcome(cross_fitted, calibrator, data, train)
            actual = outcome(cross_fitted, calibrator, parts, trainings_of_parts[i])
            require_same(actual, expected, 10.0 * OPTIMUM, f"{calibrator}, {train} on {case}")


# Memory and reads

LITTLE = {
    "balanced": Case("logits", "plain", "fractions", n=6_000, cuts="many parts"),
    "rare targets": Case("LLRs", "tied", "zeros", n=9_000, positives=0.02, from_functions=True),
    "3 classes": Case("posteriors of 3 classes", n=9_000, from_functions=True),
}
#: What would hold all scores or rows, or all cells of a balanced set, beyond the budget.
REFUSED = {
    "balanced": {
        "AUC", "AveragePrecision", "DevPAV", "EER", "FalseAlarmRate", "MinADCF", "MinCllr",
        "MinDCF", "MinTDCF", "MissRate", "OneVersusRest", "PAV", "RecallAtPrecision",
        "PavPosterior", "Threshold", "VennAbers", "bayes_error", "empirical_cross_entropy",
        "pav_steps", "precision_recall", "roc", "tippett", "VectorScaling", "MatrixScaling",
    },
    "rare targets": {"VennAbers", "tippett", "VectorScaling", "MatrixScaling"},
    "3 classes": {"DirectionPreserving", "TemperatureScaling", "VectorScaling", "MatrixScaling"},
}  # fmt: skip


def is_fitted(metric):
    return type(metric).__name__ in FITTED


@pytest.mark.parametrize("name", LITTLE)
def test_the_budget_changes_no_result_but_may_refuse(name, monkeypatch):
    case = LITTLE[name]
    spoof = registry.METRIC_KINDS["MinADCF"].examples(case.predictions())[0].spoof
    parts = case.parts(case.columns | {"spoof": spoof})
    expected = registry.everything(parts, is_fitted)
    monkeypatch.setenv("FASTPSR_MEMORY", "20KB")
    for (kind, label), actual in registry.everything(parts, is_fitted).items():
        if kind in REFUSED[name]:
            assert isinstance(actual, fp.ArgumentError), kind
            assert "FASTPSR_MEMORY" in str(actual)
        else:
            values = in_memory(actual), in_memory(expected[kind, label])
            require_same(*values, SEARCHED, f"{kind} {label}")


@pytest.mark.parametrize("name", LITTLE)
def test_default_metrics_read_the_data_at_most_four_times(name):
    case, reads = LITTLE[name], []

    def part(rows):
        reads.append(rows)
        return case.predictions(rows)

    rows = [slice(start, start + 300) for start in range(0, case.n, 300)]
    data = fp.from_parts([lambda r=r: part(r) for r in rows])
    fp.evaluate(data)
    n_reads = [reads.count(r) for r in rows]
    assert max(n_reads[8:]) <= 4  # a sample of the first parts is looked at beforehand
    assert sum(n_reads) <= 4 * len(rows) + 16
