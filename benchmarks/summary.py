"""The README's tables from the figures that `python -m benchmarks --json` wrote.

python -m benchmarks.summary docs/speed.json --markdown README.md
"""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import SITW, Size, Softmax
from benchmarks.report import write_report


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
    """Return the comparisons that promise something, and the intervals."""
    lines = [
        "| comparison | size | fastpsr | peer | its time | ratio |",
        "|---|---|--:|---|--:|--:|",
    ]
    for row in figures["beside other libraries"]:
        if row["promised"]:
            low, middle, high = row["ratio"]
            ours, peer = (
                median(s for calls in row[side] for s in calls)
                for side in ("our_seconds", "peer_seconds")
            )
            lines.append(
                f"| {row['name']} | {_size(row)} | {1000 * ours:,.1f} ms | {row['peer']} | "
                f"{1000 * peer:,.0f} ms | **{middle:.1f}x** ({low:.1f}-{high:.1f}) |"
            )
    lines += [
        "",
        f"Confidence intervals from 1,000 replicates of {_size(figures['intervals'][0])}; a peer's "
        "time is extrapolated from the replicates it made:",
        "",
        "| intervals | fastpsr | peer | its time | ratio |",
        "|---|--:|---|--:|--:|",
    ]
    for row in figures["intervals"]:
        lines.append(
            f"| {row['name'].removeprefix('intervals of ')} | {median(row['our_seconds']):.2f} s | "
            f"{row['peer']} | {median(row['peer_seconds']):,.0f} s | **{row['ratio']:,.0f}x** |"
        )
    limits = [
        f"{case['summary']} {case['ratio'][1]:.1f}x"
        for case in figures["beside the machine's own limit"]
        if case["promised"] and case["data"] == str(SITW) and case["threads"] > 1
    ]
    lines += [
        "",
        "Beside a streaming read of the same bytes, which nothing can beat, summaries of prepared "
        f"predictions take: {', '.join(limits)}.",
    ]
    return "\n".join(lines)


def _size(row: dict[str, Any]) -> Size | Softmax:
    if "n_classes" in row:
        return Softmax(row["n_samples"], row["n_classes"])
    return Size(row["n_trials"], row["n_targets"])


if __name__ == "__main__":
    main()
