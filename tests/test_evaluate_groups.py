"""`fp.evaluate` of several systems and of groups: which samples, names, order, refusals."""

import ast
import itertools
import math

import numpy as np
import pytest

import fastpsr as fp
from tests.evaluations import assert_same_rows, refusal

N = 400
MORE_THAN_20 = np.arange(N) % 21


def columns(n=N):
    rng = np.random.default_rng(0)
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
    }


DATA = columns()
GENDER = {"gender": DATA["gender"]}
FEMALE = DATA["gender"] == "f"


def llrs(name="a", rows=slice(None), **options):
    return fp.Predictions.from_llrs(DATA["y"][rows], DATA[name][rows], **options)


def in_parts(data=None, cuts=(0, 150, 150, 290, N), **ids):
    whole = llrs() if data is None else data
    ids = ids or {name: DATA[name] for name in ("gender", "snr", "one", "other")}
    bounds = [slice(*ends) for ends in itertools.pairwise(cuts)]
    return fp.from_parts([(whole[at], {k: ids[k][at] for k in ids}) for at in bounds])


def names(table):
    return [group.group for group in table.groups[1:]]


# Rows of groups


def test_rows_of_a_group_are_those_of_its_samples_alone():
    table = fp.evaluate(llrs(), by={name: DATA[name] for name in ("gender", "snr")})
    assert names(table) == ["gender=f", "gender=m", "snr=0", "snr=10", "snr=20"]
    for group in table.groups[1:]:
        column, value = group.group.split("=")
        alone = fp.evaluate(llrs(rows=DATA[column].astype(str) == value))
        assert_same_rows(table.of(group), alone.rows)
        assert str(group) == str(alone.all_samples)


def with_ids(rows):
    """Metrics and schemes with ids of the samples in some rows."""
    ids = (DATA["one"][rows], DATA["other"][rows])
    log, dp = fp.rules.Log(), fp.DirectionPreserving()
    metrics = {
        "pairs": fp.CalibrationLoss(log, dp, fp.CrossFit(folds=3, groups=ids)),
        "folds": fp.ExpectedDivergence(log, dp, fp.CrossFit(folds=DATA["one"][rows] % 3)),
        "reference": fp.SemiEmpiricalScore(log, llrs("b", rows)),
    }
    return metrics, {"two-way": fp.TwoWay(*ids), "clusters": fp.Clusters(ids[0])}


@pytest.mark.filterwarnings("ignore:.*is undefined in")
@pytest.mark.parametrize("scheme", ["two-way", "clusters"])
def test_ids_of_metrics_and_schemes_follow_the_group(scheme):
    options = {"n_resamples": 12, "confidence_level": 0.8, "seed": 3, "method": "percentile"}
    metrics, schemes = with_ids(slice(None))
    table = fp.evaluate(llrs(), metrics, by=GENDER, resampling=schemes[scheme], **options)
    for group, rows in zip(table.groups[1:], (FEMALE, ~FEMALE), strict=True):
        metrics, schemes = with_ids(rows)
        alone = fp.evaluate(llrs(rows=rows), metrics, resampling=schemes[scheme], **options)
        assert_same_rows(table.of(group), alone.rows)


def test_systems_are_evaluated_one_by_one():
    options = {"by": GENDER, "n_resamples": 40, "seed": 1, "method": "percentile"}
    metrics = [fp.EER(), fp.Cllr()]
    table = fp.evaluate({name: llrs(name) for name in "ab"}, metrics, **options)
    assert [(g.system, g.group) for g in table.groups] == [
        (system, group) for system in "ab" for group in (None, "gender=f", "gender=m")
    ]
    for system in "ab":
        alone = fp.evaluate(llrs(system), metrics, **options)
        assert_same_rows([row for row in table.rows if row.system == system], alone.rows)
        assert table[system, "gender=f", "Cllr"] == alone[None, "gender=f", "Cllr"]
    frame = table.to_frame()
    assert (frame["n_target"] + frame["n_nontarget"] == frame["n_samples"]).all()
    for name in ("EER", ("a", "gender=x", "EER")):  # of which system and group, and none
        with pytest.raises(KeyError, match="EER"):
            table[name]


def test_groups_of_data_in_parts_draw_the_same_speakers():
    options = {"n_resamples": 40, "seed": 5, "method": "percentile"}
    metrics, scheme = [fp.EER(), fp.Cllr()], fp.TwoWay(DATA["one"], DATA["other"])
    memory = fp.evaluate(llrs(), metrics, by={"sex": DATA["gender"]}, resampling=scheme, **options)
    scheme = fp.TwoWay("one", "other")
    parts = fp.evaluate(in_parts(), metrics, by={"sex": "gender"}, resampling=scheme, **options)
    assert list(map(str, parts.groups)) == list(map(str, memory.groups))
    for row, expected in zip(parts.rows, memory.rows, strict=True):
        numbers = [(r.value, r.low, r.high) for r in (row, expected)]
        assert (row.group, row.metric) == (expected.group, expected.metric)
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_is_a_grouping_by_its_name(library):
    series = pytest.importorskip(library).Series(DATA["gender"])
    named = series.rename("gender")
    expected = fp.evaluate(llrs(), ["EER"], by=GENDER)
    assert str(fp.evaluate(llrs(), ["EER"], by=named)) == str(expected)
    for ids in (series, DATA["gender"]):  # without a name
        error = refusal(llrs(), ["EER"], by=ids)
        assert error.argument == "by"
        assert len(str(error)) < 200
        remedy = error.remedy.removeprefix("pass by=").replace("ids", "0")
        (name,) = ast.literal_eval(remedy)
        assert names(fp.evaluate(llrs(), ["EER"], by={name: ids}))[0] == f"{name}=f"


# Order and names of groups


NATURAL = [
    ["-1", "0.5", "9", "10", "1e1"],
    ["1.125s", "1.25s", "1.5s", "10s", "s"],
    ["", "a", "a9", "a10", "b"],
    ["6", "007", "07", "7"],
    ["2", "10", "nan"],
    ["3", "٣", "²"],
]


@pytest.mark.parametrize("values", NATURAL)
def test_groups_are_in_natural_order(values):
    ids = np.repeat(np.array(values)[::-1], 2)
    data = fp.Predictions.from_llrs(np.arange(ids.size) % 2, np.zeros(ids.size))
    table = fp.evaluate(data, ["EER"], by={"g": ids})
    assert names(table) == [f"g={value}" for value in values]
    assert [group.n_samples for group in table.groups[1:]] == [2] * len(values)


def test_combinations_of_columns():
    by = {("gender", "snr"): (DATA["gender"], DATA["snr"])}
    weights = np.where(FEMALE & (DATA["snr"] == 10), 0.0, 1.0)  # a group as if it were absent
    data = llrs(sample_weight=weights)
    table = fp.evaluate(data, ["EER"], by=by)
    pairs = [(g, snr) for g in "fm" for snr in (0, 10, 20) if (g, snr) != ("f", 10)]
    assert names(table) == [f"gender={g}, snr={snr}" for g, snr in pairs]
    for row, (gender, snr) in zip(table.rows[1:], pairs, strict=True):
        assert row.value == fp.EER()(data[(DATA["gender"] == gender) & (DATA["snr"] == snr)])
    for nested in (["gender", ("gender", "snr")], ["gender", ["gender", "snr"]]):
        found = fp.evaluate(in_parts(data), ["EER"], by=nested)
        assert names(found) == ["gender=f", "gender=m", *names(table)]
        assert [row.value for row in found.rows[3:]] == [row.value for row in table.rows[1:]]


def test_groups_without_a_class():
    who = np.where(DATA["y"] == 1, "both", DATA["gender"])
    metrics = {"BS": fp.BrierScore(normalized=False), "one": lambda p: 1.0, "EER": fp.EER()}
    data = fp.Predictions.from_logits(DATA["y"], DATA["a"])
    table = fp.evaluate(data, metrics, by={"who": who})
    for value in "fm":
        brier, one, eer = (table.row((None, f"who={value}", metric)) for metric in metrics)
        assert brier.value == metrics["BS"](data[who == value])  # what one class allows
        assert one.value == 1.0
        assert eer.state == "not computed"
        assert math.isnan(eer.value)
        assert (eer.error.argument, eer.error.name) == ("by", f"who={value}")
        assert "class 1" in eer.note
    by = {"who": fp.SharedTargets(who)}  # as the error says
    assert "fp.SharedTargets" in eer.error.remedy
    shared = fp.evaluate(llrs(), ["EER"], by=by)
    negatives = DATA["y"] == 0
    for value in "fm":
        rows = ~negatives | (negatives & (who == value))
        assert shared[None, f"who={value}", "EER"] == fp.EER()(llrs(rows=rows))
    no_negatives = fp.evaluate(llrs(), ["EER"], by={"y": DATA["y"]}).row((None, "y=1", "EER"))
    assert "class 0" in no_negatives.note
    assert no_negatives.error.remedy == ""


def test_metrics_with_ids_of_other_samples_are_refused_in_their_row():
    log, fit = fp.rules.Log(), fp.DirectionPreserving()
    folds = (np.arange(50) % 3, np.arange(N + 100) % 3, "fold")
    metrics = [fp.CalibrationLoss(log, fit, fp.CrossFit(of_others)) for of_others in folds]
    metrics.append(fp.SemiEmpiricalScore(log, llrs(rows=slice(300))))
    table = fp.evaluate(llrs(), dict(zip("abcd", metrics, strict=True)) | {"E": "EER"}, by=GENDER)
    for group in table.groups[1:]:
        *wrong, eer = table.of(group)
        assert {(row.state, type(row.error)) for row in wrong} == {
            ("not computed", fp.ArgumentError)
        }
        assert eer.value < 0.5


# Refusals


def test_invalid_groupings():
    gender, snr, pair = DATA["gender"], DATA["snr"], ("gender", "snr")
    for by in (
        np.zeros(N), "gender", {"gender": [1, 2]}, {"snr": np.full(N, np.nan)}, {pair: "gender"},
        {pair: (gender,)}, {pair: (gender, snr[1:])}, {("snr", "snr"): (snr, snr)},
        {"g": gender, ("g",): (gender,)},
    ):  # fmt: skip
        assert refusal(llrs(), ["EER"], by=by).argument.startswith("by")
    one, other = np.repeat(["x, b=y", "x"], N // 2), np.repeat(["z", "y, b=z"], N // 2)
    assert refusal(llrs(), ["EER"], by={("a", "b"): (one, other)}).argument == "by"  # of one name
    for by in ({"gender": [1, 2]}, {pair: "gender"}, {pair: ()}, [("snr", "snr")], "nothing"):
        assert refusal(in_parts(), ["EER"], by=by).argument.startswith("by")


def test_empty_parts_have_no_groups():
    for ids in (DATA["snr"].astype(np.uint8), DATA["snr"].astype(str)):
        for empty in (np.uint8, object, np.str_):
            parts = [(llrs()[:0], {"g": ids[:0].astype(empty)}), (llrs(), {"g": ids})]
            table = fp.evaluate(fp.from_parts(parts), ["EER"], by="g")
            assert names(table) == ["g=0", "g=10", "g=20"]


@pytest.mark.parametrize("types", [(np.int64, np.str_), (np.float32, np.float64)])
def test_parts_with_columns_of_different_types(types):
    ids = [(DATA["snr"] / 100).astype(np.float32).astype(kind) for kind in types]
    cuts = (slice(150), slice(150, N))
    parts = [(llrs(rows=at), {"g": g[at]}) for at, g in zip(cuts, ids, strict=True)]
    assert refusal(fp.from_parts(parts), ["EER"], by="g").argument == "by"


def test_many_numbers_need_bins_and_many_groups_a_request():
    for data, by in ((llrs(), {"n": MORE_THAN_20}), (in_parts(n=MORE_THAN_20), "n")):
        error = refusal(data, ["EER"], by=by)
        assert "not 21" in error.rule
        assert len(names(fp.evaluate(data, ["EER"], by=by, **error.pass_))) == 4
        for bins in ("each", {"n": "each"}):
            assert len(names(fp.evaluate(data, ["EER"], by=by, bins=bins))) == 21
    n = 1_001
    words = np.array([f"w{i}" for i in range(n)])
    data = fp.Predictions.from_llrs(np.arange(n) % 2, np.zeros(n))
    constant = {"constant": lambda p: 0.0}
    assert refusal(data, constant, by={"w": words}).argument.startswith("by")
    assert refusal(in_parts(data, (0, 400, n), w=words), ["EER"], by="w").argument.startswith("by")
    assert len(names(fp.evaluate(data, constant, by={"w": words}, bins={"w": "each"}))) == n


def test_errors_name_the_system():
    for names_of_systems in ([1, 2], [None, "b"], [""]):
        assert refusal(dict.fromkeys(names_of_systems, llrs())).argument == "predictions"
    short = {"a": llrs(), "b": llrs()[:50]}
    assert refusal(short, by=GENDER).name.startswith("predictions['b']: ")
    unlabeled = {"a": llrs(), "b": fp.Predictions.from_llrs(None, DATA["a"])}
    assert refusal(unlabeled).name.startswith("predictions['b']: ")
