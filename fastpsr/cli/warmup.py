"""`fastpsr warmup`."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastpsr as fp
from fastpsr import kernels
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.calibration import NAMED
from fastpsr.cli.show import console, steps
from fastpsr.curves import CURVES
from fastpsr.metrics import METRICS
from fastpsr.plans.budget import limited

__all__ = ["compile_all", "warmup"]


def warmup() -> None:
    """Compile all kernels into the cache, so that later commands need not compile."""
    begun = time.perf_counter()
    with steps(len(_TASKS)) as begin:
        compile_all(begin)
    console.print(f"compiled in {time.perf_counter() - begun:.1f} s")


def compile_all(begin: Callable[[str], Any]) -> None:
    """Call every kernel once on small data."""
    for name, task in _TASKS.items():
        begin(name)
        task()


def _binary(*, weighted: bool = False) -> list[fp.Predictions]:
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=400)
    y = (rng.random(400) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    q = 1.0 / (1.0 + np.exp(-log_odds))
    weight = rng.random(400) if weighted else None
    return [
        fp.Predictions.from_posteriors(y, q, sample_weight=weight),
        fp.Predictions.from_posteriors(y, np.column_stack([1.0 - q, q]), sample_weight=weight),
        fp.Predictions.from_logits(y, log_odds, sample_weight=weight),
    ]


def _many() -> list[fp.Predictions]:
    made = fp.simulate.gaussian_classes(300, n_classes=3)
    return [
        fp.Predictions.from_logits(made.y_true, made.cal),
        fp.Predictions.from_posteriors(made.y_true, np.exp(made.cal)),
    ]


def _scores(samples: list[fp.Predictions]) -> None:
    rules = [fp.rules.Log(), fp.rules.Brier(), fp.rules.Cost([[0, 1], [1, 0]])]
    for predictions in samples:
        for rule in rules[: 3 if predictions.n_classes == 2 else 2]:
            fp.ExpectedScore(rule)(predictions)
            fp.SemiEmpiricalScore(rule, predictions)(predictions)
            rule.losses_of(predictions)
        for kind in METRICS:
            if predictions.n_classes == 2 or not kind.binary_only:
                for metric in kind.examples(predictions):
                    metric(predictions)
        for curve in CURVES if predictions.n_classes == 2 else [fp.risk_curve]:
            curve(predictions, **CURVES[curve](predictions.n_classes))


def _calibrators(samples: list[fp.Predictions]) -> None:
    for predictions in samples:
        for calibrator in NAMED.values():
            if calibrator.suits(predictions):
                fp.cross_fit(calibrator, predictions)


def _beta() -> None:
    for predictions in _binary():
        fp.ExpectedScore(fp.rules.Beta(2, 2))(predictions)
    fp.DirectionPreserving(fp.rules.Beta(2, 2)).fit(_binary()[2])


def _rank_cells() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 40_000))
    for y in (scores[1] > 0, scores[1] > 2.4):  # classes of like size, and of very different size
        predictions = fp.Predictions.from_raw_scores(y, scores[0])
        fp.AUC()(predictions)
        fp.EER()(predictions)


def _labels_of_many_classes() -> None:
    rng = np.random.default_rng(0)
    n_classes = 257  # from here on labels take four bytes
    y = np.arange(5 * n_classes) % n_classes  # one for each fold
    logits = rng.normal(size=(y.size, n_classes))
    logits[np.arange(y.size), y] += 2.0
    for weight in (None, rng.random(y.size)):
        predictions = fp.Predictions.from_logits(y, logits, sample_weight=weight)
        _scores([predictions])
        _calibrators([predictions])
    _losses_of_log_posteriors(y, logits)


def _losses_of_log_posteriors(y: NDArray[Any], logits: NDArray[Any]) -> None:
    predictions = fp.Predictions.from_log_posteriors(y, logits, normalize=True)
    for metric in (fp.CrossEntropy(), fp.BrierScore()):
        metric(predictions)


def _bootstrap() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(9, size=400)
    log = fp.rules.Log()
    metrics: list[fp.metrics.Metric[Any]] = [
        fp.CrossEntropy(),
        fp.ECE(),
        fp.EER(),
        fp.CalibrationLoss(log, fp.DirectionPreserving()),
        fp.CalibrationLoss(log, fp.PAV(), fp.TrainOnTest()),
    ]
    for predictions in _binary()[2:] + _binary(weighted=True)[2:]:
        for kind in RESAMPLINGS:
            n_ids = sum(field.default is MISSING for field in fields(kind))  # type: ignore[arg-type]
            resampling = kind(*(ids, ids[::-1])[:n_ids])
            fp.bootstrap(metrics, predictions, n_resamples=40, seed=0, resampling=resampling)
    several = [
        fp.CalibrationLoss(log, fp.DirectionPreserving(rule)) for rule in (log, fp.rules.Brier())
    ]
    for predictions in _many():
        fp.bootstrap(several, predictions, n_resamples=40, seed=0)


def _large_sets() -> None:
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=1 << 15)
    y = rng.random(log_odds.size) < 1.0 / (1.0 + np.exp(-log_odds))
    ids = rng.integers(50, size=log_odds.size)
    train = fp.CrossFit(groups=(ids, ids[::-1]))
    for weight in (None, rng.random(log_odds.size)):
        predictions = fp.Predictions.from_logits(y, log_odds, sample_weight=weight)
        fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train)(predictions)
        fp.cross_fit(fp.DirectionPreserving(), predictions)


def _layouts() -> None:
    """Use arrays that are not copied: single precision, and strided columns."""
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        y = np.arange(400) % n_classes
        logits = rng.normal(size=(400, n_classes)) + np.eye(n_classes)[y]
        rows = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        given = rows.astype(np.float32)
        _scores([fp.Predictions.from_posteriors(y, given)])
        _scores([fp.Predictions.from_logits(y, logits.astype(np.float32))])
        fp.Predictions.from_posteriors(y, rows, normalize=True)
        _losses_of_log_posteriors(y, np.log(given))
        if n_classes == 2:
            column = logits[:, 1].astype(np.float32)
            for one in (
                column,
                column.astype(np.float64).repeat(2)[::2],
                np.repeat(column, 2)[::2],
            ):
                predictions = fp.Predictions.from_logits(y, one)
                _scores([predictions])
                fp.PAV().fit(predictions).transform(predictions)
                q = np.clip(np.abs(one), 0.0, 1.0) if one.flags.c_contiguous else given[:, 1]
                _scores([fp.Predictions.from_posteriors(y, q)])
            _scores([fp.Predictions.from_posteriors(y, rows[:, 1])])


def _parts() -> None:
    """Use data in parts, also with more than the memory budget."""
    rng = np.random.default_rng(0)
    n = 40_000
    scores = rng.normal(size=n)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-scores))
    for weight in (None, rng.random(n)):
        whole = fp.Predictions.from_logits(y, scores, sample_weight=weight)
        cuts = [slice(k, k + n // 4) for k in range(0, n, n // 4)]
        spoof = ~y & (scores > 0.0)
        parts = fp.from_parts((whole[cut], {"spoof": spoof[cut]}) for cut in cuts)
        for kind in METRICS:
            for metric in kind.examples(parts):
                metric(parts)
        fp.bootstrap([fp.BrierScore(), fp.AUC()], parts, n_resamples=40, seed=0)
        with limited(20_000):
            for metric in (fp.EER(), fp.AUC()):
                with suppress(ValueError):  # refused if it needs more memory
                    metric(parts)


def _ids_of_trials() -> None:
    kernels.all_distinct(np.arange(400, dtype=np.uint64))


_TASKS: dict[str, Callable[[], None]] = {
    "binary scores": lambda: _scores(_binary()),
    "weighted binary scores": lambda: _scores(_binary(weighted=True)),
    "scores of many classes": lambda: _scores(_many()),
    "binary calibrators": lambda: _calibrators(_binary() + _binary(weighted=True)),
    "calibrators of many classes": lambda: _calibrators(_many()),
    "Beta rules": _beta,
    "rank cells": _rank_cells,
    "labels of many classes": _labels_of_many_classes,
    "bootstrap": _bootstrap,
    "large sets": _large_sets,
    "rows of any layout": _layouts,
    "data in parts": _parts,
    "ids of trials": _ids_of_trials,
}
