"""Tables of timings, and where a printed report goes in a page of the docs."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import Seconds, Timing, quartiles


def describe(timings: Sequence[Timing]) -> str:
    """Return the table of cases that have a peer, or of those that have none."""
    if timings[0].peer:
        lines = [
            "| comparison | data | fastpsr | peer | its time | ratio | of CPU time | promised |",
            "|---|---|--:|---|--:|--:|--:|--:|",
        ]
        lines += [_with_peer(timing) for timing in timings]
    else:
        lines = [
            "| call | data | seconds | CPU seconds | promised |",
            "|---|---|--:|--:|--:|",
            *(_alone(timing) for timing in timings),
        ]
    return "\n".join([*lines, "", *_misses(timings)])


def _with_peer(timing: Timing) -> str:
    case = timing.case
    by_wall, by_cpu = timing.ratios(0), timing.ratios(1)
    if case.promise and case.promise.unit == "x the time":
        by_wall, by_cpu = ([1.0 / ratio for ratio in ratios] for ratios in (by_wall, by_cpu))
    low, middle, high = (_ratio(value) for value in quartiles(by_wall))
    cells = [
        case.name, str(case.data), _time(timing.ours), case.peer_label,
        _time(timing.peer) + (", extrapolated" if case.factor > 1.0 else ""),
        f"**{middle}x** ({low}-{high})", f"{_ratio(median(by_cpu))}x", _promise(timing),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _alone(timing: Timing) -> str:
    wall, cpu = (median(each[kind] for each in timing.ours) for kind in (0, 1))
    case = timing.case
    return f"| {case.name} | {case.data} | {wall:.2f} | {cpu:.2f} | {_promise(timing)} |"


def _promise(timing: Timing) -> str:
    return str(timing.case.promise or "-")


def _misses(timings: Sequence[Timing]) -> list[str]:
    """Return a line for each promise that is missed, with what takes the time."""
    return [
        f"- Missed: {timing.case}: {timing.measured:.3g} of {timing.case.promise}"
        + (f"; most of the time is {promise.bound}." if promise.bound else ".")
        for timing in timings
        if timing.is_missed and (promise := timing.case.promise)
    ]


def _ratio(value: float) -> str:
    return f"{value:,.{0 if value >= 100 else 1 if value >= 2 else 2}f}"


def _time(rounds: Sequence[Seconds]) -> str:
    seconds = median(each.wall for each in rounds)
    if seconds >= 1.0:
        return f"{seconds:,.{0 if seconds >= 100 else 2}f} s"
    return f"{1000 * seconds:,.{1 if seconds >= 1e-3 else 3}f} ms"


#: Of the README: benchmark, name and peer; of several sizes the first.
_README = [
    ("comparisons", "log loss", "scikit-learn"),
    ("comparisons", "AUC", "scikit-learn"),
    ("comparisons", "EER, Cllr, minCllr and minDCF", "llreval"),
    ("comparisons", "DP cross-fit, 5 folds", "psrcal"),
    ("intervals", "intervals of EER, minDCF and minCllr", "confidence_intervals"),
]


def readme_table(figures: dict[str, Any]) -> str:
    """Return the README's table from the figures of the benchmarks."""
    lines = [
        "| what | data | fastpsr | peer | time of the peer | ratio |",
        "|---|---|--:|---|--:|--:|",
    ]
    for benchmark, name, peer in _README:
        row = next(
            row
            for row in figures[benchmark]
            if row["name"] == name and row["peer"].startswith(peer)
        )
        low, middle, high = row["ratio"]
        ours, theirs = (
            _time([Seconds(*each) for each in row[side]]) for side in ("ours", "theirs")
        )
        what = name.replace("intervals of", "1,000 bootstrap replicates of")
        lines.append(
            f"| {what} | {row['data']} | {ours} | {row['peer']} | {theirs}"
            f"{', extrapolated' * (benchmark == 'intervals')} | "
            f"**{middle:,.0f}x** ({low:,.0f}-{high:,.0f}) |"
        )
    return "\n".join(lines)


def write_report(page: Path, report: str, name: str = "") -> None:
    """Put a report between the page's two marks, or make it the page where there is none yet.

    A page of several reports has marks with the name of each.
    """
    of = f"{name} " if name else ""
    begin, end = f"<!-- {of}printed from here -->", f"<!-- {of}to here -->"
    page.parent.mkdir(exist_ok=True)
    text = page.read_text(encoding="utf-8") if page.exists() else f"{begin}\n{end}\n"
    if begin not in text or end not in text:
        raise ValueError(f"{page} must have the lines {begin!r} and {end!r} for the report")
    before, rest = text.split(begin, 1)
    _, after = rest.split(end, 1)
    page.write_text(f"{before}{begin}\n\n{report.strip()}\n\n{end}{after}", encoding="utf-8")
