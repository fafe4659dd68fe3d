"""`--report`: the page that commands write, and what they refuse."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

import fastpsr as fp
from tests import reports
from tests.commands import fastpsr, succeed, write, write_trials
from tests.reports import Page


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def page(path="r.html"):
    return Page(Path(path).read_text("utf-8"))


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


@pytest.mark.parametrize(
    ("missing", "command"),
    [
        ("jinja2", ["evaluate", "none.csv"]),
        ("matplotlib", ["compare", "none.csv", "b.csv"]),
        ("matplotlib", ["demo"]),
    ],
)
def test_what_reports_need_is_said_before_any_work(tmp_path, missing, command):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, missing, *command, "--report", tmp_path / "r.html"],
        capture_output=True, text=True,
    )  # fmt: skip
    words = f'error: --report: reports need {missing}: pip install "fastpsr[report]"\n'
    assert (done.returncode, done.stderr) == (2, words)


def test_a_table():
    samples = reports.llrs()
    write("a.csv", y_true=samples.labels, llr=samples.scores)
    run = ["evaluate", "a.csv", "--scores-are", "llr", "--ci", 0.9, "--resamples", 20]
    printed = succeed(*run)
    assert succeed(*run, "--report", "r.html") == f"{printed}written: r.html\n"
    text = page().text
    for words in (
        "Evaluation of a.csv",
        "scores: llr; labels: y_true; weights: none; taken as llr",
        "20 replicates, resampling iid, seed 0",
        "300 samples, 2 classes, priors 0.6667, 0.3333",
        "would save",
        "fastpsr evaluate a.csv --scores-are llr",
    ):
        assert words in text
    assert len(page().all("svg")) == 8
    shaded = "Shaded are pointwise bands of 90 %, from 20 replicates, resampling iid."
    assert text.count(shaded) == 4  # DET, Bayes error, reliability, PAV map
    assert "by chance" not in text


def test_many_classes_and_raw_scores():
    samples = reports.many_classes()
    write("k.npz", y_true=samples.labels, z=samples.scores)
    run = ["evaluate", "k.npz", "--scores-are", "log-posteriors", "--report", "r.html"]
    succeed(*run, "--ci", 0.9, "--resamples", 20)
    assert len(page().all("svg")) == 4
    assert page().text.count("Shaded are pointwise bands of 90 %") == 1
    write("s.csv", y_true=np.arange(40) % 2, s=np.random.default_rng(0).random(40))
    succeed("evaluate", "s.csv", "--scores-are", "raw", "--report", "r.html")
    assert "only rank" in page().text


@pytest.mark.slow
def test_without_intervals_there_are_no_bands():
    samples = reports.many_classes()
    write("k.npz", y_true=samples.labels, z=samples.scores)
    succeed("evaluate", "k.npz", "--scores-are", "log-posteriors", "--report", "r.html")
    assert len(page().all("svg")) == 4
    assert "bands" not in page().text
    samples = reports.llrs()
    write("a.csv", y_true=samples.labels, llr=samples.scores)
    succeed("evaluate", "a.csv", "--scores-are", "llr", "--report", "r.html")
    assert "bands" not in page().text
    assert "Shaded is where 95 % of their curves would lie by chance" in page().text


def test_trials():
    write_trials(n_sessions=2)
    run = ["evaluate", "--key", "key", "--scores", "a", "--scores", "b", "--report", "r.html"]
    run += ["--metrics", "EER,Cllr"]
    succeed(*run)
    text = page().text
    for words in ("Evaluation of a and b", "Metrics by system", "scores taken as llr", "key: "):
        assert words in text
    assert "Shaded is where 95 % of their curves would lie by chance" in text
    for words in ("pooled", "Difference", "0.0 s", "bands"):
        assert words not in text
    assert len(page().all("svg")) == 8
    succeed(*run, "--by", "session", "--ci", 0.9, "--resamples", 20)
    text = page().text
    for words in ("Metrics by system and condition", "session=1", "EER by condition"):
        assert words in text
    assert len(page().all("svg")) == 10 + 2  # DET curves of both systems in each of 2 sessions
    labels = [svg["aria-label"] for svg in page().all("svg")]
    assert sum("trade-off, session" in label and "of a, b:" in label for label in labels) == 2
    assert text.count("Shaded are pointwise bands of 90 %") == 4


COSTS = {
    4: "a row for each true class, a column for each decision: "
    "0, 2.5, 2.5, 2.5; 2.5, 0, 2.5, 2.5; 2.5, 2.5, 0, 2.5; 2.5, 2.5, 2.5, 0",
    10: "4 classes, 10 decisions, costs from 0 to 2.5",
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("n_decisions", COSTS)
def test_costs_are_stated(n_decisions):
    samples = reports.many_classes()
    write("k.npz", y_true=samples.labels, z=samples.scores)
    np.savetxt("c.csv", 2.5 - 2.5 * np.eye(4, n_decisions), delimiter=",")
    run = ["evaluate", "k.npz", "--scores-are", "log-posteriors", "--costs", "c.csv"]
    out = succeed(*run, "--report", "r.html")
    assert f"\n--costs: {COSTS[n_decisions]}\n" in out
    assert COSTS[n_decisions] in page().text


def test_a_condition_without_targets_is_said():
    samples = reports.llrs(90)
    rows = [
        f"m{i} s{i} {('non', '')[y]}target {('a', 'b')[y or i % 2]}\n"
        for i, y in enumerate(samples.labels)
    ]
    Path("key").write_text("modelid segmentid targettype part\n".replace(" ", "\t")
                           + "".join(rows).replace(" ", "\t"), "utf-8")  # fmt: skip
    scores = [f"m{i} s{i} {x}\n" for i, x in enumerate(samples.scores)]
    Path("a").write_text("".join(scores), "utf-8")
    run = ["evaluate", "--key", "key", "--scores", "a", "--scores-are", "raw", "--by", "part"]
    succeed(*run, "--report", "r.html")
    assert "part=a has no samples of class 1" in page().text
    assert any("is undefined" in svg["aria-label"] for svg in page().all("svg"))


def test_warnings_are_in_the_report():
    write_trials()
    lines = Path("b").read_text("utf-8").splitlines(keepends=True)
    Path("b").write_text("".join(lines[10:]), "utf-8")
    run = ["evaluate", "--key", "key", "--scores", "a", "--scores", "b", "--missing", "drop"]
    succeed(*run, "--scores-are", "raw", "--metrics", "EER", "--report", "r.html")
    assert "1 warning the systems are judged on different trials" in page().text


def test_wrong_places_are_errors_before_any_work():
    write("a.csv", y_true=np.array([0, 1]), q=np.array([0.2, 0.7]))
    for command in (["evaluate", "a.csv"], ["demo"]):
        outcome = fastpsr(*command, "--report", "none/r.html")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == "error: No such folder for the file: none/r.html\n"
    outcome = fastpsr("evaluate", "a.csv", "--report", "a.csv")
    assert outcome.err == "error: --report must not be an input too: a.csv\n"
    outcome = fastpsr("evaluate", "a.csv", "--report", "t", "--json", "t")
    assert outcome.err == "error: --report must not be --json too: t\n"


@pytest.mark.slow
def test_the_demo():
    succeed("demo", "--report", "r.html")
    text = page().text
    for words in (
        "721,788 simulated trials",
        "uncalibrated not calibrated",
        "calibrated calibrated",
        "Cimb",
        "resampling speaker",
        "as the system gives them",
        f"fastpsr {fp.__version__}",
    ):
        assert words in text
    assert len(page().html) < 500_000


def test_a_comparison():
    write_trials(n_sessions=2)
    few = ["--resamples", 40, "--interval", "percentile", "--metrics", "EER", "--report", "r.html"]
    succeed("compare", "--key", "key", "a", "second=b", "--scores-are", "raw", *few)
    text = page().text
    for words in ("Comparison of a and second", "Difference a - second", "excludes 0",
                  "at 95 % for each difference alone", "scores taken as raw"):  # fmt: skip
        assert words in text
    assert text.index("Metrics by system") < text.index("Differences") < text.index("Figures")
    Path("c").write_bytes(Path("a").read_bytes())
    succeed("compare", "--key", "key", "a", "b", "c", "--by", "session", *few)
    text = page().text
    for words in ("Comparison of a, b and c", "Differences by condition", "a - c pooled equal",
                  "session=1"):  # fmt: skip
        assert words in text


def test_a_comparison_of_tables():
    samples = reports.many_classes()
    noise = np.random.default_rng(1).normal(size=samples.scores.shape)
    write("a.csv", y_true=samples.labels, z=samples.scores)
    write("b.csv", y_true=samples.labels, z=samples.scores + noise)
    run = ["compare", "a.csv", "b.csv", "--scores-are", "logits", "--resamples", 60]
    run += ["--metrics", "NCE,NBS"]
    succeed(*run, "--report", "r.html")
    for words in ("Comparison of a.csv and b.csv", "Difference a.csv - b.csv", "200", "Shaded are"):
        assert words in page().text


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_llrs_and_raw_scores_share_a_page_of_ranks(command):
    write_trials()
    systems = ["a", "b"] if command == "compare" else ["--scores", "a", "--scores", "b"]
    few = ["--metrics", "EER", *["--resamples", 40] * (command == "compare")]
    kinds = ["--scores-are", "llr", "--scores-are", "raw"]
    succeed(command, "--key", "key", *systems, *few, *kinds, "--report", "r.html")
    text = page().text
    assert "Detection error trade-off" in text
    assert "Empirical cross-entropy" not in text
