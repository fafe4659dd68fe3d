"""Bootstrap intervals of 1,000 replicates, by fastpsr and by peers, and whole calls with them.

A peer makes a few replicates, and its time is extrapolated: every replicate costs it the same. Its
own value on the data, computed besides, counts as one more replicate.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import fastpsr as fp
from benchmarks.comparisons import P_TARGET, folds_of, llreval_ranks, log_posteriors
from benchmarks.comparisons import psrcal_calibrated as calibrated_by_psrcal
from benchmarks.data import LARGE, MILLION_BALANCED, SITW, Samples, Size, Softmax, Trials
from benchmarks.harness import Case, Promise, run
from fastpsr.evaluation import default_metrics

N_REPLICATES = 1000
Result = tuple[float, float, float]  # value, low, high


def intervals(metrics: list[Any], trials: Trials) -> list[fp.BootstrapResult]:
    predictions = fp.Predictions.from_logits(trials.y, trials.log_odds)
    return fp.bootstrap(metrics, predictions, n_resamples=N_REPLICATES, seed=0, method="percentile")


def rcl_intervals(trials: Trials) -> list[fp.BootstrapResult]:
    train = fp.CrossFit(folds=folds_of(trials))
    return intervals([fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train)], trials)


def _with_conf_int(metric: Callable[..., float], samples: Any, labels: Any, n: int) -> Result:
    from confidence_intervals import evaluate_with_conf_int

    value, (low, high) = evaluate_with_conf_int(samples, metric, labels, num_bootstraps=n)
    return float(value), float(low), float(high)


def psrcal_nce(n: int, trials: Trials) -> list[Result]:
    import torch
    from psrcal.losses import LogLoss

    def metric(labels: Any, samples: Any) -> float:
        return float(LogLoss(torch.from_numpy(samples), torch.from_numpy(labels)))

    return [_with_conf_int(metric, log_posteriors(trials.log_odds).numpy(), trials.y, n)]


def llreval_intervals(n: int, trials: Trials) -> list[Result]:
    """Draw once for all three, and fit PAV once per replicate: kinder than metric by metric."""
    others: list[tuple[float, ...]] = []

    def metric(labels: Any, samples: Any) -> float:
        eer, *values = llreval_ranks(samples, labels)
        others.append(tuple(values))
        return eer

    results = [_with_conf_int(metric, trials.log_odds, trials.y, n)]
    for value, *replicates in zip(*others, strict=True):
        low, high = np.percentile(replicates, [2.5, 97.5])
        results.append((value, float(low), float(high)))
    return results


def psrcal_rcl(n: int, trials: Trials) -> list[Result]:
    """Calibrate by psrcal on folds of the original samples."""
    import torch
    from psrcal.losses import LogLoss

    log_q = log_posteriors(trials.log_odds)
    y, folds = torch.from_numpy(trials.y), torch.from_numpy(folds_of(trials))

    def metric(rows: Any) -> float:
        index = torch.from_numpy(rows)
        raw = float(LogLoss(log_q[index], y[index]))
        calibrated = calibrated_by_psrcal(log_q[index], y[index], folds[index])
        return 100.0 * (raw - float(LogLoss(calibrated, y[index]))) / raw

    return [_with_conf_int(metric, np.arange(trials.y.size), None, n)]


def torchmetrics_ece(n: int, trials: Trials) -> list[Result]:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    def metric(labels: Any, samples: Any) -> float:
        q, y = torch.from_numpy(samples), torch.from_numpy(labels)
        return float(binary_calibration_error(q, y, n_bins=15, norm="l1"))

    return [_with_conf_int(metric, trials.posteriors, trials.y, n)]


def same_estimates(tolerance: float, trials: Trials, ours: Any, peer: list[Result]) -> None:
    """Few replicates do not make an interval: only the values can be compared."""
    for result, (value, low, high) in zip(ours, peer, strict=True):
        assert_allclose(result.value, value, rtol=tolerance, atol=1e-7)
        assert result.interval.low <= result.interval.high
        assert low <= high


_RANKS = [fp.EER(), fp.MinDCF(P_TARGET), fp.MinCllr()]

#: Name, metrics (None: the RCL), the peer's intervals, its replicates, its package, the promise.
COMPARISONS = [
    Case(
        f"intervals of {name}", SITW,
        partial(intervals, metrics) if metrics else rcl_intervals, partial(peer, n),
        partial(same_estimates, 1e-2 if name.startswith("RCL") else 1e-6),
        ("confidence_intervals", package), Promise(promise),
        factor=(N_REPLICATES + 1) / (n + 1),
    )
    for name, metrics, peer, n, package, promise in (
        ("NCE", [fp.CrossEntropy()], psrcal_nce, 100, "psrcal", 200),
        ("EER, minDCF and minCllr", _RANKS, llreval_intervals, 60, "llreval", 300),
        ("RCL, DP cross-fit in each replicate", None, psrcal_rcl, 2, "psrcal", 800),
        ("ECE", [fp.ECE()], torchmetrics_ece, 200, "torchmetrics", 50),
    )
]  # fmt: skip


# Calls as users make them, with the default method


def evaluate(n_systems: int, trials: Trials) -> Any:
    """Return the default table of one or two systems."""
    systems = {"a": fp.Predictions.from_llrs(trials.y, trials.log_odds)}
    if n_systems > 1:
        noise = np.random.default_rng(1).normal(size=trials.y.size)
        systems["b"] = fp.Predictions.from_llrs(trials.y, trials.log_odds + noise)
    differences = "first" if n_systems > 1 else None
    return fp.evaluate(systems, n_resamples=N_REPLICATES, seed=0, differences=differences)


def refits(samples: Samples) -> Any:
    """Return the calibration loss, with calibrators that are fitted in each replicate."""
    predictions = fp.Predictions.from_logits(samples.y, samples.log_posteriors)
    metric = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving())
    return fp.bootstrap(metric, predictions, n_resamples=N_REPLICATES, seed=0, method="percentile")


@dataclass(frozen=True)
class Speakers:
    """Trials of speakers, in five groups, by two systems."""

    n_targets: int = 4_000
    n_nontargets: int = 110_000

    def __str__(self) -> str:
        return f"{self.n_targets + self.n_nontargets:,} trials"

    def make(self) -> Any:
        return fp.simulate.trial_list(self.n_targets, self.n_nontargets, seed=0)

    def quick(self) -> "Speakers":
        return Speakers(400, 4_000)


def by_speaker(trials: Any) -> Any:
    """Evaluate two systems in five groups, speakers drawn and kept apart in cross-fitting."""
    noise = np.random.default_rng(0).normal(size=trials.llr.size)
    systems = {
        name: fp.Predictions.from_llrs(trials.y_true, llr)
        for name, llr in (("a", trials.llr), ("b", trials.llr + noise))
    }
    groups = np.random.default_rng(1).integers(0, 5, trials.llr.size)
    speakers = trials.enroll_speaker, trials.test_speaker
    return fp.evaluate(
        systems, default_metrics(2, "likelihoods", train=fp.CrossFit(groups=speakers)),
        by={"group": groups}, n_resamples=N_REPLICATES, seed=0, resampling=fp.TwoWay(*speakers),
    )  # fmt: skip


@dataclass(frozen=True)
class Parquet:
    """Trials in a file, which vanishes with the process."""

    size: Size

    def __str__(self) -> str:
        return f"{self.size} in Parquet"

    def make(self) -> Path:
        return _parquet_file(self.size)[1]

    def quick(self) -> "Parquet":
        return Parquet(self.size.quick())


@lru_cache(maxsize=1)
def _parquet_file(size: Size) -> tuple[Any, Path]:
    import polars as pl

    folder = tempfile.TemporaryDirectory()
    trials = size.make()
    path = Path(folder.name) / "trials.parquet"
    pl.DataFrame({"target": trials.y, "llr": trials.log_odds}).write_parquet(path)
    return folder, path


def evaluate_process(path: Path) -> None:
    run("-m", "fastpsr", "evaluate", path, "--scores-are", "llr", "--resamples", N_REPLICATES)


_CLASSES = "exponentials: a fit passes over the drawn rows five or six times"
_DEFAULT = "`evaluate`, default table"
_REFITS = "RCL, calibrators fitted in each replicate, percentile"
CALLS = [
    Case(_DEFAULT, SITW, partial(evaluate, 1), promise=Promise(4, "s")),
    Case("`evaluate`, two systems and differences", SITW, partial(evaluate, 2),
         promise=Promise(12, "s")),
    Case(_DEFAULT, MILLION_BALANCED, partial(evaluate, 1), promise=Promise(8, "s")),
    Case(_REFITS, Softmax(10_000, 10), refits, promise=Promise(15, "s", _CLASSES)),
    Case(_REFITS, Softmax(100_000, 10), refits, promise=Promise(6.5, "s of CPU", _CLASSES)),
    Case("`evaluate` by 5 groups, 2 systems, by speaker", Speakers(), by_speaker,
         promise=Promise(20, "s of CPU")),
    Case("`fastpsr evaluate`, a process", Parquet(LARGE), evaluate_process,
         promise=Promise(30, "s")),
]  # fmt: skip
