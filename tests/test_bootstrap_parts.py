"""Replicates of data in parts: memory's own, or of the same law."""

import itertools
import math
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.bootstrap.draws import UnitDraws
from fastpsr.bootstrap.rows import DrawnTotals
from fastpsr.bootstrap.shares import SubsetDraws
from fastpsr.bootstrap.streams import seed_of
from fastpsr.kernels.sizes import DEGREE
from fastpsr.metrics.base import Metric
from fastpsr.plans import Part, Step, run
from fastpsr.summaries.losses import ScoreTotals
from fastpsr.summaries.sums import ClassSums, NeedsSamplesError
from tests import reference_bootstrap as reference
from tests.drawn import (
    acceleration_of,
    draws_of,
    draws_rows,
    prepared,
    row_draws,
    sums_of,
    units_of,
)

N = 700
CUTS = (0, 90, 90, 160, 260, 261, 500, N)  # an empty part, and one of a single row
METRICS = [
    fp.EER(), fp.MinDCF(0.05), fp.MinCllr(), fp.AUC(), fp.CrossEntropy(), fp.BrierScore(False),
    fp.BayesRisk(fp.CostMatrix.zero_one(2)), fp.Cllr(), fp.ActDCF(0.1), fp.ECE(), fp.ECE(5, norm=2),
    fp.ECE(binning="quantile"),
]  # fmt: skip
#: One for each kind of sums, and one of samples.
KINDS = [fp.EER(), fp.CrossEntropy(), fp.ActDCF(0.1), fp.ECE(5, norm=2),
         fp.ECE(binning="quantile")]  # fmt: skip
SHAPES = ("plain", "classes apart", "weights")


def detector(shape="plain", seed=0, kind="llrs"):
    """Tied scores; parts of one class; weights that are no binary fractions, and parts without."""
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < 0.3).astype(int)
    if shape == "classes apart":
        y = np.sort(y)
    z = np.round(rng.normal(size=N) + 1.5 * y - 0.5, 1)
    weights = None
    if shape == "weights":
        weights = np.random.default_rng(5).choice([0.0, 0.1, 0.3, 1.7], N)
        weights[160:260] = 0.0
    if kind == "posteriors":
        q = 1.0 / (1.0 + np.exp(-z))
        return fp.Predictions.from_posteriors(y, q, sample_weight=weights, priors=[0.7, 0.3])
    return fp.Predictions.from_llrs(y, z, sample_weight=weights)


def ids_of(n_ids=25):
    numbers = np.random.default_rng(7).integers(0, n_ids, (2, N))
    return [np.array([f"speaker {k}" for k in side]) for side in numbers]


def in_parts(data, cuts=CUTS, ids=None):
    one, other = ids_of() if ids is None else ids
    return fp.from_parts(
        (data[a:b], {"one": one[a:b], "other": other[a:b]}) for a, b in itertools.pairwise(cuts)
    )


def by_unit():
    one, other = ids_of()
    yield fp.Clusters(one), fp.Clusters("one")
    yield fp.TwoWay(one, other), fp.TwoWay("one", "other")


def schemes_in_parts():
    return [fp.IID(), fp.Stratified(), fp.Clusters("one"), fp.Nested("one"),
            fp.TwoWay("one", "other")]  # fmt: skip


def test_every_scheme_is_listed():
    assert tuple(type(scheme) for scheme in schemes_in_parts()) == RESAMPLINGS


FEW = {"confidence_level": 0.5, "seed": 3}


def replicates(metrics, data, n=12, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = fp.bootstrap(metrics, data, n_resamples=n, **FEW, **options)
    return np.array([result.replicates for result in found])


def compared(metrics, a, b, n=12, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return fp.compare(metrics, a, b, n_resamples=n, **FEW, **options)


# Units


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", ["llrs", "posteriors"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scheme", range(2), ids=["clusters", "two-way"])
def test_replicates_of_units_are_those_in_memory(scheme, shape, kind):
    data = detector(shape, kind=kind)
    here, there = list(by_unit())[scheme]
    expected = replicates(METRICS, data, resampling=here)
    found = replicates(METRICS, in_parts(data), resampling=there)
    assert np.isfinite(expected).mean() > 0.9
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("scheme", range(2), ids=["clusters", "two-way"])
def test_comparisons_by_units_are_those_in_memory(scheme):
    a, b = detector("weights"), detector("weights", seed=1)
    b = fp.Predictions.from_llrs(a.y_true, b.llrs, sample_weight=a.sample_weight)
    here, there = list(by_unit())[scheme]
    for metric in (fp.EER(), fp.BrierScore(False), fp.ECE(), fp.ECE(binning="quantile")):
        expected = compared(metric, a, b, resampling=here)
        found = compared(metric, in_parts(a), in_parts(b), resampling=there)
        assert found.value == pytest.approx(expected.value, rel=1e-12, abs=1e-14)
        # differences of values of magnitude 1
        np.testing.assert_allclose(found.replicates, expected.replicates, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    "ids",
    [np.arange(N) % 9, (np.arange(N) % 9).astype(np.int8) - 3, (np.arange(N) % 9) * 10**15,
     np.array([b"a", b"bb", b"c"])[np.arange(N) % 3]],
    ids=["int64", "int8", "far apart", "bytes"],
)  # fmt: skip
def test_ids_of_any_type(ids):
    data = detector()
    parts = in_parts(data, ids=(ids, ids))
    expected = replicates([fp.Cllr()], data, resampling=fp.Clusters(ids))
    found = replicates([fp.Cllr()], parts, resampling=fp.Clusters("one"))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_ids_must_be_of_one_type():
    data = detector()
    one, other = ids_of()
    mixed = fp.from_parts([(data[:300], {"one": one[:300]}), (data[300:], {"one": np.arange(400)})])
    with pytest.raises(ValueError, match="ids must be ids of one type in all parts"):
        fp.bootstrap(fp.Cllr(), mixed, resampling=fp.Clusters("one"))
    parts = in_parts(data, ids=(one, np.arange(N)))
    with pytest.raises(ValueError, match="enroll_speakers and test_speakers must be ids of one ty"):
        fp.bootstrap(fp.Cllr(), parts, resampling=fp.TwoWay("one", "other"))
    parts = in_parts(data, ids=(np.full(N, "a"), other))
    with pytest.raises(ValueError, match="ids must name at least two clusters, not 1"):
        fp.bootstrap(fp.Cllr(), parts, resampling=fp.Clusters("one"))
    with pytest.raises(ValueError, match="must have the column 'three'"):
        fp.bootstrap(fp.Cllr(), parts, resampling=fp.Clusters("three"))
    with pytest.raises(ValueError, match="columns such as 'one' are for data in parts"):
        fp.bootstrap(fp.Cllr(), data, resampling=fp.Clusters("one"))


# Rows


@pytest.mark.parametrize(
    ("scheme", "shape"),
    [
        (fp.IID, "plain"),
        *(pytest.param(scheme, shape, marks=pytest.mark.slow)
          for scheme in (fp.IID, fp.Stratified, fp.Nested)
          for shape in ("plain", "classes apart", "weights")
          if (scheme, shape) != (fp.IID, "plain")),
    ],
)  # fmt: skip
def test_replicates_of_rows_are_of_one_law(scheme, shape):
    """Means and spreads of 300 replicates each, whether by sums or by samples."""
    n = 300
    data = detector(shape)
    nested = scheme is fp.Nested
    in_memory, by_name = ((ids_of()[0],), ("one",)) if nested else ((), ())
    here = replicates(KINDS, data, n, resampling=scheme(*in_memory))
    there = replicates(KINDS, in_parts(data), n, resampling=scheme(*by_name))
    for metric, one, other in zip(KINDS, here, there, strict=True):
        error = math.sqrt((one.var() + other.var()) / n)
        assert abs(one.mean() - other.mean()) < 5.0 * error, metric
        # log of a ratio of standard deviations: error (kurtosis - 1)^(1/2) / (2 n)^(1/2) or so
        assert abs(math.log(one.std() / other.std())) < 5.0 / math.sqrt(n), metric


@pytest.mark.parametrize("resampling", [fp.IID(), fp.Stratified()], ids=["iid", "stratified"])
@pytest.mark.parametrize("way", ["by sums", "by rows"])
def test_as_many_rows_are_drawn_as_there_are(way, resampling):
    data = detector("weights")
    parts = in_parts(data)
    run(parts.find_facts)
    if way == "by sums":
        sums = [sums_of(fp.CrossEntropy(), parts)]
        draws = row_draws(sums, parts, resampling, 8)[1]
    else:
        draws = UnitDraws(units_of(resampling, parts), 8)
    (times,) = run(lambda: ask(_AllTimes(draws, 16), parts))
    own = data.weights
    assert times.shape == (16, N)
    assert not times[:, own == 0.0].any()
    present = np.count_nonzero(own)
    np.testing.assert_array_equal(times.sum(axis=1), np.full(16, present))
    of_targets = times[:, data.y_true == 1].sum(axis=1)
    n_targets = np.count_nonzero(own[data.y_true == 1])
    assert (of_targets == n_targets).all() == isinstance(resampling, fp.Stratified)
    of_part = times[:, :90].sum(axis=1)
    assert len(set(of_part)) > 5
    share = np.count_nonzero(own[:90]) / present
    spread = math.sqrt(present * share * (1.0 - share) / 16.0)
    assert abs(of_part.mean() - present * share) < 5.0 * spread
    assert len({tuple(row) for row in times.tolist()}) == 16


def ask(*arguments):
    step, *data = arguments
    return (yield [step.over(*data)])


@dataclass(frozen=True, eq=False)
class _AllTimes(Step):
    """How often each row is there, in all replicates."""

    draws: object
    n: int
    takes_all = False

    @property
    def key(self):
        return "times"

    def add(self, accumulator, prepared, part):
        times = np.array([self.draws.of_rows(part, r) for r in range(self.n)])
        accumulator = accumulator or {}
        accumulator[part.first_row] = times
        return accumulator

    def merge(self, one, other):
        return {**one, **other}

    def finish(self, accumulator):
        out = np.zeros((self.n, N))
        for first, times in accumulator.items():
            out[:, first : first + times.shape[1]] = times
        return out


def test_counts_that_are_known_are_drawn_as_in_memory():
    """Ranks and decisions need no rows: their replicates are memory's own."""
    data = detector()
    metrics = [fp.EER(), fp.MinDCF(0.1), fp.MinCllr(), fp.AUC(), fp.ActDCF(0.1),
               fp.BayesRisk(fp.CostMatrix.zero_one(2))]  # fmt: skip
    for resampling in (fp.IID(), fp.Stratified()):
        np.testing.assert_array_equal(
            replicates(metrics, in_parts(data), resampling=resampling),
            replicates(metrics, data, resampling=resampling),
        )


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("resampling", schemes_in_parts(), ids=lambda r: type(r).__name__)
def test_both_systems_see_the_same_draws(resampling):
    a = detector()
    b = fp.Predictions.from_llrs(a.y_true, a.llrs + 0.01 * detector(seed=1).llrs)
    one, other = in_parts(a), in_parts(b)
    metrics = [fp.EER(), fp.Cllr(), _Plain(), fp.ECE(binning="quantile")]
    apart = replicates(metrics, one, resampling=resampling).std(axis=1)
    found = compared(metrics, one, other, resampling=resampling)
    # quantiles of ECE are of scores that are tied in a, not in b
    for own, between in zip(apart[:3], found[:3], strict=True):
        assert between.standard_error < 0.5 * own
    for same in compared(metrics, one, in_parts(a), resampling=resampling):
        assert not same.replicates[~np.isnan(same.replicates)].any()


def test_comparisons_of_what_does_not_fit():
    a, b = detector(), detector(seed=1)
    with pytest.raises(ValueError, match="both be in parts, or both in memory"):
        fp.compare(fp.EER(), in_parts(a), a)
    with pytest.raises(ValueError, match="parts of the same lengths"):
        fp.compare(fp.EER(), in_parts(a), in_parts(a, (0, 350, N)))
    with pytest.raises(ValueError, match="same samples in the same order"):
        fp.compare(fp.EER(), in_parts(a), in_parts(b))


# Sums that cannot serve


@dataclass(frozen=True, eq=False)
class _Fickle(ClassSums):
    """Squares of LLRs, of which some sums send the replicate back to the samples."""

    n_columns = 1
    given_priors = None
    stream = ("fickle",)
    share: float = 1.0

    @property
    def key(self):
        return "fickle"

    def columns(self, part, *beside):
        return (part.predictions.llrs**2,)

    def assemble(self, weight, sums):
        if self.share * int(1e6 * sums[0, 0]) % 2:
            raise NeedsSamplesError
        return ScoreTotals(sums[:, 0], weight, None)


@dataclass(frozen=True, eq=False)
class _MeanSquare(Metric):
    share: float = 1.0
    label = "mean square"

    def summarize(self, predictions):
        own = predictions.weights if predictions.weights.size else np.ones(len(predictions))
        squares, y = own * predictions.llrs**2, predictions.labels
        return ScoreTotals(np.bincount(y, squares, 2), np.bincount(y, own, 2), None)

    def merge(self, one, other):
        return ScoreTotals(one.loss + other.loss, one.weight + other.weight, None)

    def sums(self, data):
        return _Fickle(2, self.share)
        yield

    def finish(self, summary):
        return summary.mean()


class _Plain(_MeanSquare):
    """Without sums: computed from weighted samples."""

    def sums(self, data):
        return None
        yield


@pytest.mark.parametrize("scheme", range(2), ids=["clusters", "two-way"])
@pytest.mark.parametrize("shape", SHAPES)
def test_metrics_of_ones_own(shape, scheme):
    """By sums or by samples, in memory or in parts."""
    data = detector(shape)
    here, there = list(by_unit())[scheme]
    expected = replicates([_MeanSquare(0.0)], data, resampling=here)
    for metric in (_MeanSquare(0.0), _Plain()):
        found = replicates([metric], in_parts(data), resampling=there)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@dataclass(frozen=True, eq=False)
class _Polynomials(ClassSums):
    """Chebyshev polynomials of a coordinate, besides the scores."""

    n_columns = 2
    degree = DEGREE
    stream = ("polynomials",)
    key = "polynomials"

    def columns(self, part, *beside):
        llrs = part.predictions.llrs
        return (llrs, np.tanh(llrs))

    def assemble(self, weight, sums):
        raise AssertionError


@pytest.mark.parametrize("shape", SHAPES)
def test_nested_draws_in_parts(shape):
    """As many rows of each drawn cluster as it has, over all its parts; clusters as in memory."""
    data = detector(shape)
    ids, _ = ids_of()
    parts = in_parts(data)
    run(parts.find_facts)
    draws = draws_of(units_of(fp.Nested("one"), parts), 8)
    (times,) = run(lambda: ask(_AllTimes(draws, 24), parts))
    there = data.weights > 0.0 if data.weights.size else np.ones(N, bool)
    assert not times[:, ~there].any()
    clusters = draws_of(units_of(fp.Clusters(ids), data), 8)
    whole = Part.whole(data)
    for replicate in range(24):
        of_cluster = clusters.of_rows(whole, replicate)
        for name in set(ids):
            rows = there & (ids == name)
            drawn = of_cluster[rows][0]
            counts = times[replicate, rows]
            assert counts.sum() == drawn * rows.sum()
            assert not drawn or not (counts % drawn).any()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("resampling", schemes_in_parts(), ids=lambda r: type(r).__name__)
def test_sums_in_parts_are_of_the_rows_drawn(resampling, shape):
    data = detector(shape)
    parts = in_parts(data)
    run(parts.find_facts)
    by_class = fp.Stratified() if isinstance(resampling, fp.Stratified) else fp.IID()
    layout, draws = row_draws([_Polynomials(2)], parts, by_class, 4)
    step = DrawnTotals(layout, draws, 0, 11)
    if not draws_rows(resampling):
        draws = draws_of(units_of(resampling, parts), 4)
        step = draws.totals((layout,), 0, 11)
    (sums,) = run(lambda: ask(step, parts))
    sums = sums if draws_rows(resampling) else sums[0]
    (times,) = run(lambda: ask(_AllTimes(draws, 11), parts))
    own = data.weights if data.weights.size else np.ones(N)
    columns = [data.llrs, np.tanh(data.llrs)]
    for replicate in range(11):
        weights = times[replicate] * own
        expected = reference.chebyshev_sums(data.y_true, 2, weights, columns, DEGREE)
        np.testing.assert_allclose(sums[replicate], expected, rtol=1e-12, atol=1e-11)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("resampling", schemes_in_parts(), ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("shape", SHAPES)
def test_replicates_go_back_to_the_samples_that_were_drawn(shape, resampling):
    data = in_parts(detector(shape))
    some = replicates([_MeanSquare(1.0)], data, resampling=resampling)
    none = replicates([_MeanSquare(0.0)], data, resampling=resampling)
    np.testing.assert_allclose(some, none, rtol=1e-12)


class _Counts(_Fickle):
    n_columns = 0

    def columns(self, part, *beside):
        return ()

    def assemble(self, weight, sums):
        raise NeedsSamplesError


class _OfCounts(_MeanSquare):
    def sums(self, data):
        return _Counts(2)
        yield


def test_counts_alone_must_serve():
    for data in (detector(), in_parts(detector())):
        with pytest.raises(ValueError, match="must not need samples where its sums are counts"):
            fp.bootstrap(_OfCounts(), data, seed=0)


def test_undefined_replicates_are_nan():
    """A rare class: some replicates have none of it, by sums, ranks and samples."""
    y = np.zeros(60, int)
    y[[3, 41]] = 1
    z = np.random.default_rng(0).normal(size=60) + y
    data = fp.Predictions.from_llrs(y, z)
    parts = fp.from_parts([data[:20], data[20:50], data[50:]])
    found = replicates([fp.EER(), fp.Cllr(), _Hull()], parts, 400)
    for values in found:
        missing = np.isnan(values).mean()
        expected = (1.0 - 2.0 / 60) ** 60
        assert abs(missing - expected) < 5.0 * math.sqrt(expected / 400)


# Batches, threads, processes


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("resampling", schemes_in_parts(), ids=lambda r: type(r).__name__)
def test_replicates_do_not_depend_on_the_batch(monkeypatch, resampling):
    reads = []
    data = detector("weights")

    def part(a, b):
        def load():
            reads.append(a)
            return data[a:b], {name: side[a:b] for name, side in columns.items()}

        return load

    columns = dict(zip(("one", "other"), ids_of(), strict=True))
    parts = [part(a, b) for a, b in itertools.pairwise(CUTS)]
    metrics = [fp.CrossEntropy(), fp.ECE(), _MeanSquare(1.0), fp.ECE(binning="quantile")]

    def found():
        reads.clear()
        values = replicates(metrics, fp.from_parts(parts), resampling=resampling)
        return values, reads.count(500)

    large, few = found()
    monkeypatch.setenv("FASTPSR_MEMORY", "90kB")
    small, many = found()
    np.testing.assert_array_equal(large, small)
    assert few <= 10  # facts, ids and values among them
    assert many > 2 * few


class _Hull(fp.EER):
    """EER without sums: each replicate's isotonic fit is shared, under a name of its own."""

    def sums(self, data):
        return None
        yield


def test_what_replicates_share_is_their_own(monkeypatch):
    data = detector("weights")
    here, there = next(by_unit())
    expected = replicates([fp.EER()], data, 4, resampling=here)
    monkeypatch.setenv("FASTPSR_MEMORY", "20kB")  # a replicate at a time
    found = replicates([_Hull(), fp.ECE(binning="quantile")], in_parts(data), 4, resampling=there)
    np.testing.assert_allclose(found[:1], expected, rtol=1e-12)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("resampling", schemes_in_parts(), ids=lambda r: type(r).__name__)
def test_replicates_do_not_depend_on_threads(monkeypatch, resampling):
    data = in_parts(detector("weights"))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FASTPSR_NUM_THREADS", threads)
        found.append(replicates(METRICS, data, resampling=resampling))
    np.testing.assert_array_equal(*found)


SCRIPT = """
import numpy as np, fastpsr as fp
class Mine(fp.rules.Brier):
    __repr__ = object.__repr__
rng = np.random.default_rng(0)
y = np.arange(90) % 3 == 0
data = fp.Predictions.from_llrs(y, rng.normal(size=90) + y)
padding = [object() for _ in range({padding})]  # other addresses
rules = [Mine(), fp.rules.Weighted(lambda a: 6.0 * a[:, 0] * a[:, 1])]
found = fp.bootstrap([fp.ExpectedScore(r) for r in rules], data, n_resamples=40, seed=1)
print([value.hex() for one in found for value in one.replicates.tolist()])
"""


@pytest.mark.slow
def test_a_rule_of_ones_own_has_the_same_replicates_in_every_process():
    said = []
    for padding in (0, 100_000):
        environment = {**os.environ, "PYTHONHASHSEED": str(padding)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(padding=padding)], env=environment,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        said.append(done.stdout)
    assert said[0] == said[1]
    assert said[0].count("0x") == 80


def test_seeds_of_streams():
    streams = [("a",), ("a", 1), ("a", "1"), ("a1",), ("a", 1, 1), ("a", 11), (1, "a"), ()]
    seeds = {seed_of(seed, stream) for seed in (0, 1, 2**40, 2**90) for stream in streams}
    assert len(seeds) == 4 * len(streams)
    assert seed_of(0, ("rank cells",)) == seed_of(0, ("rank cells",))
    with pytest.raises(TypeError, match="strings and integers"):
        seed_of(0, ("a", 1.5))


# Callables, and the acceleration of BCa


def test_functions_are_refused_by_name():
    def mine(predictions):
        return 1.0

    with pytest.raises(ValueError, match="not the function mine"):
        fp.bootstrap(mine, in_parts(detector()))


def test_progress_is_told():
    metrics = [fp.EER(), fp.Cllr(), fp.AUC(), fp.ECE(binning="quantile")]
    for resampling in schemes_in_parts():
        told = []
        replicates(metrics, in_parts(detector()), resampling=resampling,
                   progress=lambda *said, t=told: t.append(said))  # fmt: skip
        done, totals = zip(*told, strict=True)
        assert set(totals) == {36}
        assert list(done) == sorted(set(done))
        assert done[-1] == 36


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("shape", SHAPES)
def test_bca_is_that_in_memory(shape):
    """Clusters have memory's replicates, too."""
    data = detector(shape)
    one, _ = ids_of()
    for metric in (fp.EER(), fp.BrierScore(False), fp.ECE(), fp.AUC()):
        options = {"method": "bca", "seed": 3, "n_resamples": 200}
        here = fp.bootstrap(metric, data, resampling=fp.Clusters(one), **options)
        there = fp.bootstrap(metric, in_parts(data), resampling=fp.Clusters("one"), **options)
        np.testing.assert_allclose(there.interval, here.interval, rtol=1e-9)
        for resampling in (fp.IID(), fp.Stratified()):
            accelerations = [acceleration(metric, d, resampling) for d in (data, in_parts(data))]
            assert accelerations[0] != 0.0
            assert accelerations[1] == pytest.approx(accelerations[0], rel=1e-6, abs=1e-12)


def acceleration(metric, data, resampling):
    job = prepared(metric, data)
    return run(lambda: acceleration_of([job], [1.0], resampling, 0))


@pytest.mark.parametrize("resampling", [fp.IID(), fp.Stratified()], ids=["iid", "stratified"])
def test_every_row_is_left_out_once(resampling):
    data = detector("weights")
    parts = in_parts(data)
    run(parts.find_facts)
    units = units_of(resampling, parts)
    sizes = units.n_in_strata
    keeps = ~np.eye(13 * len(sizes), dtype=bool)
    draws = SubsetDraws(units, keeps, 3, apart=True)
    (times,) = run(lambda: ask(_AllTimes(draws, len(keeps)), parts))
    present = data.weights > 0.0
    left_out = (times == 0.0) & present
    assert (left_out[:, present].sum(axis=0) == 1).all()
    for stratum, size in enumerate(sizes):
        numbers = left_out[13 * stratum : 13 * (stratum + 1)].sum(axis=1)
        assert set(numbers) <= {size // 13, size // 13 + 1}
        if isinstance(resampling, fp.Stratified):
            rows = left_out[13 * stratum : 13 * (stratum + 1)].any(axis=0)
            assert set(data.y_true[rows]) == {stratum}
    here = SubsetDraws(units_of(resampling, data), keeps, 3, apart=True)
    for replicate in (0, 5, 12):  # the same rows as in memory
        alone = here.of_rows(Part.whole(data), replicate)
        np.testing.assert_array_equal(alone[present], times[replicate][present])


def test_bca_by_leaving_out():
    """Clusters are left out one by one: the jackknife itself, in parts as in memory."""
    data = detector()
    one, _ = ids_of()
    metric = fp.ECE(binning="quantile")
    here = acceleration(metric, data, fp.Clusters(one))
    there = acceleration(metric, in_parts(data), fp.Clusters("one"))
    assert here != 0.0
    assert there == pytest.approx(here, rel=1e-9)


@pytest.mark.parametrize("ids", [[1, 2], np.arange(4), ("a", "b")])
def test_ids_of_parts_are_named_and_those_of_memory_are_not(ids):
    whole = fp.Predictions.from_llrs([0, 1, 0, 1], [-1.0, 0.5, 0.2, 2.0])
    in_parts = fp.from_parts([(whole[:2], {"one": [1, 2]}), (whole[2:], {"one": [1, 3]})])
    for resampling in (fp.Clusters(ids), fp.TwoWay(ids, ids), fp.TwoWay("one", ids)):
        with pytest.raises(fp.ArgumentError, match="must be the name of a column"):
            fp.bootstrap(fp.Cllr(), in_parts, resampling=resampling, n_resamples=50)
    for resampling in (fp.Clusters("one"), fp.TwoWay("one", "one")):
        with pytest.raises(fp.ArgumentError, match="are for data in parts"):
            fp.bootstrap(fp.Cllr(), whole, resampling=resampling, n_resamples=50)
