"""Linear fusion against scikit-learn, SciPy, separate fits, and its mathematics."""

import itertools
import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax

import fastpsr as fp
from fastpsr.calibration import fusion_fits, fusion_rows
from fastpsr.plans import Part
from tests import everything

PRIORS = [0.5, 0.01, 0.9, 1e-6]


def labels(n, share=0.2, K=2, seed=0):
    rng = np.random.default_rng([seed, n])
    y = (rng.random(n) < share).astype(int) if K == 2 else rng.integers(0, K, n)
    y[:K] = np.arange(K)
    return y


def raw(y, seed=1, shift=0.0, scale=1.0, spread=1.5, weights=None):
    """Raw scores of one system, which overlap."""
    rng = np.random.default_rng([seed, len(y)])
    x = scale * (y * 2.0 + spread * rng.normal(size=len(y))) + shift
    return fp.Predictions.from_raw_scores(y, x, sample_weight=weights)


def several(y, weights=None):
    """Three systems of very different scales."""
    return [
        raw(y, 1, weights=weights),
        raw(y, 2, 0.5, 0.01, weights=weights),
        raw(y, 3, 1000.0, 10.0, 2.5, weights=weights),
    ]


def of_classes(y, K, seed=0, strength=1.2, weights=None):
    rng = np.random.default_rng([seed, len(y)])
    return fp.Predictions.from_log_likelihoods(
        y, rng.normal(size=(len(y), K)) + strength * np.eye(K)[y], sample_weight=weights
    )


def gradient(fused, columns, y, prior, weights):
    """Gradient of the objective by each weight and the bias, from its definition."""
    offset = np.log(prior / (1.0 - prior))
    share = weights * np.where(
        y == 1, prior / weights[y == 1].sum(), (1.0 - prior) / weights[y == 0].sum()
    )
    error = share * (1.0 / (1.0 + np.exp(-fused - offset)) - y)
    return np.array([error @ column for column in (*columns, np.ones(len(y)))])


@pytest.mark.parametrize("prior", PRIORS)
def test_is_logistic_regression_with_prior_weights(prior):
    linear_model = pytest.importorskip("sklearn.linear_model")
    y = labels(3000)
    systems = several(y)
    columns = np.column_stack([each.scores / each.scores.std() for each in systems])
    share = np.where(y == 1, prior / y.sum(), (1.0 - prior) / (1 - y).sum())
    peer = linear_model.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    peer.fit(columns, y, sample_weight=share * len(y))
    expected = peer.decision_function(columns) - np.log(prior / (1.0 - prior))
    fused = fp.LinearFusion(prior).fit(systems).transform(systems)
    assert fused.kind == "likelihoods"
    np.testing.assert_allclose(fused.scores, expected, rtol=0.0, atol=1e-6)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_zero(prior, weighted):
    y = labels(2000)
    weights = np.random.default_rng(5).integers(0, 4, y.size).astype(float)
    weights[:2] = 1.0
    systems = several(y, weights if weighted else None)
    fused = fp.LinearFusion(prior).fit(systems).transform(systems).scores
    weights = weights if weighted else np.ones(y.size)
    columns = [(each.scores - each.scores.mean()) / each.scores.std() for each in systems]
    assert np.abs(gradient(fused, columns, y, prior, weights)).max() < 1e-12


def test_one_system_is_direction_preserving():
    y = labels(2000)
    one = raw(y)
    fused = fp.LinearFusion(0.1).fit([one]).transform([one])
    calibrated = fp.DirectionPreserving(prior=0.1).fit(one).transform(one)
    np.testing.assert_allclose(fused.scores, calibrated.scores, rtol=1e-9, atol=1e-9)


def test_many_samples_begin_at_a_few():
    y = labels(200_000, 0.3)
    systems = several(y)
    fused = fp.LinearFusion().fit(systems).transform(systems).scores
    columns = [(each.scores - each.scores.mean()) / each.scores.std() for each in systems]
    assert np.abs(gradient(fused, columns, y, 0.5, np.ones(y.size))).max() < 1e-12


def test_few_samples_begin_a_search_also_of_many_classes(monkeypatch):
    seen = []

    def spy(rows, strides):
        some = thinned(rows, strides)
        seen.append(some.scores.size)
        return some

    thinned = fusion_rows.Rows.thinned
    monkeypatch.setattr(fusion_rows.Rows, "thinned", spy)
    monkeypatch.setattr(fusion_fits, "_THIN_NUMBERS", 1 << 15)
    monkeypatch.setenv("FASTPSR_MEMORY", "10kB")
    y = labels(10_000, K=8)
    systems = [of_classes(y, 8, k) for k in (1, 2)]
    one = fp.LinearFusion().fit(in_parts(systems, (0, 4000, 10_000)))
    assert len(seen) == 2
    assert 1 << 13 < sum(seen) < 1 << 16  # of 160,000 scores
    np.testing.assert_allclose(one.weights_, fp.LinearFusion().fit(systems).weights_, rtol=1e-9)


def test_weights_are_repetitions():
    y = labels(400)
    n_times = np.random.default_rng(3).integers(0, 4, y.size)
    n_times[:2] = 1
    rows = np.repeat(np.arange(y.size), n_times)
    weighted = fp.LinearFusion().fit(several(y, n_times.astype(float)))
    repeated = fp.LinearFusion().fit([each[rows] for each in several(y)])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-9)
    np.testing.assert_allclose(weighted.bias_, repeated.bias_, rtol=1e-9)


# Systems that depend on each other


def test_collinear_systems_change_nothing_and_share_weights():
    y = labels(3000)
    a, b, c = several(y)
    as_raw = fp.Predictions.from_raw_scores
    more = [
        as_raw(y, a.scores - b.scores), as_raw(y, 2.0 * c.scores + 5.0),
        as_raw(y, np.full(y.size, 7.0)), a,
    ]  # fmt: skip
    few, all_ = fp.LinearFusion().fit([a, b, c]), fp.LinearFusion().fit([a, b, c, *more])
    assert (few.rank_, all_.rank_) == (3, 3)
    expected = few.transform([a, b, c]).scores
    np.testing.assert_allclose(all_.transform([a, b, c, *more]).scores, expected, atol=1e-10)
    assert all_.weights_[5] == 0.0
    assert all_.weights_[0] == pytest.approx(all_.weights_[6], rel=1e-9)
    # of all weights with these scores, those of least norm in units of standard deviations
    share = 0.5 / np.bincount(y)[y]
    columns = np.stack([each.scores for each in (a, b, c, *more)])
    columns -= (columns @ share)[:, None]
    spread = np.sqrt(columns**2 @ share)  # where classes count alike
    used = spread > 1e-9
    least = np.linalg.pinv((columns[used] / spread[used, None]).T, rcond=1e-10) @ (
        expected - expected @ share
    )
    np.testing.assert_allclose(all_.weights_[used] * spread[used], least, rtol=1e-6, atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 5), st.integers(0, 1000), st.sampled_from(PRIORS), st.floats(-3, 3),
    st.floats(-300, 300),
)  # fmt: skip
def test_units_of_a_system_do_not_matter(n, seed, prior, log_scale, shift):
    y = labels(300, 0.4, seed=seed)
    systems = [raw(y, k + seed) for k in range(n)]
    moved = fp.Predictions.from_raw_scores(y, systems[0].scores * 10.0**log_scale + shift)
    one = fp.LinearFusion(prior).fit(systems).transform(systems).scores
    others = [moved, *systems[1:]]
    other = fp.LinearFusion(prior).fit(others).transform(others).scores
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


# Several classes


@pytest.mark.parametrize("K", [3, 5])
def test_several_classes_against_a_search(K):
    y = labels(2000, K=K)
    systems = [of_classes(y, K, seed, strength) for seed, strength in ((1, 1.0), (2, 1.6))]
    share = 1.0 / (K * np.bincount(y))[y]

    def loss(point):
        fused = point[0] * systems[0].scores + point[1] * systems[1].scores + point[2:]
        return -(share * log_softmax(fused, axis=1)[np.arange(y.size), y]).sum()

    found = minimize(loss, np.zeros(2 + K), method="BFGS", options={"gtol": 1e-9})
    fusion = fp.LinearFusion().fit(systems)
    np.testing.assert_allclose(fusion.weights_, found.x[:2], rtol=1e-4)
    np.testing.assert_allclose(fusion.bias_, found.x[2:] - found.x[2:].mean(), atol=1e-4)
    assert fusion.bias_.sum() == pytest.approx(0.0, abs=1e-12)
    assert loss(np.concatenate([fusion.weights_, fusion.bias_])) <= found.fun + 1e-12
    assert fusion.transform(systems).kind == "likelihoods"


def test_collinear_systems_of_several_classes():
    y = labels(1500, K=4)
    a, b = of_classes(y, 4, 1), of_classes(y, 4, 2)
    per_class = np.arange(4.0)  # what biases are for
    same = fp.Predictions.from_log_likelihoods(y, 3.0 * a.scores + per_class)
    few, more = fp.LinearFusion().fit([a, b]), fp.LinearFusion().fit([a, b, same])
    assert (few.rank_, more.rank_) == (2, 2)
    expected = few.transform([a, b]).scores
    found = more.transform([a, b, same]).scores
    centered = [each - each.mean(axis=1, keepdims=True) for each in (expected, found)]
    np.testing.assert_allclose(*centered, atol=1e-9)


# Cross-fitting


def folds_of(n, n_folds=3):
    return np.random.default_rng(7).integers(0, n_folds, n)


@pytest.mark.parametrize("K", [2, 3])
def test_cross_fit_is_separate_fits(K):
    y = labels(1200, K=K)
    systems = several(y) if K == 2 else [of_classes(y, K, seed) for seed in (1, 2)]
    folds = folds_of(y.size)
    fused = fp.cross_fit(fp.LinearFusion(), systems, fp.CrossFit(folds)).scores
    for fold in range(3):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        alone = fp.LinearFusion().fit([each[train] for each in systems])
        expected = alone.transform([each[test] for each in systems]).scores
        np.testing.assert_allclose(fused[test], expected, rtol=1e-8, atol=1e-8)


def test_cross_fit_keeps_pairs_of_speakers_apart():
    y = labels(3000, 0.4)
    rng = np.random.default_rng(0)
    speakers = rng.integers(0, 40, y.size), rng.integers(0, 40, y.size)
    systems = several(y)
    train = fp.CrossFit(3, groups=speakers)
    fused = fp.cross_fit(fp.LinearFusion(), systems, train).scores
    folds = train.folds_of(systems[0])
    own = folds.fold_of_rows(Part.whole(systems[0]))
    calibrators = folds.calibrator_of_rows(Part.whole(systems[0]))
    for number in np.unique(calibrators):
        trained = np.flatnonzero(folds.training_mask[number][own])
        here = np.flatnonzero(calibrators == number)
        mine = {*speakers[0][here], *speakers[1][here]}
        assert not mine & {*speakers[0][trained], *speakers[1][trained]}
        alone = fp.LinearFusion().fit([each[trained] for each in systems])
        expected = alone.transform([each[here] for each in systems]).scores
        np.testing.assert_allclose(fused[here], expected, rtol=1e-8, atol=1e-8)


def test_trained_on_the_same_data():
    y = labels(500)
    systems = several(y)
    fused = fp.cross_fit(fp.LinearFusion(), systems, fp.TrainOnTest()).scores
    expected = fp.LinearFusion().fit(systems).transform(systems).scores
    np.testing.assert_allclose(fused, expected, rtol=1e-12)


# Data in parts


def in_parts(systems, bounds=(0, 300, 320, 320, 1200), **columns):
    """Systems in parts, of which one is empty."""
    return [
        fp.from_parts([
            (each[a:b], {name: values[a:b] for name, values in columns.items()})
            for a, b in itertools.pairwise(bounds)
        ])
        for each in systems
    ]  # fmt: skip


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("budget", ["1GB", "10kB"])  # held in memory; read for each step
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_are_the_whole(K, weighted, budget, monkeypatch):
    monkeypatch.setenv("FASTPSR_MEMORY", budget)
    y = labels(1200, K=K)
    weights = np.random.default_rng(5).integers(0, 4, y.size).astype(float)
    weights[:K] = 1.0
    weights = weights if weighted else None
    systems = [of_classes(y, K, k, weights=weights) for k in (1, 2)]
    systems = systems if K > 2 else several(y, weights)
    folds = folds_of(y.size)
    parts = in_parts(systems, fold=folds)
    one, other = fp.LinearFusion().fit(systems), fp.LinearFusion().fit(parts)
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-9)
    np.testing.assert_allclose(other.bias_, one.bias_, rtol=1e-9, atol=1e-9)
    fused = other.transform(parts)
    assert fused.kind == "likelihoods"
    np.testing.assert_allclose(
        fused.compute().scores, one.transform(systems).scores, rtol=1e-9, atol=1e-9
    )
    for ids, names in ((3, 3), (folds, "fold")):
        crossed = fp.cross_fit(fp.LinearFusion(), systems, fp.CrossFit(ids))
        of_parts = fp.cross_fit(fp.LinearFusion(), parts, fp.CrossFit(names))
        if ids is folds:
            np.testing.assert_allclose(
                of_parts.compute().scores, crossed.scores, rtol=1e-8, atol=1e-8
            )
        metric = fp.CrossEntropy()
        assert metric(of_parts) == pytest.approx(metric(crossed), rel=1e-8)


@pytest.mark.parametrize("budget", ["1GB", "10kB"])
def test_measures_in_parts(budget, monkeypatch):
    monkeypatch.setenv("FASTPSR_MEMORY", budget)
    y = labels(1200)
    x, quality = measured(y)
    systems = {"x": x, "q": quality}
    parts = {
        "x": in_parts([x], e=quality.enroll, t=quality.test)[0], "q": fp.Quality("e", "t")
    }  # fmt: skip
    for terms in COLUMNS:
        one, other = (fp.LinearFusion(quality=terms).fit(each) for each in (systems, parts))
        np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-9)
        assert other.columns_ == one.columns_
        np.testing.assert_allclose(
            other.transform(parts).compute().scores, one.transform(systems).scores, rtol=1e-9
        )


def test_tables_in_parts(tmp_path):
    polars = pytest.importorskip("polars")
    y = labels(1200)
    x, quality = measured(y)
    table = {
        "target": y, "a": x.scores, "b": raw(y, 4).scores, "e": quality.enroll, "t": quality.test,
    }  # fmt: skip
    polars.DataFrame(table).write_parquet(tmp_path / "t.parquet", row_group_size=500)
    systems = {
        name: fp.scan_parquet(tmp_path / "t.parquet", y_true="target", raw_scores=name)
        for name in "ab"
    }
    systems["q"] = fp.Quality("e", "t")
    fusion = fp.LinearFusion().fit(systems)
    expected = fp.LinearFusion().fit({"a": x, "b": raw(y, 4), "q": quality})
    np.testing.assert_allclose(fusion.weights_, expected.weights_, rtol=1e-9)
    by_column = fp.evaluate(fusion.transform(systems), [fp.Cllr()], by={"e": "e"}, bins=2)
    assert by_column.groups


# Quality measures


def measured(y, seed=9):
    """Scores that are lower where a measure of either side is low; and the measure."""
    rng = np.random.default_rng(seed)
    enroll, test = rng.gamma(2.0, size=(2, len(y)))
    x = raw(y).scores + 0.7 * np.minimum(enroll, test)
    return fp.Predictions.from_raw_scores(y, x), fp.Quality(enroll, test)


COLUMNS = {
    "min,max": lambda x, e, t: [x, np.minimum(e, t), np.maximum(e, t)],
    "bilinear": lambda x, e, t: [x, e * t, e + t],
    "scale": lambda x, e, t: [
        x, np.minimum(e, t), x * np.minimum(e, t), np.maximum(e, t), x * np.maximum(e, t),
    ],
}  # fmt: skip


@pytest.mark.parametrize("terms", COLUMNS)
def test_measures_are_columns(terms):
    y = labels(1500)
    x, quality = measured(y)
    columns = COLUMNS[terms](x.scores, quality.enroll, quality.test)
    systems = [fp.Predictions.from_raw_scores(y, column) for column in columns]
    fusion = fp.LinearFusion(quality=terms).fit([x, quality])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = fp.LinearFusion().fit(systems)
    np.testing.assert_allclose(fusion.weights_, expected.weights_, rtol=1e-8)
    np.testing.assert_allclose(
        fusion.transform([x, quality]).scores, expected.transform(systems).scores, rtol=1e-8
    )
    assert len(fusion.columns_) == len(columns)


@pytest.mark.parametrize("terms", COLUMNS)
def test_sides_do_not_matter(terms):
    y = labels(800)
    x, quality = measured(y)
    turned = fp.Quality(quality.test, quality.enroll)
    fusions = (fp.LinearFusion(quality=terms).fit([x, each]) for each in (quality, turned))
    np.testing.assert_allclose(*(each.weights_ for each in fusions), rtol=1e-12)


def test_measures_help_where_scores_depend_on_them():
    y = labels(20_000, 0.3)
    x, quality = measured(y)
    alone, fused = (
        fp.Cllr()(fp.cross_fit(fp.LinearFusion(), systems)) for systems in ([x], [x, quality])
    )
    assert fused < 0.97 * alone


def test_measures_by_name_are_saved(tmp_path):
    y = labels(500)
    x, quality = measured(y)
    fusion = fp.LinearFusion(quality="bilinear").fit({"snr": quality, "x": x})
    assert fusion.systems_ == ("snr", "x")
    assert fusion.columns_ == ("x", "product(snr)", "sum(snr)")
    fp.save_calibrator(fusion, tmp_path / "f.json")
    again = fp.load_calibrator(tmp_path / "f.json")
    assert again.quality == "bilinear"
    np.testing.assert_array_equal(
        again.transform({"x": x, "snr": quality}).scores, fusion.transform([quality, x]).scores
    )
    with pytest.raises(fp.ArgumentError, match=r"^systems must make the columns x, product"):
        fusion.transform({"x": x, "snr": x})


def test_bad_measures():
    y = labels(100)
    x, quality = measured(y)
    holes = quality.test.copy()
    holes[3] = np.nan
    for wrong, message in (
        (
            fp.Quality(quality.enroll, holes),
            r"^systems\['q'\]\.test must be finite, .*\[3\] is nan",
        ),
        (fp.Quality(quality.enroll[1:], quality.test), r"^systems\['q'\]\.enroll must have .* 100"),
        (fp.Quality("snr", quality.test), r"^systems\['q'\]\.enroll"),
    ):
        with pytest.raises(fp.ArgumentError, match=message):
            fp.LinearFusion().fit({"x": x, "q": wrong})
    with pytest.raises(fp.ArgumentError, match=r"^systems must have predictions"):
        fp.LinearFusion().fit({"q": quality})
    three = labels(100, K=3)
    with pytest.raises(fp.ArgumentError, match="quality is of two classes, not 3"):
        fp.LinearFusion().fit([of_classes(three, 3), quality])
    with pytest.raises(fp.ArgumentError, match=r"^quality must be"):
        fp.LinearFusion(quality="mean")


# Names, files


def test_systems_by_name_in_any_order(tmp_path):
    y = labels(500)
    a, b, c = several(y)
    fusion = fp.LinearFusion().fit({"a": a, "b": b, "c": c})
    assert fusion.systems_ == ("a", "b", "c")
    expected = fusion.transform([a, b, c]).scores
    np.testing.assert_array_equal(fusion.transform({"c": c, "a": a, "b": b}).scores, expected)
    path = tmp_path / "fusion.json"
    fp.save_calibrator(fusion, path)
    again = fp.load_calibrator(path)
    assert again.systems_ == fusion.systems_
    assert repr(again) == repr(fusion)
    assert isinstance(again.rank_, int)
    np.testing.assert_array_equal(again.transform([a, b, c]).scores, expected)
    content = json.loads(path.read_text())
    for key, value in (
        ("weights_", [[1.0]]),
        ("bias_", [1.0]),
        ("rank_", 9),
        ("columns_", ["a"]),
        ("systems_", []),
        ("rank_", [1.0]),
        ("columns_", "abc"),
    ):
        wrong = content | {"fitted": content["fitted"] | {key: value}}
        path.write_text(json.dumps(wrong))
        with pytest.raises(ValueError, match=f"must be a calibrator saved by fastpsr: {key}"):
            fp.load_calibrator(path)


def test_unlabeled_systems_are_fused():
    y = labels(500)
    systems = several(y)
    fusion = fp.LinearFusion().fit(systems)
    bare = [fp.Predictions.from_raw_scores(None, each.scores) for each in systems]
    np.testing.assert_array_equal(fusion.transform(bare).scores, fusion.transform(systems).scores)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts(dtype):
    y = labels(1000)
    scores = np.stack([each.scores for each in several(y)], axis=1).astype(dtype)
    as_raw = fp.Predictions.from_raw_scores
    columns = [as_raw(y, scores[:, s]) for s in range(3)]
    copies = [as_raw(y, np.array(scores[:, s], np.float64)) for s in range(3)]
    fused = (fp.LinearFusion().fit(each).transform(each).scores for each in (columns, copies))
    np.testing.assert_allclose(*fused, rtol=1e-12)


# What is refused


def test_negative_weights_are_told():
    y = labels(500)
    turned = fp.Predictions.from_raw_scores(y, -raw(y).scores)
    with pytest.warns(RuntimeWarning, match="weights of bad are negative"):
        fp.LinearFusion().fit({"bad": turned, "good": raw(y, 2)})
    with pytest.warns(RuntimeWarning, match="weights of 0 are negative"):
        fp.LinearFusion().fit([turned])


def bad_systems():
    y = labels(100)
    a, b = raw(y), raw(y, 2)
    as_raw = fp.Predictions.from_raw_scores
    holes = b.scores.copy()
    holes[7] = np.inf
    other = y.copy()
    other[50] = 1 - other[50]
    far = y * 10.0 + np.linspace(0.0, 1.0, 100)
    three = labels(100, K=3)
    return {
        "one": (a, "systems must be a list of predictions, or a dict by name, not <Pred"),
        "none": ([], "systems must have predictions of a system or more"),
        "arrays": ([a, b.scores], r"systems\[1\] must be predictions, not array"),
        "parts and not": ([a, fp.from_parts([b])], r"systems\[1\] must all be in memory, or all"),
        "numbers of parts": (
            [fp.from_parts([a]), fp.from_parts([b[:50], b[50:]])],
            r"systems\[1\] must have the 1 parts of the first, not 2",
        ),
        "rows of parts": (
            [fp.from_parts([a[:40], a[40:]]), fp.from_parts([b[:50], b[50:]])],
            r"systems\[1\] must have the samples of the first, in the same parts",
        ),
        "labels of parts": (
            [fp.from_parts([a]), fp.from_parts([as_raw(other, b.scores)])],
            r"systems\[1\] must have the labels and weights of the first, in the same order",
        ),
        "infinite in parts": (
            {
                "a": fp.from_parts([a[:5], a[5:]]),
                "b": fp.from_parts([as_raw(y[:5], holes[:5]), as_raw(y[5:], holes[5:])]),
            },
            r"systems\['b'\] must have finite scores, .*\[7\] is inf",
        ),
        "measures of parts": (
            {"a": fp.from_parts([a]), "q": fp.Quality(b.scores, b.scores)},
            r"systems\['q'\].enroll must be the name of a column for data in parts, not array",
        ),
        "infinite": (
            {"a": a, "b": as_raw(y, holes)},
            r"systems\['b'\] must have finite scores, .*\[7\] is inf",
        ),
        "posteriors": (
            [a, fp.Predictions.from_logits(y, b.scores)],
            r"systems\[1\] must be LLRs, .*, not posteriors: pass predictions.as_llrs",
        ),
        "lengths": ([a, raw(labels(90))], r"systems\[1\] must have the samples of the first, 100"),
        "labels": ([a, as_raw(other, b.scores)], r"systems\[1\] must have the labels .* row 50"),
        "weights": (
            [a, as_raw(y, b.scores, sample_weight=np.arange(1.0, 101.0))],
            r"systems\[1\] must have the weights",
        ),
        "one name": ({1: a, "1": b}, "systems must have names that differ, .* not two of '1'"),
        "name of a column": (
            {"q": fp.Quality(b.scores, b.scores), "min(q)": a},
            r"systems must have names that differ, .* not two of 'min\(q\)'",
        ),
        "one class": ([as_raw(0 * y, b.scores)], "class 1"),
        "constant": ([as_raw(y, 0.0 * y)] * 2, "systems must differ between samples"),
        "separable": ([a, as_raw(y, far)], "systems together separate the classes"),
        "just separable": ([as_raw(y, y.astype(float))], "systems together separate"),
        "separable classes": (
            [fp.Predictions.from_log_likelihoods(three, 5.0 * np.eye(3)[three])],
            "systems together separate the classes",
        ),
    }


@pytest.mark.parametrize("kind", bad_systems())
def test_bad_systems(kind):
    systems, message = bad_systems()[kind]
    with pytest.raises(ValueError, match=message):
        fp.LinearFusion().fit(systems)


@pytest.mark.parametrize("prior", [0.0, 1.0, -1.0, np.nan, "half"])
def test_bad_priors(prior):
    with pytest.raises(fp.ArgumentError, match=r"^prior must"):
        fp.LinearFusion(prior)


def test_several_classes_have_no_prior():
    y = labels(300, K=3)
    with pytest.raises(fp.ArgumentError, match=r"^prior is of two classes; these are 3"):
        fp.LinearFusion(0.1).fit([of_classes(y, 3)])


def test_other_systems_than_in_the_fit():
    y = labels(300)
    a, b, c = several(y)
    with pytest.raises(ValueError, match="must be fitted"):
        fp.LinearFusion().transform([a])
    fusion = fp.LinearFusion().fit({"a": a, "b": b})
    with pytest.raises(fp.ArgumentError, match=r"^systems must be a, b, as .*, not a, c"):
        fusion.transform({"a": a, "c": c})
    with pytest.raises(fp.ArgumentError, match=r"^systems must be a, b, as .*, not 0, 1, 2"):
        fusion.transform([a, b, c])
    three = labels(300, K=3)
    with pytest.raises(fp.ArgumentError, match=r"^systems must have 2 classes, .*, not 3"):
        fusion.transform([of_classes(three, 3), of_classes(three, 3, 1)])


def test_held_out_systems_are_fitted_and_transformed():
    y = labels(300)
    systems = several(y)
    with pytest.raises(fp.ArgumentError, match=r"^train must be trained on these systems"):
        fp.cross_fit(fp.LinearFusion(), systems, fp.HeldOut(systems[0]))


# Found by hostile trials


@pytest.mark.parametrize("factor", [1e-15, 1e15])
def test_spreads_of_systems_are_their_own(factor):
    y = labels(2000, 0.3)
    a, b = raw(y, 1), raw(y, 2)
    small = fp.Predictions.from_raw_scores(y, b.scores * factor)
    fusion, expected = fp.LinearFusion().fit([a, small]), fp.LinearFusion().fit([a, b])
    assert fusion.rank_ == 2
    np.testing.assert_allclose(fusion.weights_ * [1.0, factor], expected.weights_, rtol=1e-8)


def test_rows_that_say_nothing_of_classes_have_no_weight():
    y = labels(300, K=3)
    good = of_classes(y, 3)
    same = np.repeat(np.random.default_rng(0).normal(0.0, 1000.0, (300, 1)), 3, axis=1)
    alike = fp.Predictions.from_log_likelihoods(y, same)
    fusion = fp.LinearFusion().fit([good, alike])
    assert fusion.weights_[1] == 0.0
    assert fusion.rank_ == 1
    for rows in (same, np.full((300, 3), 0.1)):
        with pytest.raises(fp.ArgumentError, match=r"^systems must differ between samples"):
            fp.LinearFusion().fit([fp.Predictions.from_log_likelihoods(y, rows)])


def test_scores_that_tell_nothing_do_not_separate():
    y = np.array([0, 0, 1, 1])
    x = fp.Predictions.from_raw_scores(y, [0.0, 1.0, 0.0, 1.0])
    fusion = fp.LinearFusion().fit([x])
    np.testing.assert_allclose(fusion.weights_, 0.0, atol=1e-12)
    three = np.tile(np.arange(3), 3)
    rows = np.repeat(np.eye(3), 3, axis=0)
    fusion = fp.LinearFusion().fit([fp.Predictions.from_log_likelihoods(three, rows)])
    np.testing.assert_allclose(fusion.weights_, 0.0, atol=1e-12)


def test_priors_of_systems_are_the_same():
    y = labels(100)
    a, b = (
        fp.Predictions.from_llrs(y, raw(y, seed).scores, prior=p)
        for seed, p in ((1, 0.1), (2, 0.2))
    )
    with pytest.raises(fp.ArgumentError, match=r"^systems\[1\] must have the priors of the first"):
        fp.LinearFusion().fit([a, b])


def test_labels_that_differ_are_refused_by_transform():
    y = labels(300)
    a, b = raw(y, 1), raw(y, 2)
    fusion = fp.LinearFusion().fit([a, b])
    with pytest.raises(fp.ArgumentError, match=r"^systems\['1'\] must have the labels"):
        fusion.transform([a, b[np.arange(300)[::-1]]])


def test_a_fusion_is_no_calibrator_of_one_system(tmp_path):
    y = labels(300)
    one = raw(y)
    for use in (
        lambda: fp.CalibrationLoss(fp.rules.Log(), fp.LinearFusion())(one),
        lambda: fp.select(one, {"fusion": fp.LinearFusion(), "dp": fp.DirectionPreserving()}),
    ):
        with pytest.raises(fp.ArgumentError, match="LinearFusion is not"):
            use()


def test_names_may_be_numbers():
    y = labels(300)
    a, b = raw(y, 1), raw(y, 2)
    fusion = fp.LinearFusion().fit({1: a, 2: b})
    np.testing.assert_array_equal(
        fusion.transform({2: b, 1: a}).scores, fusion.transform([a, b]).scores
    )
    with pytest.raises(fp.ArgumentError, match="systems must have names that differ"):
        fusion.transform({1: a, "1": b, 2: b})


# Fitted again in replicates


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("train", [fp.TrainOnTest(), fp.CrossFit(3)], ids=["one", "folds"])
def test_fits_are_repeated_where_weights_change(K, train):
    y = labels(1500, K=K)
    weights = np.random.default_rng(2).choice([0.0, 0.5, 2.0], y.size)
    weights[:K] = 1.0
    systems = [of_classes(y, K, k, weights=weights) for k in (1, 2)]
    systems = systems if K > 2 else several(y, weights)
    plain = fp.cross_fit(fp.LinearFusion(), systems, train)
    refitted = fp.LinearFusion().cross_fitted(systems, train.folds_plan, refits=True)
    np.testing.assert_array_equal(refitted.scores, plain.scores)
    folds = train.folds_of(systems[0]).fold_of_rows(Part.whole(systems[0]))
    found, naive = [], []
    for seed in range(20):
        counts = np.random.default_rng(seed).poisson(1.0, y.size).astype(float)
        drawn = refitted.reweighted(counts * weights, counts)
        assert type(drawn) is fp.Predictions
        again = [each.reweighted(counts * weights) for each in systems]
        same = train if isinstance(train, fp.TrainOnTest) else fp.CrossFit(folds)
        found.append(drawn.scores)
        naive.append(fp.cross_fit(fp.LinearFusion(), again, same).scores)
        np.testing.assert_array_equal(drawn.weights, counts * weights)
    apart = np.abs(np.array(found) - naive).max(axis=0)
    assert (apart < 0.01 * np.std(naive, axis=0)).all()


def test_a_replicate_is_fitted_once(monkeypatch):
    fits = []

    def spy(found, weights):
        fits.append(weights)
        return at_weights(found, weights)

    at_weights = fusion_fits.FusionFits.at_weights
    monkeypatch.setattr(fusion_fits.FusionFits, "at_weights", spy)
    systems = several(labels(300, 0.4))[:2]
    metrics = [fp.Cllr(), fp.EER()]
    few = {"n_resamples": 10, "confidence_level": 0.8}
    fp.evaluate_fusion(systems, metrics=metrics, seed=0, refits=True, **few)
    assert len(fits) == 10 * 5  # of both, of each calibrated, and without each


def test_replicates_see_other_fits():
    y = labels(300, 0.4)
    systems = several(y)
    refitted = fp.LinearFusion().cross_fitted(systems, fp.TrainOnTest().folds_plan, refits=True)
    seen = []

    def look(predictions):
        alone = [each.reweighted(predictions.weights) for each in systems]
        seen.append((predictions.scores, fp.LinearFusion().fit(alone).transform(alone).scores))
        return float(predictions.scores.mean())

    fp.bootstrap(look, refitted, n_resamples=40, seed=0, method="percentile")
    found, expected = np.moveaxis(seen, 1, 0)
    assert len(found) == 41
    assert (np.abs(found - expected).max(axis=0) < 0.01 * expected.std(axis=0)).all()
    assert (found.std(axis=0) > 1e-3).all()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("metric", [fp.Cllr(), fp.EER(), fp.MinCllr(), fp.ActDCF(0.1)], ids=repr)
def test_intervals_with_refits(metric):
    y = labels(400, 0.4)
    systems = several(y)
    refitted = fp.LinearFusion().cross_fitted(systems, fp.CrossFit(3).folds_plan, refits=True)
    found = fp.bootstrap(metric, refitted, n_resamples=40, seed=0)
    assert found.value == metric(fp.cross_fit(fp.LinearFusion(), systems, fp.CrossFit(3)))
    low, high = found.interval
    assert low < found.value < high


def test_every_metric_sees_the_fits_of_replicates():
    y = labels(300, 0.4)
    systems = several(y)
    refitted = fp.LinearFusion().cross_fitted(systems, fp.TrainOnTest().folds_plan, refits=True)
    weights = []

    def note(predictions):
        weights.append(predictions.weights.copy())
        return float(predictions.scores.mean())

    settings = {"n_resamples": 40, "seed": 0, "method": "percentile"}
    fp.bootstrap(note, refitted, **settings)
    drawn = [refitted.reweighted(each) for each in weights[1:]]
    metrics = everything.metrics(refitted)
    assert len(metrics) > 30
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of replicates without a value
        for name, metric in metrics.items():
            if "train" in vars(metric):  # which has folds of the whole
                continue
            found = fp.bootstrap(metric, refitted, **settings).replicates
            expected = [value_of(metric, each) for each in drawn]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)


def value_of(metric, predictions):
    try:
        return metric(predictions)
    except ValueError:
        return np.nan


def test_replicates_without_an_optimum_are_undefined():
    y = np.repeat([0, 1], [30, 4])
    x = np.concatenate([np.linspace(-1.0, 1.0, 30), [0.5, 0.98, 2.0, 3.0]])
    system = fp.Predictions.from_raw_scores(y, x)
    refitted = fp.LinearFusion().cross_fitted([system], fp.TrainOnTest().folds_plan, refits=True)
    counts = np.ones(34)
    counts[[29, 30]] = 0.0  # what overlaps
    with pytest.raises(ValueError, match="separate the classes"):
        refitted.reweighted(counts)
