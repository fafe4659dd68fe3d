"""Every public function with hostile arguments: ``python -m tests.fuzz --seconds 600``.

A case draws arguments and calls. Good arguments must give results of the right shape, type and
range, the same in whatever form an array comes; bad ones a ValueError that names what is wrong.
"""

import argparse
import inspect
import itertools
import json
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import MISSING, fields
from pathlib import Path
from zlib import crc32

import numpy as np

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.bootstrap.intervals import METHODS
from fastpsr.calibration import CALIBRATORS, TRAININGS
from fastpsr.compat import nist, speechbrain
from fastpsr.compat.confidence_intervals import evaluate_with_conf_int
from fastpsr.curves import BANDS, CURVES
from fastpsr.metrics import METRICS
from fastpsr.metrics.operating_points import PointMetric
from tests.hostile import Source

CASES = {}
COVERED = set()  # public names that a case calls

#: Warnings that docstrings announce.
DOCUMENTED = (
    "(.*: )?the fitted scale is",
    "(.*: )?a = b = 0",
    "(.*: )?all slopes are 0",
    ".* is undefined in .* of .* replicates",
    ".* has an interval of .* degrees of freedom",
    ".* is infinite on the data or in a replicate",
    ".* has no interval",
    ".* has an interval .* the range of the metric",
    "few samples or speakers determine these values",
    ".* is undefined: both values are infinite",
    ".* is the same in all replicates",
)
#: What a ValueError may begin with besides the name of an argument: data, not an argument, lack
#: something that a metric or calibrator needs.
ABOUT_DATA = (
    "a calibrator needs samples of every class",
    r"data cannot be read, in .*parts\[\d+\]: ",
    "scores all but separate the classes",
    "scores separate the classes perfectly",
    "devPAV needs scores that overlap",
    "normalized scores need a naive system that errs",
    r"[\w -]+ needs? (both classes|posteriors or likelihoods)",
    ".* must be a calibrator saved by fastpsr",
    r"\w+ must be fitted before it",
    r"metric .* (cannot be computed|is nan on the data|must return)",
    r"\w+ takes Predictions, or labels and",
)


def case(*names):
    """Register a case that calls the public names."""

    def register(function):
        CASES[function.__name__] = function
        COVERED.update(names)
        return function

    return register


# What results must be


def check_float(value, low=-np.inf, high=np.inf, nan=False):
    assert type(value) is float, type(value)
    if not nan or not np.isnan(value):
        assert low <= value <= high, value


def check_array(array, shape, dtype=np.float64, low=-np.inf, high=np.inf):
    assert isinstance(array, np.ndarray), type(array)
    assert array.dtype == dtype, array.dtype
    assert array.shape == shape, (array.shape, shape)
    if dtype == np.float64 and array.size:
        assert array.min() >= low, array.min()  # also no nan
        assert array.max() <= high, array.max()


def check_predictions(predictions):
    """Look at all that predictions offer."""
    n, K = len(predictions), predictions.n_classes
    assert repr(predictions)
    if not n:
        assert predictions.scores.shape[0] == 0
        return
    if predictions.y_true is not None:
        check_array(predictions.y_true, (n,), np.uint8 if K <= 256 else np.int32)
        assert int(predictions.y_true.max()) < K
        check_array(predictions.class_weights, (K,), low=0.0)
        check_array(predictions.priors, (K,), low=0.0, high=1.0)
    if predictions.kind == "raw scores":
        check_array(predictions.llrs if predictions.kind == "likelihoods" else predictions.scores,
                    (n,))  # fmt: skip
        return
    check_array(predictions.posteriors, (n, K), low=0.0, high=1.0 + 1e-12)
    assert np.abs(predictions.posteriors.sum(axis=1) - 1.0).max() < 1e-5
    check_array(predictions.log_posteriors, (n, K), high=1e-12)
    if K == 2:
        check_array(predictions.log_odds, (n,))
        check_array(predictions.positive_posteriors, (n,), low=0.0, high=1.0)
        check_array(predictions.llrs, (n,))


def check_calibrated(calibrator, predictions):
    calibrated = calibrator.fit(predictions).transform(predictions)
    assert len(calibrated) == len(predictions)
    check_array(calibrated.scores, predictions.scores.shape)
    return calibrated


def bits(predictions):
    """All numbers of predictions, to compare."""
    held = [predictions.scores, predictions.y_true, predictions.weights, predictions.given_priors]
    return [None if array is None else (array.dtype, array.tobytes()) for array in held]


# Arguments


def classes(s):
    return 2 if s.chance(0.6) else s.of([3, 4, 11])


def scores_for(s, kind, n, K):
    if kind == "posteriors":
        return s.shares(n) if K == 2 and s.chance(0.5) else s.rows(n, K)
    if kind == "log_posteriors":
        with np.errstate(divide="ignore"):
            return np.log(s.rows(n, K))
    if kind in ("llrs", "raw_scores"):
        return s.scores(n)
    if kind == "logits" and K == 2 and s.chance(0.5):
        return s.scores(n)
    return s.log_rows((n, K))


KINDS = ("posteriors", "log_posteriors", "logits", "log_likelihoods", "llrs", "raw_scores")


def options_for(s, kind, n, K):
    options = {}
    if s.chance(0.4):
        options["sample_weight"] = s.give(s.weights(n))
    if s.chance(0.3) and kind != "raw_scores":
        if kind == "llrs":
            options["prior"] = s.number(float(s.rng.uniform(0.001, 0.999)))
        else:
            options["priors"] = s.give(s.priors(K))
    return options


def predictions_for(s, K=None, n=None, kinds=KINDS, labeled=True):
    """Predictions by any constructor, of arguments that are good mostly."""
    n = s.size() if n is None else n
    kind = s.of(kinds)
    K = classes(s) if K is None else K
    K = 2 if kind in ("llrs", "raw_scores") else K
    make = getattr(fp.Predictions, f"from_{kind}")
    y = s.give(s.labels(n, K), whole=True) if labeled else None
    return make(y, s.give(scores_for(s, kind, n, K)), **options_for(s, kind, n, K))


def milder(s):
    """Break fewer rules, where a case has many arguments."""
    s.nasty /= 4.0
    return s


# Predictions


@case("Predictions")
def constructors(s):
    check_predictions(predictions_for(s, labeled=s.chance(0.9)))


@case("Predictions")
def forms_of_arrays(s):
    """Good arrays in another form give the same bits, and stay as they were."""
    n, kind = s.size(), s.of(KINDS)
    K = 2 if kind in ("llrs", "raw_scores") else classes(s)
    y, x, w = s.labels(n, K), scores_for(s, kind, n, K), s.weights(n)
    make = getattr(fp.Predictions, f"from_{kind}")
    dressed = [s.dress(y, whole=True), s.dress(x), s.dress(w)]
    if isinstance(dressed[0], np.ndarray) and dressed[0].dtype == np.float16:
        dressed[0] = y
    before = [np.array(a).tobytes() for a in dressed if isinstance(a, np.ndarray)]
    plain = make(y, np.asarray(x, np.float64), sample_weight=w)
    again = make(dressed[0], dressed[1], sample_weight=dressed[2])
    assert bits(plain) == bits(again)
    check_predictions(again)
    assert before == [np.array(a).tobytes() for a in dressed if isinstance(a, np.ndarray)]


@case("Predictions")
def named_labels(s):
    """Labels by any names are those by number; rows divided by their sums sum to 1."""
    n, K = s.size(), classes(s)
    y = np.asarray(s.labels(n, K))
    names = s.of(
        [np.arange(K) - 3, np.arange(K) + 0.5, np.array([f"c{k}" for k in range(K)]),
         np.array([f"c{k}" for k in range(K)], object), [k if k else "0" for k in range(K)],
         np.arange(K).astype("M8[D]")]
        if not s.chance(0.2)
        else [np.zeros(K), "ab", 2, [["a"]] * K, [np.nan] * K, list(range(K + 1)), [[]] * K, None]
    )  # fmt: skip
    if names is None or np.ndim(names) != 1 or len(names) != K:
        labels = y
    else:
        labels = np.asarray(names, None if isinstance(names, np.ndarray) else object)[y]
    q = np.asarray(scores_for(s, "posteriors", n, K), np.float64)
    counts = q * s.rng.integers(1, 9, (n, 1)) if q.ndim == 2 else q
    floor = s.number(0.01)
    made = fp.Predictions.from_posteriors(
        labels if s.chance(0.5) else list(labels), s.dress(counts), classes=names,
        normalize=True, floor=floor,
    )  # fmt: skip
    assert made.y_true.tolist() == y.tolist()
    np.testing.assert_allclose(made.posteriors.sum(axis=1), 1.0, rtol=1e-12)
    assert made.posteriors.min(initial=1.0) >= 0.9 * float(floor) / max(1.0, K * float(floor) + 1.0)
    check_predictions(made)


@case("Predictions")
def targets_and_nontargets(s):
    n = s.size()
    prior = s.number(0.25) if s.chance(0.5) else None
    made = fp.Predictions.from_target_nontarget(
        s.give(s.scores(n)), s.give(s.scores(s.size())), prior=prior
    )
    check_predictions(made)


@case("Predictions")
def parts_of_predictions(s):
    made = predictions_for(milder(s))
    n = len(made)
    index = s.of(
        [0, -1, n - 1, slice(None), slice(0, n, 2), slice(None, None, -1), np.arange(n)[::-1],
         np.arange(n) % 2 == 0, [0], np.zeros(5, np.uint8), np.ones(n, bool), np.int32(0)]
        if not s.chance(0.3)
        else [n, -n - 1, slice(n, None), np.zeros(n, bool), np.ones(n + 1, bool), [], [0.5], None,
              Ellipsis, (slice(None), 0), (0, 0), np.zeros((2, 2), int), "a", np.array(0), [n],
              np.nan, {}, [[0]], np.ones((n, 2), bool), True]
    )  # fmt: skip
    if s.chance(0.2):
        unlabeled = fp.Predictions.from_llrs(None, s.rng.normal(size=n))
        llrs = unlabeled[index].llrs
        check_array(llrs, (llrs.size,))
    check_predictions(made[index])


@case("from_parts", "PartitionedPredictions", "ArgumentError")
def data_in_parts(s):
    """Predictions in parts have the value that they have in memory."""
    made = predictions_for(milder(s))
    n = len(made)
    cuts = [0, *sorted(s.rng.integers(0, n + 1, int(s.of([0, 1, 3, 8]))).tolist()), n]
    parts = [made[a:b] for a, b in itertools.pairwise(cuts)]
    if s.bad():
        wrong = [
            predictions_for(s), None, 3.0, (parts[0],), (parts[0], {}), lambda: 1 / 0, made.y_true
        ]  # fmt: skip
        parts.insert(int(s.rng.integers(0, len(parts) + 1)), s.of(wrong))
        check_float(s.of([fp.EER(), fp.BrierScore()])(fp.from_parts(parts)), 0.0)
        return
    metric = s.of([fp.EER(), fp.MinDCF(0.1), fp.CrossEntropy(), fp.ECE(on="confidence")])
    data = fp.from_parts([part if s.chance(0.5) else lambda part=part: part for part in parts])
    assert data.priors.tolist() == made.priors.tolist()
    value, expected = metric(data), metric(made)
    check_float(value, 0.0)
    assert value == expected or abs(value - expected) <= 1e-12 * max(1.0, expected)


# Metrics


def rule_for(s, K):
    rules = [fp.rules.Log, fp.rules.Brier, lambda: fp.rules.Cost(costs_for(s, K))]
    if K == 2:
        rules.append(lambda: fp.rules.Beta(s.number(float(s.of([1, 2, 0.5, 30.0]))), s.number(2.0)))
    return s.of(rules)()


def costs_for(s, K):
    M = s.of([1, 2, 3, 7])
    return s.give(s.scores((K, M), finite=True) if s.chance(0.4) else s.rng.uniform(0, 5, (K, M)))


def calibrator_for(s, K):
    """Any of the registry, with options that may be bad."""

    def floor():
        return s.number(s.of([0.0, 1e-6, 0.1]))

    def prior():
        return s.number(s.of([1e-9, 0.01, 0.5])) if K == 2 and s.chance(0.3) else None

    options = {
        fp.DirectionPreserving: lambda: (
            s.of([fp.rules.Log(), fp.rules.Brier()]),
            floor(),
            prior(),
        ),
        fp.TemperatureScaling: lambda: (floor(), prior()),
        fp.VectorScaling: lambda: (s.number(s.of([0.0, 1.0, 30.0])),),
        fp.MatrixScaling: lambda: (s.number(s.of([0.1, 1.0])),),
        fp.BetaCalibration: lambda: (floor(), prior()),
        fp.Spline: lambda: (floor(), prior()),
        fp.PAV: lambda: (floor(), s.chance(0.5)),
        fp.VennAbers: lambda: (floor(),),
        fp.HistogramBinning: lambda: (s.number(s.of([1, 15])), s.number(0.01)),
    }
    kind = s.of([kind for kind in CALIBRATORS.values() if K == 2 or not kind.binary_only])
    return kind(*options.get(kind, tuple)())


def ids_for(s, n):
    ids = s.rng.integers(0, min(30, max(2, n // 2)), n)  # each may become a fold, to be fitted
    if s.chance(0.3):
        return np.array([f"s{i}" for i in ids])
    if s.bad():
        return s.of(
            [s.rubbish(ids), np.full(n, np.nan), ids.astype(complex), ids - 2**62,
             ids.astype(np.uint64) + np.uint64(2**63), np.array([*ids[:-1], None]),
             ids.astype("M8[s]"), ids.astype(float), np.where(ids > 0, ids, -(2**63))]
        )  # fmt: skip
    return s.dress(ids) if s.chance(0.5) else ids


def training_for(s, predictions):
    """Any of the registry, with options that may be bad."""
    n = len(predictions)
    options = {
        fp.CrossFit: [
            lambda: fp.CrossFit(s.number(s.of([2, 3, 5])), seed=s.number(3)),
            lambda: fp.CrossFit(s.give(np.arange(n) % 3, whole=True)),
            lambda: fp.CrossFit(ids_for(s, n)),
            lambda: fp.CrossFit(2, groups=ids_for(s, n)),
            lambda: fp.CrossFit(3, groups=(ids_for(s, n), ids_for(s, n))),
        ],
        fp.HeldOut: [lambda: fp.HeldOut(predictions_for(s, predictions.n_classes))],
    }
    made = []
    for kind in TRAININGS:
        made += options.get(kind, [lambda kind=kind: s.of(kind.examples(predictions))])
    return s.of(made)()


def spoof_for(s, predictions):
    """Which non-targets are spoofed, or ids of any type."""
    if s.bad():
        return ids_for(s, len(predictions))
    return s.give(fp.MinADCF.examples(predictions)[0].spoof)


def metric_for(s, predictions):
    """Any metric of the registry, with options that may be bad, and what its value lies between."""
    K, inf = predictions.n_classes, np.inf
    p = s.number(s.of([0.5, 0.01, 1e-6, 0.9]))
    made = {
        fp.CrossEntropy: lambda: fp.CrossEntropy(s.chance(0.5)),
        fp.BrierScore: lambda: fp.BrierScore(s.chance(0.5)),
        fp.ExpectedScore: lambda: fp.ExpectedScore(rule_for(s, K), s.chance(0.5)),
        fp.BayesRisk: lambda: fp.BayesRisk(costs_for(s, K), s.chance(0.5)),
        fp.SemiEmpiricalScore: lambda: fp.SemiEmpiricalScore(
            rule_for(s, K), predictions_for(s, K, len(predictions)), s.chance(0.5)
        ),
        fp.ECE: lambda: fp.ECE(
            s.number(s.of([1, 2, 15, 300])), s.of(["class", "confidence", "x"]),
            s.number(s.of([1, 2])), s.of(["uniform", "quantile"]),
        ),
        fp.CalibrationLoss: lambda: fp.CalibrationLoss(
            rule_for(s, K), calibrator_for(s, K), training_for(s, predictions), s.chance(0.5)
        ),
        fp.ExpectedDivergence: lambda: fp.ExpectedDivergence(
            rule_for(s, K), calibrator_for(s, K), training_for(s, predictions)
        ),
        fp.EER: lambda: fp.EER(s.of(["hull", "crossing", "nearest", "x"])),
        fp.MissRate: lambda: fp.MissRate(p),
        fp.FalseAlarmRate: lambda: fp.FalseAlarmRate(p),
        fp.Threshold: lambda: fp.Threshold(s.of([fp.EER("nearest"), fp.MissRate(p), fp.AUC()])),
        fp.MinDCF: lambda: fp.MinDCF(p, s.number(1.0), s.number(10.0)),
        fp.ActDCF: lambda: fp.ActDCF(p, s.number(1.0), s.number(10.0)),
        fp.MinADCF: lambda: fp.MinADCF(spoof_for(s, predictions), p, s.number(0.05), s.number(1.0)),
        fp.ActADCF: lambda: fp.ActADCF(spoof_for(s, predictions), p, s.number(0.05), s.number(1.0)),
        fp.Cllr: lambda: fp.Cllr(p),
        fp.MinCllr: lambda: fp.MinCllr(p),
        fp.PavPosterior: lambda: fp.PavPosterior(s.number(float(s.scores(1)[0]))),
    }  # fmt: skip
    ranges = {
        fp.CrossEntropy: (0.0, inf), fp.BrierScore: (0.0, inf), fp.ECE: (0.0, 1.0 + 1e-9),
        fp.ExpectedDivergence: (0.0, inf), fp.EER: (0.0, 1.0),
        fp.MissRate: (0.0, 1.0), fp.FalseAlarmRate: (0.0, 1.0),
        fp.MinDCF: (0.0, 1.0 + 1e-12), fp.ActDCF: (0.0, inf), fp.Cllr: (0.0, inf),
        fp.MinCllr: (0.0, 1.0 + 1e-9), fp.AUC: (0.0, 1.0 + 1e-12), fp.DevPAV: (0.0, inf),
        fp.PavPosterior: (0.0, 1.0), fp.MinADCF: (0.0, 1.0 + 1e-12), fp.ActADCF: (0.0, inf),
    }  # fmt: skip
    kind = s.of(METRICS)
    metric = made.get(kind, lambda: s.of(kind.examples(predictions)))()
    return metric, *ranges.get(kind, (-inf, inf))


def names(kinds):
    return [kind.__name__ for kind in kinds]


def may_be_nan(metric):
    """Costs may overflow, and calibration may leave inf - inf: documented as nan."""
    return isinstance(metric, (fp.CalibrationLoss, fp.ExpectedScore, fp.BayesRisk, fp.Threshold,
                               fp.SemiEmpiricalScore, fp.ExpectedDivergence))  # fmt: skip


@case(*names([*METRICS, *TRAININGS, *CALIBRATORS.values()]), "OperatingPoint", "rules", "metrics")
def metrics(s):
    made = predictions_for(milder(s))
    metric, low, high = metric_for(s, made)
    check_float(metric(made), low, high, nan=may_be_nan(metric))
    assert isinstance(metric.label, str)
    assert isinstance(metric.meaning, str)
    if isinstance(metric, PointMetric):
        point = metric.operating_point(made)
        assert 0.0 <= point.p_miss <= 1.0
        assert 0.0 <= point.p_fa <= 1.0


@case()
def metrics_of_arrays(s):
    n, K = s.size(), classes(s)
    metric, low, high = metric_for(milder(s), predictions_for(s, K, n))
    kind = "posteriors"
    if isinstance(metric, (fp.EER, fp.MissRate, fp.FalseAlarmRate, fp.Threshold, fp.AUC,
                           fp.MinCllr, fp.MinDCF, fp.MinADCF)):  # fmt: skip
        kind = "raw_scores"
    elif isinstance(metric, (fp.Cllr, fp.ActDCF, fp.DevPAV, fp.ActADCF)):
        kind = "llrs"
    K = K if kind == "posteriors" else 2
    y, x = s.give(s.labels(n, K), whole=True), s.give(scores_for(s, kind, n, K))
    options = options_for(s, kind, n, K)
    check_float(metric(y, x, **options), low, high, nan=may_be_nan(metric))


@case("rules")
def losses(s):
    n, K = s.size(), classes(s)
    with np.errstate(divide="ignore"):
        log_q = np.log(s.rows(n, K))
    rule = rule_for(s, K)
    assert isinstance(rule.is_strict, bool)
    given = s.give(log_q)
    found = rule.loss(s.give(s.labels(n, K), whole=True), given)
    check_array(found, np.asarray(given).shape[:1])


@case("rules")
def entropies_and_divergences(s):
    n, K = s.size(), classes(s)
    rule = rule_for(s, K)
    p = s.rows(n, K)
    if s.chance(0.3):
        given = s.give(p[0])
        value = rule.entropy(given)
        if np.ndim(given) == 1:
            check_float(value, nan=isinstance(rule, fp.rules.Cost))
        return
    assert np.ndim(rule.entropy(s.give(p))) < 2
    r, q = s.dress(p), s.dress(s.rows(s.of([1, n]), K))
    check_array(rule.divergence(r, q), (n,), low=0.0)
    check_array(fp.rules.l1_distance(r, q), (n,), low=0.0, high=2.0 + 1e-5)
    assert rule.divergence(s.give(p), s.give(p)).ndim == 1


@case("rules")
def weighted_rules(s):
    K = 2 if s.chance(0.7) else 3
    returned = s.of(
        [lambda a: np.ones(len(a)), lambda a: a[:, 0], lambda a: [1.0] * len(a), lambda a: 1.0,
         lambda a: a, lambda a: -a[:, 0], lambda a: np.full(len(a), np.nan), lambda a: None,
         lambda a: np.ones(len(a), ">f4"), lambda a: "x", lambda a: a[:, 0] / a[:, 0]]
    )  # fmt: skip
    rule = fp.rules.Weighted(s.number(3.0) if s.bad() else returned)
    n = s.of([1, 5])
    check_array(rule.loss(s.labels(n, K), np.log(np.full((n, K), 1.0 / K))), (n,), low=0.0)


# Decisions and curves


@case("CostMatrix", "bayes_decisions")
def decisions(s):
    made = predictions_for(milder(s), labeled=s.chance(0.5))
    costs = s.of(
        [
            lambda: costs_for(s, made.n_classes),
            lambda: fp.CostMatrix(costs_for(s, made.n_classes)),
            lambda: fp.CostMatrix.zero_one(s.number(made.n_classes), s.number(0.1)),
            lambda: fp.CostMatrix.detection(s.number(1.0), s.number(10.0)),
        ]
    )()
    found = fp.bayes_decisions(made, costs)
    check_array(found, (len(made),), np.int32)
    n_decisions = fp.CostMatrix.of(costs).n_decisions
    assert found.min() >= 0
    assert found.max() < n_decisions


@case("expected_cost")
def costs_of_decisions(s):
    n, K, M = s.size(), classes(s), s.of([1, 2, 5])
    options = options_for(s, "posteriors", n, K)
    value = fp.expected_cost(
        s.give(s.labels(n, K), whole=True),
        s.give(s.rng.integers(0, M, n), whole=True),
        s.give(s.rng.uniform(0, 3, (K, M))),
        normalized=s.chance(0.5),
        **options,
    )
    check_float(value, nan=True)


@case("risk_curve", "roc", "curves")
def curves(s):
    made = predictions_for(milder(s))
    n_points, K = s.size(), made.n_classes
    if s.chance(0.3):
        curve = fp.roc(made)
        check_array(curve.p_miss, curve.threshold.shape, low=0.0, high=1.0 + 1e-12)
        check_array(curve.p_fa, curve.threshold.shape, low=0.0, high=1.0 + 1e-12)
        return
    points = s.rng.dirichlet(np.ones(K), n_points).clip(1e-12)
    points /= points.sum(axis=1, keepdims=True)
    curve = fp.risk_curve(made, s.give(points[:, 0] if K == 2 and s.chance(0.5) else points))
    check_array(curve.risk, (len(curve.points),), low=0.0)


@case(*names(CURVES))
def more_curves(s):
    made = predictions_for(milder(s))
    grid = s.give(np.sort(s.rng.uniform(-5, 5, s.size())))
    shares = s.give(np.sort(s.rng.uniform(0.01, 0.99, s.size())))
    calls = {
        "bayes_error": lambda f: f(made, grid if s.chance(0.7) else None),
        "empirical_cross_entropy": lambda f: f(made, grid if s.chance(0.7) else None),
        "consistency_band": lambda f: f(made, shares if s.chance(0.5) else None,
                                        n_resamples=s.number(40), seed=s.number(1)),
        "divergence_curve": lambda f: f(made, rule_for(s, made.n_classes),
                                        shares if s.chance(0.5) else None),
        "pav_steps": lambda f: f(made),
        "score_histogram": lambda f: f(made, s.number(10) if s.chance(0.5) else grid),
        "tippett": lambda f: f(made),
    }  # fmt: skip
    curve = s.of(list(CURVES))
    calls.get(curve.__name__, lambda f: f(made, **CURVES[f](made.n_classes)))(curve)


# Calibrators


@case(*names(CALIBRATORS.values()))
def calibrators(s):
    made = predictions_for(milder(s))
    calibrator = calibrator_for(s, made.n_classes)
    fitted = calibrator.fit(made)
    other = predictions_for(s, made.n_classes, labeled=s.chance(0.5)) if s.bad() else made
    calibrated = fitted.transform(other)
    assert len(calibrated) == len(other)
    assert calibrated.n_classes == other.n_classes
    check_array(calibrated.scores, other.scores.shape)


@case("save_calibrator", "load_calibrator")
def saved_calibrators(s):
    made = predictions_for(milder(s))
    fitted = calibrator_for(s, made.n_classes).fit(made)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        fp.save_calibrator(fitted, path)
        if s.bad():
            text = path.read_text("utf-8")
            cut = int(s.rng.integers(len(text)))
            path.write_text(text[:cut] + s.of(["", "x", "NaN", "1e999", "]"]) + text[cut + 1 :])
        loaded = fp.load_calibrator(path)
    check_array(loaded.transform(made).scores, made.scores.shape)


@case("elub", "LLRBounds")
def bounds_of_llrs(s):
    bounds = fp.elub(predictions_for(milder(s)))
    assert -np.inf < bounds.low <= 0.0 <= bounds.high < np.inf
    clipped = bounds.clip(s.give(s.scores(5)))
    assert (clipped >= bounds.low).all()
    assert (clipped <= bounds.high).all()


@case("select", "Selection")
def choices(s):
    made = predictions_for(milder(s))
    kinds = [calibrator_for(s, made.n_classes) for _ in range(s.of([1, 2]))]
    candidates = {f"{place}": each for place, each in enumerate(kinds)} | {"none": None}
    n_resamples = s.of([0, 0, 40]) if not s.bad() else s.number(3)
    train = training_for(s, made) if s.chance(0.5) else fp.CrossFit(3)
    if any(isinstance(getattr(each, "rule", None), fp.rules.Brier) for each in kinds):
        made, train = made[:64], fp.CrossFit(3)  # a fit takes half a second
    found = fp.select(
        made,
        s.of([{}, kinds, None, {"a": 3}]) if s.bad() else candidates,
        s.of([rule_for(s, made.n_classes), None]),
        train,
        n_resamples=n_resamples,
        **({"seed": 0} if n_resamples else {}),
    )
    assert found.chosen in candidates
    assert len(found.choices) >= 3
    assert str(found)
    json.dumps(found.to_dict(), allow_nan=False)


@case("cross_fit")
def cross_fitting(s):
    made = predictions_for(milder(s))
    calibrated = fp.cross_fit(calibrator_for(s, made.n_classes), made, training_for(s, made))
    assert len(calibrated) == len(made)
    check_array(calibrated.scores, made.scores.shape)


def systems_for(s):
    """Systems, and perhaps a quality measure, of the same samples."""
    n, K = s.of([4, 30, 64]), classes(milder(s))
    kinds = ("llrs", "raw_scores") if K == 2 else ("log_likelihoods",)
    y = s.labels(n, K)
    systems = []
    for kind in (s.of(kinds) for _ in range(s.of([1, 2, 3]))):
        good = getattr(fp.Predictions, f"from_{kind}")
        x = scores_for(s, kind, n, K)
        systems.append(predictions_for(s, K, n, kinds) if s.bad() else good(y, x))
    if s.chance(0.3):
        systems.append(systems[0])
    if s.chance(0.3):
        sides = (s.give(s.rows(n, 2)[:, 0], whole=True) for _ in range(2))
        systems.append(fp.Quality(*sides))
    return systems


@case("LinearFusion", "Quality")
def fusions(s):
    systems = systems_for(s)
    given = {str(place): each for place, each in enumerate(systems)} if s.chance(0.5) else systems
    terms = s.of(["min,max", "bilinear", "scale", "mean"] if s.bad() else ["min,max", "scale"])
    fusion = fp.LinearFusion(s.number(s.of([0.5, 0.5, 0.01])), terms)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* are negative", RuntimeWarning)
        fitted = fusion.fit(given)
    fused = fitted.transform(given)
    check_array(fused.scores, systems[0].scores.shape)
    assert 1 <= fitted.rank_ <= len(fitted.columns_)
    again = fp.cross_fit(fusion, given, s.of([fp.TrainOnTest(), fp.CrossFit(2), None]))
    assert again.scores.shape == fused.scores.shape


@case("ByCondition")
def calibration_by_condition(s):
    made = predictions_for(milder(s))
    n = len(made)
    by = {name: ids_for(s, n) for name in s.of(["a", "ab"])}
    if s.bad():
        by = s.of([None, {}, 3, {"a": "a"}, {("a", "b"): (range(n), range(n))}, [by["a"]]])
    bins = s.of([None, None, 2, {"a": [3.0, 7.0]}, {"a": "each"}])
    calibrator = calibrator_for(s, made.n_classes)
    if isinstance(getattr(calibrator, "rule", None), fp.rules.Brier):
        calibrator = fp.DirectionPreserving()  # a fit takes half a second
    maker = fp.ByCondition(calibrator, s.number(s.of([1, 3, 100])), bins)
    crossed = fp.cross_fit(maker, made, s.of([fp.TrainOnTest(), fp.CrossFit(2), None]), by=by)
    check_array(crossed.scores, made.scores.shape)
    fitted = maker.fit(made, by)
    check_array(fitted.transform(made, by).scores, made.scores.shape)
    assert len(fitted.groups_) == len(fitted.counts_)
    assert str(fitted)
    with tempfile.TemporaryDirectory() as folder:
        fp.save_calibrator(fitted, Path(folder) / "c.json")
        loaded = fp.load_calibrator(Path(folder) / "c.json")
    scores = (each.transform(made, by).scores for each in (loaded, fitted))
    np.testing.assert_allclose(*scores, rtol=1e-6, atol=1e-6)  # a floor may be a float32


@case("evaluate_fusion")
def gains_of_fusions(s):
    systems = systems_for(s)
    few = fp.CrossFit(2)
    metrics = s.of([None, [fp.CrossEntropy()], [], ["EER"]]) if s.bad() else [fp.CrossEntropy()]
    n_resamples = s.of([0, 0, 40]) if not s.bad() else s.number(3)
    found = fp.evaluate_fusion(
        systems,
        s.of([fp.LinearFusion(), None, fp.PAV()]) if s.bad() else None,
        metrics,
        train=s.of([few, fp.TrainOnTest(), None]) if s.bad() else few,
        n_resamples=n_resamples,
        **({"seed": 0} if n_resamples else {}),
    )
    assert {each.a.system for each in found.differences} == {"fused"}
    assert str(found)
    json.dumps(found.to_dict(), allow_nan=False)


# Intervals, tables


def resampling_for(s, n):
    kind = s.of(RESAMPLINGS)
    n_ids = sum(field.default is MISSING for field in fields(kind))
    return kind(*(ids_for(s, n) for _ in range(n_ids)))


def bootstrap_options(s, n):
    options = {"n_resamples": s.number(40), "seed": s.number(5), "resampling": resampling_for(s, n)}
    if s.chance(0.5):
        options["method"] = s.of(METHODS)
    if s.chance(0.2):
        options["confidence_level"] = s.number(0.9)
    return options


def check_result(result, nan=False):
    check_float(result.value, nan=nan)
    assert result.replicates.ndim == 1
    assert result.n_undefined == np.isnan(result.replicates).sum()
    assert not result.interval.low > result.interval.high
    assert repr(result)


@case("bootstrap", "BootstrapResult", *names(RESAMPLINGS))
def intervals(s):
    made = predictions_for(milder(s), n=s.of([2, 5, 30, 64]))
    chosen = [metric_for(s, made)[0] for _ in range(s.of([1, 1, 2]))]
    if s.chance(0.1):
        chosen.append(s.of([lambda p: 1.0, lambda p: np.nan, lambda p: "x", lambda p: p.foo]))
    for result in fp.bootstrap(chosen, made, **bootstrap_options(s, len(made))):
        check_result(result)


@case("band", "Band")
def bands(s):
    made = predictions_for(milder(s), n=s.of([2, 5, 30, 64]))
    curve = s.of([*BANDS, fp.tippett])
    points = s.give(np.sort(s.rng.uniform(0.01, 0.99, s.size()))) if s.chance(0.5) else None
    options = {k: v for k, v in bootstrap_options(s, len(made)).items() if k != "method"}
    found = fp.band(curve, made, points, simultaneous=s.chance(0.5), **options)
    for name in found.series:
        low, high = getattr(found.low, name), getattr(found.high, name)
        assert low.shape == getattr(found.value, name).shape
        assert not (low > high).any()
    assert repr(found)


@case("compare")
def comparisons(s):
    n, K = s.of([2, 5, 30, 64]), classes(milder(s))
    y = s.labels(n, K)
    a, b = (fp.Predictions.from_posteriors(y, s.rows(n, K)) for _ in range(2))
    if s.bad():
        b = predictions_for(s)
    # of two infinite values the difference is nan, and a warning says so
    check_result(fp.compare(metric_for(s, a)[0], a, b, **bootstrap_options(s, n)), nan=True)


@case("sample_size", "SampleSize")
def sample_sizes(s):
    made = predictions_for(milder(s), n=s.of([2, 5, 30, 64]))
    options = bootstrap_options(s, len(made))
    options.pop("method", None)
    found = fp.sample_size(metric_for(s, made)[0], made, s.number(s.of([0.01, 0.3])), **options)
    assert found.n >= 1
    assert found.interval.low <= found.interval.high
    assert 0.5 <= found.exponent <= 1.0
    assert (found.curve_width > 0.0).all()


@case("decompose", "Decomposition")
def decompositions(s):
    made = predictions_for(milder(s), n=s.of([2, 5, 30, 64]))
    calibrator = s.of([None, fp.TemperatureScaling(), fp.DirectionPreserving(), fp.PAV(0.01)])
    train = s.of([None, fp.CrossFit(2)])
    options = bootstrap_options(s, len(made)) if s.chance(0.3) else {}
    found = fp.decompose(made, s.of([None, fp.rules.Brier()]), calibrator, train, **options)
    check_float(found.score, 0.0)
    check_float(found.uncertainty, 0.0)
    check_float(found.miscalibration, nan=True)
    check_float(found.discrimination)
    assert str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    for result in found.intervals.values():
        check_result(result, nan=True)


@case()
def functions_of_other_packages(s):
    n, m = s.of([1, 2, 30]), s.of([1, 2, 30])
    classes = s.give(s.scores(n)), s.give(s.scores(m))
    costs = s.number(1.0), s.number(1.0), s.number(0.01)
    for value, threshold in (speechbrain.EER(*classes), speechbrain.minDCF(*classes, *costs)):
        check_float(value, 0.0)
        check_float(threshold)
    n = s.of([2, 30])
    y, scores = s.give(s.labels(n, 2), whole=True), s.give(s.scores(n))
    rates = nist.compute_pmiss_pfa_rbst(scores, y)
    value, threshold = nist.compute_eer(*rates, scores)
    check_float(value, 0.0, 1.0)
    check_float(threshold)
    check_float(nist.compute_c_norm(*rates, costs[2], *costs[:2]), 0.0)
    conditions = ids_for(s, n) if s.chance(0.5) else None
    metric = s.of([fp.EER(), fp.AUC(), lambda labels, samples: labels.mean()])
    value, (low, high) = evaluate_with_conf_int(
        scores, metric, y, conditions, s.number(20), s.number(5.0)
    )
    check_float(value)
    assert not low > high


@case("threads")
def numbers_of_threads(s):
    made = predictions_for(milder(s))
    with fp.threads(s.number(1)):
        check_float(fp.AUC()(made), 0.0, 1.0)


@case("evaluate", "Evaluation", "SharedTargets", "SuspicionWarning")
def tables(s):
    made = predictions_for(milder(s), n=s.of([1, 5, 30, 64]))
    chosen = None
    if s.chance(0.5):
        chosen = {str(k): metric_for(s, made)[0] for k in range(s.of([0, 1, 3]))}
    options = bootstrap_options(s, len(made)) if s.chance(0.2) else {}
    if s.chance(0.3):
        ids = s.give(s.labels(len(made), 2))
        options["by"] = s.of([{"a": ids}, {"a": fp.SharedTargets(ids)}, "a", {}, None])
    systems = {"one": made, "other": made} if s.chance(0.2) else made
    if (s.chance(0.3) and isinstance(systems, dict)) or s.bad():
        options["differences"] = s.of(["first", "all", None])
    if (s.chance(0.3) and options.get("by")) or s.bad():
        options["group_differences"] = s.of(["pooled", "all", None])
    table = fp.evaluate(systems, chosen, **options)
    assert str(table)
    assert table._repr_html_()
    json.dumps(table.to_dict(), allow_nan=False)
    for row in table.rows:
        assert isinstance(row.value, float)


@case("simulate")
def simulations(s):
    if s.chance(0.5):
        n = s.of([20, 100])
        made = fp.simulate.gaussian_classes(
            s.number(n), n_classes=s.number(s.of([2, 4])), prior_first=s.number(0.6),
            variance=s.number(0.3), scale=s.number(2.0), seed=s.number(1),
        )  # fmt: skip
        check_array(made.mcps, made.cal.shape)
        return
    if s.chance(0.3):
        made, _ = fp.simulate.challenge(
            s.number(10), s.number(s.of([30, 200])), seed=s.number(1)
        )  # fmt: skip
        check_array(made.a, made.test_seconds.shape)
        return
    trials = fp.simulate.trial_list(
        s.number(s.of([10, 50])), s.number(s.of([30, 200])),
        n_speakers=s.number(30) if s.chance(0.3) else None,
        n_sessions_per_speaker=s.number(4), speaker_variance=s.number(0.4),
        speaker_spread=s.number(0.1), scale=s.number(0.5), shift=s.number(1.0), seed=s.number(2),
    )  # fmt: skip
    check_array(trials.llr, trials.y_true.shape)


# Running them


def _argument_names():
    found = set()
    for name in fp.__all__:
        if name in ("trials", "plotting"):
            continue
        value = getattr(fp, name)
        held = [getattr(value, n) for n in value.__all__] if inspect.ismodule(value) else [value]
        for each in held:
            members = inspect.getmembers(each) if inspect.isclass(each) else []
            for function in [each, *(member for _, member in members)]:
                function = getattr(function, "__func__", function)
                if inspect.isfunction(function) or function is each:
                    found |= set(inspect.signature(function).parameters)
    for function in (speechbrain.EER, speechbrain.minDCF, nist.compute_pmiss_pfa_rbst,
                     nist.compute_eer, nist.compute_c_norm, evaluate_with_conf_int):  # fmt: skip
        found |= set(inspect.signature(function).parameters)
    return found | {"index", "costs", "scores"}


ARGUMENTS = _argument_names()


def names_an_argument(message):
    first = re.match(r"\w+", message)
    if first is not None and first.group() in ARGUMENTS:
        return True
    return any(re.match(pattern, message) for pattern in ABOUT_DATA)


def attempt(function, refusals=()):
    """Call once; return how it ended: fine, refused, or what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", fp.SuspicionWarning)
        for pattern in DOCUMENTED:
            warnings.filterwarnings("ignore", pattern, RuntimeWarning)
        try:
            function()
        except ValueError as error:
            if names_an_argument(str(error)):
                return "refused"
            return f"ValueError that names no argument: {error}\n{traceback.format_exc()}"
        except Exception as error:  # whatever it is, it is a finding
            if isinstance(error, refusals):
                return "refused"
            return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    return "fine"


def run(name, seed, nasty=0.15, large=False):
    """Run a case with the arguments that a seed draws."""
    s = Source([seed, crc32(name.encode())], nasty, large)
    refusals = (IndexError,) if name == "parts_of_predictions" else ()  # as of any sequence
    return attempt(lambda: CASES[name](s), refusals)


def fuzz(seconds, first_seed=0, names=None, large=True):
    """Run cases in turn for some time; return (Counter of outcomes, {(case, seed): finding})."""
    outcomes, findings = Counter(), {}
    stop, seed = time.monotonic() + seconds, first_seed
    while time.monotonic() < stop:
        for name in names or CASES:
            found = run(name, seed, large=large)
            kind = found if found in ("fine", "refused") else "wrong"
            outcomes[name, kind] += 1
            if kind == "wrong":
                findings[name, seed] = found
            if time.monotonic() >= stop:
                break
        seed += 1
    return outcomes, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=[*CASES])
    arguments = parser.parse_args()
    outcomes, findings = fuzz(arguments.seconds, arguments.seed, arguments.only)
    for name in arguments.only or CASES:
        counts = {kind: outcomes[name, kind] for kind in ("fine", "refused", "wrong")}
        print(f"{name:28}", *(f"{kind} {count:7,}" for kind, count in counts.items()))
    seen = Counter()
    for (name, seed), found in findings.items():
        where = [line for line in found.splitlines() if "fastpsr/" in line or "tests/" in line]
        key = (name, found.splitlines()[0][:80], where[-1] if where else "")
        seen[key] += 1
        if seen[key] == 1:
            print(f"\n{name} --seed {seed}: {found}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
