"""`python -m benchmarks`: time fastpsr and its peers in turn, and print a Markdown report."""

import argparse
import json
import os
import platform
import shlex
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import fastpsr as fp
from benchmarks import footprint, table2
from benchmarks.comparisons import COMPARISONS
from benchmarks.footprint import Peak
from benchmarks.intervals import (
    INTERVALS,
    N_REPLICATES,
    Alone,
    IntervalTiming,
    time_alone,
    time_intervals,
)
from benchmarks.report import write_report
from benchmarks.timing import CALLS, Timing, quartiles, time_both

_NAMES = [
    *(c.name for c in COMPARISONS),
    *(c.name for c in INTERVALS),
    "intervals alone",
    "Table 2",
    "import",
    "memory",
]
_IMPORT_ROUNDS = 11


def main() -> None:
    parser = _parser()
    options = parser.parse_args()
    if not any(_wanted(name, options.only) for name in _NAMES):
        parser.error(f"--only must be part of one of: {'; '.join(_NAMES)}")
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, not {options.rounds}")
    sections = [_header()]
    figures: dict[str, Any] = {"header": sections[0]}
    chosen = [c for c in COMPARISONS if _wanted(c.name, options.only)]
    if chosen:
        timings = [time_both(c, options.rounds) for c in _installed(chosen)]
        sections.append(_comparison_table(timings))
        figures["comparisons"] = [_as_dict(timing) for timing in timings]
    intervals = [c for c in INTERVALS if _wanted(c.name, options.only)]
    if intervals:
        found = [time_intervals(c, options.rounds) for c in _installed(intervals)]
        sections.append(_interval_table(found))
        figures["intervals"] = [_interval_dict(timing) for timing in found]
    if _wanted("intervals alone", options.only):
        alone = time_alone(min(3, options.rounds))
        sections.append(_alone_table(alone))
        figures["intervals alone"] = [asdict(case) for case in alone]
    if _wanted("Table 2", options.only) and _possible(
        "Table 2", "FASTPSR_DATA is not set", table2.data_folder() is not None
    ):
        seconds = table2.time_table(str(table2.data_folder()), min(3, options.rounds))
        sections.append(_describe_table_2(seconds))
        figures["table 2"] = seconds
    if _wanted("import", options.only):
        cost = footprint.measure_import(_IMPORT_ROUNDS)
        sections.append(footprint.describe_import(cost))
        figures["import"] = asdict(cost)
    if _wanted("memory", options.only) and _possible(
        "memory", "the system does not say what a process held", footprint.can_measure_peaks()
    ):
        peaks = footprint.measure_peaks()
        sections.append(_memory_table(peaks))
        figures["memory"] = [asdict(peak) for peak in peaks]
    report = "\n\n".join(sections) + "\n"
    print(report)
    if options.markdown:
        write_report(options.markdown, report)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=7, help="rounds of each comparison; slow peers get fewer"
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        help=f"part of a name, may be repeated: {'; '.join(_NAMES)}",
    )
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="put the report between this page's marks"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure here")
    return parser


def _wanted(name: str, only: list[str] | None) -> bool:
    return not only or any(part.lower() in name.lower() for part in only)


def _possible(name: str, obstacle: str, possible: bool) -> bool:
    if not possible:
        print(f"skipped: {name}, {obstacle}", file=sys.stderr)
    return possible


def _installed(comparisons: list[Any]) -> list[Any]:
    return [
        c
        for c in comparisons
        if _possible(c.name, f"{c.peer_package} is not installed", c.peer_is_installed)
    ]


def _header() -> str:
    versions = [f"fastpsr {fp.__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {version(name)}" for name in ("numpy", "numba", "scipy")]
    busy = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return "\n".join(
        [
            f"- Machine: {_processor()}, {os.cpu_count()} cores{busy}",
            f"- Versions: {', '.join(versions)}",
            f"- Command: `{shlex.join(['python', '-m', 'benchmarks', *sys.argv[1:]])}`",
        ]
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _comparison_table(timings: list[Timing]) -> str:
    lines = [
        f"Medians and quartiles. In each round fastpsr is called {CALLS} times, then the peer "
        "(once if it is slow), after both were warmed up and found to agree. The ratio is taken "
        "within rounds. Cores: CPU seconds per second while fastpsr ran; where it is below the "
        "number of cores, other programs were at work, or the call has parts in one thread.",
        "",
        "| comparison | size | fastpsr | cores | peer | its time | ratio | promised | rounds |",
        "|---|---|--:|--:|---|--:|--:|--:|--:|",
    ]
    for timing in timings:
        c = timing.comparison
        promised = f"{c.promised:g}x" if c.promised else "-"
        low, middle, high = quartiles(timing.ratios)
        lines.append(
            f"| {c.name} | {c.size} | {_milliseconds(timing.ours)} | "
            f"{median(timing.our_cores):.1f} | {c.peer_label} | {_milliseconds(timing.peer)} | "
            f"**{middle:.1f}x** ({low:.1f}-{high:.1f}) | {promised} | {len(timing.peer)} |"
        )
    return "\n".join(lines)


def _milliseconds(rounds: list[list[float]]) -> str:
    low, middle, high = (
        1000 * value for value in quartiles([s for calls in rounds for s in calls])
    )
    digits = 0 if middle >= 1000 else 1
    return f"{middle:,.{digits}f} ms ({low:,.{digits}f}-{high:,.{digits}f})"


def _interval_table(timings: list[IntervalTiming]) -> str:
    lines = [
        f"Bootstrap intervals from {N_REPLICATES:,} replicates: seconds, medians over rounds. A "
        "peer's time is extrapolated from the replicates that it made.",
        "",
        "| intervals | size | fastpsr | peer | its time | its replicates | ratio | promised |",
        "|---|---|--:|---|--:|--:|--:|--:|",
    ]
    for timing in timings:
        c = timing.comparison
        lines.append(
            f"| {c.name.removeprefix('intervals of ')} | {c.size} | {median(timing.ours):.2f} s | "
            f"{c.peer_package} | {median(timing.peer):,.0f} s | {timing.peer_replicates} | "
            f"**{median(timing.ratios):,.0f}x** | {c.promised:g}x |"
        )
    return "\n".join(lines)


def _alone_table(cases: list[Alone]) -> str:
    lines = [
        f"{N_REPLICATES:,} replicates where there is no peer to compare with.",
        "",
        "| intervals | size | fastpsr | promised |",
        "|---|---|--:|--:|",
    ]
    lines += [f"| {c.name} | {c.size} | {c.seconds:.1f} s | {c.promised:g} s |" for c in cases]
    return "\n".join(lines)


def _interval_dict(timing: IntervalTiming) -> dict[str, Any]:
    c = timing.comparison
    return {
        "name": c.name,
        **asdict(c.size),
        "peer": c.peer_package,
        "promised": c.promised,
        "our_seconds": timing.ours,
        "peer_seconds": timing.peer,
        "peer_replicates": timing.peer_replicates,
        "ratio": median(timing.ratios),
    }


def _describe_table_2(seconds: list[float]) -> str:
    low, middle, high = quartiles(seconds)
    return (
        f"Table 2 of the paper takes {middle:.2f} s ({low:.2f}-{high:.2f}, {len(seconds)} rounds) "
        f"once compiled; promised: under {table2.PROMISED_SECONDS:g} s."
    )


def _memory_table(peaks: list[Peak]) -> str:
    lines = [
        "Peak memory in a process of its own, after imports and a small warm-up, over the size of "
        f"the input arrays, which it includes; promised: under {footprint.PROMISED_PEAK:g}.",
        "",
        "| case | data | inputs | growth | peak / inputs |",
        "|---|---|--:|--:|--:|",
    ]
    for peak in peaks:
        megabytes = f"{peak.inputs / 1e6:.0f} MB | {peak.growth / 1e6:.0f} MB"
        lines.append(f"| {peak.case} | {peak.data} | {megabytes} | {peak.ratio:.2f} |")
    return "\n".join(lines)


def _as_dict(timing: Timing) -> dict[str, Any]:
    c = timing.comparison
    return {
        "name": c.name,
        **asdict(c.size),
        "peer": c.peer_label,
        "promised": c.promised,
        "our_seconds": timing.ours,
        "our_cores": timing.our_cores,
        "peer_seconds": timing.peer,
        "ratio": quartiles(timing.ratios),
    }
