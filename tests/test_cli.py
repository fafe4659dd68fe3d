"""The command line: what it computes is what the library computes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.evaluation import default_metrics
from fastpsr.evaluation.layout import number
from tests import reference
from tests.commands import (
    CALIBRATORS,
    SCORES,
    csv_rows,
    data,
    fastpsr,
    program,
    read,
    same,
    strict_json,
    succeed,
    values_of,
    write,
)

COMMAND = Path(sys.executable).parent / "fastpsr"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# evaluate


@pytest.mark.in_turn(4)
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
    (group,) = content["groups"]
    assert (group["n_samples"], len(group["class_sizes"])) == (y.size, K)
    assert group["priors"] == pytest.approx(table.priors, rel=1e-12)
    for row in table.rows:
        assert re.search(rf"(?m)^{re.escape(row.metric)} +{number(row.value, row.unit)} ", out)
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


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_conditions(ending):
    y, z, _ = data(2, n=400)
    scores, predictions = SCORES["llr"](y, z)
    rng = np.random.default_rng(0)
    ids = {"room": rng.choice(["a", "b"], y.size), "snr": rng.normal(size=y.size)}
    write(f"s{ending}", label=y, llr=scores, **ids)
    run = ["--columns", "llr", "--scores-are", "llr", "--metrics", "Cllr,EER", "--json", "t.json"]
    run += ["--by", "room", "--by", "room,snr", "--bins", "snr=0.0"]
    out = succeed("evaluate", f"s{ending}", *run)
    by = {"room": ids["room"], ("room", "snr"): (ids["room"], ids["snr"])}
    table = fp.evaluate(predictions, ["Cllr", "EER"], by=by, bins={"snr": [0.0]})
    rows = strict_json("t.json")["rows"]
    assert [(row["group"], row["metric"]) for row in rows] == [
        (row.group, row.metric) for row in table.rows
    ]
    assert [row["value"] for row in rows] == pytest.approx([row.value for row in table.rows])
    assert {"room=a", "room=b", "room=a, snr=[-inf, 0)"} <= {row["group"] for row in rows}
    assert "room=b, snr=[0, inf]" in out
    if ending == ".parquet":
        succeed("evaluate", f"*{ending}", *run)  # part by part
        in_parts = strict_json("t.json")["rows"]
        assert [row["group"] for row in in_parts] == [row["group"] for row in rows]
        assert [row["value"] for row in in_parts] == pytest.approx([row["value"] for row in rows])


@pytest.mark.slow
def test_conditions_of_tables_that_are_compared():
    y, z, _ = data(2, n=400)
    scores, predictions = SCORES["llr"](y, z)
    room = np.random.default_rng(0).choice(["a", "b"], y.size)
    for name, x in (("s.csv", scores), ("t.csv", 0.5 * scores)):
        write(name, label=y, llr=x, room=room)
    write("other.csv", label=y, llr=scores, room=room[::-1])
    write("bare.csv", label=y, llr=scores)
    run = ["--columns", "llr", "--scores-are", "llr", "--by", "room", "--metrics", "Cllr"]
    few = ["--resamples", 40, "--json", "t.json", "--report", "r.html"]
    succeed("compare", "s.csv", "t.csv", *run, *few)
    table = fp.evaluate(
        {"s": predictions, "t": fp.Predictions.from_llrs(y, 0.5 * scores)}, ["Cllr"],
        by={"room": room}, differences="first", n_resamples=40, seed=0,
    )  # fmt: skip
    found = strict_json("t.json")["differences"]
    assert [row["group_a"] for row in found] == [None, "room=a", "room=b"]
    for row, expected in zip(found, table.differences, strict=True):
        assert row["difference"] == pytest.approx(expected.value)
        assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high))
    assert "room=a" in Path("r.html").read_text()
    for other, words in (
        ("other.csv", "--by room: values must be the same in s.csv and other.csv"),
        ("bare.csv", "bare.csv has no column 'room'; it has label, llr"),
    ):
        assert words in fastpsr("compare", "s.csv", other, *run).err


def test_conditions_that_a_table_does_not_have():
    y, z, _ = data(2, n=400)
    write("s.csv", label=y, llr=SCORES["llr"](y, z)[0], snr=z[:, 0])
    run = ["evaluate", "s.csv", "--columns", "llr", "--scores-are", "llr"]
    for options, words in (
        (["--by", "room"], "s.csv has no column 'room'; it has label, llr, snr"),
        (
            ["--by", "snr"],
            "--by snr must have at most 20 different numbers, not 400: pass --bins 4",
        ),
        (["--bins", "4"], "--bins is for conditions: give --by too"),
    ):
        assert words in fastpsr(*run, *options).err


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


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("label", ["y_true", "label", "labels", "target", "targets"])
@pytest.mark.parametrize("weight", ["sample_weight", "weight", "weights"])
def test_usual_names_are_recognized(label, weight):
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
    assert strict_json("t.json")["groups"][0]["priors"] == pytest.approx(priors, rel=1e-12)


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


@pytest.mark.in_turn(2)
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
    assert type(CALIBRATORS[calibrator]).__name__ in re.search("(?m)^RCL .*$", out)[0]


def test_json_and_csv_are_one_table():
    y, z, _ = data(3)
    write("s.npz", y_true=y, s=z)
    run = ["evaluate", "s.npz", "--scores-are", "logits"]
    succeed(*run, "--json", "t.json", "--csv", "t.csv")
    numbers = ["value", "low", "high", "bias", "n_undefined", "method", "degrees_of_freedom"]
    names = ["system", "group", "metric", *numbers, "corrected", "note", "unit", "reference_value"]
    assert polars.read_csv("t.csv").columns == [*names, "n_samples"]
    assert csv_rows() == strict_json("t.json")["rows"]


def test_infinite_values():
    y, z, _ = data()
    q = 1 / (1 + np.exp(z[:, 0] - z[:, 1]))
    q[0] = 1.0 - y[0]
    write("s.npz", y_true=y, q=q)
    out = succeed("evaluate", "s.npz", "--json", "t.json", "--csv", "t.csv")
    assert same(values_of("t.json"), fp.evaluate(fp.Predictions.from_posteriors(y, q)))
    assert values_of("t.json")["NCE"] == "inf"
    assert strict_json("t.json")["groups"][0]["n_infinite"] == 1
    assert "1 sample has posterior 0 for the true class" in out
    assert re.search(r"(?m)^NCE +inf +infinite: 1 sample has posterior 0", out)
    assert np.isposinf(polars.read_csv("t.csv")["value"][0])


def test_separable_data_get_a_table_with_a_note():
    y = np.arange(60) % 2
    write("s.npz", y_true=y, q=np.where(y == 1, 0.7, 0.2) + np.arange(60) / 1000)
    out = succeed("evaluate", "s.npz", "--json", "t.json")
    assert re.search(r"(?m)^RCL +nan +not computed: scores separate the classes perfectly", out)
    assert re.search(r"(?m)^NCE +0\.\d{4} ", out)
    assert values_of("t.json")["RCL"] is None
    assert values_of("t.json")["RCL bound"] == 100.0


def test_raw_scores_get_metrics_of_ranks():
    y, z, _ = data()
    write("s.npz", y_true=y, s=z[:, 1])
    run = ["evaluate", "s.npz", "--scores-are", "raw"]
    out = succeed(*run, "--dcf", "0.1", "--json", "t.json")
    raw = fp.Predictions.from_raw_scores(y, z[:, 1])
    metrics = {"EER": fp.EER(), "minCllr": fp.MinCllr(), "AUC": fp.AUC()}
    assert values_of("t.json") == {
        name: metric(raw) for name, metric in (metrics | {"minDCF(0.1)": fp.MinDCF(0.1)}).items()
    }
    assert out.count("raw scores: only metrics of ranks have values") == 1


def test_detection_costs_of_a_table():
    y, z, _ = data()
    write("s.npz", y_true=y, z=z)
    run = ["evaluate", "s.npz", "--scores-are", "logits", "--dcf", "sre16", "--dcf", "0.2:5:1"]
    succeed(*run, "--json", "t.json")
    logits = fp.Predictions.from_logits(y, z)
    values = values_of("t.json")
    for name, metric in (("min", fp.MinDCF), ("act", fp.ActDCF)):
        assert values[f"{name}DCF(0.2:5:1)"] == metric(0.2, 5, 1)(logits)
        both = (metric(0.01)(logits) + metric(0.005)(logits)) / 2
        assert values[f"{name}DCF(sre16)"] == pytest.approx(both)


def test_markdown_and_latex():
    y, z, _ = data()
    write("s.npz", y_true=y, z=z)
    run = ["evaluate", "s.npz", "--scores-are", "logits"]
    succeed(*run, "--markdown", "t.md", "--latex", "t.tex")
    rows = [
        (r.metric, number(r.value, r.unit))
        for r in fp.evaluate(fp.Predictions.from_logits(y, z)).rows
    ]
    markdown = [line.strip("| ").split(" | ") for line in Path("t.md").read_text().splitlines()]
    assert [tuple(line) for line in markdown] == [("metric", "value"), ("---", "--:"), *rows]
    latex = Path("t.tex").read_text().replace(r"\%", "%").splitlines()
    assert latex[0] == r"\begin{tabular}{lr}"
    units = [("", " [%]")["%" in value] for _, value in rows]
    cells = [
        (name + u, value.replace(" %", "")) for (name, value), u in zip(rows, units, strict=True)
    ]
    assert latex[4:-2] == [rf"{name} & {value} \\" for name, value in cells]


def test_warnings_are_one_line_each():
    y, z, _ = data()
    write("s.npz", y_true=y, z=z[:, 0])
    outcome = fastpsr("evaluate", "s.npz", "--scores-are", "logits")
    assert outcome.code == 0
    lines = "warning: the fitted scale is -.*\nwarning: the AUC is about 0.*\n"
    assert re.fullmatch(lines, outcome.err)


def test_posterior_is_another_word_for_posteriors():
    y, z, _ = data()
    write("s.npz", y_true=y, q=np.exp(reference.log_softmax(z)))
    run = ["evaluate", "s.npz", "--scores-are"]
    assert succeed(*run, "posterior") == succeed(*run, "posteriors")


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


NAMES = {("logits", 2): "log_odds", ("logits", 3): "log_posterior", ("llr", 2): "llr"}
NAMES |= {("posteriors", 2): "log_odds", ("log-likelihoods", 3): "log_likelihood"}
CASES = [
    (calibrator, scores_are, K)
    for calibrator in CALIBRATORS
    for scores_are, K in NAMES
    if K == 2 or not CALIBRATORS[calibrator].binary_only
]


def cases_and_endings():
    """All pairs; quick are the cases with the endings in turn."""
    endings = (".npz", ".csv", ".parquet")
    for place, case in enumerate(CASES):
        for ending in endings:
            marks = [] if ending == endings[place % 3] else pytest.mark.slow
            yield pytest.param(*case, ending, marks=marks)


@pytest.mark.parametrize(("calibrator", "scores_are", "K", "ending"), [*cases_and_endings()])
def test_calibrate(calibrator, scores_are, K, ending):
    (y, z, _), (new_y, new_z, _) = data(K), data(K, seed=1)
    scores, predictions = SCORES[scores_are](y, z)
    new_scores, new_predictions = SCORES[scores_are](new_y, new_z)
    write("train.npz", y_true=y, s=scores)
    write("new.npz", y_true=new_y, s=new_scores)
    write("unlabeled.npz", s=new_scores)
    are = ["--scores-are", scores_are]
    train = ["calibrate", "train.npz", "--calibrator", calibrator, *are]
    succeed(*train, "--apply", "new.npz", "--output", f"a{ending}", "--save", "fitted.json")
    apply = ["calibrate", "--load", "fitted.json", *are]
    succeed(*apply, "--apply", "new.npz", "--output", f"b{ending}")
    succeed(*apply, "--apply", "unlabeled.npz", "--output", f"c{ending}")
    succeed(*train, "--output", f"d{ending}", "--folds", 3)

    fitted = CALIBRATORS[calibrator].fit(predictions)
    expected = fitted.transform(new_predictions).scores
    crossed = fp.cross_fit(CALIBRATORS[calibrator], predictions, fp.CrossFit(3)).scores
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
    assert "made.csv: 240 rows of y_true, llr (natural logarithms)" in out
    succeed("evaluate", "made.csv", "--scores-are", "llr", "--json", "t.json")
    raw = fp.Predictions.from_raw_scores(y, z[:, 1])
    table = fp.evaluate(fp.cross_fit(fp.DirectionPreserving(), raw))
    assert same(values_of("t.json"), table)


# Help, version, and the command as a program


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([], ["demo", "evaluate", "calibrate", "simulate", "warmup", "--version"]),
        (["demo"], ["--seed"]),
        (["compare"], ["--key", "--ci", "--resamples", "--resample", "--interval", "--seed"]),
        (["evaluate"], ["--ci", "--resamples", "--resample", "--interval", "--seed"]),
        (["evaluate"], ["--scores-are", "--labels", "--columns", "--weights", "--priors", "--costs",
                        "--calibrator", "--folds", "--json", "--csv", "raw", "temperature"]),
        (["calibrate"], ["--apply", "--output", "--save", "--load", "--folds", "histogram"]),
        (["fuse"], ["--apply", "--output", "--save", "--load", "--quality", "--prior", "--report"]),
        (["simulate"], ["trials", "challenge", "classes"]),
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


@pytest.mark.slow
def test_as_a_module():
    y, z, _ = data()
    write("s.npz", y_true=y, z=z)
    done = program("evaluate", "s.npz", "--scores-are", "logits", "--json", "t.json")
    assert done.returncode == 0
    assert "NCE" in done.stdout
    assert same(values_of("t.json"), fp.evaluate(fp.Predictions.from_logits(y, z)))


@pytest.mark.skipif(not COMMAND.exists(), reason="not installed")
def test_as_a_program():
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{fp.__version__}\n", "")


def test_metrics_of_ranks_are_had_from_posteriors_by_name():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    q = 1.0 / (1.0 + np.exp(-(rng.normal(size=200) + 2.0 * y - 1.0)))
    write("t.csv", y_true=y, p=q)
    data = fp.Predictions.from_posteriors(y, q)
    succeed("evaluate", "t.csv", "--metrics", "EER,mindcf,AUC,Cllr", "--json", "t.json")
    found = values_of("t.json")
    metrics = [fp.EER(), fp.MinDCF(0.01), fp.AUC(), fp.Cllr()]
    assert found == {metric.label: pytest.approx(metric(data)) for metric in metrics}


def test_cosine_is_another_word_for_raw():
    rng = np.random.default_rng(0)
    write("t.csv", y_true=np.arange(60) % 2, s=rng.random(60))
    for kinds in (["raw"], ["cosine"]):
        succeed("evaluate", "t.csv", "--scores-are", *kinds, "--json", f"{kinds[0]}.json")
    assert values_of("raw.json") == values_of("cosine.json")
