"""`fastpsr fuse`: it prints, writes and saves what the library computes of the same files."""

import json
from pathlib import Path

import numpy as np
import polars
import pytest

import fastpsr as fp
from tests.commands import (
    check_differences,
    check_refusal,
    check_rows,
    fastpsr,
    strict_json,
    succeed,
)
from tests.golden.files import write_files

# small lists: intervals say that few speakers hold the values, or are none
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RUN = ("fuse", "--key", "key", "--scores", "a.txt", "--scores", "b.txt")
LOAD = ("fuse", "--load", "m", "--apply", "a.txt", "--output", "o")
QUICK = ("--metrics", "Cllr", "--resamples", "40", "--ci", "percentile")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files()
    Path("few.dur").write_text("id00/enroll.wav 1\n", "utf-8")


def trial_sets():
    return {name: fp.trials.read("key", name) for name in ("a.txt", "b.txt")}


def systems(kind="llr"):
    return {name: trials.predictions(kind) for name, trials in trial_sets().items()}


def scores_in(path):
    return fp.trials.read(None, path).score


@pytest.mark.parametrize("kind", ["raw", "llr"])
def test_what_each_system_adds(kind):
    run = [*RUN, "--scores-are", kind, "--resample", "iid", "--metrics", "EER,Cllr"]
    out = succeed(*run, "--resamples", "40", "--json", "t.json")
    evaluation = fp.evaluate_fusion(systems(kind), metrics=["EER", "Cllr"], n_resamples=40, seed=0)
    check_rows(evaluation)
    check_differences(evaluation)
    fitted = fp.LinearFusion().fit(systems(kind))
    content = strict_json("t.json")
    assert content["fusion"] == {
        "prior": 0.5,
        "rank": 2,
        "weights": dict(zip(systems(), fitted.weights_.tolist(), strict=True)),
        "bias": fitted.bias_[1] - fitted.bias_[0],
    }
    for name, weight in content["fusion"]["weights"].items():
        assert f"  {name:<4}  {weight:>11.5g}\n" in out
    assert ("a.txt calibrated" in out) == (kind == "raw")
    assert "hold the fits fixed" in out


def test_fits_can_be_repeated():
    run = [*RUN, "--metrics", "Cllr", "--resamples", 40, "--resample", "iid", "--refits"]
    assert "hold the fits fixed" not in succeed(*run, "--json", "t.json")
    settings = {"n_resamples": 40, "seed": 0, "refits": True}
    check_differences(fp.evaluate_fusion(systems(), metrics=["Cllr"], **settings))
    assert strict_json("t.json")["intervals"]["method"] == "percentile"


def test_options_reach_the_library():
    succeed(
        "fuse", "--key", "nist.tsv", "--scores", "a.txt", "b.txt", "--prior", "0.1", "--folds", "3",
        "--ci", "0.9:percentile", "--speakers", "speakers.txt", "--quality",
        "duration=durations.txt:log:cap=9", "--quality", "session,seconds",
        "--quality-terms", "bilinear", "--seed", "5", "--metrics", "EER,Cllr", "--resamples", "40",
        "--json", "t.json",
    )  # fmt: skip
    trials = fp.trials.read("nist.tsv", "a.txt").with_speakers("speakers.txt")
    parts = systems() | {
        "duration:log:cap=9": trials.quality("durations.txt", cap=9.0, log=True),
        "session,seconds": trials.quality(("session", "seconds")),
    }
    fusion = fp.LinearFusion(0.1, "bilinear")
    evaluation = fp.evaluate_fusion(
        parts, fusion, ["EER", "Cllr"], n_resamples=40, confidence_level=0.9,
        train=fp.CrossFit(3, groups=trials.speakers), resampling=fp.TwoWay(*trials.speakers),
        seed=5, method="percentile",
    )  # fmt: skip
    check_rows(evaluation)
    check_differences(evaluation)
    assert [*strict_json("t.json")["fusion"]["weights"]] == [*fusion.fit(parts).columns_]


@pytest.mark.slow
def test_cross_fitting_keeps_speakers_apart():
    run = [*RUN, *QUICK[2:], "--metrics", "RCL", "--speakers", "speakers.txt"]
    succeed(*run, "--output", "f", "--json", "t.json")
    speakers = fp.trials.read("key", "a.txt").with_speakers("speakers.txt").speakers
    expected = fp.cross_fit(fp.LinearFusion(), systems(), fp.CrossFit(groups=speakers))
    np.testing.assert_array_equal(scores_in("f"), expected.llrs)
    train = fp.CrossFit(groups=speakers)
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train)(expected)
    rows = {row["system"]: row["value"] for row in strict_json("t.json")["rows"]}
    assert rows["fused"] == pytest.approx(loss, rel=1e-9)
    ids = [[line.split()[:2] for line in Path(name).read_text("utf-8").splitlines()]
           for name in ("a.txt", "f")]  # fmt: skip
    assert ids[0] == ids[1]


def test_apply_and_load():
    for name, rows in (("a", slice(0, 90)), ("b", slice(-90, None))):  # b is the other way round
        lines = Path(f"{name}.txt").read_text("utf-8").splitlines(keepends=True)
        Path(f"{name}.new").write_text("".join(lines[rows]), "utf-8")
    measure = ["--quality", "duration=durations.txt:log"]
    apply = ["--apply", "a.new", "--apply", "b.new", *measure]
    succeed(*RUN, *QUICK, "--scores-are", "raw", *apply, "--output", "f", "--save", "m.json")
    quality = trial_sets()["a.txt"].quality("durations.txt", log=True)
    parts = systems("raw") | {"duration:log": quality}
    fitted = fp.LinearFusion().fit(parts)
    expected = fitted.transform(parts).llrs[:90]
    np.testing.assert_array_equal(scores_in("f"), expected)
    np.testing.assert_array_equal(fp.load_calibrator("m.json").weights_, fitted.weights_)
    out = succeed("fuse", "--load", "m.json", *apply, "--output", "g")
    assert "a.new: scores of a.txt, taken as raw\n" in out  # which the file knows
    assert Path("g").read_bytes() == Path("f").read_bytes()
    named = ["--apply", "b.txt=b.new", "--apply", "a.txt=a.new", *measure]
    succeed("fuse", "--load", "m.json", *named, "--output", "h")
    np.testing.assert_array_equal(np.sort(scores_in("h")), np.sort(expected))


def test_scores_that_hold_labels_and_trials_that_are_dropped():
    labels = [line.split()[2] for line in Path("key").read_text("utf-8").splitlines()]
    for name, order in (("a", 1), ("b", -1)):
        lines = Path(f"{name}.txt").read_text("utf-8").splitlines()
        rows = [f"{line} {label}\n" for line, label in zip(lines, labels[::order], strict=True)]
        Path(f"{name}.labeled").write_text("".join(rows), "utf-8")
        Path(f"{name}.few").write_text("".join(rows[3:]), "utf-8")
    succeed("fuse", "--scores", "a.labeled", "b.labeled", *QUICK, "--json", "t.json")
    expected = fp.evaluate_fusion(systems())["fused", None, "Cllr"]
    rows = {row["system"]: row["value"] for row in strict_json("t.json")["rows"]}
    assert rows["fused"] == pytest.approx(expected, rel=1e-12)
    run = ["fuse", "--scores", "a.labeled", "b.few", *QUICK, "--output", "f"]
    words = ["b.few has no score of ", "which a.labeled has (3 in all)", "--allow missing"]
    check_refusal({}, run, words)
    out = succeed(*run, "--allow", "missing")
    assert "189 trials have all scores; left out: 3 of a.labeled" in out
    assert scores_in("f").size == 189
    Path("other").write_text("".join(rows_with_another_label("a.labeled", 4)), "utf-8")
    words = ["other: must have the labels of the first", "differs"]
    check_refusal({}, ["fuse", "--scores", "a.labeled", "other"], words)


def rows_with_another_label(path, place):
    lines = Path(path).read_text("utf-8").splitlines(keepends=True)
    ids, label = lines[place].split()[:3], lines[place].split()[3]
    lines[place] = " ".join([*ids, "nontarget" if label == "target" else "target"]) + "\n"
    return lines


def test_what_scores_look_like():
    rows = [line.split() for line in Path("a.txt").read_text("utf-8").splitlines()]
    labels = [line.split()[2] for line in Path("key").read_text("utf-8").splitlines()]
    changes = {
        "negative": [-float(x) for _, _, x in rows],
        "infinite": ["inf", *(x for _, _, x in rows[1:])],
        "separated": [4.5 * (label == "target") for label in labels],
    }
    for name, values in changes.items():
        lines = (f"{e} {t} {x}\n" for (e, t, _), x in zip(rows, values, strict=True))
        Path(name).write_text("".join(lines), "utf-8")
    run = [*RUN[:4], "b.txt"]
    assert "weights of negative are negative" in fastpsr(*run, "negative", *QUICK).err
    words = ["infinite: scores that are fused must be finite, but that of ", " is inf"]
    check_refusal({}, [*run, "infinite"], words)
    refused = fastpsr(*run, "separated", "--format", "kaldi-scores")
    assert "together separate the classes" in refused.err


REFUSED = {
    "option of keys": (
        ["fuse", "--scores", "labeled.txt", "--allow", "extra"],
        "--allow extra needs",
    ),
    "posteriors": ([*RUN, "--scores-are", "posteriors"], "--scores-are must be llr, log10-llr or"),
    "name of a row": (["fuse", "--key", "key", "--scores", "fused=a.txt", "b.txt"], "--scores"),
    "no output": ([*RUN, "--apply", "a.txt"], "--apply needs --output"),
    "load and scores": ([*LOAD, "--scores", "a.txt"], "and no others"),
    "load and key": ([*LOAD, "--key", "key"], "--key has no use with --load"),
    "measure twice": (
        [*RUN, "--quality", "q=durations.txt", "--quality", "q=a,b"],
        "--quality must give each measure a name of its own, not q",
    ),
    "name of a system": ([*RUN, "--quality", "a.txt=durations.txt"], "name that no system has"),
    "measure of few": ([*RUN, "--quality", "few.dur"], "few.dur gives none to 11 enroll ids"),
    "no column": ([*RUN, "--quality", "by,x"], "--quality must name a column of the files"),
    "terms of nothing": ([*RUN, "--quality-terms", "bilinear"], "--quality-terms is for --quality"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    arguments, words = REFUSED[name]
    check_refusal({}, arguments, [words])


# By condition

SETTINGS = ("--by", "seconds:2,gender", "--min-per-class", "12")
FUSION = fp.ByCondition(fp.LinearFusion(), min_per_class=12, bins={"seconds": 2})


def test_by_condition():
    frame = polars.read_csv("nist.tsv", separator="\t")
    by = {name: frame[name].to_numpy() for name in ("seconds", "gender")}
    for name, trials in trial_sets().items():
        scores = frame.select("modelid", "segmentid", score=polars.Series(trials.score))
        scores = scores.with_columns(gender=frame["gender"], seconds=frame["seconds"])
        scores.write_csv(name.replace("txt", "tsv"), separator="\t")
    run = ["fuse", "--key", "nist.tsv", "--scores", "a=a.tsv", "b=b.tsv", *SETTINGS, *QUICK]
    out = succeed(*run, "--output", "o.tsv", "--json", "o.json")
    parts = dict(zip("ab", systems().values(), strict=True))
    crossed = fp.cross_fit(FUSION, parts, by=by)
    scores = polars.read_csv("o.tsv", separator="\t")["score"]
    assert scores.to_list() == pytest.approx(crossed.scores.tolist())
    fitted = FUSION.fit(parts, by)
    assert str(fitted) in out
    content = json.loads(Path("o.json").read_text("utf-8"))
    values = {row["system"]: row["value"] for row in content["rows"]}
    assert values["fused"] == fp.Cllr()(crossed)
    assert values["without conditions"] == fp.Cllr()(fp.cross_fit(fp.LinearFusion(), parts))
    assert [*content["fusion"]["weights"].values()] == fitted.pooled_.weights_.tolist()
    for name, own in zip(fitted.groups_, fitted.own_, strict=True):
        shown = content["fusion"]["conditions"][name]
        assert (shown and [*shown["weights"].values()]) == (own and own.weights_.tolist())
        assert (f"fusion of {name} at a prior of 0.5" in out) == (own is not None)
    applied = ["--apply", "a.tsv", "--apply", "b.tsv"]
    succeed(*run, *applied, "--output", "p.tsv", "--save", "m.json")
    expected = fitted.transform(parts, by).scores
    scores = polars.read_csv("p.tsv", separator="\t")["score"]
    assert scores.to_list() == pytest.approx(expected.tolist())
    succeed("fuse", "--load", "m.json", *applied, "--output", "q.tsv")
    assert Path("q.tsv").read_bytes() == Path("p.tsv").read_bytes()
    load = ["calibrate", "--load", "m.json", "--apply", "a.tsv", "--output", "r"]
    check_refusal({}, load, ["m.json is a fusion of several systems: use fastpsr fuse --load"])
