"""`python -m benchmarks.studies.coverage`: how often intervals cover the population value.

Each study draws many samples from a population whose metrics are known, and counts how often the
intervals of `method="auto"` and percentile intervals contain them. A population value is the
metric on very large draws; for a calibrator that is cross-fitted, and for devPAV, it is the mean
over fresh sets of the study's size. Counts are kept in a JSON file: a study that is run again goes
on where it ended.
"""

import argparse
import json
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, isnan, log
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import fastpsr as fp
from benchmarks.data import SITW
from benchmarks.harness import ROOT
from benchmarks.studies import coverage_page, optimism
from benchmarks.studies.populations import (
    INDEPENDENT,
    OF_SPEAKERS,
    Drawn,
    calibrated,
    clusters,
    independent,
    pair,
    spoofed,
    unequal_clusters,
)
from fastpsr.bootstrap.intervals import percentile
from fastpsr.bootstrap.results import Estimand, draw_values, results_of
from fastpsr.bootstrap.settings import Intervals
from fastpsr.bootstrap.values import Job
from fastpsr.counts import side_by_side
from fastpsr.errors import Subject

LEVELS = (0.9, 0.95)
N_RESAMPLES = 200
_N_LARGE, _N_DRAWS = 2_000_000, 4  # samples of a large draw, and such draws
_N_FRESH = 300  # sets behind the mean of a cross-fitted metric
_POPULATION = 1 << 40  # first seed of the population, far from those of the repetitions
_AT_ONCE = 10  # repetitions between looks at the file

Metrics = dict[str, Any]
#: Results of all metrics at a confidence level.
Results = Callable[[float], Mapping[str, fp.BootstrapResult]]

_LOG = fp.rules.Log()
_TEST, _CROSS = fp.TrainOnTest(), fp.CrossFit(folds=5)
_CROSS_FITTED, _PAV_CROSS_FITTED = "RCL, affine cross-fitted", "RCL of Brier, PAV cross-fitted"
#: Metrics whose values depend on the number of samples.
_FRESH = {_CROSS_FITTED, _PAV_CROSS_FITTED, "devPAV"}
RANKS: Metrics = {
    "EER": fp.EER(), "minDCF(0.05)": fp.MinDCF(0.05), "minCllr": fp.MinCllr(), "AUC": fp.AUC(),
}  # fmt: skip
ECES: Metrics = {"ECE": fp.ECE()}
CORE: Metrics = {
    **RANKS, **ECES, "RCL, PAV on the test": fp.CalibrationLoss(_LOG, fp.PAV(), _TEST),
}  # fmt: skip
MEANS: Metrics = {
    "NCE": fp.CrossEntropy(), "Cllr": fp.Cllr(), "actDCF(0.05)": fp.ActDCF(0.05),
}  # fmt: skip
OTHER_MEANS: Metrics = {
    **MEANS, "NBS": fp.BrierScore(), "NRisk": fp.BayesRisk(fp.CostMatrix.zero_one(2)),
}  # fmt: skip
STEPS: Metrics = {
    "MissRate(0.05)": fp.MissRate(0.05), "FalseAlarmRate(0.1)": fp.FalseAlarmRate(0.1),
    "EER(crossing)": fp.EER("crossing"), "EER(nearest)": fp.EER("nearest"),
    "threshold of EER": fp.Threshold(fp.EER()),
}  # fmt: skip
FITS: Metrics = {
    _CROSS_FITTED: fp.CalibrationLoss(_LOG, fp.DirectionPreserving(), _CROSS),
    _PAV_CROSS_FITTED: fp.CalibrationLoss(fp.rules.Brier(), fp.PAV(), _CROSS),
    "RCL, affine on the test": fp.CalibrationLoss(_LOG, fp.DirectionPreserving(), _TEST),
    "RCL, histogram on the test": fp.CalibrationLoss(_LOG, fp.HistogramBinning(), _TEST),
    "divergence, PAV on the test": fp.ExpectedDivergence(fp.rules.Brier(), fp.PAV(), _TEST),
    "devPAV": fp.DevPAV(),
}
OTHER_ECES: Metrics = {
    "ECE(norm=2)": fp.ECE(norm=2), "ECE, quantile bins": fp.ECE(binning="quantile"),
    "ECE of confidence": fp.ECE(on="confidence"),
}  # fmt: skip
OTHERS: Metrics = OTHER_MEANS | STEPS | FITS | OTHER_ECES
#: Of lists with spoofed trials; made for the trials of each draw.
SPOOFING: Metrics = {"minADCF": fp.MinADCF, "actADCF": fp.ActADCF}


@dataclass(frozen=True, eq=False)
class Study:
    """Draws from a population, and what is asked of them.

    Attributes
    ----------
    name, group, about : str
        Studies of a group share a table.
    draw : callable of a seed
    large : callable of a seed
        A very large draw, for the population values.
    metrics : dict of name to metric
        Of the system, or of the difference of two. Classes stand for metrics of spoofed trials.
    share : float
        Of the repetitions asked for.
    known : dict of name to float
        Population values that need no draw.
    n_draws : int
        Large draws to average.
    """

    name: str
    group: str
    about: str
    draw: Callable[[Any], Drawn]
    large: Callable[[Any], Drawn]
    metrics: Metrics
    share: float = 1.0
    known: dict[str, float] = field(default_factory=dict)
    n_draws: int = _N_DRAWS

    def values(self, drawn: Drawn, metrics: Metrics) -> dict[str, float]:
        """Return metrics of the system, or differences."""
        values = [
            [metric(data) for data in drawn.systems] for metric in drawn.metrics(metrics.values())
        ]
        return {
            name: float(each[0] - each[1] if len(each) > 1 else each[0])
            for name, each in zip(metrics, values, strict=True)
        }

    def results(self, drawn: Drawn, seed: int) -> Results:
        """Return the results of all metrics, for any level."""
        settings = Intervals.of(N_RESAMPLES, LEVELS[0], "auto", drawn.scheme, seed)
        metrics = drawn.metrics(self.metrics.values())
        jobs = [[Job(metric, data) for data in drawn.systems] for metric in metrics]
        flat = [job for each in jobs for job in each]
        side_by_side(*(job.prepare for job in flat), over=list(drawn.systems))
        for job in flat:
            job.value = job.metric(job.data)
        estimands = [
            Estimand(Subject(metric=name), tuple(zip(each, (1.0, -1.0), strict=False)))
            for name, each in zip(self.metrics, jobs, strict=True)
        ]
        draw_values(
            estimands, settings, jointly=len(drawn.systems) > 1,
            progress=lambda done, total: None, also=("replicates",),
        )  # fmt: skip

        def at(level: float) -> dict[str, fp.BootstrapResult]:
            results = results_of(estimands, replace(settings, confidence_level=level))
            return dict(zip(self.metrics, results, strict=True))

        return at


class Parts(Study):
    """The parts of a decomposition of the log loss."""

    def values(self, drawn: Drawn, metrics: Metrics) -> dict[str, float]:
        found = fp.decompose(drawn.systems[0])
        return {name: getattr(found, name) for name in metrics}

    def results(self, drawn: Drawn, seed: int) -> Results:
        def at(level: float) -> Mapping[str, fp.BootstrapResult]:
            found = fp.decompose(
                drawn.systems[0], n_resamples=N_RESAMPLES, confidence_level=level, seed=seed
            ).intervals
            return {name: found[name] for name in self.metrics}

        return at


def _alone(draw: Callable[..., fp.Predictions], scheme: Any = None, **options: Any) -> Any:
    return lambda seed: Drawn([draw(seed=seed, **options)], scheme)


def _sampled(name: str, n_samples: int, metrics: Metrics, **options: Any) -> Study:
    """Return a study of independent samples."""
    population = INDEPENDENT[name]
    return Study(
        f"{name}, {n_samples:,}", f"{n_samples:,} independent samples", population.about,
        _alone(independent, population=population, n_samples=n_samples),
        _alone(independent, population=population, n_samples=_N_LARGE), metrics, **options,
    )  # fmt: skip


def _few(name: str, n_samples: int) -> Study:
    """Return a study of few samples, of which half are targets."""
    study = _sampled(name, n_samples, RANKS | {"AP": fp.AveragePrecision()})
    population = INDEPENDENT[name]
    draw, large = (
        _alone(independent, population=population, n_samples=n, prior=0.5)
        for n in (n_samples, _N_LARGE)
    )
    return replace(study, draw=draw, large=large)


def _sitw(name: str) -> Study:
    small = _sampled(name, 2_000, RANKS)
    draw = _alone(independent, population=INDEPENDENT[name], n_samples=SITW.n_trials,
                  prior=SITW.n_targets / SITW.n_trials)  # fmt: skip
    group = f"{SITW.n_trials:,} trials with {SITW.n_targets:,} targets"
    return replace(small, name=f"{name}, SITW", group=group, draw=draw)


def _speakers(name: str) -> Study:
    about, draw = OF_SPEAKERS[name]
    return Study(
        name, "60 speakers on both sides", about, partial(draw, factor=1),
        partial(draw, factor=100), CORE | MEANS | {_CROSS_FITTED: FITS[_CROSS_FITTED]},
    )  # fmt: skip


def _weighted(seed: Any) -> Drawn:
    (data,) = _sampled("Gaussian", 2_000, {}).draw(seed).systems
    weights = np.random.default_rng(seed).gamma(2.0, 0.5, len(data))
    return Drawn([fp.Predictions.from_logits(data.y_true, data.scores, sample_weight=weights)])


def studies() -> dict[str, Study]:
    """Return all studies by name."""
    own = ("Gaussian", "t4", "mixture", "ties", "skewed", "discrete")
    gaussian = _sampled("Gaussian", 2_000, CORE)
    others = "other metrics, 2,000 independent samples"
    variants = "variants of the Gaussian population, 2,000 samples"
    in_clusters = Study(
        "clusters", "60 clusters", "6,000 samples; clusters shift the scores of each class",
        partial(clusters, factor=1), partial(clusters, factor=200), CORE | MEANS,
    )  # fmt: skip
    unequal = Study(
        "unequal clusters", "40 unequal clusters",
        "80 samples each on average, of lognormal sizes; gamma effects, logistic scores",
        partial(unequal_clusters, factor=1), partial(unequal_clusters, factor=400),
        CORE | OTHER_MEANS,
    )  # fmt: skip
    by_speakers = _speakers("trial list")
    by_samples = replace(
        by_speakers, name="trial list by IID", about="the same, drawing samples", share=0.25,
        draw=lambda seed: replace(by_speakers.draw(seed), scheme=fp.IID()), metrics=RANKS | MEANS,
    )  # fmt: skip
    found = [
        *(_sampled(name, 2_000, CORE) for name in own),
        replace(_sampled("bad", 2_000, ECES), n_draws=1),
        Study("calibrated", gaussian.group, "posteriors are the truth, of a beta distribution",
              _alone(calibrated, n_samples=2_000), _alone(calibrated, n_samples=2_000), ECES,
              known={"ECE": 0.0}),
        _sampled("few errors", 2_000, RANKS),
        *(replace(_sampled(name, 2_000, OTHERS), name=f"{name}, others", group=others, share=0.5)
          for name in ("Gaussian", "skewed")),
        Study("spoofed", others, "a tenth targets, a tenth spoofed trials nearer to them",
              partial(spoofed, n_samples=2_000), partial(spoofed, n_samples=_N_LARGE), SPOOFING),
        Parts("Gaussian, parts", others, gaussian.about, gaussian.draw, gaussian.large,
              dict.fromkeys(("score", "miscalibration", "discrimination", "uncertainty")), 0.5),
        *_twice(replace(gaussian, name="weighted", group=variants, draw=_weighted,
                        about="weights of a gamma distribution of shape 2")),
        *_twice(replace(gaussian, name="stratified", group=variants,
                        about="class sizes are fixed",
                        draw=_alone(independent, fp.Stratified(),
                                    population=INDEPENDENT["Gaussian"], n_samples=2_000,
                                    sizes=True))),
        Study("difference", variants, "two systems on the same samples",
              lambda seed: Drawn(pair(seed, 2_000)), lambda seed: Drawn(pair(seed, _N_LARGE)),
              CORE | {"NCE": MEANS["NCE"], _CROSS_FITTED: FITS[_CROSS_FITTED]}, 0.5),
        *(_sampled(name, 20_000, CORE)
          for name in ("Gaussian", "mixture", "skewed", "discrete")),
        *(_few(name, n_samples) for n_samples in (40, 100, 400)
          for name in ("Gaussian", "skewed", "discrete")),
        *_twice(in_clusters),
        *_twice(replace(in_clusters, name="nested", about="the same, by Nested",
                        draw=lambda seed: _nested(in_clusters.draw(seed)))),
        unequal,
        *(each for name in OF_SPEAKERS for each in _twice(_speakers(name))),
        by_samples,
        _sitw("Gaussian"), _sitw("skewed"),
    ]  # fmt: skip
    return {study.name: study for study in found}


def _twice(study: Study) -> tuple[Study, Study]:
    """Return a study, and one of the other metrics on the same population."""
    other = {name: metric for name, metric in OTHERS.items() if name not in study.metrics}
    return study, replace(study, name=f"{study.name}, others", about="the same", metrics=other,
                          share=0.5)  # fmt: skip


def _nested(drawn: Drawn) -> Drawn:
    return replace(drawn, scheme=fp.Nested(drawn.scheme.ids))


def population_values(study: Study) -> dict[str, float]:
    """Return what the intervals ought to cover."""
    asked = {name: metric for name, metric in study.metrics.items() if name not in study.known}
    fresh = {name: metric for name, metric in asked.items() if name in _FRESH}
    fixed = {name: metric for name, metric in asked.items() if name not in fresh}
    means = dict(study.known)
    for metrics, draw, n_draws in (
        (fixed, study.large, study.n_draws), (fresh, study.draw, _N_FRESH)
    ):  # fmt: skip
        if metrics:
            found = [study.values(draw(_POPULATION + turn), metrics) for turn in range(n_draws)]
            means |= {name: float(np.mean([one[name] for one in found])) for name in metrics}
    return {name: means[name] for name in study.metrics}


def observe(study: Study, seed: int, truth: dict[str, float], counts: dict[str, Any]) -> None:
    """Add what the intervals of one more draw do."""
    drawn = study.draw([crc32(study.name.encode()), seed])
    results = study.results(drawn, seed)
    for level in LEVELS:
        for name, found in results(level).items():
            own = counts.setdefault(name, {"method": found.method, "few": 0})
            at = own.setdefault(f"{level:g}", {
                "auto": [0, 0, 0, 0], "percentile": [0, 0, 0, 0], "log_ratio": 0.0, "ratios": 0,
            })  # fmt: skip
            defined = found.replicates[~np.isnan(found.replicates)]
            by_percentile = percentile(defined, level)
            at["auto"][_side(found.interval, truth[name])] += 1
            at["percentile"][_side(by_percentile, truth[name])] += 1
            wide, narrow = (high - low for low, high in (found.interval, by_percentile))
            if 0.0 < wide < np.inf and 0.0 < narrow < np.inf:
                at["log_ratio"] += log(wide / narrow)
                at["ratios"] += 1
            own["few"] += level == LEVELS[-1] and found.degrees_of_freedom < 8.0


def _side(found: Any, value: float) -> int:
    """Return 0 if an interval lies below the value, 1 if it covers, 2 if above; 3 for none."""
    if isnan(found.low):
        return 3
    return 0 if found.high < value else 2 if found.low > value else 1


@contextmanager
def _kept(path: Path) -> Iterator[dict[str, Any]]:
    """Read figures from a file, and write them back."""
    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    try:
        yield held
    finally:
        path.write_text(_as_text(held), encoding="utf-8")


def _as_text(figures: dict[str, dict[str, Any]]) -> str:
    """Return figures as JSON, a study in each line."""
    parts = []
    for part, own in figures.items():
        lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in own.items()]
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def run_study(study: Study, n_repetitions: int, path: Path) -> None:
    """Run a study until it has so many repetitions; the file is written from time to time."""
    wanted = ceil(n_repetitions * study.share)
    with _kept(path) as held:
        known = held.setdefault("studies", {})
        own = known.setdefault(study.name, {"repetitions": 0, "counts": {}})
        if own["repetitions"] >= wanted:
            return
        if own.get("truth", {}).keys() != study.metrics.keys():
            own["truth"] = population_values(study)
    while own["repetitions"] < wanted:
        until = min(wanted, own["repetitions"] + _AT_ONCE)
        with _kept(path) as held:
            own = held["studies"][study.name]
            while own["repetitions"] < until:
                observe(study, own["repetitions"], own["truth"], own["counts"])
                own["repetitions"] += 1
        print(f"{study.name}: {own['repetitions']} of {wanted} repetitions", file=sys.stderr)


def main() -> None:
    known = studies()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.coverage", description=__doc__
    )
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--studies", nargs="*", choices=known, default=list(known), metavar="NAME")
    parser.add_argument("--json", metavar="FILE", type=Path, required=True, help="the counts")
    parser.add_argument("--bias", action="store_true", help="measure the bias against n")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # few degrees of freedom
        for name in options.studies:
            run_study(known[name], options.repetitions, options.json)
        if options.bias:
            with _kept(options.json) as held:
                held["bias"] = optimism.measure()
    figures = json.loads(options.json.read_text(encoding="utf-8"))
    command = shlex.join(["python", "-m", "benchmarks.studies.coverage", *sys.argv[1:]])
    print(*coverage_page.describe(figures, known, command), sep="\n")


def recorded() -> str:
    """Return the tables of the recorded counts, and draw the bias against n."""
    docs = ROOT / "docs"
    figures = json.loads((docs / "coverage.json").read_text(encoding="utf-8"))
    optimism.plot(figures["bias"], docs / "intervals.svg")
    command = "python -m benchmarks --renew --only coverage"
    return "\n".join(coverage_page.describe(figures, studies(), command))


if __name__ == "__main__":
    main()
