"""`python -m benchmarks`: time fastpsr and its peers in turn, and print a Markdown report."""

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fastpsr as fp
from benchmarks import (
    default_intervals,
    footprint,
    intervals,
    limits,
    parts,
    profiles,
    scaling,
    startup,
    table2,
    timing,
)
from benchmarks.comparisons import COMPARISONS
from benchmarks.data import LARGE, SITW
from benchmarks.report import write_report

Made = tuple[str, Any]  # Markdown, and figures for JSON


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    rounds: int
    only: list[str]
    plot: Path | None

    def want(self, *names: str) -> bool:
        """Whether a part of one of the names was asked for."""
        return not self.only or any(o.lower() in n.lower() for o in self.only for n in names)


@dataclass(frozen=True)
class Section:
    """A part of the report; `make` returns None where nothing in it was asked for, or can be had.

    `names` are what `--only` knows it by, and how it is called in JSON is the `title` in lower
    case.
    """

    title: str
    names: list[str]
    make: Callable[[Options], Made | None]


def main() -> None:
    parser = _parser()
    given = parser.parse_args()
    options = Options(given.rounds, given.only or [], given.plot)
    if not any(options.want(*section.names) for section in SECTIONS):
        parser.error(f"--only must be part of one of: {'; '.join(_names())}")
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, not {options.rounds}")
    parts = [_header()]
    figures: dict[str, Any] = {"header": parts[0]}
    print(parts[0])
    for section in SECTIONS:
        made = section.make(options) if options.want(*section.names) else None
        if made is not None:
            parts.append(f"## {section.title}\n\n{made[0]}")
            figures[section.title.lower()] = made[1]
            print(f"\n{parts[-1]}", flush=True)  # what is measured is seen if a later one fails
    if given.markdown:
        write_report(given.markdown, "\n\n".join(parts) + "\n")
    if given.json:
        given.json.write_text(_as_json(figures))


# Sections


def _limits(options: Options) -> Made:
    cases = limits.measure_limits()
    return limits.describe_limits(cases), [limits.as_figures(case) for case in cases]


def _comparisons(options: Options) -> Made | None:
    chosen = _installed([c for c in COMPARISONS if options.want(c.name)])
    timings = [timing.time_both(c, options.rounds) for c in chosen]
    if not timings:
        return None
    text = f"{timing.describe_timings(timings)}\n\n{profiles.describe_misses(timings)}"
    return text, [timing.timing_figures(t) for t in timings]


def _intervals(options: Options) -> Made | None:
    chosen = _installed([c for c in intervals.INTERVALS if options.want(c.name)])
    timings = [intervals.time_intervals(c, options.rounds) for c in chosen]
    if not timings:
        return None
    return (
        intervals.describe_intervals(timings),
        [intervals.interval_figures(timing) for timing in timings],
    )


def _alone(options: Options) -> Made:
    cases = intervals.time_alone(min(3, options.rounds))
    return intervals.describe_alone(cases), [asdict(case) for case in cases]


def _defaults(options: Options) -> Made:
    found = default_intervals.measure_defaults(options.rounds)
    return default_intervals.describe_defaults(found), default_intervals.default_figures(found)


def _subsampling(options: Options) -> Made:
    cases = [
        intervals.time_subsampling(SITW, options.rounds),
        intervals.time_subsampling(LARGE, min(3, options.rounds)),
    ]
    return intervals.describe_subsampling(cases), [asdict(case) for case in cases]


def _table_2(options: Options) -> Made | None:
    folder = table2.data_folder()
    if folder is None:
        return _skip("Table 2, since FASTPSR_DATA is not set")
    seconds = table2.time_table(folder, min(3, options.rounds))
    return table2.describe_table(seconds), seconds


def _scaling(options: Options) -> Made | None:
    if options.plot is None:
        return None
    points = scaling.measure_scaling()
    scaling.plot_scaling(points, options.plot)
    text = f"![Nanoseconds per trial over the number of trials]({options.plot.name})"
    return text, [asdict(point) for point in points]


def _parts(options: Options) -> Made | None:
    if find_spec("pyarrow") is None:
        return _skip("data in parts, since pyarrow is not installed")
    rounds = min(3, options.rounds)
    found = [parts.measure(parts.N_ROWS, population, rounds) for population in parts.POPULATIONS]
    return f"{parts.ABOUT}\n\n{parts.as_table(found)}", found


def _start_up(options: Options) -> Made:
    cost = startup.measure_start_up()
    return startup.describe_start_up(cost), asdict(cost)


def _memory(options: Options) -> Made | None:
    if not footprint.can_measure_peaks():
        return _skip("memory, since the system does not say what a process held")
    peaks = footprint.measure_peaks()
    return footprint.describe_peaks(peaks), [asdict(peak) for peak in peaks]


SECTIONS = [
    Section("Beside other libraries", [c.name for c in COMPARISONS], _comparisons),
    Section("Beside the machine's own limit", ["limits"], _limits),
    Section("How it grows", ["scaling"], _scaling),
    Section("Intervals", [c.name for c in intervals.INTERVALS], _intervals),
    Section("Intervals without a peer", ["intervals alone"], _alone),
    Section("Intervals as users get them", ["default intervals"], _defaults),
    Section("Intervals by subsampling", ["subsampling"], _subsampling),
    Section("Table 2 of Ferrer and Ramos (2024)", ["Table 2"], _table_2),
    Section("Data in parts", ["data in parts"], _parts),
    Section("Start-up", ["start-up"], _start_up),
    Section("Memory", ["memory"], _memory),
]


# The rest


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=7, help="rounds of each comparison; slow peers get fewer"
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        help=f"part of a name, may be repeated: {'; '.join(_names())}",
    )
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="put the report between this page's marks"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure here")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw how times grow (SVG, PNG)")
    return parser


def _as_json(figures: dict[str, Any]) -> str:
    """Return four digits of every figure, a section to a line."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.4g}")
        if isinstance(value, dict):
            return {key: rounded(entry) for key, entry in value.items()}
        return [rounded(entry) for entry in value] if isinstance(value, (list, tuple)) else value

    lines = [f" {json.dumps(key)}: {json.dumps(rounded(figures[key]))}" for key in figures]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _names() -> list[str]:
    return list(dict.fromkeys(name for section in SECTIONS for name in section.names))


def _skip(what: str) -> None:
    print(f"skipped: {what}", file=sys.stderr)


def _installed(comparisons: list[Any]) -> list[Any]:
    for c in comparisons:
        if not c.peer_is_installed:
            _skip(f"{c.name}, since {c.peer_package} is not installed")
    return [c for c in comparisons if c.peer_is_installed]


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
