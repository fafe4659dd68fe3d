"""`fp.trials.evaluate`: its values are those of the commands, and of the library on arrays."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests.commands import strict_json, succeed, write_trials

# small lists: intervals say that few trials or speakers hold the values, or are none
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*degrees of freedom:RuntimeWarning",
    "ignore:.*has no interval:RuntimeWarning",
    "ignore:.*is undefined in:RuntimeWarning",
)

FEW = {"n_resamples": 40, "seed": 0}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_trials(120, 600)


def read(*names, **options):
    return {name: fp.trials.read("key", name, **options) for name in names}


def of_command(*arguments):
    """What a command writes as JSON."""
    succeed(*arguments, "--json", "t.json")
    return strict_json("t.json")


def require_same(evaluation, content):
    """Require that an evaluation is what a command wrote."""
    expected = evaluation.to_dict()
    for part in ("groups", "rows", "differences"):
        assert expected.get(part) == content.get(part), part
    intervals = expected["intervals"], content["intervals"]
    for each in filter(None, intervals):
        each.pop("resampling")  # which each puts into its own words
    assert intervals[0] == intervals[1]


def append_column(name, values):
    """Append a column to the key."""
    lines = Path("key").read_text("utf-8").splitlines()
    rows = [f"{line}\t{value}\n" for line, value in zip(lines, [name, *values], strict=True)]
    Path("key").write_text("".join(rows), "utf-8")


def make_spoofed(rows):
    """Make non-target trials of the key spoofed ones; return whether each is."""
    lines = [line.split("\t") for line in Path("key").read_text("utf-8").splitlines()]
    is_spoof = [k % rows == 0 and line[2] == "nontarget" for k, line in enumerate(lines[1:])]
    for line, is_one in zip(lines[1:], is_spoof, strict=True):
        line[2] = "spoof" if is_one else line[2]
    Path("key").write_text("\n".join(map("\t".join, lines)), "utf-8")
    return is_spoof


def test_conditions_and_weights_are_those_of_the_columns():
    """The command calls this: its options and values are held by the golden command lines."""
    trials = read("a")["a"]
    options = {"by": "session", "equalize": "session", "prior": 0.1, "metrics": ["Cllr", "minDCF"]}
    rows = fp.trials.evaluate(trials, scores_are="log10-llr", **options).rows
    weights = trials.equalized_weights("session")
    data = trials.predictions("log10-llr", prior=0.1, weights=weights)
    expected = fp.evaluate(data, ["Cllr", "minDCF"], by={"session": trials.column("session")})
    values = [row.value for row in expected.rows]
    assert [row.value for row in rows] == pytest.approx(values, rel=1e-12)
    assert [row.group for row in rows] == [row.group for row in expected.rows]


@pytest.mark.parametrize("scale", ["llr", "log10-llr", "posteriors", "raw"])
def test_the_kind_of_the_scores_decides_the_default_table(scale):
    trials = fp.trials.read("key", "a")
    if scale == "posteriors":
        trials = replace(trials, score=1 / (1 + np.exp(-trials.score)))
    values = {row.metric: row.value for row in fp.evaluate(trials.predictions(scale)).rows}
    rows = fp.trials.evaluate(trials, scores_are=scale).rows
    assert {row.metric: row.value for row in rows} == values


@pytest.mark.parametrize(("scale", "n_metrics"), [("llr", 9), ("raw", 4)])
def test_systems_with_unlike_scores_are_compared_by_metrics_of_both(scale, n_metrics):
    trials = read("a", "b")
    trials["a"] = replace(trials["a"], score=1 / (1 + np.exp(-trials["a"].score)))
    alone = fp.trials.evaluate(trials["b"], scores_are=scale)
    names = [row.metric for row in alone.rows]
    assert len(names) == n_metrics
    scales = {"a": "posteriors", "b": scale}
    differences = fp.trials.evaluate(trials, scores_are=scales, differences="first").differences
    assert [each.metric for each in differences] == names
    predictions = {name: each.predictions(scales[name]) for name, each in trials.items()}
    expected = fp.evaluate(predictions, differences="first").differences
    assert [each.value for each in differences] == [each.value for each in expected]


def test_speakers_are_drawn_and_kept_apart():
    speakers = ("--speakers", "columns:by,of", "--resamples", "40", "--metrics", "Cllr,RCL")
    content = of_command("evaluate", "--key", "key", "--scores", "a", *speakers)
    trials, options = read("a")["a"], {**FEW, "metrics": ["Cllr", "RCL"]}
    with_speakers = trials.with_speakers(("by", "of"))
    require_same(fp.trials.evaluate({"a": with_speakers}, **options), content)
    by_columns = fp.trials.evaluate(with_speakers, resampling=fp.TwoWay("by", "of"), **options)
    assert [row.low for row in by_columns.rows] == [row["low"] for row in content["rows"]]
    loss, apart = (
        fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), training)
        for training in (fp.CrossFit(seed=1), fp.CrossFit(seed=1, groups=with_speakers.speakers))
    )
    value = fp.trials.evaluate(with_speakers, {"RCL": loss})["RCL"]
    assert value == apart(with_speakers.predictions())


@pytest.mark.parametrize("by", [None, "session"])
def test_differences_are_on_common_trials(by):
    lines = {name: Path(name).read_text("utf-8").splitlines() for name in "ab"}
    Path("a").write_text("\n".join(lines["a"][:700]), "utf-8")
    Path("b").write_text("\n".join(lines["b"][::-1][10:]), "utf-8")
    arguments = ("--allow", "missing", "--resamples", "40", "--metrics", "EER,Cllr")
    content = of_command(
        "compare", "--key", "key", "a", "b", *arguments, *(["--by", by] if by else [])
    )
    sets, options = read("a", "b", missing="drop"), {"differences": "first", **FEW}
    left_out = "690 trials have all scores; left out: 10 of a, 20"
    with pytest.warns(RuntimeWarning, match=left_out):
        evaluation = fp.trials.evaluate(sets, ["EER", "Cllr"], by=by, **options)
    require_same(evaluation, content)
    if by is None:  # the same trials in another order, read from another file
        other = sets["b"].select(np.random.default_rng(0).permutation(len(sets["b"])))
        fp.trials.write_scores("c.csv", other, format="csv")
        shuffled = {"a": sets["a"], "b": fp.trials.read("c.csv")}
        with pytest.warns(RuntimeWarning, match="690 trials"):
            again = fp.trials.evaluate(shuffled, ["EER"], **options)
        expected = next(each for each in content["differences"] if each["metric"] == "EER")
        assert again.differences[0].to_dict() == expected


def test_spoofed_trials():
    is_spoof = make_spoofed(3)
    content = of_command("evaluate", "--key", "key", "--scores", "a")
    trials = read("a")
    require_same(fp.trials.evaluate(trials), content)
    assert {row["group"] for row in content["rows"]} == {None, "kind=nontarget", "kind=spoof"}
    assert trials["a"].predictions().columns["spoof"].tolist() == is_spoof
    cost = fp.trials.evaluate(trials["a"], [fp.MinADCF("spoof", c_fa_spoof=5.0)]).rows[0].value
    assert cost == fp.MinADCF(is_spoof, c_fa_spoof=5.0)(trials["a"].predictions())
    with pytest.raises(fp.ArgumentError) as caught:
        fp.trials.evaluate(trials, group_differences="pooled")
    assert caught.value.argument == "group_differences"


def test_conditions_of_several_columns_and_bins():
    level = np.random.default_rng(0).normal(size=len(read("a")["a"])).round(2)
    append_column("snr", level.tolist())
    sets = read("a", "b")
    conditions = "--by session:each,snr:0:1 --by snr --metrics EER"
    content = of_command("evaluate", "--key", "key", "--scores", "a", "b", *conditions.split())
    by, bins = [("session", "snr"), "snr"], {"snr": [0.0, 1.0], "session": "each"}
    require_same(fp.trials.evaluate(sets, ["EER"], by=by, bins=bins), content)
    groups = [group["group"] for group in content["groups"] if group["system"] == "a"]
    assert groups[-3:] == ["snr=[-inf, 0)", "snr=[0, 1)", "snr=[1, inf]"]
    values = {(row["system"], row["group"]): row["value"] for row in content["rows"]}
    for name, trials in sets.items():
        low = trials.predictions()[level < 0]
        assert values[name, "snr=[-inf, 0)"] == pytest.approx(fp.EER()(low), rel=1e-12)


def test_bins_tell_which_conditions_share_targets():
    """No value has both targets and spoofed trials, but bins do."""
    is_spoof = make_spoofed(3)
    append_column("snr", [k % 4 + 0.5 * spoofed for k, spoofed in enumerate(is_spoof)])
    trials = read("a")["a"]
    binned = fp.trials.evaluate(trials, ["EER"], by="snr", bins=[2.0])
    n_targets = [group.class_sizes[1] for group in binned.groups]
    assert n_targets[1] + n_targets[2] == n_targets[0]
    by_value = fp.trials.evaluate(trials, ["EER"], by="snr")
    assert {group.class_sizes[1] for group in by_value.groups} == {n_targets[0]}


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"by": "nope"}, "by"),
        ({"equalize": ["session", "nope"]}, "equalize"),
        ({"resampling": fp.Clusters("nope"), **FEW}, "ids"),
        ({"metrics": [fp.MinADCF("spoof")]}, "metrics"),
        ({"differences": "none"}, "differences"),
        ({"differences": "first"}, "differences"),  # of one system
        ({"scores_are": "posteriors"}, "scores"),  # some are negative
        ({"method": "bca"}, "method"),
        (
            {"by": "session", "equalize": "session", "group_differences": "pooled"},
            "group_differences",
        ),
    ],
)
def test_invalid_options(options, argument):
    with pytest.raises(ValueError) as caught:
        fp.trials.evaluate(read("a"), **options)
    assert getattr(caught.value, "argument", None) == argument


def test_invalid_sets():
    for sets in ({}, {"a": fp.trials.read(None, "a")}, {"a": read("a")["a"].predictions()}):
        with pytest.raises(fp.ArgumentError) as caught:
            fp.trials.evaluate(sets)
        assert caught.value.argument == "sets"


def test_predictions_have_the_columns_of_the_trials():
    trials = read("a")["a"].with_speakers(("by", "of"))
    enroll, test = trials.speakers
    data = trials.predictions()
    assert {"enroll", "test", "session", "enroll_speaker", "test_speaker"} <= {*data.columns}
    assert data[5:9].columns["test"].tolist() == trials.test[5:9].tolist()
    names = np.array(trials.speaker_names)
    assert data.columns["enroll_speaker"].tolist() == names[enroll].tolist()
    by_name = fp.evaluate(data, [fp.Cllr()], by="session")
    assert (
        by_name.to_dict()
        == fp.evaluate(data, [fp.Cllr()], by={"session": trials.column("session")}).to_dict()
    )
    schemes = fp.TwoWay("enroll_speaker", "test_speaker"), fp.TwoWay(names[enroll], names[test])
    drawn = [fp.bootstrap(fp.Cllr(), data, resampling=each, **FEW) for each in schemes]
    assert np.array_equal(drawn[0].replicates, drawn[1].replicates)
