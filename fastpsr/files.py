"""Writing files whole or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["check_place", "whole_file"]


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise where no file can be written: before the work rather than after it."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder for the file", str(target))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path beside `path` to write to; move it there if the block ends well, else delete it.

    The ending stays, since writers go by it. A pipe or a device is written to as it is.
    """
    target = Path(path)
    check_place(target)
    if target.exists() and not target.is_file():
        yield target
        return
    part = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.part{target.suffix}")
    try:
        yield part
        os.replace(part, target)
    except OSError as error:  # name the file that the user knows
        raise OSError(
            error.errno or errno.EIO, error.strerror or str(error), str(target)
        ) from error
    finally:
        part.unlink(missing_ok=True)
