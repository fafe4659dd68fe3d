"""Latency of each metric on 1,000 samples, also beside another checkout, in alternating processes.

python -m benchmarks.latency
python -m benchmarks.latency --beside ../other-checkout --rounds 9
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

N_SAMPLES = 1_000
SHORTEST = 0.02  # seconds of calls that one figure is the median of
_ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--beside", type=Path, help="another checkout of fastpsr")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each checkout")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure()))
        return
    checkouts = [_ROOT, *([given.beside.resolve()] if given.beside else [])]
    rounds = [[_in_process(checkout) for checkout in checkouts] for _ in range(given.rounds)]
    print(describe(rounds))


def measure() -> dict[str, float]:
    """Return the microseconds of each metric on predictions that are made anew for each call."""
    import fastpsr as fp
    from fastpsr.metrics import METRICS

    rng = np.random.default_rng(0)
    y = np.arange(N_SAMPLES) % 2
    llrs = 2.0 * rng.normal(size=N_SAMPLES) + 3.0 * y - 1.5
    seconds: dict[str, float] = {}
    for kind in METRICS:
        for number, metric in enumerate(kind.examples(fp.Predictions.from_llrs(y, llrs))):
            if getattr(metric, "reference", None) is not None:  # belongs to other predictions
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                name = f"{kind.__name__} {number}: {metric.label}"
                seconds[name] = _seconds(lambda: fp.Predictions.from_llrs(y, llrs), metric)
    return {name: 1e6 * value for name, value in seconds.items()}


def _seconds(make: Any, metric: Any) -> float:
    metric(make())
    found: list[float] = []
    while sum(found) < SHORTEST or len(found) < 5:
        predictions = make()
        start = perf_counter()
        metric(predictions)
        found.append(perf_counter() - start)
    return median(found)


def _in_process(checkout: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    # not from its folder, whose coverage.py hides the package
    command = [sys.executable, "-P", str(Path(__file__)), "--child"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def describe(rounds: list[list[dict[str, float]]]) -> str:
    """Return a table: medians over processes, and the median ratio within rounds."""
    is_pair = len(rounds[0]) > 1
    lines = [
        f"| metric, {N_SAMPLES:,} samples | here |" + (" beside | ratio |" if is_pair else ""),
        "|---|--:|" + ("--:|--:|" if is_pair else ""),
    ]
    ratios = []
    for name in rounds[0][0]:
        here = median(sides[0][name] for sides in rounds)
        line = f"| {name} | {here:,.0f} us |"
        if is_pair and name in rounds[0][1]:
            ratios.append(median(sides[0][name] / sides[1][name] for sides in rounds))
            beside = median(sides[1][name] for sides in rounds)
            line += f" {beside:,.0f} us | {ratios[-1]:.2f} |"
        lines.append(line)
    if ratios:
        lines += ["", f"Median ratio {median(ratios):.2f}, largest {max(ratios):.2f}."]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
