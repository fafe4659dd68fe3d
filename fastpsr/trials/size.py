"""The memory that trials take, before they are read."""

import zlib
from collections.abc import Sequence
from pathlib import Path

from fastpsr.files import can_be_read_again
from fastpsr.trials.detect import first_look

_BYTES_PER_TRIAL = 100  # of short ids in the key's order; others take more, up to about 300
_PACKED_BYTES = 1 << 20  # that show how well a file is packed


def least_memory(keys: Sequence[Path]) -> int:
    """Return about how many bytes the trials of keys and their scores take at least.

    Only text counts, which is not from a pipe: what else there is is 0.
    """
    return round(sum(map(_n_lines, keys)) * _BYTES_PER_TRIAL)


def _n_lines(path: Path) -> float:
    """Return about how many lines a file of text has, by its size and its first lines."""
    if not can_be_read_again(path):
        return 0.0
    sample = first_look(path)
    if sample.kind != "text":
        return 0.0
    n_bytes = path.stat().st_size * (_unpacked_share(path) if sample.packed else 1.0)
    return n_bytes * len(sample.lines) / sum(len(line.encode()) + 1 for line in sample.lines)


def _unpacked_share(path: Path) -> float:
    """Return how much larger the content is than the gzip file."""
    with path.open("rb") as file:
        packed = file.read(_PACKED_BYTES)
    unpacking = zlib.decompressobj(wbits=31)
    try:
        n_bytes = len(unpacking.decompress(packed))
    except zlib.error:  # damaged, as is said where it is read
        return 1.0
    return n_bytes / (len(packed) - len(unpacking.unused_data))
