"""The beginning of a file: its type and its first lines."""

import errno
import gzip
import re
import sys
import zlib
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from fastpsr.files import STDIN, can_be_read_again

_SIZE = 1 << 16
_MOST_LINES = 500
_PACKERS = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class Sample:
    """The beginning of a file.

    Attributes
    ----------
    kind : str
        "text", or what the first bytes say.
    packed : bool
        Whether the file is compressed by gzip.
    lines : tuple of str
        First lines that are not blank, for text.
    numbers : tuple of int
        Their line numbers, from 1.
    content : bytes or None
        All of what came through a pipe, which can be read only once.
    """

    kind: str
    packed: bool
    lines: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    content: bytes | None = None


def look(path: Path, kinds: Mapping[bytes, str]) -> Sample:
    """Look at the beginning of a file; errors say what is wrong with it as a whole.

    `kinds` are those of binary files, by their first bytes.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "This is a folder, name a file in it", str(path))
    is_held = not can_be_read_again(path)
    is_stdin = is_held and path == STDIN
    with nullcontext(sys.stdin.buffer) if is_stdin else open(path, "rb") as file:
        content = file.read() if is_held else None
        head = file.read(_SIZE) if content is None else content[:_SIZE]
    for magic, packer in _PACKERS.items():
        if head.startswith(magic):
            raise ValueError(
                f"{path}: the file is packed by {packer}, and only gzip is read: unpack it"
            )
    packed = head.startswith(b"\x1f\x8b")
    if packed and content is not None:
        content = _unpacked(path, BytesIO(content))
        head = content[:_SIZE]
    elif packed:
        head = _unpacked(path, path, _SIZE)
    for magic, kind in kinds.items():
        if head.startswith(magic):
            if packed:
                raise ValueError(f"{path}: only text can be read through gzip, not {kind}")
            if content is not None:
                raise ValueError(f"{path} must be a regular file: {kind} is not read from a pipe")
            return Sample(kind, packed)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{path}: the text must be UTF-8, not UTF-16: convert it")
    if b"\0" in head:
        known = ", ".join(["gzip", *kinds.values()])
        raise ValueError(
            f"{path}: this is neither text nor a file of a known kind ({known}): write it as text"
        )
    whole_lines = head if len(head) < _SIZE else head[: head.rfind(b"\n") + 1] or head
    text = whole_lines.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if any("\r" in line for line in lines):
        raise ValueError(f"{path}: lines must end in LF or CRLF, not in CR alone")
    numbers = [k + 1 for k, line in enumerate(lines) if line.strip(" \t")][:_MOST_LINES]
    if not numbers:
        raise ValueError(f"{path}: the file is empty: write it again")
    first = tuple(lines[k - 1] for k in numbers)
    return Sample("text", packed, first, tuple(numbers), content)


def fields_of(line: str) -> list[str]:
    """Return what runs of blanks and tabs separate; other kinds of space are part of an id."""
    return re.split("[ \t]+", line.strip(" \t\r"))


def _unpacked(path: Path, packed: Path | BytesIO, size: int = -1) -> bytes:
    """Return the text of a gzip file, or its beginning; raise if it is damaged up to there."""
    try:
        with gzip.open(packed) as file:
            return file.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(broken_gzip(path, error)) from None


def broken_gzip(path: Path, error: Exception) -> str:
    """Say what is wrong with a gzip file."""
    return f"{path}: the gzip file is cut short or damaged ({error}): copy it again"
