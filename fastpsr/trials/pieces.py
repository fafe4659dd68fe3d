"""Text files in pieces of whole lines."""

import gzip
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from fastpsr.trials.sample import Sample, broken_gzip

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Larger ones take longer: the memory of small ones is used again.
PIECE_BYTES = 1 << 23
_AT_A_TIME = 2
_AHEAD = 1 << 16  # bytes in which the end of a line is looked for

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Piece:
    """Some lines of a file.

    Attributes
    ----------
    content : bytes
        The lines; the last of the file may lack its newline.
    share : float
        Share of the file's bytes that were read by now, in (0, 1].
    lines_before : callable
        Returns how many lines of the file come before: it counts them, which few need.
    """

    content: bytes
    share: float
    lines_before: Callable[[], int]


def pieces(
    path: Path,
    sample: Sample,
    n_bytes: int | None = None,
    *,
    skipped: int = 0,
    quotes: bool = False,
) -> Iterator[Piece]:
    """Yield the lines of a file below those `skipped`, about so many bytes at a time.

    Gzip is unpacked, and a byte order mark left out. With `quotes`, a line break within quotes ends
    no line.
    """
    n_bytes = PIECE_BYTES if n_bytes is None else n_bytes

    def n_lines(n_pieces: int, more: int) -> int:
        above = islice(_contents(path, sample, n_bytes, quotes), n_pieces)
        return sum((content.count(b"\n") for content, _ in above), more)

    left = skipped
    for k, (content, share) in enumerate(_contents(path, sample, n_bytes, quotes)):
        cut = 0  # lines of this piece that are skipped
        if k == 0:
            content = content.removeprefix(_BOM)
        if left:
            start = 0
            while cut < left and start < len(content):
                start = content.find(b"\n", start) + 1 or len(content)
                cut += 1
            content, left = content[start:], left - cut
        elif content.startswith(_BOM):  # it is part of an id; polars would leave it out
            content, cut = b"\n" + content, -1
        yield Piece(content, share, partial(n_lines, k, cut))


def _contents(
    path: Path, sample: Sample, n_bytes: int, quotes: bool
) -> Iterator[tuple[bytes, float]]:
    """Yield whole lines, and the share of the file that was read by then."""
    with open(path, "rb") if sample.content is None else BytesIO(sample.content) as raw:
        size = path.stat().st_size if sample.content is None else len(sample.content)
        is_packed = sample.packed and sample.content is None
        file: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
        seekable = not (is_packed or quotes)
        for content in (
            _cut_at_lines(file, n_bytes) if seekable else _whole_lines(path, file, n_bytes, quotes)
        ):
            yield content, max(min(raw.tell() / max(size, 1), 1.0), 1e-9)


def rows_by_piece(
    pieces: Iterable[Item], heights: Sequence[int], rows: Sequence[int]
) -> Iterator[tuple[Item, dict[int, int]]]:
    """Yield the pieces that hold any of `rows`, with the place of each of these in it."""
    first = 0
    for piece, height in zip(pieces, heights, strict=False):
        inside = {row: row - first for row in rows if first <= row < first + height}
        if inside:
            yield piece, inside
        first += height
        if first > max(rows):
            return


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield what a function returns for each item in turn; a few calls run at a time."""
    running: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > _AT_A_TIME:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


def _cut_at_lines(file: BinaryIO, n_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a file whose end can be looked for ahead, so that nothing is copied."""
    begin = 0
    while True:
        end = begin + n_bytes - 1
        file.seek(end)
        while ahead := file.read(_AHEAD):
            place = ahead.find(b"\n")
            end += len(ahead) if place < 0 else place + 1
            if place >= 0:
                break
        file.seek(begin)
        content = file.read(end - begin)
        if not content:
            return
        yield content
        begin += len(content)


def _whole_lines(path: Path, file: Any, n_bytes: int, quotes: bool) -> Iterator[bytes]:
    try:
        while content := file.read(n_bytes):
            parts = [content, file.readline()]
            n_quotes = sum(part.count(b'"') for part in parts) if quotes else 0
            while n_quotes % 2 and (line := file.readline()):
                parts.append(line)
                n_quotes += line.count(b'"')
            yield b"".join(parts)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(broken_gzip(path, error)) from None
