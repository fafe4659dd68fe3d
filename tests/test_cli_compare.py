"""`fastpsr compare`: differences and their intervals are those of the library."""

import re
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.evaluation import default_metrics
from tests.commands import (
    FOLDER,
    check_refusal,
    data,
    fastpsr,
    npz,
    parameters,
    program,
    strict_json,
    succeed,
    write,
    write_trials,
)

# small lists: intervals say that few trials or speakers hold the values, or are none
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*degrees of freedom:RuntimeWarning", "ignore:.*has no interval:RuntimeWarning"
)

KEYS = ["metric", "a", "b", "difference", "low", "high", "bias", "n_undefined", "excludes_zero"]
NAMES = ["system_a", "system_b", "group_a", "group_b", *KEYS[:8], "n_simultaneous", "method",
         "equal", "excludes_zero", "note", "unit"]  # fmt: skip
TRIALS = ("compare", "--key", "key", "a", "b")
SPEAKERS = ("--speaker-columns", "by,of")
FEW = ("--resamples", "60")
PERCENTILE = ("--interval", "percentile")  # takes the least time
QUICK = ("--metrics", "EER,Cllr")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def check(metrics, a, b, **options):
    """Whether what was written is what the library finds for two predictions."""
    rows = strict_json("t.json")["differences"]
    assert [row["metric"] for row in rows] == list(metrics)
    with_interval = {name: metrics[name] for name in metrics if name != "RCL bound"}
    compared = fp.compare(with_interval, a, b, **({"n_resamples": 60, "seed": 0} | options))
    by_name = dict(zip(with_interval, compared, strict=True))
    for row, metric in zip(rows, metrics.values(), strict=True):
        assert list(row) == NAMES
        if row["metric"] == "RCL bound":  # of these samples, without interval
            assert row["low"] is None
            continue
        found = by_name[row["metric"]]
        low, high = found.interval
        expected = [metric(a), metric(b), found.value, low, high, found.bias, found.n_undefined]
        numbers = [np.nan if row[name] is None else row[name] for name in KEYS[1:8]]
        assert numbers == pytest.approx(expected, rel=1e-9, abs=1e-14, nan_ok=True)
        assert row["excludes_zero"] == (None if np.isnan(low) else low > 0 or high < 0)


def shown(row):
    """What tables have of a difference, at usual magnitudes."""
    factor, unit = {"fraction": (100.0, " %"), "percent": (1.0, " %")}.get(row["unit"], (1.0, ""))
    digits = 3 if unit else 4
    a, b, value = (f"{factor * row[name]:.{digits}f}{unit}" for name in KEYS[1:4])
    if row["low"] is None:
        return [a, b, value, "no interval"]
    low, high = (f"{factor * row[name]:.{digits}f}" for name in KEYS[4:6])
    return [a, b, value, f"[{low}, {high}]", "yes" if row["excludes_zero"] else "no"]


def costs_of(*arguments):
    """Detection costs at an operating point by name."""
    return {m.label: m for m in (fp.MinDCF(*arguments), fp.ActDCF(*arguments))}


def metrics_of_trials(groups=None, dcf=0.01):
    usual = default_metrics(2, train=fp.CrossFit(5, groups=groups))
    ranks = {"EER": fp.EER(), **costs_of(dcf)}
    rest = {"Cllr": fp.Cllr(), "minCllr": fp.MinCllr(), "AUC": fp.AUC()}
    return {**ranks, **rest, **{name: usual[name] for name in ("NCE", "NBS", "RCL")}}


# Trials

SCHEMES = {
    "iid": ([], lambda trials: fp.IID()),
    "stratified": ([], lambda trials: fp.Stratified()),
    "session": ([], lambda trials: fp.Clusters(trials.session)),
    "nested:session": ([], lambda trials: fp.Nested(trials.session)),
    "speaker": (SPEAKERS, lambda trials: fp.TwoWay(*trials.speakers())),
}


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(each, marks=[] if each in ("iid", "speaker") else pytest.mark.slow)
        for each in SCHEMES
    ],
)
def test_trials(scheme):
    """The scores of b stand in another order; all metrics where speakers are drawn."""
    options, resampling = SCHEMES[scheme]
    trials = write_trials()
    run = [*TRIALS, *options, *FEW, "--ci", 0.9, "--resample", scheme, "--dcf", "sre16"]
    metrics = metrics_of_trials(trials.speakers() if options else None, "sre16")
    if scheme != "speaker":
        metrics = {name: metrics[name] for name in ("EER", "actDCF(sre16)", "Cllr", "NBS")}
        run += ["--metrics", ",".join(metrics)]
    out = succeed(*run, "--seed", 4, "--json", "t.json")
    check(metrics, trials.predictions("a"), trials.predictions("b"),
          confidence_level=0.9, resampling=resampling(trials), seed=4)  # fmt: skip
    content = strict_json("t.json")
    names = ["version", "scores_are", "groups", "intervals", "rows", "differences", "inputs"]
    assert list(content) == names
    assert [each["path"] for each in content["inputs"]] == ["a", "b", "key"]
    assert [(each["system"], each["n_samples"]) for each in content["groups"]] == [
        ("a", 1800), ("b", 1800)
    ]  # fmt: skip
    assert content["intervals"] == {
        "confidence_level": 0.9, "method": "auto", "n_resamples": 60, "resampling": scheme,
        "seed": 4,
    }  # fmt: skip
    assert re.search(
        rf"(?m)^90 % intervals: .*[;,] (60 replicates, )?resampling {scheme}, seed 4\n"
        "difference: a - b$",
        out,
    )
    assert re.search(r"(?m)^targets +300 +300\nnon-targets +1,500 +1,500$", out)
    for row in content["differences"]:
        cells = shown(row)
        line = " +".join(map(re.escape, [row["metric"], *cells]))
        assert re.search(rf"(?m)^{line} *$", out)


@pytest.mark.slow
def test_usual_intervals():
    write_trials()
    run = [*TRIALS, "--metrics", "EER,minDCF(0.01),Cllr,minCllr,AUC"]
    out = succeed(*run)
    by = "subsampling of EER, minDCF(0.01), minCllr, AUC (336 halves and quarters); percentile of "
    assert f"95 % intervals: {by}" in out
    assert "; 1,000 replicates, resampling iid, seed 0\n" in out
    assert out.split("\n95 %")[1] == succeed(*run, "--seed", 0).split("\n95 %")[1]


@pytest.mark.parametrize("method", ["basic", "bca", "normal"])
def test_ways_to_make_an_interval(method):
    trials = write_trials()
    run = [*TRIALS, *FEW, "--scores-are", "raw", "--interval", method, "--json", "t.json"]
    succeed(*run)
    systems = [
        fp.Predictions.from_raw_scores(trials.made.y_true, trials.llrs[name]) for name in "ab"
    ]
    metrics = {"EER": fp.EER(), "minDCF(0.01)": fp.MinDCF(0.01)}
    check({**metrics, "minCllr": fp.MinCllr(), "AUC": fp.AUC()}, *systems, method=method)


def test_priors_and_calibrator():
    trials = write_trials()
    options = ["--priors", "0.8,0.2", "--calibrator", "temperature", "--folds", 3]
    succeed(*TRIALS, *FEW, *options, "--json", "t.json")
    rcl = fp.CalibrationLoss(fp.rules.Log(), fp.TemperatureScaling(), fp.CrossFit(3))
    systems = [trials.predictions(name, prior=0.2) for name in "ab"]
    check(metrics_of_trials() | {"RCL": rcl}, *systems)


def test_trials_that_only_one_system_scores():
    trials = write_trials()
    for name, gone in (("a", slice(0, 3)), ("b", slice(-7, -1))):  # b is the other way round
        lines = Path(name).read_text("utf-8").splitlines(keepends=True)
        del lines[gone]
        Path(name).write_text("".join(lines), "utf-8")
    check_refusal({}, TRIALS, ["key and a do not fit", "3 trials", "--missing drop"])
    out = succeed(*TRIALS, *FEW, *QUICK, "--missing", "drop", "--json", "t.json")
    assert "1,793 trials have all scores; left out: 4 of a, 1 of b\n" in out
    rows = slice(7, None)
    metrics = {"EER": fp.EER(), "Cllr": fp.Cllr()}
    check(metrics, trials.predictions("a", rows), trials.predictions("b", rows))


def test_trials_that_differ_by_side_alone():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    llrs = {name: np.round(rng.normal(size=200) + y, 3) for name in "ab"}
    ids = [f"m{k // 40}\ts{k // 2 % 20}\t{'ab'[k % 2]}" for k in range(200)]
    named = dict(zip(ids, y.tolist(), strict=True))
    assert len(named) == 200
    rows = [f"{trial}\t{('non', '')[k]}target\n" for trial, k in named.items()]
    head = "modelid\tsegmentid\tside\t"
    Path("key").write_text(f"{head}targettype\n" + "".join(rows), "utf-8")
    for name, order in (("a", np.arange(3, 200)), ("b", np.arange(200)[::-1])):
        lines = [f"{ids[k]}\t{llrs[name][k]}\n" for k in order]
        Path(name).write_text(f"{head}LLR\n" + "".join(lines), "utf-8")
    succeed(*TRIALS, *FEW, *QUICK, "--missing", "drop", "--json", "t.json")
    both = [fp.Predictions.from_llrs(y[3:], llrs[name][3:]) for name in "ab"]
    check({"EER": fp.EER(), "Cllr": fp.Cllr()}, *both)


def test_equalized_trials():
    trials = write_trials()
    asked = ("EER", "Cllr", "NBS")
    run = [*TRIALS, *FEW, *PERCENTILE, "--metrics", ",".join(asked)]
    succeed(*run, "--equalize", "session", "--json", "t.json")
    y, weights = trials.made.y_true, np.zeros(trials.session.size)
    for k in (0, 1):
        for session in "01234":
            cell = (y == k) & (trials.session == session)
            weights[cell] = (y == k).sum() / 5 / cell.sum()
    systems = [trials.predictions(name, sample_weight=weights) for name in "ab"]
    metrics = metrics_of_trials()
    check({name: metrics[name] for name in asked}, *systems, method="percentile")


def test_a_system_and_itself():
    write_trials()
    Path("c").write_bytes(Path("a").read_bytes())
    out = succeed("compare", "--key", "key", "a", "c", *FEW, *QUICK, "--json", "t.json")
    for row in strict_json("t.json")["differences"]:
        assert [row[name] for name in KEYS[3:]] == [0.0, 0.0, 0.0, 0.0, 0, False]
        assert row["equal"]
        assert re.search(rf"(?m)^{re.escape(row['metric'])} .* equal *$", out)
    assert " yes" not in out


def differences_in(path):
    """Return the lines of differences in a table, with the columns that they have."""
    frame = polars.read_csv(path, infer_schema_length=None)
    return frame.filter(frame["row"] == "difference").select(NAMES).to_dicts()


def test_every_kind_of_table():
    write_trials()
    for name in "ab":
        Path(f"{name}_1").write_bytes(Path(name).read_bytes())
    files = ["--csv", "t.csv", "--markdown", "t.md", "--latex", "t.tex", "--json", "t.json"]
    succeed("compare", "--key", "key", "a_1", "b_1", *FEW, *QUICK, *files)
    rows = strict_json("t.json")["differences"]
    assert differences_in("t.csv") == rows
    markdown = [line.strip("| ").split(" | ") for line in Path("t.md").read_text().splitlines()]
    assert markdown[0] == ["metric", "a_1", "b_1", "difference", "interval", "excludes 0"]
    latex = Path("t.tex").read_text().splitlines()
    assert latex[0] == r"\begin{tabular}{lrrrrr}"
    assert latex[2] == r"metric & a\_1 & b\_1 & difference & interval & excludes 0 \\"
    for place, row in enumerate(rows):  # below the numbers of targets and non-targets
        cells = [row["metric"], *shown(row)]
        assert markdown[place + 4] == cells
        unit = r" [\%]" * any("%" in cell for cell in cells)
        bare = [cell.replace(" %", "") for cell in cells[1:]]
        assert latex[place + 6] == " & ".join([cells[0] + unit, *bare]) + r" \\"


def test_what_has_no_value():
    trials = write_trials()
    lines = Path("a").read_text("utf-8").splitlines(keepends=True)
    target = int(trials.made.y_true.argmax())
    lines[target] = re.sub(r" \S+$", " -inf", lines[target])
    Path("a").write_text("".join(lines), "utf-8")
    run = [*TRIALS, *FEW, *PERCENTILE, "--metrics", "EER,Cllr,NCE,RCL"]
    out = succeed(*run, "--json", "t.json")
    rows = {row["metric"]: row for row in strict_json("t.json")["differences"]}
    said = "1 sample has posterior 0 for the true class"
    assert (rows["NCE"]["a"], rows["NCE"]["difference"], rows["NCE"]["bias"]) == (
        "inf",
        "inf",
        None,
    )
    assert rows["NCE"]["excludes_zero"] in (True, False)
    assert f"a, pooled: Cllr, NCE: infinite: {said}\n" in out
    assert [rows["RCL"][name] for name in (KEYS[1], *KEYS[3:])] == [
        None, None, None, None, None, 0, None,
    ]  # fmt: skip
    assert f"a, pooled: RCL: undefined: {said}: pass --floor 0.001\n" in out
    assert rows["EER"]["low"] is not None


def test_warnings_name_the_system():
    write_trials()
    lines = [line.rsplit(" ", 1) for line in Path("b").read_text("utf-8").splitlines()]
    Path("b").write_text("".join(f"{i} {-float(x)}\n" for i, x in lines), "utf-8")
    err = fastpsr(*TRIALS, *FEW, *PERCENTILE, "--metrics", "RCL").err
    assert re.match(r"warning: b: the fitted scale is -", err)


# Tables


def tables(ending, **more):
    y, z, _ = data()
    other = z + np.random.default_rng(1).normal(size=z.shape)
    for name, scores in (("a", z), ("b", other)):
        if ending == ".npy":
            write("a.npy", label=y, **more, **{name: scores})
        else:
            write(f"{name}{ending}", label=y, s=scores, **more)
    return [fp.Predictions.from_logits(y, scores) for scores in (z, other)]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("ending", [".npz", ".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("scheme", ["iid", "stratified", "cluster"])
def test_tables(ending, scheme):
    cluster = np.arange(240) // 2 % 30
    more = {"cluster": cluster} if scheme == "cluster" else {}
    systems = tables(ending, **more)
    labels = ["--labels", "label.npy"] if ending == ".npy" else []
    drawn = "cluster.npy" if ending == ".npy" and more else scheme
    run = ["compare", f"a{ending}", f"b{ending}", "--scores-are", "logits", *labels, *FEW]
    metrics = default_metrics(2) | costs_of(0.1)
    if scheme != "cluster":
        metrics = {name: metrics[name] for name in ("NCE", "ECE", "minDCF(0.1)")}
        run += ["--metrics", ",".join(metrics)]
    out = succeed(*run, "--resample", drawn, "--dcf", "0.1", "--json", "t.json")
    named = {"iid": fp.IID(), "stratified": fp.Stratified(), "cluster": fp.Clusters(cluster)}
    check(metrics, *systems, resampling=named[scheme])
    assert re.search(r"(?m)^targets +120 +120$", out)
    assert out.count("taken as logits") == 2


def test_small_differences_are_not_shown_as_0():
    y, z, _ = data()
    for name, scores in (("a.csv", z), ("b.csv", z * 1.00001)):
        write(name, label=y, s=scores)
    run = ["compare", "a.csv", "b.csv", "--scores-are", "logits", *FEW, *PERCENTILE]
    out = succeed(*run, "--metrics", "NCE")
    (line,) = (line for line in out.splitlines() if line.startswith("NCE "))
    small = r"-?(\d\.\de-0\d|0\.0+[1-9]\d+)"
    assert re.search(rf" {small} +\[{small}, {small}\] +(yes|no)$", line)


def test_costs_and_classes():
    y, z, w = data(3)
    systems = []
    for name, scores in (("a", z), ("b", 0.5 * z)):
        write(f"{name}.csv", label=y, weight=w, s=scores)
        systems.append(fp.Predictions.from_logits(y, scores, sample_weight=w))
    Path("c.json").write_text("[[0,1,2],[1,0,1],[3,1,0]]", "utf-8")
    run = ["compare", "a.csv", "b.csv", "--scores-are", "logits", *FEW, "--costs", "c.json"]
    succeed(*run, "--json", "t.json")
    costs = fp.CostMatrix([[0, 1, 2], [1, 0, 1], [3, 1, 0]])
    check(default_metrics(3, costs=costs), *systems)


# Bad input

Y, Q = np.arange(40) % 2, np.linspace(0.1, 0.9, 40)
A = {"a.npz": npz()}
LABELS = np.where(np.arange(40) == 7, 1 - Y, Y)
LONGER = npz(label=np.append(Y, 1), score=np.append(Q, 0.5))
THREE = npz(score=np.full((40, 3), 1 / 3))
TABLES = ("compare", "a.npz", "b.npz")
DRAWN = (*TABLES, "--columns", "score", "--resample", "g")
BAD = {
    "labels": (
        A | {"b.npz": npz(label=LABELS)}, TABLES, ["a.npz and b.npz", "labels differ in row 7"]
    ),
    "lengths": (A | {"b.npz": LONGER}, TABLES, ["a.npz and b.npz", "40 and 41"]),
    "classes": (A | {"b.npz": THREE}, TABLES, ["a.npz and b.npz", "classes: 2 and 3"]),
    "weights": (
        {"a.npz": npz(weight=Q), "b.npz": npz(weight=Q + 1)}, TABLES, ["weights", "a.npz and b"]
    ),
    "weights of one": (A | {"b.npz": npz(weight=Q)}, TABLES, ["weights must be the same"]),
    "clusters": (
        {"a.npz": npz(g=Y), "b.npz": npz(g=1 - Y)}, DRAWN, ["--resample g", "a.npz and b.npz"]
    ),
    "clusters of one": (A | {"b.npz": npz(g=Y)}, DRAWN, ["--resample must", "a.npz", "'g'"]),
    "one cluster": ({"a.npz": npz(g=0 * Y), "b.npz": npz(g=0 * Y)}, DRAWN, ["two clusters"]),
    "no labels": (
        A | {"b.npz": npz()}, [*TABLES, "--labels", "y"], ["a.npz has no column 'y'"]
    ),
    "one file": (A, ["compare", "a.npz", "./a.npz"], ["FILE must name each file once", "a.npz"]),
    "no file": (A, TABLES, ["No such file", "b.npz"]),
    "folder": (A | {"b.npz": FOLDER}, TABLES, ["b.npz"]),
    "one argument": (A, ["compare", "a.npz"], ["two systems or more", "a.npz alone"]),
    "no argument": (A, ["compare"], ["FILE must name two systems or more, not none"]),
    "no third": (A | {"b.npz": npz()}, [*TABLES, "c.npz"], ["No such file", "c.npz"]),
    "a name twice": (A, ["compare", "x=a.npz", "x=b.npz"], ["name of its own", "x twice"]),
    "kinds": (A, [*TABLES, *["--scores-are", "llr"] * 3], ["each of 2 systems", "3 times"]),
    "condition": ({}, [*TRIALS, "--by", "place"], ["--by", "session", "'place'"]),
    "report": (A, [*TABLES, "--report", "b.npz"], ["--report", "input"]),
    "no labels, no key": ({}, ["compare", "a", "b"], ["a has no labels", "--key"]),
    "a table and another": (A, ["compare", "a.npz", "b"], ["b must end in .npz", "--key"]),
    "over an input": (A, [*TABLES, "--json", "b.npz"], ["--json", "input"]),
    "dcf": ({}, [*TRIALS, "--dcf", "x"], ["--dcf", "'x'"]),
    "level": ({}, [*TRIALS, "--ci", "1"], ["--ci must lie strictly between 0 and 1"]),
    "replicates": ({}, [*TRIALS, "--resamples", "10"], ["--resamples must", "40", "not 10"]),
    "seed": ({}, [*TRIALS, "--seed", "-2"], ["--seed must", "-2"]),
    "speakers": ({}, [*TRIALS, "--resample", "speaker"], ["speaker needs", "--speakers"]),
    "bca": (
        {}, [*TRIALS, *SPEAKERS, "--resample", "speaker", "--interval", "bca"],
        ["--interval must not be bca"],
    ),
    "column": ({}, [*TRIALS, "--resample", "place"], ["--resample must", "session", "'place'"]),
    "equalize": ({}, [*TRIALS, "--equalize", "place"], ["--equalize", "'place'"]),
    "folds of raw": ({}, [*TRIALS, "--scores-are", "raw", "--folds", "3"], ["--folds", "raw"]),
    "other trials": (
        {"b": b"x y 1.0\nz w 2.0\n"}, TRIALS, ["key and b have no trial in common", "'x' 'y'"]
    ),
}  # fmt: skip
BAD |= {
    f"{option} for a table": (
        A,
        [*TABLES, option],
        [option.split("=")[0], "is for trials (--key, --scores)"],
    )
    for option in (
        "--missing=drop",
        "--speaker-pattern=x",
        "--format=csv",
        "--equalize=g",
    )
} | {
    f"{option} for trials": ({}, [*TRIALS, option], [option.split("=")[0], "is for a table"])
    for option in ("--labels=y", "--weights=w", "--costs=c.json")
}


@pytest.mark.parametrize(("files", "arguments", "words"), parameters(BAD))
def test_bad_input(files, arguments, words):
    write_trials()
    check_refusal(files, [*arguments, "--csv", "t.csv"], words)


def test_no_trial_in_common():
    write_trials()
    for name, kept in (("a", slice(0, 900)), ("b", slice(0, 900))):  # b is the other way round
        lines = Path(name).read_text("utf-8").splitlines(keepends=True)
        Path(name).write_text("".join(lines[kept]), "utf-8")
    check_refusal({}, [*TRIALS, "--missing", "drop"], ["a and b have a score for no trial in"])


def test_no_target_in_common():
    y = write_trials().made.y_true
    for name, labels in (("a", y), ("b", y[::-1])):  # odd rows of the one are even in the other
        lines = Path(name).read_text("utf-8").splitlines(keepends=True)
        kept = [line for k, line in enumerate(lines) if labels[k] == 0 or k % 2]
        Path(name).write_text("".join(kept), "utf-8")
    words = ["the trials that have a score in a and b have no targets"]
    check_refusal({}, [*TRIALS, "--missing", "drop"], words)


# More than two systems, and conditions


def write_third():
    """Write scores of c, which rank as those of a, in their order."""
    lines = [line.rsplit(" ", 1) for line in Path("a").read_text("utf-8").splitlines()]
    Path("c").write_text("".join(f"{ids} {2.0 * float(x)!r}\n" for ids, x in lines), "utf-8")


def test_systems_by_condition():
    trials = write_trials()
    write_third()
    options = ["--by", "session", "--metrics", "eer,cllr", "--all-pairs", "--ci", 0.9, *FEW]
    options += PERCENTILE
    run = ["compare", "--key", "key", "a", "second=b", "c", *options]
    out = succeed(*run, "--json", "t.json", "--csv", "t.csv", "--markdown", "t.md")
    content = strict_json("t.json")
    systems = {
        name: fp.Predictions.from_llrs(trials.made.y_true, llrs)
        for name, llrs in (("a", trials.llrs["a"]), ("second", trials.llrs["b"]),
                           ("c", 2.0 * trials.llrs["a"]))
    }  # fmt: skip
    expected = fp.evaluate(
        systems, {"EER": fp.EER(), "Cllr": fp.Cllr()}, by={"session": trials.session},
        n_resamples=60, confidence_level=0.9, method="percentile", seed=0, differences="all",
    ).to_dict()  # fmt: skip
    assert content["differences"] == expected["differences"]
    assert content["rows"] == expected["rows"]
    assert content["groups"] == expected["groups"]
    assert differences_in("t.csv") == [
        {name: row[name] for name in NAMES} for row in content["differences"]
    ]
    for words in ("second - c", "session=3", "differences; * where the interval excludes 0"):
        assert words in out
    _, below = Path("t.md").read_text().split("\ndifferences; * where the interval excludes 0\n\n")
    markdown = [line.strip("| ").split(" | ") for line in below.splitlines()]
    assert markdown[0] == ["difference", "condition", "EER", "Cllr"]
    assert len(markdown) == 2 + 3 * 6
    assert {line[0] for line in markdown[2:]} == {"a - second", "a - c", "second - c"}
    assert all(line[2] == "equal" for line in markdown if line[0] == "a - c")


def test_what_is_said_once():
    write_trials(n_target=3, n_nontarget=40)  # 5 % of the replicates have no target
    write_third()
    options = ["--resample", "iid", *SPEAKERS, *FEW, "--metrics", "EER,Cllr", "--json", "t.json"]
    outcome = fastpsr(*TRIALS, "c", *options)
    assert outcome.code == 0, outcome.err
    content = strict_json("t.json")
    undefined = [row for row in content["rows"] if row["n_undefined"]]
    assert undefined
    assert any(row["n_undefined"] for row in content["differences"])
    warned = [line for line in outcome.err.splitlines() if "is undefined in" in line]
    between = [row for row in content["differences"] if row["n_undefined"]]
    n_others = len(undefined) + len(between) - 1  # each has draws of its own
    assert len(warned) == 1
    assert f" (and {n_others} like this: " in warned[0]
    said = [line for line in outcome.out.splitlines() if "speakers: " in line]
    assert len(said) == 1, said  # which the key has for all systems


def test_the_first_with_each_other():
    write_trials()
    write_third()
    few = [*FEW, *PERCENTILE, *QUICK]
    succeed("compare", "--key", "key", "b", "a", "c", *few, "--json", "t.json")
    rows = strict_json("t.json")["differences"]
    assert {(row["system_a"], row["system_b"]) for row in rows} == {("b", "a"), ("b", "c")}


def test_kinds_of_scores_for_each():
    trials = write_trials()
    write_third()
    kinds = ["--scores-are", "llr", "--scores-are", "raw", "--scores-are", "log10-llr"]
    succeed("compare", "--key", "key", "a", "c", "b", *kinds, *FEW, "--json", "t.json")
    content = strict_json("t.json")
    assert content["scores_are"] == "llr, raw, log10-llr"
    assert {row["metric"] for row in content["differences"]} == {
        "EER", "minDCF(0.01)", "minCllr", "AUC"
    }  # fmt: skip
    assert [group["kind"] for group in content["groups"]] == [
        "likelihoods", "raw scores", "likelihoods"
    ]  # fmt: skip
    b = fp.Predictions.from_llrs(trials.made.y_true, np.log(10.0) * trials.llrs["b"])
    found = {(r["system"], r["metric"]): r["value"] for r in content["rows"]}
    assert found["b", "AUC"] == pytest.approx(fp.AUC()(b))


def test_trials_of_three_systems():
    trials = write_trials()
    write_third()
    for name, kept in (("a", slice(2, None)), ("b", slice(0, -5)), ("c", slice(0, -4))):
        lines = Path(name).read_text("utf-8").splitlines(keepends=True)
        Path(name).write_text("".join(lines[kept]), "utf-8")
    run = ["compare", "--key", "key", "a", "b", "c", *FEW, "--missing", "drop", "--json", "t.json"]
    out = succeed(*run, "--metrics", "Cllr")
    # b is the other way round
    assert "1,791 trials have all scores; left out: 7 of a, 4 of b, 5 of c\n" in out
    rows = slice(5, 1796)
    expected = fp.Cllr()(trials.predictions("a", rows))
    assert strict_json("t.json")["rows"][0]["value"] == pytest.approx(expected, rel=1e-12)


OF_CONDITIONS = ("--by", "session", "--metrics", "EER", "--ci", 0.5, "--resamples", 40)


def test_differences_of_conditions():
    trials = write_trials()
    run = ["evaluate", "--key", "key", "--scores", "a", *OF_CONDITIONS, *PERCENTILE]
    run += ["--group-differences", "pooled"]
    out = succeed(*run, "--json", "t.json", "--csv", "t.csv")
    given = {"by": {"session": trials.session}, "n_resamples": 40, "seed": 0}
    given |= {"confidence_level": 0.5, "method": "percentile", "group_differences": "pooled"}
    expected = fp.evaluate({"a": trials.predictions("a")}, {"EER": fp.EER()}, **given).to_dict()
    assert strict_json("t.json")["differences"] == expected["differences"]
    assert len(differences_in("t.csv")) == len(expected["differences"]) == 5
    assert len(polars.read_csv("t.csv")) == 5 + len(expected["rows"])
    assert "50 % intervals are simultaneous over 5 differences of each metric" in out
    assert "session=3 - pooled" in out
    run = [*TRIALS, *OF_CONDITIONS, *PERCENTILE, "--group-differences", "all"]
    out = succeed(*run, "--json", "t.json", "--markdown", "t.md")
    rows = strict_json("t.json")["differences"]
    assert [row["n_simultaneous"] for row in rows] == [1] * 6 + [10] * 20
    assert "50 % intervals of groups are simultaneous over 10 differences" in out
    values, _, lines = Path("t.md").read_text("utf-8").partition("| difference |")
    lines = ["| difference |" + lines.splitlines()[0], *lines.splitlines()[1:]]
    assert values.startswith("| system | condition | targets |")
    assert lines[0] == "| difference | condition or system | EER |"
    assert len(lines) == 2 + len(rows)


@pytest.mark.slow
def test_differences_of_conditions_in_reports():
    write_trials()
    run = ["evaluate", "--key", "key", "--scores", "a", *OF_CONDITIONS, "--report", "t.html"]
    succeed(*run, "--group-differences", "pooled")
    page = Path("t.html").read_text("utf-8")
    said = "50 % intervals are simultaneous over 5 differences of each metric"
    for words in (said, "session=3 - pooled", "<h1>Evaluation of a"):
        assert words in page
    succeed(*TRIALS, *OF_CONDITIONS, "--group-differences", "all", "--report", "t.html")
    page = Path("t.html").read_text("utf-8")
    for words in ("<h1>Comparison of a", "Differences by condition",
                  "Differences between conditions"):  # fmt: skip
        assert words in page


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--group-differences", "all"], "--group-differences need two groups .*: pass --by NAME"),
        (["--by", "session", "--group-differences", "all", "--resamples", 60],
         "--resamples must be at least 400 for 10 simultaneous intervals at a level of 0.95, not "
         "60: pass --resamples 400"),
        (["--by", "session", "--group-differences", "pooled", "--equalize", "session"],
         "--group-differences must not be pooled with --equalize, where conditions have other "
         "weights than all trials: use all"),
    ],
)  # fmt: skip
def test_differences_of_conditions_that_cannot_be(options, words):
    write_trials()
    outcome = fastpsr("evaluate", "--key", "key", "--scores", "a", "--metrics", "EER", *options)
    assert outcome.code != 0
    assert re.search(words, outcome.err), outcome.err


def test_equalized_conditions_and_their_differences():
    write_trials()
    run = ["evaluate", "--key", "key", "--scores", "a", "--by", "session", "--metrics", "EER"]
    run += ["--ci", 0.5, "--resamples", 40, *PERCENTILE, "--group-differences", "all"]
    succeed(*run, "--json", "t.json")
    succeed(*run, "--equalize", "session", "--json", "u.json")
    one, other = (strict_json(name)["differences"] for name in ("t.json", "u.json"))
    assert one == other


def test_equalized_conditions():
    write_trials()
    run = [*TRIALS, *FEW, *PERCENTILE, "--by", "session", "--metrics", "EER"]
    succeed(*run, "--equalize", "session", "--json", "t.json")
    rows = strict_json("t.json")["differences"]
    assert [row["group_a"] for row in rows] == [None, *(f"session={k}" for k in range(5))]
    succeed(*run, "--json", "u.json")
    unequal = strict_json("u.json")["differences"]
    assert rows[1:] == unequal[1:]
    assert rows[0] != unequal[0]


@pytest.mark.slow
def test_standard_input():
    write_trials()
    text = Path("b").read_text("utf-8")
    run = ["compare", "--key", "key", "a", "-", "--metrics", "Cllr", *FEW, "--csv", "-"]
    done = program(*map(str, run), stdin=text)
    assert done.returncode == 0, done.stderr
    header, *rows = (line.split(",") for line in done.stdout.splitlines())
    assert [row[:2] for row in rows[:-1]] == [["value", "a"], ["value", "/dev/stdin"]]
    names = ("row", "system_a", "system_b")
    last = [rows[-1][header.index(name)] for name in names]
    assert last == ["difference", "a", "/dev/stdin"]


def test_three_tables():
    y, z, _ = data(3)
    rng = np.random.default_rng(2)
    systems = {name: z + rng.normal(size=z.shape) for name in "abc"}
    for name, scores in systems.items():
        write(f"{name}.csv", label=y, s=scores)
    run = ["compare", "x=a.csv", "b.csv", "c.csv", "--scores-are", "logits", "--metrics", "NCE"]
    succeed(*run, *FEW, "--json", "t.json")
    rows = strict_json("t.json")["differences"]
    assert [(row["system_a"], row["system_b"]) for row in rows] == [("x", "b.csv"), ("x", "c.csv")]
    predictions = [fp.Predictions.from_logits(y, scores) for scores in systems.values()]
    for row, other in zip(rows, predictions[1:], strict=True):
        found = fp.compare(fp.CrossEntropy(), predictions[0], other, n_resamples=60, seed=0)
        assert [row["difference"], row["low"], row["high"]] == pytest.approx(
            [found.value, *found.interval], rel=1e-9
        )


def test_scores_are_systems_as_files_are():
    write_trials()
    few = [*FEW, *PERCENTILE, *QUICK, "--json", "t.json"]
    succeed(*TRIALS, *few)
    expected = strict_json("t.json")
    for given in (("--scores", "a", "b"), ("--scores", "a", "--scores", "b")):
        succeed("compare", "--key", "key", *given, *few)
        assert strict_json("t.json") == expected
    check_refusal({}, ["compare", "--key", "key", "--scores", "a"], ["--scores must name two"])


def test_score_files_that_hold_labels_need_no_key():
    labeled()
    expected = succeed("compare", "--key", "key", "--scores", "a", "b", *FEW, *QUICK)
    for files in (["--scores", "la", "lb"], ["la", "lb"]):
        out = succeed("compare", *files, *FEW, *QUICK)
        wanted, found = (text.partition("difference: ")[2].split("\n") for text in (expected, out))
        assert found[2:] == wanted[2:]  # below the names of systems


def labeled():
    """Write files la and lb: the scores of a and b with their labels."""
    made = write_trials()
    ids = [line.split("\t")[:2] for line in Path("key").read_text("utf-8").splitlines()[1:]]
    for name, values in made.llrs.items():
        rows = zip(ids, values.tolist(), made.made.y_true, strict=True)
        words = ("nontarget", "target")
        lines = [f"{e} {t} {x!r} {words[y]}\n" for (e, t), x, y in rows]
        Path(f"l{name}").write_text("".join(lines), "utf-8")
