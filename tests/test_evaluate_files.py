"""Evaluations as files: what Python writes is what the commands write, and reports from Python."""

import errno
import json
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import fastpsr as fp
from tests import reports
from tests.commands import succeed, surroundings, write, write_trials
from tests.reports import Page

OPTIONS = {".json": "--json", ".csv": "--csv", ".md": "--markdown", ".tex": "--latex"}
FEW = ["--metrics", "EER,Cllr", "--resamples", 40, "--seed", 0, "--resample", "iid"]
SAME = {"n_resamples": 40, "seed": 0}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def a_table(scale=1.0, path="a.csv"):
    samples = reports.llrs(scale=scale)
    write(path, y_true=samples.labels, llr=samples.scores)
    return samples


def of_a_table():
    run = ["evaluate", "a.csv", "--scores-are", "llr", *FEW]
    return run, fp.evaluate(a_table(), ["EER", "Cllr"], **SAME)


def of_differences():
    run = ["compare", "a.csv", "b.csv", "--scores-are", "llr", *FEW]
    systems = {"a.csv": a_table(), "b.csv": a_table(2.0, "b.csv")}
    return run, fp.evaluate(systems, ["EER", "Cllr"], differences="first", **SAME)


def of_groups():
    made = write_trials()
    run = ["evaluate", "--key", "key", "--scores", "a", "--by", "session", *FEW]
    by = {"session": made.session}
    return run, fp.evaluate({"a": made.predictions("a")}, ["EER", "Cllr"], by=by, **SAME)


def of_differences_of_groups():
    made = write_trials()
    run = ["evaluate", "--key", "key", "--scores", "a", "--by", "session", "--metrics", "Cllr"]
    by = {"session": made.session}
    systems = {"a": made.predictions("a")}
    return (
        [*run, "--group-differences", "pooled"],
        fp.evaluate(systems, ["Cllr"], by=by, group_differences="pooled"),
    )


@pytest.mark.parametrize("make", [of_a_table, of_differences, of_groups, of_differences_of_groups])
def test_each_ending_is_what_the_command_writes(make):
    run, evaluation = make()
    files = [word for ending, name in OPTIONS.items() for word in (name, f"command{ending}")]
    succeed(*run, *files)
    for ending in OPTIONS:
        evaluation.write(f"python{ending}")
        if ending != ".json":
            assert Path(f"python{ending}").read_bytes() == Path(f"command{ending}").read_bytes()
    written = json.loads(Path("python.json").read_text("utf-8"))
    assert written == evaluation.to_dict()
    of_command = json.loads(Path("command.json").read_text("utf-8"))
    assert of_command.keys() - written.keys() == {"scores_are", "inputs"}
    for part in (written, of_command):
        if part["intervals"] is not None:
            part["intervals"]["resampling"] = part["intervals"]["resampling"].lower()
    assert {name: of_command[name] for name in written} == written


def test_other_endings_are_refused():
    evaluation = fp.evaluate(reports.llrs(60), ["EER"])
    for path in ("t.txt", "t", Path("t.JSON")):
        with pytest.raises(
            ValueError, match=r"^path must end in \.json, \.csv, \.md or \.tex, not 't"
        ):
            evaluation.write(path)
    with pytest.raises(FileNotFoundError, match="No such folder"):
        evaluation.write("none/t.md")
    assert not list(Path().iterdir())


def test_a_full_disk_leaves_the_file_as_it_was():
    Path("t.md").write_text("as before", "utf-8")
    evaluation = fp.evaluate(reports.llrs(60), ["EER"])
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch.object(Path, "write_text", side_effect=full), pytest.raises(OSError):
        evaluation.write("t.md")
    assert [path.name for path in Path().iterdir()] == ["t.md"]
    assert Path("t.md").read_text("utf-8") == "as before"


def test_values_that_are_not_finite_are_strict_json():
    fp.evaluate(reports.infinite(), ["NCE"]).write("t.json")
    (row,) = json.loads(Path("t.json").read_text("utf-8"), parse_constant=pytest.fail)["rows"]
    assert row["value"] == "inf"


def test_systems_without_a_name_have_no_column_of_names():
    samples = reports.llrs(60)
    by = {"half": np.arange(60) // 30}
    evaluation = fp.evaluate(samples, ["AUC"], by=by, group_differences="pooled")
    evaluation.write("d.md")
    values, differences = Path("d.md").read_text("utf-8").split("\ndifferences\n\n")
    assert values.startswith("| condition | targets | non-targets | AUC |\n")
    assert differences.startswith("| difference | AUC |\n| --- | --: |\n")
    fp.evaluate(samples, ["AUC"], by=by).write("t.tex")
    lines = Path("t.tex").read_text("utf-8").splitlines()
    assert lines[:4] == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"condition & targets & non-targets & AUC \\",
        r"\midrule",
    ]
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]


@pytest.mark.parametrize("make", [of_differences, of_differences_of_groups])
def test_values_and_differences_are_both_written(make):
    _, evaluation = make()
    frame = evaluation.to_frame()
    assert frame["row"].value_counts(sort=True).rows() == [
        ("value", len(evaluation.rows)),
        ("difference", len(evaluation.differences)),
    ]
    values, differences = (
        frame.filter(frame["row"] == row).to_dicts() for row in ("value", "difference")
    )
    for row, expected in zip(values, evaluation.rows, strict=True):
        assert (row["system"], row["group"], row["value"]) == (
            expected.system, expected.group, expected.value,
        )  # fmt: skip
    for row, expected in zip(differences, evaluation.differences, strict=True):
        assert expected.to_dict().items() <= row.items()
        assert row["value"] is None
    for ending in (".csv", ".md", ".tex"):
        evaluation.write(f"t{ending}")
        text = Path(f"t{ending}").read_text("utf-8")
        for row in evaluation.rows:
            assert (f"{row.value}" if ending == ".csv" else f"{row.value:.4f}") in text or row.unit
        for each in evaluation.differences:
            assert (f"{each.value}" if ending == ".csv" else "difference") in text
    assert Path("t.csv").read_text("utf-8") == frame.write_csv()


def latex_of(*names):
    samples = reports.llrs(60)
    fp.evaluate(dict.fromkeys(names, samples), ["AUC"]).write("t.tex")
    return Path("t.tex").read_text("utf-8")


def test_latex_names_systems_without_endings_of_files():
    text = latex_of("dir/a.txt", "b.scores.gz", "resnet.v2", ".txt")
    for name in ("dir/a", "b", "resnet.v2", ".txt"):
        assert f"\n{name} & 20" in text
    assert "\na.txt & 20" in latex_of("a.txt", "a.csv")  # else they had one name


# Reports


@pytest.fixture
def page():
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")

    def written(evaluation, *args, **options):
        evaluation.to_report("r.html", *args, **options)
        return Page(Path("r.html").read_text("utf-8"))

    return written


def test_a_report_of_groups_with_intervals(page):
    samples = reports.llrs(400)
    by = {"room": np.where(np.arange(400) % 5 < 2, "x", "y")}
    evaluation = fp.evaluate(samples, reports.METRICS, by=by, n_resamples=40, seed=0)
    found = page(
        evaluation, samples, by=by, operating_points=[fp.MinDCF(0.3)], read=["400 trials"],
        text=["A paragraph."],
    )  # fmt: skip
    for words in (
        "Evaluation of predictions", "400 trials", "A paragraph.", "predictions, pooled", "room=x",
        "40 replicates, resampling IID, seed 0", "Detection error trade-off of predictions by",
        "EER by condition", "Detection costs",
    ):  # fmt: skip
        assert words in found.text
    assert found.text.count("Shaded are pointwise bands of 95 %, from 40 replicates") == 4
    assert evaluation.settings in found.text
    assert all(row.note in found.text for row in evaluation.rows)


def test_a_report_of_systems_and_their_differences(page):
    systems = {"one": reports.llrs(), "two": reports.llrs(scale=2.0)}
    evaluation = fp.evaluate(systems, ["EER", "Cllr"], differences="first", **SAME)
    text = page(evaluation, systems).text
    for words in ("Comparison of one and two", "Difference one - two", "Tippett plot"):
        assert words in text
    alone = page(evaluation, title="Numbers")
    assert "Numbers" in alone.text
    assert "Tippett" not in alone.text


def test_a_report_says_what_was_warned_of(page):
    samples = reports.llrs()
    turned = fp.Predictions.from_llrs(samples.labels, -samples.scores)
    with pytest.warns(fp.SuspicionWarning, match="the AUC is about"):
        evaluation = fp.evaluate(turned, ["EER"])
    (message,) = evaluation.warnings
    text = page(evaluation).text
    assert "1 warning" in text
    assert str(message) in text


def test_a_report_draws_what_was_evaluated(page):
    samples = reports.llrs(60)
    evaluation = fp.evaluate({"a": samples}, ["EER"])
    with pytest.raises(ValueError, match="predictions must be of a, not of 'b'"):
        page(evaluation, {"b": samples})
    with pytest.raises(ValueError, match=r"predictions\['a'\] must be Predictions, not list"):
        page(evaluation, {"a": [1.0]}, by={"room": ["x"]})
    with pytest.raises(FileNotFoundError, match="No such folder"):
        evaluation.to_report("none/r.html", {"a": samples})
    assert not list(Path().iterdir())


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_what_reports_need_is_said(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import fastpsr as fp\n"
        "fp.evaluate(fp.Predictions.from_llrs([0, 1], [0.5, 1.5]), ['AUC']).to_report('r.html')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100,
        env=surroundings(),
    )  # fmt: skip
    said = f'ImportError: reports need {missing}: pip install "fastpsr[report]"'
    assert done.stderr.strip().splitlines()[-1] == said
