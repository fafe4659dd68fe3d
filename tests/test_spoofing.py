"""a-DCF, and groups that share targets: against naive versions, in memory and in parts."""

import inspect

import numpy as np
import pytest

import fastpsr as fp
from tests import reference_detection as naive

DEFAULTS = (0.05, 0.05, 1.0, 10.0, 20.0)
OTHERS = (0.2, 0.3, 2.0, 1.0, 5.0)
WORDS = np.array(["nontarget", "spoof", "target"])
BOTH = pytest.mark.parametrize("kind", [fp.MinADCF, fp.ActADCF])


def trials(n=90, shares=(0.3, 0.4, 0.3), seed=0, digits=1):
    """Kinds 0 (non-target), 1 (spoof), 2 (target), and scores with ties."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(3, n, p=shares)
    kinds[:3] = 0, 1, 2
    return kinds, np.round(rng.normal(size=n) + np.array([-1.5, 0.5, 1.5])[kinds], digits)


def llrs(kinds, x, **options):
    return fp.Predictions.from_llrs(kinds == 2, x, prior=0.5, **options)


# Values


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("costs", [DEFAULTS, OTHERS], ids=["ASVspoof 5", "others"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize(
    "shares", [(0.3, 0.4, 0.3), (0.1, 0.1, 0.8), (0.8, 0.1, 0.1), (0.05, 0.05, 0.9)]
)
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_values_are_those_of_the_definition(shares, weighted, costs, digits):
    kinds, x = trials(shares=shares, digits=digits)
    rng = np.random.default_rng(1)
    w = rng.integers(0, 4, kinds.size) * 0.5 if weighted else np.ones(kinds.size)
    w[:3] = 1.0
    data = llrs(kinds, x, sample_weight=w if weighted else None)
    words = WORDS[kinds]
    found = fp.MinADCF(kinds == 1, *costs)(data)
    assert found == pytest.approx(naive.min_adcf(x, words, w, costs), rel=1e-12)
    found = fp.ActADCF(kinds == 1, *costs)(data)
    assert found == pytest.approx(naive.act_adcf(x, words, w, costs), rel=1e-12)


def test_the_threshold_lies_between_places_of_the_smaller_class():
    """A tie of a target with the only negative of its kind is decided for both at once."""
    y, spoof = [0, 0, 1, 1, 1], [False, True, False, False, False]
    x = [1.0, 1.0, 1.0, 0.5, 2.0]
    words = WORDS[2 * np.array(y) + np.array(spoof)]
    found = fp.MinADCF(spoof, *OTHERS)(y, x)
    assert found == pytest.approx(naive.min_adcf(x, words, np.ones(5), OTHERS))
    assert found < 1.0  # 0.5 is below 1.0, and only 2.0 above it


@BOTH
def test_infinite_scores_are_scores(kind):
    kinds, x = trials()
    x[5:12], x[20:24] = np.inf, -np.inf
    value = {fp.MinADCF: naive.min_adcf, fp.ActADCF: naive.act_adcf}[kind]
    expected = value(x, WORDS[kinds], np.ones(x.size), DEFAULTS)
    assert kind(kinds == 1)(llrs(kinds, x)) == pytest.approx(expected, rel=1e-12)


def test_order_and_monotonic_maps_do_not_matter():
    kinds, x = trials(200)
    order = np.random.default_rng(0).permutation(200)
    value = fp.MinADCF(kinds == 1)(kinds == 2, x)
    assert fp.MinADCF(kinds[order] == 1)(kinds[order] == 2, x[order]) == value
    assert fp.MinADCF(kinds == 1)(kinds == 2, np.exp(x)) == value
    assert value <= fp.ActADCF(kinds == 1)(llrs(kinds, x))


def test_bayes_decisions_cost_least_with_llrs_against_the_mixture():
    """The threshold of the docstring, for Gaussian scores whose densities are known."""
    rng = np.random.default_rng(3)
    kinds = np.repeat([0, 1, 2], 60_000)
    means = np.array([-1.0, 0.5, 2.0])
    z = rng.normal(size=kinds.size) + means[kinds]
    density = np.exp(-0.5 * (z[:, None] - means) ** 2)
    of_nontarget, of_spoof = 10.0 * 0.05, 20.0 * 0.05
    mixture = (of_nontarget * density[:, 0] + of_spoof * density[:, 1]) / (of_nontarget + of_spoof)
    data = llrs(kinds, np.log(density[:, 2] / mixture))
    least, actual = (kind(kinds == 1)(data) for kind in (fp.MinADCF, fp.ActADCF))
    assert least <= actual < least + 0.003
    assert fp.ActADCF(kinds == 1)(data) < fp.ActADCF(kinds == 1)(llrs(kinds, data.llrs + 0.5))
    assert fp.ActADCF(kinds == 1)(data) < fp.ActADCF(kinds == 1)(llrs(kinds, data.llrs - 0.5))


def test_one_kind_of_negatives_is_the_dcf():
    """If spoofed trials are scored as non-targets are, only the sum of their costs matters."""
    kinds, x = trials(300, digits=9)
    negatives = np.flatnonzero(kinds != 2)
    twice = np.append(np.arange(300), negatives)
    spoof = np.append(np.zeros(300, bool), np.ones(negatives.size, bool))
    data = fp.Predictions.from_llrs(kinds[twice] == 2, x[twice], prior=0.5)
    once = llrs(kinds, x)
    for kind, plain in ((fp.MinADCF, fp.MinDCF), (fp.ActADCF, fp.ActDCF)):
        expected = plain(0.9, 1.0, 15.0)(once)  # (0.05 * 10 + 0.05 * 20) / 0.1
        assert kind(spoof)(data) == pytest.approx(expected, rel=1e-12)


# Wrong arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p_spoof": 0.0}, "p_spoof must lie strictly between 0 and 1, not 0.0"),
        ({"p_nontarget": 1.5}, "p_nontarget must lie strictly between 0 and 1, not 1.5"),
        ({"p_spoof": 0.6, "p_nontarget": 0.5}, "p_nontarget \\+ p_spoof must be below 1, not 1.1"),
        ({"c_fa": -1.0}, "c_fa must be positive and finite, not -1.0"),
        ({"c_fa_spoof": np.inf}, "c_fa_spoof must be positive and finite, not inf"),
        ({"c_miss": 5e-324}, "c_miss must not vanish at these priors, as 5e-324 does"),
    ],
)
@BOTH
def test_costs_that_are_none(kind, options, message):
    options = {"p_nontarget": 0.4, "p_spoof": 0.5} | options if "c_miss" in options else options
    with pytest.raises(fp.ArgumentError, match=message):
        kind([True], **options)


@pytest.mark.parametrize(
    ("spoof", "message"),
    [
        ([True, False], "spoof must have .* 4"),
        ([0, 0, 2, 1], r"spoof must be True for spoofed .*, but spoof\[2\] is 2"),
        (["a", "b", "a", "b"], "spoof must be True for spoofed trials .*, not of type"),
        ([False, True, True, False], r"spoof must not mark targets, but spoof\[1\] is a target's"),
        ([False] * 4, "spoof must leave trials of three kinds .*no spoofed trials"),
        ([True, False, True, False], "y_true must leave trials of three kinds .*no non-targets"),
        ("column", "columns such as 'column' are for data in parts"),
    ],
)
@BOTH
def test_spoofed_trials_that_are_none(kind, spoof, message):
    with pytest.raises(fp.ArgumentError, match=message):
        kind(spoof)([0, 1, 0, 1], [0.0, 1.0, 0.5, 2.0])


def test_three_classes_and_raw_scores_are_refused():
    rows = fp.Predictions.from_logits([0, 1, 2], np.eye(3))
    for kind in (fp.MinADCF, fp.ActADCF):
        with pytest.raises(ValueError, match="3 classes"):
            kind([True, False, False])(rows)
    with pytest.raises(ValueError, match="raw scores"):
        fp.ActADCF([True, False])(fp.Predictions.from_raw_scores([0, 1], [0.0, 1.0]))


def test_parts_need_a_column():
    kinds, x = trials()
    parts = fp.from_parts([(llrs(kinds, x), {"spoof": kinds == 1})])
    with pytest.raises(fp.ArgumentError, match="spoof must be the name of a column"):
        fp.MinADCF(kinds == 1)(parts)


def test_labels_tell_the_costs():
    assert fp.MinADCF([True]).label == "minADCF(asvspoof5)"
    assert fp.ActADCF([True], 0.2, 0.3).label == "actADCF(0.2:0.3:1:10:20)"
    names = list(inspect.signature(fp.MinADCF).parameters)
    assert names == ["spoof", "p_nontarget", "p_spoof", "c_miss", "c_fa", "c_fa_spoof"]


# Replicates


def schemes(n):
    rng = np.random.default_rng(7)
    one, other = rng.integers(0, 15, (2, n))
    return [None, fp.Stratified(), fp.Clusters(one), fp.TwoWay(one, other)]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize(
    "place",
    [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow), 2, 3],
    ids=["IID", "Stratified", "Clusters", "TwoWay"],
)
@BOTH
def test_replicates_are_those_of_weighted_samples(kind, place, weighted):
    """Totals of each kind are counted anew: as a callable computes it from weights."""
    kinds, x = trials(400, digits=2)
    w = np.random.default_rng(2).uniform(0.5, 2.0, 400) if weighted else None
    data, metric = llrs(kinds, x, sample_weight=w), kind(kinds == 1)
    resampling = schemes(400)[place]

    def by_hand(predictions):
        value = {fp.MinADCF: naive.min_adcf, fp.ActADCF: naive.act_adcf}[kind]
        weights = predictions.sample_weight
        weights = np.ones(400) if weights is None else weights
        return value(x, WORDS[kinds], weights, DEFAULTS)

    options = {"resampling": resampling, "seed": 4}
    if place >= 2:  # units are drawn alike for all metrics
        options |= {"n_resamples": 8, "confidence_level": 0.5}
        one, other = (fp.bootstrap(m, data, **options) for m in (metric, by_hand))
        np.testing.assert_allclose(one.replicates, other.replicates, rtol=1e-12)
        return
    joint = fp.compare(metric, data, llrs(kinds, x[::-1].copy(), sample_weight=w), n_resamples=40,
                       confidence_level=0.5, **options)  # fmt: skip
    assert np.ptp(joint.replicates) > 0.0
    rng = np.random.default_rng(0)
    found = fp.bootstrap(metric, data, n_resamples=3_000, **options).replicates
    expected = []
    for _ in range(300):
        drawn = rng.integers(0, 400, 400)
        if resampling is not None:
            drawn = np.concatenate([
                rng.choice(np.flatnonzero(own), own.sum()) for own in (kinds == 2, kinds != 2)
            ])  # fmt: skip
        expected.append(metric.on_rows(data, drawn)(data[drawn]))
    spread = np.std(expected)
    assert found.mean() == pytest.approx(np.mean(expected), abs=4.5 * spread / np.sqrt(300))
    assert found.std() == pytest.approx(spread, rel=0.2)


def test_a_replicate_without_a_kind_is_undefined():
    y, spoof = [0] * 20 + [1] * 20, [True] + [False] * 39
    data = fp.Predictions.from_raw_scores(y, np.linspace(-1.0, 1.0, 40))
    with pytest.warns(RuntimeWarning, match="undefined in .* replicates"):
        found = fp.bootstrap(fp.MinADCF(spoof), data, method="percentile", seed=0)
    assert 300 < np.isnan(found.replicates).sum() < 440  # of 1,000, (1 - 1 / 40)^40 of them


@pytest.mark.parametrize("resampling", [None, fp.Clusters("unit")], ids=["IID", "Clusters"])
@BOTH
def test_parts_are_as_memory(kind, resampling):
    kinds, x = trials(300)
    unit = np.arange(300) % 40
    data = llrs(kinds, x)
    cuts = [slice(0, 50), slice(50, 50), slice(50, 300)]
    parts = fp.from_parts([(data[c], {"spoof": kinds[c] == 1, "unit": unit[c]}) for c in cuts])
    assert kind("spoof")(parts) == kind(kinds == 1)(data)
    here = None if resampling is None else fp.Clusters(unit)
    one = fp.bootstrap(kind(kinds == 1), data, n_resamples=20, confidence_level=0.5, seed=0,
                       resampling=here)  # fmt: skip
    other = fp.bootstrap(kind("spoof"), parts, n_resamples=20, confidence_level=0.5, seed=0,
                         resampling=resampling)  # fmt: skip
    np.testing.assert_array_equal(one.replicates, other.replicates)


def test_rows_follow_the_group():
    kinds, x = trials(300)
    room = np.arange(300) % 2
    data = llrs(kinds, x)
    table = fp.evaluate(data, [fp.MinADCF(kinds == 1)], by={"room": room})
    for value in (0, 1):
        own = room == value
        alone = fp.MinADCF(kinds[own] == 1)(data[own])
        assert table[None, f"room={value}", "minADCF(asvspoof5)"] == alone


# Groups that share targets


def test_groups_have_all_targets_and_their_own_negatives():
    kinds, x = trials(300)
    attack = np.array(["bonafide", "A01", "A02"])[np.where(kinds == 1, 1 + np.arange(300) % 2, 0)]
    attack[kinds == 2] = "anything"
    data = llrs(kinds, x)
    metrics = [fp.EER(), fp.MinDCF(0.1), fp.Cllr(), fp.AUC(), fp.CrossEntropy()]
    options = {"n_resamples": 50, "seed": 1}
    table = fp.evaluate(data, metrics, by={"attack": fp.SharedTargets(attack)}, **options)
    parts = fp.from_parts([(data[c], {"a": attack[c]}) for c in (slice(0, 120), slice(120, 300))])
    in_parts = fp.evaluate(parts, metrics, by={"attack": fp.SharedTargets("a")})
    groups = [group.group for group in table.groups]
    assert groups == [None, "attack=A01", "attack=A02", "attack=bonafide"]
    assert groups == [group.group for group in in_parts.groups]
    for name in groups[1:]:
        own = data[(kinds == 2) | (attack == name.removeprefix("attack="))]
        alone = fp.evaluate(own, metrics, **options)
        for row in alone.rows:
            found = table.row((None, name, row.metric))
            assert (found.value, found.low, found.high) == (row.value, row.low, row.high)
            part = in_parts[None, name, row.metric]
            assert part == pytest.approx(row.value, rel=1e-12)


def test_speakers_follow_groups_that_share_targets():
    kinds, x = trials(300)
    one, other = np.random.default_rng(0).integers(0, 20, (2, 300))
    data, own = llrs(kinds, x), kinds >= 1
    options = {"n_resamples": 20, "seed": 1, "confidence_level": 0.5}
    table = fp.evaluate(data, [fp.EER()], by={"kind": fp.SharedTargets(kinds)},
                        resampling=fp.TwoWay(one, other), **options)  # fmt: skip
    alone = fp.bootstrap(fp.EER(), data[own], resampling=fp.TwoWay(one[own], other[own]), **options)
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


def test_shared_targets_of_wrong_data():
    rows = fp.Predictions.from_logits([0, 1, 2], np.eye(3))
    message = r"by\['a'\] must not share targets: these are data of 3 classes"
    with pytest.raises(fp.ArgumentError, match=message):
        fp.evaluate(rows, by={"a": fp.SharedTargets([0, 0, 1])})
    with pytest.raises(fp.ArgumentError, match=r"by\['a'\] must have .* 2"):
        fp.evaluate(fp.Predictions.from_llrs([0, 1], [0.0, 1.0]), by={"a": fp.SharedTargets([0])})
    parts = fp.from_parts([(fp.Predictions.from_llrs([0, 1], [0.0, 1.0]), {"a": [0, 1]})])
    with pytest.raises(fp.ArgumentError, match="by must name columns of data in parts"):
        fp.evaluate(parts, by={"a": fp.SharedTargets([0, 1])})
