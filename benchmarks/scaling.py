"""How times grow with the number of trials, beside a peer, on one thread and on all."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks import binary
from benchmarks.data import LARGE, MILLION, SMALL, Size, Trials
from benchmarks.limits import on_threads
from benchmarks.timing import warm_up
from fastpsr.kernels.blocks import thread_count

_SIZES = [Size(1_000, 50), SMALL, Size(100_000, 500), MILLION, LARGE]
_PANELS: list[tuple[str, Callable[[Trials], Any], str, Callable[[Trials], Any]]] = [
    ("cross-entropy", binary.our_cross_entropy, "scikit-learn log_loss", binary.sklearn_log_loss),
    ("PAV fit and transform", binary.our_isotonic_values, "scikit-learn IsotonicRegression",
     binary.sklearn_isotonic_values),
    ("DP fit", binary.our_affine_fit, "scikit-learn LogisticRegression",
     binary.sklearn_affine_fit),
]  # fmt: skip
_SECONDS = 1.0  # that the rounds of a point may take,
_FEWEST, _MOST = 3, 15  # and their number


@dataclass(frozen=True)
class Point:
    """Median seconds of one side at one size."""

    panel: str
    side: str
    n_trials: int
    seconds: float


def measure_scaling() -> list[Point]:
    """Time all sides at all sizes, in turn within rounds."""
    return [point for size in _SIZES for panel in _PANELS for point in _measure(size, *panel)]


def plot_scaling(points: list[Point], path: Path) -> None:
    """Draw microseconds per thousand trials over the number of trials."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "fastpsr", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9.6, 3.2), layout="constrained")
        panels = list(dict.fromkeys(point.panel for point in points))
        for axes, panel in zip(figure.subplots(1, len(panels)), panels, strict=True):
            own = [point for point in points if point.panel == panel]
            for side in dict.fromkeys(point.side for point in own):
                of_side = [point for point in own if point.side == side]
                axes.loglog(
                    [point.n_trials for point in of_side],
                    [1e9 * point.seconds / point.n_trials for point in of_side],
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


def _measure(
    size: Size,
    panel: str,
    ours: Callable[[Trials], Any],
    peer_name: str,
    peer: Callable[[Trials], Any],
) -> list[Point]:
    trials = size.make()

    def on(n_threads: int) -> Callable[[], float]:
        def run() -> float:
            with on_threads(n_threads):
                return _timed(ours, trials)

        return run

    sides: dict[str, Callable[[], float]] = {
        f"fastpsr, {n} thread{'s' * (n > 1)}": on(n) for n in dict.fromkeys((1, thread_count()))
    }
    sides[peer_name] = lambda: _timed(peer, trials)
    for run in sides.values():
        run()
    slowest = max(run() for run in sides.values())
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(max(_FEWEST, min(_MOST, int(_SECONDS / slowest)))):
        for side, run in sides.items():
            warm_up(lambda _, run=run: run(), None)
            seconds[side].append(median(run() for _ in range(3)))
    return [Point(panel, side, size.n_trials, median(seconds[side])) for side in sides]


def _timed(function: Callable[[Trials], Any], trials: Trials) -> float:
    start = perf_counter()
    function(trials)
    return perf_counter() - start
