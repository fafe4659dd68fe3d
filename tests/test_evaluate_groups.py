"""Several systems, and groups: each as if it were evaluated alone."""

import ast
import inspect
import json
import math
import pickle
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.evaluation import default_metrics
from fastpsr.groups import groups_of

N = 400


def columns(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    llr = np.round(rng.normal(size=n) * 1.5 + 2.0 * y - 1.0, 2)
    return {
        "y": y,
        "a": llr,
        "b": np.round(0.4 * llr + rng.normal(size=n), 2),
        "gender": np.where(rng.random(n) < 0.3, "f", "m"),
        "snr": rng.integers(0, 3, n) * 10,
        "one": rng.integers(0, 25, n),
        "other": rng.integers(0, 25, n),
        "weight": rng.integers(0, 3, n) / 2,
    }


MAKERS = {
    "LLRs": lambda y, x, **more: fp.Predictions.from_llrs(y, x, **more),
    "LLRs at a prior": lambda y, x, **more: fp.Predictions.from_llrs(y, x, prior=0.1, **more),
    "posteriors": lambda y, x, **more: fp.Predictions.from_posteriors(
        y, 1 / (1 + np.exp(-x)), **more
    ),
    "raw": lambda y, x, **more: fp.Predictions.from_raw_scores(y, x, **more),
    "rows": lambda y, x, **more: fp.Predictions.from_logits(
        y, np.column_stack([-x, x, 0 * x]), **more
    ),
}


def same(rows, alone):
    assert [row.metric for row in rows] == [row.metric for row in alone]
    for row, other in zip(rows, alone, strict=True):
        numbers = [(r.value, r.low, r.high, r.bias, r.n_undefined, r.note) for r in (row, other)]
        np.testing.assert_equal(*numbers)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_group_is_evaluated_as_if_it_were_all(make, weighted):
    data = columns()
    more = {"sample_weight": data["weight"]} if weighted else {}
    table = fp.evaluate(
        make(data["y"], data["a"], **more), by={k: data[k] for k in ("gender", "snr")}
    )
    names = [group.group for group in table.groups]
    assert names == [None, "gender=f", "gender=m", "snr=0", "snr=10", "snr=20"]
    for group in table.groups[1:]:
        column, value = group.group.split("=")
        here = data[column].astype(str) == value
        more = {"sample_weight": data["weight"][here]} if weighted else {}
        alone = fp.evaluate(make(data["y"][here], data["a"][here], **more))
        assert table.of(group)[0].value == alone.rows[0].value
        same(table.of(group), alone.rows)
        assert str(group) == str(alone.all_samples)


METRICS = {
    "EER": fp.EER(),
    "minDCF": fp.MinDCF("sre21"),
    "actDCF": fp.ActDCF("sre21"),
    "Cllr": fp.Cllr(),
    "NCE": fp.CrossEntropy(),
    "RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
    "RCL bound": fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.TrainOnTest()),
}


def with_ids(data, here=slice(None)):
    """Metrics and draws that hold ids of samples, in columns that are in turn of the group."""
    groups = (data["one"][here], data["other"][here])
    train = fp.CrossFit(folds=3, groups=groups)
    metrics = {
        "Cllr": fp.Cllr(),
        "pairs": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train),
        "folds": fp.ExpectedDivergence(
            fp.rules.Log(), fp.DirectionPreserving(), fp.CrossFit(folds=data["one"][here] % 3)
        ),
    }
    return metrics, [fp.TwoWay(*groups), fp.Clusters(data["one"][here]), fp.Stratified()]


@pytest.mark.in_turn(2)
@pytest.mark.filterwarnings("ignore:.*is undefined in")
@pytest.mark.parametrize("scheme", range(3), ids=["speakers", "clusters", "classes"])
def test_ids_of_metrics_and_draws_follow_the_group(scheme):
    data = columns(600)
    metrics, schemes = with_ids(data)
    options = {"n_resamples": 12, "confidence_level": 0.8, "seed": 3}
    if isinstance(schemes[scheme], fp.Stratified):
        options["method"] = "percentile"  # not a fit without each row
    table = fp.evaluate(
        MAKERS["LLRs"](data["y"], data["a"]), metrics, by={"gender": data["gender"]},
        resampling=schemes[scheme], **options,
    )  # fmt: skip
    for group in table.groups:
        here = slice(None) if group.group is None else data["gender"] == group.group[-1]
        metrics, schemes = with_ids(data, here)
        alone = MAKERS["LLRs"](data["y"][here], data["a"][here])
        same(
            table.of(group), fp.evaluate(alone, metrics, resampling=schemes[scheme], **options).rows
        )


def test_systems_beside_each_other():
    data = columns()
    systems = {name: MAKERS["LLRs"](data["y"], data[name]) for name in "ab"}
    by = {"gender": data["gender"]}
    table = fp.evaluate(systems, METRICS, by=by, n_resamples=40, seed=1, method="percentile")
    assert [(g.system, g.group) for g in table.groups] == [
        (system, group) for system in "ab" for group in (None, "gender=f", "gender=m")
    ]
    for system, predictions in systems.items():
        alone = fp.evaluate(
            predictions, METRICS, by=by, n_resamples=40, seed=1, method="percentile"
        )
        rows = [row for row in table.rows if row.system == system]
        same(rows, alone.rows)
        assert table[system, "gender=f", "Cllr"] == alone[None, "gender=f", "Cllr"]
    text = str(table)
    assert text.splitlines()[0] == table.settings
    assert f"{100 * table['a', 'gender=m', 'EER']:.3f} %" in text
    records = table.records()
    assert {r["n_target"] + r["n_nontarget"] == r["n_samples"] for r in records} == {True}
    json.dumps(table.to_dict(), allow_nan=False)


def in_parts(data, systems="a", cuts=(0, 150, 150, 290, N)):
    def part(name, i, j):
        rows = slice(i, j)
        ids = {k: data[k][rows] for k in ("gender", "snr", "one", "other")}
        return fp.Predictions.from_llrs(data["y"][rows], data[name][rows]), ids

    bounds = list(pairwise(cuts))
    return {name: fp.from_parts([part(name, *at) for at in bounds]) for name in systems}


@pytest.mark.parametrize("by", ["gender", ["gender", "snr"], {"sex": "gender"}])
def test_groups_of_data_in_parts(by):
    data = columns()
    found = fp.evaluate(in_parts(data)["a"], METRICS, by=by)
    names = {"gender": "gender"} if isinstance(by, str) else by
    names = names if isinstance(names, dict) else {name: name for name in names}
    memory = MAKERS["LLRs"](data["y"], data["a"])
    expected = fp.evaluate(memory, METRICS, by={k: data[v] for k, v in names.items()})
    assert [str(group) for group in found.groups] == [str(group) for group in expected.groups]
    for row, other in zip(found.rows, expected.rows, strict=True):
        assert (row.group, row.metric, row.note) == (other.group, other.metric, other.note)
        assert row.value == pytest.approx(other.value, rel=1e-9, abs=1e-9)
        if row.metric in ("EER", "minDCF", "actDCF"):
            assert row.value == other.value


def test_intervals_of_groups_in_parts_draw_the_same_speakers():
    data = columns()
    metrics = {"Cllr": fp.Cllr(), "EER": fp.EER()}
    options = {"n_resamples": 40, "seed": 5}
    found = fp.evaluate(
        in_parts(data)["a"], metrics, by="gender", resampling=fp.TwoWay("one", "other"), **options
    )
    expected = fp.evaluate(
        MAKERS["LLRs"](data["y"], data["a"]), metrics, by={"gender": data["gender"]},
        resampling=fp.TwoWay(data["one"], data["other"]), **options,
    )  # fmt: skip
    for row, other in zip(found.rows, expected.rows, strict=True):
        assert (row.low, row.high) == pytest.approx((other.low, other.high), rel=1e-9)


def test_groups_of_parts_can_be_sent_elsewhere():
    data = columns()
    (group,) = [
        found for found in groups_of(in_parts(data)["a"], "gender") if found.name == "gender=f"
    ]
    assert group.rows is group.data._transform
    again = pickle.loads(pickle.dumps(group.rows))
    assert again.reads == {"gender"}
    assert len(group.data) == int((data["gender"] == "f").sum())


@pytest.mark.filterwarnings("ignore:few samples or speakers")
def test_a_group_without_a_class_says_so():
    data = columns()
    alone = np.where(data["y"] == 1, "both", data["gender"])
    table = fp.evaluate(
        MAKERS["LLRs"](data["y"], data["a"]), by={"who": alone}, n_resamples=40, seed=0
    )
    rows = [row for row in table.rows if row.group == "who=f"]
    assert all(math.isnan(row.value) for row in rows)
    (note,) = {row.note for row in rows}
    assert note.startswith("not computed: who=f has no samples of class 1: group by ")
    assert "fp.SharedTargets" in note  # what to do
    assert "pooled" in str(table)
    assert str(table).count("has no samples of class 1") == 2


def test_a_group_with_too_few_clusters_has_no_intervals():
    data = columns()
    clusters = np.where(data["gender"] == "f", 1, data["one"])
    with pytest.warns(RuntimeWarning, match=r"^gender=f: no intervals: ids must name at least two"):
        table = fp.evaluate(
            MAKERS["LLRs"](data["y"], data["a"]), {"Cllr": fp.Cllr()},
            by={"gender": data["gender"]}, resampling=fp.Clusters(clusters), n_resamples=40, seed=0,
        )  # fmt: skip
    low = {row.group: row.low for row in table.rows}
    assert low["gender=f"] is None
    assert low["gender=m"] < table[None, "gender=m", "Cllr"]


BAD = {
    "ids without a name": ({"by": np.zeros(N)}, "by must be a dict"),
    "a name in memory": ({"by": "gender"}, "by must be a dict"),
    "a column in memory": ({"by": {"gender": "gender"}}, "by must have one id per sample"),
    "too few ids": ({"by": {"gender": [1, 2]}}, r"by\['gender'\] must have"),
    "nan": ({"by": {"snr": np.full(N, np.nan)}}, r"by\['snr'\]"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD)
def test_groups_that_are_none(options, message):
    data = columns()
    with pytest.raises(ValueError, match=message):
        fp.evaluate(MAKERS["LLRs"](data["y"], data["a"]), **options)


def test_mistakes_with_parts():
    data = columns()
    parts = in_parts(data)["a"]
    with pytest.raises(fp.ArgumentError, match="by must name columns of data in parts"):
        fp.evaluate(parts, by={"gender": data["gender"]})
    with pytest.raises(fp.ArgumentError, match="nope"):
        fp.evaluate(parts, by="nope")


def test_which_row_is_meant():
    data = columns()
    table = fp.evaluate(
        {"a": MAKERS["LLRs"](data["y"], data["a"])}, [fp.EER()], by={"g": data["gender"]}
    )
    with pytest.raises(KeyError, match="which 'EER'"):
        table["EER"]
    with pytest.raises(KeyError, match="not among EER, of"):
        table["a", "g=x", "EER"]
    with pytest.raises(fp.ArgumentError, match="predictions must not be empty"):
        fp.evaluate({})
    with pytest.raises(ValueError, match=r"^predictions\['a'\] must be Predictions"):
        fp.evaluate({"a": [0.5]})


OF_RAW = ["EER", "minDCF(0.01)", "minCllr", "AUC"]
OF_LLRS = [
    "EER", "minDCF(0.01)", "actDCF(0.01)", "Cllr", "minCllr", "AUC", "NCE", "NBS", "RCL"
]  # fmt: skip
OF_POSTERIORS = ["NCE", "NBS", "NRisk zero-one", "RCL", "RCL bound", "ECE", "ECEmc"]


def test_default_metrics_by_kind():
    assert list(default_metrics(2, "raw scores")) == OF_RAW
    assert list(default_metrics(2, "likelihoods")) == OF_LLRS
    assert list(default_metrics(2, "posteriors")) == OF_POSTERIORS
    assert list(default_metrics(3, "likelihoods")) == [
        "NCE",
        "NBS",
        "NRisk zero-one",
        "RCL",
        "ECEmc",
    ]


def test_options_add_to_default_metrics():
    at, spoofing = [fp.MinDCF(0.5)], [fp.MinADCF("spoof")]
    costs = fp.CostMatrix.detection(10, 1)

    def names(kind):
        found = list(default_metrics(2, kind, costs=costs, detection=at, spoofing=spoofing))
        usual = default_metrics(2, kind)
        return [name for name in found if name not in usual], [n for n in usual if n not in found]

    new, usual = ["minDCF(0.5)", "actDCF(0.5)"], ["minDCF(0.01)", "actDCF(0.01)"]
    a_dcf = [fp.MinADCF("spoof").label, fp.ActADCF("spoof").label]
    assert names("raw scores") == ([new[0], a_dcf[0]], usual[:1])
    assert names("likelihoods") == ([*new, *a_dcf, "NRisk costs"], usual)
    assert names("posteriors") == (["NRisk costs", *new, *a_dcf], [])


def test_metrics_of_any_default_table_by_name():
    data = columns()
    names = [*OF_LLRS, "NRisk zero-one", "RCL bound", "ECE", "ECEmc"]
    for kind in ("posteriors", "LLRs"):
        table = fp.evaluate(MAKERS[kind](data["y"], data["a"]), names)
        assert [row.metric for row in table.rows] == names
        assert not any(math.isnan(row.value) for row in table.rows)
    with pytest.raises(
        ValueError, match=rf"must be among {re.escape(', '.join(OF_RAW))}, not 'NCE'"
    ):
        fp.evaluate(MAKERS["raw"](data["y"], data["a"]), ["NCE"])


@pytest.mark.parametrize("where", ["memory", "parts"])
def test_groups_without_weight_are_as_if_absent(where):
    data = columns()
    weights = np.where(data["gender"] == "f", 0.0, 1.0)
    memory = fp.Predictions.from_llrs(data["y"], data["a"], sample_weight=weights)
    by = {"gender": data["gender"]}
    if where == "parts":
        parts = [
            (memory[rows], {"gender": data["gender"][rows]}) for rows in (range(150), range(150, N))
        ]
        table = fp.evaluate(fp.from_parts(parts), METRICS, by="gender")
    else:
        table = fp.evaluate(memory, METRICS, by=by)
    assert [group.group for group in table.groups] == [None, "gender=m"]


def of_parts(data, columns_of_parts, edges=(0, 150, N)):
    bounds = pairwise(edges)
    return fp.from_parts(
        [
            (fp.Predictions.from_llrs(data["y"][i:j], data["a"][i:j]), {"g": ids[: j - i]})
            for (i, j), ids in zip(bounds, columns_of_parts, strict=True)
        ]
    )


@pytest.mark.parametrize(
    "types", [(np.int64, np.str_), (np.float32, np.float64)], ids=["words", "floats"]
)
def test_parts_must_agree_on_the_type_of_a_column(types):
    data = columns()
    ids = [(data["snr"] / 100).astype(np.float32).astype(kind) for kind in types]
    with pytest.raises(fp.ArgumentError, match=r"^by must name columns of one type in all parts"):
        fp.evaluate(of_parts(data, ids), METRICS, by="g")


@pytest.mark.parametrize("empty", [np.uint8, object, np.str_, np.int64])
def test_empty_parts_have_no_groups(empty):
    data = columns()
    ids = np.asarray(data["snr"], np.uint8 if empty in (np.uint8, np.int64) else np.str_)
    ids = ids.astype(object) if empty is object else ids
    found = fp.evaluate(of_parts(data, [ids[:0].astype(empty), ids], (0, 0, N)), METRICS, by="g")
    expected = fp.evaluate(MAKERS["LLRs"](data["y"], data["a"]), METRICS, by={"g": data["snr"]})
    assert [str(group) for group in found.groups] == [str(group) for group in expected.groups]


def test_dates_are_named_alike_in_memory_and_in_parts():
    data = columns()
    days = np.array(["2020-01-01", "2021-05-04"], "M8[ns]")[data["one"] % 2]
    memory = fp.evaluate(MAKERS["LLRs"](data["y"], data["a"]), [fp.EER()], by={"g": days})
    parts = fp.evaluate(of_parts(data, [days[:150], days[150:]]), [fp.EER()], by="g")
    names = [group.group for group in memory.groups]
    assert names[1].startswith("g=2020-01-01T")
    assert names == [group.group for group in parts.groups]
    assert [row.value for row in memory.rows] == [row.value for row in parts.rows]


LOG, FIT = fp.rules.Log(), fp.DirectionPreserving()
WRONG = {
    "folds, short": lambda y: fp.CalibrationLoss(LOG, FIT, fp.CrossFit(np.arange(50) % 3)),
    "folds, long": lambda y: fp.CalibrationLoss(LOG, FIT, fp.CrossFit(np.arange(N + 100) % 3)),
    "a column": lambda y: fp.CalibrationLoss(LOG, FIT, fp.CrossFit("fold")),
    "reference": lambda y: fp.SemiEmpiricalScore(LOG, fp.Predictions.from_llrs(y[:300], y[:300])),
}


@pytest.mark.parametrize("name", WRONG)
def test_ids_of_other_lengths_are_refused_in_the_row(name):
    data = columns()
    metrics = {"wrong": WRONG[name](data["y"]), "EER": fp.EER()}
    table = fp.evaluate(MAKERS["LLRs"](data["y"], data["a"]), metrics, by={"g": data["gender"]})
    for group in table.groups[1:]:
        wrong, eer = table.of(group)
        assert wrong.state == "not computed"
        assert isinstance(wrong.error, fp.ArgumentError)
        assert eer.value < 0.5


@pytest.mark.parametrize("ids", [np.arange(50), np.arange(N + 50), "speaker"])
def test_what_is_drawn_must_fit_the_whole(ids):
    data = columns()
    with pytest.raises(fp.ArgumentError, match=r"^ids must have one"):
        fp.evaluate(
            MAKERS["LLRs"](data["y"], data["a"]), METRICS, by={"g": data["gender"]},
            resampling=fp.Clusters(ids), n_resamples=40, seed=0,
        )  # fmt: skip


@pytest.mark.parametrize("where", ["memory", "parts"])
def test_references_follow_the_group(where):
    data = columns()
    memory = MAKERS["LLRs"](data["y"], data["a"])
    reference = MAKERS["LLRs"](data["y"], 1.3 * data["a"])
    ids = data["gender"]
    if where == "parts":
        cuts = [slice(0, 150), slice(150, N)]
        both = [
            fp.from_parts([(each[cut], {"g": ids[cut]}) for cut in cuts])
            for each in (memory, reference)
        ]
        table = fp.evaluate(both[0], [fp.SemiEmpiricalScore(LOG, both[1])], by="g")
    else:
        table = fp.evaluate(memory, [fp.SemiEmpiricalScore(LOG, reference)], by={"g": ids})
    for group in table.groups[1:]:
        here = ids == group.group[-1]
        alone = fp.SemiEmpiricalScore(LOG, reference[here].alone())(memory[here].alone())
        assert table.of(group)[0].value == pytest.approx(alone, rel=1e-12)


def test_what_one_class_allows_is_kept():
    data = columns()
    metrics = {"BS": fp.BrierScore(normalized=False), "one": lambda p: 1.0, "EER": fp.EER()}
    predictions = MAKERS["posteriors"](data["y"], data["a"])
    table = fp.evaluate(predictions, metrics, by={"y": data["y"]})
    for group in table.groups[1:]:
        alone = fp.evaluate(predictions[data["y"] == int(group.group[-1])], metrics)
        assert [row.value for row in table.of(group)[:2]] == [alone["BS"], 1.0]
        assert "has no samples of class" in table.of(group)[2].note


@pytest.mark.parametrize("systems", [{1: 0, 2: 0}, {None: 0, "b": 0}, {"": 0}])
def test_names_of_systems_are_strings(systems):
    data = columns()
    one = MAKERS["LLRs"](data["y"], data["a"])
    with pytest.raises(fp.ArgumentError, match=r"^predictions must have names that are strings"):
        fp.evaluate(dict.fromkeys(systems, one))


def test_errors_name_the_system():
    data = columns()
    one = MAKERS["LLRs"](data["y"], data["a"])
    with pytest.raises(fp.ArgumentError, match=r"^predictions\['b'\]: by\['g'\] must have one"):
        fp.evaluate({"a": one, "b": one[:50]}, by={"g": data["gender"]})
    with pytest.raises(fp.ArgumentError, match=r"^predictions\['b'\]: y_true must be given"):
        fp.evaluate({"a": one, "b": fp.Predictions.from_llrs(None, data["a"])})


def test_what_functions_return_is_checked():
    data = columns()
    functions = {"word": lambda p: "0.5", "array": lambda p: np.ones(2), "nan": lambda p: np.nan}
    table = fp.evaluate(MAKERS["LLRs"](data["y"], data["a"]), functions)
    assert [row.state for row in table.rows] == ["not computed", "not computed", "undefined"]
    assert "metric word must return a number" in table.rows[0].note
    assert table.rows[2].note == "undefined: the function returned it"


def test_options_of_intervals_need_replicates():
    data = columns()
    for options in ({"method": "basic"}, {"confidence_level": 0.9}):
        with pytest.raises(fp.ArgumentError, match="is for intervals"):
            fp.evaluate(MAKERS["LLRs"](data["y"], data["a"]), **options)
    assert fp.evaluate(MAKERS["LLRs"](data["y"], data["a"]), ["EER"], seed=0).intervals is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_is_a_grouping_by_its_name(library):
    made_by = pytest.importorskip(library).Series

    def series(ids, name):
        return made_by(ids, name=name) if library == "pandas" else made_by(name, ids)

    data = columns()
    made = MAKERS["LLRs"](data["y"], data["a"])
    expected = fp.evaluate(made, ["EER"], by={"gender": data["gender"]})
    assert str(fp.evaluate(made, ["EER"], by=series(data["gender"], name="gender"))) == str(
        expected
    )
    for unnamed in (series(data["gender"], name=None), data["gender"], list(data["gender"])):
        with pytest.raises(fp.ArgumentError) as raised:
            fp.evaluate(made, ["EER"], by=unnamed)
        assert raised.value.argument == "by"
        assert len(str(raised.value)) < 200
        (name,) = ast.literal_eval(raised.value.remedy.removeprefix("pass by=").replace("ids", "0"))
        assert fp.evaluate(made, ["EER"], by={name: unnamed}).groups[1].group.startswith(name)


def awkward(kind):
    """Data of all kinds with ties, weights of 0, infinite scores or gaps in memory."""
    data = columns(600, seed=3)
    y, x = data["y"], np.round(data["a"], 1)
    if kind == "posteriors, (N, 2), float32, Fortran":
        q = 1 / (1 + np.exp(-x))
        q = np.asfortranarray(np.column_stack([1 - q, q]).astype(np.float32))
        return fp.Predictions.from_posteriors(y, q, sample_weight=data["weight"][:600])
    if kind == "LLRs, some infinite":
        x = np.where(np.arange(600) % 97 == 5, np.where(y == 1, np.inf, -np.inf), x)
        return fp.Predictions.from_llrs(y, x)
    if kind == "raw scores, strided":
        return fp.Predictions.from_raw_scores(y, np.column_stack([x, x])[:, 0])
    rng = np.random.default_rng(4)
    y = rng.integers(0, 5, 600)
    z = rng.normal(size=(600, 5)) + 1.5 * np.eye(5)[y]
    words = np.array(["e", "d", "c", "b", "a"])
    return fp.Predictions.from_logits(words[y], z, classes=words, priors=[0.1, 0.2, 0.3, 0.2, 0.2])


AWKWARD = (
    "posteriors, (N, 2), float32, Fortran",
    "LLRs, some infinite",
    "raw scores, strided",
    "rows of five, words, priors",
)


def outcome(metric, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return metric(data)
        except ValueError:
            return np.nan


@pytest.mark.in_turn(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("in_parts", [False, True], ids=["memory", "parts"])
@pytest.mark.parametrize("awkwardness", AWKWARD)
@pytest.mark.parametrize("kind", fp.metrics.METRICS)
def test_every_metric_of_a_group_is_that_of_its_samples_alone(kind, awkwardness, in_parts):
    memory = awkward(awkwardness)
    ids = np.array(["x", "y", "x", "z"])[np.arange(600) % 4]
    data, by = memory, {"g": ids}
    if in_parts:
        cuts = [slice(*at) for at in ((0, 210), (210, 210), (210, 600))]
        columns = {"g": ids}
        if "spoof" in inspect.signature(kind).parameters:
            columns["spoof"] = kind.examples(memory)[0].spoof
        data, by = fp.from_parts([
            (memory[cut], {name: column[cut] for name, column in columns.items()}) for cut in cuts
        ]), "g"  # fmt: skip
    metrics = {str(place): metric for place, metric in enumerate(kind.examples(data))}
    table = fp.evaluate(data, metrics, by=by)
    assert len(table.groups) == 4
    for group in table.groups[1:]:
        alone = memory[ids == group.group[-1]].alone()
        whole = {str(place): metric for place, metric in enumerate(kind.examples(memory))}
        own = {str(place): metric for place, metric in enumerate(kind.examples(alone))}
        for row in table.of(group):
            held_out = isinstance(getattr(whole[row.metric], "train", None), fp.HeldOut)
            metric = whole[row.metric] if held_out else own[row.metric]
            expected = outcome(metric, alone)
            scale = 100.0 if row.unit == "percent" else 1.0
            assert row.value == pytest.approx(expected, rel=1e-6, abs=1e-8 * scale, nan_ok=True)
            assert not np.isnan(expected) or awkwardness != AWKWARD[0]  # it can fail
