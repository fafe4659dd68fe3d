"""Data in parts: seven metrics of trials in a Parquet file, beside memory and bare reads.

    python -m benchmarks.parts --rows 100_000_000
    python -m benchmarks.parts --rows 1_000_000_000 --alone

Writes the trials to a temporary folder, which it removes, and measures each side in a process of
its own: a bare read of both columns by pyarrow, row group by row group; the metrics of arrays in
memory, without reading them; the metrics of the file. Kernels are compiled before. `--alone` leaves
memory out, and adds the calibration loss and replicates.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypedDict

import numpy as np

import fastpsr as fp
from benchmarks.report import write_report

PROMISED_READS = 4  # bare reads that parts may take beyond memory
PROMISED_MEMORY = 1e9  # bytes beyond the interpreter
N_ROWS = 100_000_000
ABOUT = (
    "Seven metrics of trials in a Parquet file, beside the same metrics of arrays in memory "
    "(without reading these) and a bare read of both columns by pyarrow, each in a process of its "
    f"own. Allowed: the time in memory and {PROMISED_READS} bare reads."
)
_GROUP = 1_000_000  # rows
_ROUNDS = 3
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


class Measured(TypedDict):
    """What a process found, in seconds and bytes."""

    seconds: float
    memory: int
    values: dict[str, float]


def _replicates(metrics: list[fp.metrics.Metric[Any]]) -> Callable[[Any], dict[str, float]]:
    def draw(data: Any) -> dict[str, float]:
        drawn = fp.bootstrap(metrics, data, n_resamples=_REPLICATES, method="percentile", seed=0)
        assert isinstance(drawn, list)
        return {one.name: one.interval[1] for one in drawn}

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


def _memory() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])


def child(side: str, what: str, path: Path) -> Measured:
    """Measure one side; the file is in the system's cache where that has room."""
    import pyarrow.parquet as pq

    if side == "read":
        begun = perf_counter()
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            file.read_row_group(group, columns=["target", "llr"])
        return {"seconds": perf_counter() - begun, "memory": 0, "values": {}}
    _warm_up(path.parent, what)
    before = _memory()
    if side == "memory":
        table = pq.read_table(path)
        y, llr = table["target"].to_numpy(), table["llr"].to_numpy()
        del table
        begun = perf_counter()
        data: Any = fp.Predictions.from_llrs(y, llr)
    else:
        begun = perf_counter()
        data = fp.scan_parquet(path)
    values = COMPUTED[what](data)
    seconds = perf_counter() - begun
    return {"seconds": seconds, "memory": _memory() - before, "values": values}


def _apart(side: str, what: str, path: Path) -> Measured | str:
    """Measure in a process of its own; return what it said where it refused."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.parts", "--child", side, what, str(path)],
        capture_output=True, text=True, cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1]
        if "FASTPSR_MEMORY" not in said:
            raise RuntimeError(done.stderr)
        return said
    found: Measured = json.loads(done.stdout)
    return found


def _measured(side: str, what: str, path: Path) -> Measured:
    found = _apart(side, what, path)
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def measure(n_rows: int, population: str, rounds: int = _ROUNDS) -> dict[str, Any]:
    """Return medians of the seven metrics on all sides, in turn, which must agree."""
    with TemporaryDirectory(prefix="fastpsr-") as folder:
        path = Path(folder) / "trials.parquet"
        write_trials(path, n_rows, population)
        sides: dict[str, list[Measured]] = {"read": [], "memory": [], "parts": []}
        for _ in range(rounds):
            for side, found in sides.items():
                found.append(_measured(side, SEVEN, path))
    seconds = {side: median(f["seconds"] for f in found) for side, found in sides.items()}
    one, other = (sides[side][0]["values"] for side in ("memory", "parts"))
    for metric in [METRICS[2], *RANKS]:
        name = metric.label
        assert one[name] == other[name], f"{name}: {one[name]} in memory, {other[name]} in parts"
    for name, value in one.items():
        assert abs(value - other[name]) <= 1e-12 * abs(value), name
    return {
        "population": population,
        "n_rows": n_rows,
        **seconds,
        "allowed": seconds["memory"] + PROMISED_READS * seconds["read"],
        "bytes": max(f["memory"] for f in sides["parts"]),
        "bytes_in_memory": max(f["memory"] for f in sides["memory"]),
    }


def measure_alone(n_rows: int, population: str) -> list[dict[str, Any]]:
    """Return what each computation over the file takes, run once."""
    with TemporaryDirectory(prefix="fastpsr-") as folder:
        path = Path(folder) / "trials.parquet"
        write_trials(path, n_rows, population)
        size = {"population": population, "n_rows": n_rows, "file": path.stat().st_size}
        read = _measured("read", SEVEN, path)
        found = [{**size, "what": "bare read", "seconds": read["seconds"]}]
        for what in COMPUTED:
            measured = _apart("parts", what, path)
            more = {"refused": measured} if isinstance(measured, str) else dict(measured)
            print(f"{population}: {what}: {more}", file=sys.stderr, flush=True)
            found.append({**size, "what": what, **more})
    return found


def as_table(found: list[dict[str, Any]]) -> str:
    """Return measurements as Markdown."""
    lines = [
        "| trials | population | bare read | in memory | in parts | allowed | "
        "memory of parts | in memory |",
        "|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {m['n_rows']:,} | {m['population']} | {m['read']:.2f} s | {m['memory']:.2f} s | "
        f"{m['parts']:.2f} s | {m['allowed']:.2f} s | {m['bytes'] / 1e9:.2f} GB | "
        f"{m['bytes_in_memory'] / 1e9:.2f} GB |"
        for m in found
    ]
    return "\n".join(lines)


def as_table_alone(found: list[dict[str, Any]]) -> str:
    """Return measurements of parts alone as Markdown."""
    lines = ["| trials | population | what | time | memory |", "|--:|---|---|--:|--:|"]
    for m in found:
        took = "refused | " if "refused" in m else f"{m['seconds']:.0f} s | "
        memory = f"{m['memory'] / 1e9:.2f} GB" if "memory" in m else ""
        lines.append(f"| {m['n_rows']:,} | {m['population']} | {m['what']} | {took}{memory} |")
    refusals = dict.fromkeys(m["refused"] for m in found if "refused" in m)
    return "\n".join([*lines, *(f"\nRefused: {said}" for said in refusals)])


def main() -> None:
    """Measure, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--population", choices=POPULATIONS, action="append")
    parser.add_argument("--alone", action="store_true", help="more computations, without memory")
    parser.add_argument("--markdown", type=Path, help="page to put the table into")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--child", nargs=3, metavar=("SIDE", "WHAT", "FILE"))
    asked = parser.parse_args()
    if asked.child:
        side, what, path = asked.child
        print(json.dumps(child(side, what, Path(path))))
        return
    populations = asked.population or list(POPULATIONS)
    if asked.alone:
        found = [m for population in populations for m in measure_alone(asked.rows, population)]
    else:
        found = [measure(asked.rows, population, asked.rounds) for population in populations]
    table = as_table_alone(found) if asked.alone else as_table(found)
    print(table)
    if asked.markdown:
        write_report(asked.markdown, table)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
