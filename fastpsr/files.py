"""Writing files whole or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["check_place", "whole_file"]

_LONGEST_ENDING = 16  # more is no ending that a writer knows, and may not fit a temporary name


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise where no file can be written: before the work rather than after it."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder for the file", str(path))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path beside `path` to write to; move it there if the block ends well, else delete it.

    The ending stays, since writers go by it. A link stays too: what it points to is written. A pipe
    or a device is written to as it is.
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
