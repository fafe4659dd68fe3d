"""`evaluate_fusion`: rows are separate cross-fits on the same folds, compared in the same draws."""

import numpy as np
import pytest

import fastpsr as fp
from tests.refusal import refuses

METRICS = [fp.Cllr(), fp.MinCllr(), fp.ActDCF(0.3), fp.EER()]
RESAMPLES = {"n_resamples": 40, "seed": 3, "method": "percentile"}


def systems(n=1500, weights=None):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(int)
    noise = rng.normal(size=n)
    a = 2.0 * y + rng.normal(size=n) + noise
    b = 1.5 * y + rng.normal(size=n) - noise
    return {
        "a": fp.Predictions.from_raw_scores(y, a, sample_weight=weights),
        "b": fp.Predictions.from_llrs(y, b, sample_weight=weights),
        "q": fp.Quality(noise, rng.random(n)),
    }


def expected_rows(inputs, train, fusion, **options):
    """Every row of the table by a cross-fit of its own, or as it is given."""
    a, b, q = inputs["a"], inputs["b"], inputs["q"]
    fused = {
        "fused": inputs,
        "a calibrated": {"a": a},
        "b": None,
        "without quality": {"a": a, "b": b},
        "without a": {"b": b, "q": q},
        "without b": {"a": a, "q": q},
    }
    return {
        row: fp.cross_fit(fusion, part, train, **options) if part else b
        for row, part in fused.items()
    }


@pytest.mark.parametrize("by_speaker", [False, True])
def test_rows_are_cross_fits_that_are_evaluated_together(by_speaker):
    rng = np.random.default_rng(1)
    inputs = systems(weights=rng.integers(0, 3, 1500).astype(float))
    pair = tuple(rng.integers(0, 40, (2, 1500)))
    train = fp.CrossFit(4, seed=2, groups=pair if by_speaker else None)
    resamples = RESAMPLES | ({"resampling": fp.TwoWay(*pair)} if by_speaker else {})
    fusion = fp.LinearFusion(0.1, quality="bilinear")
    table = fp.evaluate_fusion(inputs, fusion, METRICS, train=train, **resamples)
    rows = expected_rows(inputs, train, fusion)
    expected = fp.evaluate(rows, METRICS, differences="first", **resamples)
    assert table.to_dict() == expected.to_dict()


def test_rows_of_few_systems():
    a, b, q = systems().values()
    c = fp.Predictions.from_raw_scores(b.labels, b.llrs)
    for inputs, rows in (
        ({"a": a}, ["fused", "a calibrated"]),
        ({"a": a, "q": q}, ["fused", "a calibrated"]),
        ([a, b], ["fused", "0 calibrated", "1", "without 0"]),
        ({"a": a, "c": c}, ["fused", "a calibrated", "c calibrated"]),
    ):
        table = fp.evaluate_fusion(inputs)
        assert [group.system for group in table.groups] == rows
        metrics = ["EER", "minDCF(0.01)", "actDCF(0.01)", "Cllr", "minCllr"]  # by default
        assert [row.metric for row in table.of(table.groups[0])] == metrics


def test_conditions_are_a_row_to_do_without():
    inputs = systems()
    by = {"room": np.random.default_rng(4).choice(["x", "y"], 1500)}
    fusion, train = fp.ByCondition(fp.LinearFusion(0.1), min_per_class=50), fp.CrossFit(3, seed=1)
    table = fp.evaluate_fusion(inputs, fusion, [fp.Cllr()], by=by, train=train)
    expected = expected_rows(inputs, train, fusion, by=by)
    expected["without conditions"] = fp.cross_fit(fusion.calibrator, inputs, train)
    values = {row["system"]: row["value"] for row in table.to_dict()["rows"]}
    assert values == {name: fp.Cllr()(row) for name, row in expected.items()}


# What is refused


def test_bad_arguments():
    inputs = systems(300)
    a, b, q = inputs.values()
    constant = fp.Predictions.from_llrs(a.labels, np.zeros(300))
    by = {"room": np.repeat(["x", "y"], 150)}
    by_room = fp.ByCondition(fp.LinearFusion(), min_per_class=5)
    for argument, bad_systems, options in (
        ("systems", {"fused": a}, {}),
        ("systems", {"a": a, "b": b, "without a": b}, {}),
        ("systems", {"q": q}, {}),
        ("systems", {"a": constant, "b": b}, {}),
        ("train", inputs, {"train": fp.HeldOut(b)}),
        ("fusion", inputs, {"fusion": fp.PAV()}),
        ("method", inputs, {"method": "bca"}),
        ("metrics", inputs, {"metrics": ["Cllrs"]}),
        ("by", inputs, {"by": by}),
        ("by", inputs, {"fusion": by_room}),
        ("fusion", inputs, {"fusion": fp.ByCondition(), "by": by}),
        ("refits", inputs, {"fusion": by_room, "by": by, "refits": True}),
    ):
        with refuses(argument):
            fp.evaluate_fusion(bad_systems, **options)
