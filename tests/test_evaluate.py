"""The table of everything."""

import functools
import json
import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.errors import Subject
from fastpsr.evaluation import Row, default_metrics
from tests import everything, samples

INF = np.inf


def sample(K=2, n=300, seed=0, **options):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    z = rng.normal(size=(n, K)) + np.eye(K)[y]
    return fp.Predictions.from_logits(y, z, **options)


DEFAULT = {
    2: ["NCE", "NBS", "NRisk zero-one", "RCL", "RCL bound", "ECE", "ECEmc"],
    3: ["NCE", "NBS", "NRisk zero-one", "RCL", "ECEmc"],
}
LOG = fp.rules.Log()
BY_HAND = {
    "NCE": lambda K: fp.CrossEntropy(),
    "NBS": lambda K: fp.BrierScore(),
    "NRisk zero-one": lambda K: fp.BayesRisk(1.0 - np.eye(K)),
    "RCL": lambda K: fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.CrossFit(5, seed=0)),
    "RCL bound": lambda K: fp.CalibrationLoss(LOG, fp.PAV(), fp.TrainOnTest()),
    "ECE": lambda K: fp.ECE(15),
    "ECEmc": lambda K: fp.ECE(15, on="confidence"),
}


@pytest.mark.parametrize(
    "options",
    [{}, {"priors": True}, {"sample_weight": np.linspace(0, 2, 300)}],
    ids=["", "priors", "weights"],
)
@pytest.mark.parametrize("K", DEFAULT)
def test_default_table(K, options):
    if "priors" in options:
        options = {"priors": np.arange(1.0, K + 1) / (K * (K + 1) / 2)}
    data = sample(K, **options)
    table = fp.evaluate(data)
    assert [row.metric for row in table.rows] == DEFAULT[K]
    for row in table.rows:
        assert row.value == BY_HAND[row.metric](K)(data)
        assert type(row.value) is float
        assert row.note
        assert math.isfinite(row.value)
    assert (table.n_samples, table.n_classes, table.n_infinite) == (300, K, 0)
    assert table.priors == tuple(data.priors)


def test_options_of_the_default_metrics():
    data = sample(3)
    costs = fp.CostMatrix([[0, 1, 2, 0.5], [1, 0, 1, 0.5], [5, 1, 0, 0.5]])
    train = fp.CrossFit(3, seed=4)
    metrics = default_metrics(3, costs=costs, calibrator=fp.TemperatureScaling(), train=train)
    table = fp.evaluate(data, metrics)
    assert [row.metric for row in table.rows] == [*DEFAULT[3][:3], "NRisk costs", *DEFAULT[3][3:]]
    assert table["NRisk costs"] == fp.BayesRisk(costs)(data)
    assert table["RCL"] == fp.CalibrationLoss(LOG, fp.TemperatureScaling(), train)(data)


def test_notes_say_what_a_number_is():
    notes = {row.metric: row.note for row in fp.evaluate(sample()).rows}
    assert "DirectionPreserving" in notes["RCL"]
    assert "cross-fitted" in notes["RCL"]
    assert "PAV" in notes["RCL bound"]
    assert "same data" in notes["RCL bound"]
    assert "diagnostic" in notes["ECE"]
    assert not any("not computed" in note for note in notes.values())


# Metrics of one's own


def share_of_targets(predictions):
    return np.float64(predictions.y_true.mean())


class Half:
    """Neither a metric of the package nor a function."""

    meaning = "a half, always"

    def __call__(self, predictions):
        return 0.5

    def __repr__(self):
        return "Half()"


CUSTOM = [fp.CrossEntropy(normalized=False), share_of_targets, Half(), lambda p: len(p)]
CUSTOM_NAMES = ["CE", "share_of_targets", "Half()", "<lambda>"]
CUSTOM_VALUES = [fp.CrossEntropy(False)(sample()), sample().y_true.mean(), 0.5, 300.0]


@pytest.mark.parametrize("collection", [list, tuple])
def test_metrics_in_a_list_are_named_by_themselves(collection):
    table = fp.evaluate(sample(), collection(CUSTOM))
    assert [row.metric for row in table.rows] == CUSTOM_NAMES
    assert [row.value for row in table.rows] == CUSTOM_VALUES
    assert all(type(row.value) is float for row in table.rows)
    assert [row.note for row in table.rows] == [CUSTOM[0].meaning, "", "a half, always", ""]


def test_metrics_in_a_dict_are_named_by_its_keys():
    names = ["one", "two", "three", "four"]
    table = fp.evaluate(sample(), dict(zip(names, CUSTOM, strict=True)))
    assert [row.metric for row in table.rows] == names
    assert [table[name] for name in names] == CUSTOM_VALUES


def test_metrics_of_one_name():
    risks = [fp.BayesRisk([[0, 1], [1, 0]]), fp.BayesRisk([[0, 1], [9, 0]])]
    with pytest.raises(ValueError, match=r"^metrics must differ in name.*'NRisk'.*dict"):
        fp.evaluate(sample(), risks)
    with pytest.raises(ValueError, match=r"'<lambda>'"):
        fp.evaluate(sample(), [lambda p: 0, lambda p: 1])
    table = fp.evaluate(sample(), {"a": risks[0], "b": risks[1]})
    assert table["a"] != table["b"]


def test_partial_functions_have_names_too():
    table = fp.evaluate(sample(), [functools.partial(len)])
    assert "len" in table.rows[0].metric


@pytest.mark.parametrize("empty", [[], {}, ()])
def test_no_metrics(empty):
    with pytest.raises(ValueError, match=r"^metrics must not be empty$"):
        fp.evaluate(sample(), empty)


@pytest.mark.parametrize(
    "metrics",
    ["none", ["none"], [None], {"a": "none"}, 5, {1: fp.CrossEntropy()}],
    ids=["a word", "words", "None", "word in a dict", "number", "number as name"],
)
def test_what_is_no_collection_of_metrics(metrics):
    with pytest.raises(ValueError, match=r"^metrics must"):
        str(fp.evaluate(sample(), metrics))


@pytest.mark.parametrize(
    "predictions",
    [np.array([0.5, 0.5]), None, [0, 1]],
    ids=["array", "None", "list"],
)
def test_what_are_no_predictions(predictions):
    with pytest.raises(ValueError, match=r"^predictions must"):
        fp.evaluate(predictions)


def test_unlabeled_predictions():
    with pytest.raises(ValueError, match=r"^y_true must be given"):
        fp.evaluate(fp.Predictions.from_logits(None, [0.0, 1.0]))


def test_progress_comes_before_each_metric():
    seen = []
    table = fp.evaluate(
        sample(),
        {"a": lambda p: seen.append("A") or 1.0, "b": lambda p: seen.append("B") or 2.0},
        progress=lambda *done: seen.append(done),
    )
    assert seen == [("a", 0, 2), "A", ("b", 1, 2), "B"]
    assert [row.value for row in table.rows] == [1.0, 2.0]


# What cannot be computed


def refusing(predictions):
    raise ValueError("the moon is not full")


def test_what_cannot_be_computed_is_nan_with_a_note():
    table = fp.evaluate(sample(), {"a": refusing, "NCE": fp.CrossEntropy()})
    assert math.isnan(table["a"])
    assert table.rows[0].note == "not computed: the moon is not full"
    assert table["NCE"] == fp.CrossEntropy()(sample())


def test_mistakes_in_a_metric_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        fp.evaluate(sample(), {"a": lambda p: 1 / 0})


def missing(table):
    """Names of what was not computed, with the reasons."""
    return {row.metric: row.note for row in table.rows if row.note.startswith("not computed: ")}


def test_separable_data():
    y = np.arange(40) % 2
    table = fp.evaluate(fp.Predictions.from_logits(y, 4.0 * y - 2.0 + np.arange(40) / 100))
    assert list(missing(table)) == ["RCL"]
    assert "separate" in missing(table)["RCL"]
    assert math.isnan(table["RCL"])
    assert table["RCL bound"] == 100.0


def test_raw_scores_only_rank():
    y, scores = np.arange(200) % 2, np.random.default_rng(0).normal(size=200)
    raw = fp.Predictions.from_raw_scores(y, scores)
    table = fp.evaluate(raw)
    ranks = {m.label: m(raw) for m in (fp.EER(), fp.MinDCF(0.01), fp.MinCllr(), fp.AUC())}
    assert {row.metric: row.value for row in table.rows} == ranks
    assert str(table.all_samples).endswith("; raw scores: only metrics of ranks have values")
    assert (table.kind, table.n_infinite) == ("raw scores", 0)
    note = fp.evaluate(raw, [fp.CrossEntropy()]).rows[0].note
    assert "raw scores, which only rank" in note
    assert "calibrate" in note


ONE_CLASS = {
    "posteriors": (fp.Predictions.from_posteriors, {}),
    "logits": (fp.Predictions.from_logits, {}),
    "LLRs": (fp.Predictions.from_llrs, {}),
    "LLRs, weights": (fp.Predictions.from_llrs, {"sample_weight": [1.0, 1.0, 1.0]}),
}


@pytest.mark.parametrize(
    ("make", "options"),
    [pytest.param(*case, id=name) for name, case in ONE_CLASS.items()],
)
def test_data_of_one_class(make, options):
    table = fp.evaluate(make([0, 0, 0], [0.1, 0.2, 0.7], **options))
    assert {"NCE", "NBS", "RCL"} <= set(missing(table))
    assert table.priors == (1.0, 0.0)


def test_a_prior_of_0():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    data = fp.Predictions.from_logits(y, rng.normal(size=200) + y, priors=[0.0, 1.0])
    table = fp.evaluate(data)
    assert "RCL" in missing(table)


def test_fewer_samples_than_folds():
    table = fp.evaluate(fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]))
    assert list(missing(table)) == ["RCL"]
    assert "folds" in missing(table)["RCL"]


# Infinite losses


INFINITE = {
    "posteriors": fp.Predictions.from_posteriors([0, 1, 1, 0, 1], [1.0, 0.0, 1.0, 0.5, 0.0]),
    "log-odds": fp.Predictions.from_logits([0, 1, 1, 0, 1], [INF, -INF, INF, -2.0, 3.0]),
    "LLRs": fp.Predictions.from_llrs([0, 1, 1, 0, 1], [-INF, -INF, INF, 2.0, -INF]),
    "rows": fp.Predictions.from_log_posteriors([0, 2, 1], np.log([[1, 2, 3], [4, 1, 1], [3, 2, 1]])
                                               - np.log(6)),
}  # fmt: skip
COUNTS = {"posteriors": 3, "log-odds": 2, "LLRs": 2, "rows": 0}


@pytest.mark.parametrize("kind", INFINITE)
def test_infinite_losses_are_counted(kind):
    table = fp.evaluate(INFINITE[kind], [fp.CrossEntropy(), fp.BrierScore()])
    assert table.n_infinite == COUNTS[kind]
    assert math.isinf(table["NCE"]) == (COUNTS[kind] > 0)
    assert math.isfinite(table["NBS"])
    shown = f"; {COUNTS[kind]} samples have posterior 0 for the true class"
    assert str(table.all_samples).endswith(shown) == (COUNTS[kind] > 0)


@pytest.mark.filterwarnings("ignore:the fitted scale")
@pytest.mark.parametrize("kind", ["posteriors", "log-odds", "LLRs"])
def test_what_is_not_finite_has_its_reason(kind):
    table = fp.evaluate(INFINITE[kind], {
        "NCE": fp.CrossEntropy(),
        "RCL": fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.TrainOnTest()),
    })  # fmt: skip
    said = f"{COUNTS[kind]} samples have posterior 0 for the true class"
    remedy = "" if kind == "LLRs" else ": from_posteriors(..., floor=1e-6) bounds what they cost"
    assert table.rows[0].note == f"infinite: {said}{remedy}"
    if kind == "LLRs":
        assert math.isnan(table["RCL"])
        remedy = ": DirectionPreserving(floor=1e-3) bounds what they cost"
        assert table.rows[1].note == f"undefined: {said}{remedy}"
    else:  # the calibrator makes the score finite
        assert table["RCL"] == 100.0


def test_a_calibrator_that_does_infinite_harm():
    y, z = np.arange(40) % 2, np.random.default_rng(0).normal(size=40)
    rcl = fp.CalibrationLoss(LOG, fp.PAV(), fp.CrossFit(2))
    (row,) = fp.evaluate(fp.Predictions.from_logits(y, z), {"RCL": rcl}).rows
    said = "infinite: PAV would make the score infinitely worse: PAV(floor=1e-3) would not"
    assert (row.value, row.note) == (-INF, said)


@pytest.mark.parametrize(
    ("weights", "count"), [([1, 1, 1, 1], 2), ([0, 1, 1, 1], 1), ([0, 1, 1, 0], 0)]
)
def test_samples_of_weight_0_do_not_count_as_infinite(weights, count):
    data = fp.Predictions.from_posteriors([1, 0, 1, 0], [0.0, 0.5, 0.7, 1.0], sample_weight=weights)
    table = fp.evaluate(data, [fp.CrossEntropy()])
    assert table.n_infinite == count
    assert math.isinf(table["NCE"]) == (count > 0)
    assert table.n_samples == 4


# The table itself


def plain(value):
    """Whether a value is made of what JSON knows."""
    if type(value) is dict:
        return all(type(key) is str and plain(entry) for key, entry in value.items())
    if type(value) is list:
        return all(map(plain, value))
    return type(value) in (int, float, str, type(None))


@pytest.mark.parametrize("data", [sample(), sample(3), INFINITE["LLRs"]], ids=["2", "3", "inf"])
def test_to_dict_is_plain(data):
    table = fp.evaluate(data)
    content = table.to_dict()
    assert plain(content)
    assert list(content) == ["version", "groups", "intervals", "rows"]
    assert (content["version"], content["intervals"]) == (fp.__version__, None)
    again = json.loads(json.dumps(content, allow_nan=False))
    (group,) = again["groups"]
    assert group["priors"] == list(table.priors)
    assert group["n_samples"] == table.n_samples == sum(group["class_sizes"])
    for row, entry in zip(table.rows, again["rows"], strict=True):
        numbers = ["value", "low", "high", "bias", "n_undefined", "method", "degrees_of_freedom"]
        names = [
            "system",
            "group",
            "metric",
            *numbers,
            "corrected",
            "note",
            "unit",
            "reference_value",
        ]
        assert list(entry) == names
        value = math.nan if entry["value"] is None else float(entry["value"])
        plain_row = replace(row, error=None, state="", role="")
        np.testing.assert_equal(Row(**entry | {"value": value}).__dict__, plain_row.__dict__)
    content["rows"][0]["value"] = 99.0
    content["groups"][0]["priors"].append(5.0)
    assert float(table.to_dict()["rows"][0]["value"]) == table.rows[0].value != 99.0
    assert len(table.priors) == data.n_classes


def test_values_by_name():
    table = fp.evaluate(sample())
    assert [table[row.metric] for row in table.rows] == [row.value for row in table.rows]
    with pytest.raises(KeyError, match=r"'Cllr' is not among NCE, NBS, "):
        table["Cllr"]


def test_tables_are_read_only():
    table = fp.evaluate(sample())
    for thing, name in ((table, "n_samples"), (table.rows[0], "value")):
        with pytest.raises(AttributeError):
            setattr(thing, name, 0)


def test_printed_table():
    metrics = {"a": lambda p: 2 / 3, "long name": lambda p: INF, "none": refusing}
    assert str(fp.evaluate(INFINITE["log-odds"], metrics)) == (
        "5 samples, 2 classes, priors 0.4, 0.6; 2 samples have posterior 0 for the true class\n"
        "a              0.6667\n"
        "long name         inf  infinite: the function returned it\n"
        "none              nan  not computed: the moon is not full"
    )


def test_printed_headline():
    assert sample(7, n=7_000).n_classes == 7
    headline = str(fp.evaluate(sample(7, n=7_000), [fp.BrierScore()]).all_samples)
    assert headline.startswith("7,000 samples, 7 classes, priors 0.1")
    assert headline.endswith(", ...")
    assert headline.count("0.1") == 4
    assert str(fp.evaluate(sample(4), [fp.BrierScore()]).all_samples).count(",") == 5


def test_metrics_by_name():
    data = fp.Predictions.from_posteriors([0, 1, 0, 1, 1] * 4, [0.1, 0.8, 0.4, 0.6, 0.3] * 4)
    table = fp.evaluate(data, ["nce", "EER", "mindcf", "Cllr"])
    metrics = [fp.CrossEntropy(), fp.EER(), fp.MinDCF(0.01), fp.Cllr()]
    assert [row.metric for row in table.rows] == [metric.label for metric in metrics]
    assert [row.value for row in table.rows] == [metric(data) for metric in metrics]
    with pytest.raises(fp.ArgumentError, match=r"metrics must be among .*NCE"):
        fp.evaluate(data, ["none"])


# Warnings


def reversed_system():
    y = np.arange(60) % 3 == 0
    llrs = np.random.default_rng(0).normal(size=60) * 2.0 + 4.0 * y - 2.0
    rcl = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.TrainOnTest())
    systems = {"a": fp.Predictions.from_llrs(y, llrs), "b": fp.Predictions.from_llrs(y, -llrs)}
    return systems, {"metrics": [rcl]}


def few_samples():
    data = fp.Predictions.from_posteriors([1] + [0] * 9, np.linspace(0.9, 0.1, 10))
    return data, {"metrics": ["NCE", "AUC"], "n_resamples": 100, "seed": 0}


def few_units():
    y = np.arange(120) % 2
    clusters = np.where(np.arange(120) < 60, np.arange(120) // 4, 99)
    data = fp.Predictions.from_llrs(y, np.random.default_rng(1).normal(size=120) + 2.0 * y - 1.0)
    by = {"room": np.where(np.arange(120) < 60, "x", "y")}
    drawn = {"resampling": fp.Clusters(clusters), "n_resamples": 60, "seed": 0}
    return data, {"metrics": ["NCE"], "by": by, **drawn}


@pytest.mark.parametrize("make", [reversed_system, few_samples, few_units])
def test_evaluations_keep_what_python_warns_of(make):
    data, options = make()
    with pytest.warns((RuntimeWarning, fp.SuspicionWarning)) as caught:
        found = fp.evaluate(data, **options)
    assert [*map(str, found.warnings)] == [*dict.fromkeys(str(e.message) for e in caught)]
    with warnings.catch_warnings(action="ignore"):
        again = fp.evaluate(data, **options)
    assert [*map(str, again.warnings)] == [*map(str, found.warnings)]
    joined = fp.Evaluation.joined([found, again]).warnings
    assert [*map(str, joined)] == [*map(str, found.warnings)]
    assert "warnings" not in found.to_dict()


def test_warnings_know_what_they_are_about():
    data, options = few_units()
    with warnings.catch_warnings(action="ignore"):
        found = fp.evaluate({"a": data, "b": data}, **options).warnings
    found = [pickle.loads(pickle.dumps(each)) for each in found if each.kind == "no intervals"]
    assert [each.subjects for each in found] == [(Subject(name, "room=y"),) for name in "ab"]
    assert all(str(each).startswith(f"{each.subjects[0]}: no intervals: ") for each in found)


def test_fits_in_replicates_warn_of_nothing():
    assert fp.evaluate(sample(n=60), ["RCL"], n_resamples=40, seed=0).warnings == ()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("scores", samples.SCORES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_metric_and_calibrator_of_hostile_data(n_classes, scores):
    """What is kept is what Python warns of, whatever is computed."""
    data = samples.make(n_classes, scores=scores, weights="integer").predictions
    metrics = everything.metrics(data)
    for calibrator in everything.calibrators(data).values():
        metrics[repr(calibrator)] = fp.CalibrationLoss(fp.rules.Log(), calibrator)
    few = dict(list(metrics.items())[::8])
    drawn = {"n_resamples": 4, "confidence_level": 0.5, "method": "percentile", "seed": 0}
    for given, chosen, options in (
        (data, metrics, {}), ({"a": data, "b": data}, metrics, {}),
        ({"a": data, "b": data}, few, drawn),
    ):  # fmt: skip
        with warnings.catch_warnings(record=True, action="always") as caught:
            found = fp.evaluate(given, chosen, by={"half": np.arange(len(data)) % 2}, **options)
        assert [*map(str, found.warnings)] == [*dict.fromkeys(str(e.message) for e in caught)]


# What is passed by name, and what a prompt shows


def test_names_of_metrics_are_those_of_evaluate():
    data = fp.simulate.trial_list(200, 400, seed=0)
    a = fp.Predictions.from_llrs(data.y_true, data.llr)
    b = fp.Predictions.from_raw_scores(data.y_true, data.llr)
    few = {"n_resamples": 40, "seed": 0}
    for text, metric in (("EER", fp.EER()), ("crossentropy", fp.CrossEntropy()),
                         ("cllr", fp.Cllr()), ("NBS", fp.BrierScore())):  # fmt: skip
        (row,) = fp.evaluate(a, [text]).rows
        found = fp.bootstrap(text, a, **few)
        assert (found.name, found.value) == (row.metric, row.value) == (metric.label, metric(a))
        assert [each.name for each in fp.bootstrap([text, "AUC"], a, **few)] == [row.metric, "AUC"]
        assert fp.bootstrap({"x": text}, a, **few)[0].value == row.value
        assert fp.evaluate(a, {"x": text})["x"] == row.value
        assert fp.compare(text, a, a, **few).value == 0.0
    sizes = [fp.sample_size(each, a, 0.2, seed=0).n for each in ("NBS", fp.BrierScore())]
    assert sizes[0] == sizes[1]
    for refused in (
        lambda: fp.bootstrap("EERs", a),
        lambda: fp.compare("Cllr", a, b),  # raw scores only rank
        lambda: fp.sample_size("EERs", a, 0.2),
    ):
        with pytest.raises(fp.ArgumentError, match=r"^metrics? must be among .*EER"):
            refused()


def test_a_prompt_shows_the_table():
    data = sample_of_two()
    table = fp.evaluate(data, ["NCE", "AUC"])
    assert repr(table) == str(table)
    assert len(repr(table)) < 300


def test_lines_of_progress(capsys):
    data = sample_of_two()
    few = {"n_resamples": 40, "seed": 0}
    silent = fp.evaluate(data, ["NCE"], progress=False, **few)
    assert capsys.readouterr().err == ""
    assert str(fp.evaluate(data, ["NCE"], progress=True, **few)) == str(silent)
    assert "40 of 40 replicates" in capsys.readouterr().err
    by = {"half": np.arange(len(data)) % 2}
    fp.evaluate({"a": data, "b": data}, ["NCE"], by=by, differences="first", progress=True, **few)
    assert "40 of 40 replicates" in capsys.readouterr().err


@pytest.mark.parametrize("resampling", [np.arange(100), list(range(100)), tuple(range(100))])
def test_ids_are_no_scheme_but_make_one(resampling):
    data = sample_of_two()
    with pytest.raises(fp.ArgumentError) as raised:
        fp.evaluate(data, ["NCE"], n_resamples=40, resampling=resampling)
    assert raised.value.argument == "resampling"
    assert raised.value.remedy.endswith("pass fp.Clusters(ids)")
    assert len(str(raised.value)) < 200
    fp.evaluate(data, ["NCE"], n_resamples=40, seed=0, resampling=fp.Clusters(resampling))


RCL = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.CrossFit())


@pytest.mark.parametrize(
    "call",
    [
        RCL,
        lambda data: fp.evaluate(data, [RCL], by={"half": np.arange(len(data)) % 2}),
        lambda data: fp.bootstrap(RCL, data, n_resamples=40, seed=0),
        lambda data: fp.cross_fit(fp.DirectionPreserving(), data),
    ],
)
def test_a_problem_of_all_folds_is_warned_of_once(call):
    data = sample_of_two(sign=-1.0)
    with warnings.catch_warnings(record=True, action="always") as caught:
        call(data)
    assert sum("fitted scale" in str(each.message) for each in caught) == 1
    with warnings.catch_warnings(record=True, action="always") as caught:
        fp.evaluate({"a": data, "b": data}, [RCL])
    scale = [str(each.message) for each in caught if "fitted scale" in str(each.message)]
    assert [each[:2] for each in scale] == ["a:", "b:"]


def sample_of_two(sign=1.0):
    """Return 100 samples of overlapping classes; with a sign of -1 the scores are reversed."""
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    return fp.Predictions.from_logits(y, sign * (rng.normal(size=100) + 2.0 * y - 1.0))
