"""How wide intervals are with the number that was found.

For each size of a pilot, `fp.sample_size` is asked for an interval of half the pilot's width, and
a fresh set of that size is drawn from the same population: independent samples, or trials of
speakers.
"""

import sys
import warnings
from collections.abc import Callable

import numpy as np

import fastpsr as fp

Drawn = tuple[fp.Predictions, fp.TwoWay | None]

_PRIOR, _SEPARATION, _OVERCONFIDENCE = 0.1, 2.5, 1.2
_TARGETS, _NONTARGETS = 10, 5  # trials per speaker, and per pair of speakers on either side
_N_RESAMPLES = 200
_REPETITIONS = 9
METRICS = (fp.BrierScore(), fp.EER(), fp.MinDCF(0.05), fp.MinCllr())


def samples(n: int, seed: int) -> Drawn:
    """Return independent samples with overconfident LLRs."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < _PRIOR).astype(int)
    scores = rng.normal(size=n) + _SEPARATION * (y - 0.5)
    return fp.Predictions.from_llrs(y, _OVERCONFIDENCE * _SEPARATION * scores), None


def speakers(n: int, seed: int) -> Drawn:
    """Return trials of speakers of whom some are recognized more easily than others."""
    trials = fp.simulate.trial_list(
        _TARGETS * n, _NONTARGETS * n * n, n_speakers=n, speaker_spread=0.2, seed=seed
    )
    scheme = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
    return fp.Predictions.from_llrs(trials.y_true, trials.llr), scheme


def ratios(
    draw: Callable[[int, int], Drawn], n: int, repetitions: int
) -> tuple[list[list[float]], list[list[float]], list[list[float]]]:
    """Return, by metric, widths over those wanted, factors of the size, and rates."""
    widths: list[list[float]] = [[] for _ in METRICS]
    factors: list[list[float]] = [[] for _ in METRICS]
    rates: list[list[float]] = [[] for _ in METRICS]
    for repetition in range(repetitions):
        pilot, scheme = draw(n, 2 * repetition)
        for k, metric in enumerate(METRICS):
            options = {"n_resamples": _N_RESAMPLES, "seed": repetition}
            try:
                first = fp.bootstrap(metric, pilot, resampling=scheme, **options)
                wanted = (first.interval.high - first.interval.low) / 2.0
                found = fp.sample_size(metric, pilot, wanted, resampling=scheme, **options)
            except fp.ArgumentError:  # no interval
                continue
            fresh, of_fresh = draw(found.n, 2 * repetition + 1)
            last = fp.bootstrap(metric, fresh, resampling=of_fresh, **options)
            widths[k].append((last.interval.high - last.interval.low) / wanted)
            factors[k].append(found.factor)
            rates[k].append(found.exponent)
    return widths, factors, rates


def table(quick: bool) -> str:
    """Return the table of all pilots; the first of each kind, once, if quick."""
    repetitions = 1 if quick else _REPETITIONS
    lines = [
        f"Width of a fresh interval over the width wanted, which is half the pilot's: median of "
        f"the pilots that had an interval, of {repetitions}, and the middle half of them; "
        "the median factor from the pilot to the size found, and the median rate.", "",
        "| pilot | metric | pilots | width / requested | middle half | factor | rate |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    pilots = [("samples", samples, n) for n in (500, 2_000, 8_000)]
    pilots += [("speakers", speakers, n) for n in (15, 30, 60)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # few degrees of freedom
        for name, draw, n in pilots[::3] if quick else pilots:
            found = ratios(draw, n, repetitions)
            for metric, width, factor, rate in zip(METRICS, *found, strict=True):
                low, middle, high = np.quantile(width, [0.25, 0.5, 0.75]) if width else [np.nan] * 3
                lines.append(
                    f"| {n:,} {name} | {metric.label} | {len(width)} | {middle:.2f} "
                    f"| {low:.2f} to {high:.2f} | {np.median(factor):.1f} "
                    f"| {np.median(rate):.2f} |"
                )
                print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)
