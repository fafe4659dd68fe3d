"""What starting costs: imports, commands, and the compilation of every kernel."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.data import SITW, make_trials

PROMISED_IMPORT = 0.1  # seconds beyond those of NumPy
NOT_ON_IMPORT = (
    "numba", "llvmlite", "scipy", "typer", "rich", "polars", "matplotlib", "sklearn", "torch",
)  # fmt: skip
_PROMISED = {"help": 0.4, "second": 2.0, "first": 30.0}  # seconds
_ALL_NAMES = "from fastpsr import *"
_ROOT = Path(__file__).parent.parent
_ROUNDS = 11
_NAMED = 20  # kernels that the table names


@dataclass(frozen=True, eq=False)
class StartUp:
    """Seconds.

    Attributes
    ----------
    fastpsr, numpy, names : list of float
        Importing fastpsr, NumPy, and all names of fastpsr, each in a process of its own, in turn.
    unasked : list of str
        What all names import and should not.
    help, second : list of float
        Whole processes: `fastpsr --help`, and `fastpsr evaluate` once everything is compiled.
    first, warmup : float
        `fastpsr evaluate`, and `fastpsr warmup`, with an empty cache.
    compiled : list of (str, int, float)
        Each kernel with its number of signatures and the CPU time that compiling these took.
    """

    fastpsr: list[float]
    numpy: list[float]
    names: list[float]
    unasked: list[str]
    help: list[float]
    second: list[float]
    first: float
    warmup: float
    compiled: list[tuple[str, int, float]]

    @property
    def beyond_numpy(self) -> list[float]:
        return [ours - base for ours, base in zip(self.names, self.numpy, strict=True)]


def measure_start_up() -> StartUp:
    """Time imports and commands in processes of their own."""
    fastpsr, numpy, names = [], [], []
    _run("-c", _ALL_NAMES)  # writes the byte code
    for _ in range(_ROUNDS):
        fastpsr.append(_seconds("-c", "import fastpsr"))
        numpy.append(_seconds("-c", "import numpy"))
        names.append(_seconds("-c", _ALL_NAMES))
    code = f"{_ALL_NAMES}; import sys; print(*[m for m in {NOT_ON_IMPORT!r} if m in sys.modules])"
    unasked = _run("-c", code).split()
    help_page = _repeated("-m", "fastpsr", "--help")
    with TemporaryDirectory() as folder:
        trials = make_trials(SITW)
        scores = Path(folder) / "trials.npz"
        np.savez(scores, y_true=trials.y, llr=trials.log_odds)
        evaluate = ["-m", "fastpsr", "evaluate", str(scores), "--columns", "llr",
                    "--scores-are", "llr"]  # fmt: skip
        first = _seconds(*evaluate, cache=f"{folder}/first")
        second = _repeated(*evaluate, cache=f"{folder}/first")
        start = perf_counter()
        kernels = json.loads(_run("-m", "fastpsr", "warmup", "--json", cache=f"{folder}/warmup"))
        warmup = perf_counter() - start
    return StartUp(fastpsr, numpy, names, unasked, help_page, second, first, warmup,
                   _by_kernel(kernels))  # fmt: skip


def describe_start_up(cost: StartUp) -> str:
    """Return two sentences and the tables."""
    unasked = ", ".join(cost.unasked) or "none"
    rows = [
        ("`fastpsr --help`", median(cost.help), _PROMISED["help"]),
        (f"`fastpsr evaluate` of {SITW}, compiled before", median(cost.second),
         _PROMISED["second"]),
        ("the same with an empty compile cache", cost.first, _PROMISED["first"]),
        ("`fastpsr warmup`, which compiles everything, with an empty cache", cost.warmup,
         None),
    ]  # fmt: skip
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
            "| whole process | takes | promised |",
            "|---|--:|--:|",
            *(
                f"| {name} | {seconds:.2f} s | {f'{promised:g} s' if promised else '-'} |"
                for name, seconds, promised in rows
            ),
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


def _by_kernel(signatures: list[dict[str, Any]]) -> list[tuple[str, int, float]]:
    """Return each kernel with its number of signatures and their seconds."""
    n_signatures = Counter(each["kernel"] for each in signatures)
    return [
        (kernel, n, sum(each["seconds"] for each in signatures if each["kernel"] == kernel))
        for kernel, n in n_signatures.items()
    ]


def _repeated(*arguments: str, cache: str | None = None) -> list[float]:
    _run(*arguments, cache=cache)
    return [_seconds(*arguments, cache=cache) for _ in range(_ROUNDS)]


def _seconds(*arguments: str, cache: str | None = None) -> float:
    start = perf_counter()
    _run(*arguments, cache=cache)
    return perf_counter() - start


def _run(*arguments: str, cache: str | None = None) -> str:
    environment = dict(os.environ) | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code
    done = subprocess.run(
        [sys.executable, *arguments], cwd=_ROOT, env=environment, check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout
