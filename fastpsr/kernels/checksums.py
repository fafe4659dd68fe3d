"""Numbers that tell whether arrays are the same, in the same order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.random import STEP, mixed

_FACTOR = np.uint64(0x9FB21C651E98DF25)
_S29 = np.uint64(29)


def checksum(*arrays: NDArray[Any]) -> int:
    """Return 64 bits that change with any value of the arrays, and with their order."""
    total = 0
    for array in arrays:
        bytes_ = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        n_words = bytes_.size // 8
        of_blocks = np.empty(count_blocks(n_words), np.uint64)
        words = bytes_[: 8 * n_words].view(np.uint64)
        over_blocks(_hash_blocks, of_blocks.size, words, of_blocks)
        rest = int.from_bytes(bytes_[8 * n_words :].tobytes(), "little")
        for value in (bytes_.size, rest, int(of_blocks.sum())):
            total = (total * 0x9E3779B97F4A7C15 + value + 1) % (1 << 64)
            total ^= total >> 31
    return total


@kernel
def _hash_blocks(first, last, words, out):
    for block in range(first, last):
        start = block * BLOCK
        stop = min(start + BLOCK, words.size)
        a = mixed(np.uint64(block) + STEP)
        b, c, d = mixed(a), mixed(a + STEP), mixed(a ^ STEP)
        whole = start + (stop - start) // 4 * 4
        for i in range(start, whole, 4):  # four at a time, which need not wait for one another
            a = (a ^ words[i]) * _FACTOR
            b = (b ^ words[i + 1]) * _FACTOR
            c = (c ^ words[i + 2]) * _FACTOR
            d = (d ^ words[i + 3]) * _FACTOR
            a ^= a >> _S29
            b ^= b >> _S29
            c ^= c >> _S29
            d ^= d >> _S29
        for i in range(whole, stop):
            a = (a ^ words[i]) * _FACTOR
            a ^= a >> _S29
        out[block] = mixed(a + mixed(b + mixed(c + mixed(d))))
