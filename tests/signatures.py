"""Write the list of kernels and types that are compiled beforehand.

``python -m tests.signatures`` writes `fastpsr/kernels/signatures.txt`: what everything here calls,
and which command calls it. It compiles all of it, in some minutes.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import MISSING, fields
from pathlib import Path
from unittest import mock

import numpy as np

import fastpsr as fp
from fastpsr import kernels
from fastpsr.bootstrap import RESAMPLINGS
from fastpsr.calibration import NAMED
from fastpsr.curves import CURVES
from fastpsr.kernels.signatures import BY_KERNELS, LIST
from fastpsr.metrics import METRICS
from tests import reference
from tests.commands import data, succeed, surroundings

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
    "threshold": ["threshold", "--dcf", "0.01", *_TRIALS],
}
#: What a newcomer does first in Python.
CALLS = {
    "evaluate in Python": "fp.evaluate(fp.Predictions.from_posteriors(Y, Q[:, 1].copy()))",
    "a first metric": "fp.CrossEntropy()(Y, Q)",
    "a first detection metric": "fp.EER()(Y, X)",
}


def _binary(*, weighted=False):
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=400)
    y = (rng.random(400) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    q = 1.0 / (1.0 + np.exp(-log_odds))
    weight = rng.random(400) if weighted else None
    return [
        fp.Predictions.from_posteriors(y, q, sample_weight=weight),
        fp.Predictions.from_posteriors(y, np.column_stack([1.0 - q, q]), sample_weight=weight),
        fp.Predictions.from_logits(y, log_odds, sample_weight=weight),
    ]


def _many():
    made = fp.simulate.gaussian_classes(300, n_classes=3)
    return [
        fp.Predictions.from_logits(made.y_true, made.cal),
        fp.Predictions.from_posteriors(made.y_true, np.exp(made.cal)),
    ]


def _scores(samples):
    rules = [fp.rules.Log(), fp.rules.Brier(), fp.rules.Cost([[0, 1], [1, 0]])]
    for predictions in samples:
        for rule in rules[: 3 if predictions.n_classes == 2 else 2]:
            fp.ExpectedScore(rule)(predictions)
            fp.SemiEmpiricalScore(rule, predictions)(predictions)
            rule.losses_of(predictions)
        for kind in METRICS:
            if predictions.n_classes == 2 or not kind.binary_only:
                for metric in kind.examples(predictions):
                    metric(predictions)
        for curve in CURVES if predictions.n_classes == 2 else [fp.risk_curve]:
            curve(predictions, **CURVES[curve](predictions.n_classes))


def _calibrators(samples):
    for predictions in samples:
        for calibrator in NAMED.values():
            if calibrator.suits(predictions):
                fp.cross_fit(calibrator, predictions)


def _beta():
    for predictions in _binary():
        fp.ExpectedScore(fp.rules.Beta(2, 2))(predictions)
    fp.DirectionPreserving(fp.rules.Beta(2, 2)).fit(_binary()[2])


def _rank_cells():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 40_000))
    for y in (scores[1] > 0, scores[1] > 2.4):  # classes of like size, and of very different size
        predictions = fp.Predictions.from_raw_scores(y, scores[0])
        fp.AUC()(predictions)
        fp.EER()(predictions)


def _labels_of_many_classes():
    rng = np.random.default_rng(0)
    n_classes = 257  # from here on labels take four bytes
    y = np.arange(5 * n_classes) % n_classes  # one for each fold
    logits = rng.normal(size=(y.size, n_classes))
    logits[np.arange(y.size), y] += 2.0
    for weight in (None, rng.random(y.size)):
        predictions = fp.Predictions.from_logits(y, logits, sample_weight=weight)
        _scores([predictions])
        _calibrators([predictions])
    _losses_of_log_posteriors(y, logits)


def _losses_of_log_posteriors(y, logits):
    predictions = fp.Predictions.from_log_posteriors(y, logits, normalize=True)
    for metric in (fp.CrossEntropy(), fp.BrierScore()):
        metric(predictions)


def _bootstrap():
    rng = np.random.default_rng(0)
    ids = rng.integers(9, size=400)
    log = fp.rules.Log()
    metrics = [
        fp.CrossEntropy(),
        fp.ECE(),
        fp.EER(),
        fp.CalibrationLoss(log, fp.DirectionPreserving()),
        fp.CalibrationLoss(log, fp.PAV(), fp.TrainOnTest()),
    ]
    for predictions in _binary()[2:] + _binary(weighted=True)[2:]:
        for kind in RESAMPLINGS:
            n_ids = sum(field.default is MISSING for field in fields(kind))
            resampling = kind(*(ids, ids[::-1])[:n_ids])
            fp.bootstrap(metrics, predictions, n_resamples=40, seed=0, resampling=resampling)
    several = [
        fp.CalibrationLoss(log, fp.DirectionPreserving(rule)) for rule in (log, fp.rules.Brier())
    ]
    for predictions in _many():
        fp.bootstrap(several, predictions, n_resamples=40, seed=0)


def _large_sets():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=1 << 15)
    y = rng.random(log_odds.size) < 1.0 / (1.0 + np.exp(-log_odds))
    ids = rng.integers(50, size=log_odds.size)
    train = fp.CrossFit(groups=(ids, ids[::-1]))
    for weight in (None, rng.random(log_odds.size)):
        predictions = fp.Predictions.from_logits(y, log_odds, sample_weight=weight)
        fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train)(predictions)
        fp.cross_fit(fp.DirectionPreserving(), predictions)


def _layouts():
    """Use arrays that are not copied: single precision, and strided columns."""
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        y = np.arange(400) % n_classes
        logits = rng.normal(size=(400, n_classes)) + np.eye(n_classes)[y]
        rows = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        given = rows.astype(np.float32)
        _scores([fp.Predictions.from_posteriors(y, given)])
        _scores([fp.Predictions.from_logits(y, logits.astype(np.float32))])
        fp.Predictions.from_posteriors(y, rows, normalize=True)
        _losses_of_log_posteriors(y, np.log(given))
        if n_classes == 2:
            column = logits[:, 1].astype(np.float32)
            for one in (
                column,
                column.astype(np.float64).repeat(2)[::2],
                np.repeat(column, 2)[::2],
            ):
                predictions = fp.Predictions.from_logits(y, one)
                _scores([predictions])
                fp.PAV().fit(predictions).transform(predictions)
                q = np.clip(np.abs(one), 0.0, 1.0) if one.flags.c_contiguous else given[:, 1]
                _scores([fp.Predictions.from_posteriors(y, q)])
            _scores([fp.Predictions.from_posteriors(y, rows[:, 1])])


def _parts():
    """Use data in parts, also with more than the memory budget."""
    rng = np.random.default_rng(0)
    n = 40_000
    scores = rng.normal(size=n)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-scores))
    for weight in (None, rng.random(n)):
        whole = fp.Predictions.from_logits(y, scores, sample_weight=weight)
        cuts = [slice(k, k + n // 4) for k in range(0, n, n // 4)]
        spoof = ~y & (scores > 0.0)
        parts = fp.from_parts((whole[cut], {"spoof": spoof[cut]}) for cut in cuts)
        for kind in METRICS:
            for metric in kind.examples(parts):
                metric(parts)
        fp.bootstrap([fp.BrierScore(), fp.AUC()], parts, n_resamples=40, seed=0)
        with mock.patch.dict("os.environ", FASTPSR_MEMORY="20KB"):
            for metric in (fp.EER(), fp.AUC()):
                with suppress(ValueError):  # refused if it needs more memory
                    metric(parts)


def _ids_of_trials():
    kernels.all_distinct(np.arange(400, dtype=np.uint64))


TASKS = {
    "binary scores": lambda: _scores(_binary()),
    "weighted binary scores": lambda: _scores(_binary(weighted=True)),
    "scores of many classes": lambda: _scores(_many()),
    "binary calibrators": lambda: _calibrators(_binary() + _binary(weighted=True)),
    "calibrators of many classes": lambda: _calibrators(_many()),
    "Beta rules": _beta,
    "rank cells": _rank_cells,
    "labels of many classes": _labels_of_many_classes,
    "bootstrap": _bootstrap,
    "large sets": _large_sets,
    "rows of any layout": _layouts,
    "data in parts": _parts,
    "ids of trials": _ids_of_trials,
}


def use_everything(predictions):
    """Call what the library offers for such predictions."""
    p, K = predictions, predictions.n_classes
    raw = p.kind == "raw scores"
    calibrators = [fp.DirectionPreserving(), fp.TemperatureScaling()]
    calibrators += [fp.PAV()] * (K == 2) + [fp.HistogramBinning()] * (K == 2 and not raw)
    for calibrator in calibrators:
        assert fp.cross_fit(calibrator, p, fp.TrainOnTest()).log_posteriors.size
        assert fp.cross_fit(calibrator, p)[:100].posteriors.size
    fp.evaluate(p)
    if raw:
        return
    costs = fp.CostMatrix.zero_one(K, reject=0.1)
    fp.bayes_decisions(p, costs)
    fp.BayesRisk(costs)(p)
    fp.risk_curve(p, [0.1, 0.5] if K == 2 else np.full((2, K), 1 / K))
    fp.expected_cost(p.y_true, p.y_true, costs, sample_weight=np.ones(len(p)))
    rules = [fp.rules.Log(), fp.rules.Brier(), fp.rules.Cost(costs)]
    for rule in [*rules, fp.rules.Beta(2, 3)][: 4 if K == 2 else 3]:
        fp.ExpectedScore(rule)(p)
        fp.SemiEmpiricalScore(rule, p)(p)
        fp.ExpectedDivergence(rule, fp.DirectionPreserving())(p)
    for binning in ("uniform", "quantile"):
        fp.ECE(binning=binning, on="confidence")(p)
        if K == 2:
            fp.ECE(binning=binning)(p)
    assert p.posteriors.shape == p.log_posteriors.shape


def read_only():
    """Arrays that must not be written to, as readers of files make them."""
    y, q, w = (np.array(each) for each in (Y, Q, W))
    for each in (y, q, w):
        each.setflags(write=False)
    return MAKE.from_posteriors(y, q, sample_weight=w)


def detection():
    metrics = [fp.EER(), fp.MinDCF(0.1), fp.ActDCF(0.1), fp.Cllr(), fp.MinCllr(), fp.AUC()]
    for weights in (None, W):
        llrs = MAKE.from_llrs(Y, X, sample_weight=weights)
        for metric in [*metrics, fp.DevPAV()]:
            metric(llrs)
        assert fp.roc(llrs).hull.size
    return llrs


def many_classes():
    made = MAKE.from_logits(Y300, Z300)
    fp.BrierScore()(made)
    return made


MAKE = fp.Predictions
(Y, Z, W), (Y3, Z3, W3), (Y300, Z300, _) = data(2, 600), data(3, 600), data(300, 1500)
X, Q, Q3 = Z[:, 1] - Z[:, 0], np.exp(reference.log_softmax(Z)), np.exp(reference.log_softmax(Z3))
CASES = {
    "posteriors": lambda: MAKE.from_posteriors(Y, Q),
    "column": lambda: MAKE.from_posteriors(Y, Q[:, 1].copy(), sample_weight=W),
    "weights": lambda: MAKE.from_posteriors(Y, Q, sample_weight=W, priors=[0.9, 0.1]),
    "log-posteriors": lambda: MAKE.from_log_posteriors(Y, np.log(Q)),
    "logits": lambda: MAKE.from_logits(Y, Z, sample_weight=W),
    "log-odds": lambda: MAKE.from_logits(Y, X),
    "log-likelihoods": lambda: MAKE.from_log_likelihoods(Y, Z, priors=[0.9, 0.1]),
    "LLRs": lambda: MAKE.from_llrs(Y, X, prior=0.1, sample_weight=W),
    "targets apart": lambda: MAKE.from_target_nontarget(X[Y == 1], X[Y == 0]),
    "raw": lambda: MAKE.from_raw_scores(Y, X),
    "weighted raw": lambda: MAKE.from_raw_scores(Y, X, sample_weight=W),
    "other types": lambda: MAKE.from_logits(Y.astype(np.int8), X.astype(np.float32)),
    "other layout": lambda: MAKE.from_posteriors(Y[::2], np.asfortranarray(Q)[::2]),
    "other labels": lambda: MAKE.from_logits(Y.astype(float), Z.tolist()),
    "3 posteriors": lambda: MAKE.from_posteriors(Y3, Q3),
    "3 weights": lambda: MAKE.from_posteriors(Y3, Q3, sample_weight=W3),
    "3 logits": lambda: MAKE.from_logits(Y3, Z3, sample_weight=W3),
    "3 logits in single precision": lambda: MAKE.from_logits(Y3, Z3.astype(np.float32)),
    "3 log-posteriors": lambda: MAKE.from_log_posteriors(Y3, np.log(Q3)),
    "3 log-likelihoods": lambda: MAKE.from_log_likelihoods(Y3, Z3, priors=[0.2, 0.3, 0.5]),
    "read-only": read_only,
    "300 classes": many_classes,
    "detection": detection,
}


def write_files():
    """Write what the commands read, into the current folder."""
    made = fp.simulate.trial_list(500, 60_000, n_speakers=50, seed=1)
    np.savez("llrs.npz", label=made.y_true, llr=made.llr)
    ids = [f"m{e} s{t}" for e, t in zip(made.enroll, made.test, strict=True)]
    kinds = np.where(made.y_true == 1, "target", "nontarget")
    key = [f"{i} {kind}\n" for i, kind in zip(ids, kinds, strict=True)]
    Path("key").write_text("".join(key), "utf-8")
    noise = np.random.default_rng(1).normal(size=made.llr.size)
    for name, llr in (("a", made.llr), ("b", made.llr + noise)):
        scores = [f"{i} {x}\n" for i, x in zip(ids, llr.round(4), strict=True)]
        Path(name).write_text("".join(scores), "utf-8")


def run(name):
    """Run what has a name here; "uses" are all cases, "everything" is that and all tasks."""
    if name in COMMANDS:
        succeed(*COMMANDS[name])
        return
    if name in CALLS:
        exec(CALLS[name], globals())
        return
    for task in TASKS.values() if name == "everything" else ():
        task()
    for case in CASES.values():
        use_everything(case())


def record(call):
    """Return the signatures of kernels that are loaded or compiled, in order."""
    from numba.core.dispatcher import _DispatcherBase

    found = []
    add = _DispatcherBase.add_overload

    def add_and_note(dispatcher, result):
        add(dispatcher, result)
        module = dispatcher.py_func.__module__
        if module.startswith("fastpsr.kernels."):
            name = f"{module.removeprefix('fastpsr.kernels.')}.{dispatcher.py_func.__name__}"
            types = ", ".join(map(spelled, result.signature.args))
            found.append(f"{name}({types})")

    with mock.patch.object(_DispatcherBase, "add_overload", add_and_note):
        call()
    return found


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
    """Return what `record` finds in a new process that runs what has these names."""
    code = (
        "from tests.signatures import *\n"
        f"found = record(lambda: [run(name) for name in {names}])\n"
        "print(json.dumps(found), file=sys.stderr)"
    )
    places = {"NUMBA_CACHE_DIR": cache} if cache else {}
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", code], capture_output=True, text=True,
        env=surroundings(FASTPSR_NUM_THREADS="1", **places),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


def main():
    """Write the list."""
    names = [*COMMANDS, *CALLS, "everything"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_files()
        ready = recorded(*names, cache=folder)
        # those that are found in the cache: without the parts of other kernels
        called = {name: set(recorded(name, cache=folder)) for name in names}
    lines = []
    for signature in dict.fromkeys(ready):
        by = {COMMANDS[name][0] for name in COMMANDS if signature in called[name]}
        is_part = not any(signature in each for each in called.values())
        lines.append(" ".join([signature, *sorted(by), *[BY_KERNELS] * is_part]) + "\n")
    LIST.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
