"""Calibration of data in parts is that of the same data in memory."""

import subprocess
import sys
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.calibration import CALIBRATORS
from fastpsr.calibration.base import Calibrator
from fastpsr.kernels.sizes import index_type
from fastpsr.plans import Part, Transform, begin, run
from fastpsr.plans.reading import parts_of

KINDS = ("posteriors", "log-odds", "llrs", "llrs with prior", "raw scores", "3 posteriors",
         "3 likelihoods")  # fmt: skip
WEIGHTS = ("none", "thirds", "zeros")
SCORES = ("finite", "infinite")
EVERY = {name: kind() for name, kind in CALIBRATORS.items()}
EVERY |= {f"{name} at a prior": CALIBRATORS[name](prior=0.05)
          for name in ("dp", "temperature", "beta")}  # fmt: skip


def make(kind, n, weights="none", scores="finite", order="shuffled", seed=0):
    """Overlapping predictions, and columns of ids."""
    rng = np.random.default_rng([n, seed])
    n_classes = 3 if kind[0] == "3" else 2
    y = rng.integers(0, n_classes, n)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    z = rng.normal(size=(n, n_classes)) + 1.3 * np.eye(n_classes)[y]
    if scores == "infinite":
        few = np.arange(2 * n_classes)
        z[few, (y[few] + 1) % n_classes] = -np.inf
    if order == "by class":
        z, y = z[np.argsort(y, kind="stable")], np.sort(y)
    elif order == "by score":
        by = np.argsort(z[:, 1] - z[:, 0], kind="stable")
        z, y = z[by], y[by]
    w = {
        "none": None,
        "thirds": rng.integers(1, 9, n) / 3.0,
        "zeros": rng.integers(0, 3, n) / 7.0,
    }[weights]
    x = z[:, 1] - z[:, 0]
    options = {"sample_weight": w}
    data = {
        "posteriors": lambda: fp.Predictions.from_posteriors(y, 1 / (1 + np.exp(-x)), **options),
        "log-odds": lambda: fp.Predictions.from_logits(y, x, priors=[0.3, 0.7], **options),
        "llrs": lambda: fp.Predictions.from_llrs(y, x, **options),
        "llrs with prior": lambda: fp.Predictions.from_llrs(y, x, prior=0.2, **options),
        "raw scores": lambda: fp.Predictions.from_raw_scores(y, x, **options),
        "3 posteriors": lambda: fp.Predictions.from_logits(y, z, **options),
        "3 likelihoods": lambda: fp.Predictions.from_log_likelihoods(y, z, **options),
    }[kind]()
    columns = {
        "group": rng.integers(-20, 40, n) * 7,
        "one": np.array([f"s{i}" for i in rng.integers(0, 25, n)]),
        "other": np.array([f"speaker {i}" if i > 20 else f"s{i}" for i in rng.integers(0, 30, n)]),
        "fold": np.array(["a", "bb", "c"])[rng.integers(0, 3, n)],
    }
    return data, columns


def cut(data, columns, n_parts=6, seed=1):
    """The same in parts: an empty one, and one of a single row, among others."""
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.integers(0, len(data), n_parts - 1))
    bounds = [0, 0, 1, *inner, len(data)]
    parts = []
    for a, b in pairwise(bounds):
        own = {name: ids[a:b] for name, ids in columns.items()}
        parts.append((data[a:b] if data.given_priors is not None else _sliced(data, a, b), own))
    return fp.from_parts(parts)


def _sliced(data, a, b):
    """Rows whose posteriors are not settled yet: those of likelihoods follow the whole."""
    part = data[a:b]
    if data.kind == "likelihoods":
        part._posterior_priors = None
    return part


def trainings(columns):
    """Ways to train on predictions in memory, and on the same in parts."""
    return {
        "dealt": (fp.CrossFit(4, seed=3), fp.CrossFit(4, seed=3)),
        "groups": (fp.CrossFit(3, groups=columns["group"]), fp.CrossFit(3, groups="group")),
        "pairs": (
            fp.CrossFit(3, groups=(columns["one"], columns["other"])),
            fp.CrossFit(3, groups=("one", "other")),
        ),
        "given": (fp.CrossFit(columns["fold"]), fp.CrossFit("fold")),
        "on test": (fp.TrainOnTest(), fp.TrainOnTest()),
    }


def takes(calibrator, kind, weights="none"):
    if weights != "none" and not calibrator.takes_weights:
        return False
    is_binary = calibrator.binary_only or getattr(calibrator, "prior", None) is not None
    if kind[0] == "3" and is_binary:
        return False
    return not (calibrator.needs_posteriors and kind == "raw scores")


def assert_fits_agree(calibrator, data, in_parts):
    one, other = calibrator.fit(data), calibrator.fit(in_parts)
    for name in one.fitted_names:
        np.testing.assert_allclose(
            getattr(other, name), getattr(one, name), rtol=1e-9, atol=1e-9, err_msg=name
        )


# Fits


TAKEN = [
    (name, kind, weights, scores)
    for name, kind, weights, scores in product(EVERY, KINDS, WEIGHTS, SCORES)
    if takes(EVERY[name], kind, weights)
]


def place_of(*case):
    """A number of the kind, weights and scores, by which cases take turns."""
    named = zip((KINDS, WEIGHTS, SCORES), case, strict=False)
    return sum(each.index(one) for each, one in named)


def some_way(ways, *case):
    """One of several, in turn: a calibrator has all over the kinds, weights and scores."""
    return list(ways)[place_of(*case) % len(ways)]


def assert_cross_fits_agree(calibrator, data, in_parts, way):
    train, train_parts = way
    one = fp.cross_fit(calibrator, data, train)
    other = fp.cross_fit(calibrator, in_parts, train_parts)
    assert (other.kind, other.n_parts) == (one.kind, in_parts.n_parts)
    np.testing.assert_allclose(other.compute().scores, one.scores, rtol=1e-8, atol=1e-8)


#: Finite scores of one kind and weights, infinite ones of the next; every fifth, slow are all.
IN_TURN = [case for case in TAKEN if place_of(*case[1:]) % 2 == 0][::5]


@pytest.mark.parametrize(("name", "kind", "weights", "scores"), IN_TURN)
def test_fits_and_cross_fits(name, kind, weights, scores):
    data, columns = make(kind, 240, weights, scores)
    in_parts, ways = cut(data, columns), trainings(columns)
    assert_fits_agree(EVERY[name], data, in_parts)
    way = ways[some_way(ways, kind, weights, scores)]
    assert_cross_fits_agree(EVERY[name], data, in_parts, way)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "weights", "scores"), TAKEN)
def test_every_fit_and_cross_fit(name, kind, weights, scores):
    data, columns = make(kind, 240, weights, scores)
    in_parts = cut(data, columns)
    assert_fits_agree(EVERY[name], data, in_parts)
    for way in trainings(columns).values():
        assert_cross_fits_agree(EVERY[name], data, in_parts, way)


ORDERS = ("shuffled", "by class", "by score")
SIZES = (16_383, 16_384, 40_000)
QUICK = tuple(zip(SIZES, ("by class", "by score", "shuffled"), strict=True))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("n", "order"),
    [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow)
               for case in product(SIZES, ORDERS) if case not in QUICK)],
)  # fmt: skip
@pytest.mark.parametrize("name", EVERY)
def test_sizes_on_both_sides_of_sums(name, n, order):
    calibrator = EVERY[name]
    data, columns = make("llrs", n, "none", "finite", order)
    in_parts = cut(data, columns)
    assert_fits_agree(calibrator, data, in_parts)
    for train in (fp.CrossFit(), fp.TrainOnTest()):
        for rule in (fp.rules.Log(), fp.rules.Brier()):
            loss = fp.CalibrationLoss(rule, calibrator, train)
            np.testing.assert_allclose(loss(in_parts), loss(data), rtol=1e-6, atol=1e-7)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", ["llrs", "3 posteriors", "posteriors"])
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("name", ["dp", "temperature"])
def test_fits_that_read_the_data_step_by_step(monkeypatch, name, scores, kind):
    """As where the rows do not fit in memory."""
    data, columns = make(kind, 3000, "thirds", scores)
    in_parts = cut(data, columns)
    calibrator = EVERY[name]
    one = calibrator.fit(data)
    calibrated = fp.cross_fit(calibrator, data)
    monkeypatch.setenv("FASTPSR_MEMORY", "20KB")
    other = calibrator.fit(in_parts)
    for attribute in one.fitted_names:
        np.testing.assert_allclose(
            getattr(other, attribute), getattr(one, attribute), rtol=1e-8, atol=1e-9
        )
    found = fp.cross_fit(calibrator, in_parts).compute()
    np.testing.assert_allclose(found.scores, calibrated.scores, rtol=1e-8, atol=1e-8)


def test_fits_under_another_rule(monkeypatch):
    data, columns = make("log-odds", 900)
    in_parts = cut(data, columns)
    calibrator = fp.DirectionPreserving(fp.rules.Brier())
    one = calibrator.fit(data)
    monkeypatch.setenv("FASTPSR_MEMORY", "20KB")
    other = calibrator.fit(in_parts)
    assert other.scale_ == pytest.approx(one.scale_, rel=1e-6)
    np.testing.assert_allclose(other.bias_, one.bias_, atol=1e-6)


def test_separable_data_are_refused_alike():
    y = np.arange(40) % 2
    in_parts = fp.from_parts([fp.Predictions.from_llrs(y[a : a + 8], 4.0 * y[a : a + 8] + a / 80.0)
                              for a in range(0, 40, 8)])  # fmt: skip
    for calibrated in (
        fp.DirectionPreserving().fit,
        partial(fp.cross_fit, fp.DirectionPreserving()),
        fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
    ):
        with pytest.raises(ValueError, match="separate the classes perfectly"):
            calibrated(in_parts)


# Metrics


MEASURED = [
    case[:3] for case in TAKEN if case[1] in ("posteriors", "llrs", "llrs with prior",
                                              "3 posteriors") and case[3] == "finite"
]  # fmt: skip


def measured(kind, weights):
    """Data in memory and in parts, and ways to train on either, also on held-out data."""
    data, columns = make(kind, 300, weights)
    held_out, _ = make(kind, 200, seed=5)
    way = fp.HeldOut(held_out), fp.HeldOut(cut(held_out, {}))
    return data, cut(data, columns), trainings(columns) | {"held out": way}


def assert_losses_agree(calibrator, data, in_parts, ways):
    one, other = (fp.CalibrationLoss(fp.rules.Brier(), calibrator, way) for way in ways)
    assert other(in_parts) == pytest.approx(one(data), rel=1e-7, abs=1e-7)
    one, other = (fp.ExpectedDivergence(fp.rules.Brier(), calibrator, way) for way in ways)
    assert other(in_parts) == pytest.approx(one(data), rel=1e-8, abs=1e-11)
    parts = other.decompose(in_parts)
    assert parts.score == pytest.approx(one.decompose(data).score, rel=1e-8)
    assert parts.score == pytest.approx(parts.divergence + parts.refinement, rel=1e-10)


@pytest.mark.parametrize(("name", "kind", "weights"), MEASURED[::5])
def test_losses_and_divergences(name, kind, weights):
    data, in_parts, ways = measured(kind, weights)
    assert_losses_agree(EVERY[name], data, in_parts, ways[some_way(ways, kind, weights)])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "weights"), MEASURED)
def test_every_loss_and_divergence(name, kind, weights):
    data, in_parts, ways = measured(kind, weights)
    for way in ways.values():
        assert_losses_agree(EVERY[name], data, in_parts, way)


@pytest.mark.parametrize("n", [400, 120_000])  # many are summed on an axis
@pytest.mark.parametrize("kind", ["posteriors", "llrs with prior"])
def test_cross_entropy_curves(kind, n):
    data, columns = make(kind, n, "thirds")
    one, other = fp.empirical_cross_entropy(data), fp.empirical_cross_entropy(cut(data, columns))
    for name in ("raw", "pav", "null"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-11)


def test_a_calibration_loss_of_sums_reads_the_data_three_times():
    """Facts; range and sample; sums. The sample looks at a few parts."""
    data, _ = make("llrs", 60_000)
    reads = []

    def part(a):
        def load():
            reads.append(a)
            return _sliced(data, a, a + 2_000)

        return load

    in_parts = fp.from_parts([part(a) for a in range(0, 60_000, 2_000)])
    reads.clear()
    fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving())(in_parts)
    assert len(reads) == 3 * 30


# Folds


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n", [500, 40_000])  # the classes of many are dealt by keys
@pytest.mark.parametrize("order", ["shuffled", "by class"])
def test_a_row_has_its_fold_in_parts_as_in_memory(n, weights, order):
    data, columns = make("3 posteriors", n, weights, order=order)
    in_parts = cut(data, columns)
    for name, (train, train_parts) in trainings(columns).items():
        folds, of_parts = train.folds_of(data), train_parts.folds_of(in_parts)
        np.testing.assert_array_equal(of_parts.training_mask, folds.training_mask)
        calibrator_of_row = folds.calibrator_of_rows(Part.whole(data))
        seen = [of_parts.calibrator_of_rows(part) for part in in_parts_of(in_parts)]
        np.testing.assert_array_equal(np.concatenate(seen), calibrator_of_row, err_msg=name)
        assert name == "on test" or np.unique(calibrator_of_row).size > 2
        if weights == "zeros" and name != "given":
            assert not calibrator_of_row[data.weights == 0.0].any()


def in_parts_of(data):
    """The parts, with all their columns."""
    run(lambda: begin(data))
    yield from parts_of(data)


def test_folds_are_dealt_once_to_predictions_in_memory():
    data, columns = make("llrs", 300)
    assert fp.CrossFit().folds_of(data) is fp.CrossFit().folds_of(data)
    assert fp.CrossFit(seed=1).folds_of(data) is not fp.CrossFit().folds_of(data)
    groups = columns["group"]
    found = fp.CrossFit(groups=groups).folds_of(data)
    assert fp.CrossFit(groups=groups).folds_of(data) is found
    assert fp.CrossFit(groups=groups.copy()).folds_of(data) is found
    assert fp.CrossFit(groups=groups + 1).folds_of(data) is not found


def test_names_are_for_parts_and_arrays_for_memory():
    data, columns = make("llrs", 300)
    in_parts = cut(data, columns)
    pair = ("one", "other")
    for train in (fp.CrossFit("fold"), fp.CrossFit(groups="group"), fp.CrossFit(groups=pair)):
        with pytest.raises(fp.ArgumentError, match="are for data in parts"):
            fp.cross_fit(fp.PAV(), data, train)
    for train in (fp.CrossFit(columns["fold"]), fp.CrossFit(groups=columns["group"])):
        with pytest.raises(fp.ArgumentError, match="must be the name of a column"):
            fp.cross_fit(fp.PAV(), in_parts, train)
    with pytest.raises(fp.ArgumentError, match="must have the column 'speaker'"):
        fp.cross_fit(fp.PAV(), in_parts, fp.CrossFit(groups="speaker"))


def test_pinned_folds_are_those_of_the_original_rows():
    data, columns = make("llrs", 400)
    in_parts = cut(data, columns)
    metric = fp.CalibrationLoss(fp.rules.Log(), fp.TemperatureScaling())
    weights = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    reweighted = data.reweighted(weights)
    view = in_parts.mapped(Reweigh(weights))
    run(view.find_facts)
    pinned, pinned_parts = (run(lambda d=d: metric.fixed_to(d)) for d in (data, in_parts))
    assert pinned_parts(view) == pytest.approx(pinned(reweighted), rel=1e-8)
    assert abs(metric(reweighted) - pinned(reweighted)) > 1e-6  # dealt anew


class Reweigh(Transform):
    keeps_rows = False

    def __init__(self, weights):
        self._weights = weights

    def __call__(self, part):
        own = self._weights[part.first_row : part.first_row + len(part.predictions)]
        return part.predictions.reweighted(own)


# Calibrators of one's own


class Shift(Calibrator):
    """Adds the log of the frequency's odds."""

    fitted_names = ("shift_",)
    binary_only = True

    def check_fitted(self):
        pass

    def _fit(self, samples):
        negatives, positives = samples.class_weights
        return {"shift_": float(np.log(positives / negatives))}

    def _transform(self, predictions):
        return predictions.replace_scores(self.output_kind, predictions.scores + self.shift_)


def test_a_calibrator_of_ones_own():
    data, columns = make("llrs", 300, "thirds")
    made = fp.cross_fit(Shift(), data)
    assert np.isfinite(fp.CalibrationLoss(fp.rules.Log(), Shift())(data))
    folds = fp.CrossFit().folds_of(data)
    calibrator_of_row = folds.calibrator_of_rows(Part.whole(data))
    for c in range(5):
        fitted = Shift().fit(data[calibrator_of_row != c])
        shift = (made.scores - data.scores)[calibrator_of_row == c]
        np.testing.assert_allclose(shift, fitted.shift_, rtol=1e-12)
    with pytest.raises(fp.ArgumentError, match=r"in memory for Shift.*method _fit_plan"):
        Shift().fit(cut(data, columns))


# Random streams and groups


KEYS = """
import functools, numpy as np, fastpsr as fp
from fastpsr.plans import run
class Mine(fp.rules.ScoringRule):
    is_strict = True
    def class_losses(self, log_q):
        return -log_q
def weight(power, points):
    return np.ones(len(points))
rng = np.random.default_rng(0)
y = np.arange(300) % 2
data = fp.Predictions.from_llrs(y, rng.normal(size=300) + y)
posteriors = fp.Predictions.from_logits(y, rng.normal(size=300) + y)
for rule in (Mine(), fp.rules.Weighted(functools.partial(weight, 2)), fp.rules.Log()):
    for calibrator in (fp.PAV(1e-9), fp.HistogramBinning(), fp.DirectionPreserving()):
        for train in (fp.CrossFit(groups=np.arange(300) // 3), fp.TrainOnTest()):
            metric = fp.CalibrationLoss(rule, calibrator, train)
            sums = run(lambda: metric.sums(posteriors))
            print(None if sums is None else sums.stream)
"""


@pytest.mark.slow
def test_streams_are_the_same_in_every_process(capsys):
    exec(KEYS, {"__name__": "__main__"})
    here = capsys.readouterr().out
    run = subprocess.run([sys.executable, "-c", KEYS], capture_output=True, text=True, check=True)
    assert run.stdout == here
    assert here.count("(") > 8
    assert "object at" not in here


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    "calibrator", [fp.PAV(1e-6), fp.HistogramBinning(), fp.DirectionPreserving(),
                   fp.TemperatureScaling()], ids=lambda c: type(c).__name__,
)  # fmt: skip
@pytest.mark.parametrize("train", [fp.CrossFit(), fp.TrainOnTest()], ids=["folds", "test"])
def test_summands_assemble_to_the_summary(calibrator, train, weights):
    data, columns = make("posteriors", 600, weights)
    in_parts = cut(data, columns)
    metric = fp.CalibrationLoss(fp.rules.Log(), calibrator, train)
    for source in (data, in_parts):
        sums = run(lambda source=source: begun_sums(metric, source))
        if sums is None:  # PAV, of weights that are 0
            continue
        total = np.zeros((sums.n_groups, 1 + sums.n_sums))
        for part in [Part.whole(data)] if source is data else in_parts_of(in_parts):
            groups = sums.groups(part)
            assert groups.dtype == index_type(sums.n_groups)
            w = part.predictions.weights
            w = w if w.size else np.ones(len(part.predictions))
            columns = list(sums.columns(part))
            if sums.degree:
                t = columns.pop()
                columns += [np.polynomial.Chebyshev.basis(k)(t) for k in range(1, 8)]
            for place, column in enumerate([np.ones(groups.size), *columns]):
                total[:, place] += np.bincount(groups, w * column, sums.n_groups)
        value = metric.finish(sums.assemble(total[:, 0], total[:, 1:]))
        assert value == pytest.approx(metric(data), rel=1e-8, abs=1e-8)


def begun_sums(metric, data):
    yield from begin(data)
    return (yield from metric.sums(data))


@pytest.mark.parametrize("name", EVERY)
def test_held_out_data_may_be_in_parts_where_the_evaluated_are_not(name):
    calibrator = EVERY[name]
    data, columns = make("posteriors", 300)
    held_out, _ = make("posteriors", 200, seed=5)
    ways = [fp.HeldOut(held_out), fp.HeldOut(cut(held_out, {}))]
    values = [
        fp.CalibrationLoss(fp.rules.Brier(), calibrator, way)(source)
        for way in ways
        for source in (data, cut(data, columns))
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-8)
