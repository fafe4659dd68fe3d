"""Data in parts: seven metrics of trials in a Parquet file, beside memory and bare reads.

    python -m benchmarks.parts --rows 100_000_000

Writes the trials to a temporary folder, which it removes, and measures each side in a process of
its own: a bare read of both columns by pyarrow, row group by row group; the metrics of arrays in
memory, without reading them; the metrics of the file. Kernels are compiled before.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.report import write_report

PROMISED_READS = 4  # bare reads that parts may take beyond memory
PROMISED_MEMORY = 1e9  # bytes beyond the interpreter
_GROUP = 1_000_000  # rows
_ROUNDS = 3

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


def _warm_up(folder: Path) -> None:
    small = folder / "small.parquet"
    write_trials(small, 300_000, "separated")
    fp.evaluate(fp.scan_parquet(small), METRICS)
    fp.evaluate(fp.scan_parquet(small).compute(), METRICS)
    small.unlink()


def _memory() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])


def child(side: str, path: Path) -> dict[str, Any]:
    """Measure one side; the file is in the system's cache."""
    import pyarrow.parquet as pq

    if side == "read":
        begun = perf_counter()
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            file.read_row_group(group, columns=["target", "llr"])
        return {"seconds": perf_counter() - begun}
    _warm_up(path.parent)
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
    table_of = fp.evaluate(data, METRICS)
    seconds = perf_counter() - begun
    values = {row.metric: row.value for row in table_of.rows}
    return {"seconds": seconds, "memory": _memory() - before, "values": values}


def measure(n_rows: int, population: str, rounds: int = _ROUNDS) -> dict[str, Any]:
    """Return medians of both sides, in turn, and whether they agree."""
    with TemporaryDirectory(prefix="fastpsr-") as folder:
        path = Path(folder) / "trials.parquet"
        write_trials(path, n_rows, population)
        sides: dict[str, list[dict[str, Any]]] = {"read": [], "memory": [], "parts": []}
        for _ in range(rounds):
            for side, found in sides.items():
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.parts", "--child", side, str(path)],
                    capture_output=True, text=True, check=True,
                    cwd=Path(__file__).parent.parent,
                )  # fmt: skip
                found.append(json.loads(done.stdout))
    seconds = {side: median(f["seconds"] for f in found) for side, found in sides.items()}
    one, other = (sides[side][0]["values"] for side in ("memory", "parts"))
    for name in ("EER", "minDCF(0.01)", "minCllr", "actDCF(0.01)"):
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


def main() -> None:
    """Measure, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--population", choices=POPULATIONS, action="append")
    parser.add_argument("--markdown", type=Path, help="page to put the table into")
    parser.add_argument("--child", nargs=2, metavar=("SIDE", "FILE"))
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(child(asked.child[0], Path(asked.child[1]))))
        return
    populations = asked.population or list(POPULATIONS)
    found = [measure(asked.rows, population, asked.rounds) for population in populations]
    print(as_table(found))
    if asked.markdown:
        write_report(asked.markdown, as_table(found))


if __name__ == "__main__":
    main()
