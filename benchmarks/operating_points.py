"""`python -m benchmarks.operating_points`: what they cost, as multiples of the EER on the hull.

Both sides are timed in turn in one run, on predictions that are new each time, since predictions
remember their ranks. CPU time, of all threads, is what other programs disturb least.
"""

import argparse
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.data import MILLION_BALANCED, SITW, SITW_BALANCED, SMALL, Size

PROMISED = 1.5
SIZES = (SMALL, SITW, SITW_BALANCED, MILLION_BALANCED)
METRICS: tuple[Any, ...] = (
    fp.EER("crossing"), fp.EER("nearest"), fp.MissRate(0.01), fp.FalseAlarmRate(0.01)
)  # fmt: skip


def sides() -> dict[str, Callable[[fp.Predictions], object]]:
    """Return what is timed, by name; the reference first."""
    named: dict[str, Callable[[fp.Predictions], object]] = {"EER": fp.EER()}
    named |= {metric.label: metric for metric in METRICS}
    return named | {f"point of {metric.label}": metric.operating_point for metric in METRICS}


def seconds(call: Callable[[fp.Predictions], object], make: Callable[[], fp.Predictions]) -> float:
    """Return the CPU time of a call on new predictions."""
    data = make()
    begun = process_time()
    call(data)
    return process_time() - begun


def ratios(size: Size, weighted: bool, rounds: int) -> dict[str, float]:
    """Return the median over rounds of the time of each over that of the EER."""
    trials = size.make()
    weights = np.random.default_rng(0).uniform(0.5, 1.5, trials.y.size) if weighted else None

    def make() -> fp.Predictions:
        return fp.Predictions.from_raw_scores(trials.y, trials.scores, sample_weight=weights)

    calls = sides()
    for call in calls.values():  # compiles
        call(make())
    found = {
        name: [seconds(call, make) / seconds(calls["EER"], make) for _ in range(rounds)]
        for name, call in calls.items()
    }
    return {name: median(values) for name, values in found.items() if name != "EER"}


def main() -> None:
    """Print the ratios; those that miss the promise are marked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for size in SIZES:
        for weighted in (False, True):
            print(f"{size}{', weighted' * weighted}: times the EER on the hull")
            for name, ratio in ratios(size, weighted, rounds).items():
                print(f"  {name:<26} {ratio:5.2f}{' (above 1.5)' * (ratio > PROMISED)}")


if __name__ == "__main__":
    main()
