"""`fp.trials.evaluate`: its values are those of the commands, and of the library on arrays."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import check_refusal, strict_json, succeed, write_trials

# small lists: intervals say that few trials or speakers hold the values, or are none
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*degrees of freedom:RuntimeWarning",
    "ignore:.*has no interval:RuntimeWarning",
    "ignore:.*is undefined in:RuntimeWarning",
)

FEW = {"n_resamples": 40, "seed": 0}
SPEAKERS = ("--speaker-columns", "by,of")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_trials(120, 600)


def read(*names, speakers=False, **options):
    sets = {name: fp.trials.read("key", name, **options) for name in names}
    if not speakers:
        return sets
    return {name: each.with_speakers(column=("by", "of")) for name, each in sets.items()}


def as_command(*arguments):
    """What a command writes as JSON, without what depends on it."""
    succeed(*arguments, "--json", "t.json")
    return strict_json("t.json")


def same(evaluation, content):
    """Whether an evaluation is what a command wrote."""
    found = evaluation.to_dict()
    for part in ("groups", "rows", "differences"):
        assert found.get(part) == content.get(part), part
    ours, theirs = found["intervals"], content["intervals"]
    assert (ours is None) == (theirs is None)
    for each in (ours, theirs):
        if each is not None:
            each.pop("resampling")  # in words of its own
    return ours == theirs


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ((), {}),
        (("--by", "session"), {"by": "session"}),
        (("--by", "session", "--equalize", "session"), {"by": "session", "equalize": "session"}),
        (("--priors", "0.9,0.1"), {"prior": 0.1}),
        (("--scores-are", "log10-llr"), {"scores_are": "log10-llr"}),
        (("--scores-are", "raw"), {"scores_are": "raw"}),
        (("--metrics", "cllr,EER,ece"), {"metrics": ["Cllr", "EER", "ECE"]}),
        (
            ("--resamples", "40", "--interval", "percentile"),
            {**FEW, "method": "percentile"},
        ),
        (
            ("--resamples", "40", "--resample", "nested:session", "--metrics", "EER,Cllr"),
            {**FEW, "resampling": fp.Nested("session"), "metrics": ["EER", "Cllr"]},
        ),
        (
            ("--by", "session", "--group-differences", "all"),
            {"by": "session", "group_differences": "all"},
        ),
    ],
)
def test_evaluate_is_what_the_command_writes(given, options):
    content = as_command("evaluate", "--key", "key", "--scores", "a", "b", *given)
    assert same(fp.trials.evaluate(read("a", "b"), **options), content)


@pytest.mark.parametrize("scale", ["llr", "log10-llr", "posteriors", "raw"])
def test_the_kind_of_the_scores_decides_the_default_table(scale):
    trials = fp.trials.read("key", "a")
    scores = 1 / (1 + np.exp(-trials.score)) if scale == "posteriors" else trials.score
    trials = replace(trials, score=scores)
    ids = trials.enroll, trials.test
    rows = [*zip(*ids, trials.y_true, scores.tolist(), strict=True)]
    write = {"table.csv": "y_true,score", "list.csv": "enroll,test,label,score"}
    for name, header in write.items():
        lines = [",".join(map(str, row[-len(header.split(",")) :])) for row in rows]
        Path(name).write_text("\n".join([header, *lines]), "utf-8")
    table = fp.evaluate(trials.predictions(scale)).to_dict()["rows"]
    assert same_rows(fp.trials.evaluate(trials, scores_are=scale).to_dict()["rows"], table)
    for given in (("table.csv",), ("--scores", "list.csv")):
        for dcf in ((), ("--dcf", "0.01")):
            content = as_command("evaluate", *given, "--scores-are", scale, *dcf)
            known = table
            if dcf and scale == "posteriors":
                costs = fp.evaluate(trials.predictions(scale), ["minDCF", "actDCF"])
                known = [*table, *costs.to_dict()["rows"]]
            assert same_rows(content["rows"], known)


def same_rows(rows, others):
    """Whether rows are the same, but for the system."""
    return [{**row, "system": None} for row in rows] == [{**row, "system": None} for row in others]


def test_unlike_scores_that_are_compared_have_the_metrics_of_the_least():
    scales = {"a": "posteriors", "b": "llr"}
    trials = read("a", "b")
    trials["a"] = replace(trials["a"], score=1 / (1 + np.exp(-trials["a"].score)))
    for scale, n in (("llr", 9), ("raw", 4)):
        scales["b"] = scale
        alone = fp.trials.evaluate(trials["b"], scores_are=scale)
        names = [row.metric for row in alone.rows]
        assert len(names) == n
        found = fp.trials.evaluate(trials, scores_are=scales, differences="first")
        assert [each.metric for each in found.differences] == names
        predictions = {name: each.predictions(scales[name]) for name, each in trials.items()}
        other = fp.evaluate(predictions, differences="first")
        assert [each.value for each in other.differences] == [
            each.value for each in found.differences
        ]


def test_known_speakers_are_drawn_and_kept_apart():
    given = (*SPEAKERS, "--resamples", "40", "--metrics", "Cllr,RCL")
    content = as_command("evaluate", "--key", "key", "--scores", "a", *given)
    sets, options = read("a", speakers=True), {**FEW, "metrics": ["Cllr", "RCL"]}
    assert same(fp.trials.evaluate(sets, **options), content)
    other = fp.trials.evaluate(sets["a"], resampling=fp.TwoWay("by", "of"), **options)
    assert [row.low for row in other.rows] == [row["low"] for row in content["rows"]]
    own = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), fp.CrossFit(seed=1))
    groups = fp.CrossFit(seed=1, groups=sets["a"].speakers)
    apart = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), groups)
    found = fp.trials.evaluate(sets["a"], {"RCL": own})["RCL"]
    assert found == apart(sets["a"].predictions())


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("by", [(), ("--by", "session")])
def test_differences_are_on_common_trials(by):
    for name, part in (("a", slice(0, 700)), ("b", slice(10, 720))):
        lines = Path(name).read_text("utf-8").splitlines()
        lines = lines if name == "a" else lines[::-1]
        Path(name).write_text("\n".join(lines[part]), "utf-8")
    given = ("--missing", "drop", "--resamples", "40", "--metrics", "EER,Cllr", *by)
    content = as_command("compare", "--key", "key", "a", "b", *given)
    sets, options = read("a", "b", missing="drop"), {"by": "session"} if by else {}
    with pytest.warns(RuntimeWarning, match="690 trials have all scores; left out: 10 of a, 20"):
        found = fp.trials.evaluate(sets, ["EER", "Cllr"], differences="first", **options, **FEW)
    assert same(found, content)
    # in another order, and with ids coded anew
    order = np.random.default_rng(0).permutation(len(sets["b"]))
    words = "".join(
        f"{e} {t} {y} {x!r}\n"
        for e, t, y, x in zip(
            sets["b"].enroll[order],
            sets["b"].test[order],
            np.array(["nontarget", "target"])[sets["b"].y_true[order]],
            sets["b"].score[order].tolist(),
            strict=True,
        )
    )
    Path("c").write_text(words, "utf-8")
    moved = {"a": sets["a"], "b": fp.trials.read("c")}
    with pytest.warns(RuntimeWarning, match="690 trials"):
        again = fp.trials.evaluate(moved, ["EER"], differences="first", **FEW)
    expected = next(each for each in content["differences"] if each["metric"] == "EER")
    assert again.differences[0].to_dict() == expected


def test_spoofed_trials():
    lines = Path("key").read_text("utf-8").splitlines()
    words = [line.split("\t") for line in lines[1:]]
    for k, word in enumerate(words):
        if word[2] == "nontarget" and k % 3 == 0:
            word[2] = "spoof"
    Path("key").write_text("\n".join([lines[0], *map("\t".join, words)]), "utf-8")
    content = as_command("evaluate", "--key", "key", "--scores", "a")
    made = read("a")
    assert same(fp.trials.evaluate(made), content)
    assert {row["group"] for row in content["rows"]} == {None, "kind=nontarget", "kind=spoof"}
    is_spoof = made["a"].column("kind") == "spoof"
    cost = fp.trials.evaluate(made["a"], [fp.MinADCF("spoof", c_fa_spoof=5.0)]).rows[0].value
    assert cost == fp.MinADCF(is_spoof, c_fa_spoof=5.0)(made["a"].predictions())
    with pytest.raises(fp.ArgumentError, match="must not be pooled with spoofed trials"):
        fp.trials.evaluate(made, group_differences="pooled")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "nope"}, "by must name a column of the files (session, by, of), not 'nope'"),
        ({"equalize": ["session", "nope"]}, "equalize must name a column of the files"),
        ({"resampling": fp.Clusters("nope"), **FEW}, "resampling must name a column of the files"),
        ({"metrics": [fp.MinADCF("spoof")]}, "metrics must not be minADCF(asvspoof5): no trials"),
        ({"differences": "none"}, "differences must be"),
        ({"scores_are": "posteriors"}, "a: score must lie in 0 to 1, but that of"),
        ({"method": "bca"}, "method is for intervals: give n_resamples above 0 too"),
        (
            {"by": "session", "equalize": "session", "group_differences": "pooled"},
            "group_differences must not be pooled with equalize=..., where conditions have other",
        ),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fp.trials.evaluate(read("a"), **options)


def test_refusals_of_sets():
    with pytest.raises(fp.ArgumentError, match="sets must not be empty"):
        fp.trials.evaluate({})
    with pytest.raises(fp.ArgumentError, match="a: sets must have labels"):
        fp.trials.evaluate({"a": fp.trials.read(None, "a")})
    with pytest.raises(fp.ArgumentError, match="sets must be trials, or a dict of these"):
        fp.trials.evaluate({"a": read("a")["a"].predictions()})
    with pytest.raises(ValueError, match="need a dict of two systems or more"):
        fp.trials.evaluate(read("a"), differences="first")


def test_conditions_of_several_columns_and_bins():
    made = read("a")["a"]
    level = np.random.default_rng(0).normal(size=len(made)).round(2)
    lines = Path("key").read_text("utf-8").splitlines()
    rows = [f"{line}\t{x}" for line, x in zip(lines, ["snr", *level.tolist()], strict=True)]
    Path("key").write_text("\n".join(rows), "utf-8")
    sets = read("a", "b")
    given = ("--by", "session,snr", "--by", "snr", "--bins", "snr=0,1", "--bins", "session=each")
    content = as_command(
        "evaluate", "--key", "key", "--scores", "a", "b", *given, "--metrics", "EER"
    )
    by, bins = [("session", "snr"), "snr"], {"snr": [0.0, 1.0], "session": "each"}
    assert same(fp.trials.evaluate(sets, ["EER"], by=by, bins=bins), content)
    groups = [group["group"] for group in content["groups"] if group["system"] == "a"]
    assert groups[-3:] == ["snr=[-inf, 0)", "snr=[0, 1)", "snr=[1, inf]"]
    values = {(row["system"], row["group"]): row["value"] for row in content["rows"]}
    for name, each in sets.items():
        alone = each.predictions()[level < 0]
        assert values[name, "snr=[-inf, 0)"] == pytest.approx(fp.EER()(alone), rel=1e-12)
    for arguments, words in (
        (("--bins", "3"), "--bins is for conditions: give --by too"),
        (("--by", "snr", "--bins", "x"), "--bins must be a number of bins, edges with commas"),
        (("--by", "snr", "--bins", "2", "--bins", "3"), "--bins must be given once, or once for"),
        (("--by", "snr"), "--bins"),
    ):
        check_refusal({}, ["evaluate", "--key", "key", "--scores", "a", *arguments], [words])


def test_bins_tell_which_conditions_share_targets():
    lines = Path("key").read_text("utf-8").splitlines()
    words = [line.split("\t") for line in lines[1:]]
    for k, word in enumerate(words):  # no value has both targets and spoofed trials, but bins do
        is_spoof = word[2] == "nontarget" and k % 3 == 0
        word[2] = "spoof" if is_spoof else word[2]
        word.append(f"{k % 4 + 0.5 * is_spoof}")
    Path("key").write_text("\n".join([f"{lines[0]}\tsnr", *map("\t".join, words)]), "utf-8")
    made = read("a")["a"]
    whole = fp.trials.evaluate(made, ["EER"], by="snr", bins=[2.0])
    sizes = [group.class_sizes for group in whole.groups]
    assert sizes[1][1] + sizes[2][1] == sizes[0][1]
    each = fp.trials.evaluate(made, ["EER"], by="snr")
    assert {group.class_sizes[1] for group in each.groups} == {sizes[0][1]}
