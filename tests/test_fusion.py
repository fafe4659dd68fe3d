"""Linear fusion against its definition, SciPy, separate fits, and its mathematics."""

import itertools
import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

import fastpsr as fp
from tests.dealt_folds import folds_of
from tests.refusal import refuses


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
    scores = rng.normal(size=(len(y), K)) + strength * np.eye(K)[y]
    return fp.Predictions.from_log_likelihoods(y, scores, sample_weight=weights)


def assert_gradient_is_zero(systems, y, prior, weights):
    """The gradient of the objective by each weight and the bias, from its definition."""
    fused = fp.LinearFusion(prior).fit(systems).transform(systems).scores
    share = weights * np.where(
        y == 1, prior / weights[y == 1].sum(), (1.0 - prior) / weights[y == 0].sum()
    )
    error = share * (1.0 / (1.0 + np.exp(-fused - np.log(prior / (1.0 - prior)))) - y)
    columns = [(system.scores - system.scores.mean()) / system.scores.std() for system in systems]
    assert np.abs(np.stack([*columns, np.ones(y.size)]) @ error).max() < 1e-12


@pytest.mark.parametrize(
    ("n", "prior", "weighted"), [(2_000, 0.01, True), (2_000, 0.9, False), (200_000, 0.5, False)]
)
def test_gradient_is_zero(n, prior, weighted):
    """Of many samples, the search begins at the solution for a few."""
    y = labels(n)
    weights = np.random.default_rng(5).integers(0, 4, n).astype(float) if weighted else np.ones(n)
    weights[:2] = 1.0
    assert_gradient_is_zero(several(y, weights if weighted else None), y, prior, weights)


# Systems that depend on each other


def test_collinear_systems_change_nothing_and_share_weights():
    y = labels(3000)
    a, b, c = several(y)
    more = [
        fp.Predictions.from_raw_scores(y, column)
        for column in (a.scores - b.scores, 2.0 * c.scores + 5.0, np.full(y.size, 7.0))
    ]
    all_systems = [a, b, c, *more, a]
    independent, fusion = fp.LinearFusion().fit([a, b, c]), fp.LinearFusion().fit(all_systems)
    assert (independent.rank_, fusion.rank_) == (3, 3)
    expected = independent.transform([a, b, c]).scores
    np.testing.assert_allclose(fusion.transform(all_systems).scores, expected, atol=1e-10)
    assert fusion.weights_[5] == 0.0
    assert fusion.weights_[0] == pytest.approx(fusion.weights_[6], rel=1e-9)
    # of all weights with these scores, those of least norm in units of standard deviations
    share = 0.5 / np.bincount(y)[y]
    columns = np.stack([system.scores for system in all_systems])
    columns -= (columns @ share)[:, None]
    spread = np.sqrt(columns**2 @ share)  # where classes count alike
    used = spread > 1e-9
    least = np.linalg.pinv((columns[used] / spread[used, None]).T, rcond=1e-10) @ (
        expected - expected @ share
    )
    np.testing.assert_allclose(fusion.weights_[used] * spread[used], least, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("n", "prior", "scale", "shift"),
    [(1, 0.5, 1e15, 0.0), (3, 1e-6, 1e-15, 30.0), (5, 0.9, 7, -300)],
)
def test_units_of_a_system_do_not_matter(n, prior, scale, shift):
    y = labels(300, 0.4)
    systems = [raw(y, k) for k in range(n)]
    moved = fp.Predictions.from_raw_scores(y, (systems[0].scores + shift) * scale)
    fused, in_other_units = (
        fp.LinearFusion(prior).fit(inputs).transform(inputs).scores
        for inputs in (systems, [moved, *systems[1:]])
    )
    np.testing.assert_allclose(fused, in_other_units, rtol=1e-7, atol=1e-7)


def test_scores_that_tell_nothing_do_not_separate():
    y = np.array([0, 0, 1, 1])
    fusion = fp.LinearFusion().fit([fp.Predictions.from_raw_scores(y, [0.0, 1.0, 0.0, 1.0])])
    np.testing.assert_allclose(fusion.weights_, 0.0, atol=1e-12)
    three, rows = np.tile(np.arange(3), 3), np.repeat(np.eye(3), 3, axis=0)
    fusion = fp.LinearFusion().fit([fp.Predictions.from_log_likelihoods(three, rows)])
    np.testing.assert_allclose(fusion.weights_, 0.0, atol=1e-12)


# Several classes


@pytest.mark.parametrize("K", [3, 5])
def test_several_classes_against_a_search(K):
    y = labels(2000, K=K)
    systems = [of_classes(y, K, seed, strength) for seed, strength in ((1, 1.0), (2, 1.6))]
    share = 1.0 / (K * np.bincount(y))[y]

    def loss(point):
        fused = point[0] * systems[0].scores + point[1] * systems[1].scores + point[2:]
        return -(share * log_softmax(fused, axis=1)[np.arange(y.size), y]).sum()

    end = minimize(loss, np.zeros(2 + K), method="BFGS", options={"gtol": 1e-9})
    fusion = fp.LinearFusion().fit(systems)
    np.testing.assert_allclose(fusion.weights_, end.x[:2], rtol=1e-4)
    np.testing.assert_allclose(fusion.bias_, end.x[2:] - end.x[2:].mean(), atol=1e-4)
    assert fusion.bias_.sum() == pytest.approx(0.0, abs=1e-12)
    assert loss(np.concatenate([fusion.weights_, fusion.bias_])) <= end.fun + 1e-12
    assert fusion.transform(systems).kind == "likelihoods"


def test_rows_that_say_nothing_of_classes_have_no_weight():
    y = labels(300, K=3)
    same = np.repeat(np.random.default_rng(0).normal(0.0, 1000.0, (300, 1)), 3, axis=1)
    constant_rows = fp.Predictions.from_log_likelihoods(y, same)
    fusion = fp.LinearFusion().fit([of_classes(y, 3), constant_rows])
    assert (fusion.weights_[1], fusion.rank_) == (0.0, 1)
    with refuses("systems"):
        fp.LinearFusion().fit([constant_rows])


# Cross-fitting


@pytest.mark.parametrize(
    ("K", "by_speaker", "weighted"),
    [(2, False, True), (2, True, False), (3, False, True)],
)
def test_cross_fit_is_separate_fits(K, by_speaker, weighted):
    y = labels(1200, 0.4, K=K)
    rng = np.random.default_rng(7)
    weights = rng.integers(0, 4, y.size).astype(float) if weighted else None
    systems = several(y, weights) if K == 2 else [of_classes(y, K, k, 1.2, weights) for k in (1, 2)]
    train = fp.CrossFit(3, groups=tuple(rng.integers(0, 40, (2, y.size))) if by_speaker else None)
    fused = fp.cross_fit(fp.LinearFusion(), systems, train).scores
    for fold in folds_of(y, train, weights):
        alone = fp.LinearFusion().fit([system[fold.training] for system in systems])
        expected = alone.transform([system[fold.served] for system in systems]).scores
        np.testing.assert_allclose(fused[fold.served], expected, rtol=1e-8, atol=1e-8)


# Data in parts


def in_parts(systems, bounds=(0, 300, 320, 320, 1200), **columns):
    """Systems in parts, of which one is empty."""
    return [
        fp.from_parts(
            [
                (system[a:b], {name: values[a:b] for name, values in columns.items()})
                for a, b in itertools.pairwise(bounds)
            ]
        )
        for system in systems
    ]


@pytest.mark.parametrize("K", [2, 3])
def test_parts_are_the_whole(K):
    y = labels(1200, K=K)
    rng = np.random.default_rng(5)
    weights, folds = rng.integers(0, 4, y.size).astype(float), rng.integers(0, 3, y.size)
    if K == 2:
        enroll, test = rng.gamma(2.0, size=(2, y.size))
        systems = [*several(y, weights), fp.Quality(enroll, test)]
        parts = [*in_parts(systems[:3], fold=folds, e=enroll, t=test), fp.Quality("e", "t")]
    else:
        systems = [of_classes(y, K, k) for k in (1, 2)]
        parts = in_parts(systems, fold=folds)
    in_memory, of_parts = fp.LinearFusion().fit(systems), fp.LinearFusion().fit(parts)
    np.testing.assert_allclose(of_parts.weights_, in_memory.weights_, rtol=1e-9)
    np.testing.assert_allclose(of_parts.bias_, in_memory.bias_, rtol=1e-9, atol=1e-9)
    assert of_parts.columns_ == in_memory.columns_
    fused, expected = of_parts.transform(parts).compute(), in_memory.transform(systems)
    np.testing.assert_allclose(fused.scores, expected.scores, rtol=1e-9, atol=1e-9)
    crossed = fp.cross_fit(fp.LinearFusion(), parts, fp.CrossFit("fold")).compute()
    expected = fp.cross_fit(fp.LinearFusion(), systems, fp.CrossFit(folds))
    np.testing.assert_allclose(crossed.scores, expected.scores, rtol=1e-8, atol=1e-8)


# Quality measures


def measured(y, seed=9):
    """Scores that are lower where a measure of either side is low; and the measure."""
    rng = np.random.default_rng(seed)
    enroll, test = rng.gamma(2.0, size=(2, len(y)))
    x = raw(y).scores + 0.7 * np.minimum(enroll, test)
    return fp.Predictions.from_raw_scores(y, x), fp.Quality(enroll, test)


@pytest.mark.filterwarnings("ignore:weights of")
@pytest.mark.parametrize(
    ("terms", "columns_of"),
    [
        ("min,max", lambda x, e, t: [x, np.minimum(e, t), np.maximum(e, t)]),
        ("bilinear", lambda x, e, t: [x, e * t, e + t]),
        (
            "scale",
            lambda x, e, t: [
                *(x, np.minimum(e, t), x * np.minimum(e, t)),
                *(np.maximum(e, t), x * np.maximum(e, t)),
            ],
        ),
    ],
)
def test_measures_are_columns(terms, columns_of):
    y = labels(1500)
    x, quality = measured(y)
    columns = columns_of(x.scores, quality.enroll, quality.test)
    systems = [fp.Predictions.from_raw_scores(y, column) for column in columns]
    fusion = fp.LinearFusion(quality=terms).fit([x, quality])
    expected = fp.LinearFusion().fit(systems)
    np.testing.assert_allclose(fusion.weights_, expected.weights_, rtol=1e-8)
    np.testing.assert_allclose(
        fusion.transform([x, quality]).scores, expected.transform(systems).scores, rtol=1e-8
    )
    assert len(fusion.columns_) == len(columns)
    turned = fp.Quality(quality.test, quality.enroll)
    fusion_of_turned = fp.LinearFusion(quality=terms).fit([x, turned])
    np.testing.assert_allclose(fusion_of_turned.weights_, fusion.weights_, rtol=1e-12)


# Names, files


def test_systems_by_name_in_any_order(tmp_path):
    y = labels(500)
    x, quality = measured(y)
    second = raw(y, 2)
    fusion = fp.LinearFusion(quality="bilinear").fit({"snr": quality, 1: x, "b": second})
    assert fusion.systems_ == ("snr", "1", "b")
    assert fusion.columns_ == ("1", "b", "product(snr)", "sum(snr)")
    expected = fusion.transform([quality, x, second]).scores
    by_name = {"b": second, 1: x, "snr": quality}
    np.testing.assert_array_equal(fusion.transform(by_name).scores, expected)
    unlabeled = [fp.Predictions.from_raw_scores(None, system.scores) for system in (x, second)]
    fused = fusion.transform([quality, *unlabeled])
    np.testing.assert_array_equal(fused.scores, expected)
    path = tmp_path / "fusion.json"
    fp.save_calibrator(fusion, path)
    loaded = fp.load_calibrator(path)
    assert repr(loaded) == repr(fusion)
    assert (loaded.quality, loaded.systems_) == ("bilinear", fusion.systems_)
    np.testing.assert_array_equal(loaded.transform(by_name).scores, expected)
    content = json.loads(path.read_text())
    for key, value in (
        ("weights_", [[1.0]]),
        ("bias_", [1.0]),
        ("rank_", 9),
        ("columns_", ["a"]),
        ("columns_", "abc"),
        ("systems_", []),
    ):
        wrong = content | {"fitted": content["fitted"] | {key: value}}
        path.write_text(json.dumps(wrong))
        with pytest.raises(ValueError, match=f"must be a calibrator saved by fastpsr: {key}"):
            fp.load_calibrator(path)


# What is refused


def test_negative_weights_are_warned_of():
    y = labels(500)
    turned = fp.Predictions.from_raw_scores(y, -raw(y).scores)
    with pytest.warns(RuntimeWarning, match="weights of bad are negative"):
        fp.LinearFusion().fit({"bad": turned, "good": raw(y, 2)})
    with pytest.warns(RuntimeWarning, match="weights of 0 are negative"):
        fp.LinearFusion().fit([turned])


def bad_systems():
    """Systems that cannot be fused, and what the error says of them by its fields."""
    y = labels(100)
    a, b = raw(y), raw(y, 2)
    as_raw, as_llrs = fp.Predictions.from_raw_scores, fp.Predictions.from_llrs
    infinite, changed, holes = b.scores.copy(), y.copy(), a.scores.copy()
    infinite[7], changed[50], holes[3] = np.inf, 1 - y[50], np.nan
    parts = fp.from_parts([a[:40], a[40:]])
    separated, three = as_raw(y, y.astype(float)), labels(100, K=3)
    yield [], {"argument": "systems"}
    yield [a, b.scores], {"argument": "systems[1]"}
    yield [parts, fp.from_parts([b])], {"argument": "systems[1]"}
    yield [parts, fp.from_parts([b[:50], b[50:]])], {"argument": "systems[1]"}
    yield [a, as_raw(y, infinite)], {"argument": "systems[1]", "index": 7}
    yield [a, fp.Predictions.from_logits(y, b.scores)], {"argument": "systems[1]"}
    yield [a, raw(labels(90))], {"argument": "systems[1]"}
    yield [a, as_raw(changed, b.scores)], {"argument": "systems", "name": "systems[1]"}
    yield [a, as_raw(y, b.scores, sample_weight=1.0 + y)], {"argument": "systems[1]"}
    yield [as_llrs(y, a.scores, prior=p) for p in (0.1, 0.2)], {"argument": "systems[1]"}
    yield {1: a, "1": b}, {"argument": "systems"}
    yield {"q": fp.Quality(b.scores, b.scores), "min(q)": a}, {"argument": "systems"}
    yield {"q": fp.Quality(b.scores, b.scores)}, {"argument": "systems"}
    yield {"x": a, "q": fp.Quality(b.scores, holes)}, {"argument": "systems['q'].test", "index": 3}
    yield {"x": a, "q": fp.Quality(b.scores[1:], a.scores)}, {"argument": "systems['q'].enroll"}
    yield {"x": parts, "q": fp.Quality(b.scores[1:], a.scores)}, {"argument": "systems['q'].enroll"}
    yield {"x": a, "q": fp.Quality("nothing", a.scores)}, {"argument": "systems['q'].enroll"}
    yield [of_classes(three, 3), fp.Quality(b.scores, b.scores)], {"argument": "systems[1]"}
    yield [as_raw(0 * y, b.scores)], {"argument": "scores"}
    yield [as_raw(y, 0.0 * y)] * 2, {"argument": "systems"}
    yield [a, separated], {"argument": "scores", "name": "systems"}
    yield [fp.Predictions.from_log_likelihoods(three, np.eye(3)[three])], {"argument": "scores"}


def test_what_is_refused():
    for systems, fields in bad_systems():
        with refuses(**fields):
            fp.LinearFusion().fit(systems)
    for prior in (0.0, 1.0, np.nan, "half"):
        with refuses("prior"):
            fp.LinearFusion(prior)
    with refuses("prior"):
        fp.LinearFusion(0.1).fit([of_classes(labels(300, K=3), 3)])
    with refuses("quality"):
        fp.LinearFusion(quality="mean")


def test_systems_that_differ_from_those_of_the_fit():
    y = labels(300)
    a, b, c = several(y)
    with pytest.raises(ValueError, match="must be fitted"):
        fp.LinearFusion().transform([a])
    fusion = fp.LinearFusion().fit({"a": a, "b": b})
    three = labels(300, K=3)
    for systems in (
        {"a": a, "c": c},
        [a, b, c],
        {1: a, "1": b, 2: c},
        [of_classes(three, 3), of_classes(three, 3, 1)],
        {"a": a, "b": fp.Quality(b.scores, b.scores)},
    ):
        with refuses("systems"):
            fusion.transform(systems)
    with refuses("systems", name="systems['b']"):
        fusion.transform([a, b[np.arange(300)[::-1]]])


# Fitted again in replicates


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("folds", [None, np.arange(600) % 3], ids=["on the test data", "folds"])
def test_replicates_are_fits_to_draws(K, folds):
    y = labels(600, 0.4, K=K)
    a, b = several(y)[:2] if K == 2 else [of_classes(y, K, k) for k in (1, 2)]
    train = fp.TrainOnTest() if folds is None else fp.CrossFit(folds)
    refitted, naive = [], []

    def note(predictions):
        weights = np.ones(600) if predictions.sample_weight is None else predictions.sample_weight
        rows = {"a": a.scores, "b": b.scores}  # by row of the table, of which this is one
        for name, systems in (("fused", [a, b]), ("without b", [a]), ("without a", [b])):
            reweighted = [system.reweighted(weights) for system in systems]
            rows[name] = fp.cross_fit(fp.LinearFusion(), reweighted, train).scores
        distances = {
            name: np.abs(predictions.scores - scores).max() for name, scores in rows.items()
        }
        if min(distances, key=distances.get) == "fused":
            refitted.append(predictions.scores)
            naive.append(rows["fused"])
        return float(np.average(predictions.scores.reshape(600, -1)[:, 0], weights=weights))

    options = {"n_resamples": 10, "confidence_level": 0.5, "seed": 0}
    fp.evaluate_fusion([a, b], metrics={"note": note}, train=train, refits=True, **options)
    assert len(naive) > 10
    spread = np.std(naive, axis=0)
    assert (np.abs(np.array(refitted) - naive).max(axis=0) < 0.01 * spread).all()
    assert (spread > 1e-3).all()
