"""The same bits whatever the number of threads, run after run, in this thread or another."""

import threading

import pytest

from fastpsr.calibration import affine, newton
from tests import everything


@pytest.fixture(scope="module")
def expected():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FASTPSR_NUM_THREADS", "1")
        return everything.bits_of(everything.everything())


def differing(found, expected):
    assert found.keys() == expected.keys()
    return [name for name in found if found[name] != expected[name]]


@pytest.mark.large
@pytest.mark.parametrize("threads", ["1", "2", "4"])
def test_same_bits(expected, threads, monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", threads)
    assert differing(everything.bits_of(everything.everything()), expected) == []


def test_same_bits_again(monkeypatch):
    """Of few samples, by the ways that are for many."""
    monkeypatch.setattr(affine, "_MANY", 200)
    monkeypatch.setattr(newton, "_VERY_THIN", 50)
    monkeypatch.setattr(newton, "_THIN", 60)
    runs = [everything.bits_of(everything.everything(400)) for _ in range(2)]
    assert differing(*runs) == []


@pytest.mark.large
def test_same_bits_from_many_threads_at_once(expected, monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "3")
    found, barrier = [None] * 4, threading.Barrier(4)

    def call(place):
        barrier.wait(60)
        found[place] = everything.bits_of(everything.everything(intervals=False))

    threads = [threading.Thread(target=call, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for bits in found:
        assert bits is not None
        assert differing(bits, {name: expected[name] for name in bits}) == []
