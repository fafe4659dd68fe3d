"""Kernels run in blocks on as many threads as `fp.threads` or the environment says."""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.kernels import blocks
from tests.contract.comparison import outcome


@pytest.fixture(autouse=True)
def four(monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "4")
    monkeypatch.setattr(blocks, "_pool", None)  # one for four threads


@pytest.mark.parametrize("threads", [1, 3, 64])
@pytest.mark.parametrize("n_blocks", [0, 1, 7, 16, 17, 24, 1_000])
def test_each_block_is_processed_once(monkeypatch, threads, n_blocks):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", str(threads))
    parts = []

    def part(first, last, *options):
        assert options == ("a", 1)
        parts.append((first, last))

    blocks.over_blocks(part, n_blocks, "a", 1)
    covered = [block for first, last in sorted(parts) for block in range(first, last)]
    assert covered == list(range(n_blocks))
    assert len(parts) == max(1, min(threads, n_blocks // 8))


@pytest.mark.parametrize("failing", [{0}, {3}, {0, 2}, {0, 1, 2, 3}])
def test_errors_reach_the_caller_after_all_parts_are_done(failing):
    done = []
    together = threading.Barrier(4)

    def part(first, last):
        together.wait(30)
        if first // 8 in failing:
            raise ZeroDivisionError(f"part {first // 8}")
        done.append(first // 8)

    with pytest.raises(ZeroDivisionError, match=f"part {min(failing)}"):
        blocks.over_blocks(part, 32)
    assert set(done) == {0, 1, 2, 3} - failing


def n_used():
    """Return into how many parts a large piece of work is cut, all under way at a time."""
    taken = set()
    together = threading.Barrier(blocks.thread_count())

    def part(first, last):
        together.wait(30)
        taken.add(threading.get_ident())

    blocks.over_blocks(part, 1_000)
    return len(taken)


def test_threads_of_a_context_are_used_in_it_alone():
    for n in (1, 2, 4, np.int32(3)):
        with fp.threads(n):
            assert n_used() == n
            with fp.threads(2):
                assert n_used() == 2
            assert n_used() == n
        assert n_used() == 4
    with pytest.raises(ZeroDivisionError), fp.threads(1):
        1 / 0  # noqa: B018
    assert n_used() == 4


def test_each_thread_and_task_has_its_own_number():
    barrier = threading.Barrier(3)

    def call(n):
        with fp.threads(n):
            barrier.wait(30)  # all are inside
            return n_used()

    with fp.threads(4), ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(call, n) for n in (1, 1, 2)]
        assert [each.result(60) for each in calls] == [1, 1, 2]
        assert n_used() == 4

    async def task(n, inside):
        with fp.threads(n):
            await inside.wait()
            return blocks.thread_count()

    async def both():
        inside = asyncio.Barrier(2)
        return await asyncio.gather(task(1, inside), task(2, inside))

    assert asyncio.run(both()) == [1, 2]


def test_parts_that_are_read_ahead_have_the_number_of_the_caller():
    counts = []

    def part(k):
        counts.append(blocks.thread_count())
        return fp.Predictions.from_llrs([0, 1], [0.5 * k, 1.0])

    data = fp.from_parts([lambda k=k: part(k) for k in range(4)])
    with fp.threads(2):
        fp.CrossEntropy()(data)
    assert set(counts[1:]) == {2}  # the first is also looked at outside


def test_numbers_of_threads_are_checked(monkeypatch):
    for n in (0, -1, 1.0, True, "2", None, 5):
        assert outcome(fp.threads, n).argument == "n"
    assert "FASTPSR_NUM_THREADS" in str(outcome(fp.threads, 5))
    for text in ("0", "-1", "two", "1.5", " ", "1e3", "²"):
        monkeypatch.setenv("FASTPSR_NUM_THREADS", text)
        assert repr(text) in str(outcome(fp.CrossEntropy(), [0, 1], [0.25, 0.5]))
    for default in ("", None):
        if default is None:
            monkeypatch.delenv("FASTPSR_NUM_THREADS")
        else:
            monkeypatch.setenv("FASTPSR_NUM_THREADS", default)
        most = blocks.thread_count()
        assert 1 <= most <= os.cpu_count()
        with fp.threads(most):
            assert blocks.thread_count() == most
        assert isinstance(outcome(fp.threads, most + 1), fp.ArgumentError)
