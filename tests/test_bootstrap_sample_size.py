"""How many samples, clusters or speakers an interval of a given width needs."""

import json
import math
import warnings
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import fastpsr as fp
from fastpsr.bootstrap.bootstrap import values_of
from fastpsr.bootstrap.jackknife import Jackknife
from fastpsr.bootstrap.job import Job, Sum
from fastpsr.bootstrap.left_out import left_out_values
from fastpsr.bootstrap.subsampling import Subsampling, subset_values
from fastpsr.plans import run
from tests.drawn import units_of

MEAN = fp.BrierScore(normalized=False)
METRICS = [MEAN, fp.AUC(), fp.EER(), fp.MinDCF(0.1), fp.MinCllr(), fp.ECE()]


def detector(n=800, seed=0, separation=1.0, **options):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 4 == 0).astype(int)
    return fp.Predictions.from_llrs(
        y, 2.0 * rng.normal(size=n) + 2.0 * separation * (2 * y - 1), **options
    )


def speakers(n=24, seed=0):
    trials = fp.simulate.trial_list(
        10 * n, 5 * n * n, n_speakers=n, speaker_spread=0.2, speaker_variance=0.3, seed=seed
    )
    return (
        fp.Predictions.from_llrs(trials.y_true, trials.llr),
        fp.TwoWay(trials.enroll_speaker, trials.test_speaker),
    )


def width_of(metric, data, **options):
    low, high = fp.bootstrap(metric, data, **{"seed": 0, **options}).interval
    return high - low


def found(metric, data, width, **options):
    return fp.sample_size(metric, data, width, **{"seed": 0, **options})


# The number


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.label)
def test_the_width_of_the_pilot_needs_the_pilot(metric):
    data = detector()
    own = width_of(metric, data)
    result = found(metric, data, own)
    assert (result.n, result.pilot_n, result.factor) == (800, 800, 1.0)
    assert (result.n_targets, result.n_nontargets) == (200, 600)
    assert result.pilot_width == own
    assert result.interval.low < 800 < result.interval.high


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.label)
def test_a_narrower_interval_needs_more(metric):
    data = detector()
    own = width_of(metric, data)
    results = [found(metric, data, own * share) for share in (1.5, 1.0, 0.9, 0.5, 0.1, 0.01)]
    assert (np.diff([result.n for result in results]) > 0).all()
    for result in results:
        assert (np.diff(result.curve_n) > 0.0).all()
        assert (np.diff(result.curve_width) < 0.0).all()
        assert result.curve_n[0] <= min(result.n, 800) <= max(result.n, 800) <= result.curve_n[-1]
        between = np.interp(math.log(result.n), np.log(result.curve_n), result.curve_width)
        assert between == pytest.approx(result.width, rel=0.02)


def test_of_a_mean_the_rate_is_a_half():
    for seed in range(3):  # for any data: 800 are divided by 8
        data = detector(seed=seed)
        own = width_of(MEAN, data)
        result = found(MEAN, data, own / 3.0)
        assert result.measured_exponent == pytest.approx(0.5, abs=1e-9)
        assert result.exponent == pytest.approx(0.5, abs=1e-9)
        assert result.n == 7_200
        df, of_variance = result.degrees_of_freedom, stats.chi2(result.degrees_of_freedom)
        assert 40.0 < df < 399.0
        low, high = (7_200 * df / of_variance.ppf(p) for p in (0.975, 0.025))
        assert result.interval == pytest.approx((low, high))


@pytest.mark.parametrize("metric", [MEAN, fp.EER()], ids=lambda metric: metric.label)
def test_the_rate_follows_from_halves_and_quarters(metric):
    data, scheme = speakers()
    result = found(metric, data, 0.01, resampling=scheme)
    job = Job(metric, data)
    values = values_of([metric.label], [job])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        units = units_of(scheme, data)
        subsets, left_out = (
            run(lambda need=need: need([job], np.array(values), units, 0, jointly=False))
            for need in (subset_values, left_out_values)
        )
    pairs = list(combinations(range(8), 2))
    apart = [(a, b) for a, b in combinations(range(28), 2) if not {*pairs[a]} & {*pairs[b]}]
    halves, quarters = subsets.halves[0], subsets.quarters[0]
    of_halves = np.nanmean((halves[..., 0] - halves[..., 1]) ** 2) / 2.0
    one, other = np.array(apart).T
    of_quarters = np.nanmean((quarters[:, one] - quarters[:, other]) ** 2) / 2.0
    # all pairs of quarters that are apart, of which those within a half are a balanced part
    measured = math.log2(of_quarters / of_halves) / 2.0
    assert result.measured_exponent == pytest.approx(measured, abs=0.03)
    variances = 4.0 ** np.array([0.0, result.measured_exponent])
    a, b = np.linalg.solve([[2.0, 4.0], [4.0, 16.0]], variances)  # of the size of the pilot
    assert a > 0.0
    if b < 0.0:
        a, b = 1.0, 0.0
    assert result.exponent == pytest.approx((a / 2.0 + b) / (a + b))
    share = math.sqrt((a / result.factor + b / result.factor**2) / (a + b))
    method = Jackknife() if result.pilot.method == "jackknife" else Subsampling()
    evidence = SimpleNamespace(
        needed={subset_values: subsets, left_out_values: left_out}.__getitem__,
        total=lambda terms: (values[0], None),
    )
    own = method.estimate(Sum((job,)), evidence)
    grown = own._replace(
        standard_error=share * own.standard_error,
        degrees_of_freedom=result.factor * own.degrees_of_freedom,
    )
    low, high = grown.interval(0.95)
    assert high - low == pytest.approx(0.01, rel=2.0 / result.n)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("metric", [MEAN, fp.EER()], ids=lambda metric: metric.label)
def test_fresh_intervals_have_the_width(metric):
    ratios = []
    for seed in range(6):
        pilot = detector(1_200, seed=seed)
        wanted = width_of(metric, pilot, seed=seed) / 2.0
        n = found(metric, pilot, wanted, seed=seed).n
        fresh = detector(n, seed=100 + seed)
        ratios.append(width_of(metric, fresh, seed=100 + seed) / wanted)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.2)


# What is counted


def test_speakers_are_counted():
    data, scheme = speakers()
    own = width_of(MEAN, data, resampling=scheme)
    result = found(MEAN, data, own / 4.0, resampling=scheme)
    assert (result.drawn, result.pilot_n) == ("speakers", 24)
    assert 0.5 < result.exponent <= 1.0  # trials vary, too, and their number grows faster
    assert 24 * 4 < result.n < 24 * 16
    assert result.n_targets == 10 * result.n
    n_pairs = result.n * (result.n - 1) / (24 * 23)
    assert result.n_nontargets == round(5 * 24 * 24 * n_pairs)


@pytest.mark.parametrize("scheme", [fp.Clusters, fp.Nested])
def test_clusters_are_counted(scheme):
    data = detector()
    ids = np.arange(800) // 4
    result = found(MEAN, data, 0.02, resampling=scheme(ids))
    assert (result.drawn, result.pilot_n) == ("clusters", 200)
    assert result.n_targets == round(200 * result.factor)
    alone = found(MEAN, data, 0.02, resampling=fp.Clusters(np.arange(800)))
    assert alone.n == pytest.approx(found(MEAN, data, 0.02).n, rel=0.3)


def test_samples_of_no_weight_are_not_counted():
    weights = np.ones(800)
    weights[400:] = 0.0
    weighted = found(MEAN, detector(sample_weight=weights), 0.05)
    bare = found(MEAN, detector()[:400], 0.05)
    assert (weighted.pilot_n, weighted.n) == (400, bare.n)
    assert weighted.n_targets == bare.n_targets


def test_more_classes_have_no_targets():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    data = fp.Predictions.from_logits(y, rng.normal(size=(300, 3)) + np.eye(3)[y])
    result = found(fp.CrossEntropy(), data, 0.1)
    assert (result.n_targets, result.n_nontargets) == (None, None)
    assert result.n > 300


@pytest.mark.parametrize("metric", [MEAN, fp.EER()], ids=lambda metric: metric.label)
def test_parts_need_as_many(metric):
    data = detector(400)
    ids = np.arange(400) // 4
    here = found(metric, data, 0.05, resampling=fp.Clusters(ids))
    cuts = (slice(0, 100), slice(100, 400))
    parts = fp.from_parts((data[cut], {"id": ids[cut]}) for cut in cuts)
    there = found(metric, parts, 0.05, resampling=fp.Clusters("id"))
    assert (there.n, there.n_targets, there.drawn) == (here.n, here.n_targets, here.drawn)
    assert there.interval == pytest.approx(here.interval, rel=1e-9)
    assert there.measured_exponent == pytest.approx(here.measured_exponent, rel=1e-9)
    np.testing.assert_allclose(there.curve_width, here.curve_width, rtol=1e-9)


def test_the_seed_decides_with_any_number_of_threads():
    data = detector()
    with fp.threads(1):
        one = found(fp.EER(), data, 0.02, seed=3).to_dict()
    assert found(fp.EER(), data, 0.02, seed=3).to_dict() == one
    other = found(fp.EER(), data, 0.02, seed=4).to_dict()
    assert other["pilot_width"] != one["pilot_width"]
    assert fp.sample_size(fp.EER(), data, 0.02).pilot.seed != 3


# What it cannot know


def test_the_rate_is_a_half_where_subsets_have_no_value():
    def of_many(predictions):
        weights = predictions.sample_weight
        weights = np.ones(len(predictions)) if weights is None else weights
        if weights.sum() < 60.0:
            raise ValueError("too few")
        return np.average(predictions.llrs, weights=weights)

    result = found(of_many, detector(100), 0.1, n_resamples=100)
    assert math.isnan(result.measured_exponent)
    assert result.exponent == 0.5
    assert result.n == math.ceil(100 * (result.pilot_width / 0.1) ** 2)


def test_few_errors_leave_much_open():
    few, many = detector(400, separation=2.0), detector(400, separation=0.5)
    with pytest.warns(RuntimeWarning, match="degrees of freedom below 8") as said:
        rough = found(fp.AUC(), few, 0.001)
    assert said[0].filename == __file__
    good = found(fp.AUC(), many, 0.01)
    assert rough.degrees_of_freedom < 8.0 < good.degrees_of_freedom
    spread = [result.interval.high / result.interval.low for result in (rough, good)]
    assert spread[0] > 2.0 * spread[1]


def test_bad_input():
    data = detector(200)
    for width in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(fp.ArgumentError, match=r"^width must be positive and finite, not"):
            fp.sample_size(MEAN, data, width)
    with pytest.raises(fp.ArgumentError, match=r"^width must be a number"):
        fp.sample_size(MEAN, data, "narrow")
    with pytest.raises(
        fp.ArgumentError, match=r"^width must be at least that of 1,000,0.* samples"
    ):
        fp.sample_size(MEAN, data, 1e-12)
    with pytest.raises(fp.ArgumentError, match=r"^width must be at most that of 32 samples"):
        found(MEAN, data, 1e3)  # 8 of which are targets
    with pytest.raises(ValueError, match=r"^metric"):
        fp.sample_size("nothing", data, 0.1)
    with pytest.raises(ValueError, match=r"^seed"):
        fp.sample_size(MEAN, data, 0.1, seed=-1)


def test_a_pilot_without_an_interval_is_refused():
    few = detector(20)
    message = "predictions must give EER an interval: at least 8 samples of each class are needed"
    with pytest.raises(fp.ArgumentError, match=message) as error:
        found(fp.EER(), few, 0.1)
    assert "larger pilot" in str(error.value)
    constant = fp.Predictions.from_posteriors([0, 1] * 20, [0.5] * 40)
    with pytest.raises(
        fp.ArgumentError, match=r"of a finite width above 0, not from 0\.25 to 0\.25"
    ):
        found(MEAN, constant, 0.1)
    llrs = np.where(np.arange(40) == 1, -np.inf, 1.0)
    infinite = fp.Predictions.from_llrs([0, 1] * 20, llrs)
    with pytest.raises(fp.ArgumentError, match="of a finite width above 0"):
        found(fp.Cllr(), infinite, 0.1)


# The result


def test_what_is_shown():
    result = found(fp.EER(), detector(), 0.02)
    content = result.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["name"] == "EER"
    assert content["low"] < content["n"] < content["high"]
    assert content["unit"] == "fraction"
    assert result.to_frame().columns == ["curve_n", "curve_width"]
    low, high = result.interval
    text = f"{result.n:,} samples ({low:,.0f} to {high:,.0f}) for a 95% interval of width 0.02"
    assert text in repr(result)
    assert f"{low:,.0f} to {high:,.0f}" in result._repr_html_()
