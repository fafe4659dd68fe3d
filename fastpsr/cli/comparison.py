"""The difference of two systems: a row per metric."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from fastpsr.bootstrap import BootstrapResult, compare
from fastpsr.cli.intervals import as_arguments
from fastpsr.cli.pairs import Pair
from fastpsr.cli.show import console, steps, warnings_as_lines
from fastpsr.cli.tables import as_csv, as_json, as_latex, as_markdown, write_tables
from fastpsr.cli.trial_tables import short_names
from fastpsr.cli.wording import in_options
from fastpsr.evaluate import Intervals, Row, evaluate, in_brackets

__all__ = ["Difference", "compare_pair"]


@dataclass(frozen=True)
class Difference:
    """A metric of two systems, and its difference with an interval, where it has one."""

    metric: str
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    bias: float | None
    n_undefined: int
    excludes_zero: bool | None
    note: str


def compare_pair(pair: Pair, intervals: Intervals, outputs: Mapping[str, Path | None]) -> None:
    """Compute, print and write the differences."""
    if pair.resampling is not None:
        pair.resampling.units(pair.systems[0])  # raises where there are too few to draw from
    with steps(None) as begin:
        rows = _differences(pair, intervals, begin)
    names = [str(path) for path in pair.paths]
    _print(names, intervals, rows)
    short = short_names(names)
    lines = _lines(rows, [short[name] for name in names], "difference")
    content: dict[str, Any] = {
        "a": names[0],
        "b": names[1],
        "n_samples": len(pair.systems[0]),
        "intervals": asdict(intervals),
        "rows": [asdict(row) for row in rows],
    }
    write_tables(
        outputs,
        {
            "--json": lambda: as_json(content),
            "--csv": lambda: as_csv(content["rows"]),
            "--markdown": lambda: as_markdown(lines, "lrrrrl"),
            "--latex": lambda: as_latex(lines, "lrrrrl"),
        },
    )


def _differences(
    pair: Pair, intervals: Intervals, progress: Callable[[str, int, int], object]
) -> list[Difference]:
    tables = []
    for path, system in zip(pair.paths, pair.systems, strict=True):
        with warnings_as_lines(f"{path}: "):
            table = evaluate(
                system,
                pair.metrics,
                progress=lambda what, *amount, path=path: progress(f"{path}: {what}", *amount),
            )
        tables.append(table.rows)
    both = list(zip(*tables, strict=True))
    comparable = {
        a.metric: pair.metrics[a.metric] for a, b in both if not math.isnan(a.value - b.value)
    }
    found: dict[str, BootstrapResult] = {}
    if comparable:
        results = compare(
            comparable,
            *pair.systems,
            progress=lambda done, total: progress("replicates", done, total),
            **as_arguments(intervals, pair.resampling),
        )
        found = dict(zip(comparable, results, strict=True))
    return [_difference(a, b, found.get(a.metric)) for a, b in both]


def _difference(a: Row, b: Row, result: BootstrapResult | None) -> Difference:
    reasons: dict[str, str] = {}
    for side, row in (("A", a), ("B", b)):
        if not math.isfinite(row.value):
            why = row.note if row.error is None else f"not computed: {in_options(row.error)}"
            reasons[why] = f"{reasons[why]} and {side}" if why in reasons else side
    note = "; ".join(f"{who}: {why}" for why, who in reasons.items()) or a.note
    difference = a.value - b.value
    if result is None:
        return Difference(a.metric, a.value, b.value, difference, None, None, None, 0, None, note)
    low, high = result.interval
    excludes_zero = None if math.isnan(low) else low > 0.0 or high < 0.0
    return Difference(
        a.metric, a.value, b.value, difference, low, high, result.bias, result.n_undefined,
        excludes_zero, note,
    )  # fmt: skip


def _print(names: Sequence[str], intervals: Intervals, rows: Sequence[Difference]) -> None:
    for side, name in zip("AB", names, strict=True):
        console.print(f"{side}: {name}")
    console.print(str(intervals))
    header, *lines = _lines(rows, ["A", "B"], "A - B")
    table = Table(box=None, pad_edge=False)
    for name in header:
        justify = "left" if name in (header[0], header[-1]) else "right"
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for line in lines:
        table.add_row(*line)
    console.print(table)
    for row in rows:
        if not math.isfinite(row.difference):
            console.print(f"{row.metric}: {row.note}")


def _lines(rows: Sequence[Difference], sides: Sequence[str], between: str) -> list[list[str]]:
    """Return a header, and a line per metric."""
    said = {None: "", True: "yes", False: "no"}
    lines = [["metric", *sides, between, "interval", "excludes 0"]]
    for row in rows:
        numbers = [f"{number:.4f}" for number in (row.a, row.b, row.difference)]
        interval = in_brackets(row.low, row.high)
        lines.append([row.metric, *numbers, interval, said[row.excludes_zero]])
    return lines
