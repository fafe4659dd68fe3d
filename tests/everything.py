"""All that fastpsr computes, by name: to see whether bits change, or to run every line once."""

import inspect
import itertools
import warnings
from dataclasses import MISSING, fields
from hashlib import sha256

import numpy as np

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.calibration import CALIBRATORS
from fastpsr.curves import BANDS, CURVES
from fastpsr.metrics import METRICS
from tests import samples

MANY = 140_001  # blocks for 4 threads each, and enough samples for fits by sums on an axis
FEWER = 20_000  # for intervals, whose threads share replicates
REFITTED_SLOWLY = (fp.Spline, fp.VectorScaling, fp.MatrixScaling)
HOLD_OTHER_DATA = (fp.SemiEmpiricalScore, fp.MinADCF, fp.ActADCF)  # sample by sample
RULES = {
    "log": fp.rules.Log(),
    "brier": fp.rules.Brier(),
    "beta": fp.rules.Beta(2.0, 1.0),
    "weighted": fp.rules.Weighted(lambda a: a[:, 0]),
}


def binary(n, seed=0, weighted=False, kind="logits"):
    rng = np.random.default_rng([seed, n])
    y = (rng.random(n) < 0.3).astype(np.uint8)
    y[:2] = 0, 1
    scores = np.round(1.7 * rng.normal(size=n) + 2.0 * y - 1.0, 4)
    w = rng.integers(0, 4, n) * 0.7 if weighted else None
    return getattr(fp.Predictions, f"from_{kind}")(y, scores, sample_weight=w)


def multiclass(n, K=3, seed=0):
    rng = np.random.default_rng([seed, n, K])
    y = np.arange(n) % K
    z = rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y]
    return fp.Predictions.from_logits(y, z, sample_weight=rng.uniform(0.1, 2.0, n))


def calibrators(data):
    """All there are for the data, posteriors kept off 0 and 1 where that is an option."""
    found = {}
    for kind in CALIBRATORS.values():
        if kind.suits(data):
            options = inspect.signature(kind).parameters
            floor = {"floor": 1e-6} if "floor" in options else {}
            found[kind.__name__] = kind(**floor)
            if "prior" in options and data.n_classes == 2:
                found[f"{kind.__name__} at a prior"] = kind(**floor, prior=0.05)
    return found


def metrics(data):
    """Name -> metric, all there are for the data."""
    found = {}
    for kind in METRICS:
        for metric in kind.examples(data) if data.n_classes == 2 or not kind.binary_only else []:
            found[f"{len(found)} {metric.label}"] = metric
    return found


def everything(n=MANY, n_resamples=13, intervals=True):
    """Return name -> array or number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of replicates without a value
        found = _conversions(n) | _values(n) | _fits(n) | _curves(n) | _parts(n, n_resamples)
        if intervals:
            found |= _intervals(min(n, FEWER), n_resamples)
        return found


def _conversions(n):
    found = {}
    rng = np.random.default_rng(n)
    q, rows = rng.random(n), rng.dirichlet(np.ones(3), n)
    with np.errstate(divide="ignore"):
        made = {
            "posteriors": fp.Predictions.from_posteriors(None, q),
            "pairs": fp.Predictions.from_posteriors(None, np.column_stack([1 - q, q])),
            "rows": fp.Predictions.from_posteriors(None, rows),
            "log rows": fp.Predictions.from_log_posteriors(None, np.log(rows)),
            "likelihoods": fp.Predictions.from_log_likelihoods(
                None, 3 * rows, priors=[0.2, 0.3, 0.5]
            ),
            "llrs": fp.Predictions.from_llrs(None, 9 * q - 4, prior=0.1),
            "two columns": fp.Predictions.from_logits(None, 5 * rows[:, :2]),
        }
    for name, predictions in made.items():
        found[f"{name}: logs"] = predictions.log_posteriors
        found[f"{name}: posteriors"] = predictions.posteriors
        if predictions.n_classes == 2:
            found[f"{name}: log-odds"] = predictions.log_odds
        costs = samples.COSTS[predictions.n_classes]
        found[f"{name}: decisions"] = decided = fp.bayes_decisions(predictions, costs)
        y = np.arange(n) % predictions.n_classes
        found[f"{name}: cost"] = fp.expected_cost(y, decided, costs)
    labels = rng.integers(0, 300, n)
    many = fp.Predictions.from_logits(labels[:400], rng.normal(size=(min(n, 400), 300)))
    found["300 classes"] = fp.CrossEntropy(normalized=False)(many)
    few = slice(0, 2_000)
    for name, rule in RULES.items():
        binary_rows = made["pairs"].log_posteriors[few]
        found[f"loss {name}"] = rule.loss(np.arange(len(binary_rows)) % 2, binary_rows)
        slopes = rule.slopes(binary_rows, np.arange(len(binary_rows)) % 2)
        if slopes is not None:  # the log rule's are not needed
            found[f"slopes {name}"] = slopes
        p = made["pairs"].posteriors[few]
        found[f"divergence {name}"] = rule.divergence(p, p[::-1])
        if name != "beta":
            found[f"loss {name}, 3 classes"] = rule.loss([0, 1, 2], np.log(rows[:3]))
    found["l1"] = fp.rules.l1_distance(rows[few], rows[few][::-1])
    return found


def _values(n):
    found = {}
    data = {
        "binary": binary(n),
        "binary, weighted": binary(n, weighted=True),
        "llrs": binary(n, kind="llrs", weighted=True),
        "3 classes": multiclass(n),
    }
    for kind, predictions in data.items():
        for name, metric in metrics(predictions).items():
            found[f"{kind}: {name}"] = metric(predictions)
    bare = fp.Predictions.from_posteriors(data["binary"].y_true, np.linspace(0.01, 0.99, n))
    for metric in (fp.CrossEntropy(), fp.BrierScore(), fp.ECE()):
        found[f"posteriors: {metric.label}"] = metric(bare)
    few = fp.Predictions.from_raw_scores(np.arange(n) % 200 == 0, np.sin(np.arange(n) ** 2))
    for metric in (fp.EER(), fp.EER("nearest"), fp.MinDCF(0.1), fp.AUC(), fp.MinCllr()):
        found[f"rare targets: {metric.label}"] = metric(few)
        if hasattr(metric, "operating_point"):
            point = metric.operating_point(few)
            found[f"rare targets: {metric.label} at"] = [point.threshold, point.p_miss, point.p_fa]
    for name, calibrator in (("PAV", fp.PAV()), ("affine", fp.DirectionPreserving())):
        parts = fp.decompose(data["binary, weighted"], fp.rules.Brier(), calibrator)
        found[f"decomposition, {name}"] = [parts.score, parts.miscalibration, parts.discrimination]
    by = {"third": fp.SharedTargets(np.arange(n) % 3)}
    table = fp.evaluate(data["binary, weighted"], [fp.EER(), fp.BrierScore()], by=by)
    found["sharing targets"] = [row.value for row in table.rows]
    with fp.threads(1):
        found["one thread"] = fp.BrierScore()(data["binary"])
    given = fp.Predictions.from_posteriors(None, np.full((n, 2), 0.5))
    found["semi-empirical"] = fp.SemiEmpiricalScore(fp.rules.Log(), given)(data["binary"])
    return found


def _fits(n):
    found = {}
    groups = np.arange(n) // 7 % max(12, n // 30)
    trainings = {
        "folds": fp.CrossFit(folds=3, seed=2),
        "groups": fp.CrossFit(folds=3, groups=groups),
        "pairs": fp.CrossFit(folds=4, groups=(groups, groups[::-1])),
        "on test": fp.TrainOnTest(),
        "held out": fp.HeldOut(binary(max(200, n // 10), seed=5)),
    }
    predictions = binary(n)
    for own, calibrator in calibrators(predictions).items():
        for name, train in trainings.items():
            found[f"{own}, {name}"] = fp.cross_fit(calibrator, predictions, train).scores
    several = multiclass(min(n, 20_000))
    for own, calibrator in calibrators(several).items():
        found[f"{own}, 3 classes"] = fp.cross_fit(calibrator, several, fp.CrossFit(3)).scores
    raw = binary(n, kind="raw_scores")
    for calibrator in (fp.PAV(), fp.DirectionPreserving()):
        found[f"{type(calibrator).__name__}, raw"] = fp.cross_fit(calibrator, raw).llrs
    other = np.round(raw.scores + binary(n, seed=1).scores, 4)
    systems = [raw, fp.Predictions.from_raw_scores(raw.labels, other)]
    systems.append(fp.Quality(*(binary(n, seed).scores for seed in (2, 3))))
    found["fusion"] = fp.cross_fit(fp.LinearFusion(), systems).scores
    by = {"x": binary(n, seed=4).scores}
    for name, data, calibrator in (
        ("dp", raw, fp.DirectionPreserving()), ("pav", raw, fp.PAV()),
        ("fusion", systems, fp.LinearFusion()),
    ):  # fmt: skip
        found[f"{name} by condition"] = fp.cross_fit(
            fp.ByCondition(calibrator, bins=3), data, by=by
        ).scores
    likelihoods = fp.Predictions.from_log_likelihoods(several.labels, several.scores)
    found["fusion, 3 classes"] = fp.cross_fit(fp.LinearFusion(), [likelihoods]).scores
    brier = fp.DirectionPreserving(fp.rules.Brier()).fit(predictions[: min(n, 5_000)])
    found["fitted by brier"] = np.append(brier.bias_, brier.scale_)
    return found


def _curves(n):
    data = binary(n, weighted=True)
    curve = fp.roc(data)
    found = {"roc": np.concatenate([curve.p_miss, curve.p_fa, curve.hull])}
    points = np.linspace(0.01, 0.99, 50)
    found["risk curve"] = fp.risk_curve(data, points).risk
    simplex = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    found["risk on simplex"] = fp.risk_curve(multiclass(n), simplex).risk
    made = fp.simulate.trial_list(60, 900, seed=3)
    found["trial list"] = made.llr
    found["gaussian classes"] = fp.simulate.gaussian_classes(500).mcps
    of_llrs = (fp.tippett, fp.score_histogram)
    curves = [
        curve(binary(n, kind="llrs") if curve in of_llrs else data, **options(2))
        for curve, options in CURVES.items()
    ]
    for curve in curves:
        for part, value in vars(curve).items():
            if isinstance(value, np.ndarray):
                found[f"{type(curve).__name__}: {part}"] = value
    return found


def _parts(n, n_resamples):
    found = {}
    cuts = [0, 0, n // 3, n // 3 + 1, n]
    for weighted in (False, True):
        data = binary(n, weighted=weighted)
        parts = fp.from_parts(data[a:b] for a, b in itertools.pairwise(cuts))
        for name, metric in metrics(data).items():
            if not isinstance(metric, HOLD_OTHER_DATA):
                found[f"in parts, weighted {weighted}: {name}"] = metric(parts)
    few = min(n, 2_000)
    parts = fp.from_parts(binary(n)[a : a + few // 2] for a in (0, few // 2))
    drawn = {"n_resamples": n_resamples, "confidence_level": 1.0 - 2.0 / n_resamples, "seed": 4}
    for result in fp.bootstrap([fp.EER(), fp.BrierScore()], parts, **drawn):
        found[f"replicates in parts: {result.name}"] = result.replicates
    return found


def _intervals(n, n_resamples):
    found = {}
    units = np.arange(n) // 5
    ids = (units % 97, units % 89)
    resamplings = {}
    for kind in RESAMPLINGS:
        n_ids = sum(field.default is MISSING for field in fields(kind))
        resamplings[kind.__name__] = kind(*((units,) if n_ids == 1 else ids[:n_ids]))
    level = 1.0 - 2.0 / n_resamples  # the highest that so few replicates allow
    options = {"n_resamples": n_resamples, "confidence_level": level, "seed": 4}
    chosen = {
        name: metric
        for name, metric in metrics(binary(n)).items()
        if not isinstance(metric, fp.SemiEmpiricalScore)
    }
    slow = [
        name
        for name, metric in chosen.items()
        if isinstance(metric, (fp.DevPAV, fp.ExpectedDivergence))
        or getattr(metric, "binning", "") == "quantile"
        or isinstance(getattr(metric, "calibrator", None), REFITTED_SLOWLY)
    ]
    few = {name: chosen.pop(name) for name in slow}
    for weighted in (False, True):
        data = binary(n, weighted=weighted)
        for name, resampling in resamplings.items():
            suit = {
                each: metric
                for each, metric in chosen.items()
                if getattr(metric, "calibrator", fp.PAV()).suits(data)
            }
            for result in fp.bootstrap(suit, data, resampling=resampling, **options):
                found[f"{name}, weighted {weighted}: {result.name}"] = result.replicates
                found[f"{name}, weighted {weighted}: ends of {result.name}"] = result.interval
    small = min(n, 3_000)
    for result in fp.bootstrap(few, binary(small), method="percentile", **options):
        found[f"small: {result.name}"] = result.replicates
    for curve in BANDS:
        band = fp.band(curve, binary(small, kind="llrs"), **options)
        for name in band.series:
            found[f"band {curve.__name__}: {name}"] = getattr(band.high, name)
    pilot = fp.sample_size(fp.EER(), binary(small), 0.01, **options)
    found["sample size"] = [pilot.n, pilot.exponent]
    several = {"ce": fp.CrossEntropy(), "risk": fp.BayesRisk(samples.COSTS[3])}
    for result in fp.bootstrap(several, multiclass(small), **options):
        found[f"intervals, 3 classes: {result.name}"] = result.replicates
    for method in ("basic", "normal", "bca"):
        result = fp.bootstrap(fp.BrierScore(), binary(n), method=method, **options)
        found[f"interval {method}"] = np.array(result.interval)
    a, b = binary(n), binary(n, kind="llrs")
    for result in fp.compare([fp.CrossEntropy(), fp.EER(), fp.ECE()], a, b, **options):
        found[f"compare: {result.name}"] = result.replicates
    candidates = {"none": None, "beta": fp.BetaCalibration(), "pav": fp.PAV(laplace=True)}
    chosen_map = fp.select(a, candidates, **options)
    found["select"] = np.array([chosen_map.score, chosen_map.low, chosen_map.high])
    other = fp.Predictions.from_raw_scores(b.labels, binary(n, seed=1).scores)
    gains = fp.evaluate_fusion({"a": b, "b": other}, metrics=[fp.Cllr(), fp.EER()], **options)
    found["gains of a fusion"] = np.array([(e.value, e.low, e.high) for e in gains.differences])
    bounds = fp.elub(b)
    found["elub"] = np.array([bounds.low, bounds.high])
    table = fp.evaluate(a[:small], **options)
    found["table"] = np.array([(row.value, row.low, row.high) for row in table.rows], float)
    return found


def digests_of(found):
    """Name -> digest of the bytes, so that nan equals nan."""
    arrays = {name: np.asarray(value) for name, value in found.items()}
    assert not any(array.dtype.hasobject for array in arrays.values())  # bytes of addresses
    return {name: sha256(array.tobytes()).hexdigest() for name, array in arrays.items()}
