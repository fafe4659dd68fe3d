"""Files by name, and standard input and output."""

import errno
import glob
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from fastpsr.cli.options.declaration import option
from fastpsr.cli.show import console
from fastpsr.files import STDIN, check_place

#: Options with files that are written.
Outputs = Sequence[tuple[str, Path | None]]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        help="Also write the result to this file; - for standard output, where nothing else is "
        "then.",
    ),
]
_REPORT, _TABLES = ".html", (".csv", ".json", ".md", ".tex")


@dataclass(frozen=True)
class OutputOptions:
    """Files that tables are also written to."""

    named_by = "--output"
    to_json: Json = None
    output: list[Path] | None = option(
        "Also write the table to this file, by its ending: .csv, .json, .md (Markdown), .tex "
        "(LaTeX), or .html: a report with tables and figures. May be repeated."
    )

    def __post_init__(self) -> None:
        for path in self.output or []:
            if path.suffix not in (*_TABLES, _REPORT):
                raise ValueError(
                    f"{self.named_by} must end in {', '.join(_TABLES)} or {_REPORT}, "
                    f"as {path} does not"
                    + "; --json - writes to standard output"
                    * (str(path) == "-")
                )

    @property
    def files(self) -> list[tuple[str, Path | None]]:
        """The files by the option that names them."""
        return [("--json", self.to_json), *((self.named_by, path) for path in self.output or [])]

    @property
    def tables(self) -> Outputs:
        """The files of tables."""
        return [file for file in self.files if file[1] and file[1].suffix != _REPORT]

    @property
    def reports(self) -> list[Path]:
        """The files of reports."""
        return [path for path in self.output or [] if path.suffix == _REPORT]


def written(outputs: Outputs) -> list[Path]:
    """Return the files that are written, other than standard output."""
    return [path for _, path in outputs if path is not None and str(path) != "-"]


def check_outputs(outputs: Outputs, inputs: Sequence[Path | None]) -> None:
    """Raise, before any computation, if an output cannot be written or is also another file.

    Standard input must not be read twice. For a report, its libraries must be installed.
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
    reports = [file for file in outputs if file[1] is not None and file[1].suffix == _REPORT]
    if reports:
        try:
            import fastpsr.report  # noqa: F401
        except ImportError as error:
            name, path = reports[0]
            raise ValueError(f"{name} {path}: {error}") from None


def check_written_ending(path: Path) -> None:
    """Raise unless a table can be written to a file with this extension."""
    if path.suffix not in (".npz", ".csv", ".parquet"):
        raise ValueError(f"{path} must end in .npz, .csv or .parquet to be written")


def check_inputs(inputs: Sequence[Path | None]) -> None:
    """Raise, before the first file is read, if one is not there."""
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


def from_stdin(path: Path) -> Path:
    """Return the path of standard input for "-"."""
    return STDIN if str(path) == "-" else path


def arrays_beside(*names: str | None) -> list[Path | None]:
    """Return the files among the names of labels and weights."""
    return [Path(name) for name in names if name is not None and name.endswith(".npy")]
