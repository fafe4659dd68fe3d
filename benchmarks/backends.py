"""fastpsr beside the tools that call it: speed and memory of each tool that is installed.

    python -m benchmarks.backends [TOOL ...] [--markdown FILE]

Each case is computed by both sides, which must agree, and then timed in turn, in one run. Peaks of
memory are those of child processes that do nothing else.
"""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.backend_cases import N_REPLICATES, TOOLS, Case
from benchmarks.footprint import growth_of
from benchmarks.report import write_report
from benchmarks.timing import quartiles, rounds_for

_ROUNDS = 5
_ROUND = 0.1  # seconds that the calls of a side take in a round, if one takes less
_WARM_UP = 20_000  # samples of a call that compiles and imports
_ROOT = Path(__file__).parent.parent


# Time


def seconds_of(case: Case, side: str, data: Any) -> float:
    """Return the seconds of a call; a short one is made several times."""
    n_calls, begun = 0, perf_counter()
    while n_calls == 0 or perf_counter() - begun < _ROUND:
        case.call(side, data)
        n_calls += 1
    # the value on all data, which a tool computes besides, costs as much as a replicate
    share = (N_REPLICATES + 1) / (case.few + 1) if case.few and side != "fastpsr" else 1.0
    return share * (perf_counter() - begun) / n_calls


def timings(case: Case) -> list[tuple[float, float]]:
    """Return the seconds of both sides in each round, after checking that these agree."""
    data = case.make(case.n)
    ours = case.call("fastpsr", data)
    begun = perf_counter()
    case.agree(ours, case.call("theirs", data))
    n_rounds = rounds_for(perf_counter() - begun, _ROUNDS)
    return [
        (seconds_of(case, "fastpsr", data), seconds_of(case, "theirs", data))
        for _ in range(n_rounds)
    ]


# Memory


def peak_of(tool: str, number: int, side: str) -> float:
    """Return by how many bytes a call raises the peak of memory of a process of its own."""
    few = TOOLS[tool].cases[number].few
    if not few or side == "fastpsr":
        return in_child(tool, number, side, 0)
    one, two = (in_child(tool, number, side, n) for n in (few, 2 * few))
    return float(one + (two - one) / few * (N_REPLICATES - few))


def in_child(tool: str, number: int, side: str, n_replicates: int) -> Any:
    """Return what `measure` finds in a process of its own."""
    arguments = ["--child", tool, str(number), side, str(n_replicates)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.backends", *arguments],
        cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def measure(tool: str, number: int, side: str, n_replicates: int) -> Any:
    """Return the growth of the peak; in a limited address space, how the call ended."""
    case = TOOLS[tool].cases[number]
    case.call(side, case.make(min(case.n, _WARM_UP if not case.address_space else 20)), 1)
    data = case.make(case.n)
    if not case.address_space:
        return growth_of(lambda: case.call(side, data, n_replicates))
    resource.setrlimit(resource.RLIMIT_AS, (case.address_space, case.address_space))
    try:
        case.call(side, data)
    except (MemoryError, RuntimeError) as error:
        return f"fails: {type(error).__name__}"
    return "works"


# What is printed


def table(name: str) -> str:
    """Return the table of a tool."""
    tool = TOOLS[name]
    lines = [
        f"| | samples | fastpsr | {tool} | ratio | memory of fastpsr | of {tool.package} |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for number, case in enumerate(tool.cases):
        cells = [case.name, f"{case.n:,}"]
        if case.address_space:
            cells += [in_child(name, number, side, 0) for side in ("fastpsr", "theirs")]
            cells += ["", *[f"in {case.address_space >> 30} GB"] * 2]
        else:
            rounds = timings(case)
            low, middle, high = quartiles([theirs / ours for ours, theirs in rounds])
            ours, theirs = (median(side) for side in zip(*rounds, strict=True))
            mark = " \\*" if case.few else ""
            cells += [_time(ours), f"{_time(theirs)}{mark}"]
            cells.append(f"**{_times(middle)}x** ({_times(low)}-{_times(high)})")
            of_ours, of_theirs = (peak_of(name, number, side) for side in ("fastpsr", "theirs"))
            cells += [_size(of_ours), f"{_size(of_theirs)}{mark}"]
        lines.append(f"| {' | '.join(cells)} |")
    few = sorted({case.few for case in tool.cases if case.few})
    if few:
        lines += ["", f"\\* extrapolated from {', '.join(map(str, few))} replicates"]
    return "\n".join(lines)


def _time(seconds: float) -> str:
    if seconds >= 1.0:
        return f"{seconds:,.{0 if seconds >= 100 else 1}f} s"
    return f"{1e3 * seconds:,.{0 if seconds >= 0.1 else 1 if seconds >= 1e-3 else 3}f} ms"


def _times(ratio: float) -> str:
    return f"{ratio:,.{0 if ratio >= 10 else 1}f}"


def _size(size: float) -> str:
    return f"{size / 1e6:,.{0 if size >= 1e7 else 1}f} MB"


def main() -> None:
    """Print the tables of tools, or put them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backends", description=__doc__)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"of {', '.join(TOOLS)}")
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="put each table between its marks of the page"
    )
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        tool, number, side, n_replicates = given.child
        print(json.dumps(measure(tool, int(number), side, int(n_replicates))))
        return
    if unknown := [name for name in given.tools if name not in TOOLS]:
        parser.error(f"TOOL must be one of {', '.join(TOOLS)}, not {unknown[0]}")
    for name in given.tools or TOOLS:
        if not TOOLS[name].is_installed:
            print(f"{name} is not installed: left out", file=sys.stderr)
            continue
        found = table(name)
        print(f"{found}\n", flush=True)
        if given.markdown:
            write_report(given.markdown, found, name)


if __name__ == "__main__":
    main()
