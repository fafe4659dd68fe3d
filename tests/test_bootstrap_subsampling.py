"""Intervals from subsets, and by the inverted test, against docs/reference/intervals.md."""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import fastpsr as fp
from tests import reference
from tests.replicates import Subsets, quietly, recorded, schemes, values_at

A = 1.0 / (2.0 ** (2.0 / 3.0) - 1.0)
ONE_TERM = (1.0 + A, -A, 0.0)
TWO_TERMS = (5.4048, -6.1072, 1.7024)  # printed in the note, to four digits
LINEAR = (2.0, -1.0, 0.0)
NO_BIAS = (1.0, 0.0, 0.0)

LOG = fp.rules.Log()
PAV_ON_TEST = fp.CalibrationLoss(LOG, fp.PAV(), fp.TrainOnTest())
N, N_IDS = 240, 24


class Rule(NamedTuple):
    """How a metric's interval is computed where samples, clusters and speakers are drawn."""

    metric: Any
    centers: tuple
    spreads: tuple
    scale: str
    most: float


NESTED, HALVES, ALL = ("nested",) * 3, ("halves",) * 3, ("all", "nested", "jackknife")
RULES = {
    "EER": Rule(fp.EER(), (ONE_TERM,) * 3, NESTED, "log", 0.5),
    "minDCF": Rule(fp.MinDCF(0.2), (ONE_TERM, ONE_TERM, LINEAR), ALL, "log", 1.0),
    "minCllr": Rule(fp.MinCllr(), (TWO_TERMS, ONE_TERM, ONE_TERM), NESTED, "log", 1.0),
    "AUC": Rule(fp.AUC(), (NO_BIAS,) * 3, ("halves", "nested", "nested"), "logit", 1.0),
    "PAV": Rule(PAV_ON_TEST, (TWO_TERMS, ONE_TERM, ONE_TERM), NESTED, "plain", math.inf),
    "affine": Rule(
        fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.TrainOnTest()), (LINEAR,) * 3,
        NESTED, "plain", math.inf,
    ),
    "MissRate": Rule(fp.MissRate(0.2), (NO_BIAS,) * 3, HALVES, "log", 1.0),
    "nearest": Rule(fp.EER("nearest"), (NO_BIAS,) * 3, HALVES, "log", 1.0),
    "threshold": Rule(fp.Threshold(fp.EER()), (NO_BIAS,) * 3, HALVES, "plain", math.inf),
}  # fmt: skip
DETECTION = ["EER", "minDCF", "minCllr", "AUC"]
DRAWN = {"IID": 0, "Stratified": 0, "Clusters": 1, "Nested": 1, "TwoWay": 2}


def sample(seed=0, *, weights=False):
    """Tied posteriors of overlapping classes, with weights of 0 among others."""
    rng = np.random.default_rng(seed)
    y = (np.random.default_rng(4).random(N) < 0.4).astype(int)
    z = np.round(rng.normal(size=N) + 1.2 * y - 0.6, 1)
    w = np.random.default_rng(5).choice([0.0, 0.4, 1.0, 2.5], N) if weights else None
    if weights:
        w[:N_IDS] = 1.5
    return fp.Predictions.from_logits(y, z, sample_weight=w)


def gaussian(n, distance, seed):
    y, rng = np.repeat([0, 1], n), np.random.default_rng(seed)
    scores = rng.normal(size=2 * n) + distance * y
    return fp.Predictions.from_llrs(y, distance * (scores - distance / 2.0))


def ids(n_ids=N_IDS):
    """Ids of both sides, of which each has a trial against itself."""
    columns = np.random.default_rng(9).integers(0, n_ids, (2, N))
    columns[:, :n_ids] = np.arange(n_ids)
    return columns


SCHEMES = schemes(*ids())


# The reference


def units_kept(weights, scheme):
    """The units of a subset, by number."""
    enroll, test = ids()
    if DRAWN[scheme] == 0:
        return frozenset(np.flatnonzero(weights > 0.0).tolist())
    rows = weights > 0.0 if DRAWN[scheme] == 1 else (weights > 0.0) & (enroll == test)
    return frozenset(enroll[rows].tolist())


def subsets_of(weights, scheme):
    return Subsets(weights, lambda of_samples: units_kept(of_samples, scheme))


def expected_intervals(rule, values, subsets, drawn, *, is_difference, level, df):
    """The least and the greatest interval, and the degrees of freedom, by the formulas.

    Which quarters of complementary halves are compared is not recorded, and matters for one metric,
    or where some are undefined. Degrees of freedom that are passed are taken as they are.
    """
    values = np.where(np.isfinite(values), values, np.nan)
    terms = (
        values[subsets.whole],
        np.nanmean(values[subsets.halves]),
        np.nanmean(values[subsets.quarters]),
    )
    center = np.dot(rule.centers[drawn], terms)
    without = values[subsets.without]
    psi = without[~np.isnan(without)] - np.nanmean(without)
    least, greatest = [], []
    for pair in subsets.pairs:
        a, b = pair
        if rule.spreads[drawn] == "halves":
            squares = [((values[a] - values[b]) / 2.0) ** 2]
        else:
            of_a, of_b = (
                [
                    values[half] + A * (values[half] - values[list(way)].mean())
                    for way in subsets.ways[half]
                ]
                for half in pair
            )
            assert len(of_a) == len(of_b) == 3
            contrasts = [(np.array(of_a) - order) / 2.0 for order in itertools.permutations(of_b)]
            if rule.spreads[drawn] == "all":
                squares = [np.mean(each**2) for each in contrasts]
            else:
                squares = [_mean(each) ** 2 for each in contrasts]
        least.append(np.min(squares))
        greatest.append(np.max(squares))
    errors, n_contrasts = [math.sqrt(np.nanmean(squares)) for squares in (least, greatest)], 56.0
    if rule.spreads[drawn] == "jackknife":
        errors, n_contrasts = [math.sqrt((psi.size - 1) / psi.size * (psi**2).sum())] * 2, math.inf
    kappa = (psi**4).sum() / (psi**2).sum() ** 2
    if df is None:
        df = float(np.clip(2.0 / (kappa - 1.0 / psi.size), 2.0, psi.size - 1.0))
    t = stats.t(1.0 / (1.0 / df + 1.0 / n_contrasts)).ppf((1.0 + level) / 2.0)
    scale = "plain" if is_difference else rule.scale
    most = math.inf if is_difference else rule.most
    ends = [ends_on(scale, min(center, most), t * error, most) for error in errors]
    return center, ends, df


def _mean(values):
    """Mean of the defined values; nan if there is none."""
    defined = values[~np.isnan(values)]
    return defined.mean() if defined.size else math.nan


def ends_on(scale, center, reach, most):
    if scale == "plain":
        return center - reach, center + reach
    if scale == "logit":
        ends = (logit(center) + sign * reach / (center * (1.0 - center)) for sign in (-1, 1))
        return tuple(map(expit, ends))
    return center * math.exp(-reach / center), min(center * math.exp(reach / center), most)


def assert_follows_the_formulas(rule, result, values, subsets, scheme, *, is_difference=False):
    center, ends, df = expected_intervals(
        rule, values, subsets, DRAWN[scheme], is_difference=is_difference,
        level=result.confidence_level,
        df=result.degrees_of_freedom if scheme == "Stratified" else None,
    )  # fmt: skip
    # the coefficients of two terms are known to four digits
    tolerance = 3e-4 if rule.centers[DRAWN[scheme]] is TWO_TERMS else 1e-9
    name = str(rule.metric)
    assert result.method == "subsampling"
    assert result.degrees_of_freedom == pytest.approx(df, rel=1e-7), name
    if not is_difference:
        least, most = rule.metric.value_range
        corrected = np.clip(center, least, min(rule.most, most))
        assert result.corrected == pytest.approx(corrected, rel=tolerance, abs=tolerance), name
        ends = [np.clip(each, least, most) for each in ends]
    (low, high), (widest_low, widest_high) = ends
    assert widest_low - tolerance <= result.interval.low <= low + tolerance, name
    assert high - tolerance <= result.interval.high <= widest_high + tolerance, name
    if rule.spreads[DRAWN[scheme]] == "all" or np.isnan(values).any():
        assert widest_high - high < 0.5 * (high - low)
    else:
        assert widest_high - high < 1e-9


@pytest.mark.parametrize(
    ("scheme", "weights", "level"),
    [("Clusters", True, 0.95), ("Nested", False, 0.8), ("TwoWay", False, 0.95)],
)  # fmt: skip
def test_intervals_follow_the_formulas(scheme, weights, level):
    data, rules = sample(weights=weights), list(RULES.values())
    rules = rules[:4] if scheme == "Nested" else rules
    metrics = [rule.metric for rule in rules]
    results, _, subsets = recorded(
        metrics, data, resampling=SCHEMES[scheme], method="subsampling", n_resamples=40, seed=5,
        confidence_level=level,
    )  # fmt: skip
    subsets = subsets_of(subsets, scheme)
    values = values_at(metrics, data, subsets.weights)
    for rule, result, of_metric in zip(rules, results, values, strict=True):
        assert_follows_the_formulas(rule, result, of_metric, subsets, scheme)


@pytest.mark.parametrize(
    ("scheme", "weights"),
    [("IID", False), ("IID", True), ("Stratified", False), ("Clusters", True), ("TwoWay", True)],
)
def test_differences_are_paired(scheme, weights):
    """The centers are those of each metric, also where samples are drawn."""
    a, b = sample(weights=weights), sample(seed=1, weights=weights)
    metrics = [RULES[name].metric for name in DETECTION]
    results, _, subsets = recorded(
        metrics, a, b, resampling=SCHEMES[scheme], method="subsampling", n_resamples=40, seed=5
    )
    subsets = subsets_of(subsets, scheme)
    values = np.subtract(*(values_at(metrics, data, subsets.weights) for data in (a, b)))
    for name, result, of_metric in zip(DETECTION, results, values, strict=True):
        assert_follows_the_formulas(
            RULES[name], result, of_metric, subsets, scheme, is_difference=True
        )


def test_intervals_of_samples_are_symmetric_on_the_scale_of_the_metric():
    data = gaussian(300, 1.5, 0)
    for name in ("EER", "minDCF", "MissRate", "AUC", "affine", "threshold"):
        rule = RULES[name]
        result = fp.bootstrap(rule.metric, data, method="subsampling", n_resamples=40, seed=5)
        low, high = result.interval
        center = (low + high) / 2.0
        if rule.scale == "log":
            center = math.sqrt(low * high)
        elif rule.scale == "logit":
            center = expit((logit(low) + logit(high)) / 2.0)
        assert result.corrected == pytest.approx(center, rel=1e-9), name
        if rule.centers[0] is NO_BIAS:
            assert center == pytest.approx(result.value, rel=1e-9), name


# What is drawn


@pytest.mark.parametrize("scheme", DRAWN)
def test_units_are_dealt_to_equal_shares(scheme):
    data = sample(weights=True)
    _, _, subsets = recorded(
        [], data, resampling=SCHEMES[scheme], method="subsampling", n_resamples=40, seed=3
    )
    subsets = subsets_of(subsets, scheme)
    assert len(subsets.halves) == 8 * 14
    assert len(subsets.quarters) == 8 * 28
    n = subsets.n_units
    present = data.sample_weight > 0.0
    assert n == (np.count_nonzero(present) if DRAWN[scheme] == 0 else N_IDS)
    assert scheme == "Stratified" or len(subsets.without) == n
    for n_shares, places in ((4, subsets.halves), (2, subsets.quarters)):
        groups = [np.ones(N, bool)]
        if scheme == "Stratified":
            groups = [data.y_true == 0, data.y_true == 1]
        for rows in groups:
            units = units_kept(present * rows, scheme)
            sizes = [len(subsets.kept[k] & units) for k in places]
            share = len(units) // 8
            assert n_shares * share <= min(sizes) <= max(sizes) <= n_shares * (share + 1)
    enroll, test = ids()
    for k in subsets.halves + subsets.quarters:
        kept = list(subsets.kept[k])
        times = subsets.weights[k][present] / data.sample_weight[present]
        if scheme != "TwoWay":
            assert set(np.round(times, 12)) == {0.0, 1.0}
            continue
        # trials of two speakers are fewer by the square of the share, and weigh more
        expected = np.where(enroll == test, 1.0, (n - 1) / (len(kept) - 1))
        expected = (expected * np.isin(enroll, kept) * np.isin(test, kept))[present]
        np.testing.assert_allclose(times / times.max(), expected / expected.max(), rtol=1e-6)


def test_more_than_400_units_are_left_out_in_groups():
    data = fp.Predictions.from_logits(np.arange(1_000) % 2, np.sin(np.arange(1_000.0)))
    _, _, subsets = recorded([], data, method="subsampling", n_resamples=40, seed=3)
    left_out = [frozenset(np.flatnonzero(each == 0.0).tolist()) for each in subsets]
    groups = [each for each in left_out if 0 < len(each) < 100]
    assert sorted(map(len, groups)) == [2] * 200 + [3] * 200
    assert sorted(itertools.chain.from_iterable(groups)) == list(range(1_000))


# Where there is no interval, or a poor one


def without_interval(metric, data, match, **options):
    with pytest.warns(RuntimeWarning, match=match):
        result = fp.bootstrap(metric, data, seed=0, n_resamples=100, **options)
    assert np.isnan(result.interval).all()
    assert not np.isnan(result.value)
    assert result.replicates.size == 100


@pytest.mark.parametrize("n_targets", [7, 8])
def test_eight_samples_of_a_class_are_enough(n_targets):
    y = np.arange(200) < n_targets
    data = fp.Predictions.from_llrs(y, np.random.default_rng(0).normal(size=200) + y)
    if n_targets == 7:
        message = "at least 8 samples of each class are needed, not 7.*percentile"
        without_interval(fp.EER(), data, message)
        result = fp.bootstrap(fp.EER(), data, seed=0, n_resamples=100, method="percentile")
    else:
        result = quietly(fp.bootstrap, fp.EER(), data, seed=0, n_resamples=100)
        assert result.method == "subsampling"
    assert result.interval.low < result.interval.high


@pytest.mark.parametrize("scheme", ["Clusters", "TwoWay"])
def test_eight_units_are_enough(scheme):
    units = {"Clusters": "clusters", "TwoWay": "speakers"}[scheme]
    message = f"EER has no interval: at least 8 {units} are needed, not 7"
    without_interval(fp.EER(), sample(), message, resampling=schemes(*ids(7))[scheme])
    with pytest.warns(RuntimeWarning, match="^few samples or speakers"):
        result = fp.bootstrap(
            fp.EER(), sample(), resampling=schemes(*ids(8))[scheme], seed=0, n_resamples=100
        )
    assert result.method == "subsampling"
    assert result.interval.low < result.interval.high


def test_values_without_a_spread_have_no_interval():
    y = np.arange(100) % 2
    separated = fp.Predictions.from_llrs(y, y + np.random.default_rng(0).random(100) / 2.0)
    without_interval(fp.EER(), separated, "EER has no interval: .*the same value in all subsets")
    huge = fp.Predictions.from_raw_scores(sample().y_true, sample().scores * 1e307)
    metric = fp.Threshold(fp.MissRate(0.2))
    message = "has no interval: .* too near the largest float"
    without_interval(metric, huge, message, method="subsampling")


def test_a_few_bad_speakers_are_warned_of():
    """One of 40 speakers has all errors."""
    rng = np.random.default_rng(0)
    speakers = np.repeat(np.arange(40), 50)
    y = np.tile(np.arange(50) < 10, 40)
    scores = rng.normal(size=y.size) + np.where(speakers == 0, 0.0, 6.0) * y
    data = fp.Predictions.from_llrs(y, scores)
    with pytest.warns(RuntimeWarning, match=r"few samples or speakers determine .*AUC \(2\.\d\)"):
        result = fp.bootstrap(fp.AUC(), data, resampling=fp.Clusters(speakers), seed=0)
    assert result.degrees_of_freedom == pytest.approx(2.0, abs=0.3)


def test_undefined_subsets_are_left_out():
    """A class that 5 of 30 clusters have is missing from some quarters."""
    enroll, _ = ids()
    rng = np.random.default_rng(2)
    y = (rng.random(N) < 0.5) & (enroll < 5)
    data = fp.Predictions.from_logits(y, np.round(rng.normal(size=N) + y, 1))
    (result,), _, subsets = recorded(
        [fp.EER()], data, resampling=SCHEMES["Clusters"], method="subsampling", n_resamples=40,
        seed=5,
    )  # fmt: skip
    subsets = subsets_of(subsets, "Clusters")
    (values,) = values_at([fp.EER()], data, subsets.weights)
    assert np.isnan(values[subsets.quarters]).any()
    assert_follows_the_formulas(RULES["EER"], result, values, subsets, "Clusters")


def test_infinite_subsets_are_left_out():
    """In some quarters of 24 samples a threshold is infinite: the values on them have no mean."""
    y = np.arange(24) % 2
    scores = np.random.default_rng(0).normal(size=24) + 2.0 * y
    data = fp.Predictions.from_raw_scores(y, scores)
    metric = fp.Threshold(fp.MissRate(0.05))
    result = quietly(fp.bootstrap, metric, data, method="subsampling", n_resamples=40, seed=0)
    low, high = result.interval
    assert low < high
    assert (low + high) / 2.0 == pytest.approx(result.value)  # it has no bias to correct


# The inverted test


def errors_of_bins(metric, data, weights):
    """Share of a bin times the difference of frequency and mean confidence, for each bin."""
    q = data.posteriors
    values, hits = q[:, 1], data.y_true
    if metric.on == "confidence":
        values, hits = q.max(axis=1), q.argmax(axis=1) == data.y_true
    edges = reference.uniform_edges(metric.bins)
    if metric.binning == "quantile":
        edges = reference.quantile_edges(values, weights, metric.bins)
    totals, errors = np.transpose(reference.totals_of_bins(values, hits, weights, edges))
    if metric.norm == 1:
        return errors / weights.sum()
    return errors / np.sqrt(np.maximum(totals, 1e-300) * weights.sum())


def inverted_test(errors, noise, norm, level):
    """The ends by a fine search, without interpolation."""
    tail = (1.0 - level) / 2.0
    observed = np.linalg.norm(errors, norm)

    def norms(at):
        return np.linalg.norm(at + noise, norm, axis=1)

    low = next(
        step
        for step in np.linspace(0.0, 1.0, 1_001)
        if (norms(step * errors) >= observed).mean() > tail
    )
    farthest = np.copysign(np.maximum(np.abs(errors), noise.std(axis=0)), errors)
    steps = [
        step for step in np.linspace(0.0, 10.0, 2_001)
        if (norms(step * farthest) <= observed).mean() > tail
    ]  # fmt: skip
    # where even no errors at all are rejected, noise exceeds what was observed
    high = max(steps) * np.linalg.norm(farthest, norm) if steps else observed
    return low * observed, high


@pytest.mark.parametrize(
    ("metric", "scale", "level"),
    [(fp.ECE(6), 1.0, 0.95), (fp.ECE(6), 3.0, 0.8), (fp.ECE(6, norm=2), 3.0, 0.95),
     (fp.ECE(5, binning="quantile"), 2.0, 0.95), (fp.ECE(5, "confidence"), 3.0, 0.9),
     (fp.ECE(4, "confidence", 2, "quantile"), 3.0, 0.8)],
    ids=str,
)  # fmt: skip
def test_the_inverted_test_is_a_search(metric, scale, level):
    data = sample(weights=True)
    data = fp.Predictions.from_logits(
        data.y_true, scale * data.log_odds, sample_weight=data.sample_weight
    )
    (result,), replicates, _ = recorded(
        [metric], data, resampling=SCHEMES["Clusters"], seed=1, n_resamples=250,
        confidence_level=level,
    )  # fmt: skip
    errors = errors_of_bins(metric, data, data.sample_weight)
    noise = np.array([errors_of_bins(metric, data, weights) for weights in replicates]) - errors
    assert result.method == "inverted test"
    assert result.value == pytest.approx(np.linalg.norm(errors, metric.norm), rel=1e-9)
    noise *= math.sqrt(N_IDS / (N_IDS - 1))
    expected = inverted_test(errors, noise, metric.norm, level)
    # shares of 250 replicates are steps, between which the grid of 80 is interpolated
    farthest = np.maximum(np.abs(errors), noise.std(axis=0))
    width = np.linalg.norm(farthest, metric.norm)
    np.testing.assert_allclose(result.interval, expected, atol=0.03 * width)


def test_perfect_calibration_has_an_interval_from_zero():
    rng = np.random.default_rng(0)
    q = rng.random(2_000)
    data = fp.Predictions.from_posteriors(rng.random(2_000) < q, q)
    result = fp.bootstrap(fp.ECE(), data, seed=0)
    assert result.method == "inverted test"
    assert result.interval.low == 0.0
    assert 0.0 < result.interval.high < 2.0 * result.value


@pytest.mark.parametrize("scheme", ["IID", "Clusters", "TwoWay"])
def test_differences_of_calibration_errors(scheme):
    a = sample()
    b = fp.Predictions.from_logits(a.y_true, 2.0 * a.log_odds + sample(seed=1).log_odds)
    options = {"resampling": SCHEMES[scheme], "seed": 3, "n_resamples": 200}
    result = fp.compare(fp.ECE(), a, b, **options)
    assert result.method == "inverted test"
    assert result.interval.low < result.interval.high
    if scheme != "IID":  # else a metric alone has draws of its own
        sides = [fp.bootstrap(fp.ECE(), side, **options) for side in (a, b)]
        rho = np.corrcoef([side.replicates for side in sides])[0, 1]
        middle = sum(sides[0].interval) / 2.0 - sum(sides[1].interval) / 2.0
        of_a, of_b = ((side.interval.high - side.interval.low) / 2.0 for side in sides)
        reach = math.sqrt(of_a**2 + of_b**2 - 2.0 * rho * of_a * of_b)
        np.testing.assert_allclose(result.interval, [middle - reach, middle + reach], rtol=1e-9)
    assert fp.compare(fp.ECE(), a, a, **options).interval == (0.0, 0.0)
    turned = fp.compare(fp.ECE(), b, a, **options).interval
    np.testing.assert_allclose(turned, [-result.interval.high, -result.interval.low], rtol=1e-9)
