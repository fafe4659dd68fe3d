"""Benchmarks of speed and memory, and studies of values.

python -m benchmarks --list                   every benchmark and study, and how long it takes
python -m benchmarks --only NAME              run it, and print its report
python -m benchmarks --only NAME --quick      on little data: only to see that it runs
python -m benchmarks --renew                  everything that docs and README show
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fastpsr as fp
from benchmarks import (
    backends,
    comparisons,
    intervals,
    latency,
    memory,
    parts,
    report,
    scaling,
    startup,
    text,
)
from benchmarks.harness import ROOT, ROUNDS, Case, measure
from benchmarks.studies import calibrators, coverage, p_values, sample_size

_FIGURES = ROOT / "docs" / "speed.json"
_PLOT = ROOT / "docs" / "speed.svg"
_SPEED = "docs/speed.md"
_FEW_REPLICATES = 40  # of --quick
_FEW = 3  # rounds of what takes long
Report = tuple[str, Any]  # Markdown, and figures for JSON


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    rounds: int
    quick: bool
    beside: Path | None


@dataclass(frozen=True)
class Benchmark:
    """What `--list` prints, and how to make the report.

    Attributes
    ----------
    name, about : str
    minutes : float
        About how long it takes on 2 cores.
    page : str
        Where `--renew` writes the report; a page of build/ is read by whoever edits a page of
        docs/. Empty: no page shows it.
    make : callable of Options
    """

    name: str
    about: str
    minutes: float
    page: str
    make: Callable[[Options], Report]


def _of_cases(cases: list[Case], most: int = ROUNDS) -> Callable[[Options], Report]:
    def make(options: Options) -> Report:
        for case in cases:
            if not case.is_installed:
                print(f"skipped: {case}: {case.packages} not installed", file=sys.stderr)
        chosen = [_quick(case) if options.quick else case for case in cases if case.is_installed]
        timings = []
        for case in chosen:
            timings.append(measure(case, min(options.rounds, most)))
            print(f"measured: {case}", file=sys.stderr, flush=True)
        return report.describe(timings), [timing.figures() for timing in timings]

    return make


def _quick(case: Case) -> Case:
    """Return the case with little data."""
    if not hasattr(case.data, "quick"):
        return case
    return Case(**(vars(case) | {"data": case.data.quick()}))


def _scaling(options: Options) -> Report:
    points = scaling.measure_scaling(options.rounds, options.quick)
    path = ROOT / "build" / "quick.svg" if options.quick else _PLOT
    path.parent.mkdir(exist_ok=True)
    scaling.plot_scaling(points, path)
    return f"![Nanoseconds per trial over the number of trials]({path.name})", points


def _parts(options: Options) -> Report:
    n_rows, rounds = (200_000, 1) if options.quick else (parts.N_ROWS, min(_FEW, options.rounds))
    rows = [parts.measure(n_rows, population, rounds) for population in parts.POPULATIONS]
    return parts.describe(rows), rows


def _billion(options: Options) -> Report:
    n_rows = 200_000 if options.quick else parts.N_ALONE
    rows = [row for name in parts.POPULATIONS for row in parts.measure_alone(n_rows, name)]
    return parts.describe_alone(rows), rows


def _latency(options: Options) -> Report:
    rounds = latency.measure_latency(min(_FEW, options.rounds), options.beside)
    return latency.describe_latency(rounds), rounds


def _memory(options: Options) -> Report:
    peaks = memory.measure_peaks(options.quick)
    return memory.describe_peaks(peaks), peaks


def _backends(options: Options) -> Report:
    rows = backends.measure_tools(min(5, options.rounds), options.quick)
    return backends.describe_tools(rows), rows


BENCHMARKS = [
    Benchmark("comparisons", "metrics, curves and fits beside other libraries", 8, _SPEED,
              _of_cases(comparisons.CASES)),
    Benchmark("scaling", "how times grow from 1,000 to 10 million trials", 6, _SPEED, _scaling),
    Benchmark("intervals", "1,000 bootstrap replicates beside other libraries", 4, _SPEED,
              _of_cases(intervals.COMPARISONS, _FEW)),
    Benchmark("calls", "whole calls with default intervals", 7, _SPEED,
              _of_cases(intervals.CALLS, _FEW)),
    Benchmark("text", "trial lists in text beside polars and a loop", 4, _SPEED,
              _of_cases(text.CASES)),
    Benchmark("parts", "10^8 trials of a Parquet file beside memory; 1 GB of disk", 5, _SPEED,
              _parts),
    Benchmark("warm", "imports and commands as processes, compiled before", 2, _SPEED,
              _of_cases(startup.WARM)),
    Benchmark("cold", "first commands as processes, with an empty compile cache", 2, _SPEED,
              _of_cases(startup.COLD)),
    Benchmark("memory", "peaks of memory", 3, _SPEED, _memory),
    Benchmark("billion", "10^9 trials of a Parquet file; 8 GB of disk", 25, "docs/billion.md",
              _billion),
    Benchmark("backends", "tools that call fastpsr, where installed", 10, "build/backends.md",
              _backends),
    Benchmark("latency", "each metric on 1,000 samples; --beside another checkout", 3, "",
              _latency),
]  # fmt: skip
STUDIES = [
    Benchmark("coverage", "how often intervals cover, from docs/coverage.json", 0.2,
              "build/coverage.md", lambda options: (coverage.recorded(), None)),
    Benchmark("calibrators", "which calibrator for which data; needs FASTPSR_DATA", 12,
              "build/calibrators.md", lambda options: (calibrators.tables(options.quick), None)),
    Benchmark("sample-size", "width of intervals with the number that was found", 15,
              "build/sample-size.md", lambda options: (sample_size.table(options.quick), None)),
    Benchmark("p-values", "p-values where systems do not differ", 8,
              "build/p-values.md", lambda options: (p_values.table(options.quick), None)),
]  # fmt: skip
_OTHERS = [
    ("benchmarks.studies.coverage --json FILE", "draws samples, and counts on in FILE", 600),
    ("benchmarks.studies.score_calibration TRAIN TEST UTT2DUR", "wespeaker's recipe; torch", 2),
]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    known = {benchmark.name: benchmark for benchmark in [*BENCHMARKS, *STUDIES]}
    parser.add_argument("--list", action="store_true", help="print names and durations")
    parser.add_argument("--only", action="append", choices=known, help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="little data, one round")
    parser.add_argument("--renew", action="store_true", help="write reports into their pages")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="slow cases get fewer")
    parser.add_argument("--beside", type=Path, help="another checkout, for latency")
    given = parser.parse_args()
    if given.renew and given.quick:
        parser.error("--renew writes pages, for which --quick is too little data")
    if given.rounds < 1:
        parser.error(f"--rounds must be at least 1, not {given.rounds}")
    if given.list or not (given.only or given.renew or given.quick):
        print(_listed())
        return
    if given.quick:
        intervals.N_REPLICATES = _FEW_REPLICATES  # calls read it
    options = Options(1 if given.quick else given.rounds, given.quick, given.beside)
    names = given.only or [name for name in known if not given.renew or known[name].page]
    for name in names:
        markdown, figures = known[name].make(options)
        note = ", on little data: figures mean nothing" if given.quick else ""
        print(f"## {name}{note}\n\n{markdown}\n", flush=True)  # seen if a later one fails
        if given.renew:
            _renew(known[name], markdown, figures)


def _renew(benchmark: Benchmark, markdown: str, figures: Any) -> None:
    """Write a report into its page, and its figures and those of the README's table into files."""
    if not benchmark.page:
        return
    page = ROOT / benchmark.page
    report.write_report(page, markdown, benchmark.name if benchmark.page == _SPEED else "")
    if benchmark.page != _SPEED:
        return
    report.write_report(page, _machine(), "machine")
    known = json.loads(_FIGURES.read_text(encoding="utf-8")) if _FIGURES.exists() else {}
    known = {each.name: known[each.name] for each in BENCHMARKS if each.name in known}
    known |= {"machine": _machine(), benchmark.name: figures}
    _FIGURES.write_text(_as_json(known), encoding="utf-8")
    if {"comparisons", "intervals"} <= known.keys():
        report.write_report(ROOT / "README.md", report.readme_table(known))


def _listed() -> str:
    rows = [(f"--only {each.name}", each.about, each.minutes) for each in BENCHMARKS]
    studies = [(f"--only {each.name}", each.about, each.minutes) for each in STUDIES]
    lines = []
    for title, entries in (("Benchmarks", rows), ("Studies", [*studies, *_OTHERS])):
        lines.append(f"{title} (python -m benchmarks --only NAME), minutes on 2 cores:")
        lines += [f"  {minutes:5g}  {name:<22} {about}" for name, about, minutes in entries]
    total = sum(each.minutes for each in [*BENCHMARKS, *STUDIES] if each.page)
    return "\n".join([*lines, f"  {total:5g}  {'--renew':<22} all that docs and README show"])


def _as_json(figures: dict[str, Any]) -> str:
    """Return four digits of every figure, a benchmark to a line."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.4g}")
        if isinstance(value, dict):
            return {key: rounded(entry) for key, entry in value.items()}
        return [rounded(entry) for entry in value] if isinstance(value, (list, tuple)) else value

    lines = [f" {json.dumps(key)}: {json.dumps(rounded(figures[key]))}" for key in figures]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _machine() -> str:
    versions = [f"fastpsr {fp.__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {version(name)}" for name in ("numpy", "numba", "scipy")]
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = models[0] if models else platform.processor() or platform.machine()
    return (
        f"The machine: {processor}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
        f"{', '.join(versions)}."
    )


if __name__ == "__main__":
    main()
