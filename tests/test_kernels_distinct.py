"""Whether numbers are all different, against a set of them."""

import numpy as np
import pytest

from fastpsr import kernels
from fastpsr.kernels import distinct
from tests import reference

MOST = 2**64 - 1
FACTOR = int(distinct._FACTOR)
INVERSE = pow(FACTOR, -1, 2**64)


def random(n, seed=0):
    return np.random.default_rng(seed).integers(MOST, size=n, dtype=np.uint64, endpoint=True)


def numbers_of(products):
    """Return the numbers whose products with the kernel's factor these are."""
    return [product * INVERSE % 2**64 for product in products]


NUMBERS = {
    "none": [],
    "zero": [0],
    "extremes": [0, MOST, 1, MOST - 1, 2**63],
    "complements": [*range(200), *(MOST - k for k in range(200))],
    "consecutive": range(3000),
    "multiples": range(0, 2**63, 2**53),
    "random": random(3000).tolist(),
    "one part, one place": numbers_of(range(300)),
    "the last place": numbers_of(MOST - k for k in range(300)),
}
SIZES = sorted({max(2**k + d, 0) for k in (0, 1, 2, 3, 6, 10) for d in (-1, 0, 1)})


def check(numbers):
    array = np.array(numbers, np.uint64)
    array.flags.writeable = False
    assert kernels.all_distinct(array) is reference.all_distinct(numbers)


@pytest.fixture(params=[2, distinct._PART], autouse=True)
def numbers_in_a_part(request, monkeypatch):
    monkeypatch.setattr(distinct, "_PART", request.param)


@pytest.mark.parametrize("name", NUMBERS)
def test_distinct_numbers_and_one_repeat(name):
    numbers = [*NUMBERS[name]]
    check(numbers)
    for repeated in {*numbers[:1], *numbers[-1:], *numbers[len(numbers) // 2 :][:1]}:
        check([*numbers, repeated])
        check([repeated, *numbers])


def test_sizes_around_powers_of_two():
    for n in SIZES:
        numbers = random(n, seed=n).tolist()
        check(numbers)
        check(numbers[:-1] + numbers[:1])
        check([7] * n)


def test_equal_zeros_and_equal_extremes():
    for number in (0, MOST, 2**63, INVERSE, FACTOR):
        check([number] * 2)
        check([number] * 1000)
        check([*random(500).tolist(), number, *random(500, seed=1).tolist()])


def test_random_numbers_with_and_without_repeats():
    for n_kinds in (1, 50, 10**6, 2**63):
        for n in (10, 1500):
            check(np.random.default_rng(n).integers(n_kinds, size=n).tolist())
