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
from typing import Annotated

import typer

from fastpsr.cli.options.panels import FILES, of
from fastpsr.cli.show import console
from fastpsr.files import STDIN, check_place

Report = Annotated[
    Path | None,
    typer.Option(
        "--report", help="Also write an HTML report with tables and figures to this file."
    ),
]
_TABLE = "Also write the table to this file; - for standard output, where nothing else is then."


@dataclass(frozen=True)
class OutputOptions:
    """Files that tables are also written to."""

    to_json: Annotated[Path | None, typer.Option("--json", help=_TABLE)] = None
    to_csv: Annotated[Path | None, typer.Option("--csv", help=_TABLE)] = None
    to_markdown: Annotated[Path | None, of(FILES, _TABLE, "--markdown")] = None
    to_latex: Annotated[Path | None, of(FILES, _TABLE, "--latex")] = None

    @property
    def files(self) -> dict[str, Path | None]:
        """The files by the option that names them."""
        return {
            "--json": self.to_json,
            "--csv": self.to_csv,
            "--markdown": self.to_markdown,
            "--latex": self.to_latex,
        }

    @property
    def written(self) -> list[Path]:
        """The files that are written, other than standard output."""
        return [path for path in self.files.values() if path is not None and str(path) != "-"]


def check_outputs(outputs: dict[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Raise, before any computation, if an output cannot be written or is also another file.

    Standard input must not be read twice.
    """
    console.stderr = any(str(path) == "-" for path in outputs.values())  # that alone on stdout
    if sum(path is not None and _is_stdin(path) for path in inputs) > 1:
        raise ValueError("standard input (-) can be read once, but several files are it: save it")
    taken = {path.resolve(): "an input" for path in inputs if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        check_place(path)
        other = taken.setdefault(path.resolve(), option)
        if other != option:
            raise ValueError(f"{option} must not be {other} too: {path}")


def check_written_ending(path: Path) -> None:
    """Raise unless a table can be written to a file with this extension."""
    if path.suffix not in (".npz", ".csv", ".parquet"):
        raise ValueError(f"{path} must end in .npz, .csv or .parquet to be written")


def check_inputs(inputs: Sequence[Path | None]) -> None:
    """Raise, before the first file is read, if one is not there."""
    for path in inputs:
        if not (path is None or _is_stdin(path) or path.exists() or glob.has_magic(str(path))):
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


def named_files(paths: Sequence[Path], what: str = "--scores") -> dict[Path, str | None]:
    """Return files by path with the names that NAME=FILE gives them; a file of that name wins.

    `what` is the option or argument that names the files.
    """
    found: dict[Path, str | None] = {}
    for path in paths:
        name, equals, file = str(path).partition("=")
        own = None if path.exists() or not (equals and name and file) else name
        place = from_stdin(path if own is None else Path(file))
        if any(place.resolve() == other.resolve() for other in found):
            raise ValueError(f"{what} must name each file once, but names {place} again")
        if own is not None and own in found.values():
            raise ValueError(f"{what} must give each file a name of its own, not {own} twice")
        found[place] = own
    return found


def from_stdin(path: Path) -> Path:
    """Return the path of standard input for "-"."""
    return STDIN if str(path) == "-" else path


def _is_stdin(path: Path) -> bool:
    """Whether a file is standard input."""
    return path == STDIN


def arrays_beside(*names: str | None) -> list[Path | None]:
    """Return the files among the names of labels and weights."""
    return [Path(name) for name in names if name is not None and name.endswith(".npy")]
