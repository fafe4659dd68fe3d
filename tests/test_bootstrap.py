"""`bootstrap` and `compare`: seeds, calibrators in the loop, edges, and bad input."""

import math
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.bootstrap import chunks
from fastpsr.plans import Part
from tests import samples
from tests.drawn import drawn_times, fixed

LOG, BRIER = fp.rules.Log(), fp.rules.Brier()


def quietly(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call(*arguments, **options)


def detector(n=9_000, seed=0, spread=1.0, weights=None):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    y[:2] = 0, 1
    z = np.round(spread * rng.normal(size=n) + 1.5 * y - 0.5, 3)
    return fp.Predictions.from_llrs(y, z, sample_weight=weights)


def ids_of(data, n=30):
    rng = np.random.default_rng(5)
    return rng.integers(0, n, (2, len(data)))


def schemes(data):
    return schemes_of(*ids_of(data))


NAMES = ["iid", "stratified", "clusters", "nested", "two-way"]


def schemes_of(one, other):
    return [fp.IID(), fp.Stratified(), fp.Clusters(one), fp.Nested(one), fp.TwoWay(one, other)]


METRICS = [
    fp.CrossEntropy(),
    fp.BrierScore(False),
    fp.ECE(),
    fp.BayesRisk(fp.CostMatrix.zero_one(2)),
    fp.ActDCF(0.05),
    fp.EER(),
    fp.MinDCF(0.05),
    fp.MinCllr(),
    fp.CalibrationLoss(LOG, fp.DirectionPreserving()),
    fp.CalibrationLoss(BRIER, fp.PAV(), fp.CrossFit(3)),
    fp.CalibrationLoss(BRIER, fp.PAV(), fp.TrainOnTest()),
    fp.DevPAV(),
    lambda predictions: fp.AUC()(predictions),
]


def bits(metrics, data, n=40, **options):
    options = {"method": "percentile", "seed": 7} | options
    results = quietly(fp.bootstrap, metrics, data, n_resamples=n, **options)
    return np.array([result.replicates for result in results])


# Seeds


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(place, id=name, marks=[] if place in (0, 4) else pytest.mark.slow)
        for place, name in enumerate(NAMES)
    ],
)
def test_replicates_do_not_depend_on_threads_chunks_company_or_number(monkeypatch, scheme):
    data = detector(4_500)  # a block and a short one
    resampling = schemes(data)[scheme]
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "1")
    expected = bits(METRICS, data, resampling=resampling)
    for threads in ("2", "4"):
        monkeypatch.setenv("FASTPSR_NUM_THREADS", threads)
        np.testing.assert_array_equal(bits(METRICS, data, resampling=resampling), expected)
    for size in (1, 20 * len(data), 33 * len(data)):  # 8, 16 and 32 replicates at a time
        monkeypatch.setattr(chunks, "_DRAWS_PER_CHUNK", size)
        found = bits(METRICS[:9], data, resampling=resampling)
        np.testing.assert_array_equal(found, expected[:9])
    monkeypatch.undo()
    for place, metric in enumerate(METRICS):
        alone = bits([metric], data, resampling=resampling)
        np.testing.assert_array_equal(alone[0], expected[place])
    backwards = bits(METRICS[::-1], data, resampling=resampling)
    np.testing.assert_array_equal(backwards[::-1], expected)
    more = bits(METRICS[:8], data, n=101, resampling=resampling)
    np.testing.assert_array_equal(more[:, :40], expected[:8])


def test_seeds():
    data = detector(500)
    one, same = (fp.bootstrap(fp.EER(), data, seed=1).replicates for _ in range(2))
    np.testing.assert_array_equal(one, same)
    others = [fp.bootstrap(fp.EER(), data, seed=s).replicates for s in (2, 2**40, 2**90, 0)]
    for other in others:
        assert not np.array_equal(one, other)
        assert abs(np.corrcoef(one, other)[0, 1]) < 5.0 / np.sqrt(1000)  # 5 standard errors
    fresh, again = (fp.bootstrap(fp.EER(), data) for _ in range(2))
    assert fresh.seed != again.seed
    repeat = fp.bootstrap(fp.EER(), data, seed=fresh.seed)
    np.testing.assert_array_equal(repeat.replicates, fresh.replicates)


def test_replicates_of_one_run_are_unrelated():
    (values,) = bits([fp.BrierScore(False)], detector(300), n=4_000)
    for lag in (1, 2, 7, 8, 16):
        correlation = np.corrcoef(values[:-lag], values[lag:])[0, 1]
        assert abs(correlation) < 5.0 / np.sqrt(4_000)


def test_a_seed_does_not_move_with_the_address_of_a_function():
    """Rules made of functions are known by name, not by where they lie in memory."""
    data = detector(200)
    found = []
    for _ in range(2):
        rule = fp.rules.Weighted(lambda a: 6.0 * a[:, 0] * a[:, 1])
        metric = fp.CalibrationLoss(rule, fp.PAV(), fp.TrainOnTest())
        found.append(bits([metric], data))
    np.testing.assert_array_equal(*found)


def test_metrics_of_one_kind_are_drawn_jointly():
    data = detector(400)
    brier, same, other = bits([fp.BrierScore(), fp.BrierScore(), fp.CrossEntropy()], data, n=200)
    np.testing.assert_array_equal(brier, same)
    assert np.corrcoef(brier, other)[0, 1] > 0.7


def test_systems_are_compared_on_the_same_draws():
    a, b = detector(400), detector(400, spread=1.01)
    b = fp.Predictions.from_llrs(a.y_true, a.llrs + 0.01 * b.llrs)
    for resampling in schemes(a):
        for metric in (fp.EER(), fp.Cllr(), fp.DevPAV(), fp.ECE()):
            options = {"n_resamples": 40, "resampling": resampling, "seed": 3}
            options["method"] = "percentile"
            apart = quietly(fp.bootstrap, metric, a, **options)
            found, back, none = (
                quietly(fp.compare, metric, *pair, **options) for pair in ((a, b), (b, a), (a, a))
            )
            assert found.standard_error < 0.5 * apart.standard_error
            np.testing.assert_array_equal(back.replicates, -found.replicates)
            assert not none.replicates[~np.isnan(none.replicates)].any()


def test_a_callable_and_its_metric_see_the_same_draws_in_a_comparison():
    a, b = detector(300), detector(300, seed=1)
    b = fp.Predictions.from_llrs(a.y_true, b.llrs)
    for metric in (fp.EER(), fp.Cllr(), fp.ECE(), fp.CalibrationLoss(BRIER, fp.PAV())):
        for resampling in schemes(a):
            options = {"n_resamples": 8, "resampling": resampling, "seed": 3}
            options |= {"confidence_level": 0.6, "method": "percentile"}
            same = fixed(metric, a)  # folds go by row and label: those of b are the same
            direct = quietly(fp.compare, metric, a, b, **options).replicates
            called = quietly(fp.compare, lambda p, m=same: m(p), a, b, **options).replicates
            np.testing.assert_allclose(direct, called, rtol=1e-9, atol=1e-11)


def test_lists_and_dicts_of_metrics():
    data = detector(200)
    options = {"n_resamples": 40, "seed": 0, "method": "percentile"}
    alone = fp.bootstrap(fp.EER(), data, **options)
    assert alone.name == "EER"
    (listed,) = fp.bootstrap([fp.EER()], data, **options)
    (named,) = fp.bootstrap({"mine": fp.EER()}, data, **options)
    assert named.name == "mine"
    for other in (listed, named):
        np.testing.assert_array_equal(alone.replicates, other.replicates)
    results = fp.bootstrap([fp.AUC(), fp.Cllr(), fp.EER()], data, **options)
    assert [r.name for r in results] == ["AUC", "Cllr", "EER"]
    difference = fp.compare(fp.EER(), data, data, **options)
    assert difference.name == "EER, a - b"


def test_progress_is_told():
    data = detector(200)
    for resampling in schemes(data):
        seen = []
        quietly(
            fp.bootstrap, [fp.EER(), fp.Cllr(), fp.AUC(), fp.DevPAV()], data, n_resamples=50,
            resampling=resampling, seed=0, progress=lambda *told, s=seen: s.append(told),
        )  # fmt: skip
        done, totals = zip(*seen, strict=True)
        assert set(totals) == {150}  # ranks, means, and what needs the samples
        assert list(done) == sorted(set(done))
        assert done[-1] == 150


def test_a_line_of_progress(capsys):
    fp.bootstrap(fp.EER(), detector(200), n_resamples=50, seed=0, progress=True)
    said = capsys.readouterr().err
    assert said.endswith("50 of 50 replicates, now the intervals \n")


def test_progress_is_shown_to_who_waits_at_a_terminal(capsys, monkeypatch):
    options = {"n_resamples": 50, "seed": 0}
    monkeypatch.setattr(sys.modules["fastpsr.bootstrap.settings"], "_QUIET_SECONDS", 0.0)
    fp.bootstrap(fp.EER(), detector(200), **options)
    assert not capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fp.bootstrap(fp.EER(), detector(200), **options, progress=False)
    assert not capsys.readouterr().err
    for compute in (fp.bootstrap, lambda metric, data, **o: fp.evaluate(data, [metric], **o)):
        compute(fp.EER(), detector(200), **options)
        assert capsys.readouterr().err.endswith("50 of 50 replicates, now the intervals \n")
    monkeypatch.setattr(sys.modules["fastpsr.bootstrap.settings"], "_QUIET_SECONDS", math.inf)
    fp.bootstrap(fp.EER(), detector(200), **options)
    assert not capsys.readouterr().err


def test_an_interrupt_gets_through():
    def interrupted(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fp.bootstrap(fp.EER(), detector(200), seed=0, progress=interrupted)


# Calibrators in the loop


TRAININGS = {
    "train on test": lambda n: fp.TrainOnTest(),
    "folds": lambda n: fp.CrossFit(3, seed=4),
    "groups": lambda n: fp.CrossFit(3, groups=np.arange(n) % 17),
    "pairs": lambda n: fp.CrossFit(5, groups=(np.arange(n) % 25, np.arange(n) // 7 % 25)),
}
CALIBRATORS = [fp.PAV(0.01), fp.HistogramBinning(4, 0.05), fp.DirectionPreserving(),
               fp.TemperatureScaling()]  # fmt: skip


def calibrators_and_trainings():
    """All pairs; quick are those of half of the trainings in turn."""
    for c, calibrator in enumerate(CALIBRATORS):
        for t, training in enumerate(TRAININGS):
            marks = [] if (c + t) % 2 == 0 else pytest.mark.slow
            name = f"{type(calibrator).__name__}-{training}"
            yield pytest.param(calibrator, training, id=name, marks=marks)


@pytest.mark.parametrize(("calibrator", "training"), [*calibrators_and_trainings()])
def test_calibrators_are_trained_anew_with_the_folds_of_the_original(calibrator, training):
    n = 150
    data = detector(n, seed=2)
    train = TRAININGS[training](n)
    metric = fp.CalibrationLoss(BRIER, calibrator, train)
    if isinstance(train, fp.CrossFit) and not isinstance(train.groups, tuple):
        folds = train.folds_of(data).calibrator_of_rows(Part.whole(data))
        if train.groups is not None:
            assert all(len({folds[i] for i in range(g, n, 17)}) == 1 for g in range(17))
        pinned = replace(metric, train=fp.CrossFit(folds))
    else:
        pinned = fixed(metric, data)
    for resampling in (schemes(data)[0], schemes(data)[2]):
        (found,) = bits([metric], data, n=8, confidence_level=0.6, resampling=resampling)
        drawn = drawn_times(resampling, data, metric, 7, 8)
        for replicate, times in enumerate(drawn):
            try:
                expected = quietly(pinned, data.reweighted(times))
            except ValueError:
                expected = math.nan
            assert found[replicate] == pytest.approx(expected, rel=1e-7, abs=1e-7, nan_ok=True)
        assert np.isfinite(found).sum() >= 4


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=lambda c: type(c).__name__)
def test_held_out_calibrators_are_frozen(calibrator):
    data, other = detector(200), detector(400, seed=9)
    metric = fp.CalibrationLoss(BRIER, calibrator, fp.HeldOut(other))
    calibrated = calibrator.fit(other).transform(data)
    raw, after = (
        np.where(data.y_true == 1, 1.0 - q, q) ** 2
        for q in (data.posteriors[:, 1], calibrated.posteriors[:, 1])
    )
    (found,) = bits([metric], data)
    for replicate, times in enumerate(drawn_times(fp.IID(), data, metric, 7, 40)):
        expected = 100.0 * (1.0 - (times @ after) / (times @ raw))
        assert found[replicate] == pytest.approx(expected, rel=1e-10)
    divergence = fp.ExpectedDivergence(BRIER, calibrator, fp.HeldOut(other))
    values = BRIER.divergence(calibrated.posteriors, data.posteriors)
    (found,) = bits([divergence], data)
    for replicate, times in enumerate(drawn_times(fp.IID(), data, divergence, 7, 40)):
        assert found[replicate] == pytest.approx(times @ values / times.sum(), rel=1e-10)


def test_replicates_without_a_fold_are_defined():
    """Clusters that are folds: one that is not drawn needs no calibrator."""
    n = 120
    data = detector(n, seed=3, spread=3.0)
    folds = np.arange(n) % 4
    metrics = [fp.CalibrationLoss(BRIER, c, fp.CrossFit(folds)) for c in CALIBRATORS[:3]]
    found = bits(metrics, data, n=200, resampling=fp.Clusters(folds))
    drawn = drawn_times(fp.Clusters(folds), data, metrics[0], 7, 200)
    alone = [len(set(folds[times > 0])) == 1 for times in drawn]
    assert any(alone)  # one fold four times: it has nothing to train on
    for values in found:
        np.testing.assert_array_equal(np.isnan(values), alone)


# Edges


@pytest.mark.parametrize("n", [63, 64, 65, 4095, 4096, 4097, 8192, 8193])
def test_sizes_about_those_of_blocks(n):
    """Means over one class, over two, and counts, drawn with and without whole blocks."""
    y = np.zeros(n, int)
    q = np.random.default_rng(n).uniform(0.0, 1.0, n)
    data = fp.Predictions.from_posteriors(y, q)
    n_resamples = 400
    found = fp.bootstrap(fp.BrierScore(False), data, seed=n, n_resamples=n_resamples)
    error = (q**2).std() / math.sqrt(n)
    assert abs(found.bias) < 5.0 * error / math.sqrt(n_resamples)
    # a standard deviation's standard error is about a share (2 R)^-1/2 of it
    assert abs(found.standard_error / error - 1.0) < 5.0 / math.sqrt(2.0 * n_resamples)
    y[: n // 3] = 1
    data = fp.Predictions.from_posteriors(y, q)
    with pytest.warns(RuntimeWarning, match="the same in all replicates"):
        of_classes = fp.bootstrap(
            lambda p: float(p.class_weights[1]), data, seed=n, n_resamples=n_resamples,
            resampling=fp.Stratified(),
        )  # fmt: skip
    assert set(of_classes.replicates) == {n // 3}


def test_one_sample():
    data = fp.Predictions.from_posteriors([0], [0.25])
    for resampling in (fp.IID(), fp.Stratified()):
        for method in ("percentile", "basic", "normal", "bca"):
            found = fp.bootstrap(
                [fp.BrierScore(False), fp.ECE()], data, seed=0,
                n_resamples=40, method=method, resampling=resampling,
            )  # fmt: skip
            for result in found:
                assert result.interval == (result.value, result.value)
                assert result.standard_error == result.bias == 0.0


def test_one_sample_of_each_class():
    data = fp.Predictions.from_posteriors([0, 1], [0.25, 0.5])
    results = fp.bootstrap([fp.BrierScore(), fp.AUC(), fp.ECE()], data, seed=0,
                           resampling=fp.Stratified(), method="percentile")  # fmt: skip
    for result in results:
        assert result.interval == (result.value, result.value)
    with pytest.warns(RuntimeWarning, match="EER is undefined"):
        found = fp.bootstrap(fp.EER(), data, seed=0, method="percentile")
    assert abs(found.n_undefined - 500) < 5.0 * math.sqrt(250)
    assert set(found.replicates[~np.isnan(found.replicates)]) == {0.0}


@pytest.mark.parametrize("K", [2, 3])
def test_scores_that_are_all_alike(K):
    y = np.arange(60) % K
    data = fp.Predictions.from_posteriors(y, np.full((60, K), 1.0 / K))
    (score,) = bits([fp.CrossEntropy(False)], data)
    np.testing.assert_allclose(score, np.log(K), rtol=1e-14)
    if K == 2:
        eer, auc = bits([fp.EER(), fp.AUC()], data)
        assert set(eer) == set(auc) == {0.5}


@pytest.mark.parametrize("scale", [1e-280, 1e295])
def test_weights_of_any_magnitude(scale):
    """All metrics are of ratios of weights; a power of two changes no bit."""
    scale = 2.0 ** round(math.log2(scale))
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 120)
    plain, scaled = detector(120, weights=weights), detector(120, weights=weights * scale)
    metrics = [m for m in METRICS[:-1] if not isinstance(m, fp.CalibrationLoss)]
    metrics.append(fp.CalibrationLoss(BRIER, fp.PAV(), fp.TrainOnTest()))
    for resampling in schemes(plain)[:3]:
        one, other = (bits(metrics, data, resampling=resampling) for data in (plain, scaled))
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("scheme", range(5), ids=NAMES)
def test_samples_of_weight_zero_are_as_if_absent(scheme):
    """Also from draws: the replicates are those of the other samples, bit by bit."""
    n = 200
    rng = np.random.default_rng(1)
    data = detector(n)
    weights = rng.uniform(0.5, 2.0, n)
    weights[rng.random(n) < 0.3] = 0.0
    weights[:2] = 1.0
    there = weights > 0.0
    llr = data.llrs.copy()
    llr[~there] = rng.choice([-np.inf, np.inf, 0.3], np.count_nonzero(~there))
    # as part of the whole, speakers and clusters that only absent samples have do not count
    one, other = ids_of(data)
    one[~there] += rng.integers(0, 40, np.count_nonzero(~there))
    whole = fp.Predictions.from_llrs(data.y_true, llr, sample_weight=weights, prior=0.3)
    part = fp.Predictions.from_llrs(
        data.y_true[there], llr[there], sample_weight=weights[there], prior=0.3
    )
    metrics = [*METRICS[:8], fp.AUC(), fp.DevPAV(), lambda p: float(p.class_weights[1])]
    found = [
        bits(metrics, predictions, resampling=[
            fp.IID(), fp.Stratified(), fp.Clusters(a), fp.Nested(a), fp.TwoWay(a, b)
        ][scheme])
        for predictions, a, b in ((whole, one, other), (part, one[there], other[there]))
    ]  # fmt: skip
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_ids_may_be_of_any_type():
    data = detector(100)
    numbers = np.arange(100) % 7
    expected = bits([fp.Cllr()], data, resampling=fp.Clusters(numbers))
    for ids in (
        numbers.astype(np.uint8),
        numbers.astype(np.int8) - 3,
        numbers.astype(float) / 2.0,
        numbers * 10**15,
        [f"speaker {k}" for k in numbers],
        np.array([f"s{k}" for k in numbers], object),
    ):
        np.testing.assert_array_equal(
            bits([fp.Cllr()], data, resampling=fp.Clusters(ids)), expected
        )


def test_clusters_of_one_sample_each_are_an_iid_bootstrap():
    """In distribution: first two moments of 2,000 replicates each."""
    data = detector(300)
    one, other = (
        bits([fp.Cllr()], data, n=2_000, resampling=resampling)[0]
        for resampling in (fp.IID(), fp.Clusters(np.arange(300)))
    )
    assert abs(one.mean() - other.mean()) < 5.0 * math.sqrt(2.0 * one.var() / 2_000)
    assert abs(math.log(one.std() / other.std())) < 5.0 / math.sqrt(2_000)


def test_speakers_who_meet_only_themselves_are_clusters():
    data = detector(300)
    ids = np.arange(300) % 20
    metrics = [fp.Cllr(), fp.EER(), fp.DevPAV()]
    np.testing.assert_array_equal(
        bits(metrics, data, resampling=fp.TwoWay(ids, ids)),
        bits(metrics, data, resampling=fp.Clusters(ids)),
    )


def test_sides_may_be_swapped():
    data = detector(300)
    one, other = ids_of(data)
    metrics = [fp.Cllr(), fp.EER()]
    np.testing.assert_array_equal(
        bits(metrics, data, resampling=fp.TwoWay(one, other)),
        bits(metrics, data, resampling=fp.TwoWay(other, one)),
    )


def test_inputs_are_not_written_to():
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 500)
    data = detector(500, weights=weights)
    one, other = ids_of(data)
    arrays = [weights, data.llrs, data.y_true, one, other]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    for resampling in schemes_of(one, other):
        for method in ("percentile", "bca")[: 1 if resampling.multiplies else 2]:
            quietly(fp.bootstrap, METRICS[:9], data, n_resamples=40, seed=0, method=method,
                    resampling=resampling)  # fmt: skip
    for array, held in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, held)


def test_more_than_two_classes():
    sample = samples.make(3, 200)
    data = sample.predictions
    metrics = [fp.CrossEntropy(), fp.BrierScore(), fp.ECE(on="confidence"),
               fp.BayesRisk(fp.CostMatrix.zero_one(3)),
               fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.CrossFit(2))]  # fmt: skip
    for resampling in schemes(data)[:3]:
        for result in fp.bootstrap(
            metrics, data, n_resamples=40, seed=0, resampling=resampling, method="normal"
        ):
            assert result.interval.low < result.value < result.interval.high or result.bias


# Bad input

GOOD = fp.Predictions.from_posteriors([0, 0, 1, 1] * 5, [0.1, 0.6, 0.4, 0.9] * 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 39}, "n_resamples must be .* at least 40 for a level of 0.95, not 39"),
        ({"n_resamples": 199, "confidence_level": 0.99}, "at least 200 for a level .* not 199"),
        ({"n_resamples": 50.0}, "n_resamples must be an integer of at least 40 .* not 50.0"),
        ({"n_resamples": True}, "n_resamples must be an integer of at least 40 .* not True"),
        ({"n_resamples": "many"}, "n_resamples must be an integer .* not 'many'"),
        ({"n_resamples": -5}, "n_resamples must be an integer .* not -5"),
        ({"confidence_level": 0}, "confidence_level must lie strictly between 0 and 1, not 0"),
        ({"confidence_level": 1.0}, "confidence_level must lie strictly between 0 and 1, not 1.0"),
        ({"confidence_level": 95}, "must lie .* and 1, not 95: pass confidence_level=0.95"),
        ({"confidence_level": 2}, "must lie strictly between 0 and 1, not 2$"),  # no percentage
        ({"confidence_level": math.nan}, "confidence_level must lie .* not nan"),
        ({"confidence_level": "0.9"}, "confidence_level must lie .* not '0.9'"),
        ({"confidence_level": None}, "confidence_level must lie .* not None"),
        ({"confidence_level": np.array([0.9, 0.95])}, "confidence_level must lie .* not array"),
        ({"method": "BCa"}, "method must be one of 'auto', .* not 'BCa'"),
        ({"method": None}, "method must be one of .* not None"),
        ({"seed": -1}, "seed must be an integer of at least 0, not -1"),
        ({"seed": 1.5}, "seed must be an integer of at least 0, not 1.5"),
        ({"seed": True}, "seed must be an integer of at least 0, not True"),
        ({"seed": "a"}, "seed must be an integer of at least 0, not 'a'"),
        ({"resampling": "iid"}, "resampling must be IID, .* or TwoWay, not 'iid'"),
        ({"resampling": fp.IID}, "resampling must be IID, .* or TwoWay, not <class"),
        ({"resampling": fp.Clusters([3] * 20)}, "ids must name at least two clusters, not 1"),
        ({"resampling": fp.Clusters([1, 2] * 9)}, "ids must have one entry per sample: 20, not 18"),
        ({"resampling": fp.Clusters([[1, 2]] * 20)}, "ids must be 1-dimensional, not of shape"),
        ({"resampling": fp.Clusters([1.0, math.nan] * 10)}, r"but ids\[1\] is nan"),
        ({"resampling": fp.Clusters(["a", None] * 10)}, r"an id for each .* but ids\[1\] is None"),
        ({"resampling": fp.Clusters([1, "1"] * 10)}, r"ids must be ids .* but ids\[1\] is '1'"),
        (
            {"resampling": fp.TwoWay([1, 2] * 10, ["1", "2"] * 10)},
            "enroll_speakers and test_speakers must be ids of one type, not int64 and <U1",
        ),
        (
            {"resampling": fp.TwoWay([1, 2] * 10, [1, 2, 3])},
            "test_speakers must have one entry per sample: 20, not 3",
        ),
        (
            {"resampling": fp.TwoWay([4] * 20, [4] * 20)},
            "enroll_speakers must name at least two speakers, not 1",
        ),
        (
            {"resampling": fp.TwoWay([1, 2] * 10, [2, 2] * 10), "method": "bca"},
            "method must not be bca with TwoWay",
        ),
        (
            {"resampling": fp.Nested([1, 2] * 10), "method": "bca"},
            "method must not be bca with Nested, where two draw counts are multiplied",
        ),
        (
            {"resampling": fp.Nested([3] * 20)},
            "cluster_ids must name at least two clusters, not 1",
        ),
        (
            {"resampling": fp.Nested([1, 2] * 9)},
            "cluster_ids must have one entry per sample: 20, not 18",
        ),
    ],
)  # fmt: skip
def test_bad_options(options, message):
    options = {"n_resamples": 400, "seed": 0, **options}
    with pytest.raises(ValueError, match=f"{message}"):
        fp.bootstrap(fp.BrierScore(), GOOD, **options)
    with pytest.raises(ValueError, match=f"{message}"):
        fp.compare(fp.BrierScore(), GOOD, GOOD, **options)


def test_one_cluster_of_positive_weight():
    data = fp.Predictions.from_posteriors([0, 1, 0], [0.2, 0.6, 0.4], sample_weight=[1, 1, 0])
    with pytest.raises(ValueError, match="ids must name at least two clusters, not 1"):
        fp.bootstrap(fp.BrierScore(), data, resampling=fp.Clusters(["a", "a", "b"]))


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], "metrics must not be empty"),
        ({}, "metrics must not be empty"),
        ("nothing", "metrics must be among .*, not 'nothing'"),
        (5, "metrics must be a metric, or a list or dict of them, not 5"),
        (None, "metrics must be a metric, or a list or dict of them, not None"),
        ({"a": 3}, "metrics must be callable, not 3"),
        (fp.EER, r"metrics must not be the class EER: make one, EER\("),
        ([fp.ExpectedScore], "metrics must not be the class ExpectedScore"),
    ],
)
def test_bad_metrics(metrics, message):
    with pytest.raises(ValueError, match=message):
        fp.bootstrap(metrics, GOOD)
    with pytest.raises(ValueError, match=message.replace("metrics", "metric")):
        fp.compare(metrics, GOOD, GOOD)


BAD_CALLS = {
    "nan": (lambda p: math.nan, "metric bad is nan on the data: it has no interval"),
    "raises": (lambda p: 1 / 0, "metric bad cannot be computed: division by zero"),
    "array": (lambda p: np.ones(2), "metric bad must return a number, not ndarray"),
    "array of one": (lambda p: np.ones(1), "metric bad must return a number, not ndarray"),
    "list": (lambda p: [1.0], "metric bad must return a number, not list"),
    "text": (lambda p: "0.5", "metric bad must return a number, not str"),
    "nothing": (lambda p: None, "metric bad must return a number, not NoneType"),
    "complex": (lambda p: 1j, "metric bad must return a number, not complex"),
}


@pytest.mark.parametrize(("call", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_bad_callables(call, message):
    def bad(predictions):
        return call(predictions)

    with pytest.raises(ValueError, match=message):
        fp.bootstrap(bad, GOOD)
    with pytest.raises(ValueError, match=message):
        fp.compare(bad, GOOD, GOOD)


@pytest.mark.parametrize("way", ["raises", "array", "array of one", "text", "nothing"])
def test_callables_that_are_bad_on_replicates_only(way):
    call, message = BAD_CALLS[way]
    if way == "raises":
        message = r"metric bad fails on a replicate: ZeroDivisionError\('division by zero'\)"

    def bad(predictions):
        return 1.0 if predictions.sample_weight is None else call(predictions)

    with pytest.raises(ValueError, match=message):
        fp.bootstrap(bad, GOOD, seed=0)


def test_callables_that_are_undefined_on_some_replicates():
    """nan, and a ValueError, are replicates that are left out."""

    def odd(predictions):
        if predictions.sample_weight is None:
            return 1.0
        first = predictions.sample_weight[0]
        if first == 0.0:
            raise ValueError("not there")
        return float("nan") if first == 1.0 else first

    with pytest.warns(RuntimeWarning, match="odd is undefined in"):
        found = fp.bootstrap(odd, GOOD, seed=0)
    assert set(found.replicates[~np.isnan(found.replicates)]) <= {2.0, 3.0, 4.0, 5.0, 6.0, 7.0}
    chance = 2.0 / math.e  # of none or one draw
    assert abs(found.n_undefined / 1000 - chance) < 5.0 * math.sqrt(0.2 / 1000)


@pytest.mark.parametrize("bad", [None, np.ones(3), [0.5], "data"], ids=str)
def test_data_of_the_wrong_type(bad):
    name = repr(bad) if isinstance(bad, str) else type(bad).__name__
    rule = f"must be Predictions, or predictions in parts, not {name}"
    with pytest.raises(ValueError, match=f"predictions {rule}"):
        fp.bootstrap(fp.BrierScore(), bad)
    for a, b, which in ((bad, GOOD, "a"), (GOOD, bad, "b")):
        with pytest.raises(ValueError, match=f"^{which} {rule}"):
            fp.compare(fp.BrierScore(), a, b)


def test_data_that_do_not_fit():
    unlabeled = fp.Predictions.from_posteriors(None, [0.5] * 20)
    with pytest.raises(ValueError, match="y_true must be given"):
        fp.bootstrap(fp.BrierScore(), unlabeled)
    with pytest.raises(ValueError, match="y_true must be given"):
        fp.compare(fp.BrierScore(), unlabeled, unlabeled)
    with pytest.raises(ValueError, match="a and b must be of the same samples: 20 and 10"):
        fp.compare(fp.BrierScore(), GOOD, GOOD[:10])
    other = fp.Predictions.from_posteriors([0, 0, 1, 1] * 4 + [0, 1, 1, 1], [0.5] * 20)
    with pytest.raises(ValueError, match="same order, but labels differ in row 17"):
        fp.compare(fp.BrierScore(), GOOD, other)
    weighted = fp.Predictions.from_posteriors(
        GOOD.y_true, [0.5] * 20, sample_weight=[1.0] * 19 + [0.0]
    )
    with pytest.raises(ValueError, match="positive weight at the same samples"):
        fp.compare(fp.BrierScore(), GOOD, weighted)
    three = fp.Predictions.from_posteriors(GOOD.y_true, [[0.2, 0.3, 0.5]] * 20)
    with pytest.raises(ValueError, match="a and b must have the same classes: 2 and 3"):
        fp.compare(fp.BrierScore(), GOOD, three)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (fp.BrierScore(), "metric NBS cannot be computed: normalized scores need"),
        (fp.EER(), "metric EER cannot be computed: .* must have both classes"),
        (fp.CalibrationLoss(LOG, fp.PAV()), "metric RCL CE cannot be computed: "),
    ],
)
def test_metrics_that_are_undefined_on_the_data(metric, message):
    data = fp.Predictions.from_posteriors([0] * 10, np.linspace(0.1, 0.9, 10))
    with pytest.raises(ValueError, match=message):
        fp.bootstrap(metric, data)


def test_raw_scores_have_ranks_alone():
    data = fp.Predictions.from_raw_scores(GOOD.y_true, np.arange(20.0))
    assert fp.bootstrap(fp.EER(), data, seed=0, n_resamples=40).n_undefined == 0
    with pytest.raises(ValueError, match="need posteriors or likelihoods"):
        fp.bootstrap(fp.BrierScore(), data)


def test_a_callable_that_takes_no_notice_of_weights_is_found_out():
    data = fp.Predictions.from_posteriors([0, 1, 0, 1, 1], [0.1, 0.4, 0.3, 0.9, 0.7])
    with pytest.warns(RuntimeWarning, match="same in all replicates.*sample_weight"):
        fp.bootstrap(lambda given: float(given.posteriors[:, 1].mean()), data, n_resamples=50)

    def weighted(given):
        return float(np.average(given.posteriors[:, 1], weights=given.sample_weight))

    found = fp.bootstrap(weighted, data, n_resamples=50, seed=0)
    assert found.interval.low < found.value < found.interval.high


def test_compare_returns_metrics_of_one_name_each():
    y = np.arange(60) % 2
    a, b = (fp.Predictions.from_llrs(y, np.random.default_rng(k).normal(size=60)) for k in (0, 1))
    found = fp.compare([fp.EER(), fp.EER(), fp.Cllr()], a, b, n_resamples=40, seed=0)
    assert [each.name for each in found] == ["EER, a - b", "EER, a - b", "Cllr, a - b"]
    np.testing.assert_array_equal(found[0].replicates, found[1].replicates)
