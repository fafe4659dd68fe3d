"""`evaluate_fusion`: rows are separate cross-fits on the same folds, compared in the same draws."""

import numpy as np
import pytest

import fastpsr as fp

METRICS = [fp.Cllr(), fp.MinCllr(), fp.ActDCF(0.3), fp.EER()]
DRAWN = {"n_resamples": 40, "seed": 3}


def systems(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    noise = rng.normal(size=n)
    a = fp.Predictions.from_raw_scores(y, 2.0 * y + rng.normal(size=n) + noise)
    b = fp.Predictions.from_llrs(y, 1.5 * y + rng.normal(size=n) - noise)
    return {"a": a, "b": b, "q": fp.Quality(noise, rng.random(n))}


def expected_parts(given):
    """What is fused for each row, or taken as it is."""
    a, b, q = given["a"], given["b"], given["q"]
    return {
        "fused": given,
        "a calibrated": {"a": a},
        "b": b,
        "without quality": {"a": a, "b": b},
        "without a": {"b": b, "q": q},
        "without b": {"a": a, "q": q},
    }


def expected_rows(given, train, fusion):
    """Every row by a cross-fit of its own."""
    return {
        name: fp.cross_fit(fusion, part, train) if isinstance(part, dict) else part
        for name, part in expected_parts(given).items()
    }


@pytest.mark.parametrize("by_speaker", [False, True])
def test_rows_are_cross_fits_that_are_evaluated_together(by_speaker):
    given = systems()
    n, rng = len(given["a"]), np.random.default_rng(1)
    pair = (rng.integers(0, 40, n), rng.integers(0, 40, n))
    train = fp.CrossFit(4, seed=2, groups=pair if by_speaker else None)
    drawn = DRAWN | ({"resampling": fp.TwoWay(*pair)} if by_speaker else {})
    fusion = fp.LinearFusion(0.1, quality="bilinear")
    found = fp.evaluate_fusion(given, fusion, METRICS, train=train, **drawn)
    rows = expected_rows(given, train, fusion)
    expected = fp.evaluate(rows, METRICS, differences="first", **drawn)
    assert [group.system for group in found.groups] == list(rows)
    assert found.to_dict() == expected.to_dict()
    pairs = {(each.a.system, each.b.system) for each in found.differences}
    assert pairs == {("fused", row) for row in rows if row != "fused"}


def test_by_default():
    given = systems()
    found = fp.evaluate_fusion(given)
    rows = expected_rows(given, fp.CrossFit(), fp.LinearFusion())
    metrics = ["EER", "minDCF", "actDCF", "Cllr", "minCllr"]
    assert found.to_dict() == fp.evaluate(rows, metrics, differences="first").to_dict()
    assert found.intervals is None


def test_a_system_that_adds_and_one_that_does_not():
    rng = np.random.default_rng(0)
    y = (rng.random(6000) < 0.3).astype(int)
    share = {"good": 1.0, "other": 1.0, "void": 0.0}
    given = {
        name: fp.Predictions.from_raw_scores(y, each * y + rng.normal(size=y.size))
        for name, each in share.items()
    }
    found = fp.evaluate_fusion(given, metrics=[fp.Cllr()], n_resamples=200, seed=0)
    gains = {each.b.system: each for each in found.differences}
    assert gains["without good"].high < 0.0
    assert gains["without other"].high < 0.0
    assert not gains["without void"].excludes_zero


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["a"], ["fused", "a calibrated"]),
        (["b"], ["fused", "b"]),
        (["a", "q"], ["fused", "a calibrated", "without quality"]),
        (["a", "b"], ["fused", "a calibrated", "b", "without a", "without b"]),
    ],
)
def test_rows_of_few_systems(names, rows):
    given = systems()
    found = fp.evaluate_fusion({name: given[name] for name in names})
    assert [group.system for group in found.groups] == rows


def test_a_list_has_places_as_names():
    given = systems()
    found = fp.evaluate_fusion([given["a"], given["b"]], metrics=[fp.Cllr()])
    named = fp.evaluate_fusion({"0": given["a"], "1": given["b"]}, metrics=[fp.Cllr()])
    assert found.to_dict() == named.to_dict()


def test_several_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    given = {
        name: fp.Predictions.from_log_likelihoods(y, np.eye(3)[y] + rng.normal(size=(900, 3)))
        for name in ("a", "b")
    }
    found = fp.evaluate_fusion(given)
    assert {row.metric for row in found.rows} == {"NCE", "NRisk zero-one"}
    fused = fp.cross_fit(fp.LinearFusion(), given)
    assert found["fused", None, "NCE"] == fp.CrossEntropy()(fused)


def test_weights_count():
    given = systems()
    a, b = given["a"], given["b"]
    weights = np.random.default_rng(0).integers(0, 3, len(a)).astype(float)
    weighted = {
        "a": fp.Predictions.from_raw_scores(a.labels, a.scores, sample_weight=weights),
        "b": fp.Predictions.from_llrs(b.labels, b.scores, sample_weight=weights),
    }
    found = fp.evaluate_fusion(weighted, metrics=[fp.Cllr()])
    fused = fp.cross_fit(fp.LinearFusion(), weighted)
    assert found["fused", None, "Cllr"] == fp.Cllr()(fused)
    assert found["b", None, "Cllr"] == fp.Cllr()(weighted["b"])


def test_progress_tells_of_fits_and_replicates():
    told = []
    given = systems()
    fp.evaluate_fusion(given, metrics=METRICS[:1], progress=lambda *e: told.append(e), **DRAWN)
    assert [each for each in told if each[0] == "cross-fitting"] == [
        ("cross-fitting", k, 6) for k in range(6)
    ]
    assert any("replicates" in name for name, *_ in told)


def constant(n=1500):
    given = systems(n)
    y = given["a"].labels
    return given | {"a": fp.Predictions.from_llrs(y, np.zeros(n))}


REFUSED = {
    "name of a row": (lambda: {"fused": systems()["a"]}, {}, "^systems must have names .*'fused'"),
    "name of another row": (
        lambda: {name: systems()[name] for name in ("a", "b")} | {"without a": systems()["b"]},
        {}, "'without a'",
    ),
    "held out": (systems, {"train": fp.HeldOut(systems()["b"])}, "^train must be trained on"),
    "another calibrator": (systems, {"fusion": fp.PAV()}, r"^fusion must be a LinearFusion.*PAV"),
    "no systems": (lambda: {"q": systems()["q"]}, {}, "^systems must have predictions"),
    "one system is constant": (
        lambda: {name: constant()[name] for name in ("a", "b")},
        {}, "^systems, for the row 'without b', must differ between samples",
    ),
    "method alone": (systems, {"method": "bca"}, "^method is for intervals"),
    "metrics": (systems, {"metrics": ["Cllrs"]}, "metrics must be among"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    make, options, message = REFUSED[name]
    with pytest.raises(fp.ArgumentError, match=message):
        fp.evaluate_fusion(make(), **options)


def test_conditions_are_a_row_to_do_without():
    given = systems()
    by = {"room": np.random.default_rng(4).choice(["x", "y"], 1500)}
    fusion, train = fp.ByCondition(fp.LinearFusion(0.1), min_per_class=50), fp.CrossFit(3, seed=1)
    found = fp.evaluate_fusion(given, fusion, [fp.Cllr()], by=by, train=train)
    a, b, q = given["a"], given["b"], given["q"]
    parts = {
        "fused": given, "a calibrated": {"a": a}, "b": None, "without quality": {"a": a, "b": b},
        "without conditions": None, "without a": {"b": b, "q": q}, "without b": {"a": a, "q": q},
    }  # fmt: skip
    expected = {
        name: fp.cross_fit(fusion, part, train, by=by) for name, part in parts.items() if part
    }
    expected |= {"b": b, "without conditions": fp.cross_fit(fusion.calibrator, given, train)}
    values = {row["system"]: row["value"] for row in found.to_dict()["rows"]}
    assert [*values] == [*parts]
    assert values == {name: fp.Cllr()(expected[name]) for name in parts}


def test_fits_are_repeated_in_replicates():
    given = systems(400)
    fixed, refitted = (
        fp.evaluate_fusion(given, metrics=[fp.Cllr()], refits=refits, method="percentile", **DRAWN)
        for refits in (False, True)
    )
    assert refitted.intervals.method == "percentile"
    rows = {}
    for name, part in expected_parts(given).items():
        rows[name] = part
        if isinstance(part, dict):
            plan = fp.CrossFit().folds_plan
            rows[name] = fp.LinearFusion().cross_fitted(part, plan, refits=True)
    expected = fp.evaluate(rows, [fp.Cllr()], differences="first", method="percentile", **DRAWN)
    assert refitted.to_dict() == expected.to_dict()
    ends = [(each.low, each.high) for each in refitted.differences]
    assert all(low < high for low, high in ends)
    assert ends != [(each.low, each.high) for each in fixed.differences]


def test_conditions_and_refits_that_do_not_go_together():
    given = systems(300)
    by = {"room": np.repeat(["x", "y"], 150)}
    fusion = fp.ByCondition(fp.LinearFusion(), min_per_class=5)
    for options, message in (
        ({"by": by}, "^by must be given with ByCondition"),
        ({"fusion": fusion}, "^by must be given with ByCondition"),
        ({"fusion": fp.ByCondition(), "by": by}, "^fusion must be a LinearFusion, or ByCondition"),
        ({"fusion": fusion, "by": by, "refits": True}, "^refits must be False for a fusion by"),
    ):
        with pytest.raises(fp.ArgumentError, match=message):
            fp.evaluate_fusion(given, metrics=[fp.Cllr()], **options)
