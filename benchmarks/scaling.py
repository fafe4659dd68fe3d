"""How times grow with the number of trials, beside a peer, on one thread and on all."""

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import fastpsr as fp
from benchmarks.comparisons import (
    our_affine_fit,
    our_isotonic_posteriors,
    sklearn_affine_fit,
    sklearn_isotonic_posteriors,
)
from benchmarks.data import Size, Trials
from benchmarks.harness import in_turn, rounds_for, timed

_SIZES = [Size(n, max(50, n // 200)) for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000)]


def our_log_loss(trials: Trials) -> float:
    return fp.CrossEntropy(normalized=False)(trials.y, trials.posteriors)


def sklearn_log_loss(trials: Trials) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(trials.y, trials.posteriors))


Call = Callable[[Trials], Any]
_PANELS: list[tuple[str, Call, str, Call]] = [
    ("cross-entropy", our_log_loss, "scikit-learn log_loss", sklearn_log_loss),
    ("PAV fit and transform", our_isotonic_posteriors, "scikit-learn IsotonicRegression",
     sklearn_isotonic_posteriors),
    ("DP fit", our_affine_fit, "scikit-learn LogisticRegression", sklearn_affine_fit),
]  # fmt: skip


def measure_scaling(rounds: int, quick: bool) -> list[dict[str, Any]]:
    """Return the median seconds of all sides at all sizes, timed in turn within rounds."""
    points = []
    for size in _SIZES[:2] if quick else _SIZES:
        trials = size.make()
        for panel, ours, peer_name, peer in _PANELS:
            threads = dict.fromkeys((1, os.cpu_count() or 1))
            sides: dict[str, Callable[[], Any]] = {
                f"fastpsr, {n} thread{'s' * (n > 1)}": _on_threads(n, ours, trials) for n in threads
            }
            sides[peer_name] = lambda peer=peer, trials=trials: peer(trials)
            slowest = max(timed(call)[0].wall for call in sides.values())
            seconds = in_turn(list(sides.values()), rounds_for(slowest, rounds))
            points += [
                {"panel": panel, "side": side, "n_trials": size.n_trials,
                 "seconds": median(each.wall for each in of_side)}
                for side, of_side in zip(sides, seconds, strict=True)
            ]  # fmt: skip
    return points


def _on_threads(n_threads: int, call: Call, trials: Trials) -> Callable[[], Any]:
    def run() -> Any:
        with patch.dict(os.environ, FASTPSR_NUM_THREADS=str(n_threads)):
            return call(trials)

    return run


def plot_scaling(points: list[dict[str, Any]], path: Path) -> None:
    """Draw nanoseconds per trial over the number of trials."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "fastpsr", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9.6, 3.2), layout="constrained")
        panels = list(dict.fromkeys(point["panel"] for point in points))
        for axes, panel in zip(figure.subplots(1, len(panels)), panels, strict=True):
            own = [point for point in points if point["panel"] == panel]
            for side in dict.fromkeys(point["side"] for point in own):
                of_side = [point for point in own if point["side"] == side]
                axes.loglog(
                    [point["n_trials"] for point in of_side],
                    [1e9 * point["seconds"] / point["n_trials"] for point in of_side],
                    marker="o", markersize=3, label=side,
                    linestyle="-" if side.startswith("fastpsr") else "--",
                )  # fmt: skip
            axes.set_title(panel)
            axes.set_xlabel("trials")
            axes.grid(alpha=0.3)
            axes.set_ylim(top=8.0 * axes.get_ylim()[1])  # room for the legend
            axes.legend(frameon=False, fontsize=7, loc="upper right")
        figure.axes[0].set_ylabel("nanoseconds per trial")
        figure.savefig(path, metadata={"Date": None})
