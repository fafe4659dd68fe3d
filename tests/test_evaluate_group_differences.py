"""`fp.evaluate(group_differences=)`: draws of the whole, simultaneous intervals."""

import itertools
import json
import math

import numpy as np
import pytest

import fastpsr as fp
from tests import reference_bootstrap as reference
from tests.evaluations import refusal

N = 360
LEVEL = 0.8
OPTIONS = {"n_resamples": 50, "seed": 3, "confidence_level": LEVEL, "method": "percentile"}
RNG = np.random.default_rng(0)
Y = (RNG.random(N) < 0.4).astype(int)
LOGITS = np.round(2.0 * Y - 1.0 + 1.5 * RNG.normal(size=N), 1)
WEIGHT = RNG.choice([0.3, 1.0, 2.5], N)
IDS = {
    "sex": np.array(["f", "m"])[RNG.integers(0, 2, N)],
    "room": np.array(list("abc"))[RNG.integers(0, 3, N)],
    "left": RNG.integers(0, 25, N),
    "right": RNG.integers(0, 25, N),
}
ROOM = {"room": IDS["room"]}
SCHEMES = {
    "iid": fp.IID(),
    "stratified": fp.Stratified(),
    "clusters": fp.Clusters(IDS["left"]),
    "nested": fp.Nested(IDS["left"]),
    "two-way": fp.TwoWay(IDS["left"], IDS["right"]),
}


def predictions(rows=slice(None), weights=WEIGHT, logits=LOGITS):
    return fp.Predictions.from_logits(Y[rows], logits[rows], sample_weight=weights[rows])


def metrics_of(rows=slice(None)):
    folds = fp.CrossFit(folds=IDS["left"][rows] % 3)
    return {
        "Cllr": fp.Cllr(), "EER": fp.EER(), "AUC": fp.AUC(),
        "RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), folds),
        "misses": misses,
    }  # fmt: skip


def misses(p):
    targets = p.y_true == 1
    return float(
        p.sample_weight[targets & (p.positive_posteriors < 0.5)].sum()
        / p.sample_weight[targets].sum()
    )


def draw_counts(scheme):
    """How often each sample is drawn in each replicate of the whole, (R, N)."""
    weights = []
    fp.bootstrap(
        {"": lambda p: weights.append(p.sample_weight) or float(p.sample_weight[0])},
        predictions(weights=np.ones(N)), resampling=SCHEMES[scheme], **OPTIONS,
    )  # fmt: skip
    return np.array(weights[-OPTIONS["n_resamples"] :])


def rows_of(group):
    column, value = group.split("=") if group else (None, None)
    return np.arange(N) if group is None else np.flatnonzero(IDS[column] == value)


def naive_replicates(metric, group, counts):
    rows = rows_of(group)
    own = metrics_of(rows)[metric]
    return np.array([own(predictions(rows, WEIGHT * drawn)) for drawn in counts])


def naive_level(rows):
    """Least level, in small steps, at which enough replicates lie in all intervals."""
    bonferroni = 1.0 - (1.0 - LEVEL) / len(rows)
    for level in np.arange(LEVEL, bonferroni, 0.001):
        ends = [reference.interval(None, row, level, "percentile") for row in rows]
        outside = [
            any(not low <= x <= high for x, (low, high) in zip(xs, ends, strict=True))
            for xs in zip(*rows, strict=True)
        ]
        if np.mean(outside) <= 1.0 - LEVEL + 1e-9:
            return level
    return bonferroni


@pytest.mark.parametrize("scheme", SCHEMES)
def test_replicates_and_simultaneous_intervals(scheme):
    counts, groups = draw_counts(scheme), ["sex=f", "sex=m", "room=a", "room=b", "room=c"]
    metrics = metrics_of()
    some = ["Cllr", "EER", "misses"] if scheme != "clusters" else list(metrics)
    table = fp.evaluate(
        predictions(), {name: metrics[name] for name in some},
        by={"sex": IDS["sex"], "room": IDS["room"]}, resampling=SCHEMES[scheme],
        group_differences="pooled", **OPTIONS,
    )  # fmt: skip
    assert [(d.a.group, d.b.group, d.metric) for d in table.differences] == [
        (group, None, name) for group in groups for name in some
    ]
    for name in some:
        values = {group: naive_replicates(name, group, counts) for group in [None, *groups]}
        rows = [values[group] - values[None] for group in groups]
        level = naive_level(rows)
        for difference, expected in zip(
            (d for d in table.differences if d.metric == name), rows, strict=True
        ):
            np.testing.assert_allclose(difference.result.replicates, expected, rtol=1e-7, atol=1e-9)
            own = difference.result.confidence_level
            assert own == pytest.approx(level, abs=2.0 / 50 + 0.001)  # between ranks
            ends = reference.interval(difference.value, expected, own, "percentile")
            np.testing.assert_allclose(
                (difference.low, difference.high), ends, rtol=1e-6, atol=1e-8
            )
            assert difference.n_simultaneous == len(groups)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_data_in_parts_have_the_same_differences(method):
    cuts = [slice(*ends) for ends in itertools.pairwise((0, 80, 80, 130, 131, 300, N))]
    data = predictions()
    parts = fp.from_parts([(data[at], {k: ids[at] for k, ids in IDS.items()}) for at in cuts])
    metrics = [fp.Cllr(), fp.EER()]
    options = OPTIONS | {"group_differences": "all", "method": method}
    there = fp.evaluate(parts, metrics, by="room", resampling=fp.Clusters("left"), **options)
    here = fp.evaluate(data, metrics, by=ROOM, resampling=SCHEMES["clusters"], **options)
    assert len(there.differences) == 3 * 2
    for a, b in zip(there.differences, here.differences, strict=True):
        assert (a.name, a.metric, a.result.method) == (b.name, b.metric, method)
        np.testing.assert_allclose((a.value, a.low, a.high), (b.value, b.low, b.high), rtol=1e-9)


@pytest.mark.parametrize("scheme", ["iid", "clusters"])
def test_bca_leaves_out_units_of_the_whole(scheme):
    metric = fp.BrierScore(False)

    def value_at(times):
        rooms = (rows_of(room) for room in ("room=a", "room=b"))
        return np.subtract(*(metric(predictions(rows, WEIGHT * times)) for rows in rooms))

    options = OPTIONS | {"method": "bca", "n_resamples": 3_000, "group_differences": "all"}
    (difference, *_) = fp.evaluate(
        predictions(), [metric], by=ROOM, resampling=SCHEMES[scheme], **options
    ).differences
    acceleration = reference.jackknife_acceleration(
        value_at, scheme, Y, WEIGHT, IDS["left"].tolist()
    )
    result = difference.result
    ends = [
        reference.interval(result.value, result.replicates, result.confidence_level, "bca", a)
        for a in (acceleration, 0.0, -acceleration)
    ]
    assert len(set(ends)) == 3  # the acceleration matters
    np.testing.assert_allclose((difference.low, difference.high), ends[0], rtol=1e-6)


def test_pairs_are_of_one_grouping():
    by = {"sex": IDS["sex"], "room": IDS["room"]}
    table = fp.evaluate(predictions(), [fp.EER()], by=by, group_differences="all", **OPTIONS)
    pairs = [("sex=f", "sex=m"), *itertools.combinations(("room=a", "room=b", "room=c"), 2)]
    assert [(d.a.group, d.b.group) for d in table.differences] == pairs
    for d in table.differences:
        assert (d.name, d.group, d.place, d.is_of_groups) == (
            f"{d.a.group} - {d.b.group}", None, "", True,
        )  # fmt: skip
        assert d.value == table[None, d.a.group, "EER"] - table[None, d.b.group, "EER"]
        assert d.excludes_zero == (d.low > 0.0 or d.high < 0.0)
        assert d.n_simultaneous == 4
    entry = table.to_dict()["differences"][0]
    assert (entry["group_a"], entry["group_b"]) == ("sex=f", "sex=m")
    assert (entry["system_a"], entry["n_simultaneous"]) == (None, 4)
    assert "over 4 differences" in str(table)


def test_systems_and_groups():
    """Differences of systems are those without groups; all are of common draws."""
    systems = {"a": predictions(), "b": predictions(logits=LOGITS + RNG.normal(size=N))}
    metrics = {"EER": fp.EER(), "Cllr": fp.Cllr()}
    options = {"by": ROOM, "resampling": SCHEMES["clusters"], **OPTIONS}
    both = fp.evaluate(systems, metrics, differences="first", group_differences="pooled", **options)
    of_systems = [d for d in both.differences if not d.is_of_groups]
    of_groups = both.differences[len(of_systems) :]
    assert {d.n_simultaneous for d in of_systems} == {1}
    assert {d.n_simultaneous for d in of_groups} == {3}
    assert [(d.place, d.name) for d in of_groups[::2]] == [
        (system, f"room={room} - pooled") for system in "ab" for room in "abc"
    ]
    alone = fp.evaluate(systems["b"], metrics, group_differences="pooled", **options)
    assert [(d.low, d.high, d.value) for d in alone.differences] == [
        (d.low, d.high, d.value) for d in of_groups if d.place == "b"
    ]


def test_shared_targets_cancel():
    """Groups with all targets: their difference is of the non-targets alone."""
    attack = np.where(Y, "", np.array(["x", "y"])[np.arange(N) % 2])
    (difference,) = fp.evaluate(
        predictions(), [fp.MissRate(0.1)], by={"attack": fp.SharedTargets(attack)},
        group_differences="all", **OPTIONS,
    ).differences  # fmt: skip
    rows = [np.flatnonzero((attack == value) | (Y == 1)) for value in "xy"]
    expected = [
        np.subtract(*(fp.MissRate(0.1)(predictions(r, WEIGHT * drawn)) for r in rows))
        for drawn in draw_counts("iid")
    ]
    np.testing.assert_allclose(difference.result.replicates, expected, atol=1e-12)


def test_groups_that_lack_units_or_a_class():
    cluster = np.where(IDS["room"] == "b", 99, IDS["left"])
    options = {"by": ROOM, "group_differences": "all", **OPTIONS}
    with pytest.warns(RuntimeWarning, match="^room=b: no intervals"):
        table = fp.evaluate(predictions(), ["EER"], resampling=fp.Clusters(cluster), **options)
    assert {d.name: (d.low is None, d.n_simultaneous) for d in table.differences} == {
        "room=a - room=b": (True, 1), "room=a - room=c": (False, 1), "room=b - room=c": (True, 1),
    }  # fmt: skip
    by = {"room": np.where(Y == 1, "targets", "non-targets")}
    table = fp.evaluate(predictions(), ["EER"], by=by, group_differences="pooled", **OPTIONS)
    for d in table.differences:
        assert math.isnan(d.value)
        assert (d.low, d.result) == (None, None)
    assert table.differences[0].note.startswith("room=non-targets: not computed: ")
    json.dumps(table.to_dict(), allow_nan=False)


def test_invalid_arguments():
    few = OPTIONS | {"n_resamples": 20}
    for options in (
        {"group_differences": "all"}, {"group_differences": "pooled"},
        {"group_differences": "all", "by": {"x": np.zeros(N, int)}},
        {"group_differences": "whole", "by": ROOM},
    ):  # fmt: skip
        assert refusal(predictions(), ["EER"], **options).argument == "group_differences"
    options = {"by": ROOM, "group_differences": "all", **few}
    error = refusal(predictions(), ["EER"], **options)
    assert (error.argument, error.pass_) == ("n_resamples", {"n_resamples": 30})
    fp.evaluate(predictions(), ["EER"], **options | error.pass_)
