"""Intervals from subsets and inverted tests, against references that go the long way."""

import itertools
import math
import warnings
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import hadamard

import fastpsr as fp
from fastpsr import kernels
from fastpsr.bootstrap.evidence import gather
from fastpsr.bootstrap.inverted_test import inverted_interval
from fastpsr.bootstrap.job import Sum
from fastpsr.bootstrap.settings import Intervals
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.plans import Part
from tests.drawn import draws_rows, prepared, sums_of, units_of

A = 1.0 / (2.0 ** (2.0 / 3.0) - 1.0)
ONE_TERM = (1.0 + A, -A, 0.0)
TWO_TERMS = (5.4048, -6.1072, 1.7024)  # printed in the note, to four digits
LINEAR = (2.0, -1.0, 0.0)
NO_BIAS = (1.0, 0.0, 0.0)

LOG = fp.rules.Log()
PAV_ON_TEST = fp.CalibrationLoss(LOG, fp.PAV(), fp.TrainOnTest())
AFFINE_ON_TEST = fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.TrainOnTest())

#: Center for samples, clusters and speakers; spread for samples; scale; largest value.
RULES = [
    (fp.EER(), ONE_TERM, ONE_TERM, ONE_TERM, "nested", "log", 0.5),
    (fp.MinDCF(0.2), ONE_TERM, ONE_TERM, LINEAR, "all", "log", 1.0),
    (fp.MinCllr(), TWO_TERMS, ONE_TERM, ONE_TERM, "nested", "log", 1.0),
    (fp.AUC(), NO_BIAS, NO_BIAS, NO_BIAS, "halves", "rest", 1.0),
    (PAV_ON_TEST, TWO_TERMS, ONE_TERM, ONE_TERM, "nested", "plain", math.inf),
    (AFFINE_ON_TEST, LINEAR, LINEAR, LINEAR, "nested", "plain", math.inf),
    (fp.MissRate(0.2), NO_BIAS, NO_BIAS, NO_BIAS, "halves", "log", 1.0),
    (fp.EER("nearest"), NO_BIAS, NO_BIAS, NO_BIAS, "halves", "log", 1.0),
    (fp.Threshold(fp.EER()), NO_BIAS, NO_BIAS, NO_BIAS, "halves", "plain", math.inf),
]
NAMES = ["EER", "minDCF", "minCllr", "AUC", "PAV", "affine", "MissRate", "nearest", "threshold"]


def sample(n=360, seed=0, *, weights=False):
    """Tied posteriors of overlapping classes, with weights of 0 among others."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    z = np.round(rng.normal(size=n) + 1.2 * y - 0.6, 1)
    w = rng.choice([0.0, 0.4, 1.0, 2.5], n) if weights else None
    return fp.Predictions.from_logits(y, z, sample_weight=w)


def ids_of(n=360, n_ids=30):
    return np.random.default_rng(9).integers(0, n_ids, (2, n))


def schemes(n=360):
    one, other = ids_of(n)
    return {
        "iid": fp.IID(), "stratified": fp.Stratified(), "clusters": fp.Clusters(one),
        "nested": fp.Nested(one), "two-way": fp.TwoWay(one, other),
    }  # fmt: skip


def sorted_by_group(metric, data):
    """Where a metric needs counts of groups alone, these are dealt, as rows sorted by group."""
    sums = sums_of(metric, data)
    if sums is None or sums.n_sums:
        return data
    rows = np.argsort(sums.groups(Part.whole(data)), kind="stable")
    return fp.Predictions.from_logits(data.y_true[rows], data.scores[rows])


def subsampled(metric, data, scheme, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return fp.bootstrap(
            metric, data, resampling=scheme, method="subsampling",
            **{"n_resamples": 40, "seed": 5, **options},
        )  # fmt: skip


# The reference


def values_of(metrics, systems, scheme, seed=5):
    """Values, by the set of kept shares of a deal; and without each group of units."""
    units = units_of(scheme, systems[0]).independent
    drawn = units.name

    def value(deals, number):
        times = deals.of_rows(Part.whole(systems[0]), number)
        found = []
        for metric, data in zip(metrics, systems, strict=True):
            weights = times if data.sample_weight is None else times * data.sample_weight
            kept = weights > 0.0
            subset = fp.Predictions.from_logits(
                data.y_true[kept], data.scores[kept], sample_weight=weights[kept]
            )
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)  # of fits with a negative scale
                    found.append(metric(subset))
            except ValueError:
                found.append(math.nan)
        return found

    sets = [frozenset(np.flatnonzero(row == s)) for row in hadamard(8)[1:] for s in (1, -1)]
    sets += [frozenset(pair) for pair in itertools.combinations(range(8), 2)]
    keeps = np.array([[share in kept for share in range(8)] for kept in sets])
    deals = SubsetDraws(units, keeps, seed, 8)
    by_deal = [
        {kept: value(deals, deal * len(sets) + k) for k, kept in enumerate(sets)}
        for deal in range(8)
    ]
    n_units = int(units.n_in_strata.sum())
    others = SubsetDraws(units, ~np.eye(min(400, n_units), dtype=bool), seed)
    without = [value(others, group) for group in range(others.n_replicates)]
    return by_deal, without, drawn


def reference(rules, signs, systems, scheme, level=0.95):
    """The interval and its degrees of freedom, from the formulas of docs/reference/intervals.md."""
    metrics = [rule[0] for rule in rules]
    by_deal, without, drawn = values_of(metrics, systems, scheme)
    column = {"samples": 1, "clusters": 2, "speakers": 3}[drawn]
    full = [metric(data) for metric, data in zip(metrics, systems, strict=True)]
    halves, quarters = defaultdict(list), defaultdict(list)
    for deal in by_deal:
        for kept, values in deal.items():
            for k, own in enumerate(values):
                (halves if len(kept) == 4 else quarters)[k].append(own)
    center = 0.0
    for k, (rule, sign) in enumerate(zip(rules, signs, strict=True)):
        x, y, z = rule[column]
        center += sign * (x * full[k] + y * np.nanmean(halves[k]) + z * np.nanmean(quarters[k]))
    _, _, _, of_speakers, spread, scale, most = rules[0]
    if len(rules) > 1:
        scale, most = "plain", math.inf
    center = min(center, most)
    is_point = isinstance(getattr(rules[0][0], "metric", rules[0][0]), (fp.EER, fp.MissRate))
    is_nested = drawn != "samples" and not (is_point and spread == "halves")
    spread = "nested" if is_nested else spread

    def total(values):
        return sum(sign * own for sign, own in zip(signs, values, strict=True))

    psi = np.array([total(values) for values in without])
    psi = psi[~np.isnan(psi)] - np.nanmean(psi)
    squares = []
    for deal in by_deal:
        for half in (kept for kept in deal if len(kept) == 4 and 0 in kept):
            rest = frozenset(range(8)) - half
            if spread == "halves":
                squares.append(((total(deal[half]) - total(deal[rest])) / 2.0) ** 2)
                continue
            corrected = []
            for side in (half, rest):
                first, *others = sorted(side)
                ways = [frozenset((first, other)) for other in others]
                own = total(deal[side])
                corrected.append([
                    own + A * (own - (total(deal[way]) + total(deal[side - way])) / 2.0)
                    for way in ways
                ])  # fmt: skip
            difference = (np.array(corrected[0]) - np.array(corrected[1])) / 2.0
            if spread == "all":
                squares += list(difference**2)
            elif not np.isnan(difference).all():
                squares.append(np.nanmean(difference) ** 2)
    error, contrasts = math.sqrt(np.nanmean(squares)), 8.0 * 7.0
    if drawn == "speakers" and of_speakers is LINEAR and rules[0][0] is not AFFINE_ON_TEST:
        error, contrasts = math.sqrt((psi.size - 1) / psi.size * (psi**2).sum()), math.inf
    kappa = (psi**4).sum() / (psi**2).sum() ** 2
    df = float(np.clip(2.0 / (kappa - 1.0 / psi.size), 2.0, psi.size - 1.0))
    reach = stats.t(1.0 / (1.0 / df + 1.0 / contrasts)).ppf((1.0 + level) / 2.0) * error
    if scale == "plain":
        return center - reach, center + reach, df
    if scale == "rest":
        rest = 1.0 - center
        most_rest = min(rest * math.exp(reach / rest), 1.0)
        return 1.0 - most_rest, 1.0 - rest * math.exp(-reach / rest), df
    low, high = center * math.exp(-reach / center), center * math.exp(reach / center)
    return low, min(high, most), df


QUICK = ("iid", "clusters", "two-way")  # a center of its own each
by_scheme = pytest.mark.parametrize(
    "scheme",
    [pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow) for each in schemes()],
)


def rules_by_scheme():
    """All rules; single scores are dealt in an order of their own where they decide the value."""
    for place, (name, rule) in enumerate(zip(NAMES, RULES, strict=True)):
        for scheme, chosen in schemes().items():
            if not (draws_rows(chosen) and name in ("nearest", "threshold")):
                is_quick = scheme in QUICK and (place + QUICK.index(scheme)) % 2 == 0
                marks = [] if is_quick else pytest.mark.slow
                yield pytest.param(rule, scheme, id=f"{name}-{scheme}", marks=marks)


@pytest.mark.parametrize(("rule", "scheme"), list(rules_by_scheme()))
def test_intervals_follow_the_formulas(rule, scheme):
    data, chosen = sample(), schemes()[scheme]
    found = subsampled(rule[0], data, chosen)
    if draws_rows(chosen):
        data = sorted_by_group(rule[0], data)
    low, high, df = reference([rule], [1.0], [data], chosen)
    # the coefficients of two terms are known to four digits
    tolerance = 2e-4 if rule[1] is TWO_TERMS and scheme in ("iid", "stratified") else 1e-9
    assert found.method == "subsampling"
    assert found.degrees_of_freedom == pytest.approx(df, rel=1e-7)
    low, high = np.clip([low, high], *rule[0].value_range)
    np.testing.assert_allclose(found.interval, [low, high], rtol=tolerance, atol=tolerance)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scheme", schemes())
@pytest.mark.parametrize("rule", [RULES[0], RULES[3]], ids=["EER", "AUC"])
def test_weights_are_kept(rule, scheme):
    data, chosen = sample(weights=True), schemes()[scheme]
    found = subsampled(rule[0], data, chosen, confidence_level=0.8)
    low, high, df = reference([rule], [1.0], [data], chosen, 0.8)
    assert found.degrees_of_freedom == pytest.approx(df, rel=1e-7)
    np.testing.assert_allclose(found.interval, [low, high], rtol=1e-9)


@pytest.mark.in_turn(3)
@by_scheme
@pytest.mark.parametrize("rule", RULES[:4], ids=NAMES[:4])
def test_differences_are_paired(rule, scheme):
    a, b = sample(), sample(seed=1)
    b = fp.Predictions.from_logits(a.y_true, b.scores + a.scores)
    chosen = schemes()[scheme]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = fp.compare(rule[0], a, b, resampling=chosen, n_resamples=40, seed=5)
    low, high, df = reference([rule, rule], [1.0, -1.0], [a, b], chosen)
    tolerance = 2e-4 if rule[1] is TWO_TERMS and scheme in ("iid", "stratified") else 1e-9
    assert found.degrees_of_freedom == pytest.approx(df, rel=1e-7)
    np.testing.assert_allclose(found.interval, [low, high], rtol=tolerance, atol=tolerance)


# What is drawn


@pytest.mark.parametrize("n_deals", [1, 3])
@pytest.mark.parametrize("scheme", schemes())
def test_units_are_dealt_to_equal_shares(scheme, n_deals):
    data, chosen = sample(weights=True), schemes()[scheme]
    units = units_of(chosen, data)
    units = units.independent
    part = Part.whole(data)
    deals = SubsetDraws(units, np.eye(8, dtype=bool), 3, n_deals)
    first, _ = units.numbers(part)
    present = data.weights > 0.0
    seen = set()
    for deal in range(n_deals):
        shares = np.array([deals.of_rows(part, 8 * deal + k) > 0.0 for k in range(8)])
        if scheme == "two-way":  # trials of two speakers lie in a share if both do
            shares = np.array([shares[:, first == unit].any(axis=1) for unit in range(30)]).T
            assert (shares.sum(axis=0) <= 1).all()
            continue
        assert (shares[:, present].sum(axis=0) == 1).all()
        of_rows = shares.argmax(axis=0)
        seen.add(of_rows.tobytes())
        if scheme in ("clusters", "nested"):
            of_units = [set(of_rows[(first == unit) & present]) for unit in range(30)]
            assert max(map(len, of_units)) == 1
            sizes = np.bincount([min(own) for own in of_units], minlength=8)
        else:
            sizes = np.bincount(of_rows[present], minlength=8)
        assert np.ptp(sizes) <= 1 + (scheme == "stratified")
        if scheme == "stratified":
            for label in (0, 1):
                own = of_rows[present & (data.labels == label)]
                assert np.ptp(np.bincount(own, minlength=8)) <= 1
    assert scheme == "two-way" or len(seen) == n_deals


@pytest.mark.parametrize("n_kept", [2, 4, 7])
def test_trials_of_two_speakers_weigh_more(n_kept):
    """A share p of the speakers keeps p of the trials of one speaker, and p^2 of the others."""
    one, other = ids_of()
    other[:100] = one[:100]
    data = sample()
    units = units_of(fp.TwoWay(one, other), data)
    keeps = np.arange(8)[None] < n_kept
    times = SubsetDraws(units, keeps, 1).of_rows(Part.whole(data), 0)
    kept = set(one[:100][times[:100] > 0.0])
    # speakers without a trial of their own may be kept, too
    n_units = 30
    of_one, of_two = (set(times[own & (times > 0.0)]) for own in (one == other, one != other))
    assert len(of_one) == len(of_two) == 1
    ratio = of_two.pop() / of_one.pop()
    size = 1.0 + (n_units - 1) / ratio
    assert size == pytest.approx(round(size))
    assert len(kept) <= round(size) <= -(-n_units // 8) * n_kept


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("n_shares", [8, 400])
@pytest.mark.parametrize("sizes", [(30, 9), (1 << 14, 700), (40_000, 20_001), (0, 65_536)])
@pytest.mark.parametrize("n_at_once", [5_000, 1 << 20])
def test_counts_are_dealt_as_their_rows(n_at_once, sizes, n_shares, monkeypatch):
    monkeypatch.setattr("fastpsr.kernels.dealing._PIECE", n_at_once)
    rng = np.random.default_rng(0)
    sizes = np.array(sizes, np.int64)
    strata = np.repeat(np.arange(2), sizes).astype(np.uint8)
    for seed in range(3):
        dealing = kernels.shuffle_ranks(sizes, np.random.default_rng(seed))
        share = kernels.deal_ranks(
            strata, np.empty(0), np.zeros(2, np.int64), sizes, np.zeros(2, np.int64), *dealing,
            n_shares,
        )  # fmt: skip
        cuts = [np.sort(rng.integers(0, size + 1, 6)) for size in sizes]
        bounds = np.concatenate([[0], cuts[0], sizes[:1], sizes[0] + cuts[1], [sizes.sum()]])
        groups = np.repeat(np.arange(14), np.diff(bounds))
        expected = np.zeros((n_shares, 14), np.int64)
        np.add.at(expected, (share, groups), 1)
        whole = np.array([[0, 0, sizes[0]], [1, 0, sizes[1]]])
        first = sizes[0] // 7
        dealt = (np.diff(bounds), whole, sizes, *dealing, n_shares)
        np.testing.assert_array_equal(kernels.deal_counts(*dealt), expected)
        for some in (range(n_shares), range(n_shares // 3, n_shares // 2)):
            found, ends = kernels.deal_groups(*dealt, some)
            own = [groups[share == k] for k in some]
            np.testing.assert_array_equal(found, np.concatenate(own))
            np.testing.assert_array_equal(np.diff(ends), [rows.size for rows in own])
        # some of the rows of each stratum
        pieces = np.array([[0, first, (sizes[0] - first) // 2], [1, sizes[1] // 3, sizes[1] // 2]])
        rows = np.concatenate([
            np.arange(n) + rank + (sizes[0] if stratum else 0) for stratum, rank, n in pieces
        ])  # fmt: skip
        own = np.bincount(groups[rows], minlength=14)
        np.testing.assert_array_equal(
            kernels.deal_counts(own, pieces, *dealt[2:]),
            np.array([np.bincount(groups[rows[share[rows] == k]], minlength=14)
                      for k in range(n_shares)]),
        )  # fmt: skip
        found, ends = kernels.deal_groups(own, pieces, *dealt[2:], range(1, n_shares))
        expected = [groups[rows[share[rows] == k]] for k in range(1, n_shares)]
        np.testing.assert_array_equal(found, np.concatenate(expected))
        np.testing.assert_array_equal(np.diff(ends), [each.size for each in expected])


# What does not matter

DETECTION = [fp.EER(), fp.MinDCF(0.2), fp.MinCllr(), fp.AUC()]


def in_parts(data, cuts=(0, 70, 70, 71, 200, 360)):
    one, other = ids_of(len(data))
    return fp.from_parts(
        (data[a:b], {"one": one[a:b], "other": other[a:b]}) for a, b in itertools.pairwise(cuts)
    )


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("scheme", schemes())
def test_parts_give_the_intervals_of_memory(scheme, weights):
    data = sample(weights=weights)
    named = {"clusters": fp.Clusters("one"), "nested": fp.Nested("one"),
             "two-way": fp.TwoWay("one", "other")}  # fmt: skip
    here = subsampled(DETECTION, data, schemes()[scheme])
    there = subsampled(DETECTION, in_parts(data), named.get(scheme, schemes()[scheme]))
    for one, other in zip(here, there, strict=True):
        if weights:  # class weights are summed in another order
            np.testing.assert_allclose(one.interval, other.interval, rtol=1e-12)
        else:
            assert one.interval == other.interval
            assert one.degrees_of_freedom == other.degrees_of_freedom


@by_scheme
def test_threads_and_other_metrics_change_no_bit(scheme):
    data, chosen = sample(), schemes()[scheme]
    metrics = [*DETECTION, PAV_ON_TEST]
    with fp.threads(1):
        one = subsampled(metrics, data, chosen)
    with fp.threads(2):
        two = subsampled(metrics, data, chosen)
    others = subsampled(metrics, data, chosen, seed=6)
    for metric, first, second, other in zip(metrics, one, two, others, strict=True):
        assert first.interval == second.interval
        assert first.interval == subsampled(metric, data, chosen).interval
        assert first.interval != other.interval


@pytest.mark.parametrize("scheme", ["clusters", "two-way"])
def test_order_and_copies_of_rows_do_not_matter(scheme):
    data, (one, other) = sample(), ids_of()

    def intervals(rows, weights=None):
        chosen = fp.Clusters(one[rows])
        if scheme == "two-way":
            chosen = fp.TwoWay(one[rows], other[rows])
        made = fp.Predictions.from_logits(
            data.y_true[rows], data.scores[rows], sample_weight=weights
        )
        return np.array([found.interval for found in subsampled(DETECTION, made, chosen)])

    plain = intervals(np.arange(360))
    np.testing.assert_allclose(intervals(np.random.default_rng(1).permutation(360)), plain, 1e-9)
    copies = np.arange(360) % 3
    repeated = intervals(np.repeat(np.arange(360), copies))
    np.testing.assert_allclose(intervals(np.arange(360), copies.astype(float)), repeated, 1e-9)


@pytest.mark.parametrize("metric", DETECTION, ids=NAMES[:4])
def test_higher_levels_have_wider_intervals(metric):
    data = sample()
    found = [
        subsampled(metric, data, None, confidence_level=level).interval
        for level in (0.5, 0.8, 0.95)
    ]
    for narrow, wide in itertools.pairwise(found):
        assert wide.low < narrow.low < narrow.high <= wide.high


@pytest.mark.parametrize("metric", DETECTION, ids=NAMES[:4])
def test_ends_are_on_the_scale_of_the_metric(metric):
    """Of 9 clusters, one has most samples, and the others those that go wrong."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    scores = np.sign(rng.normal(size=120) + y) * np.where(np.arange(120) < 96, 1.0, -1.0)
    clusters = np.maximum(np.arange(120) - 93, 0) // 3
    data = fp.Predictions.from_llrs(y, scores)
    low, high = subsampled(metric, data, fp.Clusters(clusters), confidence_level=0.95).interval
    assert 0.0 <= low < high <= (0.5 if isinstance(metric, fp.EER) else 1.0)


# Where there is no interval, or a poor one


def test_few_samples_of_a_class_have_no_interval():
    y = np.arange(200) < 7
    data = fp.Predictions.from_llrs(y, np.random.default_rng(0).normal(size=200) + y)
    with pytest.warns(RuntimeWarning, match="at least 8 samples of each class are needed, not 7"):
        found = fp.bootstrap(fp.EER(), data, seed=0, n_resamples=100)
    assert np.isnan(found.interval).all()
    assert not np.isnan(found.value)
    assert found.replicates.size == 100
    with pytest.warns(RuntimeWarning, match="percentile intervals need no subsets"):
        fp.bootstrap(fp.EER(), data, seed=0, n_resamples=100)
    remedy = fp.bootstrap(fp.EER(), data, seed=0, n_resamples=100, method="percentile")
    assert remedy.interval.low < remedy.interval.high


BOUND = fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.TrainOnTest())


def gaussian(n, distance, seed):
    y, rng = np.repeat([0, 1], n), np.random.default_rng(seed)
    scores = rng.normal(size=2 * n) + distance * y
    return fp.Predictions.from_llrs(y, distance * (scores - distance / 2.0))


@pytest.mark.filterwarnings("ignore:few samples:RuntimeWarning")
@pytest.mark.parametrize(
    ("metric", "n", "distance", "seed", "words"),
    [
        (fp.AUC(), 15, 2.5, 1, "AUC has an interval down to 0"),
        (fp.EER(), 15, 2.5, 1, "EER has an interval up to 0.5"),
        (fp.MinDCF(0.5), 10, 1.5, 0, r"minDCF\(0.5\) has an interval up to 1"),
        (BOUND, 30, 2.5, 0, "RCL CE has an interval from 0 to 100"),
    ],
    ids=["AUC", "EER", "minDCF", "RCL"],
)
def test_an_interval_that_only_the_range_bounds_is_not_to_be_used(metric, n, distance, seed, words):
    with pytest.warns(RuntimeWarning, match=f"^{words}, .*not to be used"):
        found = fp.bootstrap(metric, gaussian(n, distance, seed), seed=0, n_resamples=40)
    low, high = metric.value_range
    assert low in found.interval or high in found.interval


@pytest.mark.parametrize("metric", [fp.EER(), fp.MinDCF(0.5)], ids=str)
def test_an_interval_of_a_poor_system_may_reach_that_of_chance(metric):
    found = fp.bootstrap(metric, gaussian(20, 0.5, 0), seed=0, n_resamples=40)
    assert found.interval.high == metric.value_range[1]


def test_a_label_says_what_was_drawn():
    data = sample()
    alone = fp.bootstrap(fp.EER(), data, seed=0, n_resamples=40)
    assert "(subsampling, 336 halves and quarters)" in repr(alone)
    assert alone.settings == (
        "95 % intervals: subsampling (336 halves and quarters), resampling IID, seed 0"
    )
    table = str(fp.evaluate(data, [fp.EER(), fp.Cllr()], seed=0, n_resamples=40))
    assert (
        "subsampling of EER (336 halves and quarters); percentile of Cllr; 40 replicates, "
        "resampling IID, seed 0" in table
    )
    one, _ = ids_of(n_ids=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of_units = fp.bootstrap(
            fp.Cllr(), data, seed=0, n_resamples=40, resampling=fp.Clusters(one)
        )
    assert "(jackknife, units left out in turn)" in repr(of_units)


@pytest.mark.parametrize("scheme", ["clusters", "two-way"])
def test_eight_units_are_enough(scheme):
    one, other = ids_of(n_ids=8)
    chosen = fp.Clusters(one) if scheme == "clusters" else fp.TwoWay(one, other)
    with pytest.warns(RuntimeWarning, match="^few samples or speakers"):
        found = fp.bootstrap(fp.EER(), sample(), resampling=chosen, seed=0, n_resamples=100)
    assert found.method == "subsampling"
    assert found.interval.low < found.interval.high


@pytest.mark.parametrize("scheme", ["clusters", "two-way"])
def test_few_units_have_no_interval(scheme):
    one, other = ids_of(n_ids=6)
    chosen = fp.Clusters(one) if scheme == "clusters" else fp.TwoWay(one, other)
    what = {"clusters": "clusters", "two-way": "speakers"}[scheme]
    with pytest.warns(
        RuntimeWarning, match=f"EER has no interval: at least 8 {what} are needed, not 6"
    ):
        found = fp.bootstrap(fp.EER(), sample(), resampling=chosen, seed=0, n_resamples=100)
    assert np.isnan(found.interval).all()


def test_separated_classes_have_no_interval():
    y = np.arange(100) % 2
    data = fp.Predictions.from_llrs(y, y + np.random.default_rng(0).random(100) / 2.0)
    with pytest.warns(RuntimeWarning, match="EER has no interval: .*the same value in all subsets"):
        found = fp.bootstrap(fp.EER(), data, seed=0, n_resamples=100)
    assert np.isnan(found.interval).all()


def test_a_few_bad_speakers_are_warned_of():
    """One of 40 speakers has all errors."""
    rng = np.random.default_rng(0)
    speakers = np.repeat(np.arange(40), 50)
    y = np.tile(np.arange(50) < 10, 40)
    scores = rng.normal(size=y.size) + np.where(speakers == 0, 0.0, 6.0) * y
    data = fp.Predictions.from_llrs(y, scores)
    with pytest.warns(RuntimeWarning, match=r"few samples or speakers determine .*AUC \(2\.\d\)"):
        found = fp.bootstrap(fp.AUC(), data, resampling=fp.Clusters(speakers), seed=0)
    assert found.degrees_of_freedom == pytest.approx(2.0, abs=0.3)


def test_undefined_subsets_are_left_out():
    """A class that 9 of 20 clusters have is missing from some quarters."""
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(20), 20)
    y = (rng.random(400) < 0.5) & (clusters < 5)
    data = fp.Predictions.from_logits(y, np.round(rng.normal(size=400) + y, 1))
    chosen = fp.Clusters(clusters)
    found = subsampled(fp.EER(), data, chosen)
    by_deal, *_ = values_of([fp.EER()], [data], chosen)
    assert any(math.isnan(own[0]) for deal in by_deal for own in deal.values())
    low, high, df = reference([RULES[0]], [1.0], [data], chosen)
    np.testing.assert_allclose(found.interval, [low, high], rtol=1e-9)
    assert found.degrees_of_freedom == pytest.approx(df, rel=1e-7)


def test_infinite_subsets_are_left_out():
    """In some quarters of 24 samples a threshold is infinite: the values on them have no mean."""
    y = np.arange(24) % 2
    scores = np.random.default_rng(0).normal(size=24) + 2.0 * y
    metric = fp.Threshold(fp.MissRate(0.05))
    found = subsampled(metric, fp.Predictions.from_raw_scores(y, scores), None, seed=0)
    low, high = found.interval
    assert low < high
    assert (low + high) / 2.0 == pytest.approx(found.value)  # it has no bias to correct


def test_values_near_the_largest_float_have_no_interval():
    data = sample()
    huge = fp.Predictions.from_raw_scores(data.y_true, data.scores * 1e307)
    metric = fp.Threshold(fp.MissRate(0.2))
    with pytest.warns(RuntimeWarning, match="has no interval: .* too near the largest float"):
        found = fp.bootstrap(metric, huge, method="subsampling", n_resamples=40, seed=0)
    assert np.isnan(found.interval).all()


# The inverted test


def search(errors, noise, norm, level):
    """The ends by a fine search, without interpolation."""
    tail = (1.0 - level) / 2.0
    observed = np.linalg.norm(errors, norm)

    def norms(at):
        return np.linalg.norm(at + noise, norm, axis=1)

    low = next(
        step
        for step in np.linspace(0.0, 1.0, 1001)
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


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("size", [0.3, 1.0, 4.0])
def test_the_inverted_test_is_a_search(size, level, norm):
    rng = np.random.default_rng(3)
    errors = size * rng.normal(size=12)
    noise = rng.normal(size=(900, 12)) * rng.uniform(0.2, 1.0, 12)
    found = inverted_interval(errors, errors + noise, norm, level, None)
    low, high = search(errors, noise, norm, level)
    # shares of 900 replicates are steps, between which the grid of 80 is interpolated
    width = np.linalg.norm(np.maximum(np.abs(errors), noise.std(axis=0)), norm)
    np.testing.assert_allclose(found, [low, high], atol=0.03 * width)
    corrected = inverted_interval(errors, errors + noise * np.sqrt(0.75), norm, level, 4)
    np.testing.assert_allclose(corrected, found, rtol=1e-9)


def test_perfect_calibration_has_an_interval_from_zero():
    rng = np.random.default_rng(0)
    q = rng.random(2_000)
    data = fp.Predictions.from_posteriors(rng.random(2_000) < q, q)
    found = fp.bootstrap(fp.ECE(), data, seed=0)
    assert found.method == "inverted test"
    assert found.interval.low == 0.0
    assert 0.0 < found.interval.high < 2.0 * found.value


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("scheme", schemes())
def test_levels_of_the_inverted_test_are_nested(scheme, norm):
    data, chosen = sample(weights=True), schemes()[scheme]
    found = [
        fp.bootstrap(fp.ECE(norm=norm), data, resampling=chosen, seed=1, confidence_level=level)
        for level in (0.5, 0.9, 0.99)
    ]
    for narrow, wide in itertools.pairwise(found):
        assert wide.interval.low <= narrow.interval.low <= narrow.interval.high
        assert narrow.interval.high < wide.interval.high


@pytest.mark.parametrize("on", ["class", "confidence"])
@pytest.mark.parametrize("binning", ["uniform", "quantile"])
@pytest.mark.parametrize("norm", [1, 2])
def test_errors_of_bins_are_those_of_the_replicates(binning, on, norm):
    """The value and the replicates are the norms of the errors of the bins, from the same draws."""
    job = prepared(fp.ECE(6, on, norm, binning), sample(weights=True))
    settings = Intervals.of(20, 0.8, "auto", fp.Stratified(), 2)
    evidence = gather(
        settings, [job], [job.metric(job.data)], [Sum((job,))], jointly=False,
        progress=lambda done, total: None,
    )  # fmt: skip
    errors, replicates = evidence.companions[job]
    assert (errors.shape, replicates.shape) == ((6,), (20, 6))
    assert np.linalg.norm(errors, norm) == pytest.approx(job.metric(job.data), rel=1e-12)
    norms = np.linalg.norm(replicates, norm, axis=1)
    np.testing.assert_allclose(norms, evidence.replicates[0], rtol=1e-12)


@pytest.mark.parametrize("scheme", schemes())
def test_differences_of_calibration_errors(scheme):
    a, b = sample(), sample(seed=1)
    b = fp.Predictions.from_logits(a.y_true, 2.0 * a.scores + b.scores)
    chosen = schemes()[scheme]
    options = {"resampling": chosen, "seed": 3, "n_resamples": 200}
    found = fp.compare(fp.ECE(), a, b, **options)
    assert found.method == "inverted test"
    assert found.interval.low < found.interval.high
    if not draws_rows(chosen):  # a metric alone has draws of its own
        sides = [fp.bootstrap(fp.ECE(), side, **options) for side in (a, b)]
        rho = np.corrcoef([side.replicates for side in sides])[0, 1]
        middle = sum(sides[0].interval) / 2.0 - sum(sides[1].interval) / 2.0
        one, other = ((side.interval.high - side.interval.low) / 2.0 for side in sides)
        reach = math.sqrt(one**2 + other**2 - 2.0 * rho * one * other)
        np.testing.assert_allclose(found.interval, [middle - reach, middle + reach], rtol=1e-9)
    assert fp.compare(fp.ECE(), a, a, **options).interval == (0.0, 0.0)
    turned = fp.compare(fp.ECE(), b, a, **options).interval
    np.testing.assert_allclose(turned, [-found.interval.high, -found.interval.low], rtol=1e-9)


def test_auto_takes_the_method_of_the_metric():
    data, (one, other) = sample(), ids_of()
    crossed = fp.CalibrationLoss(LOG, fp.DirectionPreserving(), fp.CrossFit(folds=3))
    expected = {
        fp.CrossEntropy(): "percentile", fp.Cllr(): "percentile", fp.EER(): "subsampling",
        PAV_ON_TEST: "subsampling", fp.ECE(): "inverted test", crossed: "bca",
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = fp.bootstrap(list(expected), data, seed=0, n_resamples=100)
        speakers = fp.bootstrap(
            crossed, data, resampling=fp.TwoWay(one, other), seed=0, n_resamples=100
        )
    assert [result.method for result in found] == list(expected.values())
    assert speakers.method == "percentile"
    named = fp.bootstrap(fp.EER(), data, method="basic", seed=0, n_resamples=100)
    assert named.method == "basic"
    assert math.isnan(named.degrees_of_freedom)
