"""`bootstrap` and `compare`: seeds, joint draws, progress, edges, and bad input."""

import itertools
import math
import sys
import time

import numpy as np
import pytest

import fastpsr as fp
from tests.refusal import refuses
from tests.replicates import quietly, recorded, schemes, values_at

BRIER = fp.rules.Brier()


def detector(n=500, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    y[:2] = 0, 1
    z = np.round(rng.normal(size=n) + 1.5 * y - 0.5, 3)
    return fp.Predictions.from_logits(y, z, sample_weight=weights)


def ids_of(n, n_ids=30):
    return np.random.default_rng(5).integers(0, n_ids, (2, n))


METRICS = [
    fp.CrossEntropy(),
    fp.BrierScore(False),
    fp.ECE(),
    fp.BayesRisk(fp.CostMatrix.zero_one(2)),
    fp.ActDCF(0.05),
    fp.EER(),
    fp.MinDCF(0.05),
    fp.MinCllr(),
    fp.DevPAV(),
    fp.CalibrationLoss(BRIER, fp.PAV(), fp.TrainOnTest()),
    lambda predictions: fp.AUC()(predictions),
]


def replicates(metrics, data, n=40, **options):
    options = {"method": "percentile", "seed": 7} | options
    results = quietly(fp.bootstrap, metrics, data, n_resamples=n, **options)
    return np.array([result.replicates for result in results])


# Seeds


@pytest.mark.parametrize("scheme", ["IID", "Nested", "TwoWay"])
def test_replicates_do_not_depend_on_company_or_number(scheme):
    data = detector(4_500)  # a block and a short one
    resampling = schemes(*ids_of(4_500))[scheme]
    expected = replicates(METRICS, data, resampling=resampling)
    for k in (0, 4, 5, -1):
        alone = replicates([METRICS[k]], data, resampling=resampling)
        np.testing.assert_array_equal(alone[0], expected[k])
    backwards = replicates(METRICS[:8][::-1], data, resampling=resampling)
    np.testing.assert_array_equal(backwards[::-1], expected[:8])
    more = replicates(METRICS[:8], data, n=101, resampling=resampling)
    np.testing.assert_array_equal(more[:, :40], expected[:8])


def test_seeds():
    data = detector()
    first = fp.bootstrap(fp.EER(), data, seed=1).replicates
    for seed in (2, 2**40, 2**90, 0):
        other = fp.bootstrap(fp.EER(), data, seed=seed).replicates
        assert abs(np.corrcoef(first, other)[0, 1]) < 5.0 / np.sqrt(1000)  # 5 standard errors
    fresh, again = (fp.bootstrap(fp.EER(), data) for _ in range(2))
    assert fresh.seed != again.seed
    repeat = fp.bootstrap(fp.EER(), data, seed=fresh.seed)
    np.testing.assert_array_equal(repeat.replicates, fresh.replicates)


def test_a_seed_does_not_move_with_the_address_of_a_function():
    """Rules made of functions are known by name, not by where they lie in memory."""
    data, values = detector(200), []
    for _ in range(2):
        rule = fp.rules.Weighted(lambda a: 6.0 * a[:, 0] * a[:, 1])
        values.append(replicates([fp.CalibrationLoss(rule, fp.PAV(), fp.TrainOnTest())], data))
    np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("scheme", ["IID", "Stratified", "TwoWay"])
def test_systems_and_metrics_of_a_comparison_have_the_same_draws(scheme):
    a, n = detector(300), 300
    b = fp.Predictions.from_logits(a.y_true, a.log_odds + 0.1 * detector(300, seed=1).log_odds)
    metrics = [*METRICS[:-1], fp.AUC()]
    options = {"resampling": schemes(*ids_of(n))[scheme], "seed": 3, "n_resamples": 40}
    options["method"] = "percentile"
    results, weights, _ = recorded(metrics, a, b, **options)
    values = values_at(metrics, a, weights) - values_at(metrics, b, weights)
    for metric, result, expected in zip(metrics, results, values, strict=True):
        np.testing.assert_allclose(
            result.replicates, expected, rtol=1e-9, atol=1e-11, err_msg=str(metric)
        )
    turned, equal = (quietly(fp.compare, fp.EER(), *pair, **options) for pair in ((b, a), (a, a)))
    np.testing.assert_array_equal(turned.replicates, -results[5].replicates)
    assert not equal.replicates[~np.isnan(equal.replicates)].any()


def test_lists_and_dicts_of_metrics():
    data, options = detector(200), {"n_resamples": 40, "seed": 0, "method": "percentile"}
    alone = fp.bootstrap(fp.EER(), data, **options)
    assert alone.name == "EER"
    (listed,) = fp.bootstrap([fp.EER()], data, **options)
    (named,) = fp.bootstrap({"mine": fp.EER()}, data, **options)
    assert named.name == "mine"
    for result in (listed, named):
        np.testing.assert_array_equal(alone.replicates, result.replicates)
    results = fp.bootstrap([fp.AUC(), "Cllr", fp.EER()], data, **options)
    assert [result.name for result in results] == ["AUC", "Cllr", "EER"]
    differences = fp.compare([fp.EER(), fp.EER(), fp.Cllr()], data, data, **options)
    assert [each.name for each in differences] == ["EER, a - b", "EER, a - b", "Cllr, a - b"]


# Progress


def test_progress_is_reported():
    data = detector(200)
    for resampling in schemes(*ids_of(200)).values():
        calls = []
        quietly(
            fp.bootstrap, [fp.EER(), fp.Cllr(), fp.AUC(), fp.DevPAV()], data, n_resamples=50,
            resampling=resampling, seed=0, progress=lambda *call, calls=calls: calls.append(call),
        )  # fmt: skip
        done, totals = zip(*calls, strict=True)
        assert len(set(totals)) == 1
        assert list(done) == sorted(set(done))
        assert done[-1] == totals[-1] >= 50


def test_a_line_of_progress(capsys):
    fp.bootstrap(fp.EER(), detector(200), n_resamples=50, seed=0, progress=True)
    assert capsys.readouterr().err.endswith("50 of 50 replicates, now the intervals \n")


def test_progress_is_shown_to_who_waits_at_a_terminal(capsys, monkeypatch):
    """Of what takes more than a second, of a clock that is read in steps of so many seconds."""
    for is_terminal, seconds, progress, is_shown in (
        (True, 1.5, None, True), (False, 1.5, None, False), (True, 1.5, False, False),
        (True, 1e-9, None, False),
    ):  # fmt: skip
        ticks = itertools.count()
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal)
        for clock in ("monotonic", "perf_counter"):
            monkeypatch.setattr(time, clock, lambda t=ticks, s=seconds: next(t) * s)
        fp.bootstrap(fp.EER(), detector(200), n_resamples=50, seed=0, progress=progress)
        shown = capsys.readouterr().err
        assert (
            shown.endswith("50 of 50 replicates, now the intervals \n") if is_shown else not shown
        )


def test_an_interrupt_gets_through():
    def interrupted(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fp.bootstrap(fp.EER(), detector(200), seed=0, progress=interrupted)


# Edges


def test_one_sample():
    data = fp.Predictions.from_posteriors([0], [0.25])
    for resampling, method in (
        (fp.IID(), "percentile"), (fp.IID(), "bca"), (fp.Stratified(), "basic"),
        (fp.Stratified(), "normal"),
    ):  # fmt: skip
        results = fp.bootstrap(
            [fp.BrierScore(False), fp.ECE()], data, seed=0, n_resamples=40, method=method,
            resampling=resampling,
        )  # fmt: skip
        for result in results:
            assert result.interval == (result.value, result.value)
            assert result.standard_error == result.bias == 0.0


def test_scores_that_are_all_alike():
    data = fp.Predictions.from_posteriors(np.arange(60) % 2, np.full((60, 2), 0.5))
    score, eer, auc = replicates([fp.CrossEntropy(False), fp.EER(), fp.AUC()], data)
    np.testing.assert_allclose(score, np.log(2.0), rtol=1e-14)
    assert set(eer) == set(auc) == {0.5}


# Metrics of the user's own


DATA = fp.Predictions.from_posteriors([0, 0, 1, 1] * 5, [0.1, 0.6, 0.4, 0.9] * 5)
BAD_CALLS = {
    "nan": (lambda p: math.nan, "metric bad is nan on the data: it has no interval"),
    "raises": (lambda p: 1 / 0, "metric bad cannot be computed: division by zero"),
    "array": (lambda p: np.ones(2), "metric bad must return a number, not ndarray"),
    "nothing": (lambda p: None, "metric bad must return a number, not NoneType"),
}


@pytest.mark.parametrize("kind", BAD_CALLS)
def test_functions_that_return_no_number(kind):
    call, message = BAD_CALLS[kind]

    def bad(predictions):
        return call(predictions)

    for compute in (fp.bootstrap, lambda metric, data: fp.compare(metric, data, data)):
        with pytest.raises(ValueError, match=message):
            compute(bad, DATA)
    if kind == "nan":
        return
    if kind == "raises":
        message = r"metric bad fails on a replicate: ZeroDivisionError\('division by zero'\)"

    def bad(predictions):
        return 1.0 if predictions.sample_weight is None else call(predictions)

    with pytest.raises(ValueError, match=message):
        fp.bootstrap(bad, DATA, seed=0)


def test_functions_that_are_undefined_on_some_replicates():
    """nan, and a ValueError, are replicates that are left out."""

    def odd(predictions):
        if predictions.sample_weight is None:
            return 1.0
        first = predictions.sample_weight[0]
        if first == 0.0:
            raise ValueError("not there")
        return float("nan") if first == 1.0 else first

    with pytest.warns(RuntimeWarning, match="odd is undefined in"):
        result = fp.bootstrap(odd, DATA, seed=0)
    assert set(result.replicates[~np.isnan(result.replicates)]) <= {2.0, 3.0, 4.0, 5.0, 6.0, 7.0}
    chance = 2.0 / math.e  # of none or one draw
    assert abs(result.n_undefined / 1000 - chance) < 5.0 * math.sqrt(0.2 / 1000)


def test_a_function_that_does_not_use_the_weights_is_warned_of():
    data = fp.Predictions.from_posteriors([0, 1, 0, 1, 1], [0.1, 0.4, 0.3, 0.9, 0.7])
    with pytest.warns(RuntimeWarning, match="same in all replicates.*sample_weight"):
        fp.bootstrap(lambda given: float(given.posteriors[:, 1].mean()), data, n_resamples=50)


# Bad input


@pytest.mark.parametrize(
    ("resampling", "argument"),
    [
        (fp.Clusters([3] * 20), "ids"),
        (fp.TwoWay([1, 2] * 10, ["1", "2"] * 10), "test_speakers"),
        (fp.TwoWay([4] * 20, [4] * 20), "enroll_speakers"),
        (fp.Nested([3] * 20), "cluster_ids"),
    ],
)
def test_bad_ids(resampling, argument):
    for call in (fp.bootstrap, lambda metric, data, **o: fp.compare(metric, data, data, **o)):
        with refuses(argument):
            call(fp.BrierScore(), DATA, resampling=resampling)


def test_the_fewest_replicates_of_a_level():
    for n_resamples, level in ((40, 0.95), (200, 0.99), (4, 0.5)):
        options = {"confidence_level": level, "seed": 0}
        fp.bootstrap(fp.BrierScore(), DATA, n_resamples=n_resamples, **options)
        with pytest.raises(fp.ArgumentError, match=f"at least {n_resamples}"):
            fp.bootstrap(fp.BrierScore(), DATA, n_resamples=n_resamples - 1, **options)


def test_one_cluster_of_positive_weight():
    data = fp.Predictions.from_posteriors([0, 1, 0], [0.2, 0.6, 0.4], sample_weight=[1, 1, 0])
    with pytest.raises(ValueError, match="ids must name at least two clusters, not 1"):
        fp.bootstrap(fp.BrierScore(), data, resampling=fp.Clusters(["a", "a", "b"]))


def test_data_that_do_not_fit():
    y, posteriors = DATA.y_true, [0.5] * 20
    other = fp.Predictions.from_posteriors([0, 0, 1, 1] * 4 + [0, 1, 1, 1], posteriors)
    weighted = fp.Predictions.from_posteriors(y, posteriors, sample_weight=[1.0] * 19 + [0.0])
    three = fp.Predictions.from_posteriors(y, [[0.2, 0.3, 0.5]] * 20)
    for b, message in (
        (DATA[:10], "a and b must be of the same samples: 20 and 10"),
        (other, "same order, but labels differ in row 17"),
        (weighted, "positive weight at the same samples"),
        (three, "a and b must have the same classes: 2 and 3"),
    ):
        with pytest.raises(ValueError, match=message):
            fp.compare(fp.BrierScore(), DATA, b)
