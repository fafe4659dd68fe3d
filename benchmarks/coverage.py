"""`python -m benchmarks.coverage`: how often intervals cover the population value.

Two generators whose population is known: independent samples, and trials of speakers who differ in
how easily they are recognized. The population value is the metric on a very large draw; for a
calibration loss, whose calibrator is refitted, it is the mean over fresh sets of the study's size.
"""

import argparse
import shlex
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.report import write_report
from fastpsr.bootstrap.intervals import interval

LEVEL = 0.95
N_REPLICATES = 500
_SEPARATION, _OVERCONFIDENCE, _PRIOR = 2.5, 1.2, 0.1
_N_SAMPLES = 2_000
_N_SPEAKERS, _N_TARGETS, _N_NONTARGETS = 60, 600, 20_000
_P_TARGET = 0.05
_POPULATION_SEED = 1 << 40  # far from the seeds of the repetitions

Drawn = tuple[fp.Predictions, fp.TwoWay | None]


@dataclass(frozen=True, eq=False)
class Study:
    """A generator, what is asked of it, and the ways to make intervals.

    Attributes
    ----------
    name, description : str
    draw : callable of a seed
        Returns predictions, with the speakers where there are some.
    draw_population : callable of a seed
        Returns a very large set from the same population.
    ways : list of (name, method, whether speakers are drawn)
    """

    name: str
    description: str
    draw: Callable[[int], Drawn]
    draw_population: Callable[[int], fp.Predictions]
    ways: list[tuple[str, Any, bool]]


def metrics() -> dict[str, Any]:
    """Return the metrics of the study by name."""
    train = fp.CrossFit(folds=5)
    return {
        "NCE": fp.CrossEntropy(),
        "NBS": fp.BrierScore(),
        f"actDCF({_P_TARGET})": fp.ActDCF(_P_TARGET),
        "Cllr": fp.Cllr(),
        "AUC": fp.AUC(),
        "EER": fp.EER(),
        f"minDCF({_P_TARGET})": fp.MinDCF(_P_TARGET),
        "minCllr": fp.MinCllr(),
        "ECE": fp.ECE(),
        "RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train),
    }


def draw_independent(seed: int, n_samples: int = _N_SAMPLES) -> Drawn:
    """Draw Gaussian scores of two classes, with overconfident log-odds."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_samples) < _PRIOR
    scores = rng.normal(size=n_samples) + _SEPARATION * y
    log_odds = _SEPARATION * (scores - _SEPARATION / 2.0) + log(_PRIOR / (1.0 - _PRIOR))
    return fp.Predictions.from_logits(y, _OVERCONFIDENCE * log_odds), None


def draw_trials(seed: int, factor: int = 1) -> Drawn:
    """Draw trials of speakers; `factor` times as many of both."""
    made = fp.simulate.trial_list(
        _N_TARGETS * factor, _N_NONTARGETS * factor, n_speakers=_N_SPEAKERS * factor, seed=seed
    )
    share = _N_TARGETS / (_N_TARGETS + _N_NONTARGETS)
    predictions = fp.Predictions.from_llrs(made.y_true, made.llr)
    posteriors = fp.Predictions.from_logits(
        made.y_true, predictions.llrs + log(share / (1.0 - share))
    )
    return posteriors, fp.TwoWay(made.enroll_speaker, made.test_speaker)


STUDIES = [
    Study(
        "independent samples",
        f"{_N_SAMPLES:,} samples, {_PRIOR:.0%} of class 1, overconfident by {_OVERCONFIDENCE}",
        draw_independent,
        lambda seed: draw_independent(seed, 10_000_000)[0],
        [
            ("percentile", "percentile", False),
            ("basic", "basic", False),
            ("bca", "bca", False),
            ("normal", "normal", False),
        ],
    ),
    Study(
        "trials that share speakers",
        f"{_N_TARGETS:,} target and {_N_NONTARGETS:,} non-target trials of {_N_SPEAKERS} speakers",
        draw_trials,
        lambda seed: draw_trials(seed, 200)[0],
        [
            ("iid percentile", "percentile", False),
            ("two-way percentile", "percentile", True),
            ("two-way basic", "basic", True),
            ("two-way normal", "normal", True),
        ],
    ),
]


def population_values(study: Study, n_fresh: int) -> dict[str, float]:
    """Return what the intervals ought to cover."""
    wanted = metrics()
    rcl = wanted.pop("RCL")
    population = study.draw_population(_POPULATION_SEED)
    values = {name: metric(population) for name, metric in wanted.items()}
    fresh = [rcl(study.draw(_POPULATION_SEED + 1 + turn)[0]) for turn in range(n_fresh)]
    return {**values, "RCL": float(np.mean(fresh))}


def observe(study: Study, n_repetitions: int, truth: dict[str, float]) -> dict[str, list[float]]:
    """Return the share of repetitions in which each way covers each metric's population value."""
    chosen = metrics()
    covered = np.zeros((len(chosen), len(study.ways)))
    for seed in range(n_repetitions):
        predictions, speakers = study.draw(seed)
        drawn: dict[tuple[bool, bool], list[Any]] = {}
        for way, (_, method, by_speaker) in enumerate(study.ways):
            kind = (by_speaker, method == "bca")
            if kind not in drawn:  # the other methods read the same replicates
                drawn[kind] = fp.bootstrap(
                    list(chosen.values()), predictions, n_resamples=N_REPLICATES,
                    confidence_level=LEVEL, method="bca" if kind[1] else "percentile", seed=seed,
                    resampling=speakers if by_speaker else fp.IID(),
                )  # fmt: skip
            for place, (name, result) in enumerate(zip(chosen, drawn[kind], strict=True)):
                low, high = result.interval
                if method in ("basic", "normal"):
                    defined = result.replicates[~np.isnan(result.replicates)]
                    low, high = interval(result.value, defined, LEVEL, method)
                covered[place, way] += low <= truth[name] <= high
        _say(f"{study.name}: {seed + 1} of {n_repetitions} repetitions")
    shares = covered / n_repetitions
    return dict(zip(chosen, shares.tolist(), strict=True))


def describe(
    study: Study, n_repetitions: int, truth: dict[str, float], shares: dict[str, list[float]]
) -> str:
    """Return a study as Markdown."""
    error = sqrt(LEVEL * (1.0 - LEVEL) / n_repetitions)
    lines = [
        f"### {study.name.capitalize()}",
        "",
        f"{study.description}; {n_repetitions} repetitions of {N_REPLICATES} replicates. Share of "
        f"{LEVEL:.0%} intervals that cover, in percent; its standard error is {error:.1%} where an "
        "interval keeps its level.",
        "",
        f"| metric | population value | {' | '.join(name for name, _, _ in study.ways)} |",
        "|---|--:|" + "--:|" * len(study.ways),
    ]
    for name, row in shares.items():
        cells = " | ".join(f"{100.0 * share:.1f}" for share in row)
        lines.append(f"| {name} | {truth[name]:.4f} | {cells} |")
    return "\n".join(lines)


def _say(line: str) -> None:
    print(f"\r{line} ", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--fresh", type=int, default=2000, help="sets behind the mean RCL")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="put the tables here too")
    options = parser.parse_args()
    command = shlex.join(["python", "-m", "benchmarks.coverage", *sys.argv[1:]])
    sections = [f"Command: `{command}`"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # bca of ECE: all replicates on one side
        for study in STUDIES:
            truth = population_values(study, options.fresh)
            shares = observe(study, options.repetitions, truth)
            sections.append(describe(study, options.repetitions, truth, shares))
    _say("\n")
    report = "\n\n".join(sections) + "\n"
    print(report)
    if options.markdown:
        write_report(options.markdown, report)


if __name__ == "__main__":
    main()
