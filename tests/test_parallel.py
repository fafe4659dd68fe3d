"""`fp.threads`: how many threads kernels run on, nested, after errors, and from several threads."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.kernels import blocks
from tests import everything


@pytest.fixture(autouse=True)
def four(monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "4")
    monkeypatch.setattr(blocks, "_pool", None)  # one for four threads


def n_used():
    """How many parts a large piece of work is cut into, and how many threads take them."""
    parts, taken = [], set()
    together = threading.Barrier(blocks.thread_count())

    def part(first, last):
        together.wait(30)  # all parts are under way at the same time
        parts.append((first, last))
        taken.add(threading.get_ident())

    blocks.over_blocks(part, 1_000)
    assert len(parts) == len(taken)
    return len(parts)


@pytest.mark.parametrize("n", [1, 2, 3, 4, np.int32(2)])
def test_work_is_done_by_so_many_threads(n):
    assert n_used() == 4
    with fp.threads(n):
        assert n_used() == n
    assert n_used() == 4


def test_a_block_of_few_threads_does_not_limit_later_ones():
    with fp.threads(2):
        assert n_used() == 2
    assert n_used() == 4


def test_nested_blocks():
    with fp.threads(2):
        with fp.threads(3):
            assert n_used() == 3
        assert n_used() == 2
    assert n_used() == 4


def test_the_number_is_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), fp.threads(1):
        1 / 0  # noqa: B018
    assert n_used() == 4


def test_each_thread_has_its_own_number():
    barrier = threading.Barrier(3)

    def call(n):
        with fp.threads(n):
            barrier.wait(30)  # all are inside
            return n_used()

    with fp.threads(4), ThreadPoolExecutor(3) as pool:
        found = [pool.submit(call, n) for n in (1, 1, 2)]
        assert [each.result(60) for each in found] == [1, 1, 2]
        assert n_used() == 4


def test_each_task_of_asyncio_has_its_own_number():
    async def call(n, inside):
        with fp.threads(n):
            await inside.wait()
            return blocks.thread_count()

    async def both():
        inside = asyncio.Barrier(2)
        return await asyncio.gather(call(1, inside), call(2, inside))

    assert asyncio.run(both()) == [1, 2]


def test_parts_that_are_read_ahead_have_the_number_of_the_caller():
    counts = []

    def part(k):
        counts.append(blocks.thread_count())
        return everything.binary(500, seed=k)

    data = fp.from_parts([lambda k=k: part(k) for k in range(4)])
    with fp.threads(2):
        fp.CrossEntropy()(data)
    assert set(counts[1:]) == {2}  # the first is also looked at outside


def test_results_have_the_same_bits():
    def values():
        data = everything.binary(60_001)
        drawn = fp.bootstrap(fp.BrierScore(), data, n_resamples=40, seed=1).replicates
        units = fp.bootstrap(
            fp.EER(), data, n_resamples=40, seed=1, resampling=fp.Clusters(np.arange(60_001) // 9)
        )
        fits = fp.cross_fit(fp.DirectionPreserving(), data).scores
        return [drawn.tobytes(), units.replicates.tobytes(), fits.tobytes(), fp.ECE()(data)]

    expected = values()
    for n in (1, 3):
        with fp.threads(n):
            assert values() == expected


@pytest.mark.parametrize("n", [0, -1, 1.0, True, "2", None])
def test_numbers_that_are_none(n):
    with pytest.raises(fp.ArgumentError, match=f"^n must be an integer of at least 1, not {n!r}$"):
        fp.threads(n)


def test_more_threads_than_there_are():
    message = r"^n must be at most 4, .* not 5: set the environment variable FASTPSR_NUM_THREADS"
    with pytest.raises(fp.ArgumentError, match=message):
        fp.threads(5)
    assert n_used() == 4


def test_the_limit_is_the_number_of_processors(monkeypatch):
    monkeypatch.delenv("FASTPSR_NUM_THREADS")
    most = blocks.thread_count()
    with fp.threads(most):
        assert blocks.thread_count() == most
    with pytest.raises(fp.ArgumentError, match=f"at most {most}, "):
        fp.threads(most + 1)
