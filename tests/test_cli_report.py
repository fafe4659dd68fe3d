"""`--output FILE.html`: the page that each command writes, and what is refused before any work."""

from pathlib import Path

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.commands import check_refusal, program, succeed
from tests.golden.files import write_files
from tests.reports import Page

WITHOUT = """
import sys
missing, *sys.argv[1:] = sys.argv[1:]

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import fastpsr.cli
fastpsr.cli.main()
"""
FEW = ("--ci", "0.9:percentile", "--resamples", "40")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files()


def page(path="r.html"):
    return Page(Path(path).read_text("utf-8"))


@pytest.mark.parametrize("missing", ["jinja2", pytest.param("matplotlib", marks=pytest.mark.slow)])
def test_what_reports_need_is_said_before_any_work(missing):
    done = program(missing, "evaluate", "none.csv", "--output", "r.html", code=WITHOUT)
    words = f'error: --output r.html: reports need {missing}: pip install "fastpsr[report]"\n'
    assert (done.returncode, done.stderr) == (2, words)


def test_a_table():
    run = ["evaluate", "unweighted.csv", "--columns", "z", "--scores-are", "llr", *FEW]
    printed = succeed(*run)
    assert succeed(*run, "--output", "r.html") == f"{printed}written: r.html\n"
    shown = page()
    assert shown.headings[0] == "Evaluation of unweighted.csv"
    assert len(shown.all("svg")) == 8
    for words in (
        "scores: z; labels: label; weights: none; taken as llr",
        "40 replicates, resampling iid, seed 0", "120 samples, 2 classes, priors 0.6667, 0.3333",
        "fastpsr evaluate unweighted.csv --columns z",
    ):  # fmt: skip
        assert words in shown.text
    shaded = "The shaded areas are pointwise 90 % bands from 40 replicates, resampling iid."
    assert shown.text.count(shaded) == 4  # DET, Bayes error, reliability, PAV map
    assert "At each posterior, the shaded area" not in shown.text


def test_classes_and_costs():
    run = ["evaluate", "t.npz", "--scores-are", "logits", "--costs", "costs3.json"]
    succeed(*run, "--output", "r.html")
    assert len(page().all("svg")) == 3
    assert "bands" not in page().text
    assert "0, 1, 2; 1, 0, 1; 3, 1, 0" in page().text
    assert "At each posterior, the shaded area holds 95 % of the curves" in page().text


def test_trials_by_condition():
    lines = Path("b.txt").read_text("utf-8").splitlines(keepends=True)
    Path("b.txt").write_text("".join(lines[5:]), "utf-8")
    run = ["evaluate", "--key", "nist.tsv", "--scores", "a.txt", "b.txt", "--allow", "missing"]
    succeed(*run, "--metrics", "EER,Cllr", "--by", "gender", "--output", "r.html")
    shown = page()
    assert shown.headings[0] == "Evaluation of a.txt and b.txt"
    assert {"Overview"} <= {*shown.headings}
    assert len(shown.all("svg")) == 8 + 2  # DET curves of both systems for each gender
    labels = [svg["aria-label"] for svg in shown.all("svg")]
    assert (
        sum("trade-off, gender" in label and "of a.txt, b.txt:" in label for label in labels) == 2
    )
    assert "1 warning the systems are judged on different trials" in shown.text
    assert "scores taken as llr" in shown.text
    assert "Difference" not in shown.text


def test_spoofed_trials_are_apart():
    run = ["evaluate", "--key", "spoof.key", "--scores", "a.txt", "--metrics", "EER"]
    succeed(*run, "--output", "r.html")
    assert "kind=spoof" in page().text
    assert page().text.count("Spoofed trials are separate") == 2


@pytest.mark.parametrize("kinds", [["llr"], ["llr", "raw"]])
def test_a_comparison(kinds):
    kinds = [word for kind in kinds for word in ("--scores-are", kind)]
    run = ["compare", "--key", "key", "a.txt", "second=b.txt", "--metrics", "EER", *FEW, *kinds]
    succeed(*run, "--output", "r.html")
    headings = page().headings
    assert headings[0] == "Comparison of a.txt and second"
    assert headings.index("Metrics") < headings.index("Differences") < headings.index("Figures")
    assert ("Empirical cross-entropy" in headings) == ("raw" not in kinds)
    assert "Detection error trade-off" in headings
    assert [line[0] for line in page().cells if " - " in line[0]] == ["a.txt - second"]
    assert "the level of 90 % applies to each difference separately" in page().text


def test_a_fusion():
    run = ["fuse", "--key", "key", "--scores", "a.txt", "b.txt", "--metrics", "Cllr", *FEW]
    succeed(*run, "--table", "r.html")
    shown = page()
    assert shown.headings[0] == "Fusion of a.txt, b.txt"
    assert "without a.txt" in shown.text
    assert "Fusion weights, fitted to all samples" in shown.text
    assert "The intervals hold the fits fixed" in shown.text
    assert shown.text.count("its 2 columns have rank 2") == 1


def test_wrong_places_are_refused_before_any_work():
    Path("s.npz").write_bytes(b"cannot be read")
    check_refusal({}, ["evaluate", "s.npz", "--output", "s.npz"], ["--output must end in"])
    words = ["--output must not be --json too: t.html"]
    check_refusal({}, ["evaluate", "s.npz", "--output", "t.html", "--json", "t.html"], words)
