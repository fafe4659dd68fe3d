"""The README's table from the measurements that `python -m benchmarks --json` wrote.

python -m benchmarks.summary docs/speed.json --markdown README.md
"""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import write_report

#: Name and peer; of several sizes, the first that has a promise.
COMPARISONS = [
    ("log loss", "scikit-learn"),
    ("AUC", "scikit-learn"),
    ("EER, Cllr, minCllr and minDCF", "llreval"),
    ("DP cross-fit, 5 folds", "psrcal"),
]
INTERVALS = "intervals of EER, minDCF and minCllr"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.summary", description=__doc__)
    parser.add_argument("measurements", type=Path, help="written by python -m benchmarks --json")
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="put the table between this page's marks"
    )
    arguments = parser.parse_args()
    table = summarize(json.loads(arguments.measurements.read_text(encoding="utf-8")))
    print(table)
    if arguments.markdown:
        write_report(arguments.markdown, table)


def summarize(measurements: dict[str, Any]) -> str:
    """Return a table with a row for each of COMPARISONS, and one for replicates of INTERVALS."""
    lines = [
        "| what | data | fastpsr | peer | time of the peer | ratio |",
        "|---|---|--:|---|--:|--:|",
    ]
    for name, peer in COMPARISONS:
        row = next(
            row
            for row in measurements["beside other libraries"]
            if row["promised"] and row["name"] == name and row["peer"].split()[0] == peer
        )
        low, middle, high = row["ratio"]
        ours, theirs = (
            1000 * median(seconds for calls in row[side] for seconds in calls)
            for side in ("our_seconds", "peer_seconds")
        )
        lines.append(
            f"| {name} | {row['size']} | {ours:,.1f} ms | {row['peer']} | {theirs:,.0f} ms | "
            f"**{middle:.0f}x** ({low:.0f}-{high:.0f}) |"
        )
    row = next(row for row in measurements["intervals"] if row["name"] == INTERVALS)
    lines.append(
        f"| 1,000 bootstrap replicates of {INTERVALS.removeprefix('intervals of ')} | "
        f"{row['size']} | {median(row['our_seconds']):.2f} s | {row['peer']} | "
        f"{median(row['peer_seconds']):,.0f} s, extrapolated | **{row['ratio']:,.0f}x** |"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
