"""The beginning of a file: its kind and its first lines."""

import codecs
import errno
import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from fastpsr.files import STDIN, can_be_read_again

_SIZE = 1 << 16
_MOST_LINES = 500
_PACKED = 4  # how much larger text is than its gzip file, at least about
_GZIP = b"\x1f\x8b"
_PACKERS = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_BINARY = {b"PAR1": "Parquet", b"PK\x03\x04": "npz", b"\x89HDF\r\n\x1a\n": "HDF5"}


@dataclass(frozen=True)
class Sample:
    """The beginning of a file.

    Attributes
    ----------
    kind : {"text", "Parquet", "npz", "HDF5"}
    packed : bool
        Whether the file is compressed by gzip.
    lines : tuple of str
        First lines that are not blank, for text.
    numbers : tuple of int
        Their line numbers, from 1.
    content : bytes or None
        All of what came through a pipe, which can be read only once, or was UTF-16; as UTF-8.
    """

    kind: str
    packed: bool
    lines: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    content: bytes | None = None


def look(path: Path) -> Sample:
    """Look at the beginning of a file; errors say what is wrong with it as a whole."""
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
    packed = head.startswith(_GZIP)
    if packed:
        content = content and _unpacked(path, BytesIO(content))
        head = _unpacked(path, path, _SIZE) if content is None else content[:_SIZE]
    for magic, kind in _BINARY.items():
        if head.startswith(magic):
            if packed:
                raise ValueError(f"{path}: only text can be read through gzip, not {kind}")
            if content is not None:
                raise ValueError(f"{path} must be a regular file: {kind} is not read from a pipe")
            return Sample(kind, packed)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if content is None:
            content = _unpacked(path, path) if packed else path.read_bytes()
        content = _utf8(path, content)
        head = content[:_SIZE]
    if b"\0" in head:
        known = ", ".join(["gzip", *_BINARY.values()])
        raise ValueError(
            f"{path}: this is neither text nor a file of a known kind ({known}): write it as text"
        )
    whole_lines = head if len(head) < _SIZE else head[: head.rfind(b"\n") + 1] or head
    text = whole_lines.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if any("\r" in line for line in lines):
        raise ValueError(f"{path}: lines must end in LF or CRLF, not in CR alone")
    if len(head) >= _SIZE and b"\n" not in head:
        raise ValueError(f"{path}: the first line has {_SIZE:,} bytes or more: leave out columns")
    numbers = [k + 1 for k, line in enumerate(lines) if line.strip(" \t")][:_MOST_LINES]
    if not numbers:
        raise ValueError(f"{path}: the file is empty: write it again")
    first = tuple(lines[k - 1] for k in numbers)
    return Sample("text", packed, first, tuple(numbers), content)


def estimated_lines(path: Path) -> float:
    """Return about how many lines a text file has, by its size; 0 for a pipe or a binary file."""
    if not can_be_read_again(path):
        return 0.0
    sample = look(path)
    if sample.kind != "text":
        return 0.0
    n_bytes = path.stat().st_size * (_PACKED if sample.packed else 1)
    return n_bytes * len(sample.lines) / sum(len(line.encode()) + 1 for line in sample.lines)


def _unpacked(path: Path, packed: Path | BytesIO, size: int = -1) -> bytes:
    """Return the text of a gzip file, or its beginning; raise if it is damaged up to there."""
    with whole_gzip(path), gzip.open(packed) as file:
        return file.read(size)


def _utf8(path: Path, content: bytes) -> bytes:
    """Return text in UTF-16, which begins with its byte order mark, as UTF-8."""
    try:
        return content.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: the text is no UTF-16 at byte {error.start:,}, as its first bytes say: copy "
            "it again"
        ) from None


@contextmanager
def whole_gzip(path: Path) -> Iterator[None]:
    """Raise that a gzip file is damaged, with its path."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path}: the gzip file is cut short or damaged ({error}): copy it again"
        ) from None
