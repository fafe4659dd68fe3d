"""What starting costs: imports and commands as whole processes, compiled before or not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.data import SITW, Size
from benchmarks.harness import Case, Promise, run

_SMALL = Size(400, 100)
_METRIC = "import fastpsr as fp; fp.CrossEntropy()([0, 1] * 200, [0.25, 0.5] * 200)"
_TABLE = _METRIC.replace("fp.CrossEntropy()(", "fp.evaluate(fp.Predictions.from_posteriors(") + ")"
_EVALUATE = ("-m", "fastpsr", "evaluate")
_OF_LLRS = ("--columns", "llr", "--scores-are", "llr")


@lru_cache(maxsize=1)
def _folder() -> Any:
    """Return a folder that vanishes with the process."""
    return TemporaryDirectory()


@dataclass(frozen=True)
class File:
    """Trials in a file: .npz, or scores with labels in text, as Kaldi's compute-eer reads them."""

    size: Size
    suffix: str

    def __str__(self) -> str:
        return f"{self.size} in {'text' if self.suffix == 'txt' else '.npz'}"

    def make(self) -> Path:
        path = Path(_folder().name) / f"{self.size.n_trials}.{self.suffix}"
        trials = self.size.make()
        if self.suffix == "npz":
            np.savez(path, y_true=trials.y, llr=trials.log_odds)
            return path
        rows = zip(trials.log_odds.tolist(), trials.y.tolist(), strict=True)
        path.write_text("".join(f"{x} {'' if y else 'non'}target\n" for x, y in rows), "utf-8")
        return path

    def quick(self) -> "File":
        return File(self.size.quick(), self.suffix)


def process(arguments: tuple[str, ...], path: Any, cache: str = "") -> None:
    """Run a command of the file, if there is one."""
    files = [path] if isinstance(path, Path) else []
    options = ["--scores"] if files and path.suffix == ".txt" else []
    run(*arguments[:3], *options, *files, *arguments[3:], cache=cache)


def cold_process(arguments: tuple[str, ...], path: Any) -> None:
    """Run with an empty compile cache."""
    with TemporaryDirectory() as cache:
        process(arguments, path, cache)


def _case(
    name: str, data: Any, arguments: tuple[str, ...], limit: float | None, is_cold: bool = False
) -> Case:
    call: Callable[..., None] = cold_process if is_cold else process
    promise = Promise(limit, "s", "imports, and reading compiled kernels") if limit else None
    if promise and is_cold:
        promise = Promise(promise.limit, "s", "compilation")
    return Case(name, data, partial(call, arguments), promise=promise, is_cold=is_cold)


WARM = [
    _case("`import fastpsr`", "-", ("-c", "import fastpsr"), 0.1),
    _case("`import numpy`", "-", ("-c", "import numpy"), None),
    _case("`from fastpsr import *`", "-", ("-c", "from fastpsr import *"), None),
    _case("`fastpsr --help`", "-", ("-m", "fastpsr", "--help"), 0.4),
    _case("`fastpsr evaluate`", File(_SMALL, "npz"), (*_EVALUATE, *_OF_LLRS), 1),
    _case("`fastpsr evaluate`", File(_SMALL, "txt"), _EVALUATE, 1),
    _case("`fastpsr evaluate`", File(SITW, "npz"), (*_EVALUATE, *_OF_LLRS), 2),
    _case("`fastpsr demo`", "-", ("-m", "fastpsr", "demo"), 4),
]
COLD = [
    _case("`fastpsr demo`", "-", ("-m", "fastpsr", "demo"), 12, True),
    _case("`fastpsr evaluate`", File(SITW, "npz"), (*_EVALUATE, *_OF_LLRS), None, True),
    _case("`fp.evaluate` of binary data", "-", ("-c", _TABLE), 5, True),
    _case("`fp.CrossEntropy()` of binary data", "-", ("-c", _METRIC), 2, True),
    _case("`fastpsr warmup`", "-", ("-m", "fastpsr", "warmup"), None, True),
]
