"""Everything over data in parts, compared with the same over the same data in memory.

Goes over the registries: a new metric, curve, calibrator, training or resampling is in it by
itself. Unweighted counts and ranks must be equal bit by bit, sums to 1e-12, fits to what they
promise.
"""

import inspect
import re
import warnings
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS, Resampling
from fastpsr.calibration import CALIBRATORS, TRAININGS, Calibrator, Training
from fastpsr.curves import CURVES
from fastpsr.metrics import METRICS
from fastpsr.plans.watching import watched
from tests import partitions

drawn = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(hypothesis.Phase.generate,),  # cases are small, and say what they are
    suppress_health_check=list(HealthCheck),
)
nasty = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in partitions.SLOW else [])
     for name in partitions.NASTY],
)  # fmt: skip

#: What depends on counts and ranks alone: without weights, equal bit by bit.
COUNTED = {
    "EER", "MissRate", "FalseAlarmRate", "Threshold", "MinDCF", "MinCllr", "AUC", "PavPosterior",
    "DevPAV", "BayesRisk", "ActDCF", "MinADCF", "ActADCF", "roc", "pav_steps", "bayes_error",
    "tippett", "score_histogram", "risk_curve", "PAV",
}  # fmt: skip
#: What needs all samples, all cells, or all scores of the minority at once, beyond the budget.
REFUSED = {
    "AUC", "roc", "tippett", "ECE", "DevPAV", "EER", "MissRate", "FalseAlarmRate", "Threshold",
    "MinDCF", "MinADCF", "MinCllr", "PavPosterior",
    "bayes_error", "empirical_cross_entropy", "pav_steps", "divergence_curve", "consistency_band",
    "Spline", "VennAbers",
}  # fmt: skip
REFUSAL = "FASTPSR_MEMORY"


# Comparing


def outcome(call):
    """Return what a call returns, or the ValueError that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same in parts, or not: said once, not a number
        try:
            return call()
        except ValueError as error:
            return error


def require_same_failure(one, other):
    """Both raise a ValueError, of the same words where these are not about a row or a part."""
    assert isinstance(one, ValueError), f"parts raise {other!r}, memory returns {one!r}"
    assert isinstance(other, ValueError), f"memory raises {one!r}, parts return {other!r}"
    assert _plain(one) == _plain(other)


def _plain(error):
    text = re.sub(r"^data cannot be read, in (row [\d,]+ of )?parts\[\d+\]: ", "", str(error))
    return re.sub(r"row \d+ is .*", "row", text)


def require_equal(one, other, tolerance, what=""):
    """Numbers or arrays agree: bit by bit if the tolerance is 0."""
    one, other = np.asarray(one, dtype=object), np.asarray(other, dtype=object)
    assert one.shape == other.shape, f"{what}: shape {one.shape} in memory, {other.shape} in parts"
    if one.size == 0:
        return
    if not isinstance(one.flat[0], (float, int, np.number)):
        assert one.tolist() == other.tolist(), what
        return
    a, b = one.astype(np.float64), other.astype(np.float64)
    if tolerance == 0.0:
        assert np.array_equal(a, b, equal_nan=True), f"{what}: {a} in memory, {b} in parts"
        if not re.search("threshold|scores", what):  # -0.0 and 0.0 are one score
            there = ~np.isnan(a)
            assert np.array_equal(np.signbit(a[there]), np.signbit(b[there])), f"{what}: {a}, {b}"
        return
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= tolerance * np.maximum(np.abs(a), 1.0)
    wrong = ~(same | (close & np.isfinite(a) & np.isfinite(b)))
    assert not wrong.any(), f"{what}: {a[wrong]} in memory, {b[wrong]} in parts"


def compare(case, name, one, other, tolerance):
    """Compare what memory and parts give, refusals and errors included."""
    if isinstance(other, ValueError) and REFUSAL in str(other):
        assert case.budget is not None, other
        assert name in REFUSED, other
        return
    if isinstance(one, ValueError) or isinstance(other, ValueError):
        require_same_failure(one, other)
        return
    require_fields_equal(one, other, tolerance, name)


def require_fields_equal(one, other, tolerance, what):
    """Compare numbers, arrays, predictions, or the fields of dataclasses."""
    assert type(one) is type(other), (one, other)
    if isinstance(one, fp.Predictions):
        require_equal(one.scores, other.scores, tolerance, what)
        assert one.kind == other.kind
        assert np.array_equal(one.y_true, other.y_true)
    elif is_dataclass(one):
        for field in fields(one):
            a, b = getattr(one, field.name), getattr(other, field.name)
            require_fields_equal(a, b, tolerance, f"{what}.{field.name}")
    else:
        require_equal(one, other, tolerance, what)


@contextmanager
def budget_of(case):
    """Set the memory budget of a case."""
    with pytest.MonkeyPatch.context() as patch:
        if case.budget is None:
            patch.delenv("FASTPSR_MEMORY", raising=False)
        else:
            patch.setenv("FASTPSR_MEMORY", case.budget)
        yield


def in_both(case, name, call, tolerance):
    """Call with the data in memory and in parts, and compare; no more than three parts alive."""
    one = outcome(lambda: call(case.memory, case.ids))
    case.counters.clear()
    with budget_of(case):
        other = outcome(lambda: call(case.parts(), {name: name for name in case.ids}))
    assert case.most_alive <= 3, "more than three parts at a time"
    compare(case, name, one, other, tolerance)


# Metrics


def tolerance_of(name, case):
    """Return how far values may be apart, over the larger of 1 and the value."""
    if name in COUNTED and case.weights == "none":
        return 0.0
    return {"CalibrationLoss": 1e-9, "ExpectedDivergence": 1e-9}.get(name, 1e-12)


def check_metric(kind, case):
    if "spoof" in inspect.signature(kind).parameters:
        case = partitions.with_columns(case)
    for metric, in_parts in zip(
        kind.examples(case.memory), kind.examples(case.parts()), strict=True
    ):
        tolerance = tolerance_of(kind.__name__, case)
        if metric.unit == "percent":
            tolerance *= 100.0
        if hasattr(metric, "spoof"):
            tolerance *= metric.normalized(1.0, 1.0, 1.0)

        def call(data, ids, metric=metric, in_parts=in_parts):
            return (metric if isinstance(data, fp.Predictions) else in_parts)(data)

        in_both(case, kind.__name__, call, tolerance)


@pytest.mark.in_turn(6)
@nasty
@pytest.mark.parametrize("kind", METRICS, ids=lambda kind: kind.__name__)
def test_metrics(kind, name):
    check_metric(kind, partitions.NASTY[name])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("kind", METRICS, ids=lambda kind: kind.__name__)
def test_metrics_of_drawn_cases(kind):
    @drawn
    @given(partitions.cases())
    def check(case):
        check_metric(kind, case)

    check()


# Curves


def check_curve(curve, case):
    options = CURVES[curve](case.n_classes)
    name = curve.__name__
    in_both(case, name, lambda data, ids: curve(data, **options), tolerance_of(name, case))


@pytest.mark.in_turn(3)
@nasty
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.__name__)
def test_curves(curve, name):
    check_curve(curve, partitions.NASTY[name])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.__name__)
def test_curves_of_drawn_cases(curve):
    @drawn
    @given(partitions.cases())
    def check(case):
        check_curve(curve, case)

    check()


# Calibrators


def calibrators(kind):
    """Return calibrators of a class, with options that it has."""
    made = [kind()]
    options = inspect.signature(kind).parameters
    if "rule" in options:
        made.append(kind(rule=fp.rules.Brier()))
    if "floor" in options:
        made.append(kind(floor=1e-3))
    if "prior" in options:
        made.append(kind(prior=0.05))
    return made


def tolerance_of_fit(calibrator, case):
    if not hasattr(calibrator, "rule"):
        return tolerance_of(type(calibrator).__name__, case)
    return 1e-9 if isinstance(calibrator.rule, fp.rules.Log) else 1e-6


def check_calibrator(kind, case):
    for calibrator in calibrators(kind):
        tolerance = tolerance_of_fit(calibrator, case)

        def fitted(data, ids, calibrator=calibrator):
            made = calibrator.fit(data)
            return [getattr(made, name) for name in (*made.fitted_names, "domain_")]

        def mapped(data, ids, calibrator=calibrator):
            made = calibrator.fit(data).transform(data)
            return made if isinstance(made, fp.Predictions) else made.compute()

        one = outcome(lambda: fitted(case.memory, {}))
        with budget_of(case):
            other = outcome(lambda: fitted(case.parts(), {}))
        if isinstance(one, list) and isinstance(other, list):
            for name, a, b in zip((*calibrator.fitted_names, "domain_"), one, other, strict=True):
                require_equal(a, b, tolerance, name)
        else:
            compare(case, kind.__name__, one, other, tolerance)
        in_both(case, kind.__name__, mapped, tolerance)


@pytest.mark.in_turn(6)
@nasty
@pytest.mark.parametrize("kind", CALIBRATORS.values(), ids=lambda kind: kind.__name__)
def test_calibrators(kind, name):
    check_calibrator(kind, partitions.NASTY[name])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("kind", CALIBRATORS.values(), ids=lambda kind: kind.__name__)
def test_calibrators_of_drawn_cases(kind):
    @drawn
    @given(partitions.cases())
    def check(case):
        check_calibrator(kind, case)

    check()


# Trainings


def trainings(kind, data, ids):
    """Return trainings of a class, with ids where it takes these."""
    made = kind.examples(data)
    options = inspect.signature(kind).parameters
    if "groups" in options:
        made += [kind(groups=ids["unit"], seed=2), kind(4, groups=(ids["left"], ids["right"]))]
    if "folds" in options:
        made.append(kind(ids["fold"]))
    return made


def check_training(kind, case):
    for calibrator in (fp.DirectionPreserving(), fp.PAV()):
        for place in range(len(trainings(kind, case.memory, case.ids))):

            def calibrated(data, ids, place=place, calibrator=calibrator):
                made = fp.cross_fit(calibrator, data, trainings(kind, data, ids)[place])
                return made if isinstance(made, fp.Predictions) else made.compute()

            in_both(case, kind.__name__, calibrated, tolerance_of_fit(calibrator, case))


@pytest.mark.in_turn(3)
@nasty
@pytest.mark.parametrize("kind", TRAININGS, ids=lambda kind: kind.__name__)
def test_trainings(kind, name):
    case = partitions.NASTY[name]
    case = partitions.with_columns(case)
    check_training(kind, case)


# Resampling


def resampling(kind, ids):
    """Return a resampling of a class, with one unit or a pair of speakers if it takes ids."""
    needed = [field for field in fields(kind) if field.default is MISSING]
    names = ("unit",) if len(needed) == 1 else ("left", "right")
    return kind(*(ids[name] for name in names[: len(needed)]))


#: Counts of cells alone: drawn as such, the same draws in parts.
DRAWN_AS_COUNTS = COUNTED & {kind.__name__ for kind in METRICS} - {"DevPAV", "Threshold"}
RESAMPLED = [
    partitions.NASTY["LLRs without a prior, one class in a part"],
    partitions.NASTY["LLRs, weights, given prior"],
    partitions.NASTY["posteriors, infinite, weights"],
    partitions.NASTY["rows of two"],
    partitions.NASTY["raw scores"],
    partitions.NASTY["3 classes, logits, weights"],
    partitions.NASTY["5 classes, likelihoods"],
    partitions.Case("logits", 400, minority=0.05, budget="5KB"),
]
#: With values of all metrics, whose replicates have a law to be compared.
LAWFUL = [
    partitions.Case(n=300, priors=True, seed=9),
    partitions.Case(n=300, priors=True, seed=9, weights="fractions", layout="by class"),
]


def is_drawn_as_counts(name, case):
    """Whether replicates are of counts alone; LLRs that follow frequencies cross thresholds."""
    has_counts = name in DRAWN_AS_COUNTS and case.weights == "none"
    return has_counts and (name not in ("ActDCF", "ActADCF") or case.memory.has_fixed_llrs)


#: What parts share, and is drawn as in memory; rows are drawn within parts.
SHARED = (fp.Clusters, fp.TwoWay)


def examples_of(metric_kinds, data):
    """Name -> metric, at most two of each class."""
    return {
        f"{kind.__name__} {number}": metric
        for kind in metric_kinds
        for number, metric in enumerate(kind.examples(data)[:2])
    }


def check_replicates(kind, metric_kinds, case, n_resamples, method="auto"):
    """Compare replicates drawn in memory and in parts: the same, or of the same law.

    Those of all metrics are drawn together; alone, where one of them has none.
    """
    columns = {name: name for name in case.ids}
    here, there = (examples_of(metric_kinds, data) for data in (case.memory, case.parts()))

    def drawn(metrics, names, data, ids):
        results = fp.bootstrap(
            {name: metrics[name] for name in names}, data, resampling=resampling(kind, ids),
            n_resamples=n_resamples, confidence_level=0.5, seed=3, method=method,
        )  # fmt: skip
        return {each.name: [each.value, *each.replicates] for each in results}

    def check(names):
        one = outcome(lambda: drawn(here, names, case.memory, case.ids))
        case.counters.clear()
        with budget_of(case):
            other = outcome(lambda: drawn(there, names, case.parts(), columns))
        assert case.most_alive <= 3, "more than three parts at a time"
        if isinstance(one, dict) and isinstance(other, dict):
            for name in names:
                require_same_draws(kind, case, here[name], one[name], other[name])
        elif len(names) > 1:
            for name in names:
                check([name])
        else:
            compare(case, type(here[names[0]]).__name__, one, other, 0.0)

    have_values, have_none = [], []
    for name, metric in here.items():
        has_value = not isinstance(outcome(lambda m=metric: m(case.memory)), ValueError)
        (have_values if has_value else have_none).append(name)
    for names in (have_values, *([name] for name in have_none)):
        check(names)


def require_same_draws(kind, case, metric, one, other):
    """Compare the value and its replicates, in memory and in parts."""
    name = type(metric).__name__
    tolerance = tolerance_of(name, case) * (100.0 if metric.unit == "percent" else 1.0)
    if kind in SHARED or (kind is not fp.Nested and is_drawn_as_counts(name, case)):
        require_equal(one, other, tolerance, name)
        return
    # rows are drawn within parts, as many as a multinomial gives each: other draws
    require_equal(one[0], other[0], tolerance, name)
    if case in LAWFUL:
        require_same_law(np.array(one[1:]), np.array(other[1:]), name)


def require_same_law(a, b, name):
    """Means within 5 standard errors, and spreads alike."""
    error = np.sqrt((a.var() + b.var()) / a.size)
    assert abs(a.mean() - b.mean()) <= 5.0 * error, name
    # the logarithm of the ratio for normal values has about this standard error
    assert abs(np.log(a.std() / b.std())) <= 5.0 / np.sqrt(a.size - 1), name


#: Where the method is "auto", units are left out too, and fits to the others take long.
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("method", ["percentile", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", RESAMPLED, ids=repr)
@pytest.mark.parametrize("kind", RESAMPLINGS, ids=lambda kind: kind.__name__)
def test_resampling(kind, case, method):
    check_replicates(kind, METRICS, partitions.with_columns(case), 4, method)


#: Replicates that are fits to all folds, and are compared in smaller numbers.
REFITTED = (fp.ExpectedDivergence,)
#: One metric of each way to draw without fits: losses, bins, order statistics and ranks.
QUICK = (fp.BrierScore, fp.ECE, fp.DevPAV, fp.AUC)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", RESAMPLINGS, ids=lambda kind: kind.__name__)
def test_laws_of_replicates(kind):
    check_replicates(kind, QUICK, LAWFUL[1], 8 if kind in SHARED else 400, "percentile")


@pytest.mark.slow
@pytest.mark.parametrize("case", LAWFUL, ids=["equal weights", "weights"])
@pytest.mark.parametrize("kind", RESAMPLINGS, ids=lambda kind: kind.__name__)
def test_laws_of_replicates_of_all_metrics(kind, case):
    others = [metric for metric in METRICS if metric not in REFITTED]
    check_replicates(kind, others, case, 8 if kind in SHARED else 400, "percentile")
    check_replicates(kind, REFITTED, case, 8 if kind in SHARED else 60, "percentile")


# What is compared are values, not only refusals


SIMPLE = partitions.Case(n=300, priors=True, seed=9)


@pytest.mark.parametrize("kind", METRICS, ids=lambda kind: kind.__name__)
def test_metrics_have_values(kind):
    for metric in kind.examples(SIMPLE.memory):
        assert not np.isnan(metric(SIMPLE.memory))


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.__name__)
def test_curves_have_values(curve):
    assert is_dataclass(curve(SIMPLE.memory, **CURVES[curve](2)))


@pytest.mark.parametrize("kind", CALIBRATORS.values(), ids=lambda kind: kind.__name__)
def test_calibrators_can_be_fitted(kind):
    for calibrator in calibrators(kind):
        assert calibrator.fit(SIMPLE.memory).transform(SIMPLE.memory).scores.size == 300


@pytest.mark.parametrize("kind", TRAININGS, ids=lambda kind: kind.__name__)
def test_trainings_can_be_used(kind):
    for train in trainings(kind, SIMPLE.memory, SIMPLE.ids):
        assert fp.cross_fit(fp.PAV(), SIMPLE.memory, train).scores.size == 300


@pytest.mark.filterwarnings("ignore:few samples or speakers determine:RuntimeWarning")
@pytest.mark.parametrize("kind", RESAMPLINGS, ids=lambda kind: kind.__name__)
def test_replicates_have_values(kind):
    chosen = resampling(kind, SIMPLE.ids)
    results = fp.bootstrap(
        {kind.__name__: kind.examples(SIMPLE.memory)[0] for kind in METRICS}, SIMPLE.memory,
        n_resamples=40, seed=3, resampling=chosen, method="percentile",
    )  # fmt: skip
    for result in results:
        assert not np.isnan(result.replicates).all()


# Reads


def read_by(data, call):
    """Return what a call returns, and how often it reads all parts."""
    reads = set()

    def see(progress):
        if not progress.is_sample:
            reads.add(progress.read)

    with watched(see):
        return call(data), len(reads)


def case_of_reads(n_classes, n, weights, layout="many parts"):
    kind = "logits" if n_classes == 2 else "logit_rows"
    return partitions.Case(kind, n, n_classes, weights=weights, form="functions", layout=layout)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [200, 17_000])
@pytest.mark.parametrize("weights", ["none", "fractions"])
def test_evaluate_reads_the_data_for_facts_and_two_or_three_times(n_classes, n, weights):
    case = case_of_reads(n_classes, n, weights)
    data = case.parts()
    (counter,) = case.counters
    table, n_reads = read_by(data, fp.evaluate)
    # weighted scores: those of the minority, the cells between them, and what PAV makes of all
    most = 1 + (3 if weights == "fractions" and n_classes == 2 else 2)
    assert n_reads <= most
    assert max(counter.calls.values()) <= most + 1  # few parts are sampled beforehand
    assert sum(counter.calls.values()) <= most * case.n_parts + 16
    assert counter.most_alive <= 3
    expected = fp.evaluate(case.memory)
    assert table.n_samples == expected.n_samples == n
    for row in expected.rows:
        require_equal(row.value, table[row.metric], 1e-7, row.metric)


@pytest.mark.parametrize(("n_classes", "n"), [(2, 200), (3, 3_000)])
def test_fits_beyond_the_budget_take_a_read_for_each_step(monkeypatch, n_classes, n):
    metric = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving())
    case = case_of_reads(n_classes, n, "fractions")
    value, n_reads = read_by(case.parts(), metric)
    monkeypatch.setenv("FASTPSR_MEMORY", "10KB")
    other, n_steps = read_by(case.parts(), metric)
    assert n_reads == 3 < n_steps
    require_equal(metric(case.memory), value, 1e-12)
    require_equal(value, other, 1e-9)


def test_registries_hold_all_there_are():
    """Every public class of these kinds is in its registry."""
    public = [getattr(fp, name) for name in fp.__all__]
    for base, registry in (
        (fp.metrics.Metric, METRICS),
        (Calibrator, CALIBRATORS.values()),
        (Training, TRAININGS),
        (Resampling, RESAMPLINGS),
    ):
        found = {x for x in public if inspect.isclass(x) and issubclass(x, base)}
        assert found == set(registry)
    functions = {getattr(fp.curves, name) for name in fp.curves.__all__}
    assert functions == set(CURVES)


def test_functions_of_parts_take_the_priors_of_the_whole():
    rng = np.random.default_rng(0)
    y = (np.arange(300) % np.where(np.arange(300) < 100, 2, 7) == 0).astype(
        int
    )  # parts have other frequencies than the whole
    llrs = rng.normal(size=300) + 2.0 * y - 1.0

    def made(rows):
        return fp.Predictions.from_llrs(y[rows], llrs[rows])

    def looked_at(part):
        again = fp.Predictions.from_llrs(part.y_true, part.llrs)
        assert np.isfinite(again.log_odds).all()
        return again

    whole, parts = made(slice(None)), fp.from_parts([made(slice(0, 100)), made(slice(100, 300))])
    mapped = parts.map(looked_at)
    for metric in (fp.CrossEntropy(), fp.BrierScore(), fp.ECE()):
        expected = metric(whole)
        np.testing.assert_allclose([metric(mapped), metric(mapped.compute())], expected, rtol=1e-12)
