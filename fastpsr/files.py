"""Names of files and their endings, and atomic writing."""

import errno
import glob
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

STDIN = Path("/dev/stdin")  # its name here, also where there is no such file
_LONGEST_ENDING = 16  # longer file extensions are unknown, and may not fit in a temporary name
#: Endings of tables that are read, those that are written, and how messages list the former.
PARQUET, TEXT = (".parquet", ".pq"), (".csv", ".tsv", ".csv.gz", ".tsv.gz")
WRITTEN = (".npz", ".csv", ".parquet")
LISTED = ".npz, .npy, .csv, .tsv or .parquet"


def ending_of(path: Path) -> str:
    """Return the ending of a file in small letters, with that before .gz.

    Examples
    --------
    >>> ending_of(Path("a.b.CSV")), ending_of(Path("a.tsv.gz"))
    ('.csv', '.tsv.gz')
    """
    ending = path.suffix.lower()
    return path.with_suffix("").suffix.lower() + ending if ending == ".gz" else ending


def is_table(path: Path) -> bool:
    """Whether a file is a table of scores, judged by its ending; trials may have the same."""
    return ending_of(path) in (".npz", ".npy", *PARQUET, *TEXT)


def check_written_ending(path: Path, more: str = "") -> None:
    """Raise unless a table can be written to a file with this ending; `more` ends the message."""
    if ending_of(path) not in WRITTEN:
        *endings, last = WRITTEN
        raise ValueError(f"{path} must end in {', '.join(endings)} or {last} to be written{more}")


def check_names(names: Iterable[str]) -> None:
    """Raise if a name is no text in the encoding of file names: libraries need such text."""
    for name in names:
        if not name.isascii() and any("\udc80" <= character <= "\udcff" for character in name):
            encoding = sys.getfilesystemencoding()
            escaped = ascii(name.encode(encoding, "surrogateescape"))[1:]
            remedy = "rename the file" if encoding == "utf-8" else "set PYTHONUTF8=1"
            raise ValueError(f"names must be text in {encoding}, but {escaped} is none: {remedy}")


def files_of(path: str) -> list[str]:
    """Return the files that a path, a folder of Parquet files or a pattern means, in order."""
    if os.path.isdir(path):
        names = glob.glob(os.path.join(glob.escape(path), "**", "*.*"), recursive=True)
        return sorted(name for name in names if ending_of(Path(name)) in PARQUET)
    return [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))


def can_be_read_again(path: Path) -> bool:
    """Whether a file is read from its beginning each time: no pipe, and no standard input.

    Linux opens a file anew that is redirected to standard input, other systems go on in it.
    """
    return path.is_file() and (path != STDIN or sys.platform == "linux")


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise if the file cannot be written; called before a long computation."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder for the file", str(path))
    if (target.is_file() or not target.exists()) and not os.access(target.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "No permission to write in the folder of", str(path))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and move it to `path` if the block succeeds.

    After an error the temporary file is deleted. It has the same extension, which determines the
    format for some writers. If `path` is a link, its target is replaced. Pipes and devices are
    written directly.
    """
    check_place(path)
    given = Path(path)
    if given.exists() and not given.is_file():
        yield given
        return
    target = Path(os.path.realpath(path))
    ending = target.suffix if len(target.suffix) <= _LONGEST_ENDING else ""
    part = target.with_name(f".{os.urandom(8).hex()}.part{ending}")
    try:
        yield part
        os.replace(part, target)
    except OSError as error:  # name the file that the user knows
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of text as `whole_file` does: the same bytes on all systems."""
    with whole_file(path) as part:
        part.write_text(text, "utf-8", newline="\n")
