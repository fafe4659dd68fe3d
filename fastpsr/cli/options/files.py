"""Files by name, and standard input and output."""

import errno
import glob
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from fastpsr.cli.options.declaration import FILES, declared, option
from fastpsr.cli.show import console
from fastpsr.files import STDIN, check_place, ending_of

#: Options with files that are written.
Outputs = Sequence[tuple[str, Path | None]]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Also write the result to this file; - for standard output, and nothing else there.",
    ),
]


class Base(StrEnum):
    """Bases of logarithms."""

    E = "e"
    TEN = "10"

    @property
    def unit(self) -> float:
        """The natural logarithm of the base, which natural logarithms are divided by."""
        return math.log(10.0) if self is Base.TEN else 1.0

    @property
    def number(self) -> int | None:
        """10, or None for natural logarithms, as arguments of the library have it."""
        return 10 if self is Base.TEN else None

    @property
    def logarithm(self) -> str:
        """The name of such logarithms."""
        return "base-10 logarithm" if self is Base.TEN else "natural logarithm"


LogBase = Annotated[
    Base,
    declared(
        "Base of the logarithms that are written and shown, such as LLRs; those of saved "
        "calibrators and fusions stay natural, and --scores-are names those that are read.",
        "--base",
        panel=FILES,
    ),
]
_REPORT, _TABLES = ".html", (".csv", ".json", ".md", ".tex")


def _parse_tables(name: str, paths: Sequence[Path] | None) -> Outputs:
    """Return files of tables and reports with the option; raise for other endings."""
    for path in paths or []:
        if ending_of(path) not in (*_TABLES, _REPORT):
            hint = "; --json - writes to standard output" * (str(path) == "-")
            raise ValueError(
                f"{name} must end in {', '.join(_TABLES)} or {_REPORT}, as {path} does not{hint}"
            )
    return [(name, path) for path in paths or []]


def is_report(path: Path) -> bool:
    """Whether a file is a report, judged by its ending."""
    return ending_of(path) == _REPORT


_HELP = (
    "Also write the table to this file, by its ending: .csv, .json, .md (Markdown), .tex (LaTeX), "
    "or .html: a report with tables and figures. May be repeated."
)
_FILES: Any = list[Path] | None


@dataclass(frozen=True)
class OutputOptions:
    """Files that tables are also written to."""

    to_json: Json = None
    tables: Outputs = option(
        _HELP, "--output", type=_FILES, parse=partial(_parse_tables, "--output")
    )

    @property
    def files(self) -> Outputs:
        """The files by the option that names them."""
        return [("--json", self.to_json), *self.tables]

    @property
    def reports(self) -> list[Path]:
        """The files of reports."""
        return [path for _, path in self.tables if path is not None and is_report(path)]


@dataclass(frozen=True)
class TableOutputOptions(OutputOptions):
    """Outputs of a command whose --output is for scores."""

    tables: Outputs = option(_HELP, "--table", type=_FILES, parse=partial(_parse_tables, "--table"))


def check_files(inputs: Sequence[Path | None], outputs: Outputs = ()) -> None:
    """Raise, before any computation, if an input is not there, or an output cannot be written.

    An output must not be another file too, and standard input must not be read twice. For a
    report, its libraries must be installed.
    """
    console.stderr = any(str(path) == "-" for _, path in outputs)  # that alone on stdout
    if sum(path == STDIN for path in inputs) > 1:
        raise ValueError("standard input (-) can be read once, but several files are it: save it")
    names = {path.resolve(): "an input" for path in inputs if path is not None}
    for name, path in outputs:
        if path is None:
            continue
        check_place(path)
        if path.resolve() in names:
            raise ValueError(f"{name} must not be {names[path.resolve()]} too: {path}")
        names[path.resolve()] = name
        if is_report(path):
            try:
                import fastpsr.report  # noqa: F401
            except ImportError as error:
                raise ValueError(f"{name} {path}: {error}") from None
    for path in inputs:
        if not (path is None or path == STDIN or path.exists() or glob.has_magic(str(path))):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


@contextmanager
def to_stdout(path: Path) -> Iterator[Path]:
    """Yield a file to write: for "-" one whose content goes to standard output after the block."""
    if str(path) != "-":
        yield path
        return
    with TemporaryDirectory() as folder:
        yield Path(folder, "output")
        sys.stdout.flush()
        sys.stdout.buffer.write(Path(folder, "output").read_bytes())
        sys.stdout.buffer.flush()


def write_fitted(fitted: Any, path: Path, scales: Sequence[str]) -> None:
    """Save a calibrator with what the scores of its systems were, and print so."""
    from fastpsr.calibration.files import write_calibrator

    with to_stdout(path) as target:
        write_calibrator(fitted, target, scales)
    console.print(f"{path}: fitted {type(fitted).__name__}")


def named_files(paths: Sequence[Path], what: str = "--scores") -> dict[Path, str | None]:
    """Return files by path with the names that NAME=FILE gives them; a file of that name wins.

    `what` is the option or argument that names the files.
    """
    named: dict[Path, str | None] = {}
    for path in paths:
        name, equals, file = str(path).partition("=")
        own = None if path.exists() or not (equals and name and file) else name
        place = from_stdin(path if own is None else Path(file))
        if any(place.resolve() == other.resolve() for other in named):
            raise ValueError(f"{what} must name each file once, but names {place} again")
        if own is not None and own in named.values():
            raise ValueError(f"{what} must give each file a name of its own, not {own} twice")
        named[place] = own
    return named


def from_stdin(path: Any) -> Any:
    """Return the path of standard input for "-"."""
    return STDIN if str(path) == "-" else path


def arrays_beside(*names: str | None) -> list[Path | None]:
    """Return the files among the names of labels and weights."""
    return [Path(name) for name in names if name is not None and name.endswith(".npy")]
