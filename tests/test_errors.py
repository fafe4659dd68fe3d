"""Errors with fields, and what the command line makes of them."""

import copy
import pickle

import pytest

import fastpsr as fp
from fastpsr.cli import app
from fastpsr.cli.command import OLD
from fastpsr.cli.options.declaration import KNOWN, USAGE
from fastpsr.cli.wording import in_options, worded


def error(argument="q", rule="must lie in 0 to 1", **fields):
    return fp.ArgumentError(argument, rule, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "q must lie in 0 to 1"),
        ({"index": 3}, "q must lie in 0 to 1"),
        ({"index": 3, "value": "nan"}, "q must lie in 0 to 1, but q[3] is nan"),
        ({"index": 3, "column": 1, "value": "2"}, "q must lie in 0 to 1, but q[3, 1] is 2"),
        ({"index": 0, "column": "b", "value": "2"}, "q must lie in 0 to 1, but b[0] is 2"),
        ({"remedy": "clip them"}, "q must lie in 0 to 1: clip them"),
        ({"pass_": {"missing": "drop"}}, "q must lie in 0 to 1: pass missing='drop'"),
        (
            {"pass_": {"normalize": True, "columns": {"score": ...}, "format": ...}},
            "q must lie in 0 to 1: pass normalize=True, columns={'score': ...}, format=...",
        ),
        ({"remedy": "use PAV", "pass_": {"calibrator": "pav"}}, "q must lie in 0 to 1: use PAV"),
        ({"name": "a.csv:", "index": 1, "value": "2"}, "a.csv: must lie in 0 to 1, but "),
    ],
)
def test_message_consists_of_the_fields(fields, message):
    made = error(**fields)
    assert str(made).startswith(message)
    assert str(made) == (f"{made.problem}: {made.remedy}" if made.remedy else made.problem)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), made.renamed(made.name)):
        assert str(again) == str(made)
        assert vars(again) == vars(made)


def test_other_names():
    made = error(index=7, column=1, value="2", remedy="clip them").renamed("scores", ["a", "b"])
    assert str(made) == "scores must lie in 0 to 1, but b[7] is 2: clip them"
    assert (made.argument, made.index, made.column) == ("q", 7, "b")


def test_rows_carry_the_error():
    data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 5, [0.1, 0.2, 0.8, 0.9] * 5)
    for form in (data, fp.from_parts([data[:8], data[8:]])):
        (failed,) = [row for row in fp.evaluate(form).rows if row.error is not None]
        assert failed.metric == "RCL"
        assert failed.note == f"not computed: {failed.error}"
        assert failed.error.pass_ == {"calibrator": "pav", "floor": 0.001}
        assert failed.error.__traceback__ is None  # whose frames would hold the data


# In the words of the command line


@pytest.fixture(autouse=True)
def _options_of_all_commands():
    for name in app.COMMANDS:
        app.load(name)


def test_declared_usages_are_options():
    names = {usage.split()[0] for usage in (*USAGE.values(), *OLD)}
    assert {name for name in names if name.startswith("--")} <= KNOWN


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (error("folds", "must be 2"), "--folds must be 2"),
        (error("seed", "must be 2", remedy="pass seed=None"), "--seed must be 2"),
        (error("n_resamples", "must be 2"), "--resamples must be 2"),
        (error("prior", "must be 2"), "--priors must be 2"),
        (error("y_true", "must be 2"), "y_true must be 2"),
        (error("path", "is unclear", name="k:"), "k: is unclear"),
        (
            error("scores", "do not fit", pass_={"missing": "drop", "nan": "drop"}),
            "scores do not fit: pass --allow missing,nan",
        ),
        (
            error("path", "is unclear", pass_={"key_format": "score=COLUMN"}),
            "path is unclear: pass --key-format score=COLUMN",
        ),
        (
            error("by", "has many", name="by['a']", pass_={"bins": 4}),
            "--by a has many: pass --by a:4",
        ),
        (error(pass_={"normalize": True}), "q must lie in 0 to 1: pass --allow unnormalized"),
        (error(pass_={"n_bins": 3}), "q must lie in 0 to 1"),  # no option does that
        (error(pass_={"n_bins": 3, "nan": "drop"}), "q must lie in 0 to 1"),
        (ValueError("seed must be 2: pass seed=2"), "seed must be 2: pass seed=2"),
    ],
)
def test_in_options(made, words):
    assert in_options(made) == words


def test_names_of_a_place():
    with pytest.raises(ValueError, match=r"^--equalize must be 2$"), worded(columns="--equalize"):
        raise error("columns", "must be 2")
    with pytest.raises(OSError, match=r"^away$"), worded(columns="--equalize"):
        raise OSError("away")


def test_columns_of_parquet(tmp_path):
    polars = pytest.importorskip("polars")
    columns = {"y": [0, 1], "cat": [0.5, 1.5], "dog": [0.5, -0.5], "w": [1.0, -1.0]}
    polars.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    for weights, said in [
        (None, r"row 1.*: posteriors must lie in 0 to 1, but cat\[1\] is 1.5"),
        ("w", r"row 1.*: w must be finite and not negative, but w\[1\] is -1.0$"),
    ]:
        data = fp.scan_parquet(
            tmp_path / "t.parquet", y_true="y", posteriors=["cat", "dog"], sample_weight=weights
        )
        with pytest.raises(fp.ArgumentError, match=said) as refused:
            fp.CrossEntropy()(data)
        assert refused.value.index == 1
