"""Intervals with the defaults that users get: seconds and CPU seconds of whole calls."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

import fastpsr as fp
from benchmarks.data import (
    LARGE,
    MILLION_BALANCED,
    SITW,
    Size,
    Softmax,
    Trials,
    make_softmax,
    make_trials,
)
from benchmarks.timing import rest
from fastpsr.errors import ResultWarning
from fastpsr.evaluation import default_metrics

N_REPLICATES = 1000
_FEW = 40  # replicates of the call that compiles


@dataclass(frozen=True, eq=False)
class Default:
    """A call with `N_REPLICATES` replicates.

    Attributes
    ----------
    name, data : str
    promised : float
        Seconds, wall-clock or CPU.
    call : callable of a number of replicates
    counts_cpu : bool
        Whether the promise is of CPU seconds.
    """

    name: str
    data: str
    promised: float
    call: Callable[[int], Any]
    counts_cpu: bool = False


@dataclass
class Taken:
    """Wall-clock and CPU seconds of the rounds of a call."""

    case: Default
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def measure_defaults(asked_rounds: int) -> list[Taken]:
    """Time the calls, one after another in each round."""
    found = [Taken(case) for case in DEFAULTS]
    with catch_warnings():
        simplefilter("ignore", ResultWarning)  # of few speakers
        for taken in found:
            taken.case.call(_FEW)
        for _ in range(min(3, asked_rounds)):
            for taken in found:
                rest()
                begun, busy = perf_counter(), _cpu()
                taken.case.call(N_REPLICATES)
                taken.wall.append(perf_counter() - begun)
                taken.cpu.append(_cpu() - busy)
    return found


def describe_defaults(found: list[Taken]) -> str:
    """Return the table."""
    lines = [
        f'{N_REPLICATES:,} replicates, `method="auto"` where nothing else is said, from raw arrays '
        "on: medians over rounds.",
        "",
        "| call | data | seconds | CPU seconds | promised |",
        "|---|---|--:|--:|--:|",
    ]
    for taken in found:
        wall, cpu = (float(np.median(seconds)) for seconds in (taken.wall, taken.cpu))
        case = taken.case
        lines.append(
            f"| {case.name} | {case.data} | {wall:.1f} | {cpu:.1f} | "
            f"{case.promised:g} s{' of CPU' if case.counts_cpu else ''} |"
        )
    return "\n".join(lines)


def default_figures(found: list[Taken]) -> list[dict[str, Any]]:
    """Return the figures for JSON."""
    return [
        {"name": taken.case.name, "data": taken.case.data, "promised": taken.case.promised,
         "seconds": taken.wall, "cpu_seconds": taken.cpu}
        for taken in found
    ]  # fmt: skip


def _cpu() -> float:
    children = os.times()
    return process_time() + children.children_user + children.children_system


def _table(size: Size, n_systems: int = 1) -> Callable[[int], Any]:
    """Return the call of the default table."""

    def call(n_resamples: int) -> Any:
        trials = make_trials(size)
        systems = {"a": fp.Predictions.from_llrs(trials.y, trials.log_odds)}
        if n_systems > 1:
            noise = np.random.default_rng(1).normal(size=trials.y.size)
            systems["b"] = fp.Predictions.from_llrs(trials.y, trials.log_odds + noise)
        return fp.evaluate(
            systems, n_resamples=n_resamples, seed=0,
            differences="first" if n_systems > 1 else None,
        )  # fmt: skip

    return call


def _intervals(metric: Any, size: Size, method: Any) -> Callable[[int], Any]:
    def call(n_resamples: int) -> Any:
        trials: Trials = make_trials(size)
        given = fp.Predictions.from_llrs(trials.y, trials.log_odds)
        return fp.bootstrap(metric, given, n_resamples=n_resamples, seed=0, method=method)

    return call


def _refits(rule: Any, size: Size | Softmax, n_infinite: int = 0) -> Callable[[int], Any]:
    """Return the call of the calibration loss under a rule, by which the calibrators are fitted."""

    def call(n_resamples: int) -> Any:
        if isinstance(size, Softmax):
            samples = make_softmax(size)
            given = fp.Predictions.from_logits(samples.y, samples.log_posteriors)
        else:
            trials = make_trials(size)
            log_odds = trials.log_odds.copy()
            log_odds[:n_infinite] = np.where(trials.y[:n_infinite] == 1, np.inf, -np.inf)
            given = fp.Predictions.from_logits(trials.y, log_odds)
        metric = fp.CalibrationLoss(rule, fp.DirectionPreserving(rule))
        return fp.bootstrap(metric, given, n_resamples=n_resamples, seed=0, method="percentile")

    return call


def _by_speaker(n_resamples: int) -> Any:
    """Two systems in five groups, speakers drawn and kept apart in cross-fitting."""
    trials = fp.simulate.trial_list(4_000, 110_000, seed=0)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=trials.llr.size)
    systems = {
        name: fp.Predictions.from_llrs(trials.y_true, llr)
        for name, llr in (("a", trials.llr), ("b", trials.llr + noise))
    }
    groups = np.random.default_rng(1).integers(0, 5, trials.llr.size)
    speakers = trials.enroll_speaker, trials.test_speaker
    return fp.evaluate(
        systems, default_metrics(2, "likelihoods", train=fp.CrossFit(groups=speakers)),
        by={"group": groups}, n_resamples=n_resamples, seed=0, resampling=fp.TwoWay(*speakers),
    )  # fmt: skip


@lru_cache(maxsize=1)
def _parquet_file() -> tuple[Any, Path]:
    """Return a folder that vanishes with the process, and 10 million trials in it."""
    import polars as pl

    folder = tempfile.TemporaryDirectory()
    trials = make_trials(LARGE)
    path = Path(folder.name) / "trials.parquet"
    pl.DataFrame({"target": trials.y, "llr": trials.log_odds}).write_parquet(path)
    return folder, path


def _from_the_command_line(n_resamples: int) -> None:
    path = _parquet_file()[1]
    command = [sys.executable, "-m", "fastpsr", "evaluate", path, "--scores-are", "llr"]
    command += ["--resamples", n_resamples]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


_RCL = fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.TrainOnTest())
_BALANCED = str(MILLION_BALANCED)
_TRIALS = Size(100_000, 5_000)

DEFAULTS = [
    Default("`evaluate`, default table", str(SITW), 5, _table(SITW)),
    Default("`evaluate`, two systems and differences", str(SITW), 12, _table(SITW, 2)),
    Default("`evaluate`, default table", _BALANCED, 30, _table(MILLION_BALANCED)),
    *(
        Default(f"{name}, {method}", _BALANCED, seconds,
                _intervals(metric, MILLION_BALANCED, method))
        for name, metric, method, seconds in (
            ("AUC", fp.AUC(), "percentile", 2),
            ("AUC", fp.AUC(), "auto", 4),
            ("EER", fp.EER(), "percentile", 2),
            ("EER", fp.EER(), "auto", 4),
            ("RCL bound by PAV", _RCL, "percentile", 10),
            ("RCL bound by PAV", _RCL, "auto", 10),
        )
    ),
    *(
        Default(f"RCL, calibrators fitted by {name}, percentile", str(size), seconds,
                _refits(rule, size, n_infinite), counts_cpu=True)
        for name, rule, size, n_infinite, seconds in (
            ("the Brier rule", fp.rules.Brier(), _TRIALS, 0, 53),
            ("the log rule, with infinite scores", fp.rules.Log(), _TRIALS, 50, 2.8),
            ("the log rule", fp.rules.Log(), Softmax(100_000, 3), 0, 4.9),
            ("the log rule", fp.rules.Log(), Softmax(100_000, 10), 0, 6.5),
            ("the Brier rule", fp.rules.Brier(), Softmax(10_000, 3), 0, 27),
        )
    ),
    Default("`evaluate` by 5 groups, 2 systems, by speaker", "114,000 trials", 20, _by_speaker,
            counts_cpu=True),
    Default("`fastpsr evaluate`, a process", f"{LARGE} in Parquet", 30, _from_the_command_line),
]  # fmt: skip
