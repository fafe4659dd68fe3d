"""`fp.evaluate(differences=)`: those of `fp.compare`, for pairs of systems, also in groups."""

import json
import math

import numpy as np
import pytest

import fastpsr as fp
from tests.evaluations import refusal

INF = math.inf
N = 300
METRICS = {"EER": fp.EER(), "Cllr": fp.Cllr(), "NBS": fp.BrierScore(), "AUC": fp.AUC()}
OPTIONS = {"n_resamples": 60, "seed": 3, "confidence_level": 0.9, "method": "percentile"}
RNG = np.random.default_rng(0)
Y = np.arange(N) % 2
LLRS = {name: 2.0 * Y - 1.0 + k / 4.0 + RNG.normal(size=N) for k, name in enumerate("abc")}
GROUP = RNG.integers(0, 3, N)
CLUSTER = RNG.integers(0, 20, N)


def systems_of(names="abc", rows=slice(None)):
    return {name: fp.Predictions.from_llrs(Y[rows], LLRS[name][rows], prior=0.3) for name in names}


def assert_as_compared(difference, a, b, **options):
    expected = fp.compare(METRICS[difference.metric], a, b, **OPTIONS | options)
    assert (difference.value, difference.low, difference.high) == (
        expected.value, *expected.interval,
    )  # fmt: skip
    result = difference.result
    assert (result.bias, result.n_undefined) == (expected.bias, expected.n_undefined)
    assert difference.excludes_zero == (difference.low > 0.0 or difference.high < 0.0)


@pytest.mark.parametrize(("pairs", "method"), [("first", "bca"), ("all", "percentile")])
def test_pairs_are_those_of_compare(pairs, method):
    systems = systems_of()
    table = fp.evaluate(systems, METRICS, differences=pairs, **OPTIONS | {"method": method})
    names = {"first": ["ab", "ac"], "all": ["ab", "ac", "bc"]}[pairs]
    sides = [(d.a.system, d.b.system, d.metric) for d in table.differences]
    assert sides == [(*pair, metric) for pair in names for metric in METRICS]
    for difference in table.differences:
        a, b = (systems[row.system] for row in (difference.a, difference.b))
        assert_as_compared(difference, a, b, method=method)
        assert table.row((difference.a.system, None, difference.metric)) is difference.a


def test_differences_of_groups_of_clusters():
    options = {"by": {"g": GROUP}, "differences": "first"}
    table = fp.evaluate(
        systems_of(), METRICS, resampling=fp.Clusters(CLUSTER), **options, **OPTIONS
    )
    places = [None, "g=0", "g=1", "g=2"]
    assert [(d.group, d.name) for d in table.differences[:: len(METRICS)]] == [
        (place, f"a - {name}") for place in places for name in "bc"
    ]
    for difference in table.differences:
        place = places.index(difference.group) - 1
        rows = slice(None) if place < 0 else np.flatnonzero(place == GROUP)
        systems = systems_of(rows=rows)
        a, b = (systems[row.system] for row in (difference.a, difference.b))
        assert_as_compared(difference, a, b, resampling=fp.Clusters(CLUSTER[rows]))


@pytest.mark.parametrize("more", [{"differences": "first"}, {"group_differences": "pooled"}])
@pytest.mark.parametrize("method", ["percentile", "auto"])
def test_intervals_of_rows_do_not_depend_on_differences(more, method):
    metrics = {"EER": fp.EER(), "ECE": fp.ECE(), "Cllr": fp.Cllr()}
    few = {"n_resamples": 12, "confidence_level": 0.5, "method": method}
    options = OPTIONS | few | {"by": {"odd": np.arange(N) // 2 % 2}}
    alone = fp.evaluate(systems_of("ab"), metrics, **options).rows
    rows = fp.evaluate(systems_of("ab"), metrics, **options, **more).rows
    assert [(r.value, r.low, r.high) for r in rows] == [(r.value, r.low, r.high) for r in alone]
    assert None not in {row.low for row in rows}


def test_only_metrics_that_both_have():
    raw = fp.Predictions.from_raw_scores(Y, LLRS["b"])
    table = fp.evaluate({**systems_of("a"), "b": raw}, differences="first")
    assert [d.metric for d in table.differences] == ["EER", "minDCF(0.01)", "minCllr", "AUC"]
    assert {(d.result, d.low, d.high, d.excludes_zero) for d in table.differences} == {
        (None, None, None, None)
    }


def test_infinite_and_undefined_differences():
    y = np.array([0, 1] * 40)
    finite = np.where(y, 1.0, -1.0)
    infinite = np.where(np.arange(80) == 1, -INF, finite)
    scores = {"a": infinite, "b": finite, "c": infinite}
    systems = {name: fp.Predictions.from_llrs(y, scores[name]) for name in "abc"}
    table = fp.evaluate(systems, [fp.Cllr(), fp.EER()], differences="all", **OPTIONS)
    found = {(d.name, d.metric): d for d in table.differences}
    assert found["a - b", "Cllr"].value == INF
    undefined = found["a - c", "Cllr"]
    assert math.isnan(undefined.value)
    assert (undefined.result, undefined.excludes_zero, undefined.is_equal) == (None, None, False)
    assert undefined.note == f"a and c: {undefined.a.note}"
    assert found["a - c", "EER"].is_equal
    json.dumps(table.to_dict(), allow_nan=False)


def test_differences_by_rounding_are_equal():
    for values, equal in (
        ((0.5, 0.5 + 1e-11), True), ((0.5, 0.5 + 1e-8), False), ((0.0, 1e-300), False),
        ((INF, INF), False), ((math.nan, 1.0), False),
    ):  # fmt: skip
        left = list(values)
        metric = {"m": lambda p, left=left: left.pop(0)}
        (difference,) = fp.evaluate(systems_of("ab"), metric, differences="first").differences
        assert (difference.is_equal, difference.excludes_zero) == (equal, None)
    for scale, equal in ((1.0 + 1e-15, True), (1.0 + 1e-7, False)):
        llrs = {"a": LLRS["a"], "b": LLRS["a"] * scale}
        systems = {name: fp.Predictions.from_llrs(Y, of_system) for name, of_system in llrs.items()}
        table = fp.evaluate(systems, [fp.Cllr()], differences="first", **OPTIONS)
        assert table.differences[0].is_equal == equal
        assert not (equal and table.differences[0].excludes_zero)
        assert ("equal" in str(table)) == equal


def test_invalid_arguments():
    systems = systems_of("ab")
    shorter = systems_of("ab", slice(N - 1))
    for predictions, option in ((systems["a"], "first"), (systems, "second")):
        assert refusal(predictions, METRICS, differences=option).argument == "differences"
    error = refusal({"a": systems["a"], "b": shorter["b"]}, METRICS, differences="first")
    assert error.name == "predictions 'a' and 'b'"
    parts = {
        name: fp.from_parts([(data, {"g": GROUP // (1 + (name == "b"))})])
        for name, data in systems.items()
    }
    assert refusal(parts, METRICS, by="g", differences="first").argument == "by"


def test_json_and_frames():
    table = fp.evaluate(systems_of("ab"), METRICS, differences="first", **OPTIONS)
    names = ["system_a", "system_b", "group_a", "group_b", "metric", "a", "b", "difference", "low",
             "high", "n_undefined", "n_simultaneous", "method", "equal", "excludes_zero",
             "p_value", "note", "unit"]  # fmt: skip
    frame = table.to_frame()
    assert frame["row"].to_list() == ["value"] * len(table.rows) + ["difference"] * len(METRICS)
    records = frame.to_dicts()[len(table.rows) :]
    entries = table.to_dict()["differences"]
    for entry, record, d in zip(entries, records, table.differences, strict=True):
        assert list(entry) == names
        assert entry.items() <= record.items()
        assert (entry["difference"], entry["a"], entry["low"]) == (d.value, d.a.value, d.low)
