"""How many samples, clusters or speakers an interval of a given width needs."""

import math

import numpy as np
import pytest
from scipy import stats

import fastpsr as fp
from tests.replicates import Subsets

MEAN = fp.BrierScore(normalized=False)
METRICS = [MEAN, fp.AUC(), fp.EER(), fp.MinDCF(0.1), fp.MinCllr(), fp.ECE()]
by_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.label)


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


def size(metric, data, width, **options):
    return fp.sample_size(metric, data, width, **{"seed": 0, **options})


# The number


@by_metric
def test_the_width_of_the_pilot_needs_the_pilot_and_a_narrower_one_more(metric):
    data = detector()
    pilot_width = width_of(metric, data)
    results = [size(metric, data, pilot_width * share) for share in (1.5, 1.0, 0.5, 0.01)]
    same = results[1]
    assert (same.n, same.pilot_n, same.factor) == (800, 800, 1.0)
    assert (same.n_targets, same.n_nontargets) == (200, 600)
    assert same.pilot_width == pilot_width
    assert same.interval.low < 800 < same.interval.high
    assert (np.diff([result.n for result in results]) > 0).all()
    for result in results:
        assert (np.diff(result.curve_n) > 0.0).all()
        assert (np.diff(result.curve_width) < 0.0).all()
        assert result.curve_n[0] <= min(result.n, 800) <= max(result.n, 800) <= result.curve_n[-1]
        between = np.interp(math.log(result.n), np.log(result.curve_n), result.curve_width)
        assert between == pytest.approx(result.width, rel=0.02)


def test_of_a_mean_the_rate_is_a_half():
    data = detector()  # for any data: 800 are divided by 8
    result = size(MEAN, data, width_of(MEAN, data) / 3.0)
    assert result.measured_exponent == pytest.approx(0.5, abs=1e-9)
    assert result.exponent == pytest.approx(0.5, abs=1e-9)
    assert result.n == 7_200
    df, of_variance = result.degrees_of_freedom, stats.chi2(result.degrees_of_freedom)
    assert 40.0 < df < 399.0
    low, high = (7_200 * df / of_variance.ppf(p) for p in (0.975, 0.025))
    assert result.interval == pytest.approx((low, high))


class Recorded:
    """A metric of the user's own that keeps the weights and values with which it is called."""

    def __init__(self, metric):
        self.metric, self.weights, self.values = metric, [], []

    def __call__(self, predictions):
        value = self.metric(predictions)
        if predictions.sample_weight is not None:
            self.weights.append(np.array(predictions.sample_weight))
            self.values.append(value)
        return value


def shares_of_variance(result):
    """Parts of the variance that fall with the number of units, and with its square."""
    variances = 4.0 ** np.array([0.0, result.measured_exponent])
    of_units, of_pairs = np.linalg.solve([[2.0, 4.0], [4.0, 16.0]], variances)
    parts = np.array([2.0 * of_units, 4.0 * of_pairs]) * [0.5, 0.25]  # at the size of the pilot
    return np.array([1.0, 0.0]) if parts[1] < 0.0 else parts / parts.sum()


@pytest.mark.parametrize(
    "metric", [fp.EER(), fp.MinCllr(), fp.CrossEntropy(False)], ids=lambda metric: metric.label
)
def test_the_rate_follows_from_halves_and_quarters(metric):
    ids = np.arange(480) // 12
    data, recorded = detector(480, seed=2), Recorded(metric)
    result = size(recorded, data, 0.01, n_resamples=100, resampling=fp.Clusters(ids))
    subsets = [
        (weights, value)
        for weights, value in zip(recorded.weights, recorded.values, strict=True)
        if weights.max() == 1.0
    ]
    whole = np.ones(480), metric(data)
    dealt = Subsets(
        [weights for weights, _ in [whole, *subsets]],
        lambda weights: frozenset(ids[weights > 0.0].tolist()),
    )
    values = {weights.tobytes(): value for weights, value in [whole, *subsets]}
    values = np.array([values[weights.tobytes()] for weights in dealt.weights])
    assert len(dealt.pairs) == 8 * 7
    of_halves = np.mean([np.diff(values[list(pair)]) ** 2 for pair in dealt.pairs])
    of_quarters = np.mean([
        np.diff(values[list(way)]) ** 2 for ways in dealt.ways.values() for way in ways
    ])  # fmt: skip
    measured = math.log2(of_quarters / of_halves) / 2.0
    assert result.measured_exponent == pytest.approx(measured, abs=1e-9)
    of_units, of_pairs = shares_of_variance(result)
    assert result.exponent == pytest.approx(of_units / 2.0 + of_pairs)
    # intervals of percentiles are proportional to the standard error
    share = math.sqrt(of_units / result.factor + of_pairs / result.factor**2)
    assert share * result.pilot_width == pytest.approx(0.01, rel=2.0 / result.n)


# What is counted


def test_speakers_are_counted():
    data, scheme = speakers()
    result = size(MEAN, data, width_of(MEAN, data, resampling=scheme) / 4.0, resampling=scheme)
    assert (result.drawn, result.pilot_n) == ("speakers", 24)
    assert 0.5 < result.exponent <= 1.0  # trials vary, too, and their number grows faster
    assert 24 * 4 < result.n < 24 * 16
    assert result.n_targets == 10 * result.n
    n_pairs = result.n * (result.n - 1) / (24 * 23)
    assert result.n_nontargets == round(5 * 24 * 24 * n_pairs)


def test_samples_of_no_weight_are_not_counted():
    weights = np.ones(800)
    weights[400:] = 0.0
    weighted = size(MEAN, detector(sample_weight=weights), 0.05)
    bare = size(MEAN, detector()[:400], 0.05)
    assert (weighted.pilot_n, weighted.n) == (400, bare.n)
    assert weighted.n_targets == bare.n_targets


def test_more_classes_have_no_targets():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    data = fp.Predictions.from_logits(y, rng.normal(size=(300, 3)) + np.eye(3)[y])
    result = size(fp.CrossEntropy(), data, 0.1)
    assert (result.n_targets, result.n_nontargets) == (None, None)
    assert result.n > 300


# What it cannot know


def test_the_rate_is_a_half_where_subsets_have_no_value():
    def of_many(predictions):
        weights = predictions.sample_weight
        weights = np.ones(len(predictions)) if weights is None else weights
        if weights.sum() < 60.0:
            raise ValueError("too few")
        return np.average(predictions.llrs, weights=weights)

    result = size(of_many, detector(100), 0.1, n_resamples=100)
    assert math.isnan(result.measured_exponent)
    assert result.exponent == 0.5
    assert result.n == math.ceil(100 * (result.pilot_width / 0.1) ** 2)


def test_few_errors_leave_much_open():
    few, many = detector(400, separation=2.0), detector(400, separation=0.5)
    with pytest.warns(RuntimeWarning, match="degrees of freedom below 8") as caught:
        rough = size(fp.AUC(), few, 0.001)
    assert caught[0].filename == __file__
    good = size(fp.AUC(), many, 0.01)
    assert rough.degrees_of_freedom < 8.0 < good.degrees_of_freedom
    spread = [result.interval.high / result.interval.low for result in (rough, good)]
    assert spread[0] > 2.0 * spread[1]


def test_widths_that_no_or_every_size_has():
    data = detector(200)
    with pytest.raises(fp.ArgumentError, match=r"^width must be at least that of 1,000,0.*samples"):
        fp.sample_size(MEAN, data, 1e-12)
    with pytest.raises(fp.ArgumentError, match=r"^width must be at most that of 32 samples"):
        size(MEAN, data, 1e3)  # 8 of which are targets


def test_a_pilot_without_an_interval_is_refused():
    few = detector(20)
    message = "predictions must give EER an interval: at least 8 samples of each class are needed"
    with pytest.raises(fp.ArgumentError, match=message) as error:
        size(fp.EER(), few, 0.1)
    assert "larger pilot" in error.value.remedy
    constant = fp.Predictions.from_posteriors([0, 1] * 20, [0.5] * 40)
    llrs = np.where(np.arange(40) == 1, -np.inf, 1.0)
    infinite = fp.Predictions.from_llrs([0, 1] * 20, llrs)
    for metric, data in ((MEAN, constant), (fp.Cllr(), infinite)):
        with pytest.raises(fp.ArgumentError, match="of a finite width above 0"):
            size(metric, data, 0.1)
