"""Evaluations as files and as reports: what Python writes is what the commands write."""

import json
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp
from tests import reports
from tests.commands import succeed, write, write_trials
from tests.reports import Page

ENDINGS = (".json", ".csv", ".md", ".tex")
FEW = ["--metrics", "EER,Cllr", "--resamples", 40, "--seed", 0, "--resample", "iid"]
SAME = {"n_resamples": 40, "seed": 0}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def of_differences():
    systems = {"a.csv": reports.llrs(scale=1.0), "b.csv": reports.llrs(scale=2.0)}
    for path, samples in systems.items():
        write(path, y_true=samples.labels, llr=samples.scores)
    command = ["compare", *systems, "--scores-are", "llr", *FEW]
    return command, fp.evaluate(systems, ["EER", "Cllr"], differences="first", **SAME)


def of_differences_of_groups():
    trials = write_trials()
    command = ["evaluate", "--key", "key", "--scores", "a", "--by", "session", "--metrics", "Cllr"]
    options = {"by": {"session": trials.session}, "group_differences": "pooled"}
    evaluation = fp.evaluate({"a": trials.predictions("a")}, ["Cllr"], **options)
    return [*command, "--differences", "pooled"], evaluation


@pytest.mark.parametrize("make", [of_differences, of_differences_of_groups])
def test_each_ending_is_what_the_command_writes(make):
    command, evaluation = make()
    files = [word for ending in ENDINGS for word in ("--output", f"command{ending}")]
    succeed(*command, *files)
    for ending in ENDINGS:
        evaluation.write(f"python{ending}")
        if ending != ".json":
            assert Path(f"python{ending}").read_bytes() == Path(f"command{ending}").read_bytes()
    written, of_command = (
        json.loads(Path(f"{name}.json").read_text("utf-8")) for name in ("python", "command")
    )
    assert written == evaluation.to_dict()
    assert of_command.keys() - written.keys() == {"scores_are", "inputs"}
    for content in (written, of_command):
        if content["intervals"] is not None:
            content["intervals"]["resampling"] = content["intervals"]["resampling"].lower()
    assert {name: of_command[name] for name in written} == written
    assert Path("python.csv").read_text("utf-8") == evaluation.to_frame().write_csv()


def test_invalid_paths():
    evaluation = fp.evaluate(reports.llrs(60), ["EER"])
    for path in ("t.txt", Path("t")):
        with pytest.raises(fp.ArgumentError) as raised:
            evaluation.write(path)
        assert raised.value.argument == "path"
    with pytest.raises(FileNotFoundError, match="No such folder"):
        evaluation.write("none/t.md")
    assert not list(Path().iterdir())


def test_markdown_and_latex():
    samples, by = reports.llrs(60), {"half": np.arange(60) // 30}
    fp.evaluate(samples, ["AUC"], by=by, group_differences="pooled").write("d.md")
    values, differences = Path("d.md").read_text("utf-8").split("\ndifferences\n\n")
    assert values.startswith("| condition | targets | non-targets | AUC |\n")
    assert differences.startswith("| difference | AUC |\n| --- | --: |\n")
    table = fp.evaluate(
        samples, ["AUC", "EER"], by={"x_y": np.arange(60.0)}, bins=[30], method="percentile", **SAME
    )
    table.write("t.tex")
    lines = Path("t.tex").read_text("utf-8").splitlines()
    assert lines[:4] == [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"condition & targets & non-targets & AUC & EER [\%] \\",
        r"\midrule",
    ]
    assert lines[4].startswith(f"pooled & 20 & 40 & {table[None, None, 'AUC']:.4f} & ")
    assert lines[5].startswith(" &  &  & [")  # intervals are below
    assert lines[6].startswith(r"x\_y $<$ 30 & ")
    assert lines[8].startswith(r"x\_y $\geq$ 30 & ")
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]


# Reports


@pytest.fixture
def page():
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")

    def page_of(evaluation, *arguments, **options):
        evaluation.to_report("r.html", *arguments, **options)
        return Page(Path("r.html").read_text("utf-8")).text

    return page_of


def test_a_report_of_groups_with_intervals(page):
    samples = reports.llrs(400)
    options = {"by": {"room": np.arange(400.0) % 5}, "bins": [2]}
    evaluation = fp.evaluate(samples, reports.METRICS, **options, **SAME)
    text = page(
        evaluation, samples, operating_points=[fp.MinDCF(0.3)], read=["400 trials"],
        text=["A paragraph."], **options,
    )  # fmt: skip
    for words in (
        "Evaluation of predictions", "400 trials", "A paragraph.",
        "room=[-inf, 2)", "Detection error trade-off of predictions by",
        "Detection costs", evaluation.settings, *(row.note for row in evaluation.rows),
    ):  # fmt: skip
        assert words in text
    assert text.count("The shaded areas are pointwise 95 % bands from 40 replicates") == 4


def test_a_report_of_systems_and_their_differences(page):
    systems = {"one": reports.llrs(), "two": reports.llrs(scale=2.0)}
    evaluation = fp.evaluate(systems, ["EER", "Cllr"], differences="first", **SAME)
    text = page(evaluation, systems)
    for words in ("Comparison of one and two", "one - two", "Tippett plot"):
        assert words in text
    without_figures = page(evaluation, title="Numbers")
    assert "Numbers" in without_figures
    assert "Tippett" not in without_figures
    for wrong in ({"b": systems["one"]}, {"one": [1.0]}):
        with pytest.raises(ValueError, match=r"^predictions"):
            page(evaluation, wrong, by={"room": ["x"]})
