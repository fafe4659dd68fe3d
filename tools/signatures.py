"""Write `fastpsr/kernels/signatures.txt`: the kernels and types that are compiled beforehand.

``python -m tools.signatures`` runs commands, the golden cases and what these lack with an empty
cache, which takes minutes, and lists the signatures that are compiled, with the commands that call
them. A signature that is missing in the list is compiled at the first call. With ``--check`` it
compares what is called with the list, if the cache is filled: parts of other kernels are not seen.
"""

import contextlib
import itertools
import json
import sys
import tempfile
from unittest import mock

import numpy as np

import fastpsr as fp
from fastpsr.calibration import NAMED
from fastpsr.calibration.linear_rows import NoOptimumError
from fastpsr.kernels import compilation
from fastpsr.kernels.compilation import BY_KERNELS, LIST
from tests.commands import data, program, succeed, write_trials
from tests.contract import registry
from tests.golden import cases

_LLRS = ["llrs.npz", "--columns", "llr", "--scores-are", "llr"]
_TRIALS = ["--key", "key", "--scores", "a"]
#: Commands without further options.
COMMANDS = {
    "demo": ["demo"],
    "evaluate a file": ["evaluate", *_LLRS],
    "evaluate trials": ["evaluate", *_TRIALS],
    "compare": ["compare", "--key", "key", "a", "b"],
    "calibrate": ["calibrate", *_LLRS, "--output", "calibrated.npz"],
    "select": ["select", *_LLRS],
    "fuse": ["fuse", *_TRIALS, "--scores", "b", "--scores-are", "llr"],
    "threshold": ["threshold", "--at", "dcf=0.01", *_TRIALS],
}
#: What a newcomer does first in Python.
CALLS = {
    "evaluate in Python": "fp.evaluate(fp.Predictions.from_posteriors(y, 1 / (1 + np.exp(-x))))",
    "a first metric": "fp.CrossEntropy()(y, 1 / (1 + np.exp(-x)))",
    "a first detection metric": "fp.EER()(y, x)",
}


def write_files():
    """Write what the commands read, into the current folder."""
    trials = write_trials(500, 60_000, n_speakers=60)
    np.savez("llrs.npz", label=trials.made.y_true, llr=trials.llrs["a"])


def run(name):
    """Run a command or a call by its name; "everything" is what else is to be compiled."""
    if name in COMMANDS:
        succeed(*COMMANDS[name])
    elif name in CALLS:
        y, logits, _ = data(2, 600)
        exec(CALLS[name], {"fp": fp, "np": np, "y": y, "x": logits[:, 1] - logits[:, 0]})
    elif name == "everything":
        for case in _distinct_cases():
            cases.computed(case)
        _layouts()
        _large_data()


def _distinct_cases():
    """Yield golden cases; of intervals, which differ little in kernels, every third."""
    n_intervals = itertools.count()
    for case in cases.cases():
        if not case.section.startswith("interval") or next(n_intervals) % 3 == 0:
            yield case


def _layouts():
    """Use arrays that are not copied: single precision, strided columns, labels of four bytes."""
    y, logits, weights = data(2, 600)
    x = logits[:, 1] - logits[:, 0]
    rows = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for dtype in (np.float32, np.float64):
        for column in (x.astype(dtype), np.repeat(x.astype(dtype), 2)[::2]):
            _use(fp.Predictions.from_logits(y, column))
        _use(fp.Predictions.from_posteriors(y, rows.astype(dtype)))
        _use(fp.Predictions.from_posteriors(y, np.repeat(rows[:, 1].astype(dtype), 2)[::2]))
        _use(fp.Predictions.from_logits(y, logits.astype(dtype)))
    fp.Predictions.from_posteriors(y, rows, normalize=True)
    for n_classes in (3, 257):
        y, logits, weights = data(n_classes, 5 * n_classes)
        rows = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        for weight in (None, weights):
            _use(fp.Predictions.from_logits(y, logits, sample_weight=weight))
        _use(fp.Predictions.from_log_posteriors(y, np.log(rows)))
        _use(fp.Predictions.from_posteriors(y, rows.astype(np.float32)))


def _use(predictions):
    """Compute all metrics and curves of the registries, fit and cross-fit all calibrators."""
    registry.everything(predictions)
    for calibrator in NAMED.values():
        if calibrator.suits(predictions):
            with contextlib.suppress(NoOptimumError):  # 257 classes have few samples
                fp.cross_fit(calibrator, predictions)


def _large_data():
    """Fit by sums on an axis, and measure ranks beyond the memory budget."""
    y, logits, weights = data(2, 40_000)
    scores = logits[:, 1] - logits[:, 0]
    speakers = np.arange(y.size) % 50, np.arange(y.size) % 49
    for weight in (None, weights):
        predictions = fp.Predictions.from_logits(y, scores, sample_weight=weight)
        fp.cross_fit(fp.DirectionPreserving(), predictions)
        fp.cross_fit(fp.DirectionPreserving(), predictions, fp.CrossFit(groups=speakers))
        fp.DirectionPreserving(fp.rules.Beta(2, 2)).fit(predictions[:600])
        parts = fp.from_parts(predictions[k : k + 10_000] for k in range(0, y.size, 10_000))
        fp.bootstrap([fp.BrierScore(), fp.AUC()], parts, n_resamples=40, seed=0)
        with mock.patch.dict("os.environ", FASTPSR_MEMORY="20KB"):
            for metric in (fp.EER(), fp.AUC()):
                with contextlib.suppress(ValueError):  # refused if it needs more memory
                    metric(parts)


def record(call):
    """Return the signatures of kernels that a call loads or compiles, in order."""
    from numba.core.dispatcher import _DispatcherBase

    signatures = []
    add = _DispatcherBase.add_overload

    def add_and_note(dispatcher, result):
        add(dispatcher, result)
        module = dispatcher.py_func.__module__
        if module.startswith("fastpsr.kernels."):
            name = f"{module.removeprefix('fastpsr.kernels.')}.{dispatcher.py_func.__name__}"
            types = ", ".join(map(spelled, result.signature.args))
            signatures.append(f"{name}({types})")

    with mock.patch.object(_DispatcherBase, "add_overload", add_and_note):
        call()
    return signatures


def spelled(kind):
    """Return a type as Numba reads it."""
    from numba.core import types

    if isinstance(kind, types.Array):
        if not kind.mutable:  # a constant of a kernel
            return f"Array({kind.dtype}, {kind.ndim}, '{kind.layout}', readonly=True)"
        axes = [":"] * kind.ndim
        if kind.layout != "A":
            axes[-1 if kind.layout == "C" else 0] = "::1"
        return f"{kind.dtype}[{', '.join(axes)}]".replace("bool[", "boolean[")
    if isinstance(kind, types.BaseTuple):
        return f"Tuple(({', '.join(map(spelled, kind))},))"
    return {"bool": "boolean"}.get(str(kind), str(kind))


def recorded(*names, cache=None):
    """Return what `record` lists in a new process that runs what has these names."""
    code = (
        "import json, sys\nfrom tools.signatures import record, run\n"
        f"signatures = record(lambda: [run(name) for name in {names}])\n"
        "print(json.dumps(signatures), file=sys.stderr)"
    )
    places = {"NUMBA_CACHE_DIR": cache} if cache else {}
    process = program(code=code, PYTHONWARNINGS="ignore", FASTPSR_NUM_THREADS="1", **places)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stderr.splitlines()[-1])


def check(names):
    """Print signatures that are called and not listed, or the reverse; return whether there are."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_files()
        called = set(recorded(*names))
    listed = {f"{each.kernel}({each.types})": each.is_part for each in compilation.listed()}
    missing = {each for each in called if each not in listed}
    unused = {each for each in listed if not (listed[each] or each in called)}
    for what, signatures in (("not listed", missing), ("not called", unused)):
        print(*(f"{what}: {each}\n" for each in sorted(signatures)), sep="", end="")
    return bool(missing | unused)


def main():
    """Write the list."""
    names = [*COMMANDS, *CALLS, "everything"]
    if "--check" in sys.argv:
        sys.exit(check(names))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_files()
        compiled = recorded(*names, cache=folder)
        # with a filled cache the parts of other kernels are not loaded
        called = {name: set(recorded(name, cache=folder)) for name in names}
    lines = []
    for signature in dict.fromkeys(compiled):
        commands = {COMMANDS[name][0] for name in COMMANDS if signature in called[name]}
        is_part = not any(signature in loaded for loaded in called.values())
        lines.append(" ".join([signature, *sorted(commands), *[BY_KERNELS] * is_part]) + "\n")
    LIST.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
