"""Kernels run in blocks: threads, forks, the end of the interpreter, and the cache."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.kernels import blocks

PACKAGE = Path(fp.__file__).parent


@pytest.mark.parametrize("threads", [1, 2, 3, 64])
@pytest.mark.parametrize("n_blocks", [0, 1, 7, 16, 17, 24, 1_000])
def test_over_blocks_covers_each_block_once(monkeypatch, threads, n_blocks):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", str(threads))
    parts, options = [], []
    blocks.over_blocks(
        lambda first, last, *rest: (parts.append((first, last)), options.append(rest)),
        n_blocks,
        "a",
        1,
    )
    covered = [block for first, last in sorted(parts) for block in range(first, last)]
    assert covered == list(range(n_blocks))
    assert len(parts) == max(1, min(threads, n_blocks // 8))
    assert set(options) == {("a", 1)}


@pytest.mark.parametrize("failing", [{0}, {1}, {3}, {0, 2}, {0, 1, 2, 3}])
def test_errors_reach_the_caller_after_all_parts_are_done(monkeypatch, failing):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "4")
    done, threads = [], set()

    def part(first, last):
        threads.add(threading.get_ident())
        number = first // 8
        if number in failing:
            raise ZeroDivisionError(f"part {number}")
        threading.Event().wait(0.01)
        done.append(number)

    with pytest.raises(ZeroDivisionError, match=f"part {min(failing)}"):
        blocks.over_blocks(part, 32)
    assert set(done) == {0, 1, 2, 3} - failing
    assert len(threads) > 1


@pytest.mark.parametrize(
    "asked",
    [
        *("0", "-1", "two", "1.5", " ", "1e3"),
        "²",
    ],
)
def test_bad_number_of_threads(monkeypatch, asked):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", asked)
    with pytest.raises(ValueError, match=rf"^FASTPSR_NUM_THREADS must be .* {asked!r}$"):
        fp.CrossEntropy()([0, 1], [0.25, 0.5])


def test_number_of_threads(monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "3")
    assert blocks.thread_count() == 3
    for default in ("", None):
        if default is None:
            monkeypatch.delenv("FASTPSR_NUM_THREADS")
        else:
            monkeypatch.setenv("FASTPSR_NUM_THREADS", default)
        assert 1 <= blocks.thread_count() <= os.cpu_count()


def metrics_of_many_blocks(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 100_000)
    data = fp.Predictions.from_logits(y, rng.normal(size=y.size) + y)
    pav = fp.cross_fit(fp.PAV(floor=1e-6), data)
    return [float(metric(p)) for metric in (fp.CrossEntropy(), fp.ECE()) for p in (data, pav)]


def test_values_are_those_of_one_thread(monkeypatch):
    values = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("FASTPSR_NUM_THREADS", threads)
        values.append(metrics_of_many_blocks())
    assert values[0] == values[1] == values[2]


def test_many_callers_at_once(monkeypatch):
    monkeypatch.setenv("FASTPSR_NUM_THREADS", "3")
    expected = [metrics_of_many_blocks(seed) for seed in range(2)]
    found, barrier = [None] * 8, threading.Barrier(8)

    def call(place):
        barrier.wait(30)
        found[place] = metrics_of_many_blocks(place % 2)

    threads = [threading.Thread(target=call, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == expected * 4


def run(code, **environment):
    """Run Python code in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)} | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_calls_may_be_nested():
    code = """
from fastpsr.kernels.blocks import together
def pair():
    return together(lambda: 1, lambda: 2)
print(*together(pair, pair))
"""
    assert run(code, FASTPSR_NUM_THREADS="2") == ["[1,", "2]", "[1,", "2]"]


MANY = """
import numpy as np, fastpsr as fp
z = np.random.default_rng(0).normal(size=100_000)
y = (z > np.random.default_rng(1).normal(size=z.size)).astype(int)
def value():
    return fp.CrossEntropy()(fp.Predictions.from_logits(y, z))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_works_in_a_forked_child():
    code = f"""{MANY}
import os, signal
before = value()
child = os.fork()
if child == 0:
    signal.alarm(90)  # not to hang for ever
    os._exit(0 if value() == before else 3)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), value() == before)
"""
    assert run(code, FASTPSR_NUM_THREADS="4") == ["0", "True"]


@pytest.mark.parametrize("threads", [pytest.param("1", marks=pytest.mark.slow), "4"])
def test_works_while_the_interpreter_ends(threads):
    code = f"{MANY}\nimport atexit\natexit.register(lambda: print(value() > 0))\nvalue()"
    assert run(code, FASTPSR_NUM_THREADS=threads) == ["True"]


# The cache: a small kernel, so that little is compiled

SOFTPLUS = "import numpy as np\nfrom fastpsr import kernels\nf = kernels.softplus\n"
SHOW = """
from fastpsr.kernels.log_space import _map_softplus
print(f(np.zeros(1))[0].item(), sum(_map_softplus.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_second_process_finds_what_the_first_compiled_unless_any_kernel_changed(tmp_path):
    copy = shutil.copytree(
        PACKAGE, tmp_path / "lib" / "fastpsr", ignore=shutil.ignore_patterns("__pycache__")
    )
    places = {"PYTHONPATH": str(tmp_path / "lib"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    log2 = str(np.log(2))
    assert run(SOFTPLUS + SHOW, **places) == [log2, "0"]
    assert run(SOFTPLUS + SHOW, **places) == [log2, "1"]
    callee = copy / "kernels" / "elementary.py"  # the kernel itself is in log_space.py
    source = callee.read_text("utf-8")
    changed = source.replace("return positive + log1p_of_unit", "return 7.000000 + log1p_of_unit")
    assert changed != source
    callee.write_text(changed, "utf-8")
    assert run(SOFTPLUS + SHOW, **places) == [str(7 + np.log(2)), "0"]


@pytest.mark.slow
def test_works_where_no_cache_folder_is_writable():
    code = f"""
from numba.core import caching
caching.CacheImpl._locator_classes = []  # as if each folder refused
import numba
try:
    numba.njit(cache=True)(lambda: 0)
except RuntimeError as error:
    print(str(error).split(":")[0].replace(" ", "_"))
{SOFTPLUS}{SHOW}"""
    assert run(code) == ["cannot_cache_function_'<lambda>'", str(np.log(2)), "0"]


@pytest.mark.slow
def test_works_where_the_disk_is_full(tmp_path):
    resource = pytest.importorskip("resource")
    assert resource.RLIMIT_FSIZE >= 0
    code = f"""{SOFTPLUS}
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # files may be made, but not written to
print(f(np.zeros(1))[0].item())
"""
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == [str(np.log(2))]
