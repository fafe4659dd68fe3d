"""What is recorded: public calls on the data sets, each with how closely it must be repeated.

Metrics, curves and calibrators meet each data set once; places (memory, parts, groups), trainings,
schemes and methods take turns, so that pairs of choices occur and not their products.
"""

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastpsr as fp
from tests.golden.datasets import DATASETS, columns, in_parts

EXACT = 1e-12
OBJECTIVE = 1e-9  # of fits
PARAMETERS = 1e-6  # of fits, and a calibration loss in percent
SEEDS = 30  # for the spread of the ends of intervals
RESAMPLES = {"n_resamples": 100, "confidence_level": 0.9}

BINARY = [name for name in DATASETS if "classes" not in name]
SEVERAL = [name for name in DATASETS if "classes" in name]

METRICS = [
    "fp.CrossEntropy()",
    "fp.CrossEntropy(normalized=False)",
    "fp.BrierScore()",
    "fp.BrierScore(normalized=False)",
    "fp.ExpectedScore(fp.rules.Beta(2.0, 1.0))",
    "fp.ExpectedScore(fp.rules.Cost([[0, 1], [5, 0]]))",
    "fp.ExpectedScore(fp.rules.Weighted(lambda a: a[:, 0]))",
    "fp.BayesRisk(fp.CostMatrix.detection(10, 1))",
    "fp.BayesRisk(fp.CostMatrix.zero_one(n_classes))",
    "fp.BayesRisk(fp.CostMatrix.zero_one(n_classes, reject=0.1), normalized=False)",
    "fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving())",
    "fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.TrainOnTest(), relative=False)",
    "fp.CalibrationLoss(fp.rules.Brier(), fp.TemperatureScaling(), fp.CrossFit(3))",
    "fp.CalibrationLoss(fp.rules.Log(), fp.HistogramBinning(10))",
    "fp.ExpectedDivergence(fp.rules.Brier(), fp.PAV(), fp.TrainOnTest())",
    "fp.ExpectedDivergence(fp.rules.Log(), fp.DirectionPreserving(), fp.CrossFit(3))",
    "fp.SemiEmpiricalScore(fp.rules.Log(), data)",
    "fp.ECE()",
    "fp.ECE(10, norm=2)",
    "fp.ECE(8, binning='quantile')",
    "fp.ECE(on='confidence')",
    "fp.EER()",
    "fp.EER('crossing')",
    "fp.EER('nearest')",
    "fp.MissRate(0.05)",
    "fp.FalseAlarmRate(0.1)",
    "fp.Threshold(fp.MissRate(0.05))",
    "fp.Threshold(fp.EER('nearest'))",
    "fp.MinDCF(0.05)",
    "fp.MinDCF(0.3, 2.0, 0.5)",
    "fp.ActDCF(0.05)",
    "fp.MinADCF(spoof)",
    "fp.ActADCF(spoof)",
    "fp.Cllr()",
    "fp.MinCllr()",
    "fp.MinCllr(0.1)",
    "fp.AUC()",
    "fp.AUC('macro')",
    "fp.AUC(class_=0)",
    "fp.DevPAV()",
    "fp.PavPosterior(1.25)",
]
CURVES = [
    "fp.roc(data)",
    "fp.roc(data, class_=0)",
    "fp.bayes_error(data)",
    "fp.consistency_band(data, n_resamples=20, seed=seed)",
    "fp.divergence_curve(data, fp.rules.Brier())",
    "fp.empirical_cross_entropy(data)",
    "fp.pav_steps(data)",
    "fp.risk_curve(data, points)",
    "fp.score_histogram(data, 20)",
    "fp.tippett(data)",
]
CALIBRATORS = [
    "fp.DirectionPreserving(floor=1e-6)",
    "fp.DirectionPreserving(fp.rules.Brier(), floor=1e-6)",
    "fp.DirectionPreserving(floor=1e-6, prior=0.05)",
    "fp.TemperatureScaling(floor=1e-6)",
    "fp.VectorScaling()",
    "fp.MatrixScaling()",
    "fp.BetaCalibration(floor=1e-6)",
    "fp.Spline(floor=1e-6)",
    "fp.PAV()",
    "fp.PAV(laplace=True)",
    "fp.VennAbers()",
    "fp.HistogramBinning(10)",
]
TRAININGS = [
    "fp.TrainOnTest()",
    "fp.CrossFit()",
    "fp.CrossFit(3, seed=2, groups=ids['cluster'])",
    "fp.CrossFit(3, groups=(ids['enroll'], ids['test']))",
    "fp.HeldOut(data[::2])",
]
SCHEMES = [
    "fp.IID()",
    "fp.Stratified()",
    "fp.Clusters(ids['cluster'])",
    "fp.Nested(ids['cluster'])",
    "fp.TwoWay(ids['enroll'], ids['test'])",
]
METHODS = ["auto", "percentile", "basic", "bca", "normal", "subsampling"]
PARAMETERS_OF_FITS = {  # what is unique and continuous in the data
    "scale_", "bias_", "parameters_", "weights_", "posterior_", "edges_", "upper_", "lower_",
}  # fmt: skip
SMOOTH = ("DirectionPreserving", "TemperatureScaling", "VectorScaling", "MatrixScaling")
SMOOTH += ("BetaCalibration", "Spline", "LinearFusion")


@dataclass(frozen=True)
class Case:
    """A call: its text, what computes it, and the tolerance (None: compared by its spread)."""

    section: str
    text: str
    compute: Callable[..., Any]
    tolerance: float | None = EXACT


def names(data_name: str) -> dict[str, Any]:
    """Return what the texts of the cases may use."""
    data = DATASETS[data_name]()
    ids, K = columns(len(data)), data.n_classes
    points = [0.01, 0.3, 0.5, 0.9] if K == 2 else (np.eye(K) + 1.0) / (K + 1.0)
    return {
        "fp": fp, "np": np, "data": data, "ids": ids, "n_classes": K, "points": points,
        "spoof": ids["spoof"] & (data.y_true == 0),
    }  # fmt: skip


def evaluated(text: str, data_name: str) -> Any:
    return eval(text, names(data_name))


def cases() -> Iterator[Case]:
    yield from _values()
    yield from _curves()
    yield from _fits()
    yield from _intervals()
    yield from _tables()


def _values() -> Iterator[Case]:
    for i, metric in enumerate(METRICS):
        smooth = any(kind in metric for kind in SMOOTH)
        for j, name in enumerate(DATASETS):
            place = ("memory", "parts", "groups")[(i + j) % 3]
            tolerance = PARAMETERS if smooth else EXACT
            yield Case(
                f"value of {metric}", f"{name} in {place}", _value(metric, name, place), tolerance
            )


def _value(metric: str, name: str, place: str) -> Callable[[], Any]:
    def compute() -> Any:
        data = DATASETS[name]()
        if place == "memory":
            return evaluated(metric, name)(data)
        if place == "parts":
            aware = metric.replace("(spoof)", "('spoof')")
            parts = in_parts(name)
            return evaluated(aware, name)(parts)
        table = fp.evaluate(data, [evaluated(metric, name)], by={"g": columns(len(data))["group"]})
        return _of_rows(table)

    return compute


def _of_rows(table: fp.Evaluation) -> Any:
    refusals = {row: getattr(row.error, "argument", None) for row in table.rows}
    return {f"{row.group} {row.metric}": [row.value, refusals[row]] for row in table.rows}


def _curves() -> Iterator[Case]:
    for i, curve in enumerate(CURVES):
        for j, name in enumerate(DATASETS):
            in_memory = (i + j) % 2 == 0 or "consistency" in curve
            text = f"{name} in {'memory' if in_memory else 'parts'}"

            def compute(seed=0, curve=curve, name=name, in_memory=in_memory) -> Any:
                known = names(name) | {"seed": seed}
                return eval(curve, known | ({} if in_memory else {"data": in_parts(name)}))

            tolerance = None if "consistency" in curve else EXACT
            yield Case(f"curve {curve}", text, compute, tolerance)


def _fits() -> Iterator[Case]:
    turns = itertools.cycle(TRAININGS)
    for calibrator in CALIBRATORS:
        tolerance = PARAMETERS if any(kind in calibrator for kind in SMOOTH) else EXACT
        for name in DATASETS:
            if name == "twenty_classes" and "Matrix" in calibrator:
                continue  # seconds
            training = next(turns)

            def fit(calibrator=calibrator, name=name) -> Any:
                data = DATASETS[name]()
                fitted = evaluated(calibrator, name).fit(data)
                known = {
                    part: value
                    for part, value in vars(fitted).items()
                    if part in PARAMETERS_OF_FITS
                }
                return known | {"transformed": fitted.transform(data)}

            def objective(calibrator=calibrator, name=name) -> Any:
                data = DATASETS[name]()
                calibrated = evaluated(calibrator, name).fit(data).transform(data)
                return fp.CrossEntropy()(calibrated), fp.BrierScore()(calibrated)

            def cross_fit(calibrator=calibrator, name=name, training=training) -> Any:
                data = DATASETS[name]()
                train = evaluated(training, name)
                return fp.cross_fit(evaluated(calibrator, name), data, train)

            yield Case(f"fit of {calibrator}", name, fit, tolerance)
            if not name.startswith("raw") and "prior=" not in calibrator:
                yield Case(f"objective of {calibrator}", name, objective, OBJECTIVE)
            yield Case(f"cross-fit of {calibrator}", f"{name}, {training}", cross_fit, tolerance)


def _intervals() -> Iterator[Case]:
    methods = itertools.cycle(METHODS)
    several = itertools.cycle(SEVERAL[:3])
    held = [m for m in METRICS if "Spline" not in m and "Semi" not in m]
    turns = itertools.cycle(
        [
            "llrs",
            "llrs_weighted",
            "posteriors",
            "llrs_at_prior",
            "logits_wild_weights",
            "posteriors_two_columns",
        ]
    )
    for scheme in SCHEMES:
        for metric in held:
            for name in (
                next(turns),
                *([next(several)] if "n_classes" in metric or "Cross" in metric else []),
            ):
                method = next(methods)

                def compute(seed=0, scheme=scheme, metric=metric, name=name, method=method) -> Any:
                    result = fp.bootstrap(
                        evaluated(metric, name), DATASETS[name](), method=method,
                        resampling=evaluated(scheme, name), seed=seed, **RESAMPLES,
                    )  # fmt: skip
                    return _ends(result)

                yield Case(f"interval by {scheme}", f"{metric} of {name}, {method}", compute, None)
        next(methods)  # so that schemes and methods meet in another order


def _ends(result: Any) -> Any:
    return {
        "value": result.value, "low": result.interval.low, "high": result.interval.high,
        "standard error": result.standard_error, "method": result.method,
    }  # fmt: skip


def _tables() -> Iterator[Case]:
    for name in DATASETS:

        def default_table(name=name) -> Any:
            return _of_rows(fp.evaluate(DATASETS[name]()))

        yield Case("default table", name, default_table, PARAMETERS)
    for name, calibrator in itertools.product(
        ("llrs_weighted", "posteriors", "three_classes_float32"),
        ("fp.PAV()", "fp.DirectionPreserving()"),
    ):

        def decomposed(name=name, calibrator=calibrator) -> Any:
            return fp.decompose(DATASETS[name](), fp.rules.Brier(), evaluated(calibrator, name))

        yield Case("decomposition", f"{name}, {calibrator}", decomposed, OBJECTIVE)
    for metric, scheme in zip(
        ("fp.CrossEntropy()", "fp.EER()", "fp.AUC()", "fp.MinDCF(0.05)", "fp.ECE()"),
        SCHEMES,
        strict=True,
    ):

        def compared(seed=0, metric=metric, scheme=scheme) -> Any:
            y, a = DATASETS["llrs"]().y_true, DATASETS["llrs"]().llrs
            b = fp.Predictions.from_llrs(y, 0.5 * a + np.sin(np.arange(400)))
            result = fp.compare(
                evaluated(metric, "llrs"), DATASETS["llrs"](), b, seed=seed,
                resampling=evaluated(scheme, "llrs"), **RESAMPLES,
            )  # fmt: skip
            return _ends(result)

        yield Case("comparison", f"{metric}, {scheme}", compared, None)
    for curve in ("roc", "bayes_error", "pav_steps"):

        def band(seed=0, curve=curve) -> Any:
            made = fp.band(getattr(fp, curve), DATASETS["llrs"](), seed=seed, **RESAMPLES)
            return {
                part: [float(np.mean(getattr(end, part))) for end in (made.low, made.high)]
                for part in made.series
            }

        yield Case("band", curve, band, None)

    def selected(seed=0) -> Any:
        candidates = {"none": None, "dp": fp.DirectionPreserving(), "pav": fp.PAV()}
        made = fp.select(DATASETS["llrs"](), candidates, seed=seed, **RESAMPLES)
        return {"score": made.score, "chosen": made.chosen, "low": made.low, "high": made.high}

    yield Case("selection", "llrs", selected, None)

    def fused() -> Any:
        raw = DATASETS["raw_tied"]()
        other = fp.Predictions.from_raw_scores(raw.y_true, raw.scores + np.sin(np.arange(430)))
        quality = fp.Quality(np.cos(np.arange(430)), np.sin(2.0 * np.arange(430)))
        fusion = fp.LinearFusion().fit([raw, other, quality])
        return fusion.weights_, fusion.bias_, fp.cross_fit(fp.LinearFusion(), [raw, other])

    yield Case("fusion", "raw_tied", fused, PARAMETERS)

    def by_condition() -> Any:
        data = DATASETS["llrs_rare_targets"]()
        conditions = {"group": columns(len(data))["group"]}
        return fp.cross_fit(fp.ByCondition(fp.DirectionPreserving(), 20), data, by=conditions)

    yield Case("by condition", "llrs_rare_targets", by_condition, PARAMETERS)
    yield Case("ELUB", "llrs", lambda: fp.elub(DATASETS["llrs"]()))

    def size(seed=0) -> Any:
        made = fp.sample_size(
            fp.CrossEntropy(), DATASETS["llrs"](), 0.05, seed=seed, n_resamples=100
        )
        return {"n": float(made.n)}

    yield Case("sample size", "llrs", size, None)


def computed(case: Case, **options: Any) -> Any:
    """Return what a case computes, or the refusal by its argument."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return described(case.compute(**options))
        except fp.ArgumentError as error:
            return {"refused": error.argument}
        except ValueError as error:
            return {"refused": type(error).__name__}


def described(result: Any) -> Any:
    """Return a result as JSON has it: long arrays by their length, sums and a few values."""
    if isinstance(result, (bool, np.bool_, str)) or result is None:
        return result if not isinstance(result, np.bool_) else bool(result)
    if isinstance(result, (int, float, np.number)):
        return _number(float(result))
    if isinstance(result, fp.Predictions):
        return {"kind": result.kind, "scores": described(result.scores)}
    if isinstance(result, dict):
        return {str(name): described(value) for name, value in result.items()}
    if isinstance(result, (tuple, list)):
        return [described(value) for value in result]
    if isinstance(result, np.ndarray):
        return _array(result)
    parts = {name: part for name, part in vars(result).items() if not name.startswith("_")}
    return {name: described(part) for name, part in parts.items() if not callable(part)}


def _number(value: float) -> float | str:
    return value if np.isfinite(value) else repr(value)


def _array(values: np.ndarray) -> Any:
    if values.dtype.kind not in "fiub":
        return [str(value) for value in values.ravel()[:20]]
    flat = values.astype(float).ravel()
    if flat.size <= 12:
        return [_number(value) for value in flat.tolist()]
    finite = flat[np.isfinite(flat)]
    places = np.linspace(0, flat.size - 1, 7).astype(int)
    return {
        "shape": list(values.shape),
        "infinite": int(flat.size - finite.size),
        "size of sums": float(np.abs(finite).sum()),
        "sum": float(finite.sum()),
        "sum by place": float((finite * np.cos(np.arange(finite.size))).sum()),
        "some": [_number(value) for value in flat[places].tolist()],
    }
