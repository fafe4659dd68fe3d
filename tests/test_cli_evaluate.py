"""`fastpsr evaluate`: the values are those of the library on the same arrays."""

import re
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests import reference
from tests.commands import (
    check_differences,
    check_refusal,
    check_rows,
    data,
    fastpsr,
    strict_json,
    succeed,
    write,
    write_trials,
)
from tests.golden.files import write_files

# small samples: intervals say that few clusters hold the values, or are none
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

FEW = ("--resamples", "40", "--ci", "percentile")
KINDS = {  # what the library calls kinds of scores, and such scores from logits
    "posteriors": ("posteriors", lambda z: np.exp(reference.log_softmax(z))),
    "log-posteriors": ("log-posteriors", reference.log_softmax),
    "logits": ("logits", lambda z: z),
    "log-likelihoods": ("likelihoods", lambda z: z),
    "llr": ("llrs", lambda z: z[:, 1] - z[:, 0]),
    "raw": ("raw scores", lambda z: z[:, 1]),
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def notes(path="t.json"):
    return {row["metric"]: row["note"] for row in strict_json(path)["rows"]}


# Tables


@pytest.mark.parametrize(
    ("ending", "scores_are", "n_classes"),
    [
        (".npz", "posteriors", 3), (".npz", "log-likelihoods", 2), (".npy", "logits", 3),
        (".npy", "raw", 2), (".csv", "log-posteriors", 3), (".csv", "llr", 2),
        (".parquet", "logits", 2), (".parquet", "log-likelihoods", 3),
    ],
)  # fmt: skip
def test_formats_and_kinds_of_scores(ending, scores_are, n_classes):
    y, z, w = data(n_classes)
    kind, of_logits = KINDS[scores_are]
    scores, decoy = of_logits(z), np.zeros(y.size)
    run = ["evaluate", f"s{ending}", "--scores-are", scores_are, "--json", "t.json"]
    if ending == ".npy":
        write("s.npy", s=scores, truth=y, w=w)
        run += ["--labels", "truth.npy", "--weights", "w.npy"]
    else:
        write(f"s{ending}", label=decoy, s=scores, truth=y, x=decoy, w=w)
        names = ",".join(f"s_{k}" for k in range(n_classes))
        columns = names if ending != ".npz" and scores.ndim == 2 else "s"
        run += ["--labels", "truth", "--weights", "w", "--columns", columns]
    assert f"taken as {scores_are}" in succeed(*run)
    check_rows(fp.evaluate(fp.Predictions.of(kind, y, scores, sample_weight=w)))
    (group,) = strict_json("t.json")["groups"]
    assert (group["n_samples"], len(group["class_sizes"])) == (y.size, n_classes)


def test_metrics_of_several_classes_by_name():
    y, z, _ = data(3)
    write("s.npz", y_true=y, z=z)
    names = ["AUC(ovo)", "AP(macro)", "MCEmc"]
    run = ["evaluate", "s.npz", "--scores-are", "logits", "--metrics", ",".join(names)]
    succeed(*run, "--json", "t.json")
    check_rows(fp.evaluate(fp.Predictions.from_logits(y, z), names))


@pytest.mark.parametrize("scores_are", ["logits", "log-likelihoods", "llr"])
def test_priors_calibrator_and_folds(scores_are):
    y, z, _ = data()
    kind, of_logits = KINDS[scores_are]
    write("s.npz", y_true=y, s=of_logits(z))
    run = ["evaluate", "s.npz", "--scores-are", scores_are, "--priors", "0.25,0.75"]
    run += ["--calibrator", "Temperature", "--folds", 7, "--metrics", "NCE,RCL"]
    succeed(*run, "--json", "t.json")
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.TemperatureScaling(), fp.CrossFit(7))
    predictions = fp.Predictions.of(kind, y, of_logits(z), priors=[0.25, 0.75])
    check_rows(fp.evaluate(predictions, {"NCE": fp.CrossEntropy(), "RCL": loss}))
    assert strict_json("t.json")["groups"][0]["priors"] == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("name", ["a b.csv", "é.csv", "[red].npz", "scores[1].parquet"])
def test_unusual_file_names(name):
    y, z, _ = data()
    write("scores1.parquet", label=y, s=0 * z)  # which a pattern would mean
    write(name, label=y, s=z)
    succeed("evaluate", name, "--scores-are", "logits", "--json", f"{name}.json")
    check_rows(fp.evaluate(fp.Predictions.from_logits(y, z)), f"{name}.json")


def test_infinite_values_and_separated_classes():
    y, z, _ = data()
    q = 1.0 / (1.0 + np.exp(z[:, 0] - z[:, 1]))
    q[0] = 1.0 - y[0]
    write("s.npz", y_true=y, q=q)
    out = succeed("evaluate", "s.npz", *FEW, "--metrics", "NCE,NBS", "--json", "t.json")
    assert strict_json("t.json")["rows"][0]["value"] == "inf"
    assert strict_json("t.json")["rows"][0]["high"] == "inf"
    assert strict_json("t.json")["groups"][0]["n_infinite"] == 1
    assert re.search(r"(?m)^NCE +inf +\[\d\.\d{4}, inf\] ", out)
    y = np.arange(60) % 2
    write("s.npz", y_true=y, q=np.where(y == 1, 0.7, 0.2) + np.arange(60) / 1000)
    succeed("evaluate", "s.npz", "--json", "t.json")
    assert notes()["RCL"].endswith(": pass --calibrator pav --floor 0.001")


def test_costs_of_many_decisions_are_summarized():
    y, z, _ = data(4)
    write("s.npz", y_true=y, z=z)
    run = ["evaluate", "s.npz", "--scores-are", "logits", "--costs", "c.csv"]
    for n_decisions, words in ((9, "0, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5; 2.5, 0, "),
                               (10, "4 classes, 10 decisions, costs from 0 to 2.5\n")):  # fmt: skip
        np.savetxt("c.csv", 2.5 - 2.5 * np.eye(4, n_decisions), delimiter=",")
        assert words in succeed(*run)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_costs_as_spreadsheets_write_them(separator):
    y, z, _ = data()
    write("s.npz", y_true=y, z=z)
    decimal = "." if separator == "," else ","
    rows = separator.join(["0", f"2{decimal}5"]), separator.join(["1", "0"])
    Path("c.csv").write_text("\ufeff" + "\r\n".join(rows) + "\r\n", "utf-8")
    run = ["evaluate", "s.npz", "--scores-are", "logits", "--costs", "c.csv"]
    assert "each decision: 0, 2.5; 1, 0\n" in succeed(*run)


# Intervals

CLUSTERS = np.arange(240) // 2 % 20
SCHEMES = {
    "iid": fp.IID(), "stratified": fp.Stratified(), "g": fp.Clusters(CLUSTERS),
    "nested:g": fp.Nested(CLUSTERS), "g.npy": fp.Clusters(CLUSTERS),
}  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "method"),
    [("iid", "auto"), ("iid", "bca"), ("stratified", "basic"), ("g", "auto"), ("g", "normal"),
     ("nested:g", "percentile"), ("g.npy", "percentile")],
)  # fmt: skip
def test_intervals(scheme, method):
    y, z, _ = data()
    path = "s.npy" if scheme == "g.npy" else "s.parquet"
    write(path, label=y, s=z, g=CLUSTERS)
    run = ["evaluate", path, "--scores-are", "logits", "--metrics", "NCE,ECE,EER"]
    run += ["--labels", "label.npy"] if path == "s.npy" else ["--columns", "s_0,s_1"]
    drawn = ["--ci", f"0.9:{method}", "--resamples", 60, "--resample", scheme, "--seed", 5]
    out = succeed(*run, *drawn, "--json", "t.json")
    evaluation = fp.evaluate(
        fp.Predictions.from_logits(y, z), ["NCE", "ECE", "EER"], n_resamples=60,
        confidence_level=0.9, resampling=SCHEMES[scheme], method=method, seed=5,
    )  # fmt: skip
    check_rows(evaluation)
    assert strict_json("t.json")["intervals"] == {
        "confidence_level": 0.9, "method": method, "n_resamples": 60, "resampling": scheme,
        "seed": 5,
    }  # fmt: skip
    assert re.search(rf"(?m)^90 % intervals: .*resampling {scheme}, seed 5$", out)


def test_replicates_without_a_class_are_counted_and_warned_of():
    y = (np.arange(60) < 2).astype(int)
    write("s.npz", y_true=y, llr=np.random.default_rng(0).normal(size=60))
    run = ["evaluate", "s.npz", "--scores-are", "raw", "--resamples", 100, "--json", "t.json"]
    outcome = fastpsr(*run, "--ci", "percentile")
    first, *others = strict_json("t.json")["rows"]
    assert 2 <= first["n_undefined"] <= 40  # (58 / 60)**60 = 13 %
    names = "; ".join(re.escape(row["metric"]) for row in others)
    said = f"warning: {first['metric']} is undefined in {first['n_undefined']} of"
    assert re.search(rf"(?m)^{said} .* \(and {len(others)} like this: {names}\)$", outcome.err)


def test_speakers_of_a_table():
    made = write_trials(100, 400).made
    sides = {"enroll_speaker": made.enroll_speaker, "test_speaker": made.test_speaker}
    write("s.csv", label=made.y_true, llr=made.llr, enroll=made.enroll, test=made.test, **sides)
    run = ["evaluate", "s.csv", "--scores-are", "llr", "--resamples", 40, "--metrics", "Cllr"]
    out = succeed(*run, "--json", "t.json")
    assert "scores: llr; labels: label; weights: none; clusters: enroll_speaker, test_sp" in out
    predictions = fp.Predictions.from_llrs(made.y_true, made.llr)
    speakers = fp.TwoWay(*sides.values())
    check_rows(fp.evaluate(predictions, ["Cllr"], n_resamples=40, resampling=speakers, seed=0))
    for scheme in ("speaker", "iid", "test_speaker", "nested:test_speaker"):
        succeed(*run, "--resample", scheme, "--json", "t.json")
        assert strict_json("t.json")["intervals"]["resampling"] == scheme
    for scheme, words in (("speaker --ci bca", "--ci must not be bca"),
                          ("nested:speaker", "has no column 'speaker'")):  # fmt: skip
        check_refusal({}, [*run, "--resample", *scheme.split()], [words])


# Systems in columns of a table

N = 300
RNG = np.random.default_rng(5)
Y = RNG.permutation(np.arange(N) % 3 > 0).astype(int)
COLUMNS = {
    "label": Y,
    "col_a": RNG.normal(size=N) + 1.5 * (2 * Y - 1),
    "col_b": RNG.normal(size=N) + 0.8 * (2 * Y - 1),
    "weight": RNG.uniform(0.5, 2.0, N),
    "room": RNG.integers(0, 2, N),
    "snr": RNG.normal(10.0, 5.0, N),
    "who": RNG.integers(0, 40, N),
}
SYSTEMS = {"a": "col_a", "b": "col_b"}
BOTH = ("--columns", "a=col_a", "--columns", "b=col_b", "--scores-are", "llr")


def table(how, monkeypatch, **columns):
    """Write a table, which is read part by part if it is large or a folder; return its path."""
    columns = columns or COLUMNS
    if how == "folder":
        Path("t").mkdir()
        for k, rows in enumerate(np.array_split(np.arange(N), 3)):
            write(f"t/{k}.parquet", **{name: values[rows] for name, values in columns.items()})
        return "t"
    if how == "large":
        monkeypatch.setenv("FASTPSR_MEMORY", "10KB")
    path = f"t.{'parquet' if how == 'large' else how}"
    write(path, **columns)
    return path


@pytest.mark.parametrize("command", ["evaluate", "compare"])
@pytest.mark.parametrize("how", ["npz", "csv", "large", "folder"])
def test_systems_in_columns_are_those_of_the_library(command, how, monkeypatch):
    path = table(how, monkeypatch)
    options = ["--by", "room,snr:0:9", "--by", "room", "--resample", "who"]
    options += ["--metrics", "EER,NCE", *FEW, "--json", "t.json"]
    succeed(command, path, *BOTH, *options)
    systems = fp.read_table(path, columns=SYSTEMS, kind="llrs")
    by, clusters = [("room", "snr"), "room"], "who"
    assert isinstance(systems["a"], fp.Predictions) == (how in ("npz", "csv"))
    if how in ("npz", "csv"):
        by = {("room", "snr"): (COLUMNS["room"], COLUMNS["snr"]), "room": COLUMNS["room"]}
        clusters = COLUMNS["who"]
    evaluation = fp.evaluate(
        systems, ["EER", "NCE"], by=by, bins={"snr": [0, 9]},
        differences="first" if command == "compare" else None, n_resamples=40,
        method="percentile", seed=0, resampling=fp.Clusters(clusters),
    )  # fmt: skip
    check_rows(evaluation)
    if command == "compare":
        check_differences(evaluation)


def test_kinds_of_systems_in_columns(monkeypatch):
    path = table("large", monkeypatch)
    kinds = ["--scores-are", "llr", "--scores-are", "raw"]
    succeed("evaluate", path, *BOTH[:4], *kinds, "--json", "t.json")
    assert strict_json("t.json")["scores_are"] == "llr, raw"
    for name, kind in (("a", "llrs"), ("b", "raw scores")):
        check_rows(fp.evaluate(fp.read_table(path, columns=SYSTEMS[name], kind=kind)), system=name)
    write("t.csv", label=Y, one=COLUMNS["col_a"], q0=1.0 - Y / 2, q1=Y / 4, q2=Y / 4)
    run = ["compare", "t.csv", "--columns", "x=q0,q1,q2", "--columns", "y=one"]
    kinds = ["--scores-are", "posteriors", "--scores-are", "logits"]
    check_refusal({}, [*run, *kinds], ["'x' and 'y' must have the same classes: 3 and 2"])


def test_a_file_that_is_read_in_parts_says_how_to_load_it(monkeypatch):
    write("t.parquet", **COLUMNS)
    run = ["evaluate", "t.parquet", *BOTH[:2], "--scores-are", "llr", "--metrics", "Cllr"]
    run += ["--resamples", "40", "--resample"]
    for scheme in ("iid", "who"):
        monkeypatch.setenv("FASTPSR_MEMORY", "1KB")
        in_parts = fastpsr(*run, scheme)
        (line,) = in_parts.err.splitlines()
        assert line.startswith(f"t.parquet: {N} rows are read in parts")
        (size,) = re.findall("set FASTPSR_MEMORY=([0-9]+[KM]B)", line)
        monkeypatch.setenv("FASTPSR_MEMORY", size)
        loaded = fastpsr(*run, scheme)
        assert loaded.err == ""
        assert ("read in" in in_parts.out, "read in" in loaded.out) == (True, False)


@pytest.mark.parametrize(("how", "kind"), [("npz", "posteriors"), ("large", "log-posteriors")])
def test_a_floor_of_the_posteriors_of_a_table(how, kind, monkeypatch):
    y = np.arange(N) % 3
    rows = RNG.dirichlet(np.ones(3), N) * 0.5 + 0.5 * np.eye(3)[y]
    rows[::50] = np.eye(3)[(y[::50] + 1) % 3]
    with np.errstate(divide="ignore"):
        scores = np.log(rows) if kind == "log-posteriors" else rows
    columns = {"q": scores} if how == "npz" else {f"q{k}": scores[:, k] for k in range(3)}
    path = table(how, monkeypatch, label=y, **columns)
    run = ["evaluate", path, "--scores-are", kind, "--metrics", "NCE,NBS,RCL", "--json", "t.json"]
    if how == "large":  # RCL's fits need all rows in memory
        succeed(*run)
        assert notes()["RCL"].endswith("FASTPSR_MEMORY sets the limit")
        monkeypatch.delenv("FASTPSR_MEMORY")
    predictions = fp.Predictions.of(kind, y, scores, floor=0.01)
    for calibrator, name in ((fp.DirectionPreserving(floor=0.01), "dp"),
                             (fp.VectorScaling(), "vector")):  # fmt: skip
        loss = fp.CalibrationLoss(fp.rules.Log(), calibrator)
        metrics = {"NCE": fp.CrossEntropy(), "NBS": fp.BrierScore(), "RCL": loss}
        succeed(*run, "--floor", 0.01, "--calibrator", name)
        check_rows(fp.evaluate(predictions, metrics))
    succeed(*run)
    for metric, state in (("NCE", "infinite"), ("RCL", "undefined")):
        said = f"{state}: 6 samples have posterior 0 for the true class: pass --floor 0.001"
        assert notes()[metric] == said


def test_a_floor_leaves_other_scores_as_they_are():
    a = COLUMNS["col_a"]
    write("t.npz", label=Y, s=np.where(np.arange(N) == 4, np.where(Y, -np.inf, np.inf), a))
    run = ["evaluate", "t.npz", "--scores-are", "logits", "--metrics", "NCE,NBS"]
    assert succeed(*run, "--floor", 0.2) == succeed(*run)
    succeed(*run, "--json", "t.json")
    assert notes()["NCE"] == "infinite: 1 sample has posterior 0 for the true class"  # no remedy


# Trials

TRIALS = ("evaluate", "--key", "key", "--scores", "a.txt", "--json", "t.json")
CAUTION = "warning: intervals are too narrow if speakers repeat"


@pytest.fixture
def trials():
    write_files()
    return fp.trials.read("key", "a.txt")


@pytest.mark.parametrize(
    "source",
    [["--speakers", "speakers.txt"], ["--speakers", "pattern:^id([0-9]+)/"],
     ["--speakers", "columns:by,of"]],
)  # fmt: skip
def test_speakers_are_kept_apart_and_drawn(trials, source):
    rows = [line.split() for line in Path("key").read_text("utf-8").splitlines()]
    sides = [[row[side].split("/")[0] for row in rows] for side in (0, 1)]
    if source[1].startswith("columns:"):
        lines = ("\t".join([*row, e, t]) for row, e, t in zip(rows, *sides, strict=True))
        head = "modelid\tsegmentid\ttargettype\tby\tof"
        Path("key").write_text("\n".join([head, *lines]) + "\n", "utf-8")
    out = succeed(*TRIALS, *source, "--metrics", "RCL")
    assert "speakers: 12; " in out
    train = fp.CrossFit(groups=tuple(sides))
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train)
    llrs = trials.predictions("llr")
    check_rows(fp.evaluate(llrs, {"RCL": loss}))
    assert CAUTION not in fastpsr(*TRIALS, *source, *FEW, "--metrics", "EER").err
    speakers = fp.TwoWay(*sides)
    settings = {"n_resamples": 40, "method": "percentile", "seed": 0, "resampling": speakers}
    check_rows(fp.evaluate(llrs, ["EER"], **settings))
    assert strict_json("t.json")["intervals"]["resampling"] == "speaker"
    assert CAUTION in fastpsr(*TRIALS, *FEW, "--metrics", "EER").err
    assert CAUTION not in fastpsr(*TRIALS, *FEW, "--metrics", "EER", "--resample", "iid").err


@pytest.mark.parametrize(("pairs", "n_pairs"), [("pooled", 4), ("all", 6)])
def test_differences_of_conditions(pairs, n_pairs):
    trials = write_trials(100, 400, 4)
    run = ["evaluate", "--key", "key", "--scores", "a", "--metrics", "EER"]
    run += ["--ci", "0.5:percentile", "--resamples", 40]
    run += ["--differences", {"pooled": "pooled", "all": "conditions"}[pairs]]
    check_refusal({}, run, ["--differences", "--by NAME"])
    succeed(*run, "--by", "session", "--json", "t.json")
    evaluation = fp.evaluate(
        {"a": trials.predictions("a")}, ["EER"], by={"session": trials.session},
        group_differences=pairs, n_resamples=40, seed=0, confidence_level=0.5,
        method="percentile",
    )  # fmt: skip
    check_rows(evaluation)
    check_differences(evaluation)
    assert len(evaluation.differences) == n_pairs
    if pairs == "pooled":
        words = ["--differences must not be pooled with --equalize"]
        check_refusal({}, [*run, "--by", "session", "--equalize", "session"], words)


def test_a_condition_with_too_little_to_draw_from():
    write_trials(50, 100)
    run = ["evaluate", "--key", "key", "--scores", "a", *FEW, "--resample", "session"]
    outcome = fastpsr(*run, "--by", "session", "--metrics", "Cllr", "--json", "t.json")
    said = "no intervals: --resample must name at least two clusters, not 1"
    assert f"warning: a, session=0: {said} (and 4 like this: " in outcome.err
    lows = {(r["group"] is None, r["low"] is None) for r in strict_json("t.json")["rows"]}
    assert lows == {(True, False), (False, True)}


def test_a_condition_of_one_class_says_so(trials):
    rows = [line.split() for line in Path("nist.tsv").read_text("utf-8").splitlines()[1:]]
    lines = (
        f"{e},{t},{w},{'ab'[w == 'target' or k % 2]}\n" for k, (e, t, w, *_) in enumerate(rows)
    )
    Path("key").write_text("enroll,test,label,part\n" + "".join(lines), "utf-8")
    out = succeed(*TRIALS, "--by", "part", "--metrics", "EER,Cllr")
    found = {row["note"] for row in strict_json("t.json")["rows"] if row["group"] == "part=a"}
    (note,) = found
    reason = "not computed: part=a has no samples of class 1: group by a column whose "
    assert note.startswith(reason)
    assert note.endswith("(of trials as --key, with --allow extra)")
    assert out.count(f"a.txt, part=a: {reason}") == 1


# Spoofed trials


def test_a_countermeasure_has_tandem_costs(trials):
    words = {"target": "bonafide", "nontarget": "spoof"}
    lines = [line.rsplit(maxsplit=1) for line in Path("key").read_text("utf-8").splitlines()]
    Path("cm.key").write_text("".join(f"{ids} {words[w]}\n" for ids, w in lines), "utf-8")
    run = ["cm.key" if word == "key" else word for word in TRIALS]
    rates = ("tdcf=0.02:0.03:0.4", "tdcf=0.1:0.1:0.5")
    out = succeed(*run, "--dcf", rates[0], "--dcf", rates[1], "--metrics", "EER,minTDCF")
    assert "targets are taken as bona fide trials" in out
    values = {row["metric"]: row["value"] for row in strict_json("t.json")["rows"]}
    metrics = [fp.MinTDCF(0.02, 0.03, 0.4), fp.MinTDCF(0.1, 0.1, 0.5)]
    expected = {metric.label: metric(trials.predictions("llr")) for metric in metrics}
    assert values == {"EER": values["EER"], **expected}
    run = ["spoof.key" if word == "key" else word for word in TRIALS]
    assert "this list has targets" in fastpsr(*run, "--dcf", rates[0]).err
    for text in ("tdcf=", "tdcf=0.1:0.1", "tdcf=0.99:1:0.5"):
        assert "tdcf=PMISS:PFA:PFASPOOF" in fastpsr(*run, "--dcf", text).err


def test_spoofed_trials(trials):
    run = ["spoof.key" if word == "key" else word for word in TRIALS]
    costs = "0.2:0.3:1:1:5"
    run += ["--dcf", costs, "--metrics", f"EER,minADCF({costs}),actADCF({costs})", *FEW]
    succeed(*run)
    kinds = np.array(
        [line.split()[3] for line in Path("spoof.key").read_text("utf-8").splitlines()]
    )
    is_spoof, numbers = kinds == "spoof", [float(number) for number in costs.split(":")]
    predictions = trials.predictions("llr")
    rows = {(row["group"], row["metric"]): row for row in strict_json("t.json")["rows"]}
    assert len(rows) == 3 + 2  # the a-DCF is of all trials
    settings = {"n_resamples": 40, "method": "percentile", "seed": 0}
    groups = {None: kinds != "", "kind=nontarget": ~is_spoof, "kind=spoof": kinds != "nontarget"}
    expected = {
        (group, "EER"): (fp.EER(), predictions[np.flatnonzero(used)])
        for group, used in groups.items()
    }
    for metric in (fp.MinADCF(is_spoof, *numbers), fp.ActADCF(is_spoof, *numbers)):
        expected[None, metric.label] = (metric, predictions)
    for place, (metric, data_of_group) in expected.items():
        result = fp.bootstrap(metric, data_of_group, **settings)
        found = [rows[place][name] for name in ("value", "low", "high")]
        assert found == pytest.approx([result.value, *result.interval])
