"""The command line: what it computes is what the library computes."""

import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.cli import app, warmup
from fastpsr.cli.score_files import read_scores
from fastpsr.evaluate import default_metrics
from tests import reference

COMMAND = Path(sys.executable).parent / "fastpsr"


@dataclass
class Outcome:
    code: int
    out: str
    err: str


def fastpsr(*arguments):
    """Run the command in this process, on a wide screen."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["fastpsr", *map(str, arguments)]),
        mock.patch.dict(os.environ, {"COLUMNS": "250", "TERM": "dumb"}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = app.run()
    return Outcome(code, out.getvalue(), err.getvalue())


def succeed(*arguments):
    outcome = fastpsr(*arguments)
    assert outcome.code == 0, outcome.err
    return outcome.out


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def data(K=2, n=240, seed=0):
    """Labels, logits and weights."""
    rng = np.random.default_rng([seed, K])
    y = rng.permutation(np.arange(n) % K)
    return y, rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y], rng.integers(1, 9, n) / 4.0


def write(path, **columns):
    """Write columns by the ending of the path; .npy: each to a file of its own."""
    path = Path(path)
    if path.suffix == ".npz":
        np.savez(path, **columns)
        return
    if path.suffix == ".npy":
        for name, values in columns.items():
            np.save(f"{name}.npy", values)
        return
    flat = {}
    for name, values in columns.items():
        if values.ndim == 1:
            flat[name] = values
        else:
            flat |= {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}
    frame = polars.DataFrame(flat)
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)


def strict_json(path):
    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    return json.loads(Path(path).read_text("utf-8"), parse_constant=refuse)


def values_of(path):
    return {row["metric"]: row["value"] for row in strict_json(path)["rows"]}


def same(found, table):
    """Whether values in JSON are those of an evaluation."""
    assert list(found) == [row.metric for row in table.rows]
    for row in table.rows:
        expected = row.value
        if np.isfinite(expected):
            assert found[row.metric] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        else:
            assert found[row.metric] == (None if np.isnan(expected) else str(expected))
    return True


# evaluate

SCORES = {  # what a file may hold: scores and predictions from labels and logits
    "posteriors": lambda y, z: (
        np.exp(reference.log_softmax(z)),
        fp.Predictions.from_posteriors(y, np.exp(reference.log_softmax(z))),
    ),
    "log-posteriors": lambda y, z: (
        reference.log_softmax(z),
        fp.Predictions.from_log_posteriors(y, reference.log_softmax(z)),
    ),
    "logits": lambda y, z: (z, fp.Predictions.from_logits(y, z)),
    "log-likelihoods": lambda y, z: (z, fp.Predictions.from_log_likelihoods(y, z)),
    "llr": lambda y, z: (z[:, 1] - z[:, 0], fp.Predictions.from_llrs(y, z[:, 1] - z[:, 0])),
    "raw": lambda y, z: (z[:, 1], fp.Predictions.from_raw_scores(y, z[:, 1])),
}


@pytest.mark.parametrize("ending", [".npz", ".npy", ".csv", ".parquet"])
@pytest.mark.parametrize(
    ("scores_are", "K"),
    [(name, K) for name in SCORES for K in (2, 3) if K == 2 or name not in ("llr", "raw")],
)
def test_evaluate_whatever_the_format(scores_are, K, ending):
    y, z, _ = data(K)
    scores, predictions = SCORES[scores_are](y, z)
    write(f"s{ending}", label=y, s=scores)
    options = ["--labels", "label.npy"] if ending == ".npy" else []
    out = succeed(
        "evaluate", f"s{ending}", *options, "--scores-are", scores_are, "--json", "t.json"
    )
    table = fp.evaluate(predictions)
    assert same(values_of("t.json"), table)
    content = strict_json("t.json")
    assert content["n_samples"] == y.size
    assert content["n_classes"] == K
    assert content["priors"] == pytest.approx(table.priors, rel=1e-12)
    for row in table.rows:
        assert re.search(rf"(?m)^{row.metric} +{row.value:.4f} ", out)
    assert f"taken as {scores_are}" in out


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
@pytest.mark.parametrize("scores_are", ["posteriors", "logits"])
def test_one_column_stands_for_class_1(scores_are, ending):
    y, z, _ = data()
    log_odds = z[:, 1] - z[:, 0]
    scores = log_odds if scores_are == "logits" else 1 / (1 + np.exp(-log_odds))
    make = fp.Predictions.from_logits if scores_are == "logits" else fp.Predictions.from_posteriors
    table = fp.evaluate(make(y, scores))
    write(f"s{ending}", target=y, s=scores if ending != ".npz" else scores[:, None])
    succeed("evaluate", f"s{ending}", "--scores-are", scores_are, "--json", "t.json")
    assert same(values_of("t.json"), table)


@pytest.mark.parametrize("ending", [".npz", ".npy", ".csv", ".parquet"])
def test_columns_by_name(ending):
    y, z, w = data()
    q = np.exp(reference.log_softmax(z))
    table = fp.evaluate(fp.Predictions.from_posteriors(y, q, sample_weight=w))
    decoy = np.zeros(y.size)
    if ending in (".npz", ".npy"):
        columns, scores = {"y": y, "w": w, "q": q, "x": decoy, "label": decoy}, "q"
    else:
        columns = {"x": decoy, "q1": q[:, 1], "w": w, "q0": q[:, 0], "label": decoy, "y": y}
        scores = "q0, q1"
    write(f"q{ending}", **columns)
    options = ["--labels", "y", "--weights", "w", "--columns", scores]
    if ending == ".npy":
        options = ["--labels", "y.npy", "--weights", "w.npy"]
    out = succeed("evaluate", f"q{ending}", *options, "--json", "t.json")
    assert same(values_of("t.json"), table)
    assert "weights: w" in out


@pytest.mark.parametrize("label", ["y_true", "label", "labels", "target", "targets"])
@pytest.mark.parametrize("weight", ["sample_weight", "weight", "weights"])
def test_usual_names_are_recognised(label, weight):
    y, z, w = data()
    write("s.csv", **{weight: w, "z0": z[:, 0], label: y, "z1": z[:, 1]})
    out = succeed("evaluate", "s.csv", "--scores-are", "logits", "--json", "t.json")
    assert f"scores: z0, z1; labels: {label}; weights: {weight}; " in out
    table = fp.evaluate(fp.Predictions.from_logits(y, z, sample_weight=w))
    assert same(values_of("t.json"), table)


@pytest.mark.parametrize("priors", [(0.9, 0.1), (0.25, 0.75)])
@pytest.mark.parametrize("scores_are", ["logits", "log-likelihoods", "llr"])
def test_priors(scores_are, priors):
    y, z, _ = data()
    make = {
        "logits": lambda: fp.Predictions.from_logits(y, z, priors=priors),
        "log-likelihoods": lambda: fp.Predictions.from_log_likelihoods(y, z, priors=priors),
        "llr": lambda: fp.Predictions.from_llrs(y, z[:, 1] - z[:, 0], prior=priors[1]),
    }[scores_are]
    write("s.npz", y_true=y, s=SCORES[scores_are](y, z)[0])
    option = ",".join(map(str, priors))
    succeed("evaluate", "s.npz", "--scores-are", scores_are, "--priors", option, "--json", "t.json")
    assert same(values_of("t.json"), fp.evaluate(make()))
    assert strict_json("t.json")["priors"] == pytest.approx(priors, rel=1e-12)


@pytest.mark.parametrize("costs", [[[0, 1], [10, 0]], [[0, 1, 0.25], [-2.5, 0, 0.125]]])
@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_costs(ending, costs):
    text = json.dumps(costs) if ending == ".json" else "\n".join(str(r)[1:-1] for r in costs) + "\n"
    Path(f"costs{ending}").write_text(text, "utf-8")
    y, z, _ = data()
    write("s.npz", y_true=y, s=z)
    run = ["evaluate", "s.npz", "--scores-are", "logits", "--costs", f"costs{ending}"]
    succeed(*run, "--json", "t.json")
    predictions = fp.Predictions.from_logits(y, z)
    metrics = default_metrics(2, costs=fp.CostMatrix(costs))
    assert same(values_of("t.json"), fp.evaluate(predictions, metrics))
    assert values_of("t.json")["NRisk costs"] == fp.BayesRisk(costs)(predictions)


CALIBRATORS = {
    "dp": fp.DirectionPreserving(),
    "temperature": fp.TemperatureScaling(),
    "pav": fp.PAV(),
    "histogram": fp.HistogramBinning(),
}


@pytest.mark.parametrize("folds", [2, 7])
@pytest.mark.parametrize("calibrator", CALIBRATORS)
def test_calibrator_and_folds_of_the_calibration_loss(calibrator, folds):
    y, z, _ = data()
    write("s.npz", y_true=y, s=z)
    options = ["--calibrator", calibrator, "--folds", folds, "--json", "t.json"]
    out = succeed("evaluate", "s.npz", "--scores-are", "logits", *options)
    rcl = fp.CalibrationLoss(fp.rules.Log(), CALIBRATORS[calibrator], fp.CrossFit(folds))
    expected = rcl(fp.Predictions.from_logits(y, z))
    found = values_of("t.json")["RCL"]
    assert found == (expected if np.isfinite(expected) else str(expected))
    assert type(CALIBRATORS[calibrator]).__name__ in out


def test_json_and_csv_are_one_table():
    y, z, _ = data(3)
    write("s.npz", y_true=y, s=z)
    run = ["evaluate", "s.npz", "--scores-are", "logits"]
    succeed(*run, "--json", "t.json", "--csv", "t.csv")
    rows = polars.read_csv("t.csv")
    assert rows.columns == ["metric", "value", "note"]
    assert rows.to_dicts() == strict_json("t.json")["rows"]


def test_infinite_values():
    y, z, _ = data()
    q = 1 / (1 + np.exp(z[:, 0] - z[:, 1]))
    q[0] = 1.0 - y[0]
    write("s.npz", y_true=y, q=q)
    out = succeed("evaluate", "s.npz", "--json", "t.json", "--csv", "t.csv")
    assert same(values_of("t.json"), fp.evaluate(fp.Predictions.from_posteriors(y, q)))
    assert values_of("t.json")["NCE"] == "inf"
    assert strict_json("t.json")["n_infinite"] == 1
    assert "1 sample has posterior 0 for the true class" in out
    assert re.search(r"(?m)^NCE +inf ", out)
    assert np.isposinf(polars.read_csv("t.csv")["value"][0])


def test_separable_data_get_a_table_with_a_note():
    y = np.arange(60) % 2
    write("s.npz", y_true=y, q=np.where(y == 1, 0.7, 0.2) + np.arange(60) / 1000)
    out = succeed("evaluate", "s.npz", "--json", "t.json")
    assert re.search(r"(?m)^RCL +nan +not computed: scores separate the classes perfectly", out)
    assert re.search(r"(?m)^NCE +0\.\d{4} ", out)
    assert values_of("t.json")["RCL"] is None
    assert values_of("t.json")["RCL bound"] == 100.0


def test_raw_scores_get_notes_in_place_of_values():
    y, z, _ = data()
    write("s.npz", y_true=y, s=z[:, 1])
    out = succeed("evaluate", "s.npz", "--scores-are", "raw", "--json", "t.json")
    assert set(values_of("t.json").values()) == {None}
    assert out.count("raw scores only rank samples") == len(values_of("t.json"))


def test_success_says_nothing_on_stderr():
    y, z, _ = data()
    write("s.npz", y_true=y, s=z)
    assert fastpsr("evaluate", "s.npz", "--scores-are", "logits").err == ""


def test_csv_whose_first_rows_look_like_integers():
    y, z, _ = data(n=1000)
    q = (1 / (1 + np.exp(z[:, 0] - z[:, 1]))).round(2)
    q[:500] = q[:500].round()
    lines = [f"{a},{b:g}" for a, b in zip(y.tolist(), q.tolist(), strict=True)]
    Path("s.csv").write_text("\n".join(["label,q", *lines]), "utf-8")
    succeed("evaluate", "s.csv", "--json", "t.json")
    assert same(values_of("t.json"), fp.evaluate(fp.Predictions.from_posteriors(y, q)))


@pytest.mark.parametrize("name", ["a b.csv", "é.csv", "[red].npz"])
def test_unusual_file_names(name):
    y, z, _ = data()
    write(name, label=y, s=z)
    succeed("evaluate", name, "--scores-are", "logits", "--json", f"{name}.json")
    assert same(values_of(f"{name}.json"), fp.evaluate(fp.Predictions.from_logits(y, z)))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_brackets_in_file_names(ending):
    y, z, _ = data()
    write(f"scores[1]{ending}", label=y, s=z)
    write(f"scores1{ending}", label=y, s=0 * z)
    succeed("evaluate", f"scores[1]{ending}", "--scores-are", "logits", "--json", "t.json")
    assert same(values_of("t.json"), fp.evaluate(fp.Predictions.from_logits(y, z)))


# calibrate


def read(path):
    """Columns of a written file, those of several numbered parts put together."""
    if path.endswith(".npz"):
        with np.load(path) as archive:
            return {name: archive[name] for name in archive.files}
    frame = polars.read_csv(path) if path.endswith(".csv") else polars.read_parquet(path)
    columns, parts = {}, {}
    for name in frame.columns:
        stem, _, number = name.rpartition("_")
        if number.isdigit():
            parts.setdefault(stem, []).append(frame[name].to_numpy())
        else:
            columns[name] = frame[name].to_numpy()
    return columns | {stem: np.column_stack(each) for stem, each in parts.items()}


NAMES = {("logits", 2): "log_odds", ("logits", 3): "log_posterior", ("llr", 2): "llr"}
NAMES |= {("posteriors", 2): "log_odds", ("log-likelihoods", 3): "log_likelihood"}
CASES = [
    (calibrator, scores_are, K)
    for calibrator in CALIBRATORS
    for scores_are, K in NAMES
    if K == 2 or calibrator in ("dp", "temperature")
]


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
@pytest.mark.parametrize(("calibrator", "scores_are", "K"), CASES)
def test_calibrate(calibrator, scores_are, K, ending):
    (y, z, _), (new_y, new_z, _) = data(K), data(K, seed=1)
    scores, predictions = SCORES[scores_are](y, z)
    new_scores, new_predictions = SCORES[scores_are](new_y, new_z)
    write("train.npz", y_true=y, s=scores)
    write("new.npz", y_true=new_y, s=new_scores)
    write("unlabelled.npz", s=new_scores)
    are = ["--scores-are", scores_are]
    train = ["calibrate", "train.npz", "--calibrator", calibrator, *are]
    succeed(*train, "--apply", "new.npz", "--output", f"a{ending}", "--save", "fitted.json")
    apply = ["calibrate", "--load", "fitted.json", *are]
    succeed(*apply, "--apply", "new.npz", "--output", f"b{ending}")
    succeed(*apply, "--apply", "unlabelled.npz", "--output", f"c{ending}")
    succeed(*train, "--output", f"d{ending}", "--folds", 3)

    fitted = CALIBRATORS[calibrator].fit(predictions)
    expected = fitted.transform(new_predictions).scale
    crossed = fp.cross_fit(CALIBRATORS[calibrator], predictions, fp.CrossFit(3)).scale
    name = NAMES[scores_are, K]
    for file, labels, values in (
        ("a", new_y, expected), ("b", new_y, expected), ("c", None, expected), ("d", y, crossed)
    ):  # fmt: skip
        columns = read(f"{file}{ending}")
        assert list(columns) == ([name] if labels is None else ["y_true", name])
        np.testing.assert_array_equal(columns[name], values)  # bit for bit, also in CSV
        if labels is not None:
            np.testing.assert_array_equal(columns["y_true"], labels)
    assert len(list(Path().iterdir())) == 8


def test_calibrate_keeps_weights():
    y, z, w = data()
    write("train.npz", y_true=y, z=z, weight=w)
    run = ["calibrate", "train.npz", "--scores-are", "logits", "--output", "a.npz"]
    succeed(*run, "--apply", "train.npz")
    predictions = fp.Predictions.from_logits(y, z, sample_weight=w)
    fitted = fp.DirectionPreserving().fit(predictions)
    columns = read("a.npz")
    np.testing.assert_array_equal(columns["sample_weight"], w)
    np.testing.assert_array_equal(columns["log_odds"], fitted.transform(predictions).log_odds)


def test_calibrated_output_can_be_evaluated():
    y, z, _ = data()
    write("train.csv", label=y, s=z[:, 1])
    out = succeed("calibrate", "train.csv", "--scores-are", "raw", "--output", "made.csv")
    assert "made.csv: 240 rows of y_true, llr" in out
    succeed("evaluate", "made.csv", "--scores-are", "llr", "--json", "t.json")
    raw = fp.Predictions.from_raw_scores(y, z[:, 1])
    table = fp.evaluate(fp.cross_fit(fp.DirectionPreserving(), raw))
    assert same(values_of("t.json"), table)


# simulate


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_simulate_trials(ending):
    run = ["--targets", 30, "--nontargets", 400]
    out = succeed("simulate", "trials", f"a{ending}", *run, "--seed", 3)
    assert out == f"a{ending}: 430 trials, 30 of them targets\n"
    succeed("simulate", "trials", f"b{ending}", *run, "--seed", 3)
    succeed("simulate", "trials", f"c{ending}", *run, "--seed", 4)
    a, b, c = (read(f"{name}{ending}") for name in "abc")
    made = fp.simulate.trial_list(30, 400, seed=3)
    assert list(a) == ["y_true", "llr", "enroll", "test", "enroll_speaker", "test_speaker"]
    for name, values in a.items():
        np.testing.assert_array_equal(values, getattr(made, name))
        assert values.tobytes() == b[name].tobytes()
    assert not np.array_equal(a["llr"], c["llr"])


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
@pytest.mark.parametrize("system", ["cal", "mcs", "mcp", "mcps"])
def test_simulate_classes(system, ending):
    options = ["--samples", 90, "--classes", 3, "--variance", 0.3, "--seed", 2, "--system", system]
    for name in "ab":
        out = succeed("simulate", "classes", f"{name}{ending}", *options)
    assert f"90 samples of 3 classes, system {system}" in out
    made = fp.simulate.gaussian_classes(90, n_classes=3, variance=0.3, seed=2)
    a, b = read(f"a{ending}"), read(f"b{ending}")
    np.testing.assert_array_equal(a["y_true"], made.y_true)
    np.testing.assert_array_equal(a["log_posterior"], getattr(made, system))
    assert a["log_posterior"].tobytes() == b["log_posterior"].tobytes()


def test_simulated_files_can_be_evaluated():
    succeed("simulate", "classes", "a.csv")
    succeed("evaluate", "a.csv", "--scores-are", "log-posteriors", "--json", "t.json")
    made = fp.simulate.gaussian_classes(2_000)
    predictions = fp.Predictions.from_log_posteriors(made.y_true, made.cal)
    assert same(values_of("t.json"), fp.evaluate(predictions))


# demo


@pytest.fixture(scope="module")
def demo():
    return succeed("demo")


def numbers(demo, row):
    line = next(line for line in demo.splitlines() if line.startswith(row))
    return re.findall(r"-?\d+\.\d+", line.removeprefix(row))


PAPER = {"raw": (0.324, 0.225, 0.191, 0.189, 16.7, 0.2, 0.2)}  # Table 2, SITW
PAPER["cal"] = (0.306, 0.190, 0.153, 0.158, -0.1, 0.0, 0.0)
PAPER["calp"] = (0.304, 0.188, 0.152, 0.155, -0.0, 0.0, 0.0)


@pytest.mark.parametrize("row", PAPER)
def test_demo_is_like_the_paper(demo, row):
    found = [float(number) for number in numbers(demo, f"simulated, {row} ")]
    assert [float(number) for number in numbers(demo, f"SITW, {row} ")] == list(PAPER[row])
    *risks, nce, rcl, _, _ = zip(found, PAPER[row], strict=True)
    for value, printed in risks:
        assert value == pytest.approx(printed, rel=0.25)
    assert nce[0] == pytest.approx(nce[1], rel=0.1)
    assert rcl[0] == pytest.approx(rcl[1], rel=0.1, abs=0.5)  # of percent


def test_demo_prints_what_the_library_computes(demo):
    trials = fp.simulate.trial_list()
    assert demo.startswith(f"{trials.llr.size:,} simulated trials, {trials.y_true.sum():,} of")
    raw = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    systems = {
        "raw": raw,
        "cal": fp.cross_fit(fp.DirectionPreserving(), raw),
        "calp": fp.cross_fit(fp.PAV(), raw, fp.TrainOnTest()),
    }
    metrics = [
        fp.BayesRisk([[0, 1], [1, 0]]),
        fp.BayesRisk([[0, 1, 0.1], [1, 0, 0.1]]),
        fp.BayesRisk([[0, 1], [10, 0]]),
        fp.CrossEntropy(),
        fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
        fp.ECE(on="confidence"),
        fp.ECE(),
    ]
    for row, predictions in systems.items():
        values = [metric(predictions) for metric in metrics]
        expected = [f"{value:.3f}" for value in values[:4]]
        expected += [f"{values[4]:.1f}", *(f"{100 * value:.1f}" for value in values[5:])]
        assert numbers(demo, f"simulated, {row} ") == expected
    for word in ("C01", "Cab", "Cimb", "NCE", "RCL", "ECEmc", "ECE", "cal:", "calp:"):
        assert word in demo.split("SITW, calp")[1] or word in demo.splitlines()[1]


# warmup


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
    file = read_scores(Path("s.parquet"), None, "q_0,q_1", "w")
    assert not file.weights.flags.writeable
    return file.predictions("posteriors", None)


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
    "3 log-posteriors": lambda: MAKE.from_log_posteriors(Y3, np.log(Q3)),
    "3 log-likelihoods": lambda: MAKE.from_log_likelihoods(Y3, Z3, priors=[0.2, 0.3, 0.5]),
    "read-only": read_by_polars,
    "300 classes": many_classes,
    "detection": detection,
}
NOT_WARMED = {
    "panels.place_on_boundaries",  # these two serve rules.Weighted of more than two classes alone
    "panels.average_rows",
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
    code = f"from tests.test_cli import report_on_warmup; report_on_warmup({cases})"
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(folder / "cache")},
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


# Help, version, and the command as a program


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([], ["demo", "evaluate", "calibrate", "simulate", "warmup", "--version"]),
        (["demo"], ["--seed"]),
        (["evaluate"], ["--scores-are", "--labels", "--columns", "--weights", "--priors", "--costs",
                        "--calibrator", "--folds", "--json", "--csv", "raw", "temperature"]),
        (["calibrate"], ["--apply", "--output", "--save", "--load", "--folds", "histogram"]),
        (["simulate"], ["trials", "classes"]),
        (["simulate", "trials"], ["--targets", "--nontargets", "3658", "718130"]),
        (["simulate", "classes"], ["--samples", "--classes", "--system", "--variance", "mcps"]),
        (["warmup"], ["--help"]),
    ],
)  # fmt: skip
def test_help(command, words):
    out = succeed(*command, "--help")
    assert [word for word in words if word not in out] == []


def test_version():
    assert succeed("--version") == f"{fp.__version__}\n"


def program(*arguments, code=None, **environment):
    start = [sys.executable, "-P", "-m", "fastpsr.cli.app"] if code is None else [
        sys.executable, "-P", "-c", code
    ]  # fmt: skip
    return subprocess.run(
        [*start, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": str(Path(fp.__file__).parents[1])} | environment,
    )


def test_as_a_module():
    y, z, _ = data()
    write("s.npz", y_true=y, z=z)
    done = program("evaluate", "s.npz", "--scores-are", "logits", "--json", "t.json")
    assert done.returncode == 0
    assert "NCE" in done.stdout
    assert same(values_of("t.json"), fp.evaluate(fp.Predictions.from_logits(y, z)))


@pytest.mark.skipif(not COMMAND.exists(), reason="not installed")
def test_as_a_program():
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{fp.__version__}\n", "")
