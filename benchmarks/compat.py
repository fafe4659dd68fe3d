"""`fastpsr.compat` against the packages whose functions it has: speed and memory, side by side.

Run ``python -m benchmarks.compat`` where speechbrain, torch and confidence-intervals are installed
(`.ci/backends` says how). Each line comes from one run; ratios are medians over interleaved rounds.
"""

import multiprocessing
import resource
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import fastpsr as fp
from fastpsr.compat import confidence_intervals, speechbrain

ROUNDS = 3
N_TARGETS, N_NONTARGETS = 18_802, 18_809  # VoxCeleb1-O, cleaned: 37,611 trials
SITW = 721_788
SITW_TARGETS = 3_658
SITW_MODELS = 1_202
LARGE = 3_700_000
ADDRESSES = 4 << 30
CALLS = 20  # of a short call, whose mean is a round


def normal_scores(n_targets: int, n_nontargets: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(2.0, 1.0, n_targets), rng.normal(0.0, 1.0, n_nontargets)


def tensors(*arrays: Any) -> list[Any]:
    import torch

    return [torch.from_numpy(each) for each in arrays]  # float64: without ties


def seconds(call: Callable[[], object], calls: int = 1) -> float:
    begun = perf_counter()
    for _ in range(calls):
        call()
    return (perf_counter() - begun) / calls


def of_eer() -> None:
    """Time EER of an untied list."""
    import speechbrain.utils.metric_stats as theirs

    scores = tensors(*normal_scores(N_TARGETS, N_NONTARGETS))
    ours, other = speechbrain.EER(*scores), theirs.EER(*scores)
    assert abs(ours[0] - other[0]) < 1e-6, (ours, other)
    assert ours[1] == other[1]
    rounds = [
        (seconds(lambda: speechbrain.EER(*scores), CALLS), seconds(lambda: theirs.EER(*scores)))
        for _ in range(ROUNDS)
    ]
    told("EER, speechbrain", rounds, f"{N_TARGETS + N_NONTARGETS:,} trials")


def told(name: str, rounds: list[tuple[float, float]], of: str) -> None:
    ratio = median(other / ours for ours, other in rounds)
    ours, other = (median(side) for side in zip(*rounds, strict=True))
    print(f"{name}: {ratio:,.0f} times as fast ({1e3 * ours:,.2f} ms, {1e3 * other:,.0f} ms), {of}")


def limited_min_dcf(package: str, out: Any) -> None:
    """Compute the cost of many trials with 4 GB of address space."""
    positives, negatives = tensors(*normal_scores(LARGE // 10, LARGE - LARGE // 10))
    if package == "speechbrain":
        import speechbrain.utils.metric_stats as module
    else:
        module = speechbrain
        module.minDCF([1.0], [0.0])  # compiled
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    try:
        out.put(f"{module.minDCF(positives, negatives)[0]:.6f}")
    except (MemoryError, RuntimeError) as error:
        out.put(f"fails: {type(error).__name__}, {str(error).splitlines()[0][:90]}")


def of_memory() -> None:
    for package in ("fastpsr", "speechbrain"):
        found = in_process(limited_min_dcf, package)
        print(f"minDCF of {LARGE:,} trials in {ADDRESSES >> 30} GB, {package}: {found}")


def in_process(call: Callable[..., None], *arguments: object) -> Any:
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    process = context.Process(target=call, args=(*arguments, out))
    process.start()
    found = out.get()
    process.join()
    return found


def sitw() -> tuple[Any, Any, Any]:
    """Return LLRs, labels and models of a list of the size of SITW's core-core condition."""
    rng = np.random.default_rng(0)
    labels = np.zeros(SITW, int)
    labels[rng.choice(SITW, SITW_TARGETS, replace=False)] = 1
    models = rng.integers(0, SITW_MODELS, SITW)
    llrs = 3.0 * labels + rng.normal(size=SITW) + 0.3 * rng.normal(size=SITW_MODELS)[models]
    return llrs, labels, models


def of_intervals(metric: Any, n_theirs: int, n_ours: int) -> None:
    """Time replicates; the package calls the same metric of fastpsr on its samples."""
    import confidence_intervals as theirs

    llrs, labels, models = sitw()

    def interval(module: Any, n: int) -> Any:
        return module.evaluate_with_conf_int(llrs, metric, labels, models, num_bootstraps=n)

    interval(confidence_intervals, 8)  # compiled
    begun = [seconds(lambda m=m: interval(m, 1)) for m in (confidence_intervals, theirs)]
    rounds = [
        (
            (seconds(lambda: interval(confidence_intervals, n_ours)) - begun[0]) / (n_ours - 1),
            (seconds(lambda: interval(theirs, n_theirs)) - begun[1]) / (n_theirs - 1),
        )
        for _ in range(ROUNDS)
    ]
    told(f"replicate of {metric.label}, confidence-intervals", rounds,
         f"{SITW:,} trials, {SITW_MODELS:,} conditions")  # fmt: skip
    whole = [
        (seconds(lambda: interval(confidence_intervals, 1_000)), 1_000 * rounds[0][1]),
    ]
    told(f"1,000 replicates of {metric.label} (theirs from {n_theirs})", whole, "the whole call")


def peak_of(package: str, n: int, out: Any) -> None:
    """Put the growth of the peak of memory over a call, in bytes."""
    if package == "fastpsr":
        module: Any = confidence_intervals
    else:
        import confidence_intervals as module
    llrs, labels, models = sitw()
    fp.EER()(labels, llrs)  # compiled and loaded
    few = slice(0, 5_000)
    module.evaluate_with_conf_int(llrs[few], fp.EER(), labels[few], models[few], num_bootstraps=8)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = memory("VmRSS")
    module.evaluate_with_conf_int(llrs, fp.EER(), labels, models, num_bootstraps=n)
    out.put(memory("VmHWM") - before)


def memory(name: str) -> int:
    """Return a line of Linux's status of the process, in bytes."""
    status = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(
        next(line for line in status.splitlines() if line.startswith(name)).split()[1]
    )


def of_peaks(n_theirs: int = 12) -> None:
    few, many = (in_process(peak_of, "theirs", n) for n in (n_theirs // 2, n_theirs))
    per_replicate = (many - few) / (n_theirs - n_theirs // 2)
    ours = in_process(peak_of, "fastpsr", 1_000)
    print(
        f"memory of 1,000 replicates: {ours / 1e6:,.0f} MB; confidence-intervals "
        f"{per_replicate / 1e6:,.1f} MB a replicate, {per_replicate / 1e6 * 1_000:,.0f} MB in all "
        f"({per_replicate * 1_000 / max(ours, 1):,.0f} times), from {n_theirs} replicates"
    )


def main() -> None:
    """Print all comparisons."""
    of_eer()
    of_memory()
    of_intervals(fp.EER(), 4, 200)
    of_intervals(fp.Cllr(), 4, 200)
    of_peaks()


if __name__ == "__main__":
    main()
