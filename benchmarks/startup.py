"""What starting costs: imports, commands, and the compilation of every kernel."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.data import SITW, Size, make_trials

PROMISED_IMPORT = 0.1  # seconds beyond those of NumPy
NOT_ON_IMPORT = (
    "numba", "llvmlite", "scipy", "typer", "rich", "polars", "matplotlib", "sklearn", "torch",
)  # fmt: skip
_ALL_NAMES = "from fastpsr import *"
_METRIC = "import fastpsr as fp; fp.CrossEntropy()([0, 1] * 200, [0.25, 0.5] * 200)"
_TABLE = _METRIC.replace("fp.CrossEntropy()(", "fp.evaluate(fp.Predictions.from_posteriors(") + ")"
_SMALL = Size(400, 100)
_ROOT = Path(__file__).parent.parent
_ROUNDS = 11
_NAMED = 20  # kernels that the table names


@dataclass(frozen=True, eq=False)
class Processes:
    """Whole processes that do the same, one after the other.

    Attributes
    ----------
    what : str
    promised : float or None
        Seconds until one ends.
    seconds, cpu_seconds : list of float
        Until each ended, and on all processors.
    """

    what: str
    promised: float | None
    seconds: list[float]
    cpu_seconds: list[float]


@dataclass(frozen=True, eq=False)
class StartUp:
    """Seconds.

    Attributes
    ----------
    fastpsr, numpy, names : list of float
        Importing fastpsr, NumPy, and all names of fastpsr, each in a process of its own, in turn.
    unasked : list of str
        What all names import and should not.
    compiled_before, first : list of Processes
        What a user waits for, with all kernels in the cache, and with an empty cache.
    compiled : list of (str, int, float)
        Each kernel with its number of signatures and the CPU time that compiling these took.
    """

    fastpsr: list[float]
    numpy: list[float]
    names: list[float]
    unasked: list[str]
    compiled_before: list[Processes]
    first: list[Processes]
    compiled: list[tuple[str, int, float]]

    @property
    def beyond_numpy(self) -> list[float]:
        return [ours - base for ours, base in zip(self.names, self.numpy, strict=True)]


def measure_start_up() -> StartUp:
    """Time imports and commands in processes of their own."""
    fastpsr, numpy, names = [], [], []
    _run("-c", _ALL_NAMES)  # writes the byte code
    for _ in range(_ROUNDS):
        fastpsr.append(_seconds("-c", "import fastpsr")[0])
        numpy.append(_seconds("-c", "import numpy")[0])
        names.append(_seconds("-c", _ALL_NAMES)[0])
    code = f"{_ALL_NAMES}; import sys; print(*[m for m in {NOT_ON_IMPORT!r} if m in sys.modules])"
    unasked = _run("-c", code).split()
    with TemporaryDirectory() as folder:
        small, sitw = (_write(Path(folder), size) for size in (_SMALL, SITW))
        text = _write_text(Path(folder), _SMALL)
        evaluate, demo = ("-m", "fastpsr", "evaluate"), ("-m", "fastpsr", "demo")
        of_sitw = (*evaluate, sitw, "--columns", "llr", "--scores-are", "llr")
        caches = (f"{folder}/{k}" for k in range(10))
        first = [
            _measured("`fastpsr demo`", 12.0, demo, next(caches)),
            _measured(f"`fastpsr evaluate` of {SITW}", None, of_sitw, next(caches)),
            _measured("`fp.evaluate` of binary data", 5.0, ("-c", _TABLE), next(caches)),
            _measured("`fp.CrossEntropy()` of binary data", 2.0, ("-c", _METRIC), next(caches)),
            _measured("`fastpsr warmup`", None, ("-m", "fastpsr", "warmup"), next(caches)),
        ]
        filled = next(caches)
        compiled_before = [
            _measured(what, promised, arguments, filled, rounds)
            for what, promised, arguments, rounds in (
                ("`fastpsr --help`", 0.4, ("-m", "fastpsr", "--help"), _ROUNDS),
                ("`fastpsr evaluate --hlep`", 0.4, (*evaluate, "--hlep"), _ROUNDS),
                (f"`fastpsr evaluate` of {_SMALL} in .npz", 1.0,
                 (*evaluate, small, "--scores-are", "llr"), _ROUNDS),
                (f"`fastpsr evaluate` of {_SMALL} in text", 1.0,
                 (*evaluate, "--scores", text), _ROUNDS),
                (f"`fastpsr evaluate` of {SITW} in .npz", 2.0, of_sitw, _ROUNDS),
                ("`fastpsr demo`", 4.0, demo, 3),
            )
        ]  # fmt: skip
        compiled = _by_kernel(
            json.loads(_run("-m", "fastpsr", "warmup", "--json", cache=next(caches)))
        )
    return StartUp(fastpsr, numpy, names, unasked, compiled_before, first, compiled)


def describe_start_up(cost: StartUp) -> str:
    """Return two sentences and the tables."""
    unasked = ", ".join(cost.unasked) or "none"
    total = sum(seconds for _, _, seconds in cost.compiled)
    named = sorted(cost.compiled, key=lambda kernel: -kernel[2])
    others = named[_NAMED:]
    return "\n".join(
        [
            f"A process that does `import fastpsr` takes {1000 * median(cost.fastpsr):.0f} ms. "
            f"With all names (`{_ALL_NAMES}`) it takes {1000 * median(cost.beyond_numpy):.0f} ms "
            f"more than one that does `import numpy` ({1000 * median(cost.numpy):.0f} ms): "
            f"medians of {len(cost.numpy)} processes each; promised: under "
            f"{1000 * PROMISED_IMPORT:.0f} ms. "
            f"Of {', '.join(NOT_ON_IMPORT)} these import: {unasked}.",
            "",
            *_rows("whole process, compiled before", cost.compiled_before),
            "",
            *_rows("whole process, with an empty compile cache", cost.first),
            "",
            f"Compilation of {len(cost.compiled)} functions with "
            f"{sum(n for _, n, _ in cost.compiled)} signatures takes {total:.1f} s of CPU in all, "
            "on as many processes as there are processors. By function:",
            "",
            "| function | signatures | seconds |",
            "|---|--:|--:|",
            *(f"| `{name}` | {n} | {seconds:.2f} |" for name, n, seconds in named[:_NAMED]),
            f"| {len(others)} others | {sum(n for _, n, _ in others)} | "
            f"{sum(seconds for _, _, seconds in others):.2f} |",
        ]
    )


def _rows(heading: str, processes: Sequence[Processes]) -> list[str]:
    return [
        f"| {heading} | takes | of all processors | promised |",
        "|---|--:|--:|--:|",
        *(
            f"| {each.what} | {median(each.seconds):.2f} s | {median(each.cpu_seconds):.2f} s | "
            f"{f'{each.promised:g} s' if each.promised else '-'} |"
            for each in processes
        ),
    ]


def _by_kernel(signatures: list[dict[str, Any]]) -> list[tuple[str, int, float]]:
    """Return each kernel with its number of signatures and their seconds.

    Those of a part that was compiled with another kernel (null) are among the other's.
    """
    n_signatures = Counter(each["kernel"] for each in signatures)
    return [
        (kernel, n, sum(each["seconds"] or 0.0 for each in signatures if each["kernel"] == kernel))
        for kernel, n in n_signatures.items()
    ]


def _write(folder: Path, size: Size) -> str:
    trials = make_trials(size)
    path = folder / f"{size.n_trials}.npz"
    np.savez(path, y_true=trials.y, llr=trials.log_odds)
    return str(path)


def _write_text(folder: Path, size: Size) -> str:
    """Write scores with labels, as Kaldi's compute-eer reads them."""
    trials = make_trials(size)
    path = folder / f"{size.n_trials}.txt"
    rows = zip(trials.log_odds.tolist(), trials.y.tolist(), strict=True)
    path.write_text("".join(f"{x} {'' if y else 'non'}target\n" for x, y in rows), "utf-8")
    return str(path)


def _measured(
    what: str, promised: float | None, arguments: Sequence[str], cache: str, rounds: int = 0
) -> Processes:
    """Run a process often, after a first run; with 0 rounds only once."""
    if rounds:
        _seconds(*arguments, cache=cache)
    measured = [_seconds(*arguments, cache=cache) for _ in range(max(1, rounds))]
    return Processes(what, promised, [each[0] for each in measured], [each[1] for each in measured])


def _seconds(*arguments: str, cache: str | None = None) -> tuple[float, float]:
    """Return the seconds of a process, and those of all processors."""
    start, before = perf_counter(), getrusage(RUSAGE_CHILDREN)
    _run(*arguments, cache=cache)
    seconds, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(*arguments: str, cache: str | None = None) -> str:
    environment = dict(os.environ) | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code
    done = subprocess.run(
        [sys.executable, *arguments], cwd=_ROOT, env=environment, text=True, capture_output=True
    )
    if done.returncode and "No such option" not in done.stderr:
        raise RuntimeError(done.stderr)
    return done.stdout
