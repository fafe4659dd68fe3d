"""Differences in tables: those of `compare`, for pairs of systems, in groups and in parts."""

import json
import math
from itertools import combinations

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.evaluation import Difference, Row

N = 300
METRICS = {"EER": fp.EER(), "Cllr": fp.Cllr(), "NBS": fp.BrierScore(), "AUC": fp.AUC()}
OPTIONS = {"n_resamples": 60, "seed": 3, "confidence_level": 0.9, "method": "percentile"}


def sample(n=N):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    noise = rng.normal(size=(3, n))
    llrs = {name: 2.0 * y - 1.0 + k / 4.0 + noise[k] for k, name in enumerate("abc")}
    return y, llrs, rng.integers(0, 3, n), rng.integers(0, 20, n)


def systems_of(names="abc", rows=slice(None)):
    y, llrs, _, _ = sample()
    return {name: fp.Predictions.from_llrs(y[rows], llrs[name][rows], prior=0.3) for name in names}


def check(found, metric, a, b, **options):
    expected = fp.compare(metric, a, b, **(OPTIONS | options))
    assert (found.value, found.low, found.high) == (expected.value, *expected.interval)
    assert (found.result.bias, found.result.n_undefined) == (expected.bias, expected.n_undefined)
    assert found.excludes_zero == (found.low > 0.0 or found.high < 0.0)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("pairs", ["first", "all"])
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_pairs_are_those_of_compare(pairs, method):
    systems = systems_of()
    table = fp.evaluate(systems, METRICS, differences=pairs, **(OPTIONS | {"method": method}))
    named = list(combinations("abc", 2)) if pairs == "all" else [("a", "b"), ("a", "c")]
    expected = [(a, b, metric) for a, b in named for metric in METRICS]
    assert [(d.a.system, d.b.system, d.metric) for d in table.differences] == expected
    for each in table.differences:
        a, b = (systems[row.system] for row in (each.a, each.b))
        check(each, METRICS[each.metric], a, b, method=method)
        assert table.row((each.a.system, None, each.metric)) is each.a


def test_rows_have_intervals_of_the_same_draws():
    systems = systems_of("ab")
    resampling = fp.Clusters(sample()[3])  # drawn alike, alone and jointly
    options = OPTIONS | {"resampling": resampling}
    table = fp.evaluate(systems, METRICS, differences="first", **options)
    alone = fp.evaluate(systems, METRICS, **options)
    assert [(r.low, r.high) for r in table.rows] == [(r.low, r.high) for r in alone.rows]
    assert None not in {row.low for row in table.rows}


def test_groups():
    _, _, group, cluster = sample()
    table = fp.evaluate(
        systems_of(), METRICS, by={"g": group}, differences="first",
        resampling=fp.Clusters(cluster), **OPTIONS,
    )  # fmt: skip
    groups = [None, "g=0", "g=1", "g=2"]
    assert [(d.group, d.name) for d in table.differences[:: len(METRICS)]] == [
        (group, f"a - {name}") for group in groups for name in "bc"
    ]
    for each in table.differences:
        rows = slice(None) if each.group is None else np.flatnonzero(group == int(each.group[2:]))
        a, b = (systems_of(rows=rows)[row.system] for row in (each.a, each.b))
        check(each, METRICS[each.metric], a, b, resampling=fp.Clusters(cluster[rows]))


def test_data_in_parts():
    y, llrs, group, cluster = sample()
    cuts = [slice(0, 90), slice(90, 100), slice(100, N)]

    def in_parts(name):
        return fp.from_parts([
            (fp.Predictions.from_llrs(y[cut], llrs[name][cut], prior=0.3),
             {"g": group[cut], "cluster": cluster[cut]})
            for cut in cuts
        ])  # fmt: skip

    options = OPTIONS | {"differences": "first"}
    parts = {name: in_parts(name) for name in "ab"}
    there = fp.evaluate(parts, METRICS, by="g", resampling=fp.Clusters("cluster"), **options)
    ids = fp.Clusters(cluster)
    here = fp.evaluate(systems_of("ab"), METRICS, by={"g": group}, resampling=ids, **options)
    assert len(there.differences) == len(here.differences) == 4 * len(METRICS)
    for one, other in zip(there.differences, here.differences, strict=True):
        assert (one.metric, one.group) == (other.metric, other.group)
        numbers = [(d.value, d.low, d.high) for d in (one, other)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-9, abs=1e-12)


def test_only_metrics_that_both_have():
    y, llrs, _, _ = sample()
    raw = fp.Predictions.from_raw_scores(y, llrs["b"])
    table = fp.evaluate({**systems_of("a"), "b": raw}, differences="first")
    shared = {r.metric for r in table.rows if r.system == "a"}
    shared &= {r.metric for r in table.rows if r.system == "b"}
    assert {each.metric for each in table.differences} == shared >= {"EER", "minCllr"}
    assert all(each.result is None and each.low is None for each in table.differences)
    assert {each.excludes_zero for each in table.differences} == {None}


def test_without_finite_values():
    y = np.array([0, 1] * 40)
    wrong = np.where(np.arange(80) == 1, -np.inf, np.where(y, 1.0, -1.0))
    data = {
        "a": fp.Predictions.from_llrs(y, wrong),
        "b": fp.Predictions.from_llrs(y, np.where(y, 1.0, -1.0)),
        "c": fp.Predictions.from_llrs(y, wrong),
    }
    table = fp.evaluate(data, [fp.Cllr(), fp.EER()], differences="all", **OPTIONS)
    found = {(each.name, each.metric): each for each in table.differences}
    assert found["a - b", "Cllr"].value == math.inf
    assert math.isnan(found["a - c", "Cllr"].value)
    assert found["a - c", "Cllr"].result is None
    assert found["a - c", "Cllr"].excludes_zero is None
    assert found["a - c", "EER"].is_equal
    assert found["a - c", "Cllr"].note == f"a and c: {table.row(('a', None, 'Cllr')).note}"
    json.dumps(table.to_dict(), allow_nan=False)


def test_equal_systems_are_called_equal():
    systems = systems_of("a")
    y, llrs, _, _ = sample()
    systems["b"] = fp.Predictions.from_llrs(y, llrs["a"] * (1 + 1e-15), prior=0.3)
    table = fp.evaluate(systems, METRICS, differences="first", **OPTIONS)
    for each in table.differences:
        assert each.is_equal
        assert each.excludes_zero is False
        (line,) = (x for x in str(table).splitlines() if x.startswith(f"{each.metric} "))
        assert line.split()[-1] == "equal"


def test_a_small_difference_is_not_called_equal():
    y, llrs, _, _ = sample()
    data = {name: fp.Predictions.from_llrs(y, llrs["a"] * scale, prior=0.3)
            for name, scale in (("a", 1.0), ("b", 1.0 + 1e-7))}  # fmt: skip
    (each,) = fp.evaluate(data, [fp.Cllr()], differences="first", **OPTIONS).differences
    assert not each.is_equal
    assert 0.0 < abs(each.value) < 1e-6


@pytest.mark.parametrize(
    ("values", "equal"),
    [((0.0, 0.0), True), ((0.5, 0.5), True), ((0.5, 0.5 + 1e-11), True), ((0.5, 0.5 + 1e-8), False),
     ((0.0, 1e-300), False), ((math.inf, math.inf), False), ((math.nan, 1.0), False)],
)  # fmt: skip
def test_equal_without_intervals(values, equal):
    a, b = (Row("m", value, system=name) for value, name in zip(values, "ab", strict=True))
    assert Difference(a, b).is_equal == equal


def test_texts():
    _, _, group, _ = sample()
    two = fp.evaluate(systems_of("ab"), METRICS, differences="first", **OPTIONS)
    lines = str(two).splitlines()
    assert lines[1] == "difference: a - b"
    assert lines[2].split() == ["metric", "a", "b", "difference", "interval", "excludes", "0"]
    assert [line.split()[0] for line in lines[3:]] == ["targets", "non-targets", *METRICS]
    many = fp.evaluate(systems_of(), METRICS, by={"g": group}, differences="all", **OPTIONS)
    for width in (70, 100, 300):
        text = many.to_text(width)
        assert max(map(len, text.splitlines())) <= width
        below = text.split("differences; * where the interval excludes 0\n")[1]
        assert below.count("*") == sum(bool(each.excludes_zero) for each in many.differences)
        assert below.count("[") == len(many.differences)
    html = many._repr_html_()
    assert "<b>differences; * where the interval excludes 0</b>" in html
    assert html.count(" *</td>") == below.count("*")
    assert "nowrap" in next(cell for cell in html.split("<td") if "[" in cell)
    assert "*" not in two._repr_html_()  # which has a column for it
    without = str(fp.evaluate(systems_of(), METRICS, differences="first"))
    assert "*" not in without
    assert "a - c" in without


def test_warnings_name_the_system():
    y, llrs, _, _ = sample()
    data = {
        "a": fp.Predictions.from_llrs(y, llrs["a"]),
        "b": fp.Predictions.from_llrs(y, -llrs["a"]),
    }
    rcl = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.TrainOnTest())
    with (
        pytest.warns(fp.SuspicionWarning, match="^b: the AUC is"),
        pytest.warns(RuntimeWarning, match="^b: the fitted scale is -"),
    ):
        fp.evaluate(data, [rcl])


@pytest.mark.filterwarnings("ignore")
def test_invalid_arguments():
    y, llrs, group, _ = sample()
    systems = systems_of("ab")
    shorter = fp.Predictions.from_llrs(y[:-1], llrs["b"][:-1])
    for arguments, options, words in (
        ((systems["a"],), {"differences": "first"}, "differences need a dict of two systems"),
        (({"a": systems["a"]},), {"differences": "all"}, "differences need a dict of two systems"),
        ((systems,), {"differences": "second"}, "differences must be one of None, 'first', 'all'"),
        ((systems | {"b": shorter},), {"differences": "first"},
         "predictions 'a' and 'b' must be of the same samples: 300 and 299"),
    ):  # fmt: skip
        with pytest.raises(fp.ArgumentError, match=words):
            fp.evaluate(*arguments, METRICS, **options)
    parts = {
        name: fp.from_parts([(each, {"g": group // (1 + (name == "b"))})])
        for name, each in systems.items()
    }
    with pytest.raises(fp.ArgumentError, match="by must be of the same values in 'a' and 'b'"):
        fp.evaluate(parts, METRICS, by="g", differences="first")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("method", "with_fits"),
    [("auto", False), ("percentile", True), pytest.param("auto", True, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("where", ["memory", "parts"])
def test_rows_have_the_same_intervals_without_differences(where, method, with_fits):
    metrics = [fp.EER(), fp.ECE(), fp.AUC(), fp.Cllr(), fp.EER("nearest")]
    if with_fits:
        metrics.append(fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()))
    systems, by = systems_of("ab"), {"odd": np.arange(N) // 2 % 2}
    if where == "parts":
        ids = by["odd"]
        systems = {
            name: fp.from_parts(
                [(data[:100], {"odd": ids[:100]}), (data[100:], {"odd": ids[100:]})]
            )
            for name, data in systems.items()
        }
        by = "odd"
    few = {"n_resamples": 12, "confidence_level": 0.5}
    options = OPTIONS | few | {"by": by, "method": method}
    alone = fp.evaluate(systems, metrics, **options)
    for more in ({"differences": "first"}, {"group_differences": "pooled"}):
        rows = fp.evaluate(systems, metrics, **options, **more).rows
        assert [(r.value, r.low, r.high, r.bias) for r in rows] == [
            (r.value, r.low, r.high, r.bias) for r in alone.rows
        ]
