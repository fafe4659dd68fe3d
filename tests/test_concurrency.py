"""Threads, forks, joblib, spawned processes and Dask; and caches that cannot be written."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests import everything
from tests.test_blocks import MANY, run

ROOT = Path(__file__).parent.parent
JOBS = [
    fp.CrossEntropy(),
    fp.EER(),
    fp.ECE(),
    fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
    fp.CalibrationLoss(fp.rules.Brier(), fp.PAV(1e-6)),
]


def replicates(predictions):
    return float(fp.bootstrap(fp.BrierScore(), predictions, n_resamples=40, seed=1).standard_error)


def values(predictions):
    return [metric(predictions) for metric in JOBS] + [replicates(predictions)]


@pytest.fixture(scope="module")
def predictions():
    return everything.binary(60_001)


def test_different_calls_at_once(predictions, monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "3")
    expected = values(predictions)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(values, predictions[:]) for _ in range(16)]
        assert [call.result() for call in calls] == [expected] * 16


def test_calls_on_the_same_predictions_at_once(monkeypatch):
    """What predictions remember is made by whichever thread comes first."""
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "2")
    expected = values(everything.binary(60_001))
    for _ in range(3):
        shared, barrier, found = everything.binary(60_001), threading.Barrier(6), [None] * 6

        def call(place, shared=shared, barrier=barrier, found=found):
            barrier.wait()
            found[place] = values(shared)

        threads = [threading.Thread(target=call, args=(place,)) for place in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [expected] * 6


def test_predictions_and_metrics_can_be_pickled(predictions):
    assert values(pickle.loads(pickle.dumps(predictions))) == values(predictions)
    for metric in JOBS:
        assert pickle.loads(pickle.dumps(metric))(predictions) == metric(predictions)


# Processes

SHARED = """
from tests import everything
from tests.test_concurrency import values
def check(found, expected):
    print(found == expected)
"""


def run_here(code, **environment):
    paths = os.pathsep.join([str(Path(fp.__file__).parent.parent), str(ROOT)])
    return run(code, PYTHONPATH=paths, **environment)


#: Numba's threading layers, and the modules that hold them.
LAYERS = {"workqueue": "workqueue", "omp": "omppool", "tbb": "tbbpool"}


def run_on_layer(layer, code, **environment):
    """Run code after a parallel kernel, which is not ours, has launched the layer."""
    launch = f"""
import importlib, sys
try:
    importlib.import_module("numba.np.ufunc.{LAYERS[layer]}")
except ImportError:
    print("missing")
    sys.exit()
import numba
@numba.njit(parallel=True)
def count(n):
    total = 0
    for i in numba.prange(n):
        total += 1
    return total
assert count(1_000) == 1_000
assert numba.threading_layer() == {layer!r}
"""
    environment["NUMBA_THREADING_LAYER"] = layer
    environment["LD_LIBRARY_PATH"] = str(Path(sys.prefix) / "lib")  # where pip puts TBB
    printed = run_here(launch + code, **environment)
    if printed == ["missing"]:
        pytest.skip(f"the threading layer {layer} is not installed")
    return printed


@pytest.mark.slow
@pytest.mark.parametrize("layer", LAYERS)
def test_threads_at_once_and_forks_on_every_threading_layer(predictions, layer):
    code = f"""{SHARED}
import os, signal
from concurrent.futures import ThreadPoolExecutor
data = everything.binary(60_001)
with ThreadPoolExecutor(6) as pool:
    found = list(pool.map(lambda _: values(data[:]), range(6)))
print(found == found[:1] * 6)
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # not to hang for ever
        os._exit(0 if values(data[:]) == found[0] else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(*found[0], flush=True)
os._exit(0)  # TBB itself does not end after a fork
"""
    same, *found = run_on_layer(layer, code, FASTPSR_NUM_THREADS="3")
    assert same == "True"
    assert [float(x) for x in found] == values(predictions)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_forks_while_other_threads_compute():
    code = f"""{SHARED}
import os, signal, threading
data = everything.binary(60_001)
expected, stop = values(data), threading.Event()
def work():
    while not stop.is_set():
        values(data[:])
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
codes = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # not to hang for ever
        os._exit(0 if values(everything.binary(60_001)) == expected else 3)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads: thread.join()
print(codes == [0] * 6)
check(values(data[:]), expected)
"""
    assert run_here(code, FASTPSR_NUM_THREADS="3") == ["True", "True"]


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method):
    code = f"""{SHARED}
import multiprocessing
if __name__ == "__main__":
    data = everything.binary(60_001)
    expected = values(data)
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        for found in pool.map(values, [data] * 3):
            check(found, expected)
"""
    assert run_here(code, FASTPSR_NUM_THREADS="2") == ["True"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend):
    """Its workers get large arrays as read-only memory maps."""
    code = f"""{SHARED}
import joblib
if __name__ == "__main__":
    data = everything.binary(300_001)
    expected = values(data)
    calls = [joblib.delayed(values)(data)] * 3
    for found in joblib.Parallel(2, backend={backend!r}, max_nbytes=1000)(calls):
        check(found, expected)
"""
    assert run_here(code, FASTPSR_NUM_THREADS="2") == ["True"] * 3


@pytest.mark.slow
def test_dask_workers():
    code = f"""{SHARED}
import dask
from distributed import Client
if __name__ == "__main__":
    dask.config.set({{"distributed.worker.daemon": False}})
    data = everything.binary(60_001)
    expected = values(data)
    for processes in (False, True):
        with Client(processes=processes, n_workers=1, threads_per_worker=4,
                    dashboard_address=None) as client:
            for found in client.gather([client.submit(values, data, pure=False)] * 4):
                check(found, expected)
"""
    assert run_here(code, FASTPSR_NUM_THREADS="2") == ["True"] * 8


# Compile caches; with a small kernel, so that little is compiled

SMALL = """
import numpy as np
from fastpsr import kernels
print(kernels.softplus(np.zeros(1))[0].item())
"""
LOG2 = str(np.log(2))


@pytest.mark.slow
def test_cache_folder_that_cannot_be_made(tmp_path):
    """A path under a file cannot be made, not even by root."""
    file = tmp_path / "file"
    file.write_text("")
    assert run(SMALL, NUMBA_CACHE_DIR=str(file / "cache")) == [LOG2]


#: Take from root the right to write where the mode forbids it (CAP_DAC_OVERRIDE, bit 1).
LIKE_ANYONE = """
import ctypes, os, struct, sys, tempfile
if os.geteuid() == 0:
    header, held = struct.pack("Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    libc = ctypes.CDLL(None)
    assert libc.capget(header, held) == 0
    words = struct.unpack("6I", held.raw)
    assert libc.capset(header, struct.pack("6I", words[0] & ~2, *words[1:])) == 0
try:
    tempfile.TemporaryFile(dir=os.environ["NUMBA_CACHE_DIR"])
except PermissionError:
    print("read-only")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="root gives up rights as Linux has them")
@pytest.mark.slow
@pytest.mark.parametrize("filled", [False, True])
def test_read_only_cache_folder(tmp_path, filled):
    cache = tmp_path / "cache"
    cache.mkdir()
    if filled:
        assert run(SMALL, NUMBA_CACHE_DIR=str(cache)) == [LOG2]
    for folder in [cache, *(path for path in cache.rglob("*") if path.is_dir())]:
        folder.chmod(0o555)
    assert run(LIKE_ANYONE + SMALL, NUMBA_CACHE_DIR=str(cache)) == ["read-only", LOG2]


@pytest.mark.slow
def test_spoiled_cache(tmp_path):
    assert run(SMALL, NUMBA_CACHE_DIR=str(tmp_path)) == [LOG2]
    for path in tmp_path.rglob("*.nb?"):
        path.write_bytes(b"nonsense" if path.suffix == ".nbi" else path.read_bytes()[:100])
    assert run(SMALL, NUMBA_CACHE_DIR=str(tmp_path)) == [LOG2]


@pytest.mark.slow
def test_processes_that_compile_at_once_into_one_cache(tmp_path):
    code = f"{MANY}\nprint(value())"
    command = [sys.executable, "-P", "-W", "ignore", "-c", code]
    environment = os.environ | {
        "PYTHONPATH": str(Path(fp.__file__).parent.parent),
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    found = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(set(found)) == 1
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == found[0].split()
