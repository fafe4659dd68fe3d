"""`fastpsr fuse`: it prints, writes and saves what the library computes of the same files."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from fastpsr import trials
from tests.commands import (
    fastpsr,
    parameters,
    program,
    snapshot,
    strict_json,
    succeed,
    write_trials,
)

RUN = ("fuse", "--key", "key", "--scores", "a", "--scores", "b")
FEW = ("--resamples", "40")
QUICK = (*FEW, "--metrics", "Cllr")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_all():
    """Key and scores of systems a and b, and of the same recordings the values of a measure."""
    found = write_trials()
    ids = {f"m{e}" for e in found.made.enroll} | {f"s{t}" for t in found.made.test}
    rng = np.random.default_rng(0)
    values = {each: round(float(rng.gamma(3.0, 5.0)), 2) for each in sorted(ids)}
    Path("seconds").write_text("".join(f"{each} {value}\n" for each, value in values.items()))
    return found


@pytest.fixture
def made():
    return write_all()


def sets():
    return {name: trials.read("key", name) for name in ("a", "b")}


def given(kind="llr"):
    return {name: each.predictions(kind) for name, each in sets().items()}


def scores_in(path):
    return trials.read(None, path).score


def changed(path, line, change, into):
    """Write a file with another line."""
    lines = Path(path).read_text().splitlines()
    lines[line] = change(lines[line])
    Path(into).write_text("\n".join(lines) + "\n")


def of_row(content, system):
    return {r["metric"]: r["value"] for r in content["rows"] if r["system"] == system}


# Training


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", ["raw", "llr"])
def test_what_each_system_adds(made, kind):
    run = [*RUN, *FEW, "--scores-are", kind, "--resample", "iid", "--metrics", "EER,Cllr"]
    out = succeed(*run, "--json", "t.json")
    systems = given(kind)
    expected = fp.evaluate_fusion(systems, metrics=["EER", "Cllr"], n_resamples=40, seed=0)
    content = strict_json("t.json")
    assert content["rows"] == expected.to_dict()["rows"]
    assert content["differences"] == expected.to_dict()["differences"]
    assert content["intervals"]["resampling"] == "iid"
    fitted = fp.LinearFusion().fit(systems)
    assert content["fusion"] == {
        "prior": 0.5,
        "rank": 2,
        "weights": dict(zip("ab", fitted.weights_.tolist(), strict=True)),
        "bias": fitted.bias_[1] - fitted.bias_[0],
    }
    for name, weight in content["fusion"]["weights"].items():
        assert f"  {name:<4}  {weight:>11.5g}\n" in out
    assert "rank 2 of 2 columns" in out
    assert "hold the fits fixed" in out
    assert ("a calibrated" in out) == (kind == "raw")


def test_fits_can_be_repeated(made):
    run = [*RUN, *FEW, "--metrics", "EER,Cllr", "--json", "t.json", "--resample", "iid"]
    out = succeed(*run, "--refits")
    expected = fp.evaluate_fusion(
        given(), metrics=["EER", "Cllr"], n_resamples=40, seed=0, refits=True
    )
    content = strict_json("t.json")
    assert content["differences"] == expected.to_dict()["differences"]
    assert content["intervals"]["method"] == "percentile"
    assert "hold the fits fixed" not in out


def test_options_reach_the_library(made):
    succeed(
        *RUN, *FEW, "--json", "t.json", "--prior", "0.1", "--folds", "3", "--ci", "0.9",
        "--speaker-columns", "by,of", "--quality", "duration=seconds:log:cap=20", "--seed", "5",
        "--quality-columns", "by,of", "--quality-terms", "bilinear", "--metrics", "EER,Cllr",
    )  # fmt: skip
    first = trials.read("key", "a").with_speakers(column=("by", "of"))
    systems = given() | {
        "duration:log:cap=20": first.quality("seconds", cap=20.0, log=True),
        "by,of": first.quality(column=("by", "of")),
    }
    fusion = fp.LinearFusion(0.1, "bilinear")
    expected = fp.evaluate_fusion(
        systems, fusion, ["EER", "Cllr"], train=fp.CrossFit(3, groups=first.speakers),
        resampling=fp.TwoWay(*first.speakers), n_resamples=40, confidence_level=0.9, seed=5,
    )  # fmt: skip
    content = strict_json("t.json")
    assert content["rows"] == expected.to_dict()["rows"]
    assert content["differences"] == expected.to_dict()["differences"]
    assert content["intervals"]["resampling"] == "speaker"
    assert [*content["fusion"]["weights"]] == [*fusion.fit(systems).columns_]


def test_detection_costs(made):
    run = [*RUN, *FEW, "--interval", "percentile", "--json", "t.json"]
    succeed(*run, "--dcf", "0.3", "--dcf", "0.1:10:1")
    found = of_row(strict_json("t.json"), "fused")
    assert [name for name in found if "DCF" in name] == [
        "minDCF(0.3)", "actDCF(0.3)", "minDCF(0.1:10:1)", "actDCF(0.1:10:1)",
    ]  # fmt: skip
    fused = fp.cross_fit(fp.LinearFusion(), given())
    assert found["actDCF(0.1:10:1)"] == fp.ActDCF(0.1, 10, 1)(fused)


def test_calibration_loss_keeps_speakers_apart(made):
    run = [*RUN, *FEW, "--json", "t.json", "--metrics", "RCL", "--speaker-columns", "by,of"]
    succeed(*run)
    speakers = made.speakers()
    fused = fp.cross_fit(fp.LinearFusion(), given(), fp.CrossFit(groups=speakers))
    loss = fp.CalibrationLoss(
        fp.rules.Log(), fp.DirectionPreserving(), fp.CrossFit(groups=speakers)
    )
    assert of_row(strict_json("t.json"), "fused")["RCL"] == pytest.approx(loss(fused), rel=1e-9)


def test_further_files_and_names(made):
    out = succeed("fuse", *FEW, "--key", "key", "--scores", "one=a", "b", "--metrics", "EER")
    assert "a: scores of one, taken as llr" in out
    assert "fused - without one" in out


def test_cross_fitted_output_in_the_format_of_the_first(made):
    succeed(*RUN, *QUICK, "--output", "f", "--speaker-columns", "by,of")
    train = fp.CrossFit(groups=made.speakers())
    expected = fp.cross_fit(fp.LinearFusion(), given(), train)
    np.testing.assert_array_equal(scores_in("f"), expected.llrs)
    first, again = (
        [line.split()[:2] for line in Path(path).read_text().splitlines()] for path in ("a", "f")
    )
    assert first == again


def test_scores_that_hold_labels(made):
    labels = [line.split()[2] for line in Path("key").read_text().splitlines()[1:]]
    for name, order in (("a", 1), ("b", -1)):
        lines = zip(Path(name).read_text().splitlines(), labels[::order], strict=True)
        Path(f"{name}.l").write_text("".join(f"{line} {label}\n" for line, label in lines))
    run = ["fuse", "--scores", "a.l", "--scores", "b.l", *QUICK, "--json", "t.json"]
    succeed(*run)
    expected = fp.evaluate_fusion(given())["fused", None, "Cllr"]
    assert of_row(strict_json("t.json"), "fused")["Cllr"] == pytest.approx(expected, rel=1e-12)


def test_negative_weights_are_told(made):
    changed("b", 0, str, "c")
    lines = [line.split() for line in Path("b").read_text().splitlines()]
    Path("c").write_text("".join(f"{e} {t} {-float(x)}\n" for e, t, x in lines))
    outcome = fastpsr("fuse", "--key", "key", "--scores", "a", "c", *QUICK)
    assert outcome.code == 0
    assert "weights of c are negative" in outcome.err


def test_dropped_trials(made):
    lines = Path("b").read_text().splitlines(keepends=True)
    Path("c").write_text("".join(lines[3:]))
    run = ["fuse", "--key", "key", "--scores", "a", "c", *QUICK, "--output", "f"]
    outcome = fastpsr(*run)
    assert "3 trials without a score" in outcome.err
    assert not Path("f").exists()
    out = succeed(*run, "--missing", "drop")
    assert "1,797 trials have all scores; left out: 3 of a" in out
    assert scores_in("f").size == 1797


# Other trials, and saved fusions


def test_apply_and_load(made):
    for name in ("a", "b"):
        lines = Path(name).read_text().splitlines(keepends=True)
        rows = [*range(700)] if name == "a" else [-1 - k for k in range(700)][::-1]
        Path(f"{name}.new").write_text("".join(lines[k] for k in rows))
    measure = ["--quality", "duration=seconds:log", "--scores-are", "raw"]
    apply = ["--apply", "a.new", "--apply", "b.new", *measure]
    succeed(*RUN, *QUICK, *apply, "--output", "f", "--save", "m.json")
    first = trials.read("key", "a")
    systems = given("raw") | {"duration:log": first.quality("seconds", log=True)}
    fitted = fp.LinearFusion().fit(systems)
    expected = fitted.transform(systems).llrs[:700]
    np.testing.assert_array_equal(scores_in("f"), expected)
    saved = fp.load_calibrator("m.json")
    np.testing.assert_array_equal(saved.weights_, fitted.weights_)
    out = succeed("fuse", "--load", "m.json", *apply, "--output", "g")
    assert "a.new: scores of a, taken as raw\n" in out
    assert "min(duration:log)" in out
    assert Path("g").read_bytes() == Path("f").read_bytes()
    quiet = apply[: apply.index("--scores-are")]  # the fusion knows what scores were
    succeed("fuse", "--load", "m.json", *quiet, "--output", "k")
    assert Path("k").read_bytes() == Path("f").read_bytes()
    named = ["--apply", "b=b.new", "--apply", "a=a.new", *measure]
    succeed("fuse", "--load", "m.json", *named, "--output", "h")
    np.testing.assert_array_equal(np.sort(scores_in("h")), np.sort(expected))
    assert (
        "a fusion of several systems: use fastpsr fuse --load"
        in fastpsr("calibrate", "--load", "m.json", "--apply", "a", "--output", "n").err
    )


@pytest.mark.slow
def test_standard_output_has_the_scores_alone(made):
    done = program(*RUN, *QUICK, "--output", "-")
    lines = done.stdout.splitlines()
    assert len(lines) == 1800
    succeed(*RUN, *QUICK, "--output", "f")
    assert Path("f").read_text().splitlines() == lines


def test_report(made):
    pytest.importorskip("matplotlib")
    out = succeed(*RUN, *QUICK, "--report", "r.html")
    page = Path("r.html").read_text()
    assert "written: r.html" in out
    assert "<h1>Fusion of a, b</h1>" in page
    assert "without a" in page
    assert page.count("rank 2 of 2 columns") == 1
    assert "Weights of a fit to all samples" in page
    assert "<p>The intervals hold the fits fixed" in page
    assert "Gains of the fusion of a, b: " in page


# What is refused


@pytest.fixture(scope="module")
def folder_of_files(tmp_path_factory):
    """Files that are wrong in some way, beside good ones; what is refused changes none."""
    folder = tmp_path_factory.mktemp("files")
    with contextlib.chdir(folder):
        write_all()
        write_wrong_files()
    return folder


def write_wrong_files():
    changed("a", 7, lambda line: " ".join([*line.split()[:2], "inf"]), "infinite")
    labels = [line.split()[2] for line in Path("key").read_text().splitlines()[1:]]
    pairs = [*zip(Path("a").read_text().splitlines(), labels, strict=True)]
    Path("labeled").write_text("".join(f"{line} {label}\n" for line, label in pairs))
    Path("few").write_text("".join(f"{line} {label}\n" for line, label in pairs[:-2]))
    other = {"target": "nontarget", "nontarget": "target"}
    changed("labeled", 4, lambda line: " ".join([*line.split()[:3], other[line.split()[3]]]), "w")
    Path("seconds.few").write_text("m0 1\n")
    Path("seconds.text").write_text(Path("seconds").read_text().replace(" ", " x"))
    systems = given()
    fp.save_calibrator(fp.LinearFusion().fit(systems), "m.json")
    fp.save_calibrator(fp.PAV().fit(systems["a"]), "pav.json")
    measured = systems | {"q:log": sets()["a"].quality("seconds", log=True)}
    fp.save_calibrator(fp.LinearFusion().fit(measured), "q.json")


LOAD = ("fuse", "--load", "m.json", "--output", "o")
BOTH = ("--apply", "a", "--apply", "b")
REFUSED = {
    "nothing": (["fuse"], ["--scores", "--load"]),
    "no scores": (["fuse", "--key", "key"], ["give --scores FILE"]),
    "no key": (["fuse", "--scores", "a", "b"], ["a has no labels: give a key with --key"]),
    "option of keys": (
        ["fuse", "--scores", "labeled", "--extra", "ignore"], ["--extra needs --key"],
    ),
    "no such file": ([*RUN, "--scores", "c"], ["No such file", "c"]),
    "a file twice": ([*RUN, "--scores", "a"], ["--scores must name each file once"]),
    "posteriors": ([*RUN, "--scores-are", "posteriors"], ["llr, log10-llr or raw", "posteriors"]),
    "prior": ([*RUN, "--prior", "1"], ["--prior must lie strictly between 0 and 1, not 1"]),
    "metrics": ([*RUN, "--metrics", "Clr"], ["--metrics must be among"]),
    "folds": (
        [*RUN, "--folds", "40", "--speaker-columns", "by,of"], ["--folds must not outnumber"],
    ),
    "infinite": (
        ["fuse", "--key", "key", "--scores", "infinite", "b"],
        ["infinite: scores that are fused must be finite, but that of 'm", "is inf"],
    ),
    "a trial is lacking": (
        ["fuse", "--scores", "labeled", "few"],
        ["few has no score of 'm", "which labeled has (2 in all)", "--missing drop"],
    ),
    "labels differ": (
        ["fuse", "--scores", "labeled", "w"], ["w: must have the labels of the first", "differs"],
    ),
    "row": (["fuse", "--key", "key", "--scores", "fused=a", "b"], ["--scores", "not 'fused'"]),
    "apply without output": ([*RUN, *BOTH], ["--apply needs --output"]),
    "too few to apply": (
        [*RUN, "--output", "o", "--apply", "a"],
        ["--apply must name a file for each of a, b: 2 files, not 1"],
    ),
    "others to apply": (
        [*RUN, "--output", "o", "--apply", "a=a", "--apply", "c=b"],
        ["--apply must name files as the systems are named, a, b, not a, c"],
    ),
    "ending": ([*RUN, "--output", "o.npz"], ["--output must not end in .npz"]),
    "output is input": ([*RUN, "--output", "a"], ["--output must not be an input too: a"]),
    "load without apply": (LOAD, ["--load needs --apply"]),
    "load and scores": ([*LOAD, *BOTH, "--scores", "a"], ["--load leaves nothing to train"]),
    "load and prior": ([*LOAD, *BOTH, "--prior", ".1"], ["--prior has no use with --load"]),
    "load and a key": ([*LOAD, *BOTH, "--key", "key"], ["--key has no use with --load"]),
    "load a calibrator": (
        ["fuse", "--load", "pav.json", "--output", "o", *BOTH],
        ["pav.json is PAV, of one system: use fastpsr calibrate --load"],
    ),
    "load and other measures": (
        [*LOAD, *BOTH, "--quality", "seconds"],
        ["--quality must be as in training", "has no quality measures, not seconds"],
    ),
    "conditions that lists to apply lack": (
        [*RUN, "--by", "by", "--output", "o", *BOTH],
        ["--apply: --by must name a column of the files (they have none), not 'by'"],
    ),
    "load without measures": (
        ["fuse", "--load", "q.json", "--output", "o", *BOTH],
        ["has the quality measures q:log, not none: give --quality q=FILE:log"],
    ),
    "no such measure": ([*RUN, "--quality", "c:log"], ["--quality must be", "c is no file"]),
    "treatment": ([*RUN, "--quality", "seconds:ln"], ["[:log][:cap=N]", "'seconds:ln'"]),
    "treatment twice": ([*RUN, "--quality", "seconds:log:log"], ["'seconds:log:log'"]),
    "cap": ([*RUN, "--quality", "seconds:cap=a"], ["--quality must have a number as cap=N"]),
    "cap is nan": (
        [*RUN, "--quality", "seconds:cap=nan"], ["error: --quality seconds: cap must", "nan"],
    ),
    "measure of a system's name": ([*RUN, "--quality", "a=seconds"], ["that no system has, not a"]),
    "measure of few": (
        [*RUN, "--quality", "seconds.few"], ["--quality", "seconds.few gives none to", "enroll id"],
    ),
    "measure in words": (
        [*RUN, "--quality", "seconds.text:log"],
        ["--quality seconds.text: must be finite numbers above 0", "'x"],
    ),
    "one column": ([*RUN, "--quality-columns", "by"], ["[NAME=]ENROLL,TEST", "'by'"]),
    "no column": ([*RUN, "--quality-columns", "by,x"], ["--quality-columns must be one of", "'x'"]),
    "terms": ([*RUN, "--quality-terms", "scale"], ["--quality-terms is for --quality"]),
    "unknown terms": (
        [*RUN, "--quality", "seconds", "--quality-terms", "mean"],
        ["--quality-terms must be", "mean"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), parameters(REFUSED))
def test_what_is_refused(folder_of_files, monkeypatch, arguments, words):
    monkeypatch.chdir(folder_of_files)
    before = snapshot()
    outcome = fastpsr(*arguments)
    assert outcome.code == 2, outcome.out
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert [word for word in words if word not in outcome.err] == [], outcome.err
    assert snapshot() == before


def test_classes_that_are_separated(made):
    rows = [line.split() for line in Path("key").read_text().splitlines()[1:]]
    Path("c").write_text("".join(f"{r[0]} {r[1]} {4.5 * (r[2] == 'target')}\n" for r in rows))
    outcome = fastpsr("fuse", "--key", "key", "--scores", "a", "c", "--format", "kaldi-scores")
    assert outcome.code == 2
    assert "together separate the classes" in outcome.err


def test_json_is_strict(made):
    succeed(*RUN, *FEW, "--metrics", "EER,Cllr", "--json", "t.json", "--markdown", "t.md")
    assert json.loads(Path("t.json").read_text())["inputs"][0]["path"] == "a"
    assert "fused - without b" in Path("t.md").read_text()
