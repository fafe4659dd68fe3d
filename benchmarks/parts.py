"""Data in parts: seven metrics of trials in a Parquet file, beside memory and bare reads.

Trials are written to a temporary folder, and each side is measured in a process of its own: a bare
read of both columns by pyarrow, row group by row group; the metrics of arrays in memory, without
reading them; the metrics of the file. Kernels are compiled before. A billion trials are too many
for memory; instead, the calibration loss and replicates are computed besides.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.harness import growth_of, in_process, timed

PROMISED_READS = 4  # bare reads that parts may take beyond memory
PROMISED_MEMORY = 1e9  # bytes beyond the interpreter
PROMISED_ALONE = 120.0  # seconds of the seven metrics of a billion trials
N_ROWS = 100_000_000
N_ALONE = 1_000_000_000
_GROUP = 1_000_000  # rows
_FOLDS, _REPLICATES = 5, 200

#: Share of targets, and how far their mean is from the non-targets'.
POPULATIONS = {"separated": (0.005, 4.0), "balanced": (0.5, 2.0)}

METRICS: list[fp.metrics.Metric[Any]] = [
    fp.CrossEntropy(),
    fp.BrierScore(),
    fp.ActDCF(0.01),
    fp.Cllr(),
    fp.EER(),
    fp.MinDCF(0.01),
    fp.MinCllr(),
]
RANKS = METRICS[4:]
LOSS = fp.CalibrationLoss(
    fp.rules.Log(), fp.DirectionPreserving(), train=fp.CrossFit(_FOLDS, seed=0)
)


def _replicates(metrics: list[fp.metrics.Metric[Any]]) -> Callable[[Any], dict[str, float]]:
    def draw(data: Any) -> dict[str, float]:
        results = fp.bootstrap(metrics, data, n_resamples=_REPLICATES, method="percentile", seed=0)
        return {result.name: result.interval[1] for result in results}

    return draw


def _evaluate(data: Any) -> dict[str, float]:
    return {row.metric: row.value for row in fp.evaluate(data, METRICS).rows}


#: What is computed of the file, by name.
COMPUTED: dict[str, Callable[[Any], dict[str, float]]] = {
    "seven metrics": _evaluate,
    f"RCL, {_FOLDS} folds": lambda data: {"RCL": LOSS(data)},
    f"{_REPLICATES} replicates of NCE, Brier, actDCF and Cllr": _replicates(METRICS[:4]),
    f"{_REPLICATES} replicates of EER, minDCF and minCllr": _replicates(RANKS),
    f"{_REPLICATES} replicates of RCL": _replicates([LOSS]),
}
SEVEN = "seven metrics"


def write_trials(path: Path, n_rows: int, population: str) -> None:
    """Write Gaussian LLRs with labels, a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    share, distance = POPULATIONS[population]
    schema = pa.schema([("target", pa.bool_()), ("llr", pa.float64())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n_rows, _GROUP):
            rng = np.random.default_rng([start, n_rows])
            n = min(_GROUP, n_rows - start)
            target = rng.random(n) < share
            score = rng.normal(size=n) + distance * target
            llr = 1.2 * distance * (score - distance / 2.0)
            writer.write_table(pa.table({"target": target, "llr": llr}, schema))


def _warm_up(folder: Path, what: str) -> None:
    small = folder / "small.parquet"
    write_trials(small, 300_000, "separated")
    for data in (fp.scan_parquet(small), fp.scan_parquet(small).compute()):
        COMPUTED[what](data)
    small.unlink()


def _bare_read(path: str) -> None:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        file.read_row_group(group, columns=["target", "llr"])


def one_side(side: str, what: str, path: str) -> dict[str, Any]:
    """Return seconds, memory in bytes, and values; or the message of a refusal.

    The file is in the system's cache where that has room.
    """
    import pyarrow.parquet as pq

    if side == "read":
        return {"seconds": timed(lambda: _bare_read(path))[0].wall}
    _warm_up(Path(path).parent, what)
    seconds, values = 0.0, {}

    def call() -> None:
        nonlocal seconds, values
        if side == "memory":
            table = pq.read_table(path)
            y, llr = table["target"].to_numpy(), table["llr"].to_numpy()
            del table
            took, values = timed(lambda: COMPUTED[what](fp.Predictions.from_llrs(y, llr)))
        else:
            took, values = timed(lambda: COMPUTED[what](fp.scan_parquet(path)))
        seconds = took.wall

    try:
        memory = growth_of(call)
    except ValueError as error:
        if "FASTPSR_MEMORY" not in str(error):
            raise
        return {"refused": str(error)}
    return {"seconds": seconds, "memory": memory, "values": values}


def measure(n_rows: int, population: str, rounds: int) -> dict[str, Any]:
    """Return medians of the seven metrics on all sides, in turn, which must agree."""
    with TemporaryDirectory(prefix="fastpsr-") as folder:
        path = Path(folder) / "trials.parquet"
        write_trials(path, n_rows, population)
        sides: dict[str, list[dict[str, Any]]] = {"read": [], "memory": [], "parts": []}
        for _ in range(rounds):
            for side, results in sides.items():
                results.append(in_process(__name__, "one_side", side, SEVEN, str(path)))
    in_memory, in_parts = (sides[side][0]["values"] for side in ("memory", "parts"))
    for metric in METRICS:
        name = metric.label
        tolerance = 0.0 if metric in (METRICS[2], *RANKS) else 1e-12
        assert abs(in_memory[name] - in_parts[name]) <= tolerance * abs(in_memory[name]), name
    seconds = {side: median(one["seconds"] for one in results) for side, results in sides.items()}
    return {
        "population": population,
        "n_rows": n_rows,
        **seconds,
        "allowed": seconds["memory"] + PROMISED_READS * seconds["read"],
        "bytes": max(one["memory"] for one in sides["parts"]),
        "bytes_in_memory": max(one["memory"] for one in sides["memory"]),
    }


def measure_alone(n_rows: int, population: str) -> list[dict[str, Any]]:
    """Return what each computation over the file takes, run once."""
    with TemporaryDirectory(prefix="fastpsr-") as folder:
        path = Path(folder) / "trials.parquet"
        write_trials(path, n_rows, population)
        rows = []
        for what in ("bare read", *COMPUTED):
            side = "read" if what == "bare read" else "parts"
            row = in_process(__name__, "one_side", side, what, str(path))
            rows.append({"population": population, "n_rows": n_rows, "what": what, **row})
            print(f"{population}: {what}: {row}", file=sys.stderr, flush=True)
    return rows


def describe(rows: list[dict[str, Any]]) -> str:
    """Return measurements as Markdown."""
    lines = [
        "| trials | population | bare read | in memory | in parts | allowed | "
        "memory of parts | in memory |",
        "|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    missed = []
    for row in rows:
        lines.append(
            f"| {row['n_rows']:,} | {row['population']} | {row['read']:.2f} s | "
            f"{row['memory']:.2f} s | {row['parts']:.2f} s | {row['allowed']:.2f} s | "
            f"{row['bytes'] / 1e9:.2f} GB | {row['bytes_in_memory'] / 1e9:.2f} GB |"
        )
        if row["parts"] > row["allowed"] or row["bytes"] > PROMISED_MEMORY:
            missed.append(f"\nMissed: {row['population']}.")
    return "\n".join([
        *lines, "", "Promised: the allowed time, that in memory and "
        f"{PROMISED_READS} bare reads, and under {PROMISED_MEMORY / 1e9:g} GB.", *missed,
    ])  # fmt: skip


def describe_alone(rows: list[dict[str, Any]]) -> str:
    """Return measurements of parts alone as Markdown."""
    lines = ["| trials | population | what | time | memory |", "|--:|---|---|--:|--:|"]
    for row in rows:
        took = "refused" if "refused" in row else f"{row['seconds']:.0f} s"
        memory = f"{row['memory'] / 1e9:.2f} GB" if "memory" in row else ""
        lines.append(
            f"| {row['n_rows']:,} | {row['population']} | {row['what']} | {took} | {memory} |"
        )
    refusals = dict.fromkeys(row["refused"] for row in rows if "refused" in row)
    seconds = max(row["seconds"] for row in rows if row["what"] == SEVEN)
    kept = "kept" if seconds <= PROMISED_ALONE else "missed"
    return "\n".join([
        *lines, *(f"\nRefused: {message}" for message in refusals),
        f"\nPromised: the seven metrics in {PROMISED_ALONE:g} s ({kept}).",
    ])  # fmt: skip
