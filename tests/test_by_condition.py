"""Calibration by condition, compared with loops over groups and folds."""

import json
import re

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration import CALIBRATORS
from tests.dealt_folds import folds_of
from tests.refusal import refuses
from tests.test_custom_calibrators import Wrapped

INF = np.inf
N = 1200


def conditions(n=N):
    """A column of words and one of numbers, on which the scores depend."""
    rng = np.random.default_rng([1, n])
    return {"gender": np.where(rng.random(n) < 0.4, "f", "m"), "seconds": rng.gamma(2.0, 5.0, n)}


GENDER = {"gender": conditions()["gender"]}


def sample(kind="llrs", n=N, seed=0, K=2, weighted=False, **options):
    """Overlapping scores whose scale and shift depend on the gender."""
    rng = np.random.default_rng([seed, n, K])
    y = rng.integers(0, K, n)
    is_f = conditions(n)["gender"] == "f"
    x = rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y]
    x = np.where(is_f[:, None], 0.4 * x + 0.3 * np.arange(K), 2.0 * x)
    options["sample_weight"] = rng.integers(0, 4, n).astype(float) if weighted else None
    if K > 2:
        return fp.Predictions.from_log_likelihoods(y, x, **options)
    return getattr(fp.Predictions, f"from_{kind}")(y, x[:, 1] - x[:, 0], **options)


def by_loops(calibrator, data, groups, train=None, min_per_class=100):
    """Scores by a fit for each fold and group; scores of a fit to all groups where it is small."""
    weights = np.ones(len(data)) if data.sample_weight is None else data.sample_weight
    scores = np.full(data.scores.shape, np.nan)
    for fold in folds_of(data.y_true, train or fp.CrossFit(), data.sample_weight):
        for group in np.unique(groups):
            rows = fold.served & (groups == group)
            alone = fold.training & (groups == group)
            sizes = np.bincount(data.labels[alone & (weights > 0.0)], minlength=data.n_classes)
            used = alone if (sizes >= min_per_class).all() else fold.training
            if rows.any():
                scores[rows] = calibrator.fit(data[used]).transform(data[rows]).scores
    return scores


# Fits, transforms and cross-fits


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "logits") for name in CALIBRATORS] + [("dp", "raw_scores"), ("pav", "llrs")],
)
def test_fits_are_those_of_the_rows(name, kind):
    calibrator, data, gender = CALIBRATORS[name](), sample(kind), GENDER["gender"]
    new, new_gender = sample(kind, 300, seed=3), conditions(300)["gender"]
    fitted = fp.ByCondition(calibrator).fit(data, GENDER)
    calibrated = fitted.transform(new, {"gender": new_gender})
    assert fitted.groups_ == ("gender=f", "gender=m")
    assert calibrated.kind == calibrator.fit(data).transform(new).kind
    for value in "fm":
        alone, rows = calibrator.fit(data[gender == value]), new_gender == value
        expected = alone.transform(new[rows]).scores
        np.testing.assert_allclose(calibrated.scores[rows], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("calibrator", "options"),
    [
        (fp.DirectionPreserving(), {"kind": "logits", "weighted": True, "priors": [0.7, 0.3]}),
        (fp.DirectionPreserving(prior=0.1), {"kind": "raw_scores"}),
        (fp.TemperatureScaling(), {"kind": "llrs", "prior": 0.2}),
        (fp.BetaCalibration(), {"kind": "llrs", "weighted": True}),
        (fp.PAV(floor=0.01), {"kind": "llrs", "weighted": True}),
        (fp.HistogramBinning(5, floor=0.01), {"kind": "logits"}),
        (fp.VennAbers(), {"kind": "raw_scores"}),
        (fp.DirectionPreserving(), {"K": 3, "weighted": True}),
    ],
)
def test_cross_fits_are_those_of_the_rows(calibrator, options):
    data, maker = sample(**options), fp.ByCondition(calibrator, min_per_class=60)
    speakers = np.random.default_rng(0).integers(0, 40, (2, N))
    for train in (fp.CrossFit(), fp.CrossFit(folds=3, groups=tuple(speakers))):
        crossed = fp.cross_fit(maker, data, train, by=GENDER)
        expected = by_loops(calibrator, data, GENDER["gender"], train, min_per_class=60)
        assert crossed.kind == fp.cross_fit(calibrator, data).kind
        np.testing.assert_allclose(crossed.scores, expected, rtol=0.0, atol=1e-8)


def test_samples_of_weight_0_are_as_if_absent():
    data, by = sample(weighted=True), conditions()
    present = data.weights > 0.0
    by["gender"][~present], by["seconds"][~present] = "x", 1e9
    maker = fp.ByCondition(bins={"seconds": 3}, min_per_class=50)
    kept, kept_by = data[present], {name: ids[present] for name, ids in by.items()}
    fitted, alone = maker.fit(data, by), maker.fit(kept, kept_by)
    assert fitted.groups_ == alone.groups_
    assert fitted.counts_.tolist() == alone.counts_.tolist()
    assert fitted.edges_[1].tolist() == alone.edges_[1].tolist()
    crossed = fp.cross_fit(maker, data, by=by).scores
    alone = fp.cross_fit(maker, kept, by=kept_by).scores
    np.testing.assert_allclose(crossed[present], alone, rtol=0.0, atol=1e-12)
    assert np.isfinite(crossed).all()


# Conditions


def test_columns_are_crossed_and_bins_are_kept():
    data, by = sample(), conditions()
    fitted = fp.ByCondition(bins={"seconds": [5.0, 12.0]}, min_per_class=30).fit(data, by)
    bins = ("[-inf, 5)", "[5, 12)", "[12, inf]")
    assert fitted.columns_ == ("gender", "seconds")
    assert fitted.groups_ == tuple(f"gender={g}, seconds={s}" for g in "fm" for s in bins)
    new = sample(n=6, seed=4)
    seconds = np.array([-1e300, 4.99, 5.0, 11.99, 12.0, INF])
    calibrated = fitted.transform(new, {"seconds": seconds, "gender": ["f"] * 6}).scores
    edges = [-INF, 5.0, 12.0, INF]
    for i, seconds_of_bin in enumerate(bins):
        alone = fitted[f"gender=f, seconds={seconds_of_bin}"]
        expected = alone.transform(new[2 * i : 2 * i + 2]).scores
        assert calibrated[2 * i : 2 * i + 2].tolist() == expected.tolist()
        rows = (by["gender"] == "f") & (by["seconds"] >= edges[i]) & (by["seconds"] < edges[i + 1])
        assert alone.scale_ == fp.DirectionPreserving().fit(data[rows]).scale_


def test_bins_are_those_of_evaluate():
    data, by = sample(), {"seconds": conditions()["seconds"]}
    fitted = fp.ByCondition(bins=4).fit(data, by)
    table = fp.evaluate(data, [fp.Cllr()], by=by, bins=4)
    assert [None, *fitted.groups_] == [group.group for group in table.groups]
    assert fitted.counts_.tolist() == [list(group.class_sizes) for group in table.groups[1:]]
    # numbers of other data are in the bins of the fit, not in bins of their own
    first_two = fitted.transform(data[:2], {"seconds": by["seconds"][:2]}).scores
    assert first_two.tolist() == fitted.transform(data, by).scores[:2].tolist()


def test_new_conditions_use_the_pooled_calibrator():
    data, gender = sample(), GENDER["gender"].astype("U5")
    fitted = fp.ByCondition().fit(data, GENDER)
    new = gender.copy()
    new[:3], new[3] = "other", "?"
    message = r"4 samples are of conditions .* gender=\? \(1\), gender=other \(3\)$"
    with pytest.warns(RuntimeWarning, match=message):
        calibrated = fitted.transform(data, {"gender": new}).scores
    assert calibrated[4:].tolist() == fitted.transform(data, GENDER).scores[4:].tolist()
    pooled = fp.DirectionPreserving().fit(data).transform(data).scores
    assert calibrated[:4].tolist() == pooled[:4].tolist()
    fitted = fp.ByCondition().fit(data, {"x": np.zeros(N, int)})
    with pytest.warns(RuntimeWarning, match=r"x=5 \(1\), 1,194 more$"):
        fitted.transform(data, {"x": np.arange(N)})


# Conditions with too few samples


def test_small_conditions_use_the_pooled_calibrator():
    data = sample()
    names, sizes = ["small", "one class", "separate", "alike", "large"], [80, 200, 200, 200, 520]
    group = np.repeat(names, sizes)
    scores, y = data.scores.copy(), data.labels.copy()
    y[group == "one class"] = 1
    separate = group == "separate"
    scores[separate] = np.where(y[separate] == 1, 1.0, -1.0) * (1.0 + np.abs(scores[separate]))
    scores[group == "alike"] = 0.3
    data, by = fp.Predictions.from_llrs(y, scores), {"x": group}
    maker = fp.ByCondition(min_per_class=50)
    fitted = maker.fit(data, by)
    reasons = dict(zip(fitted.groups_, fitted.reasons_, strict=True))
    assert reasons["x=large"] == ""
    assert reasons["x=separate"] == reasons["x=alike"] == "no map is best"
    assert reasons["x=one class"] == "fewer than 50 of class 0"
    assert reasons["x=small"].startswith("fewer than 50 of class")
    assert "pooled: fewer than 50" in str(fitted)
    pooled = fp.DirectionPreserving().fit(data)
    assert fitted["x=small"] is fitted.pooled_
    assert fitted["x=large"].scale_ != pooled.scale_
    plain = fp.cross_fit(fp.DirectionPreserving(), data).scores
    for scores, of_all in (
        (fitted.transform(data, by).scores, pooled.transform(data).scores),
        (fp.cross_fit(maker, data, by=by).scores, plain),
    ):
        assert ((scores == of_all) == (group != "large")).all()


def test_as_many_samples_as_are_needed_are_enough():
    data = sample()
    fewest = int(np.bincount(data.labels[GENDER["gender"] == "f"]).min())
    for more, is_alone in ((0, True), (1, False)):
        fitted = fp.ByCondition(min_per_class=fewest + more).fit(data, GENDER)
        assert (fitted["gender=f"] is not fitted.pooled_) == is_alone


def test_each_training_set_decides():
    """A group that is large enough outside of some folds only."""
    data, group = sample(n=600), np.repeat(["a", "b"], [200, 400])
    fold, of_a = np.arange(600) % 5, group == "a"
    train, by = fp.CrossFit(folds=fold), {"x": group}
    sizes = [np.bincount(data.labels[of_a & (fold != f)], minlength=2).min() for f in range(5)]
    least = int(sorted(sizes)[2])
    assert min(sizes) < least
    crossed = fp.cross_fit(fp.ByCondition(min_per_class=least), data, train, by=by).scores
    expected = by_loops(fp.DirectionPreserving(), data, group, train, least)
    np.testing.assert_allclose(crossed, expected, rtol=0.0, atol=1e-12)


# Fusions, and a calibrator of the user's own


def systems_of():
    rng = np.random.default_rng(0)
    y, (enroll, test) = sample().labels, rng.random((2, N))
    x = [y + rng.normal(size=N), 3.0 * y + 4.0 * rng.normal(size=N) - enroll]
    systems = {f"s{i}": fp.Predictions.from_raw_scores(y, system) for i, system in enumerate(x)}
    return {**systems, "length": fp.Quality(enroll, test)}


def rows_of(systems, rows):
    return {
        name: fp.Quality(system.enroll[rows], system.test[rows])
        if isinstance(system, fp.Quality)
        else system[rows]
        for name, system in systems.items()
    }


def test_fusions_are_those_of_the_rows(tmp_path):
    systems, gender = systems_of(), GENDER["gender"]
    maker, fold = fp.ByCondition(fp.LinearFusion(prior=0.1)), np.arange(N) % 3
    fitted = maker.fit(systems, GENDER)
    fused = fitted.transform(systems, GENDER)
    crossed = fp.cross_fit(maker, systems, fp.CrossFit(fold), by=GENDER)
    assert fused.kind == crossed.kind == "likelihoods"
    for value in "fm":
        rows = gender == value
        subset = rows_of(systems, rows)
        alone = fp.LinearFusion(prior=0.1).fit(subset)
        assert fitted[f"gender={value}"].weights_.tolist() == alone.weights_.tolist()
        assert fused.scores[rows].tolist() == alone.transform(subset).scores.tolist()
        alone = fp.cross_fit(fp.LinearFusion(prior=0.1), subset, fp.CrossFit(folds=fold[rows]))
        np.testing.assert_allclose(crossed.scores[rows], alone.scores, rtol=0.0, atol=1e-12)
    fp.save_calibrator(fitted, tmp_path / "c.json")
    loaded = fp.load_calibrator(tmp_path / "c.json")
    assert loaded.transform(systems, GENDER).scores.tolist() == fused.scores.tolist()


def test_a_calibrator_of_the_users_own(tmp_path):
    data = sample()
    fitted = fp.ByCondition(Wrapped(fp.PAV(floor=0.01))).fit(data, GENDER)
    expected = fp.ByCondition(fp.PAV(floor=0.01)).fit(data, GENDER).transform(data, GENDER)
    np.testing.assert_array_equal(fitted.transform(data, GENDER).scores, expected.scores)
    with pytest.raises(fp.ArgumentError, match="must be of this package to be saved, not Wrapped"):
        fp.save_calibrator(fitted, tmp_path / "c.json")


# The gain


def test_a_selection_compares_it_with_the_pooled_calibrator():
    data, train = sample(), fp.CrossFit(np.arange(N) % 4)
    candidates = {"one": fp.PAV(laplace=True), "by gender": fp.ByCondition(fp.PAV(laplace=True))}
    selection = fp.select(data, candidates, train=train, by=GENDER)
    calibrated = [
        fp.cross_fit(candidates["one"], data, train),
        fp.cross_fit(candidates["by gender"], data, train, by=GENDER),
    ]
    expected = [fp.CrossEntropy()(each) for each in calibrated]
    np.testing.assert_allclose([row.score for row in selection.table], expected, rtol=1e-9)
    assert selection.chosen == "by gender"
    assert selection.choices == ("by gender",) * 4
    assert selection.score == pytest.approx(expected[1], rel=1e-9)
    assert selection.calibrator.groups_ == ("gender=f", "gender=m")


# Files


def test_saved_and_loaded(tmp_path):
    data, by, calibrator = sample(), conditions(), fp.PAV(floor=0.01)
    by["gender"][:30] = "x"
    fitted = fp.ByCondition(calibrator, 40, {"seconds": 2}).fit(data, by)
    assert any(fitted.reasons_)
    fp.save_calibrator(fitted, tmp_path / "c.json")
    loaded = fp.load_calibrator(tmp_path / "c.json")
    assert (loaded.groups_, loaded.reasons_) == (fitted.groups_, fitted.reasons_)
    assert str(loaded) == str(fitted)
    assert loaded.counts_.dtype == np.int64
    assert (loaded.min_per_class, type(loaded.calibrator)) == (40, type(calibrator))
    expected = fitted.transform(data, by).scores.tolist()
    assert loaded.transform(data, by).scores.tolist() == expected
    refitted = fp.ByCondition(loaded.calibrator, 40, {"seconds": 2}).fit(data, by)
    assert refitted.transform(data, by).scores.tolist() == expected


def test_damaged_files_are_refused(tmp_path):
    data, by, path = sample(), conditions(), tmp_path / "c.json"
    fp.save_calibrator(fp.ByCondition(bins={"seconds": [12.0]}).fit(data, by), path)
    text = path.read_text()
    content = json.loads(text)
    damaged = [
        json.dumps(content | {"fitted": content["fitted"] | {name: value}})
        for name, value in (
            ("edges_", [None, [12.0, 5.0]]),
            ("edges_", [None]),
            ("columns_", ["gender", "gender"]),
            ("groups_", ["x"] * 4),
            ("counts_", [["inf", 2]] * 4),
            ("reasons_", [""] * 3),
            ("pooled_", None),
            ("own_", [None] * 4),
        )
    ]
    damaged.append(text.replace('"DirectionPreserving"', '"ByCondition"'))
    damaged.append(text.replace('"domain": "likelihoods"', '"domain": "posteriors"', 1))
    for wrong in damaged:
        path.write_text(wrong)
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))} must be a calibrator saved"):
            fp.load_calibrator(path)


# Errors


def test_bad_arguments():
    data, maker, dp = sample(), fp.ByCondition(), fp.DirectionPreserving()
    fitted = fp.ByCondition(bins={"seconds": 2}).fit(data, conditions())
    parts = fp.from_parts([data[:600], data[600:]])
    words = {**conditions(), "seconds": np.array(["long"] * N)}
    fusion = fp.ByCondition(fp.LinearFusion())
    for argument, use in (
        ("by", lambda: maker.fit(data, None)),
        ("by['x']", lambda: maker.fit(data, {"x": "gender"})),
        ("by['x']", lambda: maker.fit(data, {"x": [1, 2]})),
        ("by['x']", lambda: maker.fit(data, {"x": [np.nan] * N})),
        ("by['x']", lambda: maker.fit(data, {"x": fp.SharedTargets(range(N))})),
        ("by['x']", lambda: maker.fit(data, {"x": np.arange(N)})),
        ("calibrator", lambda: fp.ByCondition(maker)),
        ("min_per_class", lambda: fp.ByCondition(min_per_class=0)),
        ("bins", lambda: fp.ByCondition(bins=1).fit(data, GENDER)),
        ("bins", lambda: fp.ByCondition(bins=2).fit(data, GENDER)),
        ("bins", lambda: fp.ByCondition(bins={"x": 2}).fit(data, GENDER)),
        ("by", lambda: fitted.transform(data, GENDER)),
        ("by['seconds']", lambda: fitted.transform(data, words)),
        ("predictions", lambda: fitted.transform(sample("raw_scores"), conditions())),
        ("predictions", lambda: maker.fit(parts, GENDER)),
        ("by", lambda: fp.cross_fit(dp, data, by=GENDER)),
        ("train", lambda: fp.cross_fit(maker, data, fp.HeldOut(data), by=GENDER)),
        ("by", lambda: fp.select(data, {"a": maker})),
        ("by", lambda: fp.select(data, {"a": dp}, by=GENDER)),
        ("calibrator", lambda: fp.CalibrationLoss(fp.rules.Log(), maker)),
        ("candidates", lambda: fp.select(data, {"a": fusion}, by=GENDER)),
    ):
        with refuses(argument):
            use()
    with pytest.raises(ValueError, match="must be fitted before it transforms"):
        maker.transform(data, GENDER)
