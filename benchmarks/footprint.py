"""What importing fastpsr costs, and how much memory its work takes.

Run as a module, it is the child process that the memory of one case is measured in:

    python -m benchmarks.footprint CASE LABELS.npy POSTERIORS.npy
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.data import LARGE, LARGE_BALANCED, SITW, SITW_BALANCED, make_softmax, make_trials

PROMISED_PEAK = 4.0  # times the size of the input arrays
PROMISED_IMPORT = 0.1  # seconds beyond those of NumPy
NOT_ON_IMPORT = (
    "numba", "llvmlite", "scipy", "typer", "rich", "polars", "matplotlib", "sklearn", "torch",
)  # fmt: skip
_ROOT = Path(__file__).parent.parent
_WARM_UP = 100_000  # samples: enough for every thread to have work


@dataclass(frozen=True, eq=False)
class ImportCost:
    """Seconds that `import fastpsr` takes beyond `import numpy`, and what it imports unasked."""

    numpy: list[float]
    fastpsr: list[float]
    unasked: list[str]

    @property
    def beyond_numpy(self) -> list[float]:
        return [ours - base for ours, base in zip(self.fastpsr, self.numpy, strict=True)]


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


# Import


def measure_import(rounds: int) -> ImportCost:
    """Start fresh interpreters in turn: one imports NumPy, the next fastpsr."""
    numpy, fastpsr = [], []
    _run("-c", "import fastpsr")  # writes the byte code
    for _ in range(rounds):
        for name, seconds in (("numpy", numpy), ("fastpsr", fastpsr)):
            start = perf_counter()
            _run("-c", f"import {name}")
            seconds.append(perf_counter() - start)
    code = f"import sys, fastpsr; print(*[m for m in {NOT_ON_IMPORT!r} if m in sys.modules])"
    return ImportCost(numpy, fastpsr, _run("-c", code).split())


def _run(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


# Peak memory


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
    def binary(size: Any) -> Callable[[], tuple[Any, Any]]:
        def make() -> tuple[Any, Any]:
            trials = make_trials(size)
            return trials.y, trials.posteriors

        return make

    sizes = {str(size): binary(size) for size in (SITW, SITW_BALANCED, LARGE, LARGE_BALANCED)}
    return {**sizes, "1,000,000 samples, 10 classes": lambda: make_softmax(1_000_000, 10)}


def _memory(field: str) -> int:
    """Return VmRSS (now) or VmHWM (at most) in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"the system does not report {field}")


def _growth(case: str, y: Any, q: Any) -> int:
    """Return by how much the peak grows over what is held before, after a small warm-up."""
    CASES[case](y[:_WARM_UP].copy(), q[:_WARM_UP].copy())
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from what is held now
    before = _memory("VmRSS")
    CASES[case](y, q)
    return max(0, _memory("VmHWM") - before)


def describe_import(cost: ImportCost) -> str:
    """Say in two sentences what an import costs."""
    unasked = ", ".join(cost.unasked) or "none"
    return (
        f"`import fastpsr` takes {1000 * median(cost.beyond_numpy):.0f} ms beyond `import numpy` "
        f"({1000 * median(cost.numpy):.0f} ms), median of {len(cost.numpy)} pairs of processes; "
        f"promised: under {1000 * PROMISED_IMPORT:.0f} ms. "
        f"Of {', '.join(NOT_ON_IMPORT)} it imports: {unasked}."
    )


if __name__ == "__main__":
    print(_growth(sys.argv[1], np.load(sys.argv[2]), np.load(sys.argv[3])))
