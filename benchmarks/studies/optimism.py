"""The bias of a metric that is optimized on the data, by the number of samples.

It is the mean difference to the same cost of the true LLRs, which optimize the population value:
both vary with the samples, their difference little.
"""

from math import log
from pathlib import Path
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.studies.populations import INDEPENDENT, PRIOR, independent

#: With the metric that is not optimized.
_METRICS: dict[str, tuple[Any, Any]] = {
    "minCllr": (fp.MinCllr(), fp.Cllr()),
    "minDCF(0.05)": (fp.MinDCF(0.05), fp.ActDCF(0.05)),
}
_SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
_OVERCONFIDENCE = 1.2  # of the Gaussian population
_N_SETS = 100  # at the smallest sizes
_N_RESAMPLES = 40


def measure() -> dict[str, list[dict[str, float]]]:
    """Return for each metric its bias by size, and what the bootstrap and subsets make of it."""
    population = INDEPENDENT["Gaussian"]
    points: dict[str, list[dict[str, float]]] = {name: [] for name in _METRICS}
    for n in _SIZES:
        n_sets = max(_N_SETS * 4_000 // max(n, 4_000), 25)
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in _METRICS}
        for seed in range(n_sets):
            data = independent(population, n, [n, seed])
            found = fp.bootstrap(
                [metric for metric, _ in _METRICS.values()], data, n_resamples=_N_RESAMPLES,
                seed=seed, method="subsampling",
            )  # fmt: skip
            llrs = (data.scores - log(PRIOR / (1.0 - PRIOR))) / _OVERCONFIDENCE
            true = fp.Predictions.from_llrs(data.y_true, llrs)
            for (name, own), result in zip(rows.items(), found, strict=True):
                low, high = result.interval
                corrected = np.sqrt(low * high)  # the center, on the scale of the logarithm
                _, fixed = _METRICS[name]
                own.append((result.value - fixed(true), result.bias, result.value - corrected))
        for name, own in rows.items():
            bias, bootstrap, subsets = np.mean(own, axis=0).tolist()
            error = float(np.std([row[0] for row in own], ddof=1) / np.sqrt(n_sets))
            points[name].append(
                {"n": n, "bias": bias, "error": error, "bootstrap": bootstrap, "subsets": subsets}
            )
    return points


def plot(points: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Draw the bias against n, its estimates, and a line of n^(-2/3)."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "fastpsr", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9.6, 3.6), layout="constrained")
        for axes, (name, own) in zip(figure.subplots(1, len(points)), points.items(), strict=True):
            n = np.array([point["n"] for point in own])
            bias = -np.array([point["bias"] for point in own])
            axes.errorbar(n, bias, [point["error"] for point in own], fmt="ko", markersize=4,
                          label="bias")  # fmt: skip
            for key, label, style in (
                ("bootstrap", "as estimated by the bootstrap", "s--"),
                ("subsets", "as estimated from halves and quarters", "^-"),
            ):
                axes.plot(n, [-point[key] for point in own], style, markersize=4, label=label)
            middle = len(own) // 2
            line = bias[middle] * (n / n[middle]) ** (-2.0 / 3.0)
            axes.plot(n, line, color="0.6", linewidth=1, label="$n^{-2/3}$")
            axes.set(xscale="log", yscale="log", title=name, xlabel="samples")
            axes.grid(alpha=0.3)
        figure.axes[0].set_ylabel("population value minus value")
        figure.axes[0].legend(frameon=False, fontsize=8)
        figure.savefig(path, metadata={"Date": None})
