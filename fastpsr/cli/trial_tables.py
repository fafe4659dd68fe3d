"""Rows of trial-list evaluations as tables: terminal, JSON, CSV, Markdown, LaTeX."""

import json
from pathlib import Path

from rich.table import Table

from fastpsr.cli.show import console, json_number
from fastpsr.cli.trial_evaluation import TrialRow
from fastpsr.files import whole_file

__all__ = ["print_rows", "write_rows"]


def print_rows(rows: list[TrialRow]) -> None:
    """Print a line per metric, a column per system and condition, and notes below."""
    header, lines = _pivot(rows)
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for system, condition, *_ in lines:
        table.add_column(f"{Path(system).name}\n{condition}", justify="right")
    for place, metric in enumerate(header[2:], start=2):
        table.add_row(metric, *(line[place] for line in lines))
    console.print(table)
    for note in dict.fromkeys(r.note for r in rows if r.note.startswith("not computed")):
        console.print(note)


def write_rows(rows: list[TrialRow], path: Path) -> None:
    """Write rows by the ending: .json, .csv, .md or .tex; whole or not at all."""
    with whole_file(path) as part:
        part.write_text(_WRITERS[path.suffix](rows), "utf-8")


def check_ending(option: str, path: Path | None, ending: str) -> None:
    """Raise unless a file to write ends as its option says."""
    if path is not None and path.suffix != ending:
        raise ValueError(f"{option} must name a file that ends in {ending}, not {path}")


def _pivot(rows: list[TrialRow]) -> tuple[list[str], list[list[str]]]:
    metrics = list(dict.fromkeys(row.metric for row in rows))
    places = list(dict.fromkeys((row.system, row.condition) for row in rows))
    found = {(r.system, r.condition, r.metric): r.value for r in rows}
    lines = [
        [system, condition]
        + [
            f"{found[system, condition, m]:.4f}" if (system, condition, m) in found else ""
            for m in metrics
        ]
        for system, condition in places
    ]
    return ["system", "condition", *metrics], lines


def _as_json(rows: list[TrialRow]) -> str:
    content = [
        {
            "system": row.system,
            "condition": row.condition,
            "metric": row.metric,
            "value": json_number(row.value),
            "note": row.note,
        }
        for row in rows
    ]
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _as_csv(rows: list[TrialRow]) -> str:
    import polars

    names = ("system", "condition", "metric", "value", "note")
    frame = polars.DataFrame({name: [getattr(row, name) for row in rows] for name in names})
    return frame.write_csv()


def _as_markdown(rows: list[TrialRow]) -> str:
    header, lines = _pivot(rows)
    rule = ["---", "---", *["--:"] * (len(header) - 2)]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in [header, rule, *lines]]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def _as_latex(rows: list[TrialRow]) -> str:
    header, lines = _pivot(rows)
    body = [" & ".join(_escape(cell) for cell in line) + r" \\" for line in [header, *lines]]
    columns = "ll" + "r" * (len(header) - 2)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\hline", body[0], r"\hline", *body[1:], r"\hline",
         r"\end{tabular}", ""]
    )  # fmt: skip


def _escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


_WRITERS = {".json": _as_json, ".csv": _as_csv, ".md": _as_markdown, ".tex": _as_latex}
