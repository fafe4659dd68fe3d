"""`fastpsr compare`: differences and their intervals are those of the library."""

from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import (
    check_differences,
    check_refusal,
    check_rows,
    data,
    fastpsr,
    npz,
    strict_json,
    succeed,
    write,
    write_trials,
)

# small lists: intervals say that few trials or speakers hold the values, or are none
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

TRIALS = ("compare", "--key", "key", "a", "b")
FEW = ("--resamples", "40", "--ci", "percentile")
SPEAKERS = ("--speakers", "columns:by,of")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_third():
    """Write scores of c, which rank as those of a, in their order."""
    lines = [line.rsplit(" ", 1) for line in Path("a").read_text("utf-8").splitlines()]
    Path("c").write_text("".join(f"{ids} {2.0 * float(x)!r}\n" for ids, x in lines), "utf-8")


def keep_lines(**rows):
    """Leave only some lines of files."""
    for name, kept in rows.items():
        lines = Path(name).read_text("utf-8").splitlines(keepends=True)
        Path(name).write_text("".join(lines[kept]), "utf-8")


SCHEMES = {
    "iid": ([], lambda trials: fp.IID()),
    "stratified": ([], lambda trials: fp.Stratified()),
    "speaker": (SPEAKERS, lambda trials: fp.TwoWay(*trials.speakers())),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_trials(scheme):
    """The scores of b stand in another order."""
    options, resampling = SCHEMES[scheme]
    trials = write_trials(100, 500)
    run = [*TRIALS, *options, "--ci", 0.9, "--resamples", 60, "--resample", scheme, "--seed", 4]
    out = succeed(*run, "--dcf", "sre16", "--metrics", "EER,actDCF,Cllr", "--json", "t.json")
    evaluation = fp.evaluate(
        {name: trials.predictions(name) for name in "ab"},
        {"EER": fp.EER(), "actDCF(sre16)": fp.ActDCF("sre16"), "Cllr": fp.Cllr()},
        differences="first", n_resamples=60, confidence_level=0.9,
        resampling=resampling(trials), seed=4,
    )  # fmt: skip
    check_rows(evaluation)
    check_differences(evaluation)
    content = strict_json("t.json")
    assert [each["path"] for each in content["inputs"]] == ["a", "b", "key"]
    assert content["intervals"]["resampling"] == scheme
    assert f"resampling {scheme}, seed 4\ndifference: a - b; * where" in out


def test_three_systems_by_condition():
    trials = write_trials(100, 500)
    write_third()
    run = ["compare", "--key", "key", "a", "second=b", "c", "--by", "session", *FEW]
    run += ["--differences", "pairs", "--metrics", "eer,cllr", "--json", "t.json"]
    out = succeed(*run)
    y, scores = trials.made.y_true, trials.llrs
    llrs = {"a": scores["a"], "second": scores["b"], "c": 2.0 * scores["a"]}
    evaluation = fp.evaluate(
        {name: fp.Predictions.from_llrs(y, values) for name, values in llrs.items()},
        ["EER", "Cllr"], by={"session": trials.session}, n_resamples=40, method="percentile",
        seed=0, differences="all",
    )  # fmt: skip
    check_rows(evaluation)
    check_differences(evaluation)
    for words in ("second - c", "session=3", "differences; * where the interval excludes 0"):
        assert words in out
    succeed("compare", "--key", "key", "b", "a", "c", "--metrics", "EER", *FEW, "--json", "t.json")
    rows = strict_json("t.json")["differences"]
    assert [(row["system_a"], row["system_b"]) for row in rows] == [("b", "a"), ("b", "c")]


def test_trials_that_not_all_systems_score():
    trials = write_trials(100, 500)
    write_third()
    keep_lines(a=slice(2, None), b=slice(0, -5), c=slice(0, -4))  # b is the other way round
    run = ["compare", "--key", "key", "a", "b", "c", "--metrics", "Cllr", *FEW, "--json", "t.json"]
    check_refusal({}, run, ["key and a do not fit", "2 trials", "--allow missing"])
    out = succeed(*run, "--allow", "missing")
    assert "591 trials have all scores; left out: 7 of a, 4 of b, 5 of c\n" in out
    check_rows(
        fp.evaluate(
            trials.predictions("a", slice(5, 596)), ["Cllr"], n_resamples=40, method="percentile",
            seed=0,
        ),
        system="a",
    )  # fmt: skip
    keep_lines(a=slice(0, 250), b=slice(0, 250))
    words = ["a and b have a score for no trial in"]
    check_refusal({}, [*TRIALS, "--allow", "missing"], words)


@pytest.mark.parametrize("ending", [".npz", ".npy", ".csv", ".parquet"])
def test_tables(ending):
    y, z, _ = data()
    other, groups = z + np.random.default_rng(1).normal(size=z.shape), np.arange(240) // 2 % 30
    run = ["compare", f"a{ending}", f"b{ending}", "--scores-are", "logits", "--metrics", "NCE,ECE"]
    if ending == ".npy":
        write("a.npy", label=y, a=z, b=other, g=groups)
        run += ["--labels", "label.npy"]
    else:
        write(f"a{ending}", label=y, s=z, g=groups)
        write(f"b{ending}", label=y, s=other, g=groups)
    column = "g.npy" if ending == ".npy" else "g"
    succeed(*run, *FEW, "--resample", column, "--json", "t.json")
    systems = {f"a{ending}": z, f"b{ending}": other}
    evaluation = fp.evaluate(
        {name: fp.Predictions.from_logits(y, scores) for name, scores in systems.items()},
        ["NCE", "ECE"], differences="first", n_resamples=40, method="percentile", seed=0,
        resampling=fp.Clusters(groups),
    )  # fmt: skip
    check_differences(evaluation)


Y, Q = np.arange(40) % 2, np.linspace(0.1, 0.9, 40)
GROUPS = ("--columns", "score", "--resample", "g")
CONDITIONS = ("--columns", "score", "--by", "g")
UNLIKE = {  # a second table of other samples than npz()
    "labels": (npz(label=np.where(np.arange(40) == 7, 1 - Y, Y)), (), "labels differ in row 7"),
    "length": (npz(label=np.append(Y, 1), score=np.append(Q, 0.5)), (), "40 and 41"),
    "classes": (npz(score=np.full((40, 3), 1 / 3)), (), "classes: 2 and 3"),
    "weights": (npz(weight=Q), (), "weights must be the same in a.npz and b.npz"),
    "clusters": (npz(g=1 - Y), GROUPS, "'a.npz' and 'b.npz' must have the same column 'g', but"),
    "conditions": (npz(g=1 - Y), CONDITIONS, "'b.npz' must have the same column 'g', but"),
    "column": (npz(), CONDITIONS, "b.npz has no column 'g'"),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_tables_of_other_samples(name):
    other, options, words = UNLIKE[name]
    first = npz(g=Y) if options else npz()
    run = ["compare", "a.npz", "b.npz", *options, *FEW]
    check_refusal({"a.npz": first, "b.npz": other}, run, [words])


def test_warnings_are_said_once_for_all_systems():
    write_trials(3, 40)  # 5 % of the replicates have no target
    write_third()
    run = [*TRIALS, "c", "--resample", "iid", *SPEAKERS, "--resamples", 60, "--metrics", "EER,Cllr"]
    outcome = fastpsr(*run, "--json", "t.json")
    content = strict_json("t.json")
    n = sum(row["n_undefined"] > 0 for row in [*content["rows"], *content["differences"]])
    (line,) = [line for line in outcome.err.splitlines() if "is undefined in" in line]
    assert f" (and {n - 1} like this: " in line
    lines = [line for line in outcome.out.splitlines() if "speakers: " in line]
    assert len(lines) == 1  # which the key has for all systems


def test_independent_tables_are_compared_unpaired():
    systems = {name: data(n=n, seed=n) for name, n in (("a", 200), ("b", 300))}
    for name, (y, z, _) in systems.items():
        write(f"{name}.csv", y=y, z=z)
    arguments = (
        "--labels",
        "y",
        "--differences",
        "unpaired",
        "--metrics",
        "AUC",
        "--scores-are",
        "logits",
    )
    succeed("evaluate", "a.csv", "b.csv", *arguments, "--json", "t.json")
    (difference,) = strict_json("t.json")["differences"]
    pair = [fp.Predictions.from_logits(y, z) for y, z, _ in systems.values()]
    expected = fp.compare(fp.AUC(), *pair, paired=False, seed=0)
    assert difference["p_value"] == pytest.approx(expected.p_value)
    check_refusal({}, ("evaluate", "a.csv", *arguments), ["two systems or more"])
