"""fastpsr beside the tools that call it: speed and memory of each tool that is installed.

Each case is computed by both sides, which must agree, and then timed in turn, in one run. Peaks of
memory are those of child processes that do nothing else.
"""

import resource
from statistics import median
from typing import Any

from benchmarks.backend_cases import N_REPLICATES, TOOLS, ToolCase
from benchmarks.harness import growth_of, in_process, in_turn, quartiles, rounds_for, timed

_WARM_UP = 20_000  # samples of a call that compiles and imports
_QUICK = 1_000  # samples of a run that only shows that everything runs


def timings(case: ToolCase, n: int, rounds: int) -> list[tuple[float, float]]:
    """Return the seconds of both sides in each round, after checking that these agree."""
    data = case.make(n)
    ours = case.call("fastpsr", data)
    seconds, theirs = timed(lambda: case.call("theirs", data))
    case.agree(ours, theirs)
    calls = [lambda side=side: case.call(side, data) for side in ("fastpsr", "theirs")]
    of_ours, of_theirs = in_turn(calls, rounds_for(seconds.wall, rounds))
    # the value on all data, which a tool computes besides, costs as much as a replicate
    factor = (N_REPLICATES + 1) / (case.few + 1) if case.few else 1.0
    return [(a.wall, factor * b.wall) for a, b in zip(of_ours, of_theirs, strict=True)]


def peak_of(tool: str, number: int, side: str, n: int) -> float:
    """Return by how many bytes a call raises the peak of memory of a process of its own."""
    few = TOOLS[tool].cases[number].few

    def growth(n_replicates: int) -> Any:
        return in_process(__name__, "memory_of", tool, number, side, n, n_replicates)

    if not few or side == "fastpsr":
        return float(growth(0))
    once, twice = growth(few), growth(2 * few)
    return float(once + (twice - once) / few * (N_REPLICATES - few))


def memory_of(tool: str, number: int, side: str, n: int, n_replicates: int) -> Any:
    """Return the growth of the peak; in a limited address space, how the call ended."""
    case = TOOLS[tool].cases[number]
    case.call(side, case.make(min(n, _WARM_UP if not case.address_space else 20)), 1)
    data = case.make(n)
    if not case.address_space:
        return growth_of(lambda: case.call(side, data, n_replicates))
    resource.setrlimit(resource.RLIMIT_AS, (case.address_space, case.address_space))
    try:
        case.call(side, data)
    except (MemoryError, RuntimeError) as error:
        return f"fails: {type(error).__name__}"
    return "works"


def measure_tools(rounds: int, quick: bool) -> list[list[str]]:
    """Return the cells of the table of all tools that are installed."""
    return [
        _row(name, number, rounds, quick)
        for name, tool in TOOLS.items()
        if tool.is_installed
        for number in range(len(tool.cases))
    ]


def describe_tools(rows: list[list[str]]) -> str:
    missing = [tool.package for tool in TOOLS.values() if not tool.is_installed]
    return "\n".join(
        [
            "| tool | function there, function here | samples | fastpsr | the tool | ratio | "
            "memory of fastpsr | of the tool |",
            "|---|---|--:|--:|--:|--:|--:|--:|",
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
            f"\\* extrapolated from few of {N_REPLICATES:,} replicates",
            *([f"\nNot installed: {', '.join(missing)}."] if missing else []),
        ]
    )


def _row(name: str, number: int, rounds: int, quick: bool) -> list[str]:
    tool = TOOLS[name]
    case = tool.cases[number]
    n = min(case.n, _QUICK) if quick else case.n
    cells = [str(tool), case.name, f"{n:,}"]
    if case.address_space:
        sides = [
            in_process(__name__, "memory_of", name, number, side, n, 0)
            for side in ("fastpsr", "theirs")
        ]
        return [*cells, *sides, "", *[f"in {case.address_space >> 30} GB"] * 2]
    seconds = timings(case, n, rounds)
    low, middle, high = quartiles([theirs / ours for ours, theirs in seconds])
    ours, theirs = (median(side) for side in zip(*seconds, strict=True))
    mark = " \\*" if case.few else ""
    ratio = f"**{_times(middle)}x** ({_times(low)}-{_times(high)})"
    of_ours, of_theirs = (peak_of(name, number, side, n) for side in ("fastpsr", "theirs"))
    return [
        *cells, _time(ours), f"{_time(theirs)}{mark}", ratio, _size(of_ours),
        f"{_size(of_theirs)}{mark}",
    ]  # fmt: skip


def _time(seconds: float) -> str:
    if seconds >= 1.0:
        return f"{seconds:,.{0 if seconds >= 100 else 1}f} s"
    return f"{1e3 * seconds:,.{0 if seconds >= 0.1 else 1 if seconds >= 1e-3 else 3}f} ms"


def _times(ratio: float) -> str:
    return f"{ratio:,.{0 if ratio >= 10 else 1}f}"


def _size(size: float) -> str:
    return f"{size / 1e6:,.{0 if size >= 1e7 else 1}f} MB"
