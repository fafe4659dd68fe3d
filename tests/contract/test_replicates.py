"""Replicates follow the law of their scheme, in memory and in parts, for every metric."""

import numpy as np
import pytest
from scipy.stats import binom

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import OPTIMUM, outcome, require_same
from tests.contract.data import Case
from tests.replicates import recorded, values_at

LAW = 1_000  # replicates whose frequencies are compared with those of the law
FEW = {"n_resamples": 12, "confidence_level": 0.5, "method": "percentile"}
#: Schemes that draw ids alone: the same in parts as in memory; rows are drawn within parts.
DRAW_IDS = ("Clusters", "TwoWay")
UNWEIGHTED = Case("LLRs", n=120)
WEIGHTED = Case("LLRs", weights="zeros", cuts="by class", n=120)
HOSTILE = [
    Case("logits", "tied", "zeros", n=120),
    Case("logits", "infinite", "wild", n=120),
    Case("LLRs", "tied", "fractions", n=120, has_priors=True),
    Case("raw scores", "infinite", "wild", n=120),
    Case("posteriors of 3 classes", "infinite", "zeros", n=120),
    Case("log-posteriors of 3 classes", "tied", "wild", n=120, has_priors=True),
]
FITTED = ("CalibrationLoss", "ExpectedDivergence")
each_scheme = pytest.mark.parametrize("name", registry.RESAMPLING_KINDS)
each_case = pytest.mark.parametrize("case", [UNWEIGHTED, WEIGHTED], ids=["equal", "weights"])


class Draws(fp.metrics.Metric):
    """Keeps the weights of all rows, whose scores are their numbers."""

    label = "draws"

    def __init__(self, n):
        self.n, self.weights = n, []

    def summarize(self, predictions):
        weights = predictions.sample_weight
        weights = np.ones(len(predictions)) if weights is None else weights
        return np.stack([predictions.llrs, weights])

    def merge(self, one, other):
        return np.hstack([one, other])

    def finish(self, summary):
        numbers, weights = summary
        self.weights.append(np.zeros(self.n))
        self.weights[-1][numbers.astype(int)] = weights
        return float(weights @ numbers)


def drawn(case, name, in_parts=False, n=LAW, seed=3):
    """Return how often each row is drawn, (n, N), and columns of ids."""
    y, weights, N = case.rows["y"], case.rows["weights"], case.n
    rows, speakers = np.arange(N), np.arange(11)  # each speaker meets each, and itself
    left, right = np.repeat(speakers, 11)[:N], np.tile(speakers, 11)[:N]
    columns = {"unit": rows // 3, "left": left, "right": right}
    data, ids = fp.Predictions.from_llrs(y, 1.0 * rows, sample_weight=weights), columns
    if in_parts:
        bounds = [slice(0, 0), slice(0, 50), slice(50, 51), slice(51, 101), slice(101, N)]
        data = fp.from_parts(
            [
                (data[rows], {name: column[rows] for name, column in columns.items()})
                for rows in bounds
            ]
        )
        ids = {name: name for name in columns}
    metric, scheme = Draws(N), registry.resampling(name, ids)
    fp.bootstrap(metric, data, resampling=scheme, seed=seed, **FEW | {"n_resamples": n})
    is_present = weights > 0.0
    times = np.zeros((n, N))
    times[:, is_present] = np.array(metric.weights[-n:])[:, is_present] / weights[is_present]
    np.testing.assert_allclose(times, times.round(), rtol=1e-14)
    return times.round(), columns


def require_law(times, n_drawn, n_units):
    """Compare frequencies of counts with those of `n_drawn` draws from units, and their means."""
    for count in range(4):
        share = binom.pmf(count, n_drawn, 1.0 / n_units)
        error = np.sqrt(share * (1.0 - share) / times.size)
        assert np.mean(times == count) == pytest.approx(share, abs=5.0 * error)
    error = np.sqrt(n_drawn / n_units / len(times))
    np.testing.assert_allclose(times.mean(axis=0), n_drawn / n_units, atol=5.0 * error)


@each_case
@each_scheme
@pytest.mark.parametrize("in_parts", [False, True], ids=["memory", "parts"])
def test_draws(name, case, in_parts):
    n = LAW if not in_parts else 300 if name not in DRAW_IDS else 20
    times, columns = drawn(case, name, in_parts, n)
    if in_parts and name in DRAW_IDS:
        np.testing.assert_array_equal(times, drawn(case, name, n=n)[0])
        return
    is_present = case.rows["weights"] > 0.0
    assert not times[:, ~is_present].any()
    assert len(np.unique(times, axis=0)) > 0.99 * n
    if name in ("IID", "Stratified"):  # also rows in the same place of parts of one size
        correlation = np.corrcoef(times[:, is_present].T) - np.eye(is_present.sum())
        assert np.abs(correlation).max() < 6.0 / np.sqrt(n)
    columns = {column: ids[is_present] for column, ids in columns.items()}
    CHECKS[name](times[:, is_present], case.rows["y"][is_present], columns)


def check_rows(times, y, ids):
    assert (times.sum(axis=1) == y.size).all()
    require_law(times, y.size, y.size)
    assert np.unique(times[:, y == 1].sum(axis=1)).size > 9


def check_strata(times, y, ids):
    for label in (0, 1):
        of_class = times[:, y == label]
        assert (of_class.sum(axis=1) == of_class.shape[1]).all()
        require_law(of_class, of_class.shape[1], of_class.shape[1])


def times_of_units(times, units):
    """Return how often each unit is drawn, whose rows are all drawn as often."""
    _, first, place = np.unique(units, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(times, times[:, first][:, place])
    return times[:, first]


def check_clusters(times, y, ids):
    of_units = times_of_units(times, ids["unit"])
    n_units = of_units.shape[1]
    assert (of_units.sum(axis=1) == n_units).all()
    require_law(of_units, n_units, n_units)


def check_nested(times, y, ids):
    numbers, sizes = np.unique(ids["unit"], return_counts=True)
    totals = np.stack([times[:, ids["unit"] == unit].sum(axis=1) for unit in numbers], axis=1)
    check_clusters(totals / sizes, y, {"unit": numbers})
    for unit, size, total in zip(numbers, sizes, totals.T, strict=True):
        of_unit = times[:, ids["unit"] == unit]
        for n_copies in (1, 2):  # each copy of a cluster has rows of its own
            require_law(of_unit[total == n_copies * size], n_copies * size, size)


def check_speakers(times, y, ids):
    """A trial of two speakers counts as both are drawn, that of one and itself as this one."""
    speakers, is_itself = np.unique([ids["left"], ids["right"]]), ids["left"] == ids["right"]
    of_speaker = {s: times[:, i] for i, s in enumerate(ids["left"]) if is_itself[i]}
    for i, (left, right) in enumerate(zip(ids["left"], ids["right"], strict=True)):
        if left != right and left in of_speaker and right in of_speaker:
            np.testing.assert_array_equal(times[:, i], of_speaker[left] * of_speaker[right])
    known = np.stack([*of_speaker.values()], axis=1)
    require_law(known, speakers.size, speakers.size)
    if len(of_speaker) == speakers.size:
        assert (known.sum(axis=1) == speakers.size).all()


CHECKS = {
    "IID": check_rows,
    "Stratified": check_strata,
    "Clusters": check_clusters,
    "Nested": check_nested,
    "TwoWay": check_speakers,
}


@each_scheme
def test_seeds_reproduce_draws(name):
    one, again, other = (drawn(WEIGHTED, name, n=40, seed=seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any(axis=1).all()


# Replicates of every metric are its values of the draws


def require_same_law(a, b, place):
    """Means within 5 standard errors, and spreads alike."""
    error = np.sqrt(a.var() / a.size + b.var() / b.size)
    assert abs(a.mean() - b.mean()) <= 5.0 * error, place
    # about the standard error of the logarithm of the ratio for normal values
    if a.std() == b.std() == 0.0:
        return
    assert abs(np.log(a.std() / b.std())) <= 5.0 / np.sqrt(a.size - 1), place


@pytest.mark.parametrize("kind", registry.METRIC_KINDS)
@each_scheme
def test_replicates_are_values_of_weighted_data(name, kind):
    case = Case("posteriors", weights="fractions", n=300, has_priors=name != "IID")
    data, scheme = case.predictions(), registry.resampling(name, case.columns)
    metrics = registry.metrics(kind, data, case.columns["fold"])
    for label, metric in [*metrics.items()][:2]:
        n = 60 if hasattr(metric, "calibrator") else 200
        by_rows = name in ("IID", "Stratified")
        options = FEW | {"n_resamples": n if by_rows else 12, "resampling": scheme, "seed": 1}
        result = outcome(fp.bootstrap, metric, data, **options)
        naive = outcome(fp.bootstrap, metric.__call__, data, **options)
        if by_rows:
            require_same_law(result.replicates, naive.replicates, label)
        else:
            require_same(result.replicates, naive.replicates, 1e-7, label)


@pytest.mark.parametrize("kind", registry.METRIC_KINDS)
@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_replicates_are_values_of_predictions_made_anew(case, kind):
    """Of clusters, with the frequencies of what was drawn."""
    data = case.predictions()
    metrics = registry.metrics(kind, data, case.columns["fold"]).values()
    metrics = [metric for metric in metrics if not registry.counts_rows(metric)]
    metrics = [metric for metric in metrics if is_defined(outcome(metric, data))]
    scheme = fp.Clusters(case.columns["unit"])
    results, weights, _ = recorded(metrics, data, resampling=scheme, seed=1, **FEW)
    for result, values in zip(results, values_at(metrics, data, weights), strict=True):
        tolerance = 1e-7 if kind in FITTED else 1e-11
        require_same(result.replicates, values, tolerance, result.name)


def is_defined(value):
    return isinstance(value, float) and not np.isnan(value)


@each_case
@each_scheme
def test_replicates_in_parts(name, case, monkeypatch):
    columns = {column: column for column in case.columns}
    spoof = registry.METRIC_KINDS["MinADCF"].examples(case.predictions())[0].spoof
    parts = case.parts(case.columns | {"spoof": spoof})
    kinds = [*registry.METRIC_KINDS] if name in DRAW_IDS else ["BrierScore", "ECE", "AUC"]
    n = 12 if name in DRAW_IDS else 80
    for kind in kinds:
        here, there = (
            [*registry.metrics(kind, data).values()][-1] for data in (case.predictions(), parts)
        )
        options = FEW | {"n_resamples": n, "seed": 2}
        expected = outcome(
            fp.bootstrap, here, case.predictions(),
            resampling=registry.resampling(name, case.columns), **options,
        )  # fmt: skip
        scheme = registry.resampling(name, columns)
        actual = outcome(fp.bootstrap, there, parts, resampling=scheme, **options)
        if name in DRAW_IDS or isinstance(expected, ValueError):
            require_same(actual, expected, OPTIMUM, kind)
        else:
            require_same_law(actual.replicates, expected.replicates, kind)


@each_scheme
def test_replicates_in_parts_depend_neither_on_threads_nor_on_the_budget(name, monkeypatch):
    scheme = registry.resampling(name, {column: column for column in WEIGHTED.columns})
    metrics = [fp.CrossEntropy(), fp.ECE(5, binning="quantile"), fp.AUC()]
    results = []
    for threads, budget in (("1", "1GB"), ("3", "1GB"), ("3", "20kB")):
        monkeypatch.setenv("FASTPSR_NUM_THREADS", threads)
        monkeypatch.setenv("FASTPSR_MEMORY", budget)
        drawn_together = fp.bootstrap(metrics, WEIGHTED.parts(), resampling=scheme, seed=1, **FEW)
        results.append([result.replicates for result in drawn_together])
    require_same(results[1:], results[:1] * 2, 0.0)


@pytest.mark.parametrize("in_parts", [False, True], ids=["memory", "parts"])
@each_scheme
def test_metrics_and_systems_share_draws(name, in_parts):
    columns = {column: column for column in WEIGHTED.columns} if in_parts else WEIGHTED.columns
    options = FEW | {"resampling": registry.resampling(name, columns), "seed": 1}
    data = [WEIGHTED.parts() if in_parts else WEIGHTED.predictions() for _ in range(2)]
    metrics = {"a": fp.BrierScore(), "b": fp.BrierScore(), "c": fp.EER(), "d": Draws(WEIGHTED.n)}
    one, again, *_ = fp.bootstrap({name: metrics[name] for name in "abc"}, data[0], **options)
    np.testing.assert_array_equal(one.replicates, again.replicates)
    for result in outcome(fp.compare, {name: metrics[name] for name in "abc"}, *data, **options):
        assert not result.replicates.any()
