"""Tables as text: JSON, CSV, Markdown, LaTeX."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastpsr.files import whole_file
from fastpsr.strict_json import strict

__all__ = ["Makers", "as_csv", "as_json", "as_latex", "as_markdown", "write_tables"]

#: What makes the text of a file, by the option that names the file.
Makers = Mapping[str, Callable[[], str]]


def write_tables(outputs: Mapping[str, Path | None], makers: Makers) -> None:
    """Write a file for each option that names one, each whole or not at all."""
    for option, path in outputs.items():
        if path is not None:
            with whole_file(path) as part:
                part.write_text(makers[option](), "utf-8")


def as_json(content: Any) -> str:
    """Return JSON as the standard has it: null for nan, words for infinities."""
    return json.dumps(strict(content), indent=1, allow_nan=False) + "\n"


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return a line per record, under the names."""
    import polars

    return polars.DataFrame(records, infer_schema_length=None).write_csv()


def as_markdown(lines: Sequence[Sequence[str]], alignment: str) -> str:
    """Return a table whose first line is the header; `alignment` has l or r for each column."""
    rule = ["--:" if side == "r" else "---" for side in alignment]
    escaped = [[c.replace("|", "\\|") for c in line] for line in [lines[0], rule, *lines[1:]]]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def as_latex(lines: Sequence[Sequence[str]], alignment: str) -> str:
    """Return a tabular whose first line is the header; `alignment` has l or r for each column."""
    body = [" & ".join(_escape(cell) for cell in line) + r" \\" for line in lines]
    rows = [r"\hline", body[0], r"\hline", *body[1:], r"\hline"]
    return "\n".join([rf"\begin{{tabular}}{{{alignment}}}", *rows, r"\end{tabular}", ""])


def _escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
