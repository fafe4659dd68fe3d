"""`fp.evaluate` of one system: metrics, notes, warnings, intervals, and the result's fields."""

import functools
import json
import math
import warnings

import numba
import numpy as np
import pytest

import fastpsr as fp
from tests.evaluations import refusal

INF = np.inf
LOG = fp.rules.Log()
RCL = fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.CrossFit(5, seed=0))


def sample(K=2, n=300, seed=0, **options):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return fp.Predictions.from_logits(y, rng.normal(size=(n, K)) + np.eye(K)[y], **options)


def detector(kind="likelihoods", sign=1.0):
    """Scores of 100 samples of overlapping classes; with a sign of -1 they are reversed."""
    y = np.arange(100) % 2
    scores = sign * (np.random.default_rng(0).normal(size=100) + 2.0 * y - 1.0)
    make = {
        "posteriors": fp.Predictions.from_logits,
        "likelihoods": fp.Predictions.from_llrs,
        "raw scores": fp.Predictions.from_raw_scores,
    }[kind]
    return make(y, scores)


# Metrics of a table


def metric_of(name, n_classes):
    return {
        "NCE": fp.CrossEntropy(), "NBS": fp.BrierScore(), "RCL": RCL, "ECE": fp.ECE(15),
        "NRisk zero-one": fp.BayesRisk(1.0 - np.eye(n_classes)), "EER": fp.EER(),
        "RCL bound": fp.CalibrationLoss(LOG, fp.PAV(), fp.TrainOnTest()), "Cllr": fp.Cllr(),
        "ECEmc": fp.ECE(15, on="confidence"), "minDCF(0.01)": fp.MinDCF(0.01),
        "actDCF(0.01)": fp.ActDCF(0.01), "minCllr": fp.MinCllr(), "AUC": fp.AUC(),
    }[name]  # fmt: skip


OF_POSTERIORS = ["NCE", "NBS", "NRisk zero-one", "RCL", "RCL bound", "ECE", "ECEmc"]
OF_CLASSES = ["NCE", "NBS", "NRisk zero-one", "RCL", "ECEmc"]
OF_LLRS = ["EER", "minDCF(0.01)", "actDCF(0.01)", "Cllr", "minCllr", "AUC", "NCE", "NBS", "RCL"]
OF_RAW_SCORES = ["EER", "minDCF(0.01)", "minCllr", "AUC"]


@pytest.mark.parametrize(
    ("data", "names"),
    [(sample(priors=[1 / 3, 2 / 3]), OF_POSTERIORS), (detector(), OF_LLRS),
     (sample(3, sample_weight=np.linspace(0, 2, 300)), OF_CLASSES),
     (detector("raw scores"), OF_RAW_SCORES)],
)  # fmt: skip
def test_default_table_by_kind(data, names):
    table = fp.evaluate(data)
    assert [row.metric for row in table.rows] == names
    for row in table.rows:
        metric = metric_of(row.metric, data.n_classes)
        assert (table[row.metric], row.unit) == (metric(data), metric.unit)
        assert row.note.startswith(metric.meaning)
        assert table.row(row.metric) is row
    group = table.all_samples
    assert (group.n_samples, group.n_classes, group.n_infinite) == (len(data), data.n_classes, 0)
    assert (group.priors, group.kind) == (tuple(data.priors), data.kind)
    assert (table.intervals, table.differences, table.settings) == (None, (), "")
    with pytest.raises(KeyError, match="'none' is not among"):
        table["none"]


def test_standard_names_do_not_depend_on_the_names_of_a_table():
    metrics = {"a": "NCE", "b": fp.EER(), "c": RCL, "d": "RCL bound", "e": fp.AUC()}
    table = fp.evaluate(detector(), metrics)
    assert [row.role for row in table.rows] == ["NCE", "EER", "RCL", "RCL bound", ""]


def test_metrics_by_name():
    data = detector("posteriors")
    names = [*OF_LLRS, "NRisk zero-one", "RCL bound", "ECE", "ECEmc"]
    table = fp.evaluate(data, names)
    assert [row.metric for row in table.rows] == names
    assert [row.value for row in table.rows] == [metric_of(name, 2)(data) for name in names]
    texts = {"min_dcf": fp.MinDCF(0.01), "cross-entropy": fp.CrossEntropy(), "ROC AUC": fp.AUC()}
    for text, metric in (texts | {"cllr_min": fp.MinCllr()}).items():
        (row,) = fp.evaluate(data, [text]).rows
        assert (row.metric, row.value) == (metric.label, metric(data))
        assert fp.evaluate(data, {"x": text})["x"] == row.value
        assert fp.bootstrap(text, data, n_resamples=40, seed=0).value == row.value
        assert fp.compare(text, data, data, n_resamples=40, seed=0).value == 0.0
    assert "fp.MinDCF(0.1)" in refusal(data, ["minDCF(0.1)"]).remedy
    assert refusal(detector("raw scores"), ["NCE"]).argument == "metrics"


def share_of_targets(predictions):
    return np.float64(predictions.y_true.mean())


def test_names_and_notes_of_custom_metrics():
    share_of_targets.meaning = "targets among all"
    metrics = [fp.CrossEntropy(False), share_of_targets, functools.partial(len)]
    values = [fp.CrossEntropy(False)(sample()), sample().y_true.mean(), 300.0]
    rows = fp.evaluate(sample(), metrics).rows
    assert [row.metric for row in rows[:2]] == ["CE", "share_of_targets"]
    assert "len" in rows[2].metric
    assert [row.value for row in rows] == values
    assert {type(row.value) for row in rows} == {float}
    assert [row.note for row in rows] == [metrics[0].meaning, "targets among all", ""]


def test_invalid_metrics_and_predictions():
    twins = [fp.BayesRisk([[0, 1], [1, 0]]), fp.BayesRisk([[0, 1], [9, 0]])]
    for metrics in ([], {}, ["none"], [None], {"a": "none"}, 5, {1: fp.CrossEntropy()}, twins):
        assert refusal(sample(), metrics).argument == "metrics"
    for predictions in (np.array([0.5, 0.5]), None, {"a": [0.5]}, {}):
        assert refusal(predictions).argument.startswith("predictions")
    assert refusal(fp.Predictions.from_logits(None, [0.0, 1.0])).argument == "y_true"


def refusing(predictions):
    raise ValueError("the moon is not full")


def states(table):
    return {row.metric: row.state for row in table.rows if row.state}


def test_metrics_that_raise_or_return_no_number():
    functions = {"raises": refusing, "word": lambda p: "0.5", "array": lambda p: np.ones(2)}
    functions |= {"nan": lambda p: np.nan, "NCE": fp.CrossEntropy()}
    table = fp.evaluate(sample(), functions, n_resamples=40, seed=0)
    absent = dict.fromkeys(("raises", "word", "array"), "not computed")
    assert states(table) == {**absent, "nan": "undefined"}
    assert table.rows[0].note == "not computed: the moon is not full"
    assert str(table.rows[0].error) == "the moon is not full"
    for row in table.rows[:4]:
        assert math.isnan(row.value)
        assert (row.low, row.high, row.n_undefined) == (None, None, 0)
    assert table.rows[4].low < table["NCE"] == fp.CrossEntropy()(sample()) < table.rows[4].high
    with pytest.raises(ZeroDivisionError):  # a mistake in a metric is not hidden
        fp.evaluate(sample(), {"a": lambda p: 1 / 0})


def test_data_that_some_metrics_cannot_be_computed_of():
    y = np.arange(40) % 2
    separable = fp.evaluate(fp.Predictions.from_logits(y, 4.0 * y - 2.0 + np.arange(40) / 100))
    assert states(separable) == {"RCL": "not computed"}
    assert separable["RCL bound"] == 100.0
    few = fp.evaluate(fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]))
    assert states(few) == {"RCL": "not computed"}
    assert "folds" in few.row("RCL").note
    no_prior = fp.Predictions.from_logits(y, detector().llrs[:40], priors=[0.0, 1.0])
    assert states(fp.evaluate(no_prior))["RCL"] == "not computed"
    one_class = fp.evaluate(fp.Predictions.from_llrs([0, 0, 0], [0.1, 0.2, 0.7]))
    assert {"NCE", "NBS", "RCL", "EER"} <= states(one_class).keys()
    assert one_class.all_samples.priors == (1.0, 0.0)
    raw = fp.evaluate(detector("raw scores"), [fp.CrossEntropy()]).rows[0]
    assert raw.state == "not computed"


INFINITE = {
    "posteriors": fp.Predictions.from_posteriors([0, 1, 1, 0, 1], [1.0, 0.0, 1.0, 0.5, 0.0]),
    "log-odds": fp.Predictions.from_logits([0, 1, 1, 0, 1], [INF, -INF, INF, -2.0, 3.0]),
    "LLRs": fp.Predictions.from_llrs([0, 1, 1, 0, 1], [-INF, -INF, INF, 2.0, -INF]),
}


@pytest.mark.filterwarnings("ignore:the fitted scale")
@pytest.mark.parametrize("kind", INFINITE)
def test_infinite_losses_are_counted_and_explained(kind):
    rcl = fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.TrainOnTest())
    table = fp.evaluate(INFINITE[kind], {"NCE": fp.CrossEntropy(), "RCL": rcl, "NBS": "NBS"})
    count = {"posteriors": 3, "log-odds": 2, "LLRs": 2}[kind]
    assert table.all_samples.n_infinite == count
    assert str(count) in str(table.all_samples)
    nce, rcl_row, nbs = table.rows
    assert (nce.value, nce.state) == (INF, "infinite")
    assert str(count) in nce.note
    assert ("floor" in nce.error.remedy) == (kind != "LLRs")
    assert math.isfinite(nbs.value)
    if kind == "LLRs":
        assert (rcl_row.state, rcl_row.error.pass_) == ("undefined", {"floor": 1e-3})
    else:  # the calibrator makes the score finite
        assert rcl_row.value == 100.0
        assert "all of it" in rcl_row.note


def test_a_calibrator_that_makes_the_score_infinite():
    rcl = fp.CalibrationLoss(LOG, fp.PAV(), fp.CrossFit(2))
    y, z = np.arange(40) % 2, np.random.default_rng(0).normal(size=40)
    (row,) = fp.evaluate(fp.Predictions.from_logits(y, z), [rcl]).rows
    assert (row.value, row.state, row.error.argument) == (-INF, "infinite", "calibrator")
    assert row.error.pass_ == {"floor": 1e-3}


def test_samples_of_weight_0_do_not_count_as_infinite():
    for weights, count in (([0, 1, 1, 1], 1), ([0, 1, 1, 0], 0)):
        data = fp.Predictions.from_posteriors(
            [1, 0, 1, 0], [0.0, 0.5, 0.7, 1.0], sample_weight=weights
        )
        table = fp.evaluate(data, [fp.CrossEntropy()])
        assert (table.all_samples.n_infinite, table.all_samples.n_samples) == (count, 4)
        assert math.isinf(table["NCE"]) == (count > 0)


# Intervals


SCHEMES = {
    "IID": fp.IID(),
    "Stratified": fp.Stratified(),
    "Clusters": fp.Clusters(np.arange(300) % 40),
    "Nested": fp.Nested(np.arange(300) % 40),
    "TwoWay": fp.TwoWay(np.arange(300) % 40, np.arange(300) // 8),
}


@pytest.mark.parametrize(
    ("scheme", "method"),
    [("IID", "percentile"), ("Stratified", "basic"), ("Clusters", "normal"),
     ("Nested", "percentile"), ("TwoWay", "basic"), ("IID", "auto")],
)  # fmt: skip
def test_intervals_are_those_of_the_bootstrap(scheme, method):
    data, resampling = sample(), SCHEMES[scheme]
    metrics = {name: metric_of(name, 2) for name in ("NCE", "RCL", "ECE", "AUC")}
    options = {"n_resamples": 50, "confidence_level": 0.9, "method": method, "seed": 7,
               "resampling": resampling}  # fmt: skip
    table = fp.evaluate(data, metrics, **options)
    assert [row.value for row in table.rows] == [m(data) for m in metrics.values()]
    for row in table.rows:
        expected = fp.bootstrap(metrics[row.metric], data, **options)
        assert (row.low, row.high) == expected.interval
        assert (row.method, row.n_undefined) == (expected.method, expected.n_undefined)
    settings = {"confidence_level": 0.9, "n_resamples": 50, "resampling": scheme, "seed": 7}
    assert settings.items() <= table.to_dict()["intervals"].items()


def test_the_upper_bound_of_a_default_table_has_no_interval():
    table = fp.evaluate(sample(), n_resamples=40, method="percentile")
    (bound,) = (row for row in table.rows if row.low is None)
    assert (bound.metric, bound.method) == ("RCL bound", None)
    assert bound.note.endswith(", without interval")
    seed = table.intervals.seed  # which was drawn
    again = fp.evaluate(sample(), n_resamples=40, seed=seed, method="percentile")
    assert table.to_dict() == again.to_dict()


def test_invalid_options_of_intervals():
    def computed(predictions):
        pytest.fail("computed before the options were checked")

    for argument, options in (
        ("n_resamples", {"n_resamples": 39}), ("confidence_level", {"confidence_level": 0.9}),
        ("method", {"method": "basic"}), ("resampling", {"resampling": fp.IID()}),
    ):  # fmt: skip
        assert refusal(sample(), {"a": computed}, **options).argument == argument


def test_ids_are_no_resampling_scheme():
    ids = np.arange(100)
    error = refusal(detector(), ["NCE"], n_resamples=40, resampling=ids)
    assert error.argument == "resampling"
    assert len(str(error)) < 200
    resampling = eval(error.remedy.split("pass ")[1], {"fp": fp, "ids": ids})
    fp.evaluate(detector(), ["NCE"], n_resamples=40, seed=0, resampling=resampling)


class _Stop(Exception):
    pass


def _stop(step, done, total):
    raise _Stop


def test_slow_intervals_of_default_tables_are_estimated_and_left_out():
    data, threads = sample(3, n=90), numba.get_num_threads()
    # as documented: rows x classes x folds x (replicates + 400) x 2e-8 s / threads
    for seconds, is_slow in ((19.9, False), (20.1, True)):
        n_resamples = round(seconds * threads / (90 * 3 * 5 * 2e-8)) - 400
        with warnings.catch_warnings(record=True, action="always") as caught, pytest.raises(_Stop):
            fp.evaluate(data, n_resamples=n_resamples, progress=_stop)
        assert [each.message.metric for each in caught] == ["RCL"] * is_slow
    assert caught[0].message.seconds == pytest.approx(20.1, abs=1e-4)
    half = {"half": np.arange(90) // 45}  # whose rows are estimated, too
    with warnings.catch_warnings(record=True, action="always") as caught, pytest.raises(_Stop):
        fp.evaluate(data, by=half, n_resamples=n_resamples, progress=_stop)
    assert caught[0].message.seconds == pytest.approx(40.2, abs=1e-4)
    for unlimited in ({"metrics": ["RCL"]}, {"predictions": sample(n=90)}):
        with warnings.catch_warnings(action="error"), pytest.raises(_Stop):
            fp.evaluate(
                **{"predictions": data, "n_resamples": n_resamples, "progress": _stop} | unlimited
            )


# Progress


def test_steps_are_reported_to_a_callable():
    steps = []
    options = {"n_resamples": 40, "seed": 0, "progress": lambda *step: steps.append(step)}
    fp.evaluate(sample(), ["NCE", "NBS"], **options)
    assert steps[:2] == [("NCE", 0, 2), ("NBS", 1, 2)]
    assert {step for step, *_ in steps[2:-1]} == {"replicates"}
    assert steps[-2:] == [("replicates", 40, 40), ("intervals", 0, 2)]
    steps.clear()  # by subsampling, without replicates
    fp.evaluate(sample(), ["EER"], **options)
    assert steps == [("EER", 0, 1), ("intervals", 0, 1)]


def test_lines_of_progress(capsys):
    data, few = detector(), {"n_resamples": 40, "seed": 0}
    silent = fp.evaluate(data, ["NCE"], progress=False, **few)
    assert capsys.readouterr().err == ""
    assert str(fp.evaluate(data, ["NCE"], progress=True, **few)) == str(silent)
    assert "40 of 40 replicates" in capsys.readouterr().err
    assert refusal(data, ["NCE"], progress=3).argument == "progress"


# Warnings


def reversed_system():
    rcl = fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.TrainOnTest())
    return {"a": detector(), "b": detector(sign=-1.0)}, {"metrics": [rcl]}, ["b: ", "b: "]


def few_samples():
    data = fp.Predictions.from_posteriors([1] + [0] * 9, np.linspace(0.9, 0.1, 10))
    options = {"metrics": {"score": fp.CrossEntropy()}, "n_resamples": 100, "seed": 0}
    return data, options, ["score is undefined in "]


def few_units():
    y = np.arange(120) % 2
    clusters = np.where(np.arange(120) < 60, np.arange(120) // 4, 99)
    data = fp.Predictions.from_llrs(y, np.random.default_rng(1).normal(size=120) + 2.0 * y - 1.0)
    by = {"room": np.where(np.arange(120) < 60, "x", "y")}
    resampling = fp.Clusters(clusters)
    options = {"metrics": ["NCE"], "by": by, "resampling": resampling, "n_resamples": 60, "seed": 0}
    return data, options, ["room=y: no intervals: "]


@pytest.mark.parametrize("make", [reversed_system, few_samples, few_units])
def test_evaluations_keep_what_python_warns_of(make):
    data, options, begins = make()
    with warnings.catch_warnings(record=True, action="always") as caught:
        table = fp.evaluate(data, **options)
    messages = [str(warning) for warning in table.warnings]
    assert messages == list(dict.fromkeys(str(each.message) for each in caught))
    assert {each.filename for each in caught} == {__file__}
    for begin in begins:
        assert any(message.startswith(begin) for message in messages)
    with warnings.catch_warnings(action="ignore"):
        again = fp.evaluate(data, **options)
    assert [str(warning) for warning in again.warnings] == messages
    joined = fp.Evaluation.joined([table, again])
    assert [str(warning) for warning in joined.warnings] == messages
    assert len(joined.rows) == 2 * len(table.rows)
    if make is few_samples:
        n_undefined = table.rows[0].n_undefined
        assert 10 < n_undefined < 70  # of 100, 0.9**10 = 35 %
        assert f"undefined in {n_undefined} of 100 replicates" in str(table)


def test_a_problem_of_all_folds_is_warned_of_once():
    data = detector("posteriors", sign=-1.0)
    for call in (
        lambda: RCL(data),
        lambda: fp.evaluate(data, [RCL], by={"half": np.arange(len(data)) // 2 % 2}),
        lambda: fp.bootstrap(RCL, data, n_resamples=40, seed=0),
        lambda: fp.cross_fit(fp.DirectionPreserving(), data),
    ):
        with warnings.catch_warnings(record=True, action="always") as caught:
            call()
        assert sum("fitted scale" in str(each.message) for each in caught) == 1
    assert fp.evaluate(sample(n=60), ["RCL"], n_resamples=40, seed=0).warnings == ()


# The result


def test_json_and_copies():
    table = fp.evaluate(INFINITE["LLRs"])
    content = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert list(content) == ["version", "groups", "intervals", "rows"]
    assert content["version"] == fp.__version__
    assert content["groups"][0]["priors"] == list(table.all_samples.priors)
    names = ["system", "group", "metric", "value", "low", "high", "n_undefined", "method",
             "degrees_of_freedom", "corrected", "note", "unit", "reference_value"]  # fmt: skip
    for row, entry in zip(table.rows, content["rows"], strict=True):
        assert list(entry) == names
        value = math.nan if entry["value"] is None else float(entry["value"])
        np.testing.assert_equal(value, row.value)
        assert (entry["note"], entry["unit"]) == (row.note, row.unit)
