"""What holds for the interval of every metric and the band of every curve, under every scheme."""

import itertools
import pickle
import warnings
from functools import cache

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.bootstrap.job import Job
from fastpsr.bootstrap.settings import Intervals
from fastpsr.curves import BANDS
from fastpsr.kernels.sizes import LANES
from fastpsr.plans import Part
from fastpsr.summaries.sums import NeedsSamplesError
from tests import everything, reference_bootstrap
from tests.drawn import fixed, sums_of

N = 140
FEW = {"n_resamples": 10, "confidence_level": 0.8, "seed": 3}
#: Forms of the same labels and scores.
FORMS = {
    "float32": lambda y, z: (y, z.astype(np.float32)),
    "swapped bytes": lambda y, z: (y, z.astype(">f8")),
    "lists": lambda y, z: (y.tolist(), z.tolist()),
    "columns": lambda y, z: (y, np.asfortranarray(z)),
    "gaps": lambda y, z: (np.repeat(y, 2)[::2], np.repeat(z, 3, axis=0)[::3]),
    "backwards": lambda y, z: (y[::-1].copy()[::-1], z[::-1].copy()[::-1]),
    "uint8": lambda y, z: (y.astype(np.uint8), z),
    "bool": lambda y, z: (y > 0 if y.max() == 1 else y, z),
}


@cache
def arrays(n_classes=2):
    """Labels, and tied scores of overlapping classes that float32 holds exactly."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(N) * 7 % 11 % n_classes
    z = np.round(2.0 * (rng.normal(size=(N, n_classes)) + np.eye(n_classes)[y])) / 2.0
    return y, z if n_classes > 2 else z[:, 1] - z[:, 0] + 0.0  # no -0


@cache
def sample(n_classes=2, weighted=False):
    weights = np.arange(N) % 5 % 3 * 1.5 if weighted else None
    y, z = arrays(n_classes)
    if n_classes == 2:
        return fp.Predictions.from_llrs(y, z, sample_weight=weights)
    return fp.Predictions.from_logits(y, z, sample_weight=weights)


def is_slow(metric):
    """Whether each replicate is a fit or a sort of its own."""
    return (
        isinstance(metric, (fp.CalibrationLoss, fp.ExpectedDivergence, fp.DevPAV))
        or getattr(metric, "binning", "") == "quantile"
    )


@cache
def metrics(n_classes=2, slow=True):
    """One metric of each kind and way to train, or those alone that are sums or ranks."""
    found, trained = [], set()
    for metric in everything.metrics(sample(n_classes)).values():
        if is_slow(metric):
            key = type(metric), type(getattr(metric, "train", None)), metric.interval_rule.samples
            if key in trained or not slow:
                continue
            trained.add(key)
        found.append(metric)
    return found


def schemes(of_name=int):
    """Every scheme; ids named by a function that keeps their order."""
    one, other = ([of_name(k) for k in np.random.default_rng(n).integers(100, 115, N)]
                  for n in (1, 2))  # fmt: skip
    return {
        "IID": fp.IID(), "Stratified": fp.Stratified(), "Clusters": fp.Clusters(one),
        "Nested": fp.Nested(one), "TwoWay": fp.TwoWay(one, other),
    }  # fmt: skip


def intervals(chosen, data, scheme, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of few units and undefined replicates
        return fp.bootstrap(chosen, data, resampling=scheme, **{**FEW, **options})


def or_error(make, *arguments):
    try:
        return make(*arguments)
    except (ValueError, NeedsSamplesError) as error:
        return error


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_summaries_of_many_replicates_are_those_of_each(n_classes, weighted):
    """Also beside replicates without a class, without overlap, and of one sample.

    Their bits do not depend on how many lanes of replicates come at a time.
    """
    data = sample(n_classes, weighted)
    rng = np.random.default_rng(0)
    own = data.weights if data.weights.size else np.ones(N)
    times = rng.multinomial(N, np.full(N, 1.0 / N), 45)
    times[[3, 11], :] *= data.labels != 0  # a class less
    times[20] *= (data.labels == 0) == (data.scores.reshape(N, -1)[:, 0] <= 0.0)
    times[40, :8] += 1
    times[40, 8:] = 0
    times[41] = np.arange(N) == 6  # which has weight
    times[12:24] = rng.multinomial(N // 2, np.full(N, 1.0 / N), 12)  # fewer cells are filled
    n_compared = 0
    for metric in metrics(n_classes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sums = sums_of(fixed(metric, data), data)
        if sums is None or sums.beside:
            continue
        part = Part.whole(data)
        groups, columns = sums.groups(part), list(sums.columns(part))
        totals = np.array([
            reference_bootstrap.chebyshev_sums(
                groups, sums.n_groups, own * each, columns, sums.degree
            )
            for each in times
        ]).reshape(len(times), sums.n_groups, -1)  # fmt: skip
        together = list(sums.assemble_each(totals[:, :, 0], totals[:, :, 1:]))
        assert len(together) == len(times)
        in_lanes = [
            summary
            for some in (totals[:LANES], totals[LANES : 2 * LANES], totals[2 * LANES :])
            for summary in sums.assemble_each(some[:, :, 0], some[:, :, 1:])
        ]
        for found, same in zip(together, in_lanes, strict=True):
            if not isinstance(found, Exception):
                bits = [repr(or_error(metric.finish, each)) for each in (found, same)]
                assert bits[0] == bits[1]
        for found, of_one in zip(together, totals, strict=True):
            alone = or_error(sums.assemble, of_one[:, 0], of_one[:, 1:])
            if isinstance(found, Exception) or isinstance(alone, Exception):
                assert type(found) is type(alone), metric
                continue
            value, expected = (or_error(metric.finish, summary) for summary in (found, alone))
            if isinstance(expected, Exception):
                assert str(value) == str(expected)
            else:
                np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
                n_compared += 1
    assert n_compared > 100


def content(found):
    """All that results hold, as text in which nan equals nan."""
    return [(each.name, each.replicates.tobytes(), repr(each)) for each in found]


def test_every_scheme_is_here():
    assert list(schemes()) == [scheme.__name__ for scheme in RESAMPLINGS]


def documented(metric, scheme):
    """The method of "auto", as in the table of docs/reference/intervals.md."""
    train = getattr(metric, "train", None)
    if isinstance(metric, fp.ECE):
        return "inverted test"
    if isinstance(train, fp.CrossFit):
        return "percentile" if scheme in ("Nested", "TwoWay") else "bca"
    is_mean = isinstance(
        metric,
        (fp.ExpectedScore, fp.SemiEmpiricalScore, fp.BayesRisk, fp.Cllr, fp.ActDCF, fp.ActADCF),
    )
    if scheme in ("Clusters", "TwoWay"):
        if is_mean or isinstance(train, fp.HeldOut):
            return "jackknife"
        if isinstance(getattr(metric, "metric", metric), (fp.EER, fp.MissRate, fp.FalseAlarmRate)):
            return "subsampling"
    optimized = isinstance(metric, (fp.MinDCF, fp.MinADCF, fp.MinCllr, fp.AUC))
    of_eer = getattr(metric, "metric", metric)  # or its threshold
    is_hull = isinstance(of_eer, fp.EER) and of_eer.definition == "hull"
    if optimized or is_hull or isinstance(train, fp.TrainOnTest):
        return "subsampling"
    return "percentile"


@pytest.mark.parametrize("scheme", schemes())
def test_auto_takes_what_is_documented(scheme):
    settings = Intervals.of(100, 0.95, "auto", schemes()[scheme], 0)
    seen = set()
    for n_classes in (2, 3):
        for metric in everything.metrics(sample(n_classes)).values():
            method = settings.method_of(Job(metric, sample(n_classes)))
            assert method == documented(metric, scheme), metric
            seen.add(method)
    assert len(seen) == {"Clusters": 5, "Nested": 3}.get(scheme, 4)


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("method", ["subsampling", "auto"])
@pytest.mark.parametrize("scheme", schemes())
def test_higher_levels_contain_lower_ones_for_any_number_of_threads(scheme, method):
    data, chosen = sample(weighted=method == "auto"), metrics(slow=method == "auto")
    with fp.threads(1):
        found = intervals(chosen, data, schemes()[scheme], method=method, confidence_level=0.5)
    higher = intervals(chosen, data, schemes()[scheme], method=method)
    for narrow, wide in zip(found, higher, strict=True):
        assert narrow.replicates.tobytes() == wide.replicates.tobytes()
        np.testing.assert_equal(narrow.degrees_of_freedom, wide.degrees_of_freedom)
        assert narrow.method == wide.method
        inner, (low, high) = narrow.interval, wide.interval
        if wide.method == "inverted test" and inner.high == wide.value:
            high = max(high, wide.value)  # the lower level accepts nothing
        assert np.isnan([*inner, low, high]).all() or low <= inner.low <= inner.high <= high, wide
        if wide.method in ("subsampling", "jackknife") and low < high:
            assert 2.0 <= wide.degrees_of_freedom < N
            if method == "auto" and wide.unit in ("fraction", "probability"):
                assert 0.0 <= low < high <= 1.0, wide
        else:
            assert np.isnan(wide.degrees_of_freedom)
    assert content(pickle.loads(pickle.dumps(found))) == content(found)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("scheme", schemes())
def test_metrics_together_are_those_alone(scheme):
    chosen = metrics(slow=False)
    together = intervals(chosen, sample(), schemes()[scheme])
    alone = [intervals(metric, sample(), schemes()[scheme]) for metric in chosen]
    assert content(together) == content(alone)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("scheme", ["Clusters", "Nested", "TwoWay"])
def test_ids_count_by_their_order_alone(scheme):
    chosen = metrics(slow=False)
    found = [
        content(intervals(chosen, sample(), schemes(of_name)[scheme]))
        for of_name in (int, "speaker {}".format, lambda k: 7 * k - 900)
    ]
    assert found[0] == found[1] == found[2]


# replicates of single samples are drawn part by part
@pytest.mark.in_turn(6)
@pytest.mark.parametrize(
    ("scheme", "method"),
    [*((scheme, "subsampling") for scheme in schemes()), ("Clusters", "auto"), ("TwoWay", "auto")],
)
def test_intervals_in_parts_are_those_of_memory(scheme, method):
    data, whole = sample(weighted=True), schemes()[scheme]
    columns = [value for value in vars(whole).values() if isinstance(value, list)]
    in_parts = fp.from_parts(
        (data[a:b], {str(k): column[a:b] for k, column in enumerate(columns)})
        for a, b in itertools.pairwise((0, 1, 1, 60, N))
    )
    chosen = [
        metric for metric in metrics(slow=False)
        if not isinstance(metric, everything.HOLD_OTHER_DATA)
    ]  # fmt: skip
    here = intervals(chosen, data, whole, method=method)
    named = type(whole)(*map(str, range(len(columns))))
    there = intervals(chosen, in_parts, named, method=method)
    for one, other in zip(here, there, strict=True):
        assert one.method == other.method
        # sums are taken in another order
        np.testing.assert_allclose(one.interval, other.interval, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(one.degrees_of_freedom, other.degrees_of_freedom, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_forms_of_arrays_change_no_interval(n_classes):
    y, z = arrays(n_classes)
    make = fp.Predictions.from_llrs if n_classes == 2 else fp.Predictions.from_logits
    chosen = metrics(n_classes, slow=False)[::3]  # rows are read alike for all
    plain = content(intervals(chosen, make(y, z), schemes()["TwoWay"]))
    for name, form in FORMS.items():
        found = content(intervals(chosen, make(*form(y, z)), schemes()["TwoWay"]))
        assert found == plain, name


@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_of_posteriors_change_no_interval(n_classes):
    """With exact zeros among them, and classes that are named."""
    y, z = arrays(n_classes)
    q = np.exp(np.column_stack([0.0 * z, z]) if n_classes == 2 else z)
    q /= q.sum(axis=1, keepdims=True)
    q[5] = np.eye(n_classes)[y[5]]
    names = np.array(["a", "b", "c"][:n_classes])
    chosen = [fp.CrossEntropy(), fp.BrierScore(), fp.ECE(on="confidence")]
    chosen += [fp.EER(), fp.AUC(), fp.MinCllr(), fp.ECE()] if n_classes == 2 else []
    data = (
        fp.Predictions.from_posteriors(y, q),
        fp.Predictions.from_posteriors(y, np.asfortranarray(q)),
        fp.Predictions.from_posteriors(y, np.repeat(q, 2, axis=1)[:, ::2]),
        fp.Predictions.from_posteriors(names[y], q, classes=names),
    )
    plain, *others = (content(intervals(chosen, each, fp.IID())) for each in data)
    assert all(other == plain for other in others)


@pytest.mark.parametrize("scheme", schemes())
@pytest.mark.parametrize("curve", BANDS)
def test_bands_are_ordered_nested_and_reproducible(curve, scheme):
    data, options = sample(weighted=True), {"resampling": schemes()[scheme], **FEW}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of undefined replicates
        found = fp.band(curve, data, **options)
        with fp.threads(1):
            again = fp.band(curve, data, **options)
        lower = fp.band(curve, data, **{**options, "confidence_level": 0.5})
        joint = fp.band(curve, data, simultaneous=True, **options)
    for series in found.series:
        ends = [
            getattr(side, series)
            for side in (joint.low, found.low, lower.low, lower.high, found.high, joint.high)
        ]
        for one, other in itertools.pairwise(ends):
            assert (one <= other).all()
    assert repr(again.to_dict()) == repr(found.to_dict())
    assert repr(pickle.loads(pickle.dumps(found)).to_dict()) == repr(found.to_dict())


def methods_and_schemes():
    """All that go together; quick are each method once, and each scheme."""
    methods = ("auto", "percentile", "basic", "bca", "normal", "subsampling")
    for (k, method), (other, scheme) in itertools.product(enumerate(methods), enumerate(schemes())):
        if method != "bca" or scheme not in ("Nested", "TwoWay"):
            is_quick = (k + other) % 5 == 0
            yield pytest.param(method, scheme, marks=[] if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(("method", "scheme"), [*methods_and_schemes()])
def test_ends_lie_in_the_range_of_the_metric(method, scheme):
    data, chosen = sample(), metrics(slow=False)
    noise = np.round(np.random.default_rng(0).normal(size=N))
    other = fp.Predictions.from_llrs(data.y_true, data.scores + noise)
    options = {"resampling": schemes()[scheme], "method": method, **FEW}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = fp.bootstrap(chosen, data, **options)
        differences = fp.compare(chosen, data, other, **options)
    for metric, own, between in zip(chosen, found, differences, strict=True):
        least, most = metric.value_range
        for each, low, high in ((own, least, most), (between, least - most, most - least)):
            if not np.isnan(each.interval.low):
                assert low <= each.interval.low <= each.interval.high <= high, each
            assert np.isnan(each.corrected) or low <= each.corrected <= high
        assert least <= own.value <= most


def test_values_of_metrics_lie_in_their_range():
    for n_classes in (2, 3):
        for metric in metrics(n_classes):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = metric(sample(n_classes, weighted=True))
            assert metric.value_range[0] - 1e-12 <= value <= metric.value_range[1] + 1e-12


def test_the_bound_on_these_samples_has_an_interval_of_the_population_only_when_asked_for():
    rng = np.random.default_rng(0)
    y = rng.random(3_000) < 0.3
    data = fp.Predictions.from_logits(y, 2.0 * rng.normal(size=y.size) + 4.0 * y - 2.8)
    row = fp.evaluate(data, n_resamples=40, seed=0).row("RCL bound")
    assert row.low is None
    assert "optimistic bound on these samples" in row.note
    bound = fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.TrainOnTest())
    found = fp.bootstrap(bound, data, n_resamples=40, seed=0)
    assert 0.0 <= found.interval.low <= found.corrected <= found.interval.high < found.value
    asked = fp.evaluate(data, [bound], n_resamples=40, seed=0).rows[0]
    assert (asked.low, asked.high) == tuple(found.interval)
    assert asked.corrected == found.corrected
    assert "once corrected for optimism" in asked.note
