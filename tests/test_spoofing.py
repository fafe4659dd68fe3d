"""a-DCF, and groups that share targets: against naive versions, in memory and in parts."""

import numpy as np
import pytest
from scipy import optimize, stats

import fastpsr as fp
from tests import reference_detection as naive
from tests.refusal import refuses

DEFAULTS = (0.05, 0.05, 1.0, 10.0, 20.0)
OTHERS = (0.2, 0.3, 2.0, 1.0, 5.0)
WORDS = np.array(["nontarget", "spoof", "target"])
NAIVE = {fp.MinADCF: naive.min_adcf, fp.ActADCF: naive.act_adcf}
BOTH = pytest.mark.parametrize("metric", NAIVE)


def trials(n=90, shares=(0.3, 0.4, 0.3), seed=0, digits=1):
    """Kinds 0 (non-target), 1 (spoof), 2 (target), and scores with ties."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(3, n, p=shares)
    kinds[:3] = 0, 1, 2
    return kinds, np.round(rng.normal(size=n) + np.array([-1.5, 0.5, 1.5])[kinds], digits)


def llrs(kinds, x, **options):
    return fp.Predictions.from_llrs(kinds == 2, x, prior=0.5, **options)


# Values


@pytest.mark.parametrize("costs", [DEFAULTS, OTHERS], ids=["ASVspoof 5", "others"])
@pytest.mark.parametrize(
    "shares", [(0.3, 0.4, 0.3), (0.1, 0.1, 0.8), (0.8, 0.1, 0.1), (0.05, 0.05, 0.9)]
)
@BOTH
def test_values_are_those_of_the_definition(metric, shares, costs):
    for digits in (0, 1, 9):
        kinds, x = trials(shares=shares, digits=digits)
        weights = np.random.default_rng(1).integers(0, 4, kinds.size) * 0.5
        weights[:3] = 1.0
        x[5:7] = np.inf, -np.inf
        for sample_weight in (None, weights):
            w = np.ones(x.size) if sample_weight is None else weights
            expected = NAIVE[metric](x, WORDS[kinds], w, costs)
            value = metric(kinds == 1, *costs)(llrs(kinds, x, sample_weight=sample_weight))
            assert value == pytest.approx(expected, rel=1e-12)


def test_a_tie_of_a_target_with_the_only_negative_of_its_kind():
    y, spoof = [0, 0, 1, 1, 1], [False, True, False, False, False]
    x = [1.0, 1.0, 1.0, 0.5, 2.0]
    words = WORDS[2 * np.array(y) + np.array(spoof)]
    value = fp.MinADCF(spoof, *OTHERS)(y, x)
    assert value == pytest.approx(naive.min_adcf(x, words, np.ones(5), OTHERS))
    assert value < 1.0  # 0.5 is below 1.0, and only 2.0 above it


def test_labels_name_the_costs():
    assert fp.MinADCF([True]).label == "minADCF(asvspoof5)"
    assert fp.ActADCF([True], 0.2, 0.3).label == "actADCF(0.2:0.3:1:10:20)"


# Wrong arguments


def test_invalid_costs():
    with refuses("p_spoof"):
        fp.ActADCF([True], p_spoof=0.6, p_nontarget=0.5)
    with refuses("c_miss"):  # it vanishes
        fp.ActADCF([True], c_miss=5e-324, p_nontarget=0.4, p_spoof=0.5)


@pytest.mark.parametrize(
    ("spoof", "argument", "index"),
    [
        ([True, False], "spoof", None),  # too few
        ([0, 0, 2, 1], "spoof", 2),
        (["a", "b", "a", "b"], "spoof", None),
        ([False, True, True, False], "spoof", 1),  # a target
        ([False] * 4, "spoof", None),  # no spoofed trial
        ([True, False, True, False], "y_true", None),  # no non-target
        ("column", "spoof", None),  # there is none
    ],
)
def test_invalid_spoofed_trials(spoof, argument, index):
    with refuses(argument, index=index):
        fp.MinADCF(spoof)([0, 1, 0, 1], [0.0, 1.0, 0.5, 2.0])


# Groups that share targets


def test_groups_have_all_targets_and_their_own_negatives():
    kinds, x = trials(300)
    attack = np.array(["bonafide", "A01", "A02"])[np.where(kinds == 1, 1 + np.arange(300) % 2, 0)]
    attack[kinds == 2] = "anything"
    data = llrs(kinds, x)
    metrics = [fp.EER(), fp.MinDCF(0.1), fp.CrossEntropy()]
    options = {"n_resamples": 50, "seed": 1}
    table = fp.evaluate(data, metrics, by={"attack": fp.SharedTargets(attack)}, **options)
    parts = fp.from_parts([(data[r], {"a": attack[r]}) for r in (slice(0, 120), slice(120, 300))])
    by_part = fp.evaluate(parts, metrics, by={"attack": fp.SharedTargets("a")})
    groups = [group.group for group in table.groups]
    assert groups == [None, "attack=A01", "attack=A02", "attack=bonafide"]
    assert groups == [group.group for group in by_part.groups]
    for name in groups[1:]:
        rows = data[(kinds == 2) | (attack == name.removeprefix("attack="))]
        for expected in fp.evaluate(rows, metrics, **options).rows:
            row = table.row((None, name, expected.metric))
            assert (row.value, row.low, row.high) == (expected.value, expected.low, expected.high)
            part = by_part[None, name, expected.metric]
            assert part == pytest.approx(expected.value, rel=1e-12)


def test_speakers_follow_groups_that_share_targets():
    kinds, x = trials(300)
    left, right = np.random.default_rng(0).integers(0, 20, (2, 300))
    data, rows = llrs(kinds, x), kinds >= 1
    options = {"n_resamples": 20, "seed": 1, "confidence_level": 0.5}
    table = fp.evaluate(data, [fp.EER()], by={"kind": fp.SharedTargets(kinds)},
                        resampling=fp.TwoWay(left, right), **options)  # fmt: skip
    speakers = fp.TwoWay(left[rows], right[rows])
    alone = fp.bootstrap(fp.EER(), data[rows], resampling=speakers, **options)
    assert table.row((None, "kind=1", "EER")).low == alone.interval.low


@pytest.mark.parametrize("in_parts", [False, True], ids=["memory", "parts"])
def test_groups_whose_own_trials_have_no_weight_are_as_if_absent(in_parts):
    weight = [1.0, 1.0, 0.0, 1.0]
    data = fp.Predictions.from_llrs([1, 0, 0, 1], [1.0, 0.0, 2.0, 3.0], sample_weight=weight)
    ids = np.array(["x", "a", "b", "y"])
    by = {"attack": fp.SharedTargets(ids)}
    if in_parts:
        data, by = fp.from_parts([(data, {"c": ids})]), {"attack": fp.SharedTargets("c")}
    table = fp.evaluate(data, [fp.EER()], by=by)
    assert [group.group for group in table.groups] == [None, "attack=a"]


@pytest.mark.parametrize(
    ("data", "ids", "argument"),
    [
        (fp.Predictions.from_logits([0, 1, 2], np.eye(3)), [0, 0, 1], "by"),
        (fp.Predictions.from_llrs([0, 1], [0.0, 1.0]), [0], "by['a']"),
        (fp.from_parts([fp.Predictions.from_llrs([0, 1], [0.0, 1.0])]), [0], "by['a']"),
    ],
)
def test_invalid_groups_that_share_targets(data, ids, argument):
    with refuses(argument):
        fp.evaluate(data, by={"a": fp.SharedTargets(ids)})


def tandem_cost(
    bonafide, spoofed, rates, p_nontarget=0.0095, p_spoof=0.05, costs=(1.0, 10.0, 10.0)
):
    """t-DCF at all thresholds one by one, by the formulas of Kinnunen et al. (2020)."""
    p_target, (c_miss, c_fa, c_fa_spoof) = 1.0 - p_nontarget - p_spoof, costs
    c_0 = p_target * c_miss * rates[0] + p_nontarget * c_fa * rates[1]
    c_1 = p_target * c_miss - c_0
    c_2 = p_spoof * c_fa_spoof * rates[2]
    thresholds = [*bonafide, *spoofed, np.inf]
    least = min(c_1 * np.mean(bonafide < t) + c_2 * np.mean(spoofed >= t) for t in thresholds)
    return (c_0 + least) / (c_0 + min(c_1, c_2))


@pytest.mark.parametrize("digits", [0, 1, 15])
@pytest.mark.parametrize("rates", [(0.02, 0.03, 0.4), (0.0, 0.0, 1.0), (0.3, 0.2, 0.01)])
def test_tandem_costs_are_those_of_their_formula(rates, digits):
    rng = np.random.default_rng(8)
    bonafide, spoofed = (np.round(rng.normal(m, 1.0, n), digits) for m, n in ((1, 60), (-1, 80)))
    data = fp.Predictions.from_target_nontarget(bonafide, spoofed)
    expected = tandem_cost(bonafide, spoofed, rates)
    assert fp.MinTDCF(*rates)(data) == pytest.approx(expected, rel=1e-12)
    other = (0.2, 0.3, (2.0, 1.0, 5.0))
    expected = tandem_cost(bonafide, spoofed, rates, *other)
    assert fp.MinTDCF(*rates, *other[:2], *other[2])(data) == pytest.approx(expected, rel=1e-12)
    assert fp.MinTDCF(*rates)(fp.Predictions.from_llrs([0, 1], [0.0, 0.0])) == 1.0


def test_tandem_rates_are_those_at_the_eer_threshold():
    rng = np.random.default_rng(9)
    kind = rng.integers(0, 3, 400)  # 2 for targets, 1 for spoofed trials
    scores = rng.normal(size=400) + kind
    data = fp.Predictions.from_raw_scores(kind == 2, scores, columns={"spoof": kind == 1})
    point = fp.EER("nearest").operating_point(data[kind != 1])
    rates = [np.mean(scores[kind == 2] < point.threshold)]
    rates += [np.mean(scores[kind == k] >= point.threshold) for k in (0, 1)]
    for spoof in ("spoof", kind == 1):
        metric = fp.MinTDCF.behind(data, spoof, c_fa=5.0)
        assert (metric.p_miss, metric.p_fa, metric.p_fa_spoof) == pytest.approx(tuple(rates))
        assert metric.c_fa == 5.0
    with pytest.raises(ValueError, match="spoof must mark a trial"):
        fp.MinTDCF.behind(data, np.zeros(400, bool))


def test_tandem_rates_that_leave_nothing_to_decide_are_refused():
    with pytest.raises(ValueError, match="p_miss must be less, with p_fa"):
        fp.MinTDCF(0.99, 1.0, 0.5)
    with pytest.raises(ValueError, match="p_fa_spoof must be positive"):
        fp.MinTDCF(0.1, 0.1, 0.0)


# The t-EER


def tandem_eer(bonafide, spoofed, targets, nontargets, of_spoofed, n_grid=801):
    """All three rates on a grid of interpolated thresholds: where they differ least, their mean."""

    def rates(*kinds):  # accepted shares, from all to none, with points between thresholds
        steps = np.unique(np.concatenate(kinds))
        at = [[np.mean(kind >= t) for t in [*steps, np.inf]] for kind in kinds]
        grid = np.linspace(0, steps.size, n_grid)
        return [np.interp(grid, np.arange(steps.size + 1), rate) for rate in at]

    cm = [rate[:, None] for rate in rates(bonafide, spoofed)]
    asv = rates(targets, nontargets, of_spoofed)
    three = np.stack([1 - cm[0] * asv[0], cm[0] * asv[1], cm[1] * asv[2]])
    spread = np.ptp(three, axis=0)
    return three.mean(axis=0).flat[spread.argmin()], spread.min()


def tandem(seed, sizes=(30, 40, 25, 50, 35), digits=1, means=(1.2, -1.2, 1.5, -1.5, 0.8)):
    rng = np.random.default_rng(seed)
    return [np.round(rng.normal(m, 1.0, n), digits) for m, n in zip(means, sizes, strict=True)]


def systems_of(bonafide, spoofed, targets, nontargets, of_spoofed):
    """Predictions of a countermeasure and of a verification system, and its spoofed trials."""
    raw = fp.Predictions.from_raw_scores
    classes = np.repeat([1, 0], [len(bonafide), len(spoofed)])
    cm = raw(classes, np.concatenate([bonafide, spoofed]))
    kinds = np.repeat([2, 0, 1], [len(targets), len(nontargets), len(of_spoofed)])
    return cm, raw(kinds == 2, np.concatenate([targets, nontargets, of_spoofed])), kinds == 1


@pytest.mark.parametrize("digits", [0, 1, 15])
@pytest.mark.parametrize("seed", range(4))
def test_tandem_eer_equals_three_error_rates(seed, digits):
    kinds = tandem(seed, digits=digits)
    expected, spread = tandem_eer(*kinds)
    value = fp.tandem_eer(*systems_of(*kinds))
    assert spread < 0.003
    assert value == pytest.approx(expected, abs=0.003)


def test_tandem_eer_of_normal_scores():
    kinds = tandem(1, sizes=[200_000] * 5, digits=15)
    cdf, means = stats.norm.cdf, (1.2, -1.2, 1.5, -1.5, 0.8)

    def differences(thresholds):
        cm, asv = thresholds
        accepted = [cdf(m - t) for m, t in zip(means, [cm, cm, asv, asv, asv], strict=True)]
        rates = 1 - accepted[0] * accepted[2], accepted[0] * accepted[3], accepted[1] * accepted[4]
        return rates[0] - rates[1], rates[0] - rates[2]

    cm, asv = optimize.fsolve(differences, [-0.5, 0.0], xtol=1e-12)
    expected = cdf(means[0] - cm) * cdf(means[3] - asv)
    assert fp.tandem_eer(*systems_of(*kinds)) == pytest.approx(expected, rel=0.01)


def test_tandem_eer_of_one_system_alone():
    bonafide, spoofed, targets, nontargets, of_spoofed = tandem(2)
    crossing = fp.EER("crossing")
    far = np.abs(bonafide) + 10
    cm, asv, spoof = systems_of(far, spoofed, targets, nontargets, of_spoofed)
    assert fp.tandem_eer(cm, asv, spoof) == pytest.approx(crossing(asv[~spoof]), rel=1e-12)
    cm, asv, spoof = systems_of(bonafide, spoofed, targets + 20, nontargets, of_spoofed + 20)
    assert fp.tandem_eer(cm, asv, spoof) == pytest.approx(crossing(cm), rel=1e-12)


def test_tandem_eer_depends_on_order_and_shares_alone():
    cm, asv, spoof = systems_of(*tandem(3))
    value, order = fp.tandem_eer(cm, asv, spoof), np.random.default_rng(0).permutation(len(asv))
    assert fp.tandem_eer(cm, asv[order], spoof[order]) == pytest.approx(value, rel=1e-12)
    raw, twice = fp.Predictions.from_raw_scores, np.tile(np.arange(len(cm)), 2)
    weighted = raw(asv.labels, np.exp(asv.scores), sample_weight=np.where(spoof, 3.0, 0.5))
    assert fp.tandem_eer(cm[twice], weighted, spoof) == pytest.approx(value, rel=1e-12)


def test_tandem_eer_that_does_not_exist_or_lacks_a_kind():
    *kinds, of_spoofed = tandem(1)
    cm, asv, spoof = systems_of(*kinds, of_spoofed)
    with pytest.raises(ValueError, match="less often than non-targets at all of them"):
        fp.tandem_eer(*systems_of(*kinds, of_spoofed - 20))
    with pytest.raises(ValueError, match="more often than non-targets at all of them"):
        fp.tandem_eer(fp.Predictions.from_raw_scores(1 - cm.labels, cm.scores), asv, spoof)
    with pytest.raises(ValueError, match="spoof must leave trials of three kinds"):
        fp.tandem_eer(cm, asv, np.zeros(len(asv), bool))
    with pytest.raises(ValueError, match="cm must be Predictions"):
        fp.tandem_eer(cm.scores, asv, spoof)
