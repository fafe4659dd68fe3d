"""The same bits whatever the number of threads, run after run, in this thread or another."""

import inspect
import re
import threading

import pytest

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.calibration import CALIBRATORS, row_fits, sampling, smooth
from fastpsr.curves import CURVES
from fastpsr.metrics import METRICS
from tests import everything
from tests.test_concurrency import LAYERS, SHARED, run_here, run_on_layer


@pytest.fixture(scope="module")
def expected():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FASTPSR_NUM_THREADS", "1")
        return everything.digests_of(everything.everything())


def differing(found, expected):
    assert found.keys() == expected.keys()
    return [name for name in found if found[name] != expected[name]]


def test_everything_names_everything():
    named = set(re.findall(r"\bfp\.(\w+)", inspect.getsource(everything)))
    registries = (METRICS, CURVES, CALIBRATORS.values(), RESAMPLINGS)  # that it goes over
    named |= {made.__name__ for registry in registries for made in registry}
    files, held = (
        {"save_calibrator", "load_calibrator", "trials"},
        {"calibration", "curves", "metrics"},
    )
    results = {"BootstrapResult", "Evaluation", "PartitionedPredictions", "ArgumentError"}
    results |= {"SuspicionWarning", "Decomposition", "OperatingPoint", "Band", "SampleSize"}
    results |= {"Selection", "LLRBounds"}
    results |= {"CostMatrix"}  # in tests.samples
    sources = {"scan_parquet", "from_dask", "read_table"}  # parts are parts wherever they come from
    assert set(fp.__all__) - named == files | held | results | sources


@pytest.mark.parametrize("intervals", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_same_bits_again(monkeypatch, intervals):
    """Of few samples, by the ways that are for many."""
    monkeypatch.setattr(smooth, "_MANY", 200)
    monkeypatch.setattr(sampling, "_THIN", 50)
    monkeypatch.setattr(row_fits, "_THIN", 60)
    runs = [
        everything.digests_of(everything.everything(210, n_resamples=4, intervals=intervals))
        for _ in range(2)
    ]
    assert differing(*runs) == []


@pytest.mark.slow
def test_same_bits_from_many_threads_at_once(expected, monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "3")
    found, barrier = [None] * 4, threading.Barrier(4)

    def call(place):
        barrier.wait()
        found[place] = everything.digests_of(everything.everything(intervals=False))

    threads = [threading.Thread(target=call, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for bits in found:
        assert bits is not None
        assert differing(bits, {name: expected[name] for name in bits}) == []


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "layer"), [*zip("423", LAYERS, strict=True)])
def test_same_bits_with_any_number_of_threads_on_every_threading_layer(expected, threads, layer):
    code = f"""{SHARED}
for name, digest in everything.digests_of(everything.everything()).items():
    print(digest, name.replace(" ", "_"))
"""
    printed = run_on_layer(layer, code, FASTPSR_NUM_THREADS=threads)
    found = dict(zip(printed[1::2], printed[::2], strict=True))
    assert len(found) > 100
    spelled = {name.replace(" ", "_"): digest for name, digest in expected.items()}
    assert differing(found, spelled) == []


@pytest.mark.slow
def test_same_bits_whether_compiled_or_loaded_from_the_cache(tmp_path):
    """In a process that compiles, and in the next one, which loads less."""
    code = f"""{SHARED}
import hashlib
data = everything.binary(20_001)
drawn = fp.bootstrap(fp.BrierScore(), data, n_resamples=40, seed=1).replicates
print(fp.CrossEntropy()(data), hashlib.sha256(drawn.tobytes()).hexdigest())
"""
    runs = [run_here("import fastpsr as fp\n" + code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in "ab"]
    assert runs[0] == runs[1]
