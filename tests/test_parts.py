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
from fastpsr.plans import Collect
from tests import partitions

drawn = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(hypothesis.Phase.generate,),  # cases are small, and say what they are
    suppress_health_check=list(HealthCheck),
)
nasty = pytest.mark.parametrize("name", partitions.NASTY)

#: What depends on counts and ranks alone: without weights, equal bit by bit.
COUNTED = {
    "EER", "MinDCF", "MinCllr", "AUC", "PavPosterior", "DevPAV", "BayesRisk", "ActDCF",
    "roc", "pav_steps", "bayes_error", "tippett", "score_histogram", "risk_curve", "PAV",
}  # fmt: skip
#: What needs all samples, all cells, or all scores of the minority at once, beyond the budget.
REFUSED = {
    "AUC", "roc", "tippett", "ECE", "DevPAV", "EER", "MinDCF", "MinCllr", "PavPosterior",
    "bayes_error", "empirical_cross_entropy", "pav_steps", "divergence_curve", "consistency_band",
}  # fmt: skip
REFUSAL = "FASTPSR_MEMORY"
#: What holds all rows at a time, within the budget.
COLLECTED: set[str] = set()
Collect_add = Collect.add


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
    if tolerance == 0.0:  # -0.0 and 0.0 are one score
        assert np.array_equal(a, b, equal_nan=True), f"{what}: {a} in memory, {b} in parts"
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
    """Set the memory budget of a case, and yield a list of what holds all rows at once."""
    collected = []

    def add(step, accumulator, prepared, part):
        collected.append(step.what)
        return Collect_add(step, accumulator, prepared, part)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Collect, "add", add)
        if case.budget is None:
            patch.delenv("FASTPSR_MEMORY", raising=False)
        else:
            patch.setenv("FASTPSR_MEMORY", case.budget)
        yield collected


def in_both(case, name, call, tolerance):
    """Call with the data in memory and in parts, and compare; no more than three parts alive."""
    one = outcome(lambda: call(case.memory, case.ids))
    case.counters.clear()
    with budget_of(case) as collected:
        other = outcome(lambda: call(case.parts(), {name: name for name in case.ids}))
    assert not collected or name in COLLECTED, f"{name} holds all rows for {collected[0]}"
    assert collected or case.most_alive <= 3, "more than three parts at a time"
    compare(case, name, one, other, tolerance)


# Metrics


def tolerance_of(name, case):
    """Return how far values may be apart, over the larger of 1 and the value."""
    if name in COUNTED and case.weights == "none":
        return 0.0
    return {"CalibrationLoss": 1e-9, "ExpectedDivergence": 1e-9}.get(name, 1e-12)


def check_metric(kind, case):
    for metric, in_parts in zip(
        kind.examples(case.memory), kind.examples(case.parts()), strict=True
    ):
        tolerance = tolerance_of(kind.__name__, case)
        if metric.unit == "percent":
            tolerance *= 100.0
        if hasattr(metric, "c_miss"):  # what a rate is multiplied by
            tolerance *= float(metric.normalized_cost(1.0, 1.0))

        def call(data, ids, metric=metric, in_parts=in_parts):
            return (metric if isinstance(data, fp.Predictions) else in_parts)(data)

        in_both(case, kind.__name__, call, tolerance)


@nasty
@pytest.mark.parametrize("kind", METRICS, ids=lambda kind: kind.__name__)
def test_metrics(kind, name):
    check_metric(kind, partitions.NASTY[name])


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


@nasty
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.__name__)
def test_curves(curve, name):
    check_curve(curve, partitions.NASTY[name])


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


@nasty
@pytest.mark.parametrize("kind", CALIBRATORS.values(), ids=lambda kind: kind.__name__)
def test_calibrators(kind, name):
    check_calibrator(kind, partitions.NASTY[name])


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


@nasty
@pytest.mark.parametrize("kind", TRAININGS, ids=lambda kind: kind.__name__)
def test_trainings(kind, name):
    case = partitions.NASTY[name]
    if case.form in ("predictions", "functions"):
        case = partitions.changed(case, form="pairs")  # folds and groups are columns
    check_training(kind, case)


# Resampling


def resampling(kind, ids):
    """Return a resampling of a class, with one unit or a pair of speakers if it takes ids."""
    needed = [field for field in fields(kind) if field.default is MISSING]
    names = ("unit",) if len(needed) == 1 else ("left", "right")
    return kind(*(ids[name] for name in names[: len(needed)]))


#: Drawn as counts of cells, the same in parts.
DRAWN_AS_COUNTS = {"EER", "MinDCF", "AUC"}
RESAMPLED = (
    fp.CrossEntropy(), fp.EER(), fp.MinDCF(0.1), fp.ActDCF(0.1), fp.AUC(), fp.Cllr(), fp.ECE(),
    fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
)  # fmt: skip


@nasty
@pytest.mark.parametrize("kind", RESAMPLINGS, ids=lambda kind: kind.__name__)
def test_resampling(kind, name):
    case = partitions.NASTY[name]
    if case.form in ("predictions", "functions"):
        case = partitions.changed(case, form="pairs")
    for metric in RESAMPLED:
        called = f"{type(metric).__name__}"

        def replicates(data, ids, metric=metric):
            options = {"n_resamples": 40, "seed": 3, "resampling": resampling(kind, ids)}
            found = fp.bootstrap(metric, data, **options)
            return [found.value, *found.replicates]

        if fields(kind) or (case.weights == "none" and called in DRAWN_AS_COUNTS):
            in_both(case, called, replicates, max(tolerance_of(called, case), 1e-12))
            continue
        # rows are drawn within parts, as many as a multinomial gives each: other draws
        one = outcome(lambda call=replicates: call(case.memory, case.ids))
        with budget_of(case):
            other = outcome(lambda call=replicates: call(case.parts(), {n: n for n in case.ids}))
        if isinstance(one, ValueError) or isinstance(other, ValueError):
            require_same_failure(one, other)
            continue
        require_equal(one[0], other[0], tolerance_of(called, case) or 1e-15, called)
        a, b = np.array(one[1:]), np.array(other[1:])
        if np.isfinite(a).all() and np.isfinite(b).all():
            error = np.sqrt((a.var() + b.var()) / a.size)
            assert abs(a.mean() - b.mean()) <= 5.0 * error + 1e-9


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


@pytest.mark.parametrize("kind", RESAMPLINGS, ids=lambda kind: kind.__name__)
def test_replicates_have_values(kind):
    chosen = resampling(kind, SIMPLE.ids)
    results = fp.bootstrap(
        {str(i): metric for i, metric in enumerate(RESAMPLED[:-1])}, SIMPLE.memory,
        n_resamples=40, seed=3, resampling=chosen,
    )  # fmt: skip
    for result in results:
        assert not np.isnan(result.replicates).all()


# Reads


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [200, 17_000])
@pytest.mark.parametrize("weights", ["none", "fractions"])
def test_evaluate_reads_the_data_for_facts_and_three_times(n_classes, n, weights):
    kind = "logits" if n_classes == 2 else "logit_rows"
    case = partitions.Case(
        kind, n, n_classes, weights=weights, form="functions", layout="many parts"
    )
    data = case.parts()
    (counter,) = case.counters
    table = fp.evaluate(data)
    sampled = 1  # a few parts, looked at beforehand
    assert max(counter.calls.values()) <= 1 + 3 + sampled
    assert sum(counter.calls.values()) <= (1 + 3) * case.n_parts + 16
    assert counter.most_alive <= 3
    expected = fp.evaluate(case.memory)
    assert table.n_samples == expected.n_samples == n
    for row in expected.rows:
        require_equal(row.value, table[row.metric], 1e-7, row.metric)


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
