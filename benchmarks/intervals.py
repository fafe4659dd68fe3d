"""Bootstrap intervals: 1,000 replicates here, as many as take a while at the peers.

A peer's time for 1,000 replicates is extrapolated from those it made: every replicate costs it the
same. Its own value on the data, computed besides, counts as one more replicate.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import fastpsr as fp
from benchmarks.binary import P_TARGET
from benchmarks.data import LARGE, SITW, Size, Trials, make_trials
from benchmarks.timing import quartiles, rest

N_REPLICATES = 1000
_PEER_SECONDS = 20.0
_RANKS = [fp.EER(), fp.MinDCF(P_TARGET), fp.MinCllr(), fp.AUC()]


@dataclass(frozen=True, eq=False)
class IntervalComparison:
    """The interval of one or more metrics, by both sides.

    Attributes
    ----------
    name : str
    size : Size
    promised : float or None
        How many times as fast as the peer fastpsr promises to be.
    metrics : callable of Trials
        Returns our metrics and the predictions.
    peer : callable of (Trials, number of replicates)
        Returns the peer's (value, low, high) for each metric.
    packages : tuple of str
        Distributions that the peer needs, named as their modules are.
    """

    name: str
    size: Size
    promised: float | None
    metrics: Callable[[Trials], tuple[list[Any], fp.Predictions]]
    peer: Callable[[Trials, int], list[tuple[float, float, float]]]
    packages: tuple[str, ...]

    @property
    def peer_package(self) -> str:
        return " with ".join(self.packages)

    @property
    def peer_is_installed(self) -> bool:
        return all(find_spec(name) is not None for name in self.packages)


@dataclass(frozen=True, eq=False)
class IntervalTiming:
    """Seconds for 1,000 replicates."""

    comparison: IntervalComparison
    ours: list[float]
    peer: list[float]
    peer_replicates: int

    @property
    def ratios(self) -> list[float]:
        return [peer / ours for ours, peer in zip(self.ours, self.peer, strict=True)]


def _with_conf_int(
    metric: Callable[..., float], samples: Any, labels: Any, n: int
) -> tuple[float, float, float]:
    from confidence_intervals import evaluate_with_conf_int

    value, (low, high) = evaluate_with_conf_int(samples, metric, labels, num_bootstraps=n)
    return float(value), float(low), float(high)


def _log_q(log_odds: Any) -> Any:
    import torch

    scores = torch.from_numpy(np.ascontiguousarray(log_odds))
    return torch.log_softmax(torch.stack([torch.zeros_like(scores), scores], 1), 1)


# Normalized cross-entropy


def our_nce(trials: Trials) -> tuple[list[Any], fp.Predictions]:
    return [fp.CrossEntropy()], fp.Predictions.from_logits(trials.y, trials.log_odds)


def psrcal_nce(trials: Trials, n: int) -> list[tuple[float, float, float]]:
    import torch
    from psrcal.losses import LogLoss

    def metric(labels: Any, samples: Any) -> float:
        return float(LogLoss(torch.from_numpy(samples), torch.from_numpy(labels)))

    return [_with_conf_int(metric, _log_q(trials.log_odds).numpy(), trials.y, n)]


# Detection metrics


def our_ranks(trials: Trials) -> tuple[list[Any], fp.Predictions]:
    metrics = [fp.EER(), fp.MinDCF(P_TARGET), fp.MinCllr()]
    return metrics, fp.Predictions.from_llrs(trials.y, trials.log_odds)


def llreval_ranks(trials: Trials, n: int) -> list[tuple[float, float, float]]:
    """Draw once for all three, and fit PAV once per replicate: kinder than metric by metric."""
    from llreval.cllr import min_cllr
    from llreval.pav_rocch import PAV, ROCCH

    found: list[tuple[float, float]] = []

    def metric(labels: Any, samples: Any) -> float:
        pav = PAV(samples, labels)
        hull = ROCCH(pav)
        rate = hull.Bayes_error_rate(np.array([np.log(P_TARGET / (1.0 - P_TARGET))]))
        cost = float(np.ravel(rate)[0]) / min(P_TARGET, 1.0 - P_TARGET)
        found.append((cost, float(min_cllr(pav))))
        return float(hull.EER())

    eer = _with_conf_int(metric, trials.log_odds, trials.y, n)
    others = []
    for value, *replicates in zip(*found, strict=True):
        low, high = np.percentile(replicates, [2.5, 97.5])
        others.append((value, float(low), float(high)))
    return [eer, *others]


# Relative calibration loss, the calibrator cross-fitted anew in each replicate


def our_rcl(trials: Trials) -> tuple[list[Any], fp.Predictions]:
    metric = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.CrossFit(folds=5))
    return [metric], fp.Predictions.from_logits(trials.y, trials.log_odds)


def psrcal_rcl(trials: Trials, n: int) -> list[tuple[float, float, float]]:
    """Calibrate by psrcal on scikit-learn's folds, which are those of the original samples."""
    import torch
    from psrcal.calibration import AffineCalLogLoss, calibrate
    from psrcal.losses import LogLoss

    from benchmarks.binary import stratified_folds

    log_q = _log_q(trials.log_odds)
    y, folds = torch.from_numpy(trials.y), torch.from_numpy(stratified_folds(trials))

    def metric(rows: Any) -> float:
        index = torch.from_numpy(rows)
        q, labels, fold_of = log_q[index], y[index], folds[index]
        calibrated = torch.empty_like(q)
        for fold in range(5):
            test = fold_of == fold
            made, _ = calibrate(q[~test], labels[~test], q[test], AffineCalLogLoss)
            calibrated[test] = made.detach()
        raw = float(LogLoss(q, labels))
        return 100.0 * (raw - float(LogLoss(calibrated, labels))) / raw

    return [_with_conf_int(metric, np.arange(trials.y.size), None, n)]


# Expected calibration error


def our_ece(trials: Trials) -> tuple[list[Any], fp.Predictions]:
    return [fp.ECE()], fp.Predictions.from_posteriors(trials.y, trials.posteriors)


def torchmetrics_ece(trials: Trials, n: int) -> list[tuple[float, float, float]]:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    def metric(labels: Any, samples: Any) -> float:
        q, y = torch.from_numpy(samples), torch.from_numpy(labels)
        return float(binary_calibration_error(q, y, n_bins=15, norm="l1"))

    return [_with_conf_int(metric, trials.posteriors, trials.y, n)]


INTERVALS = [
    IntervalComparison(
        "intervals of NCE", SITW, 250, our_nce, psrcal_nce, ("confidence_intervals", "psrcal")
    ),
    IntervalComparison(
        "intervals of EER, minDCF and minCllr",
        SITW,
        500,
        our_ranks,
        llreval_ranks,
        ("confidence_intervals", "llreval"),
    ),
    IntervalComparison(
        "intervals of RCL, DP cross-fit in each replicate",
        SITW,
        800,
        our_rcl,
        psrcal_rcl,
        ("confidence_intervals", "psrcal"),
    ),
    IntervalComparison(
        "intervals of ECE", SITW, 50, our_ece, torchmetrics_ece,
        ("confidence_intervals", "torchmetrics"),
    ),
]  # fmt: skip


def time_intervals(comparison: IntervalComparison, asked_rounds: int) -> IntervalTiming:
    """Check that both agree, then time ours, the peer, ours, the peer, ..."""
    trials = make_trials(comparison.size)
    _, results = _ours(comparison, trials, seed=0)
    begun = perf_counter()
    peers = comparison.peer(trials, 2)
    per_replicate = (perf_counter() - begun) / 3
    for result, (value, low, high) in zip(results, peers, strict=True):
        # two replicates do not make an interval: only the values can be compared
        assert_allclose(result.value, value, rtol=1e-2 if "RCL" in result.name else 1e-6, atol=1e-7)
        assert result.interval.low <= result.interval.high
        assert low <= high
    rounds = max(1, min(asked_rounds, 3))
    n_peer = max(2, int(_PEER_SECONDS / rounds / per_replicate))
    ours, peer = [], []
    for turn in range(rounds):
        rest()
        ours.append(median(_ours(comparison, trials, seed=turn)[0] for _ in range(3)))
        rest()
        begun = perf_counter()
        comparison.peer(trials, n_peer)
        peer.append((perf_counter() - begun) / (n_peer + 1) * N_REPLICATES)
    return IntervalTiming(comparison, ours, peer, n_peer * rounds)


def _ours(comparison: IntervalComparison, trials: Trials, seed: int) -> tuple[float, list[Any]]:
    begun = perf_counter()
    metrics, predictions = comparison.metrics(trials)
    results = fp.bootstrap(
        metrics, predictions, n_resamples=N_REPLICATES, seed=seed, method="percentile"
    )
    return perf_counter() - begun, results


@dataclass(frozen=True, eq=False)
class Alone:
    """Seconds for 1,000 replicates of what has no peer."""

    name: str
    size: str
    seconds: float
    promised: float


def time_alone(rounds: int) -> list[Alone]:
    """Time what has no peer, medians over rounds."""
    rng = np.random.default_rng(0)
    trials, large = make_trials(SITW), make_trials(LARGE)
    speakers = [rng.integers(0, 180, trials.y.size) for _ in range(2)]
    detection = [*_RANKS, fp.ActDCF(P_TARGET), fp.Cllr()]
    means_and_ranks = [fp.CrossEntropy(), fp.BrierScore(), *detection]
    by_speaker = fp.TwoWay(*speakers)
    return [
        _alone("detection metrics, two-way over 180 speakers", SITW, 5.0, detection, trials,
               by_speaker, rounds),
        _alone("all means and ranks", LARGE, 20.0, means_and_ranks, large, fp.IID(), rounds),
    ]  # fmt: skip


def _alone(
    name: str,
    size: Size,
    promised: float,
    metrics: list[Any],
    trials: Trials,
    resampling: Any,
    rounds: int,
) -> Alone:
    _seconds(metrics, trials, "percentile", 0, resampling, 40)
    seconds = []
    for turn in range(rounds):
        rest()
        seconds.append(_seconds(metrics, trials, "percentile", turn, resampling)[0])
    return Alone(name, str(size), median(seconds), promised)


def _seconds(
    metrics: list[Any],
    trials: Trials,
    method: Any,
    seed: int,
    resampling: Any = None,
    n: int = N_REPLICATES,
) -> tuple[float, float]:
    """Return the seconds of intervals from raw arrays on, and those of all processors."""
    begun, busy = perf_counter(), process_time()
    given = fp.Predictions.from_llrs(trials.y, trials.log_odds)
    fp.bootstrap(metrics, given, n_resamples=n, seed=seed, resampling=resampling, method=method)
    return perf_counter() - begun, process_time() - busy


@dataclass(frozen=True, eq=False)
class Subsampling:
    """(wall, CPU) seconds of intervals by subsampling and by percentile, round by round."""

    size: str
    subsampling: list[tuple[float, float]]
    percentile: list[tuple[float, float]]
    promised = 2.0

    def ratios(self, place: int) -> list[float]:
        """Return how many times as long as by percentile they took, wall (0) or CPU (1)."""
        both = zip(self.subsampling, self.percentile, strict=True)
        return [ours[place] / plain[place] for ours, plain in both]


def time_subsampling(size: Size, rounds: int) -> Subsampling:
    """Time intervals of ranks, which "auto" takes by subsampling, and by percentile, in turn."""
    trials = make_trials(size)
    _seconds(_RANKS, trials, "auto", 0, n=40)
    found: dict[str, list[tuple[float, float]]] = {"percentile": [], "auto": []}
    for turn in range(rounds):
        for method, seconds in found.items():
            rest()
            seconds.append(_seconds(_RANKS, trials, method, turn))
    return Subsampling(str(size), found["auto"], found["percentile"])


def describe_intervals(timings: list[IntervalTiming]) -> str:
    """Return the table of comparisons."""
    lines = [
        f"Bootstrap intervals from {N_REPLICATES:,} replicates: seconds, medians over rounds. A "
        "peer's time is extrapolated from the replicates that it made.",
        "",
        "| intervals | size | fastpsr | peer | its time | its replicates | ratio | promised |",
        "|---|---|--:|---|--:|--:|--:|--:|",
    ]
    for timing in timings:
        c = timing.comparison
        lines.append(
            f"| {c.name.removeprefix('intervals of ')} | {c.size} | {median(timing.ours):.2f} s | "
            f"{c.peer_package} | {median(timing.peer):,.0f} s | {timing.peer_replicates} | "
            f"**{median(timing.ratios):,.0f}x** | {c.promised:g}x |"
        )
    return "\n".join(lines)


def describe_alone(cases: list[Alone]) -> str:
    """Return the table of what has no peer."""
    lines = [
        f"{N_REPLICATES:,} replicates, from raw arrays on, where there is no peer to compare with.",
        "",
        "| intervals | size | fastpsr | promised |",
        "|---|---|--:|--:|",
    ]
    lines += [f"| {c.name} | {c.size} | {c.seconds:.1f} s | {c.promised:.2g} s |" for c in cases]
    return "\n".join(lines)


def describe_subsampling(cases: list[Subsampling]) -> str:
    """Return the table of subsampling beside percentile."""
    lines = [
        f"EER, minDCF, minCllr and AUC, from raw arrays on, {N_REPLICATES:,} replicates: by "
        'subsampling (`method="auto"`), which makes them too, and by percentile. Medians over '
        "rounds, and quartiles of the ratios, each within a round.",
        "",
        "| size | percentile | subsampling | ratio | of CPU seconds | promised | rounds |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for case in cases:
        percentile, auto = (
            median(wall for wall, _ in each) for each in (case.percentile, case.subsampling)
        )
        (low, middle, high), (_, of_cpu, _) = (quartiles(case.ratios(k)) for k in (0, 1))
        lines.append(
            f"| {case.size} | {percentile:.2f} s | {auto:.2f} s | **{middle:.2f}x** "
            f"({low:.2f}-{high:.2f}) | {of_cpu:.2f}x | {case.promised:g}x | "
            f"{len(case.percentile)} |"
        )
    return "\n".join(lines)


def interval_figures(timing: IntervalTiming) -> dict[str, Any]:
    """Return a timing for JSON."""
    c = timing.comparison
    return {
        "name": c.name,
        "size": str(c.size),
        **asdict(c.size),
        "peer": c.peer_package,
        "promised": c.promised,
        "our_seconds": timing.ours,
        "peer_seconds": timing.peer,
        "peer_replicates": timing.peer_replicates,
        "ratio": median(timing.ratios),
    }
