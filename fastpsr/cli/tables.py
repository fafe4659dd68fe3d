"""Evaluations and differences as tables: on the terminal, and in JSON, CSV, Markdown, LaTeX."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from fastpsr.cli.inputs import described
from fastpsr.cli.show import console
from fastpsr.evaluation import Evaluation
from fastpsr.evaluation.layout import best_calibrators, compared, pivot, with_interval
from fastpsr.files import whole_file
from fastpsr.strict_json import strict
from fastpsr.version import __version__

__all__ = [
    "Outputs",
    "as_json",
    "print_evaluation",
    "short_names",
    "write_evaluation",
]


@dataclass(frozen=True)
class Outputs:
    """Files to write, by the option that names them, and what was read for them."""

    files: Mapping[str, Path | None]
    inputs: Sequence[Path | None]


def print_evaluation(evaluation: Evaluation) -> None:
    """Print a line per metric with its meaning, or a column per system and condition."""
    if evaluation.groups[0].system is not None:
        console.print(evaluation.to_text(console.width), soft_wrap=True)
        return
    console.print(str(evaluation.all_samples))
    header, *lines = _lines(evaluation)
    if evaluation.intervals is not None:
        console.print(evaluation.settings)
    table = Table(box=None, pad_edge=False)
    for name in header:
        justify = "right" if name == "value" else "left"
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("meaning")
    for line, row in zip(lines, evaluation.rows, strict=True):
        table.add_row(*line, row.note)
    console.print(table, soft_wrap=False)
    for said in best_calibrators(evaluation):
        console.print(said)


def write_evaluation(
    evaluation: Evaluation, scores_are: str, outputs: Outputs, **more: Any
) -> None:
    """Write the requested files; JSON also has the kind of scores, and `more` by name.

    Of a comparison, the other files hold only the differences.
    """
    content = {"scores_are": scores_are, **more, **evaluation.to_dict()}
    differences = [each.to_dict() for each in evaluation.differences]
    lines = compared(evaluation) if differences else _lines(evaluation)
    n_names = 1 if lines[0][0] == "metric" else 2
    alignment = "l" * n_names + "r" * (len(lines[0]) - n_names)
    _write(outputs, content, differences or evaluation.records(), lines, alignment)


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return for each path its shortest suffix, in whole path components, that is unique.

    Examples
    --------
    >>> short_names(["a/dev/s.txt", "a/eval/s.txt", "a/t.txt"])
    {'a/dev/s.txt': 'dev/s.txt', 'a/eval/s.txt': 'eval/s.txt', 'a/t.txt': 't.txt'}
    """
    parts = {path: Path(path).parts for path in paths}

    def shortest(path: str) -> str:
        for n in range(1, len(parts[path]) + 1):
            end = parts[path][-n:]
            if sum(other[-n:] == end for other in parts.values()) == 1:
                return str(Path(*end))
        return path

    return {path: shortest(path) for path in parts}


def _lines(evaluation: Evaluation) -> list[list[str]]:
    """Return a header, and a line per metric, or per system and condition."""
    if evaluation.groups[0].system is not None:
        return pivot(evaluation)
    more = ["interval"] * (evaluation.intervals is not None)
    lines = [["metric", "value", *more]]
    for row in evaluation.rows:
        shown = with_interval(row.value, row.low, row.high, row.unit)
        lines.append([row.metric, *shown[: 1 + len(more)]])
    return lines


def _write(
    outputs: Outputs,
    content: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    lines: Sequence[Sequence[str]],
    alignment: str,
) -> None:
    """Write a file for each option that names one, atomically."""
    makers: Mapping[str, Callable[[], str]] = {
        "--json": lambda: as_json(
            {"version": __version__, **content, "inputs": described(outputs.inputs)}
        ),
        "--csv": lambda: _as_csv(records),
        "--markdown": lambda: _as_markdown(lines, alignment),
        "--latex": lambda: _as_latex(lines, alignment),
    }
    for option, path in outputs.files.items():
        if path is not None and str(path) == "-":
            sys.stdout.write(makers[option]())
        elif path is not None:
            with whole_file(path) as part:
                part.write_text(makers[option](), "utf-8")


def as_json(content: Any) -> str:
    """Return strict JSON: null for nan, strings for infinities."""
    return json.dumps(strict(content), indent=1, allow_nan=False) + "\n"


def _as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return CSV with a header and a line per record."""
    import polars

    return polars.DataFrame(records, infer_schema_length=None).write_csv()


def _as_markdown(lines: Sequence[Sequence[str]], alignment: str) -> str:
    """Return a table whose first line is the header; `alignment` has l or r for each column."""
    rule = ["--:" if side == "r" else "---" for side in alignment]
    escaped = [[c.replace("|", "\\|") for c in line] for line in [lines[0], rule, *lines[1:]]]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def _as_latex(lines: Sequence[Sequence[str]], alignment: str) -> str:
    """Return a tabular whose first line is the header; `alignment` has l or r for each column."""
    body = [" & ".join(_escape(cell) for cell in line) + r" \\" for line in lines]
    rows = [r"\hline", body[0], r"\hline", *body[1:], r"\hline"]
    return "\n".join([rf"\begin{{tabular}}{{{alignment}}}", *rows, r"\end{tabular}", ""])


def _escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
