"""How much memory the work takes, each case in a process of its own."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.data import LARGE, LARGE_BALANCED, SITW, Softmax
from benchmarks.harness import growth_of, in_process

PROMISED_PEAK = 4.0  # times the size of the input arrays
_WARM_UP = 100_000  # samples: enough for every thread to have work
_SIZES = (SITW, LARGE, LARGE_BALANCED, Softmax(1_000_000, 10))


def means(predictions: fp.Predictions) -> None:
    fp.CrossEntropy()(predictions)
    fp.BrierScore()(predictions)
    fp.ECE(on="class" if predictions.n_classes == 2 else "confidence")(predictions)


def pav(predictions: fp.Predictions) -> None:
    _ = fp.PAV().fit(predictions).transform(predictions)


def dp_fit(predictions: fp.Predictions) -> None:
    fp.DirectionPreserving().fit(predictions)


def cross_fit(predictions: fp.Predictions) -> None:
    _ = fp.cross_fit(fp.DirectionPreserving(), predictions)


CASES: dict[str, Callable[[fp.Predictions], None]] = {
    "cross-entropy, Brier score and ECE": means,
    "PAV, fit and transform": pav,
    "DP fit": dp_fit,
    "DP cross-fit": cross_fit,
}


def growth(case: str, labels: str, posteriors: str) -> int:
    """Return by how many bytes the peak grows after a small warm-up."""
    y, q = np.load(labels), np.load(posteriors)

    def call(n: int) -> None:
        CASES[case](fp.Predictions.from_posteriors(y[:n], q[:n]))

    call(_WARM_UP)
    return growth_of(lambda: call(y.size))


def measure_peaks(quick: bool) -> list[dict[str, Any]]:
    """Return the bytes of the input arrays, and the growth of the peak, of each case and size."""
    peaks = []
    with TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("y.npy", "q.npy")]
        for size in _SIZES[:1] if quick else _SIZES:
            data: Any = size.make()
            for path, array in zip(files, (data.y, data.posteriors), strict=True):
                np.save(path, array)
            for case in CASES:
                if data.posteriors.ndim == 1 or case != "PAV, fit and transform":
                    peaks.append({
                        "case": case, "data": str(size),
                        "inputs": data.y.nbytes + data.posteriors.nbytes,
                        "growth": in_process(__name__, "growth", case, *files),
                    })  # fmt: skip
    return peaks


def describe_peaks(peaks: list[dict[str, Any]]) -> str:
    """Return the table of the peaks over the inputs, which are part of them."""
    lines = [f"| data | inputs | {' | '.join(CASES)} |", "|---|--:|" + "--:|" * len(CASES)]
    for data in dict.fromkeys(peak["data"] for peak in peaks):
        of_data = {peak["case"]: peak for peak in peaks if peak["data"] == data}
        inputs = next(iter(of_data.values()))["inputs"]
        cells = [data, f"{inputs / 1e6:.0f} MB"]
        for case in CASES:
            ratio = (inputs + of_data[case]["growth"]) / inputs if case in of_data else 0.0
            missed = " (missed)" * (ratio >= PROMISED_PEAK)
            cells.append(f"{ratio:.2f}{missed}" if ratio else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Promised: under {PROMISED_PEAK:g} times the inputs."])
