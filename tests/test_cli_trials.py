"""The commands on trial lists: every value is the library's on the same arrays."""

import gzip
import re
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import check_refusal, fastpsr, parameters, strict_json, succeed

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


def metrics(dcfs=None, groups=None):
    """The metrics of the table, by name; `dcfs` are operating points by name."""
    table = {"EER": fp.EER()}
    for name, points in (dcfs or {"0.01": [(0.01,)]}).items():
        for prefix, cost in (("min", fp.MinDCF), ("act", fp.ActDCF)):
            parts = [cost(*point) for point in points]
            table[f"{prefix}DCF({name})"] = lambda p, parts=parts: np.mean([m(p) for m in parts])
    table |= {"Cllr": fp.Cllr(), "minCllr": fp.MinCllr(), "AUC": fp.AUC()}
    table |= {"NCE": fp.CrossEntropy(), "NBS": fp.BrierScore()}
    train = fp.CrossFit(groups=groups)
    return table | {"RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train)}


def values_of(*place):
    rows = strict_json("t.json")
    return {r["metric"]: r["value"] for r in rows if (r["system"], r["condition"]) == place}


def check(predictions, table=None, condition="pooled", system="s"):
    """Whether the rows of a system and condition are those of the library, in order."""
    values, table = values_of(system, condition), table or metrics()
    assert list(values) == list(table)
    for name, value in values.items():
        assert value == pytest.approx(table[name](predictions), rel=1e-12, abs=1e-12), name


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
    assert set(strict_json("t.json")[0]) >= {"system", "condition", "metric", "value"}
    assert f"scores taken as llr; {Y.size:,} trials; read " in out
    assert re.search(rf"(?m)^Cllr +{fp.Cllr()(llrs()):.4f} *$", out)


def test_scores_with_labels_of_their_own():
    save(s="".join(f"{line} {y}\n" for line, y in zip(SCORES.splitlines(), Y, strict=True)))
    assert "s: wespeaker; column 1: enroll" in evaluated()
    check(llrs())
    succeed("evaluate", "--key", "s", "--scores", "s", "--json", "t.json")
    check(llrs())


def test_several_systems_in_every_kind_of_table():
    save(a_b=lines(0.5 * X), c=lines(X - 1))
    out = evaluated("a_b", "c", "--csv", "t.csv", "--markdown", "t.md", "--latex", "t.tex")
    rows = strict_json("t.json")
    assert list(dict.fromkeys(row["system"] for row in rows)) == ["s", "a_b", "c"]
    for system, x in (("s", X), ("a_b", 0.5 * X), ("c", X - 1)):
        check(llrs(x=x), system=system)
    assert polars.read_csv("t.csv").to_dicts() == rows
    markdown = [line.strip("| ").split(" | ") for line in Path("t.md").read_text().splitlines()]
    latex = Path("t.tex").read_text().splitlines()
    assert markdown[0] == ["system", "condition", *metrics()]
    assert latex[0] == rf"\begin{{tabular}}{{ll{'r' * len(metrics())}}}"
    for place, system in enumerate(["s", "a_b", "c"]):
        values = [f"{value:.4f}" for value in values_of(system, "pooled").values()]
        assert markdown[place + 2] == [system, "pooled", *values]
        cells = [system.replace("_", r"\_"), "pooled", *values]
        assert latex[place + 4] == " & ".join(cells) + r" \\"
        assert [f" {value}" in out for value in values] == [True] * len(values)


def test_a_condition_without_targets_gets_notes():
    flags = [("one", "other")[e == 0 and t != 0] for e, t, _ in TRIALS]
    rows = zip(KEYS["voxceleb"].splitlines(), flags, strict=True)
    save(key="label,enroll,test,flag\n" + "".join(f"{k},{f}\n".replace(" ", ",") for k, f in rows))
    out = evaluated("--by", "flag")
    values = values_of("s", "flag=other")
    assert {values[name] for name in ("EER", "Cllr", "minDCF(0.01)")} == {None}
    assert "not computed" in out
    check(llrs(np.array(flags) == "one"), condition="flag=one")


@pytest.mark.parametrize("equalised", [False, True])
def test_conditions(equalised):
    evaluated("--by", "take", *["--equalise", "take"] * equalised)
    cells = {(y, take): (y == Y) & (take == TAKE) for y in (0, 1) for take in "ab"}
    weights = sum((y == Y).sum() / (2 * cell.sum()) * cell for (y, _), cell in cells.items())
    check(llrs(sample_weight=weights) if equalised else llrs())
    for take in "ab":
        check(llrs(take == TAKE), condition=f"take={take}")
    assert {row["condition"] for row in strict_json("t.json")} == {"pooled", "take=a", "take=b"}


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
}


@pytest.mark.parametrize("scale", SCALES)
def test_what_scores_are(scale):
    values, make = SCALES[scale]
    save(s=lines(values))
    assert f" as {scale};" in evaluated("--scores-are", scale, "--priors", "0.9,0.1")
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
    check_refusal({}, [*RUN, "--json", "t.json"], ["key and s do not fit", option[1]])
    assert "left out: " in evaluated(*option)
    check(llrs(rows))


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
    "--equalise": ({}, [*RUN, *OUT, "--equalise", "take,sex"], ["'sex'", "take, by, of"]),
    "no targets": ({"key": NO_TARGETS}, [*RUN, *OUT], ["key", "no targets among"]),
    "pattern": ({}, [*RUN, *OUT, "--speaker-pattern", "^x"], ["'^x' has none for 12 enroll ids"]),
    "no expression": ({}, [*RUN, *OUT, "--speaker-pattern", "("], ["regular expression"]),
    "twice": ({}, [*RUN, *TWICE, *OUT], ["--speaker-columns and --speaker-pattern"]),
    "format": ({}, [*RUN, *OUT, "--format", "htk"], ["kaldi-scores", "'htk'"]),
    "key format": ({}, [*RUN, *OUT, "--key-format", "htk"], ["kaldi-trials", "'htk'"]),
    "policy": ({}, [*RUN, *OUT, "--missing", "ignore"], ["missing", "drop", "'ignore'"]),
    "cut short": ({"s": CUT_SHORT}, [*RUN, *OUT], ["s: the gzip file is cut short"]),
    "no --scores": ({}, ["evaluate", "--key", "key", *OUT], ["--key needs --scores"]),
    "no --key": ({}, ["evaluate", "--scores", "s", *OUT], ["--key KEY --scores FILE"]),
    "no file": ({}, [*RUN, "none", *OUT], ["No such file", "none"]),
    "posteriors": ({}, [*RUN, *OUT, "--scores-are", "posteriors"], ["0 to 1"]),
    "prior of raw": ({}, [*RUN, *OUT, "--scores-are", "raw", "--priors", "0.9,0.1"], ["prior"]),
    "over the key": ({}, [*RUN, "--json", "key"], ["--json", "input"]),
    "second system": ({"b": b"x y 1.0\nz w 2.0\n"}, [*RUN, "b", *OUT], ["key and b"]),
    "json ending": ({}, [*RUN, "--json", "t.txt"], ["--json", ".json", "t.txt"]),
    "csv ending": ({}, [*RUN, "--csv", "t"], ["--csv", ".csv, not t"]),
    "md ending": ({}, [*RUN, "--markdown", "t.tex"], ["--markdown", ".md", "t.tex"]),
    "tex ending": ({}, [*RUN, "--latex", "t.latex"], ["--latex", ".tex", "t.latex"]),
    "two points": ({}, [*TELL, "sre16"], ["one operating point", "sre16"]),
    "threshold's dcf": ({}, [*TELL, "high"], ["--dcf", "'high'"]),
    "key alone": ({}, [*TELL, "0.1", "--key", "key"], ["--key and --scores belong together"]),
    "threshold of nothing": ({}, ["threshold"], ["--dcf"]),
}  # fmt: skip


@pytest.mark.parametrize(("files", "arguments", "words"), parameters(BAD))
def test_bad_input(files, arguments, words):
    check_refusal(files, arguments, words)


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
    assert fp.MinDCF(*POINTS[dcf]).normalized_cost(misses, alarms) == pytest.approx(least)
