"""The commands on trial lists: every value is the library's on the same arrays."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from fastpsr.calibration import CALIBRATORS as MAKERS
from fastpsr.evaluation.layout import number, with_interval
from tests.commands import (
    check_refusal,
    csv_rows,
    fastpsr,
    parameters,
    program,
    strict_json,
    succeed,
)

RNG = np.random.default_rng(7)
TRIALS = [
    (enroll, test, take)
    for enroll in range(12)
    for test in range(12)
    for take in "ab"
    if take == "a" or enroll == test or enroll % 3  # so that partitions are not alike
]
ENROLL, TEST = (np.array([trial[side] for trial in TRIALS]) for side in (0, 1))
TAKE = np.array([take for *_, take in TRIALS])
Y = (ENROLL == TEST).astype(int)
X = RNG.normal(3.0 * Y - 1.5, 1.5)
Q = 1 / (1 + np.exp(-X))
IDS = [(f"s{enroll:02}/m", f"s{test:02}/{take}") for enroll, test, take in TRIALS]
WORDS = ("nontarget", "target")


def text(line):
    return "".join(line.format(e=e, t=t, y=y, w=WORDS[y]) for (e, t), y in zip(IDS, Y, strict=True))


KEYS = {
    "kaldi": text("{e} {t} {w}\n"),
    "voxceleb": text("{y} {e} {t}\n"),
    "nist": "modelid\tsegmentid\ttargettype\ttake\tby\tof\n"
    + text("{e}\t{t}\t{w}\t{t[4]}\t{e[0]}{e[1]}{e[2]}\t{t[0]}{t[1]}{t[2]}\n"),
}


def lines(values, ids=IDS):
    return "".join(f"{e} {t} {x!r}\n" for (e, t), x in zip(ids, values.tolist(), strict=True))


SCORES = lines(X)
RUN = ("evaluate", "--key", "key", "--scores", "s")


def save(**contents):
    for name, content in contents.items():
        Path(name).write_text(content, "utf-8")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(key=KEYS["nist"], s=SCORES)


def metrics(dcfs=None, groups=None, folds=5, calibrator=None):
    """The metrics of the table, by name; `dcfs` are operating points by name."""
    table = {"EER": fp.EER()}
    for name, points in (dcfs or {"0.01": [(0.01,)]}).items():
        for prefix, cost in (("min", fp.MinDCF), ("act", fp.ActDCF)):
            parts = [cost(*point) for point in points]
            table[f"{prefix}DCF({name})"] = lambda p, parts=parts: np.mean([m(p) for m in parts])
    table |= {"Cllr": fp.Cllr(), "minCllr": fp.MinCllr(), "AUC": fp.AUC()}
    table |= {"NCE": fp.CrossEntropy(), "NBS": fp.BrierScore()}
    train, calibrator = fp.CrossFit(folds, groups=groups), calibrator or fp.DirectionPreserving()
    return table | {"RCL": fp.CalibrationLoss(fp.rules.Log(), calibrator, train)}


def metrics_of_posteriors():
    """The metrics of the table of posteriors, by name."""
    log = fp.rules.Log()
    zero_one = fp.BayesRisk(fp.CostMatrix.zero_one(2))
    table = {"NCE": fp.CrossEntropy(), "NBS": fp.BrierScore(), "NRisk zero-one": zero_one}
    table["RCL"] = fp.CalibrationLoss(log, fp.DirectionPreserving(), fp.CrossFit())
    table["RCL bound"] = fp.CalibrationLoss(log, fp.PAV(), fp.TrainOnTest())
    return table | {"ECE": fp.ECE(), "ECEmc": fp.ECE(on="confidence")}


def values_of(*place):
    system, condition = place
    group = None if condition == "pooled" else condition
    rows = strict_json("t.json")["rows"]
    return {r["metric"]: r["value"] for r in rows if (r["system"], r["group"]) == (system, group)}


def shown_of(*place):
    units = {row["metric"]: row["unit"] for row in strict_json("t.json")["rows"]}
    return [number(value, units[name]) for name, value in values_of(*place).items()]


def check(predictions, table=None, condition="pooled", system="s"):
    """Whether the rows of a system and condition are those of the library, in order."""
    values, table = values_of(system, condition), table or metrics()
    assert list(values) == list(table)
    for name, value in values.items():
        assert float(value) == pytest.approx(table[name](predictions), rel=1e-12, abs=1e-12), name


def llrs(rows=slice(None), x=X, **options):
    return fp.Predictions.from_llrs(Y[rows], x[rows], **options)


def evaluated(*options):
    return succeed(*RUN, *options, "--json", "t.json")


# evaluate


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", KEYS)
def test_keys_of_every_kind(name, packed):
    order = np.random.default_rng(1).permutation(Y.size)
    content = lines(X[order], [IDS[k] for k in order])
    for path, data in (("s", content.encode()), ("key", KEYS[name].encode())):
        Path(path).write_bytes(gzip.compress(data) if packed else data)
    out = evaluated()
    assert fastpsr(*RUN).err == ""
    check(llrs())
    content = strict_json("t.json")
    assert content["groups"][0]["class_sizes"] == [Y.size - Y.sum(), Y.sum()]
    assert content["rows"][0] == {
        "system": "s", "group": None, "metric": "EER", "value": fp.EER()(llrs()),
        "low": None, "high": None, "bias": None, "n_undefined": 0, "method": None,
        "degrees_of_freedom": None, "corrected": None, "note": fp.EER().meaning,
        "unit": "fraction", "reference_value": 0.5,
    }  # fmt: skip
    assert "scores taken as llr; read " in out
    assert re.search(rf"(?m)^targets +{Y.sum():,} *$", out)
    assert re.search(rf"(?m)^non-targets +{Y.size - Y.sum():,} *$", out)
    assert re.search(rf"(?m)^Cllr +{fp.Cllr()(llrs()):.4f} *$", out)


LABELED = {  # lines of score files that hold labels
    "wespeaker": "{e} {t} {x!r} {w}\n",
    "3dspeaker": "{e} {t} {y} {x!r}\n",
    "kaldi-eer": "{x!r} {w}\n",
    "bob": "{b} {x!r}\n",
    "csv": "{e},{t},{y},{x!r}\n",
}


@pytest.mark.parametrize("name", LABELED)
def test_scores_with_labels_of_their_own(name):
    rows = zip(IDS, Y.tolist(), X.tolist(), strict=True)
    content = "".join(
        LABELED[name].format(e=e, t=t, y=y, w=WORDS[y], b=2 * y - 1, x=x) for (e, t), y, x in rows
    )
    save(s="enroll,test,label,llr\n" * (name == "csv") + content)
    out = succeed("evaluate", "--scores", "s", "--json", "t.json")
    assert f"s: {name}; " in out
    check(llrs())
    if name in ("wespeaker", "3dspeaker", "csv"):
        for key in ("key", "s"):
            succeed("evaluate", "--key", key, "--scores", "s", "--json", "t.json")
            check(llrs())


def test_names_of_columns():
    content = KEYS["voxceleb"].replace(" ", ",")
    rows = zip(content.splitlines(), X.tolist(), strict=True)
    save(key=f"is,a,b\n{content}", s="is,a,b,x\n" + "".join(f"{row},{x!r}\n" for row, x in rows))
    names = ["--key-columns", "label=is, enroll=a,test=b", "--columns", "enroll=a,test=b,score=x"]
    evaluated(*names, "--key-format", "csv", "--format", "csv")
    check(llrs())
    run = ["evaluate", "--scores", "s", "--format", "csv", "--columns", "label=is,score=x"]
    succeed(*run, "--json", "t.json")
    check(llrs())


def test_square_matrices_that_are_transposed():
    pytest.importorskip("h5py")
    import h5py

    scores = RNG.normal(size=(4, 4))
    for name, turned in (("key", True), ("s", False)):
        with h5py.File(name, "w") as file:
            file["modelset"], file["segset"] = [b"a", b"b", b"c", b"d"], [b"e", b"f", b"g", b"h"]
            mask = np.array(2 * (np.arange(16).reshape(4, 4) % 3 > 0) - 1, np.int8)
            file["trial_mask"] = mask.T if turned else mask
            file["scores"], file["score_mask"] = scores, np.ones((4, 4), np.uint8)
    check_refusal({}, [*RUN], ["key: ", "as MATLAB", "pass --key-transpose or --no-key-transpose"])
    check_refusal({}, [*RUN, "--key-transpose"], ["s: ", "pass --transpose or --no-transpose"])
    raw = ["--scores-are", "raw"]
    out = evaluated(*raw, "--key-transpose", "--no-transpose")
    assert "key: sidekit; modelset: enroll; segset: test; transposed: columns are models" in out
    assert "s: sidekit; modelset: enroll; segset: test; rows are models" in out
    y = (np.arange(16) % 3 > 0).astype(int)
    assert values_of("s", "pooled")["AUC"] == fp.AUC()(y, scores.ravel())


def test_several_systems_in_every_kind_of_table():
    save(a_b=lines(0.5 * X), c=lines(X - 1))
    out = evaluated("a_b", "c", "--csv", "t.csv", "--markdown", "t.md", "--latex", "t.tex")
    rows = strict_json("t.json")["rows"]
    assert list(dict.fromkeys(row["system"] for row in rows)) == ["s", "a_b", "c"]
    for system, x in (("s", X), ("a_b", 0.5 * X), ("c", X - 1)):
        check(llrs(x=x), system=system)
    assert csv_rows() == rows
    markdown = [line.strip("| ").split(" | ") for line in Path("t.md").read_text().splitlines()]
    latex = Path("t.tex").read_text().splitlines()
    assert markdown[0] == ["system", "condition", "targets", "non-targets", *metrics()]
    assert latex[0] == rf"\begin{{tabular}}{{lrr{'r' * len(metrics())}}}"
    counts = [f"{Y.sum()}", f"{Y.size - Y.sum()}"]
    for place, system in enumerate(["s", "a_b", "c"]):
        values = shown_of(system, "pooled")
        assert markdown[place + 2] == [system, "pooled", *counts, *values]
        bare = [value.removesuffix(" %") for value in values]
        cells = [system.replace("_", r"\_"), *counts, *bare]
        assert latex[place + 4] == " & ".join(cells) + r" \\"
        assert [f" {value}" in out for value in values] == [True] * len(values)
    assert out.count("key: nist; ") == 1
    assert len(re.findall("(?m)^targets ", out)) == 1


def test_what_columns_are_taken_for_is_said_before_they_do_not_fit():
    save(s=SCORES.replace("s0", "t0"))
    out = fastpsr(*RUN).out
    assert re.search("key: nist; .*\ns: kaldi-scores; .*$", out, re.DOTALL)


def test_systems_are_named_by_what_tells_them_apart():
    Path("dev/x").mkdir(parents=True)
    Path("eval/x").mkdir(parents=True)
    for path in ("dev/x/s", "eval/x/s", "eval/t"):
        Path(path).write_text(SCORES, "utf-8")
    out = succeed("evaluate", "--key", "key", "--scores", "dev/x/s", "eval/x/s", "eval/t")
    assert re.search(r"(?m)^ +dev/x/s +eval/x/s +t *$", out)


def test_a_narrow_screen_gets_several_tables():
    out = succeed(*RUN, "--by", "take", "--json", "t.json", columns=28)
    *table, sentence, written = out.splitlines()[-26:]
    assert written.startswith("written: t.json")
    assert max(map(len, table)) <= 28
    assert sentence.startswith("s: calibration by ")  # the terminal wraps it
    assert len(re.findall(r"(?m)^EER ( +[\d.]+ %)+ *$", out)) == 3
    assert all(f" {value}" in out for value in shown_of("s", "take=b"))


def test_systems_on_different_trials_get_a_warning():
    save(b="".join(ALL[3:]))
    outcome = fastpsr(*RUN, "b", "--missing", "drop", "--json", "t.json")
    expected = f"the systems are judged on different trials: s {Y.size}, b {Y.size - 3}"
    assert outcome.err == f"warning: {expected}\n"
    check(llrs())
    check(llrs(slice(3, None)), system="b")


def test_warnings_name_the_system():
    save(b=lines(-X))
    err = fastpsr(*RUN, "b").err
    assert re.fullmatch("warning: b: the fitted scale is -.*\nwarning: b: the AUC is .*\n", err)


def test_warnings_of_conditions_are_one_line_with_examples():
    rows = zip(KEYS["voxceleb"].splitlines(), ENROLL % 3 * 5, strict=True)
    save(key="label,enroll,test,snr\n" + "".join(f"{k},{v}\n".replace(" ", ",") for k, v in rows))
    outcome = fastpsr(*RUN, "--by", "snr", "--resamples", "40", "--resample", "snr")
    (line,) = [line for line in outcome.err.splitlines() if "no intervals" in line]
    assert line.startswith("warning: s, snr=0: no intervals: ")
    assert line.endswith(" (and 2 like this: snr=5; snr=10)")


def test_a_condition_of_one_class_says_so():
    flags = [("one", "other")[e == 0 and t != 0] for e, t, _ in TRIALS]
    rows = zip(KEYS["voxceleb"].splitlines(), flags, strict=True)
    save(key="label,enroll,test,flag\n" + "".join(f"{k},{f}\n".replace(" ", ",") for k, f in rows))
    out = evaluated("--by", "flag")
    assert set(values_of("s", "flag=other").values()) == {None}
    reason = "not computed: flag=other has no samples of class 1: group by a column whose "
    content = strict_json("t.json")
    (note,) = {r["note"] for r in content["rows"] if r["group"] == "flag=other"}
    assert note.startswith(reason)
    (sizes,) = [g["class_sizes"] for g in content["groups"] if g["group"] == "flag=other"]
    assert sizes == [flags.count("other"), 0]
    assert out.count(f"s, flag=other: {reason}") == 1
    assert "SharedTargets" not in note  # which the command line cannot pass
    assert note.endswith("(of trials as --key, with --extra ignore)")
    header, *rest = Path("key").read_text().splitlines(keepends=True)
    own = [row for row, flag, y in zip(rest, flags, Y, strict=True) if flag == "other" or y == 1]
    save(key="".join([header, *own]))
    evaluated("--extra", "ignore")
    data = llrs(np.array([flag == "other" or y == 1 for flag, y in zip(flags, Y, strict=True)]))
    assert values_of("s", None)["EER"] == pytest.approx(fp.EER()(data))
    save(key="".join([header, *rest]))
    evaluated("--by", "flag")
    check(llrs(np.array(flags) == "one"), condition="flag=one")


def test_what_is_not_finite_has_its_reason():
    x = np.where(np.arange(Y.size) == int(Y.argmax()), -np.inf, X)
    save(s=lines(x))
    out = evaluated()
    notes = {r["metric"]: r["note"] for r in strict_json("t.json")["rows"]}
    said = "1 sample has posterior 0 for the true class"
    assert notes["Cllr"] == notes["NCE"] == f"infinite: {said}"
    assert notes["RCL"] == f"undefined: {said}: pass --floor 0.001"
    assert f"s, pooled: Cllr, NCE: infinite: {said}" in out
    assert f"s, pooled: RCL: undefined: {said}: pass --floor 0.001" in out


CALIBRATORS = {"temperature": fp.TemperatureScaling(), "histogram": fp.HistogramBinning()}


@pytest.mark.parametrize("name", CALIBRATORS)
def test_calibrator_and_folds_of_the_calibration_loss(name):
    evaluated("--calibrator", name, "--folds", "3")
    check(llrs(), metrics(folds=3, calibrator=CALIBRATORS[name]))


@pytest.mark.parametrize("equalized", [False, True])
def test_conditions(equalized):
    evaluated("--by", "take", *["--equalize", "take"] * equalized)
    cells = {(y, take): (y == Y) & (take == TAKE) for y in (0, 1) for take in "ab"}
    weights = sum((y == Y).sum() / (2 * cell.sum()) * cell for (y, _), cell in cells.items())
    check(llrs(sample_weight=weights) if equalized else llrs())
    for take in "ab":
        check(llrs(take == TAKE), condition=f"take={take}")
    groups = {row["group"] for row in strict_json("t.json")["rows"]}
    assert groups == {None, "take=a", "take=b"}


DCFS = {
    "sre16": [(0.01,), (0.005,)],
    "sre18-vast": [(0.05,)],
    "sre21": [(0.01,), (0.05,)],
    "voxsrc": [(0.05,)],
    "0.2": [(0.2,)],
    "0.01:10:1": [(0.01, 10, 1)],
}


def test_detection_costs():
    evaluated(*[part for name in DCFS for part in ("--dcf", name)])
    check(llrs(), metrics(DCFS))


SPEAKERS = {
    "pattern": ["--speaker-pattern", "^[^/]+"],
    "group": ["--speaker-pattern", "^s([0-9]+)/"],
    "mapping": ["--speakers", "map"],
    "columns": ["--speaker-columns", "by,of"],
}


@pytest.mark.parametrize("options", SPEAKERS.values(), ids=SPEAKERS)
def test_speakers_are_kept_apart(options):
    save(map="".join(f"{name} {name[:3]}\n" for name in {n for pair in IDS for n in pair}))
    out, rows = evaluated(*options, "--by", "take"), TAKE == "a"
    check(llrs(), metrics(groups=(ENROLL, TEST)))
    check(llrs(rows), metrics(groups=(ENROLL[rows], TEST[rows])), "take=a")
    assert "speakers: 12; target trials of two speakers: 0; non-target trials of one" in out


SCALES = {
    "llr": (X, lambda: llrs(prior=0.1)),
    "log10-llr": (X / np.log(10), lambda: llrs(x=X / np.log(10) * np.log(10), prior=0.1)),
    "posteriors": (Q, lambda: fp.Predictions.from_posteriors(Y, Q, priors=[0.9, 0.1])),
    "posterior": (Q, lambda: fp.Predictions.from_posteriors(Y, Q, priors=[0.9, 0.1])),
}


@pytest.mark.parametrize("scale", SCALES)
def test_what_scores_are(scale):
    values, make = SCALES[scale]
    save(s=lines(values))
    said = scale.replace("posteriors", "posterior").replace("posterior", "posteriors")
    given = ("--scores-are", scale, "--priors", "0.9,0.1")
    assert f" as {said};" in evaluated(*given)
    check(make(), metrics_of_posteriors() if said == "posteriors" else None)
    evaluated(*given, "--metrics", "EER,minDCF,actDCF,Cllr,minCllr,AUC,NCE,NBS,RCL")
    check(make())


def test_raw_scores_only_rank():
    evaluated("--scores-are", "raw", "--dcf", "sre16")
    table = {name: metrics(DCFS)[name] for name in ("EER", "minDCF(sre16)", "minCllr", "AUC")}
    check(fp.Predictions.from_raw_scores(Y, X), table)


ALL = SCORES.splitlines(keepends=True)
POLICIES = {  # scores, the option that allows them, and the rows that are left
    "missing": ("".join(ALL[3:]), ["--missing", "drop"], slice(3, None)),
    "extra": (SCORES + "s00/m s99/a 1.0\n", ["--extra", "ignore"], slice(None)),
    "duplicates": (SCORES + ALL[5], ["--duplicates", "first"], slice(None)),
    "nan": (SCORES.replace(ALL[0], "s00/m s00/a nan\n"), ["--nan", "drop"], slice(1, None)),
}


@pytest.mark.parametrize(("scores", "option", "rows"), parameters(POLICIES))
def test_policies(scores, option, rows):
    save(s=scores)
    check_refusal({}, [*RUN, "--json", "t.json"], ["key and s do not fit", " ".join(option)])
    assert re.search(f"left out: .*: {' '.join(option)} ", " ".join(evaluated(*option).split()))
    check(llrs(rows))


def test_scores_without_ids_in_the_order_of_the_key():
    save(s="".join(f"{x!r}\n" for x in X.tolist()))
    check_refusal(
        {}, [*RUN, "--json", "t.json"], ["has no ids of trials to join on: pass --in-order"]
    )
    evaluated("--in-order")
    check(llrs())
    joined = ("join", "--key", "key", "--scores", "s", "--in-order", "--output", "t.parquet")
    assert "in the order of the key" in succeed(*joined)
    assert polars.read_parquet("t.parquet")["llr"].to_list() == X.tolist()
    save(s="1.5\n-2\n")
    assert f"s has 2 scores and key has {Y.size} trials" in fastpsr(*RUN, "--in-order").err
    assert "--in-order needs --key" in fastpsr("evaluate", "--scores", "s", "--in-order").err


# Bad input

OUT = ("--json", "t.json", "--markdown", "t.md")
CUT_SHORT = gzip.compress(SCORES.encode())[:-9]
NO_TARGETS = KEYS["kaldi"].replace(" target", " nontarget").encode()
TWICE = ("--speaker-pattern", "^.", "--speaker-columns", "by,of")
TELL = ("threshold", "--dcf")
BAD = {
    "other scores": ({"s": b"x y 1.0\nz w 2.0\n"}, [*RUN, *OUT], ["no trial in common", "'x' 'y'"]),
    "dcf": ({}, [*RUN, *OUT, "--dcf", "sre99"], ["--dcf", "sre16", "P:CMISS:CFA", "'sre99'"]),
    "two numbers": ({}, [*RUN, *OUT, "--dcf", "0.1:2"], ["--dcf", "'0.1:2'"]),
    "--by": ({}, [*RUN, *OUT, "--by", "sex"], ["'sex'", "take, by, of"]),
    "--equalize": ({}, [*RUN, *OUT, "--equalize", "take,sex"], ["'sex'", "take, by, of"]),
    "no targets": ({"key": NO_TARGETS}, [*RUN, *OUT], ["key", "no targets among"]),
    "pattern": (
        {}, [*RUN, *OUT, "--speaker-pattern", "^x"],
        ["--speaker-pattern must", "'^x' gives none to 12 enroll"],
    ),
    "no expression": ({}, [*RUN, *OUT, "--speaker-pattern", "("], ["regular expression"]),
    "twice": ({}, [*RUN, *TWICE, *OUT], ["--speaker-columns and --speaker-pattern"]),
    "format": ({}, [*RUN, *OUT, "--format", "htk"], ["kaldi-scores", "'htk'"]),
    "key format": ({}, [*RUN, *OUT, "--key-format", "htk"], ["kaldi-trials", "'htk'"]),
    "policy": ({}, [*RUN, *OUT, "--missing", "ignore"], ["--missing", "drop", "'ignore'"]),
    "--by nothing": ({}, [*RUN, *OUT, "--by", ""], ["--by", "''", "take, by, of"]),
    "--equalize nothing": ({}, [*RUN, *OUT, "--equalize", ""], ["--equalize", "''"]),
    "a speaker column": ({}, [*RUN, *OUT, "--speaker-columns", "by,x"], ["--speaker-c", "'x'"]),
    "one speaker column": ({}, [*RUN, *OUT, "--speaker-columns", "by"], ["--speaker-columns"]),
    "columns": ({}, [*RUN, *OUT, "--columns", "llr"], ["--columns", "ROLE=NAME", "'llr'"]),
    "columns of a key": ({}, [*RUN, *OUT, "--key-columns", "llr"], ["--key-columns", "ROLE"]),
    "a role": ({}, [*RUN, *OUT, "--key-columns", "x=y"], ["--key-columns must", "'x'"]),
    "a folder": ({}, [*RUN[:-1], "."], ["This is a folder, name a file in it: ."]),
    "an empty file": ({"s": b""}, [*RUN], ["s: the file is empty: write it again"]),
    "bytes": ({"s": b"ab\0cd"}, [*RUN], ["s: this is neither text nor a file", "write it as text"]),
    "a cut npz": ({"s": b"PK\3\4ab"}, [*RUN], ["s must be a whole npz file", "write it again"]),
    "a cut Parquet": ({"s": b"PAR1ab"}, [*RUN], ["s must be a whole Parquet", "copy it again"]),
    "a key as scores": (
        {"s": KEYS["voxceleb"].encode()}, [*RUN],
        ["voxsrc (score enroll test); of a key: voxceleb", "pass --format NAME"],
    ),
    "scores as a key": ({"key": SCORES.encode()}, [*RUN], ["key: ", "are key and scores swapped?"]),
    "a header of other names": (
        {"key": b"who,what,which\na,b,1\nc,d,0\n"}, [*RUN],
        ["'who,what,which', looks like a header", "--key-columns enroll=NAME,test=NAME,label=NAME"],
    ),
    "a cut table": (
        {"t.csv": gzip.compress(b"y_true,q\n" * 99)[:-9]}, ["evaluate", "t.csv"],
        ["t.csv must be a whole CSV file"],
    ),
    "columns without names": ({}, [*RUN, "--columns", "score=x"], ["--columns is for", "s is"]),
    "not HDF5": ({}, [*RUN, "--transpose"], ["--transpose is for HDF5", "s is kaldi-scores"]),
    "a key, not HDF5": ({}, [*RUN, "--no-key-transpose"], ["--key-transpose is for", "key is"]),
    "unclear": ({"s": b"a b 1\nc d 0\n"}, [*RUN], ["s: ", "pass --format NAME"]),
    "unclear column": (
        {"key": b"enroll,test,label,key\na,b,1,0\n"}, [*RUN], ["--key-columns label=NAME"]
    ),
    "no labels": ({}, ["evaluate", "--scores", "s"], ["s has no labels", "--key"]),
    "wrong labels": ({"s": b"a b 1.5 tgt\na c 2.5 non\n"}, ["evaluate", "--scores", "s"], ["s:2"]),
    "twice the same": ({}, [*RUN, "./s"], ["--scores", "once", "s again"]),
    "cut short": ({"s": CUT_SHORT}, [*RUN, *OUT], ["s: the gzip file is cut short"]),
    "no --scores": ({}, ["evaluate", "--key", "key", *OUT], ["--key needs --scores"]),
    "no file": ({}, [*RUN, "none", *OUT], ["No such file", "none"]),
    "posteriors": (
        {}, [*RUN, *OUT, "--scores-are", "posteriors"],
        ["s: score must lie in 0 to 1", "that of 's00/m' 's0", "taken as posteriors"],
    ),
    "prior of raw": ({}, [*RUN, *OUT, "--scores-are", "raw", "--priors", "0.9,0.1"], ["--priors"]),
    "folds of raw": ({}, [*RUN, *OUT, "--scores-are", "raw", "--folds", "3"], ["--folds", "raw"]),
    "too many folds": ({}, [*RUN, *OUT, "--folds", "999"], ["--folds must not outnumber", "999"]),
    "folds of speakers": (
        {}, [*RUN, *OUT, "--folds", "13", "--speaker-columns", "by,of"],
        ["--folds must not outnumber the speakers", "13"],
    ),
    "too large": ({"s": b"a b inf\nc d 1\n\ne f -1e400\n"}, [*RUN, *OUT], ["s:4: ", "'-1e400'"]),
    "too large in a CSV": (
        {"s": b"enroll,test,llr\n\na,b,-Inf\nc,d,1e400\n"}, [*RUN, *OUT], ["s:4: ", "'1e400'"]
    ),
    "one prior": ({}, [*RUN, "--priors", "0.1"], ["--priors must be two numbers", "'0.1'"]),
    "priors, sum": ({}, [*RUN, "--priors", "0.9,0.2"], ["--priors must sum to 1", "1.1"]),
    "priors, 0": ({}, [*RUN, "--priors", "1,0"], ["--priors must both be above 0"]),
    "over the key": ({}, [*RUN, "--json", "key"], ["--json", "input"]),
    "second system": ({"b": b"x y 1.0\nz w 2.0\n"}, [*RUN, "b", *OUT], ["key and b"]),
    "two points": ({}, [*TELL, "sre16"], ["one operating point", "sre16"]),
    "threshold's dcf": ({}, [*TELL, "high"], ["--dcf", "'high'"]),
    "key alone": ({}, [*TELL, "0.1", "--key", "key"], ["--key needs --scores"]),
    "threshold of nothing": ({}, ["threshold"], ["--dcf, --fa, --miss"]),
    "thresholds of two kinds": ({}, [*TELL, "0.1", "--fa", "0.1"], ["one of --dcf, --fa, --miss"]),
    "threshold of no trials": ({}, ["threshold", "--fa", "0.1"], ["--fa needs --scores"]),
    "threshold out of range": (
        {}, ["threshold", "--fa", "1.5"], ["--fa must be at least 0 and below 1, not 1.5"]
    ),
    "another eer": ({}, [*RUN, "--eer", "exact"], ["--eer", "hull"]),
    "eer of no table": (
        {}, [*RUN, "--eer", "nearest", "--metrics", "AUC"], ["--eer is for tables with the EER"]
    ),
}  # fmt: skip


ONLY = {  # options that a mode does not have, with a value, and why
    "for a table": (["evaluate", "t.csv"], "is for trials (--key, --scores)", [
        "--equalize=take", "--speakers=m", "--speaker-columns=by,of",
        "--speaker-pattern=x", "--key-format=csv", "--key-columns=label=y", "--key-transpose",
        "--format=csv", "--transpose", "--missing=drop", "--extra=ignore", "--duplicates=first",
        "--nan=drop",
    ]),
    "for trials": ([*RUN], "is for a table", ["--labels=y", "--weights=w", "--costs=c.json"]),
    "without a key": (["evaluate", "--scores", "s"], "needs --key", [
        "--missing=drop", "--extra=ignore", "--key-format=csv", "--key-columns=label=y",
        "--key-transpose",
    ]),
    "to calibrate trials": (
        ["calibrate", "--key", "key", "--scores", "s", "--output", "o"], "is for a table",
        ["--labels=y", "--weights=w"],
    ),
    "to calibrate others": (
        ["calibrate", "--key", "key", "--scores", "s", "--apply", "s", "--output", "o"],
        "is for cross-fitting", ["--folds=3", "--speaker-pattern=x"],
    ),
    "for no trials": ([*TELL, "0.1"], "needs --scores", [
        "--scores-are=raw", "--format=csv", "--missing=drop", "--columns=score=x",
    ]),
}  # fmt: skip
BAD |= {
    f"{option} {name}": ({}, [*run, option], [option.split("=")[0], why])
    for name, (run, why, options) in ONLY.items()
    for option in options
}
BAD |= {  # found before a file is read: there is none
    f"{option} {value}": ({}, [*run, "--key", "none", "--scores", "none", option, value], words)
    for run in (["evaluate"], ["calibrate", "--output", "o"], [*TELL, "0.1"])
    for option, value, words in [
        ("--scores-are", "logits", ["--scores-are", "llr, log10-llr, posteriors or raw", "logits"]),
        ("--format", "htk", ["--format", "htk"]),
        ("--key-format", "htk", ["--key-format", "htk"]),
        ("--columns", "x", ["--columns", "'x'"]),
    ]
} | {
    "--dcf first": ({}, ["evaluate", "--key", "none", "--scores", "none", "--dcf", "x"], ["--dcf"])
}


@pytest.mark.parametrize(("files", "arguments", "words"), parameters(BAD))
def test_bad_input(files, arguments, words):
    check_refusal(files, arguments, words)


# calibrate

CALIBRATE = ("calibrate", "--key", "key", "--scores", "s")


def written(path):
    rows = [line.split() for line in Path(path).read_text("utf-8").splitlines()]
    assert [(e, t) for e, t, *_ in rows] == IDS
    return [float(row[2]) for row in rows]


@pytest.mark.parametrize("scale", ["llr", "log10-llr", "posteriors", "raw"])
def test_calibrate(scale):
    values, predictions = {
        **SCALES, "llr": (X, llrs), "log10-llr": (X / np.log(10), llrs),
        "posteriors": (Q, lambda: fp.Predictions.from_posteriors(Y, Q)),
        "raw": (X, lambda: fp.Predictions.from_raw_scores(Y, X)),
    }[scale]  # fmt: skip
    save(s=lines(values))
    speakers = ["--speaker-pattern", "^[^/]+"]
    out = succeed(*CALIBRATE, "--scores-are", scale, "--output", "o", *speakers, "--folds", "4")
    assert f"scores taken as {scale}\n" in out
    assert f"o: {Y.size} trials with LLRs (natural logarithms)" in out
    train = fp.CrossFit(4, groups=(ENROLL, TEST))
    expected = fp.cross_fit(fp.DirectionPreserving(), predictions(), train).llrs
    np.testing.assert_allclose(written("o"), expected, rtol=1e-9)

    succeed(*CALIBRATE, "--scores-are", scale, "--apply", "s", "--output", "o", "--save", "f.json")
    fitted = fp.DirectionPreserving().fit(predictions())
    expected = fitted.transform(predictions()).llrs
    np.testing.assert_allclose(written("o"), expected, rtol=1e-9)
    load = ["calibrate", "--load", "f.json", "--apply", "s", "--scores-are", scale, "--output", "p"]
    if scale == "posteriors":
        check_refusal({}, load, ["--scores-are posteriors", "--load"])
    else:
        succeed(*load)
        assert written("p") == written("o")


def test_calibrate_says_how_many_scores_are_infinite():
    out = succeed(*CALIBRATE, "--output", "o", "--calibrator", "pav")
    values = fp.cross_fit(fp.PAV(), llrs()).llrs
    counts = [np.count_nonzero(values == end) for end in (-np.inf, np.inf)]
    assert all(counts)
    ends = f"scores that are -inf: {counts[0]}, scores that are inf: {counts[1]}\n"
    assert f"LLRs (natural logarithms); {ends}" in out
    assert written("o") == values.tolist()


@pytest.mark.parametrize("name", MAKERS)
def test_floor(name):
    make = MAKERS[name]
    options = ["--calibrator", name, "--floor", "0.01"]
    if "floor" not in make().option_names():
        refused = fastpsr(*CALIBRATE, "--output", "o", *options)
        assert refused.code == 2
        assert refused.err == f"error: --floor has no effect on --calibrator {name}\n"
        return
    out = succeed(*CALIBRATE, "--output", "o", *options)
    assert out.endswith(f"o: {Y.size} trials with LLRs (natural logarithms)\n")
    values = fp.cross_fit(make(floor=0.01), llrs()).llrs
    np.testing.assert_allclose(written("o"), values, rtol=1e-12)
    evaluated(*options)
    check(llrs(), metrics(calibrator=make(floor=0.01)))


WITH_PRIOR = [
    (name, are)
    for name, make in MAKERS.items()
    for are in ("llr", "raw")
    if hasattr(make(), "prior") and not (are == "raw" and make().needs_posteriors)
]


@pytest.mark.parametrize(("name", "are"), WITH_PRIOR)
def test_prior(name, are):
    make = MAKERS[name]
    data = llrs() if are == "llr" else fp.Predictions.from_raw_scores(Y, X)
    options = ["--calibrator", name, "--prior", "0.01", "--scores-are", are]
    succeed(*CALIBRATE, "--output", "o", "--save", "map.json", *options)
    values = fp.cross_fit(make(prior=0.01), data).llrs
    np.testing.assert_allclose(written("o"), values, rtol=1e-12)
    assert values.tolist() != fp.cross_fit(make(), data).llrs.tolist()
    assert repr(fp.load_calibrator("map.json")) == repr(make(prior=0.01).fit(data))


@pytest.mark.parametrize("name", sorted({*MAKERS} - {name for name, _ in WITH_PRIOR}))
def test_calibrators_without_a_prior(name):
    refused = fastpsr(*CALIBRATE, "--output", "o", "--calibrator", name, "--prior", "0.01")
    assert refused.code == 2
    assert refused.err == f"error: --prior has no effect on --calibrator {name}\n"


ENDINGS = {  # of other formats than the scores'
    "o.npz": "kaldi-scores", "o.npy": "kaldi-scores", "o.parquet": "kaldi-scores",
    "o.h5": "kaldi-scores", "o.csv": "kaldi-scores", "o.csv.gz": "kaldi-scores",
    "o.txt": "npz", "o.tsv": "csv",
}  # fmt: skip


@pytest.mark.parametrize(("output", "format"), ENDINGS.items())
def test_endings_of_other_formats(output, format):
    columns = dict(zip(("enroll", "test"), np.array(IDS).T, strict=True), llr=X)
    np.savez("s.npz", **columns)
    polars.DataFrame(columns).write_csv("s.csv")
    scores = {"npz": "s.npz", "csv": "s.csv"}.get(format, "s")
    ending = "." + output.split(".")[1]
    run = [*CALIBRATE[:-1], scores, "--output"]
    check_refusal(
        {},
        [*run, output],
        [f"--output must not end in {ending}, as {output}", format, ": end it in "],
    )
    for fitting in {"csv": ("o.csv", "o"), "npz": ("o.npz", "o")}.get(format, ("o.txt", "o.tsv")):
        succeed(*run, fitting)


def test_a_condition_of_few_trials_leaves_out_what_folds_do_not_fit():
    save(key=KEYS["nist"])
    evaluated("--by", "take", "--folds", str(min(Y.sum(), 24)))
    assert not np.isnan(values_of("s", "pooled")["RCL"])
    assert values_of("s", "take=b")["RCL"] is None


def test_calibrate_scores_with_labels_of_their_own():
    save(s="".join(f"{line} {WORDS[y]}\n" for line, y in zip(SCORES.splitlines(), Y, strict=True)))
    succeed("calibrate", "--scores", "s", "--output", "o")
    assert Path("o").read_text("utf-8").splitlines()[0].endswith(f" {WORDS[Y[0]]}")
    assert written("o") == fp.cross_fit(fp.DirectionPreserving(), llrs()).llrs.tolist()


def test_calibrate_a_trial_table_by_its_format():
    save(**{"new.csv": "enroll,test,llr\n" + SCORES.replace(" ", ",")})
    run = [*CALIBRATE, "--save", "f.json"]
    succeed(*run)
    load = ["calibrate", "--load", "f.json", "--apply", "new.csv", "--output", "o.csv"]
    check_refusal({}, load, ["new.csv", "--columns"])
    assert "new.csv: csv; enroll: enroll" in succeed(*load, "--format", "csv")
    expected = fp.DirectionPreserving().fit(llrs()).transform(llrs()).llrs
    assert polars.read_csv("o.csv")["llr"].to_list() == expected.tolist()


def test_calibrate_drops_what_it_may():
    save(s="".join(ALL[3:]))
    check_refusal({}, [*CALIBRATE, "--output", "o"], ["--missing drop"])
    assert "left out: 3 trials" in succeed(*CALIBRATE, "--output", "o", "--missing", "drop")
    assert len(Path("o").read_text("utf-8").splitlines()) == Y.size - 3


# threshold

POINTS = {"0.01": (0.01, 1, 1), "voxsrc": (0.05, 1, 1), "0.5:10:2": (0.5, 10, 2)}


@pytest.mark.parametrize("dcf", POINTS)
def test_threshold(dcf):
    prior, c_miss, c_fa = POINTS[dcf]
    x = X.round(3)
    save(s=lines(x))
    first = f"calibrated LLRs: {np.log(c_fa * (1 - prior) / (c_miss * prior)):.6g} (natural "
    assert succeed("threshold", "--dcf", dcf) == f"{first}logarithm)\n"
    out = succeed("threshold", "--dcf", dcf, "--key", "key", "--scores", "s")
    assert out.startswith(first)
    least, actual = (metric(*POINTS[dcf])(llrs(x=x)) for metric in (fp.MinDCF, fp.ActDCF))
    assert f"of calibrated LLRs: normalized cost {actual:.4f}, P_miss" in out
    best = re.search(
        r"best for these trials: (\S+): normalized cost (\S+), P_miss (\S+), P_fa", out
    )
    misses, alarms = (x[Y == 1] < float(best[1])).mean(), (x[Y == 0] >= float(best[1])).mean()
    assert best.groups()[1:] == (f"{least:.4f}", f"{misses:.4f}")
    assert fp.MinDCF(*POINTS[dcf]).costs[0].normalized(misses, alarms) == pytest.approx(least)


def test_threshold_of_posteriors_and_of_scores_with_labels():
    x = X.round(3)
    save(s="".join(f"{a!r} {WORDS[y]}\n" for a, y in zip(x.tolist(), Y.tolist(), strict=True)))
    out = succeed("threshold", "--dcf", "0.5", "--scores", "s")
    assert f"normalized cost {fp.MinDCF(0.5)(llrs(x=x)):.4f}" in out
    run = ["threshold", "--dcf", "0.5", "--key", "key", "--scores", "s", "--scores-are"]
    save(s=lines(x))
    check_refusal({}, [*run, "posterior"], ["s: score must lie in 0 to 1"])
    base10 = succeed(*run, "log10-llr")
    actual = fp.ActDCF(0.5)(llrs(x=x * np.log(10)))
    assert f"of calibrated LLRs: normalized cost {actual:.4f}" in base10
    assert "scores taken as log10-llr" in base10
    save(s=lines(X.round()))  # some lie at the threshold, and are accepted
    actual = fp.ActDCF(0.5)(llrs(x=X.round()))
    assert f"of calibrated LLRs: normalized cost {actual:.4f}" in succeed(*run, "llr")


def test_threshold_of_a_table_of_posteriors_is_a_posterior():
    q = (1.0 / (1.0 + np.exp(-X))).round(4)
    save(t="label,q\n" + "".join(f"{y:d},{each}\n" for y, each in zip(Y, q, strict=True)))
    run = ["threshold", "--fa", "0.1", "--scores", "t", "--scores-are", "posterior"]
    out = succeed(*run, "--columns", "score=q,label=label", "--json", "o.json")
    point = fp.MissRate(0.1).operating_point(fp.Predictions.from_posteriors(Y, q))
    assert f"{point.threshold!r} (log-odds {point.log_odds:.6g})" in out
    assert json.loads(Path("o.json").read_text())["operating_point"] == point.to_dict()


def test_threshold_of_a_table():
    q = 1.0 / (1.0 + np.exp(-X))
    np.savez("t.npz", y_true=Y, q=np.stack([1.0 - q, q], axis=1))
    point = fp.MissRate(0.1).operating_point(fp.Predictions.from_posteriors(Y, q))
    out = succeed("threshold", "t.npz", "--fa", "0.1", "--ci", "0.95", "--resamples", "40")
    assert f"P_fa of at most 0.1 on these samples: {point.threshold:.6f}" in out
    assert "threshold: " in out
    x, words = X.round(2).tolist(), [WORDS[y] for y in Y.tolist()]
    save(**{"t.csv": "y,x,w\n" + "".join(f"{y},{a},2\n" for y, a in zip(words, x, strict=True))})
    run = ["threshold", "t.csv", "--dcf", "0.5", "--scores-are", "log10-llr", "--columns", "x"]
    more = ["--labels", "y", "--weights", "w", "--classes", f"{WORDS[0]},{WORDS[1]}"]
    out = succeed(*run, *more)
    best = fp.MinDCF(0.5).operating_point(fp.Predictions.from_raw_scores(Y, x)).threshold
    assert f"best for these samples: {best!r}: " in out  # in the units of the file
    actual = fp.ActDCF(0.5)(llrs(x=np.array(x) * np.log(10)))
    assert f"of calibrated LLRs: normalized cost {actual:.4f}" in out
    check_refusal({}, [*run, "--scores", "s"], ["trials", "or a table", "t.csv"])


LIMITS = {
    "--fa": (fp.MissRate, "lowest with P_fa of at most 0.1"),
    "--miss": (fp.FalseAlarmRate, "highest with P_miss of at most 0.1"),
}


@pytest.mark.parametrize("option", LIMITS)
def test_threshold_at_a_limit(option):
    kind, says = LIMITS[option]
    save(s=lines(X.round(3)))
    data = fp.Predictions.from_raw_scores(Y, X.round(3))
    point = kind(0.1).operating_point(data)
    run = ["threshold", option, "0.1", "--key", "key", "--scores", "s"]
    out = succeed(*run)
    said = f"P_miss {point.p_miss:.4f}, P_fa {point.p_fa:.6f}; scores taken as llr"
    assert out.endswith(f"{says} on these trials: {point.threshold!r}: {said}\n")
    drawn = ["--speaker-pattern", "^[^/]+", "--ci", "0.9", "--resamples", "60", "--seed", "3"]
    out = succeed(*run, *drawn, "--json", "t.json")
    found = strict_json("t.json")
    assert found["operating_point"] == point.to_dict()
    assert (found["scores_are"], found["groups"][0]["kind"]) == ("llr", "likelihoods")
    speakers = fp.TwoWay(ENROLL, TEST)
    metrics = {"threshold": fp.Threshold(kind(0.1)), kind(0.1).label: kind(0.1)}
    expected = fp.bootstrap(
        metrics, data, n_resamples=60, confidence_level=0.9, seed=3, resampling=speakers
    )
    for row, result in zip(found["rows"], expected, strict=True):
        assert (row["metric"], row["value"]) == (result.name, result.value)
        assert (row["low"], row["high"]) == result.interval
    shown = with_interval(result.value, *result.interval, "fraction")
    assert f"{result.name}: {' '.join(shown)}\n" in out
    assert "resampling speaker" in out


def test_threshold_of_a_cost_has_an_interval():
    run = ["threshold", "--dcf", "0.1", "--key", "key", "--scores", "s", "--ci", "0.9"]
    out = succeed(*run, "--resamples", "40", "--resample", "iid", "--json", "t.json")
    row = strict_json("t.json")["rows"][1]
    shown = with_interval(row["value"], row["low"], row["high"])
    assert f"minDCF(0.1): {' '.join(shown)}\n" in out
    assert strict_json("t.json")["operating_point"] == (
        fp.MinDCF(0.1).operating_point(llrs()).to_dict()
    )


def test_a_limit_that_nothing_keeps():
    x = np.where(Y == 0, 9.0, X)
    save(s=lines(x))
    out = succeed("threshold", "--fa", "0", "--key", "key", "--scores", "s")
    assert "on these trials: none: accept nothing: P_miss 1.0000, P_fa 0.000000" in out


@pytest.mark.parametrize("definition", ["hull", "crossing", "nearest"])
def test_definitions_of_the_eer(definition):
    evaluated("--eer", definition, "--metrics", "minCllr,EER", "--by", "take")
    metric = fp.EER(definition)
    check(llrs(), {"minCllr": fp.MinCllr(), metric.label: metric})
    rows = [row for row in strict_json("t.json")["rows"] if row["metric"] == metric.label]
    assert {row["note"] for row in rows} == {metric.meaning}
    save(b=lines(X + 0.5 * np.sin(9.0 * X)))
    run = ["compare", "s", "b", "--key", "key", "--resamples", "40", "--interval", "percentile"]
    succeed(*run, "--eer", definition, "--json", "c.json")
    row = strict_json("c.json")["rows"][0]
    assert row["metric"] == metric.label


# Files as people have them


def test_several_keys_and_names_of_systems_and_scales():
    rows = KEYS["kaldi"].splitlines(keepends=True)
    save(one="".join(rows[:100]), two="".join(rows[100:]), q=lines(Q))
    out = succeed(
        *("evaluate", "--key", "one", "--key", "two", "--scores", "ours=s", "q", "--scores-are"),
        *("llr", "--scores-are", "raw", "--json", "t.json", "--metrics", "mincllr,EER"),
    )
    assert "scores taken as llr in s, raw in q" in out
    assert re.search(r"(?m)^ +ours +q *$", out)
    check(llrs(), {"minCllr": fp.MinCllr(), "EER": fp.EER()}, system="ours")
    check(llrs(), {"minCllr": fp.MinCllr(), "EER": fp.EER()}, system="q")
    save(**{"ours=s": SCORES})  # a file of that name wins
    assert "ours=s: kaldi-scores" in succeed(*RUN[:-1], "ours=s")


def test_targets_and_nontargets_in_two_files():
    for name, label in (("t", 1), ("n", 0)):
        rows = np.flatnonzero(label == Y)
        save(**{name: "".join(f"{x!r}\n" for x in X[rows].tolist())})
        save(**{f"{name}.lst": "".join(" ".join(IDS[k]) + "\n" for k in rows)})
    table = {"EER": fp.EER(), "Cllr": fp.Cllr()}
    pair = ("--metrics", "EER,Cllr", "--json", "t.json")
    out = succeed("evaluate", "--targets", "t", "--nontargets", "n", *pair)
    assert "t: numbers; column 1: score; all are targets" in out
    check(llrs(), table, system="t")
    lists = ("--targets", "t.lst", "--nontargets", "n.lst")
    succeed("evaluate", *lists, "--scores", "s", *pair)
    check(llrs(), table)


def test_targets_and_nontargets_are_calibrated_and_have_a_threshold():
    of_classes = [np.flatnonzero(label == Y) for label in (1, 0)]
    for name, rows in zip("tn", of_classes, strict=True):
        save(**{name: "".join(f"{x!r}\n" for x in X[rows].tolist())})
        save(**{f"{name}.lst": "".join(" ".join(IDS[k]) + "\n" for k in rows)})
    pair, lists = (
        ("--targets", "t", "--nontargets", "n"),
        ("--targets", "t.lst", "--nontargets", "n.lst"),
    )
    rows = np.concatenate(of_classes)
    expected = fp.cross_fit(fp.DirectionPreserving(), llrs(rows)).llrs
    out = succeed("calibrate", *pair, "--output", "o", "--save", "m.json")
    assert "o: " in out
    assert "trials with LLRs (natural logarithms); first those of targets" in out
    assert np.loadtxt("o") == pytest.approx(expected)
    succeed("calibrate", *lists, "--scores", "s", "--output", "o")
    found = fp.trials.read_scores("o")
    assert found.score == pytest.approx(expected)
    assert found.test.strings().tolist() == [IDS[k][1] for k in rows]
    assert "first those" not in succeed(
        "calibrate", "--load", "m.json", "--apply", "s", "--output", "o"
    )
    tell = ("threshold", "--dcf", "0.1")
    best = [
        line
        for line in succeed(*tell, "--key", "key", "--scores", "s").splitlines()
        if "best" in line
    ]
    assert best[0] in succeed(*tell, *pair)
    assert best[0] in succeed(*tell, *lists, "--scores", "s")


def test_scores_through_pipes_are_calibrated():
    succeed("calibrate", "--key", "key", "--scores", "s", "--output", "o")
    done = program("calibrate", *RUN[1:-1], "-", "--output", "-", stdin=SCORES)
    assert done.returncode == 0, done.stderr
    assert done.stdout == Path("o").read_text()
    assert "-: " in done.stderr
    for command in (["evaluate"], ["threshold", "--dcf", "0.1"], ["calibrate", "--output", "new"]):
        check_refusal(
            {}, [*command, "--key", "-", "--scores", "-"], ["standard input (-) can be read once"]
        )


@pytest.mark.slow
def test_maps_and_keys_through_pipes():
    succeed("calibrate", "--key", "key", "--scores", "s", "--save", "m.json")
    done = program("calibrate", *RUN[1:-1], "-", "--save", "-", stdin=SCORES)
    assert done.stdout == Path("m.json").read_text()
    done = program("calibrate", "--load", "m.json", "--apply", "-", "--output", "-", stdin=SCORES)
    succeed("calibrate", "--load", "m.json", "--apply", "s", "--output", "o")
    assert done.stdout == Path("o").read_text()
    done = program("threshold", "--dcf", "0.1", "--key", "-", "--scores", "s", stdin=KEYS["kaldi"])
    assert done.stdout.replace("/dev/stdin: kaldi", "key: kaldi").startswith("calibrated LLRs: ")
    assert "best for these trials: " in done.stdout


SASV5 = "spk\tfilename\tcm-score\tasv-score\tsasv-score\n"  # as ASVspoof 5 has them


def test_files_of_asvspoof_5():
    kinds = np.where(Y == 1, "target", np.where(ENROLL % 2, "nontarget", "spoof"))
    rows = zip(IDS, X.tolist(), kinds, strict=True)
    scores, key = [], []
    for (e, t), x, kind in rows:
        scores.append(f"{e}\t{t}\t-\t-\t{x!r}\n")
        key.append(f"{e}\t{t}\t{'spoof' if kind == 'spoof' else 'bonafide'}\t{kind}\n")
    save(s=SASV5 + "".join(scores), key="spk\tfilename\tcm-label\tasv-label\n" + "".join(key))
    out = succeed(*RUN, "--by", "cm-label", "--json", "t.json")
    assert (
        "s: nist; spk: enroll; filename: test; cm-score: condition; asv-score: condition; sasv"
        in out
    )
    costs = [kind(kinds == "spoof") for kind in (fp.MinADCF, fp.ActADCF)]
    table = list(metrics().items())
    check(llrs(), dict([*table[:3], *((cost.label, cost) for cost in costs), *table[3:]]))
    succeed("calibrate", *RUN[1:], "--output", "o.tsv")
    assert Path("o.tsv").read_text().startswith(SASV5 + "s00/m\ts00/a\t-\t-\t")


@pytest.mark.parametrize("option", ["--json", pytest.param("--csv", marks=pytest.mark.slow)])
def test_standard_input_and_output(option):
    done = program(
        *("evaluate", "--key", "key", "--scores", "-", option, "-", "--metrics", "EER"),
        stdin=SCORES,
    )
    assert done.returncode == 0, done.stderr
    assert "/dev/stdin: kaldi-scores" in done.stderr
    if option == "--json":
        assert json.loads(done.stdout)["rows"][0]["value"] == pytest.approx(fp.EER()(llrs()))
    else:
        assert done.stdout.startswith("system,group,metric,")
        assert done.stdout.count("\n") == 2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_do_not_leak_into_calibrated_scores(ending):
    enroll, test = zip(*IDS, strict=True)
    frame = polars.DataFrame({"enroll": enroll, "test": test, "score": X})
    frame.write_csv("in") if ending == "csv" else frame.write_parquet("in")
    out = f"out.{ending}"
    succeed("calibrate", "--key", "key", "--scores", "in", "--output", out)
    read = polars.read_csv if ending == "csv" else polars.read_parquet
    assert read(out).columns == ["enroll", "test", "score"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--metrics", "EER,nope"), ["--metrics must be among", "minDCF(0.01)", "'nope'"]),
        (("--metrics", "nope", "none"), ["--metrics must be among"]),  # before files are read
        (("--scores-are", "llr", "--scores-are", "raw"), ["for each of 1 systems, not 2 times"]),
        (("--targets", "s"), ["--targets and --nontargets go together"]),
        (("--targets", "s", "--nontargets", "s"), ["--key has labels"]),
        (("s",), ["name each file once, but names s again"]),
        (("x=other", "x=another"), ["a name of its own, not x twice"]),
    ],
)
def test_what_such_options_refuse(options, words):
    check_refusal({}, [*RUN, *options], words)


def test_the_base_of_what_is_written_is_said():
    save(s=lines(X / np.log(10.0)))
    out = succeed(*CALIBRATE, "--scores-are", "log10-llr", "--output", "o", "--save", "m.json")
    assert f"o: {Y.size} trials with LLRs (natural logarithms)\n" in out
    fitted = fp.DirectionPreserving().fit(llrs())
    apply = ["calibrate", "--load", "m.json", "--apply", "s", "--output"]
    assert "taken as log10-llr" in succeed(*apply, "p")  # the file knows it
    succeed(*apply, "q", "--scores-are", "log10-llr")
    assert Path("p").read_text() == Path("q").read_text()
    succeed(*apply, "r", "--scores-are", "llr")  # other scores may be on another scale
    assert Path("p").read_text() != Path("r").read_text()
    run = ["select", *CALIBRATE[1:], "--scores-are", "log10-llr", "--calibrators", "dp"]
    succeed(*run, "--save", "n.json")
    assert Path("n.json").read_text() == Path("m.json").read_text()
    (shown,) = re.findall(r"LLR = (\S+) \* log10-LLR ([-+]) (\S+)", out)
    slope, offset = float(shown[0]), float(shown[1] + shown[2])  # for the scores of the file
    expected = fitted.transform(llrs()).llrs
    np.testing.assert_allclose(slope * X / np.log(10.0) + offset, expected, rtol=1e-4, atol=1e-4)


def test_a_saved_calibrator_knows_what_it_takes():
    succeed(*CALIBRATE, "--scores-are", "raw", "--save", "m.json")
    out = succeed("calibrate", "--load", "m.json", "--apply", "s", "--output", "o")
    assert "scores taken as raw\n" in out


def test_training_scores_with_labels_may_come_first():
    words = zip(SCORES.splitlines(), Y.tolist(), strict=True)
    save(labeled="".join(f"{line} {WORDS[y]}\n" for line, y in words))
    options = ["--apply", "s", "--output"]
    succeed("calibrate", "labeled", *options, "o")
    succeed("calibrate", "--scores", "labeled", *options, "p")
    assert Path("o").read_text("utf-8") == Path("p").read_text("utf-8")
    out = succeed("select", "labeled", "--calibrators", "dp")
    assert "chosen: dp" in out


def test_cosines_have_no_calibration_loss_to_show():
    out = succeed("select", *CALIBRATE[1:], "--scores-are", "cosine", "--calibrators", "dp")
    assert "RCL" not in out
    assert "nan" not in out


def test_names_of_costs():
    out = evaluated("--metrics", "minDCF,AUC", "--dcf", "0.01", "--dcf", "0.05")
    assert all(name in out for name in ("minDCF(0.01)", "minDCF(0.05)", "AUC"))
    refused = fastpsr(*RUN, "--metrics", "minDCF(0.05)").err
    assert refused.endswith("give --dcf 0.05 for that operating point\n")
    succeed(*RUN, "--metrics", "minDCF(0.05)", "--dcf", "0.05")
    assert "--dcf once for each" in fastpsr(*RUN, "--dcf", ".01,.05").err
    assert "only rank" in fastpsr(*RUN, "--scores-are", "raw", "--metrics", "Cllr").err


def test_a_limit_below_one_error_is_cautioned():
    command = ["threshold", "--key", "key", "--scores", "s"]
    assert "less than one error" in fastpsr(*command, "--fa", "1e-5").err
    assert "less than one error" in fastpsr(*command, "--miss", "1e-5").err
    assert fastpsr(*command, "--fa", "0.1").err == ""


def test_latex_of_conditions():
    rows = zip(KEYS["voxceleb"].splitlines(), np.arange(Y.size) % 9, strict=True)
    save(
        key="label,enroll,test,seconds\n" + "".join(f"{k},{s}\n".replace(" ", ",") for k, s in rows)
    )
    options = ["--metrics", "EER,Cllr", "--latex", "t.tex"]
    evaluated(*options, "--by", "seconds", "--bins", "3,6", "--resamples", "40")
    head, _, *body = Path("t.tex").read_text("utf-8").splitlines()[2:-2]
    assert head == r"system & condition & targets & non-targets & EER [\%] & Cllr \\"
    names = [line.split(" & ")[1] for line in body[::2]]
    assert names == ["pooled", "seconds $<$ 3", "seconds=[3, 6)", r"seconds $\geq$ 6"]
    assert not any("[" in line.split(" & ", 2)[2] for line in body[::2])
    assert all(line.startswith(" &  &  &  & ") for line in body[1::2])  # not \\ [, a length
    evaluated(*options)
    head = Path("t.tex").read_text("utf-8").splitlines()[2]
    assert head.startswith("system & targets")  # all conditions would be "pooled"
