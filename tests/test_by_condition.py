"""Calibration by condition, compared with loops over groups and folds."""

import json
import re

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration import CALIBRATORS
from tests.dealt_folds import folds_of
from tests.refusal import refuses

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


class Shift:
    """A user's calibrator of LLRs."""

    def fit(self, predictions):
        self.shift = predictions.scores.mean()
        return self

    def transform(self, predictions):
        return fp.Predictions.from_llrs(None, predictions.scores - self.shift)


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
        (fp.DirectionPreserving(fp.rules.Brier()), {"kind": "logits"}),
        (fp.TemperatureScaling(), {"kind": "llrs", "prior": 0.2}),
        (fp.BetaCalibration(), {"kind": "llrs", "weighted": True}),
        (fp.PAV(floor=0.01), {"kind": "llrs", "weighted": True}),
        (fp.HistogramBinning(5, floor=0.01), {"kind": "logits"}),
        (fp.VennAbers(), {"kind": "raw_scores"}),
        (fp.VectorScaling(), {"K": 3}),
        (fp.DirectionPreserving(), {"K": 3, "weighted": True}),
    ],
)
def test_cross_fits_are_those_of_the_rows(calibrator, options):
    data, maker = sample(**options), fp.ByCondition(calibrator, min_per_class=60)
    crossed = fp.cross_fit(maker, data, by=GENDER)
    expected = by_loops(calibrator, data, GENDER["gender"], min_per_class=60)
    assert crossed.kind == fp.cross_fit(calibrator, data).kind
    np.testing.assert_allclose(crossed.scores, expected, rtol=0.0, atol=1e-8)


def test_splines_by_condition_choose_by_the_same_folds():
    data, gender = sample(), GENDER["gender"]
    fold = np.arange(N) % 5
    train = fp.CrossFit(folds=fold)
    crossed = fp.cross_fit(fp.ByCondition(fp.Spline()), data, train, by=GENDER)
    for value in "fm":
        rows = gender == value
        alone = fp.cross_fit(fp.Spline(), data[rows], fp.CrossFit(folds=fold[rows]))
        np.testing.assert_allclose(crossed.scores[rows], alone.scores, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("calibrator", [fp.DirectionPreserving(), fp.PAV(floor=0.01)], ids=repr)
def test_speakers_are_kept_apart(calibrator):
    data, speakers = sample(), np.random.default_rng(0).integers(0, 40, (2, N))
    train = fp.CrossFit(folds=4, groups=tuple(speakers))
    crossed = fp.cross_fit(fp.ByCondition(calibrator), data, train, by=GENDER).scores
    expected = by_loops(calibrator, data, GENDER["gender"], train)
    np.testing.assert_allclose(crossed, expected, rtol=0.0, atol=1e-8)
    plain = fp.cross_fit(calibrator, data, train).scores
    assert 0.01 < np.mean(expected == plain) < 0.99  # some pairs of folds leave too few


def test_trained_on_the_same_data():
    data, maker = sample(weighted=True, prior=0.1), fp.ByCondition()
    crossed = fp.cross_fit(maker, data, fp.TrainOnTest(), by=GENDER)
    expected = maker.fit(data, GENDER).transform(data, GENDER)
    np.testing.assert_allclose(crossed.scores, expected.scores, rtol=0.0, atol=1e-12)
    for calibrated in (crossed, expected):
        np.testing.assert_array_equal(calibrated.sample_weight, data.sample_weight)
        np.testing.assert_allclose(calibrated.priors, [0.9, 0.1])


def test_samples_of_weight_0_are_as_if_absent():
    data, by = sample(weighted=True), conditions()
    present = data.weights > 0.0
    by["gender"][~present], by["seconds"][~present] = "x", 1e9
    maker = fp.ByCondition(bins={"seconds": 3}, min_per_class=50)
    some, some_by = data[present], {name: ids[present] for name, ids in by.items()}
    fitted, alone = maker.fit(data, by), maker.fit(some, some_by)
    assert fitted.groups_ == alone.groups_
    assert fitted.counts_.tolist() == alone.counts_.tolist()
    assert fitted.edges_[1].tolist() == alone.edges_[1].tolist()
    crossed = fp.cross_fit(maker, data, by=by).scores
    alone = fp.cross_fit(maker, some, by=some_by).scores
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
    few = fitted.transform(data[:2], {"seconds": by["seconds"][:2]}).scores
    assert few.tolist() == fitted.transform(data, by).scores[:2].tolist()


def test_what_is_shown():
    maker = fp.ByCondition(fp.PAV(), bins={"seconds": 3}, min_per_class=200)
    fitted = maker.fit(sample(), conditions())
    n_alone = sum(not reason for reason in fitted.reasons_)
    assert repr(fitted) == (
        f"<{maker!r} fitted to likelihoods: 6 conditions of gender, seconds, "
        f"{n_alone} with their own>"
    )
    assert "gender=f" in fitted._repr_html_()
    assert len(str(fitted).splitlines()) == 7


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
    """A group that is large enough outside of some folds only, or separable outside of one."""
    data, group = sample(n=600), np.repeat(["a", "b"], [200, 400])
    fold, of_a = np.arange(600) % 5, group == "a"
    train, by = fp.CrossFit(folds=fold), {"x": group}
    sizes = [np.bincount(data.labels[of_a & (fold != f)], minlength=2).min() for f in range(5)]
    least = int(sorted(sizes)[2])
    assert min(sizes) < least
    crossed = fp.cross_fit(fp.ByCondition(min_per_class=least), data, train, by=by).scores
    expected = by_loops(fp.DirectionPreserving(), data, group, train, least)
    np.testing.assert_allclose(crossed, expected, rtol=0.0, atol=1e-12)

    scores = data.scores.copy()
    is_separate = of_a & (fold != 0)
    scores[is_separate] = np.where(data.labels[is_separate] == 1, 2.0, -2.0)
    scores[of_a & (fold == 0)] = np.tile([1.0, -1.0], 20)
    data = fp.Predictions.from_llrs(data.labels, scores)
    crossed = fp.cross_fit(fp.ByCondition(min_per_class=20), data, train, by=by).scores
    plain = fp.cross_fit(fp.DirectionPreserving(), data, train).scores
    assert crossed[of_a & (fold == 0)].tolist() == plain[of_a & (fold == 0)].tolist()
    for f in range(1, 5):
        fitted = fp.DirectionPreserving().fit(data[of_a & (fold != f)])
        rows = of_a & (fold == f)
        np.testing.assert_allclose(crossed[rows], fitted.transform(data[rows]).scores, atol=1e-9)


# Fusions, and a calibrator of the user's own


def systems_of():
    rng = np.random.default_rng(0)
    y, (enroll, test) = sample().labels, rng.random((2, N))
    x = [y + rng.normal(size=N), 3.0 * y + 4.0 * rng.normal(size=N) - enroll]
    systems = {f"s{i}": fp.Predictions.from_raw_scores(y, each) for i, each in enumerate(x)}
    return {**systems, "length": fp.Quality(enroll, test)}


def rows_of(systems, rows):
    return {
        name: fp.Quality(each.enroll[rows], each.test[rows])
        if isinstance(each, fp.Quality)
        else each[rows]
        for name, each in systems.items()
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
        own = rows_of(systems, rows)
        alone = fp.LinearFusion(prior=0.1).fit(own)
        assert fitted[f"gender={value}"].weights_.tolist() == alone.weights_.tolist()
        assert fused.scores[rows].tolist() == alone.transform(own).scores.tolist()
        alone = fp.cross_fit(fp.LinearFusion(prior=0.1), own, fp.CrossFit(folds=fold[rows]))
        np.testing.assert_allclose(crossed.scores[rows], alone.scores, rtol=0.0, atol=1e-12)
    fp.save_calibrator(fitted, tmp_path / "c.json")
    loaded = fp.load_calibrator(tmp_path / "c.json")
    assert loaded.transform(systems, GENDER).scores.tolist() == fused.scores.tolist()


def test_fusions_fall_back():
    first, second, _ = systems_of().values()
    group = np.repeat(["small", "separate", "large"], [100, 200, N - 300])
    scores, separate = first.scores.copy(), group == "separate"
    scores[separate] = np.where(first.labels[separate] == 1, 5.0, -5.0)
    systems = [fp.Predictions.from_raw_scores(first.labels, scores), second]
    maker, by = fp.ByCondition(fp.LinearFusion(), min_per_class=60), {"x": group}
    fitted = maker.fit(systems, by)
    assert [bool(reason) for reason in fitted.reasons_] == [False, True, True]
    pooled = fp.LinearFusion().fit(systems).transform(systems).scores
    assert fitted.transform(systems, by).scores[:300].tolist() == pooled[:300].tolist()
    crossed = fp.cross_fit(maker, systems, by=by).scores
    plain = fp.cross_fit(fp.LinearFusion(), systems).scores
    assert ((crossed == plain) == (group != "large")).all()


def test_warnings_name_the_condition():
    systems, gender = systems_of(), GENDER["gender"]
    x = np.where(gender == "f", -1.0, 1.0) * systems["s0"].scores
    turned = fp.Predictions.from_raw_scores(systems["s0"].labels, x)
    with pytest.warns(RuntimeWarning, match="^gender=f: weights of a are negative"):
        fp.ByCondition(fp.LinearFusion()).fit({"a": turned, "b": systems["s1"]}, GENDER)


def test_a_calibrator_of_the_users_own(tmp_path):
    data, gender = sample(), GENDER["gender"]
    fitted = fp.ByCondition(Shift()).fit(data, GENDER)
    scores = fitted.transform(data, GENDER).scores
    for value in "fm":
        own = data.scores[gender == value]
        np.testing.assert_allclose(scores[gender == value], own - own.mean(), atol=1e-12)
    with pytest.raises(fp.ArgumentError, match="must be of this package to be saved, not Shift"):
        fp.save_calibrator(fitted, tmp_path / "c.json")


# The gain


@pytest.mark.parametrize("calibrator", [fp.DirectionPreserving(), fp.PAV(laplace=True)], ids=repr)
def test_gain_is_that_of_nested_loops(calibrator):
    data, gender, fold = sample(), GENDER["gender"], np.arange(N) % 4
    candidates = {"one": calibrator, "by gender": fp.ByCondition(calibrator, min_per_class=100)}
    selection = fp.select(data, candidates, train=fp.CrossFit(fold), by=GENDER)
    prior_log_odds = np.log(data.priors[1] / data.priors[0])

    def losses(is_by_gender, training, rows):
        """Losses of rows by fits to other rows."""
        loss = np.zeros(N)
        for value in "fm":
            own = training & (gender == value) if is_by_gender else training
            if np.bincount(data.labels[own], minlength=2).min() < 100:
                own = training
            served = rows & (gender == value)
            log_odds = calibrator.fit(data[own]).transform(data[served]).scores + prior_log_odds
            loss[served] = np.logaddexp(0.0, np.where(data.labels[served] == 1, -1, 1) * log_odds)
        return loss.sum()

    outer = np.array([[losses(c, fold != f, fold == f) for f in range(4)] for c in range(2)])
    naive = N * fp.rules.Log().entropy(data.priors)
    expected = outer.sum(axis=1) / naive
    np.testing.assert_allclose([row.score for row in selection.table], expected, rtol=1e-9)
    choices = [
        np.argmin(
            [
                sum(losses(c, (fold != f) & (fold != i), fold == i) for i in range(4) if i != f)
                for c in range(2)
            ]
        )
        for f in range(4)
    ]
    assert selection.choices == tuple(["one", "by gender"][c] for c in choices)
    score = outer[choices, np.arange(4)].sum() / naive
    np.testing.assert_allclose(selection.score, score, rtol=1e-9)
    assert selection.chosen == "by gender"
    assert selection.calibrator.groups_ == ("gender=f", "gender=m")


# Files


@pytest.mark.parametrize("calibrator", [fp.DirectionPreserving(), fp.PAV(floor=0.01)], ids=repr)
def test_saved_and_loaded(tmp_path, calibrator):
    data, by = sample(), conditions()
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
    by["gender"][:30] = "x"
    fp.save_calibrator(fp.ByCondition(bins={"seconds": [12.0]}).fit(data, by), path)
    text = path.read_text()
    content = json.loads(text)
    n_groups = len(content["fitted"]["groups_"])
    damages = [
        ("edges_", [None, [12.0, 5.0]]),
        ("edges_", [None, [5.0, "inf"]]),
        ("edges_", [None, ["x"]]),
        ("edges_", [None]),
        ("columns_", []),
        ("columns_", ["gender", "gender"]),
        ("groups_", ["x"] * n_groups),
        ("groups_", []),
        ("counts_", [[1, 2]]),
        ("counts_", [["inf", 2]] * n_groups),
        ("reasons_", [""] * n_groups),
        ("pooled_", 3.0),
        ("pooled_", None),
        ("own_", []),
        ("own_", {}),
        ("own_", [1.0] * n_groups),
        ("own_", [None] * n_groups),
    ]
    damaged = [
        json.dumps(content | {"fitted": content["fitted"] | {name: value}})
        for name, value in damages
    ]
    damaged += [
        text.replace('"DirectionPreserving"', '"Unknown"'),
        text.replace('"DirectionPreserving"', '"ByCondition"'),
        text.replace('"domain": "likelihoods"', '"domain": "posteriors"', 1),
        text.replace('"scale_"', '"scales"', 1),
    ]
    for wrong in damaged:
        assert wrong != text
        path.write_text(wrong)
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))} must be a calibrator saved"):
            fp.load_calibrator(path)


# Errors


def test_what_are_no_conditions():
    data = sample()
    for fields, by in (
        ({}, None),
        ({}, {}),
        ({}, ["gender"]),
        ({}, {"x": "gender"}),
        ({"argument": "by['x']"}, {"x": [1, 2]}),
        ({"argument": "by['x']"}, {"x": [np.nan] * N}),
        ({}, {("a", "b"): (range(N), range(N))}),
        ({"name": "by['x']"}, {"x": fp.SharedTargets(range(N))}),
        ({"name": "by['x']"}, {"x": np.arange(N)}),
    ):
        with refuses(**{"argument": "by"} | fields):
            fp.ByCondition().fit(data, by)
        with refuses(**{"argument": "by"} | fields):
            fp.cross_fit(fp.ByCondition(), data, by=by)


def test_bad_options():
    data = sample()
    for argument, make in (
        ("calibrator", lambda: fp.ByCondition(fp.ByCondition())),
        ("calibrator", lambda: fp.ByCondition("dp")),
        ("min_per_class", lambda: fp.ByCondition(min_per_class=0)),
        ("bins", lambda: fp.ByCondition(bins=1).fit(data, GENDER)),
        ("bins", lambda: fp.ByCondition(bins=2).fit(data, GENDER)),
        ("bins", lambda: fp.ByCondition(bins={"x": 2}).fit(data, GENDER)),
    ):
        with refuses(argument):
            make()


def test_bad_uses():
    data, maker, dp = sample(), fp.ByCondition(), fp.DirectionPreserving()
    fitted = fp.ByCondition(bins={"seconds": 2}).fit(data, conditions())
    parts = fp.from_parts([data[:600], data[600:]])
    words = {**conditions(), "seconds": np.array(["long"] * N)}
    fusion = fp.ByCondition(fp.LinearFusion())
    for argument, use in (
        ("by", lambda: fitted.transform(data, GENDER)),
        ("by", lambda: fitted.transform(data, words)),
        ("predictions", lambda: fitted.transform(sample("raw_scores"), conditions())),
        ("predictions", lambda: maker.fit(parts, GENDER)),
        ("predictions", lambda: fp.cross_fit(maker, parts, by=GENDER)),
        ("by", lambda: fp.cross_fit(dp, data, by=GENDER)),
        ("train", lambda: fp.cross_fit(maker, data, fp.HeldOut(data), by=GENDER)),
        ("by", lambda: fp.select(data, {"a": maker})),
        ("by", lambda: fp.select(data, {"a": dp}, by=GENDER)),
        ("predictions", lambda: fp.select(parts, {"a": maker}, by=GENDER)),
        ("calibrator", lambda: fp.CalibrationLoss(fp.rules.Log(), maker)),
        ("candidates", lambda: fp.select(data, {"a": fusion}, by=GENDER)),
    ):
        with refuses(argument):
            use()
    with pytest.raises(ValueError, match="must be fitted before it transforms"):
        maker.transform(data, GENDER)
    with pytest.raises(KeyError):
        fitted["gender=x"]
