"""The README's tables from the figures that `python -m benchmarks --json` wrote.

python -m benchmarks.summary docs/speed.json --markdown README.md
"""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import write_report

COMPARISONS = [  # of each name and peer, the first that promises something
    ("log loss", "scikit-learn"),
    ("Brier score", "scikit-learn"),
    ("Brier score", "numpy"),
    ("AUC", "scikit-learn"),
    ("ECE of the confidence of logits", "torchmetrics"),
    ("PAV fit", "scikit-learn"),
    ("DP cross-fit, 5 folds", "psrcal"),
    ("EER, Cllr, minCllr and minDCF", "llreval"),
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.summary", description=__doc__)
    parser.add_argument("figures", type=Path, help="written by python -m benchmarks --json")
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="put the tables between this page's marks"
    )
    given = parser.parse_args()
    tables = summarize(json.loads(given.figures.read_text(encoding="utf-8")))
    print(tables)
    if given.markdown:
        write_report(given.markdown, tables)


def summarize(figures: dict[str, Any]) -> str:
    """Return the tables: COMPARISONS, some intervals beside a peer, and tables with intervals."""
    lines = [
        "| comparison | size | fastpsr | peer | its time | ratio |",
        "|---|---|--:|---|--:|--:|",
    ]
    for name, peer in COMPARISONS:
        row = next(
            row
            for row in figures["beside other libraries"]
            if row["promised"] and row["name"] == name and row["peer"].split()[0] == peer
        )
        low, middle, high = row["ratio"]
        ours, theirs = (
            median(s for calls in row[side] for s in calls)
            for side in ("our_seconds", "peer_seconds")
        )
        digits = 1 if theirs < 0.01 else 0
        lines.append(
            f"| {name} | {row['size']} | {1000 * ours:,.1f} ms | {row['peer']} | "
            f"{1000 * theirs:,.{digits}f} ms | **{middle:.1f}x** ({low:.1f}-{high:.1f}) |"
        )
    lines += [
        "",
        f"Confidence intervals from 1,000 replicates of {figures['intervals'][0]['size']}; a "
        "peer's time is extrapolated from the replicates it made:",
        "",
        "| intervals | fastpsr | peer | its time | ratio |",
        "|---|--:|---|--:|--:|",
    ]
    for row in figures["intervals"][:3]:
        lines.append(
            f"| {row['name'].removeprefix('intervals of ')} | {median(row['our_seconds']):.2f} s | "
            f"{row['peer']} | {median(row['peer_seconds']):,.0f} s | **{row['ratio']:,.0f}x** |"
        )
    lines += [
        "",
        "Whole tables with intervals (`n_resamples=1000`), from raw arrays or a file on:",
        "",
        "| call | data | takes |",
        "|---|---|--:|",
    ]
    tables: dict[str, Any] = {}
    for row in figures["intervals as users get them"]:
        if "evaluate" in row["name"]:
            tables.setdefault(row["name"], row)  # the first of a name
    for name, row in tables.items():
        lines.append(f"| {name} | {row['data']} | {median(row['seconds']):.1f} s |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
