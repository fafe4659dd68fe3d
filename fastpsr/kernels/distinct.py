"""Search for equal numbers among very many."""

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import writable
from fastpsr.kernels.compiler import kernel

__all__ = ["all_distinct"]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_PART = 1 << 15  # numbers; their table stays in the second-level cache


def all_distinct(numbers: NDArray[np.uint64]) -> bool:
    """Return whether no number of 64 bits occurs twice."""
    n_bits = max(1, int(numbers.size // _PART).bit_length())
    return bool(_all_distinct(writable(numbers), n_bits))


@kernel
def _all_distinct(numbers, n_bits):
    """Deal products with an odd factor, which differ where numbers do, by their first bits.

    Those of a part are put into a table, from the place that the next bits say.
    """
    by_part = np.uint64(64 - n_bits)
    ends = np.zeros((1 << n_bits) + 1, np.int64)
    for number in numbers:
        ends[np.int64((number * _FACTOR) >> by_part) + 1] += 1
    most = 0
    for part in range(1 << n_bits):
        most = max(most, ends[part + 1])
        ends[part + 1] += ends[part]
    products = np.empty(numbers.size, np.uint64)
    for number in numbers:
        product = number * _FACTOR
        part = np.int64(product >> by_part)  # until all are dealt, its end is that of those dealt
        products[ends[part]] = product
        ends[part] += 1
    table_bits = 1
    while 1 << table_bits < 2 * most:
        table_bits += 1
    table = np.empty(1 << table_bits, np.uint64)
    by_place, last_place = np.uint64(64 - table_bits), np.int64(table.size - 1)
    begin = 0
    for end in ends[:-1]:
        if begin < end:
            vacant = ~products[begin]  # it begins with other bits, so it is not in this part
            for place in range(table.size):
                table[place] = vacant
        for product in products[begin:end]:
            place = np.int64((product << np.uint64(n_bits)) >> by_place)
            while table[place] != vacant:
                if table[place] == product:
                    return False
                place = (place + 1) & last_place
            table[place] = product
        begin = end
    return True
