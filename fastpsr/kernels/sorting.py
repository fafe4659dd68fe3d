"""Scores in ascending order, and rows sorted by group."""

import numpy as np

from fastpsr.kernels.blocks import together, writable
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.types import Codes, Counts, Floats, index_type

_FEW = 1 << 14  # scores, which NumPy sorts as fast; more are sorted at the same time


def sort_in_place(*arrays: Floats) -> None:
    """Sort contiguous arrays of float64 without nan."""
    few = min(array.size for array in arrays) < _FEW
    if few or len(arrays) == 1:
        for array in arrays:
            _sort(array)
    else:
        together(*(lambda array=array: _sort(array) for array in arrays))


def _sort(array: Floats) -> None:
    if array.size < _FEW:
        array.sort()
    else:
        _sort_by_digits(array.view(np.uint64), np.empty(array.size, np.uint64))


@kernel
def _sort_by_digits(bits, spare):
    """Sort the bits of floats by their 8 digits of 8 bits, from the last digit to the first."""
    sign = np.uint64(1) << np.uint64(63)
    digit = np.uint64(0xFF)
    counts = np.zeros((8, 256), np.int64)
    for i in range(bits.size):
        key = bits[i] ^ (sign if bits[i] < sign else ~np.uint64(0))  # in the order of the floats
        bits[i] = key
        for k in range(8):
            counts[k, (key >> np.uint64(8 * k)) & digit] += 1
    here, there = bits, spare
    for k in range(8):
        shift = np.uint64(8 * k)
        next_place = counts[k]
        if next_place[(here[0] >> shift) & digit] == bits.size:  # all alike
            continue
        before = 0
        for value in range(256):
            n_here = next_place[value]
            next_place[value] = before
            before += n_here
        for i in range(bits.size):
            key = here[i]
            value = (key >> shift) & digit
            there[next_place[value]] = key
            next_place[value] += 1
        here, there = there, here
    for i in range(bits.size):
        key = here[i]
        bits[i] = key ^ (sign if key >= sign else ~np.uint64(0))


def order_by_group(groups: Codes, bounds: Counts) -> Codes:
    """Return the rows, sorted by group and in their order within; `bounds` are (G + 1,)."""
    order = np.empty(groups.size, index_type(groups.size))
    _order_by_group(writable(groups), bounds[:-1].copy(), order)
    return order


@kernel
def _order_by_group(groups, next_place, order):
    for row in range(groups.size):
        group = groups[row]
        order[next_place[group]] = row
        next_place[group] += 1
