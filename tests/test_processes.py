"""Results are the same in forks, workers and new processes, on any threading layer and cache."""

import hashlib
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import program, surroundings
from tests.contract.data import Case

PATHS = surroundings()["PYTHONPATH"]
METRICS = [
    fp.CrossEntropy(), fp.EER(), fp.ECE(),
    fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
    fp.CalibrationLoss(fp.rules.Brier(), fp.PAV(1e-6)),
]  # fmt: skip


def make():
    return Case("logits", weights="fractions", n=70_001).predictions()


def values(data):
    drawn = fp.bootstrap(METRICS[:2], data, n_resamples=40, seed=1, method="percentile")
    bits = b"".join(result.replicates.tobytes() for result in drawn)
    return [*(metric(data) for metric in METRICS), hashlib.sha256(bits).hexdigest()]


@pytest.fixture(scope="module")
def expected():
    return values(make())


def as_words(values):
    return [str(value) for value in values]


def run(code, **environment):
    """Return the words that the code prints in a process of its own."""
    process = program(code=code, PYTHONWARNINGS="ignore", **environment)
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


START = "from tests.test_processes import make, values\nimport fastpsr as fp\n"


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
CHILD = """
def in_child():
    child = os.fork()
    if child == 0:
        signal.alarm(90)  # not to hang for ever
        os._exit(0 if values(make()) == expected else 3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@needs_fork
def test_forks_while_other_threads_compute():
    code = f"""{START}import os, signal, threading
data = make()
expected, stop = values(data), threading.Event()
{CHILD}
def work():
    while not stop.is_set():
        values(data[:])
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
codes = [in_child() for _ in range(3)]
stop.set()
for thread in threads: thread.join()
print(*codes, values(data[:]) == expected)
"""
    assert run(code, FASTPSR_NUM_THREADS="3") == ["0", "0", "0", "True"]


def test_calls_while_the_interpreter_ends(expected):
    code = f"{START}import atexit\natexit.register(lambda: print(*values(make())))\nvalues(make())"
    assert run(code, FASTPSR_NUM_THREADS="4") == as_words(expected)


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("layer", ["workqueue", "omp", "tbb"])
def test_threading_layers(expected, layer):
    """A parallel kernel that is not of fastpsr launches the layer first."""
    library = Path(sys.prefix) / "lib"  # where pip puts TBB
    if layer == "tbb" and not [*library.glob("libtbb.so*")]:
        pytest.skip("TBB is not installed")
    code = f"""{START}import os, signal, numba
from concurrent.futures import ThreadPoolExecutor
@numba.njit(parallel=True)
def count(n):
    total = 0
    for i in numba.prange(n):
        total += 1
    return total
assert count(1_000) == 1_000 and numba.threading_layer() == {layer!r}
data = make()
with ThreadPoolExecutor(6) as pool:
    results = list(pool.map(lambda _: values(data[:]), range(6)))
expected = results[0]
{CHILD}
print(results == results[:1] * 6, in_child(), *expected, flush=True)
os._exit(0)  # TBB itself does not end after a fork
"""
    environment = {"NUMBA_THREADING_LAYER": layer, "LD_LIBRARY_PATH": str(library)}
    assert run(code, FASTPSR_NUM_THREADS="3", **environment) == ["True", "0", *as_words(expected)]


WORKERS = {
    "spawn": """
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.map(values, [data] * 3)""",
    "loky": """
    import joblib  # whose workers get large arrays as read-only memory maps
    results = joblib.Parallel(2, max_nbytes=1000)([joblib.delayed(values)(data)] * 3)""",
    "Dask": """
    from distributed import Client
    options = {"n_workers": 1, "threads_per_worker": 4, "dashboard_address": None}
    with Client(processes=True, **options) as client:
        results = client.gather([client.submit(values, data, pure=False) for _ in range(3)])""",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORKERS)
def test_workers(expected, kind):
    code = f"""{START}
if __name__ == "__main__":
    data = make()
    {WORKERS[kind]}
    for result in results: print(*result)
"""
    assert run(code, FASTPSR_NUM_THREADS="2") == as_words(expected) * 3


# Caches of compiled kernels; with a small one, so that little is compiled

SMALL = "import numpy as np\nfrom fastpsr import kernels\n"
SHOW = """
from fastpsr.kernels.log_space import _map_softplus
print(kernels.log_space.softplus(np.zeros(1))[0].item(), end=" ")
print(sum(_map_softplus.stats.cache_hits.values()))
"""
LOG2 = str(np.log(2))
BREAK = {
    "no folder": "from numba.core import caching\ncaching.CacheImpl._locator_classes = []\n",
    "full disk": "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n",
}


@pytest.mark.slow
def test_caches_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "spoiled").mkdir()
    under_a_file = {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    spoiled = {"NUMBA_CACHE_DIR": str(tmp_path / "spoiled")}
    assert run(SMALL + SHOW, **under_a_file)[0] == LOG2
    assert run(SMALL + SHOW, **spoiled) == [LOG2, "0"]
    assert run(SMALL + SHOW, **spoiled) == [LOG2, "1"]
    for path in (tmp_path / "spoiled").rglob("*.nb?"):
        path.write_bytes(b"nonsense" if path.suffix == ".nbi" else path.read_bytes()[:100])
    assert run(SMALL + SHOW, **spoiled)[0] == LOG2
    for number, code in enumerate(BREAK.values()):
        cache = {"NUMBA_CACHE_DIR": str(tmp_path / f"cache{number}")}
        assert run(code + SMALL + SHOW, **cache)[0] == LOG2


@pytest.mark.slow
def test_a_changed_kernel_is_compiled_anew(tmp_path):
    package = Path(fp.__file__).parent
    copy = shutil.copytree(
        package, tmp_path / "lib" / "fastpsr", ignore=shutil.ignore_patterns("__pycache__")
    )
    places = {"PYTHONPATH": str(tmp_path / "lib"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert [run(SMALL + SHOW, **places) for _ in "ab"] == [[LOG2, "0"], [LOG2, "1"]]
    callee = copy / "kernels" / "elementary.py"  # the kernel itself is in log_space.py
    source = callee.read_text("utf-8")
    changed = source.replace("return positive + log1p_of_unit", "return 7.000000 + log1p_of_unit")
    assert changed != source
    callee.write_text(changed, "utf-8")
    assert run(SMALL + SHOW, **places) == [str(7 + np.log(2)), "0"]


@pytest.mark.slow
def test_processes_that_compile_at_once_into_one_cache(tmp_path):
    code = f"""{SMALL}
import subprocess, sys
def start():
    command = [sys.executable, "-c", {SMALL + SHOW!r}]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
processes = [start() for _ in range(3)]
print(*(process.communicate()[0].split()[0] for process in processes))
"""
    assert run(code, PYTHONPATH=PATHS, NUMBA_CACHE_DIR=str(tmp_path)) == [LOG2] * 3
