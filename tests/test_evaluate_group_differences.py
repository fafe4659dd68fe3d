"""Differences of groups: replicates by explicit draw counts, in memory and in parts."""

import json
import math
import warnings
from itertools import combinations, pairwise

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.bootstrap.intervals import simultaneous_level
from fastpsr.bootstrap.job import Job
from fastpsr.bootstrap.subsets import Subset
from fastpsr.evaluation import NoIntervalsWarning
from fastpsr.evaluation.comparison import group_pairs_of
from fastpsr.groups import groups_of
from fastpsr.plans import Part, run
from fastpsr.plans.reading import parts_of
from tests import reference_bootstrap as reference
from tests.drawn import acceleration_of, draws_of, fixed, units_of

N = 360
CUTS = (0, 80, 80, 130, 131, 300, N)  # an empty part, and one of a single row
LEVEL = 0.8
OPTIONS = {"n_resamples": 50, "seed": 3, "confidence_level": LEVEL, "method": "percentile"}
SCHEMES = ("iid", "stratified", "clusters", "nested", "two-way")


def columns():
    rng = np.random.default_rng(0)
    y = (rng.random(N) < 0.4).astype(int)
    room = np.array(list("abc"))[rng.integers(0, 3, N)]
    room[80:130] = "a"  # other rooms have no row in this part
    weight = rng.choice([0.0, 0.3, 1.0, 2.5], N)
    weight[131:300][room[131:300] == "c"] = 0.0  # nor weight in this one
    return {
        "y": y,
        "llr": np.round(2.0 * y - 1.0 + rng.normal(size=N), 1),
        "other": 2.0 * y - 1.0 + rng.normal(size=N),
        "weight": weight,
        "sex": np.array(["f", "m"])[rng.integers(0, 2, N)],
        "room": room,
        "left": rng.integers(0, 25, N),
        "right": rng.integers(0, 25, N),
    }


def predictions(data, weighted=False, llr="llr", rows=slice(None)):
    weights = data["weight"][rows] if weighted else None
    return fp.Predictions.from_llrs(data["y"][rows], data[llr][rows], sample_weight=weights)


def in_parts(data, weighted=False, llr="llr"):
    cuts = [slice(i, j) for i, j in pairwise(CUTS)]
    ids = ("sex", "room", "left", "right")
    return fp.from_parts(
        [(predictions(data, weighted, llr, c), {k: data[k][c] for k in ids}) for c in cuts]
    )


def scheme_of(name, ids):
    """The scheme, with ids or names of columns."""
    return {
        "iid": fp.IID(), "stratified": fp.Stratified(), "clusters": fp.Clusters(ids["left"]),
        "nested": fp.Nested(ids["left"]), "two-way": fp.TwoWay(ids["left"], ids["right"]),
    }[name]  # fmt: skip


NAMES = {name: name for name in ("sex", "room", "left", "right")}


def metrics_of(groups):
    """A metric of sums, of counts, of ranks, on bins without sums, and with folds by speaker."""
    dp = fp.DirectionPreserving()
    return {
        "Cllr": fp.Cllr(), "actDCF": fp.ActDCF(0.3), "EER": fp.EER(), "AUC": fp.AUC(),
        "ECE": fp.ECE(5, binning="quantile"),
        "RCL": fp.CalibrationLoss(fp.rules.Log(), dp, fp.CrossFit(3, groups=groups)),
    }  # fmt: skip


def explicit(metric, whole, rows, times):
    """Values of a metric of some rows, from the draw counts of all rows in each replicate."""
    group = whole[rows].alone()
    pinned = fixed(metric.on_rows(whole, rows), group)
    own = group.sample_weight if group.sample_weight is not None else np.ones(len(group))
    values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for of_replicate in times:
            try:
                values.append(pinned(group.reweighted(own * of_replicate[rows])))
            except ValueError:
                values.append(math.nan)
    return np.array(values)


def drawn(scheme, data):
    """Draw counts of all rows in each replicate, (R, N)."""
    draws = draws_of(units_of(scheme, data), OPTIONS["seed"])
    in_memory = isinstance(data, fp.Predictions)
    parts = [Part.whole(data)] if in_memory else list(parts_of(data))
    return np.array(
        [
            np.concatenate(
                [
                    draws.of_rows(p, r) if p.has_weight else np.zeros(len(p.predictions))
                    for p in parts
                ]
            )
            for r in range(OPTIONS["n_resamples"])
        ]
    )


def rows_of(data, group):
    column, value = group.split("=") if group else (None, None)
    return np.arange(N) if group is None else np.flatnonzero(data[column] == value)


def level_of(rows):
    """Least level at which enough replicates lie in all intervals, of levels in small steps."""
    bonferroni = 1.0 - (1.0 - LEVEL) / len(rows)
    for level in np.arange(LEVEL, bonferroni, 0.001):
        ends = [reference.interval(None, row, level, "percentile") for row in rows]
        outside = [
            any(not low <= x <= high for x, (low, high) in zip(xs, ends, strict=True) if x == x)
            for xs in zip(*rows, strict=True)
        ]
        if np.mean(outside) <= 1.0 - LEVEL + 1e-9:
            return level
    return bonferroni


@pytest.mark.filterwarnings("ignore:.*is undefined in")
@pytest.mark.parametrize(
    ("scheme", "where"),
    [pytest.param(scheme, where, marks=[pytest.mark.slow] if (k + other) % 4 else [])
     for k, scheme in enumerate(SCHEMES) for other, where in enumerate(("parts", "memory"))],
)  # fmt: skip
def test_replicates_are_those_of_the_draws_of_the_whole(scheme, where):
    data, weighted = columns(), where == "parts"
    whole = predictions(data, weighted)
    by, ids, given = {"sex": data["sex"], "room": data["room"]}, data, whole
    if where == "parts":
        by, ids, given = ["sex", "room"], NAMES, in_parts(data, weighted)
    times = drawn(scheme_of(scheme, ids), given)
    metrics = metrics_of(data["left"])
    table = fp.evaluate(
        given, metrics_of(ids["left"]), by=by, resampling=scheme_of(scheme, ids),
        group_differences="pooled", **OPTIONS,
    )  # fmt: skip
    groups = ["sex=f", "sex=m", "room=a", "room=b", "room=c"]
    assert [(d.a.group, d.b.group, d.metric) for d in table.differences] == [
        (group, None, name) for group in groups for name in metrics
    ]
    for name, metric in metrics.items():
        values = {g: explicit(metric, whole, rows_of(data, g), times) for g in [None, *groups]}
        rows = {g: values[g] - values[None] for g in groups}
        level = level_of(list(rows.values()))
        n_defined = min(np.isfinite(row).sum() for row in rows.values())
        for each in (d for d in table.differences if d.metric == name):
            close = {"rtol": 1e-7, "atol": 1e-9} if name in ("RCL", "AUC") else {"rtol": 1e-9}
            np.testing.assert_allclose(
                each.result.replicates, rows[each.a.group], **({"atol": 1e-12} | close)
            )
            assert each.n_simultaneous == len(groups)
            own = each.result.confidence_level
            assert own == pytest.approx(level, abs=2.0 / n_defined + 0.001)  # between ranks
            expected = reference.interval(each.value, rows[each.a.group], own, "percentile")
            np.testing.assert_allclose((each.low, each.high), expected, rtol=1e-6, atol=1e-8)


def test_pairs_are_of_one_grouping():
    data = columns()
    by = {"sex": data["sex"], "room": data["room"]}
    table = fp.evaluate(predictions(data), [fp.EER()], by=by, group_differences="all", **OPTIONS)
    pairs = [("sex=f", "sex=m"), *combinations(("room=a", "room=b", "room=c"), 2)]
    assert [(d.a.group, d.b.group) for d in table.differences] == pairs
    assert [d.name for d in table.differences] == [f"{a} - {b}" for a, b in pairs]
    assert {(d.group, d.place, d.is_of_groups) for d in table.differences} == {(None, "", True)}
    for each in table.differences:
        assert each.value == table[None, each.a.group, "EER"] - table[None, each.b.group, "EER"]
        assert each.excludes_zero == (each.low > 0.0 or each.high < 0.0)
        assert each.n_simultaneous == 4
    (row,) = {json.dumps(d.to_dict()) for d in table.differences[:1]}
    found = json.loads(row)
    assert (found["group_a"], found["group_b"]) == ("sex=f", "sex=m")
    assert (found["system_a"], found["n_simultaneous"]) == (None, 4)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "metric", [fp.BrierScore(False), fp.ECE(5, binning="quantile")], ids=["sums", "samples"]
)
@pytest.mark.parametrize("scheme", ["iid", "clusters"])
@pytest.mark.parametrize("where", ["memory", "parts"])
def test_accelerations_leave_out_units_of_the_whole(metric, scheme, where):
    data = columns()
    whole = predictions(data, weighted=True)
    rows = [rows_of(data, group) for group in ("room=b", "room=c")]

    def difference(times):
        b, c = (explicit(metric, whole, these, [times])[0] for these in rows)
        return b - c

    ids, given = (data, whole) if where == "memory" else (NAMES, in_parts(data, weighted=True))
    groups = groups_of(given, {"room": ids["room"]})[1:]
    jobs = [Job(metric, each.data, Subset(given, each.rows)) for each in groups]
    for job in jobs:
        run(job.prepare)
    found = run(lambda: acceleration_of(jobs, [1.0, -1.0], scheme_of(scheme, ids), 0))
    expected = reference.jackknife_acceleration(
        difference, scheme, data["y"], data["weight"], data["left"].tolist()
    )
    assert abs(expected) > 0.005
    assert found == pytest.approx(expected, abs=1e-9)


def test_bca_intervals():
    data = columns()
    options = OPTIONS | {"by": {"sex": data["sex"]}, "group_differences": "all"}
    (bca,), (percentile,) = (
        fp.evaluate(
            predictions(data), [fp.BrierScore()], **(options | {"method": method})
        ).differences
        for method in ("bca", "percentile")
    )
    assert bca.result.method == "bca"
    assert (bca.low, bca.high) != (percentile.low, percentile.high)
    np.testing.assert_array_equal(bca.result.replicates, percentile.result.replicates)


def test_systems_and_groups():
    """Differences of systems stay as they are; all are of common draws."""
    data = columns()
    systems = {"a": predictions(data), "b": predictions(data, llr="other")}
    options = {"by": {"room": data["room"]}, "resampling": fp.Clusters(data["left"]), **OPTIONS}
    metrics = {"EER": fp.EER(), "Cllr": fp.Cllr()}
    both = fp.evaluate(systems, metrics, differences="first", group_differences="pooled", **options)
    groups = fp.evaluate(systems, metrics, group_differences="pooled", **options)
    of_systems = [d for d in both.differences if not d.is_of_groups]
    of_groups = both.differences[len(of_systems) :]
    assert [(d.group, d.name) for d in of_systems[::2]] == [
        (group, "a - b") for group in (None, "room=a", "room=b", "room=c")
    ]
    assert {d.n_simultaneous for d in of_systems} == {1}
    assert [(d.place, d.name) for d in of_groups[::2]] == [
        (system, f"room={room} - pooled") for system in "ab" for room in "abc"
    ]
    numbers = [(d.value, d.low, d.high, d.n_simultaneous) for d in of_groups]
    assert numbers == [(d.value, d.low, d.high, d.n_simultaneous) for d in groups.differences]
    assert {d.n_simultaneous for d in of_groups} == {3}
    times = drawn(options["resampling"], systems["a"])
    for each in of_systems:
        rows = rows_of(data, each.group)
        a, b = (explicit(metrics[each.metric], systems[name], rows, times) for name in "ab")
        np.testing.assert_allclose(each.result.replicates, a - b, rtol=1e-9, atol=1e-12)
    alone = fp.evaluate(systems["b"], metrics, group_differences="pooled", **options)
    assert [(d.low, d.high) for d in alone.differences] == [
        (d.low, d.high) for d in of_groups if d.place == "b"
    ]


def test_shared_targets_cancel():
    """Attacks with all targets: their difference is of non-targets alone."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [200, 100])
    attack = np.where(y, "", np.array(["x", "y"])[np.arange(y.size) % 2])
    data = fp.Predictions.from_llrs(y, rng.normal(size=y.size) + 2.0 * y)
    metric = fp.MissRate(0.1)
    options = {"group_differences": "all", **OPTIONS}
    shared = fp.evaluate(data, [metric], by={"attack": fp.SharedTargets(attack)}, **options)
    (each,) = shared.differences
    assert each.name == "attack=x - attack=y"
    times = drawn(fp.IID(), data)
    x, other = (
        explicit(metric, data, np.flatnonzero((attack == k) | (y == 1)), times) for k in "xy"
    )
    np.testing.assert_allclose(each.result.replicates, x - other, atol=1e-12)


def test_functions_are_metrics_too():
    data = columns()
    whole = predictions(data, weighted=True)

    def miss(p):
        weights = p.sample_weight * (p.y_true == 1)
        return float(((p.llrs < 0.0) * weights).sum() / weights.sum())

    options = {"by": {"sex": data["sex"]}, "group_differences": "all", **OPTIONS}
    (each,) = fp.evaluate(whole, {"miss": miss}, **options).differences
    times = drawn(fp.IID(), whole) * data["weight"]
    is_miss, is_target = data["llr"] < 0.0, data["y"] == 1

    def expected(sex):
        these = is_target & (data["sex"] == sex)
        return times[:, these & is_miss].sum(axis=1) / times[:, these].sum(axis=1)

    np.testing.assert_allclose(each.result.replicates, expected("f") - expected("m"), rtol=1e-12)


def test_a_group_of_one_cluster_has_no_differences_with_intervals():
    data = columns()
    cluster = np.where(data["room"] == "b", 99, data["left"])
    options = {"by": {"room": data["room"]}, "resampling": fp.Clusters(cluster), **OPTIONS}
    with pytest.warns(NoIntervalsWarning, match="room=b: .* at least two clusters"):
        table = fp.evaluate(predictions(data), [fp.EER()], group_differences="all", **options)
    found = {d.name: (d.low is None, d.n_simultaneous) for d in table.differences}
    assert found == {
        "room=a - room=b": (True, 1), "room=a - room=c": (False, 1), "room=b - room=c": (True, 1),
    }  # fmt: skip
    assert table.row((None, "room=b", "EER")).low is None


def test_undefined_replicates_are_warned_of_by_group():
    data = columns()
    cluster = np.where(data["room"] == "b", 100 + data["left"] % 2, data["left"])
    options = {"by": {"room": data["room"]}, "resampling": fp.Clusters(cluster), **OPTIONS}
    with pytest.warns(RuntimeWarning, match="is undefined in") as caught:
        table = fp.evaluate(predictions(data), [fp.EER()], group_differences="pooled", **options)
    (message,) = [str(each.message) for each in caught]
    assert message.startswith("EER, room=b - pooled is undefined in")
    assert {str(each.filename) for each in caught} == {__file__}
    n = {d.a.group: d.result.n_undefined for d in table.differences}
    assert n["room=b"] > 0 == table.row((None, "room=b", "EER")).n_undefined
    assert n["room=a"] == 0


def test_undefined_values_have_no_differences():
    data = columns()
    room = np.where(data["y"] == 1, "targets", "non-targets")
    table = fp.evaluate(
        predictions(data), [fp.EER()], by={"room": room}, group_differences="pooled", **OPTIONS
    )
    assert {(math.isnan(d.value), d.low, d.result) for d in table.differences} == {
        (True, None, None)
    }
    assert table.differences[0].note.startswith("room=non-targets: not computed: ")
    json.dumps(table.to_dict(), allow_nan=False)


# Levels


def test_the_level_of_one_interval_is_its_own():
    assert simultaneous_level([np.arange(50.0)], 0.8) == 0.8


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9, 1.0])
def test_levels_hold_jointly(shared):
    """In fresh draws of equally correlated normals, nearly the wanted share lies in all."""
    rng = np.random.default_rng(2)

    def draw(n):
        common, own = rng.normal(size=n), rng.normal(size=(6, n))
        return math.sqrt(shared) * common + math.sqrt(1.0 - shared) * own * np.arange(1, 7)[:, None]

    level = simultaneous_level(list(draw(20_000)), 0.9)
    low, high = np.quantile(draw(200_000), [(1 - level) / 2, (1 + level) / 2], axis=1)
    fresh = draw(100_000)
    inside = ((fresh >= low[:, None]) & (fresh <= high[:, None])).all(axis=0).mean()
    assert inside == pytest.approx(0.9, abs=0.01)
    assert (level == pytest.approx(0.9, abs=0.005)) == (shared == 1.0)


def test_a_level_is_at_most_that_of_bonferroni():
    n = np.arange(1_000)
    apart = [np.roll(n, 200 * k) for k in range(5)]  # extremes of no two are in one replicate
    assert simultaneous_level(apart, 0.9) == pytest.approx(0.98, abs=0.001)
    apart = [np.roll(np.minimum(n, 999 - n), 8 * k) for k in range(5)]
    assert simultaneous_level(apart, 0.9) <= 0.98


def test_levels_do_not_change_with_scales():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4, 1_000))
    level = simultaneous_level(list(rows), 0.9)
    heavy = [np.sinh(9.0 * rows[0]), 1e9 * rows[1], np.exp(rows[2]), -rows[3]]
    assert simultaneous_level(heavy, 0.9) == pytest.approx(level, abs=1e-12)
    heavy[0][heavy[0] > 1e6] = np.inf
    assert simultaneous_level(heavy, 0.9) <= level


def test_levels_without_what_is_undefined():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(3, 1_000))
    level = simultaneous_level(list(rows), 0.9)
    more = [*rows, np.full(1_000, np.nan), np.zeros(1_000)]
    assert simultaneous_level(more, 0.9) == level
    gaps = np.where(np.arange(1_000) % 4 == 0, np.nan, rows)
    assert 0.9 < simultaneous_level(list(gaps), 0.9) < level


# Arguments and texts


def test_invalid_arguments():
    data = columns()
    whole, by = predictions(data), {"room": data["room"]}
    few = {**OPTIONS, "n_resamples": 20}
    for options, words in (
        ({"group_differences": "all"}, "group_differences need two groups .*: pass by="),
        ({"group_differences": "pooled"}, "group_differences need groups of samples: pass by="),
        ({"group_differences": "all", "by": {"x": np.zeros(N, int)}}, "need two groups"),
        ({"group_differences": "whole", "by": by},
         "group_differences must be one of None, 'pooled', 'all', not 'whole'"),
        ({"group_differences": "all", "by": by, **few},
         "n_resamples must be at least 30 for 3 simultaneous intervals at a level of 0.8, not 20: "
         "pass n_resamples=30"),
    ):  # fmt: skip
        with pytest.raises(fp.ArgumentError, match=words):
            fp.evaluate(whole, [fp.EER()], **options)
    few["n_resamples"] = 30
    fp.evaluate(whole, [fp.EER()], by=by, group_differences="all", **few)


def test_pairs_of_groups():
    assert group_pairs_of([None, "a"], "pooled") == [(1, 0)]
    with pytest.raises(fp.ArgumentError, match="need two groups"):
        group_pairs_of([None, "a", "b"], "all")


def test_texts():
    data = columns()
    whole = predictions(data)
    by = {"sex": data["sex"], "room": data["room"]}
    one = fp.evaluate(whole, [fp.EER()], by=by, group_differences="pooled", **OPTIONS)
    text = str(one)
    said = "80 % intervals are simultaneous over 5 differences of each metric"
    assert said in text.splitlines()
    assert f"; {said}" in one._repr_html_()
    for each in one.differences:
        assert each.name in text
        assert f"{100 * each.low:.3f}, {100 * each.high:.3f}" in text
    single = fp.evaluate(
        whole, [fp.EER()], by={"sex": by["sex"]}, group_differences="all", **OPTIONS
    )
    assert "simultaneous" not in str(single)
    assert "simultaneous" not in str(fp.evaluate(whole, by=by, group_differences="pooled"))
    systems = {"a": whole, "b": predictions(data, llr="other")}
    both = fp.evaluate(
        systems, [fp.EER()], by=by, differences="all", group_differences="all", **OPTIONS
    )
    assert "80 % intervals of groups are simultaneous over 4 differences of each metric" in str(
        both
    )
    for width in (80, 100, 200):
        assert max(map(len, both.to_text(width).splitlines())) <= width
    for name in ("a - b", "sex=f - sex=m", "room=b - room=c"):
        assert name in str(both)
        assert name in both._repr_html_()
