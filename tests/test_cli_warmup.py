"""`fastpsr warmup`: what it compiles, and that nothing is left to compile."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.cli import warmup
from tests import reference
from tests.commands import data, succeed, surroundings, write


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def dispatchers():
    """Kernels that are compiled by themselves, by name; inlined helpers are not."""
    from numba.core.dispatcher import Dispatcher

    found = {}
    for path in (Path(fp.__file__).parent / "kernels").glob("*.py"):
        module = importlib.import_module(f"fastpsr.kernels.{path.stem}".removesuffix(".__init__"))
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher) and value.targetoptions.get("inline") != "always":
                found[f"{value.py_func.__module__}.{name}".removeprefix("fastpsr.kernels.")] = value
    return found


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


def read_by_polars():
    """Arrays that must not be written to."""
    write("s.parquet", label=Y, q=Q, w=W)
    data = fp.read_table("s.parquet", columns=["q_0", "q_1"], weights="w")
    assert not data.sample_weight.flags.writeable
    return data


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
CASES_OF_WARMUP = {
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
    "read-only": read_by_polars,
    "300 classes": many_classes,
    "detection": detection,
}
NOT_WARMED = {
    "panels.place_on_boundaries",  # these two serve rules.Weighted of more than two classes alone
    "panels.average_rows",
    "embedded.log_loss",  # these are compiled into the loops of users (fastpsr.compiled)
    "embedded.brier_loss",
    "embedded.isotonic_fit",
    "embedded.place_among",
    "embedded.random_stream",
    "embedded.draw_uniform",
    "embedded.draw_integer",
    "embedded.draw_binomial",
}


def report_on_warmup(cases):
    """Print, as JSON, what warming up compiles and what other calls compile after it."""
    warmup.compile_all(lambda name: None)
    kernels = dispatchers()
    count = {name: len(kernel.overloads) for name, kernel in kernels.items()}
    compiled = sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels.values())
    anew = {}
    for name in cases:
        before = {name: len(kernel.overloads) for name, kernel in kernels.items()}
        use_everything(CASES_OF_WARMUP[name]())
        anew[name] = [n for n, kernel in kernels.items() if len(kernel.overloads) > before[n]]
    print(json.dumps({"count": count, "compiled": compiled, "anew": anew}))


def run_report(folder, cases):
    root = Path(__file__).parents[1]
    code = f"from tests.test_cli_warmup import report_on_warmup; report_on_warmup({cases})"
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env=surroundings(PYTHONPATH=str(root), NUMBA_CACHE_DIR=str(folder / "cache")),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of a first process with an empty cache, and of a second one."""
    folder = tmp_path_factory.mktemp("warmup")
    return run_report(folder, list(CASES_OF_WARMUP)), run_report(folder, [])


def test_warmup_compiles_every_kernel(reports):
    count = reports[0]["count"]
    assert len(count) > 30
    assert {name for name, signatures in count.items() if signatures == 0} == NOT_WARMED


def test_warmup_fills_the_cache(reports):
    assert reports[0]["compiled"] > 30
    assert reports[1]["compiled"] == 0


@pytest.mark.parametrize(
    "case",
    list(CASES_OF_WARMUP),
)
def test_nothing_is_compiled_after_warmup(reports, case):
    assert set(reports[0]["anew"]) == set(CASES_OF_WARMUP)
    assert reports[0]["anew"][case] == []


def test_warmup_command():
    assert re.fullmatch(r"compiled in \d+\.\d s\n", succeed("warmup"))
