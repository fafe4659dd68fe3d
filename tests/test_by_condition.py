"""Calibration by condition, compared with loops over groups and folds."""

import json
import re

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration import registry
from fastpsr.plans import Part

INF = np.inf
N = 1200


def conditions(n=N, seed=1):
    """A column of words and one of numbers, on which the scores depend."""
    rng = np.random.default_rng([seed, n])
    return {"gender": np.where(rng.random(n) < 0.4, "f", "m"), "seconds": rng.gamma(2.0, 5.0, n)}


def sample(kind, n=N, seed=0, weights=False, priors=None, K=2):
    """Overlapping scores whose scale and shift depend on the gender."""
    rng = np.random.default_rng([seed, n, K])
    y = rng.integers(0, K, n)
    is_f = conditions(n)["gender"] == "f"
    x = rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y]
    x = np.where(is_f[:, None], 0.4 * x + 0.3 * np.arange(K), 2.0 * x)
    w = rng.integers(0, 4, n).astype(float) if weights else None
    make, z = fp.Predictions, x[:, 1] - x[:, 0]
    if K > 2:
        return make.from_log_likelihoods(y, x, priors=priors, sample_weight=w)
    return {
        "posteriors": lambda: make.from_logits(y, z, priors=priors, sample_weight=w),
        "llr": lambda: make.from_llrs(y, z, prior=priors and priors[1], sample_weight=w),
        "raw": lambda: make.from_raw_scores(y, z, sample_weight=w),
    }[kind]()


class Shift:
    """A user's calibrator of LLRs."""

    def fit(self, predictions):
        w = predictions.balanced_weights()
        self.shift = np.average(predictions.scores, weights=w if w.size else None)
        return self

    def transform(self, predictions):
        return fp.Predictions.from_llrs(None, predictions.scores - self.shift)


CALIBRATORS = {
    "dp": fp.DirectionPreserving(),
    "dp at a prior": fp.DirectionPreserving(prior=0.1),
    "dp by Brier": fp.DirectionPreserving(fp.rules.Brier()),
    "temperature": fp.TemperatureScaling(),
    "beta": fp.BetaCalibration(),
    "spline": fp.Spline(),
    "pav": fp.PAV(floor=0.01),
    "histogram": fp.HistogramBinning(bins=5, floor=0.01),
    "venn-abers": fp.VennAbers(),
}
OF_MANY_CLASSES = {"VectorScaling", "MatrixScaling"}  # which have tests of their own
CASES = [
    (name, kind)
    for name, calibrator in CALIBRATORS.items()
    for kind in ("posteriors", "llr", "raw")
    if not (kind == "raw" and calibrator.needs_posteriors)
]


def folds_of(data, train=None):
    folds = (train or fp.CrossFit()).folds_of(data)
    part = Part.whole(data)
    return folds.training_mask, folds.fold_of_rows(part), folds.calibrator_of_rows(part)


def by_loops(calibrator, data, groups, train=None, min_per_class=100):
    """Scores by a fit for each fold and group; scores of a fit to all groups where it is small."""
    masks, fold, number = folds_of(data, train)
    weights = data.weights if data.weights.size else np.ones(len(data))
    out = np.full(data.scores.shape, np.nan)
    for c, mask in enumerate(masks):
        trains = mask[fold]
        for group in np.unique(groups):
            rows = (number == c) & (groups == group)
            own = trains & (groups == group)
            sizes = np.bincount(data.labels[own & (weights > 0.0)], minlength=data.n_classes)
            used = own if (sizes >= min_per_class).all() else trains
            if rows.any():
                out[rows] = calibrator.fit(data[used]).transform(data[rows]).scores
    return out


# Fits and transforms


def test_every_calibrator_is_tried():
    tried = {type(each).__name__ for each in CALIBRATORS.values()} | OF_MANY_CLASSES
    assert tried == {each.__name__ for each in registry.CALIBRATORS.values()}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_fits_are_those_of_the_rows(name, kind):
    calibrator, data, gender = CALIBRATORS[name], sample(kind), conditions()["gender"]
    new, new_gender = sample(kind, 300, seed=3), conditions(300)["gender"]
    fitted = fp.ByCondition(calibrator).fit(data, {"gender": gender})
    got = fitted.transform(new, {"gender": new_gender})
    assert fitted.groups_ == ("gender=f", "gender=m")
    assert got.kind == calibrator.fit(data).transform(new).kind
    for value in "fm":
        own = calibrator.fit(data[gender == value])
        rows = new_gender == value
        np.testing.assert_array_equal(got.scores[rows], own.transform(new[rows]).scores)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("priors", [None, [0.9, 0.1]])
def test_weights_and_priors(weights, priors):
    data, gender = sample("llr", weights=weights, priors=priors), conditions()["gender"]
    fitted = fp.ByCondition().fit(data, {"gender": gender})
    for value in "fm":
        own = fp.DirectionPreserving().fit(data[gender == value])
        assert fitted[f"gender={value}"].scale_ == own.scale_
        assert fitted[f"gender={value}"].bias_.tolist() == own.bias_.tolist()
    got = fitted.transform(data, {"gender": gender})
    assert got.given_priors is data.given_priors
    assert got.sample_weight is data.sample_weight


@pytest.mark.parametrize("calibrator", [fp.VectorScaling(), fp.MatrixScaling()], ids=repr)
def test_of_several_classes(calibrator):
    data, gender = sample("", K=3), conditions()["gender"]
    by = {"gender": gender}
    fitted = fp.ByCondition(calibrator).fit(data, by)
    got = fitted.transform(data, by).scores
    for value in "fm":
        own = calibrator.fit(data[gender == value])
        expected = own.transform(data[gender == value]).scores
        np.testing.assert_allclose(got[gender == value], expected, rtol=1e-12)  # by BLAS
    assert str(fitted).splitlines()[0].split() == ["class", "0", "class", "1", "class", "2",
                                                   "calibrator"]  # fmt: skip


def test_of_a_calibrator_of_the_users_own():
    data, gender = sample("llr"), conditions()["gender"]
    got = fp.ByCondition(Shift()).fit(data, {"gender": gender}).transform(data, {"gender": gender})
    for value in "fm":
        own = data.scores[gender == value]
        np.testing.assert_allclose(got.scores[gender == value], own - own.mean(), atol=1e-12)


def test_infinite_scores():
    data, gender = sample("llr"), conditions()["gender"]
    scores = data.scores.copy()
    scores[[3, 4]] = INF, -INF
    y = data.labels.copy()
    y[[3, 4]] = 1, 0
    data = fp.Predictions.from_llrs(y, scores)
    for calibrator in (fp.DirectionPreserving(), fp.PAV()):
        got = fp.cross_fit(fp.ByCondition(calibrator), data, by={"gender": gender}).scores
        expected = by_loops(calibrator, data, gender)
        np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-9)


def test_samples_of_weight_0_are_as_if_absent():
    data, by = sample("llr", weights=True), conditions()
    here = data.weights > 0.0
    others = {name: ids.copy() for name, ids in by.items()}
    others["gender"][~here] = "x"
    others["seconds"][~here] = 1e9
    maker = fp.ByCondition(bins={"seconds": 3}, min_per_class=50)
    fitted = maker.fit(data, others)
    alone = maker.fit(data[here], {name: ids[here] for name, ids in by.items()})
    assert fitted.groups_ == alone.groups_
    assert fitted.counts_.tolist() == alone.counts_.tolist()
    assert fitted.edges_[1].tolist() == alone.edges_[1].tolist()
    crossed = fp.cross_fit(maker, data, by=others)
    alone = fp.cross_fit(maker, data[here], by={name: ids[here] for name, ids in by.items()})
    np.testing.assert_allclose(crossed.scores[here], alone.scores, rtol=0.0, atol=1e-12)
    assert np.isfinite(crossed.scores).all()


# Conditions


def test_columns_are_crossed_and_bins_are_kept():
    data, by = sample("llr"), conditions()
    fitted = fp.ByCondition(bins={"seconds": [5.0, 12.0]}, min_per_class=30).fit(data, by)
    assert fitted.columns_ == ("gender", "seconds")
    assert fitted.groups_ == tuple(
        f"gender={g}, seconds={s}" for g in "fm" for s in ("[-inf, 5)", "[5, 12)", "[12, inf]")
    )
    new = sample("llr", 6, seed=4)
    seconds = np.array([-1e300, 4.99, 5.0, 11.99, 12.0, INF])
    got = fitted.transform(new, {"seconds": seconds, "gender": ["f"] * 6}).scores
    names = [f"gender=f, seconds={s}" for s in ("[-inf, 5)", "[5, 12)", "[12, inf]")]
    expected = [fitted[names[i // 2]].transform(new[i : i + 1]).scores[0] for i in range(6)]
    assert got.tolist() == expected
    edges = [-INF, 5.0, 12.0, INF]
    for i, name in enumerate(names):
        rows = (by["gender"] == "f") & (by["seconds"] >= edges[i]) & (by["seconds"] < edges[i + 1])
        assert fitted[name].scale_ == fp.DirectionPreserving().fit(data[rows]).scale_


def test_bins_are_those_of_evaluate():
    data, by = sample("llr"), conditions()
    fitted = fp.ByCondition(bins=4).fit(data, {"seconds": by["seconds"]})
    table = fp.evaluate(data, [fp.Cllr()], by={"seconds": by["seconds"]}, bins=4)
    assert [None, *fitted.groups_] == [group.group for group in table.groups]
    assert fitted.counts_.tolist() == [list(group.class_sizes) for group in table.groups[1:]]
    # numbers of other data are in the bins of the fit, not in bins of their own
    few = fitted.transform(data[:2], {"seconds": by["seconds"][:2]}).scores
    assert few.tolist() == fitted.transform(data, {"seconds": by["seconds"]}).scores[:2].tolist()


def test_shown():
    data, by = sample("llr"), conditions()
    maker = fp.ByCondition(fp.PAV(), bins={"seconds": 3}, min_per_class=200)
    assert repr(maker) == str(maker)
    fitted = maker.fit(data, by)
    n_own = sum(not reason for reason in fitted.reasons_)
    assert repr(fitted) == f"<{maker!r} fitted to likelihoods: 6 conditions of gender, seconds, " \
        f"{n_own} with their own>"  # fmt: skip
    assert "gender=f" in fitted._repr_html_()
    assert len(str(fitted).splitlines()) == 7


def test_new_conditions_use_the_pooled_calibrator():
    data, gender = sample("llr"), conditions()["gender"].astype("U5")
    fitted = fp.ByCondition().fit(data, {"gender": gender})
    new = gender.copy()
    new[:3], new[3] = "other", "?"
    message = r"4 samples are of conditions .* gender=\? \(1\), gender=other \(3\)$"
    with pytest.warns(RuntimeWarning, match=message):
        got = fitted.transform(data, {"gender": new})
    expected = fitted.transform(data, {"gender": gender}).scores
    assert got.scores[4:].tolist() == expected[4:].tolist()
    pooled = fp.DirectionPreserving().fit(data).transform(data)
    assert got.scores[:4].tolist() == pooled.scores[:4].tolist()


def test_many_new_conditions_are_counted():
    data = sample("llr")
    fitted = fp.ByCondition().fit(data, {"x": np.zeros(N, int)})
    with pytest.warns(RuntimeWarning, match=r"x=5 \(1\), 1,194 more$"):
        fitted.transform(data, {"x": np.arange(N)})


def test_small_conditions_use_the_pooled_calibrator():
    data = sample("llr")
    group = np.repeat(
        ["small", "one class", "separate", "alike", "large"], [80, 200, 200, 200, 520]
    )
    scores, y = data.scores.copy(), data.labels.copy()
    y[group == "one class"] = 1
    own = group == "separate"
    scores[own] = np.where(y[own] == 1, 1.0, -1.0) * (1.0 + np.abs(scores[own]))
    scores[group == "alike"] = 0.3
    data = fp.Predictions.from_llrs(y, scores)
    fitted = fp.ByCondition(min_per_class=50).fit(data, {"x": group})
    reasons = dict(zip(fitted.groups_, fitted.reasons_, strict=True))
    assert reasons["x=large"] == ""
    assert reasons["x=separate"] == reasons["x=alike"] == "no map is best"
    assert reasons["x=one class"] == "fewer than 50 of class 0"
    assert reasons["x=small"].startswith("fewer than 50 of class")
    pooled = fp.DirectionPreserving().fit(data)
    got = fitted.transform(data, {"x": group}).scores
    assert (
        got[group != "large"].tolist() == pooled.transform(data).scores[group != "large"].tolist()
    )
    assert fitted["x=small"] is fitted.pooled_
    assert fitted["x=large"].scale_ != pooled.scale_
    assert "x=small" in str(fitted)
    assert "pooled: fewer than 50" in str(fitted)
    crossed = fp.cross_fit(fp.ByCondition(min_per_class=50), data, by={"x": group}).scores
    plain = fp.cross_fit(fp.DirectionPreserving(), data).scores
    assert crossed[group != "large"].tolist() == plain[group != "large"].tolist()
    assert (crossed[group == "large"] != plain[group == "large"]).all()


def test_as_many_samples_as_are_needed_are_enough():
    data, by = sample("llr"), conditions()
    fewest = int(np.bincount(data.labels[by["gender"] == "f"]).min())
    for more, own in ((0, True), (1, False)):
        maker = fp.ByCondition(min_per_class=fewest + more)
        fitted = maker.fit(data, {"gender": by["gender"]})
        assert (fitted["gender=f"] is not fitted.pooled_) == own


def test_each_training_set_decides():
    """A group that is large enough outside of some folds only, or separable outside of one."""
    data, group = sample("llr", 600), np.repeat(["a", "b"], [200, 400])
    fold = np.arange(600) % 5
    train, by = fp.CrossFit(folds=fold), {"x": group}
    sizes = [
        np.bincount(data.labels[(group == "a") & (fold != f)], minlength=2).min() for f in range(5)
    ]
    least = sorted(sizes)[2]
    assert min(sizes) < least
    got = fp.cross_fit(fp.ByCondition(min_per_class=int(least)), data, train, by=by).scores
    expected = by_loops(fp.DirectionPreserving(), data, group, train, least)
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-12)
    plain = fp.cross_fit(fp.DirectionPreserving(), data, train).scores
    assert 0 < np.mean(got[group == "a"] == plain[group == "a"]) < 1

    scores = data.scores.copy()
    is_separate = (group == "a") & (fold != 0)
    scores[is_separate] = np.where(data.labels[is_separate] == 1, 2.0, -2.0)
    scores[(group == "a") & (fold == 0)] = np.tile([1.0, -1.0], 20)
    data = fp.Predictions.from_llrs(data.labels, scores)
    maker = fp.ByCondition(min_per_class=20)
    got = fp.cross_fit(maker, data, train, by=by).scores
    plain = fp.cross_fit(fp.DirectionPreserving(), data, train).scores
    own = group == "a"
    assert got[own & (fold == 0)].tolist() == plain[own & (fold == 0)].tolist()
    for f in range(1, 5):
        fitted = fp.DirectionPreserving().fit(data[own & (fold != f)])
        rows = own & (fold == f)
        np.testing.assert_allclose(got[rows], fitted.transform(data[rows]).scores, atol=1e-9)


# Cross-fitting


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_cross_fits_are_those_of_the_rows(name, kind):
    calibrator, data, gender = CALIBRATORS[name], sample(kind), conditions()["gender"]
    _, fold, _ = folds_of(data)
    got = fp.cross_fit(fp.ByCondition(calibrator), data, by={"gender": gender})
    assert got.kind == fp.cross_fit(calibrator, data).kind
    for value in "fm":
        rows = gender == value
        own = fp.cross_fit(calibrator, data[rows], fp.CrossFit(folds=fold[rows]))
        np.testing.assert_allclose(got.scores[rows], own.scores, rtol=0.0, atol=1e-12)
    if name != "spline":  # which chooses its penalty by other folds where it is fitted alone
        expected = by_loops(calibrator, data, gender)
        np.testing.assert_allclose(got.scores, expected, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("name", ["dp", "pav", "venn-abers"])
def test_speakers_are_kept_apart(name):
    calibrator, data, gender = CALIBRATORS[name], sample("llr"), conditions()["gender"]
    rng = np.random.default_rng(0)
    train = fp.CrossFit(folds=4, groups=(rng.integers(0, 40, N), rng.integers(0, 40, N)))
    got = fp.cross_fit(fp.ByCondition(calibrator), data, train, by={"gender": gender}).scores
    expected = by_loops(calibrator, data, gender, train)
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-8)
    plain = fp.cross_fit(calibrator, data, train).scores
    assert 0.01 < np.mean(expected == plain) < 0.99  # some pairs of folds leave too few


def test_trained_on_the_same_data():
    data, by = sample("llr"), {"gender": conditions()["gender"]}
    maker = fp.ByCondition()
    got = fp.cross_fit(maker, data, fp.TrainOnTest(), by=by).scores
    expected = maker.fit(data, by).transform(data, by).scores
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-12)


def test_weighted_cross_fits():
    data, gender = sample("posteriors", weights=True, priors=[0.7, 0.3]), conditions()["gender"]
    got = fp.cross_fit(fp.ByCondition(min_per_class=60), data, by={"gender": gender}).scores
    expected = by_loops(fp.DirectionPreserving(), data, gender, min_per_class=60)
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-9)


# Fusions


def systems_of(seed=0):
    rng = np.random.default_rng(seed)
    y, (enroll, test) = sample("raw").labels, rng.random((2, N))
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


def test_fusions_are_those_of_the_rows():
    systems, gender = systems_of(), conditions()["gender"]
    by, maker = {"gender": gender}, fp.ByCondition(fp.LinearFusion(prior=0.1))
    fitted = maker.fit(systems, by)
    got = fitted.transform(systems, by)
    crossed = fp.cross_fit(maker, systems, by=by)
    assert got.kind == crossed.kind == "likelihoods"
    _, fold, _ = folds_of(systems["s0"])
    for value in "fm":
        rows = gender == value
        own = rows_of(systems, rows)
        alone = fp.LinearFusion(prior=0.1).fit(own)
        assert fitted[f"gender={value}"].weights_.tolist() == alone.weights_.tolist()
        assert got.scores[rows].tolist() == alone.transform(own).scores.tolist()
        alone = fp.cross_fit(fp.LinearFusion(prior=0.1), own, fp.CrossFit(folds=fold[rows]))
        np.testing.assert_allclose(crossed.scores[rows], alone.scores, rtol=0.0, atol=1e-12)


def test_fusions_fall_back():
    systems = [each for each in systems_of().values() if isinstance(each, fp.Predictions)]
    group = np.repeat(["small", "large"], [100, N - 100])
    y, first = systems[0].labels, systems[0].scores.copy()
    group[100:300] = "separate"
    first[100:300] = np.where(y[100:300] == 1, 5.0, -5.0)
    systems[0] = fp.Predictions.from_raw_scores(y, first)
    maker = fp.ByCondition(fp.LinearFusion(), min_per_class=60)
    fitted = maker.fit(systems, {"x": group})
    assert [bool(reason) for reason in fitted.reasons_] == [False, True, True]
    pooled = fp.LinearFusion().fit(systems).transform(systems).scores
    got = fitted.transform(systems, {"x": group}).scores
    assert got[:300].tolist() == pooled[:300].tolist()
    crossed = fp.cross_fit(maker, systems, by={"x": group}).scores
    plain = fp.cross_fit(fp.LinearFusion(), systems).scores
    assert crossed[:300].tolist() == plain[:300].tolist()
    assert (crossed[300:] != plain[300:]).all()


# The gain


@pytest.mark.parametrize("name", ["dp", "pav-laplace", "venn-abers"])
def test_gain_is_that_of_nested_loops(name):
    calibrator, data = CALIBRATORS.get(name, fp.PAV(laplace=True)), sample("llr")
    gender = conditions()["gender"]
    maker = fp.ByCondition(calibrator, min_per_class=100)
    found = fp.select(
        data, {"one": calibrator, "by gender": maker}, train=fp.CrossFit(4), by={"gender": gender}
    )
    masks, fold, _ = folds_of(data, fp.CrossFit(4))
    naive = float(np.squeeze(fp.rules.Log().entropy(data.priors)))

    def losses(which, trains, rows):
        """Losses of rows by fits to other rows."""
        out = np.empty(rows.size)
        for value in "fm" if which else [None]:
            own = trains if value is None else trains & (gender == value)
            if np.bincount(data.labels[own], minlength=2).min() < 100:
                own = trains
            here = np.flatnonzero(gender[rows] == value) if value else np.arange(rows.size)
            scores = calibrator.fit(data[own]).transform(data[rows[here]]).scores
            log_odds = scores + np.log(data.priors[1] / data.priors[0])
            out[here] = np.logaddexp(0.0, np.where(data.labels[rows[here]] == 1, -1, 1) * log_odds)
        return out

    of_fold = [np.flatnonzero(fold == f) for f in range(4)]
    outer = [[losses(c, masks[f][fold], of_fold[f]) for f in range(4)] for c in range(2)]
    expected = [np.concatenate(each).mean() / naive for each in outer]
    np.testing.assert_allclose([each.score for each in found.table], expected, rtol=1e-9)
    nested, choices = [], []
    for f in range(4):
        inner = [
            np.concatenate([
                losses(c, masks[f][fold] & masks[i][fold], of_fold[i]) for i in range(4) if i != f
            ]).mean()
            for c in range(2)
        ]  # fmt: skip
        choices.append(int(np.argmin(inner)))
        nested.append(outer[choices[-1]][f])
    assert found.choices == tuple(["one", "by gender"][c] for c in choices)
    score = np.concatenate(nested).mean() / naive
    np.testing.assert_allclose(found.score, score, rtol=1e-9)
    assert found.chosen == "by gender"
    assert found.calibrator.groups_ == ("gender=f", "gender=m")


@pytest.mark.slow
def test_gain_has_an_interval():
    data, rng = sample("llr"), np.random.default_rng(0)
    candidates = {"one": fp.DirectionPreserving(), "by": fp.ByCondition(min_per_class=20)}
    options = {"n_resamples": 40, "seed": 1}
    found = fp.select(data, candidates, by={"x": rng.integers(0, 8, N)}, **options)
    assert found.simplest == "one"
    assert found.alike == ("one", "by")
    found = fp.select(data, candidates, by={"x": conditions()["gender"]}, **options)
    assert found.alike == ("by",)
    assert 0.0 < found["one"].low < found["one"].difference < found["one"].high


# Files


@pytest.mark.parametrize("name", ["dp", "pav", "spline"])
def test_saved_and_loaded(tmp_path, name):
    data, by = sample("llr"), conditions()
    by["gender"][:30] = "x"
    maker = fp.ByCondition(CALIBRATORS[name], 40, {"seconds": 2})
    fitted = maker.fit(data, by)
    fp.save_calibrator(fitted, tmp_path / "c.json")
    loaded = fp.load_calibrator(tmp_path / "c.json")
    assert loaded.groups_ == fitted.groups_
    assert loaded.reasons_ == fitted.reasons_
    assert any(fitted.reasons_)
    assert str(loaded) == str(fitted)
    assert loaded.counts_.dtype == np.int64
    assert loaded.min_per_class == 40
    got = loaded.transform(data, by).scores
    assert got.tolist() == fitted.transform(data, by).scores.tolist()
    assert type(loaded.calibrator) is type(CALIBRATORS[name])
    refitted = fp.ByCondition(loaded.calibrator, 40, {"seconds": 2}).fit(data, by)
    assert refitted.transform(data, by).scores.tolist() == got.tolist()


def test_a_saved_fusion(tmp_path):
    systems, by = systems_of(), {"gender": conditions()["gender"]}
    fitted = fp.ByCondition(fp.LinearFusion()).fit(systems, by)
    fp.save_calibrator(fitted, tmp_path / "c.json")
    got = fp.load_calibrator(tmp_path / "c.json").transform(systems, by).scores
    assert got.tolist() == fitted.transform(systems, by).scores.tolist()


def test_a_calibrator_of_the_users_own_is_not_saved(tmp_path):
    data, by = sample("llr"), {"gender": conditions()["gender"]}
    fitted = fp.ByCondition(Shift()).fit(data, by)
    with pytest.raises(fp.ArgumentError, match="must be of this package to be saved, not Shift"):
        fp.save_calibrator(fitted, tmp_path / "c.json")


DAMAGES = {
    "edges that descend": ("edges_", [None, [12.0, 5.0]]),
    "edges of infinity": ("edges_", [None, [5.0, "inf"]]),
    "edges of words": ("edges_", [None, ["x"]]),
    "too few edges": ("edges_", [None]),
    "no columns": ("columns_", []),
    "a column twice": ("columns_", ["gender", "gender"]),
    "groups twice": ("groups_", ["x"] * 4),
    "no groups": ("groups_", []),
    "counts of other groups": ("counts_", [[1, 2]]),
    "infinite counts": ("counts_", lambda counts: [["inf", 2]] * len(counts)),
    "no reasons": ("reasons_", [""] * 4),
    "a number as calibrator": ("pooled_", 3.0),
    "no pooled calibrator": ("pooled_", None),
    "no calibrators": ("own_", []),
    "one calibrator": ("own_", {}),
    "numbers as calibrators": ("own_", [1.0, 2.0, 3.0, 4.0]),
    "none as calibrators": ("own_", [None] * 4),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_refused(tmp_path, damage):
    data, by, path = sample("llr"), conditions(), tmp_path / "c.json"
    by["gender"][:30] = "x"
    maker = fp.ByCondition(min_per_class=100, bins={"seconds": [12.0]})
    fp.save_calibrator(maker.fit(data, by), path)
    content = json.loads(path.read_text())
    name, value = DAMAGES[damage]
    content["fitted"][name] = value(content["fitted"][name]) if callable(value) else value
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} must be a calibrator saved"):
        fp.load_calibrator(path)


def test_nested_content_is_checked(tmp_path):
    data, by, path = sample("llr"), {"gender": conditions()["gender"]}, tmp_path / "c.json"
    fp.save_calibrator(fp.ByCondition().fit(data, by), path)
    text = path.read_text()
    for damaged in (
        text.replace('"DirectionPreserving"', '"Unknown"'),
        text.replace('"DirectionPreserving"', '"ByCondition"'),
        text.replace('"domain": "likelihoods"', '"domain": "posteriors"', 1),
        text.replace('"scale_"', '"scales"', 1),
    ):
        assert damaged != text
        path.write_text(damaged)
        with pytest.raises(ValueError, match="must be a calibrator saved by fastpsr"):
            fp.load_calibrator(path)


# Errors


GENDER = {"gender": conditions()["gender"]}


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (None, r"^by must be a dict such as"),
        ({}, r"^by must be a dict such as"),
        (["gender"], r"^by must be a dict such as"),
        ({"x": "gender"}, r"^by must have one id per sample for 'x'"),
        ({"x": [1, 2]}, r"^by\['x'\]"),
        ({"x": [np.nan] * N}, r"^by\['x'\] must have an id for each"),
        ({("a", "b"): (range(N), range(N))}, r"^by must give each column under its own name"),
        ({"x": fp.SharedTargets(range(N))}, r"^by\['x'\] must not share targets"),
        ({"x": np.arange(N)}, r"^by\['x'\] must have at most 20 different numbers"),
    ],
)
def test_what_are_no_conditions(by, message):
    data = sample("llr")
    with pytest.raises(fp.ArgumentError, match=message):
        fp.ByCondition().fit(data, by)
    with pytest.raises(fp.ArgumentError, match=message):
        fp.cross_fit(fp.ByCondition(), data, by=by)


def test_wrong_options():
    for make, message in (
        (lambda: fp.ByCondition(fp.ByCondition()), "must be of all conditions"),
        (lambda: fp.ByCondition("dp"), "must be a calibrator"),
        (lambda: fp.ByCondition(min_per_class=0), "must be an integer of at least 1"),
        (lambda: fp.ByCondition(bins=1).fit(sample("llr"), GENDER), "bins must be an integer"),
        (lambda: fp.ByCondition(bins=2).fit(sample("llr"), GENDER), "bins are for columns of num"),
        (lambda: fp.ByCondition(bins={"x": 2}).fit(sample("llr"), GENDER), "bins must be for col"),
    ):
        with pytest.raises(fp.ArgumentError, match=message):
            make()


def test_wrong_uses():
    data = sample("llr")
    fitted = fp.ByCondition(bins={"seconds": 2}).fit(data, conditions())
    parts, dp = fp.from_parts([data[:600], data[600:]]), fp.DirectionPreserving()
    words = {**conditions(), "seconds": np.array(["long"] * N)}
    for use, message in (
        (lambda: fitted.transform(data, GENDER), "by must give gender, seconds, as in the fit"),
        (lambda: fitted.transform(data, words), r"by\['seconds'\] must be numbers, .* not 'long'"),
        (lambda: fitted.transform(sample("raw"), conditions()), "must be likelihoods"),
        (lambda: fp.ByCondition().fit(parts, GENDER), "predictions must be in memory"),
        (lambda: fp.cross_fit(fp.ByCondition(), parts, by=GENDER), "predictions must be in memory"),
        (lambda: fp.cross_fit(dp, data, by=GENDER), "by is for ByCondition, not for Direction"),
        (lambda: fp.cross_fit(fp.ByCondition(), data, fp.HeldOut(data), by=GENDER), "^train must"),
        (lambda: fp.select(data, {"a": fp.ByCondition()}), "by must be given for ByCondition"),
        (lambda: fp.select(data, {"a": dp}, by=GENDER), "by is for candidates by condition"),
        (lambda: fp.select(parts, {"a": fp.ByCondition()}, by=GENDER), "must be in memory"),
        (lambda: fp.CalibrationLoss(fp.rules.Log(), fp.ByCondition()), "ByCondition is not"),
        (
            lambda: fp.select(data, {"a": fp.ByCondition(fp.LinearFusion())}, by=GENDER),
            "candidates must be of one system",
        ),
    ):
        with pytest.raises(fp.ArgumentError, match=message):
            use()
    with pytest.raises(ValueError, match="must be fitted before it transforms"):
        fp.ByCondition().transform(data, GENDER)
    with pytest.raises(KeyError):
        fitted["gender=x"]


def test_warnings_name_the_condition():
    systems, gender = systems_of(), conditions()["gender"]
    y, x = systems["s0"].labels, systems["s0"].scores.copy()
    x[gender == "f"] *= -1.0
    given = {"a": fp.Predictions.from_raw_scores(y, x), "b": systems["s1"]}
    with pytest.warns(RuntimeWarning, match="^gender=f: weights of a are negative"):
        fp.ByCondition(fp.LinearFusion()).fit(given, {"gender": gender})
