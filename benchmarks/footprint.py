"""How much memory the work takes.

Run as a module, it is the child process that the memory of one case is measured in:

    python -m benchmarks.footprint CASE LABELS.npy POSTERIORS.npy
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.data import LARGE, LARGE_BALANCED, SITW, SITW_BALANCED, Softmax

PROMISED_PEAK = 4.0  # times the size of the input arrays
_ROOT = Path(__file__).parent.parent
_WARM_UP = 100_000  # samples: enough for every thread to have work


@dataclass(frozen=True)
class Peak:
    """Memory of one case in bytes: its input arrays, and the peak beyond them."""

    case: str
    data: str
    inputs: int
    growth: int

    @property
    def ratio(self) -> float:
        """Peak over inputs, which are part of both."""
        return (self.inputs + self.growth) / self.inputs


def cross_entropy(y: Any, q: Any) -> None:
    fp.CrossEntropy()(y, q)


def brier_score(y: Any, q: Any) -> None:
    fp.BrierScore()(y, q)


def ece(y: Any, q: Any) -> None:
    fp.ECE(on="class" if q.ndim == 1 else "confidence")(y, q)


def pav(y: Any, q: Any) -> None:
    predictions = fp.Predictions.from_posteriors(y, q)
    _ = fp.PAV().fit(predictions).transform(predictions)


def dp_fit(y: Any, q: Any) -> None:
    fp.DirectionPreserving().fit(fp.Predictions.from_posteriors(y, q))


def cross_fit(y: Any, q: Any) -> None:
    predictions = fp.Predictions.from_posteriors(y, q)
    _ = fp.cross_fit(fp.DirectionPreserving(), predictions)


def all_together(y: Any, q: Any) -> None:
    """Everything but the cross-fit, on one object."""
    predictions = fp.Predictions.from_posteriors(y, q)
    fp.CrossEntropy()(predictions)
    fp.BrierScore()(predictions)
    fp.ECE(on="class" if q.ndim == 1 else "confidence")(predictions)
    if q.ndim == 1:
        _ = fp.PAV().fit(predictions).transform(predictions)
    fp.DirectionPreserving().fit(predictions)


CASES: dict[str, Callable[[Any, Any], None]] = {
    "CrossEntropy": cross_entropy,
    "BrierScore": brier_score,
    "ECE": ece,
    "PAV, fit and transform": pav,
    "DP fit": dp_fit,
    "all of these": all_together,
    "DP cross-fit": cross_fit,
}


def measure_peaks() -> list[Peak]:
    """Run each case on each data set, in a process of its own."""
    found = []
    with TemporaryDirectory() as folder:
        labels, posteriors = Path(folder) / "y.npy", Path(folder) / "q.npy"
        for name, make in _data().items():
            y, q = make()
            np.save(labels, y)
            np.save(posteriors, q)
            inputs = y.nbytes + q.nbytes
            for case in CASES:
                if q.ndim == 1 or not case.startswith("PAV"):
                    printed = _run("-m", __name__, case, str(labels), str(posteriors))
                    found.append(Peak(case, name, inputs, json.loads(printed)))
    return found


def can_measure_peaks() -> bool:
    """Whether the system says what memory a process has held at most."""
    return Path("/proc/self/clear_refs").exists()


def _data() -> dict[str, Callable[[], tuple[Any, Any]]]:
    def maker(size: Any) -> Callable[[], tuple[Any, Any]]:
        def make() -> tuple[Any, Any]:
            made = size.make()
            return made.y, made.posteriors

        return make

    sizes = (SITW, SITW_BALANCED, LARGE, LARGE_BALANCED, Softmax(1_000_000, 10))
    return {str(size): maker(size) for size in sizes}


def _memory(field: str) -> int:
    """Return VmRSS (now) or VmHWM (at most) in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"the system does not report {field}")


def growth_of(call: Callable[[], object]) -> int:
    """Return by how many bytes a call raises the peak of memory over what is held before."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from what is held now
    before = _memory("VmRSS")
    call()
    return max(0, _memory("VmHWM") - before)


def _growth(case: str, y: Any, q: Any) -> int:
    """Return by how much the peak grows after a small warm-up."""
    CASES[case](y[:_WARM_UP].copy(), q[:_WARM_UP].copy())
    return growth_of(lambda: CASES[case](y, q))


def _run(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def describe_peaks(peaks: list[Peak]) -> str:
    """Return the table."""
    lines = [
        "Peak memory in a process of its own, after imports and a small warm-up, over the size of "
        f"the input arrays, which it includes; promised: under {PROMISED_PEAK:g}.",
        "",
        "| case | data | inputs | growth | peak / inputs |",
        "|---|---|--:|--:|--:|",
    ]
    for peak in peaks:
        megabytes = f"{peak.inputs / 1e6:.0f} MB | {peak.growth / 1e6:.0f} MB"
        lines.append(f"| {peak.case} | {peak.data} | {megabytes} | {peak.ratio:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(_growth(sys.argv[1], np.load(sys.argv[2]), np.load(sys.argv[3])))
