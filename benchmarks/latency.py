"""Latency of each metric on 1,000 samples, beside another checkout, in alternating processes."""

import warnings
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, in_process, turn

_N_SAMPLES = 1_000


def microseconds() -> dict[str, float]:
    """Return those of each metric on predictions that are made anew for each call."""
    import fastpsr as fp
    from fastpsr.metrics import METRICS

    rng = np.random.default_rng(0)
    y = np.arange(_N_SAMPLES) % 2
    llrs = 2.0 * rng.normal(size=_N_SAMPLES) + 3.0 * y - 1.5

    def make() -> Any:
        return fp.Predictions.from_llrs(y, llrs)

    found: dict[str, float] = {}
    for kind in METRICS:
        for number, metric in enumerate(kind.examples(make())):
            if getattr(metric, "reference", None) is not None:  # belongs to other predictions
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                metric(make())
                name = f"{kind.__name__} {number}: {metric.label}"
                found[name] = 1e6 * turn(metric, make).wall
    return found


def measure_latency(rounds: int, beside: Path | None) -> list[list[dict[str, float]]]:
    """Return the microseconds of this checkout, and of another, round by round."""
    checkouts = [ROOT, *([beside.resolve()] if beside else [])]
    return [
        [in_process(__name__, "microseconds", checkout=checkout) for checkout in checkouts]
        for _ in range(rounds)
    ]


def describe_latency(rounds: list[list[dict[str, float]]]) -> str:
    """Return a table: medians over processes, and the median ratio within rounds."""
    lines = [f"| metric, {_N_SAMPLES:,} samples | here | beside | ratio |", "|---|--:|--:|--:|"]
    ratios = []
    for name in rounds[0][0]:
        here = median(sides[0][name] for sides in rounds)
        cells = [f"{here:,.0f} us", "-", "-"]
        if name in rounds[0][-1] and len(rounds[0]) > 1:
            ratios.append(median(sides[0][name] / sides[1][name] for sides in rounds))
            beside = median(sides[1][name] for sides in rounds)
            cells[1:] = [f"{beside:,.0f} us", f"{ratios[-1]:.2f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    if ratios:
        lines += ["", f"Median ratio {median(ratios):.2f}, largest {max(ratios):.2f}."]
    return "\n".join(lines)
