"""The README's tables from the figures that `python -m benchmarks --json` wrote.

python -m benchmarks.summary docs/speed.json --markdown README.md
"""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import SITW
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
    """Return the tables: of comparisons, the first of a name and a peer that promises something."""
    lines = [
        "| comparison | size | fastpsr | peer | its time | ratio |",
        "|---|---|--:|---|--:|--:|",
    ]
    shown = set()
    for row in figures["beside other libraries"]:
        if row["promised"] and (row["name"], row["peer"]) not in shown:
            shown.add((row["name"], row["peer"]))
            low, middle, high = row["ratio"]
            ours, peer = (
                median(s for calls in row[side] for s in calls)
                for side in ("our_seconds", "peer_seconds")
            )
            digits = 1 if peer < 0.01 else 0
            lines.append(
                f"| {row['name']} | {row['size']} | {1000 * ours:,.1f} ms | {row['peer']} | "
                f"{1000 * peer:,.{digits}f} ms | **{middle:.1f}x** ({low:.1f}-{high:.1f}) |"
            )
    lines += [
        "",
        f"Confidence intervals from 1,000 replicates of {figures['intervals'][0]['size']}; a "
        "peer's time is extrapolated from the replicates it made:",
        "",
        "| intervals | fastpsr | peer | its time | ratio |",
        "|---|--:|---|--:|--:|",
    ]
    for row in figures["intervals"]:
        lines.append(
            f"| {row['name'].removeprefix('intervals of ')} | {median(row['our_seconds']):.2f} s | "
            f"{row['peer']} | {median(row['peer_seconds']):,.0f} s | **{row['ratio']:,.0f}x** |"
        )
    lines += [
        "",
        "Tables with intervals as they are by default, from raw arrays or a file on:",
        "",
        "| call | data | takes |",
        "|---|---|--:|",
    ]
    for row in figures["intervals as users get them"]:
        if "evaluate" in row["name"]:
            lines.append(f"| {row['name']} | {row['data']} | {median(row['seconds']):.1f} s |")
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


if __name__ == "__main__":
    main()
